"""How good the model is, next to the mean, a linear model and nearest neighbours."""

import numpy as np

from mercer.report._case import quietly
from mercer.report._factors import indicators
from mercer.report._weights import average, part
from mercer.report.findings import short

NEIGHBOURS = 5
DRAWS = 200  # of the bootstrap behind a standard error
WIDE = 200  # columns beyond which no linear model is fitted for comparison
MANY = 20_000  # rows beyond which neighbours and linear models are compared on a sample


def own_scores(case, left):
    """Scores of the left-out predictions, and of baselines judged by the same rows."""
    rows = case.shown(MANY)
    y, predicted = case.y, left.predicted
    known = np.flatnonzero(_finite(predicted))
    models = [{"name": "this model", **measure(case, y[known], predicted[known], part(case.weight, known))}]
    models += _measured_baselines(case, rows)
    return {
        "how": left.how,
        "nested": False,
        "metric": "accuracy" if case.classes is not None else "R²",
        "models": models,
        "folds": None,
        "optimism": None,
    }


def _measured_baselines(case, rows):
    """The baselines with their measures."""
    w = part(case.weight, rows)
    return [{"name": name, **measure(case, case.y[rows], values, w)} for name, values in _baselines(case, rows)]


def given_scores(case, scores):
    """(scores, out-of-fold predictions or None): `NestedResult`, or anything whose ``to_dict`` has the same names."""
    found = dict(scores if isinstance(scores, dict) else scores.to_dict())
    for key in ("standard_error", "optimism_error"):
        if found.get(key) is not None and not np.isfinite(found[key]):
            found[key] = None  # one fold does not tell
    metric = {"r2": "R²"}.get(found.get("scoring"), str(found.get("scoring", "score")))
    predictions = found.get("predictions")
    predictions = None if predictions is None else case.one(_as_predictions(predictions, case))
    if predictions is not None and len(predictions) != case.n:
        raise ValueError(f"scores has predictions of {len(predictions)} rows, X has {case.n}.")
    folds = found.get("scores")
    this = {"name": "this model", "score": found.get("mean"), "error": found.get("standard_error")}
    if predictions is not None:
        known = np.flatnonzero(_finite(predictions))
        counted = measure(case, case.y[known], predictions[known], part(case.weight, known))
        this = {**counted, **{key: value for key, value in this.items() if value is not None}}
    models = [this, *_given_baselines(found)]
    if len(models) == 1:
        models += _measured_baselines(case, case.shown(MANY))
    optimism = found.get("optimism")
    count = len(folds) if folds is not None else None
    return {
        "how": found.get("how") or (f"nested cross-validation, {count} folds" if count else "nested cross-validation"),
        "nested": True,
        "metric": metric,
        "models": models,
        "folds": folds,
        "optimism": None if optimism is None else {"value": optimism, "error": found.get("optimism_error")},
    }, predictions


def _as_predictions(values, case):
    """Predictions as numbers, nan where there is none; or as labels, None where there is none."""
    if case.classes is None:
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array(list(values), dtype=object)


def _given_baselines(found):
    """Baselines that the scores bring along: {name: {score, error, rmse}} or a list of such."""
    listed = found.get("baselines") or []
    if isinstance(listed, dict):
        listed = [{"name": name, **(value if isinstance(value, dict) else {"score": value})}
                  for name, value in listed.items()]  # fmt: skip
    kept = ("score", "error", "rmse", "mae")
    return [{"name": short(one["name"]), **{key: one.get(key) for key in kept}} for one in listed]


def measure(case, y, predicted, weight=None):
    """R², RMSE and MAE, or accuracy, with the standard error of the first; rows count by their weight."""
    if case.classes is not None:
        right = (y == predicted).astype(float)
        return {"score": average(right, weight), "error": _error_of_mean(right, weight), "rmse": None, "mae": None}
    e, d = y - predicted, y - average(y, weight)
    unit = max(float(np.abs(d).max()), float(np.abs(e).max()), np.finfo(float).tiny)
    w = np.ones(len(y)) if weight is None else weight / weight.mean()
    square, spread = w * (e / unit) ** 2, w * (d / unit) ** 2
    total = float(spread.sum())
    score = 1.0 - float(square.sum()) / total if total > 0 else float("nan")
    return {
        "score": score,
        "error": _bootstrap(square, spread),
        "rmse": root_mean_square(e, weight),
        "mae": average(np.abs(e), weight),
    }


def root_mean_square(e, weight=None):
    """√(Σ wᵢeᵢ²/Σ wᵢ), in any unit: the largest is divided out first."""
    unit = float(np.abs(e).max(initial=0.0))
    return unit * float(np.sqrt(average((e / unit) ** 2, weight))) if unit > 0 else 0.0


def _bootstrap(square, spread):
    """Standard error of 1 − Σe²/Σ(y − ȳ)², by drawing rows again."""
    n, rng = len(square), np.random.default_rng(0)
    index = rng.integers(0, n, size=(DRAWS, n)) if n * DRAWS <= 4_000_000 else None
    if index is None:  # the ratio of two means, to first order
        ratio = square.mean() / max(spread.mean(), np.finfo(float).tiny)
        return float(np.std(square - ratio * spread) / (np.sqrt(n) * max(spread.mean(), np.finfo(float).tiny)))
    below = spread[index].sum(axis=1)
    ratio = np.divide(square[index].sum(axis=1), below, out=np.full(DRAWS, np.nan), where=below > 0)
    if not np.isfinite(ratio).any():
        return float("nan")
    found = float(np.nanstd(ratio))
    return found if found > 1e-9 else 0.0  # the mean has no error of its own: it is what R² compares with


def _error_of_mean(values, weight=None):
    """√(Σ wᵢ²(vᵢ − v̄)²)/Σ wᵢ: sd/√n without weights."""
    w = np.ones(len(values)) if weight is None else weight
    return float(np.sqrt(np.sum((w * (values - average(values, weight))) ** 2)) / w.sum())


def _finite(values):
    """Which rows have a prediction."""
    return np.isfinite(values) if values.dtype.kind == "f" else np.array([v is not None for v in values])


# ------------------------------------------------------------------------------------------ the baselines
def _baselines(case, rows):
    """[(name, left-out predictions)]: the mean, and where there are columns a linear model and neighbours."""
    y = case.y[rows]
    if case.classes is not None:
        return _label_baselines(case, rows, y)
    n = len(y)
    w = np.ones(n) if case.weight is None else case.weight[rows]
    found = [("mean", (w @ y - w * y) / np.maximum(w.sum() - w, 1e-12 * w.sum()))]
    X = _readable(case, rows)
    if X is None:
        return found
    X = _standard(X)
    if X.shape[1] < min(n - 1, WIDE):
        found.append(("linear model", _linear(X, y, w)))
    if n > NEIGHBOURS + 1:
        from sklearn.neighbors import KNeighborsRegressor

        found.append((f"{NEIGHBOURS} neighbours", KNeighborsRegressor(NEIGHBOURS).fit(X, y).predict(None)))
    return found


def _label_baselines(case, rows, y):
    """The commonest class, logistic regression by folds, and neighbours."""
    classes, counts = np.unique(y, return_counts=True)
    found = [("commonest class", np.full(len(y), classes[np.argmax(counts)]))]
    X = _readable(case, rows)
    if X is None:
        return found
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    X = _standard(X)
    if X.shape[1] < WIDE and counts.min() >= 5:
        found.append(("linear model", quietly(cross_val_predict, LogisticRegression(max_iter=200), X, y, cv=5)))
    if len(y) > NEIGHBOURS + 1:
        found.append((f"{NEIGHBOURS} neighbours", KNeighborsClassifier(NEIGHBOURS).fit(X, y).predict(None)))
    return found


def _readable(case, rows):
    """Columns that a linear model and neighbours can read: numbers, and an indicator for each level of a category."""
    if case.pairwise:
        return None
    if case.vectors:
        return case.X[rows]
    return indicators(case, rows)


def _standard(X):
    """Columns of mean 0 and deviation 1; a constant one is 0."""
    sd = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0)


def _linear(X, y, w):
    """Left-out predictions of least squares with weights, yᵢ − eᵢ/(1 − hᵢ)."""
    root = np.sqrt(w)
    A = root[:, None] * np.column_stack([np.ones(len(y)), X])
    Q, s, _ = np.linalg.svd(A, full_matrices=False)
    Q = Q[:, s > 1e-10 * s[0]]
    h = np.clip((Q**2).sum(axis=1), 0.0, 1.0 - 1e-9)
    outside = y - np.column_stack([np.ones(len(y)), X]) @ np.linalg.lstsq(A, root * y, rcond=1e-10)[0]
    e = root * y - Q @ (Q.T @ (root * y))
    # a row of weight 0 is no part of the fit that predicts it
    return y - np.divide(e, root * (1.0 - h), out=outside, where=root > 0)
