"""The loops of neighbours.c in NumPy and SciPy."""

import numpy as np

from mercer._native.plain.pairs import squared

ENTRIES = 2**22  # of a block of distances: 32 MB


def smallest(S, k, upto, own):
    """Index (m, k) of the least finite Sᵢⱼ with j < uptoᵢ and j ≠ ownᵢ, in ascending order; −1 where none is left."""
    (m, n), found = S.shape, np.full((len(S), k), -1, dtype=np.int64)
    S[np.arange(n) >= np.asarray(upto)[:, None]] = np.inf
    mine = np.flatnonzero((own >= 0) & (own < n))
    S[mine, own[mine]] = np.inf
    if not S.size or not k:
        return found
    limit = np.partition(S, k - 1, axis=1)[:, k - 1 : k] if k < n else np.full((m, 1), np.inf)
    less, equal = S < limit, (S == limit) & (limit < np.inf)
    rows, columns = np.nonzero(less | (equal & (np.cumsum(equal, axis=1) <= k - less.sum(axis=1, keepdims=True))))
    order = np.lexsort((columns, S[rows, columns], rows))  # of equal ones the first
    place = np.arange(rows.size) - np.searchsorted(rows, rows)
    found[rows, place] = columns[order]
    return found


def nearest(A, Bt, k, upto, own):
    """Index (m, k) of the rows b of least ‖aᵢ − b‖² among the first uptoᵢ, ownᵢ left out; nearest first. Bt is Bᵀ."""
    found, size = np.empty((len(A), k), dtype=np.int64), max(1, ENTRIES // max(Bt.shape[1], 1))
    for i in range(0, len(A), size):
        part = slice(i, i + size)
        found[part] = smallest(squared(A[part], Bt.T, 1e300), k, upto[part], own[part])
    return found


def conditionals(C, absent, tolerance, Y):
    """(A⁻¹k, c − kᵀA⁻¹k, A⁻¹Y, how many rows went) for each C = [[A, k], [kᵀ, c]], a column of all together."""
    k, before = absent.shape[1], int(absent.sum())
    L = np.zeros_like(C)
    for j in range(k + 1):
        column = C[:, j:, j] - np.matmul(L[:, j:, :j], L[:, j, :j, None])[:, :, 0]
        if j == k:
            variance = np.maximum(column[:, 0], 0.0)
            continue
        absent[:, j] |= column[:, 0] <= tolerance * C[:, j, j]
        root = np.sqrt(np.where(absent[:, j], 1.0, column[:, 0]))
        L[:, j:, j] = np.where(absent[:, j, None], 0.0, column / root[:, None])
        L[:, j, :j] *= ~absent[:, j, None]
        L[:, j, j] = np.where(absent[:, j], 1.0, root)
    solved = np.where(absent[:, None], 0.0, Y)
    for j in range(k):
        solved[:, :, j] = (solved[:, :, j] - np.matmul(solved[:, :, :j], L[:, j, :j, None])[:, :, 0]) / L[:, j, j, None]
    both = np.concatenate([np.where(absent, 0.0, L[:, k, :k])[:, None], solved], axis=1)
    for j in range(k - 1, -1, -1):
        both[:, :, j] /= L[:, j, j, None]
        both[:, :, :j] -= both[:, :, j, None] * L[:, None, j, :j]
    return both[:, 0], variance, both[:, 1:], int(absent.sum()) - before
