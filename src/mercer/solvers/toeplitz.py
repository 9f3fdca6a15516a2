"""T = ΦᴴWΦ of waves on an even grid: a convolution, so that a product costs two fast transforms.

The coefficients of a real function, F₋ₖ = F̄ₖ, are kept as one real number each, v = Re F + Im F (Hartley). That is a
rotation, in which T is a real symmetric matrix and everything is done.
"""

from itertools import product as pairs

import numpy as np
from scipy import fft

from mercer import _machine


class Convolution:
    """V ↦ T V for T = ΦᴴWΦ, Φ waves |k| <= J, in Hartley coordinates.

    Parameters
    ----------
    sums : ndarray of complex of shape (4J₁ + 1, …)
        Σᵢ wᵢ exp(−i k·uᵢ) for all |k| <= 2J.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.toeplitz import Convolution
    >>> u, k = np.array([0.3, 1.0, -2.0]), np.arange(-1, 2)
    >>> T = Convolution(np.exp(-1j * np.arange(-2, 3)[:, None] * u).sum(axis=1))
    >>> Phi = np.cos(k * u[:, None]) - np.sin(k * u[:, None])  # the waves in Hartley coordinates
    >>> bool(np.allclose(T(np.eye(3)), Phi.T @ Phi))
    True
    """

    def __init__(self, sums):
        self.sums, self.J = sums, [(size - 1) // 4 for size in sums.shape]
        self.shape = tuple(2 * j + 1 for j in self.J)
        self.sizes = tuple(fft.next_fast_len(4 * j + 1, real=True) for j in self.J)
        whole = np.zeros(self.sizes, dtype=complex)
        whole[np.ix_(*(np.arange(-2 * j, 2 * j + 1) for j in self.J))] = sums
        self._density = fft.ifftn(whole).real * whole.size
        self._axes, self._cores = tuple(range(1, len(self.J) + 1)), _machine.cores()

    def __call__(self, V):
        """T V for V of shape (M, t)."""
        F = self._spread(np.ascontiguousarray(V.T).reshape(-1, *self.shape))
        f = fft.irfftn(F, self.sizes, self._axes, workers=self._cores)
        f *= self._density
        return self._gathered(fft.rfftn(f, axes=self._axes, workers=self._cores)).reshape(V.shape[1], -1).T

    def _corners(self):
        """(places on the grid, places among the waves): waves below 0 stand at the end of a direction."""
        ways = [[(slice(0, j + 1), slice(j, None)), (slice(n - j, n), slice(0, j))] for j, n in self._leading()]
        for chosen in pairs(*ways):
            yield tuple(a for a, _ in chosen), tuple(b for _, b in chosen)

    def _leading(self):
        return list(zip(self.J[:-1], self.sizes[:-1], strict=True))

    def _spread(self, v):
        """The grid of waves of numbers of Hartley, its last direction from 0 on."""
        last = self.J[-1]
        a, b = v[..., last:], np.flip(v, self._axes)[..., last:]
        F, out = 0.5 * ((a + b) + 1j * (a - b)), np.zeros((len(v), *self.sizes[:-1], self.sizes[-1] // 2 + 1), complex)
        for there, here in self._corners():
            out[(slice(None), *there, slice(0, last + 1))] = F[(slice(None), *here)]
        return out

    def _gathered(self, C):
        """Back."""
        last = self.J[-1]
        F = np.empty((len(C), *self.shape[:-1], last + 1), dtype=complex)
        for there, here in self._corners():
            F[(slice(None), *here)] = C[(slice(None), *there, slice(0, last + 1))]
        v = np.empty((len(C), *self.shape))
        v[..., : last + 1] = np.flip(F.real - F.imag, self._axes)
        v[..., last:] = F.real + F.imag
        return v

    def block(self, chosen):
        """T of some waves: Re g(j − k) + Im g(j + k)."""
        at = np.array(np.unravel_index(chosen, self.shape)) - np.array(self.J)[:, None]
        less, more = (
            tuple(one[:, None] + sign * one + 2 * j for one, j in zip(at, self.J, strict=True)) for sign in (-1, 1)
        )
        return self.sums[less].real + self.sums[more].imag
