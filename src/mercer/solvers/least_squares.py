"""Least squares in the primal, by QR: the normal equations would square the condition."""

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
        Squared norms of the rows of Q.
    inverse : ndarray of shape (m, m)
        (AᵀA + Λ)⁻¹.
    info : dict
        ``rank`` and ``condition``.
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
        return theta / size[:, None], np.einsum("ij,ij->i", Q[:n], Q[:n]), inverse, info
    warn(
        f"the design has rank {rank} of {m} columns, so least squares has no unique solution: the one of smallest norm "
        "is returned. Use lam > 0, fewer features, or more rows.",
        NumericalWarning,
    )
    U, s, Vt = svd(full, full_matrices=False)
    keep = s > max(full.shape) * np.finfo(float).eps * s[:1].max(initial=0.0)
    U, s, Vt = U[:, keep], s[keep], Vt[keep]
    theta = Vt.T @ ((U[:n].T @ b) / s[:, None])
    return theta, np.einsum("ij,ij->i", U[:n], U[:n]), (Vt.T / s**2) @ Vt, info
