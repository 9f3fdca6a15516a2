"""The quadratic programme of a face: its matrix and factor, its minimum with rows held at their ends, its steps."""

import numpy as np
from scipy.linalg.blas import dsymv

from mercer.solvers.engine.lapack import cholesky_lower, solve_lower

TRIES = 4  # shifts of the diagonal, each 100 times the last
DROPS = 12  # systems solved on one face
PREMATURE = 0.35  # share of the rows that would leave at once: the face is not the right one yet


class Square:
    """A = K_FF + R and its factor in the same memory: A above the diagonal, L below, LLᵀ = A + a small shift.

    At 4 000 rows and more, memory that was never touched costs as much as the factor.
    """

    def __init__(self, store, F, diag, ridge=0.0):
        shift = 4.0 * np.finfo(store.dtype).eps * np.sqrt(F.size) * max(float(np.mean(diag)), np.finfo(float).tiny)
        self.bad = True
        for _ in range(TRIES):
            A = store.square(F)
            A = A.astype(np.float64) if A.dtype != np.float64 else A
            self.diag = np.diagonal(A) + ridge
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

    def best_step(self, s, d):
        """The t in [0, 1] that minimises the quadratic along td, s its slope at 0."""
        slope, bend = float(s @ d), float(d @ (self @ d))
        if not slope < 0.0:
            return 0.0
        return 1.0 if bend <= -slope * (1.0 + 1e-9) else -slope / bend

    def gain(self, s, d):
        """How much the objective falls."""
        return -float(s @ d) - 0.5 * float(d @ (self @ d))


def face_minimum(L, C, s, low, high, patient=True):
    """(plain Newton step, step, status): min sᵀd + ½dᵀAd with Cᵀd = 0, rows that would leave held at their ends.

    Held rows are equations like Cᵀd = 0: d = x − Z(CᵀZ)⁻¹(Cᵀx − v) with x = −A⁻¹s and Z = A⁻¹C. Each row held adds a
    column to Z, and nothing is factored again. The status is "full"; "part", where that does not end and the step goes
    as far as the first end; or, unless ``patient``, "early" where too many rows would leave at once.
    """
    m, fixed = C.shape
    both = solve_lower(L, np.column_stack([-s, C]))
    x, Z = both[:, 0], both[:, 1:]
    held, v = np.zeros(0, dtype=np.int64), np.zeros(fixed)
    plain = None
    for _ in range(DROPS):
        try:
            d = x - Z @ np.linalg.solve(np.vstack([C.T @ Z, Z[held]]), np.concatenate([C.T @ x, x[held]]) - v)
        except np.linalg.LinAlgError:  # all rows of a condition are held
            break
        plain = d.copy() if plain is None else plain
        d[held] = v[fixed:]
        out = np.flatnonzero((d < low) | (d > high))
        if not patient and not held.size and out.size > PREMATURE * m:
            return plain, d, "early"
        if not out.size:
            return plain, d, "full"
        if held.size + out.size + fixed >= m:
            break
        held, v = np.concatenate([held, out]), np.concatenate([v, np.where(d < low, low, high)[out]])
        unit = np.zeros((m, out.size))
        unit[out, np.arange(out.size)] = 1.0
        Z = np.column_stack([Z, solve_lower(L, unit)])
    plain = np.zeros(m) if plain is None else plain
    return plain, to_first_end(plain, low, high), "part"


def to_first_end(d, low, high):
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
