"""What the other tests lean on fails where it should."""

import pytest
from sklearn.utils.estimator_checks import check_estimators_unfitted

from check_assertions import LEFT_OUT, assert_passes, assert_passes_named
from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.testing import check_kernel


class Careless(KernelRidge):
    """Takes any parameter, learns nothing, and predicts before it is fitted."""

    _parameter_constraints = {}

    def fit(self, X, y):
        return self

    def predict(self, X):
        return [0.0] * len(X)


class Halved(Gaussian):
    """Its diagonal is half of what it should be."""

    def diag(self, X):
        return 0.5 * super().diag(X)


@pytest.mark.parametrize("name", ["lam", "seen_"])
def test_a_check_that_changes_the_thing_fails(name):
    with pytest.raises(AssertionError):
        assert_passes(lambda estimator: setattr(estimator, name, 7.0), KernelRidge())


def test_a_broken_kernel_fails():
    assert_passes(check_kernel, Gaussian())
    with pytest.raises(AssertionError, match="diag"):
        assert_passes(check_kernel, Halved())


@pytest.mark.parametrize("name", [*LEFT_OUT[:2], check_estimators_unfitted.__name__])
def test_a_careless_estimator_fails(name):
    assert_passes_named(name, KernelRidge())
    with pytest.raises((AssertionError, ValueError)):
        assert_passes_named(name, Careless())
