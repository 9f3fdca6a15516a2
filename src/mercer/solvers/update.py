"""A Cholesky factor that rows join and leave: O(n²) for each row, instead of n³/3 for a new factor."""

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.engine import lapack

SAFE = 1e-10  # of a pivot to its diagonal entry: below, rounding of the old factor is as large as the new pivot


def insert(L, index, row, diagonal):
    """The factor with one row and column more, before row ``index`` (n appends).

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Lower triangular.
    index : int
    row : ndarray of shape (n,)
        Entries with the rows that are there.
    diagonal : float

    Raises
    ------
    NotPositiveDefinite
        If rounding leaves nothing of a pivot: factor afresh.
    """
    n, i = len(L), index
    new = np.zeros((n + 1, n + 1))
    new[:i, :i] = L[:i, :i]
    before = lapack.columns(row[:i], np.float64)
    if i:
        lapack.forward(np.ascontiguousarray(L[:i, :i]), before)
    left = before[:, 0]
    pivot = diagonal - float(left @ left)
    if not pivot > SAFE * diagonal:
        raise NotPositiveDefinite(f"the pivot of the new row is {pivot:.3g} of {diagonal:.3g}: factor afresh.")
    new[i, :i], new[i, i] = left, np.sqrt(pivot)
    if i < n:
        below = (row[i:] - L[i:, :i] @ left) / new[i, i]
        new[i + 1 :, :i], new[i + 1 :, i] = L[i:, :i], below
        new[i + 1 :, i + 1 :] = rank_one(L[i:, i:], below, -1.0)
    return new


def remove(L, index):
    """The factor without row and column ``index``."""
    n, i = len(L), index
    new = np.zeros((n - 1, n - 1))
    new[:i, :i] = L[:i, :i]
    if i < n - 1:
        new[i:, :i] = L[i + 1 :, :i]
        new[i:, i:] = rank_one(L[i + 1 :, i + 1 :], L[i + 1 :, i], 1.0)
    return new


def rank_one(L, x, sign):
    """M with M Mᵀ = L Lᵀ + sign x xᵀ, by rotations (hyperbolic ones for −): O(n²).

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Lower triangular.
    x : ndarray of shape (n,)
    sign : {1.0, -1.0}

    Returns
    -------
    ndarray of shape (n, n), in column order

    Raises
    ------
    NotPositiveDefinite
        If L Lᵀ − x xᵀ has a pivot that rounding may have made.
    """
    M, x = np.array(L, order="F"), np.array(x, dtype=float)  # columns are what is worked on
    for k in range(len(M)):
        old, share = M[k, k], x[k]
        if share == 0.0:
            continue
        if sign > 0:
            new = np.hypot(old, share)
        else:
            rest = (1.0 - abs(share) / old) * (1.0 + abs(share) / old)
            if not rest > SAFE:
                raise NotPositiveDefinite(f"row {k} keeps {rest:.1e} of its pivot: factor afresh.")
            new = old * np.sqrt(rest)
        c, s = new / old, share / old
        M[k, k] = new
        column, tail = M[k + 1 :, k], x[k + 1 :]
        column += sign * s * tail
        column /= c
        tail *= c
        tail -= s * column
    return M
