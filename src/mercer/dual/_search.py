"""From a gradient to a tolerance: rounds, Newton steps once the face has settled, and an interior point.

Rounds are fast where they are; where they are not (a large C, a K of low rank) they may take for ever. So once they
have cost as much as an interior-point method would, that is taken.
"""

import numpy as np

from mercer._threads import one_blas_thread
from mercer.dual._blocks import BLOCK, cost, is_whole, one_round, pairs
from mercer.dual._face import newton_step
from mercer.dual._interior import interior
from mercer.solvers.small import SAMPLE, narrow

FACTORS = 2.0  # times n³: the work of an interior-point method, in that of rounds
THIN = 100.0  # times n²: the same where the rank of K is low
CALLED = 5e6  # multiplications in the time that its steps take in Python
QUICK = 8e5  # multiplications of pairs in the time that a round or a Newton step takes in Python
FINISH = 1e-10  # violation, relative to the largest target, that the last Newton steps aim at
NEAR = 0.05  # violation, relative to the spread of the targets, above which Newton waits
SETTLED = 0.04  # share of a block's free rows that change in a round: with more, Newton's face would be another
SOON = 10.0  # tolerances: with a violation of so many a Newton step waits for its own cost in rounds
CHEAP = 1e8  # multiplications that a Newton step may cost at any time
STEPS = 12  # Newton steps in a row, as long as they help
ENTRIES = 60  # after an interior point, from a start near by, or where rounds stand still
ROUNDING = 1e-15  # of the terms of the objective: a round that gains less, where only rounding moves, gains nothing
STILL = 20  # such rounds in a row, Newton steps between them, after which nothing is to be gained
SLOW = (200, 8)  # rounds, and rounds after an interior point: in the last half of so many there must have been progress
LAST = 64  # rounds after an interior point
PROGRESS = (0.9, 1e-6)  # the share that the violation must fall to, or the share of its terms that the objective gains
SURE = 0.5  # share of the tolerance that leaves room for what float32 rounds


class Search:
    """Rounds and Newton steps from a gradient to a tolerance; α and g are worked on in place.

    ``whole`` returns K in float64 for the interior-point method; None where it does not fit. With a ``total`` the
    search is at one ε after the other (`_tube`), and ends with "slow" where that method is due.
    """

    def __init__(self, store, programme, a, g, tol, budget, callback=None, whole=None, total=None):
        self.store, self.programme, self.a, self.g = store, programme, a, g
        self.tol, self.budget, self.callback, self.whole, self.total = tol, budget, callback, whole, total
        size = max(float(np.abs(programme.target).max(initial=0.0)), np.finfo(float).tiny)
        self.fine = min(tol, FINISH * size) if store.dtype == np.float64 else 0.1 * tol
        self.churn = 0.0  # of the rows of the last block, the share that became free or ceased to be
        self.patience, self.last = 1.0, 0.0  # a Newton step waits for so many times its own cost in rounds
        self.narrow = None  # whether the rank of K is low; looked at when it is first asked for
        self.moves_tube = False  # whether Newton steps keep Σ|α| and find ε

    def run(self):
        """Until the violation is within the tolerance, the budget is spent, or nothing moves; returns which."""
        block, progress = np.zeros(0, dtype=np.int64), _Progress(self.programme, self.budget)
        self._glance()
        while True:
            slopes = self.programme.slopes(self.a, self.g)
            violation = self.programme.violation(*slopes)
            if violation <= self.tol:
                self._finish(violation)
                return "converged"
            progress.see(violation, self.a, self.g)
            stop = self.budget.spent(np.count_nonzero(self.a)) or ("callback" if self._report(violation) else None)
            if stop:
                return stop
            if self.interior_is_due():
                if self.total is not None:
                    return "slow"
                self._interior()
                continue
            if self._newton_is_due(violation) and not self._late():
                self.newton(self.tol, STEPS)
                continue
            work, free = self.budget.steps, self.programme.free(self.a)
            with one_blas_thread():  # once, and not for every short piece of the round
                block = one_round(self.store, self.programme, self.a, self.g, slopes, block, self.tol, self.budget)
            now = self.programme.free(self.a)
            self.churn = np.setxor1d(free, now, assume_unique=True).size / max(min(len(block), now.size), 1)
            if progress.stalls(self.a, self.g, self.budget.steps > work):
                moves = self.newton(self.tol, STEPS, patient=True) in ("full", "part") or self.budget.steps > work
                if (not moves or progress.over) and self.violation() > self.tol:
                    if progress.best < self.violation():
                        self.a[:], self.g[:] = progress.state
                    return "stalled"

    def _glance(self):
        """So many pairs at first, down to rounding, as take no longer than a round in Python."""
        size = len(self.a)
        if not self.budget.steps and is_whole(self.store, size) and self.callback is None:
            pairs(self.store.whole, self.programme, self.a, self.g, self.fine, self.budget, QUICK / cost(size))

    # ------------------------------------------------------------------ an interior point
    def interior_is_due(self):
        """Whether the rounds have cost as much as an interior-point method."""
        n = len(self.a)
        if self.whole is None or self.budget.work < CALLED:
            return False
        if self.narrow is None:
            some = np.linspace(0, n - 1, SAMPLE).astype(np.int64)
            self.narrow = narrow(self.store.square(some).astype(np.float64))
        return self.budget.work > CALLED + (THIN if self.narrow else FACTORS * n) * float(n) ** 2

    def _interior(self):
        """α from an interior-point method and Newton steps to finish."""
        kept, height = (self.a.copy(), self.g.copy()), self.programme.height(self.a, self.g)[0]
        self.jump(lambda found: self.newton(self.fine, ENTRIES, patient=True))
        balanced = self.programme.balanced(self.a.copy())
        if (balanced != self.a).any():
            self._move_to(balanced)
        if not self.programme.height(self.a, self.g)[0] < height:
            self.a[:], self.g[:] = kept

    def jump(self, finish):
        """α from an interior-point method, in the best way to finish it; ``finish`` is told what the method knows."""
        K, self.whole = self.whole(), None
        found = interior(K, self.programme, self.budget, self.total)
        self.budget.interior += found.steps
        self.budget.jitter = max(self.budget.jitter, found.jitter)
        best = None
        for alpha in found.alpha:
            self.a[:], self.g[:] = alpha, K @ alpha + self.programme.ridge * alpha - self.programme.target
            violation = self.violation()
            if violation > self.fine or self.total is not None:
                finish(found)
                violation = self.violation()
            state = violation, self.a.copy(), self.g.copy(), self.programme
            best = state if best is None or state[0] < best[0] else best
            if best[0] <= self.tol:
                break
        self.a[:], self.g[:], self.programme = best[1:]
        return found

    def _move_to(self, a):
        """α, with its gradient."""
        moved = a - self.a
        self.store.add(np.arange(len(a)), moved, self.g)
        self.g += self.programme.ridge * moved
        self.a[:] = a

    def _report(self, violation):
        """Tell the callback; whether it wants an end."""
        if self.callback is None:
            return False
        now = {"iterations": self.budget.steps, "violation": violation, "rounds": self.budget.rounds}
        return bool(self.callback(now))

    # ------------------------------------------------------------------ Newton
    def _cost(self):
        """Multiplications of a Newton step, in those of rounds: a factorisation runs nearer to the machine's peak."""
        m = float(self.programme.free(self.a).size)
        return 0.08 * m**3 + 100.0 * m**2 + m * len(self.a)

    def _newton_is_due(self, violation):
        """Whether the rounds since the last Newton step have cost as much as one, and the face is about to settle."""
        n = len(self.a)
        near = max(30.0 * self.tol, NEAR * float(np.std(self.programme.target)))
        if violation > near or self.churn > SETTLED:
            return False
        cost = self._cost()
        wait = np.clip(violation / (SOON * self.tol), 0.2, 4.0)
        return cost > 0 and self.budget.work - self.last > self.patience * wait * max(cost, 20.0 * n * min(n, BLOCK[0]))

    def _late(self):
        """Whether a Newton step, and the product at the end, would end too late."""
        return self.budget.spent(np.count_nonzero(self.a), len(self.programme.free(self.a)) ** 3 / 3.0)

    def newton(self, goal, most, patient=False):
        """Newton steps, rows let in as they ask; what comes too early or does not help makes the next wait longer.

        Unless ``patient``, a face that many rows would leave is given up: it costs many factors, and is not the last.
        """
        before = violation = self.violation()
        status, best, vain = "part", np.inf, 0
        for step in range(most):
            status = self._enter() if status == "full" else self._step(patient=patient or step > 0)
            violation = self.violation()
            if status in ("early", "failed") or violation <= goal or self._late():
                break
            vain = 0 if violation < 0.7 * best else vain + 1
            best = min(best, violation)
            if (not patient and status == "part") or vain > (5 if patient else 2):
                break
        helped = status in ("full", "part") and violation < 0.5 * before
        self.patience = max(0.5, 0.5 * self.patience) if helped else 1.5 * self.patience
        self.last = self.budget.work
        return status

    def _step(self, enter=None, patient=True):
        """One Newton step; with a free ε, the ε that fits best after it."""
        total = self.total if self.moves_tube else None
        problem = self.store, self.programme, self.a, self.g, self.budget
        status = newton_step(*problem, enter=enter, patient=patient, total=total)
        if self.moves_tube and status in ("full", "part"):
            self.programme = self.programme.with_tube(self.programme.tube(self.a, self.g))
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
        chosen = [(worst[:most], side[worst[:most]]) for most in (8 + free.size // 4, 2, 1)]
        if programme.intercept and not free.size and np.argmin(grows) != np.argmax(falls):
            chosen.append((np.array([np.argmin(grows), np.argmax(falls)]), np.array([1.0, -1.0])))
        for rows, way in chosen:
            status = self._step((rows, way)) if len(rows) else "failed"
            if status in ("full", "part"):
                return status
        return "failed"

    def _finish(self, violation):
        """Newton steps beyond the tolerance, while they are cheap and help: the free rows to rounding.

        Where K is in float32, and so rounded by more than that, a step or two makes sure of the tolerance.
        """
        start, float32 = self.budget.work, self.store.dtype == np.float32
        if violation <= self.fine or (float32 and violation <= SURE * self.tol):
            return
        for _ in range(4):
            kept = self.a.copy(), self.g.copy(), self.violation()
            if kept[2] <= self.fine or self._cost() > max(CHEAP, 0.2 * start) or self.budget.spent():
                return
            status = self.newton(self.fine, STEPS, patient=True)
            if self.violation() > max(self.tol, kept[2]):
                self.a[:], self.g[:] = kept[:2]
                return
            if status not in ("full", "part"):
                return

    def violation(self):
        """The violation now."""
        return self.programme.violation(*self.programme.slopes(self.a, self.g))


class _Progress:
    """Whether rounds still gain: the one rule for a search that would not end.

    A round gains nothing when the objective does not fall by a rounding of its terms; two of these in a row ask for
    Newton, many are the end. Slow is a search in whose last half neither the violation nor the objective fell; after an
    interior point, which leaves nothing but rounding, the violation alone counts.
    """

    def __init__(self, programme, budget):
        self.programme, self.budget = programme, budget
        self.still, self.lowest, self.best, self.marks, self.over = 0, np.inf, np.inf, [], False
        self.state = None  # where the violation was best

    def see(self, violation, a, g):
        """Keep the state with the smallest violation."""
        if violation < self.best:
            self.best, self.state = violation, (a.copy(), g.copy())

    def stalls(self, a, g, moved):
        """Take note of a round; whether Newton has to help. ``over`` says whether that was the last time."""
        height, size = self.programme.height(a, g)
        lost = not moved or not height < self.lowest - ROUNDING * size
        self.still, self.lowest = self.still + 1 if lost else 0, min(self.lowest, height)
        self.marks.append((self.lowest, self.best))
        after, rounds = self.budget.interior > 0, len(self.marks)
        lowest, best = self.marks[rounds // 2]
        slow = rounds >= SLOW[after] and self.best > PROGRESS[0] * best
        slow = slow and (after or self.lowest > lowest - PROGRESS[1] * size)
        self.over = self.still > STILL or slow or (after and rounds >= LAST)
        return self.still >= 2 or self.over
