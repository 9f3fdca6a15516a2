"""Predictions of rows by models that did not see them: in closed form where there is one, else by folds."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.metaestimators import _safe_split

from mercer.report._case import LEFT_OUT, folds, frozen, levels, quietly

EXACT = "leave-one-out at the kernel and λ of the fit"
SPAN = "leave-one-out by the span rule, at the kernel and λ of the fit"
CLOSE = "approximate leave-one-out at the kernel and λ of the fit"
CAVITY = "leave-one-out probabilities at the kernel of the fit"


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What is predicted for each row without it, and how that was found; the rest where there is any."""

    predicted: np.ndarray
    how: str
    std: np.ndarray | None = None
    proba: np.ndarray | None = None
    decision: np.ndarray | None = None
    quantiles: np.ndarray | None = None


def left_out(case):
    """Predictions of the rows left out, by the quickest honest way the model has."""
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
        std = case.one(quietly(lambda: model.loo_std_))
        return LeftOut(case.y - _residuals(case, lambda: model.loo_residuals_), EXACT, std=std)
    if kind in ("KernelRidge", "SVR") and not case.pairwise:
        if hasattr(model, "loo_residuals_"):
            residuals = _residuals(case, lambda: model.loo_residuals_)
        else:
            residuals = _residuals(case, lambda: model.influence().loo_residuals)
        return LeftOut(case.y - residuals, SPAN if kind == "SVR" else EXACT)
    if hasattr(model, "loo_decision_"):
        F = np.asarray(model.loo_decision_)
        F = model.loss_.mean(F.reshape(len(F), -1))
        _check_rows(F, case)
        return LeftOut(F[:, case.column or 0], CLOSE, quantiles=F if levels(model) is not None else None)
    return None


def _residuals(case, get):
    """One column of residuals, one for each row."""
    found = case.one(quietly(get))
    _check_rows(found, case)
    return found


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
    for train, test in split:
        fitted = quietly(model.fit, *_safe_split(model, case.X, case.y, train))
        new, _ = _safe_split(model, case.X, case.y, test, train)
        for name, values in kept.items():
            _scatter(values, test, quietly(getattr(fitted, name), new), name, fitted, case)
    out = {name: np.array(values) for name, values in kept.items()}
    how = f"{len(split)} folds, at the kernel and λ of the fit"
    if case.classes is not None:
        proba, decision = out.get("predict_proba"), out.get("decision_function")
        return LeftOut(out["predict"], how, proba=proba, decision=decision)
    several = levels(case.model) is not None
    return LeftOut(case.one(out["predict"]), how, quantiles=out["predict"] if several else None)


def _scatter(values, test, found, name, fitted, case):
    """Put the predictions of a fold in their places; a class that the fold did not see has probability 0."""
    found = np.asarray(found)
    if name == "predict_proba" and found.shape[1] < len(case.classes):
        full = np.zeros((len(found), len(case.classes)))
        full[:, np.searchsorted(case.classes, fitted.classes_)] = found
        found = full
    for i, value in zip(test, found, strict=True):
        values[i] = value
