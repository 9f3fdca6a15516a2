"""What `mercer fit` checks before anything is fitted: the order of rows, targets, groups and folds."""

import numpy as np
from sklearn.model_selection import GroupKFold

from mercer.cli._options import LABELS
from mercer.exceptions import DataError
from mercer.tabular.cells import quote
from mercer.tabular.columns import as_texts

LEAST_SCORED = 10  # rows of the cross-validation


def order_in_time(frame, time):
    """The numbers of the rows in the order of a column of time."""
    if time is None:
        return np.arange(frame.height)
    column = frame[time]
    if column.null_count() or not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        what = f"{column.null_count():,} cells are missing" if column.null_count() else f"it holds {column.dtype}"
        raise DataError(f"--time {time}: rows cannot be put in order, {what}; give a column of dates or numbers")
    return np.argsort(column.to_numpy(), kind="stable")


def check_forecast(settings, recipe, series):
    """Refuse, before anything is fitted, to continue rows that are no series, or that have inputs beside time."""
    if settings.forecast is None:
        return
    if series is None:
        raise DataError(
            "--forecast continues a series of numbers, and these rows are none: they would be in the order of a column "
            "of dates or numbers, at even steps (--time NAME puts them in order)"
        )
    others = [column["name"] for column in recipe.used if column["name"] != series]
    if others:
        raise DataError(
            f"--forecast knows what comes next in {series!r} alone, and the model would also read {quote(others)}: "
            f"leave them out (--ignore {others[0]}), or predict a table of the rows to come"
        )


def count_folds(settings, y, labels, most_rows, notes):
    """Folds that can judge the model: none of few rows, nor of classes that would be whole in one fold."""
    used = min(len(y), most_rows or len(y))
    if settings.no_score or used < LEAST_SCORED:
        return 0
    if labels and sorted(np.unique(y, return_counts=True)[1])[-2:][0] < 2:
        notes.append("one class alone has two rows or more: not judged by cross-validation.")
        return 0
    return min(settings.folds, used // 2)


def check_values(settings, name, y, notes):
    """Refuse targets that the model cannot have, and say what else the values may mean."""
    values, target = np.unique(y), settings.target
    if name in LABELS and len(values) > max(2, len(y) / 2):
        raise DataError(
            f"the target {target!r} has {len(values):,} different labels in {len(y):,} rows: too many to learn"
        )
    if name == "poisson" and values[0] < 0:
        raise DataError(
            f"the target {target!r} is {values[0]:g} in a row, and --model poisson is for counts, 0 or more"
        )
    if name not in LABELS and len(values) == 1:
        notes.append(f"the target {target!r} is {values[0]:g} in all rows: the model is that constant.")
    elif name not in LABELS and len(values) == len(y) > 2 and (np.diff(values) == 1).all():
        notes.append(
            f"the target {target!r} is every whole number from {values[0]:g} to {values[-1]:g} once: it may number the "
            "rows, and then there is nothing to learn."
        )
    elif name not in LABELS and 1 < len(values) <= 5 and 6 * len(values) <= len(y) and (values % 1 == 0).all():
        notes.append(
            f"the target {target!r} is predicted as a number, of {len(values)} whole ones; --categorical {target!r} "
            "makes classes of them."
        )


def group_folds(settings, frame, folds, notes):
    """[(train, test), …] with the rows of each group in one fold."""
    groups = as_texts(frame[settings.group])
    if None in groups:
        raise DataError(f"--group {settings.group}: {groups.count(None):,} cells are missing; fill them")
    many = len(set(groups))
    if many < 2:
        raise DataError(f"--group {settings.group}: there is one group alone, {groups[0]!r}; at least two are needed")
    notes.append(f"the rows of each {settings.group!r} are in one fold ({many:,} groups): judged on new ones.")
    return list(GroupKFold(min(folds, many)).split(np.zeros(len(groups)), groups=groups))
