"""Sums of waves at points that lie anywhere: finufft where it is installed, else gridding by a Kaiser-Bessel window."""

import functools
import importlib
from itertools import product

import numpy as np
from scipy import fft

from mercer.gram.rows import power_of_two

WIDTH = 12  # grid points that a window covers in each direction: about ten digits
BLOCK = 2**16  # points whose windows are made at once, at least
OVER = 2  # grid points for each wave


@functools.cache
def library():
    """Return finufft, or None where it is not installed."""
    try:
        return importlib.import_module("finufft")
    except ImportError:
        return None


def to_waves(u, C, J, own=False):
    """Fₖ = Σᵢ cᵢ exp(−i k·uᵢ) of each column c of C for all |k| <= J, of shape (columns, 2J₁ + 1, …): the first kind.

    The library transforms two real columns as the real and the imaginary part of one, of like size.

    Parameters
    ----------
    u : ndarray of shape (n, d)
        In [−π, π).
    C : ndarray of shape (n, columns)
        Real.
    J : sequence of int
        Highest wave in each direction.
    own : bool, default=False
        Whether gridding is used in any case.
    """
    lib, shape, count = (None if own else library()), tuple(2 * j + 1 for j in J), C.shape[1]
    if lib is not None:
        call, both = getattr(lib, f"nufft{len(J)}d1"), np.zeros((-(-count // 2), len(u)), dtype=complex)
        scale = power_of_two(C)
        both.real, both.imag[: count // 2] = (C[:, ::2] / scale[::2]).T, (C[:, 1::2] / scale[1::2]).T
        # on one thread: several add to one grid in any order, and the last bits would differ from run to run
        F = call(*np.ascontiguousarray(u.T), both, shape, isign=-1, eps=1e-12, nthreads=1).reshape(-1, *shape)
        mirrored = np.flip(F, tuple(range(1, F.ndim))).conj()
        parts = np.stack([0.5 * (F + mirrored), -0.5j * (F - mirrored)], axis=1)
        return parts.reshape(-1, *shape)[:count] * scale.reshape(-1, *np.ones(len(J), dtype=int))
    sizes = _sizes(J)
    flat = np.zeros((count, int(np.prod(sizes))))
    for part in _blocks(len(u), flat.shape[1]):
        for place, weight in _spread(u[part], sizes):
            for grid, column in zip(flat, C[part].T, strict=True):
                grid += np.bincount(place, weight * column, minlength=len(grid))
    axes = tuple(range(1, len(sizes) + 1))
    return _cut(fft.fftn(flat.reshape(-1, *sizes), axes=axes), J) / _window_of(J, sizes)


def from_waves(u, F, own=False):
    """Re Σₖ Fₖ exp(i k·uᵢ) at all points: the second kind."""
    J = [(size - 1) // 2 for size in F.shape]
    lib = None if own else library()
    if lib is not None:
        call = getattr(lib, f"nufft{len(J)}d2")
        return call(*np.ascontiguousarray(u.T), np.ascontiguousarray(F, dtype=complex), isign=1, eps=1e-12).real
    sizes = _sizes(J)
    padded = np.zeros(sizes, dtype=complex)
    padded[np.ix_(*(np.arange(-j, j + 1) for j in J))] = F / _window_of(J, sizes)
    grid = (fft.ifftn(padded) * padded.size).real.ravel()
    out = np.zeros(len(u))
    for part in _blocks(len(u), grid.size):
        for place, weight in _spread(u[part], sizes):
            out[part] += weight * grid[place]
    return out


def _blocks(n, grid):
    """Slices of the points, of about the size of the grid: windows of all points at once take too much memory."""
    size = max(BLOCK, grid)
    return [slice(i, i + size) for i in range(0, n, size)]


def _sizes(J):
    """Grid points of each direction."""
    return tuple(fft.next_fast_len(max(OVER * (2 * j + 1), 2 * WIDTH)) for j in J)


def _beta(width=WIDTH):
    return np.pi * width * (1.0 - 0.5 / OVER)


def _kaiser(x):
    """The window at a distance of x grid points, |x| <= WIDTH/2."""
    return np.i0(_beta() * np.sqrt(np.maximum(1.0 - (2.0 * x / WIDTH) ** 2, 0.0))) / np.i0(_beta())


def _spread(u, sizes):
    """Yield (flat place on the grid, weight) of all points, for each of the places that a window covers."""
    places, weights = [], []
    for column, size in zip(u.T, sizes, strict=True):
        x = (column % (2.0 * np.pi)) * (size / (2.0 * np.pi))
        first = np.ceil(x - WIDTH / 2).astype(np.int64)
        places.append([(first + j) % size for j in range(WIDTH)])
        weights.append([_kaiser(first + j - x) for j in range(WIDTH)])
    for offset in product(range(WIDTH), repeat=len(sizes)):
        place, weight = 0, 1.0
        for axis, j in enumerate(offset):
            place, weight = place * sizes[axis] + places[axis][j], weight * weights[axis][j]
        yield place, weight


def _cut(whole, J):
    return whole[np.ix_(np.arange(len(whole)), *(np.arange(-j, j + 1) for j in J))]


def _window_of(J, sizes):
    """The transform of the window at all waves: what gridding multiplies them by."""
    out = np.ones(())
    x = np.linspace(-WIDTH / 2, WIDTH / 2, 4001)
    value = _kaiser(x)
    for j, size in zip(J, sizes, strict=True):
        k = np.arange(-j, j + 1)
        one = np.trapezoid(value * np.cos(2.0 * np.pi * k[:, None] * x / size), x, axis=1)
        out = np.multiply.outer(out, one)
    return out
