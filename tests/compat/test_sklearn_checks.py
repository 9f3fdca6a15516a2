"""scikit-learn's contract for the five classes, with no exception that scikit-learn does not make for its own."""

from functools import partial

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from check_assertions import LEFT_OUT, assert_passes, assert_passes_named
from mercer.compat import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge, NuSVR

MODELS = [KernelRidge(), SVR(), NuSVR(), GaussianProcessRegressor(), GaussianProcessClassifier()]
# scikit-learn excuses its own SVR and NuSVR: gamma="scale" is from the variance of X, and weights have no part in it.
EXCUSED = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
# Checks fit what has no good fit: a search that ends at a bound, a matrix that is no kernel. That is said, and right.
SAID = (
    "ignore:The optimal value found for",
    "ignore:lbfgs failed to converge",
    "ignore:K . alpha I is not positive definite",
)


def checks():
    """The checks of every model, without those that scikit-learn's own class is excused from."""
    for model in MODELS:
        cls, slow = type(model).__name__, isinstance(model, NuSVR | GaussianProcessClassifier)
        pairs = [(one, check, name(check)) for one, check in estimator_checks_generator(model)]
        pairs = [pair for pair in pairs if not (isinstance(model, SVR | NuSVR) and pair[2] in EXCUSED)]
        assert len(pairs) > 40
        for one, check, which in pairs:
            yield pytest.param(one, check, id=f"{cls}-{which}", marks=[pytest.mark.slow] if slow else [])


def name(check):
    """Of a function that partial has wrapped."""
    while isinstance(check, partial):
        check = check.func
    return check.__name__


@pytest.mark.filterwarnings(*SAID)
@pytest.mark.parametrize(("model", "check"), list(checks()))
def test_common_checks(model, check):
    assert_passes(check, model)


@pytest.mark.parametrize("model", [SVR(), NuSVR()], ids=repr)
@pytest.mark.parametrize("name", EXCUSED)
def test_what_scikit_learn_excuses_is_still_needed(model, name):
    with pytest.raises(AssertionError):
        assert_passes_named(name, model)


@pytest.mark.parametrize("model", [SVR(gamma=0.1, tol=1e-10), NuSVR(gamma=0.1, tol=1e-10)], ids=repr)
@pytest.mark.parametrize("name", EXCUSED)
def test_with_a_given_gamma_weights_are_repeated_rows(model, name):
    assert_passes_named(name, model)


@pytest.mark.slow
@pytest.mark.filterwarnings(*SAID)
@parametrize_with_checks(
    [
        KernelRidge(kernel="precomputed"),
        KernelRidge(kernel="rbf", alpha=0.1),
        KernelRidge(kernel="chi2"),
        SVR(kernel="precomputed", tol=1e-10),
        SVR(kernel="linear", tol=1e-10),
        SVR(gamma=0.1, tol=1e-10),
        GaussianProcessRegressor(normalize_y=True, alpha=0.1, optimizer=None),
    ],
)
def test_common_checks_of_other_settings(estimator, check):
    assert_passes(check, estimator)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("name", LEFT_OUT)
def test_checks_that_check_estimator_leaves_out(model, name):
    assert_passes_named(name, model)
