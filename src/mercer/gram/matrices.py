"""Which matrix K is: `TiledGram` evaluates it whenever it is asked, `DenseGram` stores it, `ScaledGram` is S K S.

With S = diag(√w), (K + λ W⁻¹) α = y is (S K S + λI) β = S y with α = S β. Sample weights, merged duplicate rows,
per-row noise, IRLS and Laplace are all this, and no solver knows about them.
"""

import numpy as np

from mercer import _threads, _tiles
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
        n inputs, as ``kernel.validate`` returns them: they are not checked again.
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

    def times_columns(self, index, A):
        """K[:, index] A, in the precision that a product has."""
        X = self._inputs(self.dtype)
        if not isinstance(X, np.ndarray):
            return super().times_columns(index, A)
        return np.asarray(apply(self.kernel, X, X[index], A.astype(self.dtype, copy=False)), dtype=float)

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


class DenseGram(Gram):
    """K with Kᵢⱼ = k(xᵢ, xⱼ), evaluated once and stored: 8n² bytes.

    Parameters
    ----------
    kernel : Kernel
    X : collection
        n inputs, as ``kernel.validate`` returns them.
    dtype : {float64, float32}
        Precision of the stored matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.kernels import Linear
    >>> DenseGram(Linear(), np.array([[1.0], [2.0]])).dense()
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, kernel, X, dtype=np.float64):
        self.source = TiledGram(kernel, X)
        self.n = self.source.n
        self.matrix = self.source.dense(dtype)

    @classmethod
    def from_matrix(cls, K, source=None):
        """Return the Gram of a symmetric matrix; without the ``source`` it is of, it has no θ and no new points."""
        K = np.asarray(K)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K must be square, got shape {K.shape}.")
        self = cls.__new__(cls)
        self.source, self.n, self.matrix = source, len(K), K
        return self

    def __repr__(self):
        return f"DenseGram(n={self.n})" if self.source is None else repr(self.source)

    def _kernel_on_points(self):
        """The Gram of the same kernel and points."""
        if self.source is None:
            raise ValueError("A Gram made from a plain matrix has no points to predict from.")
        return self.source

    def _product(self, V):
        return np.asarray(self.matrix @ V.astype(self.matrix.dtype, copy=False), dtype=float)

    def exact_product(self, A):
        """K A in float64: entries that were rounded are evaluated afresh; those of a plain matrix can only be read."""
        if self.matrix.dtype == np.float64:
            return super().exact_product(A)
        support = np.flatnonzero(A.any(axis=1))
        return self._product_of(support, A[support]) if self.source is None else self.source.exact_product(A)

    def rows(self, index):
        """K[index, :], in float64."""
        return np.asarray(self.matrix[np.asarray(index)], dtype=float)

    def cross(self, X):
        """K(X, points), in float64."""
        return self._kernel_on_points().cross(X)

    def diag(self):
        """The diagonal of K."""
        return np.asarray(np.diagonal(self.matrix), dtype=float).copy()

    def dense(self, dtype=np.float64, lower=False):
        """Return a copy of K."""
        return np.array(self.matrix, dtype=dtype, order="C")

    def grad(self, W, s=None):
        """Σᵢⱼ sᵢ Wᵢⱼ sⱼ ∂Kᵢⱼ/∂log θ; empty for a plain matrix."""
        return self.source.grad(W, s) if self.source else np.zeros(0)

    def restrict(self, index):
        """The Gram of some of the rows: a part of the matrix."""
        index = np.asarray(index)
        part = None if self.source is None else self.source.restrict(index)
        return DenseGram.from_matrix(self.matrix[np.ix_(index, index)], part)

    def represent(self, alpha):
        """(X, α)."""
        return self._kernel_on_points().represent(alpha)


class ScaledGram(Gram):
    """S K S with S = diag(s).

    Parameters
    ----------
    inner : Gram
        K, the Gram matrix that is scaled.
    s : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram, ScaledGram
    >>> K = DenseGram.from_matrix(np.eye(2))
    >>> ScaledGram(K, np.array([1.0, 2.0])).dense()
    array([[1., 0.],
           [0., 4.]])
    """

    def __init__(self, inner, s):
        self.inner = inner
        self.s = np.asarray(s, dtype=float)
        self.n = inner.n
        if self.s.shape != (self.n,):
            raise ValueError(f"s must have length {self.n}, got shape {self.s.shape}.")

    def __repr__(self):
        return f"ScaledGram({self.inner!r})"

    def _product(self, V):
        return self.s[:, None] * (self.inner @ (self.s[:, None] * V))

    def times_columns(self, index, A):
        """(S K S)[:, index] A."""
        return self.s[:, None] * self.inner.times_columns(index, self.s[index][:, None] * A)

    def rows(self, index):
        """(S K S)[index, :]."""
        return self.s[np.asarray(index)][:, None] * self.inner.rows(index) * self.s

    def diag(self):
        """s² ∘ diag K."""
        return self.s**2 * self.inner.diag()

    def dense(self, dtype=np.float64, lower=False):
        """S K S as a fresh array."""
        s = self.s.astype(dtype, copy=False)
        if lower and self.inner.matrix is not None and self.inner.matrix.dtype == s.dtype:
            return self._lower(self.inner.matrix, s)
        K = self.inner.dense(dtype, lower)
        rows = _tiles.spans(self.n, _tiles.rows_of_lower_tiles(self.n))  # what was not written is not read

        def scale(index, worker):  # by rows: one n × n array alive; sᵢsⱼ first, so that K stays symmetric
            i, j = rows[index]
            K[i:j, : j if lower else self.n] *= s[i:j, None] * s[: j if lower else self.n]

        _threads.run(scale, len(rows))
        return K

    def _lower(self, matrix, s):
        """The lower triangle, from a stored K in one pass by rows that stay in the cache."""
        if self.n <= 256:  # one block is quickest
            out = matrix * s
            out *= s[:, None]
            return out
        out, rows = np.empty((self.n, self.n), dtype=s.dtype), _tiles.spans(self.n, 64)

        def scale(index, worker):
            i, j = rows[index]
            np.multiply(matrix[i:j, :j], s[:j], out=out[i:j, :j])
            out[i:j, :j] *= s[i:j, None]

        _threads.run(scale, len(rows), None if self.n > 700 else 1)  # one pass over fewer rows is not worth a thread
        return out

    def cross(self, X):
        """K(X, points) S: new points have no weight of their own."""
        return self.inner.cross(X) * self.s

    def grad(self, W, s=None):
        """Σᵢⱼ sᵢ Wᵢⱼ sⱼ ∂Kᵢⱼ/∂log θ, by K itself: no second n × n array where that goes by tiles."""
        return self.inner.grad(W, self.s if s is None else self.s * s)

    def restrict(self, index):
        """The Gram of some of the rows."""
        return ScaledGram(self.inner.restrict(index), self.s[np.asarray(index)])

    def represent(self, alpha):
        """(points, S α)."""
        return self.inner.represent(self.s[:, None] * alpha if alpha.ndim == 2 else self.s * alpha)
