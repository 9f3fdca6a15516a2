"""Pairs of variables for ν: α = p − m, 0 <= p, m <= box, Σp and Σm kept (or only Σp + Σm).

The slope of p is g = Kα − y and that of m is −g, kept as two rows of one array. A pair moves weight from one variable
to another one, so that a sum stays; the choice of the pair is that of `dual.smo_pairs`, made for each sign.
"""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS
from mercer._loops.dual import LANES, TINY, _add_lowest, _partner


@njit(**OPTIONS)
def _open(v, box, up, down, s, i):
    """Mark where variable i of sign s may go: up = 0 or ∞, down = 0 or −∞."""
    up[s, i] = 0.0 if v[s, i] < box[i] else np.inf
    down[s, i] = 0.0 if v[s, i] > 0.0 else -np.inf


@njit(**OPTIONS)
def _gain(slope, bend):
    """Twice what a pair gains; nothing where it cannot move."""
    return slope * slope / max(bend, TINY) if slope < 0.0 else 0.0


@njit(**OPTIONS)
def smo_nu(K, diag, box, v, G, tol, most, apart):
    """Minimise ½αᵀKα − yᵀα, two variables at a time; v = (p, m) and G = (g, −g) in place.

    With ``apart`` both variables have one sign, and Σp and Σm stay; else only Σp + Σm does.
    Returns (steps, violation).
    """
    q = box.size
    up, down, lane, tree = np.empty((2, q)), np.empty((2, q)), np.empty(LANES), np.empty(LANES)
    gain, tree32, curve = np.empty(LANES, np.float32), np.empty(LANES, np.float32), np.empty(q, np.float32)
    turned = np.empty(q, K.dtype)
    for i in range(q):
        curve[i] = diag[i]
        _open(v, box, up, down, 0, i)
        _open(v, box, up, down, 1, i)
    violation = di = dj = 0.0
    i = j = 0
    for step in range(most + 1):
        low0, i0 = _add_lowest(G[0], di, K[i], dj, K[j], up[0], lane, tree)
        low1, i1 = _add_lowest(G[1], -di, K[i], -dj, K[j], up[1], lane, tree)
        if apart:
            high0, j0 = _partner(G[0], down[0], K[i0], curve, curve[i0], low0, lane, tree, gain, tree32)
            high1, j1 = _partner(G[1], down[1], K[i1], curve, curve[i1], low1, lane, tree, gain, tree32)
            violation = max(high0 - low0, high1 - low1)
        else:  # the lowest of all grows, and a variable of either sign falls
            s = 0 if low0 <= low1 else 1
            low0 = low1 = min(low0, low1)
            i0 = i1 = i0 if s == 0 else i1
            for k in range(q):
                turned[k] = -K[i0, k]
            own, other = (K[i0], turned) if s == 0 else (turned, K[i0])
            high0, j0 = _partner(G[0], down[0], own, curve, curve[i0], low0, lane, tree, gain, tree32)
            high1, j1 = _partner(G[1], down[1], other, curve, curve[i0], low0, lane, tree, gain, tree32)
            violation = max(high0, high1) - low0
        if not violation > tol or step == most:
            return step, violation
        slope0, slope1 = low0 - (G[0, j0] + down[0, j0]), low1 - (G[1, j1] + down[1, j1])
        cross0 = 1.0 if apart or s == 0 else -1.0
        cross1 = 1.0 if apart or s == 1 else -1.0
        bend0 = diag[i0] + diag[j0] - 2.0 * cross0 * K[i0, j0]
        bend1 = diag[i1] + diag[j1] - 2.0 * cross1 * K[i1, j1]
        if _gain(slope0, bend0) >= _gain(slope1, bend1):
            t, i, j, slope, bend = 0, i0, j0, slope0, bend0
        else:
            t, i, j, slope, bend = 1, i1, j1, slope1, bend1
        if apart:
            s = t
        if not slope < 0.0:
            return step, violation
        room, stock = box[i] - v[s, i], v[t, j]
        move = min(-slope / max(bend, TINY), room, stock)
        v[s, i] = box[i] if move >= room else v[s, i] + move
        v[t, j] = 0.0 if move >= stock else v[t, j] - move
        _open(v, box, up, down, s, i)
        _open(v, box, up, down, t, j)
        di, dj = (move if s == 0 else -move), (-move if t == 0 else move)
    return most, violation
