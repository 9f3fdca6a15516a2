"""Parts of a factorisation: updates of blocks of a lower triangle, by BLAS calls that are never long."""

from mercer.solvers.engine.shares import WORK, pieces

BLOCK = 256  # panel width: updates of rank 256 are where BLAS comes closest to the peak of the machine
LEAF = 128  # triangles of this size are inverted by one call


def _half(k):
    """Where a triangle of order k > LEAF is cut."""
    return (k // 2 + LEAF - 1) // LEAF * LEAF


def invert(lib, T):
    """T ← T⁻¹ (lower): by halves down to leaves, so that most of it is a matrix product."""
    k = len(T)
    if k <= LEAF:
        lib.invert_triangle(T)
        return
    h = _half(k)
    invert(lib, T[:h, :h])
    invert(lib, T[h:, h:])
    lib.multiply_right(T[h:, :h], T[:h, :h])
    lib.multiply_left(T[h:, h:], T[h:, :h], sign=-1)


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
