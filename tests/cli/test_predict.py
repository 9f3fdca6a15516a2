"""`mercer predict`, `evaluate` and `inspect` on a model file."""

import io
import json

import numpy as np
import polars as pl
import pytest

from mercer import load
from mercer.tabular import read_table


@pytest.fixture
def model(fitted):
    return fitted / "model.mercer"


def test_rows_in_their_order_with_what_is_to_be_kept(run, fitted, model, tmp_path):
    table = read_table(fitted / "cars.csv")
    for name in ("out.csv", "out.csv.gz", "out.tsv", "out.parquet"):
        code, out, err = run(
            "predict", model, fitted / "cars.csv", "-o", tmp_path / name, "--keep", "name", "--interval", "0.8"
        )
        assert (code, out) == (0, "")
        assert "80% intervals conformal" in err
        found = read_table(tmp_path / name)
        assert found.columns == ["name", "prediction", "lower", "upper"]
        assert found["name"].to_list() == table["name"].to_list()
        np.testing.assert_allclose(found["prediction"].to_numpy(), load(model).predict(table), rtol=1e-12)
        assert (found["lower"] < found["prediction"]).all()
        assert run("predict", model, fitted / "cars.csv", "-o", tmp_path / name)[0] == 2


def test_from_standard_input_to_standard_output(run, fitted, model, monkeypatch):
    content = (fitted / "cars.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, out, _ = run("predict", model, "-")
    assert code == 0
    assert len(pl.read_csv(io.StringIO(out))) == 24


def test_missing_extra_and_new(run, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("speed,road,colour\n10,icy,red\n,dry,blue\n", encoding="utf-8")
    code, out, err = run("predict", model, path)
    assert code == 0
    assert len(out.splitlines()) == 3
    for part in ("1 column that the model does not know, not used: 'colour'", "1 row with categories", "'icy'",
                 "1 missing value filled"):  # fmt: skip
        assert part in err
    path.write_text("sped,road\n10,dry\n", encoding="utf-8")
    code, out, err = run("predict", model, path)
    assert (code, out) == (3, "")
    assert "no column 'speed', which the model needs; did you mean 'sped'" in err


def test_what_it_refuses(run, fitted, model, tmp_path):
    data = fitted / "cars.csv"
    for arguments, code, said in (
        (["--interval", "2"], 2, "between 0 and 1"),
        (["--std"], 2, "Gaussian processes"),
        (["--keep", "nam"], 2, "did you mean 'name'"),
        (["-o", tmp_path / "out.xlsx"], 2, "must end in .csv"),
    ):
        found = run("predict", model, data, *arguments)
        assert (found[0], found[1]) == (code, "")
        assert said in found[2]
    broken = tmp_path / "broken.mercer"
    broken.write_bytes(model.read_bytes()[:-40])
    assert run("predict", broken, data)[0] == 3
    assert run("predict", data, data)[0] == 3
    assert run("predict", tmp_path / "no.mercer", data)[0] == 2


def test_std_of_a_gaussian_process_and_probabilities_of_a_classifier(run, fitted, tmp_path):
    data, options = (
        fitted / "cars.csv",
        ("--kernel", "2.0*Gaussian(1.0).on('speed')", "--fix-kernel", "--no-score", "-q"),
    )
    assert run("fit", data, "-t", "dist", "--model", "gp", *options, "-o", tmp_path / "gp.mercer")[0] == 0
    _, out, _ = run("predict", tmp_path / "gp.mercer", data, "--std", "--interval", "0.9")
    found = pl.read_csv(io.StringIO(out))
    reach = (found["upper"] - found["lower"]) / 2 / found["std"]
    np.testing.assert_allclose(reach.to_numpy(), 1.6448536269514722, rtol=1e-9)
    assert run("fit", data, "-t", "class", "--ignore", "dist", *options, "-o", tmp_path / "c.mercer")[0] == 0
    _, out, _ = run("predict", tmp_path / "c.mercer", data)
    found = pl.read_csv(io.StringIO(out))
    assert found.columns == ["prediction", "p(far)", "p(near)"]
    np.testing.assert_allclose((found["p(far)"] + found["p(near)"]).to_numpy(), 1.0)
    assert run("predict", tmp_path / "c.mercer", data, "--interval", "0.9")[0] == 2
    code, out, _ = run("evaluate", tmp_path / "c.mercer", data)
    assert code == 0
    assert "accuracy" in out


def test_names_that_a_spreadsheet_would_run_are_made_harmless(run, fitted, model, tmp_path):
    table = read_table(fitted / "cars.csv").rename({"name": "=cmd()"})
    table.write_csv(tmp_path / "t.csv")
    _, out, _ = run("predict", model, tmp_path / "t.csv", "--keep", "=cmd()")
    assert out.startswith("'=cmd(),prediction")


def test_evaluate(run, fitted, model):
    code, out, _ = run("evaluate", model, fitted / "cars.csv", "--json")
    found = json.loads(out)
    table = read_table(fitted / "cars.csv")
    e = table["dist"].to_numpy() - load(model).predict(table)
    assert code == 0
    assert found["schema"] == "mercer.evaluate/1"
    np.testing.assert_allclose(found["rmse"], np.sqrt(np.mean(e**2)))
    np.testing.assert_allclose(found["r2"], 1 - np.mean(e**2) / table["dist"].to_numpy().var())
    assert "R²" in run("evaluate", model, fitted / "cars.csv")[1]


def test_evaluate_without_a_target_column(run, fitted, model, tmp_path):
    read_table(fitted / "cars.csv").drop("dist").write_csv(tmp_path / "t.csv")
    code, _, err = run("evaluate", model, tmp_path / "t.csv")
    assert code == 3
    assert "no column 'dist', the target" in err


def test_inspect(run, model):
    code, out, _ = run("inspect", model)
    assert code == 0
    for part in ("TableModel", "mercer fit", "training inputs", "kernel  Gaussian(1.0)", "linear model"):
        assert part in out
    found = json.loads(run("inspect", model, "--json")[1])
    assert found["schema"] == "mercer.inspect/1"
    assert found["fit"]["data"]["target"] == "dist"


def test_a_model_that_was_not_made_here(run, tmp_path):
    from mercer import KernelRidge

    path = tmp_path / "plain.mercer"
    KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]).save(path)
    assert "Not made by `mercer fit`" in run("inspect", path)[1]
    assert run("predict", path, path)[0] == 3
    assert run("report", path)[0] == 3
