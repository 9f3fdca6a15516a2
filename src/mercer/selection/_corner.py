"""The corner of a discrete L-curve by adaptive pruning (Hansen, Jensen and Rodriguez, 2007).

Subsets of the points that keep the p longest segments show the coarse shape of the curve for small p and its detail for
large p. Each subset proposes corners; the one where the curve turns from flat to steep is taken.
"""

import numpy as np


def prune(x, y):
    """Index of the corner of the curve (log residual x, log norm y), ordered by growing λ; None if there is none."""
    good = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if good.size < 4:
        return None
    order = good[::-1]  # from large λ (right, low) to small λ (left, high)
    P = np.column_stack([x[order], y[order]])
    steps = np.diff(P, axis=0)
    lengths = np.hypot(*steps.T)
    longest = np.argsort(-lengths, kind="stable")
    candidates = set()
    p = min(5, len(steps))
    while True:
        kept = np.sort(longest[:p])
        kept = kept[lengths[kept] > 0]
        candidates.update(_by_angle(steps, lengths, kept), _by_shape(P, steps, lengths, kept))
        if p >= len(steps):
            break
        p = min(2 * p, len(steps))
    candidates = sorted(candidates)
    if not candidates:
        return None
    return int(order[_select(P, candidates)])


def _by_angle(steps, lengths, kept):
    """The point between two kept segments where the curve turns right most sharply."""
    if len(kept) < 2:
        return []
    U = steps[kept] / lengths[kept, None]
    turn = U[:-1, 0] * U[1:, 1] - U[1:, 0] * U[:-1, 1]  # sine of the angle; right turns are negative
    i = int(np.argmin(turn))
    return [int(kept[i]) + 1] if turn[i] < -0.1 else []


def _by_shape(P, steps, lengths, kept):
    """The point nearest to where the most horizontal and the most vertical segment meet."""
    if len(kept) < 2:
        return []
    U = np.abs(steps[kept] / lengths[kept, None])
    flat, steep = int(np.argmin(U[:, 1])), int(np.argmin(U[:, 0]))
    if flat >= steep:
        return []
    origin = np.array([P[kept[steep], 0], P[kept[flat] + 1, 1]])
    points = np.unique(np.r_[kept, kept + 1])
    return [int(points[np.argmin(np.hypot(*(P[points] - origin).T))])]


def _select(P, candidates):
    """The last candidate before the norm grows more than the residual falls."""
    candidates = [0, *candidates]
    moves = np.diff(P[candidates], axis=0)
    growing = np.flatnonzero(np.abs(moves[:, 1]) >= np.abs(moves[:, 0]))
    first = int(growing[0]) if growing.size else len(candidates) - 1
    return candidates[max(first, 1)]
