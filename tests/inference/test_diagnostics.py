"""Effective sample size and R̂ against what is known of autoregressive chains."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.inference.diagnostics import _autocovariance, ess, rhat


def autoregressive(rng, phi, shape):
    noise, x = rng.standard_normal(shape), np.zeros(shape)
    x[:, 0] = noise[:, 0] / np.sqrt(1.0 - phi**2)
    for i in range(1, shape[1]):
        x[:, i] = phi * x[:, i - 1] + noise[:, i]
    return x


@pytest.mark.parametrize("phi", [-0.4, 0.0, 0.5, 0.9])
def test_ess_of_an_autoregressive_chain(phi, rng):
    chains = autoregressive(rng, phi, (4, 5000))
    assert_allclose(ess(chains), 20000 * (1.0 - phi) / (1.0 + phi), rtol=0.25)
    assert rhat(chains) < 1.02


def test_autocovariance_is_the_sum_it_stands_for(rng):
    x = rng.standard_normal((2, 50))
    c = x - x.mean(axis=1, keepdims=True)
    naive = np.array([[np.sum(row[: 50 - k] * row[k:]) / 50 for k in range(50)] for row in c])
    assert_allclose(_autocovariance(x), naive, atol=1e-14)


def test_rhat_of_the_textbook(rng):
    x = rng.standard_normal((3, 40))
    halves = np.concatenate([x[:, :20], x[:, 20:]])
    W, B = halves.var(axis=1, ddof=1).mean(), 20 * halves.mean(axis=1).var(ddof=1)
    assert_allclose(rhat(x), np.sqrt((19 / 20 * W + B / 20) / W), rtol=1e-12)


def test_several_quantities_are_several_calls(rng):
    x = rng.standard_normal((4, 100, 3)) * [1.0, 1e-200, 1e150] + [0.0, 0.0, 1e150]
    for function in (ess, rhat):
        assert_allclose(function(x), [function(x[:, :, j]) for j in range(3)], rtol=1e-12)


def test_chains_that_do_not_move_or_do_not_agree(rng):
    still = np.full((2, 50), 3.3)
    assert rhat(still) == 1.0
    assert ess(still) == 100
    apart = np.repeat([[0.0], [1.0]], 50, axis=1)
    assert rhat(apart) == np.inf
    assert ess(apart) == 1.0
    drift = np.linspace(0, 5, 200) + rng.standard_normal((1, 200))
    assert rhat(drift) > 1.2


def test_bad_chains():
    with pytest.raises(ValueError, match="at least 4 draws"):
        ess(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        rhat(np.full((2, 10), np.nan))
