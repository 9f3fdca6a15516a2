"""Fourier features: a stationary kernel in few columns as a sum over an even grid of frequencies (needs finufft)."""

import math
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2
from scipy.stats import f as fisher

from mercer.gram.rows import power_of_two

INSTALL = "install finufft, by pip install 'mercer[fourier]'"


def has_finufft():
    """Whether finufft is installed; it is not loaded."""
    return find_spec("finufft") is not None


def load_finufft():
    """Return finufft; ImportError that names the extra where it is missing."""
    try:
        return import_module("finufft")
    except ImportError:
        raise ImportError(f"Fourier() needs finufft, which is not installed: {INSTALL}.") from None


def to_frequencies(u, C, J):
    """Fₖ = Σᵢ cᵢ exp(−i k·uᵢ) of each column c of C for all |k| <= J, of shape (columns, 2J₁ + 1, …): the first kind.

    Two real columns are transformed as the real and the imaginary part of one, scaled to like size.

    Parameters
    ----------
    u : ndarray of shape (n, d)
        In [−π, π).
    C : ndarray of shape (n, columns)
        Real.
    J : sequence of int
        Highest frequency in each direction.
    """
    shape, count, scale = tuple(2 * j + 1 for j in J), C.shape[1], power_of_two(C)
    call, both = getattr(load_finufft(), f"nufft{len(J)}d1"), np.zeros((-(-count // 2), len(u)), dtype=complex)
    both.real, both.imag[: count // 2] = (C[:, ::2] / scale[::2]).T, (C[:, 1::2] / scale[1::2]).T
    # on one thread: several add to one grid in any order, and the last bits would differ from run to run
    F = call(*np.ascontiguousarray(u.T), both, shape, isign=-1, eps=1e-12, nthreads=1).reshape(-1, *shape)
    mirrored = np.flip(F, tuple(range(1, F.ndim))).conj()
    parts = np.stack([0.5 * (F + mirrored), -0.5j * (F - mirrored)], axis=1)
    return parts.reshape(-1, *shape)[:count] * scale.reshape(-1, *np.ones(len(J), dtype=int))


def from_frequencies(u, F):
    """Re Σₖ Fₖ exp(i k·uᵢ) at all points: the second kind."""
    call = getattr(load_finufft(), f"nufft{F.ndim}d2")
    return call(*np.ascontiguousarray(u.T), np.ascontiguousarray(F, dtype=complex), isign=1, eps=1e-12).real


class FourierFeatures:
    """φ_k(x) = D_k exp(2πi ξ_k·x) on the box of some rows, with Σ φ_k(x) φ̄_k(z) = k(x, z) up to ``eps``.

    Coefficients are real numbers of Hartley (`mercer.solvers.toeplitz`), one for each frequency.

    Parameters
    ----------
    kernel : Kernel
        With ``matern_parameters``.
    low, high : ndarray of shape (d,)
        Corners of the box, in the space of the kernel.
    eps : float
    reach : float, default=1.0
        Factor by which length scales may change on the same grid.
    most : float, default=inf
        Features that are allowed.
    margin : float, default=0.05
        How far outside the box new inputs may lie, relative to its width.

    Attributes
    ----------
    J : list of int
        Highest frequency of each column.
    D2 : ndarray of shape (M,)
        D².
    missing : float
        k(x, x) − Σ D².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.fourier import FourierFeatures
    >>> from mercer.kernels import Gaussian
    >>> features = FourierFeatures(2.0 * Gaussian(0.5), np.zeros(1), np.ones(1), 1e-6)
    >>> bool(abs(features.D2.sum() - 2.0) < 1e-5)
    True
    """

    def __init__(self, kernel, low, high, eps, reach=1.0, most=math.inf, margin=0.05):
        self.low, self.high, self._in_space, self._margin = low, high, kernel.in_space, margin
        self._varies = high > low  # a column that is constant needs no frequencies: k on the others is of its family
        self._varies[0] |= not self._varies.any()
        self.d = int(self._varies.sum())
        amplitude, self.nu, scale = self._parameters(kernel)
        low, width = low[self._varies], (high - low)[self._varies]
        low, width = low - margin * width, (1.0 + 2.0 * margin) * width
        self.centre = low + width / 2
        self.spacing = 1.0 / (width + self._support(eps) * reach * scale)
        highest = self._highest(eps) * reach / scale
        self.J = [max(1, math.ceil(top / h)) for top, h in zip(highest, self.spacing, strict=True)]
        self.shape = tuple(2 * j + 1 for j in self.J)
        self.count = math.prod(self.shape)
        if self.count > most:
            raise TooManyFeatures(
                f"eps={eps:g} needs {self.count:.3g} features for {kernel!r} on a box of {np.round(width, 3).tolist()}"
                f"; {most:.0f} are allowed. Use a larger eps, or Neighbours()."
            )
        self.D2 = self.spectrum(kernel)
        self.missing = max(amplitude - float(self.D2.sum()), 0.0)

    def _parameters(self, kernel):
        """(amplitude, ν, ℓ of the columns that vary)."""
        d = len(self.low)
        found = kernel.matern_parameters(d) if d <= 3 else None
        if found is None:
            raise ValueError(
                f"{kernel!r} of {d} columns has no Fourier features: Fourier() is for Gaussian and Matérn kernels of "
                "one to three columns. Use Neighbours()."
            )
        return *found[:2], found[2][self._varies]

    def _support(self, eps):
        """Distance, in length scales, at which k has fallen below eps."""
        if math.isinf(self.nu):
            return math.sqrt(-2.0 * math.log(eps)) + 0.5
        return (-math.log(eps) + 1.0 + 2.0 * self.nu) / math.sqrt(2.0 * self.nu)

    def _highest(self, eps):
        """Frequency beyond which the spectrum has less than eps: of a normal, or of Student's distribution."""
        d = self.d
        tail = chi2.isf(eps, d) if math.isinf(self.nu) else d * fisher.isf(eps, d, 2.0 * self.nu)
        return math.sqrt(tail) / (2.0 * math.pi)

    def _squares(self, scale):
        """(ℓξ)² of all frequencies, for each column."""
        axes = [
            (length * h * np.arange(-j, j + 1)) ** 2 for length, h, j in zip(scale, self.spacing, self.J, strict=True)
        ]
        return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")])

    def spectrum(self, kernel):
        """D², the spectral density, of a kernel with other length scales or another amplitude on this grid."""
        amplitude, _, scale = self._parameters(kernel)
        square, d, nu = self._squares(scale).sum(axis=0), self.d, self.nu
        if math.isinf(nu):
            logs = d / 2 * math.log(2.0 * math.pi) - 2.0 * math.pi**2 * square
        else:
            logs = gammaln(nu + d / 2) - gammaln(nu) + d * math.log(2.0) + d / 2 * math.log(math.pi)
            logs += nu * math.log(2.0 * nu) - (nu + d / 2) * np.log(2.0 * nu + 4.0 * math.pi**2 * square)
        return amplitude * float(np.prod(self.spacing * scale)) * np.exp(logs)

    def slopes(self, kernel):
        """∂ log D²/∂ log θ, of shape (p, M).

        Amplitude and length scales are products of hyper-parameters, so that differences of their logs are exact.
        """
        squares = self._squares(self._parameters(kernel)[2])
        if math.isinf(self.nu):
            fall = -2.0 * math.pi**2
        else:
            fall = -(self.nu + self.d / 2) * 4.0 * math.pi**2
            fall = fall / (2.0 * self.nu + 4.0 * math.pi**2 * squares.sum(axis=0))
        own = np.vstack([np.ones(self.count), 1.0 + 2.0 * fall * squares])
        at, steps = kernel.theta, np.eye(len(kernel.theta))
        ways = np.array([self._logs(kernel.with_theta(at + e)) - self._logs(kernel) for e in steps])
        ways = ways.reshape(len(at), self.d + 1)
        return ways @ own

    def _logs(self, kernel):
        """Log amplitude and log length scales."""
        amplitude, _, scale = self._parameters(kernel)
        return np.log(np.append(amplitude, scale))

    def angles(self, X):
        """2πh(x − c), in [−π, π) inside the box."""
        return 2.0 * math.pi * self.spacing * (self._in_space(X)[:, self._varies] - self.centre)

    def inside(self, X):
        """Whether inputs lie in the box, or within its margin."""
        X, width = self._in_space(X), self._margin * (self.high - self.low)
        return np.all((X >= self.low - width) & (X <= self.high + width), axis=1)

    def sums(self, u, C):
        """Σ c exp(−i k·u) of each column for |k| <= 2J: what a `mercer.solvers.toeplitz.Convolution` is made of."""
        return to_frequencies(u, C, [2 * j for j in self.J])

    def adjoint(self, sums):
        """ΦᵀC of shape (M, columns), without D, of what ``sums`` returned."""
        F = sums[(slice(None), *(slice(j, -j) for j in self.J))]
        return (F.real + F.imag).reshape(len(F), -1).T

    def at(self, u, v):
        """Φ v, without D."""
        v = v.reshape(self.shape)
        other = np.flip(v)
        return from_frequencies(u, 0.5 * ((v + other) + 1j * (v - other)))

    def rows(self, u):
        """Φ itself, of shape (n, M)."""
        phase = np.zeros((len(u), 1))
        for column, j in zip(u.T, self.J, strict=True):
            phase = (phase[:, :, None] + column[:, None, None] * np.arange(-j, j + 1)).reshape(len(u), -1)
        return np.cos(phase) - np.sin(phase)


class TooManyFeatures(ValueError):
    """A kernel is too rough, or its length scales too short, for so many features."""
