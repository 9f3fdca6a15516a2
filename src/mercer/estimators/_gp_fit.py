"""How a Gaussian process is fitted: units of y, the factor, what is published. Learning is in `_gp_learn`."""

from types import SimpleNamespace

import numpy as np

from mercer._machine import check_memory
from mercer.estimators._gp_learn import or_none
from mercer.estimators._gp_trend import amplitudes, make_trend, rescale
from mercer.estimators._report import FitReport
from mercer.estimators._validation import check_weight, shared_noise
from mercer.estimators.ridge import conventions
from mercer.gram import ScaledGram, TiledGram, take
from mercer.gram.merge import merge_rows
from mercer.inference.posterior import Posterior
from mercer.kernels import Matern32
from mercer.selection.search.starts import median_heuristic
from mercer.solvers.plan import choose

EXTREME = (1e-30, 1e30)  # spreads of y beyond which a model that learns nothing is rescaled too
SEARCH = 2  # n × n arrays of a search at its peak
SQUARES = (1e-152, 1e152)  # spreads of y whose squares are floats


def default_kernel(X, weight=None):
    """1.0 · Matérn-3/2 with one length scale for each column of X, at the median distances.

    The bounds of a length scale are those of the kernel, moved along where the columns are in other units.
    """
    d = X.shape[1]
    anywhere = Matern32(1.0 if d == 1 else np.ones(d), length_scale_bounds=(1e-300, 1e300))
    found = median_heuristic(anywhere, X, weight).length_scale
    near = np.all((np.asarray(found) > 1e-2) & (np.asarray(found) < 1e2))
    bounds = None if near else np.multiply.outer(np.atleast_1d(found), (1e-5, 1e5))
    return 1.0 * Matern32(found, length_scale_bounds=bounds)


class FitMixin:
    """The fit of `GaussianProcessRegressor`. Inside, y is in units of ``_unit``, a power of two."""

    def _fit_rows(self, X, y, sample_weight):
        """Learn, factor, sample; everything is set on self."""
        kernel, X, y, flat = self._prepare(X, y)
        rows = len(y)
        given = check_weight(sample_weight, rows)
        lam, relative = (None, None) if self.noise is None else shared_noise(self.noise, rows, "noise")
        weight = np.ones(rows) if given is None else given
        weight = weight if relative is None else weight * relative
        keep = np.flatnonzero(weight > 0)
        if keep.size < rows:
            X, y, weight = take(X, keep), y[keep], weight[keep]
        if self.kernel is None:
            kernel = default_kernel(X, weight)
        self._check_kernel(kernel, X)
        trend = make_trend(self.trend, X)
        data = SimpleNamespace(X=X, y=y, weight=weight, trend=trend, H=np.ones((len(y), 0)), rows=rows, keep=keep)
        data.H = data.H if trend is None else trend(X)
        if data.H.shape[1] > len(y):
            raise ValueError(
                f"n_samples = {len(y)} is less than the {data.H.shape[1]} columns of the trend; give more rows."
            )
        spread = residual_spread(y, data.H, weight)
        self._precision = relative is not None
        self._check_sampling(kernel)
        self._unit = self._choose_unit(kernel, spread or float(np.abs(y).max(initial=0.0)))
        data.y, data.variance = y / self._unit, min(spread / self._unit, 1e150) ** 2 or 1.0
        data.merged = merge_rows(X, data.y, weight, self.merge)
        data.solver, data.plan = self._plan(data)
        inside = kernel if self._unit == 1.0 else rescale(kernel, self._unit**-2)
        lam = None if lam is None else lam / self._unit**2
        inside, lam = self._learn(inside, lam, data)
        self._condition(inside, lam, data, flat)
        if self.n_hyper_samples:
            self._sample_hyper(inside, lam, data)

    def _plan(self, data):
        """(solver, plan) of the float64 factor; refused here, before any work, if it or a search does not fit."""
        points, y = data.merged[:2]
        n, d = len(y), points.shape[1] if isinstance(points, np.ndarray) and points.ndim == 2 else None
        if self.criterion is not None:
            check_memory(SEARCH * 8.0 * n**2, f"a search of hyper-parameters for n = {n}", self.memory, "fewer rows")
        return choose("cholesky", n, d, memory=self.memory, targets=y.shape[1], inverse=True)

    # ---------------------------------------------------------------------- units
    def _choose_unit(self, kernel, spread):
        """A power of two near the spread of y, if the kernel can follow; 1 where none is needed."""
        learnt = self.criterion is not None and self.optimize != "noise"
        if not spread > 0 or (self.criterion is None and EXTREME[0] < spread < EXTREME[1]):
            return 1.0
        far = not SQUARES[0] < spread < SQUARES[1]
        if far and self.criterion is not None:
            raise ValueError(
                f"y has a spread of {spread:.3g}: its variance is not a float64 number. Divide y by {spread:.1g}."
            )
        if far or amplitudes(kernel) is None or not (learnt or not EXTREME[0] < spread < EXTREME[1]):
            return 1.0
        return float(np.ldexp(1.0, int(np.frexp(spread)[1])))

    # ---------------------------------------------------------------------- the posterior
    def _posterior_at(self, kernel, lam, points, y, weight, trend, solver=None):
        """The `Posterior` at a kernel and λ, by a float64 factor."""
        solver = solver or choose("cholesky", len(y), memory=self.memory, targets=y.shape[1], inverse=True)[0]
        K = TiledGram(kernel, points)
        weight = or_none(weight)
        Kinv = solver.resolvent(K if weight is None else ScaledGram(K, np.sqrt(weight)))(lam)
        return Posterior(kernel, kernel.retain(points), Kinv, y, weight, trend)

    def _condition(self, kernel, lam, data, flat):
        """Factor K + λI, and set everything that is learnt."""
        points, y, weight, index, spread = data.merged
        refuse_conflict(lam, spread)
        plan = data.plan
        self._f = self._posterior_at(kernel, lam, points, y, weight, data.trend, data.solver)
        self._components = None
        # Rows that were used: y (in units), weight, the point of each; what is left of y within the points.
        self._train = SimpleNamespace(y=data.y, weight=data.weight, index=index, spread=spread, flat=flat)
        self.point_index_ = np.full(data.rows, -1)
        self.point_index_[data.keep] = index
        self.fit_report_ = FitReport()
        self._publish()
        self.fit_report_.update(
            estimator=type(self).__name__,
            kernel=repr(self.kernel_),
            noise=self.lam_,
            rows=data.rows,
            dropped_rows=data.rows - len(data.keep),
            merged_rows=len(data.keep) - len(y),
            points=len(y),
            unit=self._unit,
            log_marginal_likelihood=self.log_marginal_likelihood_value_,
            reasons=list(plan.reasons),
            memory_predicted=plan.memory_bytes,
            seconds_predicted=plan.seconds,
            **self._f.Kinv.info,
        )
        if self.criterion is not None:
            self.selection_.value = self._natural_value(self.selection_.value, data)
            self.fit_report_["selection"] = self.selection_.to_dict()

    def _publish(self):
        """Set the public attributes, in the units of y, from the posterior inside."""
        f, unit, train = self._f, self._unit, self._train
        self.kernel_ = f.kernel if unit == 1.0 else rescale(f.kernel, unit**2)
        self.lam_ = f.lam * unit**2
        self.noise_ = self.lam_
        if self._precision:
            self.noise_ = np.full(len(self.point_index_), np.nan)
            self.noise_[self.point_index_ >= 0] = self.lam_ / train.weight
        self.points_ = f.points
        self.dual_coef_ = f.alpha[:, 0] / unit if train.flat else f.alpha / unit
        self.trend_coef_ = (f.b if f.trend is None else f.trend.natural(f.b)) * unit
        self.trend_centre_ = None if f.trend is None else f.trend.centre
        self.regularization_ = conventions(self.lam_, float(train.weight.sum()))
        self._rows = (
            (train.y[:, 0] if train.flat else train.y) * unit,
            or_none(train.weight),
            self.trend == "constant",
        )
        self.log_marginal_likelihood_value_ = float(sum(self.evidence_terms().values()))
        for name in ("_deletion", "_loo", "_hyper_cov"):  # those of an earlier state
            self.__dict__.pop(name, None)


def refuse_conflict(lam, spread):
    """Refuse equal inputs with other targets where there is no noise to explain them."""
    apart = np.flatnonzero(np.asarray(spread).sum(axis=1) > 0) if lam == 0 else ()
    if len(apart):
        raise ValueError(
            f"noise = 0, but {len(apart)} inputs come with more than one target: no function goes through both. Give "
            "noise > 0, or remove the rows that differ."
        )


def residual_spread(y, H, weight):
    """Root of the weighted mean square of y beside the trend, over all targets; 0 where only rounding is left."""
    size = np.abs(y).max(initial=0.0)
    if not size > 0:
        return 0.0
    root = np.sqrt(weight)[:, None]
    U, A = root * (y / size), root * H
    rest = U - A @ np.linalg.lstsq(A, U, rcond=None)[0] if H.shape[1] else U
    share = float(np.sum(rest**2)) / (weight.sum() * y.shape[1])
    return float(np.sqrt(share)) * size if share > 1e-26 else 0.0
