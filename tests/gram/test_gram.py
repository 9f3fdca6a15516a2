"""Every Gram against the dense matrix of NumPy: products, rows, diagonal, copies, contraction."""

import cProfile
import pickle

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


GRAMS = ["dense", "tiled", "scaled", "scaled dense", "scaled twice"]


def make(name, X, rng):
    """(Gram, its matrix, the s in it)."""
    inner, s = DenseGram(KERNEL, X) if "dense" in name else TiledGram(KERNEL, X), np.ones(len(X))
    for _ in range(2 if "twice" in name else "scaled" in name):
        factor = rng.uniform(0.5, 2.0, len(X))
        inner, s = ScaledGram(inner, factor), s * factor
    return inner, s[:, None] * KERNEL(X) * s, s


@pytest.mark.parametrize("name", GRAMS)
def test_gram_is_the_matrix(name, X, tiles, rng):
    G, K, s = make(name, X, rng)
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
    assert_allclose(G.grad(W), KERNEL.grad(X, X, s[:, None] * W * s), rtol=1e-9, atol=1e-10)
    t = rng.uniform(0.5, 2.0, n)
    assert_allclose(G.grad(W, t), KERNEL.grad(X, X, (s * t)[:, None] * W * (s * t)), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", GRAMS)
def test_restrict_is_a_part_of_the_matrix_with_all_that_it_can(name, tiles, rng):
    X = rng.standard_normal((23, 3))
    G, K, s = make(name, X, rng)
    for index in ([4, 0, 17, 22, 3, 11, 9, 1, 2], np.arange(23)[::-1], [5]):
        index = np.asarray(index)
        part, matrix = G.restrict(index), K[np.ix_(index, index)]
        m = len(index)
        assert type(part) is type(G) and part.n == m
        assert_allclose(part.dense(), matrix, rtol=1e-10, atol=1e-13)
        assert_allclose(part.diag(), np.diag(matrix), rtol=1e-12)
        assert_allclose(part @ np.ones(m), matrix.sum(axis=1), rtol=1e-10, atol=1e-12)
        assert_allclose(part.rows([m - 1]), matrix[[m - 1]], rtol=1e-10, atol=1e-13)
        W = rng.standard_normal((m, m))
        W, t = W + W.T, s[index]
        assert_allclose(part.grad(W), KERNEL.grad(X[index], X[index], t[:, None] * W * t), rtol=1e-9, atol=1e-10)
        assert_array_equal(part.represent(np.ones(m))[0], X[index])
        assert_allclose(part.restrict([0]).dense(), matrix[:1, :1], rtol=1e-12)


@pytest.mark.parametrize("name", GRAMS)
def test_cross_is_the_kernel_with_new_points(name, tiles, rng):
    X, new = rng.standard_normal((23, 3)), rng.standard_normal((31, 3))
    G, _, s = make(name, X, rng)
    cross, alpha = G.cross(new), rng.standard_normal((23, 2))
    assert_allclose(cross, KERNEL(new, X) * s, rtol=1e-10, atol=1e-13)
    points, coef = G.represent(alpha)
    assert_allclose(cross @ alpha, apply(KERNEL, new, points, coef), rtol=1e-9, atol=1e-11)


def test_a_plain_matrix_has_a_part_but_no_points(rng):
    K = KERNEL(rng.standard_normal((6, 3)))
    G = DenseGram.from_matrix(K)
    assert_array_equal(G.restrict([5, 2]).dense(), K[np.ix_([5, 2], [5, 2])])
    assert G.restrict([5, 2]).grad(np.ones((2, 2))).shape == (0,)
    for ask in (lambda: G.cross(np.zeros((1, 3))), lambda: G.represent(np.zeros(6))):
        with pytest.raises(ValueError, match="points"):
            ask()


def test_what_is_kept_for_the_gradient_is_not_the_callers(rng):
    """A caller destroys the matrix; the gradient, and a second matrix, do not see it. Nor does a file or a pickle."""
    X, W = rng.standard_normal((30, 2)), rng.standard_normal((30, 30))
    W = W + W.T
    for kernel in (Gaussian(), 2.0 * Matern32([0.5, 1.0]), KERNEL.left.kernel.fixed() + Linear() * Gaussian()):
        X = rng.standard_normal((30, 3 if kernel.n_theta == 1 else 2))
        G = TiledGram(kernel, X)
        first = G.dense(lower=True)
        K, expected = first.copy(), kernel.grad(X, X, W)
        first[...] = np.nan
        assert_allclose(G.grad(W), expected, rtol=1e-10, atol=1e-10)
        assert_allclose(G.grad(2.0 * W), 2.0 * expected, rtol=1e-10, atol=1e-10)
        assert_array_equal(G.dense(lower=True), K)
        again = pickle.loads(pickle.dumps(G))
        assert vars(again).keys() == {"kernel", "X", "dtype", "n"}
        assert_allclose(again.grad(W), expected, rtol=1e-10, atol=1e-10)


def test_inputs_are_taken_as_they_are(rng, monkeypatch):
    """Whoever makes the rows has validated them: a Gram does not do it again, a kernel that is called does."""
    calls = []
    monkeypatch.setattr(Gaussian, "validate", lambda self, X: calls.append(1) or np.asarray(X, dtype=float))
    X = rng.standard_normal((12, 2))
    G = ScaledGram(TiledGram(1.5 * Gaussian(), X), np.ones(12))
    G.dense(), G.diag(), G.rows([1, 2]), G.cross(X[:3]), G.grad(np.eye(12)), G @ np.ones(12), G.restrict([1, 2]).dense()
    assert calls == []
    Gaussian()([[0.0], [1.0]])
    assert calls == [1]


@pytest.mark.parametrize(("d", "scale"), [(1, 0.3), (5, np.full(5, 0.5))], ids=["one column", "ARD"])
def test_an_evaluation_is_cheap_python(d, scale, rng):
    """Of 50 rows the arithmetic takes 20 µs: a trial of a search must not spend ten times that on calls."""
    X, kernel = rng.uniform(size=(50, d)), 1.0 * Matern32(scale)
    W, theta = np.ones((50, 50)), kernel.theta

    def evaluate():
        K = TiledGram(kernel.with_theta(theta), X)
        K.dense(lower=True), K.grad(W), K.diag()

    evaluate()
    profile = cProfile.Profile()
    profile.runcall(evaluate)
    assert sum(entry.callcount for entry in profile.getstats()) <= 150


@pytest.mark.parametrize("name", GRAMS)
def test_dense_is_fresh(name, X, rng):
    G, K, _ = make(name, X, rng)
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
    with pytest.raises(ValueError, match="shape"):
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
