"""∂k/∂x of all kernels is checked by `check_kernel`; here what that does not see."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    ArcCosine,
    Exponential,
    FeatureMap,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Pairwise,
    Precomputed,
)
from mercer.testing import check_kernel


class Wrong(Gaussian):
    """A Gaussian kernel whose derivative has the wrong sign."""

    def _dx(self, X, Z):
        return -super()._dx(X, Z)


class Brownian(Kernel):
    """min(x, z): no formula for the derivative is given."""

    def _tile(self, X, Z):
        return np.minimum(X[:, :1], Z[:, 0])

    def diag(self, X):
        return X[:, 0].copy()


def test_check_kernel_finds_a_wrong_derivative():
    with pytest.raises(AssertionError, match="dx"):
        check_kernel(Wrong())


def test_a_kernel_without_a_formula_has_differences():
    k = Brownian()
    assert_allclose(k.dx([[1.0], [3.0]], [[2.0]])[:, 0, 0], [1.0, 0.0], atol=1e-9)
    assert_allclose(k.dx_diag([[1.0], [3.0]]), 1.0, atol=1e-9)


@pytest.mark.parametrize("kernel", [Exponential(0.7), Laplacian(0.7), Gaussian(2.0)])
def test_at_equal_inputs_the_slope_is_zero(kernel):
    assert_allclose(kernel.dx([[1.0, 2.0]], [[1.0, 2.0]]), 0.0)
    assert_allclose(kernel.dx_diag([[1.0, 2.0]]), 0.0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_at_the_origin_and_along_a_line(order):
    D = ArcCosine(order).dx(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]))
    expected = np.zeros((2, 3, 2))  # along a line k = J(0)/π (x z)ⁿ, and nothing on the other side of the origin
    expected[1, 0, 0] = [0.0, 2.0, 3.0 * 2 * 2**2][order]
    assert_allclose(D, expected, atol=1e-14)


def test_far_from_the_origin_no_digit_is_lost():
    X, Z = np.array([[0.25]]), np.array([[1.0]])
    assert_allclose(Gaussian(0.5).dx(X + 2.0**27, Z + 2.0**27), Gaussian(0.5).dx(X, Z), rtol=1e-9)


def test_a_function_of_numbers_has_a_slope_and_objects_have_none():
    k = FeatureMap(lambda X: np.hstack([X, X**2]))
    slope = k.dx(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]]))[0, 0]
    assert_allclose(slope, [3 + 2 * 9, 5 + 2 * 2 * 25], rtol=1e-9)
    for kernel, objects in ((Pairwise(lambda a, b: float(len(a) * len(b))), ["a", "bc"]), (Precomputed(), np.eye(2))):
        with pytest.raises(TypeError, match="derivative"):
            kernel.dx(objects, objects)


def test_inputs_may_be_lists_and_are_left_alone(readonly):
    X = readonly(np.ones((2, 3)))
    assert_allclose(Linear().dx(X, X), np.ones((2, 2, 3)))
    assert_allclose((2.0 * Gaussian() * Linear()).dx(X.tolist(), X), np.full((2, 2, 3), 2.0))


@pytest.mark.parametrize("length_scale", [0.003, 0.03, 1.0, 30.0])
def test_differences_find_a_length_scale_far_below_the_spread(length_scale, rng):
    X = rng.uniform(-50, 50, (12, 2))
    Z = X + length_scale * rng.standard_normal((12, 2))
    exact = Gaussian(length_scale).dx(X, Z)
    found = Gaussian(length_scale).transform(np.asarray).dx(X, Z)
    assert_allclose(found, exact, atol=1e-6 * np.abs(exact).max())
    alone = Gaussian(length_scale).transform(np.asarray).dx(X[:1], Z)  # whatever the other rows are
    assert_allclose(alone, exact[:1], atol=1e-6 * np.abs(exact).max())
    assert_allclose(Gaussian(length_scale).transform(np.asarray).dx(X[:1], X[:1]), 0.0, atol=1e-8 / length_scale)
