"""Bounds of a hyper-parameter, as an array and checked."""

import functools

import numpy as np


def check_bounds(name, bounds, size):
    """Return bounds as an array of shape (size, 2), checked to be positive and ordered."""
    if type(bounds) is tuple and all(type(value) is float for value in bounds):
        return _check_pair(name, bounds, size)
    return _checked(name, bounds, size)


@functools.lru_cache(maxsize=256)
def _check_pair(name, bounds, size):
    """The same of a pair of floats, once: a search asks for it several times in every evaluation."""
    return _checked(name, bounds, size)


def _checked(name, bounds, size):
    bounds = np.asarray(bounds, dtype=float)
    if bounds.shape not in ((2,), (size, 2)):
        raise ValueError(f"{name}_bounds must be a pair (low, high), {size} pairs, or 'fixed'; got {bounds!r}.")
    bounds = np.broadcast_to(bounds, (size, 2))
    if not (np.isfinite(bounds).all() and (bounds[:, 0] > 0).all() and (bounds[:, 0] < bounds[:, 1]).all()):
        raise ValueError(f"{name}_bounds must satisfy 0 < low < high < inf, got {bounds.tolist()}.")
    return bounds
