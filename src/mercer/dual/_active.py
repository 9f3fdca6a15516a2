"""Newton on the free rows: with the others held, optimality is a linear system; steps end at the face's limits.

Pairs of variables settle which rows are free, bounded or zero; the values of the free ones they reach only slowly.
(K_FF + R) d = −(g_F + ε sign α_F) − β1, Σd = 0, reaches them at once. Rows that would leave their interval are held at
its end and the rest is solved again. The objective never grows: the last step is the best on its segment. When the
minimum of the face is reached, rows outside of it whose slope has the wrong sign are let in: the classical active-set
method, which ends after finitely many faces.
"""

import numpy as np

from mercer.dual._quadratic import Square, face_minimum, to_first_end

ROUNDING = 1e-13  # of Σd = 0, relative to Σ|α|


def newton(store, programme, a, g, *, enter=None, patient=False):
    """One Newton step on the free rows, α and g in place.

    Parameters
    ----------
    store, programme, a, g
        The rows of K, the problem, α and its gradient.
    enter : (ndarray, ndarray), default=None
        Rows at a bound or at 0 that may move too, and +1 or −1 for the side each may move to.
    patient : bool, default=False
        Whether the step is taken even when many rows would leave the face at once.

    Returns
    -------
    str
        "full" (the face's minimum is reached), "part" (some way to it), "early" (too many rows would leave; nothing
        changed) or "failed" (nothing changed).
    """
    F, side = programme.free(a), np.zeros(0)
    if enter is not None:
        F, side = np.concatenate([F, enter[0]]), np.asarray(enter[1], dtype=float)
    if F.size < 1 + programme.intercept or F.size > store.capacity:
        return "failed"
    face, here = programme.take(F), a[F]
    s, floor, ceiling = _face(face, here, g[F], side)
    A = Square(store, F, face.diag, face.ridge)
    if A.bad:
        return "failed"
    low, high = floor - here, ceiling - here
    C = np.ones((F.size, int(programme.intercept)))
    plain, d, status = face_minimum(A.factor, C, s, low, high, patient)
    if status == "early":
        return status
    t = A.best_step(s, d)
    if t < 1.0 or status == "part":  # the corner that was aimed at is not on the way down: go to the first end
        other = to_first_end(plain, low, high)
        if status == "part" or A.gain(s, other) > A.gain(s, t * d):
            d, status = other, "part"
            t = A.best_step(s, d)
    if t <= 0.0 or not d.any():
        return "failed"
    new = np.clip(here + t * d, floor, ceiling)
    if t == 1.0:  # exactly at the ends, not a rounding away
        new = np.where(d <= low, floor, np.where(d >= high, ceiling, new))
    moved = new - here
    if programme.intercept and abs(moved.sum()) > ROUNDING * np.abs(new).sum():  # K_FF is nearly singular
        new = _with_sum(new, here.sum(), floor, ceiling)
        moved = new - here
        if not A.gain(s, moved) > 0.0:
            return "failed"
        status = "part"
    a[F] = new
    store.add(F, moved, g)
    g[F] += face.ridge * moved
    return "full" if t == 1.0 and status == "full" else "part"


def _face(face, a, g, side):
    """(slopes, lowest α, highest α) of the rows of a face; the last ``len(side)`` of them are only now let in."""
    kink = face.epsilon > 0
    s = g + face.epsilon * np.sign(a)
    floor, ceiling = np.where(kink & (a > 0), 0.0, face.lower), np.where(kink & (a < 0), 0.0, face.upper)
    new = slice(len(a) - len(side), len(a))
    if len(side):
        up, x, eps = side > 0, a[new], face.epsilon[new]
        s[new] = g[new] + np.where(up, np.where(x >= 0, eps, -eps), np.where(x > 0, eps, -eps))
        floor[new] = np.where(up, x, np.where(kink[new] & (x > 0), 0.0, face.lower[new]))
        ceiling[new] = np.where(up, np.where(kink[new] & (x < 0), 0.0, face.upper[new]), x)
    return s, floor, ceiling


def _with_sum(a, total, floor, ceiling):
    """α with another sum: rows inside their interval give or take in proportion to the room they have."""
    excess = float(a.sum() - total)
    room = np.where((a > floor) & (a < ceiling), a - floor if excess > 0 else ceiling - a, 0.0)
    room = np.minimum(room, 1e3 * abs(excess))  # an infinite bound has room enough
    size = float(room.sum())
    return a - np.sign(excess) * room * min(abs(excess) / size, 1.0) if size > 0 else a
