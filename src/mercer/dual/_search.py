"""From a gradient to a tolerance: rounds of working sets, Newton steps once the free rows have settled.

A round chooses the worst rows, solves their small programme in cache and updates the gradient once. Half of a block is
kept from the last one, free rows first, and the new half comes evenly from both ends; otherwise the same rows are taken
in and thrown out for ever. A block has twice the rows that are free, so that the gradient of all rows is seldom
updated; up to a few thousand rows all are one block. Where C is large or the rank of K low rounds may take for ever:
once they have cost as much as an interior-point method would, that is taken, and few rounds are left after it.
"""

import time

import numpy as np

from mercer import _native
from mercer._threads import one_blas_thread
from mercer.dual._active_set import newton_step
from mercer.dual._interior import interior_start, low_rank
from mercer.dual.options import Progress, WorkingSetOptions

MANY = 60  # Newton steps in a row from a start near by, or where rounds stand still
SOME = 12  # Newton steps in a row otherwise


class DualSearch:
    """Rounds and Newton steps from a gradient to a tolerance; α and g are worked on in place.

    ``gram`` is K for the interior point, and ``full`` returns it in float64; None: it would not fit. With a ``total``
    Newton steps may keep Σ|α|, and find ε (`_nu`).
    """

    def __init__(self, store, qp, a, g, tol, budget, options=WorkingSetOptions(), gram=None, full=None, total=None):
        self.store, self.qp, self.a, self.g, self.total = store, qp, a, g, total
        self.tol, self.budget, self.options, self.gram, self.full = tol, budget, options, gram, full
        size = max(float(np.abs(qp.target).max(initial=0.0)), np.finfo(float).tiny)
        self.fine = min(tol, 1e-10 * size) if store.dtype == np.float64 else 0.1 * tol  # the last Newton steps' aim
        self.due = budget.work + options.interior * float(len(a)) ** 2 + 5e6  # work before an interior point
        self.factor, self.inside = None, False  # G of n × r with GGᵀ = K, or K; whether there was an interior point
        self.churn = 0.0  # of the rows of the last block, the share that became free or ceased to be
        self.patience, self.last = 1.0, 0.0  # a Newton step waits for so many times its own cost in rounds
        self.moves_epsilon = False  # whether Newton steps keep Σ|α| and find ε

    def run(self):
        """Until the violation is within the tolerance, the budget is spent, or nothing moves; returns which."""
        block, progress = np.zeros(0, dtype=np.int64), Progress(self.qp)
        budget = self.budget
        if not budget.steps and self._is_whole() and budget.callback is None:  # as many pairs as take no time
            self._solve_pairs(self.store.whole, self.qp, self.a, self.g, self.fine, 8e5 / self._step_cost())
        while True:
            slopes = self.qp.slopes(self.a, self.g)
            violation = self.qp.violation(*slopes)
            if violation <= self.tol:
                self._finish(violation)
                return "converged"
            progress.keep_best(violation, self.a, self.g)
            stop = budget.spent(np.count_nonzero(self.a)) or budget.report(violation)
            if stop:
                return stop
            if self._interior_is_due():
                if self.total is not None:
                    return "slow"
                self._start_inside()
                continue
            if self._newton_is_due(violation) and not self._is_late():
                self.newton(self.tol, SOME)
                continue
            steps, free = budget.steps, self.qp.free(self.a)
            with one_blas_thread():  # once, and not for every short piece of the round
                block = self._round(slopes, violation, block)
            now = self.qp.free(self.a)
            self.churn = np.setxor1d(free, now, assume_unique=True).size / max(min(len(block), now.size), 1)
            if progress.stalls(self.a, self.g, budget.steps > steps, self.inside):
                moves = self.newton(self.tol, SOME, patient=True) in ("full", "part") or budget.steps > steps
                if (not moves or progress.over) and self.violation() > self.tol:
                    if progress.best < self.violation():
                        self.a[:], self.g[:] = progress.state
                    return "stalled"

    def violation(self):
        """The violation now."""
        return self.qp.violation(*self.qp.slopes(self.a, self.g))

    # ------------------------------------------------------------------ rounds
    def _is_whole(self):
        """Whether all rows are one block, and K is at hand."""
        return len(self.a) <= self.options.whole and self.store.whole is not None

    def _step_cost(self, rows=None):
        """Multiplications in the time that a step of a pair takes: an entry takes that of ten."""
        return 10.0 * (len(self.a) if rows is None else rows) + _native.dual.CALLS

    def _solve_pairs(self, K, qp, a, g, tol, most):
        """At most so many steps of two variables each, α and g in place, until the violation is within ``tol``."""
        most = int(min(max(most, 1), max(self.budget.left, 0)))
        parts = qp.diag, qp.ridge, qp.epsilon, qp.lower, qp.upper
        steps, *_ = _native.dual.smo_pairs(K, qp.intercept, *parts, a, g, float(tol), most)
        self.budget.take(steps, steps * self._step_cost(len(a)))

    def _round(self, slopes, violation, block):
        """Choose a block, solve it, update α and g in place; returns the block, its newest rows first."""
        n, began, budget, most = len(self.a), time.perf_counter(), self.budget, self.options.steps
        if self._is_whole():
            most = min(most * n, 5e8 / self._step_cost())  # and then a look at the clock
            self._solve_pairs(self.store.whole, self.qp, self.a, self.g, 0.5 * self.tol, most)
            budget.rounds += 1
            budget.round = time.perf_counter() - began
            return np.arange(n)
        size = int(np.clip(2 * self.qp.free(self.a).size, *self.options.block))
        newest = _choose_block(self.qp, self.a, slopes, block, min(size, n, self.store.capacity))
        block = np.sort(newest)  # rows are then read from one end to the other
        before = self.a[block]  # a copy; so is what the pairs work on
        after, goal = before.copy(), max(0.1 * violation, 0.5 * self.tol)
        square = self.store.square(block, block=True)
        self._solve_pairs(square, self.qp.take(block), after, self.g[block], goal, most * len(block))
        adding = time.perf_counter()
        count = self._move(block, after - before)
        self.a[block] = after
        budget.take(0, 2.0 * count * n + 10.0 * len(block) ** 2)
        budget.rounds += 1
        ended = time.perf_counter()
        budget.round, budget.row = ended - began, (ended - adding) / max(count, 1)
        return newest

    def _move(self, rows, moved):
        """The gradient once α of some rows has moved; returns how many of them did."""
        count = self.store.add(rows, moved, self.g)
        self.g[rows] += self.qp.ridge[rows] * moved
        return count

    # ------------------------------------------------------------------ an interior point
    def has_factor(self, dense):
        """Whether an interior point has a factor of low rank, or, where ``dense`` may do or α be huge, K."""
        if self.gram is not None:
            self.factor, self.gram = low_rank(self.gram), None
            box = np.maximum(self.qp.upper, -self.qp.lower)
            largest = float(np.max(box[np.isfinite(box)], initial=0.0) * self.qp.diag.mean())
            huge = largest > 1e9 * float(np.abs(self.qp.target).max(initial=0.0))
            if huge and self.factor is not None and self.full is not None:
                self.factor = self.full()
        if self.factor is None and dense and self.full is not None:
            self.factor = self.full()
        return self.factor is not None

    def _interior_is_due(self):
        """Whether rounds have cost as much as an interior point: n³ with a K of full rank."""
        work = self.budget.work
        return work > self.due and self.has_factor(work > self.due + 2.0 * float(len(self.a)) ** 3)

    def _start_inside(self):
        """α from an interior-point method, and Newton steps to finish; as it was, where the objective is no lower."""
        kept, height = (self.a.copy(), self.g.copy()), self.qp.height(self.a, self.g)[0]
        self.jump(lambda _: self.newton(self.fine, MANY, patient=True))
        balanced = self.qp.balanced(self.a.copy())
        if (balanced != self.a).any():
            self._go_to(balanced)
        if not self.qp.height(self.a, self.g)[0] < height:
            self.a[:], self.g[:] = kept

    def jump(self, finish):
        """Go to the best α of an interior point, once; ``finish`` gets the `Inside` and does the Newton steps."""
        inside, best = interior_start(self.factor, self.qp, self.budget, self.total), None
        self.due, self.factor, self.inside = np.inf, None, True
        for alpha in inside.alphas:
            self._go_to(alpha)
            if self.violation() > self.fine or self.total is not None:
                finish(inside)
            state = self.violation(), self.a.copy(), self.g.copy(), self.qp
            best = state if best is None or state[0] < best[0] else best
            if best[0] <= self.tol:
                break
        self.a[:], self.g[:], self.qp = best[1:]
        return inside

    def _go_to(self, a):
        """α, with its gradient afresh: that of a large α leaves its rounding behind."""
        self.a[:], self.g[:] = a, self.qp.ridge * a - self.qp.target
        self.store.add(np.arange(len(a)), a, self.g)

    # ------------------------------------------------------------------ Newton
    def _newton_cost(self):
        """Multiplications of a Newton step, in those of rounds: a factorisation runs nearer to the machine's peak."""
        m = float(self.qp.free(self.a).size)
        return 0.08 * m**3 + 100.0 * m**2 + m * len(self.a)

    def _newton_is_due(self, violation):
        """Whether the rounds since the last Newton step have cost as much as one, and the free rows have settled."""
        n = len(self.a)
        near = max(30.0 * self.tol, 0.05 * float(np.std(self.qp.target)))
        if not self.options.newton or violation > near or self.churn > self.options.changes:
            return False
        cost, wait = self._newton_cost(), np.clip(0.1 * violation / self.tol, 0.2, 4.0)
        return cost > 0 and self.budget.work - self.last > self.patience * wait * max(cost, 20.0 * n * min(n, 512))

    def _is_late(self):
        """Whether a Newton step, and the product at the end, would end too late."""
        return self.budget.spent(np.count_nonzero(self.a), len(self.qp.free(self.a)) ** 3 / 3.0)

    def newton(self, goal, most, patient=False):
        """Newton steps, rows let in as they ask; what comes too early or does not help makes the next wait longer.

        Unless ``patient``, an active set that many rows would leave is given up: it costs many factors, and is not the
        last.
        """
        if not self.options.newton:
            return "failed"
        before = violation = self.violation()
        status, best, vain = "part", np.inf, 0
        for step in range(most):
            status = self._enter() if status == "full" else self._newton_step(patient=patient or step > 0)
            violation = self.violation()
            if status in ("early", "failed") or violation <= goal or self._is_late():
                break
            vain = 0 if violation < 0.7 * best else vain + 1
            best = min(best, violation)
            if (not patient and status == "part") or vain > (5 if patient else 2):
                break
        helped = status in ("full", "part") and violation < 0.5 * before
        self.patience = max(0.5, 0.5 * self.patience) if helped else 1.5 * self.patience
        self.last = self.budget.work
        return status

    def _newton_step(self, enter=None, patient=True):
        """One Newton step; with a free ε, the ε that fits best after it."""
        total = self.total if self.moves_epsilon else None
        problem = self.store, self.qp, self.a, self.g, self.budget
        status = newton_step(*problem, enter=enter, patient=patient, total=total)
        if self.moves_epsilon and status in ("full", "part"):
            self.qp = self.qp.with_epsilon(self.qp.best_epsilon(self.a, self.g))
        return status

    def _enter(self):
        """Let rows move whose slope has the wrong sign: many of them, or the worst if that does not help.

        Returns the status of the Newton step with them.
        """
        qp, a, g = self.qp, self.a, self.g
        b = qp.bias(a, g)
        grows, falls = qp.slopes(a, g)
        wrong, side = np.maximum(-(grows + b), falls + b), np.where(-(grows + b) >= falls + b, 1.0, -1.0)
        free = qp.free(a)
        wrong[free] = -np.inf
        worst = np.flatnonzero(wrong > 0)
        worst = worst[np.argsort(-wrong[worst])]
        choices = [(worst[:most], side[worst[:most]]) for most in (8 + free.size // 4, 2, 1)]
        if qp.intercept and not free.size and np.argmin(grows) != np.argmax(falls):
            choices.append((np.array([np.argmin(grows), np.argmax(falls)]), np.array([1.0, -1.0])))
        for rows, way in choices:
            status = self._newton_step((rows, way)) if len(rows) else "failed"
            if status in ("full", "part"):
                return status
        return "failed"

    def _finish(self, violation):
        """Newton steps beyond the tolerance, while they are cheap and help: the free rows to rounding.

        Where K is in float32, and so rounded by more than that, a step or two makes sure of the tolerance.
        """
        start, float32 = self.budget.work, self.store.dtype == np.float32
        if violation <= self.fine or (float32 and violation <= 0.5 * self.tol):
            return
        for _ in range(4):
            kept = self.a.copy(), self.g.copy(), self.violation()
            if kept[2] <= self.fine or self._newton_cost() > max(1e8, 0.2 * start) or self.budget.spent():
                return
            status = self.newton(self.fine, SOME, patient=True)
            if self.violation() > max(self.tol, kept[2]):
                self.a[:], self.g[:] = kept[:2]
                return
            if status not in ("full", "part"):
                return


def _choose_block(qp, a, slopes, last, size):
    """Rows of the next block, the newest first: at most half from the last one, the others from both ends."""
    n, (grows, falls) = len(a), slopes
    if size >= n:
        return np.arange(n)
    bounded = (a[last] <= qp.lower[last]) | (a[last] >= qp.upper[last]) | (a[last] == 0)
    keep = last[np.argsort(bounded, kind="stable")][: size // 2]
    score_up, score_down = -grows, falls.copy()
    if not qp.intercept:
        score = np.maximum(score_up, score_down)
        score[keep] = -np.inf
        return np.concatenate([_rows_above(score, size - len(keep), 0.0), keep])
    # A row can help only if its slope is beyond the best one of the other side.
    best_down, best_up = score_down.max(), score_up.max()
    score_up[keep] = score_down[keep] = -np.inf
    up = _rows_above(score_up, (size - len(keep)) // 2, -best_down)
    score_down[up] = -np.inf
    down = _rows_above(score_down, size - len(keep) - len(up), -best_up)
    return np.concatenate([up, down, keep])


def _rows_above(score, count, above):
    """Indices of the ``count`` largest scores that are above a value."""
    found = np.flatnonzero(score > above)
    if found.size <= count:
        return found
    return found[np.argpartition(score[found], found.size - count)[found.size - count :]]
