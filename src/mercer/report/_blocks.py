"""Rows left out in blocks, the ends of columns and clusters: is the model there far worse than a simpler one?"""

import numpy as np

from mercer._clock import Clock
from mercer.estimators import KernelRidge
from mercer.report._factors import NUMBER, indicators
from mercer.report.parts import Missing
from mercer.report.parts_fit import BlockErrors, BlockFindings
from mercer.selection.judging import part, predict_simply, quietly, root_mean_square, simple_models

FEWEST = 40  # rows from which blocks are left out
ENDS = 0.2  # share of the rows at each end of a column
NAMES = ("model", "a linear model", "kernel ridge regression", "the mean")


def blocks_section(case):
    """Errors of the model, a line, a ridge model and the mean on rows left out in blocks; what was chosen is held."""
    if case.classes is not None or case.forward or not case.seen or case.pairwise:
        return Missing(missing="Blocks are left out of tables of rows without an order, of a target of numbers.")
    if case.n < FEWEST:
        return Missing(missing=f"Rows are left out in blocks from {FEWEST} rows on; there are {case.n}.")
    if case.model.quantile_levels_ is not None:
        return Missing(missing="Quantiles are not compared with a line.")
    rows = case.shown(case.limits.rows_in_blocks)
    X = np.asarray(case.X[rows], dtype=float) if case.vectors else indicators(case, rows)
    if X is None or not 0 < X.shape[1] <= case.limits.columns:
        return Missing(missing="The inputs are not some columns of numbers, along which blocks could be left out.")
    if case.budget.skips("blocks of rows"):
        return case.budget.missing
    sd = X.std(axis=0)
    X, found = (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0), []
    clock = Clock(min(case.budget.left, case.limits.seconds_of_blocks))
    quick = _ridge(case, X, rows)
    for name, blocks in _split_blocks(case, rows, X):
        if found and not clock.fits(clock.seconds / len(found)):
            break
        errors = [_errors(case, rows, X, block, quick) for block in blocks]
        errors = [one for one in errors if one is not None]
        if errors:
            every = np.concatenate(errors)
            rmse = {name: root_mean_square(e) for name, e in zip(NAMES, every.T, strict=True) if np.isfinite(e).all()}
            found.append(BlockErrors(name=name, rows=len(every), rmse=rmse))
    if not found:
        return Missing(missing="No block can be left out of these rows.")
    return BlockFindings(rows=len(rows), listed=found)


def _split_blocks(case, rows, X):
    """[(what is left out, [which rows, …])]: both ends of each column that matters, and clusters."""
    from sklearn.cluster import KMeans

    found = []
    for factor in [one for one in case.by_importance if one.kind == NUMBER and one.moves][:2]:
        x = factor.values[rows]
        low, high = np.quantile(x, [ENDS, 1.0 - ENDS])
        found.append((f"the ends of {factor.name}", [x <= low, x >= high]))
    code = KMeans(min(5, len(np.unique(X, axis=0))), n_init=1, random_state=0).fit_predict(X)
    found.append(("clusters of rows", [code == k for k in range(code.max() + 1)]))
    kept = [(name, [block for block in blocks if 0 < block.mean() <= 0.5]) for name, blocks in found]
    return [(name, blocks) for name, blocks in kept if blocks]


def _ridge(case, X, rows):
    """A ridge model with what it chooses by leave-one-out, as ``mercer fit --quick`` does; None where the model is one.

    None, too, where that fails.
    """
    if case.model.interval_method == "conformal":
        return None
    model = KernelRidge(criterion="loo", time_budget=1.0)
    try:
        return quietly(model.fit, X, case.y[rows], sample_weight=part(case.weight, rows)).frozen()
    except (ValueError, np.linalg.LinAlgError):
        return None


def _errors(case, rows, X, block, quick):
    """(m, 4): errors of the four models of `NAMES` on a block, fitted without it; None where the model has no fit."""
    train, test, w = rows[~block], rows[block], part(case.weight, rows[~block])
    try:
        fitted = case.fit(train)
        predicted = [case.one(np.asarray(fitted.predict(case.new(fitted, test, train))))]
    except (ValueError, np.linalg.LinAlgError):  # too few rows for a trend, or all of weight 0
        return None
    simple, y = simple_models(False, len(train), X.shape[1]), case.y[train]
    predicted.append(predict_simply(simple["linear model"], X[~block], y, X[block], w))
    try:
        other = None if quick is None else quietly(quick.fit, X[~block], y, sample_weight=w).predict(X[block])
    except (ValueError, np.linalg.LinAlgError):
        other = None
    predicted.append(np.full(len(test), np.nan) if other is None else other)
    predicted.append(predict_simply(simple["mean"], X[~block], y, X[block], w))
    return case.y[test][:, None] - np.column_stack(predicted)
