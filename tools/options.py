"""Which options nobody notices: halves and doubles each field, and prints which change neither errors nor times.

``python tools/options.py`` fits small real tables with every option changed; ``--only SearchOptions`` (repeatable)
takes some classes, ``--list`` prints all fields, ``--jobs TEXT`` fits some models. A field is noticed where the
error on rows left out changes by more than 0.1 %, or the processor time of a model by more than repeated runs of the
defaults differ. "not read" is a field that none of these models asks for: the benchmark then says nothing of it.
"""

import argparse
import gzip
import time
import warnings
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TABLES = [folder / "shared" / "data" / "pmlb" for folder in ROOT.parents[:2]]  # of more tables, where they are there
REPEATS = 3  # runs of the defaults, whose times say what noise is
ERROR, LEAST_TIME = 1e-3, 0.1  # relative change of an error that counts; seconds below which a time says nothing


# ------------------------------------------------------------------------------------------------ tables
def tables():
    """{name: (X, y)} of what is there, at most 2 000 rows each."""
    from sklearn import datasets as bundled

    from mercer import datasets

    found = {
        "mcycle": datasets.load_mcycle(return_X_y=True),
        "ethanol": datasets.load_ethanol(return_X_y=True),
        "synth": datasets.load_synth(return_X_y=True),
        "diabetes": bundled.load_diabetes(return_X_y=True),
        "iris": bundled.load_iris(return_X_y=True),
    }
    for folder in TABLES:
        for path in sorted(folder.glob("*.tsv.gz")) if folder.is_dir() else ():
            name = path.name.split(".")[0]
            if name in ("522_pm10", "529_pollen", "1089_USCrime", "628_fri_c3_1000_5", "c_australian"):
                with gzip.open(path, "rt") as file:
                    values = np.genfromtxt(file, delimiter="\t", skip_header=1)
                found[name] = values[:, :-1], values[:, -1]
    found = {name: _prepare(*pair) for name, pair in found.items()}
    return found | {"airpassengers": _prepare(*datasets.load_airpassengers(return_X_y=True), shuffle=False)}


def _prepare(X, y, shuffle=True, most=2000):
    """Some of the rows, in a random order unless they are a series, with standardised columns."""
    order = np.random.default_rng(0).permutation(len(y))[:most] if shuffle else np.arange(len(y))
    X = np.asarray(X, dtype=float)[order]
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0), np.asarray(y)[order]


# ------------------------------------------------------------------------------------------------ models
def jobs():
    """[(name, table, options ↦ model)]."""
    import mercer
    from mercer.kernels import Gaussian, Matern32
    from mercer.selection import GCV, LOO

    ridge, process, classes = mercer.KernelRidge, mercer.GaussianProcessRegressor, mercer.GaussianProcessClassifier
    return [
        ("KernelRidge()", "mcycle", lambda o: ridge(options=o)),
        ("KernelRidge()", "628_fri_c3_1000_5", lambda o: ridge(options=o)),
        ("KernelRidge(GCV, ARD)", "522_pm10", lambda o: ridge(Gaussian(np.ones(7)), criterion=GCV(), options=o)),
        ("KernelRidge(LOO, lam)", "529_pollen", lambda o: _lam_alone(ridge, Gaussian(2.0), LOO(), o)),
        ("KernelRidge(auto)", "ethanol", lambda o: ridge("auto", time_budget=100.0, options=o)),
        ("KernelRidge(auto)", "airpassengers", lambda o: ridge("auto", time_budget=100.0, options=o)),
        ("KernelRidge(auto)", "529_pollen", lambda o: ridge("auto", time_budget=300.0, options=o)),
        ("process", "ethanol", lambda o: process(options=o)),
        ("process", "522_pm10", lambda o: process(options=o)),
        ("process(neighbours)", "529_pollen", lambda o: process(approximation=mercer.Neighbours(16), options=o)),
        ("process(landmarks)", "529_pollen", lambda o: process(approximation=mercer.Landmarks(100), options=o)),
        ("ridge(landmarks)", "diabetes", lambda o: ridge(Matern32(3.0), approximation=mercer.Landmarks(60), options=o)),
        ("SVR()", "mcycle", lambda o: mercer.SVR(options=o)),
        ("SVR()", "1089_USCrime", lambda o: mercer.SVR(options=o)),
        ("classifier", "synth", lambda o: classes(options=o)),
        ("classifier", "iris", lambda o: classes(options=o)),
    ]


def _lam_alone(ridge, kernel, criterion, options):
    return ridge(kernel, criterion=criterion, optimize="lam", options=options)


def run(job, data, options):
    """(error on a third of the rows left out, processor seconds), relative to the mean or the commonest class."""
    X, y = data[job[1]]
    train = 2 * len(y) // 3
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = job[2](options).fit(X[:train], y[:train]).predict(X[train:])
    took = time.process_time() - began
    if job[0] == "classifier":
        return float(np.mean(predicted != y[train:])), took
    return float(np.sqrt(np.mean((predicted - y[train:]) ** 2))), took


# ------------------------------------------------------------------------------------------------ options
def changed(value, factor):
    """A number or tuple times a factor, whole numbers staying whole; None of what is no number."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return None
    if isinstance(value, tuple):
        parts = tuple(one if one is None else changed(one, factor) for one in value)
        return None if parts == value else parts
    if isinstance(value, int):
        return max(1, int(np.ceil(value * factor)))
    return value * factor if isinstance(value, float) else None


class Reads:
    """The fields of a class that are read while it is open."""

    def __init__(self, kind):
        self.kind, self.names = kind, {one.name for one in fields(kind)}

    def __enter__(self):
        seen, names = set(), self.names

        def noting(self, name):
            if name in names:
                seen.add(name)
            return object.__getattribute__(self, name)

        self.kind.__getattribute__ = noting
        return seen

    def __exit__(self, *error):
        del self.kind.__getattribute__


def compare(usual, now, noise):
    """What is noticed between two runs of a job, in words; "" where that is nothing."""
    if abs(now[0] - usual[0]) > ERROR * max(abs(usual[0]), 1e-12):
        return f"error × {now[0] / usual[0]:.3f}" if usual[0] else f"error {now[0]:.3g}"
    ratio = max(now[1], LEAST_TIME) / max(usual[1], LEAST_TIME)
    return f"time × {ratio:.2f}" if not 1.0 / noise < ratio < noise else ""


def notice(kind, name, factor, wanted, data, usual, noise):
    """What the jobs notice of a field times a factor."""
    value = changed(getattr(kind(), name), factor)
    if value is None or value == getattr(kind(), name):
        return None
    found = []
    for number, job in enumerate(wanted):
        try:
            now = run(job, data, [replace(kind(), **{name: value})])
        except Exception as error:  # a value that cannot be is noticed, too
            found.append(f"{type(error).__name__} of {job[0]} {job[1]}")
            continue
        what = compare(usual[number], now, noise[number])
        if what:
            found.append(f"{what} of {job[0]} {job[1]}")
    return found


def main():
    """Run what was asked for."""
    import mercer.options

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", action="append", default=[], metavar="CLASS", help="this class of options, repeatable"
    )
    parser.add_argument("--list", action="store_true", help="print every field and its default")
    parser.add_argument("--jobs", default="", metavar="TEXT", help="only models or tables with this in their name")
    parser.add_argument("--quick", action="store_true", help="a third of the models")
    settings = parser.parse_args()
    kinds = {name: kind for name, kind in mercer.options.kinds().items() if not settings.only or name in settings.only}
    if settings.list:
        for name, kind in kinds.items():
            print(*(f"{name}.{one.name} = {getattr(kind(), one.name)!r}" for one in fields(kind)), sep="\n")
        return
    data = tables()
    wanted = [job for job in jobs() if job[1] in data and settings.jobs in f"{job[0]} {job[1]}"]
    wanted = wanted[:: 3 if settings.quick else 1]
    for job in wanted:
        run(job, data, [])  # what is loaded once
    runs = [[run(job, data, []) for job in wanted] for _ in range(REPEATS)]
    times = np.array([[max(one[1], LEAST_TIME) for one in each] for each in runs])
    usual = [(runs[0][j][0], float(np.median(times[:, j]))) for j in range(len(wanted))]
    noise = np.maximum((times.max(axis=0) / times.min(axis=0)) ** 2, 1.3)
    for job, (error, took), factor in zip(wanted, usual, noise, strict=True):
        print(f"{job[0]:24}{job[1]:20}error {error:.4g}, {took:.2f} s, noise × {factor:.2f}", flush=True)
    for name, kind in kinds.items():
        with Reads(kind) as seen:
            for job in wanted:
                run(job, data, [kind()])
        for one in fields(kind):
            heads = f"{name}.{one.name} = {getattr(kind(), one.name)!r}"
            if one.name not in seen:
                print(f"{heads:60} not read", flush=True)
                continue
            found = [notice(kind, one.name, factor, wanted, data, usual, noise) for factor in (0.5, 2.0)]
            words = ["-" if part is None else "; ".join(part) or "nothing" for part in found]
            print(f"{heads:60} half: {words[0]} | double: {words[1]}", flush=True)


if __name__ == "__main__":
    main()
