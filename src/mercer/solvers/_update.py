"""A Cholesky factor that rows join and leave: O(n²) for each row, instead of n³/3 for a new factor."""

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.solvers import _lapack
from mercer.solvers.base import Inverse, check_lam

SAFE = 1e-10  # of a pivot to its diagonal entry: below, rounding of the old factor is as large as the new pivot


class Factored(Inverse):
    """(K + λI)⁻¹ = L⁻ᵀL⁻¹ from a factor that is kept: halves of quadratic forms, rows added and removed.

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Lower triangular, C-ordered; what is above the diagonal is not read.
    lam : float
    info : dict
    exact : Inverse, default=None
        Where L is the factor of a changed matrix: what solves the original system.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers._update import Factored
    >>> Kinv = Factored(np.linalg.cholesky([[2.0, 1.0], [1.0, 2.0]]), lam=1.0)
    >>> Kinv.insert(2, np.array([1.0, 0.0]), 2.0).remove(1).dense().round(4)  # of [[2, 1], [1, 2]]
    array([[ 0.6667, -0.3333],
           [-0.3333,  0.6667]])
    """

    def __init__(self, L, lam, info=None, exact=None):
        self._L, self.lam, self.n = L, check_lam(lam), len(L)
        self.info, self._exact = {} if info is None else info, exact

    @classmethod
    def of(cls, inverse):
        """Take over the factor of a `CholeskyInverse`; one that was jittered still solves the original system."""
        exact = inverse if inverse.info["jitter"] else None
        return cls(inverse._L, inverse.lam, inverse.info, exact)

    @property
    def jittered(self):
        """Whether L is the factor of a changed matrix."""
        return self._exact is not None

    def half(self, B):
        """L⁻¹B, as a fresh array in column order."""
        return self.half_inplace(_lapack.columns(B, np.float64))

    def half_inplace(self, B):
        """B ← L⁻¹B for B in column order; returns it."""
        _lapack.forward(self._L, B)
        return B

    def other_half(self, B):
        """L⁻ᵀB, as a fresh array in column order: after ``half`` it is the whole inverse."""
        W = _lapack.columns(B, np.float64)
        _lapack.backward(self._L, W)
        return W

    def _solve(self, B):
        return _lapack.solve_lower(self._L, B) if self._exact is None else self._exact @ B

    def _quad(self, B):
        W = self.half(B)
        return W.T @ W

    def diag(self):
        """The diagonal of (K + λI)⁻¹."""
        return _lapack.inverse_diagonal(self._L)

    def logdet(self):
        """log det(K + λI)."""
        return _lapack.logdet(self._L)

    def dense(self):
        """(K + λI)⁻¹ as a fresh symmetric array."""
        return _lapack.inverse_from_lower(self._L.copy())

    def insert(self, index, row, diagonal):
        """Return the inverse with one row and column more, before row ``index`` (n appends).

        Parameters
        ----------
        index : int
        row : ndarray of shape (n,)
            Entries with the rows that are there.
        diagonal : float
            The new diagonal entry, λ included.

        Raises
        ------
        NotPositiveDefinite
            If rounding leaves nothing of a pivot: factor afresh.
        """
        L, n, i = self._L, self.n, index
        new = np.zeros((n + 1, n + 1))
        new[:i, :i] = L[:i, :i]
        before = _lapack.columns(row[:i], np.float64)
        if i:
            _lapack.forward(np.ascontiguousarray(L[:i, :i]), before)
        left = before[:, 0]
        pivot = diagonal - float(left @ left)
        if not pivot > SAFE * diagonal:
            raise NotPositiveDefinite(f"the pivot of the new row is {pivot:.3g} of {diagonal:.3g}: factor afresh.")
        new[i, :i], new[i, i] = left, np.sqrt(pivot)
        if i < n:
            below = (row[i:] - L[i:, :i] @ left) / new[i, i]
            new[i + 1 :, :i], new[i + 1 :, i] = L[i:, :i], below
            new[i + 1 :, i + 1 :] = rank_one(L[i:, i:], below, -1.0)
        return Factored(new, self.lam, self.info)

    def remove(self, index):
        """Return the inverse without row and column ``index``."""
        L, n, i = self._L, self.n, index
        new = np.zeros((n - 1, n - 1))
        new[:i, :i] = L[:i, :i]
        if i < n - 1:
            new[i:, :i] = L[i + 1 :, :i]
            new[i:, i:] = rank_one(L[i + 1 :, i + 1 :], L[i + 1 :, i], 1.0)
        return Factored(new, self.lam, self.info)


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
