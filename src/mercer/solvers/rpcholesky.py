"""Pivots drawn at random: a partial Cholesky factor of K whose next pivot is drawn by what is left of the diagonal.

Chen, Epperly, Tropp and Webber, "Randomly pivoted Cholesky"; in blocks by rejection after Epperly, Tropp and Webber,
"Embrace rejection": a block is proposed by the diagonal as it was, and each of its rows kept with the probability that
the kept ones before it leave it. The order is that of the method row by row, at the speed of matrix products.
"""

import numpy as np
from scipy.linalg import solve_triangular

from mercer._threads import one_blas_thread, run

BLOCK = 256  # rows that are proposed at once, at most
PIECE = 1024  # columns that a thread explains at once: they stay in its cache
TOLERANCE = 1e-6  # of the largest k(x, x): below it a pivot is rounding


def random_pivots(K, m, rng, *, order=None, tol=TOLERANCE, dtype=np.float64):
    """(pivots, left): m rows of a Gram and what they leave of its diagonal; fewer where nothing is left.

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
        return _drawn(K, min(m, K.n), rng, order, tol, dtype)


def _drawn(K, m, rng, order, tol, dtype):
    """(pivots, left) of `random_pivots`."""
    left = K.diag()
    floor = tol * float(left.max(initial=0.0))
    F, found, at = np.empty((m, K.n), dtype=dtype), np.empty(0, dtype=np.int64), 0
    while len(found) < m and left.max(initial=0.0) > floor:
        k = len(found)
        size = min(BLOCK, max(8, k))
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
        stay, T = _kept(H, left[proposed], chance, floor, m - k)
        if not len(stay):  # H is as it was: without the rounding of the sums, or they are proposed for ever
            left[proposed] = np.where(H.diagonal() > floor, H.diagonal(), 0.0)
            continue
        new = proposed[stay]
        _explain(F, k, K.rows(new), new, T, left)
        np.maximum(left, 0.0, out=left)
        found = np.append(found, new)
        left[found] = 0.0
    return found, left


def _explain(F, k, rows, new, T, left):
    """Write the rows of the factor F that belong to new pivots behind its first k, and take them off what is left."""
    known, part = np.ascontiguousarray(F[:k, new].T), F[k : k + len(new)]
    T = solve_triangular(T, np.eye(len(T)), lower=True, check_finite=False).astype(F.dtype)

    def work(index, worker):
        some = slice(index * PIECE, (index + 1) * PIECE)
        part[:, some] = T @ (rows[:, some] - known @ F[:k, some]).astype(F.dtype, copy=False)
        left[some] -= np.einsum("ij,ij->j", part[:, some], part[:, some])

    run(work, -(-len(left) // PIECE))


def _kept(H, before, chance, floor, most):
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
