"""GaussianProcessRegressor: against formulas written out, against refits, against scikit-learn."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor as Sklearn
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_assertions import LEFT_OUT, assert_passes, assert_passes_named
from mercer import GaussianProcessRegressor, KernelRidge
from mercer.exceptions import NotEnoughMemory
from mercer.kernels import Constant, Exponential, Gaussian, Linear, Matern32, Pairwise, PolynomialBasis, Precomputed
from mercer.selection import GCV, LOO, Evidence, LogNormal

FIXED = GaussianProcessRegressor(2.0 * Gaussian([1.0, 2.0]), 0.05, criterion=None)
TRENDS = [None, "constant", "linear", PolynomialBasis(2)]


# the checks' data are not chosen to be learnt from, and the estimator says so. Those of a model that learns nothing are
# in test_sklearn.py.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@parametrize_with_checks([GaussianProcessRegressor(), GaussianProcessRegressor(Gaussian(), starts=1)])
def test_common_checks_while_learning(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["check_sample_weight_equivalence_on_dense_data", *LEFT_OUT[:2]])
def test_learning_passes_the_checks_on_weights_and_frames(name):
    assert_passes_named(name, GaussianProcessRegressor(starts=1))


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (30, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(30)


@pytest.fixture
def new(rng):
    return rng.uniform(-2, 2, (7, 2))


def basis(trend, X):
    one = np.ones((len(X), 1))
    if trend is None:
        return np.zeros((len(X), 0))
    return one if trend == "constant" else np.hstack([one, X]) if trend == "linear" else trend.features(X)


def naive(kernel, noise, X, y, new, H, h):
    """Universal kriging written out: mean, covariance, log evidence (restricted)."""
    n, q = H.shape
    A = np.linalg.inv(kernel(X) + np.diag(np.broadcast_to(noise, n)))
    k = kernel(X, new)
    C = kernel(new) - k.T @ A @ k
    P, b, logs = A, np.zeros((0, 1)), 0.0
    if q:
        M = np.linalg.inv(H.T @ A @ H)
        b = M @ H.T @ A @ y[:, None]
        r = h - k.T @ A @ H
        C = C + r @ M @ r.T
        P = A - A @ H @ M @ H.T @ A
        logs = -np.linalg.slogdet(M)[1] - np.linalg.slogdet(H.T @ H)[1]
    mean = k.T @ A @ (y - (H @ b)[:, 0]) + (h @ b)[:, 0]
    evidence = -0.5 * (y @ P @ y - np.linalg.slogdet(A)[1] + logs + (n - q) * np.log(2 * np.pi))
    return mean, C, evidence


# ------------------------------------------------------------------------------------------- the posterior
@pytest.mark.parametrize("trend", TRENDS, ids=str)
@pytest.mark.parametrize("rows", ["one noise", "a noise each"])
def test_posterior_is_universal_kriging(trend, rows, data, new, rng):
    X, y = data
    noise = 0.05 if rows == "one noise" else rng.uniform(0.01, 0.3, len(y))
    kernel = 2.0 * Gaussian([1.0, 2.0])
    model = GaussianProcessRegressor(kernel, noise, criterion=None, trend=trend).fit(X, y)
    mean, C, evidence = naive(kernel, noise, X, y, new, basis(trend, X), basis(trend, new))
    found = model.posterior(new, cov=True)
    assert_allclose(found.mean, mean, rtol=1e-8)
    assert_allclose(found.latent_cov, C, rtol=1e-7, atol=1e-9)
    assert_allclose(found.latent_std, np.sqrt(np.diag(C)), rtol=1e-7)
    assert_allclose(found.noisy_cov, C + model.lam_ * np.eye(7), rtol=1e-7, atol=1e-9)
    assert_allclose(found.noisy_std**2, found.latent_std**2 + model.lam_, rtol=1e-10)
    assert_allclose(model.log_marginal_likelihood_value_, evidence, rtol=1e-9)
    assert_allclose(model.noise_, noise, rtol=1e-12)
    assert_allclose(model.predict(new), mean, rtol=1e-8)
    assert_allclose(model.predict(new, return_cov=True)[1], C, rtol=1e-7, atol=1e-9)
    assert_allclose(model.predict(new, return_std=True)[1], np.sqrt(np.diag(C)), rtol=1e-7)
    own = rng.uniform(0, 1, 7)
    assert_allclose(model.predict(new, return_std=True, noisy=own)[1] ** 2, np.diag(C) + own, rtol=1e-7)


def test_the_same_numbers_as_scikit_learn(data, new):
    X, y = data
    ours = GaussianProcessRegressor(2.0 * Gaussian([1.0, 2.0]), 0.05, criterion=None, trend=None).fit(X, y)
    theirs = Sklearn(ConstantKernel(2.0) * RBF([1.0, 2.0]), alpha=0.05, optimizer=None).fit(X, y)
    for a, b in zip(ours.predict(new, return_cov=True), theirs.predict(new, return_cov=True), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    theta = np.log([1.5, 0.7, 0.9, 0.05])
    value, gradient = ours.log_marginal_likelihood(theta, eval_gradient=True)
    expected, slope = theirs.log_marginal_likelihood(theta[:3], eval_gradient=True)
    assert_allclose(value, expected, rtol=1e-9)
    assert_allclose(gradient[:3], slope, rtol=1e-7)


def test_the_mean_is_that_of_kernel_ridge(data, new):
    model = clone(FIXED).fit(*data)
    ridge = KernelRidge(FIXED.kernel, 0.05).fit(*data)
    assert_allclose(model.predict(new), ridge.predict(new), rtol=1e-9)
    assert_allclose(model.dual_coef_, ridge.dual_coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-9)
    assert_allclose(model.predict_interval(new, method="conformal"), ridge.predict_interval(new), rtol=1e-7)
    assert_allclose(model.calibration().z, ridge.calibration().z, rtol=1e-8)


def test_blocks_of_rows_give_the_same(data, new, monkeypatch):
    model = clone(FIXED).fit(*data)
    whole, slopes = model.posterior(new), model.derivative(new)
    monkeypatch.setattr("mercer.inference.regression.ENTRIES", 60)
    assert_allclose(model.posterior(new).latent_std, whole.latent_std, rtol=1e-12)
    for blocked, at_once in zip(model.derivative(new), slopes, strict=True):
        assert_allclose(blocked, at_once, rtol=1e-12, atol=1e-14)


def test_the_mean_needs_no_variance(data, new, monkeypatch):
    model = clone(FIXED).fit(*data)
    expected, _ = model.predict(new, return_std=True)
    monkeypatch.setattr("mercer.inference.regression.RegressionPosterior.moments", None)
    assert_allclose(model.predict(new), expected, rtol=1e-13)
    with pytest.raises(TypeError):
        model.predict(new, return_std=True)


def test_several_targets_share_the_std(data, new):
    X, y = data
    Y = np.column_stack([y, 3 * y + 1])
    model = clone(FIXED).fit(X, Y)
    mean, std = model.predict(new, return_std=True)
    one, alone = clone(FIXED).fit(X, y).predict(new, return_std=True)
    assert std.shape == (7,)
    assert_allclose(std, alone, rtol=1e-10)
    assert_allclose(mean, np.column_stack([one, 3 * one + 1]), rtol=1e-8)
    assert model.sample(new, 4, random_state=0).shape == (7, 2, 4)
    assert model.predict_interval(new, 0.8).shape == (7, 2, 2)
    assert model.trend_coef_.shape == (1, 2)
    separate = sum(clone(FIXED).fit(X, column).log_marginal_likelihood_value_ for column in Y.T)
    assert_allclose(model.log_marginal_likelihood_value_, separate, rtol=1e-9)


def test_gaussian_intervals_hold_what_they_say(rng):
    X = np.linspace(0, 6, 400)[:, None]
    K = Gaussian(1.0)(X) + 1e-9 * np.eye(400)
    y = np.linalg.cholesky(K) @ rng.standard_normal(400) + 0.3 * rng.standard_normal(400)
    train = np.arange(400) % 4 == 0
    model = GaussianProcessRegressor(Gaussian(1.0), 0.09, criterion=None, trend=None).fit(X[train], y[train])
    low, high = model.predict_interval(X[~train], 0.8).T
    assert 0.72 < np.mean((low <= y[~train]) & (y[~train] <= high)) < 0.88
    narrow = model.predict_interval(X[~train], 0.8, noisy=False)
    assert (np.diff(narrow, axis=1)[:, 0] < high - low).all()
    for bad in ({"coverage": 1.0}, {"method": "conformal", "noisy": False}):
        with pytest.raises(ValueError, match="coverage|noisy"):
            model.predict_interval(X[:2], **bad)


# ------------------------------------------------------------------------------------------- samples
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(1.0)])
def test_prior_samples_have_the_covariance_of_the_kernel(kernel):
    X = np.linspace(0, 2, 6)[:, None]
    model = GaussianProcessRegressor(kernel, 0.5)
    draws = model.sample(X, 40000, random_state=0)
    assert_allclose(np.cov(draws), kernel(X), atol=0.03)
    assert_allclose(np.cov(model.sample(X, 40000, random_state=0, noisy=True)), kernel(X) + 0.5 * np.eye(6), atol=0.04)
    assert_allclose(model.prior_moments(X, cov=True).noisy_cov, kernel(X) + 0.5 * np.eye(6))
    assert not hasattr(model, "kernel_")


def test_posterior_samples_have_the_posterior_covariance(data, new):
    model = clone(FIXED).fit(*data)
    found = model.posterior(new, cov=True)
    draws = model.sample(new, 40000, random_state=1)
    size = np.sqrt(np.outer(found.latent_std, found.latent_std))
    assert_allclose((draws.mean(axis=1) - found.mean) / found.latent_std, 0.0, atol=0.03)
    assert_allclose((np.cov(draws) - found.latent_cov) / size, 0.0, atol=0.04)
    assert_array_equal(model.sample(new, 3, random_state=5), model.sample(new, 3, random_state=5))


def test_samples_of_a_singular_covariance():
    X = np.linspace(0, 1, 200)[:, None]  # K of a smooth kernel is far from full rank
    draws = GaussianProcessRegressor(Gaussian(1.0)).sample(X, 2, random_state=0)
    assert np.abs(np.diff(draws, axis=0)).max() < 0.1


# ------------------------------------------------------------------------------------------- learning
def test_evidence_is_at_a_maximum_and_no_worse_than_scikit_learn(rng):
    X = rng.uniform(-3, 3, (80, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(80)
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0), trend=None).fit(X, y)
    value, gradient = model.log_marginal_likelihood(eval_gradient=True)
    assert np.abs(gradient).max() < 0.5
    assert_allclose(value, -model.selection_.value, rtol=1e-8)
    from sklearn.gaussian_process.kernels import WhiteKernel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Sklearn(1.0 * RBF(1.0) + WhiteKernel(0.1)).fit(X, y)
    assert value > theirs.log_marginal_likelihood_value_ - 0.05
    assert 0.02 < model.noise_ < 0.08
    assert_allclose(sum(model.evidence_terms().values()), value, rtol=1e-12)


def test_gradient_of_the_evidence_against_differences(data):
    X, y = data
    model = GaussianProcessRegressor(trend="linear").fit(np.vstack([X, X[:5]]), np.append(1e5 * y, 1e5 * y[:5] + 3e3))
    theta = np.append(model.kernel_.theta, np.log(model.noise_)) + 0.1
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert_allclose(value, model.log_marginal_likelihood(theta), rtol=1e-9)
    for j, e in enumerate(1e-4 * np.eye(len(theta))):
        slope = (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e)) / 2e-4
        assert_allclose(gradient[j], slope, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="finite logs"):
        model.log_marginal_likelihood([0.0])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_any_unit_of_y(unit, data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = GaussianProcessRegressor(starts=1).fit(X, unit * (y + 7))
    plain = GaussianProcessRegressor(starts=1).fit(X, y + 7)
    assert_allclose(model.noise_ / unit**2, plain.noise_, rtol=1e-3)
    assert_allclose(model.kernel_.scale / unit**2, plain.kernel_.scale, rtol=1e-2)
    assert_allclose(model.kernel_.kernel.length_scale, plain.kernel_.kernel.length_scale, rtol=1e-2)
    assert_allclose(model.predict(X) / unit, plain.predict(X), rtol=1e-4)
    shift = 29 * np.log(unit)  # n − q rows
    assert_allclose(model.log_marginal_likelihood_value_ + shift, plain.log_marginal_likelihood_value_, atol=1e-2)
    assert_allclose(-model.selection_.value, model.log_marginal_likelihood_value_, rtol=1e-9)


def test_any_unit_of_x(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        plain = GaussianProcessRegressor(starts=1).fit(X, y)
        moved = GaussianProcessRegressor(starts=1).fit(X * [2.0**30, 2.0**-30] + [2.0**34, 0.0], y)
    assert_allclose(moved.predict(X * [2.0**30, 2.0**-30] + [2.0**34, 0.0]), plain.predict(X), rtol=1e-4)
    ratio = moved.kernel_.kernel.length_scale / plain.kernel_.kernel.length_scale
    assert_allclose(ratio, [2.0**30, 2.0**-30], rtol=1e-2)


def test_optimize_and_criterion_none_keep_what_they_should(data):
    X, y = data
    kernel = 1.0 * Gaussian([1.0, 1.0])
    model = GaussianProcessRegressor(kernel, 0.5, optimize="lam").fit(X, y)
    assert model.kernel_ == kernel
    assert model.noise_ != 0.5
    model = GaussianProcessRegressor(kernel, 0.5, optimize="kernel").fit(X, y)
    assert_allclose(model.noise_, 0.5, rtol=1e-12)
    assert model.kernel_ != kernel
    assert np.isnan(model.hyper_std_["noise"])
    with pytest.raises(ValueError, match="noise"):
        GaussianProcessRegressor(kernel, 0.0, optimize="kernel").fit(X, y)
    assert GaussianProcessRegressor(kernel, 0.3, criterion=None).fit(X, y).noise_ == 0.3


def test_noise_for_each_row_learns_a_common_factor(rng):
    X = np.linspace(0, 10, 120)[:, None]
    true = np.where(X[:, 0] < 5, 0.01, 0.5)
    y = np.sin(X[:, 0]) + np.sqrt(true) * rng.standard_normal(120)
    model = GaussianProcessRegressor(noise=7.0 * true, starts=1).fit(X, y)
    assert_allclose(model.noise_ / true, model.noise_[0] / true[0], rtol=1e-10)
    assert 0.5 < model.noise_[0] / true[0] < 2.0
    assert_allclose(model.lam_, np.exp(np.log(model.noise_).mean()), rtol=1e-9)
    assert_allclose(-model.selection_.value, model.log_marginal_likelihood_value_, rtol=1e-8)
    theta = np.append(model.kernel_.theta, np.log(model.lam_)) + 0.1
    assert_allclose(model.log_marginal_likelihood(theta, True)[0], model.log_marginal_likelihood(theta), rtol=1e-9)
    still = GaussianProcessRegressor(noise=true, optimize="kernel", starts=1).fit(X, y)
    assert_allclose(still.noise_, true, rtol=1e-10)


@pytest.mark.parametrize("criterion", ["loo", LOO(), GCV(), Evidence(profile_scale=True)], ids=str)
def test_other_criteria(criterion, data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessRegressor(criterion=criterion, starts=1).fit(X, y)
    assert model.score(X, y) > 0.8
    assert set(model.hyper_std_) == {*model.kernel_.names, "noise"}


def test_priors_pull(data):
    X, y = data
    options = {"starts": 1, "kernel": 1.0 * Gaussian([1.0, 1.0])}
    free = GaussianProcessRegressor(prior=None, **options).fit(X, y)
    held = GaussianProcessRegressor(prior={"length_scale*": LogNormal(0.1, 0.01)}, **options).fit(X, 1e4 * y)
    assert_allclose(held.kernel_.kernel.length_scale, 0.1, rtol=0.1)
    assert free.kernel_.kernel.length_scale.min() > 0.3
    noise = GaussianProcessRegressor(prior={"lam": LogNormal(0.5e8, 0.01)}, **options).fit(X, 1e4 * y)
    assert_allclose(noise.noise_, 0.5e8, rtol=0.1)
    with pytest.raises(ValueError, match="prior"):
        GaussianProcessRegressor(prior={"lengthscale": LogNormal(1.0)}, **options).fit(X, y)
    weak = GaussianProcessRegressor(**options).fit(X, y)
    assert weak.log_marginal_likelihood_value_ <= free.log_marginal_likelihood_value_ + 0.02


def test_standard_errors_are_those_of_the_hessian(rng):
    X = rng.uniform(0, 20, (150, 1))
    y = np.linalg.cholesky(Gaussian(1.0)(X) + 0.04 * np.eye(150)) @ rng.standard_normal(150)
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0), trend=None, starts=1).fit(X, y)
    theta = np.append(model.kernel_.theta, np.log(model.noise_))
    H, h = np.empty((3, 3)), 1e-2
    for i in range(3):
        for j in range(3):
            a, b = h * np.eye(3)[i], h * np.eye(3)[j]
            f = model.log_marginal_likelihood
            H[i, j] = -(f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b)) / (4 * h * h)
    assert_allclose(list(model.hyper_std_.values()), np.sqrt(np.diag(np.linalg.inv(H))), rtol=0.02)
    truth = np.log([1.0, 1.0, 0.04])
    z = (theta - truth) / list(model.hyper_std_.values())
    assert np.abs(z).max() < 4.5


def test_sampled_hyper_parameters(rng):
    X = rng.uniform(0, 10, (25, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessRegressor(1.0 * Gaussian(1.0), n_hyper_samples=60, starts=1).fit(X, y)
    report = model.fit_report_["hyper_samples"]
    assert model.hyper_samples_.shape == (60, 3)
    assert set(report["ess"]) == set(model.hyper_names_) == {"scale", "kernel__length_scale", "noise"}
    assert max(report["rhat"].values()) < 1.4
    one = GaussianProcessRegressor(1.0 * Gaussian(1.0), starts=1).fit(X, y)
    spread = np.array(list(one.hyper_std_.values()))
    ratio = model.hyper_samples_.std(axis=0) / spread
    assert 0.4 < ratio.min()
    assert ratio.max() < 2.5
    parts = []  # the mixture, by hand
    for z in model.hyper_samples_:
        fixed = GaussianProcessRegressor(one.kernel_.with_theta(z[:-1]), float(np.exp(z[-1])), criterion=None).fit(X, y)
        parts.append(fixed.predict(X[:5], return_std=True))
    means, stds = np.array([m for m, _ in parts]), np.array([s for _, s in parts])
    mean, std = model.predict(X[:5], return_std=True)
    assert_allclose(mean, means.mean(axis=0), rtol=1e-7)
    assert_allclose(std**2, (stds**2).mean(axis=0) + means.var(axis=0), rtol=1e-6)
    assert_allclose(model.predict(X[:5], return_cov=True)[1].diagonal(), std**2, rtol=1e-6)
    assert_allclose(sum(part.mean for part in model.decompose(X[:5])), mean, rtol=1e-9)
    h = 1e-4
    ends = [model.predict(X[:5] + sign * h, return_std=True) for sign in (1, -1)]
    slopes = [(a - b) / (2 * h) for a, b in zip(*ends, strict=True)]
    for found, slope in zip(model.derivative(X[:5]), slopes, strict=True):
        assert_allclose(found[:, 0], slope, rtol=1e-4, atol=1e-6)
    assert model.sample(X[:5], 7, random_state=0).shape == (5, 7)
    with pytest.raises(ValueError, match="likelihood"):
        GaussianProcessRegressor(criterion=LOO(), n_hyper_samples=8).fit(X, y)


def test_too_few_rows_to_learn_from():
    with pytest.raises(ValueError, match="n_samples"):
        GaussianProcessRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None).fit([[0.0]], [2.0])
    assert model.predict([[0.0]]) == pytest.approx(2.0)
    assert np.isnan(model.loo_residuals_).all()


def test_constant_targets_are_told():
    X = np.arange(10.0)[:, None]
    with pytest.warns(ConvergenceWarning, match="constant"):
        model = GaussianProcessRegressor().fit(X, np.full(10, 3.0))
    assert_allclose(model.predict(X), 3.0)
    assert np.isnan(list(model.hyper_std_.values())).all()


# ------------------------------------------------------------------------------------------- parts and slopes
@pytest.mark.parametrize("trend", TRENDS, ids=str)
def test_parts_sum_to_the_mean_and_are_posteriors(trend, data, new):
    X, y = data
    kernel = 0.5 * (Gaussian(0.5) + 2.0 * Linear()) + Constant(0.3)
    model = GaussianProcessRegressor(kernel, 0.1, criterion=None, trend=trend).fit(X, 100 * y)
    parts = model.decompose(new)
    assert_allclose(sum(part.mean for part in parts), model.predict(new), rtol=1e-9)
    assert len(parts) == 3 + (trend is not None)
    assert (parts[-1].name == "trend") == (trend is not None)
    A = np.linalg.inv(kernel(X) + 0.1 * np.eye(len(y)))
    H = basis(trend, X)
    P = A - A @ H @ np.linalg.solve(H.T @ A @ H, H.T @ A) if H.shape[1] else A
    k = 0.5 * Gaussian(0.5)(X, new)
    assert_allclose(parts[0].std ** 2, 0.5 - np.einsum("ij,ik,kj->j", k, P, k), rtol=1e-7)
    if trend is not None:
        h = basis(trend, new)
        assert_allclose(parts[-1].std ** 2, np.diag(h @ np.linalg.solve(H.T @ A @ H, h.T)), rtol=1e-6)


@pytest.mark.parametrize("trend", TRENDS, ids=str)
@pytest.mark.parametrize("kernel", [2.0 * Gaussian([1.0, 2.0]), Matern32(1.0) * (Linear() + 1.0)], ids=repr)
def test_slopes_against_differences(kernel, trend, data, new):
    X, y = data
    w = np.linspace(0.5, 2.0, len(y))
    model = GaussianProcessRegressor(kernel, 0.1, criterion=None, trend=trend).fit(X, y, sample_weight=w)
    d_mean, d_std = model.derivative(new)
    for j, e in enumerate(1e-5 * np.eye(2)):
        up, down = model.posterior(new + e), model.posterior(new - e)
        assert_allclose(d_mean[:, j], (up.mean - down.mean) / 2e-5, rtol=1e-5, atol=1e-7)
        assert_allclose(d_std[:, j], (up.latent_std - down.latent_std) / 2e-5, rtol=1e-4, atol=1e-6)


# ------------------------------------------------------------------------------------------- rows
@pytest.mark.parametrize("trend", [None, "constant", "linear"])
@pytest.mark.parametrize("noise", ["one", "each"])
def test_update_and_forget_are_refits(trend, noise, data, new, rng):
    X, y = data
    X = np.vstack([X, X[:4], X[10:11]])
    y = np.append(y, y[:5] + 0.1)
    w = rng.uniform(0.5, 2.0, len(y))
    w[7] = 0.0
    each = rng.uniform(0.05, 0.2, len(y)) if noise == "each" else None

    def fit(rows, lam=None):
        given = 0.1 if each is None else each[rows]
        model = GaussianProcessRegressor(2.0 * Matern32(1.0), given, criterion=None, trend=trend)
        return model.fit(X[rows], y[rows], sample_weight=w[rows])

    def close(a, b):
        assert_allclose(a.predict(new), b.predict(new), rtol=1e-9)
        assert_allclose(a.posterior(new).latent_std, b.posterior(new).latent_std, rtol=1e-9)
        assert_allclose(a.log_marginal_likelihood_value_, b.log_marginal_likelihood_value_, rtol=1e-9)
        assert_allclose(a.loo_residuals_, b.loo_residuals_, rtol=1e-8)
        assert_allclose(a.noise_, b.noise_, rtol=1e-12)
        assert len(a.points_) == len(b.points_)

    whole = fit(np.arange(35))
    grown = fit(np.arange(32))
    for i in (32, 33, 34):
        grown.update(X[i : i + 1], y[i : i + 1], sample_weight=w[i : i + 1], noise=None if each is None else each[i])
    assert not grown.fit_report_["factored_afresh"]
    close(grown, whole)
    left = fit(np.arange(35)).forget([3, 7, 33])
    assert not left.fit_report_["factored_afresh"]
    close(left, fit(np.delete(np.arange(35), [3, 7, 33])))
    many = fit(np.arange(5)).update(X[5:], y[5:], sample_weight=w[5:], noise=None if each is None else each[5:])
    assert many.fit_report_["factored_afresh"]
    close(many, whole)
    mask = np.zeros(35, dtype=bool)
    mask[:20] = True
    close(fit(np.arange(35)).forget(mask), fit(np.arange(20, 35)))


def test_update_of_sampled_hyper_parameters_and_of_objects(data, new):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessRegressor(1.0 * Gaussian(1.0), n_hyper_samples=16, starts=1).fit(X[:25], y[:25])
    expected = []
    for z in model.hyper_samples_:
        one = GaussianProcessRegressor(model.kernel_.with_theta(z[:-1]), float(np.exp(z[-1])), criterion=None)
        expected.append(one.fit(X[:27], y[:27]).predict(new))
    assert_allclose(model.update(X[25:27], y[25:27]).predict(new), np.mean(expected, axis=0), rtol=1e-8)
    words = ["a", "ab", "abc", "b", "bb"]
    kernel = Pairwise(_overlap)
    first = GaussianProcessRegressor(kernel, 0.1, criterion=None).fit(words[:3], [1.0, 2.0, 3.0])
    whole = GaussianProcessRegressor(kernel, 0.1, criterion=None).fit(words, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert_allclose(first.update(words[3:], [4.0, 5.0]).predict(words), whole.predict(words), rtol=1e-9)


def _overlap(a, b):
    return float(len(set(a) & set(b)))


def test_a_failed_update_leaves_everything(data):
    X, y = data
    model = clone(FIXED).fit(X, y)
    before = pickle.dumps(model)
    for call in (
        lambda: model.update(X[:2], y[:3]),
        lambda: model.update(X[:2, :1], y[:2]),
        lambda: model.update(X[:2], [np.nan, 1.0]),
        lambda: model.update(X[:2], y[:2], noise=0.1),
        lambda: model.forget(30),
        lambda: model.forget([0.5]),
        lambda: model.forget(np.arange(30)),
        lambda: model.forget([True, False]),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()
        assert pickle.dumps(model) == before


def test_leave_one_out_is_a_refit(data, rng):
    X, y = data
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2] + 0.2)
    w = rng.uniform(0.5, 2.0, len(y))
    model = GaussianProcessRegressor(2.0 * Matern32(1.0), 0.1, criterion=None, trend="linear").fit(
        X, y, sample_weight=w
    )
    for i in (0, 5, 31):
        rest = np.delete(np.arange(len(y)), i)
        other = clone(model).fit(X[rest], y[rest], sample_weight=w[rest])
        mean, std = other.predict(X[i : i + 1], return_std=True, noisy=0.1 / w[i])
        assert_allclose(model.loo_residuals_[i], y[i] - mean[0], rtol=1e-8)
        assert_allclose(model.loo_std_[i], std[0], rtol=1e-8)
    found = model.calibration([0.5])
    assert_allclose(found.z, model.loo_residuals_ / model.loo_std_, rtol=1e-10)


@pytest.mark.parametrize("trend", TRENDS, ids=str)
def test_every_interval_is_there_for_every_trend(trend, data, new):
    X, y = data
    model = GaussianProcessRegressor(2.0 * Matern32(1.0), 0.1, criterion=None, trend=trend).fit(X, y)
    for method in ("conformal", "jackknife+", "cv+"):
        found = model.predict_interval(new, 0.8, method=method)
        assert found.shape == (7, 2) and (found[:, 0] < found[:, 1]).all()
    ends = []  # jackknife+ by refits
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        other = clone(model).fit(X[rest], y[rest])
        ends.append((other.predict(new), np.abs(y[i] - other.predict(X[i : i + 1])[0])))
    means, residuals = np.array([m for m, _ in ends]), np.array([r for _, r in ends])[:, None]
    rank = int(0.2 * 31)
    low = np.sort(means - residuals, axis=0)[rank - 1]
    high = np.sort(means + residuals, axis=0)[-rank]
    assert_allclose(model.predict_interval(new, 0.8, method="jackknife+"), np.stack([low, high], axis=1), rtol=1e-8)
    assert_allclose(model.influence().loo_residuals, model.loo_residuals_, rtol=1e-9)
    assert_allclose(model.dof_, model.influence().dof, rtol=1e-9)


def test_merged_rows_and_weights_are_the_same_model(data, new):
    X, y = data
    X, y = np.vstack([X, X[:6], X[:3]]), np.append(y, y[:9] + 0.1)
    apart = GaussianProcessRegressor(2.0 * Matern32(1.0), 0.1, criterion=None, merge=False).fit(X, y)
    merged = GaussianProcessRegressor(2.0 * Matern32(1.0), 0.1, criterion=None).fit(X, y)
    assert merged.fit_report_["merged_rows"] == 9
    for name in ("loo_residuals_", "loo_std_", "log_marginal_likelihood_value_"):
        assert_allclose(getattr(merged, name), getattr(apart, name), rtol=1e-8)
    assert_allclose(merged.posterior(new).latent_std, apart.posterior(new).latent_std, rtol=1e-9)
    theta = np.zeros(3)
    for a, b in zip(
        merged.log_marginal_likelihood(theta, True), apart.log_marginal_likelihood(theta, True), strict=True
    ):
        assert_allclose(a, b, rtol=1e-8)
    weighted = clone(merged).fit(X[:30], y[:30], sample_weight=np.repeat([2.0, 1.0], 15))
    repeated = clone(merged).fit(np.vstack([X[:30], X[:15]]), np.append(y[:30], y[:15]))
    assert_allclose(weighted.log_marginal_likelihood_value_, repeated.log_marginal_likelihood_value_, rtol=1e-10)


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
def test_merged_precisions_are_the_same_model(trend, data, rng):
    X, y = data
    X, y = np.vstack([X, X[:6], X[:3]]), np.append(y, y[:9] + 0.1)
    noise, w = rng.uniform(0.05, 0.3, len(y)), rng.uniform(0.5, 2.0, len(y))
    merged, apart = (
        GaussianProcessRegressor(2.0 * Matern32(1.0), noise, criterion=None, trend=trend, merge=merge).fit(X, y, w)
        for merge in (True, False)
    )
    theta = np.append(merged.kernel_.theta, np.log(merged.lam_)) + 0.2
    assert_allclose(merged.log_marginal_likelihood_value_, apart.log_marginal_likelihood_value_, rtol=1e-10)
    for name in ("loo_residuals_", "loo_std_", "noise_", "leverage_"):
        assert_allclose(getattr(merged, name), getattr(apart, name), rtol=1e-8)
    found = [model.log_marginal_likelihood(theta, eval_gradient=True) for model in (merged, apart)]
    assert_allclose(found[0][0], found[1][0], rtol=1e-10)
    assert_allclose(found[0][1], found[1][1], rtol=1e-8)
    assert_allclose(found[0][0], merged.log_marginal_likelihood(theta), rtol=1e-10)
    for j, e in enumerate(1e-4 * np.eye(3)):
        ends = [merged.log_marginal_likelihood(theta + sign * e) for sign in (1, -1)]
        assert_allclose(found[0][1][j], (ends[0] - ends[1]) / 2e-4, rtol=1e-5, atol=1e-6)
    # sigma_i^2/w_i is all that counts
    other = GaussianProcessRegressor(2.0 * Matern32(1.0), noise / w, criterion=None, trend=trend).fit(X, y)
    assert_allclose(merged.log_marginal_likelihood_value_, other.log_marginal_likelihood_value_, rtol=1e-10)


def test_a_flat_prior_on_the_trend_is_the_limit_of_a_wide_one(data, new):
    X, y = data
    kernel, wide = 2.0 * Gaussian([1.0, 2.0]), 1e6
    H = np.hstack([np.ones((30, 1)), X])
    plane = GaussianProcessRegressor(kernel, 0.1, criterion=None, trend="linear").fit(X, y).posterior(new, cov=True)
    prior = kernel + wide * (Constant(1.0) + Linear())
    limit = GaussianProcessRegressor(prior, 0.1, criterion=None, trend=None).fit(X, y)
    found = limit.posterior(new, cov=True)
    assert_allclose(found.mean, plane.mean, rtol=1e-4, atol=1e-4)
    assert_allclose(found.latent_cov, plane.latent_cov, rtol=1e-3, atol=1e-3)
    # log p(y) of the wide prior is the restricted likelihood beside a constant: −½ log det(wide HᵀH) − (q/2) log 2π
    restricted = GaussianProcessRegressor(kernel, 0.1, criterion=None, trend="linear").fit(X, y)
    constant = 0.5 * (np.linalg.slogdet(wide * H.T @ H)[1] + 3 * np.log(2 * np.pi))
    assert_allclose(
        limit.log_marginal_likelihood_value_ + constant, restricted.log_marginal_likelihood_value_, rtol=1e-4
    )


# ------------------------------------------------------------------------------------------- as an estimator
def test_the_state_is_the_model(data, new, rng):
    X, y = data
    X, y = np.vstack([X, X[:4]]), np.append(y, y[:4] + 0.1)
    for options in ({"trend": "linear"}, {"trend": None}, {"noise": rng.uniform(0.05, 0.2, 34)}):
        model = GaussianProcessRegressor(**{"kernel": 2.0 * Matern32(1.0), "noise": 0.1, "criterion": None, **options})
        model.fit(X, y, sample_weight=np.append(0.0, np.ones(33)))
        state = model.state()
        state["fitted"] = type(state["fitted"]).from_state(state["fitted"].state())
        again = GaussianProcessRegressor.from_state(state)
        for a, b in zip(again.predict(new, return_cov=True), model.predict(new, return_cov=True), strict=True):
            assert_array_equal(a, b)
        assert_array_equal(again.posterior(new).latent_std, model.posterior(new).latent_std)
        assert_array_equal(again.derivative(new)[1], model.derivative(new)[1])
        assert_array_equal(again.loo_residuals_, model.loo_residuals_)
        grown, expected = (one.update(new[:2], y[:2]).predict(new) for one in (again, model))
        assert_array_equal(grown, expected)


def test_inside_scikit_learn(data):
    X, y = data
    grid = GridSearchCV(
        GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None), {"kernel__length_scale": [0.1, 1.0]}
    )
    assert grid.fit(X, y).best_params_["kernel__length_scale"] == 1.0
    model = clone(FIXED).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.predict(X), model.predict(X))
        assert_array_equal(other.posterior(X).latent_std, model.posterior(X).latent_std)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(FIXED)).fit(X, y)
        assert len(pipeline.predict(X, return_std=True)) == 2
    with pytest.raises(NotFittedError):
        GaussianProcessRegressor().predict(X)
    with pytest.raises(NotFittedError):
        GaussianProcessRegressor().hyper_std_  # noqa: B018
    with pytest.raises(ValueError, match="return_std"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="noisy"):
        model.predict(X, return_std=True, noisy=[-1.0] * 30)


def test_progress_is_reported(data):
    pytest.importorskip("sklearn.callback")  # from scikit-learn 1.9 on

    class Count:
        def __init__(self):
            self.calls = 0

        def setup(self, *args, **kwargs):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, **kwargs):
            self.calls += 1
            return False

        def teardown(self, *args, **kwargs):
            pass

    count = Count()
    model = GaussianProcessRegressor(starts=1).set_callbacks(count).fit(*data)
    assert count.calls >= model.selection_.evaluations


def test_precomputed_gives_means(data, new):
    X, y = data
    k = 2.0 * Gaussian([1.0, 2.0])
    model = GaussianProcessRegressor(Precomputed(), 0.05, criterion=None).fit(k(X), y)
    direct = clone(FIXED).fit(X, y)
    assert_allclose(model.predict(k(new, X)), direct.predict(new), rtol=1e-9)
    with pytest.raises(ValueError, match="variance"):
        model.posterior(k(new, X))
    with pytest.raises(ValueError, match="Precomputed"):
        model.log_marginal_likelihood([0.0])


def test_bad_trends_and_memory(data):
    X, y = data
    still = np.column_stack([X, np.ones(30)])
    for trend, rows, match in (("linear", still, "column 2"), (PolynomialBasis(9), X, "rank|columns")):
        with pytest.raises(ValueError, match=match):
            GaussianProcessRegressor(Gaussian(), 0.1, criterion=None, trend=trend).fit(rows, y)
    with pytest.raises(NotEnoughMemory):
        GaussianProcessRegressor(Gaussian(), 0.1, criterion=None, memory=1000.0).fit(X, y)
    with pytest.raises(NotEnoughMemory):  # before the first trial
        GaussianProcessRegressor(Gaussian(), memory=9000.0).fit(X, y)
    with pytest.raises(NotEnoughMemory, match="factors"):  # one fit would do, not sixteen factors
        GaussianProcessRegressor(Gaussian(), n_hyper_samples=16, memory=1e5).fit(X, y)


def test_inputs_are_left_alone(data, readonly):
    X, y = readonly(*data)
    w = readonly(np.linspace(0.5, 2.0, 30))
    model = clone(FIXED).fit(X, y, sample_weight=w).update(X[:2] + 0.1, y[:2]).forget([0])
    assert_array_equal(X, data[0])  # a writeable view inside would have raised already
    assert_array_equal(y, data[1])
    rows, weight = np.vstack([X[1:], X[:2] + 0.1]), np.append(w[1:], [1.0, 1.0])
    direct = clone(FIXED).fit(rows, np.append(y[1:], y[:2]), sample_weight=weight)
    ours, theirs = model.posterior(X, cov=True), direct.posterior(X, cov=True)
    assert_allclose(ours.mean, theirs.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.latent_cov, theirs.latent_cov, rtol=1e-7, atol=1e-10)
