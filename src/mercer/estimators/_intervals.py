"""What a ridge model gives besides the prediction: intervals, influence of the rows, calibration."""

import copy
from dataclasses import dataclass, replace

import numpy as np

from mercer import uncertainty
from mercer._policies import Options, OptionSet
from mercer.approximate.fitted import Fitted, Scores, by_target
from mercer.estimators._fitting import Approximated, FitReport
from mercer.estimators._protocol import LARGEST, over_partitions
from mercer.estimators._regressor import KernelRegressor
from mercer.estimators.validation import check_weight, check_y
from mercer.exceptions import NeedsAllRows
from mercer.selection.judging import RowsLeftOut

METHODS = {"conformal": uncertainty.conformal, "jackknife+": uncertainty.jackknife_plus, "cv+": uncertainty.cv_plus}


@dataclass(frozen=True)
class IntervalOptions(Options):
    """Which rows that were left out say how far a new one of like deviation may lie, in an approximation."""

    share: float = 0.1  # of these rows, those whose deviations are nearest
    least_beyond: int = 20  # of them beyond the ends of an interval, at least


class LinearEstimator(Approximated, KernelRegressor):
    """A model that is linear in y: what it says of its rows is asked of what was fitted."""

    state_fields = {**KernelRegressor.state_fields, "fitted": Fitted}
    state_extras = {**KernelRegressor.state_extras, "fitted": "_fitted"}
    interval_method = "conformal"
    trends = ("constant", "linear", "a basis")
    lam: float
    merge: bool
    memory: float | None

    @property
    def merges_rows(self):
        """Whether equal rows of X are one point."""
        return self.merge

    def _asked(self):
        """What was fitted."""
        self._check_fitted()
        return self._fitted

    def _restore(self, state):
        super()._restore(state)
        rows = None if self._fitted is None else self._fitted.rows
        if rows is None:
            return
        columns = {"n_features_in_": rows.d, **state}["n_features_in_"]
        if len(self.points_) != rows.n or rows.d not in (None, columns):
            raise ValueError(f"{rows.n} rows of {rows.d} columns are not those of the points.")
        if "dual_coef_" in state and self.dual_coef_.reshape(rows.n, -1).shape[1] != rows.t:
            raise ValueError(f"rows of {rows.t} targets are not those of the coefficients.")

    def _become(self, fitted):
        """Take over a fit to other rows, all or nothing."""
        changed = copy.copy(self)
        changed.__dict__.pop("rkhs_norm_", None)
        said = fitted.report_after_change(self.fit_report_)
        changed._publish(fitted)
        changed.fit_report_ = FitReport(said)
        return self._take_over(changed)

    def _check_more_rows(self, X, y, sample_weight):
        """(X, y, weights) of rows that join or leave the fit: y and weights of shapes (k, t) and (k,)."""
        X, y, t = self._new_rows(X), np.atleast_1d(check_y(y)), self._fitted.targets
        y = y.reshape(len(y), -1)
        if len(X) != len(y) or y.shape[1] != t:
            raise ValueError(f"X has {len(X)} rows and y has shape {y.shape}; the fit has {t} targets.")
        weight = check_weight(sample_weight, len(y))
        return X, y, np.ones(len(y)) if weight is None else weight

    @property
    def row_weight_(self):
        """Weight of each row given to ``fit``: its noise variance is λ/weight; 0 for rows that were left out.

        None where the fit keeps no rows.
        """
        rows = self._asked().rows
        return None if rows is None else rows.to_rows(rows.row_weight, 0.0)

    @property
    def row_target_(self):
        """Target of each row given to ``fit``, of shape (n,) or (n, t); nan for rows of weight 0."""
        rows = self._asked().rows
        if rows is None:
            raise NeedsAllRows("the target of each row")
        return self._shaped(rows.to_rows(rows.row_y * rows.unit))

    @property
    def linear(self):
        """Whether there is one system of all rows, for paths of λ and influence: not in an approximation."""
        return self._fitted is not None and self._fitted.exact

    @property
    def leaves_out(self):
        """How good ``left_out()`` is; None in an approximation, which leaves out some rows only."""
        return "exact" if self.linear else None

    @property
    def row_lam_(self):
        """λ of each row given to ``fit``, with the common factor that was learnt; None where all rows share it."""
        given = np.asarray(self._given_lam(), dtype=float)
        weight = self.row_weight_ if given.ndim and self._fitted is not None else None
        if weight is None:
            return None
        lam = min(self.lam_, LARGEST)
        if len(given) == len(weight):
            return given * (lam / float(np.exp(np.log(given).mean())))
        return lam / np.where(weight > 0, weight, 1.0)  # rows that joined or left later

    def _given_lam(self):
        """λ as it was given: one, or one for each row."""
        return self.lam

    def _shaped(self, values):
        return by_target(values, self._fitted.flat)

    def _needs_all_rows(self, what):
        """Refuse what an approximation does not have."""
        if not self._asked().exact:
            raise NeedsAllRows(what)

    # ---------------------------------------------------------------------- rows that are left out
    def _left_out_rows(self):
        std = np.sqrt(self._fitted.left_out().variance)
        return RowsLeftOut(self.row_target_ - self.loo_residuals_, std=std if self.probabilistic else None)

    @property
    def loo_residuals_(self):  # type: ignore[override]
        """yᵢ − f₋ᵢ(xᵢ), of shape (n,) or (n, t): under the model without row i; nan for rows of weight 0."""
        return self._shaped(self._asked().left_out().residuals)

    @property
    def leverage_(self):
        """∂f(xᵢ)/∂yᵢ; nan for rows of weight 0."""
        return self._asked().left_out().leverage

    @property
    def dof_(self):
        """Σ ∂f(xᵢ)/∂yᵢ: the degrees of freedom of the fit."""
        return self._asked().dof

    # ---------------------------------------------------------------------- intervals
    @over_partitions
    def predict_interval(
        self, X, coverage=0.9, *, method="conformal", normalise=False, sample_weight=None, folds=10, calibration=None
    ):
        """[low, high] that holds the target of a new row with a probability of at least ``coverage``.

        The guarantee of "conformal" is exact for any noise and any number of rows, if the rows and the new one are
        exchangeable (drawn alike, in any order). It speaks of the average over new rows, not of each x. It needs a
        kernel and a λ that were fixed beforehand: after a choice on the same rows (``criterion``, a grid search) the
        intervals are a little too short, the more so the more was chosen. Then set rows aside and use
        ``method="split"``, which is exact whatever the fit has done.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
            The share of new targets that are to lie inside.
        method : {"conformal", "jackknife+", "cv+", "left-out", "split"}, default="conformal"
            "conformal": all targets z that the rows do not contradict, by fits with (x, z) and without each row in
            turn; where these form several intervals, their convex hull. "jackknife+": from the fits without a row;
            probability at least 2 coverage − 1, near coverage in practice. "cv+": the same without a fold.
            "left-out": prediction ± a quantile of ``loo_residuals_``, with ``normalise`` in units of their deviations.
            "split": the same of residuals on ``calibration``. The first three need one inverse of the training rows,
            n³ operations and 8n² bytes at the first call, and refit nothing.
        normalise : bool, default=False
            Whether residuals are compared in units of the model's standard deviation at their x: intervals are then
            wider where there are few rows. The guarantee is the same. In an approximation they are also compared with
            the tenth of the rows left out whose deviations are nearest.
        sample_weight : float or array-like of shape (m,), default=None
            Weight of the new rows, as in ``fit``: their noise variance is λ/weight. None is 1.
        folds : int or list of index arrays, default=10
            Folds of "cv+": rows of positive weight, counted from 0.
        calibration : (X, y), default=None
            Rows for "split" that the fit, and every choice before it, has not seen; with
            ``approximation=Landmarks(held=...)`` they are there already.

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)
            Infinite, with a warning, where there are fewer than coverage/(1 − coverage) rows.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
        >>> model = KernelRidge(Gaussian(0.3), lam=0.1).fit(X, y)
        >>> model.predict_interval([[0.25], [0.75]]).shape
        (2, 2)
        """
        held = self._asked().holds_rows_out and method == "split" and calibration is None
        if not held:
            self._check_interval_method(method, (*METHODS, "left-out", "split"), calibration)
        if method == "left-out" and sample_weight is not None and not normalise:
            raise ValueError('sample_weight changes intervals of method="left-out" with normalise=True only.')
        if method == "left-out" and not normalise:
            return super().predict_interval(X, coverage)
        X = self._new_rows(X)
        if sample_weight is not None and np.shape(sample_weight) not in ((), (1,), (len(X),)):
            raise ValueError(
                f"sample_weight must be one number, or one for each of the {len(X)} new rows; got shape "
                f"{np.shape(sample_weight)}."
            )
        sample_weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if method in METHODS and self._fitted.exact:
            options = {"folds": folds} if method == "cv+" else {}
            fits = self._fitted.deletion()
            found = METHODS[method](fits, X, coverage, normalise=normalise, weight=sample_weight, **options)
            return found * self._fitted.rows.unit
        scores = self._scores(X, method, normalise, sample_weight, calibration)
        f, options = self.predict(X), {"scale": scores.scale, "new_scale": scores.new_scale, "copies": scores.copies}
        if method == "conformal" and normalise and 0 < coverage < 1:
            count = len(scores.residuals)  # of the rows left out, those that are told as well as the new one
            nearest = OptionSet(self.options)[IntervalOptions]
            least = nearest.least_beyond / (1.0 - coverage)
            options["near"] = int(min(count, max(nearest.share * count, least)))
        return self._shaped(uncertainty.split(scores.residuals, f.reshape(len(f), -1), coverage, **options))

    def _scores(self, X, method, normalise, weight, calibration):
        """`Scores` of rows set aside, held out, or left out."""
        fitted = self._fitted
        if method == "split" and calibration is None:
            return fitted.held_scores(X, normalise, weight)
        if method == "split":
            residuals = self._residuals_of(calibration)
            residuals = residuals.reshape(len(residuals), -1)
            if not normalise:
                return Scores(residuals)
            scale = fitted.deviation(self._new_rows(calibration[0]), None)
            return Scores(residuals, scale, fitted.deviation(X, weight))
        if method not in ("conformal", "left-out"):
            raise ValueError(
                'in an approximation method is "conformal" or "left-out", of rows left out in the fit, or "split".'
            )
        return fitted.scores(X, normalise, weight)

    def influence(self):
        """f(xⱼ) − f₋ᵢ(xⱼ) = Aⱼᵢ rᵢ: leverage, leave-one-out residuals, Cook's distance, DFFITS, degrees of freedom.

        Returns
        -------
        mercer.uncertainty.Influence
            One entry for each training row, NaN for rows of weight 0.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> model = KernelRidge(Gaussian(1.0), lam=0.1).fit([[0.0], [1.0], [2.0], [9.0]], [0.0, 1.0, 0.0, 5.0])
        >>> int(model.influence().leverage.argmax())
        3
        """
        rows = self._asked().rows
        found, unit = uncertainty.influence(self._fitted.deletion()), 1.0 if rows is None else rows.unit
        with np.errstate(over="ignore"):  # σ² of targets beyond 1e154 is no float64
            sigma2 = np.multiply(found.sigma2, unit) * unit
        sigma2 = float(sigma2) if np.ndim(sigma2) == 0 else sigma2
        found = replace(found, loo_residuals=found.loo_residuals * unit, sigma2=sigma2)
        names = ("leverage", "loo_residuals", "cook", "dffits")
        return replace(found, **{name: rows.to_rows(getattr(found, name)) for name in names})

    def calibration(self, levels=uncertainty.LEVELS):
        """zᵢ = (yᵢ − f₋ᵢ(xᵢ))/sd₋ᵢ(xᵢ): whether λ and the kernel, read as a Gaussian process, state the right errors.

        In an approximation zᵢ is that of the rows held out (``Landmarks(held=...)``), or else of those left out.

        Parameters
        ----------
        levels : array-like, default=(0.5, 0.8, 0.9, 0.95, 0.99)
            The shares that are stated, of which each is compared with what was found.

        Returns
        -------
        mercer.uncertainty.Calibration
            z has one entry for each training row, NaN for rows of weight 0, and for those that were not left out.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
        >>> found = KernelRidge(Gaussian(0.3), lam=0.01).fit(X, y).calibration()
        >>> 0.5 < found.mean_square < 2
        True
        """
        return self._asked().calibration(levels)
