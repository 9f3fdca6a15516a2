"""RadialOf: a radial function of any kernel's own distance."""

import numpy as np
import pytest

from check_assertions import assert_passes
from examples_of_every_kernel import sample
from mercer.kernels import (
    BagMean,
    BestMatch,
    Exponential,
    FeatureMap,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Pairwise,
    Polynomial,
    Radial,
    RadialOf,
    RationalQuadratic,
    Spectrum,
)
from mercer.testing import check_kernel


def halves(X):
    return np.stack([X[:, 0], X[:, 1] - X[:, 2], X.sum(axis=1)], axis=1)


@pytest.mark.parametrize(
    "radial",
    [Gaussian(0.7), Exponential(2.0), Matern32(), Matern52(0.5), Matern(1.3, 0.8), RationalQuadratic(1.0, 0.4)],
)
def test_on_the_linear_kernel_it_is_the_radial_kernel(rng, loops, radial):
    X, Z = rng.standard_normal((8, 3)), rng.standard_normal((5, 3))
    X[3] = X[2]
    kernel = RadialOf(radial, Linear())
    assert kernel.psd
    np.testing.assert_allclose(kernel(X), radial(X), atol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), radial(X, Z), atol=1e-12)
    assert kernel(X)[2, 3] == 1.0
    W = rng.standard_normal((8, 5))
    np.testing.assert_allclose(kernel.grad(X, Z, W), radial.grad(X, Z, W), rtol=1e-9, atol=1e-12)


def test_features_and_values_give_the_same(rng, loops):
    X, Z, W = rng.standard_normal((8, 3)), rng.standard_normal((5, 3)), rng.standard_normal((8, 5))
    by_features = RadialOf(Gaussian(1.3), FeatureMap(halves))
    by_values = RadialOf(Gaussian(1.3), FeatureMap(halves) * 1.0)
    np.testing.assert_allclose(by_features(X, Z), by_values(X, Z), atol=1e-12)
    np.testing.assert_allclose(by_features.grad(X, Z, W), by_values.grad(X, Z, W)[:1], rtol=1e-9)


def test_gradient_goes_through_to_the_base_kernel():
    bases = BagMean(2.0 * Gaussian(0.8)), Spectrum([1, 2], weights=[0.5, 2.0]), 0.5 * Polynomial(2, 0.3)
    for base, radial in zip(bases, (Matern32(1.4), RationalQuadratic(0.8, 0.5), Gaussian(0.9)), strict=True):
        assert_passes(check_kernel, RadialOf(radial, base), sample(base, 13, np.random.default_rng(0)))


def test_what_is_no_function_of_a_distance_is_refused():
    X = np.zeros((2, 2))
    with pytest.raises(TypeError, match="Exponential"):
        RadialOf(Laplacian(), Linear())(X)
    with pytest.raises(ValueError, match="length.*2"):
        RadialOf(Gaussian([1.0, 2.0]), Linear())(X)


class Hat(Radial):
    """max(0, 1 − s): a kernel on the line only."""

    def phi(self, s):
        return np.maximum(0.0, 1.0 - np.sqrt(s))

    def dphi(self, s):
        return np.where(s < 1.0, -0.5 / np.sqrt(np.maximum(s, 1e-30)), 0.0)


def test_only_what_is_proved_is_called_psd():
    assert not RadialOf(Hat(), Linear()).psd
    assert not RadialOf(Gaussian(), BestMatch(Gaussian())).psd
    assert RadialOf(Gaussian(), BagMean(Gaussian())).psd


def test_a_negative_squared_distance_is_refused():
    def opposite(x, z):
        return -float(x[0] * z[0])

    with pytest.raises(ValueError, match=" -4 "):
        RadialOf(Gaussian(), Pairwise(opposite))(np.array([[0.0], [2.0]]))


def test_equal_objects_have_distance_zero():
    words = ["abracadabra" * 50, "abracadabra" * 50, "cadabra"]
    K = RadialOf(Exponential(0.01), Spectrum(3))(words)
    assert K[0, 1] == 1.0 and K[0, 2] == 0.0
