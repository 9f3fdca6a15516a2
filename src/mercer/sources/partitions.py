"""Collections of Dask as sources: rows lie in partitions of any sizes, some of them empty or of unknown size.

Methods of new rows answer partition by partition, lazily.
"""

import copy

import numpy as np

from mercer.exceptions import DataError
from mercer.sources.base import BATCH, Arrays
from mercer.sources.cluster import ClusterOptions, Later, Scheduler, engine_here, is_dask
from mercer.sources.frames import Frames

NAMES = ("X", "y", "sample_weight")


class Pieces:
    """One collection: its partitions as delayed objects, and the rows of each."""

    def __init__(self, nodes, lengths):
        self.nodes, self.lengths = nodes, np.array(lengths, dtype=np.int64)
        self.ends = np.cumsum(self.lengths)
        self.begins = self.ends - self.lengths

    @property
    def n(self):
        """Rows."""
        return int(self.lengths.sum())

    def between(self, start, stop):
        """[(partition, first row in it, last)] of the rows [start, stop)."""
        reached = np.flatnonzero((self.ends > start) & (self.begins < stop) & (self.lengths > 0))
        return [
            (int(i), int(max(start - self.begins[i], 0)), int(min(stop - self.begins[i], self.lengths[i])))
            for i in reached
        ]

    def holding(self, index):
        """[(partition, rows in it)] of a sorted index."""
        owner = np.searchsorted(self.ends, index, side="right")
        return [(int(i), index[owner == i] - self.begins[i]) for i in np.unique(owner)]


class Partitions(Frames):
    """Rows in collections of Dask: X an array or a data frame, y and weights its columns or other collections."""

    def __init__(self, X, y, weight, columns, options=ClusterOptions()):
        names = [y] if isinstance(y, str) else y if isinstance(y, list | tuple) else []
        self.named = bool(names) and all(isinstance(name, str) for name in names)
        if not self.named and (y is None or isinstance(weight, str)):
            raise TypeError(f"of a collection y and sample_weight are both columns of X or both arrays; got {y!r:.80}.")
        frame = hasattr(X, "columns")
        if self.named and not frame:
            raise TypeError(f"an array of Dask has no column {y!r}: give y as an array.")
        values = [X] if self.named else [_collection(one) for one in (X, y, weight) if one is not None]
        self._pieces, looks = map(list, zip(*map(_find_partitions, values), strict=True))
        self._columns_of_all(X, list(names) if self.named else [], weight if self.named else None, columns, looks[0])
        if not self.named:
            self.t = 1 if values[1].ndim == 1 else int(values[1].shape[1])
        self.n = self._pieces[0].n
        for piece, name in zip(self._pieces, NAMES, strict=False):
            if piece.n != self.n:
                raise ValueError(f"X has {self.n} rows, {name} has {piece.n}.")
        if not self.n:
            raise DataError("the collection has columns, but no row.")
        self.engine = engine_here(options) or Scheduler()

    def _columns_of_all(self, X, target, weight, columns, found):
        """Set the columns, and refuse partitions that have others."""
        self.parts = [(f"partition {i}", int(rows)) for i, rows in enumerate(self._pieces[0].lengths)]
        if hasattr(X, "columns"):
            self._choose([str(name) for name in X.columns], target, weight, columns)
            for i, names in enumerate(found):
                self._same_columns(names, f"partition {i}")
        elif X.ndim == 2:
            self.d, self.columns = int(X.shape[1]), None
        else:
            raise ValueError(f"X must have 2 dimensions, it has {X.ndim}.")

    def values(self, which, part, piece):
        """A partition as arrays: (X, y, weight) of a data frame that has all of them, else one of the three."""
        if self.named:
            return self.arrays(piece, f"partition {part}")
        if which == 0 and self.columns is not None:
            return self.matrix(piece, self.columns, f"partition {part}")
        try:
            found = np.asarray(piece, dtype=float)
        except (TypeError, ValueError) as error:
            what = f"partition {part} of {NAMES[which]} does not hold numbers: {error}. "
            raise DataError(f"{what}Turn it into numbers first; labels of classes into 0, 1, 2, …") from None
        if which == 2:
            return found
        found = found.reshape(len(found), -1)
        if found.shape[1] != (self.d, self.t)[which]:
            raise DataError(
                f"partition {part} of {NAMES[which]} has {found.shape[1]} columns; it should have "
                f"{(self.d, self.t)[which]}."
            )
        return found

    def put_together(self, columns):
        """(X, y, weight) from the pieces of each."""
        if self.named:
            columns = zip(*columns[0], strict=True)
        found = [None if pieces[0] is None else np.concatenate(pieces) for pieces in columns]
        return (*found, None)[:3]

    # ---------------------------------------------------------------------------------------- reading
    def _node(self):
        """How partitions are read and named, without their rows, as a task."""
        from dask import delayed

        if "_bare" not in self.__dict__:
            bare = copy.copy(self)
            bare._pieces, bare.engine = [], None
            self._bare = delayed(bare, pure=False, traverse=False)
        return self._bare

    def portion(self, start, stop):
        """Return the rows [start, stop) as they are made elsewhere: `Arrays` of partitions, of large ones some rows."""
        from dask import delayed

        some = delayed(_take_span, pure=False)
        large = 2 * (stop - start)  # a partition of no more comes as it is, which saves a task
        columns = [
            [
                (i, some(piece.nodes[i], a, b), 0, b - a) if piece.lengths[i] > large else (i, piece.nodes[i], a, b)
                for i, a, b in piece.between(start, stop)
            ]
            for piece in self._pieces
        ]
        return Later(_join_pieces, [self._node(), start, columns])

    def stream(self, start=0):
        """Yield blocks, partition after partition, each fetched when it is asked for."""
        import dask

        piece = self._pieces[0]
        for begin, end in zip(piece.begins.tolist(), piece.ends.tolist(), strict=True):
            if end > max(start, begin):
                yield from dask.compute(self.portion(begin, end))[0]().stream()

    def take(self, index):
        """Return the rows of an index: each partition hands over its own."""
        import dask

        order, back = np.unique(np.asarray(index, dtype=np.int64), return_inverse=True)
        cut, node = dask.delayed(_cut_piece, pure=False), self._node()
        picked = [
            [cut(node, which, i, piece.nodes[i], rows) for i, rows in piece.holding(order)]
            for which, piece in enumerate(self._pieces)
        ]
        X, y, weight = self.put_together(dask.compute(picked)[0])
        bad = ~(np.isfinite(X).all(axis=1) & np.isfinite(y).all(axis=1))
        bad |= False if weight is None else ~(np.isfinite(weight) & (weight >= 0))
        for i in np.flatnonzero(bad)[:1]:  # named by its own number
            self.checked(int(order[i]), X[i : i + 1], y[i : i + 1], None if weight is None else weight[i : i + 1])
        return Arrays(X, y, weight).take(back)


def _collection(one):
    """An array as a collection of Dask."""
    if is_dask(one):
        return one
    import dask.array as da

    return da.from_array(np.asarray(one), chunks=(BATCH, *np.shape(one)[1:]))


def _find_partitions(one):
    """(`Pieces`, names of the columns of each partition or None): where the rows are not known, they are counted."""
    import dask

    if not hasattr(one, "chunks"):
        nodes = one.to_delayed()
        look = dask.delayed(_names_and_rows, pure=False)
        found = dask.compute([look(node) for node in nodes])[0]
        return Pieces(nodes, [rows for rows, _ in found]), [names for _, names in found]
    if one.ndim == 2 and len(one.chunks[1]) > 1:
        one = one.rechunk({1: -1})
    nodes, lengths = list(one.to_delayed().ravel()), one.chunks[0]
    if np.isnan(lengths).any():
        lengths = dask.compute([dask.delayed(len, pure=False)(node) for node in nodes])[0]
    return Pieces(nodes, lengths), None


def _names_and_rows(frame):
    return len(frame), [str(name) for name in getattr(frame, "columns", ())]


def _take_span(piece, start, stop):
    """Some rows of a partition, from one to another."""
    return _select(piece, slice(start, stop))


def _select(piece, rows):
    return piece.iloc[rows] if hasattr(piece, "iloc") else piece[rows]


def _cut_piece(schema, which, part, piece, rows):
    """The rows of an index of a partition, as arrays."""
    return schema.values(which, part, _select(piece, rows))


def _join_pieces(schema, start, columns):
    """The rows of a task, from partitions or parts of them."""
    columns = [
        [_cut_piece(schema, which, i, piece, slice(a, b)) for i, piece, a, b in pieces]
        for which, pieces in enumerate(columns)
    ]
    found = Arrays(*schema.put_together(columns), first=start)
    found.parts, found.columns = schema.parts, schema.columns
    return found


# ---------------------------------------------------------------------------------------- methods of new rows
def answer_lazily(model, name, X, args, kwargs):
    """The answer of a method for each partition of X, as an array of Dask; a tuple of arrays where it is one."""
    import dask.array as da
    from dask import delayed

    options = args, kwargs
    if kwargs.get("return_cov"):
        raise ValueError("return_cov needs all rows at once: compute() them, or ask for return_std.")
    like = _answer(model, name, _some_row(X), options)  # of one row: what is wrong is told now, not when it is computed
    plain = type(model).from_state(model.state())
    there, ask = delayed(plain, pure=False, traverse=False), delayed(_answer, pure=False)
    if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    nodes = list(np.ravel(X.to_delayed()))
    rows = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(nodes)
    blocks = [
        da.from_delayed(ask(there, name, node, options, like[:0]), (n, *like.shape[1:]), like.dtype)
        for node, n in zip(nodes, rows, strict=True)
    ]
    found = da.concatenate(blocks, allow_unknown_chunksizes=True)
    return found if not kwargs.get("return_std") else (found[..., 0], found[..., 1])


def _answer(model, name, X, options, empty=None):
    """The answer for a partition; mean and std side by side in one array."""
    if empty is not None and not len(X):
        return empty
    args, kwargs = options
    found = getattr(model, name)(X, *args, **kwargs)
    return np.stack(found, axis=-1) if isinstance(found, tuple) else found


def _some_row(X):
    """A row with the columns of X."""
    row = np.zeros((1, X.shape[1]))
    if not hasattr(X, "columns"):
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=list(X.columns))
