"""Tables as people keep them: each is read right and what was repaired is said, or refused with place and remedy."""

import io

import numpy as np
import polars as pl
import pytest

from mercer import GaussianProcessClassifier, KernelRidge
from mercer.exceptions import DataError, DataWarning
from mercer.kernels import AtomEnvironments, TanimotoOf
from mercer.tabular import Recipe, TableModel, objects, read
from mercer.tabular.sentinels import find_sentinels
from tabular.messy_tables import DAYS, READ, REFUSED, column


@pytest.mark.parametrize("what", READ)
def test_a_messy_table_is_read_right(what, tmp_path):
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
    "genes": ["AA", "Aa", "aa"],
    "elements": ["Co", "CO", "co"],
    "rings": ["c1ccccc1", "C1CCCCC1", "CCO"],
    "letters": ["S", "N", "F"],
    "answers": ["yes", "no", "yes"],
    "results": ["2:1", "0:0", "2:1", "2:1"],
    "sizes of screws": ["M8", "M10", "M8"],
    "releases": ["v1.2", "v1.10", "v2.0"],
    "diseases": ["E11.9", "I10.0", "J45.0"],
    "dilutions": ["1/100", "1/1000", "1/2000"],
    "courses": ["1D-01", "2D-03", "4D-02"],
    "days of the week": ["Mon", "Mar", "Sat"],
    "quarters alone": ["Q1", "Q2", "Q4"],
    "first names": ["Anna Mai", "Jan Lee", "April Fox"],
    "numbers of a year": ["2023-017", "2023-144", "2024-003"],
    "marks of a reaction": ["+", "++", "-"],
    "streets with numbers in front": ["12 Main Street", "14 Oak Street", "3 Lake Street"],
    "versions": ["1.2.3", "1.10.0", "2.0.1"],
    "addresses": ["192.168.0.1", "10.0.0.12", "8.8.8.8"],
}


@pytest.mark.parametrize("what", KEPT)
def test_text_with_digits_stays_text(what, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(column(KEPT[what]))
    assert read(path).frame["x"].to_list() == KEPT[what]


IDENTIFIERS = {  # which are left out, and not asked about: a number from 0 to 59 as one
    "codes": lambda i: f"S{i:03d}",
    "versions": lambda i: f"v{i // 9}.{i}",
    "diseases": lambda i: f"E{i + 10}.{i % 10}",
    "papers": lambda i: f"10.1021/acs.{i:05d}",
    "samples of a year": lambda i: f"2023-{i:03d}",
    "places of a plate": lambda i: f"{'ABCDEFGH'[i % 8]}{i + 1}",
    "addresses": lambda i: f"10.0.{i % 4}.{i}",
    "files": lambda i: f"img_{i:04d}.png",
    "streets": lambda i: f"{['Main', 'Oak', 'Elm', 'Lake', 'Hill'][i % 5]} Street {i}",
    "telephones": lambda i: f"+49 30 {734_112 + 37 * i}",
    "substances": lambda i: f"{50 + i}-{i % 90 + 10:02d}-{i % 10}",
    "remarks": lambda i: f"measured {i / 4} by {'hand' * (i % 3)}, {'seen' * (i % 5)} again at {i % 7}",
}


@pytest.mark.parametrize("what", IDENTIFIERS)
def test_identifiers_are_no_numbers_that_were_not_understood(what):
    cells = [IDENTIFIERS[what](i) for i in range(60)]
    recipe = Recipe().fit(pl.DataFrame({"x": cells, "z": np.arange(60.0)}))
    assert recipe.feature_names_ == ["z"]


def test_numbers_that_are_not_understood_are_no_categories_of_many_rows(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(column([f"[{i % 90 + 0.5}, {i % 90 + 2.5}]" for i in range(1200)]))
    with pytest.raises(DataError, match="looks like numbers"):
        Recipe().fit(read(path).frame)


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


NATURAL = {  # numbers that are no words for nothing, though they look like some
    "the least of a range": np.round(np.linspace(-999, 400, 50)),
    "a balance": [-99.0, *np.linspace(-90, 300, 40)],
    "prices": [*np.linspace(5, 1200, 60), 999.0, 999.0, 999.0],
    "years": [*range(1990, 2024), 1999, 1999],
    "codes": [99, 999, 9999, 99999],
}


@pytest.mark.parametrize("what", NATURAL)
def test_numbers_like_others_are_no_words_for_nothing(what):
    assert find_sentinels(pl.DataFrame({"x": np.asarray(NATURAL[what], dtype=float)}), []) == {}


def test_a_number_for_nothing_changes_no_prediction(tmp_path):
    rng = np.random.default_rng(0)
    x, z = rng.uniform(5, 31, 60).round(2), rng.normal(size=60).round(3)
    rows = [[f"{a}", f"{b}", f"{np.sin(a / 4) + b:.4f}"] for a, b in zip(x, z, strict=True)]
    path, models = tmp_path / "table.csv", []
    for word in ("", "-999"):
        lines = [",".join([word if i % 8 == 0 else row[0], *row[1:]]) for i, row in enumerate(rows)]
        path.write_text("\n".join(["x,z,y", *lines]))
        found = read(path)
        models.append(TableModel(KernelRidge(), target="y").fit(found.frame, sentinels=found.sentinels))
    clean, messy = models
    assert messy.sentinels_ == {"x": [[-999.0, 8]]} == messy.recipe_.sentinels and not clean.sentinels_
    new, same = (pl.DataFrame({"x": [a, 7.0], "z": [0.1, 0.2]}) for a in (None, -999.0))
    np.testing.assert_allclose(messy.predict(same), clean.predict(new), rtol=1e-6)
    frame = found.frame.with_columns(pl.col("x").fill_null(-999.0))  # the same from Python
    again = TableModel(KernelRidge(), target="y").fit(frame)
    assert again.sentinels_ == messy.sentinels_
    np.testing.assert_allclose(again.predict(same), clean.predict(new), rtol=1e-6)
    kept = TableModel(KernelRidge(), Recipe(numeric=["x"]), target="y").fit(frame)
    assert not kept.sentinels_ and kept.recipe_.columns_[0]["low"] == -999


def test_a_category_in_another_spelling_is_the_one_of_the_fit():
    frame = pl.DataFrame({"soil": ["sand", "loam", "clay"] * 4, "y": [1.0, 2.0, 4.0] * 4})
    model = TableModel(KernelRidge(), target="y").fit(frame)
    new = pl.DataFrame({"soil": ["Sand", "CLAY "]})
    with pytest.warns(DataWarning, match="'Sand' as 'sand'"):
        found = model.predict(new)
    np.testing.assert_array_equal(found, model.predict(pl.DataFrame({"soil": ["sand", "clay"]})))
    with pytest.warns(DataWarning, match="Did you mean 'sand'"):
        model.predict(pl.DataFrame({"soil": ["snad"]}))


def test_labels_in_several_spellings_are_one_class():
    frame = pl.DataFrame({"x": np.arange(12.0), "y": ["Ja", "ja", "Nein", "nein "] * 3})
    model = TableModel(GaussianProcessClassifier(), target="y").fit(frame)
    assert len(model.classes_) == 2
    rows, y = model.targets(pl.DataFrame({"x": [1.0, 2.0], "y": ["JA", "NEIN"]}))
    assert set(y) <= set(model.classes_) and len(rows) == 2


def test_texts_in_a_few_rows_are_filled_down_or_asked_about(tmp_path):
    path = tmp_path / "table.csv"
    sizes = {"north": 2, "south": 12, "west": 3}
    path.write_text(
        "site,x\n" + "".join(f"{name if not i else ''},{i}\n" for name in sizes for i in range(sizes[name]))
    )
    with pytest.raises(DataError, match="--fill-down 'site'"):
        read(path, settled=())
    assert read(path).frame["site"].null_count() == 14  # from Python nothing is asked
    found = read(path, fill_down=["site"])
    assert found.filled == ("site",) and found.frame["site"].value_counts().height == 3
    assert read(path, settled=["site"]).filled == read(path, target="site").filled == ()
    path.write_text("remark,x\n" + "".join(f"{'wet' if i == 3 else 'late' if i == 7 else ''},{i}\n" for i in range(12)))
    assert read(path, settled=()).frame["remark"].null_count() == 10


def test_numbers_at_like_distances_are_asked_about(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("dose,x\n" + "".join(f"{i if i % 5 == 0 else ''},{i}\n" for i in range(20)))
    with pytest.raises(DataError, match="--fill-down 'dose'.*--numeric 'dose'"):
        read(path, settled=())
    assert read(path, fill_down=["dose"]).frame["dose"].to_list() == [i - i % 5 for i in range(20)]
    assert read(path, settled=["dose"]).frame["dose"].null_count() == 16


def test_names_of_rows_have_no_name_in_a_file_of_R(tmp_path):
    path = tmp_path / "table.csv"
    for names in ("123", ("Mazda RX4", "Datsun 710", "Fiat X1-9")):
        path.write_text("x,y\n" + "".join(f"{name},{i},{10 * i}\n" for i, name in enumerate(names)))
        assert read(path).frame.columns == ["row", "x", "y"] and read(path).frame["y"].to_list() == [0, 10, 20]
    path.write_text("x,y\n1.5,2,3\n4.5,5,6\n7.5,8,9\n")  # a comma in a cell, or a name that is lost
    with pytest.raises(DataError, match="line 2: 3 cells, but the first line has 2"):
        read(path)


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


def test_a_cell_that_is_no_molecule_is_missing():
    pytest.importorskip("rdkit")
    ends = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCl", "C1CCCCC1", "CC(C)O", "OCCO"]
    smiles = ["C" * i + end for i in range(1, 6) for end in ends]
    broken = [*smiles[:3], "unknown", *smiles[4:7], "C1CC(", *smiles[8:]]
    y = np.array([len(one) for one in smiles], dtype=float)
    assert objects.find_object_columns(pl.DataFrame({"smiles": broken})) == {"smiles": "string"}
    kernel = TanimotoOf(AtomEnvironments(2)).on("smiles")
    blank = [None if one in ("unknown", "C1CC(") else one for one in broken]
    messy, clean = (
        TableModel(KernelRidge(kernel, lam=0.1), target="y").fit(pl.DataFrame({"smiles": cells, "y": y}))
        for cells in (broken, blank)
    )
    assert any("rows 4, 8" in note for note in messy.notes_)
    new = pl.DataFrame({"smiles": ["CCCO", "CCCCN"]})
    np.testing.assert_allclose(messy.predict(new), clean.predict(new))
    with pytest.warns(DataWarning, match="'xx[(]' is no molecule"):
        found = messy.predict(pl.DataFrame({"smiles": ["CCCO", "xx("]}))
    np.testing.assert_allclose(found[:1], clean.predict(new[:1]))
    with pytest.raises(DataError, match="rows 31, 32"):
        objects.find_object_columns(pl.DataFrame({"smiles": [*smiles[:30], *(f"C1CC({i}" for i in range(9))]}))


def test_numbers_of_eight_digits_are_numbers_where_one_is_no_day(tmp_path):
    path = tmp_path / "table.csv"
    codes = [20240105, 20241399, 20240230, 20240303, 20240404]
    path.write_text(column(codes))
    assert read(path).frame["x"].to_list() == codes
