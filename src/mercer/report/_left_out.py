"""Predictions of rows by models that did not see them: in closed form where there is one, else by folds."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.metaestimators import _safe_split

from mercer.report._case import LEFT_OUT, folds, frozen, levels, quietly

EXACT = "leave-one-out at the kernel and λ of the fit"
SPAN = "leave-one-out by the span rule, at the kernel and λ of the fit"
CLOSE = "approximate leave-one-out at the kernel and λ of the fit"
CAVITY = "leave-one-out probabilities at the kernel of the fit"


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
    if kind in ("KernelRidge", "SVR") and not case.pairwise:
        get = (lambda: model.loo_residuals_) if hasattr(model, "loo_residuals_") else _by_influence(model)
        return LeftOut(_minus(case, get), SPAN if kind == "SVR" else EXACT)
    if hasattr(model, "loo_decision_"):
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
    """Each fold predicted by the model fitted on the others, at the same kernel and λ."""
    model, split = frozen(case.model), folds(case)
    if case.n < 4:
        raise ValueError(f"{type(model).__name__} needs at least 4 rows for a report, got {case.n}.")
    wanted = ["predict", "predict_proba" if hasattr(model, "predict_proba") else "decision_function"]
    kept = {name: [None] * case.n for name in (wanted if case.classes is not None else wanted[:1])}
    y = case.Y if case.columns > 1 else case.y
    for train, test in split:
        fitted = case.fit(model, *_safe_split(model, case.X, y, train), train)
        new, _ = _safe_split(model, case.X, y, test, train)
        for name, values in kept.items():
            _scatter(values, test, quietly(getattr(fitted, name), new), name, fitted, case)
    out = {name: np.array(values) for name, values in kept.items()}
    how = f"{len(split)} folds, at the kernel and λ of the fit"
    if case.classes is not None:
        proba, decision = out.get("predict_proba"), out.get("decision_function")
        return LeftOut(out["predict"], how, proba=proba, decision=decision)
    several = levels(case.model) is not None
    return LeftOut(out["predict"], how, quantiles=out["predict"] if several else None)


def _scatter(values, test, found, name, fitted, case):
    """Put the predictions of a fold in their places; a class that the fold did not see has probability 0."""
    found = np.asarray(found)
    if name == "predict_proba" and found.shape[1] < len(case.classes):
        full = np.zeros((len(found), len(case.classes)))
        full[:, np.searchsorted(case.classes, fitted.classes_)] = found
        found = full
    for i, value in zip(test, found, strict=True):
        values[i] = value
