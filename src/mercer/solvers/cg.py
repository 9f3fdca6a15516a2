"""CG: conjugate gradients with a low-rank preconditioner; K is only ever multiplied, never stored."""

import copy
import threading
import time

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._clock import FOREVER
from mercer._machine import within
from mercer._warn import warn
from mercer.gram import ScaledGram
from mercer.solvers.base import Inverse, Solver, check_lam
from mercer.solvers.engine import lapack
from mercer.solvers.factoring import Probe, check_finite_products, not_positive_definite
from mercer.solvers.pcg import pcg
from mercer.solvers.projected import Resolvent


class CG(Solver):
    """(K + λI) x = b by conjugate gradients, preconditioned by F Fᵀ + λI with F Fᵀ ≈ K of low rank.

    F is a randomly pivoted partial Cholesky factor, grown block by block until tr(K − F Fᵀ) <= nλ/10 or the rank is
    reached. Only K V, rows and the diagonal of K are used: memory grows with n, not n². Fast for smooth kernels and λ
    that is not tiny; slow for rough kernels with little noise.

    Parameters
    ----------
    tol : float, default=1e-8
        ‖b − (K + λI)x‖/‖b‖ of each column.
    max_iter : int, default=None
        Products K V; None is 1000.
    rank : "auto" or int, default="auto"
        Most columns of F; "auto" is 10√n, less where memory is short.
    block : "auto" or int, default="auto"
        Rows of K evaluated at once; "auto" is a tenth of the rank, at most 100.
    random_state : int, default=0
        Seed of the pivots.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import CG
    >>> K = TiledGram(Gaussian(0.2), np.linspace(0, 1, 300).reshape(-1, 1))
    >>> Kinv = CG().resolvent(K)(1e-3)
    >>> x = Kinv @ np.ones(300)
    >>> Kinv.info["residual"] <= 1e-8
    True
    """

    def __init__(self, tol=1e-8, max_iter=None, rank="auto", block="auto", random_state=0): ...

    gives = frozenset()
    iterative = True
    _clock = FOREVER

    def until(self, clock):
        """The same, which makes no product that would end after the clock, but one for each right-hand side."""
        other = copy.copy(self)
        other._clock = clock
        return other

    def resolvent(self, K, H=None):
        """λ ↦ (K + λI)⁻¹; F is shared by all λ, and grows when a smaller λ asks for it."""
        factor, max_iter = self._factor(K)
        return Resolvent(lambda lam: CGInverse(K, lam, factor, self.tol, max_iter, self._clock), H)

    def rescaled(self, K, rough=None):
        """(s, tol) ↦ (S K S + I)⁻¹; S F is the preconditioner of every S, from one F."""
        (factor, max_iter), rough = self._factor(K), K if rough is None else rough
        clock = self._clock
        return lambda s, tol: CGInverse(ScaledGram(rough, s), 1.0, ScaledColumns(factor, s), tol, max_iter, clock)

    def _factor(self, K):
        """(F, most iterations)."""
        rank = self._rank(K.n)
        most = 1000 if self.max_iter is None else int(self.max_iter)
        growing = self._clock.part(0.3)  # after that part of the time F grows no more
        return PartialCholesky(K, rank, self._block(rank), self.random_state, growing), most

    def memory(self, n, targets=1):
        """The factor F, what a block of it is made of, a small square, and a few vectors for each target."""
        rank = self._rank(n)
        return 8.0 * n * (rank + 5 * self._block(rank)) + 16.0 * rank**2 + 120.0 * n * targets

    def _block(self, rank):
        """Columns that F grows by."""
        return max(1, min(100, -(-rank // 10)) if self.block == "auto" else int(self.block))

    def _columns(self, n):
        """Columns of F that are asked for."""
        return int(np.ceil(10 * np.sqrt(n))) if self.rank == "auto" else int(self.rank)

    def _rank(self, n):
        """Columns of F that are asked for and fit in a quarter of the free memory."""
        wanted = min(n, self._columns(n))
        free = within(needed=4 * 8 * n * wanted).bytes if self.rank == "auto" else None
        return max(0, wanted if free is None else min(wanted, int(free / 4 / (8 * max(1, n)))))


class PartialCholesky:
    """F Fᵀ ≈ K: pivots drawn with probability proportional to the diagonal of K − F Fᵀ, a block at a time.

    The columns are the same whichever λ come first: for each λ the shortest leading part that suffices is used.
    """

    def __init__(self, K, rank, block, random_state=0, clock=FOREVER):
        self._K, self._rank, self._block, self._clock = K, rank, block, clock
        self._rng, self._lock = np.random.default_rng(random_state), threading.Lock()
        self._d = np.maximum(K.diag(), 0.0)
        self.scale = float(self._d.max(initial=0.0))
        self._F, self._count = np.empty((K.n, rank), order="F"), 0  # pages are taken as columns are written
        self._traces = [(0, float(self._d.sum()))]  # (columns, tr(K − F Fᵀ)) after each block

    def columns(self, target):
        """F with tr(K − F Fᵀ) <= target, or as many columns as are allowed; and that trace."""
        rounding = self._K.n * np.finfo(float).eps * self._traces[0][1]
        with self._lock:
            while self._traces[-1][1] > max(target, rounding) and self._count < self._rank and not self._clock.spent:
                if not self._grow():
                    break
            count, trace = next((pair for pair in self._traces if pair[1] <= target), self._traces[-1])
        return self._F[:, :count], trace

    def _grow(self):
        """Add one block of columns; False when nothing is left to add."""
        total, done = self._d.sum(), self._F[:, : self._count]
        if not total > 0:
            return False
        size = min(self._block, self._rank - self._count)
        S = np.unique(self._rng.choice(self._K.n, size=size, p=self._d / total))
        G = self._K.rows(S).T - done @ done[S].T
        if not np.isfinite(G).all():
            check_finite_products(self._K)
        R = self._small_factor(G[S])
        if R is None:
            return False
        new = np.linalg.solve(R, G.T).T
        self._F[:, self._count : self._count + len(S)] = new
        self._count += len(S)
        self._d = np.maximum(self._d - np.einsum("ij,ij->i", new, new), 0.0)
        self._d[S] = 0.0  # a pivot is not drawn twice
        self._traces.append((self._count, float(self._d.sum())))
        return True

    def _small_factor(self, H):
        """The factor of a block of K − F Fᵀ, shifted by a little more than rounding; None if it is only rounding."""
        shift = np.finfo(float).eps * max(np.trace(H), 4 * self.scale)
        while shift <= self.scale:
            try:
                return np.linalg.cholesky((H + H.T) / 2 + shift * np.eye(len(H)))
            except np.linalg.LinAlgError:
                shift *= 10
        return None


class ScaledColumns:
    """S F for a shared F of `PartialCholesky`."""

    def __init__(self, factor, s):
        self._inner, self._s, self._largest = factor, s, float(s.max(initial=0.0)) ** 2
        self.scale = factor.scale * self._largest

    def columns(self, target):
        """S F, and the trace it leaves."""
        F, trace = self._inner.columns(target / self._largest if self._largest > 0 else np.inf)
        return self._s[:, None] * F, trace


class CGInverse(Inverse):
    """(K + λI)⁻¹ by conjugate gradients; made by `CG`."""

    def __init__(self, K, lam, factor, tol, max_iter, clock=FOREVER):
        started = time.perf_counter()
        self.lam, self.n = check_lam(lam), K.n
        self._K, self._tol, self._max_iter, self._clock = K, tol, max_iter, clock
        self._F, trace = factor.columns(0.1 * self.n * self.lam)
        r = self._F.shape[1]
        # P = F Fᵀ + μI, P⁻¹ = (I − F (μI + FᵀF)⁻¹ Fᵀ)/μ; with λ = 0 the part that F misses stands in for it
        self._mu = self.lam if self.lam > 0 else max(trace / max(1, self.n), np.finfo(float).eps * factor.scale)
        self._small = self._F.T @ self._F
        rounding = 4 * np.sqrt(max(1, r)) * np.finfo(float).eps * self._small.max(initial=0.0)
        self._small[np.diag_indices(r)] += self._mu + rounding
        if lapack.cholesky_lower(self._small):
            raise ValueError(f"CG: the preconditioner of {K!r} cannot be factored; look for NaN or infinite entries.")
        self.probe = Probe(K)
        self._norm = self.probe.largest_eigenvalue() + self.lam
        self.info = {
            "solver": "cg",
            "dtype": "float64",
            "jitter": 0.0,
            "rank": self._F.shape[1],
            "trace_left": trace,
            "condition_bound": self._norm / self.lam if self.lam > 0 else None,
            "seconds": time.perf_counter() - started,
        }

    def _precondition(self, R):
        if self._F.shape[1] == 0:
            return R / self._mu if self._mu > 0 else R.copy()
        return (R - self._F @ lapack.solve_lower(self._small, self._F.T @ R)) / self._mu

    def _solve(self, B):
        clock, took, late = self._clock, 0.0, False

        def product(V):
            nonlocal took
            began = clock.seconds
            out = self._K @ V + self.lam * V
            took = max(took, clock.seconds - began)
            return out

        def going():
            nonlocal late
            late = not clock.fits(2.0 * took)  # the next one, and that of the residual
            return not late

        with np.errstate(invalid="ignore", over="ignore"):  # told apart below
            options = {"tol": self._tol, "max_iter": self._max_iter, "norm": self._norm, "going": going}
            outcome = pcg(product, self._precondition, B, **options)
        if not np.isfinite(outcome.residual).all():
            check_finite_products(self._K)
        if outcome.negative is not None:
            raise not_positive_definite(self._K, self.lam, outcome.negative)
        residual = float(outcome.residual.max(initial=0.0))
        self.info.update(iterations=outcome.iterations, residual=residual)
        if not outcome.converged.all():
            warn(
                f"CG stopped after {outcome.iterations} iterations with a residual of {residual:.1e} of the right-hand "
                f"side (asked: {self._tol:.1e}); the preconditioner has rank {self.info['rank']} and leaves a trace of "
                f"{self.info['trace_left']:.1e} (n lam = {self.n * self.lam:.1e}). Use a larger lam or rank, more "
                f"{'time' if late else 'iterations'}, or solver='mixed' or 'cholesky' if an n × n array fits in "
                "memory.",
                ConvergenceWarning,
            )
        return outcome.X

    def _refuse(self, what):
        raise ValueError(
            f"CG does not give {what}: it only multiplies by the inverse. Use solver='cholesky' (or 'spectral') with "
            f"{8e-9 * self.n**2:.1f} GB of memory for n = {self.n}."
        )

    def diag(self):
        """Not available: use Cholesky."""
        self._refuse("the diagonal of the inverse")

    def logdet(self):
        """Not available: use Cholesky."""
        self._refuse("the log-determinant")

    def dense(self):
        """Not available: use Cholesky."""
        self._refuse("the inverse as an array")
