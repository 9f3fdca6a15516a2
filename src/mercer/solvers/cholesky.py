"""Cholesky: K + λI = L Lᵀ in float64, in the one array that held K."""

import time

import numpy as np

from mercer._machine import check_memory
from mercer._threads import run
from mercer._tiles import spans
from mercer._warn import warn
from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.gram import DenseGram
from mercer.solvers import update
from mercer.solvers.base import Explicit, Inverse, Solver, check_lam, column_norms
from mercer.solvers.engine import lapack
from mercer.solvers.engine.lapack import FEW_ROWS, ONE_CALL, add_symmetric, combine, sandwich, square
from mercer.solvers.factoring import Probe, attempt, factor, lower, norm_and_condition, warn_of_condition
from mercer.solvers.pcg import pcg
from mercer.solvers.projected import Resolvent


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

    def __init__(self, jitter="auto"): ...

    def resolvent(self, K, H=None):
        """λ ↦ (K + λI)⁻¹, a factorisation for each λ."""
        return Resolvent(lambda lam: factorise(K, lam, self.jitter), H, lambda lam: factorise_without_checks(K, lam))


def factorise(K, lam, jitter="auto"):
    """(K + λI)⁻¹ with its condition; jitter is added where that is allowed, with a warning."""
    started = time.perf_counter()
    lam = check_lam(lam)
    check_memory(8.0 * K.n**2, f"Cholesky for n = {K.n}")
    probe = first = None
    if K.n <= 256:  # a second matrix is nothing; evaluated once, looked at, then factored where it is
        A = K.dense()
        probe = Probe(DenseGram.from_matrix(A, K))
        A.reshape(-1)[:: K.n + 1] += lam
        first = lower(A)
    L, added = factor(K, lam, np.float64, jitter, first)
    probe = Probe(K) if probe is None else probe
    norm, condition = norm_and_condition(probe, L, lam, added)
    info = {
        "solver": "cholesky",
        "dtype": "float64",
        "condition": condition,
        "jitter": added,
        "seconds": time.perf_counter() - started,
    }
    if added:
        warn_of_jitter(added, K, lam)
    else:
        warn_of_condition(condition, K, lam)
    return CholeskyInverse(L, lam, info, probe, (K, norm) if added else None)


def factorise_without_checks(K, lam):
    """(K + λI)⁻¹ for a trial of a search: nothing is added, and no condition estimated."""
    lam = check_lam(lam)
    L, bad = attempt(K, lam, np.dtype(np.float64))
    if bad:
        raise NotPositiveDefinite(
            f"K + lam I is not positive definite ({K!r}, lam = {lam:.3g}): pivot {bad} of {K.n} is not positive; use a "
            "larger lam."
        )
    return CholeskyInverse(L, lam)


class CholeskyInverse(Inverse):
    """(K + λI)⁻¹ = L⁻ᵀL⁻¹ from a factor that is kept: halves of quadratic forms, rows added and removed.

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Lower triangular, C-ordered; what is above the diagonal is not read.
    lam : float
    info : dict, default=None
    probe : Probe, default=None
        Rows of K, from which residuals are estimated.
    original : (Gram, float), default=None
        K and ‖K + λI‖, where L is the factor of a changed matrix: products are then refined to the original system.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.cholesky import CholeskyInverse
    >>> Kinv = CholeskyInverse(np.linalg.cholesky([[2.0, 1.0], [1.0, 2.0]]), lam=1.0)
    >>> Kinv.insert(2, np.array([1.0, 0.0]), 2.0).remove(1).dense().round(4)  # of [[2, 1], [1, 2]]
    array([[ 0.6667, -0.3333],
           [-0.3333,  0.6667]])
    """

    def __init__(self, L, lam, info=None, probe=None, original=None):
        self._L, self.lam, self.n = L, check_lam(lam), len(L)
        self.probe, self._original = probe, original
        self._last, self._measured = None, probe is None
        self._info = {"solver": "cholesky", "dtype": "float64", "jitter": 0.0} if info is None else info

    @property
    def info(self):
        """What was done; the last residual is measured when it is first read, unless the errors of a fit are known."""
        if self._last is not None:
            (X, B), self._last = self._last, None
            self._info["residual"] = self.probe.residual(self.lam, X, B)
        return self._info

    def errors(self, alpha, rest):
        """See `Inverse.errors`; the residual is known from them."""
        found = super().errors(alpha, rest)
        if found is not None and self._original is None:
            size, self._last, self._measured = column_norms(rest), None, True
            share = np.divide(found[1], size, out=np.zeros_like(size), where=size > 0)
            self._info["residual"] = float(share.max(initial=0.0))
        return found

    @property
    def factor(self):
        """L: what lies above its diagonal has no meaning."""
        return self._L

    def state(self, whole=True):
        """{name: value}: what a file keeps, the factor if ``whole``; ``norm`` is ‖K + λI‖ where it is of more."""
        norm = None if self._original is None else self._original[1]
        return {"factor": np.tril(self._L) if whole else None, "lam": self.lam, "info": self.info, "norm": norm}

    @classmethod
    def from_state(cls, state, K):
        """Return the inverse that had this state; K is the Gram, which is factored again where no factor was kept."""
        original, L, lam = None if state["norm"] is None else (K, state["norm"]), state["factor"], state["lam"]
        if L is None:
            check_memory(8.0 * K.n**2, f"Cholesky for n = {K.n}")
            L = factor(K, lam, np.float64, "auto")[0]
        return cls(L, lam, state["info"], original=original)

    def half(self, B):
        """L⁻¹B, as a fresh array in column order."""
        return self.half_inplace(lapack.columns(B, np.float64))

    def half_inplace(self, B):
        """B ← L⁻¹B for B in column order; returns it."""
        lapack.forward(self._L, B)
        return B

    def other_half(self, B):
        """L⁻ᵀB, as a fresh array in column order: after ``half`` it is the whole inverse."""
        W = lapack.columns(B, np.float64)
        lapack.backward(self._L, W)
        return W

    def _solve(self, B):
        if self._original is not None:
            return self._refine(B)
        X = lapack.solve_lower(self._L, B)
        self._last = None if self._measured else (X, B)
        return X

    def _refine(self, B):
        """Solve the original system; the jittered factor is only the preconditioner."""
        K, norm = self._original

        def product(V):
            return K @ V + self.lam * V

        def precondition(R):
            return lapack.solve_lower(self._L, R)

        outcome = pcg(product, precondition, B, tol=1e-13, max_iter=60, norm=norm, warm=True)
        residual = float(outcome.residual.max(initial=0.0))
        self.info.update(iterations=outcome.iterations, residual=residual)
        if not outcome.converged.all() and not residual <= 1e-8:
            warn(
                f"K + lam I is singular to working precision ({K!r}, lam = {self.lam:.3g}): after "
                f"{outcome.iterations} steps of refinement the residual is {residual:.1e} of the right-hand side. "
                "Use a larger lam, or merge equal and nearly equal rows.",
                NumericalWarning,
            )
        return outcome.X

    def _quad(self, B):
        if self._original is not None:
            return B.T @ self._refine(B)
        W = self.half(B)
        return W.T @ W

    def explained_variance(self, B, h=None):
        """‖L⁻¹b‖² of each column b (with jitter: of the jittered matrix)."""
        V = self.half_inplace(np.asfortranarray(B, dtype=float))
        return np.einsum("ij,ij->j", V, V)

    def explained_covariance(self, B, h=None):
        """(L⁻¹B)ᵀL⁻¹B (with jitter: of the jittered matrix)."""
        V = self.half(B)
        return V.T @ V

    def diag(self):
        """The diagonal of (K + λI)⁻¹ (with jitter: of the jittered matrix)."""
        return lapack.inverse_diagonal(self._L)

    def logdet(self):
        """log det(K + λI) (with jitter: of the jittered matrix)."""
        return lapack.logdet(self._L)

    def dense(self):
        """(K + λI)⁻¹ as a fresh symmetric array (with jitter: of the jittered matrix)."""
        check_memory(8.0 * self.n**2, f"the inverse for n = {self.n}")
        return lapack.inverse_from_lower(self._L.copy())

    def explicit(self):
        """Return the same with all entries at hand, made in place of the factor: this one is used up."""
        logdet = self.logdet()
        L, self._L = self._L, None
        return Explicit(lapack.inverse_from_lower(L), self.lam, logdet, disposable=True, info=self.info)

    def insert(self, index, row, diagonal):
        """Return the inverse with one row and column more, before row ``index`` (n appends).

        Parameters
        ----------
        index : int
        row : ndarray of shape (n,)
            Entries with the rows that are there.
        diagonal : float
            The new diagonal entry, λ included.

        Raises
        ------
        NotPositiveDefinite
            If rounding leaves nothing of a pivot: factor afresh.
        """
        return CholeskyInverse(update.insert(self._L, index, row, diagonal), self.lam, self.info)

    def remove(self, index):
        """Return the inverse without row and column ``index``."""
        return CholeskyInverse(update.remove(self._L, index), self.lam, self.info)


def warn_of_jitter(added, K, lam):
    """Say what was added to the diagonal, and what to do."""
    warn(
        f"K + lam I is not positive definite to working precision ({K!r}, lam = {lam:.3g}); {added:.2e} was added to "
        "its diagonal to factor it. Products with the inverse are refined to the original system; the diagonal of the "
        "inverse and the log-determinant are those of the changed matrix. Use a larger lam, or merge equal and nearly "
        "equal rows.",
        NumericalWarning,
    )


__all__ = ["add_symmetric", "combine", "sandwich", "scale_both", "square"]


def scale_both(A, s):
    """A ← S A S with S = diag(s), in place; returns it."""
    if len(A) <= ONE_CALL:
        A *= s
        A *= s[:, None]
        return A
    rows = spans(len(A), 64)

    def scale(index, worker):  # by rows that stay in the cache
        i, j = rows[index]
        A[i:j] *= s
        A[i:j] *= s[i:j, None]

    run(scale, len(rows), None if len(A) > FEW_ROWS else 1)
    return A
