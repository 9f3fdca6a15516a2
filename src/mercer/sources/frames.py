"""Sources of named columns: Parquet and CSV files, datasets of Arrow, and functions that return batches."""

import copy
import glob
import os
from itertools import chain

import numpy as np

from mercer.exceptions import DataError
from mercer.sources.base import BATCH, Source

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv"}


class Frames(Source):
    """Rows of batches with named columns, of which some are X, some y and perhaps one the weight.

    A batch is whatever has named columns that NumPy reads: a data frame of polars or pandas, a record batch or table of
    Arrow.
    """

    def _choose(self, names, target, weight, columns):
        """Decide which columns are what, from the names of the first part."""
        apart = [*target, *([weight] if weight else [])]
        self.columns = [name for name in names if name not in apart] if columns is None else list(columns)
        missing = [name for name in [*apart, *self.columns] if name not in names]
        if missing:
            raise DataError(
                f"there is no column {', '.join(map(repr, missing))}; there are {', '.join(map(repr, names))}."
            )
        if not self.columns:
            raise DataError("no column is left for X.")
        self.target, self.weight, self.names = list(target), weight, list(names)
        self.d, self.t = len(self.columns), len(self.target)

    @property
    def wanted(self):
        """The columns that are read."""
        return [*self.columns, *self.target, *([self.weight] if self.weight else [])]

    def _block(self, frame, start, part):
        """A batch as a `Block`."""
        return self.checked(start, *self.arrays(frame, part))

    def arrays(self, frame, part):
        """(X, y, weight) of a batch."""
        y, weight = self.matrix(frame, self.target, part), None
        if self.weight:
            weight = np.array(self._numbers(frame, self.weight, part), dtype=float)
        return self.matrix(frame, self.columns, part), y, weight

    def matrix(self, frame, names, part):
        """Some columns of a batch, as floats."""
        X = np.empty((len(frame), len(names)))
        for j, name in enumerate(names):
            X[:, j] = self._numbers(frame, name, part)
        return X

    def _numbers(self, frame, name, part):
        try:
            values = np.asarray(frame[name])
        except KeyError:
            raise DataError(f"{part} has no column {name!r}.") from None
        if values.dtype.kind == "O":  # whole numbers with gaps, as Arrow and pandas hold them
            try:
                values = values.astype(float)
            except (TypeError, ValueError):
                pass
        if values.dtype.kind not in "biuf":
            raise DataError(
                f"column {name!r} of {part} does not hold numbers but {values.dtype}. Choose the columns "
                "(sources.as_source(..., columns=[...])), or turn it into numbers first."
            )
        return values

    def _same_columns(self, names, part):
        """Refuse a part with other columns."""
        missing = [name for name in self.wanted if name not in names]
        new = [name for name in names if name not in self.names]
        if missing or new:
            what = [f"no {', '.join(map(repr, missing))}"] if missing else []
            what += [f"{', '.join(map(repr, new))}, which the first part has not"] if new else []
            raise DataError(f"{part} has other columns: {' and '.join(what)}.")


class Files(Frames):
    """A path, folder or glob of Parquet or CSV files, in the order of their names; read by polars."""

    anywhere = True

    def __init__(self, path, target, weight, columns):
        self.paths, self._open = paths_of(path), {}  # what is open stays here when the source travels
        for number, p in enumerate(self.paths):
            names = self._read(p, lambda file: file.names())
            if number == 0:
                self._choose(names, target, weight, columns)
            self._same_columns(names, self._called(p))
        self.parts = [(p, self._read(p, lambda file: file.count())) for p in self.paths]
        self.n = sum(rows for _, rows in self.parts)
        if not self.n:
            raise DataError(f"{os.fspath(path)!r}: the files have columns, but no row.")

    @property
    def fingerprint(self):
        """The rows, the columns, and for each file its size and when it was last changed."""
        stamps = [(p, os.stat(p).st_size, os.stat(p).st_mtime_ns) for p in self.paths]
        return repr((self.n, self.wanted, stamps))

    def __getstate__(self):
        return super().__getstate__() | {"_open": {}}

    def stream(self, start=0):
        """Yield blocks of at most 65 536 rows, file after file."""
        first = 0
        for path, rows in self.parts:
            at = max(start - first, 0)
            if at < rows:
                for frame in self._frames(path, at):
                    if at + len(frame) > rows:
                        raise DataError(
                            f"{self._called(path)} has more than its {rows} rows: it was changed meanwhile."
                        )
                    yield self._block(frame, first + at, self._called(path))
                    at += len(frame)
                if at < rows:
                    raise DataError(f"{self._called(path)} ends after {at} of {rows} rows: it was changed meanwhile.")
            first += rows

    def _frames(self, path, at):
        batches = iter(self._read(path, lambda file: file.batches(self.wanted, at)))
        while (frame := self._read(path, lambda file: next(batches, None))) is not None:
            yield frame

    def _called(self, path):
        return f"part {self.paths.index(path)} ({path})"

    def _read(self, path, ask):
        """What is asked of a file; an error of the reader names the part."""
        try:
            if path not in self._open:
                self._open[path] = _Scanned(path)
            return ask(self._open[path])
        except (DataError, ImportError, MemoryError):
            raise
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(f"{self._called(path)} cannot be read: {said}") from error


class Batches(Frames):
    """A dataset of Arrow, or a function that returns batches anew for each pass; the first pass counts the rows."""

    def __init__(self, make, target, weight, columns):
        self._make = make
        batches = iter(self._batches())
        first = next(batches, None)
        if first is None:
            raise DataError("there is no batch.")
        self._choose(_column_names(first), target, weight, columns)
        self.parts = []
        for number, frame in enumerate(chain([first], batches)):
            self._same_columns(_column_names(frame), f"batch {number}")
            self.parts.append((f"batch {number}", len(frame)))
        self.n = sum(rows for _, rows in self.parts)
        if not self.n:
            raise DataError("the batches have columns, but no row.")

    def _batches(self):
        if callable(self._make):
            return self._make()
        wanted = {"columns": self.wanted} if "names" in self.__dict__ else {}
        return self._make.to_batches(batch_size=BATCH, **wanted)

    def portion(self, start, stop):
        """Refuse: batches come one after the other, to one reader."""
        raise DataError(
            "batches come one after the other, and cannot be read by several processes: give Parquet files, a dataset "
            "of them or a collection of Dask, or no executor."
        )

    def stream(self, start=0):
        """Yield a block for each batch that reaches beyond ``start``."""
        at = 0
        for number, frame in enumerate(self._batches()):
            rows = len(frame)
            if rows and at + rows > start:
                yield self._block(frame, at, f"batch {number}")
            at += rows
        if at != self.n:
            raise DataError(f"there were {self.n} rows when they were counted, and {at} now: batches must come again.")


class Fragments(Frames):
    """A dataset of Arrow whose files can be read from anywhere in them: a part is a row group."""

    anywhere = True

    def __init__(self, dataset, target, weight, columns):
        self._schema = dataset.schema
        self._choose([str(name) for name in dataset.schema.names], target, weight, columns)
        pieces = list(_row_groups(dataset))
        self._pieces = [(i, piece) for i, (piece, _) in enumerate(pieces)]
        self.parts = [(f"row group {i}", rows) for i, (_, rows) in enumerate(pieces)]
        self.n = sum(rows for _, rows in self.parts)
        if not self.n:
            raise DataError("the dataset has columns, but no row.")

    def portion(self, start, stop):
        """Return the same with the row groups of these rows alone."""
        found, ends = copy.copy(self), np.cumsum([rows for _, rows in self.parts])
        reached = (ends > start) & (ends - [rows for _, rows in self.parts] < stop)
        found._pieces = [(i, piece) for i, piece in self._pieces if reached[i]]
        return found

    def stream(self, start=0):
        """Yield blocks of at most 65 536 rows, row group after row group."""
        firsts = np.cumsum([0, *(rows for _, rows in self.parts)])
        for i, piece in self._pieces:
            at = int(firsts[i])
            if firsts[i + 1] > start:
                for batch in piece.to_batches(schema=self._schema, columns=self.wanted, batch_size=BATCH):
                    if len(batch) and at + len(batch) > start:
                        yield self._block(batch, at, f"row group {i}")
                    at += len(batch)


def _row_groups(dataset):
    """(piece, rows) of the row groups of a dataset, where it is of Parquet; else of its files."""
    for fragment in dataset.get_fragments():
        if hasattr(fragment, "split_by_row_group"):
            for group in fragment.split_by_row_group():
                yield group, sum(info.num_rows for info in group.row_groups)  # its count_rows() is that of the file
        else:
            yield fragment, fragment.count_rows()


def of_dataset(make, target, weight, columns):
    """`Source` of a dataset, by row groups; of a function, or a dataset with a filter, batch after batch."""
    if hasattr(make, "get_fragments"):
        try:
            return Fragments(make, target, weight, columns)
        except ValueError as error:
            if isinstance(error, DataError):
                raise
    return Batches(make, target, weight, columns)


# ---------------------------------------------------------------------------------------------- files
class _Scanned:
    """A file that polars reads lazily."""

    def __init__(self, path):
        kind = SUFFIXES.get(os.path.splitext(path)[1].lower())
        if kind is None:
            raise DataError(f"{path!r}: files must end with {', '.join(SUFFIXES)}.")
        try:
            import polars
        except ImportError:
            raise ImportError(f"{path!r} is read by polars, which is missing: pip install 'mercer[cli]'.") from None
        self._frame = polars.scan_parquet(path) if kind == "parquet" else polars.scan_csv(path, separator=_comma(path))
        self._rows = polars.len()

    def names(self):
        return self._frame.collect_schema().names()

    def count(self):
        return int(self._frame.select(self._rows).collect().item())

    def batches(self, columns, at):
        rest = self._frame.select(columns)
        return (rest.slice(at) if at else rest).collect_batches(chunk_size=BATCH, maintain_order=True)


def _comma(path):
    return "\t" if path.lower().endswith(".tsv") else ","


def paths_of(path):
    """The files of a path, a folder or a glob, sorted by name."""
    path = os.fspath(path)
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in os.listdir(path) if os.path.splitext(name)[1].lower() in SUFFIXES]
    else:
        found = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
    if not found and os.path.isdir(path):
        raise FileNotFoundError(f"there is no file of Parquet or CSV in the folder {path!r}.")
    if not found:
        raise FileNotFoundError(f"there is no file {path!r}.")
    return sorted(found)


def _column_names(frame):
    """Names of the columns of a batch."""
    names = frame.schema.names if hasattr(frame, "num_rows") else frame.columns  # of Arrow, or of a data frame
    return [str(name) for name in names]
