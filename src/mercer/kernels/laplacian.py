"""The kernel on the sum norm."""

import numpy as np

from mercer._tiles import EVERYTHING
from mercer.kernels import distance
from mercer.kernels.base import PreparedKernel, UnitDiagonal
from mercer.kernels.prepared import Prepared
from mercer.kernels.radial_base import LENGTH_BOUNDS


class Laplacian(UnitDiagonal, PreparedKernel):
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
    lengths = ("length_scale",)
    character = "a rough function"
    stationary = True

    def __init__(self, length_scale=1.0, *, length_scale_bounds=None): ...

    def prepare(self, X, Z, keep=False):
        """Tiles and contractions; both collections are scaled once."""
        return _PreparedLaplacian(self, X, Z, keep)

    def formula(self, x, z):
        """exp(−Σⱼ |xⱼ − zⱼ|/ℓⱼ)."""
        return np.exp(-np.add.reduce(np.abs(x - z) / self._positive("length_scale")))

    def metric(self, X):
        """x/ℓ, by the sum norm."""
        return X / self._positive("length_scale", X.shape[1]), 1

    def _dx(self, X, Z):
        """−k sign(xⱼ − zⱼ)/ℓⱼ."""
        pairs = self.prepare(X, Z)
        sign = np.sign(pairs.points.A[:, None] - pairs.points.B[None])
        return -pairs.tile(EVERYTHING, EVERYTHING)[:, :, None] * sign / pairs.scale


class _PreparedLaplacian(Prepared):
    """exp(−‖a − b‖₁) for x/ℓ and z/ℓ; with ``keep``, the values of all pairs are kept for the contraction."""

    def __init__(self, kernel, X, Z, keep):
        self.kernel, self.scale = kernel, kernel._positive("length_scale", X.shape[1])
        self.points = distance.scale_points(X, Z, self.scale)
        self._keep, self._kept = keep, None

    def tile(self, i, j):
        if self._kept is not None and i is EVERYTHING and j is EVERYTHING:
            return self._kept.copy()
        K = self.points.laplacian(i, j)
        if self._keep and i is EVERYTHING and j is EVERYTHING:
            self._kept = K.copy()
        return K

    def grad(self, i, j, W):
        return self.weighted(i, j, W)[1]

    def weighted(self, i, j, W):
        """∂k/∂log ℓⱼ = k |xⱼ − zⱼ|/ℓⱼ."""
        V = self.tile(i, j)
        V *= W
        total = np.add.reduce(V, axis=None)
        if not self.kernel._n_free("length_scale"):
            return total, np.zeros(0)
        sums = self.points.weighted_abs(V, i, j)
        return total, sums if self.scale.size > 1 else np.add.reduce(sums, keepdims=True)
