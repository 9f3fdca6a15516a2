"""Newton on the free rows, an active-set method: with the others held, optimality is a linear system.

(K_FF + R) d + Cβ = −(g_F + ε sign α_F), Cᵀd = v. C has no column, one of ones (Σα = 0), and with ν one of signs (Σ|α| =
total): β are b and ε. Rows that would leave their interval are held at its end and the rest is solved again. When the
minimum over the free rows is reached, other rows whose slope has the wrong sign are let in; this ends after finitely
many sets.
"""

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.small import factor

ROUNDING = 1e-12  # of Cᵀα, relative to Σ|α|


def newton_step(store, qp, a, g, budget, *, enter=None, patient=True, total=None):
    """One Newton step on the free rows, α and g in place; the objective never grows, unless a sum has to be restored.

    ``enter`` are rows at a bound or at 0 that may move too, and +1 or −1 for the side of each; ``total`` is what Σ|α|
    must be. Returned is "full" (the minimum over these rows is reached), "part" (some way to it), "early" (unless
    ``patient``: too many rows would leave at once, and nothing changed) or "failed" (nothing changed).
    """
    F, side = qp.free(a), np.zeros(0)
    if enter is not None:
        F, side = np.concatenate([F, enter[0]]), np.asarray(enter[1], dtype=float)
    C, v = _conditions(qp, a, F, side, total)
    if not max(1, C.shape[1]) <= F.size <= store.capacity:
        return "failed"
    here = a[F]
    s, floor, ceiling = _interval(qp, F, here, g[F] + qp.bias(a, g), side)
    A = _matrix(store, qp, F, C, budget)
    if A is None:
        return "failed"
    low, high = floor - here, ceiling - here
    plain, d, status = _minimum(A, C, v, s, low, high, patient)
    if status in ("early", "failed"):
        return status
    restores = bool(C.size) and float(np.abs(v).max()) > ROUNDING * float(np.abs(a).sum())
    t = 1.0 if restores else _best_step(A, s, d)
    if t < 1.0 or status == "part":  # the corner that was aimed at is not on the way down: go to the first end
        other = _to_first_end(plain, low, high)
        if status == "part" or _gain(A, s, other) > _gain(A, s, t * d):
            d, status = other, "part"
            t = 1.0 if restores else _best_step(A, s, d)
    if t <= 0.0 or not d.any():
        return "failed"
    new = np.clip(here + t * d, floor, ceiling)
    if t == 1.0:  # exactly at the ends, not a rounding away
        new = np.where(d <= low, floor, np.where(d >= high, ceiling, new))
    moved = new - here
    if C.size and not restores and np.abs(C.T @ moved - t * v).max() > ROUNDING * float(np.abs(a).sum() + 1e-300):
        return "failed"  # K_FF is nearly singular, and the step mostly rounding
    a[F] = new
    store.add(F, moved, g)
    g[F] += qp.ridge[F] * moved
    return "full" if t == 1.0 and status == "full" else "part"


def _conditions(qp, a, F, side, total):
    """(C, v): columns of the conditions that the free rows can move, and what they still lack."""
    columns, lack = [], []
    if qp.intercept:
        columns.append(np.ones(F.size))
        lack.append(-float(a.sum()))
    if total is not None:
        sign = np.sign(a[F])
        sign[F.size - side.size :] = np.where(sign[F.size - side.size :] == 0, side, sign[F.size - side.size :])
        if not qp.intercept or abs(sign.sum()) < F.size:  # of one sign alone: the same condition twice
            columns.append(sign)
            lack.append(total - float(np.abs(a).sum()))
    return np.array(columns).reshape(len(columns), F.size).T, np.array(lack)


def _interval(qp, F, a, g, side):
    """(slopes, lowest α, highest α) of the rows that move; the last ``len(side)`` of them are only now let in.

    ``g`` has b in it: a sum that is not quite what it must be is then no slope.
    """
    epsilon, lower, upper = qp.epsilon[F], qp.lower[F], qp.upper[F]
    kink = epsilon > 0
    s = g + epsilon * np.sign(a)
    floor, ceiling = np.where(kink & (a > 0), 0.0, lower), np.where(kink & (a < 0), 0.0, upper)
    if len(side):
        new = slice(len(a) - len(side), len(a))
        up, x, eps = side > 0, a[new], epsilon[new]
        s[new] = g[new] + np.where(up, np.where(x >= 0, eps, -eps), np.where(x > 0, eps, -eps))
        floor[new] = np.where(up, x, np.where(kink[new] & (x > 0), 0.0, lower[new]))
        ceiling[new] = np.where(up, np.where(kink[new] & (x < 0), 0.0, upper[new]), x)
    return s, floor, ceiling


def _matrix(store, qp, F, C, budget):
    """The factor of K_FF + R + ρCCᵀ; None where there is none.

    Cᵀd is fixed, so that ρCCᵀ changes β and not d; it makes a K of low rank regular where the step is unique.
    """
    A = store.square(F).astype(np.float64, copy=False)
    A.reshape(-1)[:: F.size + 1] += qp.ridge[F]
    scale = max(float(qp.diag[F].mean()), np.finfo(float).tiny)
    if C.size:
        A += scale * (C @ C.T)
    budget.newtons += 1
    try:
        found = factor(A, scale=scale, least=4.0 * np.finfo(store.dtype).eps * np.sqrt(F.size), overwrite=True)
    except NotPositiveDefinite:
        return None
    budget.jitter = max(budget.jitter, found.jitter)
    return found


def _best_step(A, s, d):
    """The t in [0, 1] that minimises the quadratic along td, s its slope at 0."""
    slope, bend = float(s @ d), float(d @ A.product(d))
    if not slope < 0.0:
        return 0.0
    return 1.0 if bend <= -slope * (1.0 + 1e-9) else -slope / bend


def _gain(A, s, d):
    """How much the objective falls."""
    return -float(s @ d) - 0.5 * float(d @ A.product(d))


def _minimum(A, C, v, s, low, high, patient):
    """(plain Newton step, step, status): min sᵀd + ½dᵀAd with Cᵀd = v, rows that would leave held at their ends.

    Held rows are conditions like Cᵀd = v: d = x − Z(CᵀZ)⁻¹(Cᵀx − v) with x = −A⁻¹s and Z = A⁻¹C. Each row held adds a
    column to C and to Z, and nothing is factored again. The status is "full"; "part", where that does not end and the
    step goes as far as the first end; "failed"; or, unless ``patient``, "early" where too many rows would leave.
    """
    m, fixed = C.shape
    both = A.solve(np.column_stack([-s, C]))
    x, Z = both[:, 0], both[:, 1:]
    held, plain = np.zeros(0, dtype=np.int64), None
    for _ in range(12):
        d = x
        if C.shape[1]:
            try:
                S = factor(C.T @ Z, most=0.0)
            except (NotPositiveDefinite, ValueError):  # all rows of a condition are held
                break
            d = x - Z @ S.solve(C.T @ x - v)
            d -= Z @ S.solve(C.T @ d - v)  # once more: Z may be large
        plain = d.copy() if plain is None else plain
        d[held] = v[fixed:]
        out = np.flatnonzero((d < low) | (d > high))
        if not patient and not held.size and out.size > 0.35 * m:
            return plain, d, "early"
        if not out.size:
            return plain, d, "full"
        if held.size + out.size + fixed >= m:
            break
        held, v = np.concatenate([held, out]), np.concatenate([v, np.where(d < low, low, high)[out]])
        unit = np.zeros((m, out.size), order="F")
        unit[out, np.arange(out.size)] = 1.0
        C, Z = np.column_stack([C, unit]), np.column_stack([Z, A.solve(unit)])
    return (plain, plain, "part") if plain is not None else (x, x, "failed")


def _to_first_end(d, low, high):
    """The plain Newton step as far as the first end: always feasible, always down."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(d > 0, high / d, np.where(d < 0, low / d, np.inf))
    first = int(np.argmin(reach))
    if reach[first] >= 1.0:
        return d
    end = high[first] if d[first] > 0 else low[first]
    d = reach[first] * d
    d[first] = end
    return d
