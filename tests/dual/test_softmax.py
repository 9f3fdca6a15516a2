"""Softmax: stationary, certified, equal to a generic optimiser, and to the logistic loss for two classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer.dual.newton import LossLikelihood, solve_smooth
from mercer.dual.softmax import solve_softmax
from mercer.gram import TiledGram
from mercer.kernels import Gaussian
from mercer.losses import Logistic


def problem(rng, n=40, classes=3):
    X = rng.standard_normal((n, 2))
    label = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(n), np.linspace(-0.7, 0.7, classes - 1))
    label[:classes] = np.arange(classes)
    return TiledGram(Gaussian(1.0), X), np.eye(classes)[label]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [3.0, 0.1, 1e-3])
def test_stationary_and_certified(lam, intercept, rng):
    K, Y = problem(rng)
    c = rng.uniform(0.5, 2.0, len(Y)) / (2 * lam)
    found = solve_softmax(K, Y, c, intercept=intercept)
    assert found.status == "converged"
    p = np.exp(found.f) / np.exp(found.f).sum(axis=1, keepdims=True)
    assert_allclose(found.alpha, c[:, None] * (Y - p), atol=1e-7 * c.max())
    assert_allclose(found.f, K @ found.alpha + found.b, rtol=1e-9, atol=1e-9)
    assert found.gap <= 1e-9 * found.primal
    if intercept:
        assert_allclose((c[:, None] * (Y - p)).sum(axis=0), 0.0, atol=1e-6 * c.max())
        assert_allclose(found.b.sum(), 0.0, atol=1e-10)


def test_equals_a_generic_optimiser(rng):
    K, Y = problem(rng, n=25)
    L = np.linalg.cholesky(K.dense() + 1e-12 * np.eye(25))

    def value(p):
        theta = p.reshape(26, 3)
        f = L @ theta[:-1] + theta[-1]
        q = np.exp(f - f.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        loss = -np.sum(Y * np.log(q)) + 0.5 * np.sum(theta[:-1] ** 2)
        return loss, np.vstack([L.T @ (q - Y) + theta[:-1], (q - Y).sum(axis=0)]).ravel()

    best = minimize(
        value, np.zeros(78), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0, "gtol": 1e-9}
    )
    assert_allclose(solve_softmax(K, Y, np.ones(25)).primal, best.fun, rtol=1e-9)


def test_two_classes_are_the_logistic_loss(rng):
    # f₂ = −f₁ = f/2, so Σ‖f_c‖² is half of ‖f‖²: the same f at twice the c
    K, Y = problem(rng, classes=2)
    both = solve_softmax(K, Y, np.full(len(Y), 2.0))
    one = solve_smooth(K, LossLikelihood(Logistic(), 2 * Y[:, 1] - 1, np.full(len(Y), 4.0)))
    assert_allclose(both.f[:, 1] - both.f[:, 0], one.f, rtol=1e-6, atol=1e-6)


def test_budgets(rng):
    K, Y = problem(rng)
    assert solve_softmax(K, Y, np.full(len(Y), 1e4), max_iter=1).status == "max_iter"
    assert solve_softmax(K, Y, np.full(len(Y), 1e4), time_budget=1e-9).status == "time_budget"
