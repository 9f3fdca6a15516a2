"""ν: the ε for which Σ|α| = total; α is then the solution of the ε-insensitive dual with this ε.

Σ|α| falls as ε grows. The search runs at one ε after the other, each from the last α and only as fine as the next step
in ε will be. Near the end Newton's system has a second condition, the signs, and finds ε with α. Where the rank of K is
low, and for a few rows at once, an interior point has ε as one of its unknowns.
"""

import numpy as np

from mercer.dual._search import MANY, SOME, DualSearch
from mercer.dual._store import Stored
from mercer.gram import DenseGram
from mercer.solvers.plan_class import StorageOptions

SUM = 1e-9  # of the total: Σ|α| differs from it by no more
CLOSE = 0.1  # of the total: from there on Newton finds ε


class NuSearch:
    """A search at one ε after the other, and the α next to the total on either side."""

    def __init__(self, search, total):
        self.search, self.total, self.tol = search, total, search.tol
        self.unit = float(np.abs(search.qp.target).max(initial=0.0))
        self.low = self.high = None  # (ε, α, g, Σ|α| as a share of the total), too much and too little

    def violation(self):
        """Of the dual at the ε found; weight that is missing is a violation of size ε."""
        search, weight = self.search, self._share()
        worst = search.violation()
        if weight > 1.0 + SUM:
            return max(worst, self.unit)
        return worst if weight >= 1.0 - SUM else max(worst, float(search.qp.epsilon[0]))

    def run(self, most=60):
        """Until ε and α are found, or the budget is spent, or nothing moves; returns which."""
        if self.unit == 0.0:
            return self._solve_at(0.0, self.tol)
        eps = self._first_epsilon()
        goal = max(self.tol, 0.5 * eps)
        self.low, self.high, self.seen, last = None, None, {}, None
        while most > 0:
            most -= 1
            status, found = "slow" if self._begins_inside() else self._solve_at(eps, goal), None
            if status == "slow":
                status, goal, most = "converged", self.tol, min(most, 10)  # it is near; the rest may be rounding
                eps, found = self._start_inside()
            now = self._share()
            if self.violation() > self.tol and status == "converged" and found is None:
                self._keep(eps, now)
                if abs(now - 1.0) <= CLOSE and goal <= self.tol:
                    found = self._newton(eps)
                if self.violation() > self.tol and self._mix():
                    found = self._newton(eps)
            if self.violation() <= self.tol:
                return "converged"
            stop = self.search.budget.spent() or (None if status == "converged" else status)
            if stop:
                return stop
            finer = abs(now - 1.0) <= CLOSE and goal > self.tol
            new = eps if finer else self._next_epsilon(eps, now, goal, last, found)
            last, eps, goal = (eps, now), new, max(self.tol, 0.5 * abs(new - eps))
        return "stalled"

    def _share(self):
        """Σ|α|, as a share of the total."""
        return float(np.abs(self.search.a).sum()) / self.total

    def _solve_at(self, eps, goal):
        """The search at one ε; only the last goal is worth to be finished."""
        search, fine = self.search, self.search.fine
        search.qp, search.tol = search.qp.with_epsilon(eps), goal
        search.fine = fine if goal <= self.tol else goal
        status = search.run()
        search.tol, search.fine = self.tol, fine
        return status

    def _begins_inside(self):
        """Whether the interior point comes first: for a few rows it is quick, whatever the rank of K."""
        search = self.search
        return len(search.a) <= search.options.interior_first and search.due < np.inf and search.has_factor(True)

    def _start_inside(self):
        """(ε, ε or None if the total does not bind) of α from an interior point, and Newton steps to finish."""
        search = self.search
        inside = search.jump(self._finish)
        if inside.binds:
            return inside.epsilon, float(search.qp.epsilon[0])
        self._solve_at(0.0, self.tol)
        return 0.0, None

    def _finish(self, inside):
        """Newton steps after an interior point; where the total does not bind ε is 0."""
        if inside.binds:
            self._newton(inside.epsilon)
        else:
            self.search.qp = self.search.qp.with_epsilon(0.0)

    def _newton(self, eps):
        """Newton steps that keep the total and find ε, which is returned; α stays where they did not help."""
        search = self.search
        search.qp = search.qp.with_epsilon(search.qp.best_epsilon(search.a, search.g) or eps)
        kept = search.a.copy(), search.g.copy(), search.qp, self.violation()
        search.moves_epsilon = True
        search.newton(search.fine, SOME if len(search.a) > StorageOptions.float64_up_to else MANY, patient=True)
        search.moves_epsilon, found = False, float(search.qp.epsilon[0])
        if self.violation() > kept[3]:
            search.a[:], search.g[:], search.qp = kept[:3]
        return found

    def _first_epsilon(self):
        """An ε to begin with: of the α at hand, of a sample of the rows, or of the targets alone."""
        search, n = self.search, len(self.search.a)
        if search.a.any():
            return search.qp.best_epsilon(search.a, search.g)
        sample = 256  # rows
        if n <= 4 * sample:
            away = np.abs(search.qp.target - np.median(search.qp.target) * search.qp.intercept)
            return float(np.quantile(away, 1.0 - self.total / search.qp.upper.sum()))
        rows = np.linspace(0, n - 1, sample).astype(np.int64)
        part, square = search.qp.take(rows), search.store.square(rows).astype(np.float64)
        share = self.total * float(part.upper.sum() / search.qp.upper.sum())
        goal = max(self.tol, 0.01 * self.unit)
        store, gram = Stored(square), DenseGram.from_matrix(square)
        start = np.zeros(sample), -part.target, goal, search.budget
        few = DualSearch(store, part, *start, search.options, gram, lambda: square, total=share)
        NuSearch(few, share).run()
        return float(few.qp.epsilon[0])

    def _keep(self, eps, now):
        """Keep the α that are next to the total on either side; an older one that contradicts is dropped."""
        end = eps, self.search.a.copy(), self.search.g.copy(), now
        if now >= 1.0:
            self.low = end if self.low is None or eps >= self.low[0] else self.low
            self.high = None if self.high is not None and self.high[0] <= eps else self.high
        else:
            self.high = end if self.high is None or eps <= self.high[0] else self.high
            self.low = None if self.low is not None and self.low[0] >= eps else self.low

    def _mix(self):
        """Move to the point between two α whose Σ|α| is the total, if their ε are near: where Σ|α| jumps."""
        if self.low is None or self.high is None or self.high[0] - self.low[0] > 0.02 * self.high[0]:
            return False
        search, one, other = self.search, self.low, self.high
        ends = 0.0, 1.0
        for _ in range(60):
            share = 0.5 * (ends[0] + ends[1])
            weight = float(np.abs((1.0 - share) * one[1] + share * other[1]).sum())
            ends = (share, ends[1]) if weight > self.total else (ends[0], share)
        share = ends[1]
        for into, near, far in ((search.a, one[1], other[1]), (search.g, one[2], other[2])):
            into[:] = (1.0 - share) * near + share * far
        search.qp = search.qp.with_epsilon((1.0 - share) * one[0] + share * other[0])
        return True

    def _next_epsilon(self, eps, now, goal, last, found):
        """The next ε: Newton's, or from a secant of log Σ|α| over log ε, between those that were too small or large."""
        rough = goal if goal > self.tol else 0.0  # an α that is that far off may belong to another ε
        self.seen[now > 1.0] = max(eps - rough, 0.0) if now > 1.0 else eps + rough
        low, high = self.seen.get(True, 0.0), self.seen.get(False, np.inf)
        if low >= high:  # a coarse search was wrong
            low, high = (eps, np.inf) if now > 1.0 else (0.0, eps)
            self.seen = {now > 1.0: eps}
        if found is not None and low < found < high and found != eps:
            return found
        if now < 1.0 and True not in self.seen and (found == 0.0 or eps <= 0.02 * self.unit):
            return 0.0
        slope = -1.0
        if last is not None and min(eps, last[0], now, last[1]) > 0.0 and (eps - last[0]) * (now - last[1]) < 0.0:
            slope = np.log(now / last[1]) / np.log(eps / last[0])
        stride = np.log(4.0)
        step = float(np.exp(np.clip(-np.log(max(now, 1e-9)) / slope, -stride, stride)))
        new = eps * step if eps > 0.0 else self.tol
        if low < new < high and new != eps:
            return new
        return float(np.sqrt(low * high)) if low > 0.0 else 0.25 * high
