"""Approximate leave-one-out for smooth losses: one Newton step without the row, for all rows from one inverse."""

import numpy as np

from mercer.gram import DenseGram, ScaledGram
from mercer.solvers import Cholesky

FLAT = 1e-12  # of the largest curvature: a row below it counts as straight


def approximate_leave_one_out(K, alpha, f, h, *, intercept=True):
    """f₋ᵢ(xᵢ) ≈ fᵢ − αᵢvᵢ/(1 − hᵢvᵢ),  v the diagonal of (K⁻¹ + diag h)⁻¹: exact for the squared loss.

    A row with its whole weight is taken out. The loss of the others is replaced by its quadratic model at f, so the
    error is of second order in the change of f. For hᵢ > 0 this is fᵢ − αᵢ(1/Pᵢᵢ − 1/hᵢ) with P = (K + diag(1/h))⁻¹,
    projected on Σα = 0 where there is an intercept.

    Parameters
    ----------
    K : Gram
    alpha, f : ndarray of shape (n,)
        Solution, and its values at the rows.
    h : ndarray of shape (n,)
        wᵢL″(yᵢ, fᵢ)/(2λ) >= 0.
    intercept : bool, default=True

    Returns
    -------
    ndarray of shape (n,)
        nan where the row alone determines the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.uncertainty.alo import approximate_leave_one_out
    >>> K = DenseGram.from_matrix(np.eye(2))
    >>> approximate_leave_one_out(K, np.array([0.5, 1.0]), np.array([0.5, 1.0]), np.ones(2), intercept=False)
    array([0., 0.])
    """
    matrix = K.dense()
    curved = np.flatnonzero(h > FLAT * h.max(initial=0.0))
    straight = np.flatnonzero(~(h > FLAT * h.max(initial=0.0)))
    out = np.array(f, dtype=float)
    if not curved.size:
        return out - alpha * (np.nan if intercept else np.diagonal(matrix))
    lam = 1.0 / float(np.median(h[curved]))
    s = np.sqrt(lam * h[curved])
    part = matrix if curved.size == len(h) else matrix[np.ix_(curved, curved)]
    trend = s[:, None] if intercept else None
    inverse = Cholesky().resolvent(ScaledGram(DenseGram.from_matrix(part), s), trend)(lam)
    P = s**2 * inverse.diag()
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(P > 1e-13 * h[curved], 1.0 / P - 1.0 / h[curved], np.nan)
    out[curved] -= alpha[curved] * change
    if straight.size:
        cross = matrix[np.ix_(curved, straight)] * s[:, None]
        v = np.diagonal(matrix)[straight] - inverse.explained(cross, np.ones((straight.size, 1)))
        out[straight] -= alpha[straight] * v
    return out
