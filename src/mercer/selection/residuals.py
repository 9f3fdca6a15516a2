"""Leave-one-out residuals and leverages of every row from one fit, equal rows merged or not."""

import numpy as np

from mercer.selection.projected import Projected


def leave_one_out(Kinv, beta, H, points, rows):
    """e = [(y − ȳ) + λβ/√c] / [(1 − w/c) + (w/c) λ s]: for a row that is its own point, β/(√w s).

    Parameters
    ----------
    Kinv : Inverse
        K̃⁻¹ of the points, S K S + λI with S = diag(√c).
    beta : ndarray of shape (m, t)
        P S ȳ, the solution of that system.
    H : ndarray of shape (m, q)
        Its trend.
    points : (ȳ, c)
        Mean target (m, t) and weight (m,) of each point.
    rows : (y, w, index)
        Target (n, t), weight (n,) and point (n,) of each row.

    Returns
    -------
    e : ndarray of shape (n, t)
        yᵢ − f₋ᵢ(xᵢ); nan where row i alone determines a direction of the trend.
    leverage : ndarray of shape (n,)
        ∂f(xᵢ)/∂yᵢ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import Explicit
    >>> from mercer.selection.residuals import leave_one_out
    >>> Kinv, y, w = Explicit(np.eye(2) / 2, lam=1.0), np.array([[1.0], [3.0]]), np.ones(2)
    >>> e, leverage = leave_one_out(Kinv, Kinv @ y, np.ones((2, 0)), (y, w), (y, w, np.arange(2)))
    >>> e.ravel(), leverage
    (array([1., 3.]), array([0.5, 0.5]))
    """
    (mean, c), (y, w, index) = points, rows
    if H.shape[1] >= len(c):  # the trend goes through every point: P = 0
        s = np.zeros(len(c))
    else:
        s = np.maximum((Projected(Kinv, H) if H.shape[1] else Kinv).diag(), 0.0)
    lam, root = Kinv.lam, np.sqrt(c)[:, None]
    share = w / c[index]
    single = share == 1.0
    rest = (1.0 - share) + share * lam * s[index]
    s = np.where(s > 0, s, np.nan)  # no fit without a row that alone determines a direction of the trend
    with np.errstate(divide="ignore", invalid="ignore"):
        merged = ((y - mean[index]) + lam * (beta / root)[index]) / rest[:, None]
        alone = (beta / root / s[:, None])[index]  # λ cancels, and may be 0
    return np.where(single[:, None], alone, merged), 1.0 - rest


def constant_model(y, w, intercept):
    """(b, e, leverage) of λ = ∞: f = b, the weighted mean of y, or 0 without an intercept.

    Parameters
    ----------
    y : ndarray of shape (n, t)
    w : ndarray of shape (n,)
    intercept : bool

    Returns
    -------
    b : ndarray of shape (0, t) or (1, t)
    e : ndarray of shape (n, t)
        Leave-one-out residuals.
    leverage : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.residuals import constant_model
    >>> constant_model(np.array([[1.0], [3.0]]), np.ones(2), True)[0]
    array([[2.]])
    """
    if not intercept:
        return np.zeros((0, y.shape[1])), y.copy(), np.zeros(len(y))
    b = (w @ y / w.sum())[None]
    leverage = w / w.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return b, (y - b) / (1.0 - leverage)[:, None], leverage
