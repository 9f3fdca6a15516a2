"""What reports, files, tables and the command line ask of an estimator: found by reflection, the same for every one."""

import functools
import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import RegressorMixin, clone, is_classifier
from sklearn.model_selection import KFold as Splitter
from sklearn.model_selection import TimeSeriesSplit

import mercer
from mercer.estimators import KernelEstimator
from mercer.exceptions import InfeasibleWarning
from mercer.kernels import Gaussian, Matern32, PolynomialBasis
from mercer.losses import Quantile
from mercer.selection import GCV, LOO, Evidence, KFold, LCurve

FOUND = [getattr(mercer, name) for name in mercer.__all__]
ESTIMATORS = [cls for cls in FOUND if isinstance(cls, type) and issubclass(cls, KernelEstimator)]
INTERPOLATOR = mercer.KernelInterpolator
MODELS = [cls(Matern32(0.5)) if cls is INTERPOLATOR else cls() for cls in ESTIMATORS] + [
    mercer.KernelMachine(loss="logistic"),
    mercer.KernelMachine(loss="hinge"),
    mercer.KernelMachine(loss="huber", lam=0.1),
    mercer.KernelMachine(loss=Quantile([0.1, 0.5, 0.9]), lam=0.1),
    mercer.KernelMachine(loss="logistic", multi_class="softmax"),
    mercer.KernelRidge(trend="linear"),
    mercer.SVR(nu=0.5),
]
WORDS = {"loo": LOO(), "gcv": GCV(), "evidence": Evidence(), "kfold": KFold(), "lcurve": LCurve()}
OLD = {"intercept", "mean", "native_norm_", "pivots_", "mean_", "basis_intercept"}

PART = {mercer.BasisRegression: PolynomialBasis(2)}  # what a criterion chooses, where it is no kernel
LAMLESS = {mercer.GaussianProcessClassifier, INTERPOLATOR}

every = pytest.mark.parametrize("model", MODELS, ids=repr)
choosers = pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if cls.criteria], ids=lambda cls: cls.__name__)
pytestmark = pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning", "ignore::UserWarning")


def rows(n=60, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.fixture
def data():
    return rows()


def target_of(model, y):
    if not is_classifier(model):
        return y
    three = getattr(model, "multi_class", "") == "softmax"
    return np.digitize(y, [-0.3, 0.4]) if three else np.where(y > 0, "up", "down")


def fit(model, data, **weights):
    X, y = data
    return clone(model).fit(X, target_of(model, y), **weights)


@functools.cache
def fitted_once(i):
    """The i-th model after its fit, for tests that only look at it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(MODELS[i], rows())


def seen(model):
    return fitted_once(next(i for i, one in enumerate(MODELS) if one is model))


def test_there_are_nine():
    assert len(ESTIMATORS) == 9


@every
def test_every_fit_leaves_the_same_attributes(model):
    fitted = seen(model)
    assert not OLD & {*fitted.get_params(), *vars(fitted)}
    for name in ("kernel_", "lam_", "selection_", "regularization_", "fit_report_", "plan_"):
        assert hasattr(fitted, name) and not hasattr(clone(model), name), name
    assert fitted.selection_ is None or model.criterion_used is not None
    assert np.all(np.asarray(fitted.rkhs_norm_) >= 0)
    if "points_" in vars(fitted):
        index = fitted.point_index_
        assert index.shape == (60,) and index.max() == len(fitted.points_) - 1
        assert np.array_equal(index[fitted.support_], np.arange(len(fitted.points_)))


@every
def test_the_norm_is_that_of_the_coefficients(model):
    fitted = seen(model)
    if "points_" in vars(fitted):
        alpha = fitted.dual_coef_.reshape(len(fitted.points_), -1)
        K = fitted.kernel_(fitted.points_)
        expected = np.sqrt(np.einsum("it,ij,jt->t", alpha, K, alpha))
        assert_allclose(np.atleast_1d(fitted.rkhs_norm_), expected, rtol=1e-6)


@every
def test_frozen_is_the_same_model_and_chooses_nothing(model, data):
    fitted = seen(model)
    again = fitted.frozen()
    assert not hasattr(again, "lam_")
    again = again.fit(data[0], target_of(model, data[1]))
    assert again.selection_ is None
    answer = "predict_proba" if hasattr(fitted, "predict_proba") else "predict"
    a, b = (getattr(one, answer)(data[0]) for one in (fitted, again))
    assert np.array_equal(a, b) if a.dtype.kind in "UO" else np.allclose(a, b, rtol=1e-6, atol=1e-8)


@every
def test_left_out_is_near_a_refit_without_the_row(model, data):
    X, y = data
    fitted = seen(model)
    left = fitted.left_out()
    y, some = target_of(model, y), [0, 7, 30]
    assert len(left.predicted) == 60 and left.how
    if is_classifier(model):
        assert left.proba is None or np.allclose(left.proba.sum(axis=1), 1.0)
        assert np.mean(left.predicted == y) > 0.5
        return
    assert_allclose(fitted.loo_residuals_, (y if left.predicted.ndim == 1 else y[:, None]) - left.predicted)
    for i in some:
        rest = np.delete(np.arange(60), i)
        f = fitted.frozen(rest).fit(X[rest], y[rest]).predict(X[i : i + 1])[0]
        off = {"exact": 1e-5, "close": 0.1, "rough": 0.7}[fitted.leaves_out]
        assert np.max(np.abs(f - left.predicted[i])) < off * np.std(y)


@every
def test_rows_of_weight_zero_have_no_left_out_prediction(model, data):
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        with pytest.raises(TypeError, match="sample_weight"):  # not taken in silence
            model.fit(*data, sample_weight=np.ones(60))
        return
    weight = np.ones(60)
    weight[5] = 0.0
    fitted = fit(model, data, sample_weight=weight)
    left = fitted.left_out()
    assert len(left.predicted) == 60 and fitted.row_weight_[5] == 0
    if is_classifier(model):
        assert left.predicted[5] is None
    else:
        assert np.isnan(fitted.loo_residuals_[5]).all() or fitted.leaves_out == "exact"


@every
def test_intervals_hold_new_targets(model):
    if is_classifier(model):
        assert not hasattr(seen(model), "predict_interval")
        return
    X, y = rows(320, 8)
    fitted = fit(model, (X[:120], y[:120]))
    for options in ({}, {"method": "split", "calibration": (X[120:220], y[120:220])}, {"method": "left-out"}):
        ends = fitted.predict_interval(X[220:], 0.9, **options)
        assert ends.shape == (100, 2)
        assert 0.78 <= np.mean((ends[:, 0] <= y[220:]) & (y[220:] <= ends[:, 1])), options
    with pytest.raises(ValueError, match="method="):
        fitted.predict_interval(X, method="guess")
    with pytest.raises(ValueError, match="calibration"):
        fitted.predict_interval(X, method="split")


@choosers
def test_criterion_takes_words_rules_numbers_and_splitters(cls):
    few = rows(30)
    folds = [3, Splitter(3, shuffle=True, random_state=0), KFold(3)] if "kfold" in cls.criteria else []
    for criterion in [*cls.criteria, *(WORDS[word] for word in cls.criteria if word in WORDS), *folds]:
        fitted = fit(cls(PART.get(cls, Gaussian(1.0)), criterion=criterion), few)
        assert fitted.selection_ is not None and fitted.frozen().criterion is None
    for wrong in ("guess", True, 1, object(), *(word for word in WORDS if word not in cls.criteria)):
        with pytest.raises(ValueError, match="criterion=") as error:
            fit(cls(criterion=wrong), few)
        assert all(repr(word) in str(error.value) for word in cls.criteria)


def test_folds_of_a_splitter_are_those_of_the_rule(data):
    X, y = data
    splitter = Splitter(4)
    one = mercer.KernelRidge(Gaussian(1.0), criterion=splitter).fit(X, y)
    other = mercer.KernelRidge(Gaussian(1.0), criterion=KFold(4, shuffle=False)).fit(X, y)
    assert_allclose(one.lam_, other.lam_, rtol=1e-6)
    with pytest.raises(ValueError, match="TimeSeriesSplit"):
        mercer.KernelRidge(criterion=TimeSeriesSplit(3)).fit(X, y)
    mercer.KernelMachine(loss="huber", criterion=TimeSeriesSplit(3)).fit(X, y)  # which fits again for each fold


@choosers
def test_a_list_of_kernels_wherever_there_is_a_criterion(cls, data):
    two = [PolynomialBasis(5), PolynomialBasis(1)] if cls in PART else [Gaussian(1e-3), Matern32(1.5)]
    fitted = fit(cls(two, criterion=cls.criteria[0]), data)
    assert len(fitted.selection_.candidates) == 2
    if cls in (mercer.SVR, mercer.KernelMachine):  # the others learn the length scale
        assert fitted.kernel_ == Matern32(1.5)
    given = {"lam": 0.5} if "lam" in cls().get_params() else {}
    with pytest.raises(ValueError, match="criterion"):
        fit(cls(two, criterion=None, **given), data)


@choosers
def test_optimize_means_the_same(cls, data):
    kernel = PART.get(cls, Gaussian(1.3))
    for what in ("lam", "kernel", "all"):
        if cls in LAMLESS and what == "lam":
            with pytest.raises(ValueError, match="optimize"):
                fit(cls(optimize=what), data)
            continue
        fitted = fit(cls(kernel, criterion=cls.criteria[0], optimize=what, **known(cls)), data)
        assert what != "lam" or fitted.kernel_ == kernel
        if what == "kernel" and cls not in LAMLESS:
            assert_allclose(fitted.lam_, 0.3)


def known(cls):
    if cls in LAMLESS:
        return {}
    return {"noise": 0.3} if cls is mercer.GaussianProcessRegressor else {"lam": 0.3}


@pytest.mark.parametrize("model", [model for model in MODELS if "random_state" in model.get_params()], ids=repr)
def test_random_state_is_that_of_scikit_learn(model):
    few = rows(24)
    for state in (None, 3, np.random.RandomState(0)):
        assert len(fit(clone(model).set_params(random_state=state), few).predict(few[0])) == 24
    with pytest.raises(ValueError, match="random_state"):
        fit(clone(model).set_params(random_state="now"), few)


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if hasattr(cls(), "trend")], ids=lambda cls: cls.__name__)
def test_trend_takes_the_same_words(cls):
    few = rows(30)
    predictions = [fit(cls(trend=word), few).predict(few[0]) for word in ("constant", True, None, False)]
    assert np.array_equal(predictions[0], predictions[1]) and np.array_equal(predictions[2], predictions[3])
    with pytest.raises(ValueError, match="trend"):
        fit(cls(trend="cubic"), few)


def test_a_linear_trend_of_ridge_is_that_of_a_process(data):
    X, y = data
    ridge = mercer.KernelRidge(Gaussian(1.0), 0.3, trend="linear").fit(X, y)
    process = mercer.GaussianProcessRegressor(Gaussian(1.0), 0.3, trend="linear", criterion=None).fit(X, y)
    far = 5 * X
    assert_allclose(ridge.predict(far), process.predict(far), rtol=1e-9)
    assert_allclose(ridge.trend_coef_, process.trend_coef_, rtol=1e-9)
    assert_allclose(ridge.loo_residuals_, process.loo_residuals_, rtol=1e-9)


def test_noise_of_each_row_goes_with_its_row(data, rng):
    X, y = data
    noise = rng.uniform(0.05, 0.5, 60)
    for model in (
        mercer.KernelRidge(Gaussian(), noise),
        mercer.GaussianProcessRegressor(Gaussian(), noise, criterion=None),
    ):
        fitted = model.fit(X, y)
        assert_allclose(fitted.row_lam_, noise)
        rows = np.arange(10, 60)
        same = type(model)(Gaussian(), noise[rows], criterion=None).fit(X[rows], y[rows]).predict(X)
        assert_allclose(fitted.frozen(rows).fit(X[rows], y[rows]).predict(X), same)
    assert mercer.KernelRidge().fit(X, y).row_lam_ is None


class Shepard(RegressorMixin, KernelEstimator):
    """A model of a user's own: weighted means."""

    def __init__(self, kernel=None, power=1):
        self.kernel, self.power = kernel, power

    def fit(self, X, y):
        self.kernel_ = self.kernel if self.kernel is not None else Gaussian()
        self.X_, self.y_ = np.array(X, dtype=float), np.array(y, dtype=float)
        return self

    def predict(self, X):
        K = self.kernel_(np.asarray(X, dtype=float), self.X_) ** self.power + 1e-9
        return K @ self.y_ / K.sum(axis=1)


def test_a_model_of_ones_own_has_the_defaults(data):
    X, y = data
    model = Shepard(Gaussian(0.5)).fit(X, y)
    assert model.lam_ is None and model.selection_ is None and model.fit_report_ == {}
    assert model.frozen().get_params()["kernel"] == Gaussian(0.5)
    with pytest.raises(ValueError, match="left_out"):
        model.left_out()
    left = model.left_out(X, y)
    rest = np.arange(1, 60)
    assert_allclose(left.predicted[0], Shepard(Gaussian(0.5)).fit(X[rest], y[rest]).predict(X[:1])[0])
    assert left.one_by_one and model.predict_interval(X, method="split", calibration=(X, y)).shape == (60, 2)


def test_an_interpolant_without_a_row(data):
    X, y = data
    with pytest.warns(InfeasibleWarning):
        model = mercer.KernelInterpolator(Gaussian(1.0)).fit(np.vstack([X[:4], X[:1]]), [1.0, 2.0, 3.0, 4.0, 5.0])
    assert np.isfinite(model.loo_residuals_).all()


def test_a_basis_is_chosen_as_ridge_on_its_kernel_chooses(data):
    X, y = data
    basis = PolynomialBasis(4)
    one = mercer.BasisRegression(basis, criterion="loo").fit(X, y)
    other = mercer.KernelRidge(basis, criterion="loo", trend=None).fit(X, y)
    assert_allclose(one.lam_, other.lam_, rtol=1e-4)
    assert_allclose(one.predict(X), other.predict(X), rtol=1e-4, atol=1e-5)
    assert_allclose(one.loo_residuals_, other.loo_residuals_, rtol=1e-3, atol=1e-5)


def test_an_interpolant_chooses_the_length_with_the_smallest_left_out_residuals():
    X = np.linspace(0, 6, 25)[:, None]
    y = np.sin(2 * X[:, 0])
    chosen = INTERPOLATOR(Matern32(20.0), criterion="loo").fit(X, y)
    assert_allclose(chosen.predict(X), y, atol=1e-4)
    lengths = np.geomspace(0.05, 100.0, 40)
    grid = [np.mean(INTERPOLATOR(Matern32(length)).fit(X, y).loo_residuals_ ** 2) for length in lengths]
    assert np.mean(chosen.loo_residuals_**2) <= 1.01 * min(grid)
    assert chosen.selection_ is not None and chosen.frozen().kernel == chosen.kernel_
