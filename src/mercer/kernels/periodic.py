"""Kernels of a phase: functions that repeat. Both are inner products or Gaussians of (cos 2πx/p, sin 2πx/p).

The phase is x modulo p, and the remainder of two floats is exact: no digit is lost far from the origin.
"""

import numpy as np

from mercer.kernels import distance
from mercer.kernels.base import PreparedKernel, UnitDiagonal
from mercer.kernels.prepared import Prepared
from mercer.kernels.radial import Gaussian
from mercer.kernels.words import season_words


class Periodic(UnitDiagonal, PreparedKernel):
    """exp(−2 Σⱼ sin²(π(xⱼ − zⱼ)/p)/ℓⱼ²): repeats exactly, with any shape inside one period.

    It is the Gaussian kernel on u(x) = (cos 2πx/p, sin 2πx/p), since ‖u(x) − u(z)‖ = 2 |sin(π(x − z)/p)|.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0, measured on the circle: it has no unit. One for each column is ARD.
    period : float or array-like of shape (d,), default=1.0
        p > 0, in the unit of x.
    length_scale_bounds, period_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(period=7.0)([[0.0]], [[3.5], [7.0], [700000000.0]]).round(3)
    array([[0.135, 1.   , 1.   ]])
    """

    hyper = {"length_scale": (1e-5, 1e5), "period": (1e-5, 1e5)}
    lengths = ("period",)
    stationary = True

    def __init__(self, length_scale=1.0, period=1.0, *, length_scale_bounds=None, period_bounds=None): ...

    def _circle(self, X):
        """U = (cos 2πx/p, sin 2πx/p), all cosines first, of shape (n, 2d)."""
        angle = 2.0 * np.pi * turns(X, self._positive("period", X.shape[1]))
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1).astype(X.dtype, copy=False)

    def formula(self, x, z):
        """exp(−2 Σⱼ sin²(π(xⱼ − zⱼ)/p)/ℓⱼ²)."""
        sine = np.sin((x - z) * (np.pi / self._positive("period"))) / self._positive("length_scale")
        return np.exp(-2.0 * np.add.reduce(np.square(sine)))

    def _phrase(self, place):
        return season_words(self.period, place)

    def prepare(self, X, Z, keep=False):
        """The Gaussian kernel on the circle."""
        return _PreparedPeriodic(self, X, Z, keep)

    def _dx(self, X, Z):
        """−k 2π sin(2πδⱼ/p)/(p ℓⱼ²)."""
        d = X.shape[1]
        scale, period = self._positive("length_scale", d), self._positive("period", d)
        P, Q = self._circle(X)[:, None], self._circle(Z)[None]
        sine = P[..., d:] * Q[..., :d] - P[..., :d] * Q[..., d:]
        return -self._tile(X, Z)[:, :, None] * sine * (2.0 * np.pi / (period * scale**2))


class _PreparedPeriodic(Prepared):
    """The Gaussian kernel on u(x) = (cos 2πx/p, sin 2πx/p), and the derivatives with respect to ℓ and p."""

    def __init__(self, kernel, X, Z, keep):
        d = X.shape[1]
        self.kernel, self.X, self.Z = kernel, X, Z
        self.scale, self.period = kernel._positive("length_scale", d), kernel._positive("period", d)
        self.U = kernel._circle(X)
        self.V = self.U if Z is X else kernel._circle(Z)
        gaussian = Gaussian(np.concatenate([self.scale, self.scale]) if self.scale.size > 1 else self.scale)
        self.inner = gaussian.prepare(self.U, self.V, keep)

    def tile(self, i, j):
        return self.inner.tile(i, j)

    def grad(self, i, j, W):
        return self.weighted(i, j, W)[1]

    def weighted(self, i, j, W):
        """∂k/∂log ℓⱼ = k sⱼ,  sⱼ = 4 sin²(πδⱼ/p)/ℓⱼ²;   ∂k/∂log pⱼ = k 2π δⱼ sin(2πδⱼ/p)/(pℓⱼ²),  δ = x − z."""
        total, by_scale = self.inner.weighted(i, j, W)
        d, parts = self.X.shape[1], []
        if self.kernel._n_free("length_scale"):
            parts.append(by_scale[:d] + by_scale[d:] if self.scale.size > 1 else by_scale)
        if self.kernel._n_free("period"):
            slope = 2.0 * np.pi * self._weighted_slopes(i, j, W * self.inner.tile(i, j)) / (self.period * self.scale**2)
            parts.append(slope if self.period.size > 1 else np.add.reduce(slope, keepdims=True))
        return total, np.concatenate(parts) if parts else np.zeros(0)

    def _weighted_slopes(self, i, j, V):
        """Σ V δⱼ sin(2πδⱼ/p) for every column j, from products with V: sin(a − b) = sin a cos b − cos a sin b."""
        d, P, Q = self.X.shape[1], self.U[i], self.V[j]
        X, Z = centre_both(self.X[i], self.Z[j])
        VQ, VZQ = V @ Q, V @ (np.concatenate([Z, Z], axis=1) * Q)
        sine_part = P[:, d:] * (X * VQ[:, :d] - VZQ[:, :d])
        cosine_part = P[:, :d] * (X * VQ[:, d:] - VZQ[:, d:])
        return np.add.reduce(sine_part - cosine_part, axis=0)


class Cosine(UnitDiagonal):
    """cos(2π Σⱼ (xⱼ − zⱼ)/pⱼ): a single wave, of rank two in any dimension.

    It is the inner product of (cos 2πt, sin 2πt), t = Σⱼ xⱼ/pⱼ, hence positive semi-definite. The cosine of the
    Euclidean distance ‖x − z‖ would not be, from two columns on.

    Parameters
    ----------
    period : float or array-like of shape (d,), default=1.0
        p > 0, in the unit of x; one for each column sets the direction of the wave.
    period_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine(4.0)([[0.0]], [[0.0], [1.0], [2.0]]).round(3) + 0.0
    array([[ 1.,  0., -1.]])
    """

    hyper = {"period": (1e-5, 1e5)}
    lengths = ("period",)
    stationary = True

    def __init__(self, period=1.0, *, period_bounds=None): ...

    def formula(self, x, z):
        """cos(2π Σⱼ (xⱼ − zⱼ)/pⱼ)."""
        return np.cos(np.add.reduce((x - z) * (2.0 * np.pi / self._positive("period"))))

    def _phrase(self, place):
        return f"{season_words(self.period, place)}, a single wave"

    def _wave(self, X):
        """(cos 2πt, sin 2πt), of shape (n, 2)."""
        t = turns(X, self._positive("period", X.shape[1])).sum(axis=1)
        angle = 2.0 * np.pi * (t - np.round(t))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def _tile(self, X, Z):
        return (self._wave(X) @ self._wave(Z).T).astype(X.dtype, copy=False)

    def _grad(self, X, Z, W):
        """∂k/∂pⱼ = sin(2πτ) 2π δⱼ/pⱼ²,  τ = Σⱼ δⱼ/pⱼ."""
        period = self._positive("period", X.shape[1])
        P, Q = self._wave(X), self._wave(Z)
        V = W * (np.outer(P[:, 1], Q[:, 0]) - np.outer(P[:, 0], Q[:, 1]))
        X, Z = centre_both(X, Z)
        slope = 2.0 * np.pi * (V.sum(axis=1) @ X - V.sum(axis=0) @ Z) / period**2
        return {"period": slope if period.size > 1 else slope.sum()}

    def _dx(self, X, Z):
        """−sin(2πτ) 2π/pⱼ."""
        P, Q = self._wave(X), self._wave(Z)
        sine = np.outer(P[:, 1], Q[:, 0]) - np.outer(P[:, 0], Q[:, 1])
        return -sine[:, :, None] * np.broadcast_to(2.0 * np.pi / self._positive("period", X.shape[1]), X.shape[1:])


def turns(X, period):
    """x/p modulo 1, between −1/2 and 1/2, in float64; exact up to one rounding, however far x is from 0."""
    X = np.asarray(X, dtype=np.float64)
    remainder = np.fmod(X, period)  # exact, as is the next line
    remainder -= period * np.round(remainder / period)
    return remainder / period


def centre_both(X, Z):
    """X − c and Z − c in float64, c in the middle of Z: differences keep their digits far from the origin."""
    centre = distance.middle(Z)
    return X.astype(np.float64) - centre, Z.astype(np.float64) - centre
