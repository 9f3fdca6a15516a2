"""A Gaussian process on landmarks: the exact posterior where they are all rows, honest variances where they are not."""

import warnings

import numpy as np
import pytest
import sklearn.base

import mercer
from mercer import GaussianProcessRegressor, Landmarks
from mercer.approximate import LandmarkOptions
from mercer.exceptions import NumericalWarning
from mercer.kernels import Gaussian, Matern32


def quiet(model, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        return model.fit(*arguments)


def data(rng, n=300):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.2 * rng.standard_normal(n) + 5


@pytest.mark.parametrize("trend", ["constant", "linear", None])
def test_with_all_rows_it_is_the_exact_posterior(trend, rng):
    X, y = data(rng)
    options = {"noise": 0.04, "criterion": None, "trend": trend}
    exact = GaussianProcessRegressor(1.0 * Matern32(1.0), **options).fit(X, y)
    model = quiet(GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Landmarks(choose=X), **options), X, y)
    new = 2 * rng.standard_normal((40, 2))
    for a, b in zip(model.predict(new, return_cov=True), exact.predict(new, return_cov=True), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert model.log_marginal_likelihood_value_ == pytest.approx(exact.log_marginal_likelihood_value_, rel=1e-6)
    np.testing.assert_allclose(model.trend_coef_, exact.trend_coef_, atol=1e-7)
    np.testing.assert_allclose(model.loo_residuals_, exact.loo_residuals_, atol=1e-6)


def test_the_bound_is_below_the_evidence_and_variances_are_not_below_zero(rng):
    X, y = data(rng)
    options = {"noise": 1e-6, "criterion": None, "trend": None}
    kernel = 1.0 * Gaussian(1.0)
    exact = GaussianProcessRegressor(kernel, **options | {"noise": 0.04}).fit(X, y)
    model = quiet(GaussianProcessRegressor(kernel, approximation=Landmarks(20), **options | {"noise": 0.04}), X, y)
    assert model.log_marginal_likelihood_value_ <= exact.log_marginal_likelihood_value_
    sure = quiet(GaussianProcessRegressor(kernel, approximation=Landmarks(100), **options), X, y)
    assert sure.posterior(X).latent_std.min() >= 0
    far = model.posterior([[50.0, 50.0]])
    assert far.latent_std[0] == pytest.approx(1.0, rel=1e-6)  # the prior comes back


def test_hyper_parameters_from_a_subset_and_the_bound(rng):
    X, y = data(rng, 1500)
    options = {"options": LandmarkOptions(subset=200)}
    model = quiet(GaussianProcessRegressor(approximation=Landmarks(300), **options), X, y)
    assert 0.02 < model.lam_ < 0.08
    new, truth = data(rng, 500)
    low, high = model.predict_interval(new).T
    assert 0.85 < np.mean((low <= truth) & (truth <= high)) < 0.95
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.24


def test_file_plan_and_what_it_cannot_do(rng, tmp_path):
    X, y = data(rng)
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.04, criterion=None, approximation=Landmarks(50))
    assert mercer.plan(model, X, y) == quiet(model, X, y).plan_
    model.save(tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    for a, b in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.sample(X[:4], 3, random_state=0).shape == (4, 3)
    with pytest.raises(ValueError, match="keeps no rows"):
        model.forget([1, 2])
    with pytest.raises(ValueError, match="sums of the rows are not in a file"):
        again.update(X, y)
    with pytest.raises(ValueError, match="needs the exact fit"):
        GaussianProcessRegressor(n_hyper_samples=16, approximation=Landmarks(20)).fit(X, y)
    assert mercer.plan(GaussianProcessRegressor(), n=200_000, d=50).gram == "landmarks"


def test_noise_is_noise_and_not_what_landmarks_miss(rng):
    """The bound of the evidence would count what few landmarks cannot follow as noise, six times over."""
    X = rng.uniform(-2, 2, (10_000, 2))
    f = np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1])
    y = f + 0.2 * rng.standard_normal(10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(Gaussian(1.0), approximation=Landmarks(100)).fit(X[:6000], y[:6000])
    mean, std = model.predict(X[6000:], return_std=True)
    inside = np.abs(y[6000:] - mean) < 1.645 * np.sqrt(std**2 + model.noise_)
    assert 0.03 < model.noise_ < 0.055  # 0.04
    assert abs(inside.mean() - 0.9) < 0.02


@pytest.mark.parametrize("targets", [1, 2])
def test_rows_join_and_leave(rng, targets):
    X, y = data(rng, 400)
    y = y if targets == 1 else np.column_stack([y, -y])
    how = Landmarks(choose=X[:60])
    model = GaussianProcessRegressor(1.0 * Matern32(1.0), 0.04, criterion=None, trend="linear", approximation=how)
    whole, part = (quiet(sklearn.base.clone(model), *some) for some in ((X, y), (X[:300], y[:300])))
    told = part.fit_report_["approximation"]
    part.update(X[200:], y[200:]).forget(X[200:300], y[200:300])
    new = rng.uniform(-3, 3, (20, 2))
    for a, b in zip(part.predict(new, return_std=True), whole.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert part.log_marginal_likelihood_value_ == pytest.approx(whole.log_marginal_likelihood_value_, abs=1e-4)
    assert part.regularization_["lam_over_n"] == pytest.approx(whole.regularization_["lam_over_n"])
    assert part.fit_report_["rows"] == 400 and part.fit_report_["updates"] == 2
    assert part.fit_report_["approximation"]["verdict"] == "not certified" != told["verdict"]
    before = part.predict(new)
    with pytest.raises(ValueError):
        part.update(X[:3], y[:2])
    np.testing.assert_array_equal(part.predict(new), before)
