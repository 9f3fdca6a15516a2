"""One measurement of a Gaussian process in a process of its own: ``python gp_jobs.py JOB`` prints one line of JSON.

JOB is JSON: {"task": "fit", "evaluation" or "classify", and the arguments of the function of that name}.
"""

import contextlib
import ctypes
import gc
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from foundation import peak_megabytes
from gp_peers import LIBRARIES

from selection import split

WARM = 600  # rows of a first evaluation that fills caches


def fit(library, kernel, name, number=0, most=None, cap=None, mean="constant"):
    """Seconds of a whole fit, the first of its process; RMSE and mean log density (noisy), in standard deviations."""
    X, y, X_test, y_test = split(name, number, most)
    model = LIBRARIES[library](X, y, kernel, mean)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        extra = model.fit(cap)
        seconds = time.perf_counter() - start
        peak = peak_megabytes()
        mean_, variance = model.predict(X_test)
    if not (np.isfinite(mean_).all() and (variance > 0).all()):
        return {"failed": "a prediction that is not finite, or a noisy variance that is not positive"}
    density = -0.5 * (np.log(2 * np.pi * variance) + (y_test - mean_) ** 2 / variance)
    variance_, lengths, noise = model.hyper()
    ours = [w for w in caught if issubclass(w.category, UserWarning)]  # not what a package deprecates in another
    return {
        "n": len(y),
        "seconds": seconds,
        "peak MB": peak,
        "rmse": float(np.sqrt(np.mean((mean_ - y_test) ** 2))),
        "log density": float(density.mean()),
        "variance": float(variance_),
        "length_scale": np.ravel(lengths).tolist(),
        "noise": float(noise),
        "warnings": len(ours),
        "warning": str(ours[0].message)[:200] if ours else "",
        **extra,
    }


def evaluation(library, kernel, name, most=None, repeats=5):
    """Seconds of each of several evaluations at fixed hyper-parameters; memory of the first above what was there."""
    X, y, _, _ = split(name, 0, most)
    at = {"variance": 1.0, "length": float(np.sqrt(X.shape[1])), "noise": 0.05}
    LIBRARIES[library](X[:WARM], y[:WARM], kernel, None).evaluation(**at)()
    call = LIBRARIES[library](X, y, kernel, None).evaluation(**at)
    before = forget_peak()
    value, gradient = call()
    doubles = (peak_megabytes() - before) * 2**20 / (8 * len(y) ** 2)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return {
        "n": len(y),
        "seconds": min(seconds),
        "n2 doubles": doubles,
        "value": float(value),
        "gradient": np.ravel(gradient).tolist(),
    }


def classification(data, most=None):
    """(X, t, X_test, t_test), X standardised: breast cancer (nine tenths to learn from) or two moons."""
    from sklearn.datasets import load_breast_cancer, make_moons

    if data == "breast cancer":
        X, t = load_breast_cancer(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(t))
        train, test = order[: len(t) * 9 // 10 + 1], order[len(t) * 9 // 10 + 1 :]
    else:
        X, t = make_moons(4000, noise=0.25, random_state=0)
        train, test = np.arange(2000), np.arange(2000, 4000)
    train = train[:most]
    mean, sd = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / sd
    return X[train], t[train], X[test], t[test]


def classify(library, data, ard, most=None):
    """Seconds of a Laplace fit with the logistic link, and the evidence it found, by scikit-learn's code for both."""
    from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    X, t, X_test, t_test = classification(data, most)
    lengths = np.ones(X.shape[1]) if ard else 1.0
    if library == "mercer":
        from mercer import GaussianProcessClassifier
        from mercer.kernels import Gaussian

        def make():
            return GaussianProcessClassifier(1.0 * Gaussian(lengths), link="logit", trend=None)
    else:

        def make():
            return Theirs(ConstantKernel(1.0) * RBF(lengths))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model = make().fit(X, t)
        seconds = time.perf_counter() - start
        peak, probability = peak_megabytes(), model.predict_proba(X_test)[:, 1]
        kernel = model.kernel_
        if library == "mercer":
            theta = np.log([kernel.scale, *np.ravel(kernel.kernel.length_scale)])
        else:
            theta = kernel.theta
        judge = Theirs(ConstantKernel(1.0) * RBF(lengths), optimizer=None).fit(X, t)
        evidence = judge.log_marginal_likelihood(theta)
    correct = np.where(t_test == 1, probability, 1 - probability)
    return {
        "n": len(t),
        "seconds": seconds,
        "peak MB": peak,
        "own evidence": float(model.log_marginal_likelihood_value_),
        "evidence": float(evidence),
        "errors": int((correct < 0.5).sum()),
        "tests": len(t_test),
        "log density": float(np.log(correct).mean()),
    }


def forget_peak():
    """Memory in use now, in MB, with what was freed given back; the peak starts anew, where the system lets it."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_megabytes()


def main():
    job = json.loads(sys.argv[1])
    print(json.dumps({"fit": fit, "evaluation": evaluation, "classify": classify}[job.pop("task")](**job)))


if __name__ == "__main__":
    main()
