"""Cholesky factor, triangular solves and inverse, blocked: fast, in place, and never long in one call.

All arrays are C-ordered and only the lower triangle of a square one is read or written (for Fortran it is the upper
one: see `blas`). The work is cut into BLAS calls of at most ``WORK`` operations. Between two calls Python runs signal
handlers, so Ctrl-C is heard within a fraction of a second; during a call the GIL is free, so other threads go on.

Up to ``ONE_CALL`` rows one call of LAPACK does it all: the least Python. Up to ``OWN`` rows the pieces run side by side
on threads of our own, with BLAS on one thread in each: BLAS's own threads gain little on pieces this small, and lose
much when the machine is busy.
"""

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs, dtrtri

from mercer import _native
from mercer._threads import ALONE, NO_THREAD, one_blas_thread, run
from mercer.solvers.engine.blas import MAX_ORDER, blas
from mercer.solvers.engine.blocks import (
    BLOCK,
    OWN,
    add_rows,
    add_transposed_square,
    invert,
    pieces,
    side_by_side,
    strips,
    subtract_square,
    wedges,
)  # fmt: skip

FEW = 8  # right-hand sides
SMALL = 1024  # order at which a product with a vector gains nothing by threads
ONE_CALL = 256  # rows up to which cutting and sharing the work takes longer than it saves
ABOVE = np.tri(BLOCK, k=-1, dtype=bool).T  # the diagonal of a block
ROWS = 256  # of a matrix in one pass over it
SOLVED = 1024  # block of rows in a solve: of one right-hand side, fewer would be more calls than work
TINY = {"float64": 1e-80, "float32": 1e-13}  # beside the diagonal; far less than a rounding, even n times
COLUMNS = 2048  # columns of L⁻¹ at once in the diagonal of the inverse
FEW_ROWS = 700  # rows up to which one pass over a matrix is not worth a thread


def threads_for(n, columns=None):
    """One BLAS thread for small orders, and for larger ones with few right-hand sides; all of them for the rest.

    A thread that is not running when it is wanted, on a busy machine, is waited for in every call: small matrices then
    take a hundred times longer. A solve with few right-hand sides reads memory, for which one thread nearly suffices.
    """
    small = n <= (8 * SMALL if columns is not None and columns <= FEW else OWN)
    return one_blas_thread() if NO_THREAD < n and small else ALONE


def cholesky_lower(A):
    """A = L Lᵀ: the lower triangle of A becomes L, in place.

    Entries |aᵢⱼ| below 1e-80 √(aᵢᵢ aⱼⱼ) count as 0 (1e-13 in float32): less than any rounding, and products of them
    would be subnormal numbers, with which a factorisation takes ten times as long.

    Parameters
    ----------
    A : ndarray of shape (n, n), C-contiguous, float32 or float64
        What lies above the diagonal is neither read nor written.

    Returns
    -------
    int
        0, or the 1-based index of the pivot that is not positive: the leading block of that order is not positive
        definite. The rows above it hold the factor so far.
    """
    n = check_square(A)
    with threads_for(n):
        if _one_call(A, n):  # subnormal products are too few here to look for
            return dpotrf(A.T, lower=0, clean=0, overwrite_a=1)[1]
        _clear_tiny(A, n)
        return _cholesky(blas(A.dtype), A, n)


def _one_call(A, n):
    """Whether one call of LAPACK does it, in place: Fortran reads the lower triangle of A as the upper one of Aᵀ."""
    return 0 < n <= ONE_CALL and A.dtype == np.float64 and A.flags.c_contiguous


def _cholesky(lib, A, n):
    """Right-looking: factor the diagonal block, divide the panel below it, update the rest."""
    for k in range(0, n, BLOCK):
        e = min(k + BLOCK, n)
        bad = lib.factor(A[k:e, k:e])
        if bad:
            return k + bad
        if e < n:
            _eliminate(lib, A[e:, k:e], A[k:e, k:e], A[e:, e:], n)
    return 0


def _eliminate(lib, panel, T, rest, n):
    """panel ← panel T⁻ᵀ, rest ← rest − panel panelᵀ."""
    m = len(panel)
    side_by_side([lambda i, j: lib.divide_right(panel[i:j], T)], strips(m, m * BLOCK**2, n))
    side_by_side([lambda i, j: subtract_square(lib, rest, panel, i, j)], wedges(m, BLOCK, n))


def solve_lower(L, B):
    """X with L Lᵀ X = B, as a fresh array of L's dtype in column order."""
    n = check_square(L)
    if _one_call(L, n) and np.shape(B)[:1] == (n,):
        with threads_for(n):
            return dpotrs(L.T, B, lower=0)[0]
    X = columns(B, L.dtype)
    forward(L, X)
    backward(L, X)
    return X[:, 0] if np.ndim(B) == 1 else X


def forward(L, W):
    """W ← L⁻¹ W, in place; W in column order. Panels of whole rows of L: they are read as they lie."""
    _by_columns(_forward, L, W)


def backward(L, W):
    """W ← L⁻ᵀ W, in place; W in column order."""
    _by_columns(_backward, L, W)


def _by_columns(solve, L, W):
    """solve(lib, L, V) for blocks V of columns of W, side by side where there are many."""
    n, t = check_columns(L, W)
    if _one_call(L, n) and t and W.flags.f_contiguous:
        with threads_for(n):
            dtrsm(1.0, L.T, W, trans_a=int(solve is _forward), overwrite_b=1)
        return
    with threads_for(n, t):
        if t <= FEW:
            solve(blas(L.dtype), L, W)
        else:
            side_by_side([lambda i, j: solve(blas(L.dtype), L, W[:, i:j])], strips(t, float(n) * n * t, n))


def _forward(lib, L, W):
    n = len(L)
    for c, d in pieces(W.shape[1], 2.0 * SOLVED * n):
        V = W[:, c:d]
        for k in range(0, n, SOLVED):
            e = min(k + SOLVED, n)
            if k:
                lib.add_columns(V[k:e], L[k:e, :k], V[:k], sign=-1)
            lib.solve_columns(L[k:e, k:e], V[k:e])


def _backward(lib, L, W):
    n = len(L)
    for c, d in pieces(W.shape[1], 2.0 * SOLVED * n):
        V = W[:, c:d]
        for k in reversed(range(0, n, SOLVED)):
            e = min(k + SOLVED, n)
            lib.solve_columns(L[k:e, k:e], V[k:e], transposed=True)
            if k:
                lib.add_columns(V[:k], L[k:e, :k], V[k:e], transposed=True, sign=-1)


def inverse_from_lower(L):
    """A⁻¹ from A = L Lᵀ, in place of L: one sweep of rank-256 updates, 2n³/3 operations.

    Let M = L⁻¹. Row block k of M is known once the rows above it are done. It is then used twice and never again: for
    the rows of M below it, and for its share of A⁻¹ = MᵀM, which gathers in the rows of M that are no longer needed.

    Parameters
    ----------
    L : ndarray of shape (n, n), C-contiguous
    """
    n = check_square(L)
    with threads_for(n):
        if _one_call(L, n):
            dtrtri(L.T, lower=0, overwrite_c=1)  # dpotri is these two, but starts threads for any few rows
            dlauum(L.T, lower=0, overwrite_c=1)
        else:
            _sweep(blas(L.dtype), L, n)
    return mirror(L)


def _sweep(lib, L, n):
    """Lower triangle of L ← (L Lᵀ)⁻¹."""
    run(lambda i, worker: invert(lib, L[i * BLOCK : (i + 1) * BLOCK, i * BLOCK : (i + 1) * BLOCK]), -(-n // BLOCK))
    for k in range(0, n, BLOCK):
        e = min(k + BLOCK, n)
        T = L[k:e, k:e]
        _use(lib, T, L[k:e, :k], L[e:, k:e], L[:k, :k], L[e:, :k], n)
        lib.square_triangle(T)


def _use(lib, T, row, below, done, rest, n):
    """Row block k of M made, and used: T is L_kk⁻¹, ``row`` is left of it, ``below`` under it."""
    k, m = len(done), len(below)
    columns, rows = strips(k, k * BLOCK**2, n), strips(m, 2 * (k + BLOCK) * m * BLOCK, n)
    # M[k, :k] = −L_kk⁻¹ Σ L[k, i] M[i, :k]
    side_by_side([lambda i, j: lib.multiply_left(T, row[:, i:j], sign=-1)], columns)
    side_by_side(
        [
            lambda i, j: add_transposed_square(lib, done, row, i, j),
            lambda i, j: add_rows(lib, rest[i:j], below[i:j], row),
        ],
        wedges(k, BLOCK, n),
        rows if k else [],
    )
    side_by_side(
        [
            lambda i, j: lib.multiply_right(below[i:j], T),
            lambda i, j: lib.multiply_left(T, row[:, i:j], transposed=True),
        ],
        rows,
        columns,
    )


def inverse_diagonal(L):
    """diag(A⁻¹) from A = L Lᵀ: squared lengths of the columns of L⁻¹, n³/3 operations, no second n × n array."""
    n = check_square(L)
    if _one_call(L, n):
        return inverse_from_lower(L.copy()).diagonal()
    lib, out = blas(L.dtype), np.zeros(n, dtype=L.dtype)
    with threads_for(n):
        for c in range(0, n, COLUMNS):
            _squared_columns(lib, L[c:, c:], out[c : c + COLUMNS])
    return out


def _squared_columns(lib, L, out):
    """Add the squared lengths of the first columns of L⁻¹ to ``out``."""
    n, width = len(L), len(out)
    W = np.zeros((n, width), dtype=L.dtype)
    W[np.arange(width), np.arange(width)] = 1.0
    for k in range(0, n, BLOCK):
        e = min(k + BLOCK, n)
        q = min(e, width)  # right of column q these rows are zero
        row = W[k:e, :q]
        lib.divide_left(L[k:e, k:e], row)
        out[:q] += np.einsum("ij,ij->j", row, row)
        for i, j in pieces(n - e, 2.0 * q * (e - k)):
            lib.add_product(W[e + i : e + j, :q], L[e + i : e + j, k:e], row, sign=-1)


def logdet(L):
    """log det A from A = L Lᵀ."""
    return 2.0 * float(np.add.reduce(np.log(L.diagonal(), dtype=float)))


def _clear_tiny(A, n):
    """Set to 0 what is TINY beside its diagonal: rounding loses it, and a processor is slow at products of such."""
    tiny = TINY[A.dtype.name]
    with np.errstate(invalid="ignore"):
        root = np.sqrt(np.diagonal(A))  # NaN where the matrix is not positive definite: nothing is cleared there

    def rows(index, worker):
        k = index * BLOCK
        _native.matrix.clear_lower(A, k, min(k + BLOCK, n), tiny, root)

    run(rows, -(-n // BLOCK), None if n > FEW_ROWS else 1)


def mirror(A):
    """Copy the lower triangle of A into the upper one, by blocks that stay in the cache."""
    n = len(A)
    if n <= BLOCK:
        np.copyto(A, A.T, where=ABOVE[:n, :n])
        return A

    def rows(index, worker):
        k = index * BLOCK
        _native.matrix.mirror(A, k, min(k + BLOCK, n))

    run(rows, -(-n // BLOCK), None if n > FEW_ROWS else 1)
    return A


def combine(C, U, V, factor):
    """C ← factor · C + U Vᵀ, in place; returns it."""
    if len(C) <= ONE_CALL:  # plain NumPy takes fewer calls than threads save
        if factor != 1.0:
            C *= factor
        C += U @ V.T
        return C
    n = check_square(C)
    lib, U, right = blas(C.dtype), np.ascontiguousarray(U), V.T.copy()  # a copy: of one row, strides are not kept else

    def rows(index, worker):
        part = slice(index * ROWS, (index + 1) * ROWS)
        lib.combine(C[part], U[part], right, factor)

    with threads_for(n):
        run(rows, -(-n // ROWS), None if n > FEW_ROWS else 1)
    return C


def add_symmetric(W, p, a, factor):
    """W ← W + factor (p aᵀ + a pᵀ), in place; returns it."""
    return combine(W, np.hstack([p, a]) * factor, np.hstack([a, p]), 1.0)


def sandwich(P, v):
    """P diag(v) P; P is overwritten. One symmetric update, n³ operations, when no v is negative."""
    if not (v >= 0).all() or len(P) <= ONE_CALL:
        return (P * v) @ P
    for i in range(0, len(P), ROWS):
        P[i : i + ROWS] *= np.sqrt(v[i : i + ROWS, None])
    return square(P)


def square(A):
    """AᵀA, both triangles, as a fresh array."""
    C = np.zeros((A.shape[1], A.shape[1]))
    add_gram(C, A)
    return mirror(C)


def add_gram(C, A):
    """Lower triangle of C ← C + Aᵀ A, in place."""
    n = check_square(C)
    with threads_for(n):
        side_by_side([lambda i, j: add_transposed_square(blas(C.dtype), C, A, i, j)], wedges(n, len(A), max(n, len(A))))


# ---------------------------------------------------------------------------------------- arrays
def check_square(A):
    """The order of a square C-contiguous array that BLAS can address."""
    n = len(A)
    contiguous = n < 2 or A.strides[1] == A.itemsize
    if A.shape != (n, n) or not contiguous or A.dtype not in (np.float32, np.float64):
        raise ValueError(f"need a square array with contiguous rows in float32 or float64, got {A.dtype} {A.shape}.")
    if n > MAX_ORDER:
        raise ValueError(f"n = {n} is more than the integers of this BLAS can count ({MAX_ORDER}).")
    return n


def check_columns(L, W):
    """(n, t) of right-hand sides W for a square L: BLAS gets addresses, and would write beyond a short W."""
    n = check_square(L)
    contiguous = n < 2 or not W.size or W.strides[0] == W.itemsize
    if W.ndim != 2 or len(W) != n or W.dtype != L.dtype or not contiguous or not W.flags.writeable:
        raise ValueError(
            f"need right-hand sides of {n} rows of {L.dtype} in contiguous columns that can be written, got {W.dtype} "
            f"{W.shape} with strides {W.strides}."
        )
    return W.shape


def columns(B, dtype):
    """A fresh copy of B, two-dimensional, in column order."""
    B = np.asarray(B)
    return np.array(B[:, None] if B.ndim == 1 else B, dtype=dtype, order="F")
