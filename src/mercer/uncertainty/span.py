"""The span rule: leave-one-out residuals of a support vector machine, from one factorisation of the free rows."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.exceptions import NotPositiveDefinite

SHIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # of the mean diagonal; equal rows make K_FF singular
TILE = 1024


def span(kernel, free, bounded, *, intercept=True):
    """Sᵢ² = 1/[K̃_FF⁻¹]ᵢᵢ (free rows),  k̃ᵢᵢ − k̃ᵢFᵀK̃_FF⁻¹k̃ᵢF (bounded): squared distance to the span of the free.

    If the rows that are free, bounded and zero stay so, the fit without row i predicts f(xᵢ) − αᵢSᵢ² there. With an
    intercept K̃ is K bordered by ones.

    Parameters
    ----------
    kernel : Kernel
    free, bounded : collections
        The support vectors strictly inside the box, and those at a bound.
    intercept : bool, default=True

    Returns
    -------
    free, bounded : ndarray
        S² of the rows. Where the others leave the intercept open (fewer than two free rows) S² is k(x, x).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.uncertainty.span import span
    >>> X = np.array([[1.0, 0.0], [4.0, 4.0]])  # the second is 4 away from the line through the first
    >>> span(Linear(), X, X[:0], intercept=False)[0]
    array([ 0.5, 16. ])
    """
    own = np.asarray(kernel.diag(free), dtype=float) if len(free) else np.zeros(0)
    other = np.asarray(kernel.diag(bounded), dtype=float) if len(bounded) else np.zeros(0)
    if len(free) < (2 if intercept else 1):
        return own, other
    factor = _factor(np.asarray(kernel(free), dtype=float))
    inverse = cho_solve(factor, np.eye(len(free)))
    u = inverse.sum(axis=1) if intercept else np.zeros(len(free))
    total = u.sum() if intercept else 1.0
    diagonal = np.diagonal(inverse) - u**2 / total
    with np.errstate(divide="ignore"):
        s_free = np.where(diagonal > np.finfo(float).tiny, 1.0 / np.maximum(diagonal, np.finfo(float).tiny), own)
    s_bounded = np.empty(len(other))
    for i in range(0, len(other), TILE):
        k = np.asarray(kernel(bounded[i : i + TILE], free), dtype=float)
        s_bounded[i : i + TILE] = other[i : i + TILE] - np.einsum("ij,ij->i", k @ inverse, k)
        if intercept:
            s_bounded[i : i + TILE] += (1.0 - k @ u) ** 2 / total
    return s_free, np.maximum(s_bounded, 0.0)


def _factor(K):
    """The Cholesky factor of K, shifted as little as it takes."""
    mean = np.diagonal(K).mean()
    for shift in SHIFTS:
        try:
            return cho_factor(K + shift * mean * np.eye(len(K)), lower=True)
        except np.linalg.LinAlgError:
            continue
    raise NotPositiveDefinite(
        f"K of the {len(K)} free support vectors has no factor, not even with {SHIFTS[-1]:g} of its mean on the "
        "diagonal: the kernel is not positive semi-definite on them."
    )
