"""ν: the ε for which Σ|α| = total; α is then the solution of the ε-insensitive dual with this ε.

Σ|α| falls as ε grows. The search runs at one ε after the other, each from the last α and only as fine as the next step
in ε will be. Near the end Newton's face has a second condition, the signs, and finds ε with α. Where rounds are slow,
and for a few rows at once, the interior-point method has ε as one of its unknowns.
"""

import numpy as np

from mercer.dual._interior import interior
from mercer.dual._search import ENTRIES, STEPS
from mercer.solvers.plan_class import StorageOptions

FEW = 320  # rows up to which the interior-point method, with ε among its unknowns, comes first
SLACK = 1e-9  # of the total: Σ|α| differs from it by no more
CLOSE = 0.1  # of the total: from there on Newton finds ε
FINER = 0.5  # a search is as fine as this share of the next step in ε
STRIDE = 4.0  # the largest factor of a step in ε
LITTLE = 0.02  # of the largest target: where an ε is still too large, 0 may be the solution
NARROW = 0.02  # of ε: an interval in which Σ|α| passes the total in a jump, or nearly
HALVES = 60  # of an interval, until it is a rounding
SAMPLE = 256  # rows from which the first ε comes
TRIES = 60


class Tube:
    """A search at one ε after the other, and the α next to the total on either side."""

    def __init__(self, search, total):
        self.search, self.total, self.tol = search, total, search.tol
        self.unit = float(np.abs(search.programme.target).max(initial=0.0))
        self.low = self.high = None  # (ε, α, g, Σ|α| as a share of the total), too much and too little

    def violation(self):
        """Of the dual at the ε found; weight that is missing is a violation of size ε."""
        search = self.search
        eps, weight = float(search.programme.epsilon[0]), float(np.abs(search.a).sum())
        worst = search.violation()
        if weight > self.total * (1.0 + SLACK):
            return max(worst, self.unit)
        return worst if weight >= self.total * (1.0 - SLACK) else max(worst, eps)

    def run(self):
        """Until ε and α are found, or the budget is spent, or nothing moves; returns which."""
        if self.unit == 0.0:
            return self._at(0.0, self.tol)
        search, eps = self.search, self._first()
        goal = max(self.tol, FINER * eps)
        self.low, self.high, self.seen, last = None, None, {}, None
        for _ in range(TRIES):
            status, found = "slow" if self._inside() else self._at(eps, goal), None
            if status == "slow":
                binds = search.jump(self._finish).binds
                status, goal, found = "converged", self.tol, float(search.programme.epsilon[0])
                if not binds:
                    status, eps, found = self._at(0.0, self.tol), 0.0, None
            now = self._share()
            if self.violation() > self.tol and status == "converged" and found is None:
                self._take(eps, now)
                if abs(now - 1.0) <= CLOSE and goal <= self.tol:
                    found = self._newton(eps)
                if self.violation() > self.tol and self._between():
                    found = self._newton(eps)
            if self.violation() <= self.tol:
                return "converged"
            stop = search.budget.spent() or (None if status == "converged" else status)
            if stop:
                return stop
            new = eps if abs(now - 1.0) <= CLOSE and goal > self.tol else self._next(eps, now, goal, last, found)
            last, eps, goal = (eps, now), new, max(self.tol, FINER * abs(new - eps))
        return "stalled"

    def _inside(self):
        """Whether the interior-point method is due; for a few rows at once."""
        search = self.search
        return search.interior_is_due() or (search.whole is not None and len(search.a) <= FEW)

    def _share(self):
        """Σ|α|, as a share of the total."""
        return float(np.abs(self.search.a).sum()) / self.total

    def _at(self, eps, goal):
        """The search at one ε; only the last goal is worth to be finished."""
        search, fine = self.search, self.search.fine
        search.programme, search.tol = search.programme.with_tube(eps), goal
        search.fine = fine if goal <= self.tol else goal
        status = search.run()
        search.tol, search.fine = self.tol, fine
        return status

    def _finish(self, inner):
        """Newton steps after an interior point: with ε where the total binds."""
        if inner.binds:
            self._newton(inner.epsilon)
        else:
            self.search.programme = self.search.programme.with_tube(0.0)

    def _newton(self, eps):
        """Newton steps that keep the total and find ε, which is returned; α stays where they did not help."""
        search = self.search
        search.programme = search.programme.with_tube(search.programme.tube(search.a, search.g) or eps)
        kept = search.a.copy(), search.g.copy(), search.programme, self.violation()
        search.moves_tube = True
        search.newton(search.fine, STEPS if len(search.a) > StorageOptions.float64_up_to else ENTRIES, patient=True)
        search.moves_tube, found = False, float(search.programme.epsilon[0])
        if self.violation() > kept[3]:
            search.a[:], search.g[:], search.programme = kept[:3]
        return found

    def _first(self):
        """An ε to begin with: of the α at hand, or of a sample of the rows."""
        search, n = self.search, len(self.search.a)
        if search.a.any():
            return search.programme.tube(search.a, search.g)
        if self._inside():
            return self.unit
        rows = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)
        part = search.programme.take(rows)
        share = self.total * float(part.upper.sum() / search.programme.upper.sum())
        found = interior(search.store.square(rows).astype(np.float64), part, search.budget, share)
        return found.epsilon if found.binds else LITTLE * self.unit

    def _take(self, eps, now):
        """Keep the α that are next to the total on either side; an older one that contradicts is dropped."""
        end = eps, self.search.a.copy(), self.search.g.copy(), now
        if now >= 1.0:
            self.low = end if self.low is None or eps >= self.low[0] else self.low
            self.high = None if self.high is not None and self.high[0] <= eps else self.high
        else:
            self.high = end if self.high is None or eps <= self.high[0] else self.high
            self.low = None if self.low is not None and self.low[0] >= eps else self.low

    def _between(self):
        """Move to the point between two α whose Σ|α| is the total, if their ε are near: where Σ|α| jumps."""
        if self.low is None or self.high is None or self.high[0] - self.low[0] > NARROW * self.high[0]:
            return False
        search, one, other = self.search, self.low, self.high
        ends = 0.0, 1.0
        for _ in range(HALVES):
            share = 0.5 * (ends[0] + ends[1])
            weight = float(np.abs((1.0 - share) * one[1] + share * other[1]).sum())
            ends = (share, ends[1]) if weight > self.total else (ends[0], share)
        share = ends[1]
        for into, near, far in ((search.a, one[1], other[1]), (search.g, one[2], other[2])):
            into[:] = (1.0 - share) * near + share * far
        search.programme = search.programme.with_tube((1.0 - share) * one[0] + share * other[0])
        return True

    def _next(self, eps, now, goal, last, found):
        """The next ε: Newton's, or from a secant of log Σ|α| over log ε, between those that were too small or large."""
        rough = goal if goal > self.tol else 0.0  # an α that is that far off may belong to another ε
        self.seen[now > 1.0] = max(eps - rough, 0.0) if now > 1.0 else eps + rough
        low, high = self.seen.get(True, 0.0), self.seen.get(False, np.inf)
        if low >= high:  # a coarse search was wrong
            low, high = (eps, np.inf) if now > 1.0 else (0.0, eps)
            self.seen = {now > 1.0: eps}
        if found is not None and low < found < high and found != eps:
            return found
        if now < 1.0 and True not in self.seen and (found == 0.0 or eps <= LITTLE * self.unit):
            return 0.0
        slope = -1.0
        if last is not None and min(eps, last[0], now, last[1]) > 0.0 and (eps - last[0]) * (now - last[1]) < 0.0:
            slope = np.log(now / last[1]) / np.log(eps / last[0])
        step = float(np.exp(np.clip(-np.log(max(now, 1e-9)) / slope, -np.log(STRIDE), np.log(STRIDE))))
        new = eps * step if eps > 0.0 else self.tol
        if low < new < high and new != eps:
            return new
        return float(np.sqrt(low * high)) if low > 0.0 else 0.25 * high
