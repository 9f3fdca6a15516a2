"""Fitted models of every kind, found by reflection where that is possible, and what they answer."""

import warnings

import numpy as np

from mercer import (
    SVR,
    BasisRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
    losses,
)
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
    X, y, two, three, w = data()
    found = {}

    def add(name, model, X=X, y=y, **options):
        found[name] = lambda: quietly(model.fit, X, y, **options)

    ridge = {"kernel": Gaussian(1.0)}
    rules = (LOO(), GCV(), Evidence(), KFold(3), LCurve(), Discrepancy(0.1), GroupKFold(np.arange(24) % 4))
    for rule in rules:
        add(f"ridge {type(rule).__name__}", KernelRidge(**ridge, criterion=rule))
    for solver in (Cholesky(), Mixed(), Spectral(), CG()):
        add(f"ridge {type(solver).__name__}", KernelRidge(**ridge, solver=solver))
    add("ridge list", KernelRidge([Gaussian(1.0), Linear()], criterion=LOO()))
    add("ridge weights", KernelRidge(), sample_weight=w)
    add("ridge noise", KernelRidge(lam=w))
    add("ridge targets", KernelRidge(), y=np.stack([y, -2 * y], axis=1))
    add("ridge equal rows", KernelRidge(), X=np.vstack([X, X[:4]]), y=np.append(y, y[:4]))
    add("interpolator", KernelInterpolator())
    add("basis", BasisRegression(lam=0.1, intercept=True))
    add("basis own", BasisRegression(GaussianBasis([[0.0, 1.0]], 1.0)))
    add("gp", GaussianProcessRegressor())
    add("gp draws", GaussianProcessRegressor(1.0 * Gaussian(), n_hyper_samples=4), X=X[:12], y=y[:12])
    add("gp targets", GaussianProcessRegressor(1.0 * Gaussian(), criterion=None), y=np.stack([y, -2 * y], axis=1))
    add("gp noise", GaussianProcessRegressor(1.0 * Gaussian(), criterion=None, noise=w))
    add("gp large y", GaussianProcessRegressor(1.0 * Gaussian(), prior={"lam": LogNormal(1e8, 1.0)}), y=1e6 * y)
    add(
        "gp jitter", GaussianProcessRegressor(Linear() + 1e-30, criterion=None, noise=0.0, trend=None), X=X[:6], y=y[:6]
    )
    for trend in (None, "linear", PolynomialBasis(2)):
        add(f"gp trend {trend}", GaussianProcessRegressor(Gaussian(), trend=trend, criterion=None))
    for inference in ("laplace", "ep", "mcmc"):
        options = {"inference": inference, "n_samples": 20, "optimize": False}
        for link in ("logit", "probit"):
            add(f"gpc {inference} {link}", GaussianProcessClassifier(Gaussian(), link=link, **options), y=two)
        add(f"gpc {inference} rest", GaussianProcessClassifier(multi_class="one_vs_rest", **options), y=three)
    few = {"X": X[:3], "y": np.array([0, 1, 1])}
    add("gpc quadrature", GaussianProcessClassifier(Gaussian(), inference="quadrature", optimize=False), **few)
    add("gpc learnt", GaussianProcessClassifier(Gaussian(), temperature=True), y=two)
    add("gpc softmax", GaussianProcessClassifier(Gaussian(), optimize=False), y=three)
    add("svr", SVR(), sample_weight=w)
    add("svr nu", SVR(Gaussian(), nu=0.3))
    add("svr targets", SVR(Gaussian()), y=np.stack([y, -2 * y], axis=1))
    for name, loss in losses.BY_NAME.items():
        target = two if loss.classification else np.abs(y)
        add(f"machine {name}", KernelMachine(Gaussian(), loss=name, lam=0.1), y=target)
    add("machine levels", KernelMachine(Gaussian(), loss=losses.Quantile([0.1, 0.9]), criterion=3, lam=[0.1, 1.0]))
    add("machine alo", KernelMachine(Gaussian(), loss=losses.Huber(1.0), criterion="alo", lam=[0.1, 1.0]))
    add("machine softmax", KernelMachine(Gaussian(), loss="logistic", multi_class="softmax"), y=three)
    add("machine rest", KernelMachine(Gaussian(), loss="hinge"), y=three)
    return found


def quietly(call, *args, **options):
    """call(...); what it warns of is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **options)


def kernels(first_only=False):
    """[(id, kernel)] of every kernel class, by reflection."""
    found = []
    for name, cls in sorted(kernel_classes().items()):
        for i, kernel in enumerate(cls.examples()[: 1 if first_only else None]):
            found.append((f"{name}-{i}", kernel))
    return found


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
    X = kernel.sample(n, np.random.default_rng(1))
    if type(kernel).__name__ == "Precomputed":
        return X, np.random.default_rng(2).standard_normal((3, n))
    return X, kernel.sample(3, np.random.default_rng(2))


def answers(model, X):
    """{name: bytes or error} of all that a model says about new inputs."""
    found = {}
    for name in ANSWERS:
        if hasattr(model, name):
            found[name] = _answer(getattr(model, name), X)
    if isinstance(model, GaussianProcessRegressor | BasisRegression):
        found["std"] = _answer(model.predict, X, return_std=True)
    return found


def _answer(method, X, **options):
    try:
        value = quietly(method, X, **options)
    except Exception as error:
        return type(error).__name__, str(error)
    parts = value if isinstance(value, tuple) else (value,)
    return [(part.dtype.str, part.shape, part.tobytes()) for part in map(np.asarray, parts)]
