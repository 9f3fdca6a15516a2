"""Conjugate gradients with a preconditioner, on all right-hand sides at once."""

from typing import NamedTuple

import numpy as np

from mercer.gram.rows import power_of_two
from mercer.solvers.base import column_norms


class Outcome(NamedTuple):
    """X, and how it was reached.

    iterations; ‖b − Ax‖/‖b‖ of each column; whether each column is good enough; a u with uᵀAu < 0, if one was met.
    """

    X: np.ndarray
    iterations: int
    residual: np.ndarray
    converged: np.ndarray
    negative: np.ndarray | None


def pcg(product, precondition, B, *, tol, max_iter, norm, warm=False, going=None):
    """X with A X = B: a column is done when ‖b − Ax‖ <= tol ‖b‖, or when rounding allows no more.

    The residual that is returned is computed from X, not the one that the iteration carries along. If it is worse than
    asked, the iteration starts again from it. β is the flexible one (Polak and Ribière), because a preconditioner in
    float32 is symmetric only up to its rounding.

    Parameters
    ----------
    product, precondition : callable
        V ↦ A V and V ↦ M⁻¹ V for V of shape (n, t).
    B : ndarray of shape (n, t)
    tol : float or ndarray of shape (t,)
    max_iter : int
        Products with A, over all restarts, the check at the end of each aside.
    norm : float
        ‖A‖, or an estimate from below. ‖b − Ax‖ <= √n u ‖A‖‖x‖ is as good as a direct solver in float64: accepted.
    warm : bool, default=False
        Whether X = M⁻¹B is tried first: for an A so near to singular that CG may fail where M⁻¹ does not.
    going : callable, default=None
        Asked before each product but the first: False ends the iteration where it is.
    """
    norm, scale = power_of_two(np.array([norm])), power_of_two(B)
    A, M, B = (lambda V: product(V) / norm), (lambda R: precondition(R) * norm), B / scale
    length, unit = column_norms(B), np.finfo(float).eps / 2
    tol, going = np.broadcast_to(tol, length.shape), going or _on
    X = np.zeros_like(B)
    R, residual, used, negative = B, length.copy(), 0, None  # of X = 0: what is returned is never worse
    live = np.flatnonzero(length > 0)
    if warm:
        X[:, live] = M(B[:, live])
        R = B - A(X)
        residual[live] = column_norms(R[:, live])
    for _ in range(4):  # restarts from the true residual; each has to pay
        if not live.size or used >= max_iter or (used and not going()):
            break
        step, spent, negative = _round(A, M, R[:, live], X[:, live], (tol * length)[live], max_iter - used, going)
        used += spent
        candidate = X[:, live] + step
        true = B[:, live] - A(candidate)
        after = column_norms(true)
        better = after < residual[live]  # a NaN is not better
        X[:, live[better]], residual[live[better]] = candidate[:, better], after[better]
        residual[live[~np.isfinite(after) & ~X[:, live].any(axis=0)]] = np.inf  # products that are no numbers
        R = np.zeros_like(B)
        R[:, live] = true
        enough = np.maximum((tol * length)[live], np.sqrt(len(B)) * unit * column_norms(candidate))
        live = live[better & (after > enough)]
    converged = residual <= np.maximum(tol * length, np.sqrt(len(B)) * unit * column_norms(X))
    relative = np.divide(residual, length, out=np.zeros_like(length), where=length > 0)
    return Outcome(X * (scale / norm), used, relative, converged, negative)


def _on():
    """Go on."""
    return True


def _round(A, M, R, X, target, max_iter, proceed):
    """The change of X that one run of CG from the residual R finds, the products it took, a negative direction."""
    out, live, count, negative = np.zeros_like(R), np.arange(R.shape[1]), 0, None
    unit = np.finfo(float).eps / 2
    Z = M(R)
    P, rz = Z, np.einsum("ij,ij->j", R, Z)
    while live.size and count < max_iter and (not count or proceed()):
        Q = A(P)
        count += 1
        pq = np.einsum("ij,ij->j", P, Q)
        sound = (pq > 0) & (rz > 0)  # A or M not positive definite to working precision: leave the column as it is
        curvature = pq / np.maximum(np.einsum("ij,ij->j", P, P), np.finfo(float).tiny)
        if curvature.min() < -len(R) * unit:
            negative = P[:, np.argmin(curvature)]
        alpha = np.divide(rz, pq, out=np.zeros_like(rz), where=sound)
        out[:, live] += alpha * P
        old, R = R, R - alpha * Q
        limit = np.maximum(target[live], 0.25 * unit * column_norms(X[:, live] + out[:, live]))
        going = sound & (column_norms(R) > limit)
        if not going.any():
            break
        if not going.all():
            live, R, old, P, rz = live[going], R[:, going], old[:, going], P[:, going], rz[going]
        Z = M(R)
        beta = np.einsum("ij,ij->j", Z, R - old) / rz
        rz = np.einsum("ij,ij->j", R, Z)
        P = Z + np.maximum(beta, 0.0) * P
    return out, count, negative
