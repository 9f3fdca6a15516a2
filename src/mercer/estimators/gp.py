"""GaussianProcessRegressor: the posterior of a Gaussian process, with what it does not know."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.estimators._base import KernelEstimator
from mercer.estimators._gp_evidence import EvidenceMixin
from mercer.estimators._gp_fit import FitMixin
from mercer.estimators._gp_learn import LearnMixin
from mercer.estimators._gp_predict import PredictMixin
from mercer.estimators._gp_rows import RowsMixin
from mercer.estimators._gp_sampling import SamplingMixin
from mercer.estimators._gp_views import ViewsMixin
from mercer.estimators._intervals import IntervalsMixin
from mercer.kernels.basis import Features
from mercer.selection.base import Criterion
from mercer.selection.progress import ProgressSupport, begin, end, with_progress


class GaussianProcessRegressor(
    ProgressSupport,
    FitMixin,
    LearnMixin,
    SamplingMixin,
    PredictMixin,
    ViewsMixin,
    EvidenceMixin,
    RowsMixin,
    IntervalsMixin,
    KernelEstimator,
):
    """f ~ GP(h(x)ᵀb, k),  y = f(x) + N(0, σ²):  mean kₓᵀα + h(x)ᵀb,  variance k(x, x) − kₓᵀK̃⁻¹kₓ,  K̃ = K + σ²I.

    The variance has two names everywhere: *latent*, of f(x), and *noisy*, of a new y, which is σ² more. The trend
    h(x)ᵀb has a flat prior: b is estimated, and its uncertainty is part of the variance (universal kriging).

    Parameters
    ----------
    kernel : Kernel, default=None
        k; None is ``1.0 * Matern32(ones(d))``, one length scale for each column, started at the median distances.
    noise : float or array-like of shape (n,), default=None
        Noise variance σ² (the λ of the other models): where the search starts, or, with ``criterion=None`` or
        ``optimize="kernel"``, the value. An array gives one for each row; a common factor of it is learnt. None starts
        at 1 % of the variance of y.
    criterion : {"evidence", "loo"}, Criterion or None, default="evidence"
        What the hyper-parameters are chosen by: the evidence log p(y) (restricted, if there is a trend), the
        leave-one-out log density, or any `mercer.selection` criterion; where that compares errors, the amplitude, which
        it cannot see, is the one of the highest evidence. None learns nothing.
    trend : {"constant", "linear"}, Features or None, default="constant"
        h(x): 1; 1 and x; the features of a basis of `mercer.kernels`; nothing.
    optimize : {"all", "noise", "kernel"}, default="all"
        What is learnt.
    prior : "auto", None or dict, default="auto"
        Priors of the hyper-parameters, {name pattern: prior}, as ``{"length_scale*": LogNormal(1.0, 0.5)}``; "lam" is
        the noise variance. "auto" is weak ones below 50 rows (`mercer.selection.weak_priors`), none above.
    n_hyper_samples : int, default=0
        Above 0, so many draws of the hyper-parameters from their posterior, by slice sampling in four chains (rounded
        up to a multiple of four, at least 16): predictions are the moments of the mixture. Each draw keeps a factor of
        8n² bytes.
    starts : int, default=3
        How many starts of the search are followed; with more than one, two with much noise replace the last.
    merge : bool, default=True
        Whether equal rows of X are merged into one point with more weight. The model does not change.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds for the search, and as many for the sampling; what was found by then is used.
    random_state : int, default=0
        Seed of the rows and starts a search looks at first, and of the sampling.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with the hyper-parameters that were learnt.
    noise_ : float or ndarray of shape (n,)
        σ², one for each row where ``noise`` was an array.
    lam_ : float
        σ²; of an array the geometric mean, which stands for new rows.
    points_ : collection
        The distinct training inputs.
    point_index_ : ndarray of shape (n,)
        The point of each training row; -1 for rows of weight 0.
    row_weight_ : ndarray of shape (n,)
        The weight of each training row; 0 for rows that were left out.
    dual_coef_ : ndarray of shape (n_points,) or (n_points, t)
        α = K̃⁻¹(y − Hb).
    trend_coef_ : ndarray of shape (q, t)
        b; of a linear trend the coefficients of 1 and x − ``trend_centre_``.
    trend_centre_ : ndarray of shape (d,) or None
        Where a linear trend is centred.
    log_marginal_likelihood_value_ : float
        log p(y) at the hyper-parameters of the fit.
    selection_ : SearchResult
        With a criterion: how the hyper-parameters were chosen, and how surely.
    hyper_std_ : dict
        {name: standard error of the log of a hyper-parameter}, from the Hessian of the criterion; nan where it is flat
        or at a bound. Computed when it is first asked for.
    hyper_cov_ : ndarray of shape (p + 1, p + 1)
        The covariance of (log θ, log σ²) that ``hyper_std_`` is from.
    hyper_samples_ : ndarray of shape (s, p + 1)
        With ``n_hyper_samples``: draws of (log θ, log σ²), named by ``hyper_names_``; effective sizes and R̂ are in
        ``fit_report_``.
    loo_residuals_, loo_std_ : ndarray of shape (n,)
        yᵢ − f₋ᵢ(xᵢ), and the standard deviation that the model without row i states for it. Computed when first asked.
    regularization_ : dict
        σ² in every convention of the lectures.
    fit_report_ : FitReport
        What was done: solver, condition, jitter, merged rows, selection, time and memory.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, when X is a data frame.

    See Also
    --------
    KernelRidge : the same mean, without a distribution.

    Notes
    -----
    Several targets share the kernel and the noise, and so the standard deviation: it has shape (m,), except with
    ``n_hyper_samples``, where it is (m, t), because the means of a mixture differ by target.

    Amplitudes that are free and have no bounds of their own are searched in units of the spread of y, so y may have any
    unit, up to about 1e±150.

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

    _parameter_constraints = {
        "kernel": "no_validation",
        "noise": [Interval(Real, 0, None, closed="left"), "array-like", None],
        "criterion": [StrOptions({"evidence", "loo"}), Criterion, None],
        "trend": [StrOptions({"constant", "linear"}), Features, None],
        "optimize": [StrOptions({"all", "noise", "kernel"})],
        "prior": [StrOptions({"auto"}), dict, callable, None],
        "n_hyper_samples": [Interval(Integral, 0, None, closed="left")],
        "starts": [Interval(Integral, 1, None, closed="left")],
        "merge": ["boolean"],
        "memory": [Interval(Real, 0, None, closed="neither"), None],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }
    # A pipeline may pass these on when metadata routing is on.
    __metadata_request__predict = {"return_std": True, "return_cov": True, "noisy": True}

    def __init__(
        self,
        kernel=None,
        noise=None,
        *,
        criterion="evidence",
        trend="constant",
        optimize="all",
        prior="auto",
        n_hyper_samples=0,
        starts=3,
        merge=True,
        memory=None,
        time_budget=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.noise = noise
        self.criterion = criterion
        self.trend = trend
        self.optimize = optimize
        self.prior = prior
        self.n_hyper_samples = n_hyper_samples
        self.starts = starts
        self.merge = merge
        self.memory = memory
        self.time_budget = time_budget
        self.random_state = random_state

    @with_progress
    def fit(self, X, y, sample_weight=None):
        """Learn the hyper-parameters, and factor K + σ²I.

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one. Together with an array of noise variances the
            variance of row i is σᵢ²/wᵢ.

        Returns
        -------
        self
        """
        begin(self, X, y, steps=0 if self.criterion is None else None)
        self._fit_all_or_nothing(X, y, sample_weight)
        end(self, X, y)
        return self

    def _fit(self, X, y, sample_weight):
        self._fit_rows(X, y, sample_weight)

    def __getstate__(self):
        """Return the state without what can be computed again."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_loo", "_hyper_cov")}

    def predict_interval(self, X, coverage=0.9, *, method="gaussian", noisy=True, **options):
        """[m(x) − z s(x), m(x) + z s(x)], z the normal quantile: holds a new target with probability ``coverage``.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
        method : {"gaussian", "conformal", "jackknife+", "cv+", "split"}, default="gaussian"
            "gaussian" believes the model. The others do not, and are those of `KernelRidge.predict_interval`, at the
            hyper-parameters of the fit; all but "split" need a constant trend or none.
        noisy : bool or array-like of shape (m,), default=True
            Whether the interval is for a new y (or for one with these noise variances), or for f(x) itself.
        **options
            ``normalise``, ``sample_weight``, ``folds``, ``calibration`` of the other methods.

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.predict_interval([[0.0]], 0.9).shape
        (1, 2)
        """
        if method != "gaussian":
            if noisy is not True:
                raise ValueError(f'method={method!r} is for a new y; noisy={noisy!r} goes with method="gaussian".')
            return super().predict_interval(X, coverage, method=method, **options)
        if options:
            raise TypeError(f'method="gaussian" takes no {", ".join(options)}.')
        return self._gaussian_interval(X, coverage, noisy)

    def _deleted(self):
        if self.trend not in (None, "constant") and hasattr(self, "kernel_"):
            raise ValueError(
                "fits without a row are there for a constant trend or none; for others use "
                'predict_interval(..., method="gaussian" or "split"), loo_residuals_ and loo_std_.'
            )
        return super()._deleted()

    @property
    def intercept_(self):
        """B of a constant trend; there is none with another trend, or without one."""
        if self.trend != "constant":
            raise AttributeError('there is an intercept_ with trend="constant" only; see trend_coef_.')
        b = np.asarray(self.trend_coef_)[0]
        return float(b[0]) if self.dual_coef_.ndim == 1 else b
