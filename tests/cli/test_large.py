"""`mercer fit` and `mercer predict` of tables that are read in batches."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from mercer import load
from mercer.approximate import LandmarkOptions
from mercer.cli._budget import JobOptions, SearchLimits
from mercer.selection import judging
from mercer.tabular.pages import BatchOptions


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 3000
    x, site = rng.uniform(-2, 2, n), rng.choice(["dry", "wet"], n)
    y = np.sin(2 * x) + (site == "wet") + 0.3 * rng.standard_normal(n)
    label = np.where(y > 0.5, "high", "low")
    gone = [None if i % 97 == 0 else value for i, value in enumerate(x)]
    return pl.DataFrame({"x": gone, "site": site, "y": y, "label": label})


JOB = JobOptions(rows_in_batches=500, rows_predicted_in_batches=500)


@pytest.fixture
def run(run):
    """A command for which 500 rows are many."""
    limits = SearchLimits(rows_in_batches=200)
    return lambda *arguments, job=JOB: run(*arguments, options=[job, limits, BatchOptions(rows=512)])


@pytest.fixture
def folder(tmp_path, rows, monkeypatch, set_defaults):
    simple = judging.simple_models
    few = ("mean", "linear model", "commonest class")  # trees take longer than all the rest
    monkeypatch.setattr(judging, "simple_models", lambda *a: {k: v for k, v in simple(*a).items() if k in few})
    set_defaults(LandmarkOptions, subset=200, machine_subset=200)
    rows[:1500].write_parquet(tmp_path / "a.parquet")
    rows[1500:].write_parquet(tmp_path / "b.parquet")
    rows.write_csv(tmp_path / "all.csv")
    return tmp_path


KERNEL = ("-k", "Gaussian(1.0)", "--fix-kernel")


def test_a_folder_of_parquet_from_fit_to_predictions(folder, run, rows):
    out = ("-o", folder / "m.mercer", "--report", folder / "r.html")
    code, text, err = run("fit", folder / "*.parquet", "-t", "y", "--ignore", "label", *KERNEL, *out)
    assert code == 0, err
    assert "3,000 rows (2,700 used)" in text
    assert "150 rows held out: chosen and judged on different rows" in text
    assert "first reading: 3,000 rows" in err
    assert "landmarks. The exact fit is within" in err
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Would more landmarks help?" in page
    assert "The certificate" in page
    code, _, err = run("predict", folder / "m.mercer", folder / "*.parquet", "-o", folder / "p.parquet",
                       "--interval", "0.9", "--keep", "y")  # fmt: skip
    assert code == 0, err
    assert err.count("90% intervals") == 1
    found = pl.read_parquet(folder / "p.parquet")
    assert found.columns == ["y", "prediction", "lower", "upper"]
    assert found["y"].equals(rows["y"])
    assert ((found["lower"] <= found["y"]) & (found["y"] <= found["upper"])).mean() == pytest.approx(0.9, abs=0.04)
    model = load(folder / "m.mercer")
    np.testing.assert_allclose(model.predict(rows), found["prediction"].to_numpy(), rtol=1e-9)
    code, _, _ = run("predict", folder / "m.mercer", folder / "all.csv", "-o", folder / "p.csv")
    assert code == 0
    np.testing.assert_allclose(pl.read_csv(folder / "p.csv")["prediction"], found["prediction"], atol=1e-5)


def test_csv_gives_the_same_model_as_parquet(folder, run):
    arguments = ("-t", "y", "--ignore", "label", *KERNEL, "--json", "--quiet")
    found = [json.loads(run("fit", folder / name, *arguments)[1]) for name in ("all.csv", "*.parquet")]
    assert found[0]["model"]["lam"] == pytest.approx(found[1]["model"]["lam"], rel=1e-9)
    assert found[0]["score"]["rmse"] == pytest.approx(found[1]["score"]["rmse"], rel=1e-9)
    assert found[0]["score"]["rmse"] < found[0]["score"]["baselines"][1]["rmse"]


def test_labels_are_fitted_by_logistic_regression(folder, run, rows):
    out = folder / "m.mercer"
    code, text, err = run("fit", folder / "all.csv", "-t", "label", "--ignore", "y", *KERNEL, "-o", out)
    assert code == 0, err
    assert "kernel logistic regression" in text
    model = load(out)
    assert list(model.classes_) == ["high", "low"]
    assert (model.predict(rows) == rows["label"].to_numpy()).mean() > 0.8


def test_a_dry_run_says_what_it_would_do(folder, run):
    code, text, _ = run("fit", folder / "all.csv", "-t", "y", "--dry-run")
    assert code == 0
    assert "landmarks" in text
    assert "judged    about 150 rows, which are held out of the fit" in text


def test_the_page_has_the_errors_of_the_terminal(folder, run):
    job = replace(JOB, rows_held_shown=60)  # of 150 that judge
    page = folder / "r.html"
    code, text, err = run(
        "fit", folder / "all.csv", "-t", "y", "--ignore", "label", *KERNEL, "--json", "--report", page, job=job
    )
    assert code == 0, err
    found = json.loads(re.search(r'id="findings">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])
    this = found["scores"]["models"][0]
    assert this["rmse"] == pytest.approx(json.loads(text)["score"]["rmse"], rel=1e-6)
    assert len(found["fit"]["predicted"]) == 60


def test_two_numbers_are_two_classes_unless_it_is_said(folder, run, rows):
    rows.with_columns((pl.col("y") > 0.5).cast(pl.Int64).alias("high")).write_csv(folder / "two.csv")
    asked = ("fit", folder / "two.csv", "-t", "high", "--ignore", "label", "--ignore", "y", *KERNEL, "--json")
    notes = " ".join(json.loads(run(*asked)[1])["notes"])
    assert "unless --numeric 'high' says that they are numbers: kernel logistic regression is fitted" in notes


@pytest.mark.slow
def test_a_process_of_many_rows_goes_by_neighbours(folder, run, monkeypatch):
    job = replace(JOB, rows_at_once=500)
    monkeypatch.setattr("mercer.approximate.base.preferred", lambda *a, **k: "It would take too long.")
    asked = ("fit", folder / "all.csv", "-t", "y", "--ignore", "label", "--model", "gp", *KERNEL)
    assert "It would take too long. Of " in run(*asked, "--dry-run", job=job)[1]
    code, text, err = run(*asked, "--json", job=job)
    assert code == 0, err
    assert json.loads(text)["score"]["score"] > 0.7 and "rows left out" in err


@pytest.mark.parametrize("name", ["gp", "huber"])
def test_other_models(folder, run, name):
    code, text, err = run("fit", folder / "all.csv", "-t", "y", "--ignore", "label", "--model", name, *KERNEL, "--json")
    assert code == 0, err
    assert json.loads(text)["score"]["score"] > 0.7


def test_files_of_few_rows_are_refused_in_words(folder, run, rows):
    for name, part in (("c", rows[:40]), ("d", rows[40:80])):
        part.write_csv(folder / f"few_{name}.csv")
    code, _, err = run("fit", folder / "few_*.csv", "-t", "y", "--ignore", "label", *KERNEL)
    assert code and "80 rows in all" in err and "into one file" in err
