"""Fitted models of every kind, found by reflection where that is possible, and what they answer."""

import importlib
import warnings

import numpy as np
import pytest

from examples_of_every_kernel import examples, sample
from mercer import losses
from mercer.kernels import Gaussian, GaussianBasis, Kernel, Linear, PolynomialBasis
from mercer.kernels.parse import kernel_classes
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve, LogNormal
from mercer.solvers import CG, Cholesky, Mixed, Spectral

ANSWERS = ("predict", "predict_proba", "predict_latent", "decision_function", "predict_interval", "power_function")


def data(n=24, seed=0):
    """X, y, two classes, three classes, weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    three = np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.4, 0.4])]
    return X, y, (X[:, 0] > 0).astype(int), three, rng.uniform(0.5, 2.0, n)


def models():
    """{name: a function that returns a fitted model}: every estimator, fitted in each way that leaves other things."""
    return {**_ridge(), **_simple(), **_processes(), **_classifiers(), **_machines()}


def _later(estimator, *args, X=None, y=None, sample_weight=None, **options):
    """A function that fits an estimator of mercer, by name."""
    given = data()
    X, y = given[0] if X is None else X, given[1] if y is None else y
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}

    def fitted():
        return quietly(known(estimator)(*args, **options).fit, X, y, **weights)

    return fitted


def _ridge():
    X, y, *_, w = data()
    kernel, found = Gaussian(1.0), {}
    rules = (LOO(), GCV(), Evidence(), KFold(3), LCurve(), Discrepancy(0.1), GroupKFold(np.arange(24) % 4))
    for rule in rules:
        found[f"ridge {type(rule).__name__}"] = _later("KernelRidge", kernel, criterion=rule)
    for solver in (Cholesky(), Mixed(), Spectral(), CG()):
        found[f"ridge {type(solver).__name__}"] = _later("KernelRidge", kernel, 1.0, solver=solver)
    found["ridge list"] = _later("KernelRidge", [kernel, Linear()], criterion=LOO())
    found["ridge lam"] = _later("KernelRidge", kernel, criterion=LOO(), optimize="lam")
    found["ridge weights"] = _later("KernelRidge", sample_weight=w)
    found["ridge dropped"] = _later("KernelRidge", sample_weight=np.where(w > 1, w, 0.0), trend=None)
    found["ridge noise"] = _later("KernelRidge", lam=w)
    found["ridge targets"] = _later("KernelRidge", y=np.stack([y, -2 * y], axis=1))
    found["ridge huge"] = _later("KernelRidge", y=1e200 * y)
    found["ridge equal rows"] = _later("KernelRidge", X=np.vstack([X, X[:4]]), y=np.append(y, y[:4]))
    return found


def _simple():
    _, y, *_, w = data()
    return {
        "interpolator": _later("KernelInterpolator"),
        "interpolator targets": _later("KernelInterpolator", y=np.stack([y, -2 * y], axis=1)),
        "basis": _later("BasisRegression", lam=0.1, trend="constant"),
        "basis own": _later("BasisRegression", GaussianBasis([[0.0, 1.0]], 1.0)),
        "svr": _later("SVR", sample_weight=w),
        "svr nu": _later("SVR", Gaussian(), nu=0.3),
        "svr targets": _later("SVR", Gaussian(), y=np.stack([y, -2 * y], axis=1)),
    }


def _processes():
    X, y, *_, w = data()
    name, found = "GaussianProcessRegressor", {}
    found["gp"] = _later(name)
    found["gp draws"] = _later(name, 1.0 * Gaussian(), n_hyper_samples=4, X=X[:12], y=y[:12])
    found["gp targets"] = _later(name, 1.0 * Gaussian(), criterion=None, y=np.stack([y, -2 * y], axis=1))
    found["gp noise"] = _later(name, 1.0 * Gaussian(), criterion=None, noise=w)
    found["gp large y"] = _later(name, 1.0 * Gaussian(), prior={"lam": LogNormal(1e8, 1.0)}, y=1e6 * y)
    jitter = {"criterion": None, "noise": 0.0, "trend": None}
    found["gp jitter"] = _later(name, Linear() + 1e-30, X=X[:6], y=y[:6], **jitter)
    for trend in (None, "linear", PolynomialBasis(2)):
        found[f"gp trend {trend}"] = _later(name, Gaussian(), trend=trend, criterion=None)
    mixed = [Gaussian(1.0), 2.0 * Linear()]
    found["stacked"] = _later("StackedKernels", mixed, [0.1, 0.2])
    found["stacked weights"] = _later("StackedKernels", mixed, [0.1, 0.2], weights=[1.0, 3.0])
    found["transformed"] = _later("TransformedTarget", target="yeo-johnson")
    return found


def _classifiers():
    X, _, two, three, _ = data()
    name, found = "GaussianProcessClassifier", {}
    for inference in ("laplace", "ep", "mcmc"):
        options = {"inference": inference, "n_samples": 20, "criterion": None}
        for link in ("logit", "probit"):
            found[f"gpc {inference} {link}"] = _later(name, Gaussian(), link=link, y=two, **options)
        found[f"gpc {inference} rest"] = _later(name, multi_class="one_vs_rest", y=three, **options)
    few = {"X": X[:3], "y": np.array([0, 1, 1])}
    found["gpc quadrature"] = _later(name, Gaussian(), inference="quadrature", criterion=None, **few)
    found["gpc learnt"] = _later(name, Gaussian(), temperature=True, y=two)
    found["gpc softmax"] = _later(name, Gaussian(), criterion=None, y=three)
    return found


def _machines():
    _, y, two, three, _ = data()
    name, found = "KernelMachine", {}
    for called, loss in losses.BY_NAME.items():
        target = two if loss.classification else np.abs(y)
        found[f"machine {called}"] = _later(name, Gaussian(), loss=called, lam=0.1, y=target)
    grid = {"lam": [0.1, 1.0]}
    found["machine levels"] = _later(name, Gaussian(), loss=losses.Quantile([0.1, 0.9]), criterion=3, **grid)
    found["machine alo"] = _later(name, Gaussian(), loss=losses.Huber(1.0), criterion="loo", **grid)
    found["machine softmax"] = _later(name, Gaussian(), loss="logistic", multi_class="softmax", y=three)
    found["machine rest"] = _later(name, Gaussian(), loss="hinge", y=three)
    return found


def known(name, package="mercer"):
    """An estimator by name; a test that needs one which does not load is skipped."""
    try:
        return getattr(importlib.import_module(package), name)
    except ImportError as error:
        pytest.skip(f"{package}.{name} does not load: {error}")


def compat(name):
    """A class of mercer.compat."""
    return known(name, "mercer.compat")


def quietly(call, *args, **options):
    """call(...); what it warns of is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **options)


def kernels(first_only=False):
    """[(id, kernel)] of every kernel class, by reflection."""
    found, known = [], examples()
    for name in sorted(kernel_classes()):
        for i, kernel in enumerate(known[name][: 1 if first_only else None]):
            found.append((f"{name}-{i}", kernel))
    return found


def name_alone(value):
    """The id of a test about one of `kernels`: its name, and nothing for the kernel."""
    return value if isinstance(value, str) else ""


def functions(kernel):
    """{name: function} of a kernel and its parts."""
    found = {}
    for value in kernel.get_params(deep=False).values():
        if isinstance(value, Kernel):
            found |= functions(value)
        elif callable(value) and not hasattr(value, "get_params"):
            found[value.__name__] = value
    return found


def inputs(kernel, n=10):
    """(training inputs, new inputs) of a kernel."""
    X = sample(kernel, n, np.random.default_rng(1))
    if type(kernel).__name__ == "Precomputed":
        return X, np.random.default_rng(2).standard_normal((3, n))
    return X, sample(kernel, 3, np.random.default_rng(2))


def answers(model, X):
    """{name: bytes or error} of all that a model says about new inputs."""
    found = {name: _answer(getattr(model, name), X) for name in ANSWERS if hasattr(model, name)}
    if type(model).__name__ in ("GaussianProcessRegressor", "BasisRegression"):
        found["std"] = _answer(model.predict, X, return_std=True)
    return found


def assert_same_answers(model, again, X):
    """Predictions to the bit; deviations and probabilities to rounding, since a loaded model factors its K again."""
    was, found = answers(model, X), answers(again, X)
    assert was.keys() == found.keys()
    for name in was:
        if was[name] == found[name]:
            continue
        assert name != "predict", name
        for (kind, shape, a), (kind_now, shape_now, b) in zip(was[name], found[name], strict=True):
            assert (kind, shape) == (kind_now, shape_now) and kind == "<f8", name
            a, b = np.frombuffer(a), np.frombuffer(b)
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12 * max(1.0, np.abs(a).max()), err_msg=name)


def learnt(model):
    """{name: bytes or error} of what a model says of itself: every public attribute that a fit has made."""
    names = [name for name in dir(type(model)) if name.endswith("_") and not name.startswith("_")]
    return {name: _answer(lambda name: getattr(model, name), name) for name in names}


def _answer(method, X, **options):
    try:
        value = quietly(method, X, **options)
    except Exception as error:
        return type(error).__name__, str(error)
    parts = value if isinstance(value, tuple) else (value,)
    try:
        arrays = [np.asarray(part) for part in parts]
    except ValueError:
        return [repr(part) for part in parts]
    return [(part.dtype.str, part.shape, repr(part) if part.dtype == object else part.tobytes()) for part in arrays]
