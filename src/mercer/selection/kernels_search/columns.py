"""What the columns are: their unit, and which one is time."""

import numpy as np

from mercer.kernels import Anova, Columns, Laplacian, Periodic, Product, Radial, Scaled, Standardised, Sum
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


def in_units(kernel, centre, scale):
    """The kernel on X that is the given one on (X − centre)/scale, as an expression with lengths in the units of X."""
    if isinstance(kernel, Sum | Product):
        return type(kernel)(in_units(kernel.left, centre, scale), in_units(kernel.right, centre, scale))
    if isinstance(kernel, Scaled):
        return Scaled(in_units(kernel.kernel, centre, scale), kernel.scale, scale_bounds=kernel.scale_bounds)
    if isinstance(kernel, Columns):
        return in_units(kernel.kernel, centre[kernel.columns], scale[kernel.columns]).on(kernel.columns)
    if not centre.any() and (scale == 1.0).all():
        return kernel
    one = float(scale[0]) if (scale == scale[0]).all() else scale
    if isinstance(kernel, Radial | Laplacian | Anova):
        return _moved(kernel, "length_scale", one)
    if isinstance(kernel, Periodic):
        return _moved(kernel, "period", one)
    return Standardised(kernel, centre.tolist(), scale.tolist())


def _moved(kernel, name, factor):
    """A copy with a length times a factor, and its bounds along where they would be in the way."""
    value = np.asarray(getattr(kernel, name)) * factor
    other = kernel.with_theta(kernel.theta)
    setattr(other, name, float(value) if value.ndim == 0 else value)
    bounds = getattr(kernel, f"{name}_bounds")
    if bounds is not None and not isinstance(bounds, str):
        setattr(other, f"{name}_bounds", np.multiply.outer(np.atleast_1d(factor), np.ravel(bounds)))
    elif value.min() < 1e-3 or value.max() > 1e3:
        setattr(other, f"{name}_bounds", np.multiply.outer(np.atleast_1d(value), (1e-5, 1e5)))
    return other


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
