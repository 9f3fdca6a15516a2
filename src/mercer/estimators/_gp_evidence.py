"""The evidence of a fitted Gaussian process: its value, gradient, decomposition and curvature."""

from types import SimpleNamespace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.gram import take
from mercer.inference.posterior import log_gram
from mercer.selection import Evidence

STEP = 1e-3  # of the differences in log θ
FLAT = 1e-3  # curvature in log θ below which a direction has no standard error: e³⁰ would be one of them


class EvidenceMixin:
    """log p(y | θ) of `GaussianProcessRegressor`, at the fit and elsewhere."""

    def evidence_terms(self, theta=None):
        """log p(y) = −½(y − μ)ᵀK̃⁻¹(y − μ) − ½ log det K̃ − (n/2) log 2π, term by term.

        With a trend it is the restricted likelihood: b integrated out, n − q for n.

        Parameters
        ----------
        theta : array-like of shape (p + 1,), default=None
            (log θ of ``kernel_``, log σ²); None is the fit.

        Returns
        -------
        dict
            "fidelity" (how close y is to the trend in the norm of K̃⁻¹; at most 0), "complexity" (larger for a K̃ of
            smaller volume) and "constant", which is left out of every optimisation.

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> model = GaussianProcessRegressor(Gaussian(), 1.0, criterion=None, trend=None).fit([[0.0]], [2.0])
        >>> {name: round(value, 4) for name, value in model.evidence_terms().items()}  # K̃ = 2
        {'fidelity': -1.0, 'complexity': -0.3466, 'constant': -0.9189}
        """
        check_is_fitted(self)
        f, train = self._f, self._train
        if theta is not None:
            z = self._inside(theta)
            kernel, lam = f.kernel.with_theta(z[:-1]), float(np.exp(z[-1]))
            weight = None if f.s is None else f.s**2
            points = self._points_with_values()
            f = self._posterior_at(kernel, lam, points, self._point_means(), weight, f.trend)
        rows = len(train.y) if self._precision else float(train.weight.sum())
        logs, size = (float(np.log(train.weight).sum()), self._size_of_trend()) if self._precision else (0.0, None)
        terms = f.evidence(rows, logs, train.spread.sum(axis=0), size)
        terms["complexity"] -= float(np.log(self._unit) * (rows - f.q) * train.y.shape[1])
        return terms

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """log p(y | θ) = log N(y; Hb, K + σ²I), restricted where there is a trend, and its gradient.

        Parameters
        ----------
        theta : array-like of shape (p + 1,), default=None
            (log θ of ``kernel_``, log σ²), p free hyper-parameters in the order of ``kernel_.names``; of an array of
            noise variances the log of the geometric mean. None is the fit.
        eval_gradient : bool, default=False

        Returns
        -------
        float, or (float, ndarray of shape (p + 1,))

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]
        >>> model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None).fit(X, y)
        >>> value, gradient = model.log_marginal_likelihood(eval_gradient=True)
        >>> value == model.log_marginal_likelihood_value_, gradient.shape
        (True, (2,))
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if not eval_gradient:
            return float(sum(self.evidence_terms(theta).values()))
        objective, z = self._evidence_objective(), self._inside(theta)
        value, gradient = objective.exact(z)
        count = (len(self._train.y) if self._precision else self._train.weight.sum()) - self._f.q
        value = -float(value) - np.log(self._unit) * count * self._train.y.shape[1] + self._offset()
        return (self.log_marginal_likelihood_value_ if theta is None else value), -np.asarray(gradient)

    def _size_of_trend(self):
        """log det HᵀH of the rows."""
        f, train = self._f, self._train
        return 0.0 if f.trend is None else log_gram(f.trend(f.points)[train.index])

    def _offset(self):
        """What a search leaves out of log p(y) where weights are precisions: it has HᵀWH for HᵀH."""
        if not self._precision:
            return 0.0
        return 0.5 * self._train.y.shape[1] * (self._size_of_trend() - self._f.size_of_trend)

    def _inside(self, theta):
        """z inside from (log θ, log σ²) in the units of y, checked; None is the fit."""
        kernel = self._f.kernel
        if theta is None:
            with np.errstate(divide="ignore"):  # without noise its log is -inf, and means that
                return np.append(kernel.theta, np.log(self._f.lam))
        z = np.asarray(theta, dtype=float)
        if z.shape != (kernel.n_theta + 1,) or not np.isfinite(z).all():
            names = ", ".join([*kernel.names, "noise"])
            raise ValueError(f"theta must be {kernel.n_theta + 1} finite logs ({names}), got shape {z.shape}.")
        return z - self._shift(kernel)

    def _points_with_values(self):
        """The points, if the kernel can be evaluated on them."""
        if not np.isfinite(np.asarray(self.kernel_.diag(self.points_), dtype=float)).all():
            raise ValueError(
                f"{self.kernel_!r} keeps no matrix of the training rows; only the value of the fit is known."
            )
        return self.points_

    def _point_means(self):
        """Mean target of each point, from α: y = (K + λ/c) α + Hb would do; the rows are exact."""
        train, size = self._train, self._f.Kinv.n
        total = np.bincount(train.index, weights=train.weight, minlength=size)
        columns = [np.bincount(train.index, weights=train.weight * column, minlength=size) for column in train.y.T]
        return np.stack(columns, axis=1) / total[:, None]

    def _evidence_objective(self, criterion=None, prior=None):
        """The criterion as a function of z, on the training rows."""
        train, f = self._train, self._f
        points = self._points_with_values()
        X = take(points, train.index)
        H = np.ones((len(train.y), 0)) if f.trend is None else f.trend(X)
        merged = points, self._point_means(), self._weights(), train.index, train.spread
        data = SimpleNamespace(X=X, y=train.y, weight=train.weight, H=H, trend=f.trend, merged=merged)
        return self._objective(f.kernel, data, criterion, prior)

    # ---------------------------------------------------------------------- standard errors
    @property
    def hyper_std_(self):
        """{name: standard error of its log}, from the Hessian of the criterion; computed at the first call."""
        check_is_fitted(self)
        names, covariance = [*self._f.kernel.names, "noise"], self.hyper_cov_
        return dict(zip(names, map(float, np.sqrt(np.diagonal(covariance))), strict=True))

    @property
    def hyper_cov_(self):
        """Covariance of (log θ, log σ²), whose diagonal is the square of ``hyper_std_``; nan where that is nan."""
        check_is_fitted(self)
        if "_hyper_cov" not in self.__dict__:
            self._hyper_cov = self._inverse_hessian()
        return self._hyper_cov.copy()

    def _inverse_hessian(self):
        """The inverse Hessian in log θ; nan for what was not learnt, is flat, or stands at a bound."""
        kernel, names = self._f.kernel, [*self._f.kernel.names, "noise"]
        out = np.full((len(names), len(names)), np.nan)
        criterion = self._criterion()
        likelihood = isinstance(criterion, Evidence) or getattr(criterion, "score", None) == "log_density"
        if not likelihood or criterion.scale_free or self.selection_.status == "constant":
            return out
        bound = np.array([name in self.selection_.at_bound for name in names])
        free = self._searched(kernel) & ~bound
        if not free.any():
            return out
        objective = self._evidence_objective(criterion.restrict(np.flatnonzero(self.point_index_ >= 0)), self._prior)
        hessian = self._hessian(objective, objective.start(kernel, self._f.lam), free)
        known = ~np.isnan(np.diagonal(hessian))
        hessian, free[free] = hessian[np.ix_(known, known)], known
        e, U = np.linalg.eigh(hessian)
        flat = (U[:, e <= FLAT] ** 2).sum(axis=1) > 0.1  # takes part in a direction that nothing pins down
        covariance = (U[:, e > FLAT] / e[e > FLAT]) @ U[:, e > FLAT].T
        covariance[flat], covariance[:, flat] = np.nan, np.nan
        out[np.ix_(free, free)] = covariance
        return out

    def _hessian(self, objective, z, free):
        """∂²C/∂z² of the free z, by central differences of the gradient; of a mean, times the rows and targets.

        nan in the row and column of a z beside which K̃ cannot be factored.
        """
        size = 1.0 if objective.criterion.summed else float(objective.y.size)
        index = np.flatnonzero(free)
        H = np.zeros((index.size, index.size))
        for k, j in enumerate(index):
            ends = []
            for sign in (1.0, -1.0):
                moved = z.copy()
                moved[j] += sign * STEP
                try:
                    with np.errstate(all="ignore"):
                        gradient = size * objective.exact(moved)[1]
                except np.linalg.LinAlgError:
                    gradient = np.full(len(z), np.nan)
                if objective.prior is not None:
                    gradient = gradient + objective.prior(objective.names, moved)[1]
                ends.append(gradient[index])
            H[k] = (ends[0] - ends[1]) / (2.0 * STEP)
        unknown = ~np.isfinite(H).all(axis=1)
        return np.where(unknown | unknown[:, None], np.nan, (H + H.T) / 2)
