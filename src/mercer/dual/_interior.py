"""An interior-point method for the ε-insensitive dual of a few hundred rows: a dozen factors, whatever C, ε or ν are.

α = p − m with p, m in [0, box]. What must not become negative comes in pairs whose products fall to zero: p and m,
their distances to the box, and the slack of Σ(p + m) <= total, each with its multiplier; that of the last is ε. Where
there is no total, ε is given. Eliminating all but Δα leaves a system with K + W, W diagonal (`_System`). Pairs of
variables need thousands of steps where C is large or K has a low rank, and without a compiler each costs as much as a
small factor.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer import _tiles
from mercer.gram import DenseGram

PAIRS = 200  # entries of K that pairs of variables would read, times all of them
STEPS = 60
SOLVED = 1e-10  # mean product of a pair, in units of y times α
BACK = (0.995, 0.9999)  # least and largest share of the way to the nearest end
SHIFT = 1e-14  # of the mean diagonal: K may be singular
SURE = 1e-10  # of the small system's diagonal
SIGN = np.array([[1.0], [-1.0]])


def few(n):
    """Whether so few rows are solved here: pairs of variables are not compiled yet, and not worth it."""
    return _tiles.loops(PAIRS * n * n) is None


def quick_start(K, dual, intercept):
    """Where `working_set.solve` should start, for a few rows of a stored K; None where there is nothing to gain."""
    target = np.asarray(dual.target, dtype=float)
    if not few(K.n) or not isinstance(K, DenseGram) or not target.any():
        return None
    return interior(K.matrix, target, dual.upper, float(dual.epsilon[0]), intercept=intercept)


class Inner(NamedTuple):
    """α with exact zeros and bounds, ε, whether the total binds, and steps."""

    alpha: np.ndarray
    epsilon: float
    binds: bool
    steps: int


def interior(K, y, box, epsilon=0.0, total=None, intercept=True, budget=None):
    """min ½αᵀKα − yᵀα + ε‖α‖₁, |α| <= box [Σα = 0], with ε given, or ε = 0 and ‖α‖₁ <= total.

    Good to about 1e-6; α is exactly 0 or at its bound where the multipliers say so: a start for Newton.
    """
    n = len(y)
    diag = max(float(np.trace(K)) / n, np.finfo(float).tiny)
    unit = max(float(np.abs(y).max()), np.finfo(float).tiny)  # of slopes, and of α:
    size = min(float(box.mean()), unit / diag) if total is None else min(float(box.mean()), total / n)
    A = K.astype(np.float64)
    A[np.diag_indices(n)] += SHIFT * diag
    x = np.full((2, n), 0.25) * np.minimum(box, size)
    y_like = np.full((2, n), unit)
    # p and m, their distances to the box, the multipliers of both, b, ε, the slack of the total
    state = [x, box - x, y_like, y_like, 0.0, epsilon if total is None else unit, total or 0.0]
    step = 0
    while step < STEPS and not (budget is not None and budget.spent()):
        after = _step(A, y, total, intercept, state, SOLVED * unit * size)
        if after is None:
            break
        state, step = after, step + 1
        if budget is not None:
            budget.take(1, n**3)
    x, left, z, w, _, eps, slack = state
    value = np.where(x / size < z / unit, 0.0, np.where(left / size < w / unit, box, x))
    binds = total is not None and eps / unit > slack / total
    return Inner(value[0] - value[1], float(eps), binds, step)


def _step(A, y, total, intercept, state, solved):
    """The next state: where the ends alone would lead, then with what that teaches (Mehrotra). None at the end."""
    x, left, z, w, b, eps, slack = state  # the distance is kept beside x: their difference would be rounded to 0
    alpha, free = x[0] - x[1], total is not None
    r = SIGN * (A @ alpha - y + b) + eps - z + w
    lost, excess = float(alpha.sum()), float(x.sum()) + slack - (total or 0.0)
    count = 4 * len(y) + free
    mean = (float(np.vdot(x, z) + np.vdot(left, w)) + eps * slack * free) / count
    system = None if mean <= solved else _System(A, z / x + w / left, slack / eps if free else None, intercept)
    if system is None or system.failed:
        return None

    def move(aim, low, high, last):
        """The step to products equal to ``aim``, less the products of the last step."""
        to_z, to_w, to_slack = (aim - low) / x - z, (aim - high) / left - w, (aim - last) / eps - slack if free else 0.0
        dx, db, deps = system.solve(-r + to_z - to_w, -lost, -excess - to_slack)
        dslack = to_slack - slack / eps * deps if free else 0.0
        return dx, -dx, to_z - z / x * dx, to_w + w / left * dx, db, deps, dslack

    def reach(d, back):
        """How far the step may go: a share of the way to the nearest end, and 1 at most."""
        most = max(float((-dv / v).max()) for v, dv in zip(state[:4], d[:4], strict=True))
        if free:
            most = max(most, -d[5] / eps, -d[6] / slack)
        return back / max(most, back)

    d = move(0.0, 0.0, 0.0, 0.0)
    t = reach(d, 1.0)
    ahead = float(np.vdot(x + t * d[0], z + t * d[2]) + np.vdot(left + t * d[1], w + t * d[3]))
    ahead += (eps + t * d[5]) * (slack + t * d[6]) * free
    aim = mean * min(max(ahead / (count * mean), 0.0), 1.0) ** 3
    d = move(aim, d[0] * d[2], d[1] * d[3], d[5] * d[6])
    t = reach(d, float(np.clip(1.0 - aim / mean, *BACK)))
    return [v + t * dv for v, dv in zip(state, d, strict=True)] if np.isfinite(d[0]).all() else None


class _System:
    """(K + W)Δα + Δb + vΔε = WR with the rows of Σα and of the total, by one factor of K + W.

    With D the diagonals of p and m: W = 1/(1/Dₚ + 1/Dₘ), v = W(1/Dₚ − 1/Dₘ).
    """

    def __init__(self, A, D, slope, intercept):
        self.inverse = 1.0 / D
        self.W = 1.0 / self.inverse.sum(axis=0)
        self.odd = self.inverse[0] - self.inverse[1]
        self.v = self.W * self.odd
        self.intercept, self.slope = intercept, slope
        M = A.copy()
        M[np.diag_indices(len(M))] += self.W
        self.factor, info = dpotrf(M.T, lower=1, overwrite_a=1, clean=0)
        self.failed = info != 0
        columns = ([np.ones(len(M))] if intercept else []) + ([self.v] if slope is not None else [])
        self.C = np.stack(columns, axis=1) if columns else np.zeros((len(M), 0))
        if not self.failed and columns:
            self.Z = dpotrs(self.factor, self.C, lower=1)[0]
            small = self.C.T @ self.Z
            if slope is not None:
                small[-1, -1] += float(self.inverse.sum() - self.odd @ self.v) + slope
            self.small_inverse = _inverse(small)

    def solve(self, rhs, lost, excess):
        """(Δ(p, m), Δb, Δε)."""
        both = self.inverse * rhs
        R = both[0] - both[1]
        d = dpotrs(self.factor, self.W * R, lower=1)[0]
        db = deps = 0.0
        if self.C.shape[1]:
            need = self.C.T @ d
            need[: self.intercept] -= lost
            if self.slope is not None:
                need[-1] += float(both.sum() - self.v @ R) - excess
            c = self.small_inverse @ need
            d = d - self.Z @ c
            db, deps = (float(c[0]) if self.intercept else 0.0), (float(c[-1]) if self.slope is not None else 0.0)
        h = self.W * (R - d - deps * self.odd)
        return self.inverse * (rhs - SIGN * h - deps), db, deps


def _inverse(S):
    """S⁻¹ of order 1 or 2, the diagonal raised a little: where all rows are bounded, b and ε are not unique."""
    if len(S) == 1:
        return 1.0 / S
    a, b, c = S[0, 0] * (1.0 + SURE), 0.5 * (S[0, 1] + S[1, 0]), S[1, 1] * (1.0 + SURE)
    return np.array([[c, -b], [-b, a]]) / (a * c - b * b)
