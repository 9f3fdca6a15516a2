"""Every loss against a generic convex solver: the model that predicts is as good as its certificate says.

Three things must hold, or a warning was given: ``objective_`` is that of the model that predicts; it is within
``dual_gap_`` of the minimum; and so it is not below the minimum that Clarabel finds through CVXPY.
"""

import os
import warnings

import cvxpy
import numpy as np
import pytest

from differential.test_linear import batches, share
from mercer import SVR, KernelMachine
from mercer.kernels import Exponential, Gaussian, Linear, Matern32
from mercer.losses import BY_NAME

FIRST, QUICK, ALL = int(os.environ.get("MERCER_SEED", "0")) * 100_000, 3, 25
TWINS = {  # of y, f and the loss, which has a parameter drawn at random
    "absolute": lambda y, f, _: cvxpy.abs(y - f),
    "epsilon_insensitive": lambda y, f, loss: cvxpy.pos(cvxpy.abs(y - f) - loss.epsilon),
    "expectile": lambda y, f, loss: (
        2 * loss.level * cvxpy.square(cvxpy.pos(y - f)) + 2 * (1 - loss.level) * cvxpy.square(cvxpy.pos(f - y))
    ),
    "hinge": lambda y, f, _: cvxpy.pos(1 - cvxpy.multiply(y, f)),
    "huber": lambda y, f, loss: cvxpy.huber(y - f, loss.delta),
    "logistic": lambda y, f, _: cvxpy.logistic(-cvxpy.multiply(y, f)),
    "poisson": lambda y, f, _: cvxpy.exp(f) - cvxpy.multiply(y, f),
    "quantile": lambda y, f, loss: loss.level * cvxpy.pos(y - f) + (1 - loss.level) * cvxpy.pos(f - y),
    "squared": lambda y, f, _: cvxpy.square(y - f),
    "squared_epsilon_insensitive": lambda y, f, loss: cvxpy.square(cvxpy.pos(cvxpy.abs(y - f) - loss.epsilon)),
    "squared_hinge": lambda y, f, _: cvxpy.square(cvxpy.pos(1 - cvxpy.multiply(y, f))),
}
DRAWN = {"quantile": (0.05, 0.95), "expectile": (0.1, 0.9), "huber": (0.05, 2.0)}
DRAWN |= dict.fromkeys(("epsilon_insensitive", "squared_epsilon_insensitive"), (0.0, 0.5))


def loss_of(name, seed):
    """The loss, with a parameter drawn at random where it has one."""
    if name not in DRAWN:
        return BY_NAME[name]()
    return BY_NAME[name](float(np.random.default_rng(seed).uniform(*DRAWN[name])))


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


def root(K):
    """L with K = LLᵀ."""
    e, U = np.linalg.eigh(K)
    return U * np.sqrt(np.maximum(e, 0.0))


def minimum(name, loss, K, y, weight, lam, intercept):
    """min over v and b of Σ wL(y, Lv + b) + λ‖v‖², with K = LLᵀ."""
    v, b = cvxpy.Variable(len(y)), cvxpy.Variable()
    f = root(K) @ v + (b if intercept else 0.0)
    return least(weight @ TWINS[name](y, f, loss) + lam * cvxpy.sum_squares(v))


def least(objective):
    """The minimum that Clarabel finds, or None."""
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cvxpy.CLARABEL)
    return problem.value if problem.status == cvxpy.OPTIMAL else None


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("batch", list(batches(FIRST, QUICK, ALL)))
def test_the_certificate_is_true(batch, name):
    assert share(check, batch, name) > 0.5


def check(seed, name):
    kernel, X, y, weight, lam, intercept = draw(name, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = loss_of(name, seed)
        model = KernelMachine(kernel, loss=loss, lam=lam, trend=intercept).fit(X, y, sample_weight=weight)
    if caught:
        return False
    b = float(np.asarray(model.intercept_).ravel()[0]) if intercept else 0.0
    K = gram(kernel, model.points_)
    alpha = np.asarray(model.dual_coef_, dtype=np.longdouble).ravel()
    f = kernel(X, model.points_) @ model.dual_coef_.ravel() + b
    predicted = float(weight @ loss.value(y, f) + lam * float(alpha @ K @ alpha))
    scale = abs(predicted) + weight @ np.abs(loss.value(y, np.zeros(len(y))))
    assert abs(predicted - model.objective_) <= 1e-9 * scale + model.dual_gap_
    assert model.dual_gap_ <= 0.2 * scale
    lowest = minimum(name, loss, kernel(X), y, weight, lam, intercept)
    if lowest is not None:
        assert predicted - lowest <= model.dual_gap_ + 2e-6 * scale, seed
    return lowest is not None


def test_every_loss_has_a_twin():
    assert set(TWINS) == set(BY_NAME)


# ------------------------------------------------------------------------------------------- several at once
@pytest.mark.parametrize("nu", [False, True])
@pytest.mark.parametrize("batch", list(batches(FIRST + 1000, QUICK, 4 * ALL)))
def test_support_vectors(batch, nu):
    assert share(check_support_vectors, batch, nu) > 0.5


def check_support_vectors(seed, nu):
    kernel, X, y, weight, C, intercept = draw("absolute", seed)
    rng = np.random.default_rng(seed)
    C, epsilon, share = min(C, 1e4), float(rng.uniform(0, 0.5)), float(rng.uniform(0.05, 0.95))
    model = SVR(kernel, C=C, **({"nu": share} if nu else {"epsilon": epsilon}), trend=intercept or nu, tol=1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weight)
    if caught:
        return False
    v, b, tube = cvxpy.Variable(len(y)), cvxpy.Variable(), cvxpy.Variable(nonneg=True) if nu else epsilon
    f = root(kernel(X)) @ v + (b if intercept or nu else 0.0)

    def objective(excess, tube, squares):
        return 0.5 * squares + C * (weight @ excess + (share * weight.sum() * tube if nu else 0.0))

    lowest = least(objective(cvxpy.pos(cvxpy.abs(y - f) - tube), tube, cvxpy.sum_squares(v)))
    excess = np.maximum(np.abs(y - model.predict(X)) - model.epsilon_, 0.0)
    alpha = np.asarray(model.dual_coef_, dtype=np.longdouble).ravel()
    found = float(objective(excess, model.epsilon_, float(alpha @ gram(kernel, model.points_) @ alpha)))
    if lowest is not None:
        scale = C * weight @ np.abs(y) + abs(found)
        assert found - lowest <= 1e-5 * scale, seed
    return lowest is not None


@pytest.mark.parametrize("batch", list(batches(FIRST + 2000, QUICK, 4 * ALL)))
def test_softmax(batch):
    assert share(check_softmax, batch) > 0.5


def check_softmax(seed):
    kernel, X, y, weight, lam, intercept = draw("squared", seed)
    label = np.digitize(y, [-0.3, 0.3])
    label[:3] = 0, 1, 2
    model = KernelMachine(kernel, loss="logistic", multi_class="softmax", lam=lam, trend=intercept)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, label, sample_weight=weight)
    if caught:
        return False
    V, b, n = cvxpy.Variable((len(y), 3)), cvxpy.Variable((1, 3)), np.arange(len(y))
    f = root(kernel(X)) @ V + (np.ones((len(y), 1)) @ b if intercept else 0.0)
    own = np.eye(3)[label]
    lowest = least(weight @ (cvxpy.log_sum_exp(f, axis=1) - cvxpy.sum(cvxpy.multiply(own, f), axis=1))
                   + lam * cvxpy.sum_squares(V))  # fmt: skip
    f = model.decision_function(X)
    alpha = np.asarray(model.dual_coef_, dtype=np.longdouble)
    squares = float(np.einsum("ij,ij->", alpha, gram(kernel, model.points_) @ alpha))
    found = float(weight @ (np.logaddexp.reduce(f, axis=1) - f[n, label]) + lam * squares)
    if lowest is not None:
        assert found - lowest <= model.dual_gap_ + 2e-6 * (abs(found) + weight.sum()), seed
    return lowest is not None
