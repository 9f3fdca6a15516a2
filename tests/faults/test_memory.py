"""The bytes of a plan are those of a fit: the peak that a process of its own measures is within 1.3 of them."""

import gc
import subprocess
import sys
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.exceptions import NotEnoughMemory
from mercer.kernels import Gaussian, PolynomialBasis

MB = 2**20
ROOM = 25 * MB  # what threads, tiles and libraries take beside the arrays that a plan counts
G = Gaussian(1.0)
MODELS = {  # name: (model, rows)
    "ridge": (lambda: mercer.KernelRidge(G, 0.1), 5000),
    "ridge, float32": (lambda: mercer.KernelRidge(G, 0.1, solver="mixed"), 5000),
    "ridge, spectral": (lambda: mercer.KernelRidge(G, 0.1, solver="spectral"), 2500),
    "ridge, cg": (lambda: mercer.KernelRidge(G, 0.1, solver="cg"), 10_000),
    "ridge, path": (lambda: mercer.KernelRidge(G, criterion="gcv", optimize="lam"), 2500),
    "ridge, searched": (lambda: mercer.KernelRidge(G, criterion="loo"), 2500),
    "landmarks": (lambda: mercer.KernelRidge(G, 0.1, approximation=mercer.Landmarks(1000)), 20_000),
    "interpolator": (lambda: mercer.KernelInterpolator(Gaussian(0.1)), 3500),
    "interpolator, smooth": (lambda: mercer.KernelInterpolator(G), 3500),
    "basis": (lambda: mercer.BasisRegression(PolynomialBasis(3)), 50_000),
    "gp": (lambda: mercer.GaussianProcessRegressor(G), 3500),
    "gp, loo": (lambda: mercer.GaussianProcessRegressor(G, criterion="loo"), 2500),
    "gp, draws": (lambda: mercer.GaussianProcessRegressor(G, n_hyper_samples=4, time_budget=10.0), 1500),
    "gp, given": (lambda: mercer.GaussianProcessRegressor(G, 0.1, criterion=None), 5000),
    "gp, neighbours": (
        lambda: mercer.GaussianProcessRegressor(G, 0.1, criterion=None, approximation=mercer.Neighbours(30)), 20_000
    ),
    "gpc": (lambda: mercer.GaussianProcessClassifier(G, criterion=None), 3000),
    "gpc, searched": (lambda: mercer.GaussianProcessClassifier(G), 2500),
    "gpc, softmax": (lambda: mercer.GaussianProcessClassifier(G, criterion=None), 1500),
    "gpc, ep": (lambda: mercer.GaussianProcessClassifier(G, inference="ep", criterion=None), 2000),
    "svr": (lambda: mercer.SVR(G, C=10.0), 3500),
    "svr, fine": (lambda: mercer.SVR(G, C=10.0, tol=1e-6), 3500),
    "svr, searched": (lambda: mercer.SVR(G, criterion=5), 2000),
    "hinge": (lambda: mercer.KernelMachine(G, loss="hinge", lam=1.0), 3500),
    "logistic": (lambda: mercer.KernelMachine(G, loss="logistic", lam=1.0), 3500),
    "logistic, few curved": (lambda: mercer.KernelMachine(G, loss="logistic", lam=1e-3), 3500),
    "logistic, folds": (lambda: mercer.KernelMachine(G, loss="logistic", criterion=5), 2000),
    "logistic, left out": (lambda: mercer.KernelMachine(G, loss="logistic", criterion="loo"), 2000),
    "logistic, many": (lambda: mercer.KernelMachine(G, loss="logistic", lam=1.0, approximation=None), 8000),
    "stacked": (lambda: mercer.StackedKernels(time_budget=30.0), 1500),
    "stacked, given": (lambda: mercer.StackedKernels([G, Gaussian(2.0)], lam=[0.1, 0.1]), 2500),
    "transformed, ridge": (lambda: mercer.TransformedTarget(mercer.KernelRidge(G, 0.1)), 2500),
    "transformed": (lambda: mercer.TransformedTarget(mercer.GaussianProcessRegressor(G, time_budget=30.0)), 2500),
}  # fmt: skip
LABELS = ("gpc", "hinge", "logistic")


def data(name, n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
    if name.endswith("softmax"):
        return X, np.digitize(y, [-0.7, 0.7])
    return X, np.where(y > 0, 1.0, -1.0) if name.startswith(LABELS) else y + 3.0


def resident(line):
    """Bytes of "VmRSS" (now) or "VmHWM" (the most since it was last reset) of this process."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(one for one in status.splitlines() if one.startswith(line)).split()[1])


def measured(name, limit):
    """Print the bytes that a fit takes beyond a small one, and those of its plan."""
    warnings.simplefilter("ignore")
    make, n = MODELS[name]
    X, y = data(name, n)
    make().fit(X[:400], y[:400])
    model, before = make(), resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    if limit is not None:
        inner = model.estimator if hasattr(model, "estimator") else model
        if not hasattr(inner, "memory"):
            return print(0, 0)
        inner.set_params(memory=limit)
    try:
        model.fit(X, y)
    except (NotEnoughMemory, ValueError):  # the second in words: no inverse is made for so many rows
        print(resident("VmHWM") - before, 0.0)
    else:
        print(resident("VmHWM") - before, model.plan_.memory_bytes)


def child(name, limit):
    """(bytes taken, bytes planned) in a process of its own."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
    code += f"import test_memory as t; t.measured({name!r}, {limit!r})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return map(float, out.split())


def test_a_matrix_goes_with_the_fit_that_made_it():
    from mercer.dual.newton import LossLikelihood, solve_smooth
    from mercer.gram import DenseGram
    from mercer.losses import Logistic

    K = DenseGram(G, data("logistic", 50)[0])
    gone = weakref.ref(K)
    gc.disable()  # what only a collection frees is there for as long as nobody collects: a matrix for each fold
    try:
        solve_smooth(K, LossLikelihood(Logistic(), data("logistic", 50)[1], np.ones(50)))
        del K
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["gpc", "logistic", "softmax", "hinge", "svr", "stacked", "transformed"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_plan_before_a_fit_is_that_after_it(name, classes):
    softmax = mercer.KernelMachine(G, loss="logistic", multi_class="softmax")
    model = softmax if name == "softmax" else MODELS[name][0]()
    X, y = data("", 40)
    y = np.digitize(y, [2.5, 3.5][: classes - 1]) if name in (*LABELS, "softmax") else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).plan_ == mercer.plan(clone(model), X, y)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_takes_what_its_plan_says(name):
    taken, planned = child(name, None)
    assert taken <= 1.3 * planned + ROOM, f"{taken / MB:.0f} MB taken, {planned / MB:.0f} MB planned"
    assert planned <= 1.3 * taken + ROOM, f"{taken / MB:.0f} MB taken, {planned / MB:.0f} MB planned"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", MODELS)
def test_less_memory_than_a_fit_needs_is_kept_to_or_refused(name):
    taken, _ = child(name, 30.0 * MB)
    assert taken <= 1.3 * 30.0 * MB + ROOM, f"{taken / MB:.0f} MB taken"
