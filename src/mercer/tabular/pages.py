"""Pages: a table in one or more files, read batch by batch: Parquet, or CSV of any usual separator."""

import os
import platform

from mercer.exceptions import DataError
from mercer.sources.frames import paths_of
from mercer.tabular import dialect
from mercer.tabular.cells import listed
from mercer.tabular.types import decimal_of, typed

BATCH = 1 << 16  # rows of a batch
HEAD = 1 << 18  # bytes of a CSV file that its dialect is found out from
PARQUET = b"PAR1"
OTHERS = (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff", b"\0", b"PK", b"\xd0\xcf", b"BZh", b"\xfd7zX", b"\x28\xb5", b"SQLi")


class Pages:
    r"""The rows of a file, folder or glob in the order of the names of the files, as often as they are read.

    Parameters
    ----------
    path : str or os.PathLike
    header : bool, default=True
    separator, decimal : str, default=None
        Of CSV; None finds out from the first lines.
    missing : sequence of str, default=()
        More words for a missing value.

    Attributes
    ----------
    paths : list of str
    names : list of str
        Of the columns.
    notes : list of str
        What was decided, in words.
    rows : list of int
        Of the files, once all were read.

    Examples
    --------
    >>> import os, tempfile
    >>> from mercer.tabular.pages import Pages
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "a.csv"), "w") as file:
    ...         _ = file.write("x;y\n1,5;2\n3;4\n")
    ...     pages = Pages(os.path.join(folder, "a.csv"))
    ...     [(start, pages.typed(frame)["x"].to_list()) for start, frame in pages]
    [(0, [1.5, 3.0])]
    """

    def __init__(self, path, *, header=True, separator=None, decimal=None, missing=()):
        self.paths, self.notes = paths_of(path), []
        self.sizes, self.rows = [os.path.getsize(one) for one in self.paths], []
        self.header, self.separator, self.decimal, self.missing = header, separator, decimal, tuple(missing)
        with open(self.paths[0], "rb") as file:
            head = file.read(HEAD)
        self.parquet = head[:4] == PARQUET
        if not self.parquet:
            self._learn_dialect(head)
        for number, one in enumerate(self.paths):
            names = self._ask(one, lambda frame: frame.collect_schema().names())
            if number == 0:
                self.names = names
            other = [name for name in self.names if name not in names] + [n for n in names if n not in self.names]
            if other:
                raise DataError(f"{self._called(one)} has other columns than the first part: {listed(other, 4)}.")

    def _learn_dialect(self, head):
        """Separator, names and decimal sign of a CSV file from its first lines."""
        import polars as pl

        name = os.path.basename(self.paths[0])
        text = dialect.sample_of(dialect.decode(head[: head.rfind(b"\n") + 1] or head, name, self.notes))
        if not text.strip():
            raise DataError(f"{name} is empty.")
        self.separator = self.separator or dialect.separator_of(text)
        rows = [row for _, row in dialect.rows_of(text, self.separator)]
        self._named = [f"column_{i}" for i in range(1, len(rows[0]) + 1)]
        if self.header:
            self._named, rows = dialect.header_of(rows[0], name, self.notes), rows[1:]
        if self.decimal is None:
            width = len(self._named)
            cells = [[cell or None for cell in row] for row in rows if len(row) == width]
            frame = pl.DataFrame(cells, schema=dict.fromkeys(self._named, pl.String), orient="row")
            self.decimal = decimal_of(frame, self.separator, self.notes)

    def _scan(self, path):
        import polars as pl

        if self.parquet:
            return pl.scan_parquet(path)
        options = {"separator": self.separator, "has_header": self.header, "infer_schema": False}
        return pl.scan_csv(path, with_column_names=lambda names: self._named, **options)

    def _ask(self, path, ask):
        """What is asked of a file; an error of the reader names the part."""
        try:
            return ask(self._scan(path))
        except (DataError, MemoryError):
            raise
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(f"{self._called(path)} cannot be read: {said}") from error

    def _called(self, path):
        name = os.path.basename(path)
        return name if len(self.paths) == 1 else f"part {self.paths.index(path)} ({name})"

    def about(self):
        """About how many rows: counted in Parquet; of CSV by its size and the length of its first lines."""
        import polars as pl

        if self.parquet:
            return sum(self._ask(p, lambda frame: int(frame.select(pl.len()).collect().item())) for p in self.paths)
        with open(self.paths[0], "rb") as file:
            head = file.read(HEAD)
        lines = max(head.count(b"\n"), 1)
        return int(sum(os.path.getsize(path) for path in self.paths) / len(head) * lines) if head else 0

    def __iter__(self):
        """Yield (number of the first row, data frame) after one another; cells of CSV are strings."""
        start, rows = 0, []
        for path in self.paths:
            first = start
            for frame in self._batches(path):
                yield start, frame
                start += frame.height
            rows.append(start - first)
        self.rows = rows

    def between(self, start, stop):
        """Yield the same of the rows [start, stop), of files that were all read before."""
        first = 0
        for path, rows in zip(self.paths, self.rows, strict=True):
            at, end = max(start, first), min(stop, first + rows)
            if at < end:
                for frame in self._batches(path, at - first, end - at):
                    yield at, frame
                    at += frame.height
                if at < end:
                    raise DataError(f"{self._called(path)} ends after {at - first} of {rows} rows: it was changed.")
            first += rows

    def _batches(self, path, at=0, rows=None):
        """Data frames of a file, from a row on."""

        def ask(frame):
            return (frame.slice(at, rows) if rows else frame).collect_batches(chunk_size=BATCH, maintain_order=True)

        batches = iter(self._ask(path, ask))
        while (frame := self._ask(path, lambda _: next(batches, None))) is not None:
            if frame.height:
                yield frame

    def __getstate__(self):
        """Return what travels: who reads the files elsewhere is in another folder."""
        return self.__dict__ | {"paths": [os.path.abspath(path) for path in self.paths]}

    def check_there(self):
        """Refuse to read where the files are not those of the caller."""
        for path, size in zip(self.paths, self.sizes, strict=True):
            if not os.path.exists(path) or os.path.getsize(path) != size:
                what = "another file" if os.path.exists(path) else "no file"
                raise DataError(
                    f"a worker on {platform.node()} has {what} {path}: every worker must see the table at the same "
                    "path as this machine, as on a shared disk."
                )

    def typed(self, frame, text=(), styles=None, notes=None):
        """Return a batch with strings as the numbers, truth values and dates that they are, but for columns of text."""
        said = [] if notes is None else notes
        return typed(frame, self.decimal or ".", self.missing, text, said, (), styles)


def readable(path):
    """Whether a path is Parquet or plain CSV that can be read in batches: no gzip, UTF-16, Excel or standard input."""
    path = os.fspath(path)
    if path == "-":
        return False
    if not os.path.isfile(path):
        return os.path.isdir(path) or any(sign in path for sign in "*?[")
    with open(path, "rb") as file:
        return not file.read(4).startswith(OTHERS)
