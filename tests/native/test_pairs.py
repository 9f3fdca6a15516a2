"""Loops over pairs of rows: every compiled of the library against its twin in NumPy."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import _native
from mercer._native import plain

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


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1.0, 1e-12, 30.0])
def test_radial_values(compiled, dtype, size, rng):
    largest, _, tol = TYPES[dtype]
    for m, n, d in SIZES:
        A, _, wide = rows(rng, m, n, d, dtype, size)
        for code in (-1, *_native.CODES.values()):
            out, twin = matrix(rng, m, n, dtype), np.empty((m, n), dtype)
            compiled.pairs.radial(code, A, wide, 3, largest, out, 0.7)
            plain.pairs.radial(code, A, wide, 3, largest, twin, 0.7)
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
            loops.pairs.radial(3, A[:m, :d], wide[:d], 2, largest, out)
        assert_allclose(frame[:m, :n], twin, rtol=tol, atol=tol)
        assert (frame[m:] == 7.0).all() and (frame[:, n:] == 7.0).all()


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
def test_contractions(compiled, dtype, rng):
    largest, near, tol = TYPES[dtype]
    for m, n, d in SIZES:
        A, B, wide = rows(rng, m, n, d, dtype, 1.0)
        aa, bb, W = (A**2).sum(axis=1), (B**2).sum(axis=1), matrix(rng, m, n, dtype)
        close = {"rtol": tol, "atol": tol * (1 + m * n)}
        for code in _native.CODES.values():
            got, twin = np.ones(d), np.ones(d)
            totals = compiled.pairs.radial_contract(code, A, wide, 3, W, largest, got, 0.7)
            assert_allclose(totals, plain.pairs.radial_contract(code, A, wide, 3, W, largest, twin, 0.7), **close)
            assert_allclose(got, twin, **close)
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
    W, sums = rng.standard_normal((9, 6)).T, [np.zeros(3), np.zeros(3)]
    totals = [
        compiled.pairs.radial_contract(2, A, wide, 3, weights, 1e300, found)
        for weights, found in zip((W, np.ascontiguousarray(W)), sums, strict=True)
    ]
    assert totals[0] == totals[1] and (sums[0] == sums[1]).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_extreme_values(compiled, dtype):
    """What is far away is not alike, equal rows are, and NaN stays NaN."""
    A = np.array([[0.0], [1e30], [np.nan]], dtype=dtype)
    far = np.array([[1e200 if dtype is np.float64 else 1e25, 0.0]], dtype=dtype)
    for code in _native.CODES.values():
        out = np.empty((3, 2), dtype)
        compiled.pairs.radial(code, A, far, 0, TYPES[dtype][0], out)
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
@pytest.mark.parametrize("profile", ["gaussian", "exponential", "matern32"])
def test_anova(compiled, dtype, profile, rng):
    code, tol = _native.CODES[profile], 20 * TYPES[dtype][2]
    for m, n, d in SIZES:
        A, _, wide = rows(rng, m, n, d, dtype, 1.0)
        W, out, twin = matrix(rng, m, n, dtype), matrix(rng, m, n, dtype), np.empty((m, n), dtype)
        compiled.pairs.anova(code, A, wide, 3, 0.5, 1.5**-d, out)
        plain.pairs.anova(code, A, wide, 3, 0.5, 1.5**-d, twin)
        assert_allclose(out, twin, rtol=tol, atol=tol)
        got, expected = np.ones(d), np.ones(d)
        totals = compiled.pairs.anova_contract(code, A, wide, 3, W, 0.5, got)
        size = 1 + np.abs(W).sum() * 1.5**d
        assert_allclose(
            totals, plain.pairs.anova_contract(code, A, wide, 3, W, 0.5, expected), rtol=tol, atol=tol * size
        )
        assert_allclose(got, expected, rtol=tol, atol=tol * size)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_transpose_is_exact_and_writes_nothing_beside_it(compiled, plain, dtype, rng):
    for m, n in [(0, 0), (0, 9), (9, 0), (1, 1), (7, 33), (8, 8), (16, 16), (17, 40), (256, 512), (100, 129)]:
        T, whole, twin = matrix(rng, m, n, dtype), np.full((n + 1, m + 5), 7.0, dtype), np.empty((n, m), dtype)
        compiled.matrix.transpose(T, whole[:n, 2 : 2 + m])
        plain.matrix.transpose(T, twin)
        np.testing.assert_array_equal(whole[:n, 2 : 2 + m], twin)
        np.testing.assert_array_equal(twin, T.T)
        assert (whole[n] == 7.0).all() and (whole[:, :2] == 7.0).all() and (whole[:, 2 + m :] == 7.0).all()
