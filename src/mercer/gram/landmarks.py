"""Landmarks z: tiles of k(X, z), and which rows are drawn for them."""

import numpy as np

from mercer import _tiles
from mercer.kernels.objects.counts import mix


def fill(kernel, X, Z, out, centre=None):
    """Write k(X, Z), less a centre of each column, into ``out``, by tiles in this thread: what a leaf does."""
    tile = kernel.prepare(X, Z).tile
    for i0, i1 in _tiles.spans(len(X), _tiles.ROWS):
        for j0, j1 in _tiles.spans(len(Z), _tiles.COLUMNS):
            k, part = tile(slice(i0, i1), slice(j0, j1)), out[i0:i1, j0:j1]
            if centre is None:
                part[:] = k
            else:
                np.subtract(k, centre[j0:j1], out=part, casting="same_kind")
    return out


def draw_rows(n, size, seed):
    """``size`` of the rows 0, …, n − 1, those whose hash is smallest, sorted: the same in every process and order."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.argpartition(row_hash(0, n, seed), size)[:size])


def row_hash(start, stop, seed):
    """A number in 0, …, 2⁶⁴ − 1 for each row from start to stop, of the row and the seed alone.

    Examples
    --------
    >>> from mercer.gram.landmarks import row_hash
    >>> bool((row_hash(0, 9, 1)[4:] == row_hash(4, 9, 1)).all())
    True
    """
    return mix(np.arange(start, stop, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15 * 2 * int(seed) % 2**64))
