"""The simple models that a model is compared with, and the measures of both."""

import numpy as np

from mercer.selection._nested import assemble

NEIGHBOURS = 5


def others(labels, n, d=1):
    """{name: estimator}: the simple models that a model is to be compared with, on n rows of d numbers."""
    neighbours = min(NEIGHBOURS, n)
    if labels:
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier

        found = {
            "commonest class": DummyClassifier(strategy="most_frequent"),
            "linear model": LogisticRegression(max_iter=1000),
            f"{neighbours} neighbours": KNeighborsClassifier(neighbours),
        }
        return found if d else dict([*found.items()][:1])
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.neighbors import KNeighborsRegressor

    found = {
        "mean": DummyRegressor(),
        "linear model": RidgeCV(np.logspace(-3, 3, 13)),
        f"{neighbours} neighbours": KNeighborsRegressor(neighbours),
    }
    return found if d else dict([*found.items()][:1])  # the others need numbers


def baseline(name, y, folds, parts, labels):
    """Fold scores and errors of a simple model."""
    scores = [score_of(y[test], values, labels) for (_, test), values in zip(folds, parts, strict=True)]
    mean, error = float(np.mean(scores)), error_of(np.array(scores))
    return {"name": name, "score": mean, "error": error, "scores": scores,
            **errors_of(y, assemble(y, folds, parts, labels), labels)}  # fmt: skip


def score_of(y, predicted, labels):
    """R², or the share of right labels; R² of a fold of equal targets is NaN-free: 0 unless all are met."""
    from sklearn.metrics import accuracy_score, r2_score

    return float(accuracy_score(y, predicted) if labels else r2_score(y, predicted))


def errors_of(y, predicted, labels):
    """RMSE and MAE over all left-out rows; nothing more for labels."""
    if labels:
        return {}
    e = (y - predicted)[np.isfinite(predicted)]  # not of folds for which there was no time
    return {"rmse": float(np.sqrt(np.mean(e**2))), "mae": float(np.mean(np.abs(e)))}


def error_of(values):
    """sd/√F; None from one fold, which does not tell."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
