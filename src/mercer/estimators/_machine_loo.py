"""Leave-one-out values of a fitted KernelMachine: approximate LOO for smooth losses, the span rule for boxed ones."""

import numpy as np

from mercer.gram import take
from mercer.uncertainty.alo import approximate_leave_one_out
from mercer.uncertainty.span import span


def leave_one_out(K, kernel, X, pairs, columns, weight, lam, intercept):
    """f₋ᵢ(xᵢ) of every row and column, of shape (n, t)."""
    out = np.empty((K.n, len(pairs)))
    for j, ((loss, y), column) in enumerate(zip(pairs, columns, strict=True)):
        if loss.smooth:
            h = weight * loss.hess(y, column.f) / (2.0 * lam)
            out[:, j] = approximate_leave_one_out(K, column.alpha, column.f, h, intercept=intercept)
        else:
            lower, upper = loss.box(y, weight / (2.0 * lam))
            out[:, j] = _span_rule(kernel, X, column, lower, upper, intercept)
    return out


def _span_rule(kernel, X, column, lower, upper, intercept):
    """f − αS², S the distance of a support vector to the span of the free ones: nothing changes for the other rows."""
    alpha, out = column.alpha, column.f.copy()
    inside = (alpha > lower) & (alpha < upper)
    free, bounded = np.flatnonzero(inside & (alpha != 0.0)), np.flatnonzero(~inside & (alpha != 0.0))
    distance = span(kernel, take(X, free), take(X, bounded), intercept=intercept)
    column.info["span_jitter"] = distance.jitter
    for rows, square in ((free, distance.free), (bounded, distance.bounded)):
        out[rows] -= alpha[rows] * square
    return out
