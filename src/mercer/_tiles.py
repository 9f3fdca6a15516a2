"""Work by tiles: a matrix is filled, multiplied or contracted a cache-sized tile at a time, on all cores.

A kernel's ``prepare(X, Z)`` evaluates and contracts a tile, given by two slices. Only half of a symmetric matrix is
evaluated.
Results depend on the number of threads in the last digits only, and on nothing else.
"""

import functools

import numpy as np

from mercer import _native, _threads

EVERYTHING = slice(None)
ROWS, COLUMNS = 256, 512  # a tile of 1 MB in float64: what one core keeps in its second-level cache
SMALL = 2**20  # entries below which one tile does it all; never less than a tile


def spans(n, size):
    """[(0, size), (size, 2 size), …, (…, n)]."""
    return [(i, min(i + size, n)) for i in range(0, n, size)]


def _lower_tiles(n):
    """Tiles (i0, i1, j0, j1) that cover the lower triangle; a tile on the diagonal ends with a square.

    COLUMNS is a multiple of ROWS, so that the rows of a tile never straddle two blocks of columns.
    """
    rows = rows_of_lower_tiles(n)
    return [(i0, i1, j0, min(j1, i1)) for i0, i1 in spans(n, rows) for j0, j1 in spans(n, COLUMNS) if j0 < i1]


def rows_of_lower_tiles(n):
    """Rows of a tile of the lower triangle: what lies right of the last diagonal entry of a tile is not written.

    Of few rows there are twice as many tiles: less of them lies above the diagonal, and the threads share more equally.
    """
    return ROWS if n > 4 * ROWS else ROWS // 2


def _all_tiles(m, n):
    """Tiles (i0, i1, j0, j1) that cover an m × n matrix."""
    return [(i0, i1, j0, j1) for i0, i1 in spans(m, ROWS) for j0, j1 in spans(n, COLUMNS)]


def symmetrise(square):
    """square = (square + squareᵀ)/2 in place: rounding may have treated the two sides differently."""
    square += square.T.copy()
    square *= square.dtype.type(0.5)


def turned(T, out):
    """Write Tᵀ into a part of a matrix whose rows are contiguous: a copy column by column would be twice the time."""
    if T.dtype == out.dtype and T.dtype in (np.float64, np.float32):
        _native.matrix.transpose(T, out)
    else:
        out[:] = T.T


def as_floats(T):
    """A tile as floats: the in-place halves of whole numbers would all be 0."""
    T = np.asarray(T)
    return T if T.dtype.kind == "f" else T.astype(float)


def result_dtype(X):
    """float32 for a float32 array, else float64."""
    return X.dtype if isinstance(X, np.ndarray) and X.dtype == np.float32 else np.dtype(np.float64)


def evaluate(kernel, X, Z, symmetric, *, lower=False, out=None):
    """K with Kᵢⱼ = k(xᵢ, zⱼ): the whole matrix, or (``lower``) the lower triangle of a symmetric one."""
    m, n = len(X), len(Z)
    if m * n <= SMALL and out is None:
        K = as_floats(kernel.prepare(X, Z).tile(EVERYTHING, EVERYTHING))
        if symmetric:
            symmetrise(K)
        return K
    if out is None:
        out = np.empty((m, n), dtype=result_dtype(X))
    tiles = _lower_tiles(n) if symmetric else _all_tiles(m, n)
    tile = kernel.prepare(X, Z).tile

    def work(index, worker):
        i0, i1, j0, j1 = tiles[index]
        T = as_floats(tile(slice(i0, i1), slice(j0, j1)))
        if symmetric and not lower and j1 > i0:
            symmetrise(T[:, i0 - j0 :])
        out[i0:i1, j0:j1] = T
        if symmetric and not lower:
            turned(T, out[j0:j1, i0:i1])

    _threads.run(work, len(tiles))
    return out


def product(kernel, X, Z, V, symmetric):
    """K V in float64, K never stored; a symmetric K is evaluated by half."""
    m, n = len(X), len(Z)
    tile = kernel.prepare(X, Z).tile
    if not symmetric:
        out = np.zeros((m, V.shape[1]))
        rows = spans(m, ROWS)

        def work(index, worker):
            i0, i1 = rows[index]
            for j0, j1 in spans(n, COLUMNS):
                out[i0:i1] += tile(slice(i0, i1), slice(j0, j1)) @ V[j0:j1]

        _threads.run(work, len(rows))
        return out

    tiles = _lower_tiles(n)
    workers = min(_threads.threads(), len(tiles)) or 1
    partial = np.zeros((workers, n, V.shape[1]))

    def both(index, worker):
        i0, i1, j0, j1 = tiles[index]
        T = tile(slice(i0, i1), slice(j0, j1))
        mine = partial[worker]
        mine[i0:i1] += T @ V[j0:j1]
        left = min(j1, i0) - j0  # columns left of the diagonal square stand for their mirror image too
        if left > 0:
            mine[j0 : j0 + left] += T[:, :left].T @ V[i0:i1]

    _threads.run(both, len(tiles), workers)
    return functools.reduce(np.add, partial) if workers > 1 else partial[0]


def contract(kernel, X, Z, W, symmetric, s=None):
    """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ by tiles, added in a fixed order; of a symmetric W the lower triangle counts twice.

    Of a symmetric W only the lower triangle and the squares on the diagonal are read. With ``s`` it is S W S.
    """
    m, n = len(X), len(Z)
    if m * n <= (ROWS * COLUMNS if symmetric else SMALL):
        return kernel.prepare(X, Z).grad(EVERYTHING, EVERYTHING, scaled(W, s, EVERYTHING, EVERYTHING))
    tiles = _lower_tiles(n) if symmetric else _all_tiles(m, n)
    grad, parts = kernel.prepare(X, Z).grad, np.zeros((len(tiles), kernel.n_theta))

    def part(i0, i1, j0, j1):
        i, j = slice(i0, i1), slice(j0, j1)
        return grad(i, j, scaled(W, s, i, j))

    def work(index, worker):
        i0, i1, j0, j1 = tiles[index]
        middle = min(j1, i0) if symmetric else j0  # left of it an entry stands for its mirror image too
        if middle > j0:
            parts[index] += 2.0 * part(i0, i1, j0, middle)
        if j1 > middle:
            parts[index] += part(i0, i1, middle, j1)

    _threads.run(work, len(tiles))
    return parts.sum(axis=0)


def scaled(W, s, i, j):
    """A tile of S W S, S = diag(s); of W where s is None."""
    part = W[i, j]
    if s is None:
        return part
    # Rows that do not touch, as those of a tile of W: the compiled loops then add in the same order for both.
    m, n = part.shape
    out = np.empty((m, n + (n < W.shape[1])), dtype=W.dtype)[:, :n]
    np.multiply(s[i, None], part, out=out)
    out *= s[j]
    return out
