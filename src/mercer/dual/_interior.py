"""An interior-point method: about fifteen steps, whatever C, ε or ν are; each is a factor of K + W, W diagonal.

A K of low rank is GGᵀ with G of n × r, and a step takes n r² operations: there pairs of variables need millions of
steps where C is large, and this is up to 400 times as quick. Of full rank a step takes n³/3: with ν, since ε is an
unknown of it, and once rounds have cost as much, as they do with C = 10⁴ and more.

α = l + p where there is no kink, else α = p − m, with p and m in boxes that begin at 0. What must not become negative
comes in pairs whose products fall to zero: p and m, their distances to the ends of their boxes, each with its
multiplier. Eliminating all but Δα leaves a system with K + W and a column for each condition: ones for Σα = 0, v for
Σ(p + m) <= total, whose multiplier is ε.
"""

from typing import NamedTuple

import numpy as np

from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.pivoted import leading_columns
from mercer.solvers.small import ThinFactor, factor


def low_rank(K, sample=64, most=512):
    """G of n × r with GGᵀ = K up to rounding; None unless r is at most n/4. A few rows are looked at first."""
    if K.matrix is not None and K.matrix.dtype == np.float32:  # rounding has full rank
        K = K.source
    if K is None:
        return None
    some = np.linspace(0, K.n - 1, min(K.n, sample)).astype(np.int64)
    if leading_columns(K.restrict(some), len(some) // 2)[1]:
        return None
    G, missed = leading_columns(K, min(K.n // 4, most))
    return None if missed else G


class Inside(NamedTuple):
    """α, exactly 0 or at a bound where the multipliers say so; with a total ε, and whether the total binds.

    Where α is far larger than its unit, |y| over the diagonal of K, there are two: either unit may tell what is at an
    end.
    """

    alphas: list
    epsilon: float
    binds: bool


def interior_start(K, qp, budget, total=None, steps=60):
    """`Inside` near the minimum of ½αᵀKα + Σ h(α) [Σα = 0]; with ``total`` ε = 0 and Σ|α| <= total.

    K is a stored matrix in float64, or G of n × r with r < n and GGᵀ = K.
    """
    point = _InteriorPoint(K, qp, total)
    with np.errstate(all="ignore"), few_threads(len(K)):  # a step that is not finite is not taken
        for _ in range(steps):
            if budget.spent(operations=point.operations) or not point.step():
                break
            budget.take(1, point.operations)
            budget.interior += 1
    if total is None:
        return Inside(point.alphas(), 0.0, False)
    return Inside(point.alphas(), point.epsilon, point.epsilon / point.unit > point.slack / total)


class _InteriorPoint:
    """p, m and their distances to their ends (X), the multipliers of all four (Z), b, and what belongs to a total.

    The total has a slack and the multiplier ε, one more pair.
    """

    def __init__(self, K, qp, total):
        self.qp, self.K, self.total, self.thin = qp, K, total, K.shape[1] < len(K)
        n, kink = len(qp.target), (qp.epsilon > 0) | (total is not None)
        self.diag = diag = max(float((qp.diag + qp.ridge).mean()), np.finfo(float).tiny)
        self.unit = max(float(np.abs(qp.target).max()), np.finfo(float).tiny)  # of slopes
        lower, upper = _finite_bounds(qp)
        self.shift = np.where(kink, 0.0, lower)
        ends = np.array([upper - self.shift, np.where(kink, -lower, 0.0)])
        self.size = min(float(ends.max(axis=0).mean()), self.unit / diag, np.inf if total is None else total / n)
        self.ends = np.maximum(ends, 1e-10 * self.size)  # a box of no width gets a little
        x = 0.5 * np.minimum(self.ends, self.size)
        x[0] = np.where(self.shift < 0, np.minimum(-self.shift, 0.9 * self.ends[0]), x[0])
        self.X, self.Z, self.b = np.concatenate([x, self.ends - x]), np.full((4, n), 0.5 * self.unit), 0.0
        self.epsilon, self.slack = (qp.epsilon, 0.0) if total is None else (0.5 * self.unit, total)
        # Σα is fixed, so that ρ11ᵀ changes b alone; K becomes regular where the step is unique.
        self.rho = diag if qp.intercept else 0.0
        self.raised = np.column_stack([K, np.full(n, np.sqrt(self.rho))]) if self.thin else K + self.rho
        self.least, self.idle = np.inf, 0
        self.large = float(ends.max()) > 1e4 * self.size  # α may become so large that rounding counts
        self.before, self.wrong = None, np.inf  # the state before, and the most that its slopes lacked
        self.operations = n**3 / 3.0 if not self.thin else float(n) * self.raised.shape[1] ** 2

    def alphas(self):
        """α by the unit of α and, where boxes are large, by the mean of what it is; the larger unit first."""
        mean = float(np.abs(self.X[0] - self.X[1] + self.shift).mean()) if self.large else 0.0
        return [self._to_ends(size) for size in sorted({max(self.size, mean), self.size}, reverse=True)]

    def _to_ends(self, size):
        """α with what is nearer to an end than its slope, the difference of its two multipliers, to zero put there."""
        x, slope = self.X * (self.unit / size), self.Z[:2] - self.Z[2:]
        ends = np.where(x[:2] < slope, 0.0, np.where(x[2:] < -slope, self.ends, self.X[:2]))
        return np.clip(self.shift + ends[0] - ends[1], self.qp.lower, self.qp.upper)

    def step(self):
        """One step: where the ends alone would lead, then with what that teaches (Mehrotra). False at the end."""
        X, Z, bound = self.X, self.Z, self.total is not None
        count = X.size + bound
        mean = (float(np.vdot(X, Z)) + (self.epsilon * self.slack if bound else 0.0)) / count
        self.idle = 0 if mean <= 0.9 * self.least else self.idle + 1
        self.least = min(self.least, mean)
        if not mean > 1e-8 * self.unit * self.size or self.idle == 15:  # it is the solution, or falls no more
            return False
        lack = self._lack()
        if (self.large and self._is_rounding(mean, lack)) or not self._factor(Z / X):
            return False
        dx, _, de = self._move(Z[2:] - Z[:2] - lack, -self.slack)
        q = np.concatenate([dx, -dx]) / X  # products after a step t: XZ(1 + tq)(1 − t − tq)
        qe = de / self.epsilon if bound else 0.0  # and of ε and the slack
        t = 1.0 / max(1.0, -float(q.min()), 1.0 + float(q.max()), -qe, 1.0 + qe)
        second = float(np.vdot(X, Z * q * (1.0 + q))) + self.slack * de * (1.0 + qe)
        aim = mean * min(max(1.0 - t - t * t * second / (count * mean), 0.0), 1.0) ** 3
        to = aim / X + Z * q * (1.0 + q) - Z  # to products equal to ``aim``, less those of the first step
        to_slack = (aim / self.epsilon + qe * self.slack * (1.0 + qe) - self.slack) if bound else 0.0
        dx, db, de = self._move(to[:2] - to[2:] - lack, to_slack)
        dX = np.concatenate([dx, -dx])
        to -= self.D * dX
        near = min(float((dX / X).min()), float((to / Z).min()))
        if bound:
            ds = to_slack - self.slack / self.epsilon * de
            near = min(near, de / self.epsilon, ds / self.slack)
        if not np.isfinite(near):
            return False
        share = min(max(1.0 - aim / mean, 0.995), 0.9999)  # of the way to the nearest end
        t = share / max(-near, share)
        X += t * dX
        Z += t * to
        self.b += t * db
        if bound:
            self.epsilon, self.slack = self.epsilon + t * de, self.slack + t * ds
        return True

    def _lack(self):
        """What the slopes of p and m lack to be those of the multipliers; also of Σα = 0 and of the total."""
        a = self.X[0] - self.X[1] + self.shift
        Ka = self.K @ (self.K.T @ a) if self.thin else self.K @ a
        slope = Ka + self.qp.ridge * a + (self.b - self.qp.target)
        self.sum = float(a.sum())
        self.excess = 0.0 if self.total is None else float(self.X[:2].sum()) + self.slack - self.total
        return self.Z[2:] - self.Z[:2] + self.epsilon + np.array([slope, -slope])

    def _is_rounding(self, mean, lack):
        """Whether rounding has taken over: slopes are wrong by more than before, or products are small beside α."""
        wrong = float(np.abs(lack).max())
        if wrong > 10.0 * max(self.wrong, 1e-8 * self.unit):
            vars(self).update(self.before)
            return True
        state = {name: getattr(self, name) for name in ("b", "epsilon", "slack")}
        self.before, self.wrong = {"X": self.X.copy(), "Z": self.Z.copy(), **state}, wrong
        return mean <= 1e-13 * self.unit * float(self.X[:2].max())

    def _factor(self, D):
        """K + W and what the conditions need; with D the diagonals of p and m, W = 1/(1/Dₚ + 1/Dₘ)."""
        self.D, self.inverse = D, 1.0 / (D[:2] + D[2:])
        self.W = 1.0 / (self.inverse[0] + self.inverse[1])
        self.odd = self.inverse[0] - self.inverse[1]
        rows = [np.ones(len(self.W))] if self.qp.intercept else []
        self.C = np.array([*rows, self.W * self.odd] if self.total is not None else rows)
        try:
            self.A = self._inverse(self.W + self.qp.ridge)
            if not len(self.C):
                return True
            self.Y = self._solve(self.C.T)
            small = self.C @ self.Y
            if self.total is not None:
                small[-1, -1] += float(self.inverse.sum() - self.odd @ self.C[-1]) + self.slack / self.epsilon
            self.small = _inverse(small)
        except (NotPositiveDefinite, ValueError):  # numbers have overflowed
            return False
        return True

    def _inverse(self, W):
        """The factor of K + W + ρ11ᵀ."""
        if self.thin:
            return ThinFactor(W, self.raised)
        A = self.raised.copy()
        A.reshape(-1)[:: len(A) + 1] += W
        return factor(A, scale=self.diag, least=1e-14, overwrite=True)

    def _solve(self, B):
        """(K + W)⁻¹B; refined once with a thin factor or a large α: W of free rows is tiny, and digits cancel."""
        x, W = self.A.solve(B), self.W + self.qp.ridge
        if not (self.thin or (self.large and self.total is None)):  # with ν K itself gains nothing by it
            return x
        Kx = self.raised @ (self.raised.T @ x) if self.thin else self.raised @ x
        return x + self.A.solve(B - (W * x.T).T - Kx)

    def _move(self, rhs, to_slack):
        """(Δ(p, m), Δb, Δε): (K + W)Δα + Δb + vΔε = WR with the rows of Σα and of the total."""
        both = self.inverse * rhs
        R, db, de = both[0] - both[1], 0.0, 0.0
        d = self._solve(self.W * R)
        if len(self.C):
            need = self.C @ d
            if self.qp.intercept:
                need[0] += self.sum
            if self.total is not None:
                need[-1] += float(both.sum() - self.C[-1] @ R) + self.excess + to_slack
            c = self.small @ need
            d = d - self.Y @ c
            db = float(c[0]) - self.rho * self.sum if self.qp.intercept else 0.0
            de = float(c[-1]) if self.total is not None else 0.0
        R = self.W * (R - d - de * self.odd)
        return self.inverse * (rhs - np.array([R, -R]) - de), db, de


def _finite_bounds(qp):
    """Bounds with those that are infinite replaced by ones that the solution stays away from.

    Where r > 0 half the squared excess over r is a row's loss, and no loss is larger than all of them at α = 0.
    """
    if np.isfinite(qp.lower).all() and np.isfinite(qp.upper).all():
        return qp.lower, qp.upper
    nothing = qp.values(np.zeros(len(qp.lower)), -qp.target, 0.0)[0]
    with np.errstate(divide="ignore"):
        far = 2.0 * np.sqrt(2.0 * max(nothing, np.finfo(float).tiny) / qp.ridge)
    return np.maximum(qp.lower, -far), np.minimum(qp.upper, far)


def _inverse(S):
    """S⁻¹ of order 1 or 2, each diagonal entry raised a little: where all rows are bounded b and ε are not unique."""
    if len(S) == 1:
        return 1.0 / S
    a, b, c = S[0, 0] * (1.0 + 1e-10), 0.5 * (S[0, 1] + S[1, 0]), S[1, 1] * (1.0 + 1e-10)
    return np.array([[c, -b], [-b, a]]) / (a * c - b * b)
