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
from mercer.solvers.small import ThinFactor, factor, thin

STEPS = 60
SOLVED = (1e-6, 1e-8)  # mean product of a pair, in units of y times α; and where α may be large
START = 0.5  # of the unit of α for p and m, of the unit of y for the multipliers
BACK = (0.995, 0.9999)  # least and largest share of the way to the nearest end
SHIFT = 1e-14  # of the mean diagonal: K may be singular
CLOSED = 1e-10  # of the unit of α: the width of a box that is none
LARGE = 1e4  # units: where α may be larger rounding is watched, and the factor is of all of K
ROUNDED = 1e-13  # of the largest α times the unit of y: products below are rounding
FEWER = (0.9, 15)  # what the mean product must fall to in so many steps
WORSE = 10.0  # times the slopes that do not add up in the step before: rounding has taken over
SURE = 1e-10  # of the small system's diagonal: where all rows are bounded, b and ε are not unique


class Inner(NamedTuple):
    """α with exact zeros and bounds (bold and careful), ε, whether the total binds, steps, jitter of the factors."""

    alpha: tuple
    epsilon: float
    binds: bool
    steps: int
    jitter: float


def interior(K, programme, budget, total=None):
    """min ½αᵀKα + Σ h(α) [Σα = 0], for a stored K in float64; with ``total`` ε = 0 and ‖α‖₁ <= total.

    Good to about 1e-5; α is exactly 0 or at its bound where the multipliers say so: a start for Newton.
    """
    work, step = _Interior(K, programme, total), 0
    with np.errstate(all="ignore"):  # a step that is not finite is not taken
        while step < STEPS and not budget.spent(operations=work.operations) and work.step():
            step += 1
            budget.take(1, float(len(K)) ** 3)
    return work.found(step)


class _Interior:
    """p, m, their distances to their ends (X), the multipliers of all four (Z), b, ε and the slack of the total."""

    def __init__(self, K, programme, total):
        self.K, self.programme, self.total = K, programme, total
        target, self.ridge = programme.target, programme.ridge
        n, kink = len(target), (programme.epsilon > 0) | (total is not None)
        self.diag = max(float((programme.diag + self.ridge).mean()), np.finfo(float).tiny)
        self.unit = max(float(np.abs(target).max()), np.finfo(float).tiny)  # of slopes, and of α:
        lower, upper = _finite_bounds(programme)
        self.shift = np.where(kink, 0.0, lower)
        self.ends = np.array([upper - self.shift, np.where(kink, -lower, 0.0)])
        self.size = min(float(self.ends.max(axis=0).mean()), self.unit / self.diag)
        if total is not None:
            self.size = min(self.size, total / n)
        self.ends = np.maximum(self.ends, CLOSED * self.size)
        x = START * np.minimum(self.ends, self.size)
        x[0] = np.where(self.shift < 0, np.minimum(-self.shift, 0.9 * self.ends[0]), x[0])
        self.X, self.Z = np.concatenate([x, self.ends - x]), np.full((4, n), START * self.unit)
        self.b, self.slack = 0.0, total or 0.0
        self.epsilon = programme.epsilon if total is None else START * self.unit
        self.mean, self.idle, self.jitter = np.inf, 0, 0.0
        self.large = float(self.ends.max()) > LARGE * self.size  # α may become so large that rounding counts
        self.solved = SOLVED[self.large] * self.unit * self.size
        self.kept, self.wrong = None, np.inf  # the state before, and by how much its slopes did not add up
        self.rho, self.G = self.diag if programme.intercept else 0.0, None if self.large else thin(K)
        self.ones = [np.ones(n)] if programme.intercept else []
        if self.G is None:
            self.square, self.shifted = np.empty((n, n)), K + self.rho
            self.diagonal = self.square.reshape(-1)[:: n + 1]
        elif self.ones:
            self.G = np.column_stack([self.G, np.full(n, np.sqrt(self.rho))])
        self.C = np.array(self.ones)
        self.plain = not (self.ridge.any() or self.shift.any())

    @property
    def operations(self):
        """Of the factor of a step: of K + W, or of what a K of low rank leaves."""
        n = len(self.K)
        return n**3 / 3.0 if self.G is None else float(n) * self.G.shape[1] ** 2

    def found(self, steps):
        """What it is; where α is much larger than its unit, both may be right to tell what is zero or at a bound."""
        ways = [self.size]
        if self.large:
            alpha = self.X[0] - self.X[1] + self.shift
            ways = list(dict.fromkeys((max(self.size, float(np.abs(alpha).mean())), self.size)))
        alphas = tuple(self._to_ends(size) for size in ways)
        if self.total is None:
            return Inner(alphas, 0.0, False, steps, self.jitter)
        binds = self.epsilon / self.unit > self.slack / self.total
        return Inner(alphas, float(self.epsilon), binds, steps, self.jitter)

    def _to_ends(self, size):
        """α with what is nearer to an end than its slope, the difference of its two multipliers, to zero put there."""
        x, slope = self.X * (self.unit / size), self.Z[:2] - self.Z[2:]
        ends = np.where(x[:2] < slope, 0.0, np.where(x[2:] < -slope, self.ends, self.X[:2]))
        return np.clip(self.shift + ends[0] - ends[1], self.programme.lower, self.programme.upper)

    def step(self):
        """One step: where the ends alone would lead, then with what that teaches (Mehrotra). False at the end."""
        X, Z, tube = self.X, self.Z, self.total is not None
        count, products = X.size + tube, float(np.vdot(X, Z)) + (self.epsilon * self.slack if tube else 0.0)
        mean = products / count
        if self._is_over(mean) or not self._factor(Z / X):
            return False
        dx, db, de = self._move(self.back - self.lack, -self.slack, True)
        q = np.concatenate([dx, -dx])
        q /= X  # products after a step t: XZ(1 + tq)(1 − t − tq)
        most = max(1.0, -float(np.minimum.reduce(q, axis=None)), 1.0 + float(np.maximum.reduce(q, axis=None)))
        if tube:
            most = max(most, -de / self.epsilon, 1.0 + de / self.epsilon)
        t, Zq = 1.0 / most, Z * q
        second = float(np.vdot(X, Zq) + np.vdot(X, Zq * q))
        second += self.slack * de * (1.0 + de / self.epsilon) if tube else 0.0
        ahead = (1.0 - t) * products - t * t * second
        aim = mean * min(max(ahead / products, 0.0), 1.0) ** 3
        q += 1.0
        to = aim / X
        to += Zq * q
        to -= Z  # to products equal to ``aim``, less those of the first step
        to_slack = 0.0
        if tube:
            to_slack = (aim + de * self.slack * (1.0 + de / self.epsilon)) / self.epsilon - self.slack
        dx, db, de = self._move(to[:2] - to[2:] - self.lack, to_slack)
        return self._go(dx, db, de, to, to_slack, aim / mean)

    def _go(self, dx, db, de, to, to_slack, left):
        """As far as the nearest end allows; False where the step is not finite."""
        X, Z, tube = self.X, self.Z, self.total is not None
        dX = np.concatenate([dx, -dx])
        to -= self.D * dX
        near = min(float(np.minimum.reduce(dX / X, axis=None)), float(np.minimum.reduce(to / Z, axis=None)))
        if tube:
            ds = to_slack - self.slack / self.epsilon * de
            near = min(near, de / self.epsilon, ds / self.slack)
        if not np.isfinite(near):
            return False
        share = min(max(1.0 - left, BACK[0]), BACK[1])
        t = share / max(-near, share)
        dX *= t
        to *= t
        X += dX
        Z += to
        self.b += t * db
        if tube:
            self.epsilon, self.slack = self.epsilon + t * de, self.slack + t * ds
        return True

    def _is_over(self, mean):
        """Whether products are small enough, fall no more, or rounding has taken over; else what is lacking."""
        X, Z, P = self.X, self.Z, self.programme
        self.idle = 0 if mean <= FEWER[0] * self.mean else self.idle + 1
        self.mean = min(self.mean, mean)
        if not mean > self.solved or self.idle == FEWER[1]:
            return True
        alpha = X[0] - X[1]
        if not self.plain:
            alpha += self.shift
        slope = self.K @ alpha
        slope += self.b - P.target if self.plain else self.ridge * alpha + (self.b - P.target)
        self.back = Z[2:] - Z[:2]
        self.lack = self.back + self.epsilon
        self.lack[0] += slope
        self.lack[1] -= slope
        self.lost = float(np.add.reduce(alpha))
        self.excess = float(X[:2].sum()) + self.slack - self.total if self.total is not None else 0.0
        return self.large and self._is_rounding(mean)

    def _is_rounding(self, mean):
        """Whether rounding has taken over, and the state before is taken back; else this one is kept."""
        wrong = float(np.abs(self.lack).max())
        if wrong > WORSE * max(self.wrong, SOLVED[True] * self.unit):
            self.X, self.Z, self.b, self.epsilon, self.slack = self.kept
            return True
        self.kept, self.wrong = (self.X.copy(), self.Z.copy(), self.b, self.epsilon, self.slack), wrong
        return mean <= ROUNDED * self.unit * float(self.X[:2].max())

    def _factor(self, D):
        """K + W and what the conditions need; with D the diagonals of p and m, W = 1/(1/Dₚ + 1/Dₘ)."""
        self.D, self.inverse = D, 1.0 / (D[:2] + D[2:])
        self.W = 1.0 / (self.inverse[0] + self.inverse[1])
        W = self.W if self.plain else self.W + self.ridge
        try:  # Σα is fixed, so that ρ changes b alone; a K of low rank becomes regular where the step is unique
            if self.G is not None:
                self.A = ThinFactor(W + SHIFT * self.diag, self.G)
            else:
                np.copyto(self.square, self.shifted)
                self.diagonal += W
                self.A = factor(self.square, scale=self.diag, least=SHIFT, overwrite=True)
        except (NotPositiveDefinite, ValueError):  # K is no kernel matrix, or numbers have overflowed
            return False
        self.jitter = max(self.jitter, self.A.jitter)
        if self.total is not None:
            self.odd = self.inverse[0] - self.inverse[1]
            self.C = np.array([*self.ones, self.W * self.odd])
        return True

    def _solve(self, B, first):
        """(K + W)⁻¹B; in the first of two moves with what the conditions need, since one call costs as much as two."""
        if not (first and len(self.C)):
            return self.A.solve(B)
        both = self.A.solve(np.concatenate([self.C, B[None]]).T)
        self.Y, d = both[:, :-1], both[:, -1]
        small = self.C @ self.Y
        if self.total is not None:
            small[-1, -1] += float(self.inverse.sum() - self.odd @ self.C[-1]) + self.slack / self.epsilon
        self.small = _inverse(small)
        return d

    def _move(self, rhs, to_slack, first=False):
        """(Δ(p, m), Δb, Δε): (K + W)Δα + Δb + vΔε = WR with the rows of Σα and of the total."""
        both = self.inverse * rhs
        R, db, de = both[0] - both[1], 0.0, 0.0
        d = self._solve(self.W * R, first)
        if len(self.C):
            need = self.C @ d
            if self.ones:
                need[0] += self.lost
            if self.total is not None:
                need[-1] += float(both.sum() - self.C[-1] @ R) + self.excess + to_slack
            c = self.small @ need
            d -= self.Y @ c
            db, de = float(c[0]) - self.rho * self.lost if self.ones else 0.0, float(c[-1])
        R -= d
        if self.total is not None:
            R -= de * self.odd
        R *= self.W
        rhs[0] -= R
        rhs[1] += R
        if self.total is not None:
            rhs -= de
        rhs *= self.inverse
        return rhs, db, de if self.total is not None else 0.0


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
