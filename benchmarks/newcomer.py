"""What a newcomer gets: the first call in a fresh process, beside scikit-learn in the same process.

    python benchmarks/newcomer.py [--only svr] [--repeat 3]

Each row is a process of its own: the classes of both libraries are imported, then either does the job for the first
time, in turns. Printed is the middle one of ``--repeat`` processes:
seconds of both and how many times as fast mercer is. Nothing of either library is warmed, nothing is kept between
processes. As much memory as the job needs is touched and given back before each of both: a virtual machine may take
seconds for the first touch of a gigabyte, whoever comes first.
"""

import argparse
import json
import subprocess
import sys

import numpy as np

SETUP = """
import json, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import sklearn.svm, sklearn.kernel_ridge, sklearn.gaussian_process as sgp, sklearn.metrics.pairwise
import mercer
from mercer import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian
rng = np.random.default_rng(0)
def data(n, d):
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1 % d] ** 2 + 0.1 * rng.standard_normal(n)
def touched(size):
    numbers = np.empty(size // 8)
    numbers[::512] = 1.0
def clock(job):
    touched(32 * len(X) ** 2)
    began = time.perf_counter(); job(); return time.perf_counter() - began
"""
RBF = "Gaussian({d} ** 0.5)"
SKRBF = "sgp.kernels.RBF({d} ** 0.5)"
FIT = """
X, y = data({n}, {d})
{before}
ours = lambda: {ours}
theirs = lambda: {theirs}
order = [ours, theirs] if {turn} else [theirs, ours]
spent = [clock(job) for job in order]
print(json.dumps(spent if {turn} else spent[::-1]))
"""


def svr(n, d, C):
    ours = f"mercer.SVR({RBF.format(d=d)}, C={C}, epsilon=0.1, criterion=None).fit(X, y)"
    theirs = f"sklearn.svm.SVR(C={C}, epsilon=0.1, gamma=0.5 / {d}, cache_size=2000).fit(X, y)"
    return f"SVR(C={C}) {n} × {d}", n, d, ours, theirs


def jobs():
    """(name, n, d, ours, theirs[, what comes before the clock])."""
    found = [svr(1000, 8, 1), svr(3000, 8, 1), svr(8000, 8, 1)]
    found += [svr(9000, 18, 1), svr(9000, 18, 10)]  # the shape of the elevators data
    found += [svr(n, 5, 10) for n in (20, 50, 100, 300)]
    found.append(("Gram 10 000 × 10", 10_000, 10, f"{RBF.format(d=10)}(X)",
                  "sklearn.metrics.pairwise.rbf_kernel(X, gamma=0.05)"))  # fmt: skip
    before = f"""
one = mercer.KernelRidge({RBF.format(d=10)}, 1.0, criterion=None).fit(X, y)
other = sklearn.kernel_ridge.KernelRidge(alpha=1.0, kernel="rbf", gamma=0.05).fit(X[:10], y[:10])
other.X_fit_, other.dual_coef_ = X, one.dual_coef_"""
    new = "np.vstack([X, X])"
    found.append(("predict 20 000 × 10 000", 10_000, 10, f"one.predict({new})", f"other.predict({new})", before))
    found.append(("ridge 10 000 × 10", 10_000, 10, f"KernelRidge({RBF.format(d=10)}, 1.0, criterion=None).fit(X, y)",
                  "sklearn.kernel_ridge.KernelRidge(alpha=1.0, kernel='rbf', gamma=0.05).fit(X, y)"))  # fmt: skip
    for n in (20, 50, 100, 300):
        for d in (1, 5):
            found.append((f"GaussianProcessRegressor {n} × {d}", n, d,
                          f"mercer.GaussianProcessRegressor({RBF.format(d=d)}, noise=0.01).fit(X, y)",
                          f"sgp.GaussianProcessRegressor(1.0 * {SKRBF.format(d=d)} + sgp.kernels.WhiteKernel(0.01), "
                          "normalize_y=True).fit(X, y)"))  # fmt: skip
        found.append((f"GaussianProcessClassifier {n} × 5", n, 5,
                      f"mercer.GaussianProcessClassifier({RBF.format(d=5)}).fit(X, y > 0.5)",
                      f"sgp.GaussianProcessClassifier(1.0 * {SKRBF.format(d=5)}).fit(X, y > 0.5)"))  # fmt: skip
    for n in (20, 50, 100, 300, 500):
        found.append((f"KernelRidge {n} × 5", n, 5, f"KernelRidge({RBF.format(d=5)}, 0.1, criterion=None).fit(X, y)",
                      "sklearn.kernel_ridge.KernelRidge(alpha=0.1, kernel='rbf', gamma=0.1).fit(X, y)"))  # fmt: skip
    return found


def measured(turn, n, d, ours, theirs, before=""):
    """Seconds of both in a fresh process."""
    code = SETUP + FIT.format(n=n, d=d, ours=ours, theirs=theirs, turn=turn, before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def process(library):
    """Seconds of a whole process that imports, fits 50 rows and predicts."""
    model = {
        "mercer": "from mercer import KernelRidge\nmodel = KernelRidge(lam=0.1, criterion=None)",
        "scikit-learn": "from sklearn.kernel_ridge import KernelRidge\nmodel = KernelRidge(alpha=0.1, kernel='rbf')",
    }[library]
    code = "import numpy as np\nX = np.random.default_rng(0).standard_normal((50, 3))\n" + model
    began = __import__("time").perf_counter()
    subprocess.run([sys.executable, "-c", code + "\nmodel.fit(X, X[:, 0]).predict(X)"], check=True)
    return __import__("time").perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"{'':40s}  mercer   peer   times as fast")
    for name, *job in jobs():
        if given.only.lower() not in name.lower():
            continue
        found = np.array([measured(turn % 2, *job) for turn in range(given.repeat)])
        one, other = np.median(found, axis=0)
        print(f"{name:40s}  {one:7.4f} {other:7.4f} {np.median(found[:, 1] / found[:, 0]):6.2f}", flush=True)
    if given.only in "process":
        one, other = (
            np.median([process(library) for _ in range(given.repeat)]) for library in ("mercer", "scikit-learn")
        )
        print(f"{'process: import, fit 50 rows, predict':40s}  {one:7.3f} {other:7.3f} {other / one:6.2f}")


if __name__ == "__main__":
    main()
