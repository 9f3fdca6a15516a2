"""Tables read in batches: the same columns as a table read at once, whatever the order of the rows."""

import numpy as np
import polars as pl
import pytest

from mercer.exceptions import DataError
from mercer.tabular import Recipe, read_table
from mercer.tabular import large as module
from mercer.tabular.large import Converter, make_numbers, survey
from mercer.tabular.pages import BatchOptions, Pages

FEW = BatchOptions(rows=256, sampled=300)  # few rows are many here


def table(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n).astype(float)
    frame = pl.DataFrame({
        "age": [None if i == n - 2 else value for i, value in enumerate(age)],  # missing in the last part only
        "site": ["Graz" if i == n - 1 else "Bern" if i % 2 else "Turin" for i in range(n)],  # so is Graz
        "always": [7.0] * n,
        "nearly": [1.0 if i == n - 3 else 0.0 for i in range(n)],
        "y": age / 10 + rng.normal(0, 0.1, n),
    })  # fmt: skip
    return frame.with_columns(pl.when(pl.int_range(n) == 3).then(None).otherwise(pl.col("y")).alias("y"))


def learnt(path, target="y", **options):
    pages = Pages(path, options=FEW, **options)
    found = survey(pages)
    recipe = Recipe().fit(found.frame.drop(target), written=found.styles)
    return Converter(pages, found, recipe, target, False), found


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_appears_in_the_last_part_only_is_known(tmp_path, ending):
    whole = table()
    for part in range(3):
        piece = whole[500 * part : 500 * (part + 1)]
        path = tmp_path / f"{part}.{ending}"
        piece.write_parquet(path) if ending == "parquet" else piece.write_csv(path)
    converter, found = learnt(tmp_path)
    assert found.rows == 1500
    assert converter.recipe.feature_names_ == [
        "age", "age (missing)", "site = Bern", "site = Graz", "site = Turin", "nearly"]  # fmt: skip
    assert list(converter.recipe.ignored_) == ["always"]
    data = make_numbers(converter)
    assert data.dropped == 1
    assert len(data.y) + len(data.y_held) == 1499
    assert data.X[:, 1].sum() + data.X_held[:, 1].sum() == 1  # the missing age
    assert data.X[:, 3].sum() + data.X_held[:, 3].sum() == 1  # Graz


def test_the_numbers_are_those_of_the_table_read_at_once(tmp_path):
    frame = table()
    frame.write_csv(tmp_path / "t.csv")
    converter, found = learnt(tmp_path / "t.csv")
    data = make_numbers(converter)
    whole = read_table(tmp_path / "t.csv").filter(pl.col("y").is_not_null())
    X = converter.recipe.transform(whole.drop("y"))
    back = np.empty_like(X)
    rows = np.delete(np.arange(1500), 3)
    here = np.isin(rows, data.held)
    back[here], back[~here] = data.X_held, data.X
    np.testing.assert_array_equal(back, X)
    again = make_numbers(converter)
    np.testing.assert_array_equal(again.held, data.held)


def test_a_file_beyond_memory_lies_on_disk(tmp_path):
    table().write_parquet(tmp_path / "t.parquet")
    converter, _ = learnt(tmp_path / "t.parquet")
    plain, disk = make_numbers(converter), make_numbers(converter, memory=1000, folder=tmp_path)
    assert isinstance(disk.X, np.memmap)
    np.testing.assert_allclose(disk.X, plain.X, rtol=1e-6, atol=1e-6)
    with pytest.raises(OSError, match="set TMPDIR"):
        module._open_memmap((10**12, 100), tmp_path)


def test_csv_of_another_dialect(tmp_path):
    rows = "\n".join(f"{i % 7},5;{'rot' if i % 3 else 'blau'};{i % 5}" for i in range(900))
    (tmp_path / "t.csv").write_text(f"x;farbe;y\n{rows}\n")
    converter, found = learnt(tmp_path / "t.csv")
    assert converter.recipe.feature_names_ == ["x", "farbe = rot"]
    assert found.notes[0] == "numbers have a decimal comma."
    assert converter.recipe.units["x"][0] == pytest.approx(3.5, abs=0.3)


def test_a_cell_that_is_no_number_is_named_wherever_it_is(tmp_path):
    cells = [str(i % 97) for i in range(1500)]
    cells[1402] = "lots"
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(f"{cell},1" for cell in cells) + "\n")
    pages = Pages(tmp_path / "t.csv", options=FEW)
    found = survey(pages)
    from mercer.tabular.cells import renumber_rows

    with (
        pytest.raises(DataError, match=r"column 'x' is numbers except for row 1403: 'lots'"),
        renumber_rows(found.place),
    ):
        Recipe().fit(found.frame.drop("y"))


def test_parts_that_do_not_fit_together(tmp_path):
    table()[:500].write_parquet(tmp_path / "a.parquet")
    table()[:500].rename({"age": "Age"}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"part 1 \(b.parquet\) has other columns than the first part: 'age', 'Age'"):
        Pages(tmp_path, options=FEW)
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"part 1 \(b.parquet\) cannot be read"):
        Pages(tmp_path, options=FEW)
    (tmp_path / "b.parquet").unlink()
    table()[:0].write_parquet(tmp_path / "b.parquet")  # an empty part is no fault
    assert survey(Pages(tmp_path, options=FEW)).rows == 500
    with pytest.raises(DataError, match="no rows"):
        survey(Pages(tmp_path / "b.parquet", options=FEW))
