"""A pass over a source: leaves of a fixed size, tasks of consecutive leaves, and a fixed tree that adds them.

Where a leaf begins, which leaves a task has and which sums are added when depends on the number of rows alone, and a
leaf runs with BLAS on one thread: the sum has the same bits for any number of threads, processes or machines, and after
an interruption. Who runs the tasks is the affair of the source's engine. A checkpoint
stores what each pass has summed so far: a fit that was killed goes on from there.
"""

import glob
import hashlib
import json
import os
import time
import zipfile

import numpy as np

from mercer._warn import warn
from mercer.sources.engines import Job, Threads, add_arrays, push


class Checkpoint:
    """The finished subtrees of passes: each written beside its file and moved into its place, so it is always whole.

    A fit makes several passes, a file for each whose name begins with ``path``. Those that are done are kept too:
    started again, it does not make them again.
    """

    def __init__(self, path, every=20.0):  # seconds between two writings
        self.path, self.every = os.fspath(path), every
        self._last = time.monotonic()
        self._failed = False

    def _file(self, fingerprint):
        """The file of a pass."""
        return f"{self.path}.{fingerprint[:8]}"

    def load(self, fingerprint):
        """(tasks done, [(level, arrays)]) of a pass with this fingerprint; None where there is none."""
        path = self._file(fingerprint)
        try:
            with np.load(path, allow_pickle=False) as file:
                head = json.loads(str(file["head"]))
                if head["fingerprint"] != fingerprint:
                    return None
                stack = [
                    (level, tuple(file[f"{i}_{j}"] for j in range(head["arrays"])))
                    for i, level in enumerate(head["levels"])
                ]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            warn(f"{path!r} is no checkpoint of this pass ({error}): it begins anew.", RuntimeWarning)
            return None
        return head["done"], stack

    def due(self, fingerprint, last):
        """Whether it is time to write; after the last task also where there is a file of fewer."""
        late = time.monotonic() - self._last >= self.every
        return not self._failed and (late or (last and os.path.exists(self._file(fingerprint))))

    def save(self, fingerprint, done, stack):
        """Write; a disk that is full is a warning, and the pass goes on without."""
        head = {"fingerprint": fingerprint, "done": done, "levels": [level for level, _ in stack]}
        head["arrays"] = len(stack[0][1]) if stack else 0
        arrays = {f"{i}_{j}": array for i, (_, parts) in enumerate(stack) for j, array in enumerate(parts)}
        path = self._file(fingerprint)
        beside = f"{path}.{os.getpid()}.part"
        try:
            with open(beside, "wb") as file:
                np.savez(file, head=np.array(json.dumps(head)), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError as error:
            self._failed = True
            warn(f"no checkpoint was written to {path!r} ({error}); the fit goes on without.", RuntimeWarning)
            if os.path.exists(beside):
                os.remove(beside)
        self._last = time.monotonic()

    def remove(self):
        """Delete the files: the fit is done."""
        for name in glob.glob(f"{glob.escape(self.path)}.{'[0-9a-f]' * 8}*"):
            if len(name) == len(self.path) + 9 or name.endswith(
                ".part"
            ):  # also what was half written when it was killed
                os.remove(name)


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
    checkpoint : mercer.sources.passes.Checkpoint, default=None
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
