"""scikit-learn's contract for the Gaussian process classifier: the common checks, with no exclusion."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from check_assertions import LEFT_OUT, assert_passes, assert_passes_named
from mercer import GaussianProcessClassifier
from mercer.kernels import Gaussian, Matern32, Precomputed

ESTIMATORS = [
    GaussianProcessClassifier(starts=1),  # the default in all but the time it takes
    GaussianProcessClassifier(
        2.0 * Gaussian(1.0), criterion=None, link="probit", inference="ep", multi_class="one_vs_rest"
    ),
    GaussianProcessClassifier(Matern32(2.0), criterion=None, trend=None, temperature=True),
    GaussianProcessClassifier(inference="mcmc", multi_class="one_vs_rest", criterion=None, n_samples=20),
]


# the data of the checks are separable, tiny or random: the search says so, and so do short chains
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_common_checks(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LEFT_OUT)
def test_checks_that_check_estimator_leaves_out(name):
    assert_passes_named(name, ESTIMATORS[2])


@pytest.fixture
def data(rng):
    X = rng.standard_normal((40, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, "b", "a")


def test_pickle_clone_and_pipeline(data):
    X, y = data
    model = GaussianProcessClassifier(Gaussian(1.0), criterion=None)
    assert clone(model).get_params()["kernel"] == model.kernel
    fitted = make_pipeline(StandardScaler(), model).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_grid_search_over_the_kernel(data):
    X, y = data
    model = GaussianProcessClassifier(Gaussian(1.0), criterion=None)
    found = GridSearchCV(model, {"kernel__length_scale": [1e-4, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert found.best_params_["kernel__length_scale"] == 1.0


def test_precomputed_is_sliced_by_both_axes(data):
    X, y = data
    k = 3.0 * Gaussian(1.0)
    direct = cross_val_score(GaussianProcessClassifier(k, criterion=None), X, y, cv=4)
    given = cross_val_score(GaussianProcessClassifier(Precomputed()), k(X), y, cv=4)
    assert_allclose(given, direct, rtol=1e-9)


def test_frames_with_names(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["age", "dose"])
    model = GaussianProcessClassifier(Gaussian(1.0), criterion=None).fit(frame, pd.Series(y, dtype="category"))
    assert list(model.feature_names_in_) == ["age", "dose"]
    assert_array_equal(
        model.predict(frame), GaussianProcessClassifier(Gaussian(1.0), criterion=None).fit(X, y).predict(X)
    )


def test_probabilities_out_of_fold(data):
    X, y = data
    p = cross_val_predict(GaussianProcessClassifier(Gaussian(1.0), criterion=None), X, y, cv=5, method="predict_proba")
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
