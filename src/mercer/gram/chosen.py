"""Some rows of a stored Gram, without a copy of them."""

import numpy as np

from mercer import _tiles
from mercer.gram.base import Gram


class ChosenGram(Gram):
    """K[index, index] of a stored K, read where it is.

    Parameters
    ----------
    inner : DenseGram
    index : ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.gram.chosen import ChosenGram
    >>> ChosenGram(DenseGram.from_matrix(np.diag([1.0, 2.0, 3.0])), np.array([0, 2])).dense()
    array([[1., 0.],
           [0., 3.]])
    """

    def __init__(self, inner, index):
        self.inner, self.index, self.n = inner, np.asarray(index), len(index)

    def __repr__(self):
        return f"ChosenGram({self.inner!r}, n={self.n})"

    def _product(self, V):
        spread = np.zeros((self.inner.n, *V.shape[1:]))
        spread[self.index] = V
        return (self.inner @ spread)[self.index]

    def rows(self, index):
        """Rows of the chosen rows and columns."""
        return self.inner.rows(self.index[np.asarray(index)])[:, self.index]

    def diag(self):
        """The diagonal."""
        return self.inner.diag()[self.index]

    def dense(self, dtype=np.float64, lower=False):
        """The chosen part as a fresh array, or only its lower triangle and tiles on the diagonal."""
        out = np.empty((self.n, self.n), dtype=dtype)
        for i, j in _tiles.spans(self.n, _tiles.ROWS):
            last = j if lower else self.n
            rows = self.inner.matrix[self.index[i:j]]
            out[i:j, :last] = np.take(rows, self.index[:last], axis=1)
        return out

    def cross(self, X):
        """K(X, chosen points)."""
        return self.inner.cross(X)[:, self.index]

    def grad(self, W, s=None):
        """Σᵢⱼ sᵢ Wᵢⱼ sⱼ ∂Kᵢⱼ/∂log θ."""
        return self.restrict(np.arange(self.n)).grad(W, s)

    def restrict(self, index):
        """The Gram of some of these rows, as a copy."""
        return self.inner.restrict(self.index[np.asarray(index)])

    def represent(self, alpha):
        """(points, α)."""
        return self.restrict(np.arange(self.n)).represent(alpha)


def part_of(K, index):
    """The Gram of some rows, ascending: all of them as it is, few as a copy, most without one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.gram.chosen import part_of
    >>> part_of(DenseGram.from_matrix(np.eye(3)), np.array([0, 2]))
    ChosenGram(DenseGram(n=3), n=2)
    """
    if len(index) == K.n:
        return K
    return K.restrict(index) if K.matrix is None or len(index) < K.n / 2 else ChosenGram(K, index)
