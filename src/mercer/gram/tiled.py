"""TiledGram: K is never stored; every product evaluates it again, a cache-sized tile at a time."""

import numpy as np

from mercer import _tiles
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

    Parameters
    ----------
    kernel : Kernel
    X : collection
        n inputs, as the kernel reads them.
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
        self.X = kernel.validate(X)
        self.dtype = np.dtype(dtype)
        self.n = len(self.X)

    def __repr__(self):
        return f"TiledGram({self.kernel!r}, n={self.n})"

    def _inputs(self, dtype):
        """X in a precision; a stationary kernel's inputs are centred first, so that float32 keeps the differences."""
        X = self.X
        if not isinstance(X, np.ndarray) or X.dtype == dtype or X.dtype not in (np.float32, np.float64):
            return X
        if self.kernel.stationary and dtype == np.float32:
            X = X - X.mean(axis=0)
        return X.astype(dtype)

    def _product(self, V):
        X = self._inputs(self.dtype)
        return _tiles.product(self.kernel, X, X, V.astype(self.dtype, copy=False), symmetric=True)

    def rows(self, index):
        """K[index, :], in float64."""
        return np.asarray(self.kernel(take(self.X, index), self.X), dtype=float)

    def diag(self):
        """k(xᵢ, xᵢ)."""
        return np.asarray(self.kernel.diag(self.X), dtype=float)

    def dense(self, dtype=np.float64, lower=False):
        """K as a fresh array; see `Gram.dense`."""
        X = self._inputs(np.dtype(dtype))
        out = np.empty((self.n, self.n), dtype=dtype)
        return _tiles.evaluate(self.kernel, X, X, True, lower=lower, out=out)

    def grad(self, W, s=None):
        """Σᵢⱼ sᵢ Wᵢⱼ sⱼ ∂Kᵢⱼ/∂log θ; no s is ones."""
        return _tiles.contract(self.kernel, self.X, self.X, W, True, s)

    def restrict(self, index):
        """The Gram of some of the rows."""
        return TiledGram(self.kernel, take(self.X, index), self.dtype)

    def represent(self, alpha):
        """(X, α)."""
        return self.X, alpha
