"""Loops of the working-set solver: a small quadratic programme in cache, rows gathered, rows added to a gradient.

h(a) = −ya + ε|a| + ½ra² has a kink at 0, so a variable has two slopes: g + up when it grows, g + down when it falls,
with g = Kα + rα − y. A variable at its upper end has up = ∞, one at its lower end down = −∞. Two slopes are
all that choosing needs; they change for the variables that move, and for no other.

A minimum and its place are found in two steps. Entries s·LANES + j of the same lane j share a running minimum, so that
the lanes vectorise; these are halved until one is left, and its place is among the entries of the best lane. More lanes
than a few vectors hold pay for the check that no two arrays overlap, which is made anew for each stretch of lanes.
"""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS, _wide

LANES = 64  # the order of a block is padded to a multiple of this
CALLS = 0.0  # multiplications in the time that a step takes beside its own
TINY = 1e-12  # curvature of a flat direction, relative to 1: the step then ends at a bound


@njit(**OPTIONS)
def gather_new(M, slots, columns, where, first, last, out):
    """out[i, j] = M[slotsᵢ, columnsⱼ] for first <= i < last, of the rows that are new: whereᵢ < 0."""
    for i in range(first, last):
        if where[i] < 0:
            row, to = M[slots[i]], out[i]
            for j in range(columns.size):
                to[j] = row[columns[j]]


@njit(**OPTIONS)
def gather_kept(before, where, first, last, out):
    """The other rows: from the square ``before``, in which row i is row whereᵢ, and by symmetry from the new ones."""
    for i in range(first, last):
        if where[i] >= 0:
            row, to = before[where[i]], out[i]
            for j in range(where.size):
                to[j] = row[where[j]] if where[j] >= 0 else out[j, i]


@njit(**OPTIONS)
def mirror(M, first, last):
    """M[j, i] = M[i, j] for first <= i < last and j < i, by squares that stay in the first-level cache."""
    for i0 in range(first, last, 32):
        i1 = min(i0 + 32, last)
        for j0 in range(0, i1, 32):
            for i in range(i0, i1):
                for j in range(j0, min(j0 + 32, i)):
                    M[j, i] = M[i, j]


@njit(**OPTIONS)
def add_rows(M, slots, coef, first, last, g):
    """g[first:last] += Σₖ coefₖ M[slotsₖ, first:last], four rows at once in strips that stay in the cache."""
    _wide()
    count = slots.size
    for j0 in range(first, last, 1024):
        j1 = min(j0 + 1024, last)
        part = g[j0:j1]
        width = j1 - j0
        k = 0
        while k + 4 <= count:
            r0, r1 = M[slots[k], j0:j1], M[slots[k + 1], j0:j1]
            r2, r3 = M[slots[k + 2], j0:j1], M[slots[k + 3], j0:j1]
            c0, c1, c2, c3 = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            for j in range(width):
                part[j] += (c0 * r0[j] + c1 * r1[j]) + (c2 * r2[j] + c3 * r3[j])
            k += 4
        while k < count:
            row, c = M[slots[k], j0:j1], coef[k]
            for j in range(width):
                part[j] += c * row[j]
            k += 1


@njit(**OPTIONS)
def _slopes(a, eps, low, high, up, down, i):
    """Set the two slopes of variable i, less g."""
    up[i] = np.inf if a[i] >= high[i] else (eps[i] if a[i] >= 0.0 else -eps[i])
    down[i] = -np.inf if a[i] <= low[i] else (eps[i] if a[i] > 0.0 else -eps[i])


@njit(**OPTIONS)
def _largest(lane, tree):
    """The largest lane, by halves, which vectorise; the lanes stay as they are."""
    _wide()
    half = LANES // 2
    for j in range(half):
        tree[j] = lane[j + half] if lane[j + half] > lane[j] else lane[j]
    while half > 8:
        half //= 2
        for j in range(half):
            tree[j] = tree[j + half] if tree[j + half] > tree[j] else tree[j]
    best = tree[0]
    for j in range(1, 8):
        best = tree[j] if tree[j] > best else best
    return best


@njit(**OPTIONS)
def _add_lowest(g, a, x, b, y, up, lane, tree):
    """g += a x + b y; then (value, place) of the smallest g + up."""
    _wide()
    for j in range(LANES):
        lane[j] = -np.inf
    for s in range(0, g.size, LANES):
        u, v, xs, ys = g[s : s + LANES], up[s : s + LANES], x[s : s + LANES], y[s : s + LANES]
        for j in range(LANES):
            t = u[j] + (a * xs[j] + b * ys[j])
            u[j] = t
            t = -(t + v[j])
            lane[j] = t if t > lane[j] else lane[j]
    best = _largest(lane, tree)
    where = 0
    while lane[where] < best:
        where += 1
    for i in range(where, g.size, LANES):
        if -(g[i] + up[i]) >= best:
            return -best, i
    return -best, where


@njit(**OPTIONS)
def _partner(g, down, row, curve, own, base, lane, tree, gain, tree32):
    """(largest g + down, j): j gains most, (g + down − base)²/curvature, when i grows and j falls.

    The gain is in float32: it only chooses.
    """
    _wide()
    zero, two, tiny = np.float32(0.0), np.float32(2.0), np.float32(TINY)
    for j in range(LANES):
        lane[j], gain[j] = -np.inf, zero
    for s in range(0, g.size, LANES):
        u, v, k, d = g[s : s + LANES], down[s : s + LANES], row[s : s + LANES], curve[s : s + LANES]
        for j in range(LANES):
            x = u[j] + v[j]
            lane[j] = x if x > lane[j] else lane[j]
            b = np.float32(x - base)
            b = b if b > zero else zero
            bend = own + d[j] - two * np.float32(k[j])
            value = b * b / (bend if bend > tiny else tiny)
            gain[j] = value if value > gain[j] else gain[j]
    highest, best, where = _largest(lane, tree), _largest(gain, tree32), 0
    while gain[where] < best:
        where += 1
    place = where
    most = -zero
    for i in range(where, g.size, LANES):
        b = max(np.float32((g[i] + down[i]) - base), zero)
        value = b * b / max(own + curve[i] - two * np.float32(row[i]), tiny)
        if value > most:
            most, place = value, i
    return highest, place


@njit(**OPTIONS)
def smo_pairs(K, diag, ridge, eps, low, high, a, g, tol, most):
    """Minimise the block's programme under Σa = const, two variables at a time; a and g in place.

    The pair is libsvm's: i with the lowest slope, then j by the second-order gain. A step goes past the kinks at 0
    as long as the objective falls. Returns (steps, violation before the first step, violation at the end).
    """
    q = a.size
    up, down, lane, tree = np.empty(q), np.empty(q), np.empty(LANES), np.empty(LANES)
    gain, tree32, curve = np.empty(LANES, np.float32), np.empty(LANES, np.float32), np.empty(q, np.float32)
    for i in range(q):
        _slopes(a, eps, low, high, up, down, i)
        curve[i] = diag[i] + ridge[i]
    start = violation = di = dj = 0.0
    i = j = 0
    for step in range(most + 1):
        lowest, i = _add_lowest(g, di, K[i], dj, K[j], up, lane, tree)
        highest, j = _partner(g, down, K[i], curve, curve[i], lowest, lane, tree, gain, tree32)
        violation = highest - lowest
        if step == 0:
            start = violation
        if not violation > tol or step == most:
            return step, start, violation
        slope = lowest - (g[j] + down[j])
        if not slope < 0.0:
            return step, start, violation
        bend = max((diag[i] + ridge[i]) + (diag[j] + ridge[j]) - 2.0 * K[i, j], TINY)
        ai, aj = a[i], a[j]
        while True:
            # the next place where the slope jumps or a bound is met, for each of the two
            wall_i = -ai if ai < 0.0 else high[i] - ai
            wall_j = aj if aj > 0.0 else aj - low[j]
            wall = min(wall_i, wall_j)
            move = min(-slope / bend, wall)
            hit_i, hit_j = move >= wall_i, move >= wall_j
            kink_i, kink_j = hit_i and ai < 0.0, hit_j and aj > 0.0
            ai = (0.0 if kink_i else high[i]) if hit_i else ai + move
            aj = (0.0 if kink_j else low[j]) if hit_j else aj - move
            slope += bend * move
            if not (hit_i or hit_j) or (hit_i and ai >= high[i]) or (hit_j and aj <= low[j]):
                break
            if kink_i:
                slope += 2.0 * eps[i]
            if kink_j:
                slope += 2.0 * eps[j]
            if not slope < 0.0:
                break
        di, dj = ai - a[i], aj - a[j]
        a[i], a[j] = ai, aj
        g[i] += ridge[i] * di
        g[j] += ridge[j] * dj
        _slopes(a, eps, low, high, up, down, i)
        _slopes(a, eps, low, high, up, down, j)
    return most, start, violation
