"""Every loss against a generic convex solver: the model that predicts is as good as its certificate says.

Three things must hold, or a warning was given: ``objective_`` is that of the model that predicts; it is within
``dual_gap_`` of the minimum; and so it is not below the minimum that Clarabel finds through CVXPY.
"""

import os
import warnings

import cvxpy
import numpy as np
import pytest

from differential.test_linear import batches
from mercer import KernelMachine
from mercer.kernels import Exponential, Gaussian, Linear, Matern32
from mercer.losses import BY_NAME

FIRST, QUICK, ALL = int(os.environ.get("MERCER_SEED", "0")) * 100_000, 3, 25
TWINS = {
    "absolute": lambda y, f: cvxpy.abs(y - f),
    "epsilon_insensitive": lambda y, f: cvxpy.pos(cvxpy.abs(y - f) - 0.1),
    "expectile": lambda y, f: cvxpy.square(cvxpy.pos(y - f)) + cvxpy.square(cvxpy.pos(f - y)),
    "hinge": lambda y, f: cvxpy.pos(1 - cvxpy.multiply(y, f)),
    "huber": lambda y, f: cvxpy.huber(y - f, 1.35),
    "logistic": lambda y, f: cvxpy.logistic(-cvxpy.multiply(y, f)),
    "poisson": lambda y, f: cvxpy.exp(f) - cvxpy.multiply(y, f),
    "quantile": lambda y, f: 0.5 * cvxpy.abs(y - f),
    "squared": lambda y, f: cvxpy.square(y - f),
    "squared_epsilon_insensitive": lambda y, f: cvxpy.square(cvxpy.pos(cvxpy.abs(y - f) - 0.1)),
    "squared_hinge": lambda y, f: cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, f))),
}


KERNELS = {
    Gaussian(0.5): lambda r: np.exp(-2 * r**2),
    Exponential(0.25): lambda r: np.exp(-4 * r),
    Matern32(1.0): lambda r: (1 + np.sqrt(np.longdouble(3)) * r) * np.exp(-np.sqrt(np.longdouble(3)) * r),
    Linear(): None,
}


def gram(kernel, X):
    """K with 19 digits."""
    X, shape = X.astype(np.longdouble), KERNELS[kernel]
    return X @ X.T if shape is None else shape(np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)))


def draw(name, seed):
    """(kernel, X, y, weight, λ, intercept) of a loss."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    X = rng.uniform(-1, 1, (n, int(rng.integers(1, 3))))
    if rng.uniform() < 0.3:
        X[1] = X[0]
    y = np.sin(3 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    if BY_NAME[name]().classification:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = -1.0, 1.0
    if name == "poisson":
        y = rng.poisson(np.exp(y)).astype(float)
        y[0] = 1.0
    kernel = list(KERNELS)[rng.integers(4)]
    weight = 10.0 ** rng.uniform(-2, 2, n) if rng.uniform() < 0.4 else np.ones(n)
    return kernel, X, y, weight, 10.0 ** rng.uniform(-10, 3), bool(rng.uniform() < 0.5)


def minimum(name, K, y, weight, lam, intercept):
    """min over v and b of Σ wL(y, Lv + b) + λ‖v‖², with K = LLᵀ."""
    e, U = np.linalg.eigh(K)
    v, b = cvxpy.Variable(len(y)), cvxpy.Variable()
    f = (U * np.sqrt(np.maximum(e, 0.0))) @ v + (b if intercept else 0.0)
    problem = cvxpy.Problem(cvxpy.Minimize(weight @ TWINS[name](y, f) + lam * cvxpy.sum_squares(v)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cvxpy.CLARABEL)
    return problem.value if problem.status == cvxpy.OPTIMAL else None


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("batch", list(batches(FIRST, QUICK, ALL)))
def test_the_certificate_is_true(batch, name):
    for seed in batch:
        check(name, seed)


def check(name, seed):
    kernel, X, y, weight, lam, intercept = draw(name, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelMachine(kernel, loss=name, lam=lam, trend=intercept).fit(X, y, sample_weight=weight)
    if caught:
        return
    loss, b = BY_NAME[name](), float(np.asarray(model.intercept_).ravel()[0]) if intercept else 0.0
    K = gram(kernel, model.points_)
    alpha = np.asarray(model.dual_coef_, dtype=np.longdouble).ravel()
    f = kernel(X, model.points_) @ model.dual_coef_.ravel() + b
    predicted = float(weight @ loss.value(y, f) + lam * float(alpha @ K @ alpha))
    scale = abs(predicted) + weight @ np.abs(loss.value(y, np.zeros(len(y))))
    assert abs(predicted - model.objective_) <= 1e-9 * scale + model.dual_gap_
    assert model.dual_gap_ <= 0.2 * scale
    least = minimum(name, kernel(X), y, weight, lam, intercept)
    if least is not None:
        assert predicted - least <= model.dual_gap_ + 2e-6 * scale


def test_every_loss_has_a_twin():
    assert set(TWINS) == set(BY_NAME)
