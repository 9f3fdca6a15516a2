"""Long tables and tables on their side are told, with what to do; usual ones are not."""

import polars as pl
import pytest

from mercer import KernelRidge
from mercer.cli import main
from mercer.exceptions import DataError
from mercer.tabular import TableModel
from mercer.tabular.shapes import hint

LONG = pl.DataFrame([
    {"plot": f"p{i}", "parameter": name, "value": float(i * k)}
    for i in range(6) for k, name in enumerate(("pH", "N", "yield"))
])  # fmt: skip
SIDE = pl.DataFrame(
    {"measure": ["pH", "N", "yield", "soil"], **{f"plot {i}": [str(i), "2", "3", "clay"] for i in range(7)}}
)


def test_a_long_table_is_told():
    assert "column 'parameter' has the names of what is in 'value' ('pH', 'N', 'yield')" in hint(LONG, "value")
    with pytest.raises(DataError, match="the table is long.*pivot"):
        TableModel(KernelRidge(), target="yield").fit(LONG)
    wide = LONG.pivot("parameter", index="plot", values="value")
    assert hint(wide, "yield") is None


def test_a_table_on_its_side_is_told():
    assert "stands on its side" in hint(SIDE, "yield") and "stands on its side" in hint(SIDE)


@pytest.mark.parametrize("frame", [
    pl.DataFrame({"name": ["a", "b", "c", "d"], "value": [1, 2, 3, 4]}),  # each name once
    pl.DataFrame({"test": ["a", "b"] * 3, "x": [1.0, 2, 3, 4, 5, 6], "y": [2, 3, 4, 5, 6, 7]}),  # a category
    pl.DataFrame({"sensor": ["a", "b"] * 3, "t": [1.0, 2, 3, 4, 5, 6], "value": [2, 3, 4, 5, 6, 7]}),  # at other times
    pl.DataFrame({"plot": ["a", "b", "c"], **{f"x{i}": [1.0, 2.0, 3.0] for i in range(9)}}),  # more columns than rows
])  # fmt: skip
def test_a_usual_table_is_not(frame):
    assert hint(frame, frame.columns[-1]) is None


def test_the_command_line_says_it(tmp_path, capsys):
    LONG.write_csv(tmp_path / "t.csv")
    assert main(["fit", str(tmp_path / "t.csv"), "-t", "yield"]) != 0
    assert "the table is long" in capsys.readouterr().err
