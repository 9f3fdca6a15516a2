"""Tables from files: CSV of any usual dialect, Parquet, Excel, JSON, HTML, gzipped or in a zip; `-` is the input."""

import gzip
import hashlib
import io
import re
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mercer.exceptions import DataError
from mercer.tabular import dialect, headers
from mercer.tabular.cells import count, quote, suggest
from mercer.tabular.formats import frame_of_json, html_as_csv, is_html, is_json, is_workbook, unzip_table
from mercer.tabular.merged import fill_merged_cells
from mercer.tabular.sentinels import find_sentinels, mask_sentinels
from mercer.tabular.sheets import sheet_as_csv
from mercer.tabular.types import decimal_of, infer_types

PARQUET, GZIP, ZIP = b"PAR1", b"\x1f\x8b", b"PK\x03\x04"
FOREIGN = {
    b"%PDF": "a PDF document; copy its table to a spreadsheet, and save that as .xlsx or CSV",
    b"<?xml": "an XML document; save it as .xlsx or CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as .xlsx or CSV",
    b"BZh": "compressed with bzip2; unpack it, or use gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or use gzip",
    b"SQLite": "an SQLite database; export the table as CSV",
    b"ARROW1": "a Feather file; save it as Parquet or CSV",
    b"\x89HDF": "an HDF5 file; export the table as Parquet or CSV",
    b"\x93NUMPY": "an array of NumPy; save it as CSV, or give it to Python",
    b"<stata_dta>": "a file of Stata; export it as CSV",
    b"$FL2": "a file of SPSS; export it as CSV",
    b"{\\rtf": "a text document (RTF); copy its table to a spreadsheet, and save that as .xlsx or CSV",
    b"\x80\x04": "a pickle of Python, which is not opened; save it as Parquet or CSV",
    b"\x89PNG": "a picture",
    b"7z\xbc\xaf": "compressed with 7-Zip; unpack it",
    b"version https://git-lfs": "a pointer of Git LFS, and not the file itself; fetch it with git lfs pull",
    b"@RELATION": "an ARFF file; save it as CSV",
    b"@relation": "an ARFF file; save it as CSV",
}


class Reading(NamedTuple):
    """A table, what was decided while reading it, and the SHA-256 of the file.

    Attributes
    ----------
    frame : polars.DataFrame
        The table, each column as what it is: numbers, truth values, dates or text.
    notes : list of str
        What was decided or repaired, a sentence for each thing.
    sha256 : str
        The digest of the file, by which it is known again.
    written : dict
        {column: "%d/%m/%Y" or "%m/%d/%Y"} of dates with slashes and {column: unit} of numbers with one: for
        ``TableModel.fit``, and to read another table alike.
    raw : polars.DataFrame
        The columns of ``raw``, cell by cell as they are in the file.
    sentinels : dict
        {column: [[value, cells], …]} of numbers that stand for missing values, such as -999; they are missing in
        ``frame``.
    filled : tuple of str
        Columns of merged cells, whose empty cells have what stands above them.
    """

    frame: object
    notes: list
    sha256: str
    written: dict
    raw: object
    sentinels: dict
    filled: tuple


def read_table(source, **options):
    r"""Return a CSV, Parquet, Excel or JSON file as a polars data frame; the content tells the format, not the name.

    Separator, decimal comma, thousands separators and encoding are found out, unless given; so are lines above the
    header, units in cells, rows of totals and dates in several forms. Cells that are empty, NA, N/A, NaN, null or None
    are missing; so are -, ? and . in columns of numbers. See `read` for what was decided.

    Parameters
    ----------
    source : str or path
        ``-`` is standard input. Gzip is unpacked.
    **options
        As for `ReadSettings`.

    Returns
    -------
    polars.DataFrame

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.tabular import read_table
    >>> path = Path(tempfile.mkdtemp(), "prices.csv")
    >>> _ = path.write_text("town;price\nBern;1.234,5\nTurin;987,25\n")
    >>> read_table(path)["price"].to_list()
    [1234.5, 987.25]
    """
    return read(source, **options).frame


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """What is known of a table before it is read; what is not given is found out.

    Parameters
    ----------
    header : bool, default=True
        Whether the first line holds names; else columns are column_1, column_2, …
    separator : str, default=None
        One character; None finds out which of comma, semicolon, tab and bar.
    decimal : {".", ","}, default=None
        None finds out.
    missing : sequence of str, default=()
        More words for a missing value; -999 is also -999.0 in a column of numbers.
    text : sequence of str, default=()
        Columns that are not turned into numbers or dates.
    strings : sequence of str, default=()
        Columns that a kernel reads as strings: nothing is made of them, and NA, None and NaN are strings like others.
        Only an empty cell is missing, and what ``missing`` says.
    written : dict, default=None
        {column: "%d/%m/%Y", "%m/%d/%Y" or a unit} of columns whose dates have slashes, or that are to be in a unit,
        such as ``TableModel.written``; of others it is found out.
    raw : sequence of str, default=()
        Columns of which the cells are wanted as they are in the file, too.
    skip_lines : int, default=None
        Lines above the header; None finds out.
    sheet : str, default=None
        Sheet of an Excel file; None is the first one.
    numeric : sequence of str, default=()
        Columns of which -999 and the like are numbers as others are.
    sentinels : dict, default=None
        {column: [[value, cells], …]} of numbers that are missing, such as ``TableModel.sentinels_``; None finds out.
    fill_down : sequence of str, default=()
        Columns whose empty cells are those of merged ones, and have what stands above them; none finds out.
    target : str, default=None
        Column that is to be predicted: it is not filled down.
    settled : sequence of str, default=None
        Columns of which nothing need be asked; where a column may be one of merged cells or not, and is none of these,
        that is an error. None asks nothing.
    """

    header: bool = True
    separator: str | None = None
    decimal: str | None = None
    missing: Sequence = ()
    text: Sequence = ()
    strings: Sequence = ()
    written: dict | None = None
    raw: Sequence = ()
    skip_lines: int | None = None
    sheet: str | None = None
    numeric: Sequence = ()
    sentinels: dict | None = None
    fill_down: Sequence = ()
    target: str | None = None
    settled: Sequence | None = None


def read(source, **options):
    """Return the table with what was decided while reading it.

    Parameters
    ----------
    source : str or path
        ``-`` is standard input. Gzip is unpacked.
    **options
        As for `ReadSettings`.

    Returns
    -------
    Reading
        ``frame``, ``notes``, ``sha256``, ``written``, ``raw``, ``sentinels`` and ``filled``.
    """
    known = ReadSettings(**options)
    data, name, notes, styles, filled = _read_bytes(source), _name_of(source), [], dict(known.written or {}), ()
    separator, decimal, sentinels = known.separator, known.decimal, known.sentinels
    sha256 = hashlib.sha256(data).hexdigest()
    data, name = _unpack(data, name, notes)
    _refuse_foreign(data, name)
    if data[:4] == PARQUET or is_json(data):
        before = _parquet(data, name) if data[:4] == PARQUET else frame_of_json(data, name, notes)
        decimal = "."
        frame = infer_types(before, decimal, known.missing, known.text, notes, known.strings, styles)
        _note_types(before, frame, notes)
    else:
        if data[:4] == ZIP:
            data, separator, decimal = sheet_as_csv(data, name, known.sheet, notes, known.target), ",", "."
        elif is_html(data):
            data, separator = html_as_csv(data, name, notes), ","
        before, separator = text_table(data, name, known.header, separator, known.skip_lines, notes)
        before, filled = fill_merged_cells(before, notes, known.fill_down, known.target, known.settled)
        decimal = decimal or decimal_of(before.drop(known.strings, strict=False), separator, notes)
        frame = infer_types(before, decimal, known.missing, known.text, notes, known.strings, styles)
    styles = {name: style for name, style in styles.items() if name in frame.columns and isinstance(style, str)}
    sentinels = find_sentinels(frame, notes, known.numeric) if sentinels is None else sentinels
    kept = before.select(column for column in known.raw if column in before.columns)
    return Reading(mask_sentinels(frame, sentinels), notes, sha256, styles, kept, sentinels, tuple(filled))


def _refuse_foreign(data, name):
    """DataError for a file of a kind that is not read, with what to do."""
    what = next((what for start, what in FOREIGN.items() if data.startswith(start)), None)
    if data[257:262] == b"ustar":
        what = "an archive (tar); unpack it"
    if what is not None and not is_html(data):
        raise DataError(f"{name} is {what}. Tables are read from CSV, Parquet and .xlsx.")


def _unpack(data, name, notes):
    """(bytes, name) of a file, or of the one in an archive; an Excel file stays one."""
    for _ in range(3):  # archives inside each other
        if data[:2] == GZIP:
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(f"{name} cannot be unpacked: {error}.") from None
        elif data[:4] == ZIP and not is_workbook(data):
            data, name = unzip_table(data, name, notes)
        else:
            return data, name
    raise DataError(f"{name} is an archive in an archive; unpack it.")


def _note_types(before, frame, notes):
    """Note the columns of a Parquet file that were text, and are read as something else."""
    import polars as pl

    changed = [name for name, kind in before.schema.items() if kind == pl.String and frame.schema[name] != kind]
    if changed:
        notes.append(
            f"{count(len(changed), 'column')} of text hold nothing but numbers, truth values, dates or times, and "
            f"{'is' if len(changed) == 1 else 'are'} read as such: {quote(changed)}."
        )


def _name_of(source):
    """What messages call the file."""
    return "standard input" if str(source) == "-" else Path(source).name


def _read_bytes(source):
    """All bytes of a file or of standard input."""
    if str(source) == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    if path.is_dir():
        raise DataError(f"{path} is a folder; give a file.")
    if not path.exists():
        raise no_file(path)
    return path.read_bytes()


def no_file(path):
    """The error for a file that is not there, with the name beside it that may have been meant."""
    path = Path(path)
    near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    return FileNotFoundError(f"there is no file {path}{suggest(path.name, near)}")


def _parquet(data, name):
    """The frame of a Parquet file."""
    import polars as pl

    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name} is a Parquet file that cannot be read: {first}") from None
    if not frame.height:
        raise DataError(f"{name} has columns ({quote(frame.columns, 4)}) and no rows.")
    return frame


def text_table(data, name, header, separator, skip, notes, about_columns=None):
    """(frame of strings, separator) of a CSV file, of the rows and columns that are its table.

    What is noted about columns rather than lines is appended to ``about_columns``, too.
    """
    about_columns = [] if about_columns is None else about_columns
    data = dialect.decode(data, name, notes)
    if not data.strip():
        raise DataError(f"{name} is empty.")
    named, data = dialect.named_separator(data)
    sample = dialect.sample_of(data)
    if separator is None and named is None and dialect.separator_of(sample, None) is None:
        data = dialect.between_blanks(data, sample, name, notes)
        sample = dialect.sample_of(data)
    separator = separator or named or dialect.separator_of(sample)
    dialect.check_separator(separator)
    top = list(islice(dialect.rows_of(sample, separator), dialect.LINES))
    data = headers.without_titles(data, top, name, skip, notes)
    if not data.strip():
        raise DataError(f"{name} has no line after the {skip} that are skipped.")
    sample = dialect.sample_of(data)
    data = dialect.with_a_name_for_each(data, sample, separator, notes) if header else data
    sample = dialect.sample_of(data)
    rows = [row for _, row in islice(dialect.rows_of(sample, separator), headers.LOOKED)]
    first, two = rows[0], headers.header_of_two(rows, notes) if header else None
    data = dialect.without_footnotes(data, separator, len(first), name, notes)
    if two is not None:
        names = headers.header_of(two[0], name, about_columns)
    elif header:
        names = headers.header_of(first, name, about_columns)
    else:
        names = [f"column_{i}" for i in range(1, len(first) + 1)]
    frame = _read_cells(data, name, header, separator, names)
    frame = frame[two[1] :] if two is not None else frame
    if not frame.height:
        raise DataError(f"{name} has a header ({quote(names, 4)}) and no rows.")
    if frame[names[-1]].null_count():  # rows that are too short end in missing values
        found = dialect.find_ragged_row(data, separator, len(names), name)
        if found:
            raise found
    frame = headers.without_blank_columns(frame, about_columns)
    notes += about_columns
    return headers.repair_columns(frame, notes), separator


def _read_cells(data, name, header, separator, names):
    """The cells as strings: by polars, or row by row where quotes or blank lines are too much for it."""
    import polars as pl

    plain = data.strip(b"\n") + b"\n"
    blank = len(names) > 1 and b"\n\n" in plain  # with one column, an empty line is a missing cell
    if blank and b'"' not in plain:
        plain, blank = re.sub(rb"\n+", b"\n", plain), False
    options = {"separator": separator, "has_header": header, "infer_schema": False, "raise_if_empty": False}
    try:
        frame = None if blank else pl.read_csv(io.BytesIO(plain), **options)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        frame = None
    if frame is None or frame.width != len(names):
        found = dialect.find_ragged_row(data, separator, len(names), name)
        if found:
            raise found
        rows = dialect.whole_rows(data, separator, name)[bool(header) :]
        cells = [[cell or None for cell in row] for row in rows]
        frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")
    frame.columns = names
    return frame
