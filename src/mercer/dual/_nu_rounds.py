"""The two signs of α = p − m as two rows of variables with one box, and rounds of working sets over them."""

import time

import numpy as np

from mercer import _tiles
from mercer.dual._programme import padded
from mercer.dual._rounds import BLOCK

STEPS = 20  # steps in a block, per row
INNER = 0.1  # a block is solved to this share of the violation


class Sides:
    """box, the diagonal of K, and whether each sign keeps its own sum (else only both together)."""

    def __init__(self, box, diag, apart):
        self.box, self.diag, self.apart = box, diag, apart

    def slopes(self, v, g):
        """(slopes when p and m grow, when they fall), of shape (2, n); ∞ and −∞ where they may not."""
        G = np.stack([g, -g])
        return np.where(v < self.box, G, np.inf), np.where(v > 0.0, G, -np.inf)

    def violation(self, grows, falls):
        """Libsvm's: the largest slope that falls minus the smallest that grows, of one sign or of both together."""
        low, high = grows.min(axis=1), falls.max(axis=1)
        worst = (high - low).max() if self.apart else high.max() - low.min()
        return float(max(worst, 0.0))

    def levels(self, v, g, free=False):
        """The slope that free variables of each sign share: the middle of what is allowed, or the mean of the free."""
        grows, falls = self.slopes(v, g)
        low, high = grows.min(axis=1), falls.max(axis=1)
        if not self.apart:
            low, high = np.full(2, low.min()), np.full(2, high.max())
        level = np.where(np.isfinite(low), np.where(np.isfinite(high), 0.5 * low + 0.5 * high, low), high)
        level = np.where(np.isfinite(level), level, 0.0)
        inside = (v > 0.0) & (v < self.box)
        if free and inside.any():
            G = np.stack([g, -g])
            for s in range(2):
                chosen = G[s][inside[s]] if self.apart else G[inside]
                level[s] = chosen.mean() if chosen.size else level[s]
        return level


def one_round(store, sides, v, g, last, tol, budget):
    """Choose a block, solve it by pairs, update p, m and g in place; returns the block, its newest rows first."""
    slopes = sides.slopes(v, g)
    newest = _choose(sides, v, *slopes, last, min(BLOCK, len(g), store.capacity))
    block = np.sort(newest)
    loops = _compiled()
    q = len(block)
    size = -(-q // loops.dual.LANES) * loops.dual.LANES
    vw, Gw = (np.stack([padded(u[block], size) for u in rows]) for rows in (v, (g, -g)))
    most = int(min(STEPS * size, max(budget.left, 0)))
    goal = max(INNER * sides.violation(*slopes), 0.5 * tol)
    K, box, diag = store.square(block, size), padded(sides.box[block], size), padded(sides.diag[block], size)
    steps, _ = loops.nu.smo_nu(K, diag, box, vw, Gw, float(goal), most, sides.apart)
    moved = (vw[0, :q] - vw[1, :q]) - (v[0, block] - v[1, block])
    v[:, block] = vw[:, :q]
    count = store.add(block, moved, g)
    budget.take(steps, 20.0 * steps * size + 2.0 * count * len(g) + 10.0 * q * q)
    budget.rounds += 1
    return newest


def _compiled():
    """The compiled loops; while another thread is loading them there is nothing better than to wait."""
    while True:
        loops = _tiles.loops(np.inf)
        if loops is not None:
            return loops
        time.sleep(0.01)


def _choose(sides, v, grows, falls, last, size):
    """Rows of the next block, the newest first: half from the last one, free first, the others from all four ends."""
    n = v.shape[1]
    if size >= n:
        return np.arange(n)
    free = ((v > 0.0) & (v < sides.box)).any(axis=0)
    keep = last[np.argsort(~free[last], kind="stable")][: size // 2]
    low, high = grows.min(axis=1), falls.max(axis=1)
    if not sides.apart:
        low, high = np.full(2, low.min()), np.full(2, high.max())
    taken = np.zeros(n, dtype=bool)
    taken[keep] = True
    parts = []
    ends = [(-grows[0], -high[0]), (falls[0], low[0]), (-grows[1], -high[1]), (falls[1], low[1])]
    for k, (score, above) in enumerate(ends):  # a variable helps only if its slope is beyond the other end's best
        found = np.flatnonzero((score > above) & ~taken)
        count = (size - int(taken.sum())) // (4 - k)
        if found.size > count:
            found = found[np.argpartition(score[found], found.size - count)[found.size - count :]]
        taken[found] = True
        parts.append(found)
    return np.concatenate([*parts, keep])
