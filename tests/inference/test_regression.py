"""The posterior of regression: clipping, draws, mixtures, rows that join and leave, and a factor that was changed."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.exceptions import NumericalWarning
from mercer.gram import Rows
from mercer.gram.trend import make_trend
from mercer.inference.mixture import PosteriorMixture
from mercer.inference.moments import clip, draw, mixed
from mercer.inference.regression import RegressionPosterior
from mercer.kernels import Gaussian, Matern32, PolynomialBasis
from mercer.selection import Evidence
from mercer.solvers import Cholesky, Spectral

NEW = np.linspace(-2.5, 2.5, 7)[:, None]


def rows_of(rng, trend=None, n=20, merge=True):
    X = rng.uniform(-2, 2, (n, 1))
    X = np.vstack([X, X[:3]])
    y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] ** 2]) + 0.1 * rng.standard_normal((n + 3, 2))
    return Rows(X, y, rng.uniform(0.5, 2.0, n + 3), make_trend(trend, X), merge)


def test_clip_counts_and_tells_rounding_from_more():
    mean = np.zeros((3, 1))
    found = clip(mean, np.array([0.5, -1e-17, -1e-3]), np.ones(3), 10)
    assert_allclose(found.variance, [0.5, 0.0, 0.0])
    assert found.clipped == 2
    assert found.beyond == pytest.approx(1e-3)
    assert clip(mean, np.array([-1e-15]), np.ones(1), 10)[2:] == (1, 0.0)
    assert clip(mean, np.array([0.1]), np.ones(1), 10)[2:] == (0, 0.0)
    with pytest.warns(NumericalWarning, match="2 of 3 variances came out negative"):
        found.warn(0.1)


def test_draw_from_a_singular_and_from_an_indefinite_covariance(rng):
    a = rng.standard_normal((6, 2))
    C = a @ a.T
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samples = draw(np.ones((6, 1)), C, 20000, rng)
    assert_allclose(np.cov(samples[:, 0]), C, atol=0.3)
    assert_allclose(samples[:, 0].mean(axis=1), 1.0, atol=0.15)
    with pytest.warns(NumericalWarning, match=r"eigenvalue of -3\.3e-01 of the largest"):
        draw(np.zeros((2, 1)), np.array([[1.0, 2.0], [2.0, 1.0]]), 1, rng)


def test_mixed_is_the_moments_of_all_draws(rng):
    means, variances = rng.standard_normal((5, 3, 2)), rng.uniform(0.1, 1.0, (5, 3))
    draws = means[:, None] + np.sqrt(variances)[:, None, :, None] * rng.standard_normal((5, 40000, 3, 2))
    mean, variance = mixed(means, variances)
    assert_allclose(mean, draws.mean(axis=(0, 1)), atol=0.02)
    assert_allclose(variance, draws.var(axis=(0, 1)), atol=0.05)


@pytest.mark.parametrize("trend", [None, "constant", "linear", PolynomialBasis(2)], ids=str)
def test_any_solver_that_gives_an_inverse_will_do(trend, rng):
    rows = rows_of(rng, trend)
    f, g = (RegressionPosterior.fit(Gaussian(0.7), rows, 0.1, solver) for solver in (Cholesky(), Spectral()))
    assert_allclose(g.mean(NEW), f.mean(NEW), rtol=1e-8, atol=1e-10)
    assert_allclose(sum(g.evidence(Evidence()).values()), sum(f.evidence(Evidence()).values()), rtol=1e-9)


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
def test_terms_of_the_evidence_sum_to_the_criterion(trend, rng):
    rows = rows_of(rng, trend)
    f = RegressionPosterior.fit(Gaussian(0.7), rows, 0.1, Cholesky())
    for criterion in (Evidence(), Evidence(weights="precision")):
        value = criterion.value(f.inverse, rows.scaled(rows.y), rows.weight, **criterion.extras(rows))
        assert_allclose(-sum(f.evidence(criterion).values()), value, rtol=1e-12)
        apart = RegressionPosterior.fit(Gaussian(0.7), rows.apart(), 0.1, Cholesky())
        assert_allclose(-sum(apart.evidence(criterion).values()), value, rtol=1e-10)


@pytest.mark.parametrize("trend", [None, "linear"])
def test_a_walk_ends_where_a_new_factor_begins(trend, rng):
    rows, kernel = rows_of(rng, trend), Matern32(0.8)
    f = RegressionPosterior.fit(kernel, rows, 0.1, Cholesky())
    more = rows.extended(np.vstack([rows.X[:1], [[0.123]]]), np.ones((2, 2)), np.array([0.7, 1.3]))
    grown, afresh = f.changed(more, np.arange(rows.n), Cholesky())
    assert not afresh and more.n == rows.n + 1
    gone = np.zeros(more.given, dtype=bool)
    gone[[2, 20, 24]] = True  # a point, one of two copies, the new one
    less, points = more.without(gone)
    back, afresh = grown.changed(less, points, Cholesky())
    assert not afresh
    expected = RegressionPosterior.fit(kernel, less, 0.1, Cholesky())
    for ours, theirs in zip(back.covariance(NEW)[0][:2], expected.covariance(NEW)[0][:2], strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    terms = [sum(one.evidence(Evidence()).values()) for one in (back, expected)]
    assert_allclose(*terms, rtol=1e-10)


def test_a_mixture_of_one_is_that_one(rng):
    rows = rows_of(rng, "linear").take(np.arange(12))
    rows.y, rows.row_y = rows.y[:, :1], rows.row_y[:, :1]
    rows.within_squares = rows.within_squares[:, :1]
    f = RegressionPosterior.fit(Gaussian(0.7), rows, 0.1, Cholesky())
    both = PosteriorMixture([f, f])
    assert both.lam == f.lam
    assert_allclose(both.mean(NEW), f.mean(NEW))
    assert_allclose(both.moments(NEW).variance[:, 0], f.moments(NEW).variance, rtol=1e-12)
    assert_allclose(both.covariance(NEW)[1], f.covariance(NEW)[1], rtol=1e-10, atol=1e-12)
    assert_allclose(both.slopes(NEW).d_std[..., 0], f.slopes(NEW).d_std, rtol=1e-9)
    for ours, theirs in zip(both.parts(NEW), f.parts(NEW), strict=True):
        assert_allclose(ours.variance[:, 0], theirs.variance, rtol=1e-10)
    again = PosteriorMixture.from_state(both.state())
    assert_array_equal(again.mean(NEW), both.mean(NEW))


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@pytest.mark.parametrize("trend", [None, "constant"])
def test_with_jitter_the_mean_is_that_of_the_original_system(trend):
    X = np.repeat(np.linspace(0, 1, 6), 2)[:, None] + np.tile([0.0, 1e-13], 6)[:, None]
    rows = Rows(X, np.sin(3 * X), trend=make_trend(trend, X))
    f = RegressionPosterior.fit(Gaussian(), rows, 0.0, Cholesky())
    assert f.inverse.info["jitter"] > 0
    assert_allclose(f.mean(X), rows.y, atol=1e-6)
    mean, variance, *_ = f.moments(np.array([[0.5], [4.0]]))
    assert abs(mean[0, 0] - np.sin(1.5)) < 1e-3
    assert variance[0] < 1e-6
    assert 0.1 < variance[1]
    again = RegressionPosterior.from_state(f.state())
    assert_array_equal(again.moments(X).variance, f.moments(X).variance)
    assert_allclose(again.slopes(NEW).d_variance, f.slopes(NEW).d_variance, rtol=1e-9, atol=1e-12)
