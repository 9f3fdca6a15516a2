"""From a gradient to a tolerance: rounds, Newton steps once the face has settled, and shrinking.

Shrinking: a row whose slopes lie well outside of all that still has to be settled cannot be in a violating pair. Once
few rows are left, the search goes on with them alone, Newton steps included. When they are done, what their α has moved
by is added to the gradient of the others, once, and the search goes on with all rows if one of those violates now.
"""

import copy

import numpy as np

from mercer._threads import one_blas_thread
from mercer.dual import _plain
from mercer.dual._active import newton
from mercer.dual._rounds import BLOCK, one_round
from mercer.solvers.engine.shares import threads_for

EXACT = 2048  # rows up to which K is stored in float64
FINISH = 1e-10  # violation, relative to the largest target, that the last Newton steps aim at
NEAR = 0.05  # violation, relative to the spread of the targets, above which a large problem waits with Newton
SETTLED = 0.04  # share of a block's free rows that change in a round: with more, Newton's face would be another
SOON = 10.0  # tolerances: with a violation of so many a Newton step waits for its own cost in rounds
CHEAP = 2e9  # multiplications that a Newton step may cost at any time
ROUNDING = 1e-15  # of the terms of the objective: a round that gains less, where only rounding moves, gains nothing
STILL = 20  # such rounds in a row, Newton steps between them, after which nothing is to be gained
LONG = 12  # phases of Newton steps after which rounds have shown to be slow
WAIT = 2.0  # costs of a Newton step that a small problem spends in rounds before it
ENTRIES = 60  # faces tried in a row in a small problem, two steps each
STEPS = 12  # and in a large one, as long as they help
SHRINK = 0.5  # share of the rows: with fewer to settle the search goes on with them alone
LATE = 50  # rounds: a search that needed so many will need more, and a copy of the rest pays
MARGIN = 0.5  # violations beyond the best slope of the other side at which a row is left out
SURE = 0.5  # share of the tolerance that leaves room for what float32 rounds


class Search:
    """Rounds and Newton steps from a gradient to a tolerance; α and g are worked on in place."""

    def __init__(self, store, programme, a, g, tol, budget, callback):
        self.store, self.programme, self.a, self.g = store, programme, a, g
        self.tol, self.budget, self.callback = tol, budget, callback
        size = max(float(np.abs(programme.target).max(initial=0.0)), np.finfo(float).tiny)
        self.fine = min(tol, FINISH * size) if store.dtype == np.float64 else 0.1 * tol
        self.near = max(30.0 * tol, NEAR * float(np.std(programme.target)))
        self.newtons = 0
        self.churn = 0.0  # of the rows of the last block, the share that became free or ceased to be
        self.early, self.phases = False, 0  # whether the last Newton step came too early, and how often it was tried
        self.patience, self.last = 1.0, 0.0  # a Newton step waits for so many times its own cost in rounds
        self.small = len(a) <= EXACT
        self.plain = store.loops is _plain  # rounds in Python are slow: Newton has two thirds of the work
        self.shrunk, self.until = 0, LATE  # parts solved so far, and the round before which there is no other

    def run(self):
        """Until the violation is within the tolerance, the budget is spent, or nothing moves; returns which."""
        with threads_for(len(self.a)):  # asked for once: a hundred short solves would each ask again
            return self._run()

    def _run(self):
        block = np.zeros(0, dtype=np.int64)
        still, lowest = 0, np.inf
        while True:
            slopes = self.programme.slopes(self.a, self.g)
            violation = self.programme.violation(*slopes)
            if violation <= self.tol:
                self._finish()
                return "converged"
            stop = self.budget.spent()
            if stop or self._report(violation):
                return stop or "callback"
            if self._newton_is_due(violation):
                self._newton()
                continue
            part = self._part(*slopes, violation)
            if part is not None:
                stop = self._solve_part(*part)
                if stop in ("max_iter", "time_budget", "callback"):
                    return stop
                block = np.zeros(0, dtype=np.int64)
                continue
            work, free = self.budget.steps, self.programme.free(self.a)
            with one_blas_thread():  # once, and not for every short piece of the round
                block = one_round(self.store, self.programme, self.a, self.g, slopes, block, self.tol, self.budget)
            now = self.programme.free(self.a)
            changed = np.setxor1d(free, now, assume_unique=True).size
            self.churn = changed / max(min(len(block), now.size), 1)
            height, size = self.programme.height(self.a, self.g)
            lost = self.budget.steps == work or not height < lowest - ROUNDING * size
            still, lowest = still + 1 if lost else 0, min(lowest, height)
            if still >= 2:
                moves = self._newton(patient=True) in ("full", "part") or self.budget.steps > work
                if not moves or still > STILL:
                    return "stalled"

    def _part(self, grows, falls, violation):
        """(rows, store) of the rows that may still have to move, when they are few enough; None otherwise."""
        n = len(self.a)
        if self.small or n <= EXACT or self.budget.rounds < self.until or violation <= SOON * self.tol:
            return None
        low, high = (grows.min(), falls.max()) if self.programme.intercept else (0.0, 0.0)
        rows = np.flatnonzero((grows < high + MARGIN * violation) | (falls > low - MARGIN * violation))
        store = self.store.part(rows) if rows.size <= SHRINK * n else None
        return None if store is None else (rows, store)

    def _solve_part(self, rows, store):
        """The same search on a part of the rows; α of the others stays, their gradient follows at the end."""
        part, before = copy.copy(self), self.a[rows]
        part.store, part.programme, part.a, part.g = store, self.programme.take(rows), before.copy(), self.g[rows]
        part.shrunk = 0
        status = part.run()
        self.newtons, self.patience, self.last = part.newtons, part.patience, part.last
        self.a[rows] = part.a
        self.store.add(rows, part.a - before, self.g)
        self.g[rows] = part.g
        self.shrunk += 1
        self.until = self.budget.rounds + 2**self.shrunk  # rows that come back must not be left out again at once
        return status

    def _report(self, violation):
        """Tell the callback; whether it wants an end."""
        if self.callback is None:
            return False
        now = {"iterations": self.budget.steps, "violation": violation, "rounds": self.budget.rounds}
        return bool(self.callback(now))

    def _cost(self):
        """Multiplications of a Newton step, in those of rounds: a factorisation runs nearer to the machine's peak."""
        m = float(self.programme.free(self.a).size)
        return 0.08 * m**3 + 100.0 * m**2 + m * len(self.a)

    def _share(self):
        """The work of Newton's steps on a small problem, in that of the rounds before them."""
        return 2 if self.plain or self.phases > LONG else 1

    def _newton_is_due(self, violation):
        """Whether the rounds since the last Newton step have cost as much as one, and the face is about to settle."""
        n = len(self.a)
        if not self.small and (violation > self.near or self.churn > SETTLED):
            return False
        cost = self._cost()
        wait = WAIT / self._share() if self.small else np.clip(violation / (SOON * self.tol), 0.2, 4.0)
        return cost > 0 and self.budget.work - self.last > self.patience * wait * max(cost, 20.0 * n * min(n, BLOCK))

    def _newton(self, tol=None, patient=False):
        """Newton steps, rows let in as they ask; what comes too early or does not help makes the next wait longer.

        Unless ``patient``, the first step looks whether it is too early: a face that many rows would leave costs many
        factorisations, and is not the last one. Rounds are cheaper then, but not for ever: the next time it is taken.
        """
        small, goal, patient = self.small, tol or self.tol, patient or self.early or self._share() > 1
        spent = (self.budget.work - self.last) / max(self._cost(), 1.0)  # rounds and Newton share the time
        most = int(np.clip(self._share() * spent, 2 * self._share(), 2 * ENTRIES)) if small else STEPS
        status, before, best, vain = "part", self._violation(), np.inf, 0
        for step in range(most):
            self.newtons += 1
            if status == "full":
                status = self._enter()
            else:
                status = newton(self.store, self.programme, self.a, self.g, patient=small and (patient or step > 0))
            violation = self._violation()
            if status in ("early", "failed") or violation <= goal or self.budget.spent():
                break
            vain = 0 if violation < 0.7 * best else vain + 1
            best = min(best, violation)
            if not small and (status == "part" or vain > 2):
                break
        self.early, self.phases = status == "early", self.phases + 1
        helped = status in ("full", "part") and (small or self._violation() < 0.5 * before)
        self.patience = max(0.5, 0.5 * self.patience) if helped else 1.5 * self.patience
        self.last = self.budget.work
        return status

    def _enter(self):
        """Let rows into the face whose slope has the wrong sign: many of them, or the worst if that does not help.

        Returns the status of the Newton step on the larger face.
        """
        programme, a, g = self.programme, self.a, self.g
        b = programme.bias(a, g)
        grows, falls = programme.slopes(a, g)
        wrong, side = np.maximum(-(grows + b), falls + b), np.where(-(grows + b) >= falls + b, 1.0, -1.0)
        free = programme.free(a)
        wrong[free] = -np.inf
        worst = np.flatnonzero(wrong > 0)
        worst = worst[np.argsort(-wrong[worst])]
        both = [int(np.argmin(grows)), int(np.argmax(falls))]
        if programme.intercept and not free.size and both[0] != both[1]:
            few = np.array(both), np.array([1.0, -1.0])
        else:
            few = worst[:1], side[worst[:1]]
        many = worst[: 8 + free.size // 4]
        for rows, sides in ((many, side[many]), few):
            status = newton(self.store, programme, a, g, enter=(rows, sides), patient=True) if len(rows) else "failed"
            if status in ("full", "part"):
                return status
        return "failed"

    def _finish(self):
        """Newton steps beyond the tolerance, while they are cheap and help: the free rows to rounding.

        Where K is in float32, and so rounded by more than that, a step or two makes sure of the tolerance.
        """
        if self.store.dtype == np.float32 and self._violation() <= SURE * self.tol:
            return
        start = self.budget.work
        for _ in range(4):
            kept = self.a.copy(), self.g.copy(), self._violation()
            if kept[2] <= self.fine or self._cost() > max(CHEAP, 0.2 * start) or self.budget.spent():
                return
            status = self._newton(self.fine, patient=True)
            if self._violation() > max(self.tol, kept[2]):
                self.a[:], self.g[:] = kept[:2]
                return
            if status not in ("full", "part"):
                return

    def _violation(self):
        """The violation now."""
        return self.programme.violation(*self.programme.slopes(self.a, self.g))
