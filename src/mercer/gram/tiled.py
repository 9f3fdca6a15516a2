"""TiledGram: K is never stored; every product evaluates it again, a cache-sized tile at a time."""

import numpy as np

from mercer import _tiles
from mercer._tiles import EVERYTHING
from mercer.gram.base import Gram, take


def apply(kernel, X, points, coef):
    """K(X, points) coef, by tiles, in memory that does not grow with len(X) · len(points).

    Parameters
    ----------
    kernel : Kernel
    X, points : collections
        Validated by ``kernel.validate``.
    coef : ndarray of shape (len(points), t)

    Returns
    -------
    ndarray of shape (len(X), t)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import apply
    >>> from mercer.kernels import Linear
    >>> apply(Linear(), np.array([[1.0], [2.0]]), np.array([[3.0]]), np.array([[10.0]]))
    array([[30.],
           [60.]])
    """
    return _tiles.product(kernel, X, points, coef, symmetric=False)


class TiledGram(Gram):
    """K with Kᵢⱼ = k(xᵢ, xⱼ), evaluated where it is needed and stored nowhere.

    Of few rows (one tile) it keeps what K and its derivative share, from the first that is asked for to the next.

    Parameters
    ----------
    kernel : Kernel
        Neither it nor X may be changed while the Gram is in use.
    X : collection
        n inputs, as ``kernel.validate`` returns them: who makes the rows has checked them, and nobody does again.
    dtype : {float64, float32}
        Precision of the tiles; sums are in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> K = TiledGram(Gaussian(), np.array([[0.0], [1.0]]))
    >>> (K @ np.ones(2)).round(3)
    array([1.607, 1.607])
    """

    def __init__(self, kernel, X, dtype=np.float64):
        self.kernel = kernel
        self.X = X
        self.dtype = np.dtype(dtype)
        self.n = len(X)

    def __repr__(self):
        return f"TiledGram({self.kernel!r}, n={self.n})"

    def __getstate__(self):
        """The state without what is only kept for speed."""
        return {name: value for name, value in self.__dict__.items() if name != "_prepared"}

    def _inputs(self, dtype):
        """X in a precision; a stationary kernel's inputs are centred first, so that float32 keeps the differences."""
        X = self.X
        if not isinstance(X, np.ndarray) or X.dtype == dtype or X.dtype not in (np.float32, np.float64):
            return X
        if self.kernel.stationary and dtype == np.float32:
            X = X - X.mean(axis=0)
        return X.astype(dtype)

    def _one_tile(self):
        """k on all pairs of X, prepared once, if they are one tile; None if they are more."""
        if self.n * self.n > _tiles.ROWS * _tiles.COLUMNS:
            return None
        if "_prepared" not in self.__dict__:
            self._prepared = self.kernel.prepare(self.X, self.X, keep=True)
        return self._prepared

    def _product(self, V):
        X = self._inputs(self.dtype)
        return _tiles.product(self.kernel, X, X, V.astype(self.dtype, copy=False), symmetric=True)

    @property
    def quick(self):
        """Whether a value takes no longer to compute than to fetch from a large matrix."""
        X = self.X
        return isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] <= self.kernel.columns_quick

    def _product_of(self, index, A):
        if not isinstance(self.X, np.ndarray):
            return super()._product_of(index, A)
        return apply(self.kernel, self.X, self.X[index], A)

    def rows(self, index):
        """K[index, :], in float64."""
        return self.cross(take(self.X, index))

    def cross(self, X):
        """K(X, points), in float64."""
        return np.asarray(_tiles.evaluate(self.kernel, X, self.X, False), dtype=float)

    def diag(self):
        """k(xᵢ, xᵢ)."""
        return np.asarray(self.kernel.diag(self.X), dtype=float)

    def dense(self, dtype=np.float64, lower=False):
        """K as a fresh array; see `Gram.dense`."""
        dtype = np.dtype(dtype)
        X = self._inputs(dtype)
        one = self._one_tile() if X is self.X else None
        if one is None:
            return _tiles.evaluate(self.kernel, X, X, True, lower=lower, out=np.empty((self.n, self.n), dtype=dtype))
        K = _tiles.as_floats(one.tile(EVERYTHING, EVERYTHING))
        if K.dtype != dtype or not (K.flags.c_contiguous and K.flags.writeable):
            K = np.array(K, dtype=dtype, order="C")
        if not lower:
            _tiles.symmetrise(K)
        return K

    def grad(self, W, s=None):
        """Σᵢⱼ sᵢ Wᵢⱼ sⱼ ∂Kᵢⱼ/∂log θ; no s is ones."""
        one = self._one_tile()
        if one is None:
            return _tiles.contract(self.kernel, self.X, self.X, W, True, s)
        return one.grad(EVERYTHING, EVERYTHING, _tiles.scaled(W, s, EVERYTHING, EVERYTHING))

    def restrict(self, index):
        """The Gram of some of the rows."""
        return TiledGram(self.kernel, take(self.X, index), self.dtype)

    def represent(self, alpha):
        """(X, α)."""
        return self.X, alpha
