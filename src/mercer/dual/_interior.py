"""An interior-point method for the dual of every boxed loss: about ten factors of K + W, whatever C, ε or ν are.

α = l + p where there is no kink, else α = p − m, with p and m in boxes that begin at 0. What must not become negative
comes in pairs whose products fall to zero: p and m, their distances to the ends of their boxes, and with ν the slack of
Σ(p + m) <= total, each with its multiplier; that of the last is ε. Eliminating all but Δα leaves a system with K + W, W
diagonal, and a column for each condition: ones for Σα = 0, v for the total. Pairs of variables need many thousand steps
where C is large or K has a low rank, and for a few rows each of them costs as much as a small factor.
"""

from typing import NamedTuple

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.small import factor

STEPS = 60
SOLVED = 1e-8  # mean product of a pair, in units of y times α
START = 0.5  # of the unit of α for p and m, of the unit of y for the multipliers
BACK = (0.995, 0.9999)  # least and largest share of the way to the nearest end
SHIFT = 1e-14  # of the mean diagonal: K may be singular
CLOSED = 1e-10  # of the unit of α: the width of a box that is none
ROUNDED = 1e-13  # of the largest α times the unit of y: products below are rounding
WORSE = 10.0  # times the slopes that do not add up in the step before: rounding has taken over
SURE = 1e-10  # of the small system's diagonal: where all rows are bounded, b and ε are not unique
SIGN = np.array([[1.0], [-1.0]])


class Inner(NamedTuple):
    """α with exact zeros and bounds (bold and careful), ε, whether the total binds, steps, jitter of the factors."""

    alpha: tuple
    epsilon: float
    binds: bool
    steps: int
    jitter: float


def interior(K, programme, budget, total=None):
    """min ½αᵀKα + Σ h(α) [Σα = 0], for a stored K in float64; with ``total`` ε = 0 and ‖α‖₁ <= total.

    Good to about 1e-6; α is exactly 0 or at its bound where the multipliers say so: a start for Newton.
    """
    work, step = _Interior(K, programme, total), 0
    with np.errstate(all="ignore"):  # a step that is not finite is not taken
        while step < STEPS and not budget.spent() and work.step():
            step += 1
            budget.take(1, float(len(K)) ** 3)
    return work.found(step)


class _Interior:
    """p, m, their distances to their ends (X), the multipliers of all four (Z), b, ε and the slack of the total."""

    def __init__(self, K, programme, total):
        self.K, self.programme, self.total = K, programme, total
        target, ridge = programme.target, programme.ridge
        n, kink = len(target), (programme.epsilon > 0) | (total is not None)
        self.diag = max(float(np.mean(programme.diag + ridge)), np.finfo(float).tiny)
        self.unit = max(float(np.abs(target).max()), np.finfo(float).tiny)  # of slopes, and of α:
        lower, upper = _finite_bounds(programme)
        self.shift = np.where(kink, 0.0, lower)
        self.ends = np.stack([upper - self.shift, np.where(kink, -lower, 0.0)])
        self.size = min(float(self.ends.max(axis=0).mean()), self.unit / self.diag)
        if total is not None:
            self.size = min(self.size, total / n)
        np.maximum(self.ends, CLOSED * self.size, out=self.ends)
        x = START * np.minimum(self.ends, self.size)
        x[0] = np.where(self.shift < 0, np.minimum(-self.shift, 0.9 * self.ends[0]), x[0])
        self.X, self.Z = np.concatenate([x, self.ends - x]), np.full((4, n), START * self.unit)
        self.b, self.slack = 0.0, total or 0.0
        self.epsilon = programme.epsilon if total is None else START * self.unit
        self.solved, self.jitter = SOLVED * self.unit * self.size, 0.0
        self.kept, self.wrong = None, np.inf  # the state before, and by how much its slopes did not add up
        self.square, self.rho = np.empty((n, n)), self.diag if programme.intercept else 0.0

    def found(self, steps):
        """What it is; where α is much larger than its unit, both may be right to tell what is zero or at a bound."""
        alpha = self.X[0] - self.X[1] + self.shift
        ways = dict.fromkeys((max(self.size, float(np.abs(alpha).mean())), self.size))
        alphas = tuple(self._to_ends(size) for size in ways)
        if self.total is None:
            return Inner(alphas, 0.0, False, steps, self.jitter)
        binds = self.epsilon / self.unit > self.slack / self.total
        return Inner(alphas, float(self.epsilon), binds, steps, self.jitter)

    def _to_ends(self, size):
        """α with what is nearer to an end than its slope, the difference of its two multipliers, to zero put there."""
        x, slope = self.X / size, (self.Z[:2] - self.Z[2:]) / self.unit
        ends = np.where(x[:2] < slope, 0.0, np.where(x[2:] < -slope, self.ends, self.X[:2]))
        return np.clip(self.shift + ends[0] - ends[1], self.programme.lower, self.programme.upper)

    def step(self):
        """One step: where the ends alone would lead, then with what that teaches (Mehrotra). False at the end."""
        X, Z, P, tube = self.X, self.Z, self.programme, self.total is not None
        products, count = X * Z, X.size + tube
        mean = (float(products.sum()) + self.epsilon * self.slack if tube else float(products.sum())) / count
        if not mean > max(self.solved, ROUNDED * self.unit * float(X[:2].max())):
            return False
        alpha = X[0] - X[1] + self.shift
        slope = self.K @ alpha + P.ridge * alpha - P.target + self.b
        back = Z[2:] - Z[:2]
        self.lack = SIGN * slope + self.epsilon + back
        if self._got_worse():
            return False
        self.lost, self.excess = float(alpha.sum()), float(X[:2].sum()) + self.slack - self.total if tube else 0.0
        D = Z / X
        if not self._factor(D):
            return False
        dx, db, de = self._move(back - self.lack, -self.slack)
        q = np.concatenate([dx, -dx]) / X  # products after a step t: XZ(1 + tq)(1 − t − tq)
        ds = -self.slack * (1.0 + de / self.epsilon) if tube else 0.0
        most = max(1.0, -float(q.min()), 1.0 + float(q.max()))
        if tube:
            most = max(most, -de / self.epsilon, -ds / self.slack)
        t = 1.0 / most
        ahead = float(np.vdot(products, (1.0 + t * q) * (1.0 - t - t * q)))
        ahead += (self.epsilon + t * de) * (self.slack + t * ds) if tube else 0.0
        aim = mean * min(max(ahead / (count * mean), 0.0), 1.0) ** 3
        to = aim / X + Z * (q * (1.0 + q) - 1.0)  # less the products of the first step
        to_slack = (aim - de * ds) / self.epsilon - self.slack if tube else 0.0
        dx, db, de = self._move(to[:2] - to[2:] - self.lack, to_slack)
        dX = np.concatenate([dx, -dx])
        dZ = to - D * dX
        near = min(float((dX / X).min()), float((dZ / Z).min()))
        if tube:
            ds = to_slack - self.slack / self.epsilon * de
            near = min(near, de / self.epsilon, ds / self.slack)
        if not np.isfinite(near):
            return False
        share = min(max(1.0 - aim / mean, BACK[0]), BACK[1])
        t = share / max(-near, share)
        X += t * dX
        Z += t * dZ
        self.b += t * db
        if tube:
            self.epsilon, self.slack = self.epsilon + t * de, self.slack + t * ds
        return True

    def _got_worse(self):
        """Whether rounding has taken over, and the state before is taken back; else this one is kept."""
        wrong = float(np.abs(self.lack).max())
        if wrong > WORSE * max(self.wrong, SOLVED * self.unit):
            self.X, self.Z, self.b, self.epsilon, self.slack = self.kept
            return True
        self.kept, self.wrong = (self.X.copy(), self.Z.copy(), self.b, self.epsilon, self.slack), wrong
        return False

    def _factor(self, D):
        """K + W and what the conditions need; with D the diagonals of p and m, W = 1/(1/Dₚ + 1/Dₘ)."""
        self.inverse = 1.0 / (D[:2] + D[2:])
        self.W = 1.0 / (self.inverse[0] + self.inverse[1])
        n, M, P = len(self.W), self.square, self.programme
        np.add(self.K, self.rho, out=M)  # Σα is fixed, so that ρ changes b alone; a K of low rank becomes regular
        M.reshape(-1)[:: n + 1] += self.W + P.ridge
        try:
            self.A = factor(M, scale=self.diag, least=SHIFT, overwrite=True)
        except (NotPositiveDefinite, ValueError):  # K is no kernel matrix, or numbers have overflowed
            return False
        self.jitter = max(self.jitter, self.A.jitter)
        columns = [np.ones(n)] if P.intercept else []
        if self.total is not None:
            self.odd = self.inverse[0] - self.inverse[1]
            columns.append(self.W * self.odd)
        self.C = np.array(columns).T
        if columns:
            self.Y = self.A.solve(self.C)
            small = self.C.T @ self.Y
            if self.total is not None:
                small[-1, -1] += float(self.inverse.sum() - self.odd @ self.C[:, -1]) + self.slack / self.epsilon
            self.small = _inverse(small)
        return True

    def _move(self, rhs, to_slack):
        """(Δ(p, m), Δb, Δε): (K + W)Δα + Δb + vΔε = WR with the rows of Σα and of the total."""
        both = self.inverse * rhs
        R = both[0] - both[1]
        d = self.A.solve(self.W * R)
        if not self.C.size:
            return self.inverse * (rhs - SIGN * (self.W * (R - d))), 0.0, 0.0
        need = self.C.T @ d
        if self.programme.intercept:
            need[0] += self.lost
        if self.total is not None:
            need[-1] += float(both.sum() - self.C[:, -1] @ R) + self.excess + to_slack
        c = self.small @ need
        d = d - self.Y @ c
        db = float(c[0]) - self.rho * self.lost if self.programme.intercept else 0.0
        if self.total is None:
            return self.inverse * (rhs - SIGN * (self.W * (R - d))), db, 0.0
        de = float(c[-1])
        return self.inverse * (rhs - SIGN * (self.W * (R - d - de * self.odd)) - de), db, de


def _finite_bounds(programme):
    """Bounds with those that are infinite replaced by ones that the solution stays away from.

    Where r > 0 half the squared excess over r is a row's loss, and no loss is larger than all of them at α = 0.
    """
    lower, upper, ridge = programme.lower, programme.upper, programme.ridge
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        return lower, upper
    zero = np.zeros(len(lower))
    nothing = programme.values(zero, -programme.target, 0.0)[0]
    with np.errstate(divide="ignore"):
        far = 2.0 * np.sqrt(2.0 * max(nothing, np.finfo(float).tiny) / ridge)
    return np.maximum(lower, -far), np.minimum(upper, far)


def _inverse(S):
    """S⁻¹ of order 1 or 2, the diagonal raised a little."""
    if len(S) == 1:
        return 1.0 / S
    a, b, c = S[0, 0] * (1.0 + SURE), 0.5 * (S[0, 1] + S[1, 0]), S[1, 1] * (1.0 + SURE)
    return np.array([[c, -b], [-b, a]]) / (a * c - b * b)
