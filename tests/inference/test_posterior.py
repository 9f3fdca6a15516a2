"""The pieces of a posterior: clipping, draws, mixtures, and a factor that had to be changed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.exceptions import NumericalWarning
from mercer.gram import TiledGram
from mercer.inference.posterior import Posterior, clip, draw, log_gram, mixture
from mercer.kernels import Gaussian
from mercer.solvers import Cholesky


def test_clip_counts_and_tells_rounding_from_more():
    variance, count, worst = clip(np.array([0.5, -1e-17, -1e-3]), np.ones(3), 10)
    assert_allclose(variance, [0.5, 0.0, 0.0])
    assert count == 2
    assert worst == pytest.approx(1e-3)
    assert clip(np.array([-1e-15]), np.ones(1), 10)[1:] == (1, 0.0)
    assert clip(np.array([0.1]), np.ones(1), 10)[1:] == (0, 0.0)


def test_draw_from_a_singular_and_from_an_indefinite_covariance(rng):
    a = rng.standard_normal((6, 2))
    C = a @ a.T
    samples, clipped = draw(np.ones((6, 1)), C, 20000, rng)
    assert clipped == 0.0
    assert_allclose(np.cov(samples[:, 0]), C, atol=0.3)
    assert_allclose(samples[:, 0].mean(axis=1), 1.0, atol=0.15)
    _, clipped = draw(np.zeros((2, 1)), np.array([[1.0, 2.0], [2.0, 1.0]]), 1, rng)
    assert clipped == pytest.approx(1 / 3)


def test_mixture_is_the_moments_of_all_draws(rng):
    means, variances = rng.standard_normal((5, 3, 2)), rng.uniform(0.1, 1.0, (5, 3))
    draws = means[:, None] + np.sqrt(variances)[:, None, :, None] * rng.standard_normal((5, 40000, 3, 2))
    mean, variance = mixture(means, variances)
    assert_allclose(mean, draws.mean(axis=(0, 1)), atol=0.02)
    assert_allclose(variance, draws.var(axis=(0, 1)), atol=0.05)


def test_log_gram(rng):
    H = rng.standard_normal((9, 3))
    assert_allclose(log_gram(H), np.linalg.slogdet(H.T @ H)[1])
    assert log_gram(np.ones((4, 0))) == 0.0


def test_with_jitter_the_mean_is_that_of_the_original_system(rng):
    X = np.repeat(np.linspace(0, 1, 6), 2)[:, None] + np.tile([0.0, 1e-13], 6)[:, None]
    y = np.sin(3 * X)
    with pytest.warns(NumericalWarning):
        f = Posterior(Gaussian(), X, Cholesky().resolvent(TiledGram(Gaussian(), X))(0.0), y)
        assert_allclose(f.mean(X), y, atol=1e-6)
    mean, variance = f.moments(np.array([[0.5], [4.0]]))
    assert abs(mean[0, 0] - np.sin(1.5)) < 1e-3
    assert variance[0] > -1e-9
    assert 0.1 < variance[1] <= 1.0
