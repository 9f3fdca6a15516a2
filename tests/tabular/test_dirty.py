"""Tables as people keep them: each is read right and what was repaired is said, or refused with place and remedy."""

import io

import polars as pl
import pytest

from dirty import DAYS, READ, REFUSED, column
from mercer import KernelRidge
from mercer.exceptions import DataError
from mercer.tabular import Recipe, TableModel, read


@pytest.mark.parametrize("what", READ)
def test_a_dirty_table_is_read_right(what, tmp_path):
    content, name, values, said = READ[what]
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read(path)
    assert found.frame[name].to_list() == values
    assert any(said in note for note in found.notes) or not said, found.notes


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_repaired_is_refused_with_place_and_remedy(what, tmp_path):
    content, said = REFUSED[what]
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=said):
        Recipe().fit(read(path).frame)


KEPT = {  # what is no number with a unit, and stays text
    "sizes": ["3XL", "4XL", "XL"],
    "codes": ["12A", "12B", "13A"],
    "streets": ["Main 12", "Main 14", "Side 3"],
    "ages": ["< 18", "> 65", "< 18"],
    "zip codes": ["01234", "04321", "09999"],
    "codes of two numbers": ["10-12", "14-11", "9-30", "12-12"],
    "telephones": ["555-1234", "555-9876", "812-3456"],
    "articles": ["A-10", "B-12", "C-14"],
    "bands of ages": ["18-25", "26-35", "18-25"],
    "months": ["Jan", "Feb", "Mar"],
    "versions": ["1.2.3", "1.10.0", "2.0.1"],
    "addresses": ["192.168.0.1", "10.0.0.12", "8.8.8.8"],
}


@pytest.mark.parametrize("what", KEPT)
def test_text_with_digits_stays_text(what, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(column(KEPT[what]))
    assert read(path).frame["x"].to_list() == KEPT[what]


def test_what_is_asked_is_answered_by_an_option(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(column([f"{i}-{i + 2}" for i in range(10, 40)]))
    frame = read(path).frame.select("x")
    with pytest.raises(DataError, match="--numeric 'x'"):
        Recipe().fit(frame)
    assert Recipe(numeric=["x"]).fit(frame).transform(frame[:2]).shape == (2, 1)
    path.write_text(column(["1.54", "17,95", "1300.5", "1,234"] * 9))
    frame = read(path).frame.select("x")
    with pytest.raises(DataError, match="--numeric 'x' reads '1,234' as 1234"):
        Recipe().fit(frame)
    column_read = Recipe(numeric=["x"]).fit(frame).columns_[0]
    assert (column_read["low"], column_read["high"]) == (1.54, 1300.5) and column_read["centre"] > 600


def test_a_table_is_read_on_the_scale_of_the_fit(tmp_path):
    path = tmp_path / "table.csv"
    for fit, new, value in ((["12%", "0.15"], ["30%"], 0.3), (["1k", "2M"], ["3M"], 3e6)):
        path.write_text(column(fit))
        written = read(path).written
        path.write_text(column(new))
        assert read(path, written=written).frame["x"].to_list() == [value]


def test_lines_to_skip_may_be_given(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("made by: a machine, at noon\nx,y\n1,2\n3,4\n")
    assert read(path, skip_lines=1).frame["y"].to_list() == [2, 4]
    with pytest.raises(DataError, match="no line after the 9"):
        read(path, skip_lines=9)


def test_excel(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [["Harvest"], [], ["plot", "when", "rain", "y"], ["a", DAYS[0], 3.5, 1], ["b", DAYS[1], None, 2],
            ["c", DAYS[2], 4, 4], ["Total", None, None, 7]]  # fmt: skip
    for row in rows:
        book.active.append(row)
    book.create_sheet("second").append(["u", "v"])
    book["second"].append([1, 2])
    data = io.BytesIO()
    book.save(data)
    path = tmp_path / "table.xlsx"
    path.write_bytes(data.getvalue())
    found = read(path)
    assert found.frame["when"].to_list() == DAYS and found.frame["y"].to_list() == [1, 2, 4]
    assert found.frame["rain"].to_list() == [3.5, None, 4.0]
    assert any("--sheet takes another of" in note for note in found.notes)
    assert read(path, sheet="second").frame.rows() == [(1, 2)]
    with pytest.raises(DataError, match="no sheet 'secnd'; did you mean 'second'"):
        read(path, sheet="secnd")
    path.write_bytes(data.getvalue()[:900])
    with pytest.raises(DataError, match="cannot be read"):
        read(path)


def test_what_a_text_is_is_said_before_it_is_left_out():
    smiles = ["CCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "CCN(CC)CC", "O=C=O"] * 2
    dna = ["ACGTACGTAA", "TTGACCATGC", "GGGTTTACCA", "ACACACGTGT", "CATCATGATC", "GATTACAGAT"]
    frame = pl.DataFrame({"m": [f"{s}C{'C' * i}" for i, s in enumerate(smiles)],
                          "s": [d + e for d in dna for e in "AC"], "key": [f"F{i:03d}" for i in range(12)],
                          "x": range(12)})  # fmt: skip
    notes = Recipe(numeric=["x"]).fit(frame).notes_
    said = {name: " ".join(note for note in notes if f"column {name!r}" in note) for name in ("m", "s", "key")}
    assert """TanimotoOf(AtomEnvironments(2)).on("m")""" in said["m"]
    assert """Spectrum(3).on("s")""" in said["s"]
    assert "'F000', 'F001'" in said["key"]


def test_another_table_is_read_in_the_units_of_the_fit(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text(column(["12 kg", "3 kg", "7 kg", "9 kg"]))
    second.write_text(column(["500 g", "2500 g"]))
    reading = read(first)
    assert reading.written == {"x": "kg"}
    model = TableModel(KernelRidge(), target="y").fit(reading.frame, written=reading.written)
    assert model.written == {"x": "kg"}
    found = read(second, written=model.written)
    assert found.frame["x"].to_list() == [0.5, 2.5] and any("converted to 'kg'" in note for note in found.notes)
    second.write_text(column(["5 €", "25 €"]))
    with pytest.raises(DataError, match="column 'x' is in '€', and the model was fitted on 'kg'"):
        read(second, written=model.written)
