"""Predictions of rows by models that did not see them: in closed form where there is one, else by folds."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.metaestimators import _safe_split

from mercer.report._case import LEFT_OUT, folds, frozen, levels, quietly

EXACT = "leave-one-out at the kernel and λ of the fit"
CLOSE = "approximate leave-one-out at the kernel and λ of the fit"
CAVITY = "leave-one-out probabilities at the kernel of the fit"
FEW = 60  # rows up to which an SVR is fitted again without each of them


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What is predicted for each row without it, and how that was found; the rest where there is any.

    Of several targets the arrays have a column for each; ``about`` takes one.
    """

    predicted: np.ndarray
    how: str
    std: np.ndarray | None = None
    proba: np.ndarray | None = None
    decision: np.ndarray | None = None
    quantiles: np.ndarray | None = None

    @property
    def one_by_one(self):
        """Whether each row was left out alone."""
        return "leave-one-out" in self.how

    def about(self, case):
        """The predictions of the target that a case is about."""
        std = None if self.std is None else case.one(self.std)
        return replace(self, predicted=case.one(self.predicted), std=std)


def left_out(case):
    """Predictions of the rows left out, of all targets, by the quickest honest way the model has."""
    if case.classes is not None:
        return _labels(case)
    found = _closed_form(case)
    return _by_folds(case) if found is None else found


def _closed_form(case):
    """Leave-one-out of models that have it; None for the others."""
    model, kind = case.model, type(case.model).__name__
    if case.n > LEFT_OUT:
        return None
    if kind == "GaussianProcessRegressor":
        std = quietly(lambda: model.loo_std_)
        return LeftOut(_minus(case, lambda: model.loo_residuals_), EXACT, std=std)
    if kind == "SVR":  # its span rule is for intervals: it can be far from a refit
        _check_rows(model.row_weight_, case)
        return None
    if kind == "KernelRidge" and not case.pairwise:
        get = (lambda: model.loo_residuals_) if hasattr(model, "loo_residuals_") else _by_influence(model)
        return LeftOut(_minus(case, get), EXACT)
    if model.criterion is not None and hasattr(model, "loo_decision_"):
        F = np.asarray(model.loo_decision_)
        F = model.loss_.mean(F.reshape(len(F), -1))
        _check_rows(F, case)
        return LeftOut(F, CLOSE, quantiles=F if levels(model) is not None else None)
    return None


def _by_influence(model):
    """Residuals of fits without a row, of a model that learnt nothing."""
    return lambda: model.influence().loo_residuals


def _minus(case, get):
    """Y minus residuals, one for each row; rows that the fit left out, with the weight 0, have none."""
    found = np.asarray(quietly(get))
    if len(found) < case.n and case.weight is not None and len(found) == np.count_nonzero(case.weight):
        full = np.full((case.n, *found.shape[1:]), np.nan)
        full[case.weight > 0] = found
        found = full
    _check_rows(found, case)
    return (case.Y if found.ndim == 2 else case.y) - found


def _check_rows(values, case):
    """Refuse rows that are not those of the fit."""
    if len(values) != case.n:
        raise ValueError(
            f"the model was fitted on {len(values)} rows, X and y have {case.n}: a report needs the rows of the fit."
        )


def _labels(case):
    """Labels, and probabilities where the model states them."""
    model = case.model
    if hasattr(model, "loo_probabilities_"):
        proba = np.asarray(quietly(lambda: model.loo_probabilities_))
        _check_rows(proba, case)
        return LeftOut(np.asarray(model.classes_)[proba.argmax(axis=1)], CAVITY, proba=proba)
    return _by_folds(case)


def _by_folds(case):
    """Each part predicted by the model fitted on the others, at the same kernel and λ."""
    model, (split, how) = frozen(case.model), _parts(case)
    if case.n < 4 or not split:
        why = f"got {case.n}" if case.n < 4 else f"and a class with 2 of them; the {case.n} classes have 1 each"
        raise ValueError(f"{type(model).__name__} needs at least 4 rows for a report, {why}.")
    kept = dict.fromkeys(_wanted(case))
    y = case.Y if case.columns > 1 else case.y
    for train, test in split:
        fitted = case.fit(model, *_safe_split(model, case.X, y, train), train)
        new, _ = _safe_split(model, case.X, y, test, train)
        for name, values in kept.items():
            found = _of_all_classes(quietly(getattr(fitted, name), new), name, fitted, case)
            kept[name] = _empty(case.n, found) if values is None else values
            kept[name][test] = found
    several = levels(case.model) is not None
    return LeftOut(kept["predict"], how, proba=kept.get("predict_proba"), decision=kept.get("decision_function"),
                   quantiles=kept["predict"] if several else None)  # fmt: skip


def _parts(case):
    """([(train, test), …], how that is called): each row alone for a small SVR, else folds."""
    if type(case.model).__name__ == "SVR" and case.n <= FEW:
        every = np.arange(case.n)
        return [(np.delete(every, i), every[i : i + 1]) for i in every], EXACT
    split = folds(case)
    how = f"{len(split)} folds, at the kernel and λ of the fit"
    rest = case.n - sum(len(test) for _, test in split)
    if rest:
        how += f"; {rest} row alone in its class is" if rest == 1 else f"; {rest} rows alone in their class are"
        how += " not judged"
    return split, how


def _wanted(case):
    """What is asked of the fits: of labels also probabilities, or for two classes the decision function."""
    if case.classes is None:
        return ["predict"]
    if hasattr(case.model, "predict_proba"):
        return ["predict", "predict_proba"]
    return ["predict", "decision_function"] if len(case.classes) == 2 else ["predict"]


def _empty(n, found):
    """Room for the predictions of n rows: nan, or None for labels, where there will be none."""
    numbers = found.dtype.kind == "f"
    return np.full((n, *found.shape[1:]), np.nan if numbers else None, dtype=float if numbers else object)


def _of_all_classes(found, name, fitted, case):
    """Predictions of a fold; a class that it did not see has probability 0."""
    found = np.asarray(found)
    if name == "predict" and case.classes is not None:
        return found.astype(object)
    if name == "predict_proba" and found.shape[1] < len(case.classes):
        full = np.zeros((len(found), len(case.classes)))
        full[:, np.searchsorted(case.classes, fitted.classes_)] = found
        return full
    return found
