"""Quantile and Huber regression side by side with scikit-learn: the motorcycle data, and 50 000 flights.

    python benchmarks/machine.py mcycle              pinball loss over repeated 10-fold cross-validation
    python benchmarks/machine.py flights [rows]      arrival delay from 20 columns, 50 000 rows unless stated

Every model is judged by the loss it is asked to minimise, on rows it has not seen. Settings come from training rows. On
the motorcycle data these are everyone's, by 10-fold cross-validation. On the flights they are ours, λ and ℓ by
3-fold cross-validation on 4 000 rows (its time is counted), while the trees have scikit-learn's own settings.
"""

import argparse
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
from tables import Table, finish

from mercer import KernelMachine
from mercer.datasets import load_mcycle
from mercer.kernels import Matern32, Matern52
from mercer.losses import Huber, Quantile

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LEVELS = (0.1, 0.5, 0.9)


# ------------------------------------------------------------------------------------------- the motorcycle data
def mcycle_models(level):
    """Name and model of everyone, for one level."""
    scorer = {"scoring": lambda m, X, y: -mean_pinball_loss(y, m.predict(X), alpha=level), "cv": 10}
    kernels, lams = [Matern52(ell) for ell in (3.0, 6.0, 12.0, 24.0)], np.geomspace(0.3, 1e-4, 8)
    yield "mercer KernelMachine", KernelMachine(kernels, Quantile(level), lams, criterion=10)
    boosting = GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0)
    yield "GradientBoosting, defaults", boosting
    grid = {"n_estimators": [30, 100], "max_depth": [1, 2, 3]}
    yield "GradientBoosting, tuned", GridSearchCV(boosting, grid, **scorer)
    splines = make_pipeline(SplineTransformer(), QuantileRegressor(quantile=level, solver="highs"))
    grid = {"splinetransformer__n_knots": [5, 8, 12, 16], "quantileregressor__alpha": [0.0, 1e-3, 1e-2]}
    yield "QuantileRegressor on splines, tuned", GridSearchCV(splines, grid, **scorer)


def mcycle(repeats):
    """Mean pinball loss over repeated 10-fold cross-validation, for each level and model."""
    note = "In brackets the standard error of the difference to mercer, over the repetitions' folds."
    table = Table(f"Motorcycle: pinball loss, {repeats} x 10-fold", "level | model | pinball | seconds for a fit", note)
    X, y = load_mcycle(return_X_y=True)
    splits = list(RepeatedKFold(n_splits=10, n_repeats=repeats, random_state=0).split(X))
    for level in LEVELS:
        ours = None
        for name, model in mcycle_models(level):
            began, losses = time.perf_counter(), []
            for train, test in splits:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    f = model.fit(X[train], y[train]).predict(X[test])
                losses.append(mean_pinball_loss(y[test], f, alpha=level))
            ours = np.array(losses) if ours is None else ours
            apart = np.std(np.array(losses) - ours, ddof=1) / np.sqrt(len(splits))
            shown = f"{np.mean(losses):.3f}" + (f" ({apart:.3f})" if apart else "")
            table.add(level, name, shown, (time.perf_counter() - began) / len(splits))
    return table


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


class Tuned:
    """KernelMachine with λ and ℓ from a sample of the training rows, fitted to all of them."""

    def __init__(self, loss, lams, sample=4000):
        self.loss, self.lams, self.sample = loss, lams, sample

    def fit(self, X, y):
        kernels = [Matern32(length) for length in (3.0, 6.0, 12.0)]
        few = KernelMachine(kernels, self.loss, self.lams, criterion=3, tol=1e-3).fit(
            X[: self.sample], y[: self.sample]
        )
        self.model = KernelMachine(few.kernel_, self.loss, few.lam_, tol=1e-3).fit(X, y)
        return self

    def predict(self, X):
        return self.model.predict(X)


def flight_tasks(delta):
    """(task, loss of the test rows, [(name, model)])."""
    for level in (0.5, 0.9):
        boosted = HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0)
        yield (
            f"quantile {level}",
            lambda y, f, level=level: mean_pinball_loss(y, f, alpha=level),
            [
                ("mercer KernelMachine", Tuned(Quantile(level), np.geomspace(0.3, 1e-3, 6))),
                ("HistGradientBoosting", boosted),
                ("QuantileRegressor, linear", QuantileRegressor(quantile=level, alpha=0.0, solver="highs")),
            ],
        )
    yield (
        f"huber {delta:g}",
        lambda y, f: huber_loss(y, f, delta),
        [
            ("mercer KernelMachine", Tuned(Huber(delta), np.geomspace(3.0, 0.03, 5))),
            ("GradientBoosting", GradientBoostingRegressor(loss="huber", subsample=0.5, random_state=0)),
            ("HuberRegressor, linear", HuberRegressor(max_iter=1000)),
        ],
    )


def flights_table(rows, only):
    """Loss on 10 000 rows that nobody saw, and what the fit took."""
    columns = "task | model | loss | fit s | predict s | λ | kernel | gap/objective | status | support"
    table = Table(f"{rows} flights: arrival delay from 20 columns", columns)
    X, y, X_test, y_test = flights(rows)
    for task, judge, models in flight_tasks(delta=20.0):
        if only not in task:
            continue
        for name, model in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit, _ = timed(lambda model=model: model.fit(X, y))
            predict, f = timed(lambda model=model: model.predict(X_test))
            row = [task, name, float(judge(y_test, f)), fit, predict]
            if isinstance(model, Tuned):
                m, report = model.model, model.model.fit_report_
                gap = report["dual_gap"] / report["objective"]
                row += [m.lam_, repr(m.kernel_), float(gap), report["status"], report["support_vectors"]]
            table.add(*row, *[None] * (len(table.columns) - len(row)))
    return table


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["mcycle", "flights"])
    parser.add_argument("rows", type=int, nargs="?", default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="part of the name of a task of the flights")
    parser.add_argument("--json", help="where to write the table, too")
    given = parser.parse_args()
    found = mcycle(given.repeats) if given.task == "mcycle" else flights_table(given.rows, given.only)
    finish([found], given.json)
