"""Pages: a table in one or more files, read batch by batch: Parquet, or CSV of any usual separator.

One CSV file up to 64 MB is read at once, as every small table is, so that what people write around a table is repaired
and said; its batches are of what was read. Larger ones, and several, are read as they are: what would have to be
repaired at their beginning or end is refused.
"""

import hashlib
import os
import platform
from dataclasses import dataclass

from mercer._policies import Options
from mercer.exceptions import DataError
from mercer.sources.frames import paths_of
from mercer.tabular import dialect, headers
from mercer.tabular.cells import quote
from mercer.tabular.merged import fill_merged_cells
from mercer.tabular.reading import FOREIGN, GZIP, PARQUET, ZIP, text_table
from mercer.tabular.types import decimal_of, infer_types

OTHERS = (GZIP, ZIP, b"\xff\xfe", b"\xfe\xff", b"\0", b"<", b"{", b"[{", *FOREIGN)


@dataclass(frozen=True)
class BatchOptions(Options):
    """How a table is read that need not fit in memory."""

    rows: int = 1 << 16  # of a batch
    whole_bytes: int = 1 << 26  # of a CSV file up to which it is read at once, with all repairs
    head_bytes: int = 1 << 18  # of a CSV file that tell its separator, names and decimal sign
    tail_bytes: int = 1 << 13  # that are looked at for rows of totals at its end
    sampled: int = 20_000  # rows drawn, of which it is learnt what the columns are
    new_values: int = 200  # categories of a column that are looked for beyond these rows
    held: int = 20_000  # rows that a fit does not see, at most
    held_share: float = 0.1  # of all rows, at most
    fewest: int = 200  # rows, of which a tenth can judge a model
    parts: int = 64  # that workers make of a table: CSV is skipped from the first row to that of each
    memory_share: float = 0.25  # of the free memory that arrays may take; larger ones lie in a file


class Pages:
    """The rows of a file, folder or glob in the order of the names of the files, as often as they are read.

    ``notes`` say what was decided, ``rows`` how many each file has, once all were read. Options are
    those of `ReadSettings`.
    """

    def __init__(self, path, *, header=True, separator=None, decimal=None, missing=(), target=None, options=None):
        self.paths, self.notes, self.target = paths_of(path), [], target
        self.options = BatchOptions() if options is None else options
        self.sizes, self.rows = [os.path.getsize(one) for one in self.paths], []
        self.header, self.separator, self.decimal, self.missing = header, separator, decimal, tuple(missing)
        self._table, self.sha256 = None, []
        with open(self.paths[0], "rb") as file:
            head = file.read(self.options.head_bytes)
        self.parquet, self.whole = head[:4] == PARQUET, False
        if not self.parquet:
            self.whole = len(self.paths) == 1 and self.sizes[0] <= self.options.whole_bytes
            self._learn_whole() if self.whole else self._learn_dialect(head)
        for number, one in enumerate(self.paths):
            names = self._ask(one, lambda frame: frame.collect_schema().names())
            if number == 0:
                self.names = names
            other = [name for name in self.names if name not in names] + [n for n in names if n not in self.names]
            if other:
                raise DataError(f"{self._called(one)} has other columns than the first part: {quote(other, 4)}.")

    def _learn_whole(self):
        """The cells of the one file, its decimal sign, and what was repaired."""
        self._table = self._cells(self.notes)
        if self.decimal is None:
            self.decimal = decimal_of(self._table, self._found, self.notes)

    def _cells(self, notes):
        """The cells of the one file, as `read` has them."""
        with open(self.paths[0], "rb") as file:
            data = file.read()
        self.sha256 = [hashlib.sha256(data).hexdigest()]
        name = os.path.basename(self.paths[0])
        table, self._found = text_table(data, name, self.header, self.separator, None, notes)
        return fill_merged_cells(table, notes, target=self.target)[0]

    def _learn_dialect(self, head):
        """Separator, names and decimal sign of CSV files from their first lines."""
        name = os.path.basename(self.paths[0])
        for path in self.paths:
            found = self._check_ends(path)
            if path == self.paths[0]:
                frame, self.separator = found
        text = dialect.sample_of(dialect.decode(_lines(head), name, []))
        first = next(row for _, row in dialect.rows_of(text, self.separator))
        self._named = [f"column_{i}" for i in range(1, len(first) + 1)]
        if self.header:
            self._named = headers.header_of(first, name, self.notes)
        if self.decimal is None:
            self.decimal = decimal_of(frame, self.separator, self.notes)

    def _check_ends(self, path):
        """(cells of the first lines, separator); what would have to be repaired there or at the end is refused."""
        name, said = self._called(path), []
        with open(path, "rb") as file:
            head = _lines(file.read(self.options.head_bytes))
            file.seek(max(os.path.getsize(path) - self.options.tail_bytes, 0))
            tail = file.read().partition(b"\n")[2]
        frame, separator = text_table(head, name, self.header, self.separator, None, said, allowed := [])
        if dialect.named_separator(head)[0] is not None:
            said.append(f"{name}: its first line is no row.")
        if len(head) > self.options.tail_bytes and b'"' not in tail and frame.width > 1:
            said += _ends_of(tail, frame.columns, separator, name)
        said = [note for note in said if note not in allowed]
        if said:
            raise DataError(
                f"{' '.join(said)} So it would be of a smaller table; this one is read in batches, as it is. "
                f"{_describe_remedy(self.sizes)}"
            )
        return frame, separator

    def _scan(self, path):
        import polars as pl

        if self.whole:
            if self._table is None:  # with a worker, to whom it did not travel
                self._table = self._cells([])
            return self._table.lazy()
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
            line = None if self.parquet else _foreign_line(path)
            if line is not None:
                said = f"line {line:,} is not UTF-8. Save it as UTF-8, as CSV UTF-8 of a spreadsheet is."
            raise DataError(f"{self._called(path)} cannot be read: {said}") from error

    def _called(self, path):
        name = os.path.basename(path)
        return name if len(self.paths) == 1 else f"part {self.paths.index(path)} ({name})"

    def about(self):
        """About how many rows: counted in Parquet; of CSV by its size and the length of its first lines."""
        import polars as pl

        if self.parquet or self.whole:
            return sum(self._ask(p, lambda frame: int(frame.select(pl.len()).collect().item())) for p in self.paths)
        return lines_about(self.paths[0], self.options) * sum(self.sizes) // max(self.sizes[0], 1)

    def digest(self):
        """SHA-256 of the file; of several a list."""
        if not self.sha256:
            for path in self.paths:
                with open(path, "rb") as file:
                    self.sha256.append(hashlib.file_digest(file, "sha256").hexdigest())
        return self.sha256[0] if len(self.paths) == 1 else self.sha256

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
            part = frame.slice(at, rows) if rows else frame
            return part.collect_batches(chunk_size=self.options.rows, maintain_order=True)

        batches = iter(self._ask(path, ask))
        while (frame := self._ask(path, lambda _: next(batches, None))) is not None:
            if frame.height:
                yield frame

    def __getstate__(self):
        """Return what travels: who reads the files elsewhere is in another folder, and reads them again."""
        return self.__dict__ | {"paths": [os.path.abspath(path) for path in self.paths], "_table": None}

    def check_there(self):
        """Refuse to read where the files are not those of the caller."""
        for path, size in zip(self.paths, self.sizes, strict=True):
            if not os.path.exists(path) or os.path.getsize(path) != size:
                what = "another file" if os.path.exists(path) else "no file"
                raise DataError(
                    f"a worker on {platform.node()} has {what} {path}: every worker must see the table at the same "
                    "path as this machine, as on a shared disk."
                )

    def infer_types(self, frame, text=(), styles=None, notes=None):
        """Return a batch with strings as the numbers, truth values and dates that they are, but for columns of text."""
        said = [] if notes is None else notes
        return infer_types(frame, self.decimal or ".", self.missing, text, said, (), styles)


def is_readable_in_batches(path):
    """Whether a path is Parquet or plain CSV that can be read in batches: no gzip, UTF-16, Excel or standard input."""
    path = os.fspath(path)
    if path == "-":
        return False
    if not os.path.isfile(path):
        return os.path.isdir(path) or any(sign in path for sign in "*?[")
    with open(path, "rb") as file:
        return not file.read(max(map(len, OTHERS))).startswith(OTHERS)


def lines_about(path, options=None):
    """About how many lines a text file has: by its size, and the length of its first ones."""
    with open(path, "rb") as file:
        head = file.read((options or BatchOptions()).head_bytes)
    return int(os.path.getsize(path) / len(head) * max(head.count(b"\n"), 1)) if head else 0


def is_text(path):
    """Whether a file is CSV, and not Parquet."""
    with open(path, "rb") as file:
        return file.read(4) != PARQUET


def _lines(head):
    """The whole lines of the beginning of a file."""
    return head[: head.rfind(b"\n") + 1] or head


def _describe_remedy(sizes):
    """What can be done about a file that is not plain: a table of one file may be read at once all the same."""
    if len(sizes) > 1:
        return "Mend the file."
    return (
        "Mend the file, or say --skip-lines N, the lines above the header (0 where there are none): it is then read at "
        f"once, with about {8 * sizes[0] / 1e9:.1f} GB of memory."
    )


def _ends_of(tail, names, separator, name):
    """What would be left out of the last lines of a file, in words."""
    import polars as pl

    said = []
    body = dialect.decode(tail, name, said)
    body = dialect.without_footnotes(body, separator, len(names), name, said)
    rows = [row for _, row in dialect.rows_of(body.decode("utf-8"), separator) if len(row) == len(names)]
    if rows:
        headers.repair_columns(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), said)
    return said


def _foreign_line(path):
    """The first line of a file that is not UTF-8; None if all are."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isascii():
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return number
    return None
