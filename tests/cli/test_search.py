"""`mercer fit` without a kernel: a search over expressions, within its time."""

import json
import re
import warnings

import numpy as np
import polars as pl
import pytest

from mercer import KernelRidge
from mercer.tabular import TableModel


def test_the_kernel_is_searched_for_and_said_in_words(run, cars):
    options = ("-t", "dist", "--ignore", "class", "--json", "--no-score")
    found = json.loads(run("fit", cars, *options)[1])["model"]
    first, *others = found["candidates"]
    again = json.loads(run("fit", cars, "-k", "auto", *options)[1])["model"]
    assert found["name"] == "stack" and found["kernel"] == again["kernel"]
    mixed = {one["kernel"]: one["weight"] for one in found["candidates"] if one["weight"]}
    assert max(mixed, key=mixed.get) == found["kernel"] and sum(mixed.values()) == pytest.approx(1.0)
    assert first["behind"] == 0.0 and others and all(one["behind"] >= 0.0 for one in others)
    assert "speed" in first["words"] and first["words"] in found["selection"]["message"]
    quick = json.loads(run("fit", cars, "--quick", *options)[1])["model"]
    assert quick["candidates"] == [] and quick["kernel"].startswith("Matern32")


def test_where_the_kernel_is_not_searched_for(run, cars, tmp_path):
    def plan(path, *options):
        return run("fit", path, "-t", "y" if path != cars else "dist", "--dry-run", *options)[1]

    long = tmp_path / "long.csv"
    long.write_text("x,y\n" + "".join(f"{7 * i % 6007}.5,{i % 11}\n" for i in range(6001)), encoding="utf-8")
    assert "over kernel expressions, for at most 9 s" in plan(cars) and "over kernel" in plan(long, "-k", "auto")
    assert "over kernel expressions, for at most 10 s" in plan(cars, "--time-budget", "20s")
    others = ((cars, "--quick"), (cars, "--criterion", "loo"), (cars, "--fix-kernel"), (cars, "--time-budget", "5s"))
    for one in (*others, (cars, "--model", "svr"), (long,)):
        assert "some 50 evaluations each" in plan(*one)


@pytest.mark.parametrize("model", ["gp", "svr", "ridge"])
def test_a_search_for_other_models(run, cars, model):
    code, out, _ = run("fit", cars, "-t", "dist", "--model", model, "-k", "auto", "--no-score")
    assert code == 0
    assert "the kernel is the one that ridge regression chooses" in out if model == "svr" else "that is " in out


@pytest.mark.parametrize("model", ["gpc", "logistic"])
def test_a_search_for_labels(run, cars, model):
    code, out, _ = run("fit", cars, "-t", "class", "--model", model, "-k", "auto", "--no-score", "--ignore", "name")
    assert code == 0 and "that is " in out and "speed" in out


USAGE = [
    (("-t", "dist", "-k", "auto", "--criterion", "gcv"), "by evidence, not by gcv"),
    (("-t", "dist", "-k", "auto", "--quick"), "--quick"),
    (("-t", "dist", "-k", "auto", "--fix-kernel"), "--fix-kernel"),
    (("-t", "dist", "--model", "stack", "--quick"), "--model stack searches"),
    (("-t", "dist", "--model", "stack", "-k", "Gaussian(1.0)"), "--model stack searches"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE, ids=[" ".join(a) for a, _ in USAGE])
def test_what_a_search_is_not(run, cars, arguments, said):
    code, out, err = run("fit", cars, *arguments)
    assert (code, out) == (2, "") and said in err


def test_rules_are_compared_at_one_kernel(run, cars):
    assert run("compare", cars, "-t", "dist", "-k", "auto")[0] == 2


def test_words_have_the_names_of_the_columns_also_where_time_ends():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"rain": rng.standard_normal(150), "sun": rng.standard_normal(150)})
    frame = frame.with_columns(y=pl.col("rain").sin() + 0.1 * pl.Series(rng.standard_normal(150)))
    model = TableModel(KernelRidge("auto", criterion="evidence", time_budget=0.05))
    with pytest.warns(UserWarning, match="ended by its time budget; so far: .*rain and sun") as said:
        model.fit(frame)
    assert len(said) == 1 and model.selection_.status == "time_budget"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = TableModel(KernelRidge("auto", criterion="evidence")).fit(frame)
    assert "rain" in whole.selection_.message and "x0" not in whole.selection_.message
    assert whole.selection_.candidates[0] is whole.selection_ and len(whole.selection_.candidates) == 5


def test_a_series_is_forecast(run, tmp_path):
    t = np.arange(96)
    y = 0.3 * t + 4 * np.sin(2 * np.pi * t / 12) + 0.5 * np.random.default_rng(0).standard_normal(96)
    for name, rows in (("train.csv", slice(72)), ("test.csv", slice(72, None))):
        lines = [f"{a / 12},{b}\n" for a, b in zip(t[rows], y[rows], strict=True)]
        (tmp_path / name).write_text("year,y\n" + "".join(lines), encoding="utf-8")
    plan = run("fit", tmp_path / "train.csv", "-t", "y", "--dry-run")[1]
    assert "for at most 20 s, in the folds 30 s" in plan  # its parts are found one after the other
    test = ("--test", tmp_path / "test.csv", "--folds", "2", "--report", tmp_path / "r.html")
    ahead = ("--forecast", "24", "-o", tmp_path / "m.mercer")
    code, out, _ = run("fit", tmp_path / "train.csv", "-t", "y", *test, *ahead, "--json")
    found = json.loads(out)
    assert code == 0 and found["model"]["name"] == "gp" and "series along 'year'" in " ".join(found["notes"])
    assert found["test"]["r2"] > 0.9 and found["score"]["optimism"] is None
    season = re.search(r"a season of period ([\d.]+) in year", found["model"]["candidates"][0]["words"])
    assert abs(float(season[1]) - 1.0) < 0.02
    later = found["forecast"]
    np.testing.assert_allclose(later["year"], t[72:] / 12, atol=1e-5)
    assert np.corrcoef(later["prediction"], y[72:])[0, 1] > 0.95
    assert np.mean((later["lower"] <= y[72:]) & (y[72:] <= later["upper"])) > 0.7
    code, out, _ = run("predict", tmp_path / "m.mercer", "--forecast", "24", "--interval", "0.9")
    rows = np.array([line.split(",") for line in out.splitlines()[1:]], dtype=float)
    np.testing.assert_allclose(rows, np.transpose(list(later.values())))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "-t", "dist", "--ignore", "class", "--forecast", "3"), "these rows are none"),
        (("fit", "-t", "dist", "--forecast", "0"), "0 is not between 1"),
        (("predict", "--forecast", "3"), "give a table to predict, or --forecast N"),
    ],
)
def test_what_cannot_be_forecast(run, cars, arguments, said):
    model = (cars,) if arguments[0] == "predict" else ()
    code, _, err = run(arguments[0], *model, cars, *arguments[1:])
    assert code in (2, 3) and said in err


@pytest.mark.parametrize("options", [(), ("--quick",)])
def test_a_transform_of_the_target(run, tmp_path, options):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 60)
    table, model = tmp_path / "t.csv", tmp_path / "t.mercer"
    pl.DataFrame({"x": x, "y": np.exp(x + 0.3 * rng.standard_normal(60))}).write_csv(table)
    arguments = ("-t", "y", "--target-transform", "auto", "--no-score", "-o", model)
    code, out, _ = run("fit", table, *arguments, *options)
    assert code == 0 and "target  log, by left-out densities the best of 3" in out
    code, out, err = run("predict", model, table, "--interval", "0.9")
    ends = np.array([line.split(",")[1:] for line in out.splitlines()[1:]], dtype=float)
    assert code == 0 and "the transformed target" in err and (ends > 0).all()


def test_a_transformed_target_is_judged_in_folds(run, tmp_path):
    x = np.linspace(0, 3, 40)
    table = tmp_path / "t.csv"
    pl.DataFrame({"x": np.random.default_rng(0).permutation(x), "y": np.exp(x)}).write_csv(table)
    code, out, _ = run("fit", table, "-t", "y", "--target-transform", "log", "--quick", "--folds", "3", "--json")
    assert code == 0 and len(json.loads(out)["score"]["scores"]) == 3


def test_a_long_series_is_continued(run, tmp_path):
    t = np.arange(6500)
    y = 5 * np.sin(2 * np.pi * t / 24) + 0.3 * np.random.default_rng(0).standard_normal(6500)
    table = tmp_path / "t.csv"
    pl.DataFrame({"hour": t, "load": y}).write_csv(table)
    code, out, _ = run(
        "fit",
        table,
        "-t",
        "load",
        "--forecast",
        "48",
        "--no-score",
        "--time-budget",
        "10s",
        "--max-rows",
        "500",
        "--json",
    )
    found = json.loads(out)
    assert code == 0 and found["forecast"]["hour"][0] == 6500 and "the last of a series" in " ".join(found["notes"])
    later = 5 * np.sin(2 * np.pi * np.arange(6500, 6548) / 24)
    assert np.sqrt(np.mean((np.array(found["forecast"]["prediction"]) - later) ** 2)) < 0.5
    code, out, _ = run("fit", table, "-t", "load", "--dry-run", "--json")
    assert code == 0 and "series along 'hour'" in out and "landmarks" not in out


x = np.random.default_rng(0).standard_normal(40)
BAD = {
    "constant target": ({"a": x, "y": np.full(40, 3.0)}, 0, "the model is that constant"),
    "two rows": ({"a": [1.0, 2.0], "y": [1.0, 3.0]}, 3, "at least 3 are needed"),
    "constant columns": ({"a": np.ones(40), "b": np.full(40, 2.0), "y": x}, 3, "no column is left to learn from"),
    "identifier": ({"a": x, "y": [f"id{i}" for i in range(40)]}, 3, "too many to learn"),
    "numbers of rows": ({"a": x, "y": np.arange(40)}, 0, "it may number the rows"),
    "log of negative": ({"a": x, "y": x}, 3, 'use "yeo-johnson"'),
}


@pytest.mark.parametrize("name", BAD)
def test_tables_that_say_nothing(run, tmp_path, name):
    columns, code, said = BAD[name]
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    more = ("--target-transform", "log") if "log" in name else ()
    found = run("fit", tmp_path / "t.csv", "-t", "y", "--no-score", *more)
    assert found[0] == code and said in found[1] + found[2]


def test_a_period_longer_than_the_data_is_no_season(run, tmp_path):
    t = np.arange(40.0)
    pl.DataFrame({"t": t, "y": np.sin(2 * np.pi * t / 150) + 0.01 * x}).write_csv(tmp_path / "t.csv")
    code, out, _ = run("fit", tmp_path / "t.csv", "-t", "y", "--no-score", "--json")
    words = " ".join(one["words"] for one in json.loads(out)["model"]["candidates"])
    assert code == 0 and all(float(p) <= 20.0 for p in re.findall(r"season of period ([\d.]+)", words))


def test_transforms_that_cannot_be(run, cars):
    assert "no 'cube'" in run("fit", cars, "-t", "dist", "--target-transform", "cube")[2]
    assert "not for svr" in run("fit", cars, "-t", "dist", "--model", "svr", "--target-transform", "log")[2]


def test_intervals_of_a_mixture(run, cars, tmp_path):
    model = tmp_path / "m.mercer"
    assert run("fit", cars, "-t", "dist", "--no-score", "-o", model)[0] == 0
    code, out, err = run("predict", model, cars, "--interval", "0.9", "--std")
    assert code == 0 and "quantiles of the mixture" in err and "std" in out.splitlines()[0]
