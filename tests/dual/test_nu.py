"""The dual with ν: a generic QP, the ε dual at the ε found, the bounds of ν, degenerate problems, budgets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.svm import NuSVR

from dual.interior_point_reference import interior_point
from mercer import _native
from mercer._native import plain
from mercer._policies import OptionSet
from mercer.dual import DualLimits, WorkingSetOptions
from mercer.dual._nu import NuSearch
from mercer.dual.working_set import solve_dual
from mercer.gram import DenseGram
from mercer.losses import EpsilonInsensitive

WAYS = pytest.mark.parametrize("way", ["interior", "rounds", "plain"])
SIGNS = pytest.mark.parametrize("intercept", [True, False])


def gram(K):
    return DenseGram.from_matrix(np.ascontiguousarray(K, dtype=float).copy())


def nu_solve(K, y, box, share, **options):
    """(ε, solution) of ν = share."""
    found = solve_dual(gram(K), EpsilonInsensitive(0.0).dual(y, box), nu=share, **{"intercept": True, **options})
    return found.epsilon, found


def problem(rng, n, low_rank=False):
    X = rng.standard_normal((n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    K = X @ X.T if low_rank else np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return K, y


@pytest.fixture
def choose(monkeypatch):
    """A few rows by an interior point as usual, or by one ε after the other as many rows are: compiled or in NumPy."""

    def set_way(way):
        if way == "plain":
            monkeypatch.setattr(_native, "dual", plain.dual)
        return OptionSet(WorkingSetOptions()) if way == "interior" else OptionSet(WorkingSetOptions(interior=np.inf))

    return set_way


def assert_optimal(K, y, box, total, intercept, eps, found, tol):
    """The sums, the box, and optimality of α for the ε-insensitive dual, from the definitions."""
    a = found.alpha
    assert found.status == "converged"
    assert (np.abs(a) <= box).all()
    assert np.abs(a).sum() <= total * (1 + 1e-9)
    assert eps >= 0 and (eps == 0 or np.isclose(np.abs(a).sum(), total, rtol=1e-9))
    if intercept:
        assert abs(a.sum()) <= 1e-9 * total
    r = y - K @ a - found.b
    assert (np.abs(r[a == 0]) <= eps + tol).all()
    assert (np.abs(r - eps * np.sign(a))[(a != 0) & (np.abs(a) < box)] <= tol).all()
    at_bound = np.abs(a) == box
    assert (r[at_bound] * np.sign(a[at_bound]) >= eps - tol).all()
    assert abs(found.gap) <= 3 * tol * max(total, 1.0) and found.violation <= tol
    assert np.isclose(found.gap, found.primal - found.objective, atol=1e-9 * (1 + abs(found.primal)))


# ---------------------------------------------------------------------------------------------- exactness
@WAYS
@SIGNS
@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
def test_conditions_hold_to_rounding(way, intercept, share, rng, choose):
    options = choose(way)
    for low_rank, C in ((False, 0.3), (False, 30.0), (True, 1.0)):
        K, y = problem(rng, 41, low_rank)
        box = C * rng.uniform(0.2, 2.0, 41)
        total = share * box.sum()
        eps, found = nu_solve(K, y, box, share, intercept=intercept, tol=1e-8, options=options)
        assert_optimal(K, y, box, total, intercept, eps, found, 1e-8)
        if eps > 0:  # the twin's p and m are not unique without a tube
            _, value = interior_point(K, (y, np.full(41, eps), np.zeros(41), -box, box), intercept)
            assert_allclose(-found.objective, value, rtol=1e-7, atol=1e-9)


@SIGNS
def test_equals_a_generic_solver(intercept, rng, choose):
    K, y = problem(rng, 12)
    box, total = np.full(12, 2.0), 0.4 * 24.0
    sums = [{"type": "ineq", "fun": lambda x: total - x.sum()}]
    if intercept:
        sums.append({"type": "eq", "fun": lambda x: x[:12].sum() - x[12:].sum()})

    def value(x):
        a = x[:12] - x[12:]
        g = K @ a - y
        return 0.5 * a @ (g - y), np.concatenate([g, -g])

    slsqp = {"maxiter": 1000, "ftol": 1e-13}
    generic = minimize(value, np.full(24, 0.3), jac=True, bounds=[(0, 2.0)] * 24, constraints=sums, options=slsqp)
    for way in ("interior", "rounds"):
        options = choose(way)
        eps, found = nu_solve(K, y, box, 0.4, intercept=intercept, tol=1e-9, options=options)
        assert_allclose(found.alpha, generic.x[:12] - generic.x[12:], atol=2e-4)
        a = found.alpha
        assert 0.5 * a @ K @ a - y @ a <= generic.fun + 1e-9
        assert eps > 0


@WAYS
def test_equals_libsvm(way, rng, choose):
    options = choose(way)
    K, y = problem(rng, 97)
    for share in (0.123, 0.457, 0.83):
        eps, found = nu_solve(K, y, np.full(97, 1.5), share, tol=1e-9, options=options)
        theirs = NuSVR(C=1.5, nu=share, kernel="precomputed", tol=1e-8).fit(K, y)
        full = np.zeros(97)
        full[theirs.support_] = theirs.dual_coef_[0]
        assert_allclose(K @ found.alpha + found.b, K @ full + theirs.intercept_[0], atol=1e-5)
        outside = np.abs(y - K @ found.alpha - found.b) > eps + 1e-7
        assert outside.mean() <= share <= np.count_nonzero(found.alpha) / 97 + 1e-12


def test_many_rows_by_rounds_of_blocks(rng):
    K, y = problem(rng, 1300)
    box = np.ones(1300)
    for intercept in (True, False):
        eps, found = nu_solve(K, y, box, 0.3, intercept=intercept, tol=1e-6)
        assert found.info["rounds"] > 1
        assert_optimal(K, y, box, 0.3 * 1300, intercept, eps, found, 1e-6)


def test_ends_that_are_near_give_the_point_between_them(rng, choose, monkeypatch):
    """K of rank 2: Σ|α| jumps where ε passes a vertex, and only a mixture of both sides has the total."""
    options = choose("rounds")
    monkeypatch.setattr(NuSearch, "_newton", lambda self, eps: None)
    K, y = problem(rng, 90, low_rank=True)
    eps, found = nu_solve(K, y, np.ones(90), 0.4, tol=1e-4, options=options)
    assert_optimal(K, y, np.ones(90), 36.0, True, eps, found, 1e-4)


# ---------------------------------------------------------------------------------------------- degenerate problems
@WAYS
@SIGNS
def test_a_total_of_whole_boxes(way, intercept, rng, choose):
    """Half of the total is a whole number of boxes: a sign may have no free row, and b and ε are not unique."""
    options = choose(way)
    for low_rank in (False, True):
        K, y = problem(rng, 60, low_rank)
        box = np.full(60, 0.05)
        eps, found = nu_solve(K, y, box, 0.4, intercept=intercept, tol=1e-7, options=options)
        assert_optimal(K, y, box, 0.4 * 3.0, intercept, eps, found, 1e-7)


@WAYS
@SIGNS
def test_two_rows_constant_targets_and_repeated_rows(way, intercept, rng, choose):
    options = choose(way)
    two = np.array([[1.0, 0.2], [0.2, 1.0]])
    K, y = problem(rng, 15)
    twice = np.ix_(np.repeat(np.arange(15), 2), np.repeat(np.arange(15), 2))
    cases = [
        (two, np.array([1.0, -0.5]), 0.3),
        (two, np.array([1.0, -0.5]), 1.0),
        (K, np.zeros(15), 0.5),
        (K, np.full(15, 3.0), 0.5),
        (K[twice], np.repeat(y, 2), 0.5),
        (K[twice], np.repeat(y, 2) + np.tile([0.0, 0.5], 15), 0.5),
        (np.ones((1, 1)), np.array([2.0]), 0.7),
    ]
    for matrix, target, share in cases:
        box = np.full(len(target), 0.8)
        total = share * box.sum()
        eps, found = nu_solve(matrix, target, box, share, intercept=intercept, tol=1e-7, options=options)
        assert_optimal(matrix, target, box, total, intercept, eps, found, 1e-7)


@WAYS
def test_no_tube_when_the_total_is_not_used_up(way, rng, choose):
    options = choose(way)
    K, y = problem(rng, 30)
    eps, found = nu_solve(K, y, np.full(30, 1e4), 1.0, tol=1e-7, options=options)
    assert eps == 0.0
    assert np.abs(found.alpha).sum() < 2.9e5
    assert_optimal(K, y, np.full(30, 1e4), 3e5, True, eps, found, 1e-7)


def test_what_nu_cannot_be_is_refused(rng):
    K, y = problem(rng, 10)
    for share in (0.0, 1.05, np.nan):
        with pytest.raises(ValueError, match="nu"):
            nu_solve(K, y, np.ones(10), share)
    with pytest.raises(ValueError, match="epsilon"):
        solve_dual(gram(K), EpsilonInsensitive(0.1).dual(y, np.ones(10)), nu=0.5)


# ---------------------------------------------------------------------------------------------- budgets
@WAYS
def test_budgets_are_obeyed(way, rng, choose):
    options = choose(way)
    K, y = problem(rng, 200)
    box = np.full(200, 50.0)
    _, found = nu_solve(K, y, box, 0.2, limits=DualLimits(max_iter=3), tol=1e-6, options=options)
    assert found.status == "max_iter" and found.iterations <= 3
    assert np.isfinite([found.gap, found.b, found.violation]).all() and found.violation > 1e-6
    assert abs(found.alpha.sum()) <= 1e-9 * 2000.0 and (np.abs(found.alpha) <= box).all()
    _, found = nu_solve(K, y, box, 0.2, limits=DualLimits(time_budget=1e-9), tol=1e-6, options=options)
    assert found.status == "time_budget" and found.violation > 1e-6
