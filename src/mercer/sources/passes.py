"""A pass over a source: leaves of a fixed size, tasks of consecutive leaves, and a fixed tree that adds them.

Where a leaf begins, which leaves a task has and which sums are added when depends on the number of rows alone, and a
leaf runs with BLAS on one thread: the sum has the same bits for any number of threads, processes or machines, and after
an interruption. Who runs the tasks is the affair of the source's engine.
"""

import hashlib

from mercer.sources.engines import Job, Threads, add_arrays, push

LEAF = 2048  # rows of a leaf: enough for a product at full speed, few enough to stay small beside m²


def map_reduce(leaf, source, zero, add=add_arrays, *, deadline=None, progress=None, checkpoint=None, key=""):
    """Σ over all leaves of a source: each task adds its leaves in order, a fixed tree adds the tasks.

    Parameters
    ----------
    leaf : callable
        leaf(sums, block): adds a `Block` of at most 2048 rows to a tuple of arrays. Where the source has an engine,
        leaf, zero and add travel: they are functions of a module, or objects.
    source : Source
    zero : callable
        Return a fresh tuple of arrays of zeros.
    add : callable
        add(a, b) adds b to a in place, and returns a.
    deadline : float, default=None
        ``time.monotonic()`` after which `OutOfTime` is raised.
    progress : callable, default=None
        progress(rows done, rows) after each part of the tree.
    checkpoint : mercer.sources.checkpoint.Checkpoint, default=None
        Where sums are kept, so that a reading that was broken off can go on.
    key : str
        What else tells this pass from another: a checkpoint of another pass is not taken up.

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
    spans, engine = tasks(source.n), source.engine or Threads()
    mark = hashlib.sha256(f"{source.fingerprint} {key}".encode()).hexdigest() if checkpoint else ""
    done, stack = (checkpoint and checkpoint.load(mark)) or (0, [])
    trees = list(subtrees(done, len(spans), engine.parts))
    found = engine.sums(Job(leaf, zero, add, LEAF), source, [spans[a:b] for a, b, _ in trees], deadline)
    try:
        for (_, last, level), sums in zip(trees, found, strict=True):
            push(stack, sums, add, level)
            if progress is not None:
                progress(spans[last - 1][1], source.n)
            if checkpoint is not None and checkpoint.due(mark, last == len(spans)):
                checkpoint.save(mark, last, stack)
    finally:
        found.close()
    while len(stack) > 1:
        (_, later), (level, earlier) = stack.pop(), stack.pop()
        stack.append((level, add(earlier, later)))
    return stack[0][1]


def tasks(n):
    """[(start, stop)]: at most 256 runs of whole leaves, as even as they can be; of n alone.

    Beyond 32 tasks they have up to four leaves: each begins with sums of its own.
    """
    leaves = -(-n // LEAF)
    size = max(-(-leaves // 256), min(leaves // 32, 4), 1) * LEAF
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def subtrees(done, count, parts):
    """Yield (first, last, level): the tasks [done, count) as whole subtrees of the fixed tree, about ``parts``."""
    most = max(0, (-(-count // parts) - 1).bit_length())
    while done < count:
        level = most if done == 0 else min(most, (done & -done).bit_length() - 1)
        level = min(level, (count - done).bit_length() - 1)
        yield done, done + 2**level, level
        done += 2**level
