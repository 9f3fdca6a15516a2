"""Factors of order m for a loss on landmarks: a Hessian for each column."""

import numpy as np

from mercer.solvers.engine.lapack import mirror
from mercer.solvers.small import factor


class Hessians:
    """Σ w L″ [a, h]ᵀ[a, h] + diag(2λ, …, 2λ, 0), factored: one for each column, or one that all share.

    Parameters
    ----------
    L : ndarray of shape (m, m)
        The factor of K_mm.
    q : int
        Columns of the trend, which are not penalised.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.normal_smooth import Hessians
    >>> found = Hessians(np.eye(1), 1)
    >>> found.set([np.array([[1.0, 0.0], [0.0, 4.0]])], 1.0)
    >>> found.solve(np.array([[2.0], [4.0]])).ravel()
    array([1., 1.])
    """

    def __init__(self, L, q):
        self.L, self.q, self._factors = L, q, []

    def set(self, squares, penalty):
        """Take Σ w L″ [a, h]ᵀ[a, h], of which the lower triangle is read, and 2λ."""
        m, self._factors = len(self.L), []
        for C in squares:
            A = np.array(C, dtype=float)
            mirror(A)
            A[np.arange(m), np.arange(m)] += penalty
            self._factors.append(factor(A, overwrite=True))

    def lower(self):
        """The factors themselves, of shape (t, m, m)."""
        return np.array([np.tril(one.lower) for one in self._factors])

    def solve(self, B):
        """H⁻¹ B, column by column."""
        if len(self._factors) == 1:
            return self._factors[0].solve(B)
        return np.column_stack([one.solve(B[:, j]) for j, one in enumerate(self._factors)])
