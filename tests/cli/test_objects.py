"""Kernels on strings, categories, molecules and graphs from the command line, from the fit to the report."""

import io
import json

import numpy as np
import polars as pl
import pytest

from mercer import GaussianProcessRegressor, load
from mercer.tabular import TableModel, read_table
from mercer.tabular.objects import find_object_columns

KERNEL = 'Gaussian().on(["age", "dose"]) * Categorical().on("site") + Spectrum(3).on("sequence")'


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = ["age,dose,site,sequence,smiles,y"]
    for _ in range(30):
        sequence, age = "".join(rng.choice(list("ACGT"), rng.integers(6, 14))), rng.uniform(20, 80)
        smiles, site = rng.choice(["CCO", "CC", "CCN", "c1ccccc1", "O"]), rng.choice(["Bern", "Rome", "Turin"])
        y = sequence.count("AC") + 0.02 * age + (site == "Rome") + rng.normal(0, 0.1)
        rows.append(f"{age:.1f},{rng.random():.3f},{site},{sequence},{smiles},{y:.3f}")
    return rows


@pytest.fixture
def data(table, tmp_path):
    path = tmp_path / "seqs.csv"
    path.write_text("\n".join(table) + "\n", encoding="utf-8")
    return path


def changed(table, path, cells):
    """The table with other cells: {(row, column): text}, rows counted from 1."""
    rows = [row.split(",") for row in table]
    for (row, column), text in cells.items():
        rows[row][rows[0].index(column)] = text
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return path


def test_a_search_reads_texts_that_say_something(run, data, tmp_path):
    plan = ("fit", data, "-t", "y", "--dry-run")
    out = run(*plan)[1]
    assert "1 column as it is" in out and "a mixture" in out and "looks like" not in out
    out = run(*plan, "--quick")[1]
    assert "as it is" not in out and "looks like sequences of DNA" in out
    frame, kept = read_table(data).select("sequence", "age", "y"), tmp_path / "m.mercer"
    model = TableModel(GaussianProcessRegressor("auto"), target="y").fit(frame)
    assert "letters occur in sequence" in model.selection_.message and "age" in model.selection_.message
    model.save(kept)
    np.testing.assert_array_equal(load(kept).predict(frame), model.predict(frame))


def test_texts_that_a_search_leaves_alone(table):
    rows = [row.split(",") for row in table]
    frame = pl.DataFrame(dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True)))
    graphs = [f'{{"edges": [[0, {i + 1}]]}}' for i in range(30)]
    names = pl.DataFrame({"name": [f"sample {i}" for i in range(30)], "graph": graphs, "odd": [*graphs[1:], "{}"]})
    frame = frame.with_columns(names.get_columns())
    assert find_object_columns(frame) == {"sequence": "string", "graph": "graph"}  # five molecules are categories
    assert find_object_columns(frame, {"sequence"}) == {"graph": "graph"}
    molecules = pl.DataFrame({"m": ["C" * (i + 1) + "O" for i in range(30)], "n": ["C1" + "C" * i for i in range(30)]})
    assert find_object_columns(molecules) == {"m": "string"}  # a ring that is open is none


def test_from_the_fit_to_the_report(run, data, tmp_path):
    model, page = tmp_path / "m.mercer", tmp_path / "r.html"
    outputs = ("-o", model, "--report", page, "--test", data)
    code, out, err = run("fit", data, "--target", "y", "--kernel", KERNEL, "--folds", "2", *outputs)
    assert code == 0
    assert "on 30 rows and 10 columns of numbers and 2 columns as they are, judged by 2 folds" in err
    for part in ("sequence  text as it is, 6 to 13 letters", "site      categories as they are, 3 of them",
                 "linear model", "5 neighbours", "Spectrum(3).on('sequence')", "in 90% intervals",
                 "column 'sequence' is read by the kernel alone"):  # fmt: skip
        assert part in out
    assert "<html" in page.read_text(encoding="utf-8")
    code, out, _ = run("predict", model, data, "--interval", "0.9")
    assert code == 0
    found, frame = pl.read_csv(io.StringIO(out)), read_table(data, strings=["sequence"])
    np.testing.assert_allclose(found["prediction"].to_numpy(), load(model).predict(frame), atol=1e-3)
    assert (found["lower"] < found["upper"]).all()
    assert json.loads(run("evaluate", model, data, "--json")[1])["r2"] > 0.5
    assert "Spectrum(3).on('sequence')" in run("inspect", model)[1]
    assert run("report", model, "-o", tmp_path / "again.html")[0] == 0
    code, out, _ = run("compare", data, "-t", "y", "-k", KERNEL)
    assert code == 0
    assert "LOO()" in out


def test_molecules(run, data, table, tmp_path):
    kernel, options = "TanimotoOf(AtomEnvironments(2)).on('smiles')", ("-t", "y", "--no-score", "-q")
    model = tmp_path / "m.mercer"
    assert run("fit", data, "-k", kernel, *options, "-o", model)[0] == 0
    broken = changed(table, tmp_path / "broken.csv", {(3, "smiles"): "C1CC", (7, "smiles"): "C("})
    for command in (("fit", broken, "-k", kernel, *options), ("predict", model, broken)):
        code, out, err = run(*command)
        assert (code, out) == (3, "")
        assert "column 'smiles', rows 3, 7: AtomEnvironments: 'C1CC': unclosed ring" in err


def test_cells_that_are_words_for_nothing_elsewhere(run, table, tmp_path):
    odd = changed(table, tmp_path / "odd.csv", {(2, "sequence"): "", (3, "sequence"): "A😀C", (4, "sequence"): "NA"})
    model = tmp_path / "m.mercer"
    code, out, _ = run("fit", odd, "-t", "y", "-k", "Spectrum(2).on('sequence')", "--no-score", "-o", model)
    assert code == 0
    assert "column 'sequence': 1 missing value read as the empty string" in out
    code, out, _ = run("predict", model, odd)
    frame = read_table(odd, strings=["sequence"])
    assert frame["sequence"].to_list()[1:4] == [None, "A😀C", "NA"]
    np.testing.assert_allclose(
        pl.read_csv(io.StringIO(out))["prediction"].to_numpy(), load(model).predict(frame), atol=1e-3
    )


def test_graphs(run, tmp_path):
    path = tmp_path / "g.csv"
    cells = [json.dumps({"edges": [[0, 1], [1, 2 + i % 3]], "labels": [0, 1, 0, 1, 0]}) for i in range(12)]
    pl.DataFrame({"g": cells, "y": [i % 3 for i in range(12)]}).write_csv(path)
    model = tmp_path / "m.mercer"
    code, out, _ = run("fit", path, "-t", "y", "-k", "WeisfeilerLehman(2).on('g')", "--folds", "2", "-o", model)
    assert code == 0
    assert "g  graphs" in out
    assert "5 neighbours" not in out
    assert run("predict", model, path)[0] == 0
    path.write_text('g,y\n"[[0,1]]",1\nCCO,2\n"[[1,2]]",3\n', encoding="utf-8")
    code, _, err = run("fit", path, "-t", "y", "-k", "WeisfeilerLehman(2).on('g')")
    assert code == 3
    assert "column 'g', row 2" in err
    assert '{"edges":' in err


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("Spectrum(3)", "write Spectrum(3).on('sequence')"),
        ("Spectrum(3).on('sequense')", "did you mean 'sequence'"),
        ("Spectrum(3).on('y')", "which is the target"),
        ("Gaussian().on('sequence')", "A kernel on strings can read it"),
        ("BagMean(Gaussian()).on('sequence')", "a column holds numbers, categories"),
        ("Spectrum(1000000000).on('sequence')", "k must be at most 1,000"),
        ("Gaussian([1.0, 2.0]).on('age') + Spectrum(3).on('sequence')", "length_scale has 2 entries"),
    ],
)
def test_kernels_that_cannot_be_meant(run, data, kernel, said):
    for command in ("fit", "compare"):
        code, out, err = run(command, data, "-t", "y", "-k", kernel)
        assert (code, out) == (2, "")
        assert said in err


def test_five_rows(run, tmp_path):
    path = tmp_path / "five.csv"
    path.write_text("s,y\nACGT,1\nACCA,2\nGGG,3\nAAA,4\nACG,5\n", encoding="utf-8")
    code, out, _ = run("fit", path, "-t", "y", "-k", "Spectrum(2).on('s')", "-o", tmp_path / "m.mercer")
    assert code == 0
    assert "fewer than 10 rows" in out
    assert run("predict", tmp_path / "m.mercer", path, "--interval", "0.5")[0] == 0


# --------------------------------------------------------------------------------------------------- --time-budget
def test_a_small_time_budget_is_kept_and_what_is_left_out_is_said(run, data, tmp_path):
    options = ("-k", KERNEL, "--report", tmp_path / "r.html", "--json")
    code, out, _ = run("fit", data, "-t", "y", "--time-budget", "1ms", *options)
    found = json.loads(out)
    assert code == 0
    assert found["score"] is None
    said = " ".join(found["notes"])
    for part in ("the search was stopped", "before a fold could begin", "the report is without"):
        assert part in said
    assert found["model"]["selection"]["status"] == "time_budget"
    assert (tmp_path / "r.html").exists()


def test_some_folds(run, data, tmp_path, monkeypatch):
    shares = iter([3.0, 0.0])  # time for one fold
    monkeypatch.setattr("mercer.selection.judging.FoldTimes.share", lambda self, folds: next(shares))
    model, files = ("-k", "Gaussian().on('age')", "--fix-kernel"), ("--report", tmp_path / "r.html")
    code, out, _ = run("fit", data, "-t", "y", *model, "--time-budget", "1h", *files)
    assert code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "±\u00a00<" not in page and "± 0<" not in page and "± nan" not in page
    assert "the time budget was spent after 1 of 5 folds: the score is of this one." in out
    assert "1 of 5 folds" in out
    assert "± 0.000" not in out


def test_how_the_time_is_dealt_out(data):
    from types import SimpleNamespace

    from mercer._policies import OptionSet
    from mercer.cli._budget import Budget

    settings = SimpleNamespace(time_budget="100s", report=None, output="m.mercer", memory=None, max_rows=None,
                               options=OptionSet())  # fmt: skip
    budget = Budget(settings, SimpleNamespace(seconds=40.0))
    assert (budget.search, budget.folds, budget.left) == (50.0, 45.0, 60.0)
    most, plan, searched, notes = budget.rows("ridge", 3000, 5, 5)
    assert (most, plan.n, notes) == (None, 3000, [])
    assert searched <= 2000
    hurried = Budget(SimpleNamespace(**{**vars(settings), "time_budget": "1s"}), SimpleNamespace(seconds=0.1))
    most, plan, fewer, notes = hurried.rows("ridge", 100_000, 5, 5)
    assert most == plan.n < 100_000
    assert "all 100,000 rows would take longer than 1 s" in notes[0]
    assert 250 <= fewer <= searched
    none = Budget(SimpleNamespace(**{**vars(settings), "time_budget": None}), SimpleNamespace(seconds=0.1))
    assert none.search is none.folds is none.left is None
