"""The learning curve: the error of rows left out against the number of rows that the model learns from."""

import numpy as np

from mercer._clock import Clock
from mercer.report._case import SEED
from mercer.report._factors import indicators
from mercer.report.findings import short
from mercer.report.parts import Missing
from mercer.report.parts_fit import LearningFindings, ModelScore, NoiseFloor, Optimism, ScoreFindings
from mercer.selection.judging import (
    RowsLeftOut,
    average,
    fair_folds,
    judge_simple_models,
    measure,
    part,
    quietly,
    root_mean_square,
)
from mercer.selection.noise import noise_level


def own_scores(case, left):
    """Scores of the left-out predictions, and of simple models judged by the same rows."""
    this = measure(case.y, left.predicted, case.classes is not None, case.weight)
    return ScoreFindings(
        how=left.how,
        nested=False,
        metric="accuracy" if case.classes is not None else "R²",
        models=[ModelScore(name="this model", **this), *_simple(case)],
        folds=None,
        optimism=None,
    )


def _simple(case):
    """The simple models with their measures."""
    rows, labels = case.shown(case.limits.rows_simple), case.classes is not None
    y, w, X = case.y[rows], part(case.weight, rows), _readable(case, rows)
    equal = None if case.equal is None else np.unique(case.equal[rows], return_inverse=True)[1]
    found = judge_simple_models(X, y, labels, fair_folds(y, labels, equal), w, case.budget)
    return [ModelScore(name=name, **measure(y, values, labels, w)) for name, values in found]


def _readable(case, rows):
    """Columns that simple models can read: numbers, and an indicator for each level of a category; None without."""
    if case.pairwise:
        return None
    X = np.asarray(case.X[rows], dtype=float) if case.vectors else indicators(case, rows)
    return None if X is None or X.shape[1] > case.limits.columns else X


def given_scores(case, scores):
    """(scores, `RowsLeftOut` or None): of a `NestedResult`, or anything whose ``to_dict`` has the same names."""
    found = dict(scores if isinstance(scores, dict) else scores.to_dict())
    for key in ("standard_error", "optimism_error"):
        if found.get(key) is not None and not np.isfinite(found[key]):
            found[key] = None  # one fold does not tell
    predictions, std = (_as_predictions(found.get(key), case) for key in ("predictions", "deviations"))
    if predictions is not None and len(predictions) != case.n:
        raise ValueError(f"scores has predictions of {len(predictions)} rows, X has {case.n}.")
    folds, optimism, proba = found.get("scores"), found.get("optimism"), found.get("probabilities")
    nested = "nested cross-validation" if folds is None else f"nested cross-validation, {len(folds)} folds"
    how = found.get("how") or nested
    judged = ScoreFindings(
        how=how,
        forward=bool(found.get("forward")),
        nested=True,
        metric={"r2": "R²"}.get(found.get("scoring"), str(found.get("scoring", "score"))),
        models=[_given_score(case, found, predictions), *(_given_simple(found) or _simple(case))],
        folds=folds,
        optimism=None if optimism is None else Optimism(value=optimism, error=found.get("optimism_error")),
    )
    proba = None if proba is None else np.asarray(proba, dtype=float)
    return judged, None if predictions is None else RowsLeftOut(predictions, how, False, std, proba)


def _given_score(case, found, predictions):
    """The score of the model: what was given, which may be of more rows than these; the rest from its predictions."""
    given = {"score": found.get("score", found.get("mean")), "error": found.get("standard_error")}
    given |= {key: found.get(key) for key in ("rmse", "mae")}
    if predictions is not None:
        known = {key: value for key, value in given.items() if value is not None}
        given = measure(case.y, predictions, case.classes is not None, case.weight) | known
    return ModelScore(name="this model", **given)


def _as_predictions(values, case):
    """Predictions as numbers, nan where there is none; or as labels, None where there is none."""
    if values is None:
        return None
    if case.classes is None:
        return case.one(np.array([np.nan if value is None else value for value in values], dtype=float))
    return case.one(np.array(list(values), dtype=object))


def _given_simple(found):
    """Simple models that the scores bring along, each with its name."""
    return [ModelScore(name=short(one["name"]), **{key: one.get(key) for key in ("score", "error", "rmse", "mae")})
            for one in found.get("baselines") or []]  # fmt: skip


SIZES, LEAST = 6, 8  # of the curve, and rows of the first
GROWTH = 2.0  # the power of the rows with which a fit takes longer, where few of them hardly count
FEWEST = 20  # rows of a curve


def learning_section(case, alone):
    """Errors of five folds at a few sizes, kernel and λ as they are; the noise floor; what leaving one out brings."""
    most = case.limits.rows_learnt
    if case.n < FEWEST:
        return Missing(missing=f"A learning curve needs {FEWEST} rows; there are {case.n}.")
    if case.forward:
        return Missing(
            missing="A series is judged by forecasts, of which rows drawn at random tell nothing: no learning curve."
        )
    if not case.seen:
        return Missing(
            missing=f"The fit had {case.fitted_rows} other rows: a curve of these {case.n} tells nothing of it."
        )
    if case.pairwise and case.n > most:
        return Missing(
            missing=f"A matrix of kernel values is not sampled; the learning curve is drawn up to {most} rows."
        )
    if case.budget.skips("learning curve"):
        return case.budget.missing
    rows = case.shown(most)
    sizes, errors, spreads, why = _errors_by_size(case, rows)
    if len(sizes) < 2:
        return Missing(missing=why)
    whole = alone is not None and alone.one_by_one and len(rows) == case.n
    return LearningFindings(
        metric="RMSE" if case.classes is None else "error rate",
        rows=len(rows),
        of=case.fitted_rows,
        sizes=sizes,
        error=np.array(errors),
        spread=np.array(spreads),
        all_but_one=_error(case, case.y, alone.predicted, np.arange(case.n)) if whole else None,
        floor=_floor(case),
    )


def _errors_by_size(case, rows):
    """(sizes, errors, standard errors over the folds, why there are no more), the small sizes first, in time."""
    clock = Clock(min(case.budget.left, case.limits.seconds_of_learning))
    split = [(np.intersect1d(train, rows), np.intersect1d(test, rows)) for train, test in case.folds()]
    rng = np.random.default_rng(SEED)
    split = [(rng.permutation(train), test) for train, test in split if len(test)]
    if not split:
        return [], [], [], "A learning curve needs a class with at least 2 rows."
    largest = min(len(train) for train, _ in split)
    wanted = np.unique(np.geomspace(min(max(LEAST, largest // 32), largest), largest, SIZES).round().astype(int))
    sizes, errors, spreads, why, began, before = [], [], [], "A learning curve needs more rows.", 0.0, 1
    for size in wanted:
        took, began = clock.seconds - began, clock.seconds
        if sizes and not clock.fits(took * (size / before) ** GROWTH):
            why = "A learning curve takes too long for this model, and is left out."
            break
        tried, before = [_fold_error(case, train[:size], test) for train, test in split], size
        found = [one for one in tried if not isinstance(one, str)]
        if not found:
            why = f"There is no learning curve: of {size} rows no fit succeeded ({tried[-1].rstrip('.')})."
            continue
        weights = np.array([weight for _, weight in found])
        values = np.array([value for value, _ in found])
        sizes.append(int(size))
        errors.append((average if case.classes is not None else root_mean_square)(values, weights))
        spreads.append(root_mean_square(values - values.mean()) / float(np.sqrt(len(values))))
    return sizes, errors, spreads, why


def _fold_error(case, train, test):
    """(error on a fold, its weight); where the rows do not make a model, why."""
    train = np.sort(train)
    if case.classes is not None and len(np.unique(case.y[train])) < 2:
        return "they are of one class"
    try:
        fitted = case.fit(train)
        predicted = case.one(quietly(fitted.predict, case.new(fitted, test, train)))
    except (ValueError, np.linalg.LinAlgError) as error:  # too few rows for a trend, or all of weight 0
        return short(error, 200)
    weight = float(len(test)) if case.weight is None else float(case.weight[test].sum())
    return (_error(case, case.y[test], predicted, test), weight) if weight > 0 else "all have weight 0"


def _error(case, y, predicted, rows):
    """RMSE, or the share of wrong labels, by weight."""
    if case.classes is not None:
        return average((y != predicted).astype(float), part(case.weight, rows))
    known = np.isfinite(predicted)
    return root_mean_square((y - predicted)[known], part(case.weight, rows[known]))


def _floor(case):
    """The standard deviation of the noise, below which no error falls, and where it is from; None for labels."""
    if case.classes is not None or case.pairwise:
        return None
    X = case.kernel.validate(case.X)
    found, how = (None, None) if case.n > case.limits.rows_compared else _level(case, X)
    if how == "duplicates":
        return NoiseFloor(value=found, how="rows with equal inputs", exact=True)
    model = case.model
    if model.probabilistic and model.row_lam_ is None:
        return NoiseFloor(value=float(np.sqrt(model.lam_)), how="the noise variance of the model", exact=True)
    residual = _from_residuals(case)
    if residual is not None:
        return NoiseFloor(value=residual, how="residuals of the fit and its degrees of freedom", exact=True)
    return None if found is None else NoiseFloor(value=found, how="nearest rows, slope included", exact=False)


def _level(case, X):
    """(δ, how) from equal inputs or nearest neighbours; rows of weight 0 do not count."""
    size = float(np.abs(case.y).max()) or 1.0
    keep = np.ones(case.n, dtype=bool) if case.weight is None else case.weight > 0
    if not keep.all():
        X = case.kernel.validate(case.take(np.flatnonzero(keep)))
    weight = None if case.weight is None else case.weight[keep] / case.weight[keep].mean()
    delta, how = quietly(noise_level, case.kernel, X, (case.y[keep] / size)[:, None], weight)
    return (size * delta, how) if np.isfinite(delta) else (None, None)


def _from_residuals(case):
    """√(Σ wᵢ(yᵢ − f(xᵢ))²/(n − dof)) of a ridge model whose degrees of freedom are known."""
    leverage = (
        quietly(lambda: case.model.leverage_) if case.model.linear and case.n <= case.limits.rows_compared else ()
    )
    if len(leverage) != case.n:
        return None
    used = np.isfinite(leverage)
    free = int(used.sum()) - float(np.sum(leverage[used]))
    if free < 0.1 * used.sum():
        return None
    e = (case.y - case.predict(case.X))[used]
    return root_mean_square(e, part(case.weight, used)) * float(np.sqrt(used.sum() / free))
