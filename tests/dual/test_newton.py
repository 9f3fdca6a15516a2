"""Newton: stationary, certified, equal to a generic optimiser and to the ridge; solvers agree; budgets are obeyed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer.dual.newton import LossLikelihood, solve_smooth, store
from mercer.gram import DenseGram, ScaledGram, TiledGram
from mercer.kernels import Gaussian
from mercer.losses import (
    Expectile,
    Huber,
    Logistic,
    Poisson,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

SMOOTH = [
    Squared(),
    Huber(0.3),
    SquaredEpsilonInsensitive(0.2),
    Expectile(0.8),
    Logistic(),
    SquaredHinge(),
    Poisson(),
]


def problem(loss, rng, n=50):
    X = rng.standard_normal((n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if loss.classification:
        y = np.where(f + rng.standard_normal(n) > 0, 1.0, -1.0)
    else:
        y = rng.poisson(np.exp(f)).astype(float) if loss.positive_only else f + 0.3 * rng.standard_t(2, n)
    return TiledGram(Gaussian(1.0), X), y


def objective(K, loss, y, c, alpha, b):
    """Σ cL + ½αᵀKα, in the plainest way."""
    f = K @ alpha + b
    return np.sum(c * loss.value(y, f)) + 0.5 * alpha @ K @ alpha


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [5.0, 0.1, 1e-3])
@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_stationary_and_certified(loss, lam, intercept, rng):
    K, y = problem(loss, rng)
    c = rng.uniform(0.5, 2.0, len(y)) / (2 * lam)
    found = solve_smooth(K, LossLikelihood(loss, y, c), intercept=intercept)
    dense = K.dense()
    assert found.status == "converged"
    assert_allclose(found.f, dense @ found.alpha + found.b, rtol=1e-9, atol=1e-9)
    assert_allclose(found.primal, objective(dense, loss, y, c, found.alpha, found.b), rtol=1e-9)
    slope = c * loss.grad(y, found.f)
    assert_allclose(found.alpha, -slope, atol=1e-8 * np.abs(slope).max())
    assert abs(slope.sum()) <= 1e-8 * np.abs(slope).sum() or not intercept
    assert found.gap <= 1e-10 * (1 + abs(found.primal))
    if loss.boxed:  # primal and dual meet, the dual written out
        dual = loss.dual(y, c)
        a = np.clip(-slope, dual.lower, dual.upper)
        value = 0.5 * a @ dense @ a + dual.value(a).sum()
        assert_allclose(-value, found.primal, rtol=1e-7)
        assert_allclose(found.objective, -value, rtol=1e-7)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_equals_a_generic_optimiser(loss, rng):
    K, y = problem(loss, rng, n=30)
    dense = K.dense()
    L = np.linalg.cholesky(dense + 1e-12 * np.eye(30))  # f = Lθ + b, so that ‖f‖² is ‖θ‖²
    c = np.full(30, 1.0)

    def value(p):
        f = L @ p[:-1] + p[-1]
        slope = c * loss.grad(y, f)
        return np.sum(c * loss.value(y, f)) + 0.5 * p[:-1] @ p[:-1], np.append(L.T @ slope + p[:-1], slope.sum())

    best = minimize(
        value, np.zeros(31), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0, "gtol": 1e-9}
    )
    found = solve_smooth(K, LossLikelihood(loss, y, c))
    assert_allclose(found.primal, best.fun, rtol=1e-8)
    assert_allclose(found.f, L @ best.x[:-1] + best.x[-1], atol=2e-5 * np.abs(found.f).max())


def test_squared_loss_is_one_ridge_system(rng):
    K, y = problem(Squared(), rng)
    found = solve_smooth(K, LossLikelihood(Squared(), y, np.full(len(y), 1 / (2 * 0.3))), intercept=False)
    assert_allclose(found.alpha, np.linalg.solve(K.dense() + 0.3 * np.eye(len(y)), y), rtol=1e-10)
    assert found.iterations <= 2


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_conjugate_gradients_agree_with_the_factor(loss, rng):
    K, y = problem(loss, rng, n=120)
    c = np.full(120, 2.0)
    exact = solve_smooth(K, LossLikelihood(loss, y, c))
    for solver in ("cg", "mixed"):
        found = solve_smooth(K, LossLikelihood(loss, y, c), solver=solver, tol=1e-7)
        assert found.status == "converged"
        assert_allclose(found.f, exact.f, atol=1e-5 * (1 + np.abs(exact.f).max()))


def test_by_tiles_where_k_does_not_fit(rng):
    K, y = problem(Logistic(), rng, n=120)
    c = np.full(120, 2.0)
    found = solve_smooth(K, LossLikelihood(Logistic(), y, c), memory=20_000.0)  # K alone is 115 kB
    assert found.info["solver"] == "cg" and found.status == "converged"
    assert_allclose(found.f, solve_smooth(K, LossLikelihood(Logistic(), y, c)).f, atol=1e-4)


def test_rows_that_cost_nothing_are_exactly_zero(rng):
    K, y = problem(SquaredHinge(), rng)
    found = solve_smooth(K, LossLikelihood(SquaredHinge(), y, np.full(len(y), 20.0)))
    outside = y * found.f > 1
    assert outside.any()
    assert (found.alpha[outside] == 0.0).all()
    assert (found.alpha[~outside] != 0.0).all()


def test_a_start_near_by_saves_steps(rng):
    K, y = problem(Poisson(), rng)
    cold = solve_smooth(K, LossLikelihood(Poisson(), y, np.full(len(y), 4.0)))
    warm = solve_smooth(K, LossLikelihood(Poisson(), y, np.full(len(y), 4.0)), start=(cold.alpha, cold.b))
    assert warm.iterations <= 1 < cold.iterations
    assert_allclose(warm.f, cold.f, rtol=1e-8, atol=1e-8)


def test_huge_counts_do_not_overflow(rng):
    K, y = problem(Poisson(), rng)
    found = solve_smooth(K, LossLikelihood(Poisson(), 1e8 * (1 + y), np.full(len(y), 1.0)))
    assert found.status == "converged" and np.isfinite(found.f).all()
    assert_allclose(np.exp(found.f).sum(), np.sum(1e8 * (1 + y)), rtol=1e-6)  # Σ L′ = 0, the equation of b


def test_budgets_are_obeyed_and_say_so(rng):
    K, y = problem(Logistic(), rng)
    c = np.full(len(y), 1e5)
    short = solve_smooth(K, LossLikelihood(Logistic(), y, c), max_iter=1)
    assert (short.status, short.iterations) == ("max_iter", 1)
    assert short.gap > 0 and short.violation > 1e-6
    best = solve_smooth(K, LossLikelihood(Logistic(), y, c))
    assert short.primal - best.primal <= short.gap * (1 + 1e-9)  # the certificate holds before the end too
    assert solve_smooth(K, LossLikelihood(Logistic(), y, c), time_budget=1e-9).status == "time_budget"
    seen = []
    solve_smooth(K, LossLikelihood(Logistic(), y, c), callback=lambda i, violation: seen.append((i, violation)))
    assert [i for i, _ in seen] == list(range(1, best.iterations + 1))


@pytest.mark.parametrize("n", [1, 2, 20])
def test_counts_that_are_all_equal_are_solved_by_a_constant(rng, n):
    """α = 0 solves, and a slope that is rounding has no digit to be compared with."""
    K = TiledGram(Gaussian(1.0), rng.standard_normal((n, 2)))
    found = solve_smooth(K, LossLikelihood(Poisson(), np.full(n, 3.0), np.full(n, 5.0)))
    assert found.status == "converged" and found.violation <= 1e-6
    assert_allclose(found.f, np.log(3.0), rtol=1e-12)


@pytest.mark.parametrize("loss", [Squared(), Expectile(0.8), Logistic(), SquaredHinge(), Poisson()], ids=repr)
def test_rows_that_are_all_equal_are_solved_at_once(loss, rng):
    """f does not see which of the equal rows has which α: any with the right sum is a minimum."""
    K = TiledGram(Gaussian(1.0), np.ones((20, 2)))
    y = np.where(np.arange(20) < 8, 1.0, -1.0) if loss.classification else rng.poisson(3.0, 20).astype(float)
    found = solve_smooth(K, LossLikelihood(loss, y, np.full(20, 5.0)))
    assert found.status == "converged" and found.iterations <= 3
    assert found.gap <= 1e-12 * abs(found.primal)
    assert_allclose(found.alpha, -5.0 * loss.grad(y, found.f), atol=1e-8)


def test_store_and_restrict_are_the_same_matrix(rng):
    K, _ = problem(Squared(), rng)
    index = np.array([3, 7, 20])
    part = K.dense()[np.ix_(index, index)]
    scaled = ScaledGram(K, np.arange(1.0, 51.0))
    assert_allclose(K.restrict(index).dense(), part, rtol=1e-12)
    assert_allclose(store(K, np.float64).restrict(index).dense(), part, rtol=1e-12)
    assert_allclose(scaled.restrict(index).dense(), scaled.dense()[np.ix_(index, index)], rtol=1e-12)
    assert isinstance(store(K, np.float64), DenseGram)
    assert store(K, np.float64, memory=1000.0) is K
