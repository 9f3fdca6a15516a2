"""Intervals for a new target from the fits without a row: full conformal, jackknife+, CV+; and split conformal."""

import numpy as np

from mercer.uncertainty._ends import conformal_ends, order_ends, rank_of


def conformal(fits, X, coverage=0.9, *, normalise=False, weight=None):
    """{z : p(z) > α},  p(z) = (1 + #{i : |rᵢ(z)| >= |r(z)|})/(n + 1): full conformal, α = 1 − coverage.

    rᵢ(z) is the residual of row i by the fit to the other rows and (x, z), and r(z) = z − f(x). If the rows and the
    new one are exchangeable, and λ and the kernel were not chosen on them, the set holds the new target with
    probability at least 1 − α, for any noise and any n. It is an interval around f(x), unless the held-out prediction
    of some row moves faster than z; then it may have gaps, and its convex hull is returned. The price is one product
    with K̃⁻¹ and one selection among n end points for each new input.

    Parameters
    ----------
    fits : Deletion
    X : collection
        m new inputs.
    coverage : float, default=0.9
    normalise : bool, default=False
        Whether each residual is divided by the standard deviation of its target given the other rows, so that
        intervals are wider where there are few rows. The guarantee is the same.
    weight : float or array-like of shape (m,), default=None
        Weight of the new rows; None is 1. A row counts once, whatever its weight.

    Returns
    -------
    ndarray of shape (m, 2) or (m, 2, t)
        Lower and upper ends; infinite, with a warning, when n < coverage/(1 − coverage).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion, conformal
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> conformal(Deletion(Gaussian(0.3), Rows(X, y[:, None], trend=constant), 0.1), [[0.25]]).round(1)
    array([[0.7, 1.1]])
    """
    rank = rank_of(coverage, len(fits.y))
    out = _empty(fits, X)
    for here, f, w, kappa in fits.tiles(X, weight):
        for j, A, B in _scores(fits, w, kappa, normalise):
            out[here, :, j] = (f[:, j] + conformal_ends(A, B, rank)).T
    return fits.shape(out)


def p_value(fits, X, y, *, normalise=False, weight=None):
    """p = (1 + #{i : |rᵢ| >= |r|})/(n + 1): how usual the target y is at x; `conformal` keeps what has p > α.

    Parameters
    ----------
    fits : Deletion
    X : collection
        m new inputs; each is tested alone.
    y : array-like of shape (m,) or (m, t)
    normalise, weight
        As for `conformal`.

    Returns
    -------
    ndarray of shape (m,) or (m, t)
        Under exchangeability P(p <= α) <= α.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion, p_value
    >>> X = np.linspace(0, 1, 19)[:, None]
    >>> fits = Deletion(Gaussian(0.3), Rows(X, np.sin(6 * X), trend=constant), 0.1)
    >>> p_value(fits, [[0.25]], [5.0])
    array([0.05])
    """
    y = np.asarray(y, dtype=float).reshape(len(X), -1)
    out = np.empty((len(X), fits.y.shape[1]))
    for here, f, w, kappa in fits.tiles(X, weight):
        v = y[here] - f
        for j, A, B in _scores(fits, w, kappa, normalise):
            out[here, j] = 1 + np.count_nonzero(np.abs(A - B * v[:, j]) >= np.abs(v[:, j]), axis=0)
    return fits.shape(out / (len(fits.y) + 1))


def _scores(fits, w, kappa, normalise):
    """Yield (j, A, B): row i scores |Aᵢ − Bᵢv| when x has the target f(x) + v, which itself scores |v|."""
    s = fits.s[:, None] + w**2 / kappa  # diag P with the new row
    divisor = np.sqrt(s / kappa) if normalise else s
    B = w / (kappa * divisor)
    for j in range(fits.y.shape[1]):
        yield j, fits.a[:, j, None] / divisor, B


def jackknife_plus(fits, X, coverage=0.9, *, normalise=False, weight=None):
    """[⌊α(n+1)⌋-th smallest of f₋ᵢ(x) − |rᵢ|,  ⌊α(n+1)⌋-th largest of f₋ᵢ(x) + |rᵢ|]: jackknife+.

    Under the conditions of `conformal` it holds the new target with probability at least 1 − 2α; near 1 − α in
    practice. Parameters and result are those of `conformal`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion, jackknife_plus
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> jackknife_plus(Deletion(Gaussian(0.3), Rows(X, y[:, None], trend=constant), 0.1), [[0.25]]).round(1)
    array([[0.7, 1.1]])
    """
    rank = rank_of(coverage, len(fits.y))
    s, out = fits.s[:, None], _empty(fits, X)
    for here, f, w, kappa in fits.tiles(X, weight):
        factor = np.sqrt(s * kappa + w**2) if normalise else 1.0  # sd at x over sd at xᵢ, both without row i
        for j in range(fits.y.shape[1]):
            r = fits.residuals[:, j, None]
            out[here, :, j] = order_ends(f[:, j] - w * r, factor * np.abs(r), rank).T
    return fits.shape(out)


def cv_plus(fits, X, coverage=0.9, *, folds=10, normalise=False, weight=None, random_state=0):
    """[⌊α(n+1)⌋-th smallest of f₋B(x) − |rᵢ|,  ⌊α(n+1)⌋-th largest of f₋B(x) + |rᵢ|]: CV+, B the fold of row i.

    Like `jackknife_plus` with fits without a whole fold: f₋B(x) = f(x) − w_Bᵀr_B and r_B = P_BB⁻¹a_B, exact and
    without a refit. Rows that hang together, such as those of one patient, belong into one fold.

    Parameters
    ----------
    fits, X, coverage, normalise, weight
        As for `conformal`.
    folds : int or list of index arrays, default=10
        A number deals the rows at random.
    random_state : int, default=0

    Returns
    -------
    ndarray of shape (m, 2) or (m, 2, t)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion, cv_plus
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> cv_plus(Deletion(Gaussian(0.3), Rows(X, y[:, None], trend=constant), 0.1), [[0.25]], folds=5).round(1)
    array([[0.7, 1.1]])
    """
    rank = rank_of(coverage, len(fits.y))
    folds = _folds(folds, len(fits.y), random_state)
    without = [fits.without(B) for B in folds]
    r, variance = np.empty_like(fits.a), np.empty_like(fits.s)
    for B, inverse in zip(folds, without, strict=True):
        r[B], variance[B] = inverse @ fits.a[B], inverse.diag()
    out = _empty(fits, X)
    for here, f, w, kappa in fits.tiles(X, weight):
        shift, spread = np.empty((f.shape[1], *w.shape)), np.ones_like(w)
        for B, inverse in zip(folds, without, strict=True):
            shift[:, B] = (w[B].T @ r[B]).T[:, None]
            if normalise:
                there = kappa + np.einsum("ij,ij->j", w[B], inverse @ w[B])
                spread[B] = np.sqrt(there / variance[B, None])
        for j in range(f.shape[1]):
            out[here, :, j] = order_ends(f[:, j] - shift[j], spread * np.abs(r[:, j, None]), rank).T
    return fits.shape(out)


def split(residuals, f, coverage=0.9, *, scale=1.0, new_scale=1.0, near=None, copies=None):
    """f(x) ± q,  q the ⌈(1−α)(n+1)⌉-th smallest of |yᵢ − f(xᵢ)| on n rows that the fit has not seen: split conformal.

    Holds the new target with probability at least 1 − α however f was found, tuning included, if the n rows and the
    new one are exchangeable.

    Parameters
    ----------
    residuals : ndarray of shape (n, t)
        yᵢ − f(xᵢ) of the rows set aside.
    f : ndarray of shape (m, t)
        Predictions at the new inputs.
    coverage : float, default=0.9
    scale, new_scale : ndarray of shape (n,) and (m,), default=1.0
        Residuals are divided by ``scale``, q is multiplied by ``new_scale``.
    near : int, default=None
        Of how many rows, those whose scale is nearest, q is taken for each new one; None is all. Where a scale is right
        for some rows and not for others, as in gaps of a map, the probability then holds among rows of like scale too.
    copies : ndarray of shape (n,), default=None
        How many equal rows each of these stands for; None is one. They count in the quantile, while the n + 1 of the
        guarantee is of distinct rows: copies say nothing new.

    Returns
    -------
    ndarray of shape (m, 2, t)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.uncertainty import split
    >>> split(np.arange(-9.0, 10.0)[:, None], np.zeros((1, 1)), 0.9)[0, :, 0]
    array([-9.,  9.])
    """
    residuals, f = np.asarray(residuals, dtype=float), np.asarray(f, dtype=float)
    scores, count = np.abs(residuals) / np.reshape(scale, (-1, 1)), len(residuals) if near is None else near
    rank = rank_of(coverage, count)
    if rank == 0:
        q = np.full((1, scores.shape[1]), np.inf)
    elif count == len(scores):
        q = _quantile(scores, copies, count - rank)[None]
    else:
        q = _quantiles_near(scores, copies, scale, new_scale, count, count - rank)
    half = np.reshape(new_scale, (-1, 1)) * q
    return np.stack([f - half, f + half], axis=1)


def _quantile(scores, copies, place):
    """The score at a place, counted from 0, of each target; a row with copies takes as many more places."""
    if copies is None or (copies == copies[0]).all():
        return np.partition(scores, place, axis=0)[place]
    order = np.argsort(scores, axis=0)
    reached = np.cumsum(copies[order], axis=0) * (len(scores) / copies.sum())
    first = np.argmax(reached >= (place + 1) * (1.0 - 1e-12), axis=0)
    return scores[order[first, np.arange(scores.shape[1])], np.arange(scores.shape[1])]


def _quantiles_near(scores, copies, scale, new_scale, count, place):
    """The score at a place among those of the ``count`` rows of nearest scale, for each new scale: (m, t)."""
    order, step = np.argsort(scale, kind="stable"), max(1, count // 16)
    first = np.clip(np.searchsorted(scale[order], new_scale) - count // 2, 0, len(scores) - count)
    first, which = np.unique(first // step * step, return_inverse=True)  # of nearly the same rows
    parts = [order[i : i + count] for i in first]
    return np.stack([_quantile(scores[part], None if copies is None else copies[part], place) for part in parts])[which]


def _empty(fits, X):
    """Room for the two ends."""
    return np.empty((len(X), 2, fits.y.shape[1]))


def _folds(folds, n, random_state):
    """Index arrays that hold every row once."""
    if not isinstance(folds, list | tuple):
        if not 2 <= int(folds) <= n:
            raise ValueError(f"folds must be between 2 and the number of rows, {n}; got {folds}.")
        folds = np.array_split(np.random.default_rng(random_state).permutation(n), int(folds))
    folds = [np.asarray(B, dtype=int) for B in folds]
    if len(folds) < 2 or not np.array_equal(np.sort(np.concatenate(folds)), np.arange(n)):
        raise ValueError(f"folds must be at least two, and hold each of the {n} rows once.")
    return folds
