"""Exact duplicates among the rows, merged: points of more weight.

n rows with c copies of each point give (K + λ diag(1/c)) α = ȳ on the points. The model does not change, the matrix
shrinks, and the main cause of a singular K is gone.
"""

import numpy as np

from mercer.gram.base import take
from mercer.kernels.objects.collection import Objects
from mercer.kernels.objects.tables import Table


def duplicate_groups(X, also=None):
    """(first, group) of the distinct rows of X: X[first][group] equals X; None if all rows differ.

    Rows are compared by value, so 0.0 and -0.0 are equal. A hash finds the candidates; the rows themselves decide.
    Collections of objects say themselves which are equal (``identities``). With ``also``, numbers for each row, rows
    are equal if these are too.
    """
    keys = identities_of(X)
    if keys is not None:
        if also is None:
            return _equal_keys(keys)
        rows = np.asarray(also, dtype=float).reshape(len(X), -1) + 0.0
        return _equal_keys([(key, row.tobytes()) for key, row in zip(keys, rows, strict=True)])
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or len(X) < 2:
        return None
    X = np.ascontiguousarray((X if also is None else np.column_stack([X, also])) + 0.0)
    if len(X) <= 1000 and len(set(X.view(f"V{X.strides[0]}")[:, 0].tolist())) == len(X):
        return None
    bits = X.view(np.uint64 if X.dtype == np.float64 else np.uint32).astype(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    bits ^= bits >> np.uint64(29)  # mixes the high bits, where floats differ, into the low ones
    keys = (bits * odd).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if first.size == len(X):
        return None
    if not np.array_equal(X[first][group], X):  # two different rows share a key: sort the rows themselves
        _, first, group = np.unique(X + 0.0, axis=0, return_index=True, return_inverse=True)
        if first.size == len(X):
            return None
    order = np.argsort(first)  # keep the order in which the points first appear
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[group.reshape(-1)]


def identities_of(X):
    """One key for each object of a collection, equal where the objects are; None of arrays, and where nothing tells."""
    return X.identities() if isinstance(X, Objects | Table) else None


def _equal_keys(keys):
    """(first, group) of equal keys, in the order of their first appearance; None if all differ."""
    places = {}
    group = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    if len(places) == len(group):
        return None
    return np.unique(group, return_index=True)[1], group


def merge_points(y, weight, group, size):
    """(ȳ, w, squares): weighted means, summed weights, and Σ w (y − ȳ)² within each group, per target.

    Means are taken relative to one row, so that equal targets stay exactly as they are.
    """
    w = np.bincount(group, weights=weight, minlength=size)
    one = np.zeros((size, y.shape[1]))
    one[group] = y
    rest = y - one[group]
    mean = one + np.stack([np.bincount(group, weights=weight * r, minlength=size) for r in rest.T], axis=1) / w[:, None]
    squares = weight[:, None] * (y - mean[group]) ** 2
    return mean, w, np.stack([np.bincount(group, weights=c, minlength=size) for c in squares.T], axis=1)


def merge_rows(X, y, weight, wanted=True):
    """(points, ȳ, w, index, squares): equal rows as one point; the rows themselves if none are, or not ``wanted``.

    Parameters
    ----------
    X : collection of n inputs
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,)
    wanted : bool, "targets" or "labels"
        "targets": rows are equal if y is, too. "labels": and points are sorted, so that their order is not that of the
        rows.

    Returns
    -------
    points : collection of m inputs
        In the order of their first appearance.
    y : ndarray of shape (m, t)
        Weighted means.
    weight : ndarray of shape (m,)
        Sums.
    index : ndarray of shape (n,)
        The point of each row.
    squares : ndarray of shape (m, t)
        Σ w (y − ȳ)² within each point.
    """
    if isinstance(wanted, str):
        return _merge_equal(X, y, weight, wanted == "labels")
    groups = duplicate_groups(X) if wanted else None
    if groups is None:
        return X, y, weight, np.arange(len(y)), np.zeros(y.shape)
    first, index = groups
    mean, total, squares = merge_points(y, weight, index, first.size)
    return take(X, first), mean, total, index, squares


def _merge_equal(X, y, weight, ordered):
    """The same for rows of equal X and y; sorted, if they are to be ``ordered``."""
    groups = duplicate_groups(X, y)
    if groups is None and not ordered:
        return X, y, weight, np.arange(len(y)), np.zeros(y.shape)
    first, index = (np.arange(len(y)),) * 2 if groups is None else groups
    if ordered and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64:
        order = np.lexsort(np.column_stack([X, y])[first].T[::-1])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        index, first = rank[index], first[order]
    total = np.bincount(index, weights=weight, minlength=first.size)
    return take(X, first), y[first], total, index, np.zeros((first.size, y.shape[1]))
