"""What each column does: relevance from the length scales, shuffling, and partial dependence with bands."""

import numpy as np

from mercer.report._case import SEED
from mercer.report._factors import LEVELS, NUMBER, TEXT, put, shuffled
from mercer.report._pairs import pairs_section
from mercer.report._relevance import relevance
from mercer.report.findings import missing
from mercer.selection.judging import quietly

SHUFFLED, REPEATS = 400, 5  # rows and repeats of the shuffling
CURVES = 6  # columns with a curve of partial dependence
POINTS, AVERAGED = 25, 40  # points of a curve, rows it is an average over
SHOWN_LEVELS = 10  # levels of a category with a mark
COLUMNS = 40
MEASURE = "root mean square change of the prediction when the column is shuffled, in its standard deviations"


def effects_section(case):
    """Relevance, importance and curves of the columns, and the strongest pair; one line for objects."""
    factors = case.factors
    if not factors:
        what = "a matrix of kernel values" if case.pairwise else "whole objects"
        return missing(f"The inputs are {what}, not columns: there is no relevance and no partial dependence.")
    skipped = case.budget.skips("effects of the columns")
    if skipped:
        return skipped
    rise, error = importance(case)
    order = np.argsort(-rise, kind="stable")
    known = relevance(case)
    rows = []
    for j in order[:COLUMNS]:
        ell, matters = known[j]
        rows.append({"name": factors[j].name, "kind": factors[j].kind, "rise": float(rise[j]),
                     "error": float(error[j]), "length_scale": ell, "relevance": matters})  # fmt: skip
    moving = [factors[j] for j in order if factors[j].moves]
    return {
        "columns": rows,
        "more": len(order) - len(rows),
        "measure": MEASURE,
        "what": _what(case),
        "band": "posterior" if _process(case) else "rows",
        "curves": [dependence(case, factor) for factor in moving[:CURVES]],
        "texts": [factor.name for factor in factors if factor.kind == TEXT][:COLUMNS],
        "pairs": pairs_section(case, moving, values),
    }


def _process(case):
    """Whether the posterior of the curve is known."""
    return case.model.probabilistic


def _what(case):
    """What the curves show."""
    if case.classes is None:
        return case.target
    if hasattr(case.model, "predict_proba"):
        return f"P({case.target} = {case.classes[_class(case)]})"
    return "decision function"


def _class(case):
    """Which class the curves show: the second of two, else the first."""
    return 1 if len(case.classes) == 2 else 0


def values(case, X):
    """The number that a curve shows."""
    if case.classes is None:
        return case.predict(X)
    if hasattr(case.model, "predict_proba"):
        return quietly(case.model.predict_proba, X)[:, _class(case)]
    found = np.asarray(quietly(case.model.decision_function, X))
    return found if found.ndim == 1 else found[:, 0]


def importance(case):
    """How much the prediction moves when a factor is shuffled: root mean square, in standard deviations of all."""
    rows = case.shown(SHUFFLED)
    X = case.take(rows)
    base = values(case, X)
    unit = float(np.abs(base).max()) or 1.0
    scale = float((base / unit).std()) or 1.0
    rng = np.random.default_rng(SEED)
    rise = np.zeros((REPEATS, len(case.factors)))
    for k in range(REPEATS):
        order = rng.permutation(len(rows))
        for j, factor in enumerate(case.factors):
            moved = values(case, shuffled(case, X, factor, order)) - base
            rise[k, j] = np.sqrt(np.mean((moved / unit) ** 2)) / scale
    return rise.mean(axis=0), rise.std(axis=0) / np.sqrt(REPEATS)


def grid(factor, points):
    """Values of a factor that a curve goes through: evenly from the 2 % to the 98 % point, or all if they are few."""
    if factor.kind == LEVELS:
        return factor.common_levels(SHOWN_LEVELS)
    x = factor.values
    low, high = np.quantile(x, [0.02, 0.98])
    if high > low and len(np.unique(x)) > points:
        return np.linspace(low, high, points)
    return np.unique(np.quantile(x, np.linspace(0.0, 1.0, points)))


def dependence(case, factor):
    """The prediction averaged over rows, with one factor at each value of a grid; the band says how sure that is."""
    places = grid(factor, POINTS)
    rows = case.take(case.shown(AVERAGED))
    mean, down, up = [], [], []
    for value in places:
        Z = put(case, rows, factor, value)
        if _process(case):
            f, cov = quietly(case.model.predict, Z, return_cov=True)
            cov = cov[..., case.column or 0] if np.ndim(cov) == 3 else cov
            f, sd = case.one(f), np.sqrt(max(float(np.mean(cov)), 0.0))  # of the average itself
            ends = f.mean() - 2 * sd, f.mean() + 2 * sd
        else:
            f = values(case, Z)
            ends = np.quantile(f, [0.1, 0.9])
        mean.append(float(f.mean()))
        down.append(float(ends[0]))
        up.append(float(ends[1]))
    out = {"name": factor.name, "mean": np.array(mean), "low": np.array(down), "high": np.array(up)}
    if factor.kind == NUMBER:
        return {**out, "x": factor.shown(places)}
    return {**out, "x": np.arange(len(places)), "levels": [factor.levels[k] for k in places],
            "more": len(factor.levels) - len(places)}  # fmt: skip
