"""The working-set solver: optimality conditions, an interior-point twin, and every way it may end."""

from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dual.interior_point_reference import interior_point
from mercer import SVR, _native, _threads
from mercer._native import plain
from mercer._policies import OptionSet
from mercer.dual import DualLimits, WorkingSetOptions, _store, options
from mercer.dual._active_set import newton_step
from mercer.dual._interior import interior_start
from mercer.dual._quadratic import QuadraticProgramme
from mercer.dual.working_set import hold, solve_dual
from mercer.gram import DenseGram, TiledGram
from mercer.kernels import Gaussian, Linear, Matern32
from mercer.solvers import StorageOptions

Dual = namedtuple("Dual", "target epsilon ridge lower upper")


def tube(y, C, eps, weight=1.0):
    """ε-insensitive."""
    one = np.ones(len(y))
    return Dual(y, eps * one, 0 * one, -C * weight * one, C * weight * one)


def quantile(y, C, tau):
    one = np.ones(len(y))
    return Dual(y, 0 * one, 0 * one, C * (tau - 1) * one, C * tau * one)


def hinge(y, C):
    s = np.where(y > 0, 1.0, -1.0)
    return Dual(s, 0 * s, 0 * s, np.where(s > 0, 0.0, -C), np.where(s > 0, C, 0.0))


def squared_hinge(y, C):
    s = np.where(y > 0, 1.0, -1.0)
    return Dual(s, 0 * s, 0 * s + 0.5 / C, np.where(s > 0, 0.0, -np.inf), np.where(s > 0, np.inf, 0.0))


def huber(y, C, delta):
    one = np.ones(len(y))
    return Dual(y, 0 * one, 0.5 / C * one, -2 * C * delta * one, 2 * C * delta * one)


PROBLEMS = {
    "tube": lambda y, rng: tube(y, 3.0, 0.1),
    "weighted tube": lambda y, rng: tube(y, 3.0, 0.1, rng.uniform(0.1, 3.0, len(y))),
    "wide tube": lambda y, rng: tube(y, 1.0, 1.0),
    "no tube": lambda y, rng: tube(y, 0.5, 0.0),
    "large C": lambda y, rng: tube(y, 300.0, 0.05),
    "quantile": lambda y, rng: quantile(y, 2.0, 0.2),
    "hinge": lambda y, rng: hinge(y, 1.0),
    "squared hinge": lambda y, rng: squared_hinge(y, 1.0),
    "Huber": lambda y, rng: huber(y, 1.0, 0.3),
    "squared tube": lambda y, rng: tube(y, np.inf, 0.2)._replace(ridge=np.full(len(y), 0.1)),
}


def data(rng, n=40, d=3):
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)


def objective(K, dual, a):
    """What is minimised."""
    return 0.5 * a @ K @ a - dual.target @ a + dual.epsilon @ np.abs(a) + 0.5 * dual.ridge @ a**2


def check_kkt(K, dual, found, intercept, tol):
    """Each row's slope, written out case by case."""
    a = found.alpha
    f = K @ a + found.b
    assert (a >= dual.lower).all() and (a <= dual.upper).all()
    if intercept:
        assert abs(a.sum()) <= 1e-9 * (1 + np.abs(a).sum())
    slope = f + dual.ridge * a - dual.target  # of everything but ε|a|
    at_low, at_high = a <= dual.lower, a >= dual.upper
    plus, minus, zero = (a > 0) & ~at_high, (a < 0) & ~at_low, (a == 0) & ~at_low & ~at_high
    assert np.abs(slope[plus] + dual.epsilon[plus]).max(initial=0) <= tol
    assert np.abs(slope[minus] - dual.epsilon[minus]).max(initial=0) <= tol
    assert (np.abs(slope[zero]) <= dual.epsilon[zero] + tol).all()
    top, bottom = at_high & ~at_low, at_low & ~at_high
    assert (slope[top] + np.where(a > 0, 1, -1)[top] * dual.epsilon[top] <= tol).all()
    assert (slope[bottom] - np.where(a < 0, 1, -1)[bottom] * dual.epsilon[bottom] >= -tol).all()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_equals_an_interior_point_method(name, intercept, rng):
    X, y = data(rng)
    K = Gaussian(1.0)(X)
    dual = PROBLEMS[name](y, rng)
    found = solve_dual(DenseGram.from_matrix(K), dual, intercept=intercept, tol=1e-7)
    alpha, value = interior_point(K, dual, intercept)
    assert found.status == "converged"
    assert_allclose(found.alpha, alpha, atol=1e-4 * (1 + np.abs(alpha).max()))
    assert_allclose(-found.objective, value, rtol=1e-8, atol=1e-8)
    check_kkt(K, dual, found, intercept, 1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_gap_is_the_distance_of_the_two_objectives_and_closes(intercept, rng):
    X, y = data(rng)
    K, dual = Gaussian(1.0)(X), tube(y, 3.0, 0.1)
    found = solve_dual(DenseGram.from_matrix(K), dual, intercept=intercept)
    f = K @ found.alpha + found.b
    primal = 0.5 * found.alpha @ K @ found.alpha + 3.0 * np.maximum(np.abs(y - f) - 0.1, 0).sum()
    assert_allclose(found.primal, primal, rtol=1e-9)
    assert_allclose(found.objective, -objective(K, dual, found.alpha), rtol=1e-9)
    assert_allclose(found.gap, found.primal - found.objective, rtol=1e-6, atol=1e-9)
    assert 0 <= found.gap + 1e-12 < 1e-6 * primal


@pytest.mark.parametrize("intercept", [False, True])
def test_zeros_and_bounds_are_exact(intercept, rng):
    X, y = data(rng, 60)
    found = solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 0.5, 0.3), intercept=intercept)
    a = found.alpha
    assert np.count_nonzero(a == 0) > 5 and np.count_nonzero(np.abs(a) == 0.5) > 5
    assert np.abs(a[a != 0]).min() > 1e-9


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("store", ["evaluated", "cached", "given"])
def test_rows_beyond_one_block_are_solved_by_blocks_whatever_holds_the_matrix(store, intercept, rng):
    """More rows than one block may have: the optimality conditions hold, of values computed, kept in part, or given."""
    X, y = data(rng, 3300, 4)
    kernel = Gaussian(1.5) if store == "evaluated" else 0.5 * Gaussian(1.5) + 0.5 * Gaussian(3.0)
    K, dual = kernel(X), tube(y, 1.0, 0.3)
    gram = DenseGram.from_matrix(K) if store == "given" else TiledGram(kernel, X)
    found = solve_dual(gram, dual, intercept=intercept, limits=DualLimits(memory=3e7 if store == "cached" else None))
    assert found.status == "converged" and found.info["rounds"] > 1
    assert ("cached" in found.info["gram"]) == (store == "cached")
    check_kkt(K, dual, found, intercept, 2e-3)
    assert_allclose(found.info["product"], K @ found.alpha, atol=1e-4)


def test_float32_is_refined_in_float64(rng):
    X, y = data(rng, 300)
    K = TiledGram(Gaussian(1.0), X)
    found = solve_dual(K, tube(y, 100.0, 0.01), intercept=True, options=OptionSet(StorageOptions(float64_up_to=100)))
    assert "float32" in found.info["gram"]
    g = K @ found.alpha
    assert_allclose(found.info["product"], g, rtol=1e-12, atol=1e-12)
    check_kkt(K.dense(), tube(y, 100.0, 0.01), found, True, 1e-3)


def test_a_fine_tolerance_is_reached(rng):
    X, y = data(rng, 500)
    found = solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 30.0, 0.05), intercept=True, tol=1e-8)
    assert found.status == "converged" and found.violation <= 1e-8
    assert found.gap <= 1e-6 * found.primal
    assert found.info["newton_steps"] >= 1


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("way", ["pairs", "pairs in NumPy", "blocks"])
@pytest.mark.parametrize("name", ["tube", "weighted tube", "hinge", "squared hinge", "Huber"])
def test_every_way_alone_gives_the_same_answer(name, way, intercept, rng, monkeypatch):
    """Pairs of all rows or of blocks without Newton, with the compiled loops and in NumPy."""
    X, y = data(rng, 80)
    K, dual = TiledGram(Gaussian(1.0), X), PROBLEMS[name](y, rng)
    expected = solve_dual(K, dual, intercept=intercept, tol=1e-6)
    assert expected.status == "converged" and expected.info["interior_steps"] == 0
    monkeypatch.setattr(_native, "dual", plain.dual if way == "pairs in NumPy" else _native.dual)
    blocks = {"whole": 0, "block": (48, 48)} if way == "blocks" else {}
    options = OptionSet(WorkingSetOptions(newton=False, interior=np.inf, **blocks))
    found = solve_dual(K, dual, intercept=intercept, tol=1e-6, options=options)
    assert found.status == "converged" and found.info["newton_steps"] == 0
    assert_allclose(found.objective, expected.objective, rtol=1e-6)
    assert_allclose(found.info["product"] + found.b, expected.info["product"] + expected.b, atol=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["large C", "hinge", "squared hinge", "squared tube", "quantile"])
def test_a_matrix_of_low_rank_asks_for_an_interior_point(name, intercept, rng):
    """With C a thousand times as large pairs alone would take millions of steps; the answer is optimal."""
    X, y = data(rng, 120)
    K, dual = X @ X.T, PROBLEMS[name](y, rng)
    dual = dual._replace(lower=1000.0 * dual.lower, upper=1000.0 * dual.upper, ridge=0.001 * dual.ridge)
    found = solve_dual(
        TiledGram(Linear(), X), dual, intercept=intercept, tol=1e-6, options=OptionSet(WorkingSetOptions(interior=0))
    )
    assert found.status == "converged" and found.violation <= 1e-6
    assert found.gap <= 1e-6 * abs(found.primal)
    check_kkt(K, dual, found, intercept, 1e-5)


@pytest.mark.parametrize(("C", "nu"), [(1e6, None), (1e6, 0.3), (1e10, None)])
def test_a_smooth_kernel_of_full_rank_converges_for_a_large_box(C, nu, rng):
    """By rounds alone these do not end within minutes."""
    X, y = data(rng, 300, 3)
    box, epsilon = np.full(300, C), np.full(300, 0.1 if nu is None else 0.0)
    dual = tube(y, C, 0.1)._replace(lower=-box, upper=box, epsilon=epsilon)
    K, limits = TiledGram(Gaussian(3.0), X), DualLimits(time_budget=20.0)
    found = solve_dual(K, dual, intercept=True, nu=nu, limits=limits)
    assert found.status == "converged" and found.violation <= 1e-3 and found.info["interior_steps"] > 0
    assert found.gap <= 1e-3 * found.primal


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_a_linear_kernel_converges_for_any_box(C, rng):
    X, y = data(rng, 1600, 5)
    found = solve_dual(TiledGram(Linear(), X), tube(y, C, 0.1), intercept=True, limits=DualLimits(time_budget=20.0))
    assert found.status == "converged" and found.info["interior_steps"] > 0
    assert found.gap <= 1e-3 * found.primal


def test_newton_never_raises_the_objective(rng):
    X, y = data(rng, 80)
    K, dual = Gaussian(1.0)(X), tube(y, 3.0, 0.05)
    for steps in (5, 20, 80, 300):
        found = solve_dual(DenseGram.from_matrix(K), dual, intercept=True, limits=DualLimits(max_iter=steps))
        a = found.alpha.copy()
        qp = QuadraticProgramme.check(dual, np.diag(K), True)
        g = K @ a - y
        store = _store.Stored(K)
        before = objective(K, dual, a)
        newton_step(store, qp, a, g, options.Effort(DualLimits()))
        assert objective(K, dual, a) <= before + 1e-9
        assert_allclose(g, K @ a - y, atol=1e-9)
        assert (np.abs(a) <= 3.0).all() and abs(a.sum()) < 1e-8


def test_equal_rows_and_a_singular_matrix(rng):
    X, y = data(rng, 30)
    X, y = np.vstack([X, X, X]), np.concatenate([y, y, y + 0.5])
    K = Gaussian(1.0)(X)
    for intercept in (False, True):
        found = solve_dual(DenseGram.from_matrix(K), tube(y, 1.0, 0.1), intercept=intercept, tol=1e-6)
        assert found.status == "converged"
        check_kkt(K, tube(y, 1.0, 0.1), found, intercept, 1e-5)
    flat = solve_dual(DenseGram.from_matrix(np.ones((90, 90))), tube(y, 1.0, 0.1), intercept=True)
    assert flat.status == "converged"


def test_where_only_rounding_moves_it_ends(monkeypatch):
    rng, n = np.random.default_rng(3), 48  # another seed may end by itself
    X, one = rng.standard_normal((n, 1)), np.ones(n)
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n)
    dual = Dual(y, 0 * one, 1e-10 * one, -1e10 * one, 1e10 * one)  # α of 1e10: slopes are known to 1e-5
    found = solve_dual(
        DenseGram.from_matrix(X @ X.T), dual, intercept=True, tol=1e-6, limits=DualLimits(time_budget=10.0)
    )
    assert found.status == "stalled" and found.violation < 1e-3
    assert found.gap < 1e-8 * found.objective


def test_height_is_the_objective(rng):
    X, y = data(rng, 60)
    dual = tube(y, 2.0, 0.1)._replace(ridge=rng.uniform(0.0, 1.0, 60))
    K = Gaussian(1.0)(X)
    found = solve_dual(DenseGram.from_matrix(K), dual, intercept=True)
    g = K @ found.alpha + dual.ridge * found.alpha - y
    height, size = QuadraticProgramme.check(dual, np.diagonal(K), True).height(found.alpha, g)
    assert_allclose(height, -found.objective, rtol=1e-10)
    assert size >= abs(height)


def test_a_start_saves_steps_and_may_be_infeasible(rng):
    X, y = data(rng, 400)
    K = hold(TiledGram(Gaussian(1.0), X))
    cold = solve_dual(K, tube(y, 10.0, 0.1), intercept=True)
    again = solve_dual(K, tube(y, 10.0, 0.1), intercept=True, start=cold.alpha)
    assert again.iterations < 0.05 * cold.iterations + 2
    assert_allclose(again.objective, cold.objective, rtol=1e-6)
    smaller = solve_dual(K, tube(y, 2.0, 0.1), intercept=True, start=cold.alpha)
    assert_allclose(smaller.objective, solve_dual(K, tube(y, 2.0, 0.1), intercept=True).objective, rtol=1e-5)


def test_limits_are_obeyed_and_certified(rng):
    X, y = data(rng, 600)
    K, dual = hold(TiledGram(Gaussian(0.5), X)), tube(y, 1000.0, 0.001)
    best = solve_dual(K, dual, intercept=True)
    few = solve_dual(K, dual, intercept=True, limits=DualLimits(max_iter=50))
    assert few.status == "max_iter" and few.iterations <= 50
    assert few.objective <= best.objective + 1e-6 <= few.objective + few.gap + 2e-6
    assert solve_dual(K, dual, intercept=True, limits=DualLimits(time_budget=1e-9)).status == "time_budget"
    seen = []
    stopped = solve_dual(
        K, dual, intercept=True, limits=DualLimits(callback=lambda now: seen.append(now) or len(seen) == 2)
    )
    assert stopped.status == "callback" and len(seen) == 2 and seen[1]["iterations"] > 0


def test_an_interrupt_comes_through(rng):
    X, y = data(rng, 300)

    def interrupt(now):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 10.0, 0.1), limits=DualLimits(callback=interrupt))


def test_nothing_is_changed(rng, readonly):
    X, y = data(rng)
    K = readonly(Gaussian(1.0)(X))
    dual = Dual(*readonly(*tube(y, 1.0, 0.1)))
    start = readonly(np.zeros(40))
    solve_dual(DenseGram.from_matrix(K), dual, start=start)
    assert_array_equal(K, Gaussian(1.0)(X))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"epsilon": -np.ones(40)}, "dual.epsilon"),
        ({"lower": np.ones(40)}, "dual.lower"),
        ({"target": np.full(40, np.nan)}, "dual.target"),
        ({"upper": np.ones(3)}, "dual.upper"),
    ],
)
def test_bad_programmes_are_refused(change, name, rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match=name):
        solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 1.0, 0.1)._replace(**change))


def test_bad_options_are_refused(rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match="tol"):
        solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 1.0, 0.1), tol=0.0)
    with pytest.raises(ValueError, match="start"):
        solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 1.0, 0.1), start=np.zeros(3))


def test_same_bits_in_every_run(rng):
    X, y = data(rng, 600)
    one, two = (solve_dual(TiledGram(Gaussian(1.0), X), tube(y, 10.0, 0.1), intercept=True) for _ in range(2))
    assert_array_equal(one.alpha, two.alpha)
    assert _threads.threads() >= 1


@pytest.mark.parametrize("loss", ["quantile", "epsilon_insensitive"])
def test_sum_is_zero_where_rows_repeat(loss, rng):
    """K of repeated rows is singular, and so is the system of a Newton step; its solution still keeps Σα = 0."""
    from mercer.losses import BY_NAME

    X = np.repeat(rng.standard_normal((40, 2)), rng.integers(1, 4, 40), axis=0)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(3, len(X))
    found = solve_dual(TiledGram(Gaussian(1.0), X), BY_NAME[loss]().dual(y, 1.7), intercept=True, tol=1e-8)
    assert abs(found.alpha.sum()) <= 1e-12 * np.abs(found.alpha).sum()
    assert found.status == "converged" and found.gap <= 1e-6


def test_a_class_in_the_place_of_scikit_learns_is_not_asked(monkeypatch, rng):
    import sklearn.svm

    from mercer import compat

    X = rng.standard_normal((60, 2))
    before = compat.SVR(C=10.0).fit(X, X[:, 0]).predict(X)
    monkeypatch.setattr(sklearn.svm, "SVR", compat.SVR)
    np.testing.assert_allclose(compat.SVR(C=10.0).fit(X, X[:, 0]).predict(X), before, atol=1e-3)


def test_no_step_of_the_interior_begins_that_would_end_too_late(rng, monkeypatch):
    n = 60
    K, y = np.eye(n), rng.standard_normal(n)
    one, limits = np.ones(n), DualLimits(time_budget=60.0)
    qp = QuadraticProgramme(y, 0.1 * one, 0 * one, -one, one, K.diagonal(), True)
    slow = namedtuple("Rates", "float64")(1.0)  # one multiplication in a second
    quick, late = options.Effort(limits), options.Effort(limits)
    interior_start(K, qp, quick)
    monkeypatch.setattr(options, "rates", lambda: slow)
    interior_start(K, qp, late)
    assert quick.interior > 2 and late.interior == 0


def test_large_coefficients_ask_for_a_matrix_in_float64():
    """In float32 a box of 2e4 stalled far from the optimum: the rounding of a gradient is larger than tol."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 6))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * X[:, 3] + 0.1 * rng.standard_normal(len(X))
    model = SVR(Matern32([55.0, 70.0, 76.0, 750.0, 720.0, 2000.0]), C=2e4, epsilon=0.02).fit(X, y)
    assert model.fit_report_["status"] == "converged"
    assert model.kkt_violation_ <= model.tol
