"""Tiles: the same matrix on any number of threads; equal rows as one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _threads, _tiles
from mercer.gram import ScaledGram, TiledGram
from mercer.gram.duplicates import duplicate_groups, merge_points
from mercer.kernels import Gaussian, Kernel


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(_tiles, "ROWS", 16)
    monkeypatch.setattr(_tiles, "COLUMNS", 32)
    monkeypatch.setattr(_tiles, "SMALL", 64)


def test_same_bits_in_every_run(small_tiles, rng):
    X, v = rng.standard_normal((200, 6)), rng.standard_normal(200)
    K = TiledGram(Gaussian(), X)
    first = K @ v
    for _ in range(5):
        assert_array_equal(K @ v, first)


def test_number_of_threads_changes_last_digits_only(small_tiles, rng, monkeypatch):
    X, v = rng.standard_normal((200, 6)), rng.standard_normal(200)
    results = []
    for number in (1, 2, 5):
        monkeypatch.setattr(_threads, "threads", lambda number=number: number)
        results.append((TiledGram(Gaussian(), X) @ v, Gaussian()(X)))
    for product, K in results[1:]:
        assert_allclose(product, results[0][0], rtol=1e-12)
        assert_array_equal(K, results[0][1])


def test_a_contraction_reads_the_lower_triangle_and_the_squares_on_the_diagonal(rng):
    n = 3 * _tiles.ROWS + 10
    X, W = rng.standard_normal((n, 2)), rng.standard_normal((n, n))
    W = W + W.T
    kernel = 1.5 * Gaussian([0.7, 1.2])
    expected = kernel.grad(X, X, W)
    for i0, i1, _, j1 in _tiles._lower_tiles(n):
        W[i0:i1, j1:] = np.nan if j1 == i1 else W[i0:i1, j1:]
    assert_allclose(TiledGram(kernel, X).grad(W), expected, rtol=1e-9)


def test_equal_rows_are_found_by_value():
    X = np.array([[1.0, 0.0], [2.0, 3.0], [1.0, -0.0], [2.0, 3.0], [5.0, 5.0]])
    first, group = duplicate_groups(X)
    assert_array_equal(first, [0, 1, 4])
    assert_array_equal(group, [0, 1, 0, 1, 2])
    assert duplicate_groups(X[[0, 1, 4]]) is None
    assert duplicate_groups(["a", "a"]) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_duplicate_groups_rebuild_x(dtype, rng):
    X = rng.integers(0, 3, (400, 4)).astype(dtype)
    first, group = duplicate_groups(X)
    assert_array_equal(X[first][group], X)
    assert len(first) == len(np.unique(X, axis=0))


def test_merge_keeps_weighted_means_and_spread(rng):
    group = np.array([0, 1, 0, 2, 1])
    y, w = rng.standard_normal((5, 2)), rng.uniform(0.5, 2.0, 5)
    mean, weight, spread = merge_points(y, w, group, 3)
    assert_allclose(weight, [w[0] + w[2], w[1] + w[4], w[3]])
    assert_allclose(mean[0], (w[0] * y[0] + w[2] * y[2]) / (w[0] + w[2]))
    assert_allclose(spread.sum(axis=0), (w[:, None] * (y - mean[group]) ** 2).sum(axis=0))


class Common(Kernel):
    """min(x, z) of whole numbers, as whole numbers; or whether they are equal."""

    def __init__(self, equal=False):
        self.equal = equal

    def _tile(self, X, Z):
        A, B = X[:, :1].astype(int), Z[:, 0].astype(int)
        return A == B if self.equal else np.minimum(A, B)

    def diag(self, X):
        return np.ones(len(X)) if self.equal else X[:, 0].copy()


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("size", [3, 90])
def test_a_kernel_may_return_whole_numbers(small_tiles, equal, size):
    x = np.arange(1.0, size + 1.0)
    expected = np.eye(size) if equal else np.minimum(x[:, None], x)
    assert_array_equal(Common(equal)(x[:, None]), expected)
    assert_array_equal(Common(equal)(x[:, None], x[:, None].copy()), expected)
    assert Common(equal)(x[:, None]).dtype == np.float64


def test_what_was_not_written_is_not_read(rng, monkeypatch):
    """Memory may hold anything, a signalling NaN too, where the lower triangle has no entry."""
    empty = np.empty

    def poisoned(shape, dtype=float, **options):
        out = empty(shape, dtype, **options)
        if out.dtype == np.float32:
            out.view(np.uint32)[...] = 0x7FA00000
        return out

    X = rng.standard_normal((400, 2))
    K = ScaledGram(TiledGram(Gaussian(1.0), X), rng.uniform(0.5, 2.0, 400))
    expected = np.tril(K.dense())
    monkeypatch.setattr(np, "empty", poisoned)
    with np.errstate(invalid="raise"):
        found = K.dense(np.float32, lower=True)
    assert_allclose(np.tril(found), expected, rtol=1e-5, atol=1e-6)
