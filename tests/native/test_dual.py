"""Loops of the working-set solver: every variant of the library against its twin in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer._native import plain

SIZES = [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300]
TYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def matrix(rng, m, n, dtype):
    """A matrix whose rows do not touch."""
    return rng.standard_normal((m, n + 3)).astype(dtype)[:, :n]


@TYPES
def test_rows_that_are_gathered(compiled, dtype, rng):
    for n in (0, *SIZES):
        M = matrix(rng, n + 2, n + 5, dtype)
        slots, columns = rng.integers(0, n + 2, n), rng.integers(0, n + 5, 2 * n)[::2]
        known = rng.integers(-3, n, n) if n else np.zeros(0, dtype=np.int64)
        for first, last in ((0, n), (n // 3, n // 2)):
            out = matrix(rng, n + 1, n + 1, dtype)
            twin = out.copy()
            compiled.dual.gather_new(M, slots, columns, known, first, last, out)
            plain.dual.gather_new(M, slots, columns, known, first, last, twin)
            assert_array_equal(out, twin)


@TYPES
def test_rows_that_are_kept(compiled, dtype, rng):
    for n in SIZES:
        before = matrix(rng, n, n, dtype)
        known = np.where(rng.random(n) < 0.5, rng.integers(0, n, n), -1)
        out = matrix(rng, n + 1, n + 1, dtype)
        twin = out.copy()
        compiled.dual.gather_kept(before, known, 0, n, out)
        plain.dual.gather_kept(before, known, 0, n, twin)
        assert_array_equal(out, twin)


@TYPES
def test_rows_that_are_added(compiled, dtype, rng):
    for n in (*SIZES, 1500):
        M, g = matrix(rng, 9, n, dtype), rng.standard_normal(n)
        for count in (0, 1, 3, 4, 7, 8, 9):
            slots, coef = rng.permutation(9)[:count], rng.standard_normal(2 * count)[::2]
            for first, last in ((0, n), (n // 3, n // 2), (n, n)):
                out, twin = g.copy(), g.copy()
                compiled.dual.add_rows(M, slots, coef, first, last, out)
                plain.dual.add_rows(M, slots, coef, first, last, twin)
                assert_allclose(out, twin, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-5)
                assert_array_equal(out[:first], g[:first])
                assert_array_equal(out[last:], g[last:])


def programme(rng, n, kind, unit):
    """(target, ridge, ε, low, high) of a loss with a kink, of labels, or without bounds; targets of some unit."""
    y, one = unit * rng.standard_normal(n), np.ones(n)
    if kind == "kink":
        box = unit * rng.uniform(0.0, 3.0, n)
        return y, 0 * one, unit * rng.uniform(0.0, 0.5, n), -box, box
    if kind == "labels":
        s = np.where(y > 0, unit, -unit)
        return s, 0 * one, 0 * one, np.where(s > 0, 0.0, -unit), np.where(s > 0, unit, 0.0)
    return y, one, 0.2 * unit * one, np.full(n, -np.inf), np.full(n, np.inf)


def height(K, dual, a):
    """What is minimised."""
    y, ridge, eps, *_ = dual
    return 0.5 * a @ K @ a - y @ a + eps @ np.abs(a) + 0.5 * ridge @ a**2


def violation(dual, a, g, intercept):
    """The largest slope that falls less the smallest that grows, row by row; without an intercept 0 is one of each."""
    _, _, eps, low, high = dual
    grows = [g[i] + (eps[i] if a[i] >= 0 else -eps[i]) for i in range(len(a)) if a[i] < high[i]]
    falls = [g[i] + (eps[i] if a[i] > 0 else -eps[i]) for i in range(len(a)) if a[i] > low[i]]
    grows, falls = (grows, falls) if intercept else ([*grows, 0.0], [*falls, 0.0])
    return max(falls, default=-np.inf) - min(grows, default=np.inf)


@TYPES
@pytest.mark.parametrize("kind", ["kink", "labels", "unbounded"])
@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("intercept", [True, False])
def test_pairs_end_where_their_twin_does(compiled, dtype, kind, unit, intercept, rng):
    for n in SIZES[:-3]:
        X = rng.standard_normal((n, 2))
        K = matrix(rng, n, n, dtype)
        K[:] = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
        K[0], K[:, 0] = K[-1], K[:, -1]  # two equal rows: a flat direction
        K = K if n > 1 else K[:1]
        dual = programme(rng, n, kind, unit)
        heights = []
        for loops in (compiled.dual, plain.dual):
            a, g = np.zeros(n), -dual[0].copy()
            parts = K.diagonal().astype(float), *dual[1:]
            before = violation(dual, a, g, intercept)
            steps, start, end = loops.smo_pairs(K, intercept, *parts, a, g, 1e-6 * unit, 20_000)
            assert start == pytest.approx(before) and end <= 1e-6 * unit and (steps > 0) == (start > 1e-6 * unit)
            assert_allclose(g, K.astype(float) @ a + dual[1] * a - dual[0], atol=1e-7 * unit)
            assert violation(dual, a, g, intercept) <= 1.001e-6 * unit
            assert not intercept or abs(a.sum()) <= 1e-12 * np.abs(a).sum()
            assert (dual[3] <= a).all() and (a <= dual[4]).all()
            heights.append(height(K.astype(float), dual, a))
        assert heights[0] == pytest.approx(heights[1], rel=1e-6, abs=1e-12 * unit**2)


def test_pairs_go_on_where_they_stopped(compiled, rng):
    n = 50
    K, dual = np.eye(n), programme(rng, n, "kink", 1.0)
    parts = K.diagonal().copy(), *dual[1:]
    ends = []
    for most in (10**5, 7):
        a, g = np.zeros(n), -dual[0].copy()
        while compiled.dual.smo_pairs(K, True, *parts, a, g, 1e-9, most)[0] == most:
            pass
        ends.append(a)
    assert_allclose(*ends, atol=1e-8)


def test_nothing_to_do(compiled):
    nothing = np.zeros(0)
    for loops in (compiled.dual, plain.dual):
        parts = [nothing.copy() for _ in range(7)]
        assert loops.smo_pairs(np.zeros((0, 0)), False, *parts, 1e-3, 10) == (0, 0.0, 0.0)
        one, walled = np.zeros(1), [np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)]
        assert loops.smo_pairs(np.ones((1, 1)), True, *walled, one, one - 1.0, 1e-3, 10)[0] == 0
