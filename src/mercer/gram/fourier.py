"""Fourier: a stationary kernel in few columns as a sum of waves on an even grid of frequencies."""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import fft
from scipy.special import gammaln
from scipy.stats import chi2
from scipy.stats import f as fisher

from mercer.gram.nufft import from_waves, to_waves

MOST = 2**23  # waves: beyond, one product takes seconds and a vector 130 MB
MARGIN = 0.05  # of the width of the data: how far outside new inputs may lie


@dataclass(frozen=True)
class Fourier:
    """k(x, z) ≈ Σⱼ Dⱼ² exp(2πi ξⱼ·(x − z)): what ``approximation=`` asks of a process in one to three columns.

    On an even grid of frequencies the normal equations are a Toeplitz matrix: after one sum over the rows a product
    costs M log M for M waves, however many rows there are. For `Gaussian` and Matérn kernels; rough ones need many
    waves. The mean is that of the exact process to about ``eps``; variances are those of the k nearest rows.

    Parameters
    ----------
    eps : float, default=1e-4
        What the waves may miss of k, relative to k(x, x).
    k : int, default=32
        Neighbours of the variance and of the search of hyper-parameters.
    random_state : int, default=0
        Seed of the rows that hyper-parameters are learnt on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Fourier, GaussianProcessRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 10, 1000)[:, None]
    >>> near, exact = (
    ...     GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None, approximation=how).fit(X, np.sin(X[:, 0]))
    ...     for how in (Fourier(1e-6), None)
    ... )
    >>> bool(np.abs(near.predict(X) - exact.predict(X)).max() < 1e-6)
    True
    """

    eps: float = 1e-4
    k: int = 32
    random_state: int = 0

    def check(self):
        """Return self, or raise ValueError for what cannot be."""
        if not isinstance(self.eps, Real) or isinstance(self.eps, bool) or not 1e-10 <= self.eps <= 0.1:
            raise ValueError(f"eps must be between 1e-10 and 0.1, got {self.eps!r}.")
        return self


class Waves:
    """φ_j(x) = D_j exp(2πi ξⱼ·x) on the box of some rows, with Σ φ_j(x) φ̄_j(z) = k(x, z) up to ``eps``.

    Parameters
    ----------
    kernel : Kernel
        With ``waves``.
    low, high : ndarray of shape (d,)
        Corners of the box.
    eps : float

    Attributes
    ----------
    J : list of int
        Highest wave of each column.
    D2 : ndarray
        D², of shape (2J₁ + 1, …).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.fourier import Waves
    >>> from mercer.kernels import Gaussian
    >>> waves = Waves(2.0 * Gaussian(0.5), np.zeros(1), np.ones(1), 1e-6)
    >>> bool(abs(waves.D2.sum() - 2.0) < 1e-5)
    True
    """

    def __init__(self, kernel, low, high, eps):
        d = len(low)
        found = kernel.waves(d)
        if found is None or d > 3:
            raise ValueError(
                f"{kernel!r} of {d} columns is no sum of waves: Fourier() is for Gaussian and Matérn kernels of one to "
                "three columns. Use Neighbours()."
            )
        self.amplitude, self.nu, self.scale = found
        self.low, self.high, width = low, high, high - low
        low, width = low - MARGIN * width, (1.0 + 2.0 * MARGIN) * width
        self.centre = low + width / 2
        reach, most = self._reach(eps), self._highest(eps, d)
        self.h = 1.0 / (width / self.scale + reach)
        self.J = [max(1, math.ceil(most / h)) for h in self.h]
        count = math.prod(2 * j + 1 for j in self.J)
        if count > MOST:
            raise ValueError(
                f"eps={eps:g} needs {count:.3g} waves for {kernel!r} on a box of {np.round(width, 3).tolist()}; {MOST} "
                "are allowed. Use a larger eps, or Neighbours()."
            )
        grid = np.meshgrid(*(h * np.arange(-j, j + 1) for h, j in zip(self.h, self.J, strict=True)), indexing="ij")
        self.D2 = self.amplitude * float(np.prod(self.h)) * self._density(sum(axis**2 for axis in grid), d)

    def _reach(self, eps):
        """Distance, in length scales, at which k has fallen below eps."""
        if math.isinf(self.nu):
            return math.sqrt(-2.0 * math.log(eps)) + 0.5
        return (-math.log(eps) + 1.0 + 2.0 * self.nu) / math.sqrt(2.0 * self.nu)

    def _highest(self, eps, d):
        """Frequency beyond which the spectrum has less than eps: of a normal, or of Student's distribution."""
        tail = chi2.isf(eps, d) if math.isinf(self.nu) else d * fisher.isf(eps, d, 2.0 * self.nu)
        return math.sqrt(tail) / (2.0 * math.pi)

    def _density(self, square, d):
        """The Fourier transform of the kernel of length 1 and amplitude 1."""
        if math.isinf(self.nu):
            return (2.0 * math.pi) ** (d / 2) * np.exp(-2.0 * math.pi**2 * square)
        nu = self.nu
        logs = gammaln(nu + d / 2) - gammaln(nu) + d * math.log(2.0) + d / 2 * math.log(math.pi)
        logs += nu * math.log(2.0 * nu) - (nu + d / 2) * np.log(2.0 * nu + 4.0 * math.pi**2 * square)
        return np.exp(logs)

    def angles(self, X):
        """2πh(x − c)/ℓ, in [−π, π) inside the box."""
        return 2.0 * math.pi * self.h * ((X - self.centre) / self.scale)

    def inside(self, X):
        """Whether inputs lie in the box, or within its margin."""
        width = MARGIN * (self.high - self.low)
        return np.all((X >= self.low - width) & (X <= self.high + width), axis=1)

    def adjoint(self, u, c):
        """Φᴴc, without D."""
        return to_waves(u, c, self.J)

    def at(self, u, F):
        """Re Φ F, without D."""
        return from_waves(u, F)

    def toeplitz(self, u, weight):
        """F ↦ Φᴴ diag(w) Φ F: a convolution, whose kernel is one sum over the rows."""
        wide = [2 * j for j in self.J]
        sizes = [fft.next_fast_len(4 * j + 1) for j in self.J]
        kernel = np.zeros(sizes, dtype=complex)
        kernel[np.ix_(*(np.arange(-j, j + 1) for j in wide))] = to_waves(u, weight, wide)
        transform, inner = fft.fftn(kernel, workers=-1), tuple(slice(0, 2 * j + 1) for j in self.J)

        def product(F):
            padded = fft.ifftn(transform * fft.fftn(F, sizes, workers=-1), workers=-1)
            return padded[inner]

        return product
