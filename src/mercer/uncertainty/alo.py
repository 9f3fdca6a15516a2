"""Leave-one-out for any convex loss: one Newton step without the row where it is smooth, else the span rule."""

from typing import NamedTuple

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.gram import ScaledGram, take
from mercer.gram.chosen import part_of
from mercer.solvers import Cholesky
from mercer.solvers.small import factor


class SpanDistances(NamedTuple):
    """S² of the free and of the bounded rows, and what was added to the diagonal of K_FF, beside its largest entry."""

    free: np.ndarray
    bounded: np.ndarray
    jitter: float


def span(kernel, free, bounded, *, intercept=True, most_jitter=1e-8, tile=1024):
    """Sᵢ² = 1/[K̃_FF⁻¹]ᵢᵢ (free rows),  k̃ᵢᵢ − k̃ᵢFᵀK̃_FF⁻¹k̃ᵢF (bounded): squared distance to the span of the free.

    If the rows that are free, bounded and zero stay so, the fit without row i predicts f(xᵢ) − αᵢSᵢ² there. With an
    intercept K̃ is K bordered by ones; where the others leave that open (fewer than two free rows) S² is k(x, x).
    Equal rows make K_FF singular: so much of its largest diagonal entry may be added to it.
    """
    own = np.asarray(kernel.diag(free), dtype=float) if len(free) else np.zeros(0)
    other = np.asarray(kernel.diag(bounded), dtype=float) if len(bounded) else np.zeros(0)
    if len(free) < (2 if intercept else 1):
        return SpanDistances(own, other, 0.0)
    try:
        K = factor(np.asarray(kernel(free), dtype=float), most=most_jitter)
    except NotPositiveDefinite as error:
        raise NotPositiveDefinite(
            f"the {len(free)} free support vectors have no span: the kernel is not positive semi-definite on them "
            f"({error})"
        ) from None
    inverse = K.solve(np.eye(len(free)))
    u = inverse.sum(axis=1) if intercept else np.zeros(len(free))
    total = u.sum() if intercept else 1.0
    diagonal = np.diagonal(inverse) - u**2 / total
    with np.errstate(divide="ignore"):
        s_free = np.where(diagonal > np.finfo(float).tiny, 1.0 / np.maximum(diagonal, np.finfo(float).tiny), own)
    s_bounded = np.empty(len(other))
    for i in range(0, len(other), tile):
        k = np.asarray(kernel(bounded[i : i + tile], free), dtype=float)
        s_bounded[i : i + tile] = other[i : i + tile] - np.einsum("ij,ij->i", k @ inverse, k)
        if intercept:
            s_bounded[i : i + tile] += (1.0 - k @ u) ** 2 / total
    return SpanDistances(s_free, np.maximum(s_bounded, 0.0), K.jitter)


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
