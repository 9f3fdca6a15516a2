"""Whether rows left out contradict the deviations that a model states: too few inside, too many, or unlike along x."""

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc, chdtrc, ndtri

from mercer._policies import Options
from mercer._warn import warn


@dataclass(frozen=True)
class ObjectionOptions(Options):
    """When rows left out contradict stated deviations."""

    least_rows: int = 20  # below which nothing is said
    most_rows: int = 3000  # up to which they are asked whether Gaussian intervals are right
    chance: float = 0.005  # of as many inside, below which it is worth a word
    difference: float = 0.04  # of the coverage, the same
    uneven_chance: float = 0.001  # of sizes that differ so between parts of the rows
    uneven_ratio: float = 1.5  # of these sizes
    parts: int = 5  # of the rows, along a column


def objection(z, X=None, coverage=0.9, options=ObjectionOptions()):
    """Return what residuals of rows left out say against their stated deviations, in words; None where nothing.

    Parameters
    ----------
    z : array-like of shape (n,) or (n, t)
        Residuals of rows left out, each divided by the deviation that is stated for it; nan are left away.
    X : ndarray of shape (n, d), default=None
        Inputs, along which the sizes of z are compared.
    coverage : float, default=0.9
    options : ObjectionOptions

    Returns
    -------
    str or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.uncertainty.objections import objection
    >>> z = np.random.default_rng(0).standard_normal(200)
    >>> objection(z) is None
    True
    >>> objection(2 * z)
    'they hold 60 % of 200 rows left out'
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> objection(z * np.where(x[:, 0] < 0.5, 0.3, 1.4), x)
    'beside them errors are 5.8 times as large in one part of the rows as in another, along column 0'
    """
    z = np.asarray(z, dtype=float).reshape(len(z), -1)
    known = np.isfinite(z).all(axis=1)
    z = z[known]
    if len(z) < options.least_rows:
        return None
    share, n = float(np.mean(np.abs(z) <= ndtri((1.0 + coverage) / 2.0))), len(z)
    inside = round(share * n)
    tail = bdtr(inside, n, coverage) if share < coverage else bdtrc(inside - 1, n, coverage)
    off = tail < options.chance and abs(share - coverage) > options.difference
    said = [f"they hold {100 * share:.0f} % of {n} rows left out"] if off else []
    size = np.sqrt(np.mean(z**2, axis=1))
    columns = [] if not isinstance(X, np.ndarray) or X.ndim != 2 else list(np.asarray(X, dtype=float)[known].T)
    found = [(*_uneven(x, size, options.parts), j) for j, x in enumerate(columns) if np.ptp(x) > 0]
    p, ratio, j = min(found, default=(1.0, 1.0, 0))
    if p * len(found) < options.uneven_chance and ratio > options.uneven_ratio:
        said.append(f"beside them errors are {ratio:.1f} times as large in one part of the rows as in another, along "
                    f"column {j}")  # fmt: skip
    return "; ".join(said) or None


def _uneven(x, size, most_parts):
    """(how likely sizes differ as much between parts of the rows along x, by ranks; the largest over the least)."""
    n = len(size)
    parts = np.array_split(np.argsort(x, kind="stable"), min(most_parts, n // 6))
    rank = np.argsort(np.argsort(size, kind="stable")) + 1.0
    spread = float(np.var(rank)) * n / (n - 1.0)
    if not spread > 0 or len(parts) < 2:
        return 1.0, 1.0
    between = sum(len(part) * (rank[part].mean() - rank.mean()) ** 2 for part in parts) / spread  # Kruskal and Wallis
    means = np.sqrt([np.mean(size[part] ** 2) for part in parts])
    return float(chdtrc(len(parts) - 1, between)), float(means.max() / max(means.min(), 1e-12 * means.max()))


def warn_of_wrong_deviations(process, coverage, known, options=ObjectionOptions()):
    """Say where the rows left out of a Gaussian process contradict its intervals; ``known`` keeps what was found."""
    if len(process.points_) > options.most_rows:
        return
    if coverage not in known:
        z, there = process.loo_residuals_, process.point_index_ >= 0
        z = z / (process.loo_std_ if z.ndim == 1 else process.loo_std_[:, None])
        points = process.points_
        X = points[process.point_index_[there]] if isinstance(points, np.ndarray) else None
        known[coverage] = objection(z[there], X, coverage, options)
    if known[coverage] is not None:
        warn(
            f"Gaussian intervals of {coverage:.0%} are not what the rows say: {known[coverage]}. "
            'predict_interval(method="conformal") holds what it should in the mean over rows; noise=[...], a variance '
            "for each row, makes intervals of unlike width.",
            UserWarning,
        )
