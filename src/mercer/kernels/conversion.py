"""Collections of inputs: rows of floats, or objects with a length; what cannot be one is refused in words."""

import numpy as np


def as_collection(X, who):
    """Return X as something with ``len`` and slicing.

    A 2-D array of numbers is rows of floats, as for every kernel on vectors. All else stays what it is: a list is a
    list of objects even if these happen to be equally long lists of numbers.
    """
    if hasattr(X, "to_numpy"):  # a data frame, or one of its columns
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        if X.ndim == 0:
            raise ValueError(f"{who}: X is a single value of dtype {X.dtype}; give a sequence of inputs.")
        return as_vectors(X, who) if X.ndim == 2 and X.dtype.kind in "buifc" else X
    if isinstance(X, (str, bytes)):
        raise TypeError(f"{who}: X is one {type(X).__name__}; give a list of inputs, [x] for a single one.")
    if isinstance(X, (dict, set, frozenset)) or not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
        raise TypeError(f"{who}: X must be a sequence (a list, an array, a data frame), got {type(X).__name__}.")
    return list(X) if isinstance(X, tuple) else X


def refuse_nat(values, what):
    """Refuse dates or durations one of which is missing: as a number NaT is −2⁶³, not NaN."""
    if isinstance(values, list | tuple):
        try:
            values = np.asarray(values)
        except (TypeError, ValueError):  # no array: others refuse it
            return
    if getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M"):
        rows = np.flatnonzero(np.isnat(np.asarray(values)).reshape(len(values), -1).any(axis=1))
        if rows.size:
            raise ValueError(f"{what} contains NaT, no date: row {rows[0]} ({rows.size} such rows). Drop them first.")


def refuse_entries(bad, X, what):
    """Refuse an array if a mask marks any entry as unusable, naming the first one."""
    places = np.argwhere(bad)
    if len(places):
        i, j = places[0]
        raise ValueError(f"{what}[{i}, {j}] is {X[i, j]} ({len(places)} such entries). Drop or fill in these rows.")


def as_vectors(X, who):
    """Return X as a float32 or float64 array of shape (n, d); float32 stays float32."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float64, np.float32):
        return X
    X = np.asarray(X)
    refuse_nat(X, f"{who}: X")
    if X.dtype.kind == "c":
        raise ValueError(f"{who}: complex data are not supported.")
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(
            f"{who}: expected a 2-D array of rows, got {X.ndim}-D of shape {X.shape}. "
            "For one column use X.reshape(-1, 1), for one row X.reshape(1, -1)."
        )
    return X
