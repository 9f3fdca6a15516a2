"""`mercer predict`, `evaluate` and `inspect` on a model file."""

import io
import json

import numpy as np
import polars as pl
import pytest

from mercer import load
from mercer.cli import main
from mercer.files import read_header
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
        assert "80% intervals: prediction ± a quantile of the errors" in err
        found = read_table(tmp_path / name)
        assert found.columns == ["name", "prediction", "lower", "upper"]
        assert found["name"].to_list() == table["name"].to_list()
        off = {"rtol": 1e-12} if name == "out.parquet" else {"atol": 1e-3}  # digits that mean something, in text
        np.testing.assert_allclose(found["prediction"].to_numpy(), load(model).predict(table), **off)
        assert max(len(str(value)) for value in found["prediction"].to_list()) < 9 or name == "out.parquet"
        assert (found["lower"] < found["prediction"]).all()
        assert run("predict", model, fitted / "cars.csv", "-o", tmp_path / name)[0] == 2


def test_intervals_and_their_coverage_are_those_of_the_errors_in_the_file(run, fitted, model, tmp_path):
    """What the page states is counted over the folds; a loaded model makes its intervals of the same errors."""
    kept, table = load(model), read_table(fitted / "cars.csv")
    errors, note = kept.left_out_, read_header(model)["note"]
    assert len(errors.residuals) == 24 and set(errors.fold) == {0, 1}
    told = note["findings"]["uncertainty"]
    assert told["coverage"] == pytest.approx([errors.coverage(level) for level in told["levels"]])
    rmse = note["result"]["score"]["rmse"]
    assert np.sqrt(np.mean(errors.residuals**2)) == pytest.approx(rmse)
    ends = kept.predict_interval(table, 0.8)
    half = np.sort(np.abs(errors.residuals))[int(np.ceil(0.8 * 25)) - 1]
    np.testing.assert_allclose(np.diff(ends)[:, 0] / 2, half)
    assert run("predict", model, fitted / "cars.csv", "-o", tmp_path / "out.parquet", "--interval", "0.8")[0] == 0
    written = read_table(tmp_path / "out.parquet")
    np.testing.assert_allclose(written["lower"].to_numpy(), ends[:, 0])


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


def test_words_for_missing_values_mean_what_they_meant_in_the_fit(run, cars, tmp_path):
    lines = cars.read_text(encoding="utf-8").splitlines()
    for i in (3, 9):
        name, _, rest = lines[i].split(",", 2)
        lines[i] = f"{name},-999,{rest}"
    cars.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = tmp_path / "m.mercer"
    options = ["--target", "dist", "--ignore", "class", "--no-score", "--kernel", "Gaussian(1.0)", "--fix-kernel"]
    assert run("fit", cars, *options, "--missing", "-999", "--missing", "gone", "-o", made)[0] == 0
    new = tmp_path / "new.csv"
    new.write_text("speed,road\n10,dry\n-999.0,dry\n", encoding="utf-8")
    code, out, err = run("predict", made, new)
    assert code == 0
    assert "missing as in the fit: '-999', 'gone'" in err
    assert "outside" not in err  # as a number it would be far from all others
    assert "no cell is" not in err  # a word of the fit need not be there again
    again = run("predict", made, new, "--missing", "-999", "--missing", "none of them")
    assert again[1] == out
    assert "no cell is 'none of them'" in again[2]
    assert run("evaluate", made, cars)[0] == 0


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
    np.testing.assert_allclose(reach.to_numpy(), 1.6448536269514722, rtol=1e-3)
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


@pytest.mark.parametrize("harm", ["a section", "a kind", "the schema"])
def test_damaged_findings_are_data(run, model, tmp_path, harm):
    from mercer import KernelRidge, files

    found = files.read_header(model)["note"]["findings"]
    if harm == "a section":
        found.pop("uncertainty")
    elif harm == "a kind":
        found["fit"] = ["none"]
    else:
        found["schema"] = 99
    path = tmp_path / "harmed.mercer"
    files.save(KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]), path, note={"findings": found})
    code, _, err = run("report", path)
    assert code == 3
    assert "harmed.mercer: " in err
    assert ("schema 99" if harm == "the schema" else "findings are damaged") in err
    assert not path.with_suffix(".html").exists()
    path.with_suffix(".html").write_text("mine")
    assert run("report", path)[0] == 2


# ---------------------------------------------------------------------------------------------- what is kept
@pytest.fixture(scope="module")
def european(tmp_path_factory):
    """A folder with a table of decimal commas, dates with slashes, truth values and odd identifiers, and its model."""
    folder = tmp_path_factory.mktemp("european")
    rows = [f"{('NA', 'None', '007')[i % 3]};{i % 5 + 1},126;{i % 28 + 1:02d}/04/2020;{str(i % 2 == 0).lower()};{i},5"
            for i in range(20)]  # fmt: skip
    (folder / "t.csv").write_text("\n".join(["id;x;when;b;y", *rows]) + "\n", encoding="utf-8")
    arguments = ["fit", str(folder / "t.csv"), "-t", "y", "--ignore", "id", "--kernel", "Gaussian(1.0)", "--no-score"]
    assert main([*arguments, "-q", "-o", str(folder / "m.mercer")]) == 0
    return folder


def test_kept_columns_are_those_of_the_file_and_change_nothing(run, european, tmp_path):
    given = (european / "m.mercer", european / "t.csv")
    keep = [part for name in ("id", "x", "when", "b", "x") for part in ("--keep", name)]
    assert run("predict", *given, "-o", tmp_path / "plain.csv")[0] == 0
    assert run("predict", *given, *keep, "-o", tmp_path / "kept.csv")[0] == 0
    plain, kept = (pl.read_csv(tmp_path / name, infer_schema=False) for name in ("plain.csv", "kept.csv"))
    raw = pl.read_csv(european / "t.csv", separator=";", infer_schema=False)
    assert kept.columns == ["id", "x", "when", "b", "prediction"]
    assert kept.select("id", "x", "when", "b").equals(raw.select("id", "x", "when", "b"))
    assert kept["prediction"].equals(plain["prediction"])


def test_days_and_months_are_those_of_the_fit(run, european, tmp_path):
    path, text = tmp_path / "new.csv", "x;when;b\n1,126;{};true\n1,5;{};true\n"
    path.write_text(text.format("05/04/2020", "06/04/2020"), encoding="utf-8")
    code, slashes, err = run("predict", european / "m.mercer", path)
    assert code == 0
    assert "month/day" not in err
    path.write_text(text.format("2020-04-05", "2020-04-06"), encoding="utf-8")
    assert run("predict", european / "m.mercer", path)[1] == slashes


def test_infinite_intervals_are_said(run, fitted, model):
    code, out, err = run("predict", model, fitted / "cars.csv", "--interval", "0.999")
    assert code == 0
    assert "-inf,inf" in out
    assert "99.9% intervals" in err
    assert "24 rows cannot show a coverage of 0.999" in err


def test_rows_of_an_evaluation_are_those_of_the_file(run, fitted, model, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("speed,road,dist\n10,dry,\n11,dry,30\nfast,dry,31\n", encoding="utf-8")
    code, _, err = run("evaluate", model, path)
    assert code == 3
    assert "row 3 has 'fast'" in err


def test_tabs_are_for_names_that_end_so(run, fitted, model, tmp_path):
    assert run("predict", model, fitted / "cars.csv", "--keep", "name", "-o", tmp_path / "my.tsv_copy.csv")[0] == 0
    assert (tmp_path / "my.tsv_copy.csv").read_text().startswith("name,prediction")


def test_predictions_do_not_replace_the_table(run, fitted, model, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes((fitted / "cars.csv").read_bytes())
    assert run("predict", model, path, "-o", path, "--force")[0] == 2
    assert path.read_bytes() == (fitted / "cars.csv").read_bytes()


def test_a_column_of_nothing_in_parquet(run, model, tmp_path):
    frame = pl.DataFrame({"speed": [None, None], "road": ["dry", "wet"]})
    assert frame["speed"].dtype == pl.Null
    frame.write_parquet(tmp_path / "t.parquet")
    code, out, err = run("predict", model, tmp_path / "t.parquet")
    assert code == 0
    assert "2 missing values filled" in err
