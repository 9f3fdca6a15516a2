"""What the model answers when a column changes: the number that is looked at, importance, the width of its interval."""

import numpy as np
from scipy.special import ndtri

from mercer.report._factors import shuffled
from mercer.selection.judging import quietly

SHUFFLED, REPEATS, FEWEST = 400, 5, 40  # rows and repeats of the shuffling, and rows at least
ENTRIES = 2e8  # values of the kernel that the shuffling may ask for
COVERAGE = 0.9  # of the intervals that the page shows


def what(case):
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
    count = int(ENTRIES / (case.fitted_rows * REPEATS * max(len(case.factors), 1)))
    rows = case.shown(min(max(count, FEWEST), SHUFFLED))
    X = case.take(rows)
    base = values(case, X)
    unit = float(np.abs(base).max()) or 1.0
    scale = float((base / unit).std()) or 1.0
    rng = np.random.default_rng(0)
    rise = np.zeros((REPEATS, len(case.factors)))
    for k in range(REPEATS):
        order = rng.permutation(len(rows))
        for j, factor in enumerate(case.factors):
            moved = values(case, shuffled(case, X, factor, order)) - base
            rise[k, j] = np.sqrt(np.mean((moved / unit) ** 2)) / scale
    return rise.mean(axis=0), rise.std(axis=0) / np.sqrt(REPEATS)


def reach(residuals, coverage=COVERAGE):
    """The ⌈coverage·(n + 1)⌉-th smallest |residual| of rows left out; None where there are too few of them."""
    size = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    place = int(np.ceil(coverage * (len(size) + 1)))
    return float(size[place - 1]) if place <= len(size) else None


def half_width(case, left, X):
    """Half the width of the 90 % interval at some rows: the noisy deviation of a process, else what held rows left out.

    None for labels, and where too few rows were left out.
    """
    if case.classes is not None:
        return None
    if case.model.probabilistic:
        std = quietly(case.model.predict, X, return_std=True, noisy=True)[1]
        return ndtri((1 + COVERAGE) / 2) * case.one(std)
    q = reach(case.y - left.predicted)
    return None if q is None else np.full(len(X), q)
