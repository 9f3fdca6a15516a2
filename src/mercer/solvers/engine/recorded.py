"""Factor and inverse of some hundred to two thousand rows, by threads that do a list of BLAS calls without Python.

Between a hundred pieces of a tenth of a millisecond the cores would wait for Python, and for each other to wake up,
as long as they work. The pieces are those of `lapack`, in narrower panels; they are written down once for each order.
"""

import os
import time
from functools import lru_cache

import numpy as np

from mercer._threads import run, threads
from mercer._tiles import loops
from mercer.solvers.engine.recorder import FAILED, Recorder
from mercer.solvers.engine.shares import ranges

LEAST, MOST = 280, 2048  # orders for which it pays
WIDTH = 128  # of a panel
SHARES = 2  # pieces of an update for each thread: the second makes up for a first that took long
WORTH = 2e6  # operations of a piece


def compiled_for(n):
    """The compiled loops, where a program is faster than pieces given out by Python; else None."""
    return loops() if LEAST <= n <= MOST and threads() > 1 else None


def cholesky(compiled, A):
    """Lower triangle of A ← L with A = L Lᵀ; returns 0, or the 1-based index of the failing pivot."""
    return _done(compiled, A, _cholesky)


def inverse(compiled, L):
    """Lower triangle of L ← (L Lᵀ)⁻¹."""
    _done(compiled, L, _inverse)


def _done(compiled, A, written):
    """Do a program on all cores."""
    workers = threads()
    program = _program(written, len(A), A.strides[0] // A.itemsize, A.dtype, workers)
    calls, infos, state = program.start(A)
    end = len(program.phases) - 1

    def share(index, worker):
        phase = 0
        while phase < end:
            before = phase
            phase = compiled.tasks.work(calls, program.tasks, program.phases, infos, state, before)
            if phase == before:
                _give_way()  # what others are at takes long: they may need this core for it

    run(share, workers)
    return int(state[FAILED])


def _give_way():
    """Let another thread have this core."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()  # sleeping for 0 s takes 50 µs and more on Linux
    else:
        time.sleep(0)


@lru_cache(maxsize=32)
def _program(written, n, width, dtype, workers):
    """What ``written`` writes for matrices of this kind."""
    recorder = Recorder(n, width, dtype)
    written(recorder, n, workers)
    return recorder.program()


def _cholesky(lib, n, workers):
    """Right-looking; the next diagonal block is factored beside the update of the rest."""
    A = lib.matrix
    lib.task(lib.factor, A[:WIDTH, :WIDTH])
    lib.end_phase()
    for k in range(0, n - WIDTH, WIDTH):
        e, f = k + WIDTH, min(k + 2 * WIDTH, n)
        for i, j in _strips(e, n, WIDTH**2, workers):
            lib.task(lib.divide_right, A[i:j, k:e], A[k:e, k:e])
        lib.end_phase()
        lib.task(_next_pivot, lib, A, k, e, f)
        for i, j in _wedges(e, f, n, WIDTH, workers):
            lib.task(_update, lib, A, k, e, i, j)
        lib.end_phase()


def _next_pivot(lib, A, k, e, f):
    """The block from e to f on the diagonal, which needs the panel from k to e."""
    lib.subtract_square(A[e:f, e:f], A[e:f, k:e])
    lib.factor(A[e:f, e:f])


def _update(lib, A, k, e, i, j):
    """Rows i to j of A[:, e:] ← A[:, e:] − panel panelᵀ, lower triangle."""
    lib.subtract_product(A[i:j, e:i], A[i:j, k:e], A[e:i, k:e])
    lib.subtract_square(A[i:j, i:j], A[i:j, k:e])


def _inverse(lib, n, workers):
    """The sweep of ``lapack.inverse_from_lower``."""
    L = lib.matrix
    blocks = [(k, min(k + WIDTH, n)) for k in range(0, n, WIDTH)]
    for k, e in blocks:
        lib.task(lib.invert_triangle, L[k:e, k:e])
    lib.end_phase()
    for k, e in blocks:
        T, row, below = L[k:e, k:e], L[k:e, :k], L[e:, k:e]
        columns, rows = _strips(0, k, WIDTH**2, workers), _strips(0, n - e, 2 * WIDTH * (k + WIDTH), workers)
        for i, j in columns:
            lib.task(lib.multiply_left, T, row[:, i:j], sign=-1)
        if k:  # T of the block before has been used
            lib.task(lib.square_triangle, L[k - WIDTH : k, k - WIDTH : k])
        lib.end_phase()
        for i, j in _wedges(0, 0, k, WIDTH, workers):
            lib.task(_square, lib, L[:k, :k], row, i, j)
        for i, j in rows if k else []:
            lib.task(lib.add_product, L[e + i : e + j, :k], below[i:j], row)
        lib.end_phase()
        for i, j in rows:
            lib.task(lib.multiply_right, below[i:j], T)
        for i, j in columns:
            lib.task(lib.multiply_left, T, row[:, i:j], transposed=True)
        lib.end_phase()
    k, e = blocks[-1]
    lib.task(lib.square_triangle, L[k:e, k:e])


def _square(lib, C, row, i, j):
    """Rows i to j of C ← C + rowᵀ row, lower triangle."""
    if i:
        lib.add_transposed_product(C[i:j, :i], row[:, i:j], row[:, :i])
    lib.add_transposed_square(C[i:j, i:j], row[:, i:j])


def _strips(first, last, cost, workers):
    """Ranges of equal length, of items of ``cost`` operations."""
    count = int(np.clip((last - first) * cost / WORTH, 1, workers))
    return ranges(np.linspace(first, last, count + 1))


def _wedges(e, first, last, rank, workers):
    """Ranges of rows of equal area of a lower triangle that begins at column e; a rank costs that for each entry."""
    low, high = float(first - e) ** 2, float(last - e) ** 2
    count = int(np.clip((high - low) * rank / WORTH, 1, SHARES * workers))
    return ranges(e + np.sqrt(np.linspace(low, high, count + 1)).round())
