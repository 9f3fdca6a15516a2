"""Block sketch-and-project: all rows by a few hundred or thousand at a time, for rough kernels with a small λ.

There landmarks see little of K, and conjugate gradients that they precondition are for tens of passes further from
the solution than doing nothing. Random rows that are solved for exactly, given all others, bring it nearer each time.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from mercer.solvers.base import column_norms
from mercer.solvers.small import factor

SHARE, LEAST, LARGEST = (
    50,
    200,
    2000,
)  # rows of a block: its factor costs little beside their products
MOST_PASSES = 60
TRIED = 4  # passes after which their pace is looked at
FINAL = 4.0  # passes that the end takes: the residuals are computed again, in float64


class Blocks(NamedTuple):
    """X, the residuals B − (K + λI)X as they were carried along, passes, seconds of a pass, whether time ended it."""

    X: np.ndarray
    R: np.ndarray
    passes: float
    seconds: float
    cut: bool


def by_blocks(K, lam, B, columns, goal, clock, last=None):
    """`Blocks` with (K + λI) X = B, until the rms of what is left of each of the first columns is below its goal.

    A step draws rows b, solves (K_bb + λI) s = r_b, and takes (K + λI)_{:b} s from the residuals r: in the norm of
    K + λI the error never grows. It also ends where time does, or where the pace of the last passes would take the
    column that is furthest from its goal more than sixty.

    Parameters
    ----------
    K : Gram
    lam : float
    B : ndarray of shape (n, t)
    columns : int
        How many of them the goal is about.
    goal : float or ndarray of shape (columns,)
    clock : Clock
    last : float, default=None
        Seconds that the end takes; None is four passes as long as these steps.
    """
    n, size = len(B), min(len(B), max(LEAST, min(len(B) // SHARE, LARGEST)))
    X, R, rng, course = np.zeros_like(B), B.copy(), np.random.default_rng(0), []
    steps, seconds, cut = 0, 0.0, False
    while _worth(course) and not cut:
        order = rng.permutation(n)
        for i in range(0, n, size):
            if steps and not clock.fits(seconds + (FINAL * seconds * n / size if last is None else last)):
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
        left = column_norms(R[:, :columns]) / math.sqrt(max(n, 1))
        course.append(np.divide(left, goal, out=np.where(left > 0, np.inf, 0.0), where=np.asarray(goal) > 0))
    return Blocks(X, R, steps * size / n, seconds * n / size, cut)


def _worth(course):
    """Whether some column has not yet reached its goal, and all will; the course is what is left beside the goals."""
    if not course or (course[-1] <= 1.0).all():
        return not course
    if len(course) < TRIED or not np.isfinite(course[-1]).all():  # nan: λ is lost in the rounding of K
        return len(course) < TRIED
    open_ = course[-1] > 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        pace = np.log(course[-1] / course[-3])[open_] / 2  # of the logarithm, for each pass
        more = -np.log(course[-1][open_]) / pace
    return bool((pace < 0).all() and len(course) + more.max() <= MOST_PASSES)
