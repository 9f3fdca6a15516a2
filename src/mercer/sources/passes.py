"""A pass over a source: leaves of a fixed size, tasks of consecutive leaves, and a fixed tree that adds them.

Where a leaf begins, which leaves a task has and which sums are added when depends on the number of rows alone, and a
leaf runs with BLAS on one thread: the sum has the same bits for any number of threads, and after an interruption.
"""

import hashlib
import time

from mercer import _threads
from mercer.sources.base import Reader

LEAF = 2048  # rows of a leaf: enough for a product at full speed, few enough to stay small beside m²
TASKS = 256  # at most; log₂ of it sums wait at a time


class OutOfTime(Exception):
    """The time budget ended before the pass."""


def added(a, b):
    """a + b in place, array by array."""
    for one, other in zip(a, b, strict=True):
        one += other
    return a


def map_reduce(leaf, source, zero, add=added, *, deadline=None, progress=None, checkpoint=None, key="", workers=None):
    """Σ over all leaves of a source: each task adds its leaves in order, a fixed tree adds the tasks.

    Parameters
    ----------
    leaf : callable
        leaf(sums, block): adds a `Block` of at most 2048 rows to a tuple of arrays.
    source : Source
    zero : callable
        Return a fresh tuple of arrays of zeros.
    add : callable
        add(a, b) adds b to a in place, and returns a.
    deadline : float, default=None
        ``time.monotonic()`` after which `OutOfTime` is raised.
    progress : callable, default=None
        progress(rows done, rows) after each round of tasks.
    checkpoint : Checkpoint, default=None
    key : str
        What else tells this pass from another: a checkpoint of another pass is not taken up.
    workers : int, default=None
        Threads; None is what the process may use. The sum does not depend on it.

    Returns
    -------
    tuple of ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import Arrays, map_reduce
    >>> source = Arrays(np.ones((5000, 2)), np.ones((5000, 1)))
    >>> def leaf(sums, block):
    ...     sums[0][:] += block.X.sum(axis=0)
    >>> map_reduce(leaf, source, lambda: (np.zeros(2),))
    (array([5000., 5000.]),)
    """
    spans = tasks(source.n)
    mark = hashlib.sha256(f"{source.fingerprint} {key}".encode()).hexdigest()
    done, stack = (checkpoint and checkpoint.load(mark)) or (0, [])
    workers = workers or _threads.threads()
    with _threads.one_blas_thread():
        reader = Reader(source, spans[done][0] if done < len(spans) else source.n)
        while done < len(spans):
            if deadline is not None and time.monotonic() > deadline:
                raise OutOfTime(f"{spans[done][0]} of {source.n} rows were done.")
            group = spans[done : done + workers]
            for sums in _group(leaf, zero, [list(reader.leaves(stop, LEAF)) for _, stop in group], workers):
                push(stack, sums, add)
            done += len(group)
            if progress is not None:
                progress(group[-1][1], source.n)
            if checkpoint is not None and done < len(spans) and checkpoint.due():
                checkpoint.save(mark, done, stack)
    while len(stack) > 1:
        (_, later), (level, earlier) = stack.pop(), stack.pop()
        stack.append((level, add(earlier, later)))
    return stack[0][1]


def _group(leaf, zero, groups, workers):
    """The sums of some tasks, side by side."""
    sums = [None] * len(groups)

    def work(i, worker):
        sums[i] = zero()
        for block in groups[i]:
            leaf(sums[i], block)

    _threads.run(work, len(groups), min(workers, len(groups)))
    return sums


def push(stack, sums, add):
    """Lay the sum of the next task on the stack; two of the same level become one of the next."""
    level = 0
    while stack and stack[-1][0] == level:
        sums = add(stack.pop()[1], sums)
        level += 1
    stack.append((level, sums))


def tasks(n):
    """[(start, stop)]: at most 256 runs of whole leaves, as even as they can be; of n alone.

    Examples
    --------
    >>> from mercer.sources.passes import tasks
    >>> tasks(2500)
    [(0, 2048), (2048, 2500)]
    """
    leaves = -(-n // LEAF)
    size = -(-leaves // TASKS) * LEAF
    return [(start, min(start + size, n)) for start in range(0, n, size)]
