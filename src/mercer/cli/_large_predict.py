"""``mercer predict`` of a table that is read in batches: predictions are written as they are made."""

from mercer.cli import Usage
from mercer.cli._tables import check_target, say_differences

LEAST = 200_000  # rows from which a table is predicted in batches


def pages_of(settings, missing=()):
    """`Pages` of a table that is large, or of several files; None for one that is read as a whole."""
    from mercer.cli.large import batches_of

    whole = settings.output == "-" or settings.output.lower().endswith(".gz")
    if whole or settings.skip_lines is not None or settings.sheet is not None:
        return None
    return batches_of(settings, LEAST, missing)


def write(settings, pages, model, keep, make, session):
    """Write the predictions of all batches to one file, whole or not at all; return how many rows.

    ``make`` are the functions that make the columns of a batch, and lay them beside those that are kept.
    """
    import polars as pl

    from mercer._atomic import replacing
    from mercer.tabular.cells import numbered

    for name in keep:
        check_target(pl.DataFrame(schema=pages.names), name, "--keep")
    for note in pages.notes:
        session.say(f"note: {note}")
    columns, beside = make
    text, dates, rows = tuple(model.text_columns_), dict(model.written), 0
    tick = session.rows("predicted")
    with replacing(settings.output, settings.force) as file:
        out = _writer(file, settings.output)
        for start, raw in pages:
            with numbered(range(start, start + raw.height)):
                frame = pages.typed(raw, text, dates)
                if not start:
                    say_differences(model, frame, session, keep)
                out.write(beside(raw.select(keep), columns(settings, model, frame, session)))
            rows = start + raw.height
            if tick is not None:
                tick(rows)
        out.close()
    return rows


class _Text:
    """Batches as CSV, the names once."""

    def __init__(self, file, separator):
        self.file, self.separator, self.first = file, separator, True

    def write(self, frame):
        """Append a batch."""
        self.file.write(frame.write_csv(separator=self.separator, include_header=self.first).encode())
        self.first = False

    def close(self):
        """Nothing is left to write."""


class _Parquet:
    """Batches as row groups."""

    def __init__(self, file):
        self.file, self.out = file, None

    def write(self, frame):
        """Append a batch."""
        import pyarrow.parquet as pq

        table = frame.to_arrow()
        self.out = pq.ParquetWriter(self.file, table.schema) if self.out is None else self.out
        self.out.write_table(table.cast(self.out.schema))

    def close(self):
        """Write the end of the file."""
        if self.out is not None:  # there was no batch
            self.out.close()


def _writer(file, path):
    """What appends batches to a file, by its ending."""
    name = path.lower()
    if not name.endswith((".parquet", ".pq")):
        return _Text(file, "\t" if name.endswith(".tsv") else ",")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise Usage(
            f"--output {path}: Parquet of a large table is written by pyarrow, which is not installed; a name that "
            "ends in .csv needs nothing"
        ) from None
    return _Parquet(file)
