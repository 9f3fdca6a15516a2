"""SVR: libsvm's answer, weights, units, limits, targets, ν, and paths."""

import json
import pickle
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVR as LibSVR
from sklearn.svm import NuSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_assertions import assert_passes
from mercer import SVR, svr_path
from mercer.dual import WorkingSetOptions
from mercer.estimators.svm_fit import EpsilonDual
from mercer.kernels import Gaussian, Linear, Pairwise, Precomputed


def data(rng, n=120, d=3, noise=0.3):
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.standard_normal(n)


@parametrize_with_checks([SVR(C=1.0), SVR(C=1.0, trend=None), SVR(C=1.0, nu=0.5)])
def test_scikit_learn_checks(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.parametrize(("C", "epsilon"), [(0.1, 0.1), (2.0, 0.0), (10.0, 0.5)])
def test_equals_libsvm(C, epsilon, rng):
    X, y = data(rng)
    ours = SVR(Gaussian(1.0), C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
    theirs = LibSVR(C=C, epsilon=epsilon, gamma=0.5, tol=1e-10).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    full = np.zeros(len(y))
    full[ours.support_] = ours.dual_coef_
    coef = np.zeros(len(y))
    coef[theirs.support_] = theirs.dual_coef_[0]
    assert_allclose(full, coef, atol=1e-3)
    assert_allclose(ours.intercept_, theirs.intercept_[0], atol=1e-5)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.5])
def test_nu_equals_libsvm_and_bounds_the_share_outside(nu, rng):
    X, y = data(rng)
    ours = SVR(Gaussian(1.0), C=2.0, nu=nu).fit(X, y)
    theirs = NuSVR(C=2.0, nu=nu, gamma=0.5, tol=1e-9).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    outside = np.abs(y - ours.predict(X)) > ours.epsilon_ + 1e-6
    assert outside.mean() <= nu <= len(ours.support_) / len(y)
    if ours.epsilon_ > 0:
        assert_allclose(np.abs(ours.dual_coef_).sum(), nu * 2.0 * len(y), rtol=1e-6)


def test_nu_with_weights_equals_libsvm_and_repeated_rows(rng):
    X, y = data(rng, 90)
    w = rng.uniform(0.1, 3.0, 90)
    ours = SVR(Gaussian(1.0), C=1.3, nu=0.37, tol=1e-8).fit(X, y, sample_weight=w)
    theirs = NuSVR(C=1.3, nu=0.37, gamma=0.5, tol=1e-8).fit(X, y, sample_weight=w)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    assert_allclose(np.abs(ours.dual_coef_).sum(), 0.37 * 1.3 * w.sum(), rtol=1e-9)
    times = rng.integers(0, 4, 90)
    for intercept in (True, False):
        model = SVR(Gaussian(1.0), C=1.0, nu=0.37, trend=intercept, tol=1e-8)
        weighted = model.fit(X, y, sample_weight=times).predict(X)
        assert_allclose(model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X), weighted, atol=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_nu_is_the_fit_at_the_epsilon_found(intercept, rng):
    X, y = data(rng, 150)
    by_nu = SVR(Gaussian(1.0), C=3.0, nu=0.31, trend=intercept, tol=1e-8).fit(X, 1e3 * y)
    by_epsilon = SVR(Gaussian(1.0), C=3.0, epsilon=by_nu.epsilon_, trend=intercept, tol=1e-8).fit(X, 1e3 * y)
    assert by_nu.epsilon_ > 0 and by_nu.kkt_violation_ <= 1e-8
    assert_allclose(by_nu.predict(X), by_epsilon.predict(X), atol=1e-3)
    assert_allclose(by_nu.dual_objective_, by_epsilon.dual_objective_, rtol=1e-9)


def test_nu_obeys_max_iter_and_says_so(rng):
    X, y = data(rng, 200)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVR(Gaussian(1.0), C=100.0, nu=0.2, max_iter=2).fit(X, y)
    assert model.n_iter_ <= 2 and np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("options", [{"C": 0.5}, {"C": 100.0}, {"C": 2.0, "trend": None}, {"epsilon": 50.0}])
def test_options_choose_the_way_and_not_the_answer(options, rng):
    X, y = data(rng, 80)
    way = WorkingSetOptions(newton=False, whole=0, block=(16, 64))
    usual = SVR(Gaussian(1.0), tol=1e-8, **options).fit(X, y)
    other = SVR(Gaussian(1.0), tol=1e-8, options=[way], **options).fit(X, y)
    assert other.fit_report_["newton_steps"] == 0 and other.kkt_violation_ <= 1e-8
    assert_allclose(other.predict(X), usual.predict(X), atol=1e-6)


def test_nu_of_a_model_that_needs_no_tube():
    X = np.arange(5.0)[:, None]
    model = SVR(Gaussian(0.1), C=1e3, nu=1.0).fit(X, X[:, 0])  # even ε = 0 does not use up the box
    assert model.epsilon_ == 0.0


@pytest.mark.parametrize("both", [{"C": 1.0, "lam": 1.0}, {"nu": 0.5, "epsilon": 0.1}, {"C": 1.0, "lam": 0.5}])
@pytest.mark.parametrize("other", [{}, {"criterion": "kfold"}])
def test_two_numbers_for_one_thing_are_refused(both, other, rng):
    X, y = data(rng, 20)
    with pytest.raises(ValueError, match="(?s)" + ".*".join(both)) as told:
        SVR(Gaussian(1.0), **both, **other).fit(X, y)
    assert "Drop" in str(told.value)


# ---------------------------------------------------------------------------------------------- weights
@pytest.mark.parametrize("intercept", [False, True])
def test_a_weight_is_a_number_of_rows(intercept, rng):
    X, y = data(rng, 60)
    w = rng.integers(0, 4, 60)
    weighted = SVR(C=0.5, epsilon=0.1, trend=intercept).fit(X, y, sample_weight=w)
    repeated = SVR(C=0.5, epsilon=0.1, trend=intercept).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert weighted.bounded_.sum() > 5  # else the weights would not act
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-9)
    plain = SVR(C=0.5, epsilon=0.1, trend=intercept).fit(X[w > 0], y[w > 0])
    assert np.abs(plain.predict(X) - weighted.predict(X)).max() > 1e-2
    assert set(weighted.support_) <= set(np.flatnonzero(w))


def test_weights_equal_libsvm(rng):
    X, y = data(rng)
    w = rng.uniform(0.1, 3.0, len(y))
    ours = SVR(Gaussian(1.0), C=1.0).fit(X, y, sample_weight=w)
    theirs = LibSVR(C=1.0, gamma=0.5, tol=1e-10).fit(X, y, sample_weight=w)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


def test_equal_inputs_with_other_targets_are_not_merged(rng):
    X, y = data(rng, 40)
    X2, y2 = np.vstack([X, X]), np.concatenate([y, y + 1.0])
    ours = SVR(Gaussian(1.0), C=1.0).fit(X2, y2)
    assert ours.fit_report_["merged_rows"] == 0
    theirs = LibSVR(gamma=0.5, tol=1e-10).fit(X2, y2)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


# ---------------------------------------------------------------------------------------------- the model
def test_prediction_uses_support_vectors_only(rng):
    X, y = data(rng)
    model = SVR(Gaussian(1.0), epsilon=0.5, tol=1e-8).fit(X, y)
    assert len(model.points_) == len(model.support_) == len(model.dual_coef_) < len(y)
    assert_array_equal(model.points_, X[model.support_])
    assert (model.dual_coef_ != 0).all()
    assert_allclose(model.predict(X), Gaussian(1.0)(X, model.points_) @ model.dual_coef_ + model.intercept_, rtol=1e-10)
    assert_array_equal(model.free_, ~model.bounded_)
    size = np.abs(y - model.predict(X))[model.support_]
    assert_allclose(size[model.free_], 0.5, atol=1e-6)
    assert (size[model.bounded_] >= 0.5 - 1e-6).all()
    tube = model.decision_tube(X)
    assert_allclose(tube[:, 1] - tube[:, 0], 1.0)


def test_no_support_vector_inside_a_tube_that_holds_all(rng):
    X, y = data(rng)
    model = SVR(Gaussian(1.0), epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0 and model.dual_objective_ == 0.0
    assert_allclose(model.predict(X), model.intercept_)
    assert np.abs(y - model.intercept_).max() <= 100.0


def test_lam_is_one_over_2C_and_the_conventions_agree(rng):
    X, y = data(rng)
    one, two = SVR(Gaussian(1.0), C=4.0).fit(X, y), SVR(Gaussian(1.0), lam=0.125).fit(X, y)
    assert_array_equal(one.predict(X), two.predict(X))
    assert one.regularization_ == {"C": 4.0, "lam": 0.125, "lam_over_n": 0.125 / len(y)}


def test_gap_closes_and_the_report_is_json(rng):
    X, y = data(rng)
    model = SVR(Gaussian(1.0)).fit(X, y)
    assert 0 <= model.dual_gap_ + 1e-12 <= 1e-6 * model.primal_objective_
    assert_allclose(model.primal_objective_ - model.dual_objective_, model.dual_gap_, atol=1e-9)
    assert model.kkt_violation_ <= 1e-3
    assert json.loads(json.dumps(model.fit_report_))["status"] == "converged"


def test_units_of_y_and_x_do_not_matter(rng):
    X, y = data(rng)
    model = SVR(C=2.0, epsilon=0.1, tol=1e-8).fit(X, y)
    for scale in (1e-6, 1e6, 1e150):
        scaled = SVR(C=2.0 * scale, epsilon=0.1 * scale, tol=1e-8).fit(X * [1e-3, 1.0, 1e6], scale * y + 3 * scale)
        assert_allclose((scaled.predict(X * [1e-3, 1.0, 1e6]) - 3 * scale) / scale, model.predict(X), atol=1e-6)
        assert_array_equal(scaled.support_, model.support_)


def test_unscaled_data_does_not_hang(rng):
    X, y = data(rng, 400, 4)
    X, y = X * np.logspace(-3, 6, 4), 1000 * y
    start = time.perf_counter()
    model = SVR(C=1000.0, epsilon=0.1).fit(X, y)
    assert model.fit_report_["status"] == "converged"
    assert time.perf_counter() - start < 20
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        rough = SVR(Linear(), C=1000.0, epsilon=0.1, time_budget=1e-9).fit(X, y)
    assert time.perf_counter() - start < 25
    assert np.isfinite(rough.predict(X)).all() and rough.dual_gap_ > 0


def test_constant_targets_and_a_single_row():
    X = np.arange(6.0)[:, None]
    for y in (np.full(6, 7.0), np.zeros(6)):
        model = SVR().fit(X, y)
        assert_allclose(model.predict(X), y, atol=0.1 + 1e-12)
    assert_allclose(SVR(Gaussian(), C=1.0).fit(X[:1], [3.0]).predict(X[:1]), 3.0, atol=0.1)
    assert_allclose(SVR(Gaussian(), trend=None, C=10.0).fit(X[:1], [3.0]).predict(X[:1]), 2.9)


def test_max_iter_warns_with_numbers_and_a_certificate(rng):
    X, y = data(rng)
    best = SVR(Gaussian(1.0), C=100.0).fit(X, y)
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter\) after \d+ steps with a KKT violation of .* duality gap is"
    ):
        model = SVR(Gaussian(1.0), C=100.0, max_iter=3).fit(X, y)
    assert model.n_iter_ <= 3
    assert model.dual_objective_ <= best.dual_objective_ + 1e-9 <= model.dual_objective_ + model.dual_gap_ + 1e-8
    assert model.fit_report_["status"] == "max_iter"


def test_a_failed_fit_leaves_the_model(rng, monkeypatch):
    X, y = data(rng)
    model = SVR(Gaussian(1.0)).fit(X, y)
    before = model.predict(X)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(EpsilonDual, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -y)
    assert_array_equal(model.predict(X), before)


def test_several_targets_are_several_fits(rng):
    X, y = data(rng)
    Y = np.column_stack([y, 100 * np.cos(X[:, 0]), np.full(len(y), 2.0)])
    model = SVR(Gaussian(1.0), C=1.0, epsilon=0.2).fit(X, Y)
    for j in range(3):
        one = SVR(Gaussian(1.0), C=1.0, epsilon=0.2).fit(X, Y[:, j])
        assert_allclose(model.predict(X)[:, j], one.predict(X), atol=1e-7)
        assert_allclose(model.loo_residuals_[:, j], one.loo_residuals_, atol=1e-5)
    assert model.predict_interval(X).shape == (len(y), 2, 3)


def test_any_kernel(rng):
    X, y = data(rng, 50)
    K = Gaussian(1.0)(X)
    expected = SVR(Gaussian(1.0)).fit(X, y).predict(X)
    assert_allclose(SVR(Precomputed()).fit(K, y).predict(K), expected, atol=1e-8)
    words = ["ab", "abc", "b", "cd", "d", "abcd"] * 3

    def common(a, b):
        return len(set(a) & set(b))

    model = SVR(Pairwise(common), C=10.0).fit(words, [len(set(word)) for word in words])
    assert_allclose(model.predict(["abc"]), 3.0, atol=0.11)
    assert np.isfinite(model.loo_residuals_).all()


def test_pickles_and_unfitted(rng):
    X, y = data(rng, 40)
    model = SVR(Gaussian(1.0)).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(NotFittedError):
        SVR().predict(X)
    with pytest.raises(NotFittedError):
        SVR().predict_interval(X)


@pytest.mark.parametrize(
    "params", [{"C": 0.0}, {"C": np.inf}, {"epsilon": -1.0}, {"nu": 0.0}, {"nu": 1.5}, {"lam": 0.0}, {"tol": 0.0}]
)
def test_bad_parameters_are_refused(params, rng):
    X, y = data(rng, 20)
    with pytest.raises(ValueError, match=next(iter(params))):
        SVR(**params).fit(X, y)


# ---------------------------------------------------------------------------------------------- paths
def test_a_path_is_many_fits(rng):
    X, y = data(rng)
    Cs, epsilons = [0.1, 1.0, 10.0], [0.05, 0.4]
    found = svr_path(Gaussian(1.0), X, y, Cs, epsilons, tol=1e-8)
    assert_array_equal(found.epsilons, [0.4, 0.05])
    f = found.predict(X)
    for i, C in enumerate(found.Cs):
        for j, epsilon in enumerate(found.epsilons):
            one = SVR(Gaussian(1.0), C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
            assert_allclose(f[i, j], one.predict(X), atol=1e-6)
            assert_allclose(found.objective[i, j], one.dual_objective_, rtol=1e-8)
            assert found.support[i, j] == len(one.support_)
    assert (found.status == "converged").all()


def test_bad_paths_are_refused(rng):
    X, y = data(rng, 20)
    for wrong in ({"Cs": [0.0]}, {"Cs": []}, {"Cs": [1.0], "epsilons": [-1.0]}):
        with pytest.raises(ValueError, match="Cs"):
            svr_path(Gaussian(1.0), X, y, **wrong)
    with pytest.raises(ValueError, match="y"):
        svr_path(Gaussian(1.0), X, y[:3], [1.0])
    with pytest.raises(ValueError, match="sample_weight"):
        svr_path(Gaussian(1.0), X, y, [1.0], sample_weight=-np.ones(20))


def test_every_target_has_its_share_of_the_time(monkeypatch):
    """The first target had all of it."""
    budgets, plain = [], EpsilonDual.fit

    def fit(*arguments, clock, **options):
        budgets.append(clock.left)
        return plain(*arguments, clock=clock, **options)

    monkeypatch.setattr(EpsilonDual, "fit", fit)
    X = np.random.default_rng(0).standard_normal((30, 2))
    SVR(Gaussian(1.0), C=1.0, epsilon=0.1, time_budget=60.0).fit(X, np.column_stack([X, X[:, 0]]))
    assert 15 < budgets[0] <= 20 and 25 < budgets[1] <= 30 and budgets[2] > 50
