"""Leave-one-out for any convex loss: one Newton step without the row where it is smooth, else the span rule."""

import numpy as np

from mercer.gram import ScaledGram, take
from mercer.gram.chosen import part_of
from mercer.solvers import Cholesky
from mercer.uncertainty.span import span


def approximate_leave_one_out(K, alpha, f, h, *, intercept=True, solver=None, block=1024):
    """f₋ᵢ(xᵢ) ≈ fᵢ − αᵢvᵢ/(1 − hᵢvᵢ),  v the diagonal of (K⁻¹ + diag h)⁻¹: exact for the squared loss.

    A row with its whole weight is taken out. The loss of the others is replaced by its quadratic model at f, so the
    error is of second order in the change of f. For hᵢ > 0 this is fᵢ − αᵢ(1/Pᵢᵢ − 1/hᵢ) with P = (K + diag(1/h))⁻¹,
    projected on Σα = 0 where there is an intercept; nan where the row alone determines that. h is wL″/(2λ) >= 0 at f,
    and the solver one that gives the diagonal of its inverses. So many straight rows are solved for at once.
    """
    bent = h > 1e-12 * h.max(initial=0.0)  # a row of less curvature counts as straight
    curved, straight = np.flatnonzero(bent), np.flatnonzero(~bent)
    out = np.array(f, dtype=float)
    if not curved.size:
        return out - alpha * (np.nan if intercept else K.diag())
    s = np.sqrt(h[curved])
    solver = Cholesky() if solver is None else solver
    inverse = solver.resolvent(ScaledGram(part_of(K, curved), s), s[:, None] if intercept else None)(1.0)
    P = s**2 * inverse.diag()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(P > 1e-13 * h[curved], 1.0 / P - 1.0 / h[curved], np.nan)
    out[curved] -= alpha[curved] * change
    for i in range(0, straight.size, block):
        rows = straight[i : i + block]
        k = K.rows(rows)
        v = k[np.arange(len(rows)), rows] - inverse.explained_variance((k[:, curved] * s).T, np.ones((len(rows), 1)))
        out[rows] -= alpha[rows] * v
    return out


def span_rule(kernel, X, alpha, f, lower, upper, *, intercept=True):
    """f − αS², S the distance of a support vector to the span of the free ones: nothing changes for the other rows."""
    out, inside = np.array(f, dtype=float), (alpha > lower) & (alpha < upper)
    free, bounded = np.flatnonzero(inside & (alpha != 0.0)), np.flatnonzero(~inside & (alpha != 0.0))
    squares = span(kernel, take(X, free), take(X, bounded), intercept=intercept)
    for rows, square in ((free, squares.free), (bounded, squares.bounded)):
        out[rows] -= alpha[rows] * square
    return out
