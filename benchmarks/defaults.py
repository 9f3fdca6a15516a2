"""What one gets without asking: RMSE and log density of default calls, beside other ways and other libraries.

``python benchmarks/defaults.py DATA`` reads DATA/uci (ten splits each), and tables of scikit-learn and generators on
which nothing was tuned. Results are kept in a file outside the repository (``--cache``), so that a second run, or one
with another Python that has GPy, LightGBM or xRFM, adds to the table. Targets are in standard deviations of the
training rows.
"""

import argparse
import contextlib
import itertools
import json
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn import datasets
from tables import Table, finish

SMALL = ("airfoil", "autompg", "challenger", "concrete", "energy", "parkinsons", "servo", "sml", "wine", "yacht")
MOST_TEST = 1000
CACHE = Path(tempfile.gettempdir()) / "mercer-defaults.json"


# ------------------------------------------------------------------------------------------------ data
def uci(folder, name, split, most):
    """(X, y, X of the test, y of the test) of a split of one of the UCI sets; at most so many training rows."""
    data = np.loadtxt(folder / "uci" / name / "data.csv.gz", delimiter=",")
    held = np.loadtxt(folder / "uci" / name / "test_mask.csv.gz", delimiter=",", usecols=split).astype(bool)
    train, test = np.flatnonzero(~held), np.flatnonzero(held)[:MOST_TEST]
    if most < len(train):  # parkinsons is in the order of its subjects
        train = np.random.default_rng(split).choice(train, most, replace=False)
    return data[train, :-1], data[train, -1], data[test, :-1], data[test, -1]


def column(load, j):
    """A column of a set of scikit-learn as the target, the others as inputs."""
    X = load().data
    return np.delete(X, j, axis=1), X[:, j]


UNSEEN = {
    "diabetes": lambda seed: datasets.load_diabetes(return_X_y=True),
    "friedman1": lambda seed: datasets.make_friedman1(400, noise=1.0, random_state=seed),
    "friedman2": lambda seed: datasets.make_friedman2(400, noise=50.0, random_state=seed),
    "friedman3": lambda seed: datasets.make_friedman3(400, noise=0.1, random_state=seed),
    "linear": lambda seed: datasets.make_regression(200, 20, n_informative=6, noise=40.0, random_state=seed),
    "uncorrelated": lambda seed: datasets.make_sparse_uncorrelated(200, random_state=seed),
    "swiss roll": lambda seed: datasets.make_swiss_roll(400, noise=0.3, random_state=seed),
    "iris": lambda seed: column(datasets.load_iris, 3),
    "vines": lambda seed: column(datasets.load_wine, 0),
    "tumours": lambda seed: column(datasets.load_breast_cancer, 4),
}


def unseen(name, split, most):
    """The same of a table on which nothing was tuned: a fifth of the rows is the test."""
    X, y = UNSEEN[name](split)
    order = np.random.default_rng(split).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :][:most]
    return X[train], y[train], X[test], y[test]


def standardised(X, y, Xt, yt):
    """Columns in standard deviations of the training rows; the target too."""
    sd = X.std(axis=0)
    sd[sd == 0] = 1.0
    return (X - X.mean(axis=0)) / sd, (y - y.mean()) / y.std(), (Xt - X.mean(axis=0)) / sd, (yt - y.mean()) / y.std()


# ------------------------------------------------------------------------------------------------ ways
def process(model):
    """A model with a standard deviation: (mean, std) of a new y."""

    def run(X, y, Xt):
        return model(X.shape[1]).fit(X, y).predict(Xt, return_std=True, noisy=True)

    return run


def plain(model):
    """A model without one."""
    return lambda X, y, Xt: (model(X.shape[1]).fit(X, y).predict(Xt), None)


def ours():
    """{name: way} of mercer: eight, the default kernel by LOO, and what one gets without asking."""
    from mercer import GaussianProcessRegressor, KernelRidge
    from mercer.kernels import Gaussian, Linear, Matern32
    from mercer.selection import LOO, Evidence

    def ones(d):
        return np.full(d, np.sqrt(d))

    return {
        "ridge, Gaussian ARD, LOO": plain(lambda d: KernelRidge(Gaussian(ones(d)), criterion=LOO())),
        "ridge, Gaussian, LOO": plain(lambda d: KernelRidge(Gaussian(d**0.5), criterion=LOO())),
        "ridge, Gaussian ARD, evidence": plain(lambda d: KernelRidge(1.0 * Gaussian(ones(d)), criterion=Evidence())),
        "ridge, Matern32, LOO": plain(lambda d: KernelRidge(Matern32(d**0.5), criterion=LOO())),
        "ridge, Matern32 ARD, evidence": plain(lambda d: KernelRidge(1.0 * Matern32(ones(d)), criterion=Evidence())),
        "ridge": plain(lambda d: KernelRidge(criterion=LOO())),
        "GP": process(lambda d: GaussianProcessRegressor()),
        "GP, one length": process(lambda d: GaussianProcessRegressor(1.0 * Matern32(d**0.5))),
        "GP, Matern32 ARD + linear": process(
            lambda d: GaussianProcessRegressor(1.0 * Matern32(ones(d)) + 0.1 * Linear())
        ),
        "default": default,
    }


def default(X, y, Xt):
    """What `mercer fit` fits where nothing is asked for: a mixture, in 9 s up to 2 000 rows and 28 s beyond."""
    from mercer import StackedKernels

    model = StackedKernels(time_budget=9.0 if len(y) <= 2000 else 28.0).fit(X, y)
    return (*model.predict(Xt, return_std=True, noisy=True), lambda y: model.log_density(Xt, y))


def sklearns():
    """{name: way} of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor as Process
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    def gp(X, y, Xt):
        kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=1.5) + WhiteKernel()
        return Process(kernel, normalize_y=True).fit(X, y).predict(Xt, return_std=True)

    return {
        "sklearn GP": gp,
        "boosting": plain(lambda d: HistGradientBoostingRegressor(random_state=0)),
        "forest": plain(lambda d: RandomForestRegressor(300, random_state=0)),
    }


def gpy(X, y, Xt):
    """GPy, Matérn-3/2 ARD, by evidence."""
    import GPy

    kernel = GPy.kern.Matern32(X.shape[1], ARD=True, lengthscale=np.sqrt(X.shape[1]))
    model = GPy.models.GPRegression(X, y[:, None], kernel)
    model.optimize(max_iters=500)
    mean, variance = model.predict(Xt)
    return mean[:, 0], np.sqrt(variance[:, 0])


def lightgbm(X, y, Xt):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(verbose=-1, random_state=0, n_jobs=1).fit(X, y).predict(Xt), None


def xrfm(X, y, Xt):
    """xRFM: rounds, ridge, bandwidth and exponent by a fifth of the rows, drawn at random."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    X, Xt, y = X.astype(np.float32), Xt.astype(np.float32), y.astype(np.float32)[:, None]
    order = np.random.default_rng(0).permutation(len(y))
    held, rest, found = order[: len(y) // 5], order[len(y) // 5 :], []
    for ridge, bandwidth, exponent in itertools.product((1e-4, 1e-2, 1.0), (3.0, 10.0, 30.0), (0.7, 1.0, 1.3)):
        shape = {
            "kernel": "l2",
            "exponent": exponent,
            "bandwidth": bandwidth,
            "diag": False,
            "bandwidth_mode": "constant",
        }
        fit = {"get_agop_best_model": True, "return_best_params": True, "reg": ridge, "iters": 5, "verbose": False}
        model = xRFM({"model": shape, "fit": fit}, device="cpu", tuning_metric="mse", verbose=False)
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            model.fit(X[rest], y[rest], X[held], y[held])
        found.append(
            (np.mean((np.asarray(model.predict(X[held])) - y[held]) ** 2), np.asarray(model.predict(Xt)).ravel())
        )
    return min(found, key=lambda one: one[0])[1], None


PEERS = {"GPy": gpy, "LightGBM": lightgbm, "xRFM": xrfm}


def ways(names):
    """{name: way} of those that are asked for, or all that can be imported here."""
    found = {}
    for group in (ours, sklearns, lambda: PEERS):
        try:
            found |= group()
        except ImportError as error:
            print(error, file=sys.stderr)
    return {name: found[name] for name in names} if names else found


# ------------------------------------------------------------------------------------------------ scores
clock = SimpleNamespace(perf_counter=time.perf_counter)


def count_own_time():
    """Let budgets and tables count seconds of this process, for machines with other work: give it one thread."""
    from mercer import _clock

    clock.perf_counter = clock.monotonic = time.process_time
    _clock.time = clock


def too_long(*_):
    raise TimeoutError


def measure(way, X, y, Xt, yt, limit):
    """{rmse, density (mean log, of a new y), seconds}; without the first two where the limit ended it."""
    start = clock.perf_counter()
    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, limit)  # seconds of this process
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mean, std, *log_density = way(X, y, Xt)
    except TimeoutError:
        return {"rmse": None, "density": None, "seconds": limit}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    seconds, e = clock.perf_counter() - start, yt - mean
    density = None
    if log_density:
        density = float(np.mean(log_density[0](yt)))
    elif std is not None:
        density = float(np.mean(-0.5 * np.log(2 * np.pi * std**2) - 0.5 * (e / std) ** 2))
    return {"rmse": float(np.sqrt(np.mean(e**2))), "density": density, "seconds": seconds}


def keep(cache, kept):
    """Write the results, and those that another run has written meanwhile; nobody reads half a file."""
    kept |= (json.loads(cache.read_text()) if cache.exists() else {}) | kept
    half = cache.with_suffix(f".{os.getpid()}")
    half.write_text(json.dumps(kept, indent=0))
    half.replace(cache)


def run(chosen, sets, splits, most, folder, cache, limit):
    """Fill the cache."""
    kept = json.loads(cache.read_text()) if cache.exists() else {}
    for name in sets:
        for split in splits:
            data = standardised(*(unseen(name, split, most) if name in UNSEEN else uci(folder, name, split, most)))
            for label, way in chosen.items():
                key = f"{name}|{split}|{most}|{label}"
                if key not in kept:
                    try:
                        kept[key] = measure(way, *data, limit)
                    except ImportError as error:
                        print(label, error, file=sys.stderr)
                    else:
                        print(key, kept[key], file=sys.stderr, flush=True)
                        keep(cache, kept)
    return kept


def tables(kept, sets, splits, most, title):
    """RMSE of each way over the least, and log density beside the best of the processes; "–" where a limit ended it."""

    def scores(what):
        """{way: its mean over the splits, for each set; NaN where it is missing}."""
        found = {}
        for label in labels:
            rows = [[kept.get(f"{n}|{s}|{most}|{label}", {}).get(what) for s in splits] for n in sets]
            found[label] = np.array([np.nan if None in row else np.mean(row) for row in rows])
        return {label: values for label, values in found.items() if np.isfinite(values).any()}

    def add(table, label, mean, worst, values, *more):
        table.add(
            label, float(mean), float(worst), *(float(v.round(3)) if np.isfinite(v) else "–" for v in values), *more
        )

    labels = list(dict.fromkeys(key.split("|")[3] for key in kept if key.split("|")[2] == str(most)))
    heads = "way | mean | worst | " + " | ".join(sets)
    means, seconds, density = scores("rmse"), scores("seconds"), scores("density")
    best = np.nanmin(list(means.values()), axis=0)
    ratio = Table(f"{title}: RMSE over the least of the row", f"{heads} | s")
    for label, found in sorted(means.items(), key=lambda pair: np.nanmean(np.log(pair[1] / best))):
        r = found / best
        add(ratio, label, np.exp(np.nanmean(np.log(r))), np.nanmax(r), r, float(np.nanmean(seconds[label])))
    if not density:
        return [ratio]
    top = np.nanmax(list(density.values()), axis=0)
    lost = Table(f"{title}: mean log density below the best", heads)
    for label, found in sorted(density.items(), key=lambda pair: np.nanmean(top - pair[1])):
        add(lost, label, np.nanmean(top - found), np.nanmax(top - found), top - found)
    return [ratio, lost]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="the folder with uci/; without, the unseen tables alone")
    parser.add_argument("--ways", nargs="*", help="names of ways; all that can be imported")
    parser.add_argument("--sets", nargs="*", help="names of sets")
    parser.add_argument("--splits", type=int, nargs="*", default=[0, 1, 2], help="defaults were chosen on 3, 4 and 5")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of processor for a fit; it is ended then")
    parser.add_argument("--rows", type=int, default=6000, help="most training rows")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--own-time", action="store_true", help="seconds are those of this process, not of the clock")
    parser.add_argument("--json")
    settings = parser.parse_args()
    if settings.own_time:
        count_own_time()
    seen = [name for name in SMALL if not settings.sets or name in settings.sets] if settings.data else []
    new = [name for name in UNSEEN if not settings.sets or name in settings.sets]
    chosen, found = ways(settings.ways), []
    for sets, title in ((seen, "UCI"), (new, "unseen")):
        if sets:
            kept = run(chosen, sets, settings.splits, settings.rows, settings.data, settings.cache, settings.limit)
            found += tables(kept, sets, settings.splits, settings.rows, title)
    if settings.json:
        finish(found, settings.json)


if __name__ == "__main__":
    main()
