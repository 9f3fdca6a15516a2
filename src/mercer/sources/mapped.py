"""A pass as a function of record batches: for engines that map such functions over their own rows, as Spark does."""

import copy

import numpy as np

from mercer.sources.base import BATCH, Arrays, Block
from mercer.sources.engines import Engine
from mercer.sources.frames import Frames

GROUP, SUMS = "group", "sums"  # columns that come back


class BatchTask:
    """Record batches of one partition ↦ record batches (group, sums): what ``DataFrame.mapInArrow`` calls.

    Rows may come in any order, but those of a group together.
    """

    def __init__(self, job, schema, trees):
        self.job, self.schema, self.trees = job, schema, trees

    def __call__(self, batches):
        """Yield the sums of each group whose rows are here."""
        import pyarrow as pa

        tables, row = [pa.Table.from_batches([batch]) for batch in batches if batch.num_rows], self.schema.row
        if not tables:
            return
        table = pa.concat_tables(tables).sort_by(row)
        rows = table[row].to_numpy()
        firsts = [tree[0][0] for tree in self.trees]
        for group in np.unique(np.searchsorted(firsts, rows, side="right") - 1):
            tree = self.trees[group]
            start, stop = tree[0][0], tree[-1][1]
            first, last = np.searchsorted(rows, (start, stop))
            if not np.array_equal(rows[first:last], np.arange(start, stop)):
                raise ValueError(
                    f"rows {start} to {stop - 1} are summed together, and {last - first} of {stop - start} came: "
                    f"{row!r} must number all rows from 0, and no group may be spread over partitions."
                )
            found = Arrays(*self.schema.arrays(table[first:last], f"group {group}"), first=start)
            found.columns = self.schema.columns
            packed = b"".join(np.ascontiguousarray(array).tobytes() for array in self.job.subtree(found, tree))
            yield pa.record_batch({GROUP: pa.array([int(group)]), SUMS: pa.array([packed], pa.binary())})


class Mapper(Engine):
    """Who maps a function over the record batches of a table."""

    name, changes = "record batches", False

    def __init__(self, run):
        self._run = run

    def sums(self, job, source, trees, deadline=None):
        """Yield the sum of each group, when all have come back."""
        schema = copy.copy(source)
        schema._pick = schema.engine = None
        like, found = job.zero(), {}
        for batch in self._run(BatchTask(job, schema, trees), [tree[0][0] for tree in trees]):
            found |= zip(batch[GROUP].to_pylist(), batch[SUMS].to_pylist(), strict=True)
        lost = [group for group in range(len(trees)) if group not in found]
        if lost:
            raise ValueError(f"{len(lost)} of {len(trees)} groups did not come back, the first of them {lost[0]}.")
        for group in range(len(trees)):
            yield _unpacked(found.pop(group), like)


class MappedTable(Frames):
    """A table that another engine holds, which maps functions over record batches.

    Parameters
    ----------
    n : int
        Number of rows.
    names : list of str
        Columns of the table.
    target : str or list of str
        The column that is predicted, or several.
    run : callable
        run(task, starts) calls task, a function of an iterator of record batches, for each partition and returns the
        record batches that come out. ``starts`` are the first rows of groups; none may be spread over partitions.
    pick : callable
        pick(index) returns a table of Arrow, or a data frame, with the rows whose numbers are in a sorted list.
    row : str, default="row"
        The column that numbers the rows from 0.
    weight : str, default=None
        The column of weights; None counts each row once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mercer import KernelRidge, Landmarks
    >>> from mercer.kernels import Gaussian
    >>> from mercer.sources.mapped import MappedTable
    >>> table = pa.table({"row": range(50), "x": [i / 50 for i in range(50)], "y": [i % 7 for i in range(50)]})
    >>> source = MappedTable(50, table.column_names, "y", lambda task, starts: task(table.to_batches()), table.take)
    >>> KernelRidge(Gaussian(0.3), lam=1.0, approximation=Landmarks(50)).fit(source, "y").fit_report_["rows"]
    50
    """

    def __init__(self, n, names, target, run, pick, row="row", weight=None):
        self.n, self.row, self._pick, self.engine = n, row, pick, Mapper(run)
        others = [name for name in names if name != row]
        self._choose(others, [target] if isinstance(target, str) else target, weight, None)
        self.parts = [("the table", n)]

    def stream(self, start=0):
        """Yield the rows, picked 65 536 at a time."""
        for first in range(start, self.n, BATCH):
            block = self.take(np.arange(first, min(first + BATCH, self.n)))
            yield Block(first, block.X, block.y, block.weight)

    def take(self, index):
        """Return the rows of an index."""
        order, back = np.unique(np.asarray(index, dtype=np.int64), return_inverse=True)
        found = self._pick(order.tolist())
        place = np.argsort(np.asarray(found[self.row]), kind="stable")
        X, y, weight = self.arrays(found, "the table")
        if len(X) != len(order):
            raise ValueError(f"{len(order)} rows were asked for, and {len(X)} came.")
        return Arrays(X[place], y[place], None if weight is None else weight[place]).take(back)


def _unpacked(packed, like):
    """Arrays like those given, from their bytes."""
    ends = np.cumsum([array.nbytes for array in like])
    return tuple(
        np.frombuffer(packed[end - array.nbytes : end], array.dtype).reshape(array.shape).copy()
        for array, end in zip(like, ends, strict=True)
    )
