"""What a text file does not say about itself: encoding, separator, names; and what stands around its table."""

import csv
import io
import re
from itertools import islice

from mercer.exceptions import DataError
from mercer.tabular.cells import count

TITLES = 30  # lines above a header, at most
NUMBER = re.compile(r"[+-]?(\d[\d.,'\s]*|[.,]\d+)([eE][+-]?\d+)?%?")


def brief(text, letters=40):
    """A text, or its first letters with a sign that there are more."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


def count_filled(row):
    """Cells of a row that are not blank."""
    return sum(bool(cell.strip()) for cell in row)


NOTE = re.compile(
    r"(\*+|†|©|\(?[\d¹²³]\)|(data )?sources?\b|notes?\b|remarks?\b|quellen?\b|anmerkung(en)?\b|hinweise?\b|"
    r"bemerkung(en)?\b|"
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
    plain = NUMBER.fullmatch(first) is None
    return plain and bool((said and ":" in first) or ((said or phrase) and not any(map(NUMBER.fullmatch, words[:-1]))))


SEPARATORS = ("\t", ";", "|", ",")  # of two that fit equally well the first: commas are in decimals and in text
NAMES = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
SAMPLE, LINES = 1 << 16, 100  # characters and lines that the guess looks at


def decode(data, name, notes):
    """The text of a file as UTF-8 bytes without a mark at its start, and lines that end with a line feed."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = _reencode(data, "utf-16", name)
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


def _reencode(data, encoding, name):
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
    lines = [line for line in sample.splitlines() if line.strip()][:LINES]
    if len(lines) < 3 or any(sign in sample for sign in '\t;|"'):
        return data
    for runs in (r" {2,}", r"\s+"):  # in a copy of a page single blanks stand in names
        rows = [re.split(runs, line.strip()) for line in lines]
        if {len(row) for row in rows} != {len(rows[0])} or len(rows[0]) < 2:
            continue
        columns = list(zip(*rows[1:], strict=True))
        if any(all(NUMBER.fullmatch(cell) for cell in column) for column in columns):
            notes.append(f"{name}: blanks stand between the cells.")
            split = re.compile(runs.encode())
            return b"\n".join(b"\t".join(split.split(line.strip())) for line in data.split(b"\n"))
    return data


def named_separator(data):
    """(separator, data without the line) of a first line such as sep=; that a spreadsheet writes; else (None, data)."""
    first, _, rest = data.partition(b"\n")
    found = re.fullmatch(rb'"?sep=(.)"?', first.strip(b"\r "), re.IGNORECASE)
    return (found[1].decode("latin-1"), b"\n" + rest) if found else (None, data)


def with_a_name_for_each(data, sample, separator, notes):
    """The bytes with a header of as many names as each row has cells, where all have one more than there are names.

    R writes the names of rows without one for their column; others end each row, but not the header, with a separator.
    """
    rows = [row for _, row in islice(rows_of(sample, separator), LINES)]
    if len(rows) < 3 or {len(row) for row in rows[1:]} != {len(rows[0]) + 1} or len(rows[0]) < 2:
        return data
    start = len(data) - len(data.lstrip(b"\n"))
    line, sign = data[start:].partition(b"\n")[0], separator.encode()
    if all(not row[-1].strip() for row in rows[1:]):
        new = line + sign
    elif any(NUMBER.fullmatch(cell.strip()) for cell in rows[0]) or not _are_row_names([row[0] for row in rows[1:]]):
        return data  # a separator stands inside of cells
    else:
        new = b"row" + sign + line
        notes.append("rows have one cell more than the header has names: the first, of their names, is called 'row'.")
    return data[:start] + new + data[start + len(line) :]


def _are_row_names(cells):
    """Whether the first cells are 1, 2, 3, … or different words."""
    plain = [cell.strip() for cell in cells]
    if all(cell.isdigit() for cell in plain):
        return [int(cell) - int(plain[0]) for cell in plain] == list(range(len(plain)))
    return len(set(plain)) == len(plain) and all(any(map(str.isalpha, cell)) for cell in plain)


def whole_rows(data, separator, name):
    """All rows of a file, as lists of cells; for what polars does not read."""
    try:
        return [row for row in csv.reader(io.StringIO(data.decode("utf-8")), delimiter=separator) if row]
    except csv.Error as error:
        raise DataError(f"{name} cannot be read as CSV: {error}; put cells with quotes in quotes.") from None


def find_ragged_row(data, separator, width, name):
    """DataError with the line of the first row that has too many or too few cells; None if there is none."""
    for line, row in rows_of(data.decode("utf-8"), separator):
        if len(row) != width:
            return DataError(
                f"{name}, line {line}: {count(len(row), 'cell')}, but the first line has {width} (separator: "
                f"{NAMES.get(separator, separator)}). A cell that contains the separator must be in quotes."
            )
    return None
