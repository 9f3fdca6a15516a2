"""Intervals, influence and calibration: every closed form against plain refits, and coverage against the binomial."""

import copy
import pickle
import tracemalloc
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import BasisRegression, GaussianProcessRegressor, KernelRidge, Neighbours
from mercer._threads import one_blas_thread
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels import FeatureMap, Gaussian, Linear, Matern52, Pairwise, PolynomialBasis, Precomputed
from mercer.selection import LOO, Discrepancy
from mercer.uncertainty import (
    Deletion,
    _ends,
    calibration,
    conformal,
    cv_plus,
    influence,
    intervals,
    jackknife_plus,
    p_value,
)

KERNEL, LAM = 1.3 * Gaussian([0.8, 1.5]), 0.2
N, COVERAGE, ALPHA = 24, 0.8, 0.2 + 1e-12  # (n + 1)α is 5, and 1 − 0.8 is not quite 0.2


def without_rows(kernel, X, y, lam, *, weight=None, index=None, intercept=True):
    """Every fit without a row, from plain arrays; with ``index`` the rows are X[index]."""
    X, y = kernel.validate(X), np.asarray(y, dtype=float)
    if index is not None:
        X = X[np.asarray(index)]
    weight = None if weight is None else np.asarray(weight, dtype=float)
    rows = Rows(X, y.reshape(len(y), -1), weight, constant if intercept else None)
    return Deletion(kernel, rows, lam, flat=y.ndim == 1)


def plain(X, y, w, intercept, new, kernel=KERNEL, lam=LAM):
    """(f(new), variance of a new target of weight 1) from the bordered system, in the plainest way."""
    n, q = len(y), int(intercept)
    M = np.zeros((n + q, n + q))
    M[:n, :n] = kernel(X) + np.diag(lam / w)
    M[n:, :n], M[:n, n:] = 1.0, 1.0
    right = np.vstack([kernel(X, new), np.ones((q, len(new)))])
    weights = np.linalg.solve(M, right)
    return weights[:n].T @ y, kernel.diag(new) + lam - np.einsum("ij,ij->j", right, weights)


def without(i, *arrays):
    return [np.delete(array, i, axis=0) for array in arrays]


@pytest.fixture(params=["plain", "weighted", "repeated"])
def data(request, rng):
    """(X, y, w, points, index): all rows different, weighted, or weighted with equal rows."""
    points = rng.standard_normal((N if request.param != "repeated" else 9, 2))
    index = np.arange(N) if request.param != "repeated" else np.concatenate([np.arange(9), rng.integers(0, 9, N - 9)])
    X = points[index]
    y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 1] ** 2], axis=1) + 0.3 * rng.standard_normal((N, 2))
    w = np.ones(N) if request.param == "plain" else rng.uniform(0.3, 3.0, N)
    return X, y, w, points, index


@pytest.fixture(params=[True, False], ids=["intercept", "no intercept"])
def intercept(request):
    return request.param


@pytest.fixture
def fits(data, intercept):
    _, y, w, points, index = data
    return without_rows(KERNEL, points, y, LAM, weight=w, index=index, intercept=intercept)


@pytest.fixture
def new(rng):
    return rng.standard_normal((7, 2))


# -------------------------------------------------------------------------------------- against refits
def test_residuals_and_predictions_without_a_row(data, fits, intercept, new):
    X, y, w, _, _ = data
    (_, f, weights, kappa), *more = fits.tiles(new)
    assert not more
    mean, variance = plain(X, y, w, intercept, new)
    assert_allclose(f, mean, rtol=1e-9)
    assert_allclose(kappa, variance, rtol=1e-9)
    for i in range(N):
        Xi, yi, wi = without(i, X, y, w)
        here, spread = plain(Xi, yi, wi, intercept, X[i : i + 1])
        assert_allclose(fits.residuals[i], y[i] - here[0], rtol=1e-9, atol=1e-12)
        assert_allclose(1 / fits.s[i], spread[0] - LAM + LAM / w[i], rtol=1e-9)
        there, spread = plain(Xi, yi, wi, intercept, new)
        assert_allclose(f - np.outer(weights[i], fits.residuals[i]), there, rtol=1e-9, atol=1e-12)
        assert_allclose(kappa + weights[i] ** 2 / fits.s[i], spread, rtol=1e-9)


def brute_scores(X, y, w, intercept, x, z, normalise):
    """|residual| of the n rows and of (x, z), each by the fit to the others; (n + 1, t)."""
    X, y, w = np.vstack([X, x]), np.vstack([y, z]), np.append(w, 1.0)
    out = np.empty_like(y)
    for i in range(len(y)):
        f, variance = plain(*without(i, X, y, w), intercept, X[i : i + 1])
        out[i] = np.abs(y[i] - f[0]) / (np.sqrt(variance[0] - LAM + LAM / w[i]) if normalise else 1.0)
    return out


@pytest.mark.parametrize("normalise", [False, True])
def test_conformal_is_what_refits_with_the_candidate_say(data, fits, intercept, new, normalise, rng):
    X, y, w, _, _ = data
    ends = conformal(fits, new, COVERAGE, normalise=normalise)
    assert ends.shape == (7, 2, 2)
    (_, f, weights, kappa), *_ = fits.tiles(new)
    for j in range(3):
        for step in (-1e-6, 1e-6):
            z = ends[j, 1] + step
            brute = brute_scores(X, y, w, intercept, new[j], z, normalise)
            unit = np.sqrt(kappa[j]) if normalise else 1.0
            for t, A, B in intervals._scores(fits, weights, kappa, normalise):
                v = z[t] - f[j, t]
                assert_allclose(np.abs(A - B * v)[:, j] / unit, brute[:-1, t], rtol=1e-9, atol=1e-10)
            p = (1 + np.sum(brute[:-1] >= brute[-1], axis=0)) / (N + 1)
            assert_allclose(p_value(fits, new[j : j + 1], z[None], normalise=normalise)[0], p)
            assert np.all((p > ALPHA) == (step < 0))  # inside it is kept, outside not


@pytest.mark.parametrize("normalise", [False, True])
def test_the_interval_is_the_hull_of_what_is_kept(fits, new, normalise):
    ends = conformal(fits, new, COVERAGE, normalise=normalise)
    for z in np.linspace(-6, 6, 241):
        kept = p_value(fits, new, np.full((7, 2), z), normalise=normalise) > ALPHA
        assert np.all(~kept | ((ends[:, 0] <= z) & (z <= ends[:, 1])))
    for end, outside in ((0, -1e-9), (1, 1e-9)):
        assert np.all(p_value(fits, new, ends[:, end] - outside, normalise=normalise) > ALPHA)
        assert not np.any(p_value(fits, new, ends[:, end] + outside, normalise=normalise) > ALPHA)


def order_statistics(centre, half):
    """Ends from plain sorting: ranks 5 and 20 of 24 for α = 0.2."""
    return np.stack([np.sort(centre - half, axis=0)[4], np.sort(centre + half, axis=0)[19]], axis=1)


@pytest.mark.parametrize("normalise", [False, True])
def test_jackknife_plus_is_n_refits(data, fits, intercept, new, normalise):
    X, y, w, _, _ = data
    centre, half = np.empty((N, 7, 2)), np.empty((N, 7, 2))
    for i in range(N):
        f, variance = plain(*without(i, X, y, w), intercept, np.vstack([X[i], new]))
        sd = np.sqrt(variance + np.append(LAM / w[i] - LAM, np.zeros(7))) if normalise else np.ones(8)
        centre[i], half[i] = f[1:], np.abs(y[i] - f[0]) / sd[0] * sd[1:, None]
    assert_allclose(jackknife_plus(fits, new, COVERAGE, normalise=normalise), order_statistics(centre, half), rtol=1e-9)


@pytest.mark.parametrize("normalise", [False, True])
def test_cv_plus_is_one_refit_for_each_fold(data, fits, intercept, new, normalise):
    X, y, w, _, _ = data
    folds = [np.arange(k, N, 5) for k in range(5)]
    centre, half = np.empty((N, 7, 2)), np.empty((N, 7, 2))
    for B in folds:
        f, variance = plain(*without(B, X, y, w), intercept, np.vstack([X[B], new]))
        b = len(B)
        sd = np.sqrt(variance[:b] - LAM + LAM / w[B]) if normalise else np.ones(b)
        centre[B] = f[b:]
        there = np.sqrt(variance[b:]) if normalise else np.ones(7)
        half[B] = (np.abs(y[B] - f[:b]) / sd[:, None])[:, None] * there[:, None]
    got = cv_plus(fits, new, COVERAGE, folds=folds, normalise=normalise)
    assert_allclose(got, order_statistics(centre, half), rtol=1e-9)
    alone = cv_plus(fits, new, COVERAGE, folds=N, normalise=normalise)  # folds of one row
    assert_allclose(alone, jackknife_plus(fits, new, COVERAGE, normalise=normalise), rtol=1e-9)


def test_the_weight_of_the_new_row_counts(data, intercept, new):
    X, y, w, points, index = data
    fits = without_rows(KERNEL, points, y, LAM, weight=w, index=index, intercept=intercept)
    doubled = without_rows(KERNEL, points, y, 2 * LAM, weight=2 * w, index=index, intercept=intercept)
    assert_allclose(conformal(fits, new, weight=1.0), conformal(doubled, new, weight=2.0), rtol=1e-9)
    with pytest.raises(ValueError, match="positive"):
        conformal(fits, new, weight=0.0)


# ------------------------------------------------------------------------------------------ end points
def naive_hull(A, B, rank):
    """Hull of {v : #{|A − Bv| >= |v|} >= rank} by trying every candidate end and the far ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.concatenate([A / (1 + B), A / (B - 1)])
    ends = np.unique(ends[np.isfinite(ends)])
    far = 10 * (1 + np.abs(ends).max())
    middles = (ends[1:] + ends[:-1]) / 2
    kept = []
    for v in np.concatenate([[-far], ends, middles, [far]]):
        slack = 1e-12 * (1 + abs(v))
        if np.sum(np.abs(A - B * v) >= np.abs(v) - slack) >= rank:
            kept.append(v)
    low, high = min(kept), max(kept)
    return (-np.inf if low == -far else low), (np.inf if high == far else high)


@pytest.mark.parametrize("steep", [0.0, 0.2, 0.6])
def test_ends_with_rows_whose_prediction_moves_faster_than_the_target(rng, steep):
    for _ in range(60):
        n = int(rng.integers(4, 15))
        A = rng.standard_normal((n, 3)) * (rng.random((n, 3)) > 0.1)
        B = np.where(rng.random((n, 3)) < steep, rng.uniform(-3, 3, (n, 3)), rng.uniform(-0.9, 0.9, (n, 3)))
        rank = int(rng.integers(1, n + 1))
        ends = _ends.conformal_ends(A, B, rank)
        for j in range(3):
            assert_allclose(ends[:, j], naive_hull(A[:, j], B[:, j], rank), rtol=1e-9, atol=1e-12)


def test_rows_that_extrapolate_are_swept():
    X = np.arange(6.0)[:, None]
    fits = without_rows(Linear(), X, np.array([0.0, 1.0, 2.2, 2.9, 4.0, 5.3]), 1e-3)
    (_, _, w, kappa), *_ = fits.tiles(np.array([[6.0]]))
    B = next(intervals._scores(fits, w, kappa, False))[2]
    assert np.abs(B).max() < 1.0
    pair = without_rows(Linear(), np.array([[0.0], [1.0], [5.0]]), np.array([0.0, 1.0, 5.5]), 1e-3)
    (_, _, w, kappa), *_ = pair.tiles(np.array([[1.5]]))
    assert np.abs(next(intervals._scores(pair, w, kappa, False))[2]).max() > 1.0  # row 2 is extrapolated
    low, high = conformal(pair, [[1.5]], 0.5)[0]
    assert low < 1.6 < high


@pytest.mark.parametrize(("n", "rank"), [(8, 0), (9, 1), (18, 1), (19, 2), (199, 20)])
def test_rank_is_exact_where_rounding_would_lose_one(n, rank):
    if rank:
        assert _ends.rank_of(0.9, n) == rank
    else:
        with pytest.warns(UserWarning, match="0.9"):
            assert _ends.rank_of(0.9, n) == 0


def test_too_few_rows_give_the_whole_line_and_say_so():
    fits = without_rows(Gaussian(1.0), np.arange(5.0)[:, None], np.arange(5.0), 0.1)
    for method in (conformal, jackknife_plus, lambda *a: cv_plus(*a, folds=5)):
        with pytest.warns(UserWarning, match="infinite"):
            assert np.all(np.isinf(method(fits, [[0.5], [2.0]], 0.9)))


# ------------------------------------------------------------------------------------------ diagnostics
def test_influence_is_what_refits_say(data, fits, intercept):
    X, y, w, _, _ = data
    found = influence(fits)
    smoother = plain(X, np.eye(N), w, intercept, X)[0]  # f = A y
    f = smoother @ y
    assert_allclose(found.leverage, np.diagonal(smoother), rtol=1e-9)
    assert_allclose(found.dof, np.trace(smoother), rtol=1e-9)
    rss = (w[:, None] * (y - f) ** 2).sum(axis=0)
    root = np.sqrt(w)
    free = N - 2 * np.trace(smoother) + np.sum((root[:, None] * smoother / root) ** 2)
    assert_allclose(found.sigma2, rss / free, rtol=1e-9)
    for i in range(N):
        Xi, yi, wi = without(i, X, y, w)
        moved = plain(Xi, yi, wi, intercept, X)[0]
        assert_allclose(found.loo_residuals[i], y[i] - moved[i], rtol=1e-9, atol=1e-12)
        cook = (w[:, None] * (f - moved) ** 2).sum(axis=0) / (np.trace(smoother) * rss / free)
        assert_allclose(found.cook[i], cook, rtol=1e-8, atol=1e-12)
        noise = np.sqrt((wi[:, None] * (yi - np.delete(moved, i, axis=0)) ** 2).sum(axis=0) / (free - 1))
        error = noise * np.sqrt(np.sum(smoother[i] ** 2 / w))
        assert_allclose(found.dffits[i], (f[i] - moved[i]) / error, rtol=1e-8, atol=1e-10)


def test_influence_becomes_that_of_least_squares(rng):
    X = rng.standard_normal((20, 1))
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    found = influence(without_rows(Linear(), X, y, 1e-7))
    line = BasisRegression(PolynomialBasis(1)).fit(X, y)
    assert_allclose(found.leverage, line.leverage_, rtol=1e-6)
    assert_allclose(found.loo_residuals, line.loo_residuals_, rtol=1e-5, atol=1e-7)
    h, e = line.leverage_, y - line.predict(X)
    s2 = e @ e / 18
    assert_allclose(found.sigma2, s2, rtol=1e-6)
    assert_allclose(found.cook, e**2 * h / (2 * s2 * (1 - h) ** 2), rtol=1e-5, atol=1e-7)
    outside = np.sqrt((e @ e - e**2 / (1 - h)) / 17)
    assert_allclose(found.dffits, e / (outside * np.sqrt(1 - h)) * np.sqrt(h / (1 - h)), rtol=1e-5, atol=1e-6)


def test_calibration_on_data_of_the_model_itself(rng):
    X = rng.uniform(0, 10, (600, 1))
    k = 2.0 * Matern52(1.0)
    y = np.linalg.cholesky(k(X) + 0.25 * np.eye(600)) @ rng.standard_normal(600)
    found = calibration(without_rows(k, X, y, 0.25, intercept=False), [0.5, 0.9])
    assert abs(found.mean_square - 1) < 4 * np.sqrt(2 / 600)
    assert_allclose(found.coverage, [0.5, 0.9], atol=0.08)
    assert "stated  90.0%" in str(found)
    wrong = calibration(without_rows(4.0 * k, X, y, 1.0, intercept=False))  # all variances four times too large
    assert_allclose(wrong.mean_square, found.mean_square / 4, rtol=1e-9)
    with pytest.raises(ValueError, match="levels"):
        calibration(without_rows(k, X, y, 0.25), [1.0])


def test_z_scores_are_residuals_over_the_sd_of_the_others(data, fits, intercept):
    X, y, w, _, _ = data
    z = calibration(fits).z
    f, variance = plain(*without(4, X, y, w), intercept, X[4:5])
    assert_allclose(z[4], (y[4] - f[0]) / np.sqrt(variance[0] - LAM + LAM / w[4]), rtol=1e-9)
    assert calibration(fits).coverage.shape == (5, 2)


# ---------------------------------------------------------------------------------------- odd input
def test_kernels_on_objects_and_functions():
    words = ["kernel", "colonel", "ridge", "bridge", "fridge", "matrix", "mattress", "tricks", "metric", "trick"]
    y = np.array([len(word) for word in words], dtype=float)

    def letters(things):
        return np.array([[thing.count(c) for c in "abcdefgiklmnorstx"] for thing in things], dtype=float)

    ends = conformal(without_rows(FeatureMap(letters), words, y, 1.0), ["fringe", "lattice"], 0.8)
    k = Pairwise(lambda a, b: float(letters([a])[0] @ letters([b])[0]))
    assert_allclose(conformal(without_rows(k, words, y, 1.0), ["fringe", "lattice"], 0.8), ends, rtol=1e-9)
    assert np.all(ends[:, 0] < ends[:, 1])


def test_refusals():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.arange(3.0)
    with pytest.raises(ValueError, match="no fit without a row"):
        without_rows(Gaussian(), X[:1], y[:1], 0.1)
    with pytest.raises(ValueError, match="lam"):
        without_rows(Gaussian(), X[:2], y, 0.0, index=[0, 1, 1])
    fits = without_rows(Gaussian(), X, y, 0.1)
    with pytest.raises(ValueError, match="coverage"):
        conformal(fits, X, 1.0)
    with pytest.raises(ValueError, match="folds"):
        cv_plus(fits, X, 0.5, folds=4)
    with pytest.raises(ValueError, match="folds"):
        cv_plus(fits, X, 0.5, folds=[[0, 1], [1, 2]])
    assert conformal(fits, X[:0], 0.5).shape == (0, 2)


def test_without_noise_a_training_point_keeps_its_target():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 0.0, 2.0, 1.0, 1.0])
    ends = conformal(without_rows(Gaussian(1.0), X, y, 0.0), X, 0.5)
    assert np.isfinite(ends).all()
    assert np.all((ends[:, 0] <= y + 1e-6) & (y - 1e-6 <= ends[:, 1]))


def test_constant_targets_give_intervals_of_no_width():
    X = np.linspace(0, 1, 30)[:, None]
    fits = without_rows(Gaussian(0.3), X, np.full(30, 7.0), 0.1)
    for method in (conformal, jackknife_plus):
        assert_allclose(method(fits, [[0.33], [2.0]]), 7.0, atol=1e-10)


def test_memory_does_not_grow_with_the_new_inputs(rng):
    X = rng.standard_normal((200, 2))
    fits = without_rows(Gaussian(1.0), X, X[:, 0], 0.1)
    fits.entries = 2**15
    new = rng.standard_normal((4000, 2))
    peaks = []
    for m in (1000, 4000):
        tracemalloc.start()
        ends = conformal(fits, new[:m])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + ends.nbytes
    assert peaks[1] < 8 * 200 * 4000 / 2  # the matrix w is never there as a whole
    assert_allclose(ends[1000:1003], conformal(fits, new[1000:1003]), rtol=1e-9)


# --------------------------------------------------------------------------------------------- coverage
def gaussian(rng, X):
    return rng.standard_normal(len(X))


def heavy(rng, X):
    return rng.standard_t(2.0, len(X))


def skewed_and_uneven(rng, X):
    return (rng.exponential(size=len(X)) - 1.0) * (0.2 + 2.0 * X[:, 0] ** 2)


def covered(noise, method, draws, rng, n=39, **options):
    """How often the interval holds one new target, each draw with fresh rows: exactly binomial."""
    hits = 0
    with one_blas_thread():  # matrices of 39 rows: two threads would wait for each other
        for _ in range(draws):
            X = rng.uniform(-1, 1, (n + 1, 1))
            y = np.sin(3 * X[:, 0]) + 0.3 * noise(rng, X)
            low, high = method(without_rows(Gaussian(0.5), X[:n], y[:n], 0.1), X[n:], 0.9, **options)[0]
            hits += low <= y[n] <= high
    return hits


NOISE = [gaussian, heavy, skewed_and_uneven]


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("normalise", [False, True])
def test_conformal_coverage_is_binomial(noise, normalise):
    """With 39 rows and α = 0.1 the coverage is exactly 0.9: (n + 1)α is whole, so there is no slack either way."""
    hits = covered(noise, conformal, 200, np.random.default_rng(1), normalise=normalise)
    low, high = binom.ppf([0.001, 0.999], 200, 0.9)
    assert low <= hits <= high


@pytest.mark.parametrize("noise", NOISE)
def test_jackknife_plus_coverage(noise):
    hits = covered(noise, jackknife_plus, 200, np.random.default_rng(2))
    assert hits >= binom.ppf(0.001, 200, 0.88)
    assert hits <= binom.ppf(0.999, 200, 0.93)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("method", [conformal, jackknife_plus, cv_plus])
def test_coverage_over_many_draws(method, normalise, noise):
    hits = covered(noise, method, 1000, np.random.default_rng(3), normalise=normalise)
    slack = 0.0 if method is conformal else 0.02
    assert binom.ppf(0.0005, 1000, 0.9 - slack) <= hits <= binom.ppf(0.9995, 1000, 0.9 + slack)


def test_p_values_are_uniform(rng):
    p = []
    for _ in range(300):
        X = rng.uniform(-1, 1, (20, 1))
        y = X[:, 0] + heavy(rng, X)
        p.append(p_value(without_rows(Gaussian(0.5), X[:19], y[:19], 0.1), X[19:], y[19:])[0])
    share = np.mean(np.asarray(p)[:, None] <= np.array([0.1, 0.3, 0.5, 0.7]), axis=0)
    assert_allclose(share, [0.1, 0.3, 0.5, 0.7], atol=norm.ppf(0.9995) * 0.5 / np.sqrt(300))


# ---------------------------------------------------------------------------------- on the estimator
@pytest.fixture
def rows(rng):
    """Rows of which some are equal, some have no weight, and all others different weights."""
    X = np.repeat(rng.standard_normal((20, 2)), 2, axis=0)[:30]
    y = X[:, 0] + 0.3 * rng.standard_normal(30)
    return X, y, np.where(np.arange(30) % 7 == 3, 0.0, rng.uniform(0.5, 2.0, 30))


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("method", ["conformal", "jackknife+", "cv+"])
def test_predict_interval_of_the_estimator(rows, new, method, merge):
    X, y, w = rows
    model = KernelRidge(KERNEL, LAM, merge=merge).fit(X, y, w)
    used = w > 0
    fits = without_rows(KERNEL, X[used], y[used], LAM, weight=w[used])
    expected = {"conformal": conformal, "jackknife+": jackknife_plus, "cv+": cv_plus}[method](fits, new, 0.8)
    got = model.predict_interval(new, 0.8, method=method)
    assert got.shape == (7, 2)
    assert_allclose(got, expected, rtol=1e-7)
    f = model.predict(new)
    assert np.all((got[:, 0] < f) & (f < got[:, 1]))
    assert model.predict_interval(new, 0.8, method=method, normalise=True).shape == (7, 2)
    wide = model.predict_interval(new, 0.95, method=method)
    assert np.all((wide[:, 0] <= got[:, 0]) & (got[:, 1] <= wide[:, 1]))


def test_several_targets_are_several_fits(rows, new):
    X, y, w = rows
    both = KernelRidge(KERNEL, LAM).fit(X, np.stack([y, y**2], axis=1), w)
    for method in ("conformal", "jackknife+", "cv+"):
        got = both.predict_interval(new, method=method)
        assert got.shape == (7, 2, 2)
        for t, target in enumerate((y, y**2)):
            alone = KernelRidge(KERNEL, LAM).fit(X, target, w).predict_interval(new, method=method)
            assert_allclose(got[..., t], alone, rtol=1e-8, atol=1e-10)
    held = new, both.predict(new) + 1.0
    assert_allclose(both.predict_interval(new, 0.5, method="split", calibration=held)[:, 1], held[1], rtol=1e-9)


def test_noise_for_each_row_and_the_weight_of_a_new_one(rows, new):
    X, y, _ = rows
    noise = np.linspace(0.1, 1.0, 30)
    model = KernelRidge(KERNEL, noise).fit(X, y)
    fits = without_rows(KERNEL, X, y, 1.0, weight=1 / noise)
    expected = conformal(fits, new, weight=1 / 0.3)
    assert_allclose(model.predict_interval(new, sample_weight=model.lam_ / 0.3), expected, rtol=1e-7)


def test_influence_and_calibration_of_the_estimator(rows):
    X, y, w = rows
    model = KernelRidge(KERNEL, LAM).fit(X, y, w)
    found, used = model.influence(), w > 0
    for name in ("leverage", "loo_residuals", "cook", "dffits"):
        assert_allclose(np.isnan(getattr(found, name)), ~used)
    smoother = KernelRidge(KERNEL, LAM).fit(X, np.eye(30), w).predict(X)
    assert_allclose(found.leverage[used], np.diagonal(smoother)[used], rtol=1e-8)
    i = 5
    rest = KernelRidge(KERNEL, LAM).fit(*without(i, X, y), np.delete(w, i))
    assert_allclose(found.loo_residuals[i], y[i] - rest.predict(X[i : i + 1])[0], rtol=1e-8)
    z = model.calibration().z
    assert z.shape == (30,)
    assert_allclose(np.isnan(z), ~used)


def test_split_is_the_quantile_of_rows_set_aside(rng):
    X = rng.uniform(-1, 1, (80, 1))
    y = np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(80)
    model = KernelRidge(Gaussian(0.5), 0.1).fit(X[:41], y[:41])
    residual = np.sort(np.abs(y[41:] - model.predict(X[41:])))
    ends = model.predict_interval(X[:5], 0.9, method="split", calibration=(X[41:], y[41:]))
    assert_allclose(ends[:, 1] - model.predict(X[:5]), residual[35], rtol=1e-9)  # the 36th of 39
    assert_allclose(ends.mean(axis=1), model.predict(X[:5]), rtol=1e-9)
    uneven = model.predict_interval([[0.0], [3.0]], 0.9, method="split", calibration=(X[41:], y[41:]), normalise=True)
    assert np.diff(uneven[1]) > 2 * np.diff(uneven[0])  # far from the rows
    with pytest.warns(UserWarning, match="infinite"):
        assert np.isinf(model.predict_interval(X[:2], method="split", calibration=(X[:3], y[:3]))).all()


def test_split_covers_after_tuning_on_the_training_rows():
    """λ that interpolates noise: the residuals of the training rows are nothing, those set aside are honest."""
    rng, hits = np.random.default_rng(5), 0
    with one_blas_thread():
        for _ in range(150):
            X = rng.uniform(-1, 1, (50, 1))
            y = rng.standard_normal(50)
            model = KernelRidge(Gaussian(0.1), 1e-2).fit(X[:30], y[:30])
            low, high = model.predict_interval(X[49:], 0.9, method="split", calibration=(X[30:49], y[30:49]))[0]
            hits += low <= y[49] <= high
    assert binom.ppf(0.001, 150, 0.9) <= hits <= binom.ppf(0.999, 150, 0.9)


class Counted(Gaussian):
    """A kernel that counts the values it is asked for."""

    asked: ClassVar[list] = []

    def phi(self, s):
        self.asked.append(np.size(s))
        return super().phi(s)

    dphi = Gaussian.dphi


def test_the_inverse_is_made_once_and_does_not_travel(rows, new):
    X, y, w = rows
    model = KernelRidge(Counted([0.8, 1.5]), LAM).fit(X, y, w)
    before = len(pickle.dumps(model))
    first, n, m = model.predict_interval(new), len(model.points_), len(new)
    Counted.asked.clear()
    model.influence()
    assert_allclose(model.predict_interval(new), first, rtol=1e-12)
    assert sum(Counted.asked) < n * (n + 1) / 2 + n * m  # of the new rows, not of the old ones again
    assert len(pickle.dumps(model)) == before
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_allclose(other.predict_interval(new), first, rtol=1e-12)
    model.fit(X, -y, w)
    assert_allclose(model.predict_interval(new), -first[:, ::-1], rtol=1e-9)
    model.set_params(trend=None)  # a parameter changed after the fit changes nothing yet
    assert_allclose(model.predict_interval(new), -first[:, ::-1], rtol=1e-9)


def test_data_frames_objects_and_given_matrices(rows):
    pandas = pytest.importorskip("pandas")
    X, y, _ = rows
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = KernelRidge(KERNEL, LAM).fit(frame, y)
    assert_allclose(model.predict_interval(frame[:3]), KernelRidge(KERNEL, LAM).fit(X, y).predict_interval(X[:3]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict_interval(frame[["b", "a"]])
    words = [f"word{i}" * (1 + i % 3) for i in range(12)]
    k = FeatureMap(lambda things: np.array([[len(thing), 1.0] for thing in things]))
    assert KernelRidge(k, 1.0).fit(words, np.arange(12.0)).predict_interval(["some", "other"], 0.8).shape == (2, 2)
    given = KernelRidge(Precomputed(), LAM).fit(KERNEL(X), y)
    with pytest.raises(ValueError, match="Precomputed"):
        given.predict_interval(KERNEL(X[:3], X))
    held = KERNEL(X[20:], X), y[20:]
    assert given.predict_interval(KERNEL(X[:3], X), 0.5, method="split", calibration=held).shape == (3, 2)


def test_the_constant_model():
    """λ = ∞ is the mean, and its intervals are those of exchangeable numbers."""
    y = np.append(np.arange(18.0), 100.0)
    with pytest.warns(ConvergenceWarning):
        model = KernelRidge(Gaussian(1.0), criterion=Discrepancy(noise=1e3)).fit(np.arange(19.0)[:, None], y)
    assert model.lam_ == np.inf
    low, high = model.predict_interval([[3.0]], 0.9)[0]
    centre = y.mean()
    far = KernelRidge(Gaussian(1.0), 1e9).fit(np.arange(19.0)[:, None], y)
    assert_allclose([low, high], far.predict_interval([[3.0]], 0.9)[0], atol=1e-6)
    assert low < centre < high
    assert_allclose(model.influence().leverage, 1 / 19)
    with pytest.raises(ValueError, match="constant model"):
        model.calibration()


@pytest.mark.parametrize("method", ["conformal", "jackknife+", "split"])
def test_weights_of_new_rows_are_counted(rows, new, method):
    X, y, w = rows
    model = KernelRidge(KERNEL, LAM).fit(X, y, w)
    more = {"calibration": (X, y)} if method == "split" else {}
    with pytest.raises(ValueError, match=rf"each of the {len(new)} new rows; got shape \({len(new) + 1},\)"):
        model.predict_interval(new, method=method, sample_weight=np.ones(len(new) + 1), **more)


def test_refusals_of_the_estimator(rows):
    X, y, _ = rows
    with pytest.raises(NotFittedError):
        KernelRidge().predict_interval(X)
    with pytest.raises(NotFittedError):
        KernelRidge().influence()
    model = KernelRidge(KERNEL, LAM).fit(X, y)
    with pytest.raises(ValueError, match="method="):
        model.predict_interval(X, method="bootstrap")
    with pytest.raises(ValueError, match="calibration="):
        model.predict_interval(X, method="split")
    with pytest.raises(ValueError, match="calibration="):
        model.predict_interval(X, calibration=(X, y))
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 90)
    with pytest.raises(ValueError, match=r"shape \(30,\)"):
        model.predict_interval(X, method="split", calibration=(X, y[:4]))
    with pytest.raises(ValueError, match="no fit without a row"):
        KernelRidge(lam=1.0).fit(X[:1], y[:1]).predict_interval(X)


def test_a_tuned_model_gives_the_intervals_of_what_was_chosen(rows, new):
    X, y, w = rows
    tuned = KernelRidge(Gaussian(1.0), criterion=LOO(), optimize="lam").fit(X, y, w)
    fixed = KernelRidge(tuned.kernel_, tuned.lam_).fit(X, y, w)
    assert_allclose(tuned.predict_interval(new), fixed.predict_interval(new), rtol=1e-9)
    assert_allclose(tuned.loo_residuals_, tuned.influence().loo_residuals, rtol=1e-7)
    assert_allclose(tuned.leverage_, tuned.influence().leverage, rtol=1e-7)
    assert_allclose(tuned.dof_, tuned.influence().dof, rtol=1e-7)


# -------------------------------------------------------------------------- left-out residuals, normalised
def unlike_noise(rng, n):
    """Rows of noise 0.05 and of 0.5, with the weights that say so."""
    X = rng.uniform(size=(n, 1))
    s = np.where(X[:, 0] < 0.5, 0.05, 0.5)
    return X, np.sin(6 * X[:, 0]) + s * rng.standard_normal(n), 1 / s**2


@pytest.mark.parametrize("kind", [KernelRidge, GaussianProcessRegressor])
def test_left_out_residuals_in_units_of_their_deviations(kind, rng):
    X, y, w = unlike_noise(rng, 150)
    Z, t, v = unlike_noise(rng, 2000)
    model = kind(Gaussian(0.3), 1.0, criterion=None).fit(X, y, sample_weight=w)
    ends = model.predict_interval(Z, method="left-out", normalise=True, sample_weight=v)
    quiet = Z[:, 0] < 0.5
    for here in (quiet, ~quiet):
        assert np.mean((ends[here, 0] <= t[here]) & (t[here] <= ends[here, 1])) == pytest.approx(0.9, abs=0.07)
    width = ends[:, 1] - ends[:, 0]
    assert width[~quiet].mean() > 5 * width[quiet].mean()
    np.testing.assert_allclose(
        ends, model.predict_interval(Z, method="conformal", normalise=True, sample_weight=v), rtol=0.1, atol=0.05
    )


def test_left_out_residuals_normalised_written_out(rng):
    X, y, w = unlike_noise(rng, 20)
    model = GaussianProcessRegressor(Gaussian(0.3), 1.0, criterion=None).fit(X, y, sample_weight=w)
    scores = []
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        part = GaussianProcessRegressor(Gaussian(0.3), 1.0, criterion=None).fit(X[rest], y[rest], sample_weight=w[rest])
        f, std = part.predict(X[i : i + 1], return_std=True, noisy=np.array([1.0 / w[i]]))
        scores.append(abs(y[i] - f[0]) / std[0])
    f, std = model.predict([[0.2], [0.8]], return_std=True, noisy=True)
    half = np.sort(scores)[int(np.ceil(0.8 * 21)) - 1] * std
    found = model.predict_interval([[0.2], [0.8]], 0.8, method="left-out", normalise=True)
    np.testing.assert_allclose(found, np.column_stack([f - half, f + half]), rtol=1e-8)


def test_left_out_residuals_of_neighbours_normalised(rng):
    X, y, w = unlike_noise(rng, 150)
    model = GaussianProcessRegressor(Gaussian(0.3), 1.0, criterion=None, approximation=Neighbours(20))
    model.fit(X, y, sample_weight=w)
    ends = model.predict_interval([[0.2], [0.8]], method="left-out", normalise=True, sample_weight=[400.0, 4.0])
    assert np.diff(ends)[1, 0] > 5 * np.diff(ends)[0, 0]


def test_weights_that_change_nothing_are_refused(rng):
    X, y, w = unlike_noise(rng, 30)
    model = KernelRidge(Gaussian(0.3), 1.0).fit(X, y, sample_weight=w)
    with pytest.raises(ValueError, match="normalise=True"):
        model.predict_interval(X, method="left-out", sample_weight=w)
