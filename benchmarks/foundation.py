"""Tasks of the foundation: Gram matrices, products, exact fits, predictions. Each runs in its own process.

``python foundation.py TASK IMPLEMENTATION`` prints one line of JSON: seconds (each repeat), accuracy, peak memory.
The first, small call of each implementation is not counted: it compiles or fills caches.
"""

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = 0
# Seconds after which two measurements of a call are enough: ``--quick`` says so.
ENOUGH = float(os.environ.get("BENCH_ENOUGH", "inf"))


def more(seconds, times):
    """Whether a call is measured once more. The first of all may be slow for its own reasons, so two are the least."""
    return len(seconds) < times and (len(seconds) < 2 or sum(seconds) < ENOUGH)


def repeat(call, times=3):
    """Seconds of each of several calls, and the last result."""
    seconds = []
    while more(seconds, times):
        result = None  # the previous result's memory is free before the next call
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return seconds, result


def points(n, d, dtype=np.float64):
    return np.random.default_rng(SEED).standard_normal((n, d)).astype(dtype)


# ---------------------------------------------------------------------- RBF Gram matrix
def gram(impl, dtype):
    """The Gram matrix of a Gaussian kernel, n = 10 000, d = 10."""
    X = points(10_000, 10, dtype)
    ell = 2.0
    if impl == "mercer":
        from mercer.kernels import Gaussian

        kernel = Gaussian(ell)
        kernel(points(6_000, 10, dtype))
        seconds, K = repeat(lambda: kernel(X))
    else:
        from sklearn.metrics.pairwise import rbf_kernel

        rbf_kernel(X[:1000], gamma=0.5 / ell**2)
        seconds, K = repeat(lambda: rbf_kernel(X, gamma=0.5 / ell**2))
    rows = np.random.default_rng(1).integers(0, len(X), 200)
    A = X.astype(np.longdouble)
    exact = np.exp(-((A[rows, None] - A[None, :2000]) ** 2).sum(axis=2) / (2 * ell**2))
    return seconds, {"max error": float(np.abs(K[rows, :2000] - exact).max())}


# ---------------------------------------------------------------------- exact kernel ridge regression
def protein(n=10_000):
    """Standardised rows of the protein data, split 0."""
    data = np.loadtxt(DATA / "uci/protein/data.csv.gz", delimiter=",")
    mask = np.loadtxt(DATA / "uci/protein/test_mask.csv.gz", delimiter=",")[:, 0].astype(bool)
    train, test = data[~mask][:n], data[mask]
    mean, sd = train.mean(axis=0), train.std(axis=0)
    train, test = (train - mean) / sd, (test - mean) / sd
    return train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def krr(impl, dtype):
    """KernelRidge fit, 10 000 rows of protein, Gaussian kernel, λ = 0.1."""
    X, y, X_test, y_test = protein()
    ell, lam = 1.5, 0.1
    if impl == "potrf":
        from scipy.linalg.lapack import dpotrf
        from sklearn.metrics.pairwise import rbf_kernel

        K = np.asfortranarray(rbf_kernel(X, gamma=0.5 / ell**2))
        K[np.diag_indices(len(K))] += lam
        seconds = []
        while more(seconds, 3):
            A = K.copy(order="F")
            start = time.perf_counter()
            dpotrf(A, lower=1, clean=0, overwrite_a=1)
            seconds.append(time.perf_counter() - start)
        return seconds, {}
    if impl == "sklearn":
        from sklearn.kernel_ridge import KernelRidge

        def make():
            return KernelRidge(kernel="rbf", gamma=0.5 / ell**2, alpha=lam)
    else:
        from mercer import KernelRidge
        from mercer.kernels import Gaussian

        solver = "cholesky" if impl == "mercer float64" else "auto"

        def make():
            return KernelRidge(Gaussian(ell), lam, trend=None, solver=solver, merge=True)

        make().fit(X[:6000], y[:6000])
    seconds, model = repeat(lambda: make().fit(X, y))
    rmse = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    extra = {"test RMSE": rmse}
    if impl != "sklearn":
        extra |= {"residual": model.fit_report_.get("residual"), "solver": model.fit_report_["solver"]}
        extra["residual seen"] = _residual(model, X, y, lam)
    return seconds, extra


def _residual(model, X, y, lam):
    """‖y − (K + λW⁻¹)α‖/‖y‖ on the points, with K evaluated afresh by differences."""
    P, alpha = model.points_, model.dual_coef_
    count = np.bincount(model.point_index_, minlength=len(P))
    mean = np.bincount(model.point_index_, weights=y, minlength=len(P)) / count
    from scipy.spatial.distance import cdist

    out = np.empty(len(P))
    for i in range(0, len(P), 1000):
        S = cdist(P[i : i + 1000], P, "sqeuclidean")
        out[i : i + 1000] = np.exp(-S / (2 * model.kernel_.length_scale**2)) @ alpha
    return float(np.linalg.norm(mean - out - lam * alpha / count) / np.linalg.norm(mean))


# ---------------------------------------------------------------------- K v without K
def matvec(impl, dtype):
    """K v for n = 100 000, d = 10, K never stored."""
    n, ell = 100_000, 2.0
    X, v = points(n, 10, dtype), np.random.default_rng(2).standard_normal(n).astype(dtype)
    call = {"mercer": _matvec_mercer, "numpy": _matvec_numpy, "jax": _matvec_jax, "pykeops": _matvec_pykeops}[impl]
    product = call(ell, dtype)
    product(X[:6000], v[:6000])
    seconds, f = repeat(lambda: product(X, v), 2)
    rows = np.random.default_rng(3).integers(0, n, 50)
    A = X.astype(np.float64)
    exact = np.array([np.exp(-((A - A[i]) ** 2).sum(axis=1) / (2 * ell**2)) @ v.astype(np.float64) for i in rows])
    return seconds, {"relative error": float(np.abs(np.asarray(f)[rows] - exact).max() / np.abs(exact).max())}


def _matvec_mercer(ell, dtype):
    from mercer.gram import TiledGram
    from mercer.kernels import Gaussian

    return lambda X, v: TiledGram(Gaussian(ell), X, dtype=dtype) @ v


def _matvec_numpy(ell, dtype):
    """Blocked NumPy: distances by a product, exp in place, tiles that stay in cache, a thread for each core."""
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_limits

    def product(X, v):
        xx = np.einsum("ij,ij->i", X, X)
        out = np.empty(len(X), dtype=X.dtype)

        def block(i):
            A, total = X[i : i + 256], 0.0
            for j in range(0, len(X), 1024):
                S = A @ X[j : j + 1024].T
                S *= -2
                S += xx[i : i + 256, None]
                S += xx[j : j + 1024]
                np.maximum(S, 0, out=S)
                S *= X.dtype.type(-0.5 / ell**2)
                np.exp(S, out=S)
                total += S @ v[j : j + 1024]
            out[i : i + 256] = total

        with threadpool_limits(1, "blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(block, range(0, len(X), 256)))
        return out

    return product


def _matvec_jax(ell, dtype):
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    @jax.jit
    def run(X, v):
        xx = (X * X).sum(axis=1)

        def block(arguments):
            A, aa = arguments
            S = aa[:, None] + xx - 2 * A @ X.T
            return jnp.exp(-jnp.maximum(S, 0) / (2 * ell**2)) @ v

        size = 200
        blocks = (X.reshape(-1, size, X.shape[1]), xx.reshape(-1, size))
        return jax.lax.map(block, blocks).reshape(-1)

    return lambda X, v: np.asarray(run(X, v))


def _matvec_pykeops(ell, dtype):
    import pykeops

    pykeops.set_verbose(False)
    from pykeops.numpy import LazyTensor

    def product(X, v):
        x, z = LazyTensor(X[:, None, :]), LazyTensor(X[None, :, :])
        K = (-((x - z) ** 2).sum(-1) * (0.5 / ell**2)).exp()
        return (K @ v[:, None])[:, 0]

    return product


# ---------------------------------------------------------------------- prediction, cold start, duplicates
def predict(impl, dtype):
    """Predict 100 000 rows from 10 000 points."""
    X, new, alpha = points(10_000, 10), points(100_000, 10), np.random.default_rng(4).standard_normal(10_000)
    ell = 2.0
    if impl == "mercer":
        from mercer import KernelRidge
        from mercer.kernels import Gaussian

        model = KernelRidge(Gaussian(ell)).fit(X[:50], alpha[:50])
        model.points_, model.dual_coef_, model.intercept_ = X, alpha, 0.0
    else:
        from sklearn.kernel_ridge import KernelRidge

        model = KernelRidge(kernel="rbf", gamma=0.5 / ell**2).fit(X[:50], alpha[:50])
        model.X_fit_, model.dual_coef_ = X, alpha
    model.predict(new[:3000])
    seconds, f = repeat(lambda: model.predict(new), 2)
    exact = np.array([np.exp(-((X - new[i]) ** 2).sum(axis=1) / (2 * ell**2)) @ alpha for i in range(50)])
    return seconds, {"relative error": float(np.abs(f[:50] - exact).max() / np.abs(exact).max())}


COLD = {
    "mercer": "from mercer import KernelRidge; from mercer.kernels import Gaussian; m = KernelRidge(Gaussian(), 0.1)",
    "sklearn": "from sklearn.kernel_ridge import KernelRidge; m = KernelRidge(kernel='rbf', gamma=0.5, alpha=0.1)",
}


def cold(impl, dtype):
    """A 50-row fit and prediction in a fresh interpreter, import included."""
    code = f"import numpy as np\n{COLD[impl]}\nX = np.linspace(0, 9, 50)[:, None]\nm.fit(X, np.sin(X[:, 0])).predict(X)"
    seconds, _ = repeat(lambda: subprocess.run([sys.executable, "-c", code], check=True), 7)
    return seconds, {}


def duplicates(impl, dtype):
    """Exact fit of keggundirected (71 % duplicate rows), with and without the merge; "30k": the first 30 000."""
    data = np.loadtxt(DATA / "uci/keggundirected/data.csv.gz", delimiter=",")
    data = data / np.where(data.std(axis=0) > 0, data.std(axis=0), 1.0)
    merged, _, rows = impl.partition(" ")
    X, y = (data[:30_000] if rows else data)[:, :-1], (data[:30_000] if rows else data)[:, -1]
    from mercer import KernelRidge
    from mercer.kernels import Gaussian

    kernel = Gaussian(2.0)
    KernelRidge(kernel, 0.1).fit(points(6000, 27), np.zeros(6000))
    seconds, model = repeat(lambda: KernelRidge(kernel, 0.1, merge=merged == "merged").fit(X, y), 1)
    return seconds, {
        "points": len(model.points_),
        "solver": model.fit_report_["solver"],
        "residual": model.fit_report_.get("residual"),
        "predictions": model.predict(X[:2000]).tolist(),
    }


TASKS = {"gram": gram, "krr": krr, "matvec": matvec, "predict": predict, "cold": cold, "duplicates": duplicates}


def peak_megabytes():
    """Peak memory of this process; ``ru_maxrss`` would include what the parent had at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text()).group(1)) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    name, impl, dtype = sys.argv[1], sys.argv[2], np.dtype(sys.argv[3] if len(sys.argv) > 3 else "float64").type
    seconds, extra = TASKS[name](impl, dtype)
    peak = peak_megabytes()
    print(json.dumps({"seconds": seconds, "peak MB": round(peak), **extra}))


if __name__ == "__main__":
    main()
