"""Labels of a classification problem: one for each row, none missing, all of one kind; as numbers, and in order."""

from numbers import Number

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mercer.approximate.labels import as_signs, number_labels


def check_labels(estimator, X, y):
    """y as a 1-D array of labels without missing ones, as long as X."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            "This estimator is a classifier: call fit(X, y)."
        )
    _refuse_missing(np.flatnonzero(np.ma.getmaskarray(y)) if np.ma.is_masked(y) else ())
    given = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else None  # NumPy would write nan and 1 as text
    y = column_or_1d(y if hasattr(y, "dtype") else np.asarray(y), warn=True)
    if y.dtype.kind == "f":
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=0)
    elif y.dtype.kind not in "iub":
        labels = y if given is None else given.ravel()
        _refuse_missing([i for i, label in enumerate(labels) if _is_missing(label)])
        _refuse_mixed(labels)
    check_consistent_length(X, y)
    check_classification_targets(y)
    return y


def _is_missing(label):
    """Whether a label is None, NaN, NaT or the NA of pandas, which is not to be compared with anything."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating | np.datetime64) and bool(label != label)


def _refuse_missing(rows):
    if len(rows):
        raise ValueError(f"Input y contains NaN: row {rows[0]} has no label ({len(rows)} such rows); drop these rows.")


def _refuse_mixed(labels):
    """Numbers beside text have no order, so that there is no first class."""
    first = {}
    for i, label in enumerate(labels):
        kind = "text" if isinstance(label, str) else "numbers" if isinstance(label, Number) else None
        first.setdefault(kind, f"row {i} has {label!r}")
    if "text" in first and "numbers" in first:
        raise ValueError(
            f"y mixes numbers and text: {first['numbers']}, {first['text']}. Make all labels text, or all numbers."
        )


def signs(y, weight):
    """(classes, Y, two): labels as ±1, one column for two classes (+1 is the second), else one for each of them."""
    classes, number = number_labels(y, weight)
    return classes, as_signs(number, len(classes)), len(classes) == 2
