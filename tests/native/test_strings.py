"""Programmes over pairs of strings: compiled and in NumPy, beside sums over all that is counted."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def strings(rng, count, longest, letters):
    """(codes, starts, stops), not in order, some of them empty and some overlapping."""
    codes = rng.integers(0, letters, longest + 1)
    ends = np.sort(rng.integers(0, longest + 1, (count, 2)), axis=1)
    return codes, ends[:, 0].copy(), ends[:, 1].copy()


def drawn_pairs(rng, m, n, most=30):
    count = int(rng.integers(0, most)) if m and n else 0
    return rng.integers(0, max(m, 1), count), rng.integers(0, max(n, 1), count)


def agree(compiled, plain, function, *arguments, rtol=1e-11):
    """Values with and without derivatives, of one way and the other; returns the values."""
    fast, slow = getattr(compiled.strings, function), getattr(plain.strings, function)
    values, none = fast(*arguments, False)
    both, slopes = fast(*arguments, True)
    expected, expected_slopes = slow(*arguments, True)
    assert none is None and slow(*arguments, False)[1] is None
    np.testing.assert_allclose(values, expected, rtol=rtol)
    np.testing.assert_allclose(both, expected, rtol=rtol)
    np.testing.assert_allclose(slopes, expected_slopes, rtol=rtol, atol=1e-14 * np.abs(expected).max(initial=0.0))
    return values


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_subsequences(compiled, plain, seed):
    rng = np.random.default_rng(seed)
    m, n, letters = rng.integers(0, 6), rng.integers(0, 6), rng.integers(1, 5)
    x, z = (strings(rng, k, int(rng.integers(0, 40)), letters) for k in (m, n))
    left, right = drawn_pairs(rng, m, n)
    agree(compiled, plain, "subsequence", x, z, left, right, int(rng.integers(1, 6)), float(rng.uniform(0.01, 1.2)))


def test_subsequences_are_a_sum_over_all_places(compiled, rng):
    x, length, decay = strings(rng, 9, 8, 3), 2, 0.6
    left, right = np.divmod(np.arange(81), 9)
    found, _ = compiled.strings.subsequence(x, x, left, right, length, decay, False)
    for a, b, value in zip(left, right, found, strict=True):
        s, t = (x[0][x[1][i] : x[2][i]] for i in (a, b))
        places = [list(combinations(range(len(part)), length)) for part in (s, t)]
        total = sum(
            decay ** (i[-1] - i[0] + j[-1] - j[0] + 2)
            for i in places[0]
            for j in places[1]
            if (s[list(i)] == t[list(j)]).all()
        )
        np.testing.assert_allclose(value, total, rtol=1e-12, atol=1e-15)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_alignments(compiled, plain, seed):
    rng = np.random.default_rng(seed)
    m, n, letters = rng.integers(0, 6), rng.integers(0, 6), rng.integers(1, 5)
    x, z = (strings(rng, k, int(rng.integers(0, 40)), letters) for k in (m, n))
    left, right = drawn_pairs(rng, m, n)
    beta, costs = rng.uniform(0.0, 2.0), rng.choice([0.0, 0.5, 3.0], 2)
    S = rng.normal(0.0, 2.0, (letters, letters))
    E, (start, extend) = np.exp(beta * S), np.exp(-beta * costs)
    gaps = (start, -costs[0] * start, extend, -costs[1] * extend)
    agree(compiled, plain, "alignment", x, z, left, right, E, S * E, gaps)


def long_and_short(rng, longest):
    """One long string and its parts, of very different lengths."""
    codes = rng.integers(0, 4, longest)
    stops = np.array([longest, 1, 0, longest // 3, 7, longest - 1, 16, 2, 9, longest // 2, 8])
    return codes, np.zeros(len(stops), dtype=np.int64), stops


def test_lengths_of_all_sizes_side_by_side(compiled, plain, rng):
    """Pairs are put in another order, and their values come back in the old one."""
    x = long_and_short(rng, 90)
    left, right = np.divmod(np.arange(121), 11)
    values = agree(compiled, plain, "subsequence", x, x, left, right, 3, 0.7).reshape(11, 11)
    np.testing.assert_allclose(values, values.T, rtol=1e-13)
    S = np.where(np.eye(4, dtype=bool), 2.0, -1.0)
    gaps = (0.2, -0.6, 0.6, -0.6)
    agree(compiled, plain, "alignment", x, x, left, right, np.exp(S), S * np.exp(S), gaps)


def test_sums_beyond_float64(compiled, plain, rng):
    """Alignments are scaled down on the way, some of those side by side and some not."""
    x = long_and_short(rng, 300)
    S = np.where(np.eye(4, dtype=bool), 4.0, -1.0)
    pairs = np.array([0, 0, 1, 5, 4, 8, 9, 0]), np.array([0, 2, 0, 5, 0, 9, 9, 5])
    values = agree(compiled, plain, "alignment", x, x, *pairs, np.exp(S), S * np.exp(S), (1.0, 0.0, 1.0, 0.0))
    assert values.max() > 1000 and values[1] == 0.0


def test_decay_of_extreme_values(compiled, plain, rng):
    x = long_and_short(rng, 40)
    left, right = np.divmod(np.arange(121), 11)
    for decay in (1e-30, 1e-3, 1.0, 30.0):
        agree(compiled, plain, "subsequence", x, x, left, right, 4, decay)


def test_indices_of_any_kind(compiled, rng):
    codes, starts, stops = strings(rng, 12, 30, 3)
    x = (codes.astype(np.int32), np.repeat(starts, 2)[::2], np.repeat(stops, 2)[::2])
    left, right = np.arange(24, dtype=np.int32)[::2] // 2, np.arange(12)[::-1]
    found = compiled.strings.subsequence(x, x, left, right, 2, 0.5, True)
    expected = compiled.strings.subsequence((codes, starts, stops), (codes, starts, stops), left, right, 2, 0.5, True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", range(1, 18))
def test_a_value_does_not_depend_on_what_goes_side_by_side_with_it(count, compiled, rng):
    x = strings(rng, 20, 30, 3)
    every = np.arange(20)
    whole, _ = compiled.strings.subsequence(x, x, every, every, 2, 0.5, False)
    part, _ = compiled.strings.subsequence(x, x, every[:count], every[:count], 2, 0.5, False)
    np.testing.assert_array_equal(part, whole[:count])
