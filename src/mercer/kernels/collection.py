"""Collections of objects: what a kernel whose inputs need not be vectors accepts, and in which precision it answers."""

import numpy as np

from mercer.kernels.base import as_vectors


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


def result_dtype(X):
    """float32 for a float32 array, else float64."""
    return X.dtype if isinstance(X, np.ndarray) and X.dtype == np.float32 else np.dtype(np.float64)
