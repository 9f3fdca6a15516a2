"""`mercer fit --dask`: workers read and convert their own rows of a table, with the bits of a fit here."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster

from mercer import load
from mercer.approximate import LandmarkOptions
from mercer.cli import main
from mercer.options import BatchOptions, JobOptions, SearchLimits
from mercer.selection import judging
from mercer.sources import cluster as clusters

N = 3000
# 500 rows are many here, and a worker converts 700 at a time.
OPTIONS = [JobOptions(rows_in_batches=500), SearchLimits(rows_in_batches=200), BatchOptions(rows=700)]
KERNEL = ("-k", "Gaussian(1.0)", "--fix-kernel", "--no-progress")


@pytest.fixture
def folder(tmp_path, monkeypatch, set_defaults):
    """A table in two files and in one, with holes in a column and in the target."""
    monkeypatch.setattr(judging, "simple_models", lambda *a: {})
    set_defaults(LandmarkOptions, subset=200, machine_subset=200)
    rng = np.random.default_rng(0)
    x, site = rng.uniform(-2, 2, N), rng.choice(["dry", "wet"], N)
    y = np.sin(2 * x) + (site == "wet") + 0.3 * rng.standard_normal(N)
    gone = [None if i % 97 == 0 else value for i, value in enumerate(x)]
    without = [None if i % 500 == 499 else value for i, value in enumerate(y)]
    label = np.where(y + rng.standard_normal(N) > 0.5, "high", "low")
    rows = pl.DataFrame({"x": gone, "site": site, "y": without, "label": label})
    rows[:1100].write_parquet(tmp_path / "a.parquet")
    rows[1100:].write_parquet(tmp_path / "b.parquet")
    rows.write_csv(tmp_path / "all.csv")
    return tmp_path


@pytest.fixture
def fit(folder, capsys):
    """Function that fits, and returns (exit code, what was found, standard error)."""

    def call(name, *arguments):
        code = main(["fit", str(folder / name), *arguments, *KERNEL, "--json"], OPTIONS)
        said = capsys.readouterr()
        return code, json.loads(said.out) if code == 0 else None, said.err

    return call


def same(one, other):
    """Every digit of λ, and of what was measured on the landmarks and on rows held out."""
    for what in ("score", "data"):
        assert one[what] == other[what]
    for what in ("lam", "kernel"):
        assert one["model"][what] == other["model"][what]
    assert one["model"]["fit_report"]["approximation"]["loo"] == other["model"]["fit_report"]["approximation"]["loo"]


NUMBER, LABEL = ("-t", "y", "--ignore", "label"), ("-t", "label", "--ignore", "y")


def test_workers_convert_and_sum_and_the_bits_are_the_same(fit):
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as it:
        address = ("--dask", it.scheduler_address)
        (_, here, err), (_, there, said) = fit("*.parquet", *NUMBER), fit("*.parquet", *NUMBER, *address)
        same(here, there)
        assert there["model"]["fit_report"]["engine"].startswith("dask: 2 workers at inproc")
        assert any("read and summed by dask: 2 workers" in note for note in there["notes"])
        assert any("6 rows without a target" in note for note in there["notes"])
        assert said.count("warning") == err.count("warning")
        same(fit("all.csv", *LABEL)[1], fit("all.csv", *LABEL, *address)[1])


def test_what_cannot_be_is_said_in_words(fit, folder, monkeypatch, capsys):
    code, _, err = fit("*.parquet", *NUMBER, "--dask", "rows.parquet")
    assert code == 2 and "rows.parquet is no address such as tcp://host:8786; a table stands before --dask" in err
    code, _, err = fit("*.parquet", *NUMBER, "--dask", "--max-rows", "600")
    assert code == 2 and "--dask is for tables that are read in batches" in err
    hasty = partial(clusters.cluster, options=clusters.ClusterOptions(answer=0.5))
    monkeypatch.setattr(clusters, "cluster", hasty)
    code, _, err = fit("*.parquet", *NUMBER, "--dask", "tcp://127.0.0.1:1")
    assert code == 1 and "no scheduler of Dask answers at 'tcp://127.0.0.1:1'" in err
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as it:
        code, _, err = fit("*.parquet", *NUMBER, "--dask", it.scheduler_address)
        assert code == 1 and "has no worker: start some" in err
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = fit("*.parquet", *NUMBER, "--dask")
    assert code == 1 and "Dask is not installed: pip install 'mercer[dask]'" in err
    (folder / "dask.txt").write_text("--target\ny\n--dask\n")
    assert main(["fit", str(folder / "all.csv"), f"@{folder / 'dask.txt'}", "--dry-run"], OPTIONS) == 0
    assert "landmarks" in capsys.readouterr().out


def test_a_file_that_a_worker_does_not_see_is_named(fit, folder, monkeypatch):
    from mercer.tabular.pages import Pages

    def elsewhere(self):
        return self.__dict__ | {"paths": [path.replace("b.parquet", "c.parquet") for path in self.paths]}

    monkeypatch.setattr(Pages, "__getstate__", elsewhere)
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=False, **options) as it:
        code, _, err = fit("*.parquet", *NUMBER, "--dask", it.scheduler_address)
        assert code == 3 and "has no file" in err
        assert "c.parquet: every worker must see the table at the same path" in err
        (folder / "c.parquet").write_bytes((folder / "a.parquet").read_bytes())
        (folder / "a.parquet").rename(folder / "d.other")
        code, _, err = fit("b.parquet", *NUMBER, "--dask", it.scheduler_address)
        assert code == 3 and "has another file" in err


# ------------------------------------------------------------------------------------------------ real processes
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_processes_of_this_machine_from_the_shell(folder):
    """The files are named from the folder that the shell is in, and the model file has the same arrays."""
    code = (
        "import sys\n"
        "from mercer.cli import main\n"
        "from mercer.options import JobOptions\n"
        "if __name__ == '__main__':\n"
        "    sys.exit(main(sys.argv[1:], [JobOptions(rows_in_batches=500)]))\n"
    )
    (folder / "run.py").write_text(code)
    for name, more in (("here", ()), ("there", ("--dask",))):
        run = [sys.executable, "run.py", "fit", "all.csv", *NUMBER, *KERNEL, "-o", name, *more]
        found = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
    assert "read and summed by dask: " in found.stdout
    assert "Traceback" not in found.stderr
    here, there = (load(folder / name).estimator_ for name in ("here", "there"))
    for name in ("dual_coef_", "points_", "intercept_", "lam_"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_rows_of_a_worker_that_is_killed_are_read_again(folder):
    from mercer.tabular.large import Converter, make_numbers, survey
    from mercer.tabular.pages import Pages
    from mercer.tabular.recipe import Recipe

    pages = Pages(folder / "*.parquet")
    found = survey(pages)
    recipe = Recipe().fit(found.frame.drop("y", "label"), written=found.styles)
    converter = Converter(pages, found, recipe, "y", False)
    here = make_numbers(converter)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as it, Client(it) as client:
        there = make_numbers(converter, workers=clusters.Workers(client))
        source, index = there.source(), np.arange(0, len(here.y), 7)
        np.testing.assert_array_equal(there.X_held, here.X_held)
        for _ in range(2):
            np.testing.assert_array_equal(source.take(index).X, here.X[index])
            os.kill(next(iter(client.run(os.getpid).values())), 9)
        np.testing.assert_array_equal(source.take(index).y, here.source().take(index).y)
