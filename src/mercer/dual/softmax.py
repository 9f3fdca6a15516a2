"""Newton's method for the softmax over several classes: p(class c | x) = e^(f_c)/Σ e^(f_d), all classes at once.

With D_c = diag(w p_c/(2λ)) the curvature is W = D − D R (RᵀDR)⁻¹ RᵀD, R the stacked identities. A step is α = P z with
P = (K + W⁻¹)⁻¹ = E − E R (Σ_c E_c)⁻¹ RᵀE and E_c = D_c^½ (I + D_c^½ K D_c^½)⁻¹ D_c^½: one factor of order n for each
class, and one for their sum (Rasmussen and Williams, algorithm 3.3).
"""

import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer import _machine
from mercer.dual.newton import ARMIJO, NewtonSolution, line
from mercer.gram import DenseGram, ScaledGram
from mercer.solvers import Cholesky

FLOOR = 1e-12  # of c: the smallest curvature of a class; below, a step is a little shorter


def solve(K, Y, c, *, intercept=True, tol=1e-6, max_iter=100, time_budget=None, memory=None):
    """min over α, b of Σᵢ cᵢ [log Σ_d e^(f_id) − Σ_d Y_id f_id] + ½ Σ_d α_dᵀKα_d,  f = Kα + b.

    Parameters
    ----------
    K : Gram
    Y : ndarray of shape (n, C)
        1 at the class of each row, else 0.
    c : ndarray of shape (n,)
        w/(2λ).
    intercept, tol, max_iter, time_budget
        As for `mercer.dual.newton.solve`.
    memory : float, default=None
        Bytes; C + 3 arrays of order n are needed.

    Returns
    -------
    NewtonSolution
        With α and f of shape (n, C), and b of shape (C,), of sum 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.dual import softmax
    >>> from mercer.gram import DenseGram
    >>> found = softmax.solve(DenseGram.from_matrix(np.eye(3)), np.eye(3), np.ones(3))
    >>> found.status, bool(found.gap < 1e-12)
    ('converged', True)
    """
    n, classes = Y.shape
    _machine.check_memory(8.0 * n * n * (classes + 3), f"the softmax of {classes} classes with n = {n}", memory)
    deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
    K = K if isinstance(K, DenseGram) else DenseGram.from_matrix(K.dense())
    alpha, v, b = np.zeros((n, classes)), np.zeros((n, classes)), np.zeros(classes)
    status, polished, iteration = "max_iter", False, 0
    while True:
        g = _slope(v + b, Y, c)
        # Newton's constraint Σα = 0 holds for α; Σg = 0 only at the minimum, so it is a part of the violation.
        worst = max(np.abs(alpha + g).max(), np.abs(g.sum(axis=0)).max() if intercept else 0.0)
        violation = float(worst / np.abs(g).max())
        if violation <= tol and (polished or violation == 0.0):
            status = "converged"
            break
        if iteration >= max_iter or time.perf_counter() > deadline:
            status = "max_iter" if iteration >= max_iter else "time_budget"
            break
        polished = violation <= tol
        step = _step(K, Y, c, (alpha, v, b), _direction(K, v + b, g, c, intercept))
        if step is None:
            status = "converged" if polished else "stalled"
            break
        (alpha, v, b), iteration = step, iteration + 1
    d = alpha + g
    gap, primal = max(0.0, 0.5 * float(np.sum(d * (K @ d)))), _primal(v + b, alpha, v, Y, c)
    info = {"solver": "cholesky", "multi_class": "softmax"}
    return NewtonSolution(alpha, b, v + b, gap, violation, primal, primal - gap, iteration, status, info)


def _log_sum(f):
    """log Σ_d e^(f_d)."""
    top = f.max(axis=1)
    return top + np.log(np.exp(f - top[:, None]).sum(axis=1))


def _slope(f, Y, c):
    """c(p − Y)."""
    return c[:, None] * (np.exp(f - _log_sum(f)[:, None]) - Y)


def _primal(f, alpha, v, Y, c):
    """Σ c(log Σ e^f − Yf) + ½ tr αᵀKα."""
    return float(c @ (_log_sum(f) - (Y * f).sum(axis=1))) + 0.5 * float(np.sum(alpha * v))


def _direction(K, f, g, c, intercept):
    """(α, b) that minimises the quadratic model at f."""
    n, classes = f.shape
    D = np.maximum(np.exp(f - _log_sum(f)[:, None]), FLOOR) * c[:, None]
    E, total = [], np.zeros((n, n))
    for j in range(classes):
        root = np.sqrt(D[:, j])
        inverse = Cholesky().resolvent(ScaledGram(K, root))(1.0).dense()
        E.append(root[:, None] * inverse * root)
        total += E[-1]
    factor = cho_factor(total + 1e-14 * np.trace(total) / n * np.eye(n), lower=True, overwrite_a=True)

    def project(Z):
        """P Z for Z of shape (n, C, k)."""
        out = np.stack([E[j] @ Z[:, j] for j in range(classes)], axis=1)
        mean = cho_solve(factor, out.sum(axis=1))
        return out - np.stack([E[j] @ mean for j in range(classes)], axis=1)

    z = (f - g / D)[:, :, None]
    if not intercept:
        return project(z)[:, :, 0], np.zeros(classes)
    ones = np.broadcast_to(np.eye(classes), (n, classes, classes))
    both = project(np.concatenate([z, ones], axis=2))
    sums = both.sum(axis=0)
    b = np.linalg.lstsq(sums[:, 1:], sums[:, 0], rcond=1e-10)[0]
    b -= b.mean()
    return both[:, :, 0] - both[:, :, 1:] @ b, b


def _step(K, Y, c, here, there):
    """(α, v, b) after a step as long as the objective falls; None when it does not."""
    (alpha, v, b), (alpha_new, b_new) = here, there
    dalpha, db = alpha_new - alpha, b_new - b
    dv = K @ dalpha

    def slope(t):
        at = v + t * dv
        return float(np.sum(_slope(at + b + t * db, Y, c) * (dv + db)) + np.sum(dalpha * at))

    def value(t):
        return _primal(v + t * dv + b + t * db, alpha + t * dalpha, v + t * dv, Y, c)

    start, first = value(0.0), slope(0.0)
    if not first < 0.0:
        return None
    rounding, t = 1e-14 * abs(start), 1.0
    if not value(1.0) <= start + ARMIJO * first + rounding:
        t = line(slope)
    if not value(t) <= start + rounding:
        return None
    return alpha + t * dalpha, v + t * dv, b + t * db
