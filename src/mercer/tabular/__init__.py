"""Tables: reading them, turning columns into numbers by a recipe, models that go with one, and how good they are."""

import warnings

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import TimeSeriesSplit

from mercer.exceptions import DataError, DataWarning
from mercer.selection import nested_cv
from mercer.selection.equal import equal_rows
from mercer.selection.judging import quietly
from mercer.tabular.cells import renumber_rows
from mercer.tabular.columns import usable_rows
from mercer.tabular.forecast import forward_folds, rows_ahead, series_along
from mercer.tabular.kernels import default_kernel
from mercer.tabular.model import TableModel
from mercer.tabular.reading import Reading, ReadSettings, read, read_table
from mercer.tabular.reads import objects_of, place_kernel
from mercer.tabular.recipe import Recipe

__all__ = [
    "DataError",
    "DataWarning",
    "ReadSettings",
    "Reading",
    "Recipe",
    "TableModel",
    "default_kernel",
    "objects_of",
    "place_kernel",
    "read",
    "read_table",
    "rows_ahead",
    "score",
]


def score(model, X, y=None, *, fitted=None, outer=5, random_state=0, **options):
    """Performance_f on fold f of the model chosen and fitted without fold f, and the same of three simple models.

    Parameters
    ----------
    model : TableModel or estimator
        A TableModel judges the whole procedure: means, standard deviations and medians too are learnt without the
        fold. What a column is (numbers, which categories, left out) is that of all rows.
    X : data frame, or array-like of shape (n, d)
        For a TableModel without y the table with its target.
    y : array-like of shape (n,), default=None
    fitted, outer, random_state, **options
        See `mercer.selection.nested_cv`, which does the work, also for ``listener``, ``time_budget`` and ``needs``.
        Where the rows of a table are a series, a number of folds is of its later half, each predicted from what was
        before.

    Returns
    -------
    NestedResult or None
        None if there was no time for a single fold. Simple models that need numbers are left out for tables that have
        none.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_mcycle
    >>> from mercer.kernels import Gaussian
    >>> from mercer.tabular import score
    >>> X, y = load_mcycle(return_X_y=True)
    >>> found = score(KernelRidge(Gaussian(5.0), lam=1.0), X[::2], y[::2], outer=2)
    >>> found.score > max(one["score"] for one in found.baselines[:2])
    True
    """
    options |= {"random_state": random_state, "baselines": True}
    if not isinstance(model, TableModel):
        return _cross_validate(model, X, np.asarray(y), outer, fitted=fitted, **options)
    frame, target = model.table_of(X, y)
    rows, y = usable_rows(frame, target, is_classifier(model), [])
    inputs = frame.drop(target)
    whole = clone(model).fit(frame) if fitted is None else fitted
    known = clone(model).set_params(recipe=whole.recipe_.frozen())
    if isinstance(outer, int) and not is_classifier(model):
        along = series_along(whole.recipe_, inputs[rows])
        if along is not None:
            rows, y = (rows[::-1], y[::-1]) if along[1] else (rows, y)
            outer = forward_folds(len(rows), outer)
    with renumber_rows(rows):
        options["equal"] = equal_rows(quietly(whole.recipe_.transform, inputs[rows]), y)
        found = _cross_validate(known, inputs[rows], y, outer, fitted=whole, **options)
    return found if found is None else found.spread(rows, len(frame))


def _cross_validate(model, X, y, outer, least=10, **options):
    """`nested_cv` with as many folds as there can be, quietly: the fit on all rows has warned already."""
    if len(y) < least:
        raise ValueError(f"{len(y)} rows are too few for cross-validation; at least {least} are needed.")
    most = np.unique(y, return_counts=True)[1].max() if is_classifier(model) else len(y)  # folds that have a class
    outer = int(min(outer, len(y) // 2, most)) if isinstance(outer, int) else outer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Lengths that are chosen on all rows of a series are in deviations of these, which mean others before a fold.
        # What is chosen on thousands of rows hardly knows the single one, so that optimism is looked for up to 2 000.
        optimism = len(y) <= 2000 and not isinstance(outer, TimeSeriesSplit)
        return nested_cv(model, X, y, outer=outer, optimism=optimism, **options)
