"""A = DTD + λI of Fourier features, T = ΦᴴWΦ Toeplitz; inverted by a factor, or by conjugate gradients and probes.

On an even grid of frequencies T is a convolution, so that a product costs two fast transforms.

The coefficients of a real function, F₋ₖ = F̄ₖ, are kept as one real number each, v = Re F + Im F (Hartley). That is a
rotation, in which T is a real symmetric matrix and everything is done.
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product as pairs
from typing import NamedTuple

import numpy as np
from scipy import fft
from scipy.linalg import eigh_tridiagonal

from mercer import _machine
from mercer._policies import Options
from mercer.solvers.pcg import pcg
from mercer.solvers.small import factor


@dataclass(frozen=True)
class ToeplitzOptions(Options):
    """How systems of Fourier features are solved."""

    factored_up_to: int = 2000  # features; an iteration takes hundreds of steps where they are few and strong
    strong: int = 1000  # features of which the preconditioner has the whole block
    max_iter: int = 3000  # steps of the iteration
    probes: int = 8  # random vectors for log det A and the diagonal of A⁻¹
    probe_tol: float = 1e-2  # residual of a probe: less than probes differ by


@dataclass(frozen=True)
class FourierOptions(Options):
    """How grids of Fourier features are laid and refined."""

    first_eps: float = 1e-3  # what the first grid of "auto" may miss of k, relative to k(x, x)
    noise_share: float = 0.1  # of the noise's deviation, that the mean may be off by under "auto": half a percent of it
    refined_up_to: int = 2**18  # features up to which "auto" compares a mean with that of more
    asked_up_to: int = 2**20  # the same, where an eps was asked for
    automatic_up_to: int = 2**15  # features of the first grid beyond which approximation="auto" takes neighbours
    largest: int = 2**23  # features: beyond, one product takes seconds and a vector 130 MB
    finer: float = 8.0  # eps over that of the next grid: for a Matérn kernel of ν = 3/2 twice as many in each direction
    slower: float = 6.0  # how many times as long the next grid takes
    compared: int = 1000  # rows at which the means of two grids are compared
    tol: float = 1e-3  # residual of the iteration, relative to eps


class Convolution:
    """V ↦ T V for T = ΦᴴWΦ, frequencies |k| <= J, in Hartley coordinates.

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
    >>> Phi = np.cos(k * u[:, None]) - np.sin(k * u[:, None])  # the features in Hartley coordinates
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
        F = self._to_grid(np.ascontiguousarray(V.T).reshape(-1, *self.shape))
        f = fft.irfftn(F, self.sizes, self._axes, workers=self._cores)
        f *= self._density
        return self._from_grid(fft.rfftn(f, axes=self._axes, workers=self._cores)).reshape(V.shape[1], -1).T

    def _corners(self):
        """(places on the grid, places among the frequencies): those below 0 stand at the end of a direction."""
        ways = [[(slice(0, j + 1), slice(j, None)), (slice(n - j, n), slice(0, j))] for j, n in self._leading()]
        for chosen in pairs(*ways):
            yield tuple(a for a, _ in chosen), tuple(b for _, b in chosen)

    def _leading(self):
        return list(zip(self.J[:-1], self.sizes[:-1], strict=True))

    def _to_grid(self, v):
        """The grid of frequencies of Hartley coefficients, its last direction from 0 on."""
        last = self.J[-1]
        a, b = v[..., last:], np.flip(v, self._axes)[..., last:]
        F, out = 0.5 * ((a + b) + 1j * (a - b)), np.zeros((len(v), *self.sizes[:-1], self.sizes[-1] // 2 + 1), complex)
        for there, here in self._corners():
            out[(slice(None), *there, slice(0, last + 1))] = F[(slice(None), *here)]
        return out

    def _from_grid(self, C):
        """Hartley coefficients of a grid."""
        last = self.J[-1]
        F = np.empty((len(C), *self.shape[:-1], last + 1), dtype=complex)
        for there, here in self._corners():
            F[(slice(None), *here)] = C[(slice(None), *there, slice(0, last + 1))]
        v = np.empty((len(C), *self.shape))
        v[..., : last + 1] = np.flip(F.real - F.imag, self._axes)
        v[..., last:] = F.real + F.imag
        return v

    def block(self, index):
        """T of some features: Re g(j − k) + Im g(j + k)."""
        at = np.array(np.unravel_index(index, self.shape)) - np.array(self.J)[:, None]
        less, more = (
            tuple(one[:, None] + sign * one + 2 * j for one, j in zip(at, self.J, strict=True)) for sign in (-1, 1)
        )
        return self.sums[less].real + self.sums[more].imag


class ToeplitzSolution(NamedTuple):
    """X = A⁻¹B, BᵀA⁻¹B, steps of the iteration, whether it ended well, residuals relative to their columns.

    BᵀA⁻¹B is BᵀX + XᵀB − XᵀAX, off by RᵀA⁻¹R for a residual R: never too large, however early an iteration ends.
    """

    X: np.ndarray
    inner: np.ndarray
    steps: int
    converged: bool
    residual: np.ndarray


class ToeplitzSystem(ABC):
    """A = DTD + λI, as an inverse."""

    @abstractmethod
    def solve(self, B, tol):
        """`ToeplitzSolution` of A X = B, to ‖b − Ax‖ <= tol ‖b‖, for a tol of all columns or of each."""

    @abstractmethod
    def traced(self):
        """(log det A, the diagonal of A⁻¹)."""


class FactoredToeplitz(ToeplitzSystem):
    """By a factor of A: for few features, as a smooth kernel has.

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
        return ToeplitzSolution(
            self._factor.solve(np.ascontiguousarray(B)) / self._c, half.T @ half, 0, True, np.zeros(B.shape[1])
        )

    def half(self, B):
        """L⁻¹B."""
        return self._factor.half(B) / np.sqrt(self._c)

    def traced(self):
        m = len(self._factor.lower)
        return self._factor.logdet() + m * np.log(self._c), (self.half(np.eye(m)) ** 2).sum(axis=0)


class IteratedToeplitz(ToeplitzSystem):
    """By conjugate gradients, and probes for what a factor would say.

    The preconditioner P is A itself on the strongest features, and its diagonal on the others. With random signs z and
    B = P^½z, one run of the iteration from B has A⁻¹B, for the diagonal of A⁻¹, and the matrix of Lanczos, for
    zᵀ log(P^-½ A P^-½) z. The probes are the same in each evaluation, so that two of them can be compared.

    Parameters
    ----------
    T : Convolution
    D2 : ndarray of shape (M,)
        D².
    lam : float
    options : ToeplitzOptions, optional
    """

    def __init__(self, T, D2, lam, options=ToeplitzOptions()):
        self._T, self._D, self._lam, self._options = T, np.sqrt(D2)[:, None], lam, options
        self._diagonal = D2 * float(T.sums[tuple(2 * j for j in T.J)].real) + lam
        self._strong = np.argsort(-D2, kind="stable")[: options.strong]
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
        found = pcg(self, self.precondition, B, tol=tol, max_iter=self._options.max_iter, norm=norm)
        X, both = found.X, B.T @ found.X
        inner = both + both.T - X.T @ self(X)
        return ToeplitzSolution(X, inner, found.iterations, bool(found.converged.all()), found.residual)

    def traced(self):
        strong, others = self._strong, np.delete(self._diagonal, self._strong)
        Z = 2.0 * np.random.default_rng(0).integers(0, 2, (len(self._diagonal), self._options.probes)) - 1.0
        B = np.sqrt(self._diagonal)[:, None] * Z
        B[strong] = np.tril(self._factor.lower) @ Z[strong]
        X, logs = lanczos(self, self.precondition, B, self._options.probe_tol, self._options.max_iter)
        own, over = 1.0 / self._diagonal, self.precondition(B)
        own[strong] = (self._factor.half(np.eye(len(strong))) ** 2).sum(axis=0)
        logdet = self._factor.logdet() + float(np.log(others).sum() + np.mean(logs))
        return logdet, own + ((X - over) * over).mean(axis=1)


def lanczos(A, precondition, B, tol, most):
    """(A⁻¹B, bᵀP^-½ log(P^-½AP^-½) P^-½b of each column) by conjugate gradients with a preconditioner P."""
    X, R, V = np.zeros_like(B), B, precondition(B)
    rz = first = np.einsum("ij,ij->j", B, V)
    live, count = np.flatnonzero(rz > 0), B.shape[1]
    diagonals, off = [[] for _ in range(count)], [[] for _ in range(count)]
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
            off[column].append(b)
        carried, V = beta / alpha, Z + beta * V
    logs = [length * _log_corner(a, b[: len(a) - 1]) for length, a, b in zip(first, diagonals, off, strict=True)]
    return X, np.array(logs)


def _log_corner(diagonal, off):
    """e₁ᵀ log(T) e₁ of a tridiagonal T."""
    if not diagonal:
        return 0.0
    e, U = eigh_tridiagonal(np.array(diagonal), np.array(off))
    return float(U[0] ** 2 @ np.log(np.maximum(e, np.finfo(float).tiny)))


def toeplitz_system(T, D2, lam, options=ToeplitzOptions()):
    """The `ToeplitzSystem`: factored where features are few."""
    if len(D2) <= options.factored_up_to:
        return FactoredToeplitz(T, D2, lam)
    return IteratedToeplitz(T, D2, lam, options)
