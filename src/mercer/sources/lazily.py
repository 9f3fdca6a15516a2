"""Methods of new rows on collections of Dask: lazily, partition by partition."""

import numpy as np


def answer_lazily(model, name, X, args, kwargs):
    """The answer of a method for each partition of X, as an array of Dask; a tuple of arrays where it is one."""
    import dask.array as da
    from dask import delayed

    options = args, kwargs
    if kwargs.get("return_cov"):
        raise ValueError("return_cov needs all rows at once: compute() them, or ask for return_std.")
    like = _answer(model, name, _some_row(X), options)  # of one row: what is wrong is told now, not when it is computed
    plain = type(model).from_state(model.state())
    there, ask = delayed(plain, pure=False, traverse=False), delayed(_answer, pure=False)
    if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    nodes = list(np.ravel(X.to_delayed()))
    rows = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(nodes)
    blocks = [
        da.from_delayed(ask(there, name, node, options, like[:0]), (n, *like.shape[1:]), like.dtype)
        for node, n in zip(nodes, rows, strict=True)
    ]
    found = da.concatenate(blocks, allow_unknown_chunksizes=True)
    return found if not kwargs.get("return_std") else (found[..., 0], found[..., 1])


def _answer(model, name, X, options, empty=None):
    """The answer for a partition; mean and std side by side in one array."""
    if empty is not None and not len(X):
        return empty
    args, kwargs = options
    found = getattr(model, name)(X, *args, **kwargs)
    return np.stack(found, axis=-1) if isinstance(found, tuple) else found


def _some_row(X):
    """A row with the columns of X."""
    row = np.zeros((1, X.shape[1]))
    if not hasattr(X, "columns"):
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=list(X.columns))
