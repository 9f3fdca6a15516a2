"""Which kernel an estimator should have when none is given: errors of each on tables, over the least of the table.

``python benchmarks/default_kernels.py DATA`` reads DATA/uci and DATA/medium (numbers) and DATA/classics (labels). A
kernel with one length reads columns in standard deviations; "each" has a length for every column.
"""

import argparse
import csv
import gzip
import json
import time
import warnings
from pathlib import Path

import numpy as np
from defaults import SMALL, keep, standardised, uci
from tables import Table, finish

from mercer import SVR, KernelMachine, KernelRidge
from mercer.kernels import Gaussian, Laplacian, Matern32, Matern52

CLASSES = ("crabs", "pima_full", "ionosphere", "sonar", "wisconsin_original", "banana", "ripley_synth_train")
SHAPES = {"Gaussian": Gaussian, "Matern52": Matern52, "Matern32": Matern32}


# ------------------------------------------------------------------------------------------------ data
def cells(path):
    """(names, rows) of a CSV file, packed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        names, *rows = csv.reader(file)
    return names, rows


def medium(folder, name, split, most):
    """(X, y, X of the test, y of the test) of one of the larger tables; text becomes the number of its level."""
    names, rows = cells(folder / "medium" / f"{name}.csv.gz")
    target = {"california_housing": "median_house_value", "diamonds": "price"}[name]
    rows = [row for row in rows if "" not in row]
    columns = []
    for column in map(list, zip(*rows, strict=True)):
        levels = sorted(set(column)) if any(not number(cell) for cell in column[:100]) else None
        columns.append([levels.index(cell) for cell in column] if levels else [float(cell) for cell in column])
    data = np.array(columns, dtype=float).T
    order = np.random.default_rng(split).permutation(len(data))
    test, train, j = order[:1000], order[1000 : 1000 + most], names.index(target)
    X, y = np.delete(data, j, axis=1), data[:, j]
    return X[train], y[train], X[test], y[test]


def labels(folder, name, split, most):
    """The same of a table whose target is a label."""
    names, rows = cells(folder / "classics" / f"{name}.csv")
    rows = [row for row in rows if "" not in row]
    y = np.array([row[0] + row[1] if name == "crabs" else row[-1] for row in rows])
    X = [row[3:] if name == "crabs" else row[names[0] == "Id" : -1] for row in rows]
    X = np.array(X, dtype=float)
    order = np.random.default_rng(split).permutation(len(y))
    share = max(len(y) // 5, len(y) - most)
    test, train = order[:share][:1000], order[share:]
    sd = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    return X[train], y[train], X[test], y[test]


def number(cell):
    try:
        return np.isfinite(float(cell))
    except ValueError:
        return False


# ------------------------------------------------------------------------------------------------ ways
def lengths(shape, d, each, factor=1.0):
    ell = factor * np.sqrt(d)
    return shape(np.full(d, ell) if each and d > 1 else float(ell))


def by(criterion, shape, each):
    return lambda d: KernelRidge(lengths(shape, d, each), criterion=criterion)


def regressors():
    """{name: d ↦ model}."""
    found = {
        "ridge(), as it is": lambda d: KernelRidge(),
        "ridge(loo), as it is": lambda d: KernelRidge(criterion="loo"),
    }
    for name, shape in SHAPES.items():
        found[f"ridge, {name}, λ = 1"] = lambda d, shape=shape: KernelRidge(lengths(shape, d, False))
        found[f"ridge, {name}, λ by LOO"] = lambda d, shape=shape: KernelRidge(
            lengths(shape, d, False), criterion="loo", optimize="lam"
        )
        for criterion in ("loo", "evidence"):
            found[f"ridge, {name}, {criterion}"] = by(criterion, shape, False)
            found[f"ridge, {name} each, {criterion}"] = by(criterion, shape, True)
        for factor in (0.5, 1.0, 2.0):
            found[f"SVR, {name} × {factor}"] = lambda d, shape=shape, f=factor: SVR(lengths(shape, d, False, f))
            found[f"Huber, {name} × {factor}"] = lambda d, shape=shape, f=factor: KernelMachine(
                lengths(shape, d, False, f), loss="huber", criterion="loo"
            )
    found["ridge, Laplacian, loo"] = lambda d: KernelRidge(Laplacian(float(d)), criterion="loo")
    return found


def classifiers():
    """{name: d ↦ model}."""
    found = {}
    for name, shape in SHAPES.items():
        for factor in (0.5, 1.0, 2.0):
            for loss in ("logistic", "hinge"):
                found[f"{loss}, {name} × {factor}, λ = 1"] = lambda d, shape=shape, f=factor, loss=loss: KernelMachine(
                    lengths(shape, d, False, f), loss=loss
                )
                found[f"{loss}, {name} × {factor}, λ by LOO"] = lambda d, shape=shape, f=factor, loss=loss: (
                    KernelMachine(lengths(shape, d, False, f), loss=loss, criterion="loo")
                )
    return found


# ------------------------------------------------------------------------------------------------ scores
def measure(model, X, y, Xt, yt):
    """{"error": RMSE, or log loss, or the share of wrong labels; "loo"; "seconds"}."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        if y.dtype.kind == "f":
            error = float(np.sqrt(np.mean((yt - model.predict(Xt)) ** 2)))
        elif hasattr(model, "predict_proba"):
            p = model.predict_proba(Xt)[np.arange(len(yt)), np.searchsorted(model.classes_, yt)]
            error = -float(np.mean(np.log(np.maximum(p, 1e-12))))
        else:
            error = float(np.mean(model.predict(Xt) != yt))
    found = {"error": error, "seconds": time.perf_counter() - start}
    if model.selection_ is not None:
        found["value"], found["theta"] = model.selection_.value, int(model.kernel_.n_theta)
    return found


def run(ways, sets, splits, most, folder, cache):
    kept = json.loads(cache.read_text()) if cache.exists() else {}
    for name, read in sets.items():
        for split in range(splits):
            data = read(folder, name, split, most)
            data = data if read is labels else standardised(*data)
            for label, way in ways.items():
                key = f"{name}|{split}|{most}|{label}"
                if key not in kept:
                    kept[key] = measure(way(data[0].shape[1]), *data)
                    keep(cache, kept)
    return kept


def table(kept, ways, sets, splits, most, title):
    """The error of each way over the least of its group on each table (wrong labels: their difference)."""
    groups = {}
    for label in ways:
        groups.setdefault(label.split(",")[0].replace("()", "").replace("(loo)", ""), []).append(label)
    shown = Table(title, "way | mean | worst | " + " | ".join(sets) + " | s")
    for group, labels in groups.items():
        every = np.array(
            [[[kept[f"{n}|{s}|{most}|{w}"]["error"] for s in range(splits)] for n in sets] for w in labels]
        )
        error = every.mean(axis=2)
        wrong = group == "hinge"
        ratio = 1.0 + error - error.min(axis=0) if wrong else error / error.min(axis=0)
        for i in np.argsort(np.log(ratio).mean(axis=1)):
            seconds = np.mean([kept[f"{n}|{s}|{most}|{labels[i]}"]["seconds"] for s in range(splits) for n in sets])
            mean = float(np.exp(np.log(ratio[i]).mean()))
            shown.add(labels[i], mean, float(ratio[i].max()), *map(float, ratio[i].round(3)), float(seconds))
    return shown


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--what", choices=("numbers", "labels"), nargs="*", default=("numbers", "labels"))
    parser.add_argument("--ways", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=500, help="most training rows")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--json")
    settings = parser.parse_args()
    numbers = dict.fromkeys(SMALL, uci) | dict.fromkeys(("california_housing", "diamonds"), medium)
    kinds = {"numbers": (regressors, numbers), "labels": (classifiers, dict.fromkeys(CLASSES, labels))}
    found = []
    for what in settings.what:
        ways, sets = kinds[what][0](), kinds[what][1]
        ways = {name: way for name, way in ways.items() if name.startswith(tuple(settings.ways))}
        options = (sets, settings.splits, settings.rows)
        kept = run(ways, *options, settings.data, settings.cache)
        found.append(table(kept, ways, *options, f"{what}, at most {settings.rows} rows"))
    finish(found, settings.json)


if __name__ == "__main__":
    main()
