"""All rows at once: by conjugate gradients or by blocks of rows, until the error left is small beside the noise.

Block sketch-and-project is for rough kernels with a small λ. There landmarks see little of K, and conjugate gradients
that they precondition are for tens of passes further from the solution than doing nothing. Random rows that are solved
for exactly, given all others, bring it nearer each time.
"""

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._policies import Options
from mercer.gram import Gram, apply, take
from mercer.solvers.base import column_norms
from mercer.solvers.normal import unwhiten, whiten
from mercer.solvers.pcg import pcg
from mercer.solvers.small import factor


@dataclass(frozen=True)
class FullSolveOptions(Options):
    """How a solution for all rows is iterated, after landmarks."""

    landmarks: int = 1000  # of the preconditioner: two products with them cost little beside one with all rows
    max_iter: int = 300  # steps of conjugate gradients
    rounds: int = 2  # starts of them, each from residuals in float64
    trend_tol: float = 0.01  # what may be left of columns of the trend: coefficients are right to a few digits
    closing: float = 4.0  # products that the end takes: residuals are computed again, once of them in float64
    rough_trace: float = 2.0  # of Σλ: trace that landmarks miss beyond which blocks come nearer in fewer passes
    block_rows: int = 2000  # at most; a factor of these costs little beside their products
    block_passes: int = 60  # at most


class System(NamedTuple):
    """(K + λI)α + Hb = y with Hᵀα = 0: K in float64 for residuals, and ``rough``, the same K as the steps need it."""

    K: Gram
    rough: Gram
    lam: float
    y: np.ndarray
    H: np.ndarray


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


def seconds_of(K, columns, prepare, options=FullSolveOptions()):
    """`Cost` of a solution for all rows, from a tenth of them.

    Parameters
    ----------
    K : Gram
        In the precision of the steps.
    columns : int
        Right-hand sides.
    prepare : callable
        prepare(index) makes the preconditioner of some rows.
    options : FullSolveOptions, optional

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
    some = np.arange(min(K.n, max(2000, K.n // 10)))
    part, V, took = K.restrict(some), np.ones((len(some), columns)), []
    for _ in range(4):  # the first may load what it needs, another may be disturbed
        started = time.monotonic()
        part @ V
        took.append(time.monotonic() - started)
    started, more = time.monotonic(), K.n / len(some)
    prepare(some)
    product = min(took) * more**2
    return Cost(product, (time.monotonic() - started) * more + (2.0 + options.closing) * product)


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
    most : int, default=1000
        Landmarks that are used.

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

    def __init__(self, kernel, X, points, L, lam, s=None, most=FullSolveOptions.landmarks):
        m = min(len(points), most)
        self._kernel, self._X, self._points, self._L = kernel, X, take(points, np.arange(m)), np.tril(L[:m, :m])
        self._lam, self._s = lam, None if s is None else s[:, None]
        S, step = lam * np.eye(m), max(1, 2**22 // m)
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


def solve_all(system, b, precondition, goal, clock, *, blocks=False, seconds=0.0, options=FullSolveOptions()):
    """`Solved`: the system, until the rms of what is left of each target is below its goal, or time ends.

    None where the clock leaves none for one step and the end. Of what an iteration has found of a target the best is
    kept. With r = y − Hb − (K + λI)α and Hᵀα = 0 the exact fitted values differ from these by (I − λP)r, P the inverse
    with the trend projected out, so that rms(r) bounds the rms distance, whatever ended the iteration.

    Parameters
    ----------
    system : System
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
    options : FullSolveOptions, optional
    """
    K, rough, lam, y, H = system
    t, V, number = y.shape[1], None, 0
    goal = np.broadcast_to(goal, (t,))
    best = Solved(np.zeros_like(y), b, _rms(y - H @ b), np.zeros(t), {})
    r, steps = y - H @ b, _Steps(rough, lam, precondition, clock, seconds, options)
    while number < options.rounds + blocks and steps.fits():
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

    def __init__(self, K, lam, precondition, clock, seconds, options):
        self._options = options
        self._K, self._lam, self._precondition, self._clock = K, lam, precondition, clock
        self.passes, self.seconds, self.cut = 0.0, seconds, False

    def blocks(self, B, t, goal):
        last = self._options.closing * self.seconds or None  # a first step, that loads, says little of products
        found = by_blocks(self._K, self._lam, B, 0.5 * goal, self._clock, last=last, options=self._options)
        self.passes, self.cut = self.passes + found.passes, found.cut
        self.seconds = self.seconds or found.seconds
        return found.X

    def gradients(self, B, t, goal):
        length = column_norms(B[:, :t])
        tol = np.divide(0.5 * goal * np.sqrt(len(B)), length, out=np.ones(t), where=length > 0)
        tol = np.append(tol, np.full(B.shape[1] - t, self._options.trend_tol))
        norm = float(self._K.diag().sum()) + self._lam
        options = {"max_iter": self._options.max_iter, "norm": norm, "going": self.fits}
        return pcg(self._product, self._precondition, B, tol=tol, **options).X

    def _product(self, V):
        started = time.monotonic()
        out = self._K @ V + self._lam * V
        self.passes, self.seconds = self.passes + 1, time.monotonic() - started
        return out

    def fits(self):
        """Whether the clock leaves time for one more product, and for the end."""
        self.cut = not self._clock.fits((1.0 + self._options.closing) * self.seconds)
        return not self.cut


class Blocks(NamedTuple):
    """X, the residuals B − (K + λI)X as they were carried along, passes, seconds of a pass, whether time ended it."""

    X: np.ndarray
    R: np.ndarray
    passes: float
    seconds: float
    cut: bool


def by_blocks(K, lam, B, goal, clock, last=None, options=FullSolveOptions()):
    """`Blocks` with (K + λI) X = B, until the rms of what is left of each of the first columns is below its goal.

    A step draws rows b, solves (K_bb + λI) s = r_b, and takes (K + λI)_{:b} s from the residuals r: in the norm of
    K + λI the error never grows. It also ends where time does, or where the pace of the last passes would take the
    column that is furthest from its goal more than sixty.

    Parameters
    ----------
    K : Gram
    lam : float
    B : ndarray of shape (n, t)
    goal : ndarray of shape (columns,)
        Of the first columns of B; the others are solved for beside them.
    clock : Clock
    last : float, default=None
        Seconds that the end takes; None is four passes as long as these steps.
    options : FullSolveOptions, optional
    """
    n, size = len(B), min(len(B), max(200, min(len(B) // 50, options.block_rows)))
    X, R, rng, course = np.zeros_like(B), B.copy(), np.random.default_rng(0), []
    steps, seconds, cut = 0, 0.0, False
    while _approaches(course, options.block_passes) and not cut:
        order = rng.permutation(n)
        for i in range(0, n, size):
            if steps and not clock.fits(seconds + (options.closing * seconds * n / size if last is None else last)):
                cut = True
                break
            started, rows = time.monotonic(), np.sort(order[i : i + size])
            A = K.restrict(rows).dense(np.float64)
            A[np.diag_indices(len(rows))] += lam
            step = factor(A, overwrite=True).solve(np.ascontiguousarray(R[rows]))
            X[rows] += step
            R -= K.times_columns(rows, step)
            R[rows] -= lam * step
            steps, seconds = steps + 1, max(seconds, time.monotonic() - started)
        left = column_norms(R[:, : len(goal)]) / math.sqrt(max(n, 1))
        course.append(np.divide(left, goal, out=np.where(left > 0, np.inf, 0.0), where=np.asarray(goal) > 0))
    return Blocks(X, R, steps * size / n, seconds * n / size, cut)


def _approaches(course, most):
    """Whether some column has not yet reached its goal, and all will; the course is what is left beside the goals."""
    if not course or (course[-1] <= 1.0).all():
        return not course
    if len(course) < 4 or not np.isfinite(course[-1]).all():  # passes that show a pace; nan: λ is lost in rounding
        return len(course) < 4
    open_ = course[-1] > 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        pace = np.log(course[-1] / course[-3])[open_] / 2  # of the logarithm, for each pass
        more = -np.log(course[-1][open_]) / pace
    return bool((pace < 0).all() and len(course) + more.max() <= most)
