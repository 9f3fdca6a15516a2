"""One judge: models fitted on some rows and asked about others, simple models beside them, measures, a clock."""

import warnings
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from mercer._clock import FOREVER, Clock
from mercer.selection.equal import random_folds

BOOSTED = "boosted trees"
ALWAYS = 2  # simple models that are judged whatever the clock says: the mean, and a line
EXACT = "leave-one-out at the kernel and λ of the fit"


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """Every row under the model without it; made by ``left_out`` of any estimator.

    Attributes
    ----------
    predicted : ndarray of shape (n,) or (n, t)
        What the model without row i predicts for it: numbers, nan where there are none, or labels, None where there
        are none.
    how : str
        How that was found.
    one_by_one : bool
        Whether each row was left out alone; else with its fold.
    std : ndarray of shape (n,), or None
        The standard deviation of yᵢ that the model without row i states, noise included.
    proba : ndarray of shape (n, C), or None
        Its probabilities of the classes.
    decision : ndarray, or None
        Its decision function.
    rank : ndarray of shape (n,), or None
        The probability of a target below yᵢ that the model without row i states, where that is no normal distribution.
    ends : ndarray of shape (n, 2), or None
        The interval between its quantiles of 5 % and 95 %, beside ``rank``.
    """

    predicted: np.ndarray
    how: str = EXACT
    one_by_one: bool = True
    std: np.ndarray | None = None
    proba: np.ndarray | None = None
    decision: np.ndarray | None = None
    rank: np.ndarray | None = None
    ends: np.ndarray | None = None


def quietly(function, *args, **kwargs):
    """Call without warnings: what a fit on all rows had to say it has said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def fair_folds(y, labels, group=None, folds=5):
    """[(train, test), …]: each class in all of them, equal rows in one; a row alone in its class is never left out."""
    n = len(y)
    if not labels:
        return random_folds(y, min(folds, n if group is None else group.max() + 1), False, group)
    _, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    several, alone = np.flatnonzero(counts[code] > 1), np.flatnonzero(counts[code] == 1)
    if not len(several):
        return []
    count = min(folds, int(counts[counts > 1].min()))
    split = random_folds(y[several], count, True, None if group is None else group[several])
    return [(np.union1d(several[train], alone), several[test]) for train, test in split]


def fit_part(model, X, y, rows, weight=None):
    """``model.frozen()`` fitted on some rows, quietly."""
    part = model.frozen(rows)
    A, b = _safe_split(part, X, y, rows)
    return quietly(part.fit, A, b) if weight is None else quietly(part.fit, A, b, sample_weight=weight[rows])


def new_part(model, X, y, test, train):
    """X of the rows ``test`` for a model that was fitted on the rows ``train``."""
    return _safe_split(model, X, y, test, train)[0]


def refit_left_out(model, X, y, weight=None, group=None, split=None):
    """`RowsLeftOut` by fits at the kernel and λ of a fitted model: without each row up to 60, else without a fifth.

    Rows of a group are left out together; ``split``, [(train, test), …], leaves out other rows.
    """
    y, labels = np.asarray(y), is_classifier(model)
    n = len(y)
    if split is not None:
        how = None
    elif not labels and n <= 60 and group is None:
        split, how = [(np.delete(np.arange(n), i), np.arange(i, i + 1)) for i in range(n)], EXACT
    else:
        split, how = fair_folds(y, labels, group), None
    if n < 4 or not split:
        why = f"got {n}" if n < 4 else f"and a class with 2 of them; the {n} classes have 1 each"
        raise ValueError(f"{type(model).__name__} needs at least 4 rows to leave some out, {why}.")
    kept = dict.fromkeys(["predict", *_methods_asked(model, labels)])
    std = np.full(y.shape, np.nan) if not labels and group is not None and model.probabilistic else None
    for train, test in split:
        fitted = fit_part(model, X, y, train, weight)
        new = new_part(fitted, X, y, test, train)
        for name, values in kept.items():
            found = _of_all_classes(np.asarray(quietly(getattr(fitted, name), new)), name, fitted, model)
            kept[name] = _room(n, found) if values is None else values
            kept[name][test] = found
        if std is not None:
            std[test] = quietly(fitted.predict, new, return_std=True, noisy=True)[1].reshape(std[test].shape)
    if how is None:
        how = f"{len(split)} folds, at the kernel and λ of the fit"
        how += "" if group is None else ", equal rows in one fold"
        rest = n - sum(len(test) for _, test in split)
        if rest:
            how += f"; {rest} row alone in its class is" if rest == 1 else f"; {rest} rows alone in their class are"
            how += " not judged"
    proba, decision = kept.get("predict_proba"), kept.get("decision_function")
    return RowsLeftOut(kept["predict"], how, how is EXACT, std, proba, decision)


def _methods_asked(model, labels):
    """What is asked of fits beside ``predict``: of labels probabilities, or for two classes the decision function."""
    if not labels:
        return []
    if hasattr(model, "predict_proba"):
        return ["predict_proba"]
    return ["decision_function"] if len(model.classes_) == 2 else []


def _room(n, found):
    """Room for the predictions of n rows: nan, or None for labels, where there will be none."""
    numbers = found.dtype.kind == "f"
    return np.full((n, *found.shape[1:]), np.nan if numbers else None, dtype=float if numbers else object)


def _of_all_classes(found, name, fitted, model):
    """Predictions of a fold; a class that it did not see has probability 0."""
    if name == "predict" and is_classifier(model):
        return found.astype(object)
    if name == "predict_proba" and found.shape[1] < len(model.classes_):
        full = np.zeros((len(found), len(model.classes_)))
        full[:, np.searchsorted(model.classes_, fitted.classes_)] = found
        return full
    return found


# ---------------------------------------------------------------------------------------------- measures
def average(values, weight=None):
    """Σ wᵢ vᵢ / Σ wᵢ; the mean without weights."""
    return float(np.mean(values)) if weight is None else float(np.average(values, weights=weight))


def part(weight, index):
    """The weights of some rows, or None."""
    return None if weight is None else weight[index]


def root_mean_square(e, weight=None):
    """√(Σ wᵢeᵢ²/Σ wᵢ), in any unit: the largest is divided out first."""
    unit = float(np.abs(e).max(initial=0.0))
    return unit * float(np.sqrt(average((e / unit) ** 2, weight))) if unit > 0 else 0.0


def has_prediction(values):
    """Which rows have a prediction."""
    return np.isfinite(values) if values.dtype.kind == "f" else np.array([v is not None for v in values])


def measure(y, predicted, labels, weight=None):
    """{"score", "error", "rmse", "mae"}: R² or accuracy of the rows with a prediction, its standard error, sizes."""
    known = np.flatnonzero(has_prediction(predicted))
    y, predicted, weight = y[known], predicted[known], part(weight, known)
    if labels:
        right = (y == predicted).astype(float)
        return {"score": average(right, weight), "error": _error_of_mean(right, weight), "rmse": None, "mae": None}
    predicted = predicted.astype(float)
    e, d = y - predicted, y - average(y, weight)
    unit = max(float(np.abs(d).max()), float(np.abs(e).max()), np.finfo(float).tiny)
    w = np.ones(len(y)) if weight is None else weight / weight.mean()
    square, spread = w * (e / unit) ** 2, w * (d / unit) ** 2
    total = float(spread.sum())
    score = 1.0 - float(square.sum()) / total if total > 0 else float("nan")
    sizes = {"rmse": root_mean_square(e, weight), "mae": average(np.abs(e), weight)}
    return {"score": score, "error": bootstrap(square, spread), **sizes}


def bootstrap(square, spread, draws=200):
    """Standard error of 1 − Σe²/Σ(y − ȳ)², by drawing rows again; of many rows that of a ratio, to first order."""
    n, rng = len(square), np.random.default_rng(0)
    if n * draws > 4_000_000:
        mean = max(spread.mean(), np.finfo(float).tiny)
        return float(np.std(square - square.mean() / mean * spread) / (np.sqrt(n) * mean))
    index = rng.integers(0, n, size=(draws, n))
    below = spread[index].sum(axis=1)
    ratio = np.divide(square[index].sum(axis=1), below, out=np.full(draws, np.nan), where=below > 0)
    found = float(np.nanstd(ratio)) if np.isfinite(ratio).any() else float("nan")
    return found if not found <= 1e-9 else 0.0  # the mean has no error of its own: it is what R² compares with


def _error_of_mean(values, weight=None):
    """√(Σ wᵢ²(vᵢ − v̄)²)/Σ wᵢ: sd/√n without weights."""
    w = np.ones(len(values)) if weight is None else weight
    return float(np.sqrt(np.sum((w * (values - average(values, weight))) ** 2)) / w.sum())


# ---------------------------------------------------------------------------------------- simple models
def simple_models(labels, n, d):
    """{name: estimator}: what a model is to be compared with on n rows of d numbers."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    name, first = ("commonest class", DummyClassifier()) if labels else ("mean", DummyRegressor())
    if not d:
        return {name: first}  # the others need numbers
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    count = min(5, n)
    linear = LogisticRegression(max_iter=1000) if labels else RidgeCV(np.logspace(-3, 3, 13))
    near = (KNeighborsClassifier if labels else KNeighborsRegressor)(count)
    return {name: first, "linear model": linear, f"{count} neighbours": near} | _trees(labels, n)


def _trees(labels, n):
    """{name: estimator}: what trees would reach, of n rows that are enough for them."""
    if n < 100:
        return {}
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    boosted = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    options = {"max_samples": min(n, 2000), "random_state": 0}
    forest = (
        RandomForestClassifier(50, **options) if labels else RandomForestRegressor(50, max_features=1 / 3, **options)
    )
    return {BOOSTED: boosted(random_state=0, early_stopping=False), "random forest": forest}


def least_seconds(name, n, d, classes):
    """Seconds that a simple model takes at least on n rows of d numbers: boosted trees, a set for each class."""
    if name != BOOSTED:
        return 0.0
    return (classes if classes > 2 else 1) * (0.03 + 2e-6 * n * d)


def judge_simple_models(X, y, labels, folds, weight=None, clock=FOREVER):
    """[(name, predictions of rows left out)] of the simple models, fold by fold; X None is inputs without numbers.

    Those that would not end with the clock are left out, but for the two quickest where these are quick.
    """
    X, found, late = np.zeros((len(y), 0)) if X is None else X, {}, set()
    sd = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    classes = len(np.unique(y)) if labels else 0
    for left, (train, test) in zip(range(len(folds), 0, -1), folds, strict=True):
        for place, (name, model) in enumerate(simple_models(labels, len(train), X.shape[1]).items()):
            least = least_seconds(name, len(train), X.shape[1], classes)
            if name in late or (name not in found and place >= ALWAYS and not clock.fits(least)):
                continue
            began = clock.seconds
            values = predict_simply(model, X[train], y[train], X[test], part(weight, train))
            found.setdefault(name, _room(len(y), values if not labels else values.astype(object)))[test] = values
            took = clock.seconds - began
            dear = place >= ALWAYS or (place > 0 and took > 0.05)  # a line of many classes may be
            if left > 1 and dear and not clock.fits((left - 1) * took):
                late.add(name)
    return [(name, values) for name, values in found.items() if name not in late]


def predict_simply(model, X, y, held, weight=None):
    """What a simple model, fitted quietly and with weights where it takes them, says of other rows.

    Few rows have one thread: threads of OpenMP wait for each other a hundred times in a boosted fit, and those of BLAS
    as often in a logistic regression of many classes; on a busy machine a tenth of a second becomes ten.
    """
    weights = {} if weight is None or not has_fit_parameter(model, "sample_weight") else {"sample_weight": weight}
    with threadpool_limits(1) if len(y) <= 5000 else nullcontext():
        return quietly(quietly(model.fit, X, y, **weights).predict, held)


class FoldTimes:
    """What is left of a time budget, and whether another fold is expected to fit into it.

    Parameters
    ----------
    budget : float or None
        Seconds of all folds.
    needs : float, default=None
        Seconds that the fit of a fold needs, as that of all rows did: folds are then fewer rather than hurried.
    search : float, default=0.6
        Share of the time of a fold for its search: the rest is for the fits themselves.
    """

    def __init__(self, budget, needs=None, search=0.6):
        self.search = search
        self.clock, self.needs, self.longest, self.rest = Clock(budget), needs, 0.0, 0.0
        self.began, self.given = None, 0.0

    @property
    def seconds(self):
        """Since the beginning."""
        return self.clock.seconds

    def share(self, folds):
        """Seconds for the search of the next of so many folds; None without a budget, 0 if there is no time."""
        if self.began is not None:
            took = self.seconds - self.began
            self.longest, self.rest = max(self.longest, took), max(self.rest, took - self.given)
        first, self.began = self.began is None, self.seconds
        if not self.clock.limited:
            return None
        left = self.clock.left
        even = self.search * left / folds if left > self.longest else 0.0
        if self.needs is None or even >= self.needs:
            self.given = even
        elif first:
            self.given = min(self.needs, self.search * left)
        else:
            self.given = self.needs if left - self.rest >= self.needs else 0.0
        return self.given

    def fits(self, seconds):
        """Whether something beside the fit of a fold ends in time."""
        return self.clock.fits(seconds) and not self.clock.spent

    def affords(self, seconds):
        """Whether something that can be left out takes little of what is left."""
        return not self.clock.limited or seconds <= 0.1 * self.clock.left
