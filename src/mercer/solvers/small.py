"""Positive definite systems of a few rows up to a few thousand: the free rows of a dual, a span, kernels on objects.

One routine for all of them. What is added to the diagonal is never silent: it stands in the factor, and the caller says
so. The matrix itself stays above the diagonal, so that products with it need no copy.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsymm, dsymv
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from mercer import _native
from mercer._threads import NO_THREAD
from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.engine.lapack import cholesky_lower, columns, forward, logdet, mirror, solve_lower, threads_for

DIRECT = 600  # rows up to which one call of LAPACK is faster than pieces; it is not interrupted


class SmallFactor:
    """L with L Lᵀ = A + jitter · scale · I.

    Attributes
    ----------
    jitter : float
        What was added to the diagonal, relative to ``scale``; 0 for nothing.
    """

    __slots__ = ("_A", "_diagonal", "jitter")

    def __init__(self, A, diagonal, jitter):
        self._A, self._diagonal, self.jitter = A, diagonal, jitter

    @property
    def lower(self):
        """L, in the lower triangle of an array whose upper one is A."""
        return self._A

    def solve(self, B):
        """(A + jitter · scale · I)⁻¹ B."""
        n = len(self._A)
        if n <= NO_THREAD:
            return dpotrs(self._A.T, B, lower=0)[0]
        if n > DIRECT:
            return solve_lower(self._A, B)
        with threads_for(n):
            return dpotrs(self._A.T, B, lower=0)[0]

    def half(self, B):
        """L⁻¹ B, so that BᵀA⁻¹B is a sum of squares."""
        if len(self._A) <= DIRECT:
            with threads_for(len(self._A)):
                return dtrtrs(self._A.T, B, lower=0, trans=1)[0]
        W = columns(B, self._A.dtype)
        forward(self._A, W)
        return W[:, 0] if np.ndim(B) == 1 else W

    def logdet(self):
        """log det(A + jitter · scale · I)."""
        return logdet(self._A)

    def product(self, B):
        """A B, without the jitter, from what lies above the diagonal."""
        excess = self._diagonal - np.diagonal(self._A)
        if np.ndim(B) == 1:
            return dsymv(1.0, self._A.T, B, lower=1) + excess * B
        return dsymm(1.0, self._A.T, B, lower=1) + excess[:, None] * B


def factor(A, *, scale=None, least=0.0, most=1e-6, overwrite=False):
    """L with L Lᵀ = A + jitter · scale · I,  jitter = least, or where that fails as much more as it takes.

    The second attempt adds 2 u √n (u the unit roundoff) if that is more, each later one ten times as much, up to
    ``most``.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric, both triangles given.
    scale : float, default=None
        What jitter is relative to; None is the largest entry of the diagonal.
    least : float, default=0.0
        What is added at once: the rounding that A is known to have.
    most : float, default=1e-6
        Largest jitter; ``least`` is tried in any case.
    overwrite : bool, default=False
        Whether a C-contiguous float64 array may be used for the factor.

    Returns
    -------
    SmallFactor

    Raises
    ------
    ValueError
        If A has a NaN or an infinite entry.
    NotPositiveDefinite
        If nothing helps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.small import factor
    >>> A = factor(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> A.solve(np.array([2.0, 1.0])), round(A.logdet(), 6), A.jitter
    (array([0.5, 0. ]), 2.079442, 0.0)
    >>> factor(np.ones((2, 2))).jitter > 0  # singular: it says so
    True
    """
    if not overwrite or A.dtype != np.float64 or not A.flags.c_contiguous:
        A = np.array(A, dtype=np.float64, order="C")
    n = len(A)
    entries = A.reshape(-1)[:: n + 1]
    diagonal = entries.copy()
    if scale is None:
        scale = float(np.abs(diagonal).max(initial=0.0))
    jitter = least
    while True:
        if jitter:
            entries += jitter * scale
        with threads_for(n):
            bad = dpotrf(A.T, lower=0, overwrite_a=1, clean=0)[1] if n <= DIRECT else cholesky_lower(A)
        if not bad and math.isfinite(np.add.reduce(entries)):
            return SmallFactor(A, diagonal, float(jitter))
        _restore(A, diagonal)
        next_ = max(2.0 * float(np.finfo(float).eps) * n**0.5, 10.0 * jitter)
        if not next_ <= most:
            raise NotPositiveDefinite(
                f"a matrix of {n} rows has no Cholesky factor, not even with {jitter:.3g} of {scale:.3g} added to its "
                "diagonal: it is not positive semi-definite."
            )
        jitter = next_


class ThinFactor:
    """(diag w + G Gᵀ)⁻¹ for w > 0 and G of n × r: n r² operations instead of n³."""

    __slots__ = ("_T", "_inner", "_root")
    jitter = 0.0

    def __init__(self, w, G):
        self._root = 1.0 / np.sqrt(w)
        self._T = self._root[:, None] * G
        M = self._T.T @ self._T
        M.reshape(-1)[:: len(M) + 1] += 1.0
        self._inner = factor(M, overwrite=True)

    def solve(self, B):
        """(diag w + G Gᵀ)⁻¹ B."""
        root = self._root if np.ndim(B) == 1 else self._root[:, None]
        Z = root * B
        return root * (Z - self._T @ self._inner.solve(self._T.T @ Z))


def _restore(A, diagonal):
    """A again, from the triangle that a factor leaves alone; NaN and infinity are refused."""
    upper = np.triu(A, 1)
    A[:] = upper + upper.T
    A[np.diag_indices(len(A))] = diagonal
    if not np.isfinite(A).all():
        row, column = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(f"a matrix of {len(A)} rows has the entry {A[row, column]} in row {row}, column {column}.")


# ---------------------------------------------------------------------------------------- many at once
def solve_each(A, B):
    """A⁻¹B for each of a stack of small square matrices.

    Parameters
    ----------
    A : ndarray of shape (..., c, c)
    B : ndarray of shape (..., c, k), or (c,) for a single A
    """
    return np.linalg.solve(A, B)


def roots(S):
    """R with S = R Rᵀ for each of a stack of small symmetric matrices, the largest direction first; below 0 is 0."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])[..., ::-1]


def least_norm(S, b):
    """The shortest x with S x = b for a small symmetric S; eigenvalues below 1e-10 of the largest count as 0."""
    values, vectors = np.linalg.eigh(S)
    kept = np.abs(values) > 1e-10 * np.abs(values).max(initial=0.0)
    return vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept])


class Conditionals(NamedTuple):
    """What neighbours say of a point: weights A⁻¹a (b, k), variance c − aᵀA⁻¹a (b,), A⁻¹Y (b, t, k), rows left out."""

    weights: np.ndarray
    variance: np.ndarray
    solved: np.ndarray
    dropped: int


def conditionals(C, absent, Y=None):
    """`Conditionals` of b systems [[A, a], [aᵀ, c]] of k + 1 rows, the last of which is the point itself.

    A neighbour that those before it explain to rounding (1e-13 of its own variance) says nothing more, and is left out:
    nothing is added to a diagonal.

    Parameters
    ----------
    C : ndarray of shape (b, k + 1, k + 1)
        Both triangles given, noise included; overwritten.
    absent : ndarray of bool of shape (b, k)
        Neighbours that are not there; overwritten.
    Y : ndarray of shape (b, t, k), default=None
        What A⁻¹ is applied to.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.small import conditionals
    >>> C = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    >>> found = conditionals(C, np.zeros((1, 1), dtype=bool))
    >>> found.weights, found.variance
    (array([[0.5]]), array([1.5]))
    """
    b, k = absent.shape
    Y = np.zeros((b, 0, k)) if Y is None else Y
    return Conditionals(*_native.neighbours.conditionals(C, absent, 1e-13, Y))


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
    >>> from mercer.solvers.small import Hessians
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
