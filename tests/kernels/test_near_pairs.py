"""Gradients with rows that nearly coincide: Σ W φ′(s) (a − b)² must not be multiplied out, for φ′ is huge there."""

import functools
import math

import numpy as np
import pytest

from mercer.gram import ScaledGram, TiledGram
from mercer.kernels import (
    Exponential,
    Gaussian,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    Product,
    RationalQuadratic,
)

RADIAL = {
    "gaussian": Gaussian,
    "exponential": Exponential,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational quadratic": RationalQuadratic,
    "matern 0.5": functools.partial(Matern, nu=0.5),
    "matern 0.8": functools.partial(Matern, nu=0.8),
    "matern 2.2": functools.partial(Matern, nu=2.2),
}


def near_duplicates(rng, n, d):
    """Rows of which each has a near twin, 1e-6 to 1e-14 away, and some an equal one."""
    X = rng.uniform(-1.0, 1.0, (n, d))
    apart = 10.0 ** rng.uniform(-14, -6, (n, 1))
    twins = X + apart * rng.standard_normal((n, d)) / math.sqrt(d)
    return np.vstack([X, twins, X[: n // 3]])[rng.permutation(2 * n + n // 3)]


def by_pairs(kernel, X, W):
    """∂/∂log ℓ of Σ W ∘ k pair by pair: −2 W φ′(s) (a − b)²/ℓ² for each column; and the sum of the terms' sizes."""
    scale = np.broadcast_to(np.asarray(kernel.length_scale, dtype=float), X.shape[1:])
    squares = {(i, j): ((X[i] - X[j]) / scale) ** 2 for i in range(len(X)) for j in range(len(X))}
    slope = kernel.dphi(np.array([math.fsum(pair) for pair in squares.values()]))
    out, size = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for (ij, pair), dphi in zip(squares.items(), slope, strict=True):
        out += -2.0 * W[ij] * dphi * pair
        size += np.abs(2.0 * W[ij] * dphi * pair)
    return out, size


@pytest.mark.parametrize("name", RADIAL)
@pytest.mark.parametrize("d", [1, 2, 5, 14])
def test_gradient_of_near_duplicates_is_that_of_a_plain_loop(name, d, loops, rng):
    X = near_duplicates(rng, 12, d)
    n = len(X)
    W = rng.standard_normal((n, n))
    W = W + W.T
    for scale in (0.7, rng.uniform(0.3, 2.0, d)):
        kernel = RADIAL[name](scale)
        if isinstance(kernel, RationalQuadratic):
            kernel.alpha_bounds = "fixed"
        columns, size = by_pairs(kernel, X, W)
        expected = columns if np.ndim(scale) else columns.sum(keepdims=True)
        atol = 1e-9 * size.sum()
        np.testing.assert_allclose(kernel.grad(X, X, W), expected, rtol=1e-8, atol=atol)
        np.testing.assert_allclose(TiledGram(kernel, X).grad(W), expected, rtol=1e-8, atol=atol)
        np.testing.assert_allclose((3.0 * kernel).grad(X, X, W)[1:], 3.0 * expected, rtol=1e-8, atol=3 * atol)
        cross = kernel.grad(X[:9], X[9:].copy(), W[:9, 9:]) + kernel.grad(X[9:].copy(), X[:9], W[9:, :9])
        square = kernel.grad(X[:9], X[:9], W[:9, :9]) + kernel.grad(X[9:], X[9:], W[9:, 9:])
        np.testing.assert_allclose(cross + square, expected, rtol=1e-8, atol=atol)


@pytest.mark.parametrize("apart", [1e-8, 1e-10, 1e-12, 1e-14])
def test_two_near_rows_in_a_rough_kernel(apart, loops):
    """Far from the others: multiplied out, the rounding of ‖a‖²/r is larger than all other terms."""
    X = np.array([[0.0, 0.0], [0.1, 0.3], [-0.2, 0.1], [37.1, 9.3], [37.1 + apart, 9.3]])
    W = np.ones((5, 5))
    for kernel in (Exponential([0.5, 0.8]), Matern([0.5, 0.8], nu=0.5)):
        expected, _ = by_pairs(kernel, X, W)
        np.testing.assert_allclose(kernel.grad(X, X, W), expected, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 14])
def test_the_weight_of_a_near_pair_may_be_huge(d, loops, rng):
    """As that of an adjoint without noise is: the inverse of K has entries like 1/(1 − k)."""
    X = near_duplicates(rng, 10, d)
    apart = np.abs(X[:, None] - X).max(axis=2)
    W = np.where((apart < 1e-5) & (apart > 0), 1e10, 1.0) * rng.choice([-1.0, 1.0], apart.shape)
    W = np.tril(W) + np.tril(W, -1).T
    W[np.diag_indices(len(X))] = 1e12
    for kernel in (Gaussian(np.full(d, 0.8)), Matern32(np.full(d, 0.8))):
        expected, size = by_pairs(kernel, X, W)
        np.testing.assert_allclose(kernel.grad(X, X, W), expected, rtol=1e-7, atol=1e-9 * size.max())


def test_an_outlier_does_not_make_every_pair_near(rng):
    X = rng.standard_normal((60, 3))
    X[7] = 900.0
    W = rng.standard_normal((60, 60))
    kernel = Gaussian([1.0, 2.0, 0.5])
    expected, size = by_pairs(kernel, X, W)
    np.testing.assert_allclose(kernel.grad(X, X, W), expected, rtol=0, atol=1e-9 * size.sum())


def test_by_many_tiles_and_scaled(small_tiles, loops, rng):
    X = near_duplicates(rng, 15, 3)
    n = len(X)
    W, s = rng.standard_normal((n, n)), rng.uniform(0.5, 2.0, n)
    W = W + W.T
    kernel = Exponential([0.5, 1.0, 2.0])
    expected, size = by_pairs(kernel, X, s[:, None] * W * s)
    got = ScaledGram(TiledGram(kernel, X), s).grad(W)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * size.sum())


def test_periodic_twins_one_period_apart(loops, rng):
    """On the circle they are near, wherever they are on the line."""
    X = rng.integers(-32, 32, (10, 2)) / 64.0
    X = np.vstack([X, X + [3.0, 0.0], X + 2.0**-40])
    W = rng.standard_normal((len(X), len(X)))
    kernel = Product(Periodic([0.7, 1.1], 3.0, period_bounds="fixed"), Exponential([0.9, 0.4]))
    step, theta = 1e-5, kernel.theta
    got = kernel.grad(X, X, W)
    for k in range(theta.size):
        up, down = (kernel.with_theta(theta + sign * step * np.eye(theta.size)[k])(X) for sign in (1, -1))
        assert got[k] == pytest.approx(np.sum(W * (up - down)) / (2 * step), rel=1e-5, abs=1e-7)
