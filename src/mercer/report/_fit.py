"""How well the model fits: out-of-fold predictions and what is left in the residuals; or the confusion of classes."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import f as fisher
from scipy.stats import kruskal, rankdata

from mercer.report._factors import LEVELS, NUMBER
from mercer.report.findings import evenly, short
from mercer.report.parts import ClassCount
from mercer.report.parts_fit import (
    ClassificationFit,
    ColumnResiduals,
    NormalPlot,
    RegressionFit,
    ResidualOrder,
    ResidualSpread,
    ResidualTests,
    ResidualTrend,
    RocCurve,
    TargetScore,
    TargetTable,
)
from mercer.selection.judging import measure, part, root_mean_square


def targets_section(case, left):
    """(table, case about the worst target): left-out scores of each target; (None, case) of a single one."""
    if case.columns == 1 or case.classes is not None:
        return None, case
    rows = [_target_score(case.about(j), left) for j in range(case.columns)]
    scores = np.array([np.inf if one.score is None else one.score for one in rows])
    worst = int(np.argmin(scores))
    order = [worst, *(j for j in range(case.columns) if j != worst)]
    some = sorted(order[:100])
    table = TargetTable(shown=case.targets[worst], how=left.how, listed=[rows[j] for j in some],
                        more=case.columns - len(some))  # fmt: skip
    return table, case.about(worst)


def _target_score(case, left):
    """One line of the table."""
    found = measure(case.y, case.about_target(left).predicted, False, case.weight)
    score = found["score"] if np.isfinite(found["score"]) else None
    return TargetScore(name=case.target, **{**found, "score": score}, sd=root_mean_square(case.y - case.y.mean()))


BINS = 12  # of a column whose residuals are drawn
COLUMNS, ALONG = 12, 3  # columns whose residuals are tested, and those along which they are drawn
CLASSES = 12  # of a confusion table


def fit_section(case, left, stated):
    """Predicted against measured, residuals, their structure; of labels the confusion, the ROC curve."""
    predicted = left.predicted
    if case.classes is not None:
        return _confusion(case, predicted, stated)
    known = np.flatnonzero(np.isfinite(predicted))
    shown = known[np.isin(known, case.shown())]
    r = case.y - predicted
    tests, along = ResidualTests(), []
    if len(known) >= BINS:  # fewer are not tested for structure
        tests = _structure(case, r, known, None if stated is None else stated.std)
        along = [factor for factor in case.by_importance if factor.moves][:ALONG]
    return RegressionFit(
        rows=len(known),
        shown=len(shown),
        measured=case.y[shown],
        predicted=predicted[shown],
        labels=[case.label(i) for i in shown],
        rmse=root_mean_square(r[known], part(case.weight, known)),
        quantiles=_normal_quantiles(r[known]),
        tests=tests,
        by_column=[_residuals_along(factor, known, r[known]) for factor in along],
    )


def _normal_quantiles(r):
    """Residuals in order, in standard deviations, against those of a normal distribution; at most 100."""
    n = len(r)
    order = np.sort(r / (root_mean_square(r) or 1.0))
    pick = evenly(n, 100)
    return NormalPlot(normal=ndtri((pick + 0.5) / n), residual=order[pick])


def _residuals_along(factor, known, r):
    """Quartiles of the residuals in bins of one column: its values, if they are few, else equally many rows each."""
    x = factor.values[known]
    values = np.unique(x)
    if factor.kind == LEVELS:
        common = np.intersect1d(factor.common_levels(BINS, known), values)
        parts = [np.flatnonzero(x == level) for level in common]
    elif len(values) <= BINS:
        parts = [np.flatnonzero(x == value) for value in values]
    else:
        order = np.argsort(x, kind="stable")
        parts = [part for part in np.array_split(order, min(BINS, max(len(x) // 8, 1))) if len(part)]
    quartiles = np.array([np.quantile(r[part], [0.25, 0.5, 0.75]) for part in parts])
    if factor.kind == LEVELS:
        places = factor.along(common, "centre") | {"more": len(values) - len(common)}
    else:
        places = factor.along([np.median(x[part]) for part in parts], "centre")
    low, middle, high = quartiles.T
    return ColumnResiduals(name=factor.name, low=low, middle=middle, high=high, **places)


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
    trends = [_trend_test(name, x, e) for name, x in along.items() if name != "the prediction"]
    beside = std is not None and np.isfinite(std[known]).all() and (std[known] > 0).all()
    z = e / (std[known] / std[known].max()) if beside else e
    spreads = [_spread_test(name, x, z, len(along), bool(beside)) for name, x in along.items()]
    return ResidualTests(
        rows=len(known),
        order=_order_test(e),
        trend=max(trends, key=lambda one: one.share, default=None),
        spread=min(spreads, key=lambda one: (one.p, -one.ratio), default=None),
    )


def _trend_test(name, x, e):
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
    return ResidualTrend(name=name, share=share, p=p)


def _spread_test(name, x, e, tests, beside):
    """Whether |e| differs between parts of the rows along x, by ranks, and the size in the worst part over the best."""
    parts = np.array_split(np.argsort(x, kind="stable"), min(5, len(x) // 6))
    sizes = np.sqrt([np.mean(e[part] ** 2) for part in parts])
    p = float(kruskal(*[np.abs(e[part]) for part in parts]).pvalue) if np.ptp(np.abs(e)) > 0 else 1.0
    ratio = float(sizes.max() / max(sizes.min(), 1e-12 * max(sizes.max(), 1e-300)))
    return ResidualSpread(name=name, p=min(p * tests, 1.0), ratio=ratio, parts=len(parts), beside=beside)


def _order_test(e):
    """Correlation of each residual with the next one, and how many standard errors that is."""
    d = e - e.mean()
    total = float(d @ d)
    r = float(d[1:] @ d[:-1]) / total if total > 0 else 0.0
    return ResidualOrder(r=r, z=r * np.sqrt(len(e)))


# ---------------------------------------------------------------------------------------------- labels
def _confusion(case, predicted, stated):
    """Confusion table, and for two classes the ROC curve."""
    from sklearn.metrics import confusion_matrix

    classes = [short(c, 40) for c in case.classes]
    known = np.array([value is not None for value in predicted])
    numbers = [[case.classes.index(label) for label in labels] for labels in (case.y[known], predicted[known])]
    table = confusion_matrix(*numbers, labels=range(len(classes)))
    shown = min(len(classes), CLASSES)
    counts = zip(classes, table.sum(axis=1), table.sum(axis=0), strict=True)
    return ClassificationFit(
        rows=case.n,
        shown=case.n,
        classes=classes[:shown],
        more_classes=len(classes) - shown,
        confusion=table[:shown, :shown].tolist(),
        never=[ClassCount(name=label, rows=int(rows)) for label, rows, times in counts if rows and not times],
        roc=_roc(case, stated) if len(classes) == 2 else None,
    )


def _roc(case, stated):
    """The ROC curve of two classes, where the rows that have a score are of both."""
    from sklearn.metrics import roc_auc_score, roc_curve

    score = stated.proba[:, 1] if stated.proba is not None else stated.decision
    judged = np.flatnonzero(np.isfinite(score)) if score is not None else []
    positive = case.y[judged] == case.classes[1]
    if not 0 < np.sum(positive) < len(judged):
        return None
    false, true, _ = roc_curve(positive, score[judged])
    pick = evenly(len(false), 200)
    return RocCurve(false=false[pick], true=true[pick], area=float(roc_auc_score(positive, score[judged])))
