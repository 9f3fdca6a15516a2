"""What a ridge model gives besides the prediction: intervals, influence of the rows, calibration."""

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import uncertainty
from mercer._cached import Derived
from mercer._state import check_vectors
from mercer.estimators._base import KernelRegressor, kept
from mercer.estimators._protocol import LARGEST
from mercer.estimators.validation import check_method, held_residuals
from mercer.gram import Rows
from mercer.primal.kept import AFTER
from mercer.selection.judging import RowsLeftOut
from mercer.solvers.fitted import LeftOut
from mercer.sources.lazily import over_partitions
from mercer.uncertainty import Deletion

LIKE = 10  # a tenth of the rows left out says how far a new one of like deviation may lie
FEW_LIKE = 20  # of them beyond the ends of an interval, at least
METHODS = {"conformal": uncertainty.conformal, "jackknife+": uncertainty.jackknife_plus, "cv+": uncertainty.cv_plus}


class LinearEstimator(KernelRegressor):
    """A model that is linear in y: fits without a row, intervals, influence and calibration come from one inverse.

    ``_fit`` sets ``kernel_``, ``lam_``, ``point_index_``, the `Rows` as ``_rows``, and ``_left`` where it has the
    left-out rows at hand (else None). The inverse that these methods need is made at the first call, kept on the
    estimator, and left out of copies and pickles.
    """

    state_fields = {**KernelRegressor.state_fields, "rows": Rows}
    interval_method = "conformal"
    remade: tuple = ("_deletion",)  # 8n² bytes
    _left: LeftOut | None
    lam: float
    merge: bool
    memory: float | None

    @property
    def merges_rows(self):
        """Whether equal rows of X are one point."""
        return self.merge

    def plan(self, n, d=None, *, targets=1, rows=None):
        return self._choose(n, d, targets, n if rows is None else rows, binding=False)[1]

    @abstractmethod
    def _choose(self, n, d, targets, rows, binding=True):
        """(solver, plan) for n points of ``rows`` rows; what does not fit is refused if it is binding."""

    def state(self):
        """{name: value} of the parameters and of all that was learnt: what a file keeps."""
        fitted = {"rows": self._rows, "left_out": self._left} if "_rows" in self.__dict__ else {}
        return super().state() | fitted

    def _restore(self, state):
        rows, left = state.pop("rows", None), state.pop("left_out", None)
        super()._restore(state)
        if rows is None:
            return
        self._rows, self._left = rows, None if left is None else LeftOut(*left)
        check_vectors(self.kernel_, rows.X, f"{type(self).__name__}.rows.X")
        columns = {"n_features_in_": rows.d, **state}["n_features_in_"]
        if (rows.n, rows.t) != self.dual_coef_.reshape(len(self.points_), -1).shape or rows.d not in (None, columns):
            raise ValueError(
                f"{rows.n} rows of {rows.d} columns and {rows.t} targets are not those of the coefficients."
            )

    @property
    def row_weight_(self):
        """Weight of each row given to ``fit``: its noise variance is λ/weight; 0 for rows that were left out.

        None on landmarks, which keep no rows.
        """
        check_is_fitted(self)
        if not {"_rows", "neighbours_"} & set(self.__dict__):
            return None
        return self._rows.to_rows(self._rows.row_weight, 0.0)

    @property
    def row_target_(self):
        """Target of each row given to ``fit``, of shape (n,) or (n, t); nan for rows of weight 0."""
        check_is_fitted(self)
        return self._shaped(self._rows.to_rows(self._rows.row_y * self._rows.unit))

    @property
    def linear(self):
        """Whether there is one system of all rows, for paths of λ and influence: not in an approximation."""
        return "_rows" in self.__dict__

    @property
    def leaves_out(self):
        """How good ``left_out()`` is; None in an approximation, which leaves out some rows only."""
        return "exact" if self.linear else None

    @property
    def row_lam_(self):
        """λ of each row given to ``fit``, with the common factor that was learnt; None where all rows share it."""
        if not {"_rows", "neighbours_"} & set(self.__dict__):
            return None
        given, weight = np.asarray(self._given_lam(), dtype=float), self.row_weight_
        if not given.ndim:
            return None
        lam = min(self.lam_, LARGEST)
        if len(given) == len(weight):
            return given * (lam / float(np.exp(np.log(given).mean())))
        return lam / np.where(weight > 0, weight, 1.0)  # rows that joined or left later

    def _given_lam(self):
        """λ as it was given: one, or one for each row."""
        return self.lam

    @property
    def _flat(self):
        """Whether y came without an axis of targets."""
        return self.__dict__["neighbours_"].flat if "neighbours_" in self.__dict__ else self.dual_coef_.ndim == 1

    def _shaped(self, values):
        return values[..., 0] if self._flat else values

    @Derived
    def _rows(self):
        """The `Rows` of the fit; a fit on landmarks has none, and says so."""
        if "neighbours_" in self.__dict__:
            return self.__dict__["neighbours_"].posterior.rows
        exact = self._some_rows() is None
        raise AttributeError("there is no fit" if exact else "a fit on landmarks keeps no rows: use approximation=None")

    def _some_rows(self):
        """The rows left out one by one by a fit on landmarks or by neighbours; None for an exact one."""
        check_is_fitted(self)
        return self.__dict__.get("landmarks_", self.__dict__.get("neighbours_"))

    def _refuse_if_approximate(self, what):
        """Refuse what an approximation does not have."""
        if self._some_rows() is not None:
            raise ValueError(f"{what} needs one system of all rows: approximation=None.")

    def _deleted(self):
        """Every fit without a row, in the unit of the rows; made at the first call."""
        self._refuse_if_approximate("a fit without each row")
        if "_deletion" not in self.__dict__:
            use = 'use the kernel itself, or predict_interval(..., method="split")'
            kept(self.kernel_, self.points_, f"there are no fits without a row; {use}")
            # λ = ∞ is the constant model, which is also that of a vanishing kernel at any λ
            finite = np.isfinite(self.lam_)
            kernel, lam = (self.kernel_, self.lam_) if finite else (1e-300 * self.kernel_, 1.0)
            self._deletion = Deletion(kernel, self._rows, lam, self._flat, self.memory, self._inverse())
        return self._deletion

    def _inverse(self):
        """The inverse of the fit, where it was kept; None where it is made again."""
        return None

    # ---------------------------------------------------------------------- rows that are left out
    def _left_out(self):
        """Left-out rows, from the fit or from `Deletion`."""
        check_is_fitted(self)
        if self._left is not None:
            return self._left
        n = len(self._rows.index)
        if n <= self._rows.q or (self.lam_ == 0 and self._rows.merged):  # there is no fit without a row
            return LeftOut(np.full((n, self._rows.t), np.nan), np.ones(n), np.full(n, np.nan))
        return self._deleted().left

    def _left_out_rows(self):
        std = self._rows.to_rows(np.sqrt(self._left_out().variance))
        return RowsLeftOut(self.row_target_ - self.loo_residuals_, std=std if self.probabilistic else None)

    @property
    def loo_residuals_(self):  # type: ignore[override]
        """yᵢ − f₋ᵢ(xᵢ), of shape (n,) or (n, t): under the model without row i; nan for rows of weight 0."""
        some = self._some_rows()
        if some is not None:
            return self._shaped(some.to_rows(some.residuals * some.unit))
        return self._shaped(self._rows.to_rows(self._left_out().residuals * self._rows.unit))

    @property
    def leverage_(self):
        """∂f(xᵢ)/∂yᵢ; nan for rows of weight 0."""
        some = self._some_rows()
        if some is not None:
            return some.to_rows(some.leverage)
        return self._rows.to_rows(self._left_out().leverage)

    @property
    def dof_(self):
        """Σ ∂f(xᵢ)/∂yᵢ: the degrees of freedom of the fit."""
        some = self._some_rows()
        return some.dof if some is not None else float(self._left_out().leverage.sum())

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
        check_is_fitted(self)
        held = "landmarks_" in self.__dict__ and method == "split" and calibration is None
        if not held:
            check_method(method, (*METHODS, "left-out", "split"), calibration)
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
        if method in METHODS and self._some_rows() is None:
            options = {"folds": folds} if method == "cv+" else {}
            found = METHODS[method](self._deleted(), X, coverage, normalise=normalise, weight=sample_weight, **options)
            return found * self._rows.unit
        residuals, scale, new = self._scores(X, method, normalise, sample_weight, calibration)
        f, options = self.predict(X), {"scale": scale, "new_scale": new}
        if method == "conformal" and normalise and 0 < coverage < 1:
            count = len(residuals)  # of the rows left out, those that are told as well as the new one
            options["near"] = int(min(count, max(count // LIKE, FEW_LIKE / (1.0 - coverage))))
        return self._shaped(uncertainty.split(residuals, f.reshape(len(f), -1), coverage, **options))

    def _scores(self, X, method, normalise, weight, calibration):
        """(residuals, their scale, that at X): of rows set aside, held out, or left out."""
        some = self._some_rows()
        if method == "left-out" and some is None:  # with the deviation of each row given the others
            left = self._left_out()
            known = np.isfinite(left.residuals).all(axis=1) & (left.variance > 0)
            scale = np.sqrt(left.variance[known])
            return left.residuals[known] * self._rows.unit, scale, self._deviation(X, weight)
        if method == "split" and calibration is None:
            return some.split(X, normalise, weight)
        if method == "split":
            residuals = held_residuals(self, calibration)
            residuals = residuals.reshape(len(residuals), -1)
            if not normalise:
                return residuals, 1.0, 1.0
            return residuals, self._deviation(self._new_rows(calibration[0]), None), self._deviation(X, weight)
        if method not in ("conformal", "left-out"):
            raise ValueError(
                'in an approximation method is "conformal" or "left-out", of rows left out in the fit, or "split".'
            )
        if not len(some.residuals):
            raise ValueError(AFTER)
        scales = (some.std, some.deviation(X, weight)) if normalise else (1.0, 1.0)
        return some.residuals * some.unit, *scales

    def _calibrates(self, coverage):
        """Whether rows left out by neighbours or waves say how far a share of new targets reaches."""
        left = self.__dict__["neighbours_"].residuals if "neighbours_" in self.__dict__ else ()
        return 0 < coverage < 1 and (len(left) + 1) * (1.0 - coverage) >= 1.0

    def _deviation(self, X, weight):
        """√κ(x): standard deviation of a new target, noise included."""
        if self._some_rows() is not None:
            return self._some_rows().deviation(X, weight)
        return np.sqrt(np.concatenate([kappa for *_, kappa in self._deleted().tiles(X, weight)] or [np.zeros(0)]))

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
        found, unit = uncertainty.influence(self._deleted()), self._rows.unit
        with np.errstate(over="ignore"):  # σ² of targets beyond 1e154 is no float64
            sigma2 = np.multiply(found.sigma2, unit) * unit
        sigma2 = float(sigma2) if np.ndim(sigma2) == 0 else sigma2
        found = replace(found, loo_residuals=found.loo_residuals * unit, sigma2=sigma2)
        names = ("leverage", "loo_residuals", "cook", "dffits")
        return replace(found, **{name: self._rows.to_rows(getattr(found, name)) for name in names})

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
        some = self._some_rows()
        if some is not None:
            if "passes" in self.fit_report_["approximation"]:
                raise ValueError(
                    "the deviations at hand are those of the landmarks, not of the solution for all rows: "
                    "use approximation=Landmarks(...) without solve, or None."
                )
            residuals, deviations, index = some.judged()
            found = uncertainty.calibration_of(residuals / deviations[:, None], self._flat, levels)
            return replace(found, z=some.to_rows(found.z, index))
        fits = self._deleted()
        if np.isinf(self.lam_):
            raise ValueError("lam_ is inf: the constant model states no finite errors that could be right or wrong.")
        found = uncertainty.calibration(fits, levels)
        return replace(found, z=self._rows.to_rows(found.z))
