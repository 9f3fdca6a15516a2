"""How the dual of a loss with corners is solved: the numbers that steer it, its limits, and what it took and gained."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._policies import Options
from mercer._threads import threads
from mercer.solvers.plan_class import rates


@dataclass(frozen=True)
class WorkingSetOptions(Options):
    """What steers rounds of working sets, Newton's steps between them and the interior point that may help.

    Examples
    --------
    >>> from mercer.dual import WorkingSetOptions
    >>> WorkingSetOptions(newton=False).changed()
    {'newton': False}
    """

    whole: int = 1500  # rows up to which all rows are one block, on one thread, and K is stored whatever the kernel
    block: tuple = (512, 3072)  # least and most rows of a block: in between it has twice as many as are free
    steps: int = 20  # of two variables each, that a block may take for each of its rows
    newton: bool = True  # whether Newton's steps on the free rows finish what the rounds have found
    changes: float = 0.04  # share of a block's free rows that may have changed in a round before a Newton step
    interior: float = 100.0  # times n²: work of rounds before an interior point, and 2 n³ of full rank; inf is never
    interior_full: int = 8192  # rows up to which it takes a K of full rank, in float64
    interior_first: int = 320  # rows up to which ν is found by an interior point at once, whatever the rank of K
    exact: bool = True  # whether violation and gap are those of K in float64; else of K as it is stored


@dataclass(frozen=True)
class DualLimits:
    """What a solution of the dual may take."""

    max_iter: int | None = None  # steps of two variables each, or of the interior point
    time_budget: float | None = None  # seconds
    memory: float | None = None  # bytes; None is what the machine has
    callback: Callable | None = None  # gets {"iterations", "violation", "rounds"}; a true result ends the work


class Effort:
    """Steps and seconds that are left; what was done: steps, rounds, Newton steps, work in multiplications, jitter."""

    def __init__(self, limits):
        self.left, self.callback = np.inf if limits.max_iter is None else int(limits.max_iter), limits.callback
        self.end = np.inf if limits.time_budget is None else time.perf_counter() + limits.time_budget
        self.steps = self.rounds = self.newtons = self.interior = 0
        self.work = self.jitter = 0.0
        self.round = self.row = 0.0  # seconds of the last round, and of a row of K in it

    def take(self, steps, work):
        """Count."""
        self.steps += steps
        self.left -= steps
        self.work += work

    def spent(self, rows=None, operations=0.0):
        """What has run out: "max_iter", "time_budget" or None; with ``rows``, for a round and a product of so many.

        ``operations`` are those of a factorisation that would come before.
        """
        if self.left <= 0:
            return "max_iter"
        if self.end == np.inf:
            return None
        # The next round may be a little slower than the last; the product at the end, in float64, takes twice as long.
        ahead = 0.0 if rows is None else 1.2 * self.round + 2.0 * self.row * rows
        ahead += operations / (threads() * rates().float64) if operations else 0.0
        return "time_budget" if time.perf_counter() + ahead >= self.end else None

    def report(self, violation):
        """Call the callback; "callback" where it wants an end."""
        now = {"iterations": self.steps, "violation": violation, "rounds": self.rounds}
        return "callback" if self.callback is not None and self.callback(now) else None


class Progress:
    """Whether rounds still gain: the one rule for a search that would not end.

    A round gains nothing when the objective does not fall by a rounding of its terms; two of these in a row ask for
    Newton, twenty are the end. Slow is a search in whose last half neither the violation nor the objective fell; after
    an interior point, which leaves little but rounding, the violation alone counts, and 64 rounds are the end.
    """

    def __init__(self, qp):
        self.qp, self.still, self.lowest, self.best = qp, 0, np.inf, np.inf
        self.state, self.marks, self.over = None, [], False  # where the violation was best; after each round

    def keep_best(self, violation, a, g):
        """Keep the state with the smallest violation."""
        if violation < self.best:
            self.best, self.state = violation, (a.copy(), g.copy())

    def stalls(self, a, g, moved, inside):
        """Take note of a round, perhaps after an interior point; whether Newton has to help, ``over`` the last time."""
        height, size = self.qp.height(a, g)
        lost = not moved or not height < self.lowest - 1e-15 * size
        self.still, self.lowest = self.still + 1 if lost else 0, min(self.lowest, height)
        self.marks.append((self.lowest, self.best))
        (lowest, best), rounds = self.marks[len(self.marks) // 2], len(self.marks)
        slow = rounds >= (8 if inside else 200) and self.best > 0.9 * best
        slow = slow and (inside or self.lowest > lowest - 1e-6 * size)
        self.over = self.still > 20 or slow or (inside and rounds >= 64)
        return self.still >= 2 or self.over
