"""The nearest rows and the small systems: compiled and in NumPy, beside sorting everything and solving each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def sorted_all(S, k, upto, own):
    """By sorting; of equal ones the first."""
    out = np.full((len(S), k), -1)
    for i, s in enumerate(S):
        may = [j for j in np.argsort(s, kind="stable") if j < upto[i] and j != own[i] and np.isfinite(s[j])][:k]
        out[i, : len(may)] = may
    return out


def squared(A, B):
    return np.square(A[:, None] - B).sum(axis=2)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_nearest_of_whole_numbers_are_exact(compiled, plain, seed):
    """Ties everywhere: the same rows in the same order, from all ways."""
    rng = np.random.default_rng(seed)
    m, n, d, k = rng.integers(0, 6), rng.integers(0, 40), rng.integers(1, 7), rng.integers(0, 50)
    A, B = rng.integers(-2, 3, (m, d)).astype(float), rng.integers(-2, 3, (n, d)).astype(float)
    upto, own = rng.integers(0, n + 1, m), rng.integers(-1, max(n, 1), m)
    S = squared(A, B)
    expected = sorted_all(S, k, upto, own)
    for loops in (compiled, plain):
        found = loops.neighbours.nearest(A, np.ascontiguousarray(B.T), k, upto, own)
        assert found.dtype == np.int64 and found.shape == (m, k)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(loops.neighbours.smallest(S.copy(), k, upto, own), expected)


@pytest.mark.parametrize("n", [511, 512, 513, 1700])
def test_nearest_across_strips(n, compiled, plain, rng):
    A, B, k = rng.standard_normal((5, 9)), rng.standard_normal((n, 9)), 40
    upto, own = np.array([n, 512, 511, 30, 1025])[:5].clip(max=n), np.array([0, 511, -1, 3, n - 1])
    expected = sorted_all(squared(A, B), k, upto, own)
    wide = np.full((9, n + 3), np.nan)  # rows that do not touch
    wide[:, :n] = B.T
    for loops in (compiled, plain):
        np.testing.assert_array_equal(loops.neighbours.nearest(A, wide[:, :n], k, upto, own), expected)
        np.testing.assert_array_equal(loops.neighbours.nearest(np.asfortranarray(A), B.T, k, upto, own), expected)


def test_rows_beyond_float64_are_still_found(compiled, plain):
    A, B = np.array([[1e200, 0.0]]), np.array([[-1e200, 0.0], [1e200, 1.0], [1e-200, 0.0]])
    for loops in (compiled, plain):
        found = loops.neighbours.nearest(A, np.ascontiguousarray(B.T), 4, np.array([3]), np.array([-1]))
        assert found.tolist() == [[1, 0, 2, -1]]


def test_what_is_not_finite_is_nobodys_neighbour(compiled, plain):
    S = np.array([[np.inf, 3.0, np.nan, -2.0, np.inf]])
    for loops in (compiled, plain):
        assert loops.neighbours.smallest(S.copy(), 5, np.array([5]), np.array([-1])).tolist() == [[3, 1, -1, -1, -1]]


# ---------------------------------------------------------------------------------------------- small systems
def systems(rng, b, k, t, rank):
    F = rng.standard_normal((b, k + 1, rank))
    return F @ F.transpose(0, 2, 1), rng.random((b, k)) < 0.2, rng.standard_normal((b, t, k))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_conditionals_solve_each_system(compiled, plain, seed):
    rng = np.random.default_rng(seed)
    b, k, t = rng.integers(0, 5), rng.integers(0, 21), rng.integers(0, 4)
    C, absent, Y = systems(rng, b, k, t, rank=k + 5)
    for loops in (compiled, plain):
        gone = absent.copy()
        weights, variance, solved, dropped = loops.neighbours.conditionals(C.copy(), gone, 1e-13, Y)
        assert dropped == 0 and np.array_equal(gone, absent)
        for i in range(b):
            A, c = C[i, :-1, :-1].copy(), np.where(absent[i], 0.0, C[i, -1, :-1])
            A[absent[i]] = A[:, absent[i]] = 0.0
            A[absent[i], absent[i]] = 1.0
            scale = 1e-12 * (np.linalg.cond(A) if k else 1.0)
            w = np.linalg.solve(A, c) if k else np.zeros(0)
            np.testing.assert_allclose(weights[i], w, rtol=scale, atol=scale)
            np.testing.assert_allclose(variance[i], C[i, -1, -1] - c @ w, rtol=scale, atol=scale * C[i, -1, -1])
            right = np.where(absent[i], 0.0, Y[i])
            expected = np.linalg.solve(A, right.T).T if k else right
            np.testing.assert_allclose(solved[i], expected, rtol=scale, atol=scale * (1 + abs(expected).max(initial=0)))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_that_say_nothing_new_are_dropped(compiled, plain, seed):
    """A copied row: the answer is that of the system without it, and both ways drop the same one."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 14))
    F = rng.standard_normal((1, k + 1, k + 3))
    copy, of = sorted(rng.choice(k, 2, replace=False))[::-1]
    F[0, copy] = F[0, of]
    C, Y = F @ F.transpose(0, 2, 1), rng.standard_normal((1, 2, k))
    rest = np.delete(np.arange(k + 1), copy)
    short = np.ascontiguousarray(C[:, rest][:, :, rest])
    for loops in (compiled, plain):
        gone = np.zeros((1, k), dtype=bool)
        weights, variance, solved, dropped = loops.neighbours.conditionals(C.copy(), gone, 1e-10, Y)
        assert dropped == 1 and gone[0, copy] and weights[0, copy] == 0 and (solved[0, :, copy] == 0).all()
        alone = loops.neighbours.conditionals(short.copy(), np.zeros((1, k - 1), dtype=bool), 1e-10, Y[:, :, rest[:-1]])
        scale = 1e-11 * np.linalg.cond(short[0, :-1, :-1])
        np.testing.assert_allclose(weights[0, rest[:-1]], alone[0][0], rtol=scale, atol=scale)
        np.testing.assert_allclose(variance, alone[1], rtol=scale, atol=scale * C[0, -1, -1])
        np.testing.assert_allclose(solved[:, :, rest[:-1]], alone[2], rtol=scale, atol=scale * abs(alone[2]).max())


def test_a_matrix_that_cannot_be_written_is_refused(compiled):
    C, absent, Y = np.eye(3)[None].repeat(4, axis=0), np.zeros((4, 2), dtype=bool), np.zeros((4, 0, 2))
    for wrong in (C[::2], C.astype(np.float32), C.transpose(0, 2, 1)[:, :, ::-1]):
        with pytest.raises(ValueError, match="in C order"):
            compiled.neighbours.conditionals(wrong, absent[: len(wrong)].copy(), 1e-13, Y[: len(wrong)])
