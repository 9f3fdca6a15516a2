"""Tables from files: every usual dialect gives the same table, and what cannot be read is said with its place."""

import gzip
import io

import polars as pl
import pytest

from mercer.exceptions import DataError
from mercer.tabular import read, read_table
from mercer.tabular.dialect import SAMPLE

PLAIN = "name,x,y\nann,1.5,2\nbob,-2.25,30\n"


@pytest.fixture
def table(tmp_path):
    """Function that writes text or bytes to a file, and returns its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


SAME = {
    "comma": PLAIN,
    "semicolon": PLAIN.replace(",", ";"),
    "tab": PLAIN.replace(",", "\t"),
    "bar": PLAIN.replace(",", "|"),
    "decimal comma": "name;x;y\nann;1,5;2\nbob;-2,25;30\n",
    "decimal comma in quotes": 'name,x,y\nann,"1,5",2\nbob,"-2,25",30\n',
    "quotes": '"name","x","y"\n"ann","1.5","2"\n"bob","-2.25","30"\n',
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "no line end": PLAIN.rstrip("\n"),
    "blank lines at the end": PLAIN + "\n\n",
    "byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16": PLAIN.encode("utf-16"),
    "gzip": gzip.compress(PLAIN.encode()),
    "blanks around": "name , x, y\nann ,1.5 , 2\nbob, -2.25,30\n",
}


@pytest.mark.parametrize("content", SAME.values(), ids=SAME)
def test_every_dialect_gives_the_same_table(table, content):
    frame = read_table(table(content))
    assert frame.to_dict(as_series=False) == {"name": ["ann", "bob"], "x": [1.5, -2.25], "y": [2, 30]}


def test_parquet_and_standard_input(tmp_path, monkeypatch):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "no_ending")
    assert read_table(tmp_path / "no_ending").equals(frame)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert read_table("-").height == 2


def test_latin_1_is_read_and_said(table):
    found = read(table("straße,y\nMünster,1\n".encode("latin-1")))
    assert found.frame.columns[0] == "straße"
    assert "cp1252" in found.notes[0]
    assert "line 1" in found.notes[0]


BROKEN = [
    ("", "is empty"),
    ("\n \n", "is empty"),
    ("a,b\n", "no rows"),
    ("1.0,2.0\n3.0,4.0\n", "no header"),
    ("a,b\n1,2\n3,4,5\n", "line 3: 3 cells"),
    ("a,b\n1,2\n3\n4,5\n", "line 3: 1 cell,"),
    (b"a,b\n1,\x002\n", "line 2: a zero byte"),
    (b"PK\x03\x04rest", "a zip archive"),
    (b"PAR1 and nothing else PAR1", "Parquet"),
    (b"\x1f\x8bnot gzip", "cannot be unpacked"),
]


@pytest.mark.parametrize(("content", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_what_cannot_be_read_is_said_with_its_place(table, content, said):
    with pytest.raises(DataError) as caught:
        read_table(table(content))
    assert said in str(caught.value)


def test_a_missing_file_brings_the_nearest_name(table):
    path = table(PLAIN)
    with pytest.raises(FileNotFoundError, match="did you mean 'table.csv'"):
        read_table(path.with_name("tabel.csv"))
    with pytest.raises(DataError, match="folder"):
        read_table(path.parent)


def test_columns_without_names_and_without_a_header(table):
    assert read_table(table(",b\n1,2\n")).columns == ["unnamed_1", "b"]
    assert read_table(table("1,2\n3,4\n"), header=False).columns == ["column_1", "column_2"]


TYPES = [
    (["1", "2"], [1, 2]),
    (["1", ""], [1, None]),
    (["1e3", "-2.5E-1"], [1000.0, -0.25]),
    (["1,234.5", "12"], [1234.5, 12.0]),
    (["1'234", "2'000'000.5"], [1234.0, 2000000.5]),
    (["$12.50", "$3"], [12.5, 3.0]),
    (["12%", "3.5%"], [12.0, 3.5]),
    (["1.5", "-"], [1.5, None]),
    (["1.5", "?"], [1.5, None]),
    (["+", "-"], ["+", "-"]),
    (["NA", "b"], [None, "b"]),
    (["007", "123"], ["007", "123"]),
    (["true", "FALSE"], [True, False]),
    (["yes", "no"], ["yes", "no"]),
    (["1e400", "1"], [float("inf"), 1.0]),
]


@pytest.mark.parametrize(("cells", "values"), TYPES, ids=[str(cells) for cells, _ in TYPES])
def test_what_cells_become(table, cells, values):
    content = "a;b\n" + "".join(f'"{cell}";0.5\n' for cell in cells)
    assert read_table(table(content))["a"].to_list() == values


DATES = [
    ("2024-02-29", "2024-02-29"),
    ("29.02.2024", "2024-02-29"),
    ("29/2/2024", "2024-02-29"),
    ("2/29/2024", "2024-02-29"),
    ("2024-02", "2024-02-01"),
    ("2024-02-29 12:30", "2024-02-29 12:30:00"),
    ("2024-02-29T12:30:15", "2024-02-29 12:30:15"),
]


@pytest.mark.parametrize(("cell", "date"), DATES)
def test_dates(table, cell, date):
    assert str(read_table(table(f"when,y\n{cell},1\n"))["when"][0]) == date


def test_a_date_that_does_not_exist_stays_text(table):
    assert read_table(table("when,y\n2023-02-29,1\n"))["when"][0] == "2023-02-29"


def test_doubtful_dates_and_decimals_are_said(table):
    assert any("month/day/year" in note for note in read(table("when,y\n1/2/2024,1\n")).notes)
    found = read(table("a;b\n1,234;2\n"))
    assert found.frame["a"][0] == 1.234
    assert any("--decimal ." in note for note in found.notes)
    assert read_table(table("a;b\n1,234;2\n"), decimal=".")["a"][0] == 1234.0


def test_words_for_missing_values_and_columns_of_text(table):
    frame = read_table(table("a,b\n1,-999\nnix,2\n"), missing=["nix", "-999"], text=["b"])
    assert frame["a"].to_list() == [1, None]
    assert frame["b"].to_list() == [None, "2"]


def test_thousands_of_columns(table):
    header = ",".join(f"c{i}" for i in range(3000))
    frame = read_table(table(header + "\n" + ",".join(["1.5"] * 3000) + "\n"))
    assert frame.width == 3000
    assert frame["c2999"][0] == 1.5


# ------------------------------------------------------------------------------------------- signs of decimals
SIGNS = [
    ("x;y\n" + "0.126;0.951\n" * 39 + "0,5;0.1\n", 0.951, "a typing error does not decide for the table"),
    ('x,y\n"0,123",1\n', 1, "no group of thousands begins with 0"),
    ('x,y\n"1.234,567",1\n', 1, "both signs"),
    ("x;y\n1,234.567;1\n", 1, "both signs, the other way"),
    ("x;y\n.;1,5\n.;2,5\n.;3\n", 1.5, "a point for a missing cell"),
]


@pytest.mark.parametrize(("content", "first", "why"), SIGNS, ids=[why for *_, why in SIGNS])
def test_the_decimal_sign_is_that_of_the_cells_that_leave_no_doubt(table, content, first, why):
    assert read_table(table(content))["y"][0] == first


def test_numbers_that_were_read_a_thousand_times_too_large(table):
    assert read_table(table('x,y\n"0,123",1\n'))["x"].to_list() == [0.123]
    assert read_table(table('x,y\n"1.234,567",1\n'))["x"].to_list() == [1234.567]
    found = read_table(table("x;y\n" + "0.126;0.951\n" * 3 + "0,5;0.1\n"))["x"]
    assert found.to_list() == [0.126] * 3 + [0.5]  # each by its own sign


def test_a_column_with_another_decimal_sign_than_the_table_is_read_and_said(table):
    found = read(table("x;y\n1.5e-3;1,5\n2.5e-3;2,5\n1e-3;3,5\n"))
    assert found.frame.to_dict(as_series=False) == {"x": [1.5e-3, 2.5e-3, 1e-3], "y": [1.5, 2.5, 3.5]}
    assert any("'x': its numbers have a decimal point" in n for n in found.notes)
    doubtful = read(table("x;y\n1.500;1,5\n2.500;2,5\n1.000;3,5\n"))  # thousands, in a table with commas
    assert doubtful.frame["x"].to_list() == [1500, 2500, 1000]


# --------------------------------------------------------------------------------------------- missing words
def test_a_number_for_missing_is_one_however_it_is_written(table, tmp_path):
    found = read(table("a,b,c\n-999.0,1,1e400\n2.5,-999,1\n"), missing=["-999", "inf"])
    assert found.frame.to_dict(as_series=False) == {"a": [None, 2.5], "b": [1, None], "c": [None, 1.0]}
    assert found.notes == []
    frame = pl.DataFrame({"a": [-999.0, 1.0], "b": [3, -999], "c": pl.Series(["nix", "x"], dtype=pl.Categorical)})
    frame.write_parquet(tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet", missing=["-999", "nix"])
    assert again.to_dict(as_series=False) == {"a": [None, 1.0], "b": [3, None], "c": [None, "x"]}
    assert read_table(table("a;b\n-99,90;1\n1,5;2\n"), missing=["-99,9"])["a"].to_list() == [None, 1.5]


def test_a_word_for_missing_that_no_cell_has_is_said(table):
    notes = read(table("a,b\n1,x\n2,y\n"), missing=["-999", "x"]).notes
    assert notes == ["no cell is '-999', which was to stand for a missing value."]


# ---------------------------------------------------------------------------------------------------- dates
def test_the_order_of_day_and_month_is_found_once_and_handed_on(table):
    first = read(table("when,y\n20/03/2020,1\n05/04/2020,2\n"))
    assert first.written == {"when": "%d/%m/%Y"}
    path = table("when,y\n05/04/2020,1\n")
    assert str(read_table(path)["when"][0]) == "2020-05-04"
    assert str(read_table(path, written=first.written)["when"][0]) == "2020-04-05"
    assert read(path, written=first.written).notes == []
    assert read_table(table("when,y\n04/13/2020,1\n"), written=first.written)["when"][0] == "04/13/2020"


TIMES = [
    ("10:30", "10:30:00"),
    ("9:05:30", "09:05:30"),
    ("2024-02-29T00:00:00Z", "2024-02-29 00:00:00"),
    ("2024-02-29 12:30+01:00", "2024-02-29 11:30:00"),
]


@pytest.mark.parametrize(("cell", "time"), TIMES)
def test_times(table, cell, time):
    assert str(read_table(table(f"when,y\n{cell},1\n"))["when"][0]) == time


# ---------------------------------------------------------------------------------------------------- cells
def test_raw_cells_are_those_of_the_file(table, tmp_path):
    content = "id;x;when;b\nNA;1,126;20/03/2020;true\nNone;1,5;05/04/2020;false\n007;2;;true\n"
    found = read(table(content), raw=["id", "x", "when", "b", "not there"])
    assert found.raw.rows() == [
        ("NA", "1,126", "20/03/2020", "true"),
        ("None", "1,5", "05/04/2020", "false"),
        ("007", "2", None, "true"),
    ]
    assert found.frame["x"].to_list() == [1.126, 1.5, 2.0]
    frame = pl.DataFrame({"a": [-999, 2], "b": ["NA", "1"]})
    frame.write_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", missing=["-999"], raw=["b", "a"]).raw.equals(frame.select("b", "a"))


def test_a_header_longer_than_the_sample(table):
    header = ",".join(f"{'a_rather_long_name' * 20}_{i}" for i in range(300))
    assert len(header) > SAMPLE
    assert read_table(table(header + "\n" + ",".join(["1.5"] * 300) + "\n")).width == 300


def test_a_quotation_mark_inside_a_cell_is_a_letter(table):
    assert read_table(table('a,b\n5" pipe,1\nx,2\n3" p,3\n')).to_dict(as_series=False) == {
        "a": ['5" pipe', "x", '3" p'],
        "b": [1, 2, 3],
    }


@pytest.mark.parametrize("cell", ["x", '"x, y"'])
def test_blank_lines_are_no_rows_wherever_they_are(table, cell):
    found = read_table(table(f"\n\na,b\n{cell},1\n\n\nz,2\n\n"))
    assert found.to_dict(as_series=False) == {"a": [cell.strip('"'), "z"], "b": [1, 2]}
    assert read_table(table("a\n1\n\n3\n"))["a"].to_list() == [1, None, 3]


def test_lines_are_counted_from_the_first_line_of_the_file(table):
    with pytest.raises(DataError, match="line 6: 3 cells"):
        read_table(table("\n\na,b\n1,2\n\n3,4,5\n"))


@pytest.mark.parametrize("separator", [";;", '"', "\n", "ß"])
def test_what_is_no_separator(table, separator):
    with pytest.raises(DataError, match="one ASCII character"):
        read_table(table(PLAIN), separator=separator)


def test_parquet_without_rows_and_with_numbers_as_text(tmp_path):
    pl.DataFrame({"a": [1.0]}).clear().write_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"\('a'\) and no rows"):
        read_table(tmp_path / "none.parquet")
    pl.DataFrame({"a": ["1", "2"], "b": ["x", "y"]}).write_parquet(tmp_path / "t.parquet")
    assert "1 column of text hold" in read(tmp_path / "t.parquet").notes[0]
