"""Landmarks and solutions for all rows: each number as the exact fit has it, for every target, weight and unit."""

import warnings

import numpy as np
import pytest

from mercer import GaussianProcessRegressor, KernelRidge, Landmarks
from mercer.kernels import Gaussian


def quiet(model, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments)


def few(rng, n=14):
    X = rng.uniform(0, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
@pytest.mark.parametrize("precisions", [False, True])
def test_evidence_and_densities_of_weighted_rows(rng, trend, precisions):
    """At m = n they are those of the exact fit; a whole weight is as many rows, a noise of each row a precision."""
    X, y, w = few(rng)
    Y = np.column_stack([y, 10.0 * y[::-1]])
    noise = rng.uniform(0.1, 0.5, len(y)) if precisions else 0.2
    exact, model = (
        quiet(GaussianProcessRegressor(Gaussian(1.0), noise, criterion=None, trend=trend, approximation=how), X, Y, w)
        for how in (None, Landmarks(choose=X))
    )
    evidence = exact.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ == pytest.approx(evidence, rel=1e-6)
    np.testing.assert_allclose(model.loo_std_, exact.loo_std_, rtol=1e-5)
    np.testing.assert_allclose(model.loo_residuals_, exact.loo_residuals_, atol=1e-5)
    np.testing.assert_allclose(model.leverage_[w > 0], exact.leverage_[w > 0], atol=1e-6)
    if not precisions:
        each = np.repeat(np.arange(len(y)), w.astype(int))
        repeated = quiet(model, X[each], Y[each])
        assert repeated.log_marginal_likelihood_value_ == pytest.approx(evidence, rel=1e-6)


@pytest.mark.parametrize("process", [False, True])
def test_split_intervals_of_rows_of_unlike_weight(process):
    """A weight is a noise variance λ/w: rows of weight 100 and 1 are covered alike (0.74 of both were, of 0.9)."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, w = rng.uniform(0, 3, (3000, 2)), np.where(rng.random(3000) < 0.5, 100.0, 1.0)
        y = np.sin(X[:, 0]) * X[:, 1] + 0.5 * rng.standard_normal(3000) / np.sqrt(w)
        how = Landmarks(40, held=300)
        options = {"criterion": None, "approximation": how}
        make = GaussianProcessRegressor(Gaussian(1.0), 0.25, **options) if process else None
        model = quiet(make or KernelRidge(Gaussian(1.0), 0.25, **options), X[:1500], y[:1500], w[:1500])
        asked = {"method": "split", "normalise": True, "sample_weight": w[1500:]}
        low, high = model.predict_interval(X[1500:], 0.9, **asked).T
        inside = (low <= y[1500:]) & (y[1500:] <= high)
        found.append([inside[w[1500:] > 1].mean(), inside[w[1500:] == 1].mean()])
    assert np.abs(np.mean(found, axis=0) - 0.9).max() < 0.03, found


def test_rows_of_weight_zero_are_not_held_out(rng):
    X, y = rng.uniform(0, 3, (400, 2)), rng.standard_normal(400)
    w = (np.arange(400) % 3).astype(float)
    y[w == 0] = 1e6
    model = quiet(KernelRidge(Gaussian(1.0), 1.0, approximation=Landmarks(20, held=100)), X, y, w)
    assert np.abs(model.landmarks_.aside).max() < 10 and (w[model.landmarks_.aside_index] > 0).all()
