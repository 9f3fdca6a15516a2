"""Rows that are taken, join and leave: the same as rows made anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import Rows
from mercer.gram.trend import make_trend
from mercer.kernels import PolynomialBasis, Precomputed

NAMES = ("X", "y", "within_squares", "H", "index", "used", "row_y", "row_weight", "given", "merged", "total")


@pytest.fixture
def given(rng):
    X = rng.integers(0, 6, (20, 1)).astype(float)
    weight = rng.uniform(0.5, 2.0, 20)
    weight[[3, 11]] = 0.0
    return X, rng.standard_normal((20, 2)), weight


def same(a, b, names=NAMES):
    for name in names:
        assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-14)
    assert_allclose(a.weights(), b.weights(), rtol=1e-12)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("trend", [None, "linear", PolynomialBasis(2)], ids=str)
def test_rows_that_join_and_leave(merge, trend, given):
    X, y, w = given
    trend = make_trend(trend, X)
    whole = Rows(X, y, w, trend, merge)
    same(Rows(X[:13], y[:13], w[:13], trend, merge).extended(X[13:], y[13:], w[13:], merge), whole)
    gone = np.zeros(20, dtype=bool)
    gone[[0, 3, 5, 18]] = True
    left, points = whole.without(gone)
    anew = Rows(X[~gone], y[~gone], w[~gone], trend, merge)
    assert_array_equal(left.X, whole.X[points])
    assert_allclose(left.to_rows(left.y[left.index]), anew.to_rows(anew.y[anew.index]), rtol=1e-12)
    assert (left.given, left.merged, left.n) == (anew.given, anew.merged, anew.n)
    assert_allclose(left.within_squares.sum(axis=0), anew.within_squares.sum(axis=0), rtol=1e-12, atol=1e-14)


def test_some_of_the_points_come_with_their_rows(given):
    X, y, w = given
    rows = Rows(X, y, w)
    some = rows.take(np.array([3, 0]))
    mine = np.isin(rows.index, [0, 3])
    assert some.merged == mine.sum() - 2
    assert_allclose(some.total, rows.row_weight[mine].sum())
    assert_allclose(some.X[some.index], X[rows.used[mine]])
    assert_allclose(some.y, rows.y[[3, 0]])
    assert some.apart().n == mine.sum()
    once = rows.once()
    assert once.merged == 0 and not once.within_squares.any()
    assert_allclose(once.row_weight, rows.weights())


def test_what_a_kernel_keeps():
    K = Precomputed()
    rows = Rows(K.validate(np.eye(3)), np.ones((3, 1)))
    assert np.isnan(rows.retained(K).X.matrix).all()
    with pytest.raises(TypeError, match="inputs"):
        rows.retained(K).extended(K.validate(np.eye(3)), np.ones((3, 1)))
