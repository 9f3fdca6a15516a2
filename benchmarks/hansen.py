"""Ill-posed test problems A x = b of Hansen's Regularization Tools (2007), discretised by the midpoint rule.

Each function returns (A, b, x) with b = A x exactly. Noise is for the caller to add: `noisy` does.
"""

import numpy as np

__all__ = ["PROBLEMS", "baart", "deriv2", "foxgood", "gravity", "heat", "noisy", "phillips", "shaw"]


def _midpoints(a, b, n):
    h = (b - a) / n
    return a + h * (np.arange(n) + 0.5), h


def _problem(kernel, solution, s, t, h):
    A = h * kernel(s[:, None], t[None, :])
    x = solution(t)
    return A, A @ x, x


def shaw(n=64):
    """One-dimensional image restoration: severe."""
    t, h = _midpoints(-np.pi / 2, np.pi / 2, n)

    def kernel(s, t):
        return (np.cos(s) + np.cos(t)) ** 2 * np.sinc(np.sin(s) + np.sin(t)) ** 2

    return _problem(kernel, lambda t: 2 * np.exp(-6 * (t - 0.8) ** 2) + np.exp(-2 * (t + 0.5) ** 2), t, t, h)


def phillips(n=64):
    """Phillips' convolution: mild."""
    t, h = _midpoints(-6, 6, n)

    def phi(x):
        return np.where(np.abs(x) < 3, 1 + np.cos(np.pi * x / 3), 0.0)

    return _problem(lambda s, t: phi(s - t), phi, t, t, h)


def deriv2(n=64):
    """Second derivative, by Green's function: mild."""
    t, h = _midpoints(0, 1, n)
    return _problem(lambda s, t: np.where(s < t, s * (t - 1), t * (s - 1)), lambda t: t, t, t, h)


def heat(n=64, kappa=1.0):
    """Inverse heat equation, a Volterra equation of the first kind: mild to severe as kappa falls or grows."""
    t, h = _midpoints(0, 1, n)
    lag = t[:, None] - t[None, :] + h / 2
    positive = np.maximum(lag, h / 4)
    K = np.exp(-1 / (4 * kappa**2 * positive)) * positive**-1.5 / (2 * kappa * np.sqrt(np.pi))
    A = h * np.where(lag > 0, K, 0.0)
    u = 20 * np.arange(1, n + 1) / n
    x = np.where(u < 2, 0.75 * u**2 / 4, np.where(u < 3, 0.75 + (u - 2) * (3 - u), 0.75 * np.exp(-(u - 3) * 2)))
    x[n // 2 :] = 0.0
    return A, A @ x, x


def baart(n=64):
    """Fredholm equation with an exponential kernel: very severe."""
    s, _ = _midpoints(0, np.pi / 2, n)
    t, h = _midpoints(0, np.pi, n)
    return _problem(lambda s, t: np.exp(s * np.cos(t)), np.sin, s, t, h)


def gravity(n=64, depth=0.25):
    """One-dimensional gravity surveying: severe."""
    t, h = _midpoints(0, 1, n)

    def solution(t):
        return np.sin(np.pi * t) + 0.5 * np.sin(2 * np.pi * t)

    return _problem(lambda s, t: depth * (depth**2 + (s - t) ** 2) ** -1.5, solution, t, t, h)


def foxgood(n=64):
    """Fox and Goodwin's problem without a square integrable solution of its adjoint: severe."""
    t, h = _midpoints(0, 1, n)
    return _problem(lambda s, t: np.sqrt(s**2 + t**2), lambda t: t, t, t, h)


PROBLEMS = {
    "shaw": shaw,
    "phillips": phillips,
    "deriv2": deriv2,
    "heat": heat,
    "baart": baart,
    "gravity": gravity,
    "foxgood": foxgood,
}


def noisy(b, level, rng):
    """(b + noise, δ): white noise with ‖noise‖ about ``level`` ‖b‖, and its standard deviation."""
    delta = level * np.linalg.norm(b) / np.sqrt(len(b))
    return b + delta * rng.standard_normal(len(b)), float(delta)
