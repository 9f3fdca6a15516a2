"""The kernel on the sum norm."""

import numpy as np

from mercer import _tiles
from mercer.kernels import distance
from mercer.kernels.base import Kernel
from mercer.kernels.radial_base import LENGTH_BOUNDS


class Laplacian(Kernel):
    """exp(−Σⱼ |xⱼ − zⱼ|/ℓⱼ), on the sum norm.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    hyper = {"length_scale": LENGTH_BOUNDS}
    stationary = True

    def __init__(self, length_scale=1.0, *, length_scale_bounds=None):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def _scaled(self, X, Z):
        """X/ℓ and Z/ℓ, centred."""
        points = distance.scaled(X, Z, self._positive("length_scale", X.shape[1]))
        return points.A, points.B

    def _tile(self, X, Z):
        A, B = self._scaled(X, Z)
        loops = _tiles.loops()
        if loops is not None:
            out = np.empty((len(A), len(B)), dtype=A.dtype)
            loops.laplacian(A, np.ascontiguousarray(B.T), out)
            return out
        from scipy.spatial.distance import cdist

        r = cdist(A, B, "cityblock").astype(A.dtype, copy=False)
        return np.exp(-r, out=r)

    def diag(self, X):
        """k(x, x) = 1."""
        return np.ones(len(X), dtype=X.dtype)

    def _grad(self, X, Z, W):
        """∂k/∂ℓⱼ = k |xⱼ − zⱼ|/ℓⱼ²."""
        A, B = self._scaled(X, Z)
        V = W * self._tile(X, Z)
        scale = self._positive("length_scale", X.shape[1])
        loops = _tiles.loops()
        if loops is not None:
            sums = np.zeros(A.shape[1])
            loops.weighted_abs(np.ascontiguousarray(V), A, np.ascontiguousarray(B.T), sums)
        else:
            sums = np.array([np.sum(V * np.abs(A[:, [j]] - B[:, j])) for j in range(A.shape[1])])
        return {"length_scale": (sums if scale.size > 1 else sums.sum()) / scale}

    def _dx(self, X, Z):
        """−k sign(xⱼ − zⱼ)/ℓⱼ."""
        A, B = self._scaled(X, Z)
        return -self._tile(X, Z)[:, :, None] * np.sign(A[:, None] - B[None]) / self._positive("length_scale")

    @classmethod
    def examples(cls):
        """One length scale, and ARD."""
        return [cls(), cls([0.5, 1.0, 2.0])]
