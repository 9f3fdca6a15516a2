"""Ridge: α = K̃⁻¹(y − Hb), the squared loss in closed form."""

import numpy as np


def solve(Kinv, y, H=None):
    """α = K̃⁻¹(y − Hb)  with  b = (HᵀK̃⁻¹H)⁻¹ HᵀK̃⁻¹y.

    Parameters
    ----------
    Kinv : Inverse
        K̃⁻¹ = (K + λI)⁻¹.
    y : ndarray of shape (n, t)
    H : ndarray of shape (n, q), optional
        Unpenalised trend: a column of ones is the intercept.

    Returns
    -------
    alpha : ndarray of shape (n, t)
    b : ndarray of shape (q, t)
    """
    t = y.shape[1]
    scale = power_of_two(y)
    if H is None or H.shape[1] == 0:
        return (Kinv @ (y / scale)) * scale, np.zeros((0, t))
    both = Kinv @ np.hstack([y / scale, H])
    A, P = both[:, :t], both[:, t:]
    b = np.linalg.lstsq(H.T @ P, H.T @ A, rcond=None)[0]
    return (A - P @ b) * scale, b * scale


def power_of_two(y):
    """A power of two near the largest |y| of each column: dividing by it is exact, and nothing overflows."""
    largest = np.abs(y).max(axis=0, initial=0.0)
    exponent = np.frexp(np.where(largest > 0, largest, 1.0))[1]
    return np.ldexp(1.0, np.clip(exponent, -1000, 1000))
