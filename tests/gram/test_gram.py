"""Every Gram against the dense matrix of NumPy: products, rows, diagonal, copies, contraction."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _tiles
from mercer.gram import DenseGram, ScaledGram, TiledGram, apply
from mercer.kernels import Gaussian, Linear, Matern32

KERNEL = 2.0 * Gaussian([0.5, 1.0, 2.0]) + Linear() * Matern32(1.5)


@pytest.fixture(params=[(4, 8), (8, 8), (8, 24), (512, 2048)], ids=str)
def tiles(request, monkeypatch):
    """Tiles of several shapes, so that boundaries fall everywhere."""
    rows, columns = request.param
    monkeypatch.setattr(_tiles, "ROWS", rows)
    monkeypatch.setattr(_tiles, "COLUMNS", columns)
    monkeypatch.setattr(_tiles, "SMALL", rows * columns)


@pytest.fixture(params=[1, 3, 7, 8, 9, 41])
def X(request, rng):
    return rng.standard_normal((request.param, 3))


def make(name, X, rng):
    inner = DenseGram(KERNEL, X) if name == "dense" else TiledGram(KERNEL, X)
    if name != "scaled":
        return inner, KERNEL(X)
    s = rng.uniform(0.5, 2.0, len(X))
    return ScaledGram(inner, s), s[:, None] * KERNEL(X) * s


@pytest.mark.parametrize("name", ["dense", "tiled", "scaled"])
def test_gram_is_the_matrix(name, X, tiles, rng):
    G, K = make(name, X, rng)
    n = len(X)
    V = rng.standard_normal((n, 2))
    assert G.shape == (n, n)
    assert_allclose(G @ V, K @ V, rtol=1e-10, atol=1e-12)
    assert_allclose(G @ V[:, 0], K @ V[:, 0], rtol=1e-10, atol=1e-12)
    assert_allclose(G.diag(), np.diag(K), rtol=1e-12)
    assert_allclose(G.rows([n - 1, 0]), K[[n - 1, 0]], rtol=1e-10, atol=1e-13)
    assert_allclose(G.dense(), K, rtol=1e-10, atol=1e-13)
    assert_allclose(np.tril(G.dense(lower=True)), np.tril(K), rtol=1e-10, atol=1e-13)
    assert_allclose(G.dense(np.float32), K, rtol=1e-4, atol=1e-5)
    assert_array_equal(G.dense(), G.dense().T)
    W = rng.standard_normal((n, n))
    W = W + W.T
    s = G.s if name == "scaled" else np.ones(n)
    assert_allclose(G.grad(W), KERNEL.grad(X, X, s[:, None] * W * s), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["dense", "tiled", "scaled"])
def test_dense_is_fresh(name, X, rng):
    G, K = make(name, X, rng)
    G.dense()[:] = 0.0
    assert_allclose(G.dense(), K, rtol=1e-10, atol=1e-13)


def test_represent_predicts(X, rng):
    s, alpha = rng.uniform(0.5, 2.0, len(X)), rng.standard_normal((len(X), 2))
    points, coef = ScaledGram(TiledGram(KERNEL, X), s).represent(alpha)
    new = rng.standard_normal((5, 3))
    assert_allclose(apply(KERNEL, new, points, coef), KERNEL(new, X) @ (s[:, None] * alpha), rtol=1e-10)


def test_apply_by_tiles(tiles, X, rng):
    new, coef = rng.standard_normal((37, 3)), rng.standard_normal((len(X), 2))
    assert_allclose(apply(KERNEL, new, X, coef), KERNEL(new, X) @ coef, rtol=1e-10, atol=1e-12)


def test_wrong_length_is_named(X):
    with pytest.raises(ValueError, match="right-hand side"):
        TiledGram(KERNEL, X) @ np.ones(len(X) + 1)
    with pytest.raises(ValueError, match="length"):
        ScaledGram(TiledGram(KERNEL, X), np.ones(len(X) + 1))
    with pytest.raises(ValueError, match="square"):
        DenseGram.from_matrix(np.ones((2, 3)))


def test_offset_of_1e8_leaves_k_accurate(rng):
    """X is centred before float32 and before any product: whole numbers plus 1e8 are exact in float64."""
    base = rng.integers(-8, 8, (300, 10)) / 4.0
    for kernel in (Gaussian(1.5), Matern32(2.0), Gaussian(np.full(10, 1.5))):
        near, far = TiledGram(kernel, base), TiledGram(kernel, base + 1e8)
        assert_allclose(far.dense(), near.dense(), atol=1e-9)
        assert_allclose(far.dense(np.float32), near.dense(np.float32), atol=1e-5)


def test_float32_sums_are_kept_in_float64(rng):
    X = rng.standard_normal((400, 4))
    v = np.ones(400)
    got = TiledGram(Gaussian(), X, dtype=np.float32) @ v
    assert got.dtype == np.float64
    assert_allclose(got, Gaussian()(X) @ v, rtol=1e-5)


def test_gradient_needs_no_n_by_n_by_p_array(rng):
    """Contracting 20 length scales with W takes a few tiles beside W, not n² p numbers."""
    import tracemalloc

    n, d = 1500, 20
    X = rng.standard_normal((n, d))
    W = np.ones((n, n))
    K = TiledGram(Gaussian(np.full(d, 2.0)), X)
    K.grad(W)
    tracemalloc.start()
    K.grad(W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 8 * n * n


def test_scaled_gradient_is_that_of_the_scaled_weights_to_the_last_bit(rng):
    X, s = rng.standard_normal((600, 3)), rng.uniform(0.5, 2.0, 600)  # several tiles
    W = rng.standard_normal((600, 600))
    W += W.T
    K = TiledGram(1.5 * Gaussian(np.ones(3)), X)
    np.testing.assert_array_equal(ScaledGram(K, s).grad(W), K.grad(s[:, None] * W * s))
