"""TransformedTarget: a model of g(y), whose answers are about y."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.estimators._fitting import FitReport
from mercer.estimators._parameters import constraints
from mercer.estimators._protocol import KernelEstimator
from mercer.estimators.targets import KINDS, Target
from mercer.estimators.validation import check_weight
from mercer.exceptions import NotEnoughTime
from mercer.inference.stacking import log_density_of, quantiles_of
from mercer.kernels import Kernel
from mercer.selection.judging import RowsLeftOut
from mercer.solvers import Sizes
from mercer.solvers.plan import SOLVERS, operations

AUTO = ("none", "log", "yeo-johnson")


class TransformedTarget(RegressorMixin, KernelEstimator):
    """log p(y | x) = log p(g(y) | x) + log g′(y): a model of z = g(y), with g chosen by the density of y itself.

    Densities of different transforms can be compared because the slope of g is in them. Quantiles and intervals are
    mapped exactly; a mean is E g⁻¹(z), not g⁻¹ of a mean; predictions stay where targets can be.

    Parameters
    ----------
    estimator : KernelEstimator, default=None
        A regressor with one target; None is a `GaussianProcessRegressor`.
    target : {"auto", "none", "log", "yeo-johnson", "logit", "rank"} or Target, default="auto"
        g. "auto" tries none, log (of positive targets) and Yeo and Johnson's powers, and logit for shares between 0 and
        1, and takes the one with the highest left-out log density of y.

    Attributes
    ----------
    model_ : KernelEstimator
        The estimator inside, fitted to z = g(y).
    target_ : Target
        g, the transform that was chosen, with its inverse.
    tried_ : dict
        {word: left-out log density of all rows} of the transforms that were tried.
    kernel_, lam_, selection_, plan_
        Those of ``model_``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TransformedTarget
    >>> X = np.linspace(0, 4, 60)[:, None]
    >>> y = np.exp(X[:, 0] + 0.3 * np.random.default_rng(0).standard_normal(60))
    >>> model = TransformedTarget().fit(X, y)
    >>> model.target_.word, bool(model.predict_interval([[-2.0]]).min() > 0)
    ('log', True)
    """

    state_fields = {**KernelEstimator.state_fields, "kernel_": Kernel, "model_": KernelEstimator, "target_": Target}
    interval_method = "mapped"

    def __init__(self, estimator=None, target="auto"): ...

    _parameter_constraints = constraints(__init__, estimator=[KernelEstimator, None], target=[str, Target, None])

    def _inner(self):
        """The estimator, or the default."""
        from mercer.estimators.gp import GaussianProcessRegressor  # loaded when it is needed

        return GaussianProcessRegressor() if self.estimator is None else self.estimator

    @property
    def time_budget(self):
        """Seconds for all fits of the estimator inside."""
        return self._inner().time_budget

    @property
    def criterion(self):
        """What the estimator inside chooses by."""
        return self._inner().criterion

    @property
    def options(self):
        """Those of the estimator inside."""
        return self._inner().options

    @property
    def points_(self):
        """Those of the model inside."""
        return self.model_.points_

    @property
    def probabilistic(self):
        """Whether the estimator inside states deviations."""
        return self._inner().probabilistic

    @property
    def leaves_out(self):
        """How the model inside knows its rows left out."""
        return "exact" if "model_" not in vars(self) else self.model_.leaves_out

    @property
    def merges_rows(self):
        """As the estimator inside."""
        return self._inner().merges_rows

    def fit(self, X, y, sample_weight=None):
        """Fit a model of g(y) for each g that is asked for, and keep the best.

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        values = np.asarray(y, dtype=float)
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise ValueError(f"TransformedTarget has one finite target for each row, got shape {values.shape}.")
        weight = check_weight(sample_weight, len(values))
        weight = np.ones(len(values)) if weight is None else weight
        used, best, self.tried_ = weight > 0, -np.inf, {}
        targets = self._targets(values[used])
        seen = np.where(used, values, values[used][:1])  # rows that are left out may hold what g does not take
        for i, target in enumerate(targets):
            model = self._fit_model(X, target.forward(seen), sample_weight, len(targets) - i)
            if model is None:
                self._say_missed(targets[i:])
                break
            density = self._density(model, target, seen, weight)
            self.tried_[target.word] = density
            density -= 0.0 if target.word == "none" else 2.0  # nats that a transform has to bring
            if not i or density > best:  # the others are not kept: each has a factor of all rows
                best, self.model_, self.target_ = density, model, target
            del model
        known = vars(self.model_)
        vars(self).update({name: known[name] for name in ("n_features_in_", "feature_names_in_") if name in known})
        self.row_target_ = np.asarray(values)
        self._publish()

    def _fit_model(self, X, z, sample_weight, left):
        """The model of one of ``left`` transforms; None where there is another, and no time for this one."""
        model, first = clone(self._inner()), not self.tried_
        if self._clock.limited:
            model.set_params(time_budget=self._clock.part(1.0 / left).budget)
        if not first and not self._clock.fits(self.model_.plan_.last):
            return None
        try:
            return model.fit(X, z, sample_weight)
        except NotEnoughTime:
            if first:
                raise
            return None

    def _say_missed(self, targets):
        """Say which transforms there was no time for."""
        warn(
            f"time_budget = {self.time_budget:g} s was too little to try target = "
            f"{', '.join(repr(one.word) for one in targets)}; the best of {list(self.tried_)} is kept.",
            ConvergenceWarning,
        )

    def _targets(self, y):
        """The transforms that are to be tried."""
        given = "none" if self.target is None else self.target
        if isinstance(given, Target):
            return [given]
        if given != "auto" and given not in KINDS:
            raise ValueError(f"target={given!r} is none of {['auto', *KINDS]}.")
        if given != "auto":
            return [KINDS[given].of(y)]
        words = [*AUTO, "logit"] if 0 < y.min() and y.max() < 1 else AUTO
        found = []
        for word in words if np.ptp(y) > 0 else ["none"]:
            try:
                found.append(KINDS[word].of(y))
            except ValueError:  # e.g. the log of a negative number: not one to be tried
                continue
        return found

    def _density(self, model, target, y, weight):
        """Σ w log p(yᵢ) without row i: that of a mixture, or normal around the left-out prediction of z; and log g′."""
        if model.left_out_density_ is not None:
            return float(weight.sum() * model.left_out_density_ + np.sum(weight * target.log_slope(y)))
        if model.leaves_out is None:  # an approximation leaves out some rows, the same for every target
            e, std = model.loo_residuals_, None
        else:
            left = model.left_out()
            e, std = target.forward(y) - left.predicted, left.std
        if std is not None:  # that of a row of weight w is the std of the mean of w targets
            noise = model.lam_ if model.row_lam_ is None else model.row_lam_
            std = np.sqrt(std**2 + noise * (1.0 - 1.0 / np.where(weight > 0, weight, 1.0)))
        else:
            known = np.where(np.isfinite(e), weight, 0.0)
            std = np.full(len(y), np.sqrt(np.average(np.nan_to_num(e) ** 2, weights=known)) or 1e-300)
        terms = weight * (-0.5 * (np.log(2.0 * np.pi) + (e / std) ** 2) - np.log(std) + target.log_slope(y))
        return float(np.nansum(terms)) if np.isfinite(terms).any() else -np.inf

    def _publish(self):
        """Take over what the estimator inside says of itself."""
        model, self.plan_ = self.model_, self._plan_around(self.model_.plan_)
        self.kernel_, self.lam_, self.selection_ = model.kernel_, model.lam_, model.selection_
        self.regularization_, self.row_weight_ = model.regularization_, model.row_weight_
        if model.leaves_out is not None:  # an approximation has neither
            self.point_index_, self.rkhs_norm_ = model.point_index_, model.rkhs_norm_
        said = {"inside": type(model).__name__, "target": self.target_.word, "targets tried": dict(self.tried_)}
        self.fit_report_ = FitReport({**model.fit_report_, "estimator": type(self).__name__, **said})

    def plan(self, n, d=None, *, targets=1, rows=None):
        return self._plan_around(self._inner().plan(n, d, targets=targets, rows=rows))

    def _plan_around(self, plan):
        """The plan of a fit and the inverse that judges it, beside the best model so far where several are tried."""
        if plan.solver not in SOLVERS or SOLVERS[plan.solver].iterative:
            return plan
        array, tried = 8.0 * plan.n**2, len(AUTO) if self.target == "auto" else 1
        judged = operations("cholesky", Sizes(plan.n)) | {"float64": float(plan.n) ** 3}
        work = {kind: tried * (plan.work.get(kind, 0.0) + judged.get(kind, 0.0)) for kind in {**plan.work, **judged}}
        searching = {kind: tried * count for kind, count in plan.searching.items()}
        need = max(plan.memory_bytes, 2.0 * array) + (array if tried > 1 else 0.0)
        return replace(plan, memory_bytes=need, work=work, searching=searching)

    def frozen(self, rows=None):
        """Return an unfitted clone with what was learnt fixed, the transform too; see `KernelEstimator.frozen`."""
        self._check_fitted()
        return type(self)(self.model_.frozen(rows), self.target_)

    # ---------------------------------------------------------------------- at new inputs
    @property
    def transform_(self):
        """``target_``."""
        return self.target_

    def _mapped(self, mean, std):
        """E y and its standard deviation: z normal around ``mean`` with ``std``, or spread as left-out residuals."""
        found = self.target_.moments(mean, std, self._errors)
        if not np.isfinite(found[0]).all():
            warn(
                f"the mean of y is infinite or not known at {int(np.sum(~np.isfinite(found[0])))} inputs, where "
                f'target="{self.target_.word}" is uncertain; predict_interval gives quantiles there.',
                UserWarning,
            )
        return found

    def _errors(self):
        """Left-out residuals of z, some hundred of them in order: what new z differ by where nothing is stated."""
        e = np.sort(self.model_.loo_residuals_[np.isfinite(self.model_.loo_residuals_)])
        return e if len(e) <= 200 else np.quantile(e, (np.arange(200) + 0.5) / 200)

    def predict(self, X, return_std=False, return_cov=False, noisy=False):
        """E y, and on request its standard deviation or covariance.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        return_std, return_cov : bool, default=False
            Of a model that states deviations.
        noisy : bool, default=False
            Whether they are those of a new y, not of its mean; these, and covariances, are right to first order in the
            slope of g. E y is that of a new y in any case, z being normal; of a mixture, with its mean and deviation.

        Returns
        -------
        mean : ndarray of shape (m,)
        std : ndarray of shape (m,)
            With ``return_std``.
        cov : ndarray of shape (m, m)
            With ``return_cov``.
        """
        self._check_fitted()
        if not self.model_.probabilistic:
            return self._mapped(self.model_.predict(X), None)[0]
        mean, std = self.model_.predict(X, return_std=True, noisy=True)
        mean_y, std_y = self._mapped(mean, std)
        if return_cov:
            slope = std_y / std
            return mean_y, self.model_.predict(X, return_cov=True, noisy=noisy)[1] * np.multiply.outer(slope, slope)
        if not return_std:
            return mean_y
        latent = self.model_.predict(X, return_std=True)[1]
        return mean_y, std_y if noisy else std_y * (latent / std)

    def predict_interval(self, X, coverage=0.9, *, method="mapped", calibration=None):
        """The interval of z mapped back: it holds y whenever that of z holds z.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
            The share of new targets that are to lie inside.
        method : {"mapped", "left-out", "split"}, default="mapped"
            "mapped" takes the default of the estimator inside.
        calibration : (X, y), default=None
            Rows for "split".

        Returns
        -------
        ndarray of shape (m, 2)
        """
        self._check_fitted()
        if method != "mapped":
            return super().predict_interval(X, coverage, method=method, calibration=calibration)
        return self.target_.back(self.model_.predict_interval(X, coverage))

    def log_density(self, X, y):
        """log p(y | x) of new rows, of a model that states deviations, of shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        y : array-like of shape (m,)
        """
        self._check_fitted()
        y = np.asarray(y, dtype=float)
        inside = self.target_.inside(y)
        seen = np.where(inside, y, self.target_.back(np.zeros(1)))
        density = log_density_of(self.target_.forward(seen), *self.model_._normals(X)) + self.target_.log_slope(seen)
        return np.where(inside, density, -np.inf)

    def quantile(self, X, levels):
        """The quantiles of a new y at x, those of z mapped back, of shape (m, number of levels).

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        levels : float or array-like
            Between 0 and 1.
        """
        self._check_fitted()
        return self.target_.back(quantiles_of(levels, *self.model_._normals(X)))

    def _left_out_rows(self):
        left = self.model_.left_out()
        known = np.isfinite(left.predicted)
        mean, std = np.full(len(known), np.nan), None if left.std is None else np.full(len(known), np.nan)
        found = self._mapped(left.predicted[known], None if left.std is None else left.std[known])
        mean[known] = found[0]
        if std is not None:
            std[known] = found[1]
        rank, ends = self._ranks(left)
        return RowsLeftOut(mean, left.how, left.one_by_one, std=std, rank=rank, ends=self.target_.back(ends))

    def _ranks(self, left):
        """(ranks, ends of 90 % intervals) of z without its row; of a model that states nothing, by the other errors."""
        if left.rank is not None:
            return left.rank, left.ends
        e = self.target_.forward(self.row_target_) - left.predicted
        if left.std is not None:
            rank, reach = ndtr(e / left.std), ndtri(0.95) * left.std
        else:
            size = np.abs(e)
            known = np.sort(size[np.isfinite(size)])
            share = np.searchsorted(known, size, side="right") / (len(known) + 1)  # of the errors up to this one
            rank = np.where(np.isfinite(size), 0.5 * (1.0 + np.sign(e) * share), np.nan)
            reach = known[min(int(np.ceil(0.9 * (len(known) + 1))), len(known)) - 1]
        return rank, np.stack([left.predicted - reach, left.predicted + reach], axis=1)
