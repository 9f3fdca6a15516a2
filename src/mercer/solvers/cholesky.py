"""Cholesky: K + λI = L Lᵀ in float64, in the one array that held K."""

import time

import numpy as np

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers import _lapack
from mercer.solvers._condition import Probe, norm_and_condition, warn_of_condition
from mercer.solvers._factor import factor
from mercer.solvers._pcg import pcg
from mercer.solvers.base import Inverse, Solver, check_lam

TOL, MAX_ITER = 1e-13, 60  # of the refinement, when the factor is that of a jittered matrix
POOR = 1e-8  # a refined residual above this is worth a warning


class Cholesky(Solver):
    """K + λI = L Lᵀ: n³/3 operations and one n × n array for each λ.

    Parameters
    ----------
    jitter : "auto", None or float, default="auto"
        What may be added to the diagonal when the factorisation fails, relative to the largest diagonal entry. "auto"
        begins near rounding and grows by tens up to 1e-6; None adds nothing. Whenever something is added a
        `NumericalWarning` says how much, and products with the inverse still solve the original system.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Cholesky
    >>> K = DenseGram.from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> Kinv = Cholesky().resolvent(K)(0.5)
    >>> Kinv @ np.array([1.0, 2.0])
    array([0.25, 1.25])
    >>> round(Kinv.logdet(), 4)  # log 2
    0.6931
    """

    def __init__(self, jitter="auto"):
        self.jitter = jitter

    def resolvent(self, K):
        """λ ↦ (K + λI)⁻¹, a factorisation for each λ."""
        return lambda lam: CholeskyInverse(K, lam, self.jitter)


class CholeskyInverse(Inverse):
    """(K + λI)⁻¹ = L⁻ᵀL⁻¹; made by `Cholesky`."""

    def __init__(self, K, lam, jitter="auto"):
        started = time.perf_counter()
        self.lam, self.n, self._K = check_lam(lam), K.n, K
        check_memory(8.0 * self.n**2, f"Cholesky for n = {self.n}")
        self._L, self._added = factor(K, self.lam, np.float64, jitter)
        self._probe = Probe(K)
        self._norm, condition = norm_and_condition(self._probe, self._L, self.lam, self._added)
        self.info = {
            "solver": "cholesky",
            "dtype": "float64",
            "condition": condition,
            "jitter": self._added,
            "seconds": time.perf_counter() - started,
        }
        if self._added:
            warn_of_jitter(self._added, K, self.lam)
        else:
            warn_of_condition(condition, K, self.lam)

    def _solve(self, B):
        if self._added:
            return self._refine(B)
        X = _lapack.solve_lower(self._L, B)
        self.info["residual"] = self._probe.residual(self.lam, X, B)
        return X

    def _refine(self, B):
        """Solve the original system; the jittered factor is only the preconditioner."""

        def product(V):
            return self._K @ V + self.lam * V

        def precondition(R):
            return _lapack.solve_lower(self._L, R)

        outcome = pcg(product, precondition, B, tol=TOL, max_iter=MAX_ITER, norm=self._norm, warm=True)
        residual = float(outcome.residual.max(initial=0.0))
        self.info.update(iterations=outcome.iterations, residual=residual)
        if not outcome.converged.all() and not residual <= POOR:
            warn(
                f"K + lam I is singular to working precision ({self._K!r}, lam = {self.lam:.3g}): after "
                f"{outcome.iterations} steps of refinement the residual is {residual:.1e} of the right-hand side. "
                "Use a larger lam, or merge equal and nearly equal rows.",
                NumericalWarning,
            )
        return outcome.X

    def _quad(self, B):
        if self._added:
            return B.T @ self._refine(B)
        W = _lapack.columns(B, np.float64)
        _lapack.forward(self._L, W)
        return W.T @ W

    def diag(self):
        """The diagonal of (K + λI)⁻¹ (with jitter: of the jittered matrix)."""
        return _lapack.inverse_diagonal(self._L)

    def logdet(self):
        """log det(K + λI) (with jitter: of the jittered matrix)."""
        return _lapack.logdet(self._L)

    def dense(self):
        """(K + λI)⁻¹ as a fresh symmetric array (with jitter: of the jittered matrix)."""
        check_memory(8.0 * self.n**2, f"the inverse for n = {self.n}")
        return _lapack.inverse_from_lower(self._L.copy())


def warn_of_jitter(added, K, lam):
    """Say what was added to the diagonal, and what to do."""
    warn(
        f"K + lam I is not positive definite to working precision ({K!r}, lam = {lam:.3g}); {added:.2e} was added to "
        "its diagonal to factor it. Products with the inverse are refined to the original system; the diagonal of the "
        "inverse and the log-determinant are those of the changed matrix. Use a larger lam, or merge equal and nearly "
        "equal rows.",
        NumericalWarning,
    )
