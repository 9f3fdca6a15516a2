"""Main effects and interactions in one kernel."""

import numpy as np

from mercer.kernels import distance
from mercer.kernels.base import PreparedKernel, UnitDiagonal
from mercer.kernels.prepared import Prepared
from mercer.kernels.radial_base import LENGTH_BOUNDS

ENTRIES = 2**16  # of pairs times columns that are worked on at once: half a megabyte
ROOT3 = float(np.sqrt(3.0))


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
    stationary = True

    def __init__(
        self, length_scale=1.0, strength=1.0, profile="matern32", *, length_scale_bounds=None, strength_bounds=None
    ): ...

    def prepare(self, X, Z, keep=False):
        """Tiles and contractions; both collections are scaled once."""
        return _PreparedAnova(self, X, Z)

    def _dx(self, X, Z):
        """k a φ′(δⱼ) sign(δⱼ)/(ℓⱼ(1 + aφⱼ)),  δ = (x − z)/ℓ."""
        pairs = self.prepare(X, Z)
        signed = pairs.points.A.T[:, :, None] - pairs.points.B.T[:, None]
        phi, slope = pairs.phi(np.abs(signed), slope=True)
        factors = 1.0 + pairs.a * phi
        size = np.abs(signed)
        inner = np.divide(slope, size, out=np.zeros_like(slope), where=size > 0)  # |φ′|, of a u φ′ that is given
        out = -factors.prod(axis=0) * pairs.whole * (pairs.a * inner * np.sign(signed) / factors)
        return np.moveaxis(out, 0, 2) / pairs.scale


class _PreparedAnova(Prepared):
    """x/ℓ and z/ℓ; a strip of rows at a time, with all columns of it in one array of shape (d, rows, n)."""

    def __init__(self, kernel, X, Z):
        if kernel.profile not in ("matern32", "exponential", "gaussian"):
            raise ValueError(f"Anova: profile must be 'matern32', 'exponential' or 'gaussian', got {kernel.profile!r}.")
        self.kernel, self.scale = kernel, kernel._positive("length_scale", X.shape[1])
        self.points = distance.scaled(X, Z, self.scale)
        self.a = float(kernel._positive("strength", 1).reshape(-1)[0])
        self.whole = (1.0 + self.a) ** -X.shape[1]

    def phi(self, u, slope=False):
        """φ(u), and −u φ′(u) if it is asked for."""
        if self.kernel.profile == "gaussian":
            u *= u
            phi = np.exp(-0.5 * u)
            return phi, u * phi if slope else None
        if self.kernel.profile == "exponential":
            phi = np.exp(-u)
            return phi, u * phi if slope else None
        u *= ROOT3
        e = np.exp(-u)
        phi = (1.0 + u) * e
        return phi, u * u * e if slope else None

    def _strips(self, i, j):
        """Yield (rows, |a − b| of shape (d, rows, n)) of a tile."""
        A, B = np.ascontiguousarray(self.points.A[i].T), np.ascontiguousarray(self.points.B[j].T)
        rows = max(1, ENTRIES // max(1, B.size))
        for start in range(0, A.shape[1], rows):
            u = A[:, start : start + rows, None] - B[:, None]
            yield slice(start, start + u.shape[1]), np.abs(u, out=u)

    def tile(self, i, j):
        out = np.empty((len(self.points.A[i]), len(self.points.B[j])), dtype=self.points.A.dtype)
        for rows, u in self._strips(i, j):
            factors, _ = self.phi(u)
            factors *= self.a
            factors += 1.0
            np.multiply.reduce(factors, axis=0, out=out[rows])
        out *= self.whole
        return out

    def grad(self, i, j, W):
        return self.weighted(i, j, W)[1]

    def weighted(self, i, j, W):
        """∂k/∂log ℓⱼ = k a(−uφ′)/(1 + aφ);  ∂k/∂log a = k Σⱼ (aφⱼ/(1 + aφⱼ) − a/(1 + a))."""
        d, total = len(self.points.A.T), 0.0
        by_scale, by_strength = np.zeros(d), 0.0
        for rows, u in self._strips(i, j):
            phi, slope = self.phi(u, slope=True)
            phi *= self.a
            slope *= self.a
            factors = 1.0 + phi
            V = np.multiply.reduce(factors, axis=0)
            V *= W[rows]
            V, slope, phi = V.reshape(-1), (slope / factors).reshape(d, -1), (phi / factors).reshape(d, -1)
            total += V.sum()
            by_scale += slope @ V
            by_strength += float((phi @ V).sum())
        parts = []
        if self.kernel._entries("length_scale"):
            parts.append(by_scale if self.scale.size > 1 else by_scale.sum(keepdims=True))
        if self.kernel._entries("strength"):
            parts.append(np.atleast_1d(by_strength - d * self.a / (1.0 + self.a) * total))
        found = np.concatenate(parts) if parts else np.zeros(0)
        return self.whole * total, self.whole * found
