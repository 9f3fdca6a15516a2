"""Solver and Inverse: what a solver is given, and what it gives back. No kernel, no X, no y."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator


class Solver(BaseEstimator, ABC):
    """λ ↦ (K + λI)⁻¹: how it is inverted. Configuration only; ``__init__`` only stores.

    A subclass writes ``resolvent(K)`` and, if it needs other than one n × n array of float64, ``memory``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Cholesky
    >>> inverse = Cholesky().resolvent(DenseGram.from_matrix(np.eye(2)))
    >>> inverse(1.0) @ np.array([1.0, 2.0])  # another λ, another inverse
    array([0.5, 1. ])
    """

    @abstractmethod
    def resolvent(self, K):
        """Return the function λ ↦ (K + λI)⁻¹; what is expensive and does not depend on λ is done here, once.

        Parameters
        ----------
        K : Gram

        Returns
        -------
        callable
            ``resolvent(K)(lam)`` is an `Inverse`.
        """

    def memory(self, n, targets=1):
        """Bytes at the peak for n rows and t targets, K itself (when stored) aside."""
        return 8.0 * n * n + 64.0 * n * targets


class Inverse(ABC):
    """(K + λI)⁻¹ as an object, in float64.

    Attributes
    ----------
    lam : float
        λ.
    n : int
        Number of rows.
    info : dict
        What was done, in plain values: solver, dtype, condition, jitter, iterations, residual, seconds, ...

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Cholesky
    >>> Kinv = Cholesky().resolvent(DenseGram.from_matrix(3 * np.eye(2)))(1.0)
    >>> Kinv @ np.array([4.0, 8.0]), Kinv.diag(), Kinv.info["solver"]
    (array([1., 2.]), array([0.25, 0.25]), 'cholesky')
    """

    lam: float
    n: int
    info: dict

    @property
    def shape(self):
        """(n, n)."""
        return (self.n, self.n)

    def __matmul__(self, B):
        """(K + λI)⁻¹ B for B of shape (n,) or (n, t)."""
        B, flat = self._right_hand_side(B)
        X = self._solve(B)
        return X[:, 0] if flat else X

    def quad(self, B):
        """Bᵀ(K + λI)⁻¹B: a number for B of shape (n,), a symmetric (t, t) array for (n, t)."""
        B, flat = self._right_hand_side(B)
        S = self._quad(B)
        return float(S[0, 0]) if flat else (S + S.T) / 2

    @abstractmethod
    def _solve(self, B):
        """(K + λI)⁻¹ B for a float64 B of shape (n, t), which is not to be changed."""

    @abstractmethod
    def _quad(self, B):
        """Bᵀ(K + λI)⁻¹B, symmetric up to rounding."""

    @abstractmethod
    def diag(self):
        """The diagonal of (K + λI)⁻¹."""

    @abstractmethod
    def logdet(self):
        """log det(K + λI)."""

    @abstractmethod
    def dense(self):
        """(K + λI)⁻¹ as a fresh symmetric array."""

    def __repr__(self):
        return f"{type(self).__name__}(n={self.n}, lam={self.lam:.4g})"

    def _right_hand_side(self, B):
        """B as float64 of shape (n, t), and whether it came as a vector."""
        B = np.asarray(B, dtype=float)
        if B.ndim not in (1, 2) or B.shape[0] != self.n:
            raise ValueError(f"(K + lam I)^-1 is {self.n} × {self.n}, but the right-hand side has shape {B.shape}.")
        if not np.isfinite(B).all():
            row = int(np.argwhere(~np.isfinite(B))[0][0])
            raise ValueError(f"the right-hand side has a NaN or infinite entry in row {row}.")
        return (B[:, None], True) if B.ndim == 1 else (B, False)


def check_lam(lam):
    """λ as a float, checked: finite and >= 0."""
    value = float(lam)
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"lam must be finite and >= 0, got {lam}.")
    return value


def column_norms(A):
    """Lengths of the columns: no square overflows, and no BLAS, whose threads would spin beside the solver's."""
    size = np.abs(A).max(axis=0, initial=0.0)
    size[~((size > 0) & np.isfinite(size))] = 1.0
    A = A / size
    return size * np.sqrt(np.einsum("ij,ij->j", A, A))
