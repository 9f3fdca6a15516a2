"""What a Gaussian process learns, and what it must not believe: amplitudes, weights, constants, earlier fits."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.exceptions import NumericalWarning
from mercer.kernels import Gaussian, PolynomialBasis
from mercer.selection import GCV, LOO, Evidence, KFold, LogNormal

pytestmark = pytest.mark.filterwarnings(  # few rows now and then leave a length scale or the noise at a bound
    "ignore:.*ended at its:sklearn.exceptions.ConvergenceWarning",
    "ignore:.*has condition:mercer.exceptions.NumericalWarning",
)


@pytest.fixture
def data(rng):
    X = np.sort(rng.uniform(0, 6, (30, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.2 * rng.standard_normal(30)


def kernel():
    return 1.0 * Gaussian(1.0)


# ---------------------------------------------------------------------- criteria that see no amplitude
@pytest.mark.parametrize("criterion", [LOO(), GCV(), KFold(5), Evidence(profile_scale=True)], ids=repr)
def test_the_amplitude_is_learnt_where_the_criterion_does_not_see_it(data, criterion):
    X, y = data
    model = GaussianProcessRegressor(kernel(), criterion=criterion).fit(X, 1e3 * y + 7)
    assert 0.2 < model.calibration().mean_square < 5
    assert model.selection_.kernel == model.kernel_ and model.selection_.lam == model.lam_


def test_the_profiled_amplitude_is_that_of_the_highest_evidence(data):
    model = GaussianProcessRegressor(kernel(), criterion=LOO(), trend=None).fit(*data)
    z = np.append(model.kernel_.theta, np.log(model.lam_))
    scaled = np.array([1.0, 0.0, 1.0])  # amplitude and noise together
    best = model.log_marginal_likelihood(z)
    assert all(model.log_marginal_likelihood(z + step * scaled) < best for step in (-0.01, 0.01))


def test_a_kernel_without_amplitude_is_told_of(data):
    X, y = data
    with pytest.warns(UserWarning, match="has no amplitude to learn.*off by a factor of"):
        GaussianProcessRegressor(Gaussian(1.0), criterion=GCV()).fit(X, 1e3 * y)


def test_the_profiled_evidence_is_stated_in_the_units_of_y(data):
    X, y = data
    values = [
        GaussianProcessRegressor(kernel(), criterion=Evidence(profile_scale=True)).fit(X, c * y).selection_.value
        for c in (1.0, 1000.0)
    ]
    assert_allclose(values[1] - values[0], 29 * np.log(1000.0), rtol=1e-6)  # n − q rows


# ---------------------------------------------------------------------- noise for each row
@pytest.fixture
def uneven(rng):
    x, variance = np.sort(rng.uniform(0, 6, 60)), np.where(np.arange(60) % 2, 4e-4, 0.25)
    return x[:, None], np.sin(x) + np.sqrt(variance) * rng.standard_normal(60), variance


def test_evidence_as_an_object_knows_precisions(uneven):
    X, y, variance = uneven
    by_name = GaussianProcessRegressor(kernel(), variance).fit(X, y)
    by_object = GaussianProcessRegressor(kernel(), variance, criterion=Evidence()).fit(X, y)
    assert by_object.kernel_ == by_name.kernel_ and by_object.lam_ == by_name.lam_
    assert_allclose(-by_object.selection_.value, by_object.log_marginal_likelihood_value_, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["loo", LOO("log_density")], ids=str)
def test_left_out_rows_count_once_whatever_their_noise(uneven, criterion):
    X, y, variance = uneven
    model = GaussianProcessRegressor(kernel(), variance, criterion=criterion).fit(X, y)
    e, s = model.loo_residuals_, model.loo_std_
    assert_allclose(
        model.selection_.value, np.mean(0.5 * (e / s) ** 2 + np.log(s) + 0.5 * np.log(2 * np.pi)), rtol=1e-6
    )


# ---------------------------------------------------------------------- constants
def test_copies_that_differ_are_not_a_constant():
    X, y = np.repeat(np.arange(6.0), 2)[:, None], np.tile([0.0, 0.02], 6)
    merged, rows = (GaussianProcessRegressor(kernel(), merge=merge) for merge in (True, False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of a length scale that nothing holds
        merged.fit(X, y)
        rows.fit(X, y)
    assert_allclose(merged.noise_, 1e-4, rtol=0.5)
    assert_allclose(merged.log_marginal_likelihood_value_, rows.log_marginal_likelihood_value_, atol=0.05)


@pytest.mark.parametrize("level", [5.0, 5e6, -1e-9, 0.0])
def test_a_constant_has_small_deviations(data, level):
    with pytest.warns(ConvergenceWarning, match="y is constant"):
        model = GaussianProcessRegressor().fit(data[0], np.full(30, level))
    found = model.posterior([[3.0], [100.0]])
    size = abs(level) or 1.0
    assert_allclose(found.mean, level, atol=1e-9 * size)
    assert (found.noisy_std > 0).all() and (found.noisy_std < 1e-5 * size).all()


def test_a_noise_that_was_given_stays_with_a_constant(data):
    with pytest.warns(ConvergenceWarning, match="y is constant"):
        model = GaussianProcessRegressor(kernel(), 0.3, optimize="lam").fit(data[0], np.full(30, 5.0))
    assert model.noise_ == 0.3 and model.kernel_ == kernel()


# ---------------------------------------------------------------------- no noise at all
def test_conflicting_rows_need_noise():
    fixed = GaussianProcessRegressor(kernel(), 0.0, criterion=None)
    with pytest.raises(ValueError, match="noise"):
        fixed.fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 2.0])
    fixed.fit([[0.0], [1.0]], [0.0, 2.0])
    before = fixed.predict([[0.5]])
    with pytest.raises(ValueError, match="noise = 0"):
        fixed.update([[0.0]], [5.0])
    assert_array_equal(fixed.predict([[0.5]]), before)


def test_copies_that_agree_say_nothing_without_noise():
    three = GaussianProcessRegressor(kernel(), 0.0, criterion=None).fit([[0.0]] * 3 + [[1.0]], [0.1] * 3 + [2.0])
    assert_array_equal(three.row_target_[:3], 0.1)  # the mean of three 0.1 is 0.1, and no conflict
    once = GaussianProcessRegressor(kernel(), 0.0, criterion=None).fit([[0.0], [1.0]], [0.0, 2.0])
    twice = GaussianProcessRegressor(kernel(), 0.0, criterion=None).fit([[0.0], [0.0], [1.0]], [0.0, 0.0, 2.0])
    assert np.isfinite(once.log_marginal_likelihood_value_)
    assert_allclose(twice.log_marginal_likelihood_value_, once.log_marginal_likelihood_value_)
    assert np.isfinite(once.log_marginal_likelihood(eval_gradient=True)[1]).all()


# ---------------------------------------------------------------------- draws of hyper-parameters
def test_draws_keep_what_is_fixed(data):
    X, y = data
    given = GaussianProcessRegressor(kernel(), 1e-12, optimize="kernel", n_hyper_samples=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few draws
        given.fit(X[::6], np.sin(X[::6, 0]))
        short = 1.0 * Gaussian(1e-3, length_scale_bounds=(0.1, 10))
        outside = GaussianProcessRegressor(short, 0.1, optimize="lam", n_hyper_samples=16).fit(X[::3], y[::3])
    assert_allclose(np.exp(given.hyper_samples_[:, -1]), 1e-12)
    assert_allclose(np.exp(outside.hyper_samples_[:, 1]), 1e-3)


def test_nothing_free_is_nothing_to_sample(data):
    fixed = Gaussian(1.0, length_scale_bounds="fixed")
    with pytest.raises(ValueError, match="sampled"):
        GaussianProcessRegressor(fixed, 0.1, optimize="kernel", n_hyper_samples=16).fit(*data)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
def test_standard_errors_beside_a_singular_matrix_are_nan():
    x = np.linspace(0, 1, 40)
    model = GaussianProcessRegressor(kernel(), 1e-15, optimize="kernel").fit(x[:, None], x**2)
    assert set(model.hyper_std_) == {"scale", "kernel__length_scale", "noise"}
    assert np.isnan(model.hyper_std_["noise"])  # given


# ---------------------------------------------------------------------- earlier fits, the caller's array
def test_what_an_earlier_fit_learnt_does_not_stay(data):
    X, y = data
    model = GaussianProcessRegressor(kernel(), 0.1).fit(X, y)
    model.set_params(criterion=None).fit(X[:10], y[:10])
    assert model.selection_ is None
    ridge = KernelRidge(kernel(), 0.1, criterion=LOO()).fit(X, y)
    ridge.set_params(criterion=None).fit(X[:10], y[:10])
    assert ridge.selection_ is None and len(ridge.loo_residuals_) == 10


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_model_keeps_points_of_its_own(data, order):
    X, y = np.array(data[0], order=order), data[1]
    for model in (GaussianProcessRegressor(kernel(), 0.1, criterion=None), KernelRidge(kernel(), 0.1)):
        before = model.fit(X, y).predict([[1.0], [2.0]])
        kept, X[:] = X.copy(), 0.0
        assert_array_equal(model.predict([[1.0], [2.0]]), before)
        X[:] = kept


def test_the_report_follows_an_update():
    model = GaussianProcessRegressor(Gaussian(1.0), 0.0, criterion=None, trend=None)
    model.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    old = model.fit_report_["condition"]
    with pytest.warns(NumericalWarning, match="was added to its diagonal"):
        model.update([[1 + 1e-9]], [1.0])
    assert model.fit_report_.get("condition", np.inf) > 1e6 * old
    assert model.fit_report_["jitter"] > 0


# ---------------------------------------------------------------------- trends in any unit, priors, messages
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e5])
def test_a_basis_trend_does_not_depend_on_the_unit_of_x(data, unit):
    X, y = data
    plain, other = (
        GaussianProcessRegressor(1.0 * Gaussian(u), 0.1, criterion=None, trend=PolynomialBasis(3)).fit(u * X, y)
        for u in (1.0, unit)
    )
    assert_allclose(other.predict(unit * X), plain.predict(X), rtol=1e-6, atol=1e-8)
    assert_allclose(other.loo_residuals_, plain.loo_residuals_, rtol=1e-5, atol=1e-7)
    assert_allclose(other.trend_coef_[:, 0] * unit ** np.arange(4), plain.trend_coef_[:, 0], rtol=1e-5)
    other.update(unit * X[:1] * 1.01, y[:1])
    assert len(other.point_index_) == 31


def test_a_pattern_that_is_never_reached_is_refused(data):
    p = LogNormal(1.0)
    for prior, name in [({"length_scale": p, "lenght*": p}, "lenght"), ({"*": p, "lam": LogNormal(2.0)}, "lam")]:
        with pytest.raises(ValueError, match=f"prior: '{name}.*that the patterns before it leave"):
            GaussianProcessRegressor(kernel(), prior=prior).fit(*data)


def test_a_search_stopped_while_it_screens_claims_nothing(rng):
    X = rng.standard_normal((300, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessRegressor(1.0 * Gaussian(np.ones(3)), time_budget=1e-9).fit(X, X[:, 0])
    assert model.selection_.status == "time_budget" and model.selection_.flat == []


def test_the_prior_reads_frames_and_checks_noise(data):
    import pandas as pd

    frame = pd.DataFrame({"t": data[0][:5, 0]})
    model = GaussianProcessRegressor(kernel(), 0.1)
    assert model.prior_moments(frame).latent_std.shape == (5,)  # a warning about names would be an error here
    assert model.sample(frame, 2, random_state=0, noisy=np.True_).shape == (5, 2)
    assert not hasattr(model, "n_features_in_")
    for noisy in ([-1.0] * 5, [1.0, 2.0]):
        with pytest.raises(ValueError, match="noisy"):
            model.sample(frame, noisy=noisy)
    with pytest.raises(ValueError, match="noise"):
        GaussianProcessRegressor(kernel(), -1.0).prior_moments(frame)


def test_one_row_may_come_as_a_number(data):
    model = GaussianProcessRegressor(kernel(), 0.1, criterion=None).fit(*data)
    assert len(model.update([[1.0]], 5.0).point_index_) == 31
