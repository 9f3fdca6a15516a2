"""What this machine does in a second: measured once in a process, in a few milliseconds, when a plan first asks."""

import time
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mercer import _native
from mercer._threads import one_blas_thread

ORDER, ROWS, COLUMNS, REPEATS = 320, 8, 128, 3
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
    X, K = np.linspace(-1.0, 1.0, COLUMNS * ROWS).reshape(COLUMNS, ROWS), np.empty((COLUMNS, COLUMNS))
    with one_blas_thread():
        double, single = (
            LARGE * ORDER**3 / 3 / _seconds(routine, A.astype(dtype, order="F"))
            for routine, dtype in ((lapack.dpotrf, np.float64), (lapack.spotrf, np.float32))
        )
        gaussian, Xt = _native.Operations.radial(_native.CODES["gaussian"], ROWS, X.itemsize), np.ascontiguousarray(X.T)
        kernel = _seconds(lambda K: _native.pairs.tree(gaussian, X, Xt, 0, 1e300, K), K)
        return Rates(double, single, K.size / kernel)


def _seconds(function, argument):
    """The least of a few times."""
    best = np.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        function(argument)
        best = min(best, time.perf_counter() - started)
    return max(best, 1e-9)
