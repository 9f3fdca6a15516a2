"""How good the model is, next to the mean, a linear model and nearest neighbours."""

import numpy as np

from mercer.report._factors import indicators
from mercer.report.findings import short
from mercer.selection.judging import beside, fair_folds, measure, part

WIDE = 200  # columns beyond which there is no model of columns to compare with
MANY = 20_000  # rows beyond which simple models are compared on a sample


def own_scores(case, left):
    """Scores of the left-out predictions, and of simple models judged by the same rows."""
    this = measure(case.y, left.predicted, case.classes is not None, case.weight)
    return {
        "how": left.how,
        "nested": False,
        "metric": "accuracy" if case.classes is not None else "R²",
        "models": [{"name": "this model", **this}, *_simple(case)],
        "folds": None,
        "optimism": None,
    }


def _simple(case):
    """The simple models with their measures."""
    rows, labels = case.shown(MANY), case.classes is not None
    y, w, X = case.y[rows], part(case.weight, rows), _readable(case, rows)
    found = beside(X, y, labels, fair_folds(y, labels), w)
    return [{"name": name, **measure(y, values, labels, w)} for name, values in found]


def _readable(case, rows):
    """Columns that simple models can read: numbers, and an indicator for each level of a category; None without."""
    if case.pairwise:
        return None
    X = np.asarray(case.X[rows], dtype=float) if case.vectors else indicators(case, rows)
    return None if X is None or X.shape[1] > WIDE else X


def given_scores(case, scores):
    """(scores, out-of-fold predictions or None): `NestedResult`, or anything whose ``to_dict`` has the same names."""
    found = dict(scores if isinstance(scores, dict) else scores.to_dict())
    for key in ("standard_error", "optimism_error"):
        if found.get(key) is not None and not np.isfinite(found[key]):
            found[key] = None  # one fold does not tell
    predictions = found.get("predictions")
    predictions = None if predictions is None else case.one(_as_predictions(predictions, case))
    if predictions is not None and len(predictions) != case.n:
        raise ValueError(f"scores has predictions of {len(predictions)} rows, X has {case.n}.")
    folds, optimism = found.get("scores"), found.get("optimism")
    this = {"score": found.get("mean"), "error": found.get("standard_error")}
    if predictions is not None:
        counted = measure(case.y, predictions, case.classes is not None, case.weight)
        this = counted | {key: value for key, value in this.items() if value is not None}
    nested = "nested cross-validation" if folds is None else f"nested cross-validation, {len(folds)} folds"
    return {
        "how": found.get("how") or nested,
        "nested": True,
        "metric": {"r2": "R²"}.get(found.get("scoring"), str(found.get("scoring", "score"))),
        "models": [{"name": "this model", **this}, *(_given_simple(found) or _simple(case))],
        "folds": folds,
        "optimism": None if optimism is None else {"value": optimism, "error": found.get("optimism_error")},
    }, predictions


def _as_predictions(values, case):
    """Predictions as numbers, nan where there is none; or as labels, None where there is none."""
    if case.classes is None:
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array(list(values), dtype=object)


def _given_simple(found):
    """Simple models that the scores bring along, each with its name."""
    kept = ("score", "error", "rmse", "mae")
    return [{"name": short(one["name"]), **{key: one.get(key) for key in kept}} for one in found.get("baselines") or []]
