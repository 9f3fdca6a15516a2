"""Rounds of block working sets: choose the worst rows, solve their small programme in cache, update the gradient once.

Half of a block is kept from the last one, free rows first, and the new half comes evenly from both ends; otherwise the
same rows are taken in and thrown out for ever. A block has twice the rows that are free, so that the gradient of all
rows is seldom updated; up to a few thousand rows all are one block.
"""

import time

import numpy as np

from mercer import _native
from mercer._threads import threads
from mercer.solvers.plan_class import rates

WHOLE = 1500  # rows up to which all of a stored K is one block
WORK = 5e8  # multiplications of the pairs between two looks at the clock
COST = 10.0  # multiplications in the time that an entry takes in a step of a pair
BLOCK = (512, 3072)  # rows of a block, least and most: twice the free ones in between
INNER = 0.1  # a block is solved to this share of the violation
STEPS = 20  # steps in a block, per row
SLOWER, DOUBLE = 1.2, 2.0  # than the last: the next round; and the last product, whose entries are in float64


class Effort:
    """Steps and seconds that are left; what was done: steps, rounds, Newton steps, work in multiplications, jitter."""

    def __init__(self, max_iter=None, seconds=None):
        self.left = np.inf if max_iter is None else int(max_iter)
        self.end = np.inf if seconds is None else time.perf_counter() + seconds
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
        ahead = 0.0 if rows is None else SLOWER * self.round + DOUBLE * self.row * rows
        ahead += operations / (threads() * rates().float64) if operations else 0.0
        return "time_budget" if time.perf_counter() + ahead >= self.end else None


def one_round(store, programme, a, g, slopes, block, tol, budget):
    """Choose a block, solve it, update α and g in place; returns the block, its newest rows first."""
    n, began = len(a), time.perf_counter()
    if is_whole(store, n):
        pairs(store.whole, programme, a, g, 0.5 * tol, budget, min(STEPS * n, WORK / cost(n)))
        budget.rounds += 1
        budget.round = time.perf_counter() - began
        return np.arange(n)
    grows, falls = slopes
    size = int(np.clip(2 * programme.free(a).size, *BLOCK))
    newest = _choose(programme, a, grows, falls, block, min(size, n, store.capacity))
    block = np.sort(newest)  # rows are then read from one end to the other
    before = a[block]  # a copy; so is what the pairs work on
    after, small = before.copy(), programme.take(block)
    goal = max(INNER * programme.violation(grows, falls), 0.5 * tol)
    pairs(store.square(block, block=True), small, after, g[block], goal, budget, STEPS * len(block))
    moved = after - before
    a[block] = after
    adding = time.perf_counter()
    count = store.add(block, moved, g)
    g[block] += programme.ridge[block] * moved
    budget.take(0, 2.0 * count * n + 10.0 * len(block) ** 2)
    budget.rounds += 1
    ended = time.perf_counter()
    budget.round, budget.row = ended - began, (ended - adding) / max(count, 1)
    return newest


def is_whole(store, n):
    """Whether all rows are one block, and K is at hand."""
    return n <= WHOLE and store.whole is not None


def cost(n):
    """Multiplications in the time that a step of a pair takes."""
    return COST * n + _native.dual.CALLS


def pairs(K, programme, a, g, tol, budget, most):
    """At most so many steps of two variables each, α and g in place, until the violation is within ``tol``."""
    P, most = programme, int(min(max(most, 1), max(budget.left, 0)))
    parts = P.diag, P.ridge, P.epsilon, P.lower, P.upper
    steps, *_ = _native.dual.smo_pairs(K, P.intercept, *parts, a, g, float(tol), most)
    budget.take(steps, steps * cost(len(a)))


def _choose(programme, a, grows, falls, last, size):
    """Rows of the next block, the newest first: at most half from the last one, the others from both ends."""
    n = len(a)
    if size >= n:
        return np.arange(n)
    bounded = (a[last] <= programme.lower[last]) | (a[last] >= programme.upper[last]) | (a[last] == 0)
    keep = last[np.argsort(bounded, kind="stable")][: size // 2]
    score_up, score_down = -grows, falls.copy()
    if not programme.intercept:
        score = np.maximum(score_up, score_down)
        score[keep] = -np.inf
        new = _largest(score, size - len(keep), 0.0)
        return np.concatenate([new, keep])
    # A row can help only if its slope is beyond the best one of the other side.
    best_down, best_up = score_down.max(), score_up.max()
    score_up[keep] = score_down[keep] = -np.inf
    up = _largest(score_up, (size - len(keep)) // 2, -best_down)
    score_down[up] = -np.inf
    down = _largest(score_down, size - len(keep) - len(up), -best_up)
    return np.concatenate([up, down, keep])


def _largest(score, count, above):
    """Indices of the ``count`` largest scores that are above a value."""
    found = np.flatnonzero(score > above)
    if found.size <= count:
        return found
    return found[np.argpartition(score[found], found.size - count)[found.size - count :]]
