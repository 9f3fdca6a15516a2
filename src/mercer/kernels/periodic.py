"""Kernels of a phase: functions that repeat. Both are inner products or Gaussians of (cos 2πx/p, sin 2πx/p).

The phase is x modulo p, and the remainder of two floats is exact: no digit is lost far from the origin.
"""

import numpy as np

from mercer._tiles import EVERYTHING
from mercer.kernels import distance
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian


class Periodic(Kernel):
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
    stationary = True

    def __init__(self, length_scale=1.0, period=1.0, *, length_scale_bounds=None, period_bounds=None):
        self.length_scale = length_scale
        self.period = period
        self.length_scale_bounds = length_scale_bounds
        self.period_bounds = period_bounds

    def _circle(self, X):
        """U = (cos 2πx/p, sin 2πx/p), all cosines first, of shape (n, 2d)."""
        angle = 2.0 * np.pi * turns(X, self._positive("period", X.shape[1]))
        return np.hstack([np.cos(angle), np.sin(angle)]).astype(X.dtype, copy=False)

    def _on_circle(self, X, Z):
        """(the Gaussian kernel, U(X), U(Z))."""
        scale = self._positive("length_scale", X.shape[1])
        U = self._circle(X)
        return Gaussian(np.tile(scale, 2) if scale.size > 1 else scale), U, U if Z is X else self._circle(Z)

    def _tile(self, X, Z):
        gaussian, U, V = self._on_circle(X, Z)
        return gaussian.tiles(U, V)(EVERYTHING, EVERYTHING)

    def diag(self, X):
        """k(x, x) = 1."""
        return np.ones(len(X), dtype=X.dtype)

    def _grad(self, X, Z, W):
        """∂k/∂ℓⱼ = k sⱼ/ℓⱼ,  sⱼ = 4 sin²(πδⱼ/p)/ℓⱼ²;   ∂k/∂pⱼ = k 2π δⱼ sin(2πδⱼ/p)/(p²ℓⱼ²),  δ = x − z."""
        d = X.shape[1]
        scale, period = self._positive("length_scale", d), self._positive("period", d)
        gaussian, U, V = self._on_circle(X, Z)
        by_scale = gaussian.grad(U, V, W) / gaussian.length_scale
        weighted = W * self._tile(X, Z)
        by_period = 2.0 * np.pi * self._weighted_slopes(X, Z, weighted) / (period * scale) ** 2
        return {
            "length_scale": by_scale[:d] + by_scale[d:] if scale.size > 1 else by_scale,
            "period": by_period if period.size > 1 else by_period.sum(),
        }

    def _weighted_slopes(self, X, Z, V):
        """Σ V δⱼ sin(2πδⱼ/p) for every column j, from products with V: sin(a − b) = sin a cos b − cos a sin b."""
        d = X.shape[1]
        P, Q = self._circle(X), self._circle(Z)
        X, Z = centred(X, Z)
        VQ, VZQ = V @ Q, V @ (np.hstack([Z, Z]) * Q)
        sine_part = P[:, d:] * (X * VQ[:, :d] - VZQ[:, :d])
        cosine_part = P[:, :d] * (X * VQ[:, d:] - VZQ[:, d:])
        return (sine_part - cosine_part).sum(axis=0)

    def _dx(self, X, Z):
        """−k 2π sin(2πδⱼ/p)/(p ℓⱼ²)."""
        d = X.shape[1]
        scale, period = self._positive("length_scale", d), self._positive("period", d)
        P, Q = self._circle(X)[:, None], self._circle(Z)[None]
        sine = P[..., d:] * Q[..., :d] - P[..., :d] * Q[..., d:]
        return -self._tile(X, Z)[:, :, None] * sine * (2.0 * np.pi / (period * scale**2))

    @classmethod
    def examples(cls):
        """One length scale and period; one for each column."""
        return [cls(), cls(0.7, 3.0), cls([0.5, 1.0, 2.0], 2.0), cls(1.5, [1.0, 2.0, 3.0])]


class Cosine(Kernel):
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
    stationary = True

    def __init__(self, period=1.0, *, period_bounds=None):
        self.period = period
        self.period_bounds = period_bounds

    def _wave(self, X):
        """(cos 2πt, sin 2πt), of shape (n, 2)."""
        t = turns(X, self._positive("period", X.shape[1])).sum(axis=1)
        angle = 2.0 * np.pi * (t - np.round(t))
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def _tile(self, X, Z):
        return (self._wave(X) @ self._wave(Z).T).astype(X.dtype, copy=False)

    def diag(self, X):
        """k(x, x) = 1."""
        return np.ones(len(X), dtype=X.dtype)

    def _grad(self, X, Z, W):
        """∂k/∂pⱼ = sin(2πτ) 2π δⱼ/pⱼ²,  τ = Σⱼ δⱼ/pⱼ."""
        period = self._positive("period", X.shape[1])
        P, Q = self._wave(X), self._wave(Z)
        V = W * (np.outer(P[:, 1], Q[:, 0]) - np.outer(P[:, 0], Q[:, 1]))
        X, Z = centred(X, Z)
        slope = 2.0 * np.pi * (V.sum(axis=1) @ X - V.sum(axis=0) @ Z) / period**2
        return {"period": slope if period.size > 1 else slope.sum()}

    def _dx(self, X, Z):
        """−sin(2πτ) 2π/pⱼ."""
        P, Q = self._wave(X), self._wave(Z)
        sine = np.outer(P[:, 1], Q[:, 0]) - np.outer(P[:, 0], Q[:, 1])
        return -sine[:, :, None] * np.broadcast_to(2.0 * np.pi / self._positive("period", X.shape[1]), X.shape[1:])

    @classmethod
    def examples(cls):
        """One period; one for each column."""
        return [cls(), cls(3.0), cls([1.0, 2.0, 5.0])]


def turns(X, period):
    """x/p modulo 1, between −1/2 and 1/2, in float64; exact up to one rounding, however far x is from 0."""
    X = np.asarray(X, dtype=np.float64)
    remainder = np.fmod(X, period)  # exact, as is the next line
    remainder -= period * np.round(remainder / period)
    return remainder / period


def centred(X, Z):
    """X − c and Z − c in float64, c in the middle of Z: differences keep their digits far from the origin."""
    centre = distance.middle(Z)
    return X.astype(np.float64) - centre, Z.astype(np.float64) - centre
