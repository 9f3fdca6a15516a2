"""All rows at once: conjugate gradients that landmarks precondition, ended where the statistics end, not the digits."""

import time
from typing import NamedTuple

import numpy as np

from mercer.gram import apply, take
from mercer.solvers.normal import unwhiten, whiten
from mercer.solvers.pcg import pcg
from mercer.solvers.small import factor

MOST = 1000  # landmarks of a preconditioner: two products with them cost little beside one with all rows
MAX_ITER, ROUNDS = 300, 2
TREND = 0.01  # what may be left of the columns of a trend: the coefficients it corrects are right to a few digits
LAST = 4.0  # products that the end takes: the residuals are computed again, once of them in float64
BLOCK = 2**22  # entries of k(X, Z) at a time


class Solved(NamedTuple):
    """α and b of all rows, the rms of what is left of the equations, αᵀKα of each target, and how it went."""

    alpha: np.ndarray
    b: np.ndarray
    rms: float
    square: np.ndarray
    info: dict


class ByLandmarks:
    """R ↦ (S K_nm K_mm⁻¹ K_mn S + λI)⁻¹R, by products with k(X, Z), which is not stored.

    Parameters
    ----------
    kernel : Kernel
    X, points : collections
        The n inputs and the m landmarks.
    L : ndarray of shape (m, m)
        The factor of K_mm.
    lam : float
    s : ndarray of shape (n,), default=None
        The diagonal of S; None is ones.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.full import ByLandmarks
    >>> X, k = np.linspace(0, 3, 4)[:, None], Gaussian(1.0)
    >>> M = ByLandmarks(k, X, X, np.linalg.cholesky(k(X)), 0.5)
    >>> bool(np.allclose(M(np.eye(4)), np.linalg.inv(k(X) + 0.5 * np.eye(4))))
    True
    """

    def __init__(self, kernel, X, points, L, lam, s=None):
        m = min(len(points), MOST)
        self._kernel, self._X, self._points, self._L = kernel, X, take(points, np.arange(m)), np.tril(L[:m, :m])
        self._lam, self._s = lam, None if s is None else s[:, None]
        S, step = lam * np.eye(m), max(1, BLOCK // m)
        for i in range(0, len(X), step):
            part = np.arange(i, min(i + step, len(X)))
            A = whiten(self._L, np.asarray(kernel(take(X, part), self._points), dtype=float).T)
            A = A if s is None else A * s[part]
            S += A @ A.T
        self._middle = factor(S)

    def __call__(self, R):
        """The preconditioned residuals."""
        v = apply(self._kernel, self._points, self._X, R if self._s is None else self._s * R)
        v = unwhiten(self._L, self._middle.solve(whiten(self._L, v)))
        back = apply(self._kernel, self._X, self._points, v)
        return (R - (back if self._s is None else self._s * back)) / self._lam


def solve_all(K, rough, lam, y, H, b, precondition, goal, clock):
    """`Solved`: (K + λI)α + Hb = y with Hᵀα = 0, until the rms of what is left is below a goal, or time ends.

    With r = y − Hb − (K + λI)α and Hᵀα = 0 the exact fitted values differ from these by (I − λP)r, P the inverse with
    the trend projected out, so that rms(r) bounds the rms distance, whatever ended the iteration.

    Parameters
    ----------
    K, rough : Gram
        The same matrix, in float64 for the residual that is stated, and in a precision for the steps.
    lam : float
    y : ndarray of shape (n, t)
    H : ndarray of shape (n, q)
    b : ndarray of shape (q, t)
        Coefficients of the trend, nearly: the columns of H are solved for only to correct them.
    precondition : callable
        As for `mercer.solvers.pcg.pcg`.
    goal : float
        The rms that is enough.
    clock : Clock

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._clock import FOREVER
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.full import ByLandmarks, solve_all
    >>> X = np.linspace(0, 9, 40)[:, None]
    >>> K, y, H = TiledGram(Gaussian(1.0), X), np.sin(X), np.ones((40, 1))
    >>> M = ByLandmarks(Gaussian(1.0), X, X[::4], np.linalg.cholesky(Gaussian(1.0)(X[::4])), 0.1)
    >>> found = solve_all(K, K, 0.1, y, H, np.zeros((1, 1)), M, 1e-4, FOREVER)
    >>> found.rms < 1e-4, bool(abs(found.alpha.sum()) < 1e-9)
    (True, True)
    """
    n, t = y.shape
    alpha, V, r = np.zeros_like(y), H, y - H @ b
    timed, norm = _Timed(lambda B: rough @ B + lam * B, clock), float(rough.diag().sum()) + lam
    for number in range(ROUNDS):
        length = np.linalg.norm(r, axis=0)
        tol = np.divide(0.5 * goal * np.sqrt(n), length, out=np.ones(t), where=length > 0)
        B = r if number else np.hstack([r, H])
        tol = np.append(tol, np.full(B.shape[1] - t, TREND))
        found = pcg(timed, precondition, B, tol=tol, max_iter=MAX_ITER, norm=norm, going=timed.going)
        alpha, V = alpha + found.X[:, :t], V if number else found.X[:, t:]
        if H.shape[1]:
            shift = np.linalg.solve(H.T @ V, H.T @ alpha)
            alpha, b = alpha - V @ shift, b + shift
        product = K @ alpha
        r = y - H @ b - product - lam * alpha
        rms = float(np.sqrt(np.mean(r**2)))
        if rms <= goal or timed.cut:
            break
    info = {"passes": timed.count + number + 1, "seconds_a_pass": timed.seconds}
    return Solved(alpha, b, rms, np.einsum("ij,ij->j", alpha, product), info)


class _Timed:
    """A product that knows how long it takes, and whether another one ends in time."""

    def __init__(self, product, clock):
        self._product, self._clock = product, clock
        self.count, self.seconds, self.cut = 0, 0.0, False

    def __call__(self, V):
        started = time.monotonic()
        out = self._product(V)
        self.count, self.seconds = self.count + 1, time.monotonic() - started
        return out

    def going(self):
        """Whether the clock leaves time for one more product, and for the end."""
        self.cut = not self._clock.fits((1.0 + LAST) * self.seconds)
        return not self.cut
