"""Block sketch-and-project: all rows by a few hundred or thousand at a time, for rough kernels with a small λ.

There landmarks see little of K, and conjugate gradients that they precondition are for tens of passes further from
the solution than doing nothing. Random rows that are solved for exactly, given all others, bring it nearer each time.
"""

import math
import time
from typing import NamedTuple

import numpy as np

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
    """`Blocks` with (K + λI) X = B, until the rms of what is left of the first columns is below a goal.

    A step draws rows b, solves (K_bb + λI) s = r_b, and takes (K + λI)_{:b} s from the residuals r: in the norm of
    K + λI the error never grows. It also ends where time does, or where the pace of the last passes would take more
    than sixty.

    Parameters
    ----------
    K : Gram
    lam : float
    B : ndarray of shape (n, t)
    columns : int
        How many of them the goal is about.
    goal : float
    clock : Clock
    last : float, default=None
        Seconds that the end takes; None is four passes as long as these steps.
    """
    n, size = len(B), min(len(B), max(LEAST, min(len(B) // SHARE, LARGEST)))
    X, R, rng, course = np.zeros_like(B), B.copy(), np.random.default_rng(0), []
    steps, seconds, cut = 0, 0.0, False
    while _worth(course, goal) and not cut:
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
        course.append(float(np.sqrt(np.mean(R[:, :columns] ** 2))))
    return Blocks(X, R, steps * size / n, seconds * n / size, cut)


def _worth(course, goal):
    """Whether the goal is not yet reached, and will be."""
    if not course or course[-1] <= goal:
        return not course
    if len(course) < TRIED:
        return True
    pace = math.log(course[-1] / course[-3]) / 2  # of the logarithm, for each pass
    return pace < 0 and len(course) + math.log(goal / course[-1]) / pace <= MOST_PASSES
