"""What a model answers at some inputs, as the page shows it: a number or probabilities, and 90 % intervals."""

import numpy as np

from mercer.selection.judging import quietly

COVERAGE = 0.9  # of the intervals that the page shows


def has_several(case):
    """Whether there are probabilities of more than two classes: each has a curve of its own."""
    return case.classes is not None and len(case.classes) > 2 and hasattr(case.model, "predict_proba")


def common_classes(case, most):
    """Numbers of the commonest classes, in their order."""
    counts = np.bincount(np.searchsorted(case.classes, case.y), minlength=len(case.classes))
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def name_of_values(case):
    """What the curves show."""
    if case.classes is None:
        return case.target
    if hasattr(case.model, "predict_proba"):
        return f"P({case.target} = {case.classes[_class(case)]})"
    return "decision function"


def _class(case):
    """Which class the curves show: the second of two, else the first."""
    return 1 if len(case.classes) == 2 else 0


def shown_values(case, X):
    """The number that a curve shows."""
    if case.classes is None:
        return case.predict(X)
    if hasattr(case.model, "predict_proba"):
        return quietly(case.model.quick_proba, X)[:, _class(case)]
    found = np.asarray(quietly(case.model.decision_function, X))
    return found if found.ndim == 1 else found[:, 0]


def answers(case, X):
    """What is predicted: a number, the probability of the second of two classes, or that of each of several."""
    return quietly(case.model.quick_proba, X) if has_several(case) else shown_values(case, X)


def reach(residuals, coverage=COVERAGE):
    """The ⌈coverage·(n + 1)⌉-th smallest |residual| of rows left out; None where there are too few of them."""
    size = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    place = int(np.ceil(coverage * (len(size) + 1)))
    return float(size[place - 1]) if place <= len(size) else None


def interval(case, left, X):
    """(low, high) of 90 % at some rows: those that the model states, else ± what held rows left out.

    None for labels, and where too few rows were left out.
    """
    if case.classes is not None:
        return None
    if case.errors is not None:
        ends = quietly(case.errors.interval_of, case.model, X, COVERAGE)
        return (ends[:, 0], ends[:, 1]) if np.isfinite(ends).all() else None
    if case.model.probabilistic or is_skewed(case):
        ends = quietly(case.model.predict_interval, X, COVERAGE)
        return case.one(ends[:, 0]), case.one(ends[:, 1])
    q, f = reach(case.y - left.predicted), case.predict(X)
    return None if q is None else (f - q, f + q)


def is_skewed(case):
    """Whether intervals need not lie evenly around the prediction: between quantiles, or of a transformed target."""
    method = case.model.interval_method
    return method == "mapped" or (method == "mixture" and case.errors is None)
