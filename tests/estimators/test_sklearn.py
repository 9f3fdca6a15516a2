"""scikit-learn's contract: the common checks with no exclusion, and the checks that ``check_estimator`` leaves out."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_assertions import LEFT_OUT, assert_passes, assert_passes_named
from mercer import BasisRegression, GaussianProcessRegressor, KernelInterpolator, KernelRidge
from mercer.kernels import Gaussian, GaussianBasis, Linear, Matern32, PolynomialBasis, Precomputed

ESTIMATORS = [
    KernelRidge(),
    KernelRidge(Gaussian(1.0), 0.1),
    KernelRidge(2.0 * Matern32(1.0) + Linear(), 0.5, trend=None),
    KernelRidge(lam=1.0, solver="mixed"),
    KernelRidge(lam=1.0, solver="spectral", merge=False),
    KernelInterpolator(),
    KernelInterpolator(Matern32(2.0)),
    BasisRegression(),
    GaussianProcessRegressor(noise=0.1, criterion=None),
    BasisRegression(PolynomialBasis(2), lam=0.1, trend="constant"),
]


# the checks' data are not chosen to be feasible or of full rank, and the estimators say so
@pytest.mark.filterwarnings("ignore::mercer.exceptions.InfeasibleWarning")
@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@parametrize_with_checks(ESTIMATORS)
def test_common_checks(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("name", LEFT_OUT)
def test_checks_that_check_estimator_leaves_out(estimator, name):
    assert_passes_named(name, estimator)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((40, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def test_clone_and_parameters_of_the_kernel_tree():
    model = KernelRidge(2.0 * Gaussian(0.5) + Linear(), 0.1)
    copied = clone(model)
    assert copied.kernel == model.kernel
    assert copied.kernel is not model.kernel
    model.set_params(kernel__left__kernel__length_scale=3.0)
    assert model.kernel.left.kernel.length_scale == 3.0
    assert "kernel__left__scale" in model.get_params()


def test_grid_search_over_the_kernel(data):
    search = GridSearchCV(KernelRidge(Gaussian()), {"kernel__length_scale": [0.1, 1.0], "lam": [0.01, 1.0]}, cv=3)
    search.fit(*data)
    assert search.best_params_["kernel__length_scale"] == 1.0
    kernels = GridSearchCV(KernelRidge(), {"kernel": [Gaussian(), Linear()]}, cv=3).fit(*data)
    assert kernels.best_params_["kernel"] == Gaussian()


def test_precomputed_is_sliced_by_both_axes(data):
    X, y = data
    k = Gaussian(1.0)
    direct = cross_val_score(KernelRidge(k, 0.1), X, y, cv=4)
    given = cross_val_score(KernelRidge(Precomputed(), 0.1), k(X), y, cv=4)
    assert_allclose(given, direct, rtol=1e-9)


def test_inside_other_estimators(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), KernelRidge(Gaussian(2.0), 0.1)).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    target = TransformedTargetRegressor(KernelRidge(lam=0.1), func=np.exp, inverse_func=np.log).fit(X, y)
    assert np.isfinite(target.predict(X)).all()


def test_metadata_routing_of_weights(data):
    X, y = data
    w = np.linspace(0.1, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        ridge = KernelRidge(Gaussian(2.0), 0.1).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, ridge).fit(X, y, sample_weight=w)
    direct = KernelRidge(Gaussian(2.0), 0.1).fit(StandardScaler().fit_transform(X), y, sample_weight=w)
    assert_allclose(pipeline.predict(X), direct.predict(StandardScaler().fit_transform(X)), rtol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_data_frames_in(estimator, frame, data):
    module = pytest.importorskip(frame)
    X, y = data
    table = module.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    model = clone(estimator).fit(table, module.Series(y))
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_allclose(model.predict(table), clone(estimator).fit(X, y).predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["b", "a", "c"]])
    with pytest.raises(ValueError, match="feature names|features"):
        model.predict(table[["a", "b"]])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_copies_predict_the_same_bits(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_any_memory_layout_gives_the_same_numbers_and_is_not_changed(estimator, data):
    X, y = data
    expected = clone(estimator).fit(X, y).predict(X)
    swapped = X.astype(">f8")
    for layout in (np.asfortranarray(X), X[::-1].copy()[::-1], np.repeat(X, 2, axis=0)[::2], swapped, X.tolist()):
        before = copy.deepcopy(layout)
        assert_allclose(clone(estimator).fit(layout, y).predict(layout), expected, rtol=1e-9)
        assert_array_equal(layout, before)
    X.flags.writeable = False
    y.flags.writeable = False
    assert_allclose(clone(estimator).fit(X, y).predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_prediction_does_not_depend_on_the_batch(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, y)
    whole = model.predict(X)
    parts = np.concatenate([model.predict(X[i : i + 1]) for i in range(len(X))])
    assert_allclose(parts, whole, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=repr)  # one λ is chosen for all targets
def test_several_targets_are_several_fits(estimator, data):
    X, y = data
    Y = np.column_stack([y, 2 - y, y**2])
    model = clone(estimator).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    for j in range(3):
        assert_allclose(model.predict(X)[:, j], clone(estimator).fit(X, Y[:, j]).predict(X), rtol=1e-7, atol=1e-9)
    assert clone(estimator).fit(X, Y[:, :1]).predict(X).shape == (40, 1)


def test_basis_of_centres_in_a_search(data):
    X, y = data
    model = BasisRegression(GaussianBasis(X[:5], 1.0), lam=0.1)
    search = GridSearchCV(model, {"basis__width": [0.5, 2.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.basis_.width in (0.5, 2.0)
