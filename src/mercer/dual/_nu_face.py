"""Newton on the free rows when Σα⁺ and Σα⁻ are fixed: `_active` with a condition for each sign, and ε unknown like b.

A row belongs to a face with a sign, and may take any value of that sign in its box. K_FF d + Cβ = −g_F, Cᵀd = 0, where
C marks the rows of each sign: β are b + ε and b − ε. Without an intercept C is the sign itself, and β = ε.
"""

import numpy as np

from mercer.dual._quadratic import Square, face_minimum, to_first_end

ROUNDING = 1e-12  # of Cᵀd = 0, relative to Σ|α|


def face_step(store, sides, a, g, enter=None):
    """One Newton step on the free rows, α and g in place; "full", "part" or "failed", as `_active.newton` says it.

    ``enter`` are rows at 0 or at a bound that may move too, and the sign of each.
    """
    F = np.flatnonzero((a != 0) & (np.abs(a) < sides.box))
    s = np.sign(a[F])
    if enter is not None:
        F, s = np.concatenate([F, enter[0]]), np.concatenate([s, enter[1]])
    C = np.column_stack([s > 0, s < 0]).astype(float) if sides.apart else s[:, None]
    C = C[:, C.any(axis=0)]
    if F.size > store.capacity or (F.size <= C.shape[1] and enter is not None):
        return "failed"
    if F.size <= C.shape[1]:
        return "full"  # the sums leave nothing to move
    A = Square(store, F, sides.diag)
    if A.bad:
        return "failed"
    here, box = a[F], sides.box[F]
    low, high = np.where(s > 0, -here, -box - here), np.where(s > 0, box - here, -here)
    plain, d, status = face_minimum(A.factor, C, g[F], low, high)
    limit = ROUNDING * np.abs(a).sum()
    if enter is None and not float(-g[F] @ plain) > 4.0 * np.finfo(float).eps * float(np.abs(g[F]) @ np.abs(plain)):
        return "full"
    for _ in range(2):
        d = A.best_step(g[F], d) * d
        new = here + d
        new = np.where(d <= low, here + low, np.where(d >= high, here + high, new))  # exactly at the ends
        new = np.where(np.abs(new) < 1e-14 * box, 0.0, new)
        moved = new - here
        if moved.any() and np.abs(C.T @ moved).max() <= limit and float(g[F] @ moved) < 0.0:
            break
        d, status = to_first_end(plain, low, high), "part"  # always allowed, always down
    else:
        return "failed"
    a[F] = new
    store.add(F, moved, g)
    return status
