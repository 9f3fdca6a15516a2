"""Least squares in the primal, by QR: the normal equations would square the condition."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular, svd

from mercer._warn import warn
from mercer.exceptions import NumericalWarning


def least_squares(A, b, penalty):
    """min ‖Aθ − b‖² + θᵀΛθ, by QR with pivoting of [A; Λ^½]; the solution of smallest norm if it is not unique.

    Parameters
    ----------
    A : ndarray of shape (n, m)
    b : ndarray of shape (n, t)
    penalty : ndarray of shape (m,)
        The diagonal of Λ.

    Returns
    -------
    theta : ndarray of shape (m, t)
    leverage : ndarray of shape (n,)
        Squared norms of the rows of Q: the diagonal of H, b ↦ Aθ.
    inverse : ndarray of shape (m, m)
        (AᵀA + Λ)⁻¹.
    info : dict
        ``rank`` and ``condition``; "trace" is tr H² = ‖QᵀQ‖² of the rows of A.
    """
    n, m = A.shape
    full = np.vstack([A, np.diag(np.sqrt(penalty))]) if penalty.any() else A
    size = np.linalg.norm(full, axis=0)
    size[size == 0] = 1.0  # columns of equal size, so that units do not decide the rank
    Q, R, order = qr(full / size, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(diagonal > max(full.shape) * np.finfo(float).eps * diagonal[:1].max(initial=0.0)))
    info = {"rank": rank, "condition": float(diagonal[0] / diagonal[-1]) if rank == m and m else np.inf}
    if rank == m:
        right = np.vstack([b, np.zeros((len(full) - n, b.shape[1]))])
        theta, inverse = np.empty((m, b.shape[1])), np.empty((m, m))
        theta[order] = solve_triangular(R, Q.T @ right)
        half = np.empty((m, m))
        half[order] = solve_triangular(R, np.eye(m))
        inverse = half @ half.T / np.outer(size, size)
        return theta / size[:, None], _lengths(Q[:n], info), inverse, info
    warn(
        f"the design has rank {rank} of {m} columns, so least squares has no unique solution: the one of smallest norm "
        "is returned. Use lam > 0, fewer features, or more rows.",
        NumericalWarning,
    )
    U, s, Vt = svd(full, full_matrices=False)
    keep = s > max(full.shape) * np.finfo(float).eps * s[:1].max(initial=0.0)
    U, s, Vt = U[:, keep], s[keep], Vt[keep]
    theta = Vt.T @ ((U[:n].T @ b) / s[:, None])
    return theta, _lengths(U[:n], info), (Vt.T / s**2) @ Vt, info


def _lengths(Q, info):
    """diag QQᵀ, and tr (QQᵀ)² in the info: no n × n array, and no square of a condition."""
    info["trace"] = float(np.sum(np.square(Q.T @ Q)))
    return np.einsum("ij,ij->i", Q, Q)


class WeightedFit(NamedTuple):
    """θ, Φθ, leverages, the free degrees Σw − 2 tr H + tr H² of the residuals, cov θ/σ² = G ΦᵀWΦ G, and the info."""

    theta: np.ndarray
    fitted: np.ndarray
    leverage: np.ndarray
    free: float
    covariance: np.ndarray
    info: dict


def weighted_fit(design, y, weight, penalty):
    """min Σ wᵢ (yᵢ − φᵢᵀθ)² + θᵀΛθ as a `WeightedFit`; G = (ΦᵀWΦ + Λ)⁻¹."""
    root = np.sqrt(weight)[:, None]
    A = root * design
    theta, leverage, inverse, info = least_squares(A, root * y, penalty)
    GA = inverse @ A.T
    free = float(np.sum(weight)) - 2.0 * float(leverage.sum()) + info.pop("trace")
    return WeightedFit(theta, design @ theta, leverage, free, GA @ GA.T, info)


def predict_features(design, theta, covariance=None):
    """Φθ; with the covariance of θ, one or one for each of t targets, also √(φᵀ cov φ), of shape (n, t)."""
    if covariance is None:
        return design @ theta
    variance = np.einsum("ij,tjk,ik->it", design, np.atleast_3d(covariance.T).T, design)
    return design @ theta, np.sqrt(np.maximum(variance, 0.0))
