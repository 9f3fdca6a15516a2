"""What the columns are: their unit, and which one is time."""

import numpy as np

from mercer.selection.kernels_search.periods import LEAST_SERIES

EVEN = 0.9  # share of the gaps along a time axis that are like most of them, or small multiples of them
USUAL, MULTIPLE = 0.6, 7  # share of those that are like most of them, as business days are; the largest multiple


def unit_of(X, weight=None):
    """(centre, scale): the mean and standard deviation of each column; 1 of a constant one."""
    size = np.abs(X).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    U = X / size  # so that squares of huge columns stay finite
    centre = np.average(U, axis=0, weights=weight)
    scale = np.sqrt(np.average((U - centre) ** 2, axis=0, weights=weight))
    scale = np.where(scale > 1e-12, scale, 0.0) * size
    scale = np.where(scale > 0, scale, 1.0)
    centre = centre * size
    plain = (np.abs(centre) < 1e-3) & (np.abs(scale - 1.0) < 1e-3)  # as a recipe has made them
    return np.where(plain, 0.0, centre), np.where(plain, 1.0, scale)


def time_column(X):
    """The column along which the rows are a series: in its order, at even steps; None if there is none."""
    if len(X) < LEAST_SERIES:
        return None
    for j, column in enumerate(X.T):
        gaps = np.diff(column)
        if (gaps > 0).all() or (gaps < 0).all():
            gaps = np.abs(gaps)
            times = gaps / np.median(gaps)
            even = np.abs(times - np.round(times)) < 0.25  # a weekend is three days, a missing row two steps
            usual = np.mean(even & (np.round(times) == 1.0))
            if usual >= USUAL and np.mean(even & (np.round(times) >= 1.0) & (times < MULTIPLE + 0.25)) >= EVEN:
                return j
    return None
