"""Spectral: K = U Λ Uᵀ once, then every λ in O(n²)."""

import time

import numpy as np

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers._condition import Probe, warn_of_condition
from mercer.solvers._factor import check_finite, not_positive_definite
from mercer.solvers._pieces import threads_for
from mercer.solvers.base import Inverse, Solver, check_lam


class Spectral(Solver):
    """K = U Λ Uᵀ,  (K + λI)⁻¹ = U (Λ + λI)⁻¹ Uᵀ: one eigen-decomposition, about 9n³ operations, serves every λ.

    Parameters
    ----------
    scale : float, default=0.0
        Norm of a larger matrix that K is a part of, whose rounding K then has too.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Spectral
    >>> spectrum = Spectral().resolvent(DenseGram.from_matrix(np.array([[2.0, 1.0], [1.0, 2.0]])))
    >>> spectrum.eigenvalues
    array([1., 3.])
    >>> [round(spectrum(lam).logdet(), 3) for lam in (0.0, 1.0)]
    [1.099, 2.079]
    """

    def __init__(self, scale=0.0):
        self.scale = scale

    def resolvent(self, K):
        """λ ↦ (K + λI)⁻¹, with ``eigenvalues`` (ascending, >= 0) and ``eigenvectors``."""
        return Spectrum(K, self.scale)

    def memory(self, n, targets=1):
        """40n² bytes at the peak: K, LAPACK's copy and its work space, and U."""
        return 40.0 * n * n + 64.0 * n * targets


class Spectrum:
    """λ ↦ U (Λ + λI)⁻¹ Uᵀ; made by `Spectral`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n,)
        Λ, ascending. Values between −n u max(max|Λ|, scale) and 0 are rounding, and set to 0; ``clipped`` counts them.
    eigenvectors : ndarray of shape (n, n)
        U, one eigenvector in each column.
    clipped : int
        How many eigenvalues were set to 0.
    seconds : float
        What the decomposition took.
    """

    def __init__(self, K, scale=0.0):
        started = time.perf_counter()
        self.n, self._K = K.n, K
        check_memory(40.0 * K.n**2, f"an eigen-decomposition for n = {K.n}")
        A = K.dense()
        if not np.isfinite(A).all():
            check_finite(K)
        # numpy's eigh: it gives up the GIL, and its LAPACK counts with 64 bits.
        with threads_for(K.n):
            e, self.eigenvectors = np.linalg.eigh(A)
        del A
        if K.n and e[0] < -K.n * np.finfo(float).eps * max(np.abs(e).max(), scale):
            raise not_positive_definite(K, 0.0, self.eigenvectors[:, 0])
        self._probe = Probe(K)
        self.clipped = int(np.count_nonzero(e < 0))
        self.eigenvalues = np.maximum(e, 0.0)
        self.seconds = time.perf_counter() - started

    def __call__(self, lam):
        """(K + λI)⁻¹."""
        return SpectralInverse(self, lam)

    def __repr__(self):
        return f"Spectrum(n={self.n})"


class SpectralInverse(Inverse):
    """(K + λI)⁻¹ = U (Λ + λI)⁻¹ Uᵀ; made by `Spectral`. At λ = 0 zero eigenvalues are left out: the pseudo-inverse."""

    def __init__(self, spectrum, lam):
        self.lam, self.n = check_lam(lam), spectrum.n
        self._U, self._probe = spectrum.eigenvectors, spectrum._probe
        self._sum = spectrum.eigenvalues + self.lam
        largest = self._sum.max(initial=0.0)
        used = self._sum > self.n * np.finfo(float).eps * largest if self.lam == 0 else self._sum > 0
        self._inverse = np.divide(1.0, self._sum, out=np.zeros(self.n), where=used)
        condition = float(largest / self._sum[used].min()) if used.any() else 1.0
        self.info = {
            "solver": "spectral",
            "dtype": "float64",
            "condition": condition,
            "jitter": 0.0,
            "clipped_eigenvalues": spectrum.clipped,
            "rank": int(np.count_nonzero(used)),
            "seconds": spectrum.seconds,
        }
        if not used.all():
            warn(
                f"K is singular ({spectrum._K!r}): {self.info['rank']} of {self.n} eigenvalues are above rounding. At "
                "lam = 0 the pseudo-inverse is used; a positive lam has an inverse.",
                NumericalWarning,
            )
        warn_of_condition(condition, spectrum._K, self.lam)

    def _solve(self, B):
        X = self._U @ (self._inverse[:, None] * (self._U.T @ B))
        self.info["residual"] = self._probe.residual(self.lam, X, B)
        return X

    def _quad(self, B):
        C = np.sqrt(self._inverse)[:, None] * (self._U.T @ B)
        return C.T @ C

    def diag(self):
        """Σⱼ Uᵢⱼ²/(Λⱼ + λ)."""
        return np.einsum("ij,ij,j->i", self._U, self._U, self._inverse)

    def logdet(self):
        """Σⱼ log(Λⱼ + λ); −inf for a singular K at λ = 0."""
        with np.errstate(divide="ignore"):
            return float(np.log(self._sum).sum())

    def dense(self):
        """U (Λ + λI)⁻¹ Uᵀ as a fresh symmetric array."""
        root = self._U * np.sqrt(self._inverse)
        return root @ root.T
