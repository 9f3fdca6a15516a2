"""Rows that join and leave a Cholesky factor: the factor of the matrix that is there then."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.cholesky import CholeskyInverse
from mercer.solvers.update import rank_one


def spd(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T + n * np.eye(n)


def factored(A, lam=0.5):
    return CholeskyInverse(np.ascontiguousarray(np.linalg.cholesky(A)), lam)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_insert_at_every_place_is_the_factor_of_the_larger_matrix(n, rng):
    A = spd(rng, n + 1)
    for i in range(n + 1):
        rest = np.delete(np.arange(n + 1), i)
        small = factored(A[np.ix_(rest, rest)])
        before = small._L.copy()
        big = small.insert(i, A[i, rest], A[i, i])
        assert_allclose(np.tril(big._L) @ np.tril(big._L).T, A, rtol=1e-12, atol=1e-12)
        assert_array_equal(small._L, before)


def test_remove_at_every_place_is_the_factor_of_the_smaller_matrix(rng):
    A = spd(rng, 20)
    for i in range(20):
        rest = np.delete(np.arange(20), i)
        L = np.tril(factored(A).remove(i)._L)
        assert_allclose(L @ L.T, A[np.ix_(rest, rest)], rtol=1e-12, atol=1e-12)


def test_insert_undoes_remove(rng):
    A = spd(rng, 12)
    rest = np.delete(np.arange(12), 4)
    there = factored(A).remove(4).insert(4, A[4, rest], A[4, 4])
    assert_allclose(there.dense(), np.linalg.inv(A), rtol=1e-10, atol=1e-14)
    assert_allclose(there.logdet(), np.linalg.slogdet(A)[1], rtol=1e-12)


def test_the_inverse_of_the_protocol(rng):
    A, B = spd(rng, 15), rng.standard_normal((15, 3))
    Kinv = factored(A)
    assert_allclose(Kinv @ B, np.linalg.solve(A, B), rtol=1e-10)
    assert_allclose(Kinv.quad(B), B.T @ np.linalg.solve(A, B), rtol=1e-10)
    assert_allclose(Kinv.diag(), np.diag(np.linalg.inv(A)), rtol=1e-10)
    assert_allclose(Kinv.other_half(Kinv.half(B)), np.linalg.solve(A, B), rtol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rank_one(sign, rng):
    A, x = spd(rng, 25), rng.standard_normal(25)
    x[3] = 0.0
    M = rank_one(np.linalg.cholesky(A), x, sign)
    assert_allclose(M @ M.T, A + sign * np.outer(x, x), rtol=1e-12, atol=1e-12)


def test_a_downdate_that_leaves_nothing_is_refused():
    L = np.eye(3)
    with pytest.raises(NotPositiveDefinite, match="pivot"):
        rank_one(L, np.array([0.0, 1.0, 0.0]), -1.0)
    with pytest.raises(NotPositiveDefinite, match="pivot"):
        CholeskyInverse(L, 1.0).insert(3, np.array([1.0, 0.0, 0.0]), 1.0)
