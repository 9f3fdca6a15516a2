"""GaussianProcessRegressor with scikit-learn's arguments."""

import numpy as np
from sklearn import gaussian_process
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_random_state

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.compat._base import Compatible, same_columns, validate_data
from mercer.compat._covariance import Covariance, RowsMixin, invert, log_density, log_evidence
from mercer.compat._search import optimise_theta
from mercer.estimators import FitReport
from mercer.exceptions import NumericalWarning
from mercer.gram import Rows
from mercer.gram.rows import power_of_two
from mercer.inference.moments import draw
from mercer.inference.regression import RegressionPosterior
from mercer.solvers.factoring import Probe, norm_and_condition


class GaussianProcessRegressor(RowsMixin, MultiOutputMixin, RegressorMixin, Compatible):
    """f ~ GP(0, k),  y = f(x) + N(0, α): ``sklearn.gaussian_process.GaussianProcessRegressor`` on our solvers.

    Parameters
    ----------
    kernel : kernel object of ``sklearn.gaussian_process.kernels``, default=None
        k, with ``WhiteKernel`` as noise; None is ``ConstantKernel(1.0) * RBF(1.0)``. Kernels that we have are
        evaluated by ours, others by themselves.
    alpha : float or ndarray of shape (n,), default=1e-10
        Added to the diagonal of K of the training rows.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        What maximises log p(y) over θ; a function is called as ``optimizer(obj_func, initial_theta, bounds)``. None
        leaves the kernel as it is.
    n_restarts_optimizer : int, default=0
        Further starts, drawn uniformly from the log bounds.
    normalize_y : bool, default=False
        Whether y is centred and scaled to unit variance for the fit.
    copy_X_train : bool, default=True
        Whether ``X_train_`` and ``y_train_`` are copies.
    n_targets : int, default=None
        Columns of y, for samples from the prior.
    random_state : int, RandomState or None, default=None
        For the restarts.

    Attributes
    ----------
    X_train_, y_train_ : ndarray
        The training rows; y as it was fitted, that is normalised.
    kernel_ : kernel object of scikit-learn
        With the θ that was found.
    L_ : ndarray of shape (n, n)
        Lower Cholesky factor of K + diag(α).
    alpha_ : ndarray of shape (n,) or (n, t)
        (K + diag(α))⁻¹y: the dual vector.
    log_marginal_likelihood_value_ : float
        log p(y) at ``kernel_.theta``.
    fit_report_ : FitReport
        The kernel of ours, condition, evaluations of the search, time.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    mercer.GaussianProcessRegressor : with a trend, noise as a parameter, leave-one-out and priors of hyper-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> from mercer.compat import GaussianProcessRegressor
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = GaussianProcessRegressor(RBF() + WhiteKernel(1e-3, "fixed")).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.01)
    True
    """

    state_extras = {
        "theta": "_theta",
        "posterior": "_posterior",
        "y_mean": "_y_train_mean",
        "y_std": "_y_train_std",
    }
    state_fields = {
        **Compatible.state_fields,
        "n_features_in_": "size d",
        "X_train_": ("matrix n d", "any n", list),
        "posterior": RegressionPosterior,
    }
    _parameter_constraints = gaussian_process.GaussianProcessRegressor._parameter_constraints
    __metadata_request__predict = {"return_std": True, "return_cov": True}

    def __init__(self, kernel=None, *, alpha=1e-10, optimizer="fmin_l_bfgs_b", n_restarts_optimizer=0,
                 normalize_y=False, copy_X_train=True, n_targets=None, random_state=None): ...  # fmt: skip

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    @property
    def our_kernel_(self):
        """The kernel without its noise, as one of `mercer.kernels`."""
        return self._posterior.kernel

    def _learnt(self, rows):
        alpha = self.alpha if np.size(self.alpha) == 1 else np.asarray(self.alpha)[rows]
        return {"kernel": self.kernel_, "optimizer": None, "alpha": alpha}

    # ---------------------------------------------------------------------- fit
    def fit(self, X, y):
        """Maximise log p(y) over θ, and factor K + diag(α).

        Parameters
        ----------
        X : array-like of shape (n, d), or a list of objects
        y : array-like of shape (n,) or (n, t)

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y)

    def _fit(self, X, y):
        self.kernel_ = ConstantKernel() * RBF() if self.kernel is None else clone(self.kernel)
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, **self._reads())
        seen = y.shape[1] if y.ndim == 2 else 1
        if self.n_targets is not None and seen != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {seen} != {self.n_targets}."
            )
        noise = self._alphas(len(y))
        y = self._normalise(y)
        self.X_train_ = np.copy(X) if self.copy_X_train else X
        self.y_train_ = np.copy(y) if self.copy_X_train else y
        rows, targets = self._rows(self.X_train_), self.y_train_.reshape(len(y), -1).astype(float)
        check_memory(16.0 * len(y) ** 2, f"GaussianProcessRegressor for n = {len(y)}", None, "fewer rows")
        covariance = Covariance(self.kernel_, rows)
        self.fit_report_ = FitReport(estimator="compat.GaussianProcessRegressor", rows=len(y))
        value = self._learn(covariance, rows, targets, noise)
        here = self._condition(covariance, rows, targets, noise)
        self.log_marginal_likelihood_value_ = here if value is None else value
        self.fit_report_["log_marginal_likelihood"] = float(self.log_marginal_likelihood_value_)

    def _learn(self, covariance, X, y, noise):
        """Set the θ of ``kernel_``, and return log p(y) there; None if there is nothing to learn."""

        def objective(theta, eval_gradient=True):
            found = log_evidence(covariance, theta, X, y, noise, eval_gradient)
            return (-found[0], -found[1]) if eval_gradient else -found

        value = optimise_theta(self.kernel_, objective, len(y), self.fit_report_, **self._optimising())
        return None if value is None else -value

    def _condition(self, covariance, X, y, noise):
        """Factor K + diag(α), keep the posterior, and return log p(y)."""
        self._theta = theta = np.array(self.kernel_.theta, dtype=float)
        K = covariance.gram(theta, X, noise)
        try:
            Kinv = invert(K)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                f"The kernel, {self.kernel_}, is not returning a positive definite matrix. Try gradually increasing "
                "the 'alpha' parameter of your GaussianProcessRegressor estimator.",
                *error.args,
            ) from None
        self._posterior = RegressionPosterior(covariance.kernel(theta), Rows(X, y, merge=False), Kinv)
        alpha = self._posterior.alpha
        self.alpha_ = alpha[:, 0] if self.y_train_.ndim == 1 else alpha
        condition = norm_and_condition(Probe(K), Kinv.factor, 0.0)[1]
        self.fit_report_.update(kernel=repr(self._posterior.kernel), condition=condition, **Kinv.info)
        return log_density(Kinv, y)

    def _alphas(self, n):
        """α, a number or one for each row, checked."""
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.size == 1:
            alpha = alpha.reshape(())
        elif alpha.shape != (n,):
            raise ValueError(
                f"alpha must be a scalar or an array with same number of entries as y. ({alpha.shape[0]} != {n})"
            )
        if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            raise ValueError(f"alpha must be finite and >= 0, its smallest entry is {alpha.min()}.")
        return alpha

    def _normalise(self, y):
        """(y − mean)/std with ``normalize_y``; a constant target has std 1. Nothing overflows on the way."""
        shape = y.shape[1:] or (1,)
        self._y_train_mean, self._y_train_std = np.zeros(shape), np.ones(shape)
        if not self.normalize_y:
            return y
        unit = power_of_two(y) if y.ndim == 2 else float(power_of_two(y[:, None])[0])
        mean, std = np.mean(y / unit, axis=0), np.std(y / unit, axis=0)
        std = np.where(std > 10 * np.finfo(float).eps, std, 1.0 / unit)
        self._y_train_mean, self._y_train_std = unit * mean, unit * std
        return (y / unit - mean) / std

    @property
    def L_(self):
        """Lower Cholesky factor of K + diag(α)."""
        if not hasattr(self, "X_train_"):
            raise AttributeError("L_ is there after fit.")
        return np.tril(self._posterior.inverse.factor)

    # ---------------------------------------------------------------------- after a fit, and before one
    def predict(self, X, return_std=False, return_cov=False):
        """m(x) = kₓᵀα, and on request √v(x) or the covariance; before a fit those of the prior.

        The noise of a ``WhiteKernel`` is in them, ``alpha`` is not.

        Parameters
        ----------
        X : array-like of shape (m, d), or a list of objects
        return_std, return_cov : bool, default=False

        Returns
        -------
        mean : ndarray of shape (m,) or (m, t)
        std : ndarray of shape (m,) or (m, t)
            With ``return_std``.
        cov : ndarray of shape (m, m) or (m, m, t)
            With ``return_cov``.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X = validate_data(self, X, reset=False, **self._reads())
        if not hasattr(self, "X_train_"):
            mean, found = self._prior(X, return_std, return_cov)
            scale = np.ones(mean.shape[1])
        else:
            mean, found = self._moments(self._rows(X), return_std, return_cov)
            scale = np.atleast_1d(self._y_train_std)
            mean = scale * mean + self._y_train_mean
        squeezed = mean.shape[1] == 1
        mean = mean[:, 0] if squeezed else mean
        if found is None:
            return mean
        found = found[..., None] * (scale if return_std else scale**2)
        return mean, found[..., 0] if squeezed else found

    def _prior(self, X, return_std, return_cov):
        """Mean 0, and the std or the covariance of the kernel as it was given."""
        kernel = self.kernel
        if kernel is None:
            kernel = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")
        mean = np.zeros((len(X), self.n_targets or 1))
        if return_cov:
            return mean, np.array(kernel(X), dtype=float)
        return mean, np.sqrt(kernel.diag(X)) if return_std else None

    def _moments(self, X, return_std, return_cov):
        """Mean, and the std or the covariance, in the units of the normalised y."""
        f = self._posterior
        same_columns(X, f.rows.X)
        if not (return_std or return_cov):
            return f.mean(X), None
        noise = Covariance(self.kernel_, X).noise(self._theta, X)
        if return_cov:
            found, C = f.covariance(X)
            np.einsum("ii->i", C)[...] += noise
            return found.mean, C
        found = f.moments(X)
        if found.beyond:
            warn(
                f"{found.clipped} of {len(X)} variances came out negative, by up to {found.beyond:.1e} of the prior "
                "variance, and are 0 now: K is nearly singular. Use a larger alpha, or a WhiteKernel.",
                NumericalWarning,
            )
        return found.mean, np.sqrt(found.variance + noise)

    def sample_y(self, X, n_samples=1, random_state=0):
        """f(X) ~ N(m, C): joint draws at the rows of X, from the prior before fit.

        Parameters
        ----------
        X : array-like of shape (m, d), or a list of objects
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0

        Returns
        -------
        ndarray of shape (m, n_samples) or (m, t, n_samples)
        """
        rng = check_random_state(random_state)
        mean, C = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return draw(mean[:, None], C, n_samples, rng)[:, 0]
        parts = [draw(mean[:, [j]], C[..., j], n_samples, rng) for j in range(mean.shape[1])]
        return np.concatenate(parts, axis=1)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """log p(y | θ) = log N(y; 0, K + diag(α)), summed over the targets, and its gradient.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            None is the value of the fit.
        eval_gradient : bool, default=False
        clone_kernel : bool, default=True
            False sets the θ of ``kernel_``, too; predictions stay those of the fit.

        Returns
        -------
        float, or (float, ndarray of shape (p,))
        """
        asked = self._asked(theta, eval_gradient, clone_kernel)
        if asked is None:
            return self.log_marginal_likelihood_value_
        covariance, X, theta = asked
        y = self.y_train_.reshape(len(self.y_train_), -1).astype(float)
        return log_evidence(covariance, theta, X, y, self._alphas(len(y)), eval_gradient)
