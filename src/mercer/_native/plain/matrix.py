"""The loops of matrix.c in NumPy."""

import numpy as np


def clear_lower(A, first, last, tiny, root):
    """A[i, j] = 0 where |A[i, j]| < tiny · rootᵢ · rootⱼ, for first <= i < last and j < i."""
    part = A[first:last, :last]
    with np.errstate(invalid="ignore"):
        small = np.abs(part) < np.multiply.outer(A.dtype.type(tiny) * root[first:last], root[:last])
    if small.any():
        part[small & np.tri(last - first, last, first - 1, dtype=bool)] = 0.0


def transpose(T, out):
    """Out = Tᵀ."""
    out[:] = T.T


def mirror(M, first, last):
    """M[j, i] = M[i, j] for first <= i < last and j < i."""
    size = max(1, last - first)
    T = M[first:last, first:last]
    np.copyto(T, T.T.copy(), where=np.tri(len(T), k=-1, dtype=bool).T)
    for j in range(0, first, size):
        e = min(j + size, first)
        M[j:e, first:last] = M[first:last, j:e].T
