"""Newton on the free rows: with the others held, optimality is a linear system; steps end at the face's limits.

Pairs of variables settle which rows are free, bounded or zero; the values of the free ones they reach only slowly.
(K_FF + R) d = −(g_F + ε sign α_F) − β1, Σd = 0, reaches them at once. Rows that would leave their interval are held at
its end and the rest is solved again. The objective never grows: the last step is the best on its segment. When the
minimum of the face is reached, rows outside of it whose slope has the wrong sign are let in: the classical active-set
method, which ends after finitely many faces.
"""

import numpy as np
from scipy.linalg.blas import dsymv

from mercer.solvers._lapack import cholesky_lower, solve_lower

TRIES = 4  # shifts of the diagonal, each 100 times the last
DROPS = 12  # systems solved on one face
ROUNDING = 1e-13  # of Σd = 0, relative to Σ|α|
PREMATURE = 0.35  # share of the free rows that would leave at once: the face is not the right one yet


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
    A = Square(store, F, face)
    if A.bad:
        return "failed"
    low, high = floor - here, ceiling - here
    plain, d, status = _face_minimum(A.factor, s, low, high, programme.intercept, patient)
    if status == "early":
        return status
    t = _best_step(A, s, d)
    if t < 1.0 or status == "part":  # the corner that was aimed at is not on the way down: go to the first end
        other = _to_first_end(plain, low, high)
        if status == "part" or _gain(A, s, other) > _gain(A, s, t * d):
            d, status = other, "part"
            t = _best_step(A, s, d)
    if t <= 0.0 or not d.any():
        return "failed"
    new = np.clip(here + t * d, floor, ceiling)
    if t == 1.0:  # exactly at the ends, not a rounding away
        new = np.where(d <= low, floor, np.where(d >= high, ceiling, new))
    moved = new - here
    if programme.intercept and abs(moved.sum()) > ROUNDING * np.abs(new).sum():  # K_FF is nearly singular
        new = _with_sum(new, here.sum(), floor, ceiling)
        moved = new - here
        if not _gain(A, s, moved) > 0.0:
            return "failed"
        status = "part"
    a[F] = new
    store.add(F, moved, g)
    g[F] += face.ridge * moved
    return "full" if t == 1.0 and status == "full" else "part"


class Square:
    """A = K_FF + R and its factor in the same memory: A above the diagonal, L below, LLᵀ = A + a small shift.

    At 4 000 rows and more, memory that was never touched costs as much as the factor.
    """

    def __init__(self, store, F, face):
        shift = 4.0 * np.finfo(store.dtype).eps * np.sqrt(F.size) * max(float(face.diag.mean()), np.finfo(float).tiny)
        self.bad = True
        for _ in range(TRIES):
            A = store.square(F)
            A = A.astype(np.float64) if A.dtype != np.float64 else A
            self.diag = np.diagonal(A) + face.ridge
            A[np.diag_indices(F.size)] = self.diag + shift
            self.bad = cholesky_lower(A) != 0
            self.factor = A
            if not self.bad:
                break
            shift *= 100.0

    def __matmul__(self, d):
        """A d, from what lies above the diagonal."""
        above = dsymv(1.0, self.factor.T, d, lower=1)
        return above + (self.diag - np.diagonal(self.factor)) * d


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


def _face_minimum(L, s, low, high, intercept, patient):
    """(plain Newton step, step, status): to the face's minimum, rows that would leave it held at its ends.

    Held rows, and Σd = 0, are equations Cᵀd = v: d = x − Z(CᵀZ)⁻¹(Cᵀx − v) with x = −A⁻¹s and Z = A⁻¹C. Each row held
    adds a column to Z, and nothing is factored again.
    """
    m = len(s)
    C = np.ones((m, 1)) if intercept else np.zeros((m, 0))
    both = solve_lower(L, np.column_stack([-s, C]))
    x, Z = both[:, 0], both[:, 1:]
    held, ends = np.zeros(0, dtype=np.int64), np.zeros(0)
    open_rows = np.ones(m, dtype=bool)
    plain = d = None
    for _ in range(DROPS):
        d = _constrained(x, Z, held, ends, intercept)
        plain = d if plain is None else plain
        below, above = open_rows & (d < low), open_rows & (d > high)
        out = np.flatnonzero(below | above)
        if not patient and not held.size and out.size > PREMATURE * m:
            return plain, d, "early"
        if not out.size:
            d[held] = ends
            return plain, d, "full"
        held, ends = np.concatenate([held, out]), np.concatenate([ends, np.where(below, low, high)[out]])
        open_rows[out] = False
        if held.size + intercept >= m:
            break
        unit = np.zeros((m, out.size))
        unit[out, np.arange(out.size)] = 1.0
        Z = np.column_stack([Z, solve_lower(L, unit)])
    return plain, d, "part"


def _constrained(x, Z, held, ends, intercept):
    """x − Z(CᵀZ)⁻¹(Cᵀx − v), C the ones (with an intercept) and the unit vectors of the held rows."""
    if not Z.shape[1]:
        return x.copy()
    CZ, Cx = Z[held], x[held] - ends
    if intercept:
        CZ, Cx = np.vstack([Z.sum(axis=0), CZ]), np.concatenate([[x.sum()], Cx])
    return x - Z @ np.linalg.solve(CZ, Cx)


def _with_sum(a, total, floor, ceiling):
    """α with another sum: rows inside their interval give or take in proportion to the room they have."""
    excess = float(a.sum() - total)
    room = np.where((a > floor) & (a < ceiling), a - floor if excess > 0 else ceiling - a, 0.0)
    room = np.minimum(room, 1e3 * abs(excess))  # an infinite bound has room enough
    size = float(room.sum())
    return a - np.sign(excess) * room * min(abs(excess) / size, 1.0) if size > 0 else a


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


def _gain(A, s, d):
    """How much the objective falls."""
    return -float(s @ d) - 0.5 * float(d @ (A @ d))


def _best_step(A, s, d):
    """The t in [0, 1] that minimises the quadratic along td."""
    slope, bend = float(s @ d), float(d @ (A @ d))
    if not slope < 0.0:
        return 0.0
    return 1.0 if bend <= -slope * (1.0 + 1e-9) else -slope / bend
