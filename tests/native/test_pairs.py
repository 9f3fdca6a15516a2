"""Loops over pairs of rows: every compiled of the library against its twin in NumPy."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native
from mercer._native import Operations, plain

SIZES = [(0, 0, 3), (0, 5, 1), (1, 1, 0), (1, 1, 1), (3, 2, 2), (5, 17, 3), (9, 64, 4), (33, 129, 7), (6, 700, 33)]
TYPES = {np.float64: (1e300, 1e-3, 1e-11), np.float32: (np.float32(1e36), np.float32(2e-2), 2e-4)}


def rows(rng, m, n, d, dtype, size):
    """Two sets of rows, the first of them equal, and Bᵀ inside a wider matrix."""
    A, B = (size * rng.standard_normal((k, d)).astype(dtype) for k in (m, n))
    B[: min(2, m, n)] = A[: min(2, m, n)]
    wide = np.full((d, n + 5), 7.0, dtype)
    wide[:, 3 : 3 + n] = B.T
    return A, B, wide


def matrix(rng, m, n, dtype):
    """A matrix whose rows do not touch."""
    return rng.standard_normal((m, n + 3)).astype(dtype)[:, :n]


def one(code, d, dtype, shape=0.7):
    """A program of one radial function."""
    return Operations.radial(code, d, np.dtype(dtype).itemsize, shape)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1.0, 1e-12, 30.0])
def test_radial_values(compiled, dtype, size, rng):
    largest, _, tol = TYPES[dtype]
    for m, n, d in SIZES:
        A, _, wide = rows(rng, m, n, d, dtype, size)
        for code in (-1, *_native.CODES.values()):
            out, twin = matrix(rng, m, n, dtype), np.empty((m, n), dtype)
            compiled.pairs.tree(one(code, d, dtype), A, wide, 3, largest, out)
            plain.pairs.tree(one(code, d, dtype), A, wide, 3, largest, twin)
            assert_allclose(out, twin, rtol=tol, atol=tol * (size**2 if code == -1 else 1.0))
            if code >= 0 and min(m, n):
                assert out[0, 0] == 1.0  # equal rows


@pytest.mark.parametrize("dtype", TYPES)
def test_every_small_size(compiled, dtype, rng):
    """Each rest of a strip, and nothing beside the result is written to."""
    largest, _, tol = TYPES[dtype]
    A, _, wide = rows(rng, 6, 70, 5, dtype, 1.0)
    for m, n, d in itertools.product(range(7), range(68), (0, 1, 2, 5)):
        frame, twin = np.full((m + 1, n + 2), 7.0, dtype), np.empty((m, n), dtype)
        for loops, out in ((compiled, frame[:m, :n]), (_native.Loops(None), twin)):
            loops.pairs.tree(one(3, d, dtype), A[:m, :d], wide[:d], 2, largest, out)
        assert_allclose(frame[:m, :n], twin, rtol=tol, atol=tol)
        assert (frame[m:] == 7.0).all() and (frame[:, n:] == 7.0).all()


LEAVES = [  # what, φ, its columns, lengths
    (_native.RADIAL, "gaussian", 3, 2),
    (_native.RADIAL, "exponential", 6, 2),
    (_native.RADIAL, "matern52", 5, 1),
    (_native.RADIAL, "rationalquadratic", 2, 2),
    (_native.RADIAL, "matern32", 4, 0),
    (_native.COLUMN, "gaussian", 1, 1),
    (_native.COLUMN, "exponential", 1, 1),
    (_native.COLUMN, "matern32", 1, 0),
    (_native.COLUMN, "matern52", 1, 2),
    (_native.ANOVA, "gaussian", 2, 2),
    (_native.ANOVA, "exponential", 5, 2),
    (_native.ANOVA, "matern32", 0, 2),
    (_native.LINEAR, "gaussian", 3, 0),
    (_native.CONSTANT, "gaussian", 0, 0),
]
ROOTS = {"exponential": 1.0, "matern32": 3.0**0.5, "matern52": 5.0**0.5}


def tree(rng, A, B, leaves, powers):
    """(operations, points, Bᵀ in a wider matrix) of a random tree with these leaves."""
    operations, parts, used = [], [], 0
    roots = []  # the places of what is to be joined
    for what, name, d, lengths in leaves:
        first, at = used, -1
        chosen = rng.integers(0, A.shape[1], d)
        parts.append((A[:, chosen], B[:, chosen]))
        used += d
        if powers and what in (_native.COLUMN, _native.ANOVA) and name in ROOTS:
            at, used = used, used + 2 * d
            signs = np.tile([ROOTS[name], -ROOTS[name]], d).astype(A.dtype)
            parts.append(tuple(np.exp(signs * np.repeat(U[:, chosen], 2, axis=1)) for U in (A, B)))
        scale, shape = rng.uniform(0.5, 2.0, 2)
        operations.append((what, _native.CODES[name], first, d, at, lengths, 0, scale, shape))
        roots.append(len(operations) - 1)
        while len(roots) > 1 and (rng.random() < 0.5 or len(leaves) == sum(o[0] > 1 for o in operations)):
            roots.pop()
            what = rng.choice([_native.SUM, _native.PRODUCT])
            operations.append((what, 0, 0, 0, -1, 0, roots.pop(), 1.0, 1.0))
            roots.append(len(operations) - 1)
    A, B = (np.hstack(side).astype(A.dtype) for side in zip(*parts, strict=True))
    wide = np.full((used, len(B) + 5), 7.0, A.dtype)
    wide[:, 3 : 3 + len(B)] = B.T
    return Operations(operations, used, A.itemsize), np.ascontiguousarray(A), wide


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("powers", [False, True])
def test_trees(compiled, dtype, powers, rng):
    """Each leaf alone, and trees of several."""
    largest, _, tol = TYPES[dtype]
    some = [[LEAVES[k] for k in rng.integers(0, len(LEAVES), count)] for count in (2, 3, 4, 5, 7, 12)]
    for leaves in [*([leaf] for leaf in LEAVES), *some]:
        for m, n in [(0, 0), (0, 3), (4, 0), (1, 1), (5, 17), (3, 130), (2, 700)]:
            A, B = (0.7 * rng.standard_normal((k, 6)).astype(dtype) for k in (m, n))
            B[: min(2, m, n)] = A[: min(2, m, n)]
            operations, A, wide = tree(rng, A, B, leaves, powers)
            out, twin, W = matrix(rng, m, n, dtype), np.empty((m, n), dtype), matrix(rng, m, n, dtype)
            compiled.pairs.tree(operations, A, wide, 3, largest, out)
            plain.pairs.tree(operations, A, wide, 3, largest, twin)
            size = 1 + np.abs(twin).max(initial=0.0)
            assert_allclose(out, twin, rtol=tol, atol=tol * size)
            got, expected = np.zeros((2, 2 * operations.count + A.shape[1]))
            compiled.pairs.tree_contract(operations, A, wide, 3, W, largest, got)
            plain.pairs.tree_contract(operations, A, wide, 3, W, largest, expected)
            assert_allclose(got, expected, rtol=10 * tol, atol=10 * tol * (1 + m * n) * 4.0 ** len(leaves))


@pytest.mark.parametrize("name", ROOTS)
def test_powers_give_exactly_1_for_equal_rows(compiled, name, rng):
    u = np.concatenate([rng.uniform(-140.0, 140.0, 200), 1e-17 * np.arange(50), 1.0 + 1e-16 * np.arange(50)])
    operations = Operations([(_native.COLUMN, _native.CODES[name], 0, 1, 1, 1, 0, 1.0, 1.0)], 3, 8)
    A = np.column_stack([u, np.exp(ROOTS[name] * u), np.exp(-ROOTS[name] * u)])
    out, twin = np.empty((300, 300)), np.empty((300, 300))
    compiled.pairs.tree(operations, A, np.ascontiguousarray(A.T), 0, 1e300, out)
    plain.pairs.tree(operations, A, np.ascontiguousarray(A.T), 0, 1e300, twin)
    assert (out[u[:, None] == u] == 1.0).all() and out.max() <= 1.0 + 1e-15
    assert_allclose(out, twin, rtol=1e-12, atol=1e-300)  # of e^(-600) two digits are lost by either


@pytest.mark.parametrize("dtype", TYPES)
def test_radial_values_from_a_product(compiled, dtype, rng):
    largest, near, tol = TYPES[dtype]
    for m, n, d in SIZES:
        A, B, _ = rows(rng, m, n, d, dtype, 1.0)
        aa, bb = (A**2).sum(axis=1), (B**2).sum(axis=1)
        for code in (-1, *_native.CODES.values()):
            out, twin = matrix(rng, m, n, dtype), np.empty((m, n), dtype)
            out[:] = twin[:] = A @ B.T
            compiled.pairs.radial_from_product(code, out, aa, bb, A, B, near, largest)
            plain.pairs.radial_from_product(code, twin, aa, bb, A, B, near, largest)
            assert_allclose(out, twin, rtol=tol, atol=tol * (20.0 if code == -1 else 1.0))


@pytest.mark.parametrize("dtype", TYPES)
def test_contractions_of_a_product(compiled, dtype, rng):
    largest, near, tol = TYPES[dtype]
    for m, n, d in SIZES:
        A, B, wide = rows(rng, m, n, d, dtype, 1.0)
        aa, bb, W = (A**2).sum(axis=1), (B**2).sum(axis=1), matrix(rng, m, n, dtype)
        close = {"rtol": tol, "atol": tol * (1 + m * n)}
        for code in _native.CODES.values():
            found = []
            for pairs in (compiled.pairs, plain.pairs):
                G, across, columns, sums = A @ B.T, np.empty(m), np.ones(n), np.ones(d)
                total = pairs.radial_contract_product(code, G, aa, bb, A, B, near, largest, W, across, columns, sums)
                found.append([total, G, across, columns, sums])
            for one, other in zip(*found, strict=True):
                assert_allclose(one, other, **close)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_sum_norm(compiled, dtype, rng):
    tol = TYPES[dtype][2]
    for m, n, d in SIZES:
        A, B, _ = rows(rng, m, n, d, dtype, 1.0)
        Bt, out, twin = np.ascontiguousarray(B.T), matrix(rng, m, n, dtype), np.empty((m, n), dtype)
        compiled.pairs.laplacian(A, Bt, out)
        plain.pairs.laplacian(A, Bt, twin)
        assert_allclose(out, twin, rtol=tol, atol=tol)
        got, expected, V = np.ones(d), np.ones(d), matrix(rng, m, n, dtype)
        compiled.pairs.weighted_abs(V, A, Bt, got)
        plain.pairs.weighted_abs(V, A, Bt, expected)
        assert_allclose(got, expected, rtol=tol, atol=tol * (1 + m * n))


def test_weights_in_any_layout(compiled, rng):
    A, _, wide = rows(rng, 6, 9, 3, np.float64, 1.0)
    W, found = rng.standard_normal((9, 6)).T, np.zeros((2, 5))
    for weights, some in zip((W, np.ascontiguousarray(W)), found, strict=True):
        compiled.pairs.tree_contract(one(2, 3, float), A, wide, 3, weights, 1e300, some)
    assert (found[0] == found[1]).all() and found[0, 2:].all()


@pytest.mark.parametrize("dtype", TYPES)
def test_extreme_values(compiled, dtype):
    """What is far away is not alike, equal rows are, and NaN stays NaN."""
    A = np.array([[0.0], [1e30], [np.nan]], dtype=dtype)
    far = np.array([[1e200 if dtype is np.float64 else 1e25, 0.0]], dtype=dtype)
    for code in _native.CODES.values():
        out = np.empty((3, 2), dtype)
        compiled.pairs.tree(one(code, 1, dtype), A, far, 0, TYPES[dtype][0], out)
        assert max(out[0, 0], out[1, 1]) < 1e-15 and out[0, 1] == 1.0 and np.isnan(out[2]).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_lower_triangles(compiled, dtype, rng):
    for n in (0, 1, 2, 31, 32, 33, 100):
        A = rng.standard_normal((n, n + 2)).astype(dtype)[:, :n]
        root, first = rng.uniform(0.5, 2.0, n).astype(dtype), n // 3
        got, twin = A.copy(), A.copy()
        compiled.matrix.clear_lower(got, first, n, 0.3, root)
        plain.matrix.clear_lower(twin, first, n, 0.3, root)
        np.testing.assert_array_equal(got, twin)
        for loops in (compiled, _native.Loops(None)):
            M = A.copy()
            for k in range(0, n, 40):
                loops.matrix.mirror(M, k, min(k + 40, n))
            np.testing.assert_array_equal(M, np.tril(A) + np.tril(A, -1).T)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_transpose_is_exact_and_writes_nothing_beside_it(compiled, plain, dtype, rng):
    for m, n in [(0, 0), (0, 9), (9, 0), (1, 1), (7, 33), (8, 8), (16, 16), (17, 40), (256, 512), (100, 129)]:
        T, whole, twin = matrix(rng, m, n, dtype), np.full((n + 1, m + 5), 7.0, dtype), np.empty((n, m), dtype)
        compiled.matrix.transpose(T, whole[:n, 2 : 2 + m])
        plain.matrix.transpose(T, twin)
        np.testing.assert_array_equal(whole[:n, 2 : 2 + m], twin)
        np.testing.assert_array_equal(twin, T.T)
        assert (whole[n] == 7.0).all() and (whole[:, :2] == 7.0).all() and (whole[:, 2 + m :] == 7.0).all()
