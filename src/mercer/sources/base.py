"""Source: rows in a fixed order, read from first to last as often as it takes; what they lie in is its own affair."""

import copy
import hashlib
import os
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from mercer._policies import OptionSet
from mercer.gram import join, take
from mercer.gram.base import draw_rows
from mercer.sources.cluster import ClusterOptions, engine_here, is_dask
from mercer.sources.engines import Pool

BATCH = 2**16  # rows that are read at once


class Block(NamedTuple):
    """Consecutive rows: the number of the first, the inputs, the targets (n, t) and the weights (None: ones)."""

    start: int
    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    def __len__(self):
        return len(self.y)

    def cut(self, start, stop):
        """Return the rows of global numbers [start, stop), which must be here."""
        rows = slice(start - self.start, stop - self.start)
        X = self.X[rows] if isinstance(self.X, np.ndarray | list) else take(self.X, np.arange(rows.start, rows.stop))
        return Block(start, X, self.y[rows], None if self.weight is None else self.weight[rows])

    def cut_to(self, index):
        """Return the rows of an index or a mask; they are no longer consecutive."""
        index = np.flatnonzero(index) if np.asarray(index).dtype == bool else np.asarray(index)
        weight = None if self.weight is None else self.weight[index]
        return Block(0, take(self.X, index), self.y[index], weight)


def together(blocks):
    """Consecutive blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    X = blocks[0].X
    if isinstance(X, np.ndarray):
        X = np.concatenate([block.X for block in blocks])
    else:
        for block in blocks[1:]:
            X = join(X, block.X)
    weight = None if blocks[0].weight is None else np.concatenate([block.weight for block in blocks])
    return Block(blocks[0].start, X, np.concatenate([block.y for block in blocks]), weight)


class Source(ABC):
    """n rows (x, y, w) in a fixed order.

    An author writes ``stream``, and where rows come in parts ``parts``; reading some rows and cutting what is read to
    leaves is done here.

    Attributes
    ----------
    n : int
        Number of rows.
    d : int or None
        Columns of X; None for inputs that are not vectors.
    t : int
        Columns of y.
    columns : list of str or None
        Names of the columns of X.
    parts : list of (name, rows)
        What an error message names.
    engine : Engine or None
        Who runs a pass over these rows; None is the threads of this process.
    """

    engine: Any = None
    anywhere = False  # whether a worker elsewhere can read these rows by itself, from any row on
    at_hand = False  # whether all rows are in memory
    n: int
    d: int | None
    t: int
    columns: list | None = None
    parts: list

    @abstractmethod
    def stream(self, start=0):
        """Yield `Block` after `Block` from a row on, in order; each is checked by `checked`."""

    @property
    def fingerprint(self):
        """What tells these rows from others: a resumed pass must be over the same, whoever cut them into parts."""
        some = self.take(draw_rows(self.n, 256, 0))
        X = some.X if isinstance(some.X, np.ndarray) else np.array([repr(x) for x in some.X])
        values = [X, some.y] + ([] if some.weight is None else [some.weight])
        marks = [hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for value in values]
        return repr((self.n, self.d, self.t, self.columns, marks))

    def __getstate__(self):
        """Return what travels: whoever reads the rows there is not who sent them."""
        return self.__dict__ | {"engine": None}

    def portion(self, start, stop):
        """Return what a worker elsewhere needs to read the rows [start, stop): by default all of this source."""
        return self

    def leaves(self, start, stop, size):
        """Yield the rows [start, stop) as blocks of ``size`` rows, the last of what is left.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.sources import Arrays
        >>> [len(leaf) for leaf in Arrays(np.zeros((10, 1)), np.zeros((10, 1))).leaves(0, 10, 4)]
        [4, 4, 2]
        """
        return self.reader(start).leaves(stop, size)

    def reader(self, start=0):
        """Return one reading from a row on, whose ``leaves(stop, size)`` goes on where it was."""
        return Reader(self, start)

    def take(self, index):
        """Return the rows of an index, in its order, as a `Block`: one reading, unless a source knows better."""
        index = np.asarray(index, dtype=np.int64)
        order = np.argsort(index, kind="stable")
        found, wanted, seen = [], index[order], 0
        for block in self.stream():
            upto = int(np.searchsorted(wanted, block.start + len(block)))
            if upto > seen:
                found.append(block.cut_to(wanted[seen:upto] - block.start))
                seen = upto
            if seen == len(wanted):
                break
        return together(found).cut_to(np.argsort(order, kind="stable"))

    def locate(self, row):
        """(name of the part, row in it) of a row."""
        for name, rows in self.parts:
            if row < rows:
                return name, row
            row -= rows
        raise IndexError(f"row {row} is beyond the last of {self.n}.")

    def checked(self, start, X, y, weight):
        """`Block` of rows that are finite, with weights >= 0; ValueError names the part, the row and the column."""
        for values, what in ((X, "X"), (y, "y")):
            if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not np.isfinite(values.sum()):
                bad = ~np.isfinite(values)
                if bad.any():
                    row, column = np.argwhere(bad.reshape(len(values), -1))[0]
                    name = self.columns[column] if what == "X" and self.columns else int(column)
                    of = f"column {name!r}" if what == "X" else "the target"
                    kind = "NaN" if np.isnan(values).any() else "infinity"
                    raise ValueError(
                        f"{what} contains {kind}: {self._where(start + row)}, {of} ({int(bad.sum())} such values in "
                        "what was read with it). Drop these rows, or fill them in first."
                    )
        if weight is not None and not (np.isfinite(weight) & (weight >= 0)).all():
            row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
            raise ValueError(
                f"sample_weight must be finite and >= 0; it is {weight[row]} in {self._where(start + row)}."
            )
        return Block(start, X, y, weight)

    def _where(self, row):
        if len(self.parts) == 1:
            return f"row {row}"
        name, inside = self.locate(row)
        number = [part for part, _ in self.parts].index(name)
        return f"row {inside} of part {number} ({name})"


class Reader:
    """One reading of a source from a row on, leaf by leaf; what was read beyond a leaf is kept for the next."""

    def __init__(self, source, start=0):
        self._stream, self._rest, self._at = source.stream(start), None, start

    def leaves(self, stop, size):
        """Yield the rows up to ``stop`` as blocks of ``size`` rows, the last of what is left."""
        while self._at < stop:
            end = min(self._at + size, stop)
            yield self._upto(end)
            self._at = end

    def _upto(self, end):
        pieces, at = [], self._at
        while at < end:
            block = next(self._stream) if self._rest is None else self._rest
            last = min(block.start + len(block), end)
            if last > at:
                pieces.append(block.cut(at, last))
            self._rest = block if last < block.start + len(block) else None
            at = max(at, last)
        return together(pieces)


class Arrays(Source):
    """Rows in memory, or in a memory map: X (n, d) or any collection, y (n, t), w.

    Parameters
    ----------
    X : ndarray of shape (n, d), memory map, or a collection of objects
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,), default=None
        How much each row counts; None counts each once.
    first : int, default=0
        The number of the first row, where these are some of the rows of another source.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import Arrays
    >>> source = Arrays(np.arange(6.0).reshape(3, 2), np.ones((3, 1)))
    >>> source.n, source.d, source.take([2]).X
    (3, 2, array([[4., 5.]]))
    """

    def __init__(self, X, y, weight=None, first=0):
        self._X, self._y, self._weight, self._first = X, y, weight, first
        self.at_hand = not isinstance(X, np.memmap)
        self.n, self.t = y.shape
        vectors = isinstance(X, np.ndarray) and X.ndim == 2
        self.d, self.parts = X.shape[1] if vectors else None, [("the arrays", len(y))]
        if len(X) != self.n or (weight is not None and len(weight) != self.n):
            raise ValueError(f"X has {len(X)} rows, y has {self.n}.")

    def stream(self, start=0):
        """Yield blocks of 65 536 rows; of a collection of objects all at once."""
        whole = Block(self._first, self._X, self._y, self._weight)
        step, end = BATCH if self.d is not None else self.n, self._first + self.n
        for first in range(max(start, self._first), end, step):
            block = whole.cut(first, min(first + step, end))
            X = block.X if self.d is None else np.asarray(block.X, dtype=float)
            yield self.checked(first, X, np.asarray(block.y, dtype=float), block.weight)

    def portion(self, start, stop):
        """Return these rows alone."""
        block = Block(self._first, self._X, self._y, self._weight).cut(start, stop)
        return Arrays(block.X, block.y, block.weight, start)

    def take(self, index):
        """Return the rows of an index: they are at hand."""
        index = np.asarray(index, dtype=np.int64)
        X = take(self._X, index)
        X = np.asarray(X, dtype=float) if self.d is not None else X
        weight = None if self._weight is None else np.asarray(self._weight[index], dtype=float)
        return self.checked(0, X, np.asarray(self._y[index], dtype=float), weight)


def is_source(X):
    """Whether X is no array but something that is read: a `Source`, a path, a dataset, a function, Dask's collections.

    Examples
    --------
    >>> from mercer.sources import is_source
    >>> is_source("rows/*.parquet"), is_source([[1.0]])
    (True, False)
    """
    dataset = hasattr(X, "to_batches") and hasattr(X, "count_rows")
    return isinstance(X, Source | str | os.PathLike) or dataset or callable(X) or is_dask(X)


def as_source(X, y=None, weight=None, columns=None, executor=None, options=OptionSet()):
    """`Source` of what can be read: a path or glob of Parquet or CSV files, a dataset of Arrow, a function, arrays.

    Each pass over a collection of Dask runs where Dask runs. So does one over files, if a client of `distributed` is
    open: its workers read them.

    Parameters
    ----------
    X : Source, str or os.PathLike, pyarrow.dataset.Dataset, callable, collection of Dask, or array
        A function is called for each pass and returns an iterable of batches: record batches or tables of Arrow, data
        frames of polars or pandas.
    y : str or list of str
        The column or columns of the targets; for arrays the targets.
    weight : str, default=None
        The column of the weights; for arrays the weights.
    columns : list of str, default=None
        The columns of X; None is all that are left.
    executor : concurrent.futures.Executor, default=None
        Whose processes run each pass; the caller starts it, and shuts it down. None is the threads of this process.
    options : OptionSet
        With `ClusterOptions` of workers of Dask.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import as_source
    >>> as_source(np.zeros((3, 2)), np.zeros(3)).n
    3
    """
    source = _source(X, y, weight, columns, options[ClusterOptions])
    if executor is not None:
        source = copy.copy(source)
        source.engine = Pool(executor)
    return source


def _source(X, y, weight, columns, options):
    if isinstance(X, Source):
        return X
    if not is_source(X):
        y = np.asarray(y)
        return Arrays(X, y.reshape(len(y), -1), weight)
    if is_dask(X):
        from mercer.sources.partitions import Partitions

        return Partitions(X, y, weight, columns, options)
    from mercer.sources.frames import Files, of_dataset

    if not isinstance(y, str | list | tuple) or not (weight is None or isinstance(weight, str)):
        raise TypeError(f"of data that are read the target is the name of a column, or a list of names; got {y!r:.80}.")
    chosen = ([y] if isinstance(y, str) else list(y), weight, columns)
    source = Files(X, *chosen) if isinstance(X, str | os.PathLike) else of_dataset(X, *chosen)
    source.engine = engine_here(options) if source.anywhere else None
    return source
