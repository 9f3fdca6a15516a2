"""BLAS calls written down instead of made, for ``_loops.tasks``: phases of tasks of calls."""

import ctypes
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mercer.solvers.engine.blas import ROUTINES, Blas, _data, _integer

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
