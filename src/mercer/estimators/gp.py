"""GaussianProcessRegressor: the posterior of a Gaussian process, with what it does not know."""

import copy
from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from mercer._policies import OptionSet
from mercer.approximate import exact_process
from mercer.approximate.base import choose
from mercer.approximate.kernels import latent_kernel, refuse_without_points
from mercer.approximate.options import ProcessOptions
from mercer.approximate.process import (
    ProcessProblem,
    evidence_of,
    has_curvature,
    is_likelihood,
    make_prior,
    warn_of_units,
)
from mercer.estimators._parameters import NOT_NEGATIVE, KernelParameters, constraints
from mercer.estimators._posterior import PosteriorEstimator
from mercer.estimators.validation import check_weight, seed_of, shared_noise
from mercer.inference.regression import RegressionPosterior
from mercer.kernels import Matern32, as_kernel
from mercer.selection import LOO
from mercer.selection.result import ProgressSupport, with_progress
from mercer.solvers import Sizes, choose_solver
from mercer.sources import is_source


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
        features are not too many and finufft is installed, `Neighbours` up to 32 columns, and `Landmarks` beyond.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds for the search, and as many for the sampling; what was found by then is used.
    random_state : int, RandomState or None, default=0
        Seed of the rows and starts a search looks at first, and of the sampling.
    options : list of Options, default=()
        Numbers that steer a search, a solver or an approximation, where the defaults will not do:
        ``[SearchOptions(...)]``; see `mercer.options`.

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
    criterion_words = {**KernelParameters.criterion_words, "loo": partial(LOO, "log_density")}
    has_evidence = True
    remade = ("_hyper_cov", "_likelihood", "_objections")
    __metadata_request__predict = {"return_std": True, "return_cov": True, "noisy": True}

    def __init__(
        self, kernel=None, noise=None, *, criterion="evidence", trend="constant", optimize="all", prior="auto",
        n_hyper_samples=0, starts=3, merge=True, approximation="auto", memory=None, time_budget=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        noise=[NOT_NEGATIVE, "array-like", None],
        n_hyper_samples=[Interval(Integral, 0, None, closed="left")],
    )

    @property
    def interval_method(self):  # type: ignore[override]
        """What `predict_interval` does: "gaussian", or "calibrated" on rows that were left out."""
        return "calibrated" if self._fitted is not None and self._fitted.calibrated else "gaussian"

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

    def _make_problem(self, X, y, sample_weight):
        read = not isinstance(X, np.ndarray) and is_source(X)
        problem = (self._source_problem if read else self._row_problem)(X, y, sample_weight)
        warn_of_units(problem.rows, problem.span)
        if self.n_hyper_samples:
            sizes = problem.n, problem.kernels[0], self.optimize
            exact_process.check_sampling(self.n_hyper_samples, *sizes, is_likelihood(problem.criterion), self.memory)
        return problem

    def _row_problem(self, X, y, sample_weight):
        """The `Problem` of arrays, or of a collection."""
        kernels, X, y, flat = self._check_rows(X, y)
        weight = check_weight(sample_weight, len(y))
        lam, relative = (None, None) if self.noise is None else shared_noise(self.noise, len(y), "noise")
        if relative is not None:
            weight = relative if weight is None else weight * relative
        return self._problem(self._as_criterion(y), kernels=tuple(kernels), lam=lam, flat=flat).on(X, y, weight)

    def _source_problem(self, X, y, sample_weight):
        """The `Problem` of data that are read: all is learnt from some rows before the passes."""
        if np.ndim(self.noise):
            raise ValueError(
                "noise must be one number for data that are read; a noise for each row is a weight 1/noise."
            )
        if self.n_hyper_samples:
            raise ValueError("n_hyper_samples needs the exact fit, and data that are read have none.")
        from mercer.approximate.landmarks_process import subset_of  # arrays do not pay for it

        source, flat = self._open_source(X, y, sample_weight)
        kernels = self._given_kernels()
        some = subset_of(source, seed_of(self.random_state), OptionSet(self.options))
        Z = some.X
        for kernel in kernels:
            Z = kernel.validate(Z)
        problem = self._problem(self._as_criterion(some.y), kernels=tuple(kernels), lam=self.noise, flat=flat)
        sizes = {"n": source.n, "d": source.d, "t": source.t, "count": source.n}
        return replace(problem.on(Z, some.y, some.weight), source=source, **sizes)

    def _problem(self, criterion, n=1, d=None, targets=1, rows=1, **given):
        """The `Problem` of so many points, columns, targets and rows."""
        options = {"trend": self._given_trend(), "merge": self.merge, "prior": self.prior, "starts": self.starts}
        options |= {"n_hyper_samples": self.n_hyper_samples, "precisions": np.ndim(self.noise) > 0}
        options |= {"default": None if self._has_kernel else latent_kernel, "criterion": criterion, **given}
        return ProcessProblem(n=n, d=d, t=targets, count=rows, **options, **self._parameters_of_problem())

    @property
    def _has_kernel(self):
        """Whether a kernel was given, or several."""
        return not (self.kernel is None or self._automatic)

    def plan(self, n, d=None, *, targets=1, rows=None):
        given = {"targets": targets, "rows": n if rows is None else rows}
        given["lam"] = None if self.noise is None else float(np.min(self.noise))
        given["kernels"] = tuple(self._given_kernels()) if self._has_kernel else ()
        return choose(self._problem(self._as_criterion(), n, d, **given), binding=False)[1]

    def _as_criterion(self, y=None):
        """The criterion as an object, or None; noise given row by row makes weights precisions, not copies."""
        found = super()._as_criterion(y)
        return found.with_precisions() if np.ndim(self.noise) and found is not None else found

    def _given_lam(self):
        return self.noise

    def _learnt(self, rows):
        noise = self.row_lam_
        return {"noise": self.lam_ if noise is None else noise[rows], "n_hyper_samples": 0}  # draws are from a search

    def _prior_model(self, X):
        self._validate_params()
        unfitted = copy.copy(self)  # which learns the columns: self stays as it was
        kernel = clone(as_kernel(self.kernel), safe=False) if self._has_kernel else Matern32()
        X = kernel.validate(unfitted._check_X(X, reset=True, kernel=kernel))
        kernel = kernel if self._has_kernel else latent_kernel(X, None)
        default = OptionSet(self.options)[ProcessOptions].noise * float(np.mean(kernel.diag(X)))
        noise = default if self.noise is None else float(np.mean(self.noise))
        return kernel, X, noise

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
        self._needs_all_rows("log p(y) term by term")
        evidence = evidence_of(np.ndim(self.noise_) > 0)
        if theta is None:
            return self._fitted.evidence_terms(evidence)
        rows, (kernel, lam) = self._with_values(), exact_process.kernel_and_noise(self.kernel_, theta)
        solver = choose_solver("cholesky", Sizes(rows.n, targets=rows.t, memory=self.memory), inverse=True)[0]
        return RegressionPosterior.fit(kernel, rows, lam, solver).evidence(evidence)

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
        self._check_fitted()
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if not eval_gradient:
            return float(sum(self.evidence_terms(theta).values()))
        around = self._likelihood_around(self.lam_ or float(theta is not None))
        z = around.at(self.lam_) if theta is None else exact_process.check_logs(around.names, theta)
        value, gradient = around.objective.exact(z)
        return self.log_marginal_likelihood_value_ if theta is None else -float(value), -gradient

    def _likelihood_around(self, lam):
        """The `HyperPosterior` of the evidence; what was made before is used: an optimiser of the user's asks again."""
        rows, known = self._with_values(), self.__dict__.get("_likelihood")
        if known is None or known.rows is not rows or (known.lam > 0) != (lam > 0):
            evidence = evidence_of(np.ndim(self.noise_) > 0)
            known = self._likelihood = exact_process.HyperPosterior(self.kernel_, rows, lam, evidence)
        return known

    @property
    def hyper_std_(self):
        """{name: standard error of its log}, from the Hessian of the criterion; computed at the first call."""
        errors = np.sqrt(self.hyper_cov_.diagonal()).tolist()
        return dict(zip([*self.kernel_.names, "noise"], errors, strict=True))

    @property
    def hyper_cov_(self):
        """Covariance of (log θ, log σ²), whose diagonal is the square of ``hyper_std_``; nan where that is nan."""
        if "_hyper_cov" not in self.__dict__:
            rows = self._with_values()
            criterion = self._as_criterion(rows.row_y)
            size = self.kernel_.n_theta + 1
            self._hyper_cov = np.full((size, size), np.nan)
            if criterion is not None and has_curvature(criterion, self.selection_):
                self._hyper_cov = self._around(criterion, rows).covariance(self.selection_.at_bound)
        return self._hyper_cov.copy()

    def _around(self, criterion, rows):
        """The posterior of the hyper-parameters around those of the fit."""
        prior = make_prior(self.prior, self.kernel_, rows, criterion)
        return exact_process.HyperPosterior(self.kernel_, rows, self.lam_, criterion, self.optimize, prior)

    def _with_values(self):
        """The rows, if the kernel can be evaluated on them, and they are solved for exactly."""
        self._needs_all_rows("log p(y) at other hyper-parameters, and their errors,")
        refuse_without_points(self.kernel_, self.points_, "only the value of the fit is known")
        return self._fitted.rows
