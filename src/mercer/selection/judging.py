"""One judge: models fitted on some rows and asked about others, simple models beside them, measures, a clock."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import _safe_split

FOLDS = 5
FEW = 60  # rows up to which each one is left out alone
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
    """

    predicted: np.ndarray
    how: str = EXACT
    one_by_one: bool = True
    std: np.ndarray | None = None
    proba: np.ndarray | None = None
    decision: np.ndarray | None = None


def quietly(function, *args, **kwargs):
    """Call without warnings: what a fit on all rows had to say it has said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def fair_folds(y, labels, count=FOLDS, seed=0):
    """[(train, test), …]: each class in all of them; a row alone in its class is never left out."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n = len(y)
    if not labels:
        return list(KFold(min(count, n), shuffle=True, random_state=seed).split(np.zeros(n)))
    _, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    several, alone = np.flatnonzero(counts[code] > 1), np.flatnonzero(counts[code] == 1)
    if not len(several):
        return []
    count = min(count, int(counts[counts > 1].min()))
    split = StratifiedKFold(count, shuffle=True, random_state=seed).split(several, y[several])
    return [(np.union1d(several[train], alone), several[test]) for train, test in split]


def fit_part(model, X, y, rows, weight=None):
    """``model.frozen()`` fitted on some rows, quietly."""
    part = model.frozen(rows)
    A, b = _safe_split(part, X, y, rows)
    return quietly(part.fit, A, b) if weight is None else quietly(part.fit, A, b, sample_weight=weight[rows])


def new_part(model, X, y, test, train):
    """X of the rows ``test`` for a model that was fitted on the rows ``train``."""
    return _safe_split(model, X, y, test, train)[0]


def refitted(model, X, y, weight=None):
    """`RowsLeftOut` by fits at the kernel and λ of a fitted model: without each row up to 60, else without a fifth.

    Parameters
    ----------
    model : KernelEstimator
        Fitted; ``frozen`` is what is fitted again.
    X, y
        The rows of its fit.
    weight : ndarray of shape (n,), default=None

    Returns
    -------
    RowsLeftOut
    """
    y, labels = np.asarray(y), is_classifier(model)
    n = len(y)
    if not labels and n <= FEW:
        split, how = [(np.delete(np.arange(n), i), np.arange(i, i + 1)) for i in range(n)], EXACT
    else:
        split, how = fair_folds(y, labels), None
    if n < 4 or not split:
        why = f"got {n}" if n < 4 else f"and a class with 2 of them; the {n} classes have 1 each"
        raise ValueError(f"{type(model).__name__} needs at least 4 rows to leave some out, {why}.")
    kept = dict.fromkeys(["predict", *_more(model, labels)])
    for train, test in split:
        fitted = fit_part(model, X, y, train, weight)
        new = new_part(fitted, X, y, test, train)
        for name, values in kept.items():
            found = _of_all_classes(np.asarray(quietly(getattr(fitted, name), new)), name, fitted, model)
            kept[name] = _room(n, found) if values is None else values
            kept[name][test] = found
    if how is None:
        how = f"{len(split)} folds, at the kernel and λ of the fit"
        rest = n - sum(len(test) for _, test in split)
        if rest:
            how += f"; {rest} row alone in its class is" if rest == 1 else f"; {rest} rows alone in their class are"
            how += " not judged"
    proba, decision = kept.get("predict_proba"), kept.get("decision_function")
    return RowsLeftOut(kept["predict"], how, how is EXACT, proba=proba, decision=decision)


def _more(model, labels):
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
