"""Approximate leave-one-out: exact where the loss is quadratic, close to every refit where it is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.dual.newton import LossLikelihood, solve_smooth
from mercer.gram import DenseGram, TiledGram
from mercer.kernels import Gaussian
from mercer.losses import Huber, Logistic, Poisson, Squared, SquaredHinge
from mercer.uncertainty.alo import approximate_leave_one_out


def problem(loss, rng, n=60):
    X = rng.standard_normal((n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if loss.classification:
        y = np.where(f + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    else:
        y = rng.poisson(np.exp(f)).astype(float) if loss.positive_only else f + 0.3 * rng.standard_t(3, n)
    return X, y


def both(loss, lam, intercept, rng):
    """(approximate, every refit, y, w)."""
    X, y = problem(loss, rng)
    w, k = rng.uniform(0.5, 2.0, len(y)), Gaussian(1.0)
    c = w / (2 * lam)
    found = solve_smooth(TiledGram(k, X), LossLikelihood(loss, y, c), intercept=intercept)
    fast = approximate_leave_one_out(
        TiledGram(k, X), found.alpha, found.f, c * loss.hess(y, found.f), intercept=intercept
    )
    slow = np.empty(len(y))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        part = solve_smooth(TiledGram(k, X[rest]), LossLikelihood(loss, y[rest], c[rest]), intercept=intercept)
        slow[i] = k(X[i : i + 1], X[rest])[0] @ part.alpha + part.b
    return fast, slow, y, w


@pytest.mark.parametrize("intercept", [True, False])
def test_exact_for_the_squared_loss(intercept, rng):
    fast, slow, _, _ = both(Squared(), 0.3, intercept, rng)
    assert_allclose(fast, slow, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("loss", "lam", "mean", "close"),
    [(Logistic(), 0.2, 0.01, 0.05), (Poisson(), 0.5, 0.03, 0.05), (Huber(0.5), 0.2, 0.02, 0.05)],
    ids=repr,
)
def test_close_to_every_refit(loss, lam, mean, close, intercept, rng):
    fast, slow, y, w = both(loss, lam, intercept, rng)
    exact = w @ loss.value(y, slow)
    assert abs(w @ loss.value(y, fast) - exact) <= mean * (abs(exact) + w.sum())
    assert np.median(np.abs(fast - slow)) <= close * slow.std()
    assert np.corrcoef(fast, slow)[0, 1] > 0.99


def test_a_row_without_curvature_is_exact_when_no_other_changes_sides(rng):
    fast, slow, _, _ = both(SquaredHinge(), 3.0, True, rng)
    assert np.median(np.abs(fast - slow)) <= 1e-9


def test_straight_rows_by_hand():
    """A Huber loss whose far rows have α = ±2cδ: leaving one out moves f by −αᵢvᵢ."""
    K = DenseGram.from_matrix(np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]]))
    h, alpha, f = np.array([2.0, 1.0, 0.0]), np.array([0.1, -0.4, 0.7]), np.array([0.2, 0.5, -0.1])
    found = approximate_leave_one_out(K, alpha, f, h, intercept=False)
    V = np.linalg.inv(np.linalg.inv(K.matrix) + np.diag(h))
    v = np.diagonal(V)
    assert_allclose(found, f - alpha * v / (1 - h * v), rtol=1e-12)
    assert np.isnan(approximate_leave_one_out(K, alpha, f, np.zeros(3))).all()
