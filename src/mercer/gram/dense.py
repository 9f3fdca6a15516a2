"""DenseGram: K is stored; every solver and criterion may read it as often as it likes."""

import numpy as np

from mercer.gram.base import Gram
from mercer.gram.tiled import TiledGram


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
