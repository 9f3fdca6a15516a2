"""The span rule: leave-one-out residuals of a support vector machine, from one factorisation of the free rows."""

from typing import NamedTuple

import numpy as np

from mercer.exceptions import NotPositiveDefinite
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
