"""Work in blocks: cut so that Ctrl-C is heard, shared so that short pieces do not wait for threads."""

from math import sqrt

from mercer._threads import run, threads

WORK = 1e10  # operations in one call: 0.1 s at 100 GFLOP/s
OWN = 6000  # rows up to which we use threads of our own; beyond, BLAS uses its own better
WORTH = 1.5e7  # operations that are worth a thread: waking one takes as long as some 1e6 of them, and some luck


def pieces(count, cost):
    """[(i, j), …]: ranges that cover ``count`` items of ``cost`` operations each, at most WORK (or 64 items) each."""
    size = max(64, int(WORK / max(cost, 1.0)) // 64 * 64)
    return [(i, min(i + size, count)) for i in range(0, count, size)]


def side_by_side(works, *ranges):
    """Call each work(i, j) for its ranges, on the cores where there are several ranges."""
    tasks = [(work, i, j) for work, parts in zip(works, ranges, strict=True) for i, j in parts]

    def one(index, worker):
        work, i, j = tasks[index]
        work(i, j)

    run(one, len(tasks), None if any(len(parts) > 1 for parts in ranges) else 1)


def _shares(n, operations):
    """How many pieces a piece of work is cut into: one for each core if it is worth it and n is not for BLAS."""
    return max(1, min(threads(), int(operations / WORTH))) if n <= OWN else 1


def strips(count, operations, n):
    """Ranges of equal length; none of nothing."""
    shares = _shares(n, operations)
    return ranges([count * i // shares for i in range(shares + 1)])


def wedges(count, k, n):
    """Ranges of rows of a lower triangle with equal areas; an update of rank k costs k operations for each entry."""
    shares = _shares(n, float(count) * count * k)
    return ranges([round(count * sqrt(i / shares)) for i in range(shares + 1)])


def ranges(ends):
    """[(i, j), …] from each end to the next, without empty ones."""
    ends = [int(end) for end in ends]
    return [(i, j) for i, j in zip(ends[:-1], ends[1:], strict=True) if j > i]


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
