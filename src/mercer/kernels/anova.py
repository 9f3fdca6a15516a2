"""Main effects and interactions in one kernel."""

from math import comb

import numpy as np

from mercer import _native
from mercer.kernels import distance
from mercer.kernels.base import PreparedKernel, UnitDiagonal
from mercer.kernels.one_pass import OnePass
from mercer.kernels.radial import Exponential, Gaussian, Matern32
from mercer.kernels.radial_base import LENGTH_BOUNDS

PROFILES = {"matern32": Matern32(), "exponential": Exponential(), "gaussian": Gaussian()}  # φ and φ′ of u²


class Anova(UnitDiagonal, PreparedKernel):
    """∏ⱼ (1 + a φ(|xⱼ − zⱼ|/ℓⱼ))/(1 + a): a function of each column, of each pair of columns, and so on, added up.

    Multiplied out, it is the sum over all sets S of columns of a^|S| ∏_{j in S} φⱼ. With a small strength a the model
    is additive; with a large one only the interaction of all columns is left, the product of the φⱼ.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    strength : float, default=1.0
        a > 0: how much an interaction is worth beside one of one column less.
    profile : {"matern32", "exponential", "gaussian"}, default="matern32"
        φ: (1 + √3 u) exp(−√3 u), exp(−u), or exp(−u²/2).
    length_scale_bounds, strength_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5) and (1e-4, 1e4).

    Examples
    --------
    >>> from mercer.kernels import Anova
    >>> Anova(strength=1e-3, profile="exponential")([[0.0, 0.0]], [[9.0, 9.0], [9.0, 0.0]]).round(4)
    array([[0.998, 0.999]])
    """

    hyper = {"length_scale": LENGTH_BOUNDS, "strength": (1e-4, 1e4)}
    lengths = ("length_scale",)
    stationary = True

    def __init__(
        self, length_scale=1.0, strength=1.0, profile="matern32", *, length_scale_bounds=None, strength_bounds=None
    ): ...

    def formula(self, x, z):
        """∏ⱼ (1 + a φ(|xⱼ − zⱼ|/ℓⱼ))/(1 + a)."""
        a = float(self._positive("strength", 1).reshape(-1)[0])
        phi = PROFILES[self.profile].phi(np.square((x - z) / self._positive("length_scale")))
        return np.multiply.reduce((1.0 + a * phi) / (1.0 + a))

    def _phrase(self, place):
        return f"{self._orders(place)}{place.most_relevant(self.length_scale)}"

    def _orders(self, place):
        """How much of the prior variance is in functions of one column, of two, and of more."""
        d = np.size(self.length_scale)
        count = d if d > 1 else place.count or 2
        share = np.array([comb(count, k) * self.strength**k for k in range(1, count + 1)], dtype=float)
        share /= share.sum()
        if share[0] > 0.8:
            return f"a sum of functions of single columns of {place.all()}"
        if share[:2].sum() > 0.8:
            return f"a sum of functions of single columns and of pairs of {place.all()}"
        return f"functions of single columns and of several together, of {place.all()}"

    def prepare(self, X, Z, keep=False):
        """Tiles and contractions; both collections are scaled once."""
        return _PreparedAnova(self, X, Z)

    def _dx(self, X, Z):
        """k 2a δⱼ φ′(δⱼ²)/(ℓⱼ(1 + aφⱼ)),  δ = (x − z)/ℓ."""
        pairs = self.prepare(X, Z)
        signed = pairs.points.A.T[:, :, None] - pairs.points.B.T[:, None]
        profile, square = PROFILES[self.profile], signed**2
        factors = 1.0 + pairs.a * profile.phi(square.copy())
        slopes = 2.0 * signed * profile.dphi(square)
        out = factors.prod(axis=0) * pairs.whole * (pairs.a * slopes / factors)
        return np.moveaxis(out, 0, 2) / pairs.scale


class _PreparedAnova(OnePass):
    """The product over the columns of x/ℓ and z/ℓ."""

    def __init__(self, kernel, X, Z):
        if kernel.profile not in PROFILES:
            raise ValueError(f"Anova: profile must be one of {', '.join(PROFILES)}, got {kernel.profile!r}.")
        self.kernel, self.scale = kernel, kernel._positive("length_scale", X.shape[1])
        self.points = distance.scale_points(X, Z, self.scale)
        self.a = float(kernel._positive("strength", 1).reshape(-1)[0])
        self.whole = (1.0 + self.a) ** -X.shape[1]

    def enter(self, program, c):
        code = _native.CODES[self.kernel.profile]
        program.leaf(_native.ANOVA, self.points, code=code, scale=c * self.whole, shape=self.a)
        return True

    def collect(self, found):
        """∂k/∂log ℓⱼ = k a(−uφ′)/(1 + aφ);  ∂k/∂log a = k Σⱼ (aφⱼ/(1 + aφⱼ) − a/(1 + a))."""
        total, by_strength, by_scale = next(found)
        parts = []
        if self.kernel._n_free("length_scale"):
            parts.append(by_scale if self.scale.size > 1 else by_scale.sum(keepdims=True))
        if self.kernel._n_free("strength"):
            parts.append(np.atleast_1d(by_strength - len(by_scale) * self.a / (1.0 + self.a) * total))
        return total, parts
