"""Loops over the neighbours of a point: which they are, and the small system that they make."""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS, _wide
from mercer._loops.pairs import SUMS, radial

STRIP = 512  # columns whose distances are in cache while they are looked at


@njit(**OPTIONS)
def _sift(s, index, value, place):
    """Put a pair in the place of the largest of a heap."""
    k = s.size
    i = 0
    while True:
        child = 2 * i + 1
        if child >= k:
            break
        if child + 1 < k and s[child + 1] > s[child]:
            child += 1
        if s[child] <= value:
            break
        s[i], index[i] = s[child], index[child]
        i = child
    s[i], index[i] = value, place


@njit(**OPTIONS)
def nearest(A, Bt, upto, own, s, index):
    """index[i], s[i]: the k rows b of least ‖aᵢ − b‖² among the first upto[i], own[i] left out; as a heap. Bt is Bᵀ.

    s is given infinite and index −1; where there are fewer than k rows they stay so.
    """
    row = np.empty((1, STRIP))
    for i in range(len(A)):
        one, heap, which = A[i : i + 1], s[i], index[i]
        for j0 in range(0, upto[i], STRIP):
            width = min(STRIP, upto[i] - j0)
            radial(-1, one, Bt, j0, 1e300, row[:, :width])
            for j in range(width):
                if row[0, j] < heap[0] and j0 + j != own[i]:
                    _sift(heap, which, row[0, j], j0 + j)


@njit(**SUMS)
def _dot(a, b, n):
    """Σᵢ aᵢ bᵢ over the first n."""
    _wide()
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(**OPTIONS)
def _factor(C, absent, tol):
    """L Lᵀ = C in the lower triangle; a row that those before it explain is absent from then on. Returns how many."""
    m, dropped = len(C), 0
    for i in range(m):
        row = C[i]
        if i < m - 1 and absent[i]:
            continue
        for j in range(i):
            row[j] = 0.0 if absent[j] else (row[j] - _dot(row, C[j], j)) / C[j, j]
        pivot = row[i] - _dot(row, row, i)
        if i == m - 1:
            row[i] = max(pivot, 0.0)
        elif pivot > tol * row[i]:
            row[i] = np.sqrt(pivot)
        else:
            absent[i] = True
            dropped += 1
    return dropped


@njit(**OPTIONS)
def _backward(C, absent, x):
    """x ← L⁻ᵀ x, 0 where a row is absent."""
    for j in range(len(C) - 2, -1, -1):
        if absent[j]:
            x[j] = 0.0
        else:
            x[j] /= C[j, j]
            value, row = x[j], C[j]
            for i in range(j):
                x[i] -= value * row[i]


@njit(**OPTIONS)
def conditionals(C, absent, tol, Y, weights, variance, solved):
    """For each C = [[A, k], [kᵀ, c]]: weights A⁻¹k, variance c − kᵀA⁻¹k, solved A⁻¹Y. Returns how many rows went."""
    dropped = 0
    for b in range(len(C)):
        c, gone, k = C[b], absent[b], C.shape[1] - 1
        dropped += _factor(c, gone, tol)
        variance[b] = c[k, k]
        weights[b] = c[k, :k]
        _backward(c, gone, weights[b])
        for t in range(Y.shape[1]):
            z = solved[b, t]
            for i in range(k):
                z[i] = 0.0 if gone[i] else (Y[b, t, i] - _dot(c[i], z, i)) / c[i, i]
            _backward(c, gone, z)
    return dropped
