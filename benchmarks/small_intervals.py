"""Do intervals of small tables hold what they state? ``mercer fit`` and then 3 000 rows that it has not seen.

For each number of rows and each way (the default, ``--quick``) twenty tables of six kinds: a line, smooth functions of
three and five columns, columns that do not matter, heavy tails, a category. In the mean over the tables of a size 84 to
96 % of new rows are to lie in intervals of 90 %, and what the page states is to be within 5 points of that.

``python benchmarks/small_intervals.py`` takes about ten minutes, ``--seeds 5`` a quarter of it.
"""

import argparse
import contextlib
import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from tables import Table, finish

from mercer import load
from mercer.cli import main as mercer
from mercer.files import read_header

SIZES, NEW = (12, 20, 30, 50), 3000
LOW, HIGH, OFF = 0.84, 0.96, 0.05  # bars of the mean coverage, and of the difference to what is stated


# ------------------------------------------------------------------------------------------------ data
def line(rng, n):
    """A line in three columns, as much noise as half of it."""
    X = rng.standard_normal((n, 3))
    return X, X @ [1.0, 2.0, 0.5] + rng.standard_normal(n)


def smooth(rng, n):
    """A smooth function of three columns."""
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * X[:, 0] * X[:, 2] + 0.3 * rng.standard_normal(n)


def smooth_of_five(rng, n):
    """A smooth function of five columns."""
    X = rng.uniform(-1, 1, (n, 5))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4] + 0.3 * rng.standard_normal(n)


def irrelevant(rng, n):
    """Six columns, of which two matter."""
    X = rng.standard_normal((n, 6))
    return X, X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n)


def heavy_tails(rng, n):
    """Errors of Student's distribution with three degrees of freedom."""
    X = rng.standard_normal((n, 2))
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.standard_t(3, n)


def category(rng, n):
    """Two numbers and a column of three levels, the last one."""
    X = np.column_stack([rng.uniform(-1, 1, (n, 2)), rng.integers(0, 3, n)])
    level = np.array([0.0, 1.0, -1.0])[X[:, 2].astype(int)]
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + level + 0.4 * rng.standard_normal(n)


KINDS = (line, smooth, smooth_of_five, irrelevant, heavy_tails, category)


def tables_of(kind, n, seed):
    """(table to fit, table of new rows)."""
    X, y = kind(np.random.default_rng([seed, n, KINDS.index(kind)]), n + NEW)
    frame = pl.DataFrame({f"x{j + 1}": column for j, column in enumerate(X.T)} | {"y": y})
    if kind is category:
        last = frame.columns[-2]
        frame = frame.with_columns(pl.col(last).replace_strict({0.0: "p", 1.0: "q", 2.0: "r"}))
    return frame[:n], frame[n:]


# ------------------------------------------------------------------------------------------------ measuring
def stated_and_true(frame, new, folder, *options):
    """(coverage that the page states, that of new rows, median width in deviations of y) of intervals of 90 %."""
    table, model = Path(folder, "table.csv"), Path(folder, "model.mercer")
    frame.write_csv(table)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = mercer(["fit", str(table), "-t", "y", *options, "-o", str(model), "--force"])
    if code:
        raise RuntimeError(f"mercer fit ended with {code}")
    found = read_header(model)["note"]["findings"]["uncertainty"]
    stated = found["coverage"][found["levels"].index(0.9)] if 0.9 in found.get("levels", ()) else np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends, y = load(model).predict_interval(new), new["y"].to_numpy()
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    return stated, inside.mean(), np.median(ends[:, 1] - ends[:, 0]) / y.std()


def measured(sizes, seeds, options):
    """{(n, kind): rows of (stated, true, width)}: the kinds take turns."""
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            for seed in range(seeds):
                kind = KINDS[seed % len(KINDS)]
                one = stated_and_true(*tables_of(kind, n, seed), folder, *options)
                out.setdefault((n, kind.__name__), []).append(one)
    return out


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--json", help="write the tables there too")
    asked, tables = parser.parse_args(), []
    for title, options in (("default", []), ("--quick", ["--quick"])):
        found = measured(asked.sizes, asked.seeds, options)
        table = Table(f"Intervals of 90 % of small tables, {title}",
                      "n | tables | stated | true | least | median width | bar | met")  # fmt: skip
        for n in asked.sizes:
            rows = np.array([one for (size, _), some in found.items() if size == n for one in some])
            stated, true, _ = np.nanmean(rows, axis=0)
            met = LOW <= true <= HIGH and abs(stated - true) <= OFF
            bar = f"{LOW} to {HIGH}, ± {OFF}"
            table.add(n, len(rows), stated, true, rows[:, 1].min(), np.median(rows[:, 2]), bar, bool(met))
        each = Table(f"The same by kind, {title}", f"kind | {' | '.join(map(str, asked.sizes))}")
        for kind in KINDS:
            shares = [found.get((n, kind.__name__)) for n in asked.sizes]
            each.add(kind.__name__.replace("_", " "), *(np.mean([one[1] for one in some]) if some else None
                                                         for some in shares))  # fmt: skip
        tables += [table, each]
    finish(tables, asked.json)


if __name__ == "__main__":
    main()
