"""Tables in files that are no CSV: records of JSON, pages of HTML that are called .xls, archives with one table."""

import csv
import io
import json
import zipfile
from html.parser import HTMLParser

from mercer.exceptions import DataError
from mercer.tabular.cells import quote

TABLES = (
    ".csv",
    ".tsv",
    ".txt",
    ".tab",
    ".dat",
    ".json",
    ".jsonl",
    ".ndjson",
    ".parquet",
    ".pq",
    ".xlsx",
    ".xlsm",
    ".gz",
)
OFFICE = {  # what another archive is, by a name in it: (name, what it is, what to do)
    "content.xml": "a sheet of LibreOffice or OpenOffice; save it as .xlsx or CSV",
    "word/document.xml": "a Word document; copy its table to a spreadsheet, and save that as .xlsx or CSV",
    "ppt/presentation.xml": "a presentation; copy its table to a spreadsheet, and save that as .xlsx or CSV",
    "xl/workbook.bin": "a binary Excel file (.xlsb); save it as .xlsx or CSV",
    "Index/Tables/DataList.iwa": "a file of Numbers; export it as .xlsx or CSV",
}


def is_workbook(data):
    """Whether a zip archive is an .xlsx file."""
    try:
        return "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return b"xl/" in data


def unzip_table(data, name, notes):
    """(bytes, name) of the one table in a zip archive; DataError for several, none, or another kind of archive."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        inside = [one for one in archive.infolist() if not one.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DataError(f"{name} is a zip archive that cannot be read: {error}.") from None
    every = [one.filename for one in inside]
    for part, what in OFFICE.items():
        if part in every:
            raise DataError(f"{name} is {what}.")
    tables = [
        one
        for one in inside
        if one.filename.lower().endswith(TABLES)
        and not one.filename.startswith("__MACOSX/")
        and "/." not in f"/{one.filename}"
    ]
    plain = [one for one in tables if not one.filename.rpartition("/")[2].lower().startswith(("readme", "license"))]
    tables = plain or tables
    if len(tables) != 1:
        there = quote([one.filename for one in tables] or every, 5)
        what = "tables" if tables else "files, none of which is known to be a table"
        raise DataError(
            f"{name} is a zip archive of {len(tables) or len(every)} {what} ({there}); unpack it and give one."
        )
    try:
        found = archive.read(tables[0])
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile, OSError) as error:  # a password, a method
        raise DataError(
            f"{name}: {tables[0].filename} in it cannot be unpacked ({error}); unpack it and give the file."
        ) from None
    notes.append(f"{name}: {tables[0].filename!r} in the archive was read.")
    return found, tables[0].filename.rpartition("/")[2]


# ------------------------------------------------------------------------------------------------------ JSON
def is_json(data):
    """Whether a file holds records of JSON: an object in each line, or a list of them."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"["))


def frame_of_json(data, name, notes):
    """The frame of records: of an object in each line, of a list of objects, or of the one list in an object."""
    import polars as pl

    text = data.decode("utf-8-sig", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = _lines(text, name)
    found = _records_of(found)
    if isinstance(found, dict):
        lists = {key: value for key, value in found.items() if _is_list_of_records(value)}
        columns = found if found and all(isinstance(value, list) for value in found.values()) else None
        if len(lists) == 1:
            key, found = next(iter(lists.items()))
            notes.append(f"{name}: the records of {key!r} were read.")
        elif columns and len({len(value) for value in columns.values()}) == 1 and not lists:
            found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        else:
            found = [found]
    if not _is_list_of_records(found):
        raise DataError(
            f"{name} is JSON, and no list of records; a table is [{{'x': 1, 'y': 2}}, …], or a record in each line."
        )
    rows = [_flatten_record(row) for row in found]
    names = list(dict.fromkeys(key for row in rows for key in row))
    return pl.DataFrame({key: _make_series([row.get(key) for row in rows]) for key in names})


def _records_of(found):
    """Records of the other forms that programs write: rows below a row of names, columns or rows by their numbers."""
    if isinstance(found, dict):
        if isinstance(found.get("columns"), list) and _is_list_of_lists(found.get("data")):
            return [dict(zip(map(str, found["columns"]), row, strict=False)) for row in found["data"]]
        parts = list(found.values())
        if (
            len(parts) > 1
            and all(isinstance(part, dict) for part in parts)
            and len({tuple(part) for part in parts}) == 1
        ):
            if all(key.isdigit() for key in parts[0]):  # {column: {number: value}}
                return [{name: part[key] for name, part in found.items()} for key in parts[0]]
            if all(key.isdigit() for key in found):  # {number: record}
                return parts
    if (
        _is_list_of_lists(found)
        and all(isinstance(name, str) for name in found[0])
        and len({len(row) for row in found}) == 1
    ):
        return [dict(zip(found[0], row, strict=True)) for row in found[1:]]
    return found


def _is_list_of_lists(value):
    return isinstance(value, list) and len(value) > 1 and all(isinstance(row, list) for row in value)


def _is_list_of_records(value):
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _lines(text, name):
    """The objects of lines of JSON; an error names the first line that is none."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise DataError(f"{name}, line {number}: no JSON ({error}); each line must be one record.") from None
    return found


def _flatten_record(row, before=""):
    """A record without records in it: {"a": {"b": 1}} is {"a.b": 1}; lists stay texts."""
    found = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found |= _flatten_record(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
    return found


def _make_series(values):
    """Values as numbers or truth values where all are, else as texts."""
    import polars as pl

    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return pl.Series(values, dtype=pl.Boolean)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    if present and numbers:
        whole = all(isinstance(value, int) and abs(value) < 2**63 for value in present)
        made = pl.Series(values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
        return made if whole else made.fill_nan(None)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(texts, dtype=pl.String)


# ------------------------------------------------------------------------------------------------------ HTML
def is_html(data):
    """Whether a file is a page of HTML, whatever it is called."""
    start = _decode_page(data[:4096]).lstrip("\ufeff \t\r\n").lower()
    known = ("<!doctype html", "<html", "<table", "<meta", "<head", "<body", "<div")
    return start.startswith(known) or (start.startswith("<") and "<table" in start)


def html_as_csv(data, name, notes):
    """The largest table of a page as CSV."""
    pages = _Tables()
    pages.feed(_decode_page(data))
    pages.close()
    tables = [table for table in pages.found if len(table) > 1 and max(map(len, table)) > 1]
    if not tables:
        raise DataError(f"{name} is a page of HTML without a table; save the table as CSV or .xlsx.")
    table = max(tables, key=lambda rows: sum(map(len, rows)))
    also = f"; the largest of {len(tables)} tables" if len(tables) > 1 else ""
    notes.append(f"{name} is a page of HTML, whatever its name says: its table was read{also}.")
    width = max(map(len, table))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([row + [""] * (width - len(row)) for row in table])
    return out.getvalue().encode()


def _decode_page(data):
    """The text of a page: UTF-8, UTF-16, or letters of Windows in the west."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


class _Tables(HTMLParser):
    """Collects the cells of each table: rows of (text, columns, rows) that a cell takes."""

    def __init__(self):
        super().__init__()
        self.every, self.open, self.cell = [], [], None

    @property
    def found(self):
        """The rows of texts of each table."""
        return [[row for row in _expand_spans(table) if any(row)] for table in self.every]

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "table":
            self.every.append([])
            self.open.append(self.every[-1])
        elif tag == "tr" and self.open:
            self._close_cell()
            self.open[-1].append([])
        elif tag in ("td", "th") and self.open and self.open[-1]:
            self._close_cell()
            self.cell = ([], _parse_span(given.get("colspan")), _parse_span(given.get("rowspan")))
        elif tag == "br" and self.cell:
            self.cell[0].append(" ")

    def handle_endtag(self, tag):
        if tag in ("td", "th", "tr", "table"):
            self._close_cell()
        if tag == "table" and self.open:
            self.open.pop()

    def handle_data(self, data):
        if self.cell:
            self.cell[0].append(data)

    def _close_cell(self):
        if self.cell and self.open and self.open[-1]:
            texts, wide, tall = self.cell
            self.open[-1][-1].append((" ".join("".join(texts).split()), wide, tall))
        self.cell = None


def _expand_spans(table):
    """Rows of texts, in which a cell over several columns or rows stands in all of them."""
    rows, below = [], {}  # {(row, column): text} of cells from above
    for i, cells in enumerate(table):
        row = []
        for text, wide, tall in cells:
            while (i, len(row)) in below:
                row.append(below[i, len(row)])
            for _ in range(wide):
                below |= {(i + k, len(row)): text for k in range(1, tall)}
                row.append(text)
        while (i, len(row)) in below:
            row.append(below[i, len(row)])
        rows.append(row)
    return rows


def _parse_span(text):
    """Columns or rows of a cell: 1 to 1000."""
    return min(max(int(text), 1), 1000) if text and text.isdigit() else 1
