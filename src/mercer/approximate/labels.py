"""Labels as numbers and as signs, and an order in which every class comes early."""

import numpy as np


def number_labels(y, weight=None):
    """(classes, numbers): the classes of the rows that count, sorted, and the number of each row's class (-1: none)."""
    counts = slice(None) if weight is None else weight > 0
    classes = np.unique(y[counts])
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least 2 classes, but y has 1 class only among the rows of positive weight: "
            f"{classes.tolist()[0]!r}. Nothing can be learnt from it."
        )
    number = np.full(len(y), -1)
    number[counts] = np.searchsorted(classes, y[counts])
    return classes, number


def as_signs(number, classes):
    """Numbers of classes as ±1, of shape (n, 1) or (n, classes)."""
    return np.where(number[:, None] == ([1] if classes == 2 else np.arange(classes)), 1.0, -1.0)


def stratified_order(y, seed):
    """A permutation whose beginnings have every class about as often as all rows have it, and at least twice."""
    rng, key = np.random.default_rng(seed), np.empty(len(y))
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        key[rows] = (np.arange(rows.size) + rng.uniform()) / rows.size
        key[rows[:2]] = -1.0
    return np.argsort(key, kind="stable")
