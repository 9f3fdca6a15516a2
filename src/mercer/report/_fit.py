"""How well the model fits: out-of-fold predictions and what is left in the residuals; or the confusion of classes."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import f as fisher
from scipy.stats import kruskal, rankdata

from mercer.report._factors import LEVELS, NUMBER
from mercer.report.findings import short, spread
from mercer.selection.judging import measure, part, root_mean_square

LISTED = 100  # targets of the table


def targets_section(case, left):
    """(section, case about the worst target): left-out scores of each target; (None, case) of a single one."""
    if case.columns == 1 or case.classes is not None:
        return None, case
    rows = [_one(case.about(j), left) for j in range(case.columns)]
    scores = np.array([np.inf if one["score"] is None else one["score"] for one in rows])
    worst = int(np.argmin(scores))
    order = [worst, *(j for j in range(case.columns) if j != worst)]
    listed = sorted(order[:LISTED])
    return {
        "shown": case.targets[worst],
        "how": left.how,
        "listed": [rows[j] for j in listed],
        "more": case.columns - len(listed),
    }, case.about(worst)


def _one(case, left):
    """One line of the table."""
    predicted = case.about_target(left).predicted
    found = measure(case.y, predicted, False, case.weight)
    score = found["score"] if np.isfinite(found["score"]) else None
    return {"name": case.target, **found, "score": score, "sd": root_mean_square(case.y - case.y.mean())}


BINS = 12
FEW = 12  # rows below which residuals are not tested for structure
COLUMNS, ALONG = 12, 3  # columns whose residuals are tested, and those along which they are drawn
CLASSES = 12  # classes of a confusion table


def fit_section(case, left, stated):
    """Predicted against measured, residuals, their structure; of labels the confusion, the ROC curve."""
    predicted = left.predicted
    if case.classes is not None:
        return _labels(case, predicted, stated)
    known = np.flatnonzero(np.isfinite(predicted))
    shown = known[np.isin(known, case.shown())]
    r = case.y - predicted
    out = {
        "rows": len(known),
        "shown": len(shown),
        "measured": case.y[shown],
        "predicted": predicted[shown],
        "labels": [case.label(i) for i in shown],
        "rmse": root_mean_square(r[known], part(case.weight, known)),
        "quantiles": _normal_quantiles(r[known]),
        "tests": {},
        "by_column": [],
    }
    if len(known) >= FEW:
        out["tests"] = _structure(case, r, known, None if stated is None or case.classes is not None else stated.std)
        there = [factor for factor in case.by_importance if factor.moves]
        out["by_column"] = [_along(factor, known, r[known]) for factor in there[:ALONG]]
    return out


def _normal_quantiles(r):
    """Residuals in order, in standard deviations, against those of a normal distribution; at most 100."""
    n = len(r)
    order = np.sort(r / (root_mean_square(r) or 1.0))
    pick = spread(n, 100)
    return {"normal": ndtri((pick + 0.5) / n), "residual": order[pick]}


def _along(factor, known, r):
    """Quartiles of the residuals in bins of one column: its values, if they are few, else equally many rows each."""
    x = factor.values[known]
    values = np.unique(x)
    if factor.kind == LEVELS:
        drawn = np.intersect1d(factor.common_levels(BINS, known), values)
        parts = [np.flatnonzero(x == level) for level in drawn]
    elif len(values) <= BINS:
        parts = [np.flatnonzero(x == value) for value in values]
    else:
        order = np.argsort(x, kind="stable")
        parts = [part for part in np.array_split(order, min(BINS, max(len(x) // 8, 1))) if len(part)]
    quartiles = np.array([np.quantile(r[part], [0.25, 0.5, 0.75]) for part in parts])
    out = {"name": factor.name, "low": quartiles[:, 0], "middle": quartiles[:, 1], "high": quartiles[:, 2]}
    if factor.kind == LEVELS:
        return {**out, **factor.along(drawn, "centre"), "more": len(values) - len(drawn)}
    return {**out, **factor.along([np.median(x[part]) for part in parts], "centre")}


# -------------------------------------------------------------------------------- what should not be there
def _structure(case, r, known, std=None):
    """Trend along a column, spread that changes, residuals that follow the order of the rows.

    Where deviations are stated, the spread is that of residuals beside them: noise of each row may be known.
    """
    e = r[known] / max(np.abs(r[known]).max(), np.finfo(float).tiny)  # so that squares neither overflow nor vanish
    fitted = case.predict(case.X if len(known) == case.n else case.take(known))
    along = {"the prediction": fitted}
    along |= {f.name: f.values[known] for f in case.factors[:COLUMNS] if f.kind == NUMBER}
    along = {name: x for name, x in along.items() if np.ptp(x) > 0}
    out = {"rows": len(known), "order": _order(e)}
    trends = [_trend(name, x, e) for name, x in along.items() if name != "the prediction"]
    out["trend"] = max(trends, key=lambda one: one["share"], default=None)
    told = std is not None and np.isfinite(std[known]).all() and (std[known] > 0).all()
    z = e / (std[known] / std[known].max()) if told else e
    spreads = [_spread(name, x, z, len(along)) | {"beside": bool(told)} for name, x in along.items()]
    out["spread"] = min(spreads, key=lambda one: (one["p"], -one["ratio"]), default=None)
    return out


def _trend(name, x, e):
    """Share of the variance of the residuals that a cubic in one column explains, and how likely by chance."""
    t = (rankdata(x) - 1) / (len(x) - 1) * 2 - 1  # ranks: one far row does not decide; equal values share one
    A = np.column_stack([t, t**2, t**3])
    A, s, _ = np.linalg.svd(A - A.mean(axis=0), full_matrices=False)
    A = A[:, s > 1e-9 * s[0]]  # three values make a parabola
    part = A.T @ (e - e.mean())
    total = float(np.sum((e - e.mean()) ** 2))
    share = float(part @ part) / total if total > 0 else 0.0
    terms, free = A.shape[1], max(len(x) - 1 - A.shape[1], 1)
    p = float(fisher.sf(share / terms / max((1 - share) / free, 1e-300), terms, free))
    return {"name": name, "share": share, "p": p}


def _spread(name, x, e, tests):
    """Whether |e| differs between parts of the rows along x, by ranks, and the size in the worst part over the best."""
    parts = np.array_split(np.argsort(x, kind="stable"), min(5, len(x) // 6))
    sizes = np.sqrt([np.mean(e[part] ** 2) for part in parts])
    p = float(kruskal(*[np.abs(e[part]) for part in parts]).pvalue) if np.ptp(np.abs(e)) > 0 else 1.0
    ratio = float(sizes.max() / max(sizes.min(), 1e-12 * max(sizes.max(), 1e-300)))
    return {"name": name, "p": min(p * tests, 1.0), "ratio": ratio, "parts": len(parts)}


def _order(e):
    """Correlation of each residual with the next one, and how many standard errors that is."""
    d = e - e.mean()
    total = float(d @ d)
    r = float(d[1:] @ d[:-1]) / total if total > 0 else 0.0
    return {"r": r, "z": r * np.sqrt(len(e))}


# ---------------------------------------------------------------------------------------------- labels
def _labels(case, predicted, stated):
    """Confusion table, and for two classes the ROC curve."""
    from sklearn.metrics import confusion_matrix

    classes = [short(c, 40) for c in case.classes]
    known = np.array([value is not None for value in predicted])
    numbers = [[case.classes.index(label) for label in labels] for labels in (case.y[known], predicted[known])]
    table = confusion_matrix(*numbers, labels=range(len(classes)))
    shown = min(len(classes), CLASSES)
    out = {
        "rows": case.n,
        "shown": case.n,
        "classes": classes[:shown],
        "more_classes": len(classes) - shown,
        "confusion": table[:shown, :shown].tolist(),
        "never": [
            {"name": label, "rows": int(rows)}
            for label, rows, times in zip(classes, table.sum(axis=1), table.sum(axis=0), strict=True)
            if rows and not times
        ],
        "roc": None,
        "tests": {},
    }
    score = stated.proba[:, 1] if stated.proba is not None else stated.decision
    judged = np.flatnonzero(np.isfinite(score)) if len(classes) == 2 and score is not None else []
    positive, score = case.y[judged] == case.classes[1], score[judged] if len(judged) else None
    if 0 < np.sum(positive) < len(judged):
        from sklearn.metrics import roc_auc_score, roc_curve

        false, true, _ = roc_curve(positive, score)
        pick = spread(len(false), 200)
        out["roc"] = {"false": false[pick], "true": true[pick], "area": float(roc_auc_score(positive, score))}
    return out
