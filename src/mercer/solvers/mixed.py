"""Mixed: a float32 factor of K + λI as the preconditioner of conjugate gradients in float64."""

import time

import numpy as np

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.exceptions import NotEnoughMemory, NotPositiveDefinite, NumericalWarning
from mercer.solvers.base import Inverse, Solver, check_lam
from mercer.solvers.cholesky import factorise, factorise_without_checks
from mercer.solvers.engine import lapack
from mercer.solvers.factoring import Probe, condition_number, factor, warn_of_condition
from mercer.solvers.pcg import pcg
from mercer.solvers.projected import Resolvent

RANGE = (1e-30, 1e36)  # largest diagonal entry with which float32 neither overflows nor runs dry


class Mixed(Solver):
    """K + λI ≈ L Lᵀ in float32, then conjugate gradients in float64: half the memory and half the time of Cholesky.

    The entries of K for the residuals are evaluated again in float64, tile by tile: the answer is that of float64. Each
    step costs one product K V. What only a factor gives (``diag``, ``logdet``, ``dense``) is not computed from the
    float32 one: the float64 factor is built when it is first asked for, and recorded in ``info["float64_factor"]``.

    Parameters
    ----------
    tol : float, default=1e-11
        ‖b − (K + λI)x‖/‖b‖ of each column. A residual at the rounding level of a direct solver is accepted too.
    max_iter : int, default=100
        Products K V. When they do not suffice, the float64 factor is built if it fits in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Mixed
    >>> K = DenseGram.from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> Kinv = Mixed().resolvent(K)(0.5)
    >>> (Kinv @ np.array([1.0, 2.0])).round(12)
    array([0.25, 1.25])
    >>> Kinv.info["residual"] <= 1e-11
    True
    """

    def __init__(self, tol=1e-11, max_iter=100): ...

    def resolvent(self, K, H=None):
        """λ ↦ (K + λI)⁻¹, a float32 factorisation for each λ; a trial of a search needs all of it, in float64."""

        def inverse(lam):
            return MixedInverse(K, lam, self.tol, self.max_iter)

        return Resolvent(inverse, H, lambda lam: factorise_without_checks(K, lam))

    def memory(self, n, targets=1):
        """4n² bytes, and a few vectors for each target."""
        return 4.0 * n * n + 120.0 * n * targets


class MixedInverse(Inverse):
    """(K + λI)⁻¹ by refinement of a float32 factor; made by `Mixed`."""

    def __init__(self, K, lam, tol=1e-11, max_iter=100):
        started = time.perf_counter()
        self.lam, self.n = check_lam(lam), K.n
        self._K, self._tol, self._max_iter = K, tol, max_iter
        self._exact, self._L, shift = None, None, 0.0
        self.info = {"solver": "mixed", "dtype": "float32 factor, float64 residuals", "jitter": 0.0}
        check_memory(4.0 * self.n**2, f"Mixed for n = {self.n}")
        self.probe = Probe(K)
        self._norm = self.probe.largest_eigenvalue() + self.lam
        largest = float(np.abs(K.diag()).max(initial=0.0)) + self.lam
        if RANGE[0] < largest < RANGE[1] or not np.isfinite(largest):
            self._L, shift = self._factor()
        if self._L is None:
            self._use_float64("float32 cannot hold or factor this matrix")
        else:
            self.info["preconditioner_shift"] = shift
            if self._predicted(shift) > max_iter:
                self._use_float64(f"lam is small beside the shift {shift:.1e} that the float32 factor needs")
        if self._exact is None:
            condition = condition_number(self._L, self._norm, self.lam, shift)
            self.info["condition"] = condition
            warn_of_condition(condition, K, self.lam)
        self.info["seconds"] = time.perf_counter() - started

    def _factor(self):
        """The float32 factor and its shift; (None, 0.0) where even a shift does not help, and float64 must judge."""
        try:
            return factor(self._K, self.lam, np.float32)
        except NotPositiveDefinite:
            return None, 0.0

    def _predicted(self, shift):
        """Iterations of CG when the preconditioner is too large by ``shift``: eigenvalues lie in [λ/(λ + shift), 1]."""
        if shift == 0.0:
            return 0
        ratio = 1.0 + shift / self.lam if self.lam > 0 else np.inf
        return 0.5 * np.sqrt(ratio) * np.log(2.0 / self._tol)

    def _use_float64(self, why):
        """Build the float64 factor and work with it from now on; False if it does not fit."""
        if self._exact is not None:
            return True
        try:
            # The float32 factor is given up first, and counts as free.
            held = 0.0 if self._L is None else self._L.nbytes
            check_memory(8.0 * self.n**2 - held, f"a float64 factor for n = {self.n}")
        except NotEnoughMemory:
            if self._L is None:
                raise
            return False
        self._L = None
        self._exact = factorise(self._K, self.lam)
        self.info["float64_factor"] = why
        self.info["condition"] = self._exact.info["condition"]
        self.info["jitter"] = self._exact.info["jitter"]
        return True

    def _solve(self, B):
        if self._exact is None:
            outcome = self._refine(B)
            residual = float(outcome.residual.max(initial=0.0))
            self.info.update(iterations=outcome.iterations, residual=residual)
            if outcome.converged.all():
                return outcome.X
            if not self._use_float64(f"residual {residual:.1e} after {outcome.iterations} iterations"):
                self._warn(outcome.iterations, residual)
                return outcome.X
        X = self._exact @ B
        self.info["residual"] = self._exact.info["residual"]
        return X

    def _refine(self, B):
        """Conjugate gradients in float64; the residual is scaled before it goes to float32."""

        def product(V):
            return self._K @ V + self.lam * V

        def precondition(R):
            size = np.abs(R).max(axis=0)
            size[size == 0] = 1.0
            return size * lapack.solve_lower(self._L, R / size).astype(float)

        return pcg(product, precondition, B, tol=self._tol, max_iter=self._max_iter, norm=self._norm)

    def _warn(self, iterations, residual):
        warn(
            f"Mixed: the residual is {residual:.1e} of the right-hand side after {iterations} iterations (asked: "
            f"{self._tol:.1e}), and a float64 factor does not fit in memory. Use a larger lam or more iterations.",
            NumericalWarning,
        )

    def _float64(self):
        """The float64 inverse, built when first needed."""
        if not self._use_float64("diag, logdet or dense was asked for"):
            check_memory(8.0 * self.n**2, f"a float64 factor for n = {self.n}")
        return self._exact

    def diag(self):
        """The diagonal of (K + λI)⁻¹, from a float64 factor."""
        return self._float64().diag()

    def logdet(self):
        """log det(K + λI), from a float64 factor."""
        return self._float64().logdet()

    def dense(self):
        """(K + λI)⁻¹ as a fresh symmetric array, from a float64 factor."""
        return self._float64().dense()
