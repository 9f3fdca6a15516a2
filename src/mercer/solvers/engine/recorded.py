"""Factor and inverse of some hundred to two thousand rows, by threads that do a list of BLAS calls without Python.

Between a hundred pieces of a tenth of a millisecond the cores would wait for Python, and for each other to wake up,
as long as they work. The pieces are those of `lapack`, in narrower panels; they are written down once for each order.
"""

import ctypes
import os
import time
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mercer._threads import run, threads
from mercer._tiles import loaded
from mercer.solvers.engine.blas import ROUTINES, Blas, _data, _integer
from mercer.solvers.engine.blocks import ranges

LAPACK = {"potrf", "trtri", "lauum"}  # the last argument is where such a routine says how it went
COLUMNS, ARGUMENTS = 17, 4  # of a call, and the first that is an argument: as in ``_loops.tasks``, not loaded here
FAILED, FIRST = 0, 1  # entries of the state
NOWHERE, MATRIX, INFOS = range(3)  # from what an argument is counted


class Program(NamedTuple):
    """Calls, tasks and phases as ``_loops.tasks`` reads them; ``origins`` says from what an entry of a call counts."""

    calls: np.ndarray
    origins: np.ndarray
    tasks: np.ndarray
    phases: np.ndarray
    infos: int
    kept: tuple  # what the addresses in calls belong to

    def start(self, A):
        """(calls, infos, state) of one run on A: a program may be at work in several threads of the user's."""
        infos = np.zeros(max(1, self.infos), dtype=_integer)
        at = np.array([0, _data(A), _data(infos)], dtype=np.int64)
        return self.calls + at[self.origins], infos, np.zeros(FIRST + 2 * len(self.phases), dtype=np.int64)


class Recorder(Blas):
    """`Blas` for blocks of ``matrix``, of order n with ``width`` entries from row to row: calls become a `Program`."""

    def __init__(self, n, width, dtype):
        super().__init__(dtype)
        one = np.empty(1, dtype)
        # Only addresses are wanted: there is nothing behind most of them, and nothing is read or written.
        self.matrix = as_strided(one, (n, n), (width * one.itemsize, one.itemsize), writeable=False)
        self._calls, self._origins, self._tasks, self._phases, self._kept, self._infos = [], [], [], [0], {}, 0
        for name in ROUTINES:
            routine = self._kept[name] = getattr(self, f"_{name}")
            setattr(self, f"_{name}", partial(self._write, name, ctypes.cast(routine, ctypes.c_void_p).value))

    def task(self, do, *arguments, **options):
        """What ``do(*arguments, **options)`` calls is one task."""
        self._tasks.append(len(self._calls))
        do(*arguments, **options)

    def end_phase(self):
        """What follows waits for all tasks so far."""
        if len(self._tasks) > self._phases[-1]:
            self._phases.append(len(self._tasks))

    def program(self):
        """All that was written."""
        self.end_phase()
        calls, origins = (np.array(rows, dtype=np.int64).reshape(-1, COLUMNS) for rows in (self._calls, self._origins))
        tasks, phases = (np.array(ends, dtype=np.int64) for ends in ([*self._tasks, len(calls)], self._phases))
        return Program(calls, origins, tasks, phases, self._infos, tuple(self._kept.values()))

    def _write(self, name, routine, *arguments):
        """Write down one call; where one of LAPACK fails, the run ends with the index in the matrix."""
        told, row, rest = -1, 0, [0] * (COLUMNS - ARGUMENTS - len(arguments))
        places = [self._place(argument) for argument in arguments]
        if name in LAPACK:  # an entry of its own in every run: several threads may be at work
            told, row = self._infos, next(at for origin, at in places if origin == MATRIX) // self.matrix.strides[0]
            places[-1] = INFOS, told * ctypes.sizeof(_integer)
            self._infos += 1
        self._calls.append([routine, len(arguments), told, row, *(at for _, at in places), *rest])
        self._origins.append([NOWHERE] * ARGUMENTS + [origin for origin, _ in places] + rest)

    def _place(self, argument):
        """(origin, address counted from it) of an argument as `Blas` passes it to ctypes."""
        if isinstance(argument, int):
            return MATRIX, argument - _data(self.matrix)
        thing = ctypes.c_char(argument) if isinstance(argument, bytes) else argument._obj
        thing = self._kept.setdefault((type(thing), thing.value), thing)
        return NOWHERE, ctypes.addressof(thing)


LEAST, MOST = 280, 2048  # orders for which it pays
WIDTH = 128  # of a panel
SHARES = 2  # pieces of an update for each thread: the second makes up for a first that took long
WORTH = 2e6  # operations of a piece


def pays(n):
    """Whether a program is faster than pieces given out by `lapack`."""
    return LEAST <= n <= MOST and threads() > 1


def cholesky(A):
    """Lower triangle of A ← L with A = L Lᵀ; returns 0, or the 1-based index of the failing pivot."""
    return _done(A, _cholesky)


def inverse(L):
    """Lower triangle of L ← (L Lᵀ)⁻¹."""
    _done(L, _inverse)


def _done(A, written):
    """Do a program on all cores; without compiled loops the same calls, and so the same bits, from Python."""
    workers, compiled = threads(), loaded()
    program = _program(written, len(A), A.strides[0] // A.itemsize, A.dtype, workers)
    calls, infos, state = program.start(A)
    if compiled is None:
        _from_python(program, calls.tolist(), infos, state)
        return int(state[FAILED])
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


def _from_python(program, calls, infos, state):
    """Make the calls of each phase side by side, one phase after the other."""
    tasks, phases = program.tasks.tolist(), program.phases.tolist()

    def task(index, worker):
        for routine, count, told, row, *arguments in calls[tasks[first + index] : tasks[first + index + 1]]:
            _function(routine, count)(*arguments[:count])
            if told >= 0 and infos[told] != 0:
                state[FAILED] = row + infos[told]
                return

    for first, last in pairwise(phases):
        run(task, last - first)
        if state[FAILED]:
            return


@lru_cache(maxsize=64)
def _function(routine, count):
    """The C function of so many pointers at an address."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(routine)


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
