"""What this machine does in a second: measured once in a process, in a few milliseconds, when a plan first asks."""

import time
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mercer._threads import one_blas_thread

ORDER, NUMBERS, REPEATS = 320, 2**15, 3
LOOPS = 1.0  # how fast the compiled loops are at a kernel beside NumPy at exp alone
LARGE = 1.3  # how much faster a factor of many rows is, for each operation, than one of ORDER rows


class Rates(NamedTuple):
    """Operations of a factorisation, in float64 and float32, and kernel entries, each for a core and a second."""

    float64: float
    float32: float
    entries: float


@cache
def rates():
    """The `Rates` of this machine."""
    A = np.asfortranarray(np.eye(ORDER) * ORDER + 1.0)
    x = np.linspace(-3.0, 0.0, NUMBERS)
    with one_blas_thread():
        double, single = (
            LARGE * ORDER**3 / 3 / _seconds(routine, A.astype(dtype, order="F"))
            for routine, dtype in ((lapack.dpotrf, np.float64), (lapack.spotrf, np.float32))
        )
        return Rates(double, single, LOOPS * NUMBERS / _seconds(np.exp, x))


def _seconds(function, argument):
    """The least of a few times."""
    best = np.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        function(argument)
        best = min(best, time.perf_counter() - started)
    return max(best, 1e-9)
