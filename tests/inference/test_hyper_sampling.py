"""Slice sampling against densities that are known."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from mercer.inference.hyper_sampling import slice_sample


def test_moments_of_a_correlated_normal(rng):
    C = np.array([[1.0, 0.8], [0.8, 2.0]])
    P = np.linalg.inv(C)
    found = slice_sample(lambda z: -0.5 * z @ P @ z, np.array([3.0, -3.0]), 1500,
                         directions=np.linalg.cholesky(C), rng=rng)  # fmt: skip
    draws = found.draws.reshape(-1, 2)
    assert found.complete
    assert (found.rhat < 1.02).all()
    assert (found.ess > 500).all()
    error = 5.0 / np.sqrt(found.ess.min())
    assert_allclose(draws.mean(axis=0), 0.0, atol=error * np.sqrt(2))
    assert_allclose(np.cov(draws.T), C, atol=4 * error)


def test_distribution_of_an_exponential_in_a_box(rng):
    found = slice_sample(lambda z: -z[0], np.array([0.5]), 4000, bounds=np.array([[0.0, 2.0]]), chains=2, rng=rng)
    draws = found.draws.ravel()
    assert draws.min() >= 0.0
    assert draws.max() <= 2.0
    few = draws[::8]  # far enough apart to be independent
    assert kstest(few, lambda x: (1 - np.exp(-x)) / (1 - np.exp(-2.0))).pvalue > 1e-4


def test_two_modes_are_both_found(rng):
    def log_density(z):
        return np.logaddexp(-0.5 * (z[0] + 2) ** 2 / 0.25, -0.5 * (z[0] - 2) ** 2 / 0.25)

    found = slice_sample(log_density, np.array([2.0]), 2000, directions=np.array([[2.0]]), rng=rng)
    assert 0.3 < np.mean(found.draws > 0) < 0.7


def test_same_seed_same_draws_and_log_density_belongs_to_the_draw():
    def run():
        return slice_sample(lambda z: -np.sum(z**4), np.zeros(2), 20, rng=np.random.default_rng(3))

    first, second = run(), run()
    assert np.array_equal(first.draws, second.draws)
    assert_allclose(first.log_density, -np.sum(first.draws**4, axis=2))


def test_time_is_kept_and_bad_starts_are_refused():
    found = slice_sample(lambda z: -(z[0] ** 2), np.zeros(1), 10**6, time_budget=0.05, rng=np.random.default_rng(0))
    assert not found.complete
    assert 1 <= found.draws.shape[1] < 10**6
    with pytest.raises(ValueError, match="not finite where the sampling starts"):
        slice_sample(lambda z: -np.inf, np.zeros(1), 10)


def test_a_slow_density_is_not_drawn_from_beyond_the_time():
    """Four draws of each chain were made whatever the clock said: 500 evaluations for each variable and more."""

    def slow(z):
        time.sleep(0.002)
        return -0.5 * float(z @ z)

    found = slice_sample(slow, np.zeros(8), 50, time_budget=0.02, rng=np.random.default_rng(0))
    assert not found.complete and found.draws.shape == (4, 1, 8) and found.evaluations < 40
    assert np.isnan(found.ess).all() and np.ptp(found.draws[:, 0, 0]) > 0
