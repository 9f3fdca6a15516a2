"""Parts of a factorisation: updates and divisions of blocks of a lower triangle, by BLAS calls that are never long."""

import numpy as np

from mercer.solvers.engine.shares import WORK, pieces

BLOCK = 256  # panel width: updates of rank 256 are where BLAS comes closest to the peak of the machine
LEAF = 128  # triangles of this size are inverted, because BLAS multiplies several times faster than it divides ...
TRIANGLE = np.tri(LEAF, dtype=bool)
GROWTH = 32.0  # ... unless ‖L⁻¹‖‖L‖ is above GROWTH · LEAF (Frobenius): then rounding would grow, and we divide


def _half(k):
    """Where a triangle of order k > LEAF is cut."""
    return (k // 2 + LEAF - 1) // LEAF * LEAF


def divide(lib, B, L):
    """B ← B L⁻ᵀ: halves down to leaves, so that most of it is a matrix product."""
    k = len(L)
    if k > LEAF:
        h = _half(k)
        divide(lib, B[:, :h], L[:h, :h])
        for i, j in pieces(len(B), 2.0 * h * (k - h)):
            lib.subtract_product(B[i:j, h:], B[i:j, :h], L[h:, :h])
        divide(lib, B[:, h:], L[h:, h:])
        return
    M = _safe_inverse(lib, L) if len(B) > LEAF else None
    if M is None:
        lib.divide_right(B, L)
    else:
        lib.multiply_right(B, M, transposed=True)


def divide_left(lib, L, W):
    """W ← L⁻¹ W for W with contiguous rows."""
    k = len(L)
    if k > LEAF:
        h = _half(k)
        divide_left(lib, L[:h, :h], W[:h])
        lib.add_product(W[h:], L[h:, :h], W[:h], sign=-1)
        divide_left(lib, L[h:, h:], W[h:])
        return
    M = _safe_inverse(lib, L) if W.shape[1] > LEAF else None
    if M is None:
        lib.divide_left(L, W)
    else:
        lib.multiply_left(M, W)


def invert(lib, T):
    """T ← T⁻¹ (lower): by halves down to leaves, as in ``divide``."""
    k = len(T)
    if k <= LEAF:
        lib.invert_triangle(T)
        return
    h = _half(k)
    invert(lib, T[:h, :h])
    invert(lib, T[h:, h:])
    lib.multiply_right(T[h:, :h], T[:h, :h])
    lib.multiply_left(T[h:, h:], T[h:, :h], sign=-1)


def _safe_inverse(lib, L):
    """L⁻¹ of a leaf, or None where its growth would spoil the last digits."""
    k = len(L)
    M = np.where(TRIANGLE[:k, :k], L, L.dtype.type(0.0))
    norm = _sum_of_squares(M)
    lib.invert_triangle(M)
    return M if np.sqrt(norm * _sum_of_squares(M)) <= GROWTH * k else None


def _sum_of_squares(M):
    """‖M‖², without BLAS: NumPy has one of its own, whose threads would wake and spin where SciPy's are at work."""
    return float(np.einsum("ij,ij->", M, M))


def subtract_square(lib, C, A, first, last):
    """Rows first to last of the lower triangle of C ← C − A Aᵀ."""
    n, k = last - first, A.shape[1]
    for i, j in pieces(n, 2.0 * first * k) if first else []:
        lib.subtract_product(C[first + i : first + j, :first], A[first + i : first + j], A[:first])
    if n <= BLOCK or n * n * float(k) <= WORK:
        lib.subtract_square(C[first:last, first:last], A[first:last])
        return
    h = first + (n // 2 + BLOCK - 1) // BLOCK * BLOCK
    inner, rows = C[first:, first:], A[first:]
    subtract_square(lib, inner, rows, 0, h - first)
    subtract_square(lib, inner, rows, h - first, n)


def add_transposed_square(lib, C, A, first, last):
    """Rows first to last of the lower triangle of C ← C + Aᵀ A."""
    n, k = last - first, A.shape[0]
    for i, j in pieces(n, 2.0 * first * k) if first else []:
        lib.add_transposed_product(C[first + i : first + j, :first], A[:, first + i : first + j], A[:, :first])
    if n <= BLOCK or n * n * float(k) <= WORK:
        lib.add_transposed_square(C[first:last, first:last], A[:, first:last])
        return
    h = first + (n // 2 + BLOCK - 1) // BLOCK * BLOCK
    inner, columns = C[first:, first:], A[:, first:]
    add_transposed_square(lib, inner, columns, 0, h - first)
    add_transposed_square(lib, inner, columns, h - first, n)


def add_rows(lib, C, A, B):
    """C ← C + A B, in pieces."""
    for i, j in pieces(len(C), 2.0 * B.shape[0] * B.shape[1]):
        lib.add_product(C[i:j], A[i:j], B)
