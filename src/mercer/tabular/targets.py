"""The rows of a table that have a target, and the targets: numbers or labels."""

import numpy as np

from mercer.exceptions import DataError
from mercer.tabular.columns import as_floats, as_texts, check_mixed, is_text
from mercer.tabular.words import count, listed


def as_values(y):
    """A column as a list or an array, whatever it came in."""
    return y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)


def as_frame(X):
    """A table of polars: as it is, from pandas, from a dict of columns, or from an array."""
    import polars as pl

    if isinstance(X, pl.DataFrame):
        return X
    if hasattr(X, "columns"):  # pandas: objects and categories as Python values, what is missing as null
        plain = {str(name): X[name].to_numpy() for name in X.columns}
        kinds = {name: [None if v is None or v != v else v for v in x.tolist()] if x.dtype.kind == "O" else x
                 for name, x in plain.items()}  # fmt: skip
        return pl.DataFrame(kinds).fill_nan(None)
    if isinstance(X, dict):
        return pl.DataFrame(X)
    X = np.asarray(X)
    return pl.DataFrame({f"x{j + 1}": X[:, j] for j in range(X.shape[1])})


LEAST = 3  # rows with which something can be left out and judged


def usable_rows(frame, target, labels, notes, least=LEAST):
    """(rows, y): the rows whose target is there, and the targets as floats or as texts.

    Parameters
    ----------
    frame : polars.DataFrame
    target : str
    labels : bool
        Whether the targets are labels.
    notes : list
        Gets a sentence where rows are dropped.
    least : int
        Rows that are needed.

    Returns
    -------
    ndarray of int, ndarray
    """
    column = frame[target]
    if labels:
        texts = as_texts(column)
        present = np.array([text is not None for text in texts])
        y = np.array([text for text in texts if text is not None], dtype=str)
    else:
        if is_text(column) and column.null_count() < len(column):
            _refuse_labels(column)
        if not is_text(column) and column.dtype.is_temporal():
            raise DataError(f"the target {target!r} holds dates or times; make a number of it first.")
        values = as_floats(column)
        present = ~np.isnan(values)
        y = values[present]
    gone = int((~present).sum())
    if gone:
        notes.append(f"{count(gone, 'row')} without a target {target!r} dropped.")
    if len(y) < least:
        raise DataError(f"{count(len(y), 'row')} with a target {target!r}; at least {least} are needed.")
    if labels and least > 1 and len(set(y)) < 2:
        raise DataError(f"the target {target!r} is {str(y[0])!r} in all rows; at least two classes are needed.")
    return np.flatnonzero(present), y


def _refuse_labels(column):
    """DataError for a target that is text, where numbers are needed."""
    check_mixed(column, target=True)
    shown = listed(column.drop_nulls().unique(maintain_order=True), 3)
    raise DataError(f"the target {column.name!r} is text ({shown}), and the model is one for numbers.")
