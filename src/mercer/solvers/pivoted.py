"""Cholesky with pivoting: K ≈ L Lᵀ with L of n × r, for a K that may be singular; pivots the largest, or drawn."""

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer._machine import check_memory
from mercer._parameters import cached_property
from mercer._threads import one_blas_thread, run
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


# ---------------------------------------------------------------------------------------- drawn at random
def random_pivots(K, m, rng, *, order=None, tol=1e-6, dtype=np.float64):
    """(pivots, left): m rows of a Gram, drawn by what is left of its diagonal, and that; fewer where nothing is left.

    Chen, Epperly, Tropp and Webber, "Randomly pivoted Cholesky"; in blocks by rejection after Epperly, Tropp and
    Webber, "Embrace rejection": a block is proposed by the diagonal as it was, and each of its rows accepted with the
    probability that those before it leave it. The order is that of the method row by row, at the speed of products.

    Parameters
    ----------
    K : Gram
        Asked for ``diag``, ``rows`` and ``restrict`` only.
    m : int
    rng : numpy.random.Generator
    order : ndarray of int, default=None
        Rows to be taken one after the other instead of drawn; those that the ones before explain are left out.
    tol : float, default=1e-6
        Of the largest entry of the diagonal: the least that a pivot must have left.
    dtype : {float64, float32}
        Of the factor.

    Returns
    -------
    pivots : ndarray of int
        In the order of their choice.
    left : ndarray of shape (n,)
        k(x, x) − ‖L⁻¹k(x)‖².
    """
    with one_blas_thread():  # threads of BLAS would wait on the cores that evaluate K
        return _draw_pivots(K, min(m, K.n), rng, order, tol, dtype)


def _draw_pivots(K, m, rng, order, tol, dtype):
    """(pivots, left) of `random_pivots`."""
    left = K.diag()
    floor = tol * float(left.max(initial=0.0))
    F, found, at = np.empty((m, K.n), dtype=dtype), np.empty(0, dtype=np.int64), 0
    while len(found) < m and left.max(initial=0.0) > floor:
        k = len(found)
        size = min(256, max(8, k))
        if order is None:
            total = np.cumsum(left)
            proposed = np.searchsorted(total, rng.random(size) * total[-1], side="right").clip(max=K.n - 1)
            chance = rng.random(size)
        else:
            proposed, chance, at = order[at : at + size], np.zeros(size), at + size
            if not len(proposed):
                break
        # the block once more, as a matrix: what is left of it says which rows stay
        H = np.asarray(K.restrict(proposed).dense(), dtype=float)
        H -= (F[:k, proposed].T @ F[:k, proposed]).astype(float)
        stay, T = _accept(H, left[proposed], chance, floor, m - k)
        if not len(stay):  # H is as it was: without the rounding of the sums, or they are proposed for ever
            left[proposed] = np.where(H.diagonal() > floor, H.diagonal(), 0.0)
            continue
        new = proposed[stay]
        _append_rows(F, k, K.rows(new), new, T, left)
        np.maximum(left, 0.0, out=left)
        found = np.append(found, new)
        left[found] = 0.0
    return found, left


def _append_rows(F, k, rows, new, T, left, piece=1024):
    """Write the rows of the factor F that belong to new pivots behind its first k, and take them off what is left."""
    known, part = np.ascontiguousarray(F[:k, new].T), F[k : k + len(new)]
    T = solve_triangular(T, np.eye(len(T)), lower=True, check_finite=False).astype(F.dtype)

    def work(index, worker):
        some = slice(index * piece, (index + 1) * piece)
        part[:, some] = T @ (rows[:, some] - known @ F[:k, some]).astype(F.dtype, copy=False)
        left[some] -= np.einsum("ij,ij->j", part[:, some], part[:, some])

    run(work, -(-len(left) // piece))


def _accept(H, before, chance, floor, most):
    """(positions, triangle) of the rows of a block that stay, by what those before them leave."""
    stay, columns = [], []
    for j in range(len(H)):
        if len(stay) < most and H[j, j] > floor and chance[j] * before[j] < H[j, j]:
            column = H[j:, j] / np.sqrt(H[j, j])
            H[j:, j:] -= np.multiply.outer(column, column)
            stay.append(j)
            columns.append(np.concatenate([np.zeros(j), column]))
    stay = np.array(stay, dtype=np.int64)
    return stay, np.tril(np.array(columns).T[stay]) if len(stay) else np.zeros((0, 0))
