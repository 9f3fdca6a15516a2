"""`mercer fit`: what it prints and keeps, and what it refuses, with which exit code."""

import json
import os

import numpy as np
import polars as pl
import pytest

from mercer import files
from mercer.cli import _fit_text
from mercer.cli._budget import JobOptions
from mercer.report import ReportLimits

QUICK = ("--folds", "2", "--kernel", "Gaussian(1.0)", "--fix-kernel")


def test_only_a_target(run, cars, tmp_path):
    code, out, err = run("fit", cars, "--target", "dist", "--folds", "2")
    assert code == 0
    for part in ("24 rows, target dist", "speed", "numeric, standardised", "categorical, 2 levels",
                 "by      Evidence()", "best of the search, and by how many nats the others are behind it",
                 "nested cross-validation, 2 folds", "this model", "mean", "linear model", "5 neighbours", "RMSE",
                 "column 'name' is left out: every row has another text", "Not saved"):  # fmt: skip
        assert part in out
    assert "a mixture of Gaussian processes on 24 rows" in err
    assert [path.name for path in tmp_path.iterdir()] == ["cars.csv"]


def test_json_has_the_schema_that_is_documented(run, cars):
    code, out, _ = run("fit", cars, "-t", "dist", "--json", *QUICK)
    found = json.loads(out)
    assert code == 0
    assert list(found) == ["schema", "mercer", "command", "seed", "data", "model", "score", "test", "notes", "verdict",
                           "checks", "seconds", "warnings", "forecast", "files"]  # fmt: skip
    assert found["schema"] == "mercer.fit/1"
    assert found["command"].endswith("-t dist --json --folds 2 --kernel 'Gaussian(1.0)' --fix-kernel")
    assert found["data"]["rows"] == found["data"]["used_rows"] == 24
    assert found["model"]["kernel"] == "Gaussian(1.0)"
    assert len(found["score"]["scores"]) == 2
    assert [one["name"] for one in found["score"]["baselines"]] == ["mean", "linear model", "5 neighbours"]
    assert found["score"]["score"] > found["score"]["baselines"][0]["score"]


def test_the_same_seed_gives_the_same_answer(run, cars):
    first, again, other = (run("fit", cars, "-t", "dist", "--seed", seed, *QUICK)[1] for seed in (3, 3, 4))
    assert first == again != other


def test_everything_it_can_write(run, cars, tmp_path):
    names = {"-o": "m.mercer", "--report": "r.html"}
    paths = [part for option, name in names.items() for part in (option, tmp_path / name)]
    code, out, _ = run("fit", cars, "-t", "dist", "--test", cars, *QUICK, *paths)
    assert code == 0
    assert "Written: model in" in out
    assert "in 90% intervals" in out
    assert "<html" in (tmp_path / "r.html").read_text(encoding="utf-8")
    note = files.read_header(tmp_path / "m.mercer")["note"]
    assert note["result"]["schema"] == "mercer.fit/1"
    assert note["command"].startswith("mercer fit")
    before = {name: (tmp_path / name).read_bytes() for name in names.values()}
    code, _, err = run("fit", cars, "-t", "dist", *QUICK, *paths)
    assert code == 2
    assert "there already; --force" in err
    assert before == {name: (tmp_path / name).read_bytes() for name in names.values()}
    code, out, _ = run("report", tmp_path / "m.mercer", "-o", tmp_path / "again.html")
    assert code == 0
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "r.html").read_bytes()


def test_labels_get_a_classifier_and_it_is_said(run, cars):
    code, out, _ = run("fit", cars, "-t", "class", "--ignore", "dist", *QUICK)
    assert code == 0
    assert "Gaussian process classification" in out
    assert "the target 'class' is text: a classifier is fitted" in out
    assert "commonest class" in out


@pytest.mark.parametrize("model", ["gp", "logistic"])
def test_other_models(run, cars, model):
    target = "class" if model == "logistic" else "dist"
    code, out, _ = run(
        "fit", cars, "-t", target, "--model", model, "--kernel", "2.0*Gaussian(1.0).on('speed')", "--no-score"
    )
    assert code == 0
    assert ".on([0])" in out


def test_targets_that_cannot_be(run, cars, tmp_path):
    code, _, err = run("fit", cars, "-t", "name")
    assert code == 3
    assert "24 different labels in 24 rows" in err
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{i},{i % 2 - 0.5}\n" for i in range(12)), encoding="utf-8")
    assert run("fit", path, "-t", "y", "--model", "poisson")[0] == 3


def test_two_numbers_are_two_classes_unless_they_are_said_to_be_numbers(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y,z\n" + "".join(f"{i},{2 * (i > 9) - 1},{i // 8}\n" for i in range(24)), encoding="utf-8")
    quick = ("--kernel", "Gaussian(0.5)", "--fix-kernel", "--no-score")
    code, out, _ = run("fit", path, "-t", "y", *quick, "-o", tmp_path / "m.mercer")
    assert code == 0 and "the target 'y' is -1 or 1 in all rows, two classes unless --numeric 'y'" in out
    assert "Gaussian process classification" in out
    assert run("predict", tmp_path / "m.mercer", path)[1].splitlines()[1].startswith("-1,")
    code, out, _ = run("fit", path, "-t", "y", *quick, "--numeric", "y")
    assert code == 0 and "kernel ridge regression" in out and "--categorical 'y' makes classes" in out
    assert "kernel ridge regression" in run("fit", path, "-t", "y", *quick, "--model", "ridge")[1]
    assert "of 3 whole ones; --categorical 'z'" in run("fit", path, "-t", "z", *quick)[1]


def test_labels_are_the_same_in_another_table(run, tmp_path):
    """True and 1.0 are read as what they are in the fit, and so are the labels of the test table."""
    path, other = tmp_path / "t.csv", tmp_path / "u.csv"
    path.write_text("a,c,y\n" + "".join(f"{i},{i % 3}.0,{i > 9}\n" for i in range(20)), encoding="utf-8")
    other.write_text("a,c,y\n0,1.0,False\n1,1.0,False\n19,0.0,True\n", encoding="utf-8")
    options = ("--kernel", "Gaussian(0.5).on('a')", "--fix-kernel", "--categorical", "c", "--no-score", "--test", other)
    code, out, err = run("fit", path, "-t", "y", *options, "-o", tmp_path / "m.mercer")
    assert code == 0
    assert "accuracy" in out
    assert "categories that the fit has not seen" not in err
    code, out, err = run("evaluate", tmp_path / "m.mercer", other, "--json")
    assert json.loads(out)["accuracy"] == 1.0
    assert "not seen" not in err


def test_a_plan_instead_of_a_fit(run, cars):
    code, out, _ = run("fit", cars, "-t", "dist", "--dry-run", "--memory", "2GB")
    assert code == 0
    for part in ("24, of which 24 have a target", "solver 'cholesky'", "memory", "time", "2.0 GB"):
        assert part in out
    found = json.loads(run("fit", cars, "-t", "dist", "--dry-run", "--json")[1])
    assert found["schema"] == "mercer.plan/1"
    assert found["plan"]["solver"] == "cholesky"


def test_many_rows_are_cut_to_the_time_and_it_is_said(run, tmp_path):
    path = tmp_path / "many.csv"
    pl.DataFrame({"x": range(29_000), "y": [i % 7 for i in range(29_000)]}).write_csv(path)
    code, out, _ = run("fit", path, "-t", "y", "--model", "svr", "--dry-run", "--time-budget", "2s")
    assert code == 0
    assert "all 29,000 rows would take longer than 2 s" in out
    assert "n = 29000" in run("fit", path, "-t", "y", "--dry-run", "--max-rows", "29000")[1]


def test_many_rows_are_judged_and_shown_by_some_of_them(run, tmp_path):
    few = [JobOptions(rows_judged=60), ReportLimits(rows_left_out=50)]
    path = tmp_path / "many.csv"
    pl.DataFrame({"x": range(80), "y": [(i % 9) ** 2 for i in range(80)]}).write_csv(path)
    code, out, _ = run("fit", path, "-t", "y", *QUICK, "--report", tmp_path / "r.html", options=few)
    assert code == 0
    assert "judged on 60 of 80 rows, drawn at random" in out
    assert "60 rows are looked at here, the model was fitted on 80" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_time_budget_and_rows(run, cars):
    code, out, _ = run("fit", cars, "-t", "dist", "--time-budget", "5s", "--max-rows", "20", *QUICK)
    assert code == 0
    assert "fitted on 20 of 24 rows, drawn at random" in out


def test_options_in_a_file_are_those_that_are_typed(run, cars, tmp_path):
    options = tmp_path / "fit.txt"
    options.write_text(
        "# of the cars\n--target dist --kernel 'Gaussian(1.0)'\n--fix-kernel --folds 2\n--ignore class\n"
    )
    code, out, _ = run("fit", cars, f"@{options}", "--json")
    assert code == 0
    assert json.loads(out)["data"]["ignored"]["class"] == "as asked"
    assert json.loads(run("fit", cars, f"@{options}", "--json", "-t", "speed")[1])["data"]["target"] == "speed"
    options.write_text("--tagret dist\n")
    code, _, err = run("fit", cars, f"@{options}")
    assert code == 2
    assert "--target" in err
    assert run("fit", cars, f"@{tmp_path / 'no.txt'}")[0] == 2


USAGE = [
    (["-t", "dits"], "did you mean 'dist'"),
    (["-t", "dist", "--ignore", "sped"], "did you mean 'speed'"),
    (["-t", "dist", "--model", "rigde"], "did you mean 'ridge'"),
    (["-t", "dist", "--model", "svr", "--criterion", "gcv"], "svr chooses by loo"),
    (["-t", "dist", "--criterion", "aic"], "there is no 'aic'"),
    (["-t", "class", "--model", "ridge"], "use --model gpc"),
    (["-t", "dist", "--kernel", "Gausian(1.0)"], "did you mean 'Gaussian'"),
    (["-t", "dist", "--kernel", "Gaussian(1.0) +"], "column 16"),
    (["-t", "dist", "--kernel", "__import__('os')"], "column 1"),
    (["-t", "dist", "--kernel", "Gaussian(1.0).on('sped')"], "did you mean 'speed'"),
    (["-t", "dist", "--kernel", "Gaussian([1.0, 2.0, 3.0, 4.0, 5.0])"], "--kernel"),
    (["-t", "dist", "--time-budget", "soon"], "--time-budget"),
    (["-t", "dist", "--memory", "-3"], "--memory"),
    (["-t", "dist", "--seed", "x"], "--seed"),
    (["-t", "dist", "--decimal", ";"], "--decimal"),
    (["-t", "dist", "--report", "page.pdf"], ".html"),
    (["-t", "dist", "-o", "no/such/folder/m.mercer"], "no folder"),
    (["-t", "dist", "--flod", "2"], "--flod"),
    (["-t", "dist", "-o", "-"], "- is no file"),
    (["-t", "dist", "-o", "same.html", "--report", "same.html"], "is the file of --output, too"),
    (["-t", "dist", "--max-rows", "2"], "--max-rows must be from 3"),
    (["-t", "dist", "--seed", "99999999999"], "--seed"),
    (["-t", "dist", "--separator", ";;"], "--separator"),
    (["-t", "dist", "--separator", '"'], "--separator"),
    (["-t", "dist", "--ignore", "dist"], "this is the target"),
    (["-t", "dist", "--numeric", "dist", "--categorical", "dist"], "one of them"),
    (["-t", "dist", "--categorical", "dist", "--model", "ridge"], "use --model gpc"),
    (["-t", "dist", "-o", "m" * 300], "cannot be written"),
    ([], "--target"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE, ids=[" ".join(a) for a, _ in USAGE])
def test_wrong_usage_is_one_line_and_exit_code_2(run, cars, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)  # where a file that should not be written does no harm
    code, out, err = run("fit", cars, *arguments)
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith(("note", "warning"))]
    assert len(lines) == 1
    assert said in lines[0]


DATA = {
    "": "is empty",
    "a,b\n": "no rows",
    "a,b\n1,2\n": "1 row with a target",
    "1,2\n3,4\n": "no header",
    "a,b\n1,2\n3,inf\n4,5\n6,7\n": "--missing inf",
    "a,b\nx,2\nx,3\nx,4\n": "no column is left",
}


@pytest.mark.parametrize("content", DATA, ids=DATA.values())
def test_unusable_data_is_one_line_and_exit_code_3(run, tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8")
    code, out, err = run("fit", path, "-t", "b")
    assert (code, out) == (3, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert DATA[content] in err


def test_five_rows_and_a_constant_target(run, tmp_path):
    path = tmp_path / "five.csv"
    path.write_text("a,y\n1,2\n2,3\n3,4.5\n4,5\n5,6\n", encoding="utf-8")
    code, out, _ = run("fit", path, "-t", "y")
    assert code == 0
    assert "fewer than 10 rows: not judged" in out
    path.write_text("a,y\n" + "".join(f"{i},7\n" for i in range(12)), encoding="utf-8")
    code, out, _ = run("fit", path, "-t", "y")
    assert code == 0
    assert "is 7 in all rows" in out


def test_an_error_inside_is_exit_code_1_and_debug_shows_where(run, cars, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("the roof is on fire")

    monkeypatch.setattr("mercer.tabular.TableModel.fit", broken)
    code, out, err = run("fit", cars, "-t", "dist")
    assert (code, out) == (1, "")
    assert "RuntimeError: the roof is on fire (--debug" in err
    with pytest.raises(RuntimeError, match="roof"):
        run("fit", cars, "-t", "dist", "--debug")


def test_an_interrupt_is_130_and_nothing_is_written(run, cars, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.tabular.nested_cv", interrupted)
    code, out, err = run("fit", cars, "-t", "dist", *QUICK, "-o", tmp_path / "m.mercer")
    assert (code, out) == (130, "")
    assert "nothing was written" in err
    assert [path.name for path in tmp_path.iterdir()] == ["cars.csv"]


def test_quiet_is_quiet(run, cars):
    code, out, err = run("fit", cars, "-t", "dist", "--quiet", *QUICK)
    assert code == 0
    assert out
    assert err == ""


def test_hyper_parameters_are_called_by_the_names_of_their_columns(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{i},{(i * 7) % 5},{2 * i}\n" for i in range(15)), encoding="utf-8")
    _, _, err = run("fit", path, "-t", "y", "--no-score", "-k", "Matern32([1.0, 1.0])")
    assert "the length scale of 'a'" in err or "the length scale of 'b'" in err
    assert "length_scale[" not in err


# ------------------------------------------------------------------------------------- a fit that is not judged
def numbers(path, columns, n=12):
    """A table of columns of functions of the row."""
    rows = [",".join(str(make(i)) for make in columns.values()) for i in range(n)]
    path.write_text("\n".join([",".join(columns), *rows]) + "\n", encoding="utf-8")
    return path


def test_rows_that_are_too_few_after_max_rows_are_not_judged(run, cars):
    code, out, err = run("fit", cars, "-t", "dist", "--max-rows", "5", *QUICK[2:])
    assert code == 0
    assert "fewer than 10 rows: not judged by cross-validation" in out
    assert "judged by" not in err


def test_a_fold_that_fails_does_not_cost_the_model(run, cars, tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise ValueError("a fold of nothing")

    monkeypatch.setattr("mercer.tabular.nested_cv", broken)
    code, out, _ = run("fit", cars, "-t", "dist", *QUICK, "-o", tmp_path / "m.mercer")
    assert code == 0
    assert "not judged by cross-validation, as a fit without some of the rows failed: a fold of nothing" in out
    assert (tmp_path / "m.mercer").exists()


def test_a_class_of_one_row_is_not_judged_and_a_number_of_one_row_is(run, tmp_path):
    path = numbers(tmp_path / "t.csv", {"x": lambda i: i, "w": lambda i: int(i == 3), "c": lambda i: "ab"[i == 5]})
    code, out, _ = run("fit", path, "-t", "c", *QUICK)
    assert code == 0
    assert "one class alone has two rows or more: not judged" in out
    kernel = ("-k", "Gaussian().on('x') + Linear().on('w')", "--fix-kernel", "--folds", "3", "--ignore", "c")
    code, out, _ = run("fit", numbers(path, {"w": lambda i: int(i == 3), "c": lambda i: "b", "x": lambda i: i,
                                             "y": lambda i: i * i}), "-t", "y", *kernel)  # fmt: skip
    assert code == 0
    assert "nested cross-validation, 3 folds" in out


# ------------------------------------------------------------------------------------------------- the target
def test_a_target_of_categories_gets_a_classifier(run, tmp_path):
    path = numbers(tmp_path / "t.csv", {"x": lambda i: i, "y": lambda i: int(i > 5)})
    code, out, _ = run("fit", path, "-t", "y", "--categorical", "y", *QUICK, "-o", tmp_path / "m.mercer")
    assert code == 0
    assert "the target 'y' is categories: a classifier is fitted" in out
    assert json.loads(run("evaluate", tmp_path / "m.mercer", path, "--json")[1])["accuracy"] == 1.0


def test_remedies_for_a_mixed_target_are_some_that_help(run, tmp_path):
    path = numbers(tmp_path / "t.csv", {"x": lambda i: i, "y": lambda i: "bad" if i == 4 else i / 2}, 30)
    code, _, err = run("fit", path, "-t", "y")
    assert code == 3
    assert "except for row 5: 'bad'" in err
    assert "or --categorical 'y' for labels." in err
    assert "--ignore" not in err


def test_rows_are_those_of_the_file_where_some_have_no_target(run, tmp_path):
    columns = {"x": lambda i: "1e999" if i == 7 else i, "y": lambda i: "" if i < 3 else i}
    code, _, err = run("fit", numbers(tmp_path / "t.csv", columns, 20), "-t", "y")
    assert code == 3
    assert "in row 8." in err


# -------------------------------------------------------------------------------------------------- the files
def test_neither_the_table_nor_another_output_is_replaced(run, cars, tmp_path):
    before = cars.read_bytes()
    for other in (cars, tmp_path / "." / "cars.csv"):
        code, _, err = run("fit", cars, "-t", "dist", *QUICK, "-o", other, "--force")
        assert code == 2
        assert "is the file of DATA, too" in err
    assert cars.read_bytes() == before


def test_a_device_or_a_pipe_is_not_replaced(run, cars, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run("fit", cars, "-t", "dist", *QUICK, "-o", tmp_path / "pipe", "--force")
    assert code == 2
    assert "pipe is no plain file" in err
    assert (tmp_path / "pipe").is_fifo()


def test_all_files_or_none(run, cars, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    old = tmp_path / "r.html"
    old.write_text("old")
    monkeypatch.setattr("mercer.files.save", interrupted)
    paths = ("-o", tmp_path / "m.mercer", "--report", old, "--force")
    code, _, err = run("fit", cars, "-t", "dist", *QUICK, *paths)
    assert code == 130
    assert "nothing was written" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cars.csv", "r.html"]
    assert old.read_text() == "old"


def test_an_interrupt_after_the_files_says_so(run, cars, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli._fit_text.page", interrupted)
    code, _, err = run("fit", cars, "-t", "dist", *QUICK, "-o", tmp_path / "m.mercer")
    assert code == 130
    assert "m.mercer had been written" in err


def test_a_folder_that_cannot_be_written_is_found_before_the_fit(run, cars, tmp_path, monkeypatch):
    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    code, _, err = run("fit", cars, "-t", "dist", "-o", tmp_path / "m.mercer")
    assert code == 2
    assert "cannot be written: Permission denied" in err
    assert "kernel ridge regression" not in err


def test_a_plan_in_json_has_the_notes_of_the_text(run, cars):
    found = json.loads(run("fit", cars, "-t", "dist", "--dry-run", "--json")[1])
    assert any("'name' is left out" in note for note in found["notes"])


def test_a_score_without_any_simple_model_is_printed():
    score = {"scoring": "accuracy", "how": "one fold", "score": 0.5, "standard_error": None, "scores": [0.5],
             "baselines": [], "optimism": None}  # fmt: skip
    assert _fit_text._score_text(score).split()[-3:] == ["this", "model", "0.500"]


def test_a_table_whose_rows_stand_twice_is_fitted_as_if_they_stood_once(tmp_path, run, rng):
    X = rng.uniform(0, 10, (60, 2))
    rows = [f"{a:.3f},{b:.3f},{3 * a + np.sin(b) + e:.3f}" for (a, b), e in zip(X, rng.normal(0, 0.5, 60), strict=True)]
    found = []
    for name, body in (("once", rows), ("twice", [row for row in rows for _ in range(2)])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,b,y", *body]) + "\n")
        run("fit", tmp_path / f"{name}.csv", "-t", "y", "--quick", "--folds", "2", "-o", tmp_path / f"{name}.mercer")
        found.append(files.load(tmp_path / f"{name}.mercer"))
    grid = pl.DataFrame({"a": np.linspace(0, 10, 20), "b": np.linspace(10, 0, 20)})
    once, twice = (model.predict(grid) for model in found)
    assert np.sqrt(np.mean((once - twice) ** 2)) < 0.3  # the copies, left out alone, made it an interpolation


def test_a_model_of_a_table_with_sentinels_is_saved_and_its_cautions_stay(tmp_path, run, rng):
    X = rng.uniform(0, 10, (60, 2)).round(2)
    X[:6, 1] = -999
    body = [f"{a},{b},{a + 1}" for a, b in X]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *body]) + "\n")
    page = tmp_path / "t.html"
    code, _, err = run("fit", tmp_path / "t.csv", "-t", "y", "--quick", "-o", tmp_path / "t.mercer", "--report", page)
    assert code == 0 and "-999" in err
    again = tmp_path / "again.html"
    assert run("report", tmp_path / "t.mercer", "-o", again)[0] == 0
    assert all("6 cells of -999" in one.read_text().partition("Explains")[0] for one in (page, again))
