"""From the scores of the rows to the ends of an interval: order statistics, and a sweep where these do not do."""

import numpy as np

from mercer._warn import warn


def rank_of(coverage, n):
    """⌊α(n + 1)⌋ with α = 1 − coverage: which end point from outside; 0, with a warning, if n is too small."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
    rank = int(np.floor((1.0 - coverage) * (n + 1) + 1e-9))  # 1 − 0.9 is a little less than 0.1
    if rank == 0:
        needed = int(np.ceil(coverage / (1.0 - coverage) - 1e-9))
        warn(
            f"{n} rows cannot show a coverage of {coverage:g}: {needed} are needed. The intervals are infinite; use "
            "more rows or a smaller coverage.",
            UserWarning,
        )
    return rank


def order_ends(centre, half, rank):
    """(2, m): the rank-th smallest of centre − half and the rank-th largest of centre + half, down the columns."""
    n, m = centre.shape
    if rank == 0:
        return whole_line(m)
    low = np.partition(centre - half, rank - 1, axis=0)[rank - 1]
    return np.stack([low, np.partition(centre + half, n - rank, axis=0)[n - rank]])


def conformal_ends(A, B, rank):
    """(2, m): the ends of {v : at least ``rank`` rows have |Aᵢ − Bᵢv| >= |v|}, of its convex hull where it has gaps.

    A row with |B| < 1 says yes between A/(1 + B) and −A/(1 − B), which lie on either side of 0: then the rank-th end
    from outside is the answer. A row with |B| >= 1 says yes far out: such columns are swept from outside.
    """
    n, m = A.shape
    if rank == 0:
        return whole_line(m)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = A / (1.0 + B), A / (B - 1.0)
    low = np.partition(np.minimum(one, other), rank - 1, axis=0)[rank - 1]
    high = np.partition(np.maximum(one, other), n - rank, axis=0)[n - rank]
    for j in np.flatnonzero((np.abs(B) >= 1.0).any(axis=0)):
        low[j], high[j] = -_outermost(-A[:, j], B[:, j], rank), _outermost(A[:, j], B[:, j], rank)
    return np.stack([low, high])


def _outermost(A, B, rank):
    """The largest v at which at least ``rank`` rows have |Aᵢ − Bᵢv| >= |v|; inf if that many do for ever."""
    steep = np.abs(B) >= 1.0
    C, size = np.where(B > 0, A, -A)[steep], np.abs(B)[steep]
    gap = C > 0  # such a row says no between C/(|B| + 1) and C/(|B| − 1), any other steep row never
    back = C[gap & (size > 1)] / (size[gap & (size > 1)] - 1.0)
    forever = np.count_nonzero(~gap) + len(back)
    if forever >= rank:
        return np.inf
    A, B = A[~steep], B[~steep]
    enter = np.concatenate([np.maximum(A / (1.0 + B), A / (B - 1.0)), C[gap] / (size[gap] + 1.0)])
    v = np.concatenate([enter, back])
    change = np.concatenate([np.ones(len(enter)), -np.ones(len(back))])
    order = np.lexsort((-change, -v))  # from outside; at a tie rows enter first, as their sets are closed
    return v[order][np.argmax(forever + np.cumsum(change[order]) >= rank)]


def whole_line(m):
    """(2, m): the whole line."""
    return np.stack([np.full(m, -np.inf), np.full(m, np.inf)])
