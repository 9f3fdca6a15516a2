"""What a text file does not say about itself: its encoding, its separator, whether its first line holds names."""

import csv
import io
import re
from itertools import islice

from mercer.exceptions import DataError
from mercer.tabular.repair import NUMBER, unlike_names
from mercer.tabular.words import count

SEPARATORS = ("\t", ";", "|", ",")  # of two that fit equally well the first: commas are in decimals and in text
NAMES = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
SAMPLE, LINES = 1 << 16, 100  # characters and lines that the guess looks at


def decode(data, name, notes):
    """The text of a file as UTF-8 bytes without a mark at its start, and lines that end with a line feed."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = _converted(data, "utf-16", name)
        notes.append(f"{name} is UTF-16.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            place = data.count(b"\n", 0, error.start) + 1
            data = _windows(data).encode()
            notes.append(f"{name} is not UTF-8 (line {place}); it was read as cp1252. Check letters with accents.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DataError(f"{name}, line {line}: a zero byte, so this is no text file; tables are CSV or Parquet.")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def _windows(data):
    """The text of bytes of Windows in the west; the five that it does not have are those of Latin-1."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _converted(data, encoding, name):
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError:
        raise DataError(f"{name} begins like {encoding.upper()} and is not; save it as UTF-8.") from None


def rows_of(text, separator):
    """The rows of a text, as lists of cells, with the line each one ends on; blank lines are left out."""
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error:  # a cell of more than 131072 characters: the rest is for polars to judge
        return


def sample_of(data):
    """The first lines of a file, whole ones only: the first of them, however long it is."""
    first = re.match(rb"\n*[^\n]*\n?", data).end()
    end = max(data.rfind(b"\n", 0, SAMPLE) + 1, first) if len(data) > SAMPLE else len(data)
    return data[:end].decode("utf-8", errors="ignore")


def check_separator(separator):
    """Refuse what cannot stand between cells."""
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise DataError(f"the separator must be one ASCII character, no quotation mark or line end, got {separator!r}.")


def separator_of(sample):
    """The separator with which most lines have the same number of cells, two or more."""
    best, chosen = 0.0, ","
    for separator in SEPARATORS:
        widths = [len(row) for _, row in islice(rows_of(sample, separator), LINES)]
        width = max(set(widths), key=widths.count, default=0)
        share = widths.count(width) / len(widths) if width > 1 else 0.0
        if share > best:
            best, chosen = share, separator
    return chosen


def header_of(first, name, notes):
    """The names in the first row; refused if they look like data."""
    cells = [cell.strip() for cell in first]
    if any(cells) and all(NUMBER.fullmatch(cell) for cell in cells if cell):
        shown = ", ".join(cells[:4])
        raise DataError(
            f"{name} has no header: its first line is numbers ({shown}{', …' if len(cells) > 4 else ''}). Add a line "
            "of column names, or say --no-header: the columns are then column_1, column_2, …"
        )
    names, unnamed = [], 0
    for i, cell in enumerate(cells, start=1):
        unnamed += not cell
        names.append(cell or f"unnamed_{i}")
    if unnamed:
        notes.append(f"{count(unnamed, 'column')} without a name: called unnamed_ and the number of the column.")
    return unlike_names(names, notes)


def whole_rows(data, separator, name):
    """All rows of a file, as lists of cells; for what polars does not read."""
    try:
        return [row for row in csv.reader(io.StringIO(data.decode("utf-8")), delimiter=separator) if row]
    except csv.Error as error:
        raise DataError(f"{name} cannot be read as CSV: {error}; put cells with quotes in quotes.") from None


def ragged(data, separator, width, name):
    """DataError with the line of the first row that has too many or too few cells; None if there is none."""
    for line, row in rows_of(data.decode("utf-8"), separator):
        if len(row) != width:
            return DataError(
                f"{name}, line {line}: {count(len(row), 'cell')}, but the first line has {width} (separator: "
                f"{NAMES.get(separator, separator)}). A cell that contains the separator must be in quotes."
            )
    return None
