"""What a Gaussian process with scikit-learn's arguments says after a fit and before one: moments, samples, log p(y)."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils import check_random_state

from mercer._warn import warn
from mercer.compat._base import same_columns, validate_data
from mercer.compat._covariance import Covariance, log_evidence
from mercer.exceptions import NumericalWarning
from mercer.inference.moments import draw


class PredictMixin:
    """Prediction of `GaussianProcessRegressor`."""

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
        return evidence(covariance, theta, X, y, self._alphas(len(y)), eval_gradient)


def evidence(covariance, theta, X, y, noise, gradient):
    """`log_evidence`; −∞ and a zero gradient where the matrix is not positive definite."""
    try:
        return log_evidence(covariance, theta, X, y, noise, gradient)
    except np.linalg.LinAlgError:
        return (-np.inf, np.zeros(len(theta))) if gradient else -np.inf
