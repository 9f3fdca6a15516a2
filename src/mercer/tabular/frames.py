"""Tables in any form: of polars, of pandas, dicts of columns, arrays."""

import numpy as np


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
