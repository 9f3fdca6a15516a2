"""Rows of a classification problem: labels numbered, equal rows merged, an order with every class early."""

from typing import NamedTuple

import numpy as np

from mercer.gram import take
from mercer.gram.merge import duplicate_groups


class Rows(NamedTuple):
    """What a fit works on: m points, and where each of the n rows went.

    ``point`` is -1 for rows of weight 0. ``share`` is what one copy of a row has (weight w stands for w of them)
    of the weight of its point.
    """

    X: object
    y: np.ndarray
    weight: np.ndarray
    point: np.ndarray
    share: np.ndarray


def number_labels(y, weight):
    """(classes, numbers): the classes of the rows that count, sorted, and the number of each row's class (-1: none)."""
    classes = np.unique(y[weight > 0])
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least 2 classes, but y has 1 class only among the rows of positive weight: "
            f"{classes.tolist()[0]!r}. Nothing can be learnt from it."
        )
    number = np.searchsorted(classes, y)
    number[weight == 0] = -1
    return classes, number


def merge_labelled(X, y, weight):
    """Rows of equal X and class as one of their summed weight, in an order that does not depend on that of the rows.

    The model is the same. Weights and repeated rows then give the same search, to the last digit.
    """
    keep = np.flatnonzero(weight > 0)
    index, share = np.full(len(y), -1), np.zeros(len(y))
    X, label, w = take(X, keep), y[keep], weight[keep]
    groups = duplicate_groups(X, label)
    first, group = (np.arange(keep.size),) * 2 if groups is None else groups
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64:
        order = np.lexsort(np.column_stack([X, label])[first].T[::-1])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        group, first = rank[group], first[order]
    total = np.bincount(group, weights=w, minlength=first.size)
    index[keep], share[keep] = group, np.minimum(w, 1.0) / total[group]
    return Rows(take(X, first), label[first], total, index, share)


def left_out_losses(prob, number, weight):
    """(of the model, of the class frequencies): −Σᵢ wᵢ log p(yᵢ)/Σᵢ wᵢ, each row judged without one copy of itself.

    The frequencies have half a row of each class beside the others, so that a class of one member has some.
    """
    one, counts = np.minimum(weight, 1.0), np.bincount(number, weights=weight, minlength=prob.shape[1])
    others = (counts[number] - one + 0.5) / (weight.sum() - one + 0.5 * prob.shape[1])
    own = np.maximum(prob[np.arange(len(number)), number], np.finfo(float).tiny)
    return tuple(float(weight @ -np.log(p) / weight.sum()) for p in (own, others))


def stratified_order(y, seed):
    """A permutation whose beginnings have every class about as often as all rows have it, and at least twice."""
    rng, key = np.random.default_rng(seed), np.empty(len(y))
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        key[rows] = (np.arange(rows.size) + rng.uniform()) / rows.size
        key[rows[:2]] = -1.0
    return np.argsort(key, kind="stable")
