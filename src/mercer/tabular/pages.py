"""Pages: a table in one or more files, read batch by batch: Parquet, or CSV of any usual separator."""

import os

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
        start = 0
        for path in self.paths:
            batches = iter(self._ask(path, lambda frame: frame.collect_batches(chunk_size=BATCH, maintain_order=True)))
            while (frame := self._ask(path, lambda _, batches=batches: next(batches, None))) is not None:
                if frame.height:
                    yield start, frame
                start += frame.height

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
