"""Quantile and Huber regression side by side with scikit-learn: the motorcycle data, and 50 000 flights.

    python benchmarks/machine.py mcycle              pinball loss over repeated 10-fold cross-validation
    python benchmarks/machine.py flights [rows]      arrival delay from 20 columns, 50 000 rows unless stated

Every model is judged by the loss it is asked to minimise, on rows it has not seen. Settings of the peers are chosen on
the training rows too: the depth and number of trees, the degree of the splines.
"""

import argparse
import json
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import HuberRegressor, QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from mercer import KernelMachine
from mercer.datasets import load_mcycle
from mercer.kernels import Gaussian, Matern32
from mercer.losses import Huber, Quantile

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LEVELS = (0.1, 0.5, 0.9)


def say(**row):
    """One line of the table, as JSON."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({**row, "peak GB": round(peak, 2)}), flush=True)


# ------------------------------------------------------------------------------------------- the motorcycle data
def mcycle_models(level):
    """Name and model of everyone, for one level."""
    scorer = {"scoring": lambda m, X, y: -mean_pinball_loss(y, m.predict(X), alpha=level), "cv": 5}
    yield (
        "mercer KernelMachine",
        KernelMachine(
            [Gaussian(ell) for ell in (2.0, 3.0, 4.0, 6.0, 9.0)],
            Quantile(level),
            np.geomspace(0.3, 1e-3, 6),
            criterion=5,
        ),
    )
    boosting = GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0)
    yield "GradientBoosting, defaults", boosting
    grid = {"n_estimators": [30, 100], "max_depth": [1, 2, 3]}
    yield "GradientBoosting, tuned", GridSearchCV(boosting, grid, **scorer)
    splines = make_pipeline(SplineTransformer(), QuantileRegressor(quantile=level, solver="highs"))
    grid = {"splinetransformer__n_knots": [5, 8, 12, 16], "quantileregressor__alpha": [0.0, 1e-3, 1e-2]}
    yield "QuantileRegressor on splines, tuned", GridSearchCV(splines, grid, **scorer)


def mcycle(repeats):
    """Mean pinball loss over repeated 10-fold cross-validation, for each level and model."""
    X, y = load_mcycle(return_X_y=True)
    splits = list(RepeatedKFold(n_splits=10, n_repeats=repeats, random_state=0).split(X))
    for level in LEVELS:
        for name, model in mcycle_models(level):
            began, losses = time.perf_counter(), []
            for train, test in splits:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    f = model.fit(X[train], y[train]).predict(X[test])
                losses.append(mean_pinball_loss(y[test], f, alpha=level))
            per_fit = (time.perf_counter() - began) / len(splits)
            say(data="mcycle", level=level, model=name, pinball=round(float(np.mean(losses)), 4), seconds=per_fit)


# -------------------------------------------------------------------------------------------------- the flights
def flights(rows):
    """(X, y, X_test, y_test): complete rows, every column in units of its spread, y in minutes."""
    data = np.load(DATA / "large/nycflights13/flights.npz", allow_pickle=False)
    X, y = data["X"].astype(float), data["arr_delay"].astype(float)
    complete = np.flatnonzero(np.isfinite(X).all(axis=1) & np.isfinite(y))
    chosen = np.random.default_rng(0).permutation(complete)[: rows + 10_000]
    X, y = X[chosen], y[chosen]
    X = StandardScaler().fit(X[:rows]).transform(X)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def huber_loss(y, f, delta):
    return float(np.mean(Huber(delta).value(y, f)))


def flight_tasks(delta):
    """(task, loss of the test rows, [(name, model)])."""
    kernel = Matern32(6.0)
    for level in (0.5, 0.9):
        boosted = HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0)
        yield (
            f"quantile {level}",
            lambda y, f, level=level: mean_pinball_loss(y, f, alpha=level),
            [
                ("mercer KernelMachine", KernelMachine(kernel, Quantile(level), 0.005, tol=1e-3)),
                ("HistGradientBoosting", boosted),
                ("QuantileRegressor, linear", QuantileRegressor(quantile=level, alpha=0.0, solver="highs")),
            ],
        )
    yield (
        f"huber {delta:g}",
        lambda y, f: huber_loss(y, f, delta),
        [
            ("mercer KernelMachine", KernelMachine(kernel, Huber(delta), 0.3, tol=1e-3)),
            ("GradientBoosting", GradientBoostingRegressor(loss="huber", subsample=0.5, random_state=0)),
            ("HuberRegressor, linear", HuberRegressor(max_iter=1000)),
        ],
    )


def run_flights(rows, only):
    X, y, X_test, y_test = flights(rows)
    for task, judge, models in flight_tasks(delta=20.0):
        if only not in task:
            continue
        for name, model in models:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
            fit = time.perf_counter() - began
            began = time.perf_counter()
            loss = judge(y_test, model.predict(X_test))
            row = {"fit s": round(fit, 1), "predict s": round(time.perf_counter() - began, 1)}
            if name.startswith("mercer"):
                report = model.fit_report_
                row |= {"gap": report["dual_gap"], "objective": report["objective"], "status": report["status"]}
                row |= {"iterations": report["iterations"], "support": report["support_vectors"]}
            say(data=f"flights {rows}", task=task, model=name, loss=round(float(loss), 4), **row)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["mcycle", "flights"])
    parser.add_argument("rows", type=int, nargs="?", default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="part of the name of a task of the flights")
    given = parser.parse_args()
    mcycle(given.repeats) if given.task == "mcycle" else run_flights(given.rows, given.only)
