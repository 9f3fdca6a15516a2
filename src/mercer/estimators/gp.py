"""GaussianProcessRegressor: the posterior of a Gaussian process, with what it does not know."""

import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import _gp_hyper as hyper
from mercer.estimators import _gp_learning as learning
from mercer.estimators import _large_neighbours as local
from mercer.estimators import _large_process as large
from mercer.estimators._base import approximates, constraints, conventions, kept, latent_kernel, settled_kernels
from mercer.estimators._posterior import PosteriorEstimator
from mercer.estimators.validation import check_weight, seed_of, shared_noise
from mercer.gram import Fourier, Landmarks, Neighbours, Rows
from mercer.inference.regression import RegressionPosterior
from mercer.selection.result import ProgressSupport, best_of, reporter, with_progress
from mercer.solvers import Cholesky, Span, choose
from mercer.sources import Arrays

SAMPLED = 0.5  # of the time, for a search that draws of the hyper-parameters follow


class GaussianProcessRegressor(ProgressSupport, PosteriorEstimator):
    """f ~ GP(h(x)ᵀb, k),  y = f(x) + N(0, σ²):  mean kₓᵀα + h(x)ᵀb,  variance k(x, x) − kₓᵀK̃⁻¹kₓ,  K̃ = K + σ²I.

    The variance has two names everywhere: *latent*, of f(x), and *noisy*, of a new y, which is σ² more. The trend
    h(x)ᵀb has a flat prior: b is estimated, and its uncertainty is part of the variance (universal kriging).

    Parameters
    ----------
    kernel : Kernel, list of Kernel or "auto", default=None
        k; of a list the best by the criterion is taken; "auto" is what `mercer.selection.search_kernels` finds. None is
        ``1.0 * Matern32(ones(d))``, one length scale for each column, started at the median distances.
    noise : float or array-like of shape (n,), default=None
        Noise variance σ² (the λ of the other models): where the search starts, or, with ``criterion=None`` or
        ``optimize="kernel"``, the value. An array gives one for each row; a common factor of it is learnt. None starts
        at 1 % of the variance of y.
    criterion : {"evidence", "loo", "gcv", "kfold"}, int, splitter, Criterion or None, default="evidence"
        What the hyper-parameters are chosen by: the evidence log p(y) (restricted, if there is a trend), the
        leave-one-out log density ("loo"), or any other criterion of `mercer.selection`; where that compares errors, the
        amplitude, which it cannot see, is the one of the highest evidence. None learns nothing.
    trend : {"constant", "linear"}, Features or None, default="constant"
        h(x): 1; 1 and x; the features of a basis of `mercer.kernels`; nothing.
    optimize : {"all", "lam", "kernel"}, default="all"
        What is learnt: hyper-parameters and σ², or one of them alone.
    prior : "auto", None or dict, default="auto"
        Priors of the hyper-parameters, {name pattern: prior}, as ``{"length_scale*": LogNormal(1.0, 0.5)}``; "lam" is
        the noise variance. "auto" is weak ones below 50 rows (`mercer.selection.weak_priors`), none above.
    n_hyper_samples : int, default=0
        Above 0, so many draws of the hyper-parameters from their posterior, by slice sampling in four chains (rounded
        up to a multiple of four, at least 16): predictions are the moments of the mixture. Each draw keeps a factor of
        8n² bytes.
    starts : int, default=3
        How many starts of the search are followed; with more than one, one with much noise is the last.
    merge : bool, default=True
        Whether equal rows of X are merged into one point with more weight. The model does not change.
    approximation : {"auto"}, Neighbours, Landmarks, Fourier or None, default="auto"
        None is exact; "auto" is where that fits memory and time. Else it is `Fourier` in up to three columns, where its
        waves are not too many, `Neighbours` up to 32 columns, and `Landmarks` beyond.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds for the search, and as many for the sampling; what was found by then is used.
    random_state : int, RandomState or None, default=0
        Seed of the rows and starts a search looks at first, and of the sampling.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with the hyper-parameters that were learnt.
    noise_, lam_ : float or ndarray of shape (n,)
        σ², one for each row where ``noise`` was an array; the geometric mean of these.
    points_, point_index_, row_weight_
        The distinct training inputs, or the landmarks; the point and the weight of each training row.
    dual_coef_ : ndarray of shape (n_points,) or (n_points, t)
        α = K̃⁻¹(y − Hb).
    trend_coef_ : ndarray of shape (q, t)
        b; of a linear trend the coefficients of 1 and x − ``trend_centre_``.
    trend_centre_ : ndarray of shape (d,) or None
        Where a linear trend is centred.
    log_marginal_likelihood_value_ : float
        log p(y) at the hyper-parameters of the fit; on landmarks a lower bound, by neighbours an estimate of it.
    selection_ : SearchResult or None
        How the hyper-parameters were chosen; None where they were given.
    hyper_std_ : dict
        {name: standard error of the log of a hyper-parameter}, from the Hessian of the criterion; nan where it is flat
        or at a bound. ``hyper_cov_`` is the covariance of (log θ, log σ²). Computed when first asked for.
    hyper_samples_ : ndarray of shape (s, p + 1)
        With ``n_hyper_samples``: draws of (log θ, log σ²), named by ``hyper_names_``; R̂ is in ``fit_report_``.
    loo_residuals_, loo_std_, leverage_ : ndarray of shape (n,)
        yᵢ − f₋ᵢ(xᵢ), its standard deviation by the model without row i, and ∂m(xᵢ)/∂yᵢ, whose sum is ``dof_``.
    regularization_, plan_, fit_report_
        σ² in every convention of the lectures; what `mercer.plan` says of such a fit; what was done.

    See Also
    --------
    KernelRidge : the same mean, without a distribution.

    Notes
    -----
    Several targets share the kernel and the noise, and so the standard deviation, of shape (m,); with
    ``n_hyper_samples`` it is (m, t). Amplitudes that are free and have no bounds of their own are searched
    beside the variance of y, so y may have any unit, up to about 1e±150.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None, trend=None).fit(X, y)
    >>> mean, std = model.predict([[1.0], [9.0]], return_std=True)
    >>> mean.round(3), std.round(3)
    (array([ 0.802, -0.   ]), array([0.283, 1.   ]))

    Learnt from data, in one line:

    >>> from mercer.datasets import load_cars
    >>> X, y = load_cars(return_X_y=True)
    >>> model = GaussianProcessRegressor().fit(X, y)
    >>> bool(model.posterior(X).noisy_std.min() > model.posterior(X).latent_std.max())
    True
    """

    criteria = ("evidence", "loo", "gcv", "kfold")
    has_evidence = True
    remade = ("_deletion", "_hyper_cov", "_likelihood", "_objections")
    __metadata_request__predict = {"return_std": True, "return_cov": True, "noisy": True}

    def __init__(
        self, kernel=None, noise=None, *, criterion="evidence", trend="constant", optimize="all", prior="auto",
        n_hyper_samples=0, starts=3, merge=True, approximation="auto", memory=None, time_budget=None, random_state=0
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        noise=[Interval(Real, 0, None, closed="left"), "array-like", None],
        n_hyper_samples=[Interval(Integral, 0, None, closed="left")],
        approximation=[StrOptions({"auto"}), Landmarks, Neighbours, Fourier, None],
    )

    @property
    def interval_method(self):  # type: ignore[override]
        """What `predict_interval` does: "gaussian"; "calibrated" by neighbours or waves, on rows that were left out."""
        return "calibrated" if "neighbours_" in self.__dict__ else "gaussian"

    @with_progress
    def fit(self, X, y, sample_weight=None):
        """Learn the hyper-parameters, and factor K + σ²I.

        Parameters
        ----------
        X : array-like of shape (n, d), a sequence of objects, or what is read, as for `KernelRidge`
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one. With an array of noise variances: σᵢ²/wᵢ.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        source, kernels, (X, y, sample_weight), flat = large.prepared(self, X, y, sample_weight)
        weight = check_weight(sample_weight, len(y))
        lam, relative = (None, None) if self.noise is None else shared_noise(self.noise, len(y), "noise")
        if relative is not None:
            weight = relative if weight is None else weight * relative
        criterion = learning.as_criterion(self, relative is not None, y)
        rows, kernels, span, variance = self._begun(kernels, X, y, weight, criterion)
        kernel = kernels[0]
        learning.warn_of_units(rows, span)
        if self.n_hyper_samples:
            is_likelihood = learning.is_likelihood(criterion)
            hyper.check_sampling(self.n_hyper_samples, rows.n, kernel, self.optimize, is_likelihood, self.memory)
        sizes = rows.n, rows.d, rows.t, len(rows.index)
        solver, self.plan_ = self._choose(*sizes) if source is None else (None, large.plan_read(self, source))
        if self.plan_.landmarks and source is None:  # from here on as with rows that are read
            source = Arrays(X, y, weight)
            some = source.take(large.some_rows(self, source))
            rows, kernels, span, variance = self._begun(kernels, some.X, some.y, some.weight, criterion)
            kernel = kernels[0]
        bounds, lam = learning.noise_bounds(variance, lam), learning.NOISE * variance if lam is None else lam
        learn = partial(self._learn, criterion=criterion, variance=variance, bounds=bounds, solver=Cholesky())
        if self.plan_.neighbours:
            return local.fit_neighbours(self, rows, kernels, lam, criterion, learn, bounds, flat, relative is not None)
        if self.plan_.landmarks:
            precisions = relative is not None
            return large.fit_process(self, source, rows.trend, kernel, lam, criterion, learn, flat, precisions)
        if criterion is not None:
            kernel, lam = self._learn(kernels, rows, lam, criterion, variance, bounds, solver)
        self._posterior, self._mixture = RegressionPosterior.fit(kernel, rows, lam, solver, span), None
        self._publish(flat, relative is not None)
        self._report()
        if self.n_hyper_samples:
            hyper.draw_posteriors(self, self._around(criterion, rows), rows, bounds, solver)

    def _begun(self, kernels, X, y, weight, criterion):
        """(rows, kernels, span of the trend, variance of y beside it): what a fit begins with."""
        with np.errstate(over="ignore"):  # of y whose squares are refused below
            rows = Rows(X, y, weight, self._trend(X, weight), self.merge)
        span = Span(rows.scaled(rows.H))
        kernels = settled_kernels(self, kernels, rows, latent_kernel)
        return rows, kernels, span, learning.variance_beside(rows, span, criterion is not None)

    def _choose(self, n, d, targets, rows, binding=True):
        """(solver, plan) for n points of ``rows`` rows; what does not fit is refused before anything is allocated."""
        criterion = learning.as_criterion(self, np.ndim(self.noise) > 0)
        search = None if criterion is None else n if criterion.merges else rows
        options = {"memory": self.memory, "targets": targets, "inverse": True, "search": search}
        options |= {"lam_alone": self.optimize == "lam", "arrays": 1 if criterion is None else criterion.arrays}
        exact, found = partial(choose, "cholesky", n, d, time_budget=self.time_budget, **options), None
        if approximates(self, rows):
            found = large.plan_process(self, criterion, lambda: exact(binding=False)[1], n, d, targets, rows)
        if found is not None:
            return None, found
        (solver, plan), draws = exact(binding=binding), hyper.factors_of(self.n_hyper_samples)
        return solver, replace(plan, memory_bytes=plan.memory_bytes + draws * 8.0 * n**2) if draws else plan

    def _learn(self, kernels, rows, lam, criterion, variance, bounds, solver):
        """(kernel, λ) as the criterion chooses them; of a list of kernels the best."""
        learning.check_learnable(rows, self.noise, lam, self.optimize, variance)
        options = {"starts": self.starts, "random_state": seed_of(self.random_state)}
        options |= {"optimize": self.optimize, "start": lam, "bounds": bounds, "callback": reporter(self), "auto": self}
        given, found = None if self.noise is None else lam, []
        for i, k in enumerate(kernels):
            prior = learning.make_prior(self.prior, k, rows, criterion)
            share = (SAMPLED if self.n_hyper_samples else 1.0) / (len(kernels) - i)
            clock = self._search_clock(share, 1 + hyper.factors_of(self.n_hyper_samples))
            found.append(learning.learn(k, rows, given, criterion, solver, prior=prior, clock=clock, **options))
        self.selection_ = best_of(found).warn()
        return self.selection_.kernel, self.selection_.lam

    def _publish(self, flat, precisions):
        """Set the public attributes from the posterior."""
        f, self._left = self._posterior, None
        self.__dict__.pop("rkhs_norm_", None)
        self._rows, self.dual_coef_ = f.rows, f.alpha[:, 0] if flat else f.alpha
        self._set_process(f, flat, precisions, sum(f.evidence(learning.evidence_of(precisions)).values()))

    def _set_process(self, f, flat, precisions, evidence):
        """Set what every posterior knows that keeps its rows."""
        self.kernel_, self.lam_, self.points_ = f.kernel, f.lam, f.rows.X
        self.noise_ = f.rows.to_rows(f.lam / f.rows.row_weight) if precisions else f.lam
        plain = self._set_trend(f.rows.trend, f.b)
        if plain.size:
            self.intercept_ = float(plain[0]) if flat else plain
        self.trend_centre_ = None if f.rows.trend is None else f.rows.trend.centre
        self.point_index_ = f.rows.point_index()
        self.regularization_, self.log_marginal_likelihood_value_ = conventions(f.lam, f.rows.total), float(evidence)

    def _report(self):
        """Fill ``fit_report_``."""
        said = {"kernel": repr(self.kernel_), "noise": self.lam_, **self._rows.counts()}
        said |= {"log_marginal_likelihood": self.log_marginal_likelihood_value_, "reasons": list(self.plan_.reasons)}
        said |= {"memory_predicted": self.plan_.memory_bytes, **self._posterior.inverse.info}
        self.fit_report_.update(said)

    def _given_lam(self):
        return self.noise

    def _learnt(self, rows):
        noise = self.row_lam_
        return {"noise": self.lam_ if noise is None else noise[rows], "n_hyper_samples": 0}  # draws are from a search

    def _prior_model(self, X):
        self._validate_params()
        return learning.prior_model(copy.copy(self), X)  # a copy, which learns the columns: self stays as it was

    # ---------------------------------------------------------------------- evidence and hyper-parameters
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
        self._refuse_if_approximate("log p(y) term by term")
        f = self._posterior
        if theta is not None:
            (kernel, lam), rows = hyper.checked(self.kernel_, theta), self._with_values()
            f = RegressionPosterior.fit(kernel, rows, lam, choose("cholesky", rows.n, **self._limits(rows))[0])
        return f.evidence(learning.evidence_of(np.ndim(self.noise_) > 0))

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """log p(y | θ) = log N(y; Hb, K + σ²I), restricted where there is a trend, and its gradient.

        Parameters
        ----------
        theta : array-like of shape (p + 1,), default=None
            (log θ of ``kernel_``, log σ²), p free hyper-parameters in the order of ``kernel_.names``; of an array of
            noise variances the log of the geometric mean. None is the fit.
        eval_gradient : bool, default=False
            Whether to return the gradient in θ and log σ² too.

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
        around = hyper.likelihood(
            self,
            self._with_values(),
            self.lam_ or float(theta is not None),
            learning.evidence_of(np.ndim(self.noise_) > 0),
        )
        z = around.at(self.lam_) if theta is None else hyper.checked_logs(around.names, theta)
        value, gradient = around.objective.exact(z)
        return self.log_marginal_likelihood_value_ if theta is None else -float(value), -gradient

    @property
    def hyper_std_(self):
        """{name: standard error of its log}, from the Hessian of the criterion; computed at the first call."""
        check_is_fitted(self)
        errors = np.sqrt(self.hyper_cov_.diagonal()).tolist()
        return dict(zip([*self.kernel_.names, "noise"], errors, strict=True))

    @property
    def hyper_cov_(self):
        """Covariance of (log θ, log σ²), whose diagonal is the square of ``hyper_std_``; nan where that is nan."""
        check_is_fitted(self)
        if "_hyper_cov" not in self.__dict__:
            criterion = learning.as_criterion(self, np.ndim(self.noise_) == 1, self._rows.row_y)
            size = self.kernel_.n_theta + 1
            self._hyper_cov = np.full((size, size), np.nan)
            if criterion is not None and learning.has_curvature(criterion, self.selection_):
                self._hyper_cov = self._around(criterion, self._with_values()).covariance(self.selection_.at_bound)
        return self._hyper_cov.copy()

    def _around(self, criterion, rows):
        """The posterior of the hyper-parameters around those of the fit."""
        prior = learning.make_prior(self.prior, self.kernel_, rows, criterion)
        return hyper.HyperPosterior(self.kernel_, rows, self.lam_, criterion, self.optimize, prior)

    def _with_values(self):
        """The rows, if the kernel can be evaluated on them, and they are solved for exactly."""
        self._refuse_if_approximate("log p(y) at other hyper-parameters, and their errors,")
        kept(self.kernel_, self.points_, "only the value of the fit is known")
        return self._rows
