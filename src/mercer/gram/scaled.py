"""ScaledGram: weights of any kind are S K S at a shared λ, and no solver knows about them.

With S = diag(√w), (K + λ W⁻¹) α = y is (S K S + λI) β = S y with α = S β. Sample weights, merged duplicate rows,
per-row noise, IRLS and Laplace are all this.
"""

import numpy as np

from mercer import _threads, _tiles
from mercer.gram.base import Gram

FEW, CACHED = 256, 64  # rows up to which one block is quickest; and else of a block
ONE_THREAD = 700  # rows up to which one pass over a matrix is not worth a thread


class ScaledGram(Gram):
    """S K S with S = diag(s).

    Parameters
    ----------
    inner : Gram
        K.
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
        rows = _tiles.spans(self.n, _tiles.ROWS)

        def scale(index, worker):  # by rows: one n × n array alive; sᵢsⱼ first, so that K stays symmetric
            i, j = rows[index]
            K[i:j, : j if lower else self.n] *= s[i:j, None] * s[: j if lower else self.n]

        _threads.run(scale, len(rows))
        return K

    def _lower(self, matrix, s):
        """The lower triangle, from a stored K in one pass by rows that stay in the cache."""
        if self.n <= FEW:
            out = matrix * s
            out *= s[:, None]
            return out
        out, rows = np.empty((self.n, self.n), dtype=s.dtype), _tiles.spans(self.n, CACHED)

        def scale(index, worker):
            i, j = rows[index]
            np.multiply(matrix[i:j, :j], s[:j], out=out[i:j, :j])
            out[i:j, :j] *= s[i:j, None]

        _threads.run(scale, len(rows), None if self.n > ONE_THREAD else 1)
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
