"""Cholesky with pivoting: K ≈ L Lᵀ with L of n × r, for a K that may be singular."""

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._cached import cached_property
from mercer._machine import check_memory
from mercer._threads import one_blas_thread
from mercer._tiles import ROWS, spans
from mercer.solvers.engine import lapack

ARRAYS = 2.5  # of n × n: K and its factor; with fewer pivots than rows a third, for the projection


class PivotedFactor:
    """K = L Lᵀ with L of n × r; L[pivots] is lower triangular. Made by `pivoted_cholesky`.

    Attributes
    ----------
    L : ndarray of shape (n, r)
    pivots : ndarray of shape (r,)
    condition : float
        Ratio of the largest to the smallest pivot: a lower bound of the condition of K[pivots, pivots].
    """

    def __init__(self, T, order, condition):
        rank = T.shape[1]
        self._T, self._order, self.pivots, self.condition = T, order, order[:rank], condition
        self.triangle = T if rank == len(T) else T[:rank].copy()  # what a model keeps of it

    @property
    def L(self):
        """L, of n × r."""
        out = np.empty_like(self._T)
        out[self._order] = self._T
        return out

    @property
    def rank(self):
        """The numerical rank r of K."""
        return len(self.pivots)

    def project(self, y):
        """Q Qᵀ y: the part of y that is in the range of K, which is that of L."""
        if self.rank == len(y):
            return y
        out, Q = np.empty_like(y), qr(self._T, mode="economic", check_finite=False)[0]
        out[self._order] = Q @ (Q.T @ y[self._order])
        return out

    def solve(self, y):
        """(α, ‖f‖): K[pivots, pivots] α = y[pivots], and the norm √(αᵀKα) of each column."""
        half = solve_triangular(self.triangle, y[self.pivots], lower=True)
        return solve_triangular(self.triangle, half, lower=True, trans="T"), np.linalg.norm(half, axis=0)

    @cached_property
    def inverse_diagonal(self):
        """Diagonal of K[pivots, pivots]⁻¹ = L⁻ᵀL⁻¹."""
        return lapack.inverse_diagonal(self.triangle) if self.rank else np.zeros(0)


def squared_power(triangle, k, diagonal):
    """k(x, x) − k_P(x)ᵀ K_PP⁻¹ k_P(x) for the columns k_P(x) of k, from the triangle of the pivots."""
    half = solve_triangular(triangle, k, lower=True)
    return diagonal - np.einsum("ij,ij->j", half, half)


def pivoted_cholesky(K, tol=None, memory=None):
    """K = L Lᵀ, L[pivots] lower triangular: stops when every remaining pivot is below tol · max k(x, x).

    Parameters
    ----------
    K : Gram
    tol : float, default=None
        Relative; None is n times the unit roundoff.
    memory : float, default=None
        Bytes that may be used.

    Returns
    -------
    PivotedFactor

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import pivoted_cholesky
    >>> factor = pivoted_cholesky(DenseGram.from_matrix(np.ones((3, 3))))
    >>> factor.rank, factor.pivots.tolist()
    (1, [0])
    """
    n = K.n
    check_memory(ARRAYS * 8 * n * n, f"a factor with pivoting for n = {n}", memory)
    largest = K.diag().max(initial=0.0)
    tol = n * np.finfo(float).eps if tol is None else tol
    if largest == 0.0:  # K = 0: only f = 0 is there
        return PivotedFactor(np.zeros((n, 0)), np.arange(n), 1.0)
    A = K.dense().T
    with one_blas_thread():  # pivots are found one by one: threads would be woken for each, to wait for each other
        factor, order, rank, _ = dpstrf(A, tol=tol * largest, lower=1, overwrite_a=1)
    T = np.empty((n, rank))
    for i, j in spans(n, ROWS):  # by rows: the triangle as a copy would be one more array
        T[i:j] = np.tril(factor[i:j, :rank], i)
    pivots = np.diagonal(factor)[:rank] ** 2
    del A, factor
    return PivotedFactor(T, order - 1, float(pivots.max() / pivots.min()))


def leading_columns(K, most):
    """(F, missed): F Fᵀ ≈ K of at most so many columns, pivots first, and tr(K − F Fᵀ); 0 where only rounding is left.

    Memory grows with n, not with n².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers.pivoted import leading_columns
    >>> F, missed = leading_columns(DenseGram.from_matrix(np.ones((3, 3))), 2)
    >>> F.ravel(), missed
    (array([1., 1., 1.]), 0.0)
    """
    left = np.maximum(K.diag(), 0.0)
    least = K.n * np.finfo(float).eps * left.max(initial=0.0)
    F = np.empty((K.n, min(K.n, most)), order="F")  # pages are taken as columns are written
    for k in range(F.shape[1]):
        pivot = int(left.argmax())
        if not left[pivot] > least:
            return F[:, :k], 0.0
        column = (K.rows([pivot])[0] - F[:, :k] @ F[pivot, :k]) / np.sqrt(left[pivot])
        F[:, k] = column
        left = np.maximum(left - column**2, 0.0)
        left[pivot] = 0.0
    return F, float(left.sum()) if left.max(initial=0.0) > least else 0.0
