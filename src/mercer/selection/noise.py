"""The noise level from the data: equal inputs first, nearest neighbours else."""

import numpy as np

from mercer.gram import take
from mercer.gram.duplicates import duplicate_groups, merge_points


def noise_level(kernel, X, y, weight=None):
    """δ² = the variance within groups of equal inputs, if it has 30 degrees of freedom, else ½ mean (yᵢ − y_nn(i))².

    A row of weight w has the variance δ²/w. Neighbours are near in the distance of the kernel, k(x, x) + k(z, z)
    − 2k(x, z), so that objects have them too. Their estimate counts the slope of the function as noise. Returned are δ,
    over all targets, and "duplicates" or "neighbours".
    """
    n, t = y.shape
    w = np.ones(n) if weight is None else weight
    groups = duplicate_groups(X)
    if groups is not None and n - groups[0].size >= 30:
        first, group = groups
        spread = merge_points(y, w, group, first.size)[2].sum(axis=0)
        return float(np.sqrt(spread.sum() / (t * (n - first.size)))), "duplicates"
    if n < 2:
        return 0.0, "neighbours"
    near = nearest(kernel, X)
    scaled = (y - y[near]) ** 2 / (1.0 / w + 1.0 / w[near])[:, None]
    return float(np.sqrt(scaled.mean())), "neighbours"


def nearest(kernel, X):
    """For each input the nearest other one in the distance of the kernel, by tiles."""
    n = len(X)
    diagonal = np.asarray(kernel.diag(X), dtype=float)
    out = np.empty(n, dtype=int)
    for i in range(0, n, 512):
        index = np.arange(i, min(i + 512, n))
        distance = diagonal - 2.0 * np.asarray(kernel(take(X, index), X), dtype=float)
        distance[np.arange(len(index)), index] = np.inf
        out[index] = np.argmin(distance, axis=1)
    return out
