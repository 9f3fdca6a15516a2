"""A kernel, or any function of the whole batch, is no basis: what it says of a row depends on the others."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from mercer import BasisRegression, KernelRidge
from mercer.kernels import FeatureMap, Gaussian, Linear, PolynomialBasis


@pytest.mark.parametrize("phi", [Gaussian(1.0), 2.0 * Gaussian(1.0) + Linear(), PolynomialBasis(2)])
def test_a_kernel_as_a_function_of_features_is_refused(phi, rng):
    X = rng.standard_normal((12, 2))
    for use in (lambda: FeatureMap(phi)(X), lambda: KernelRidge(FeatureMap(phi), lam=0.1).fit(X, X[:, 0])):
        with pytest.raises(TypeError, match="KernelRidge"):
            use()


def test_a_kernel_as_a_basis_is_refused(rng):
    X = rng.standard_normal((12, 2))
    for model in (BasisRegression(Gaussian(1.0), lam=0.1), BasisRegression([Gaussian(1.0), None], criterion="loo")):
        with pytest.raises(TypeError, match="KernelRidge"):
            model.fit(X, X[:, 0])
    BasisRegression(PolynomialBasis(2), lam=0.1).fit(X, X[:, 0])  # features are


@pytest.mark.parametrize("phi", [RBF(1.0), lambda X: X @ X.T])
def test_a_function_of_the_batch_is_refused(phi, rng):
    X = rng.standard_normal((12, 2))
    with pytest.raises(ValueError, match="depends on the others"):
        BasisRegression(phi, lam=0.1).fit(X, X[:, 0])


def test_as_many_features_as_rows_are_allowed(rng):
    X = rng.standard_normal((2, 2))
    np.testing.assert_allclose(FeatureMap(np.square)(X), X**2 @ X.T**2)
    np.testing.assert_allclose(FeatureMap(np.square)(X[:1]), X[:1] ** 2 @ X[:1].T ** 2)
