"""What a text file does not say about itself: encoding, separator, names; and what stands around its table."""

import csv
import io
import re
from itertools import islice

from mercer.exceptions import DataError
from mercer.tabular.cells import count, listed
from mercer.tabular.totals import without_totals
from mercer.tabular.units import KNOWN

TITLES = 30  # lines above a header, at most
NUMBER = re.compile(r"[+-]?(\d[\d.,'\s]*|[.,]\d+)([eE][+-]?\d+)?%?")


def brief(text, letters=40):
    """A text, or its first letters with a sign that there are more."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


def filled(row):
    """Cells of a row that are not blank."""
    return sum(bool(cell.strip()) for cell in row)


def titles(rows):
    """How many of the first rows, pairs (last line, cells), stand above the header."""
    widths = [len(row) for _, row in rows]
    width = max(set(widths), key=widths.count, default=0)
    for i, (_, row) in enumerate(rows[: TITLES + 1]):
        few = filled(row) <= max(1, width / 2) and (len(row) < width or (filled(row) <= 1 and width > 2))
        if width < 2 or not (few or row[0].lstrip().startswith("#")):
            names = len(row) == width and filled(row) > 1 and not any(NUMBER.fullmatch(cell.strip()) for cell in row)
            return i if names else 0
    return 0


def without_titles(data, rows, name, skip, notes):
    """The bytes with empty lines for those above the header, so that lines keep their numbers."""
    above = titles(rows) if skip is None else 0
    lines = skip if skip is not None else rows[above - 1][0] if above else 0
    if not lines:
        return data
    end = -1
    for _ in range(lines):
        end = data.find(b"\n", end + 1)
        if end < 0:
            return b""
    if skip is None:
        first = next((cell.strip() for _, row in rows for cell in row if cell.strip()), "")
        notes.append(
            f"{name}: {count(lines, 'line')} above the header ({brief(first)!r}) left out; --skip-lines 0 keeps "
            f"{'it' if lines == 1 else 'them'}."
        )
    return b"\n" * lines + data[end + 1 :]


NOTE = re.compile(
    r"(\*+|†|©|\(?[\d¹²³]\)|(data )?sources?\b|notes?\b|remarks?\b|quellen?\b|anmerkung(en)?\b|hinweise?\b|bemerkung(en)?\b|"
    r"fuente\b|fonte\b|nota\b|stand\b|legende?\b|exported\b|generated\b|created\b|printed\b|erstellt\b|end of\b).*",
    re.IGNORECASE | re.DOTALL,
)


NOTES = 5  # lines above a last one: where all begin like a note, it is a row like them


def without_footnotes(data, separator, width, name, notes):
    """The bytes without lines of words at the end that are no rows."""
    body, left = data.rstrip(b"\n"), []
    while width > 1 and len(left) < TITLES:
        rest, _, last = body.rpartition(b"\n")
        if not rest or last.count(b'"') % 2 or not _is_note(last, rest, separator, width):
            break
        body, left = rest.rstrip(b"\n"), [*left, last.decode("utf-8", "replace").strip(f'{separator}" ')]
    if left:
        notes.append(
            f"{name}: {count(len(left), 'line')} at the end ({brief(left[-1])!r}) left out: no cells of a row."
        )
    return body + b"\n" if left else data


def _is_note(last, rest, separator, width):
    """Whether a last line is words about the table; commas in it may make cells of them."""
    row = next((row for _, row in rows_of(last.decode("utf-8", "replace"), separator)), [])
    words = [cell.strip() for cell in row if cell.strip()]
    if not words:
        return False
    above = [other[0].strip() for _, other in rows_of(rest[-SAMPLE:].decode("utf-8", "replace"), separator)][-NOTES:]
    first = words[0]
    said = NOTE.fullmatch(first) is not None and row[0].strip() and not all(map(NOTE.fullmatch, above))
    apart, phrase = rest.endswith(b"\n"), len(first.split()) > 2 or (":" in first and len(first.split()) > 1)
    if len(row) == width:  # a row like others, unless it says what it is
        alone = len(words) == 1 and (apart or said)
        return bool(said and (":" in first or alone)) or (apart and phrase and alone)
    if len(words) == 1 and len(row) < width:
        return NUMBER.fullmatch(first) is None
    return bool(said or phrase) and NUMBER.fullmatch(first) is None and not any(map(NUMBER.fullmatch, words[:-1]))


def unlike_names(names, notes):
    """The names, those that occur again with a number behind them."""
    found = []
    for i, one in enumerate(names, start=1):
        new, k = one, 1
        while new in found or (k > 1 and new in names):
            k += 1
            new = f"{one} ({k})"
        if k > 1:
            notes.append(f"column {i} has the name {one!r} of another one: called {new!r}.")
        found.append(new)
    return found


def without_blank_columns(frame, notes):
    """A frame of strings without the columns that have neither a name nor cells."""
    blank = [name for name in frame.columns if re.fullmatch(r"unnamed_\d+", name)]
    blank = [name for name in blank if frame[name].str.strip_chars().replace("", None).is_null().all()]
    if blank and len(blank) < frame.width:
        notes.append(f"{count(len(blank), 'column')} without a name and without cells left out.")
        frame = frame.drop(blank)
    return frame


def repaired(frame, notes):
    """A frame of strings without the rows that are none of the table: each thing said."""
    import polars as pl

    if frame.width < 2:
        return frame
    again = frame.select(
        pl.all_horizontal(pl.col(name).str.strip_chars() == name for name in frame.columns)
    ).to_series()
    again = again.fill_null(False)
    if again.any():
        notes.append(f"{count(int(again.sum()), 'row')} that repeat the header left out.")
        frame = frame.filter(~again)
    if frame.height > 1 and _is_units(frame.row(0), frame[1:6]):
        shown = listed([cell for cell in frame.row(0) if cell][:4])
        notes.append(f"the first row below the header holds units ({shown}) and is left out.")
        frame = frame[1:]
    return without_totals(frame, notes)


UNITS_ALONE = re.compile(r"\[[^\d\]]{0,12}\]|\([^\d)]{0,12}\)|-")


def _is_units(row, below):
    """Whether a row holds nothing but units, each of them above a number: A and C may be marks, too."""
    cells = [cell.strip() for cell in row if cell and cell.strip()]
    if below is None:
        return bool(cells) and all(cell in KNOWN or UNITS_ALONE.fullmatch(cell) for cell in cells)
    above = [column for cell, column in zip(row, below.get_columns(), strict=True) if cell and cell.strip() != "-"]
    numbers = all(column.str.contains(r"\d").any() for column in above)
    return (
        bool(cells)
        and numbers
        and all(cell in KNOWN or UNITS_ALONE.fullmatch(cell) for cell in cells)
    )


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
        raise DataError(f"{name}, line {line}: a zero byte, so this is no text file; tables are CSV, Parquet or .xlsx.")
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


def separator_of(sample, usual=","):
    """The separator with which most lines have the same number of cells, two or more; the usual one where none is."""
    best, chosen = 0.0, usual
    for separator in SEPARATORS:
        widths = [len(row) for _, row in islice(rows_of(sample, separator), LINES)]
        width = max(set(widths), key=widths.count, default=0)
        share = widths.count(width) / len(widths) if width > 1 else 0.0
        if share > best:
            best, chosen = share, separator
    return chosen


def between_blanks(data, sample, name, notes):
    """The bytes with tabs for runs of blanks, where nothing else stands between cells and a column is numbers."""
    rows = [line.split() for line in sample.splitlines() if line.strip()][:LINES]
    widths = {len(row) for row in rows}
    if len(rows) < 3 or widths != {len(rows[0])} or len(rows[0]) < 2 or any(sign in sample for sign in '\t;|"'):
        return data
    columns = list(zip(*rows[1:], strict=True))
    if not any(all(NUMBER.fullmatch(cell) for cell in column) for column in columns):
        return data
    notes.append(f"{name}: blanks stand between the cells.")
    return b"\n".join(b"\t".join(line.split()) for line in data.split(b"\n"))


def named_separator(data):
    """(separator, data without the line) of a first line such as sep=; that a spreadsheet writes; else (None, data)."""
    first, _, rest = data.partition(b"\n")
    found = re.fullmatch(rb'"?sep=(.)"?', first.strip(b"\r "), re.IGNORECASE)
    return (found[1].decode("latin-1"), b"\n" + rest) if found else (None, data)


LOOKED, MOSTLY = 60, 0.8  # rows below a header; share of their cells that are numbers, in a column of numbers


def header_of_two(rows, notes):
    """The names in two lines of a header, groups above names or names above units; None where there is one line."""
    if len(rows) < 4 or len(rows[0]) != len(rows[1]) or len(rows[0]) < 2:
        return None
    first, second = ([" ".join(cell.split()) for cell in row] for row in rows[:2])
    body = [row for row in rows[2:LOOKED] if len(row) == len(first)]
    numeric = []
    for j in range(len(first)):
        cells = [row[j].strip() for row in body if row[j].strip()]
        if len(cells) > 1 and sum(map(bool, map(NUMBER.fullmatch, cells))) >= MOSTLY * len(cells):
            numeric.append(j)
    above = [second[j] for j in numeric if second[j]]
    words = above and all(re.search(r"[^\W\d_]", cell) and not NUMBER.fullmatch(cell) for cell in above)
    if not words or any(NUMBER.fullmatch(cell) for cell in first if cell) or second == first:
        return None
    named = [cell for cell in first if cell]
    groups = len(named) < len(first) or len(set(named)) < len(named)  # a name stands once for several columns
    if len(above) < min(2, len(numeric)) or (not groups and (len(above) < 2 or len(above) < len(numeric))):
        return None
    if not groups:
        if any(cell and NUMBER.fullmatch(cell) for cell in second) or _is_units(second, None):
            return None  # units are told elsewhere
        notes.append(f"the second line of the header ({listed([cell for cell in second if cell], 3)}) is left out.")
        return first
    names, group = [], ""
    for one, two in zip(first, second, strict=True):
        group = one or (group if two else "")
        names.append(f"{group} {two}".strip() if group != two else two)
    notes.append(f"the header has two lines, read together: {listed(names, 4)}.")
    return names


def header_of(first, name, notes):
    """The names in the first row; refused if they look like data."""
    cells = [" ".join(cell.split()) for cell in first]  # a line may break in a name
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
