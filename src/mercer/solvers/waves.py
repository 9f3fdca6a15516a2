"""A = DTD + λI of waves, inverted: by a factor where they are few, else by conjugate gradients and probes."""

import copy
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer.solvers.pcg import pcg
from mercer.solvers.small import factor

FEW = 2000  # waves up to which A is factored: an iteration takes hundreds of steps where waves are few and strong
STRONG = 1000  # waves of which a preconditioner has the whole block
STEPS = 3000  # of the iteration
PROBES = 8
PROBED = 1e-2  # what the residual of a probe may be: less than probes differ by


class WaveSolution(NamedTuple):
    """X = A⁻¹B, BᵀA⁻¹B, steps of the iteration, whether it ended well, residuals relative to their columns.

    BᵀA⁻¹B is BᵀX + XᵀB − XᵀAX, off by RᵀA⁻¹R for a residual R: never too large, however early an iteration ends.
    """

    X: np.ndarray
    inner: np.ndarray
    steps: int
    converged: bool
    residual: np.ndarray


class WaveSystem(ABC):
    """A = DTD + λI of waves, as an inverse."""

    @abstractmethod
    def solve(self, B, tol):
        """`WaveSolution` of A X = B, to ‖b − Ax‖ <= tol ‖b‖, for a tol of all columns or of each."""

    @abstractmethod
    def traced(self):
        """(log det A, the diagonal of A⁻¹)."""


class FactoredWaves(WaveSystem):
    """By a factor of A: for few waves, as those of a smooth kernel are.

    Parameters
    ----------
    T : Convolution
    D2 : ndarray of shape (M,)
        D².
    lam : float
    """

    def __init__(self, T, D2, lam):
        D = np.sqrt(D2)
        A = T.block(np.arange(len(D))) * (D[:, None] * D)
        A[np.diag_indices(len(A))] += lam
        self._factor, self._c = factor(A, overwrite=True), 1.0

    def times(self, c):
        """Return cA, by the same factor: that of other amplitudes, and as much more noise."""
        other = copy.copy(self)
        other._c = c * self._c
        return other

    def solve(self, B, tol):
        half = self.half(np.ascontiguousarray(B))
        return WaveSolution(
            self._factor.solve(np.ascontiguousarray(B)) / self._c, half.T @ half, 0, True, np.zeros(B.shape[1])
        )

    def half(self, B):
        """L⁻¹B."""
        return self._factor.half(B) / np.sqrt(self._c)

    def traced(self):
        m = len(self._factor.lower)
        return self._factor.logdet() + m * np.log(self._c), (self.half(np.eye(m)) ** 2).sum(axis=0)


class IteratedWaves(WaveSystem):
    """By conjugate gradients, and probes for what a factor would say.

    The preconditioner P is A itself on the strongest waves, and its diagonal on the others. With z of random signs and
    B = P^½z, one run of the iteration from B has A⁻¹B, for the diagonal of A⁻¹, and the matrix of Lanczos, for
    zᵀ log(P^-½ A P^-½) z. The probes are the same in each evaluation, so that two of them can be compared.

    Parameters
    ----------
    T : Convolution
    D2 : ndarray of shape (M,)
        D².
    lam : float
    probes : int, default=8
    """

    def __init__(self, T, D2, lam, probes=PROBES):
        self._T, self._D, self._lam, self._probes = T, np.sqrt(D2)[:, None], lam, probes
        self._diagonal = D2 * float(T.sums[tuple(2 * j for j in T.J)].real) + lam
        self._strong = np.argsort(-D2, kind="stable")[:STRONG]
        D = self._D[self._strong]
        block = T.block(self._strong) * (D * D.T)
        block[np.diag_indices(len(block))] += lam
        self._factor = factor(block, overwrite=True)

    def __call__(self, V):
        """A V."""
        return self._D * self._T(self._D * V) + self._lam * V

    def precondition(self, R):
        """P⁻¹R."""
        out = R / self._diagonal[:, None]
        out[self._strong] = self._factor.solve(np.ascontiguousarray(R[self._strong]))
        return out

    def solve(self, B, tol):
        norm = float(self._diagonal.max())
        found = pcg(self, self.precondition, B, tol=tol, max_iter=STEPS, norm=norm)
        X, both = found.X, B.T @ found.X
        inner = both + both.T - X.T @ self(X)
        return WaveSolution(X, inner, found.iterations, bool(found.converged.all()), found.residual)

    def traced(self):
        strong, others = self._strong, np.delete(self._diagonal, self._strong)
        Z = 2.0 * np.random.default_rng(0).integers(0, 2, (len(self._diagonal), self._probes)) - 1.0
        B = np.sqrt(self._diagonal)[:, None] * Z
        B[strong] = np.tril(self._factor.lower) @ Z[strong]
        X, logs = lanczos(self, self.precondition, B, PROBED, STEPS)
        own, over = 1.0 / self._diagonal, self.precondition(B)
        own[strong] = (self._factor.half(np.eye(len(strong))) ** 2).sum(axis=0)
        logdet = self._factor.logdet() + float(np.log(others).sum() + np.mean(logs))
        return logdet, own + ((X - over) * over).mean(axis=1)


def lanczos(A, precondition, B, tol, most):
    """(A⁻¹B, bᵀP^-½ log(P^-½AP^-½) P^-½b of each column) by conjugate gradients with a preconditioner P."""
    X, R, V = np.zeros_like(B), B, precondition(B)
    rz = first = np.einsum("ij,ij->j", B, V)
    live, count = np.flatnonzero(rz > 0), B.shape[1]
    diagonals, beside = [[] for _ in range(count)], [[] for _ in range(count)]
    R, V, rz, carried = R[:, live], V[:, live], rz[live], np.zeros(len(live))
    for _ in range(most):
        Q = A(V)
        alpha = rz / np.einsum("ij,ij->j", V, Q)
        for column, a in zip(live, 1.0 / alpha + carried, strict=True):
            diagonals[column].append(a)
        X[:, live] += alpha * V
        R = R - alpha * Q
        Z = precondition(R)
        new = np.einsum("ij,ij->j", R, Z)
        going = new > tol**2 * first[live]
        if not going.any():
            break
        live, R, V, Z = live[going], R[:, going], V[:, going], Z[:, going]
        beta, alpha, rz = (new / rz)[going], alpha[going], new[going]
        for column, b in zip(live, np.sqrt(beta) / alpha, strict=True):
            beside[column].append(b)
        carried, V = beta / alpha, Z + beta * V
    logs = [length * _log_corner(a, b[: len(a) - 1]) for length, a, b in zip(first, diagonals, beside, strict=True)]
    return X, np.array(logs)


def _log_corner(diagonal, beside):
    """e₁ᵀ log(T) e₁ of a tridiagonal T."""
    if not diagonal:
        return 0.0
    e, U = eigh_tridiagonal(np.array(diagonal), np.array(beside))
    return float(U[0] ** 2 @ np.log(np.maximum(e, np.finfo(float).tiny)))


def system(T, D2, lam):
    """The `WaveSystem`: factored where there are few waves."""
    return FactoredWaves(T, D2, lam) if len(D2) <= FEW else IteratedWaves(T, D2, lam)
