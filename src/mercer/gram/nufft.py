"""Sums of waves at points that lie anywhere: finufft where it is installed, else gridding by a Kaiser-Bessel window."""

import functools
import importlib
from itertools import product

import numpy as np
from scipy import fft

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


def to_waves(u, c, J, own=False):
    """Fₖ = Σᵢ cᵢ exp(−i k·uᵢ) for all |k| <= J, of shape (2J₁ + 1, …): the first kind.

    Parameters
    ----------
    u : ndarray of shape (n, d)
        In [−π, π).
    c : ndarray of shape (n,)
        Real.
    J : sequence of int
        Highest wave in each direction.
    own : bool, default=False
        Whether gridding is used in any case.
    """
    lib, shape = (None if own else library()), tuple(2 * j + 1 for j in J)
    if lib is not None:
        call = getattr(lib, f"nufft{len(J)}d1")
        # on one thread: several add to one grid in any order, and the last bits would differ from run to run
        return call(*np.ascontiguousarray(u.T), c.astype(complex), shape, isign=-1, eps=1e-12, nthreads=1)
    sizes = _sizes(J)
    flat = np.zeros(int(np.prod(sizes)))
    for part in _blocks(len(u), flat.size):
        for place, weight in _spread(u[part], sizes):
            flat += np.bincount(place, weight * c[part], minlength=flat.size)
    whole = fft.fftn(flat.reshape(sizes))
    return _cut(whole, J) / _window_of(J, sizes)


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
    return whole[np.ix_(*(np.arange(-j, j + 1) for j in J))]


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
