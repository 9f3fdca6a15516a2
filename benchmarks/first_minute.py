"""What a person waits for: ``mercer fit`` with its page, and ``mercer predict``, from start to end of the process.

    python benchmarks/first_minute.py DATA [row ...]

DATA is the folder with ``classics/`` and ``medium/``; rows: banana, california, diamonds, wide, quick, search.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from scale import told


def mercer(*arguments):
    """Seconds of a command, and its first lines."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "mercer", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return time.perf_counter() - started, done.stdout


def fitted(row, place, table, target, *more):
    """Fit with a model and a page, and tell."""
    model, page = os.path.join(place, "m.mercer"), os.path.join(place, "m.html")
    seconds, said = mercer("fit", table, "-t", target, "-o", model, "--report", page, *more)
    found = [line.strip() for line in said.splitlines() if "R²" in line or "accuracy" in line or "this model" in line]
    told(row, seconds=seconds, page_kb=os.path.getsize(page) / 1e3, said="; ".join(found[:2]))
    return model


def plain(folder, place, name):
    """The table as a CSV file."""
    table = os.path.join(place, os.path.basename(name).removesuffix(".gz"))
    opened = gzip.open if name.endswith(".gz") else open
    with opened(os.path.join(folder, name), "rb") as packed, open(table, "wb") as file:
        shutil.copyfileobj(packed, file)
    return table


def banana(folder, place):
    """5 300 rows, two classes."""
    fitted("banana", place, plain(folder, place, "classics/banana.csv"), "label")


def california(folder, place):
    """20 640 rows."""
    fitted("california", place, plain(folder, place, "medium/california_housing.csv.gz"), "median_house_value")


def diamonds(folder, place):
    """53 940 rows, which are then predicted."""
    table = plain(folder, place, "medium/diamonds.csv.gz")
    model = fitted("diamonds", place, table, "price")
    told("diamonds", predict=mercer("predict", model, table, "-o", os.path.join(place, "out.csv"))[0])


def made(place, n, d):
    """A table of n rows and d columns."""
    rng, table = np.random.default_rng(0), os.path.join(place, "made.csv")
    X = rng.standard_normal((n, d))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(n)
    names = ",".join([*(f"x{j}" for j in range(d)), "y"])
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header=names, comments="", fmt="%.6g")
    return table


def wide(folder, place):
    """80 rows of 200 columns."""
    fitted("wide", place, made(place, 80, 200), "y")


def search(folder, place):
    """500 rows of 10 columns, with the search over kernels."""
    fitted("search", place, made(place, 500, 10), "y")


def quick(folder, place):
    """The same without it."""
    fitted("quick", place, made(place, 500, 10), "y", "--quick")


ROWS = {f.__name__: f for f in (banana, california, diamonds, wide, search, quick)}

if __name__ == "__main__":
    for name in sys.argv[2:] or ROWS:
        with tempfile.TemporaryDirectory() as place:
            ROWS[name](sys.argv[1], place)
