"""Hyper-parameters: what is refused, what is fixed, and the way between values and log θ."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import (
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    GaussianBasis,
    Laplacian,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Scaled,
)

X = np.random.default_rng(0).standard_normal((5, 3))
WITH_LENGTH = [Gaussian, Exponential, Matern32, Matern52, Matern, RationalQuadratic, Laplacian, Periodic]


@pytest.mark.parametrize("cls", WITH_LENGTH)
@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan, [1.0, 0.0, 1.0], [1.0, -1.0, 1.0]], ids=str)
def test_length_scale_must_be_positive_and_finite(cls, bad):
    with pytest.raises(ValueError, match=f"{cls.__name__}.*length_scale"):
        cls(bad)(X)


@pytest.mark.parametrize("cls", WITH_LENGTH)
@pytest.mark.parametrize("wrong", [[1.0, 2.0], [1.0] * 4, [[1.0, 2.0, 3.0]]], ids=str)
def test_ard_of_the_wrong_length_says_both_numbers(cls, wrong):
    with pytest.raises(ValueError, match=f"length_scale.*{np.size(wrong)} .* 3 "):
        cls(wrong)(X)


@pytest.mark.parametrize("cls", WITH_LENGTH)
def test_ard_of_length_one_is_one_length_scale(cls):
    np.testing.assert_array_equal(cls([0.7])(X), cls(0.7)(X))
    assert cls([0.7]).names[0] == "length_scale[0]"
    W = np.ones((5, 5))
    np.testing.assert_allclose(cls([0.7]).grad(X, X, W), cls(0.7).grad(X, X, W), rtol=1e-14)


@pytest.mark.parametrize("period", [0.0, -1.0, np.inf, [1.0, 0.0, 1.0]], ids=str)
def test_period_must_be_positive(period):
    for kernel in (Periodic(1.0, period), Cosine(period)):
        with pytest.raises(ValueError, match="period"):
            kernel(X)


@pytest.mark.parametrize("nu", [0.0, -1.0, np.inf])
def test_matern_smoothness_must_be_positive(nu):
    with pytest.raises(ValueError, match="nu"):
        Matern(nu=nu)(X)


@pytest.mark.parametrize(
    "bounds", [(2.0, 1.0), (1.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (1.0, np.inf), (np.nan, 1.0)], ids=str
)
def test_bounds_must_be_ordered(bounds):
    with pytest.raises(ValueError, match="length_scale_bounds"):
        Gaussian(1.0, length_scale_bounds=bounds).theta_bounds  # noqa: B018


@pytest.mark.parametrize("bounds", [(1.0,), 3.0, [(0.1, 1.0)] * 2, "free"], ids=str)
def test_bounds_of_another_form_are_refused(bounds):
    with pytest.raises(ValueError, match="length_scale_bounds"):
        Gaussian([1.0, 1.0, 1.0], length_scale_bounds=bounds).theta_bounds  # noqa: B018


def test_bounds_for_each_column():
    pairs = [(0.1, 1.0), (0.2, 2.0), (0.3, 3.0)]
    kernel = Gaussian([1.0, 1.0, 1.0], length_scale_bounds=pairs)
    np.testing.assert_allclose(np.exp(kernel.theta_bounds), pairs, rtol=1e-14)


def test_default_bounds():
    np.testing.assert_allclose(np.exp(Gaussian().theta_bounds), [[1e-5, 1e5]], rtol=1e-12)
    np.testing.assert_allclose(np.exp((2.0 * Linear()).theta_bounds), [[1e-10, 1e10]], rtol=1e-12)


def test_fixed_is_left_out_and_kept():
    kernel = RationalQuadratic(0.7, 2.0, length_scale_bounds="fixed")
    assert kernel.names == ["alpha"] and kernel.n_theta == 1
    moved = kernel.with_theta([0.0])
    assert moved.alpha == 1.0 and moved.length_scale == 0.7 and moved.length_scale_bounds == "fixed"
    still = (2.0 * kernel + Periodic()).fixed()
    assert still.n_theta == 0 and still.names == [] and still.theta_bounds.shape == (0, 2)
    assert still.grad(X, X, np.ones((5, 5))).shape == (0,)


def test_names_in_the_order_of_theta():
    kernel = 3.0 * Gaussian([0.5, 1.0, 2.0]) + Periodic(0.7, 2.0) * Polynomial(2, 0.5)
    assert kernel.names == [
        "left__scale",
        "left__kernel__length_scale[0]",
        "left__kernel__length_scale[1]",
        "left__kernel__length_scale[2]",
        "right__left__length_scale",
        "right__left__period",
        "right__right__offset",
    ]
    np.testing.assert_allclose(np.exp(kernel.theta), [3.0, 0.5, 1.0, 2.0, 0.7, 2.0, 0.5], rtol=1e-15)


def test_with_theta_returns_a_copy():
    kernel = 3.0 * Gaussian([0.5, 1.0, 2.0])
    other = kernel.with_theta(np.log([1.0, 2.0, 3.0, 4.0]))
    assert kernel == 3.0 * Gaussian([0.5, 1.0, 2.0])
    np.testing.assert_allclose(other.kernel.length_scale, [2.0, 3.0, 4.0], rtol=1e-15)
    with pytest.raises(ValueError, match=r"theta.* 4 .*\(3,\)"):
        kernel.with_theta(np.zeros(3))


def test_get_params_set_params_and_clone():
    kernel = 3.0 * Gaussian(0.5) + GaussianBasis([[0.0, 0.0, 0.0]])
    kernel.set_params(left__kernel__length_scale=0.9, right__width=2.0)
    assert kernel.left.kernel.length_scale == 0.9 and kernel.right.width == 2.0
    copy = clone(kernel)
    assert copy == kernel and copy.left is not kernel.left


def test_constructors_only_store():
    for kernel in (Gaussian("x"), Constant(-1.0), Scaled(None, -2.0), Polynomial("two"), Periodic(0.0, None)):
        assert all(getattr(kernel, name) is value for name, value in kernel.get_params(deep=False).items())


@pytest.mark.parametrize(("bad", "message"), [(np.ones(3), "reshape"), (np.ones((2, 2, 2)), "3-D"), (1.0, "0-D")])
def test_other_shapes_are_refused_with_a_hint(bad, message):
    with pytest.raises(ValueError, match=message):
        Gaussian()(bad)


def test_columns_of_x_and_z_must_agree():
    with pytest.raises(ValueError, match=" 3 .* 2"):
        Gaussian()(X, X[:, :2])


def test_complex_is_refused_and_integers_are_read():
    with pytest.raises(ValueError, match="complex"):
        Gaussian()(np.ones((2, 2), dtype=complex))
    np.testing.assert_array_equal(Gaussian()(np.array([[0], [1]])), Gaussian()([[0.0], [1.0]]))


def test_mixed_precision_is_computed_in_the_wider_one():
    K = Gaussian()(X.astype(np.float32), X)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, Gaussian()(X.astype(np.float32).astype(float), X), rtol=1e-14)


@pytest.mark.parametrize("layout", ["F", "strided", "reversed", "readonly", "byteswapped"])
def test_memory_layout_does_not_matter(layout, loops):
    wide = np.random.default_rng(0).standard_normal((12, 12))
    Y = wide[::2, ::2]
    Y = {
        "F": np.asfortranarray(Y),
        "strided": Y,
        "reversed": Y[::-1, ::-1],
        "readonly": Y.copy(),
        "byteswapped": Y.astype(Y.dtype.newbyteorder()),
    }[layout]
    if layout == "readonly":
        Y.flags.writeable = False
    plain = np.array(Y, dtype=np.float64, order="C")
    for kernel in (Gaussian(), Laplacian(), Linear(), Periodic(), Exponential([0.5, 1, 2, 3, 4, 5])):
        np.testing.assert_allclose(kernel(Y), kernel(plain), rtol=1e-13, atol=1e-15)
