"""What each column does: relevance from the length scales, shuffling, and partial dependence with bands."""

import numpy as np

from mercer.report._case import SEED, quietly
from mercer.report.findings import missing

SHUFFLED, REPEATS = 400, 5  # rows and repeats of the shuffling
CURVES = 6  # columns with a curve of partial dependence
POINTS, AVERAGED = 25, 40  # points of a curve, rows it is an average over
COLUMNS = 40


def effects_section(case):
    """Relevance, importance and curves of the columns; one line for objects."""
    if not case.vectors or case.pairwise:
        return missing("The inputs are objects, not columns of numbers: there is no partial dependence.")
    loss = importance(case)
    order = np.argsort(-loss["rise"], kind="stable")
    rows = []
    lengths = _length_scales(case.kernel, len(case.names))
    for j in order[:COLUMNS]:
        sd = float(case.X[:, j].std())
        ell = None if lengths is None else float(lengths[j])
        relevance = None if ell is None else sd / ell
        rows.append({"name": case.names[j], "rise": float(loss["rise"][j]), "error": float(loss["error"][j]),
                     "length_scale": ell, "relevance": relevance})  # fmt: skip
    moving = [int(j) for j in order if np.ptp(case.X[:, j]) > 0][:CURVES]
    return {
        "columns": rows,
        "more": len(order) - len(rows),
        "measure": loss["measure"],
        "what": _what(case),
        "band": "posterior" if _process(case) else "rows",
        "curves": [_dependence(case, j) for j in moving],
    }


def _process(case):
    """Whether the posterior of the curve is known."""
    return type(case.model).__name__ == "GaussianProcessRegressor"


def _what(case):
    """What the curves show."""
    if case.classes is None:
        return case.target
    if hasattr(case.model, "predict_proba"):
        return (
            f"P({case.target} = {case.classes[1]})"
            if len(case.classes) == 2
            else f"P({case.target} = {case.classes[0]})"
        )
    return "decision function"


def _class(case):
    """Which class the curves show: the second of two, else the first."""
    return 1 if len(case.classes) == 2 else 0


def _values(case, X):
    """The number that a curve shows."""
    if case.classes is None:
        return case.predict(X)
    if hasattr(case.model, "predict_proba"):
        return quietly(case.model.predict_proba, X)[:, _class(case)]
    found = np.asarray(quietly(case.model.decision_function, X))
    return found if found.ndim == 1 else found[:, 0]


def importance(case):
    """How much the prediction moves when a column is shuffled: root mean square, in standard deviations of all."""
    rows = case.shown(SHUFFLED)
    X = case.X[rows]
    base = _values(case, X)
    unit = float(np.abs(base).max()) or 1.0
    scale = float((base / unit).std()) or 1.0
    rng = np.random.default_rng(SEED)
    rise = np.zeros((REPEATS, X.shape[1]))
    for k in range(REPEATS):
        order = rng.permutation(len(rows))
        for j in range(X.shape[1]):
            Z = X.copy()
            Z[:, j] = X[order, j]
            rise[k, j] = np.sqrt(np.mean(((_values(case, Z) - base) / unit) ** 2)) / scale
    return {
        "rise": rise.mean(axis=0),
        "error": rise.std(axis=0) / np.sqrt(REPEATS),
        "measure": "root mean square change of the prediction when the column is shuffled, in its standard deviations",
    }


def _length_scales(kernel, d):
    """One length scale for each column, where the kernel has exactly one such set; else None."""
    found, stack = [], [kernel]
    while stack:
        part = stack.pop()
        ell = getattr(part, "length_scale", None)
        if ell is not None:
            found.append(np.broadcast_to(np.asarray(ell, dtype=float), (d,)) if np.size(ell) in (1, d) else None)
        stack += [getattr(part, name) for name in part.parts]
        if type(part).__name__ in ("Columns", "Transformed", "Warped"):
            return None
    return found[0] if len(found) == 1 and found[0] is not None else None


def _dependence(case, j):
    """The prediction averaged over rows, with one column at each point of a grid; the band says how sure that is."""
    x = case.X[:, j]
    grid = np.unique(np.quantile(x, np.linspace(0.0, 1.0, POINTS)))
    low, high = np.quantile(x, [0.02, 0.98])
    if high > low and len(np.unique(x)) > POINTS:
        grid = np.linspace(low, high, POINTS)
    rows = case.X[case.shown(AVERAGED)]
    mean, down, up = [], [], []
    for value in grid:
        Z = rows.copy()
        Z[:, j] = value
        if _process(case):
            f, cov = quietly(case.model.predict, Z, return_cov=True)
            f, sd = case.one(f), np.sqrt(max(float(np.mean(cov)), 0.0))  # of the average itself
            ends = f.mean() - 2 * sd, f.mean() + 2 * sd
        else:
            f = _values(case, Z)
            ends = np.quantile(f, [0.1, 0.9])
        mean.append(float(f.mean()))
        down.append(float(ends[0]))
        up.append(float(ends[1]))
    return {"name": case.names[j], "x": grid, "mean": np.array(mean), "low": np.array(down), "high": np.array(up)}
