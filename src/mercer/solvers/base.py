"""Solver and Inverse: what a solver is given, and what it gives back. No kernel, no X, no y."""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from mercer._parameters import Parametrised, call_repr
from mercer.gram import ScaledGram
from mercer.solvers.engine.lapack import combine

EVERYTHING = frozenset({"diag", "logdet", "dense"})


class Solver(Parametrised, BaseEstimator, ABC):
    """λ ↦ (K + λI)⁻¹: how it is inverted. Configuration only; ``__init__`` only stores.

    A subclass writes ``resolvent(K, H)`` and, if it needs other than one n × n array of float64, ``memory``.

    Attributes
    ----------
    gives : frozenset of {"diag", "logdet", "dense"}
        What its inverses give in addition to products; a criterion that needs more is refused before the first trial.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Cholesky
    >>> inverse = Cholesky().resolvent(DenseGram.from_matrix(np.eye(2)))
    >>> inverse(1.0) @ np.array([1.0, 2.0])  # another λ, another inverse
    array([0.5, 1. ])
    """

    gives = EVERYTHING
    iterative = False  # whether its products are only good to a tolerance, and cost less for a larger one

    @abstractmethod
    def resolvent(self, K, H=None):
        """Return λ ↦ (K + λI)⁻¹ with H projected out; what is expensive and does not depend on λ is done here, once.

        Parameters
        ----------
        K : Gram
        H : ndarray of shape (n, q) or Span, default=None
            Unpenalised trend; see `Projected`.

        Returns
        -------
        Resolvent, or another function of λ that returns an `Inverse`
        """

    def rescaled(self, K, rough=None):
        """(s, tol) ↦ (S K S + I)⁻¹ for one K and many S = diag(s), as the steps of Newton's method need it.

        ``tol`` is what an inexact step may leave of a right-hand side, and ``rough`` the same Gram with fewer digits,
        which is enough for one; a factor takes no notice of them.
        """
        return lambda s, tol=None: self.resolvent(ScaledGram(K, s))(1.0)

    def until(self, clock):
        """The solver that ends with the clock where it can, as an iterative one does; else itself."""
        return self

    def __repr__(self):
        return call_repr(self)  # scikit-learn's takes half a millisecond, and every plan says which solver it has

    def memory(self, n, targets=1):
        """Bytes at the peak for n rows and t targets, K itself (when stored) aside."""
        return 8.0 * n * n + 64.0 * n * targets


class KrigingWeights(NamedTuple):
    """How targets make up predictions at m new inputs; made by `Inverse.kriging_weights`.

    E : ndarray of shape (n, m)
        f(x) = Eᵀy.
    explained_variance : ndarray of shape (m,)
        What is known of f(x): its variance is k(x, x) less this.
    trend_residual : ndarray of shape (q, m)
        (HᵀK̃⁻¹H)⁻¹ (HᵀK̃⁻¹k − h): how far the trend at x is from that of the rows, as coefficients.
    """

    E: np.ndarray
    explained_variance: np.ndarray
    trend_residual: np.ndarray


class Inverse(ABC):
    """(K + λI)⁻¹ as an object, in float64; P of `Projected` where there is a trend. All that is asked of it is here.

    Attributes
    ----------
    lam : float
        λ, what is added to the diagonal of K.
    n : int
        Number of rows.
    q : int
        Columns of the trend that is projected out.
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
    q: int = 0
    info: dict
    probe = None  # rows of K, from which errors are estimated

    @property
    def shape(self):
        """(n, n)."""
        return (self.n, self.n)

    def __matmul__(self, B):
        """(K + λI)⁻¹ B for B of shape (n,) or (n, t)."""
        B = self._right_hand_side(B)
        return self._solve(B[:, None])[:, 0] if B.ndim == 1 else self._solve(B)

    def quad(self, B):
        """Bᵀ(K + λI)⁻¹B: a number for B of shape (n,), a symmetric (t, t) array for (n, t)."""
        B = self._right_hand_side(B)
        S = self._quad(B[:, None] if B.ndim == 1 else B)
        return float(S[0, 0]) if B.ndim == 1 else (S + S.T) / 2

    def regress(self, y):
        """(α, b): α = K̃⁻¹(y − Hb), b the coefficients of the trend that is projected out; b has no rows without one."""
        return self @ y, np.zeros((0, y.shape[1]))

    @abstractmethod
    def _solve(self, B):
        """(K + λI)⁻¹ B for a float64 B of shape (n, t), which is not to be changed."""

    def _quad(self, B):
        """Bᵀ(K + λI)⁻¹B, symmetric up to rounding."""
        return B.T @ self._solve(B)

    @abstractmethod
    def diag(self):
        """The diagonal of (K + λI)⁻¹."""

    @abstractmethod
    def logdet(self):
        """log det(K + λI)."""

    @abstractmethod
    def dense(self):
        """(K + λI)⁻¹ as a fresh symmetric array."""

    def errors(self, alpha, rest):
        """(‖δf‖, ‖r‖) of each column of α with (K + λI)α = rest, see `Probe.errors`; None where it is not known."""
        return None if self.probe is None else self.probe.errors(self.lam, alpha, rest)

    def half(self, B):
        """L⁻¹B with L Lᵀ = K + λI, so that ‖L⁻¹b‖² = bᵀ(K + λI)⁻¹b: where there is a triangular factor."""
        raise TypeError(f"{type(self).__name__} has no triangular factor; use solver='cholesky'.")

    def kriging_weights(self, B, h=None):
        """`KrigingWeights` at new inputs x from B = k(points, x), of shape (n, m), and the trend h(x), (m, q)."""
        E = self._solve(B)
        return KrigingWeights(E, np.einsum("ij,ij->j", B, E), np.zeros((0, B.shape[1])))

    def explained_variance(self, B, h=None):
        """The diagonal of Bᵀ(K + λI)⁻¹B, less what the trend takes away. B may be overwritten."""
        return self.kriging_weights(B, h).explained_variance

    def explained_covariance(self, B, h=None):
        """The same for all pairs of the m inputs: (m, m)."""
        return self._quad(B)

    def block(self, index):
        """The rows and columns ``index`` of (K + λI)⁻¹."""
        E = np.zeros((self.n, len(index)))
        E[index, np.arange(len(index))] = 1.0
        B = (self @ E)[index]
        return (B + B.T) / 2

    def squared_norm(self):
        """tr (K + λI)⁻²."""
        return float(np.sum(self.dense() ** 2))

    def combined(self, factor, U, V):
        """factor · (K + λI)⁻¹ + U Vᵀ, as a fresh array."""
        return combine(np.ascontiguousarray(self.dense()), U, V, factor)

    @property
    def unprojected(self):
        """K̃⁻¹ itself, where this is P of a model with a trend."""
        return self

    def explicit(self):
        """Return the same with all entries at hand, made in place of what this one holds: it is used up by that."""
        return Explicit(self.dense(), self.lam, self.logdet(), disposable=True, info=self.info)

    def __repr__(self):
        return f"{type(self).__name__}(n={self.n}, lam={self.lam:.4g})"

    def _right_hand_side(self, B):
        """B as float64 of shape (n,) or (n, t), checked."""
        B = np.asarray(B, dtype=float)
        if B.ndim not in (1, 2) or B.shape[0] != self.n:
            raise ValueError(f"(K + lam I)^-1 is {self.n} × {self.n}, but the right-hand side has shape {B.shape}.")
        if not math.isfinite(np.add.reduce(B, axis=None)) and not np.isfinite(B).all():
            row = int(np.argwhere(~np.isfinite(B))[0][0])
            raise ValueError(f"the right-hand side has a NaN or infinite entry in row {row}.")
        return B


class Explicit(Inverse):
    """K̃⁻¹ as an array, with its log-determinant: what a criterion with a gradient wants.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        K̃⁻¹, symmetric.
    lam : float
    logdet : float, default=nan
        log det K̃.
    disposable : bool, default=False
        Whether ``dense()`` gives the array itself away instead of a copy. It can then be asked once, last.
    info : dict, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Explicit
    >>> Explicit(np.diag([0.5, 0.25]), lam=1.0) @ np.array([2.0, 4.0])
    array([1., 1.])
    """

    def __init__(self, matrix, lam, logdet=np.nan, *, disposable=False, info=None):
        self.n, self.lam, self._logdet = len(matrix), check_lam(lam), float(logdet)
        self._matrix, self._disposable = matrix, disposable
        self._diagonal = matrix.diagonal().copy()
        self.info = {"solver": "inverse", "dtype": "float64", "jitter": 0.0} if info is None else info

    def _solve(self, B):
        return self._matrix @ B

    def diag(self):
        """The diagonal of K̃⁻¹."""
        return self._diagonal

    def logdet(self):
        """log det K̃."""
        return self._logdet

    def block(self, index):
        """The rows and columns ``index`` of K̃⁻¹."""
        return self._matrix[np.ix_(index, index)]

    def squared_norm(self):
        """tr K̃⁻²."""
        return float(np.vdot(self._matrix, self._matrix))

    def dense(self):
        """K̃⁻¹: a copy, or the array itself if it is disposable."""
        if not self._disposable:
            return self._matrix.copy()
        matrix, self._matrix = self._matrix, None
        if matrix is None:
            raise ValueError("this inverse has already given its array away.")
        return matrix

    def combined(self, factor, U, V):
        """factor · K̃⁻¹ + U Vᵀ, made in the array that ``dense()`` gives."""
        return combine(self.dense(), U, V, factor)

    def explicit(self):
        """Return itself."""
        return self


def check_lam(lam):
    """λ as a float, checked: finite and >= 0."""
    value = float(lam)
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"lam must be finite and >= 0, got {lam}.")
    return value


def column_norms(A):
    """Lengths of the columns: no square overflows, and no BLAS, whose threads would spin beside the solver's."""
    size = np.abs(A).max(axis=0, initial=0.0)
    size[~((size > 0) & np.isfinite(size))] = 1.0
    A = A / size
    return size * np.sqrt(np.einsum("ij,ij->j", A, A))
