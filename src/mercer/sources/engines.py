"""Who runs the tasks of a pass: our threads, or the processes of any executor."""

import os
import sys
import time
from abc import ABC, abstractmethod
from concurrent.futures import BrokenExecutor, wait
from typing import NamedTuple

import numpy as np

from mercer import _threads
from mercer._machine import keep_freed_memory

PARTS = 64  # subtrees that others sum up: as many results come back, and as many of them can be under way


class OutOfTime(Exception):
    """The time budget ended before the pass."""


class EngineLost(ConnectionError):
    """The workers of a pass, or the way to them, are gone."""


def add_arrays(a, b):
    """a + b in place, array by array."""
    for one, other in zip(a, b, strict=True):
        one += other
    return a


def push(stack, sums, add, level=0):
    """Lay the sum of the next subtree on the stack; two of the same level become one of the next."""
    while stack and stack[-1][0] == level:
        sums = add(stack.pop()[1], sums)
        level += 1
    stack.append((level, sums))


class Triangle(NamedTuple):
    """The lower triangle of a square array, row by row: half of what a sum of squares has to travel."""

    m: int
    values: np.ndarray

    @classmethod
    def of(cls, array):
        """Return the triangle of a square array with nothing above its diagonal; any other array as it is."""
        m = len(array)
        if array.ndim != 2 or array.shape[1] != m or m < 64:  # half of fewer is not worth a thought
            return array
        values, at = np.empty(m * (m + 1) // 2, dtype=array.dtype), 0
        for i in range(m):
            if array[i, i + 1 :].any():
                return array
            values[at : at + i + 1] = array[i, : i + 1]
            at += i + 1
        return cls(m, values)

    def square(self):
        """Return the array."""
        array, at = np.zeros((self.m, self.m), dtype=self.values.dtype), 0
        for i in range(self.m):
            array[i, : i + 1] = self.values[at : at + i + 1]
            at += i + 1
        return array


def pack(sums):
    """Sums as they travel."""
    return [Triangle.of(array) for array in sums]


def unpack(sums):
    """Sums that came from elsewhere, as arrays that can be added to: what came over a wire may be read-only."""
    return tuple(
        array.square() if isinstance(array, Triangle) else np.require(array, requirements="W") for array in sums
    )


def version():
    """The version of this package."""
    return sys.modules["mercer"].__version__


def same_version(ours):
    """Refuse to work for another version of this package."""
    if version() != ours:
        raise EngineLost(
            f"a worker has mercer {version()}, and this is mercer {ours}: sums of two versions are not added. Install "
            "the same version on every worker."
        )


class Job:
    """What is done with rows, as it travels to a worker: the leaf, the sums it begins with, and how sums are added."""

    def __init__(self, leaf, zero, add, size):
        self.leaf, self.zero, self.add, self.size = leaf, zero, add, size
        self.version, self.home = version(), os.getpid()

    def task(self, blocks):
        """Return the sums of consecutive leaves."""
        sums = self.zero()
        for block in blocks:
            self.leaf(sums, block)
        return sums

    def tree(self, tasks):
        """Return the sum of the blocks of some tasks, in their tree."""
        stack: list = []
        for blocks in tasks:
            push(stack, self.task(blocks), self.add)
        return stack[0][1]

    def sent(self, source, spans):
        """Return the sum of some tasks as a worker makes it, alone with BLAS on one thread, and as it travels back."""
        self.ready()
        with _threads.one_blas_thread():
            return pack(self.tree(source.leaves(start, stop, self.size) for start, stop in spans))

    def ready(self):
        """Refuse another version of this package; where all threads are ours, one of BLAS, and memory is kept."""
        same_version(self.version)
        if os.getpid() != self.home:
            _threads.keep_one_blas_thread()
            keep_freed_memory()


class Engine(ABC):
    """Who sums up the subtrees of a pass."""

    parts: int = PARTS  # about how many subtrees it wants: results that come back to the caller
    name = ""  # as a report says it

    @abstractmethod
    def sums(self, job, source, trees, deadline=None):
        """Yield the sum of each subtree, a list of (start, stop), in order; `OutOfTime` after the deadline."""

    def room(self):
        """Return the `Memory` of the smallest worker; None where that is the caller's."""
        return None


class Threads(Engine):
    """The threads of this process; rows are read once, in order, by the caller."""

    parts = 2 * PARTS  # of many tasks each thread adds two by itself; and as often it looks at the clock

    def __init__(self, workers=None):
        self.workers = workers

    def sums(self, job, source, trees, deadline=None):
        """Yield the sum of each subtree, some of them side by side."""
        workers = self.workers or _threads.threads()
        with _threads.one_blas_thread():
            reader = source.reader(trees[0][0][0] if trees else source.n)
            for i in range(0, len(trees), workers):
                in_time(deadline, trees[i][0][0], source)
                some = trees[i : i + workers]
                group = [[list(reader.leaves(stop, job.size)) for _, stop in tree] for tree in some]
                yield from self._side_by_side(job, group)

    @staticmethod
    def _side_by_side(job, groups):
        sums = [None] * len(groups)

        def work(i, worker):
            sums[i] = job.tree(groups[i])

        _threads.run(work, len(groups), len(groups))
        return sums


class Pool(Engine):
    """Any `concurrent.futures.Executor`, of this machine, of MPI, of Ray: used, and neither started nor shut down."""

    def __init__(self, executor):
        self.executor, self.name = executor, type(executor).__name__

    def sums(self, job, source, trees, deadline=None):
        """Submit each subtree with what a worker needs to read its rows; yield the sums as they come, in order."""
        with _threads.one_blas_thread():  # of this process, if its threads are the workers
            yield from self._in_order(job, source, trees, deadline)

    def _in_order(self, job, source, trees, deadline):
        futures = []
        try:
            for tree in trees:
                rows = source.portion(tree[0][0], tree[-1][1])
                futures.append(self.executor.submit(job.sent, rows, tree))
            for tree, future in zip(trees, futures, strict=True):
                wait([future], None if deadline is None else max(0.0, deadline - time.monotonic()))
                if not future.done():
                    raise OutOfTime(f"{tree[0][0]} of {source.n} rows were done.")
                yield unpack(future.result())
        except BrokenExecutor as error:
            raise EngineLost(f"a process of the {self.name} ended while it was at work ({error}). {REMEDY}") from error
        finally:
            for future in futures:
                future.cancel()


REMEDY = (
    "With approximation=Landmarks(m, checkpoint='sums.npz') the same fit, started again, goes on from what was summed."
)


def in_time(deadline, row, source):
    """Raise `OutOfTime` after the deadline."""
    if deadline is not None and time.monotonic() > deadline:
        raise OutOfTime(f"{row} of {source.n} rows were done.")
