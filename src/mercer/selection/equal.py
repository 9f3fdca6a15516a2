"""Rows with equal inputs, which must not be on both sides of a split: the model would be asked what it was told."""

import numpy as np
from sklearn.utils import check_random_state

from mercer.gram.duplicates import duplicate_groups


def equal_rows(X, y):
    """Return the group of each row, rows of equal inputs in one; None where all differ, or repeats are measurements.

    Where more than half of the rows repeat others, and their targets differ, or are labels or a few values, the table
    is a design: new measurements will be at the same inputs, and a split may part them.

    Parameters
    ----------
    X : ndarray of shape (n, d), Table, Objects, data frame, or list of texts
        Of anything else nothing is known.
    y : array-like of shape (n,) or (n, t)

    Returns
    -------
    ndarray of int of shape (n,), or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.equal import equal_rows
    >>> X = np.arange(20.0)[:, None]
    >>> equal_rows(np.r_[X, X], np.r_[X, X])[[0, 1, 20, 21]]
    array([0, 1, 0, 1])
    >>> equal_rows(X, X) is None
    True
    """
    group = _groups(X)
    if group is None:
        return None
    y, different = np.asarray(y), group.max() + 1
    if different >= 0.5 * len(group):
        return group
    if y.dtype.kind not in "fiub":
        return None
    y = y.reshape(len(group), -1)
    first = np.unique(group, return_index=True)[1]
    copied = np.array_equal(y[first][group], y) and len(np.unique(y, axis=0)) >= max(10, 0.5 * different)
    return group if copied else None


def copied_rows(X, y):
    """Return how many rows are equal to one before them, in inputs and target.

    Parameters
    ----------
    X, y : as for `equal_rows`

    Returns
    -------
    int
    """
    group = _groups(X)
    if group is None:
        return 0
    y = np.asarray(y).reshape(len(group), -1)
    code = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in y.T]
    return len(group) - len(np.unique(np.column_stack([group, *code]), axis=0))


def _groups(X):
    """The group of each row, in the order of first appearance; None where all rows differ, or nothing tells."""
    if hasattr(X, "iter_rows"):  # a data frame of polars
        found = _codes_of(X.iter_rows())
    elif hasattr(X, "itertuples"):  # of pandas
        found = _codes_of(X.itertuples(index=False, name=None))
    elif isinstance(X, list | tuple) and all(isinstance(one, str) for one in X):
        found = _codes_of(X)
    else:
        numbers = isinstance(X, list | tuple | np.ndarray) and np.asarray(X).dtype.kind in "fiub"
        found = duplicate_groups(np.asarray(X, dtype=float) if numbers else X)
        return None if found is None else found[1]
    return None if len(found) and found.max() + 1 == len(found) else found


def _codes_of(keys):
    """The number of each key among the different ones; nan is equal to nan."""
    places: dict = {}
    try:
        return np.array([places.setdefault(_without_nan(key), len(places)) for key in keys], dtype=int)
    except TypeError:  # lists and other cells that have no hash
        return np.arange(0)


def _without_nan(key):
    return tuple(None if cell != cell else cell for cell in key) if isinstance(key, tuple) else key


def random_folds(y, k, labels, group=None, seed=0):
    """Return [(train, test), …] of rows drawn at random, each class in all folds, rows of one group in one fold.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, t)
    k : int
    labels : bool
    group : ndarray of int of shape (n,), default=None
        As `equal_rows` gives it.
    seed : int, RandomState or None, default=0

    Returns
    -------
    list of (ndarray, ndarray)
    """
    from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold  # slow to import

    X = np.zeros((len(y), 1))
    if group is None:
        return list((StratifiedKFold if labels else KFold)(k, shuffle=True, random_state=seed).split(X, y))
    if labels:
        split = StratifiedGroupKFold(k, shuffle=True, random_state=seed).split(X, y, group)
        return [(train, test) for train, test in split if len(train) and len(test)]
    counts = np.bincount(group)
    order = check_random_state(seed).permutation(len(counts))
    order, fold, size = order[np.argsort(-counts[order], kind="stable")], np.zeros(len(counts), dtype=int), np.zeros(k)
    for g in order:  # the largest first, each to the smallest fold
        fold[g] = int(np.argmin(size))
        size[fold[g]] += counts[g]
    of_row = fold[group]
    return [(np.flatnonzero(of_row != f), np.flatnonzero(of_row == f)) for f in range(k) if (fold == f).any()]
