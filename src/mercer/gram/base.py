"""Gram: a kernel on our data, seen as a matrix, of all rows or of those that are taken or drawn."""

from abc import ABC, abstractmethod

import numpy as np

from mercer import _tiles
from mercer.kernels.objects.counts import mix


class Gram(ABC):
    """K with Kᵢⱼ = k(xᵢ, xⱼ): all that is asked of it is declared here. No λ, no y.

    Attributes
    ----------
    n : int
        Number of rows.
    matrix : ndarray of shape (n, n) or None
        Its entries, where they are stored; maybe in float32.
    quick : bool
        Whether a value takes no longer to compute than to fetch from a large matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> K = TiledGram(Gaussian(), np.array([[0.0], [1.0]]))
    >>> K.n, (K @ np.array([1.0, 0.0])).round(3)
    (2, array([1.   , 0.607]))
    """

    n: int
    matrix = None
    quick = False

    @property
    def shape(self):
        """(n, n)."""
        return (self.n, self.n)

    def __matmul__(self, V):
        """K V, in float64."""
        V = np.asarray(V, dtype=float)
        if V.shape[:1] != (self.n,):
            raise ValueError(f"K is {self.n} × {self.n}, but the right-hand side has shape {V.shape}.")
        return self._product(V[:, None])[:, 0] if V.ndim == 1 else self._product(V)

    @abstractmethod
    def _product(self, V):
        """K V for V of shape (n, t)."""

    def exact_product(self, A):
        """K A in float64, for an A with many rows of zeros: the others are evaluated afresh, unless K is stored."""
        support = np.flatnonzero(A.any(axis=1))
        return self @ A if 2 * support.size > self.n else self._product_of(support, A[support])

    def _product_of(self, index, A):
        """K[:, index] A."""
        out = np.zeros((self.n, A.shape[1]))
        for k in range(0, len(index), 1024):
            out += (A[k : k + 1024].T @ self.rows(index[k : k + 1024])).T
        return out

    def times_columns(self, index, A):
        """K[:, index] A, in the precision that a product has."""
        return self._product_of(index, A)

    @abstractmethod
    def rows(self, index):
        """K[index, :], in float64."""

    @abstractmethod
    def cross(self, X):
        """K(X, points), in float64: f(X) = K(X, points) α for the α of this Gram.

        Parameters
        ----------
        X : collection
            As the kernel's ``validate`` returns it.
        """

    @abstractmethod
    def diag(self):
        """The diagonal of K."""

    @abstractmethod
    def dense(self, dtype=np.float64, lower=False):
        """K as a fresh C-ordered array that the caller owns and may destroy.

        With ``lower`` only the lower triangle, diagonal included, is filled.
        """

    @abstractmethod
    def grad(self, W, s=None):
        """Σᵢⱼ Wᵢⱼ ∂Kᵢⱼ/∂log θ for a symmetric W: a vector of length p.

        Parameters
        ----------
        W : ndarray of shape (n, n)
        s : ndarray of shape (n,), default=None
            With it, the same for S W S, S = diag(s).
        """

    @abstractmethod
    def restrict(self, index):
        """Return the Gram of some of the rows, in the order of an index."""

    @abstractmethod
    def represent(self, alpha):
        """(points, coef) with f(x) = Σⱼ k(x, pointsⱼ) coefⱼ."""


def take(X, index):
    """X[index] for an array, a list, or a collection that can be indexed by an array.

    Examples
    --------
    >>> from mercer.gram import take
    >>> take(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    return [X[i] for i in index] if isinstance(X, list) else X[np.asarray(index)]


def join(X, Z):
    """The rows of X, then those of Z, for arrays, lists and collections with a method of that name.

    Examples
    --------
    >>> from mercer.gram import join
    >>> join(["a"], ["b", "c"])
    ['a', 'b', 'c']
    """
    if isinstance(X, np.ndarray):
        return np.vstack([X, Z])
    return [*X, *Z] if isinstance(X, list) else X.joined(Z)


def fill(kernel, X, Z, out, centre=None):
    """Write k(X, Z), less a centre of each column, into ``out``, by tiles in this thread: what a leaf does."""
    tile = kernel.prepare(X, Z).tile
    for i0, i1 in _tiles.spans(len(X), _tiles.ROWS):
        for j0, j1 in _tiles.spans(len(Z), _tiles.COLUMNS):
            k, part = tile(slice(i0, i1), slice(j0, j1)), out[i0:i1, j0:j1]
            if centre is None:
                part[:] = k
            else:
                np.subtract(k, centre[j0:j1], out=part, casting="same_kind")
    return out


def draw_rows(n, size, seed):
    """``size`` of the rows 0, …, n − 1, those whose hash is smallest, sorted: the same in every process and order."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.argpartition(row_hash(0, n, seed), size)[:size])


def row_hash(start, stop, seed):
    """A number in 0, …, 2⁶⁴ − 1 for each row from start to stop, of the row and the seed alone.

    Examples
    --------
    >>> from mercer.gram.base import row_hash
    >>> bool((row_hash(0, 9, 1)[4:] == row_hash(4, 9, 1)).all())
    True
    """
    return mix(np.arange(start, stop, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15 * 2 * int(seed) % 2**64))
