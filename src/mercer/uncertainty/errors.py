"""Intervals from the errors on rows left out of fits that chose everything again, kernel and λ too."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mercer._warn import warn
from mercer.uncertainty._ends import rank_of


@dataclass(frozen=True, eq=False)
class LeftOutErrors:
    """f(x) ± q σ(x),  q the ⌈coverage·(n + 1)⌉-th smallest |eᵢ|/σᵢ of rows left out: split conformal over refits.

    A fit that has chosen its kernel and λ on few rows states deviations of itself that are far too small, and leaving a
    row out with kernel and λ held does not show it. In nested cross-validation everything is chosen again without the
    row, so its errors are those of new rows: f(x) ± q holds a new target with the probability that is asked for, as
    far as fits on four fifths of the rows err like that on all of them (rather more).

    Where the model states deviations s(x), widths follow them: σ² = (n s² + 50 τ²)/(n + 50), τ² the mean of e². Those
    of few rows are as unsure as the choice itself: widths are then nearly all alike.

    Parameters
    ----------
    residuals : array-like of shape (n,)
        Target minus prediction, of rows that the fit had not seen; rows with nan are dropped.
    std : array-like of shape (n,), default=None
        The deviation of the target, noise included, that the fit without the row states for it.
    fold : array-like of int of shape (n,), default=None
        Which fold each row was left out with; None is each row alone.
    even_rows : float, default=50
        Rows that widths all alike count as.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.uncertainty import LeftOutErrors
    >>> errors = LeftOutErrors(np.arange(1.0, 20.0))
    >>> errors.interval([100.0], 0.9)
    array([[ 82., 118.]])
    >>> round(errors.coverage(0.9), 3)  # of each row, by the errors of the others
    0.947
    """

    residuals: np.ndarray
    std: np.ndarray | None = None
    fold: np.ndarray | None = None
    even_rows: float = 50.0

    def __post_init__(self):
        residuals = np.asarray(self.residuals, dtype=float)
        known = np.isfinite(residuals)
        if residuals.ndim != 1 or not self.even_rows >= 0:
            raise ValueError(f"residuals must be of one axis, got shape {residuals.shape}; even_rows must be >= 0.")
        std, fold = (None if part is None else np.asarray(part, dtype=kind)
                     for part, kind in ((self.std, float), (self.fold, int)))  # fmt: skip
        for part in (std, fold):
            if part is not None and part.shape != residuals.shape:
                raise ValueError(f"{len(residuals)} residuals need as many std and folds, got shape {part.shape}.")
        std = std[known] if std is not None and np.isfinite(std[known]).all() else None
        object.__setattr__(self, "residuals", residuals[known])
        object.__setattr__(self, "std", std)
        object.__setattr__(self, "fold", None if fold is None else fold[known])

    @classmethod
    def of(cls, estimator, y, predicted, std=None, fold=None):
        """Return the errors of fits like an estimator, on the scale where they are alike.

        Parameters
        ----------
        estimator : KernelEstimator
        y, predicted : array-like of shape (n,)
            Targets of rows left out, and what was predicted for them; nan where nothing is known.
        std, fold : array-like of shape (n,), default=None
            Deviations of the targets that were stated, and the fold of each row.

        Returns
        -------
        LeftOutErrors
        """
        (z, _), (f, std) = (
            _on_scale(estimator.transform_, y),
            _on_scale(estimator.transform_, predicted, std),
        )
        return cls(np.asarray(z, dtype=float) - np.asarray(f, dtype=float), std, fold)

    def interval_of(self, estimator, X, coverage=0.9):
        """[low, high] of a fitted estimator at some inputs.

        Parameters
        ----------
        estimator : KernelEstimator
        X : inputs of the estimator
        coverage : float, default=0.9

        Returns
        -------
        ndarray of shape (m, 2)
        """
        stated = self.std is not None
        found = estimator.predict(X, return_std=True, noisy=True) if stated else (estimator.predict(X), None)
        target = estimator.transform_
        f, std = _on_scale(target, *found)
        ends = self.interval(f, coverage, std)
        return ends if target is None else target.back(ends)

    def scale(self, std=None):
        """σ where deviations ``std`` are stated; 1 where none are.

        Parameters
        ----------
        std : array-like of shape (m,), default=None

        Returns
        -------
        ndarray of shape (m,), or float
        """
        if self.std is None or std is None:
            return 1.0
        n, unit = len(self.residuals), float(np.abs(self.residuals).max(initial=0.0)) or 1.0  # in any unit
        usual = unit * np.sqrt(np.mean((self.residuals / unit) ** 2))
        own, even = np.sqrt(np.array([n, self.even_rows]) / (n + self.even_rows))
        return np.hypot(own * np.asarray(std, dtype=float), even * usual)

    @property
    def scores(self):
        """|eᵢ|/σᵢ of each row."""
        sigma = self.scale(self.std)
        return np.divide(np.abs(self.residuals), sigma, out=np.zeros(len(self.residuals)), where=sigma > 0)

    def quantile(self, coverage):
        """q, how many σ hold a new target with a probability.

        Where n rows do not show it, that of n/(n + 1) is made wider as normal errors would ask, with a warning; of a
        model that states no deviations it is infinite.

        Parameters
        ----------
        coverage : float

        Returns
        -------
        float
        """
        scores, n = np.sort(self.scores), len(self.residuals)
        place = _rank_of_score(coverage, n)
        if 0 < coverage < 1 and place <= n:
            return float(scores[place - 1])
        if self.std is None or not n or not 0 < coverage < 1:
            rank_of(coverage, n)  # says how many rows it takes
            return np.inf
        most = n / (n + 1.0)
        warn(
            f"{n} rows left out show a coverage of {most:.2f} at most, not of {coverage:g}: the intervals are those of "
            f"{most:.2f}, as much wider as normal errors would ask.",
            UserWarning,
        )
        return float(scores[-1] * ndtri((1.0 + coverage) / 2.0) / ndtri((1.0 + most) / 2.0))

    def interval(self, f, coverage=0.9, std=None):
        """[f − q σ, f + q σ].

        Parameters
        ----------
        f : array-like of shape (m,)
            Predictions.
        coverage : float, default=0.9
        std : array-like of shape (m,), default=None
            The deviations of new targets that the model states beside them.

        Returns
        -------
        ndarray of shape (m, 2)
        """
        f = np.asarray(f, dtype=float)
        half = self.quantile(coverage) * self.scale(std) * np.ones(len(f))
        return np.column_stack([f - half, f + half])

    def coverage(self, level):
        """The share of the rows left out that such intervals hold, each fold by the errors of the others.

        Of few rows each one by all others; nan where these are too few as well.

        Parameters
        ----------
        level : float

        Returns
        -------
        float
        """
        scores, alone = self.scores, np.arange(len(self.residuals))
        for fold in (alone if self.fold is None else self.fold, alone):
            most = len(scores) - np.bincount(fold).max(initial=0)  # rows that the largest fold is judged by
            if not 0 < _rank_of_score(level, most) <= most:
                continue
            inside = np.zeros(len(scores), dtype=bool)
            for k in np.unique(fold):
                others = np.sort(scores[fold != k])
                inside[fold == k] = scores[fold == k] <= others[_rank_of_score(level, len(others)) - 1]
            return float(inside.mean())
        return np.nan

    def own_coverage(self, level):
        """The share of the rows left out that f ± z s holds, with the deviations that the fits state; nan without.

        Parameters
        ----------
        level : float

        Returns
        -------
        float
        """
        if self.std is None:
            return np.nan
        return float(np.mean(np.abs(self.residuals) <= ndtri((1.0 + level) / 2.0) * self.std))


def _on_scale(target, y, std=None):
    """(values, deviations) on the scale of a transformed target, to first order; nan where y cannot be."""
    if target is None:
        return y, std
    y = np.asarray(y, dtype=float)
    inside = np.isfinite(y) & target.inside(y)
    seen = np.where(inside, y, target.back(np.zeros(1)))
    return np.where(inside, target.forward(seen), np.nan), None if std is None else std * np.exp(target.log_slope(seen))


def _rank_of_score(coverage, n):
    """⌈coverage·(n + 1)⌉: which of n scores in ascending order holds a new one with a probability."""
    return int(np.ceil(coverage * (n + 1) - 1e-9))
