"""Tables as people keep them, of more rows than are read at once: read as small ones are, or refused."""

import numpy as np
import polars as pl
import pytest

from mercer.cli import main
from mercer.exceptions import DataError
from mercer.tabular import Recipe, read
from mercer.tabular.large import survey
from mercer.tabular.pages import BatchOptions, Pages
from tabular.messy_tables import READ, REFUSED

ENDS = ("total", "empty rows", "footnote", "closing note")  # what stands at the end of a table


def padded(what, content, rows=6100):
    """The content with its first row of cells repeated above its end, so often that there are many rows."""
    lines = (content if isinstance(content, bytes) else content.encode()).splitlines(keepends=True)
    if any(word in what for word in ENDS):
        return b"".join([*lines[:3], *[lines[2]] * rows, *lines[3:]])
    return b"".join([*lines, *[lines[-1]] * rows])


@pytest.mark.parametrize("what", READ)
def test_a_table_of_many_rows_is_read_as_a_small_one(what, tmp_path):
    content, name, _, _ = READ[what]
    path = tmp_path / "table.csv"
    path.write_bytes(padded(what, content))
    whole, found = read(path), Pages(path)
    cells = pl.concat([found.infer_types(frame, (), dict(whole.written)) for _, frame in found])
    assert cells[name].to_list() == whole.frame[name].to_list() and len(cells) > 6000
    said = survey(found).notes
    assert [note for note in whole.notes if note not in said] == []
    assert found.digest() == whole.sha256


FEW = (
    "nothing but titles",
    "a word among few numbers",
    "ranges or codes",
    "two numbers in a cell",
    "numbers in brackets",
    "counts behind numbers",
    "days and months in two orders",
    "a time that is none",
)  # which many rows make another table of


@pytest.mark.parametrize("what", [what for what in REFUSED if what not in FEW])
def test_what_is_refused_of_a_small_table_is_refused_of_a_large_one(what, tmp_path):
    content, said = REFUSED[what]
    lines = content.splitlines(keepends=True)
    path = tmp_path / "table.csv"
    path.write_text("".join([*lines, *lines[1:2] * 6100]))
    with pytest.raises(DataError, match=said):
        found = survey(Pages(path))
        Recipe().fit(found.frame, written=found.styles)


ROW = "a,3,1\n"
TABLES = {  # what a file that is too large to be read at once is refused for: (content, words of the message)
    "a title": ("Harvest 2024\nplot,x,y\n" + 6100 * ROW, "1 line above the header.*--skip-lines N"),
    "totals": ("plot,x,y\n" + 6100 * ROW + "Total,9,9\n", "the last row is of totals.*Mend the file"),
    "a footnote": ("plot,x,y\n" + 6100 * ROW + "Source: own\n", "'Source: own'.*left out"),
    "units": ("x,y\nkg,cm\n" + 6100 * "1,2\n", "holds units"),
    "cp1252": ("plot,x,y\nBrünn,3,1\n" + 6100 * ROW, r"not UTF-8 \(line 2\).*--skip-lines N"),
    "cp1252 further down": ("plot,x,y\n" + 60000 * ROW + "Brünn,3,1\n" + 6100 * ROW, "line 60,002 is not UTF-8"),
    "the separator": ("sep=,\nplot,x,y\n" + 6100 * ROW, "first line is no row"),
}


AS_IT_IS = BatchOptions(whole_bytes=1000)


@pytest.mark.parametrize("what", TABLES)
def test_a_file_that_is_read_as_it_is_must_be_plain(what, tmp_path):
    content, said = TABLES[what]
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode("cp1252"))
    with pytest.raises(DataError, match=f"(?s){said}"):
        survey(Pages(path, options=AS_IT_IS))


def test_a_plain_file_that_is_read_as_it_is(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("plot;x;;y;y\n" + 6100 * "Brünn;3,5;;1;2\n", encoding="utf-8")
    found = [survey(Pages(path))]
    found.append(survey(Pages(path, options=AS_IT_IS)))
    assert [one.rows for one in found] == [6100, 6100]
    assert found[0].frame["x"].to_list() == found[1].frame["x"].to_list() and found[1].frame["x"][0] == 3.5
    assert "y (2)" in found[1].frame.columns


def test_a_fit_says_what_was_repaired_and_evaluate_that_it_saw_the_rows(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 6200).round(3)
    rows = "".join(f"{a},{b:.3f}\n" for a, b in zip(x, np.sin(x), strict=True))
    path, out = tmp_path / "t.csv", tmp_path / "m.mercer"
    path.write_text(f"Harvest\nplot,x,y\n{''.join(f'p{i % 7},{row}' for i, row in enumerate(rows.splitlines(True)))}"
                    "Total,9,9\n")  # fmt: skip
    quick = ("--kernel", 'Gaussian(1.0).on("x")', "--fix-kernel", "--no-score", "--model", "ridge")
    assert main(["fit", str(path), "-t", "y", *quick, "-o", str(out)]) == 0
    text = capsys.readouterr().out
    assert "above the header ('Harvest')" in text and "of totals ('Total')" in text and "6,200 rows" in text
    assert main(["evaluate", str(out), str(path)]) == 0
    assert "this is the table the model was fitted on" in capsys.readouterr().err
