"""A radial function of a kernel's own distance: `Gaussian`, `Matern`, … on measures, strings, graphs, anything."""

import numpy as np

from mercer._tiles import EVERYTHING
from mercer.kernels import distance
from mercer.kernels.basis import Features
from mercer.kernels.inputs import Compared
from mercer.kernels.radial_base import Radial


class RadialOf(Compared):
    """φ(d²/ℓ²),  d² = k(x, x) + k(z, z) − 2 k(x, z): a radial kernel on the distance in feature space.

    Proved PSD if k is and φ is a mixture of Gaussians, as all radial kernels of this library are. Where k has dense
    features, d² comes from their differences; else distances smaller than the rounding of k(x, x) count as 0.

    Parameters
    ----------
    radial : Radial
        φ and ℓ: `Gaussian`, `Exponential`, `Matern32`, `Matern52`, `Matern`, `RationalQuadratic`, with one length
        scale.
    base : Kernel
        k, on inputs of any kind.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, RadialOf
    >>> kernel = RadialOf(Gaussian(2.0), Linear())
    >>> kernel([[0.0], [2.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    >>> kernel.names
    ['radial__length_scale']
    """

    parts = ("radial", "base")

    def __init__(self, radial, base): ...

    def counts(self):
        """None: it is a function of distances."""
        return None

    def _phrase(self, place):
        counted = self.base.counts()
        return f"{self.radial.character} of {f'{counted}{place.where()}' if counted else repr(self.base)}"

    @property
    def psd(self):
        """Whether k is proved PSD, and φ on every Hilbert space, as mixtures of Gaussians are (Schoenberg)."""
        return self.base.psd and self.radial.mixture_of_gaussians

    def validate(self, X):
        """X as the base kernel reads it; φ is checked."""
        if not isinstance(self.radial, Radial):
            raise TypeError(
                "RadialOf: radial must be a function of one distance, such as Gaussian(), Exponential() or Matern32(); "
                f"got {self.radial!r}."
            )
        scale = np.asarray(self.radial.length_scale, dtype=float)
        if scale.size != 1:
            raise ValueError(f"RadialOf: a distance has one length scale, got {scale.size}.")
        return self.base.validate(X)

    def stored_inputs(self, X):
        """What the base kernel must keep."""
        return self.base.stored_inputs(X)

    def _squared(self, X, Z):
        """d² of all pairs."""
        if isinstance(self.base, Features) and len(X) and len(Z):
            return distance.scale_points(self.base.features(X), self.base.features(Z), np.ones(())).squared()
        tile, a, b = self._values(X, Z)
        return self._from_values(tile(EVERYTHING, EVERYTHING), a, b)

    def _from_values(self, K, a, b):
        """a + b − 2K in place of K; 0 below 64 roundings of a + b, so that equal inputs have distance 0."""
        size = a + b
        K *= -2.0
        K += size
        if not self.base.psd and (K < -1e-8 * np.abs(size)).any():
            i, j = np.unravel_index(np.argmin(K), K.shape)
            raise ValueError(
                f"RadialOf: {self.base!r} is not positive semi-definite: k(x, x) + k(z, z) − 2 k(x, z) is "
                f"{K[i, j]:.4g} for a pair of inputs, which is no squared distance."
            )
        K[K <= 64.0 * np.finfo(K.dtype).eps * size] = 0.0
        return K

    def tiles(self, X, Z):
        """φ of the distances; features or diagonals are computed once."""
        if isinstance(self.base, Features) and len(X) and len(Z):
            F = self.base.features(X)
            return self.radial.tiles(F, F if Z is X else self.base.features(Z))
        return super().tiles(X, Z)

    def _value(self, K, a, b):
        return self.radial.phi(self._from_values(K, a, b) / self._scale())

    def _pull_back(self, W, K, a, b):
        V = W * self.radial.dphi(self._from_values(K, a, b) / self._scale()) / self._scale()
        return -2.0 * V, V.sum(axis=1), V.sum(axis=0)

    def _scale(self):
        """ℓ²."""
        return float(self.radial._positive("length_scale").reshape(())) ** 2

    def grad(self, X, Z, W):
        """∂/∂log θ: of φ at these distances, and of the base kernel through ∂d² = ∂k(x, x) + ∂k(z, z) − 2 ∂k(x, z)."""
        S = self._squared(X, Z)
        # A radial kernel on the line, between 0 and each distance, knows its own derivatives.
        r = np.sqrt(S).reshape(-1, 1)
        own = self.radial.grad(r, np.zeros((1, 1), dtype=r.dtype), np.asarray(W, dtype=r.dtype).reshape(-1, 1))
        return np.concatenate([own, super().grad(X, Z, W)])
