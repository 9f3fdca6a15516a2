"""Every row under the model without it, from one inverse; equal rows merged or not."""

from typing import NamedTuple

import numpy as np


class LeftOut(NamedTuple):
    """What is known of each row from the others.

    residuals : ndarray of shape (n, t)
        yᵢ − f₋ᵢ(xᵢ); nan where row i alone determines a direction of the trend.
    leverage : ndarray of shape (n,)
        ∂f(xᵢ)/∂yᵢ.
    variance : ndarray of shape (n,)
        Of yᵢ given the other rows, noise included, in the Gaussian reading.
    """

    residuals: np.ndarray
    leverage: np.ndarray
    variance: np.ndarray


def left_out(P, rows, beta):
    """e = [(y − ȳ) + λβ/√c] / [(1 − w/c) + (w/c) λs],  s = diag P: for a row that is its own point, β/(√c s).

    Parameters
    ----------
    P : Inverse
        Of S K S + λI of the points, S = diag(√c), the trend projected out.
    rows : Rows
    beta : ndarray of shape (m, t)
        P S ȳ.

    Returns
    -------
    LeftOut

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.solvers import Explicit
    >>> from mercer.uncertainty.left_out import left_out
    >>> rows, P = Rows(np.array([[0.0], [9.0]]), np.array([[1.0], [3.0]])), Explicit(np.eye(2) / 2, lam=1.0)
    >>> found = left_out(P, rows, P @ rows.y)
    >>> found.residuals.ravel(), found.leverage, found.variance
    (array([1., 3.]), array([0.5, 0.5]), array([2., 2.]))
    """
    of, lam, share = rows.index, P.lam, rows.shares()
    s = np.maximum(P.diag(), 0.0) if rows.n > rows.q else np.zeros(rows.n)  # else the trend goes through every point
    beta = beta / np.sqrt(rows.weights())[:, None]
    rest = (1.0 - share) + share * lam * s[of]
    s = np.where(s > 0, s, np.nan)  # no fit without a row that alone determines a direction of the trend
    with np.errstate(divide="ignore", invalid="ignore"):
        within = ((rows.row_y - rows.y[of]) + lam * beta[of]) / rest[:, None]
        alone = (beta / s[:, None])[of]  # λ cancels, and may be 0
        variance = np.where(share == 1.0, 1.0 / (rows.row_weight * s[of]), lam / rows.row_weight / rest)
    return LeftOut(np.where((share == 1.0)[:, None], alone, within), 1.0 - rest, variance)


def constant_model(rows):
    """(b, LeftOut) of λ = ∞: f = b, the weighted mean of y, or 0 without a trend.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.uncertainty.left_out import constant_model
    >>> constant_model(Rows(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]), trend=constant))[0]
    array([[2.]])
    """
    y, w = rows.row_y, rows.row_weight
    unknown = np.full(len(y), np.inf)
    if not rows.q:
        return np.zeros((0, rows.t)), LeftOut(y.copy(), np.zeros(len(y)), unknown)
    b, leverage = (w @ y / w.sum())[None], w / w.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return b, LeftOut((y - b) / (1.0 - leverage)[:, None], leverage, unknown)
