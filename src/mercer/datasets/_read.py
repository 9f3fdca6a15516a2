"""Reading the bundled CSV files into a Bunch, by the names in their first line."""

import csv
import inspect
from importlib.resources import files as resources

import numpy as np
from sklearn.utils import Bunch

FOLDER = resources("mercer.datasets")
COMMON = """Parameters
----------
return_X_y : bool, default=False
    Return ``(data, target)`` instead of a Bunch.
as_frame : bool, default=False
    Give ``data`` as a pandas DataFrame and ``target`` as a Series. Needs pandas.

Returns
-------
Bunch or tuple of (data, target)
    With ``data`` (n, d), ``target`` (n,), ``feature_names``, ``target_name``, ``frame``, ``DESCR``.

Examples
"""


def complete_docstring(load):
    """Insert the parameters that all loaders share into the docstring of one, before its examples."""
    load.__doc__ = inspect.cleandoc(load.__doc__ or "").replace("Examples\n", COMMON)  # python -OO has none
    return load


def read_csv(name, features, target, *, files=None, classes=False, return_X_y=False, as_frame=False):
    """Return the data set ``name`` as a Bunch, or as (X, y): its columns ``features`` and ``target``."""
    tables = [_read_columns(file, [*features, target]) for file in files or [name]]
    table = np.concatenate(tables)
    data = np.ascontiguousarray(table[:, :-1])
    values = table[:, -1].astype(np.int64 if classes else np.float64)
    frame = None
    if as_frame:
        frame = _pandas().DataFrame(data, columns=features)
        frame[target] = values
        data, values = frame[features], frame[target]
    if return_X_y:
        return data, values
    return Bunch(
        data=data,
        target=values,
        feature_names=list(features),
        target_name=target,
        frame=frame,
        DESCR=(FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip(),
    )


def _read_columns(file, names):
    """Return the named columns of a bundled CSV file, as an array of shape (n, len(names))."""
    with (FOLDER / f"{file}.csv").open(encoding="utf-8", newline="") as text:
        return np.array([[float(row[name]) for name in names] for row in csv.DictReader(text)])


def _pandas():
    """Pandas, which only ``as_frame=True`` needs."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas, which is not installed: pip install pandas") from error
    return pandas
