"""The loops of dual.c in NumPy."""

import numpy as np

CALLS = 2e4  # multiplications in the time that a step of a pair takes beside its own
TINY = 1e-12  # curvature of a flat direction, relative to 1: the step then ends at a bound


def gather_new(M, slots, columns, where, first, last, out):
    """out[i, j] = M[slotsᵢ, columnsⱼ] for first <= i < last, of the rows that are new: whereᵢ < 0."""
    new = first + np.flatnonzero(where[first:last] < 0)
    out[new, : len(columns)] = M[np.ix_(slots[new], columns)]


def gather_kept(before, where, first, last, out):
    """The other rows: from the square ``before``, in which row i is row whereᵢ, and by symmetry from the new ones."""
    kept, q = first + np.flatnonzero(where[first:last] >= 0), len(where)
    out[kept, :q] = np.where(where >= 0, before[np.ix_(where[kept], where)], out[:q, kept].T)


def add_rows(M, slots, coef, first, last, g):
    """g[first:last] += Σₖ coefₖ M[slotsₖ, first:last]."""
    g[first:last] += coef @ M[slots, first:last]


def _slopes(a, eps, low, high):
    """(up, down): the slopes less g."""
    up, down = np.where(a >= 0, eps, -eps), np.where(a > 0, eps, -eps)
    up[a >= high], down[a <= low] = np.inf, -np.inf
    return up, down


def smo_pairs(K, intercept, diag, ridge, eps, low, high, a, g, tol, most):
    """Minimise over the box, two variables at a time; (steps, violation before, violation after).

    With an intercept Σa stays as it is; else a variable without cost and bounds is a partner that steps alone.
    """
    q = len(a)
    if not q:
        return 0, 0.0, 0.0
    if not intercept:
        parts = [np.append(v, end) for v, end in ((diag, 0), (ridge, 0), (eps, 0), (low, -np.inf), (high, np.inf))]
        wide, slopes = np.append(a, 0.0), np.append(g, 0.0)
        found = smo_pairs(np.pad(K, (0, 1)), True, *parts, wide, slopes, tol, most)
        a[:], g[:] = wide[:q], slopes[:q]
        return found
    up, down = _slopes(a, eps, low, high)
    curve = diag + ridge
    start = violation = 0.0
    for step in range(most + 1):
        grows, falls = g + up, g + down
        i = int(np.argmin(grows))
        violation = float(falls.max() - grows[i])
        start = violation if step == 0 else start
        if not violation > tol or step == most:
            return step, start, violation
        excess = np.maximum(falls - grows[i], 0.0) / start  # in units that have squares
        j = int(np.argmax(excess**2 / np.maximum(curve[i] + curve - 2.0 * K[i], TINY)))
        slope = grows[i] - falls[j]
        if not slope < 0.0:
            return step, start, violation
        bend = max(curve[i] + curve[j] - 2.0 * K[i, j], TINY)
        ai, aj = _pair_step(a[i], a[j], slope, bend, (low[j], high[i], eps[i], eps[j]))
        di, dj = ai - a[i], aj - a[j]
        a[i], a[j] = ai, aj
        g += di * K[i] + dj * K[j]
        g[i] += ridge[i] * di
        g[j] += ridge[j] * dj
        both = [i, j]
        up[both], down[both] = _slopes(a[both], eps[both], low[both], high[both])
    return most, start, violation


def _pair_step(ai, aj, slope, bend, limits):
    """(aᵢ, aⱼ) after the best move of i up and j down, past the kinks at 0 as long as the objective falls."""
    low, high, eps_i, eps_j = limits
    while True:
        wall_i = -ai if ai < 0.0 else high - ai
        wall_j = aj if aj > 0.0 else aj - low
        move = min(-slope / bend, wall_i, wall_j)
        hit_i, hit_j = move >= wall_i, move >= wall_j
        kink_i, kink_j = hit_i and ai < 0.0, hit_j and aj > 0.0
        ai = (0.0 if kink_i else high) if hit_i else ai + move
        aj = (0.0 if kink_j else low) if hit_j else aj - move
        slope += bend * move + 2.0 * (eps_i * kink_i + eps_j * kink_j)
        if not (hit_i or hit_j) or ai >= high or aj <= low or not slope < 0.0:
            return ai, aj
