"""All rows at once: by conjugate gradients or by blocks, ended where the statistics end, not the digits."""

import time
from typing import NamedTuple

import numpy as np

from mercer.gram import apply, take
from mercer.solvers.base import column_norms
from mercer.solvers.blocks import by_blocks
from mercer.solvers.normal import unwhiten, whiten
from mercer.solvers.pcg import pcg
from mercer.solvers.small import factor

MOST = 1000  # landmarks of a preconditioner: two products with them cost little beside one with all rows
MAX_ITER, ROUNDS = 300, 2
TREND = 0.01  # what may be left of the columns of a trend: the coefficients it corrects are right to a few digits
LAST = 4.0  # products that the end takes: the residuals are computed again, once of them in float64
BLOCK = 2**22  # entries of k(X, Z) at a time
PART, FEW = 10, 2000  # of the rows, and rows at least, that a solution for all of them is timed on


class Solved(NamedTuple):
    """α and b of all rows, the rms of what is left of the equations and αᵀKα of each target, and how it went."""

    alpha: np.ndarray
    b: np.ndarray
    rms: np.ndarray
    square: np.ndarray
    info: dict


class Cost(NamedTuple):
    """Seconds of a product with K, and of the shortest solution: its preconditioner, two products, and the end."""

    product: float
    all: float


def seconds_of(K, columns, prepare):
    """`Cost` of a solution for all rows, from a tenth of them.

    Parameters
    ----------
    K : Gram
        In the precision of the steps.
    columns : int
        Right-hand sides.
    prepare : callable
        prepare(index) makes the preconditioner of some rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.full import seconds_of
    >>> cost = seconds_of(TiledGram(Gaussian(), np.ones((50, 1))), 1, lambda some: None)
    >>> 0 < cost.product < cost.all
    True
    """
    some = np.arange(min(K.n, max(FEW, K.n // PART)))
    part, V, took = K.restrict(some), np.ones((len(some), columns)), []
    for _ in range(4):  # the first may load what it needs, another may be disturbed
        started = time.monotonic()
        part @ V
        took.append(time.monotonic() - started)
    started, more = time.monotonic(), K.n / len(some)
    prepare(some)
    product = min(took) * more**2
    return Cost(product, (time.monotonic() - started) * more + (2.0 + LAST) * product)


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


def solve_all(K, rough, lam, y, H, b, precondition, goal, clock, blocks=False, seconds=0.0):
    """`Solved`: (K + λI)α + Hb = y with Hᵀα = 0, until the rms of what is left of each target is below its goal.

    Or until time ends; None where the clock leaves none for one step and the end. Of what an iteration has found of a
    target the best is kept.

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
    goal : ndarray of shape (t,)
        The rms that is enough for each target.
    clock : Clock
    blocks : bool, default=False
        Whether it begins by blocks of rows; conjugate gradients go on from there where these are too slow.
    seconds : float, default=0.0
        Of a product, as far as is known.
    """
    t, V, number = y.shape[1], None, 0
    goal = np.broadcast_to(goal, (t,))
    best = Solved(np.zeros_like(y), b, _rms(y - H @ b), np.zeros(t), {})
    r, steps = y - H @ b, _Steps(rough, lam, precondition, clock, seconds)
    while number < ROUNDS + blocks and steps.going():
        way = steps.blocks if blocks and not number else steps.gradients
        X, number = way(r if number else np.hstack([r, H]), t, goal), number + 1
        alpha, b, V = best.alpha + X[:, :t], best.b, X[:, t:] if number == 1 else V
        try:
            shift = np.linalg.solve(H.T @ V, H.T @ alpha)
        except np.linalg.LinAlgError:  # no step was made: K + λI is not positive definite in rounding
            break
        alpha, b = alpha - V @ shift, b + shift
        product = K @ alpha
        left = y - H @ b - product - lam * alpha
        new = alpha, b, _rms(left), np.einsum("ij,ij->j", alpha, product), left
        better = new[2] < best.rms  # of targets whose squares are no numbers nothing is
        *found, r = (np.where(better, one, other) for one, other in zip(new, (*best[:4], r), strict=True))
        best = Solved(*found, best.info)
        if (best.rms <= goal).all() or steps.cut:
            break
    if not number:
        return None
    way = "blocks" if blocks else "conjugate gradients"
    info = {"passes": round(steps.passes + number), "seconds_a_pass": steps.seconds, "method": way}
    return best._replace(info=info)


def _rms(left):
    """Root mean square of each column."""
    return column_norms(left) / np.sqrt(max(len(left), 1))


class _Steps:
    """Both ways to solutions of (K + λI)X = B, with one count of the passes, and one look at the clock."""

    def __init__(self, K, lam, precondition, clock, seconds):
        self._K, self._lam, self._precondition, self._clock = K, lam, precondition, clock
        self.passes, self.seconds, self.cut = 0.0, seconds, False

    def blocks(self, B, t, goal):
        last = LAST * self.seconds or None  # one step, that loads what it needs, says little of products
        found = by_blocks(self._K, self._lam, B, t, 0.5 * goal, self._clock, last=last)
        self.passes, self.cut = self.passes + found.passes, found.cut
        self.seconds = self.seconds or found.seconds
        return found.X

    def gradients(self, B, t, goal):
        length = column_norms(B[:, :t])
        tol = np.divide(0.5 * goal * np.sqrt(len(B)), length, out=np.ones(t), where=length > 0)
        tol = np.append(tol, np.full(B.shape[1] - t, TREND))
        norm = float(self._K.diag().sum()) + self._lam
        return pcg(self._product, self._precondition, B, tol=tol, max_iter=MAX_ITER, norm=norm, going=self.going).X

    def _product(self, V):
        started = time.monotonic()
        out = self._K @ V + self._lam * V
        self.passes, self.seconds = self.passes + 1, time.monotonic() - started
        return out

    def going(self):
        """Whether the clock leaves time for one more product, and for the end."""
        self.cut = not self._clock.fits((1.0 + LAST) * self.seconds)
        return not self.cut
