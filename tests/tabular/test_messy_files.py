"""Tables in files of other kinds: sheets with more than a table on them, JSON, pages of HTML, archives."""

import gzip
import io
import json
import zipfile

import pytest

from mercer.exceptions import DataError
from mercer.tabular import read

TABLE = [["plot", "x", "y"], ["a", 3.5, 1], ["b", 4, 2], ["c", 5, 4], ["d", 6, 5]]
ROWS = [("a", 3.5, 1), ("b", 4.0, 2), ("c", 5.0, 4), ("d", 6.0, 5)]


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def save(sheets, merged=()):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for name, rows in sheets.items():
            sheet = made.create_sheet(name)
            for row in rows:
                sheet.append(list(row))
            for cells in merged:
                sheet.merge_cells(cells)
        made.save(tmp_path / "table.xlsx")
        return tmp_path / "table.xlsx"

    return save


beside = [[*row, None, *more] for row, more in zip(TABLE, [["k", "v"], ["u", 1], *[[None] * 2] * 3], strict=True)]
ON_A_SHEET = {  # where a table may be: (sheets, what is said)
    "a note above": ({"s": [["Note: by hand,\nsee the log"], *TABLE]}, "1 cell around it"),
    "a note of two cells above": ({"s": [["Note: by hand", None, "2024"], [], *TABLE]}, "table in A3:C7 was read"),
    "not in the corner": ({"s": [[], [], *[[None, None, *row] for row in TABLE]]}, ""),
    "a blank row in it": ({"s": [*TABLE[:3], [], *TABLE[3:]]}, ""),
    "a second one below": ({"s": [*TABLE, [], ["site", "mean"], ["n", 3], ["s", 4]]}, "another table is in A7:B9"),
    "a wider one below": ({"s": [*TABLE, [], ["lab", "kit", "lot", "day"], ["n", 3, "q", "z"]]}, "table is in A7:D8"),
    "one beside it": ({"s": beside}, "another table is in E1:F2"),
    "a sheet of words first": ({"README": [["This holds data"], ["by me"]], "data": TABLE}, "'README' has no table"),
    "a sheet of two columns of words first": (
        {"README": [["Author", "Bob"], ["Lab", "B3"]], "data": TABLE},
        "'data' was",
    ),
    "an empty sheet first": ({"Sheet1": [], "data": TABLE}, "sheet 'data' was read"),
    "the same names again below": ({"s": [*TABLE[:3], [], TABLE[0], *TABLE[3:]]}, "2 tables with the same names"),
    "titles above both": ({"s": [["A"], *TABLE[:3], [], ["B"], TABLE[0], *TABLE[3:]]}, "under titles such as 'B'"),
    "totals below": ({"s": [*TABLE, ["Total", 18.5, 12]]}, "of totals"),
}


@pytest.mark.parametrize("what", ON_A_SHEET)
def test_the_table_on_a_sheet_is_found(what, book):
    sheets, said = ON_A_SHEET[what]
    found = read(book(sheets))
    assert found.frame.rows() == ROWS and found.frame.columns == ["plot", "x", "y"]
    assert any(said in note for note in found.notes) or not said, found.notes


def test_the_sheet_and_the_table_with_the_target_are_taken(book):
    path = book({"first": TABLE, "second": [["u", "v"], [1, 2], [3, 4]]})
    assert read(path, target="v").frame.rows() == read(path, sheet="second").frame.rows() == [(1, 2), (3, 4)]
    assert read(path, target="y").frame.rows() == ROWS
    path = book({"first": [*TABLE, [], ["site", "mean"], ["n", 3], ["s", 4]]})
    assert read(path, target="mean").frame.rows() == [("n", 3), ("s", 4)]


def test_merged_cells_of_a_sheet(book):
    rows = [["plot", "soil", None, "y"], [None, "pH", "N", None], ["a", 3.5, 1, 1], [None, 4, 2, 2], ["c", 5, 4, 3]]
    found = read(book({"s": [["Harvest"], *rows]}, ["A1:D1", "B2:C2", "A2:A3", "D2:D3", "A4:A5"]))
    assert found.frame.columns == ["plot", "soil pH", "soil N", "y"]
    assert found.frame["plot"].to_list() == ["a", "a", "c"] and found.frame["soil pH"].to_list() == [3.5, 4.0, 5.0]
    assert any("merged cell" in note for note in found.notes)


def test_a_sheet_that_is_hidden_is_not_the_one(book):
    openpyxl = pytest.importorskip("openpyxl")
    path = book({"old": TABLE[:3], "new": TABLE})
    made = openpyxl.load_workbook(path)
    made["old"].sheet_state = "hidden"
    made.active = 1
    made.save(path)
    assert read(path).frame.rows() == ROWS and read(path, sheet="old").frame.height == 2


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


CSV = "plot,x,y\n" + "".join(f"{p},{x},{y}\n" for p, x, y in ROWS)
RECORDS = [dict(zip(TABLE[0], row, strict=True)) for row in ROWS]
PAGE = (
    "<html><body><table><tr><td>menu</td></tr></table><table><tr><th>plot<th>x<th>y</tr>"
    + "".join(f"<tr><td>{p}</td><td>{x}</td><td>{y}</td></tr>" for p, x, y in ROWS)
    + "</table></body></html>"
)
FILES = {  # what: (name, bytes)
    "lines of JSON": ("t.jsonl", "\n".join(map(json.dumps, RECORDS))),
    "lines of JSON, gzipped": ("t.json.gz", gzip.compress("\n".join(map(json.dumps, RECORDS)).encode())),
    "a list of JSON": ("t.json", json.dumps(RECORDS, indent=1)),
    "a list in an object": ("t.json", json.dumps({"meta": {"n": 4}, "data": RECORDS})),
    "columns of JSON": ("t.json", json.dumps({name: [row[name] for row in RECORDS] for name in TABLE[0]})),
    "names and rows of JSON": ("t.json", json.dumps({"columns": TABLE[0], "index": [0, 1, 2, 3], "data": ROWS})),
    "rows below names in JSON": ("t.json", json.dumps([TABLE[0], *ROWS])),
    "numbered rows of JSON": ("t.json", json.dumps({str(i): row for i, row in enumerate(RECORDS)})),
    "numbered cells of JSON": (
        "t.json",
        json.dumps({name: {str(i): row[name] for i, row in enumerate(RECORDS)} for name in TABLE[0]}),
    ),
    "HTML called .xls": ("t.xls", PAGE),
    "HTML of Windows": ("t.xls", ("\ufeff" + PAGE).encode("utf-16")),
    "a zip": ("t.zip", zipped({"t.csv": CSV, "__MACOSX/._t.csv": "x", "README.txt": "hello"})),
    "JSON in a zip": ("t.zip", zipped({"a/t.jsonl": "\n".join(map(json.dumps, RECORDS))})),
}


@pytest.mark.parametrize("what", FILES)
def test_a_table_in_a_file_of_another_kind(what, tmp_path):
    name, content = FILES[what]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read(path).frame.rows() == ROWS


def test_records_in_records_and_cells_of_several_rows(tmp_path):
    path = tmp_path / "t"
    path.write_text('[{"x": 1, "d": {"e": "12 kg"}, "l": [1]}, {"x": null, "d": {"e": "3 kg"}, "z": "2024-01-05"}]')
    frame = read(path).frame
    assert (
        frame["d.e"].to_list() == [12.0, 3.0] and frame["x"].to_list() == [1, None] and str(frame["z"].dtype) == "Date"
    )
    head = "<tr><th rowspan=2>plot<th colspan=2>soil</tr><tr><th>pH<th>N</tr>"
    body = "<tr><td rowspan=2>a<td>5,1<td>3</tr><tr><td>5,2<td>4</tr><tr><td>b<td>5,3<td>5</tr>"
    path.write_text(f"<table>{head}{body}</table>")
    found = read(path).frame
    assert found.columns == ["plot", "soil pH", "soil N"] and found.rows() == [
        ("a", 5.1, 3),
        ("a", 5.2, 4),
        ("b", 5.3, 5),
    ]


REFUSED = {  # what: (bytes, what is said)
    "two tables in a zip": (
        zipped({"a.csv": CSV, "b.csv": CSV}),
        "2 tables .'a.csv', 'b.csv'.; unpack it and give one",
    ),
    "a Feather file": (b"ARROW1" + bytes(50), "a Feather file; save it as Parquet"),
    "an archive": (gzip.compress(b"t.csv".ljust(257, b"\0") + b"ustar" + bytes(250)), "an archive .tar.; unpack it"),
    "a file that was not fetched": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    "no table in a zip": (zipped({"a.png": "x"}), "none of which is known to be a table"),
    "a damaged zip": (zipped({"a.csv": CSV})[:30], "zip archive that cannot be read"),
    "LibreOffice": (zipped({"content.xml": "<a/>"}), "save it as .xlsx or CSV"),
    "Word": (zipped({"word/document.xml": "<a/>"}), "Word document"),
    "a page without a table": (b"<html><p>hello</p></html>", "HTML without a table"),
    "a line that is no JSON": (b'{"x": 1}\n{"x":\n', "line 2: no JSON"),
    "JSON that is no table": (b'[{"x": 1}, 3]', "no list of records"),
    "PDF": (b"%PDF-1.4", "PDF document"),
    "XML": (b'<?xml version="1.0"?><Workbook/>', "XML document; save it as"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_table_is_refused_with_what_to_do(what, tmp_path):
    content, said = REFUSED[what]
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read(path)
