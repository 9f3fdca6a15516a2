"""Two classes by Laplace's approximation, with the attributes of scikit-learn's binary classifier."""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils.validation import check_is_fitted

from mercer._parameters import Parametrised
from mercer._state import Stateful
from mercer._warn import warn
from mercer.compat._covariance import Covariance, RowsMixin
from mercer.compat._search import optimise_theta
from mercer.gram import DenseGram
from mercer.inference.likelihood import Binary, Logit
from mercer.inference.sites import laplace
from mercer.kernels import Kernel


class TwoClasses(Parametrised, RowsMixin, Stateful, BaseEstimator):
    """log Z ≈ −½ âᵀf̂ + log p(y | f̂) − ½ log det(I + √W K √W): what one problem of two classes is fitted by.

    The parameters are those of `GaussianProcessClassifier`, which has the defaults. The attributes are those of
    scikit-learn's class for two classes: ``X_train_``, ``y_train_`` (0 and 1), ``classes_``, ``kernel_``, ``pi_``,
    ``W_sr_``, ``L_`` (of I + √W K √W), ``log_marginal_likelihood_value_``. ``f_cached`` is the mode f̂, ``a_cached_``
    the â with f̂ = K â.
    """

    state_extras = {"theta": "_theta", "evaluated": "_kernel", "posterior": "_posterior", "latent": "f_cached"}
    state_fields = {"X_train_": ("matrix n d", "any n", list), "evaluated": Kernel, "a_cached_": "float n"}

    def __init__(self, kernel, optimizer, n_restarts_optimizer, max_iter_predict, warm_start, copy_X_train,
                 random_state): ...  # fmt: skip

    def fit(self, X, y):
        """Learn θ and the mode; X and y are checked already."""
        self.kernel_ = ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed") if self.kernel is None else clone(self.kernel)
        self.X_train_ = np.copy(X) if self.copy_X_train else X
        self.classes_, self.y_train_ = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"TwoClasses needs 2 classes in y, got {len(self.classes_)}: {self.classes_}.")
        rows, self.report_ = self._rows(X), {}
        covariance = Covariance(self.kernel_, rows)
        start = getattr(self, "a_cached_", None) if self.warm_start else None
        search = _Evidence(covariance, rows, self._likelihood(), self.max_iter_predict, start)
        optimise_theta(self.kernel_, search.negative, len(y), self.report_, **self._optimising())
        self._theta = np.array(self.kernel_.theta, dtype=float)
        self._kernel = covariance.kernel(self._theta)
        self._keep(search.posterior(self._theta)[0])
        return self

    @property
    def our_kernel_(self):
        """The kernel without its noise, as one of `mercer.kernels`."""
        return self._kernel

    def _keep(self, found):
        """Set what was learnt."""
        if not found.info["converged"]:
            warn(
                f"the mode of the latent function was not reached in max_iter_predict={self.max_iter_predict} "
                f"factorisations; the gradient there is {found.info['gradient']:.2g}. Raise max_iter_predict.",
                ConvergenceWarning,
            )
        self.report_.update(kernel=repr(self._kernel), **found.info)
        self.log_marginal_likelihood_value_ = np.float64(found.log_evidence)
        self.f_cached, self.a_cached_ = found.f, found.a
        self.pi_, self.W_sr_ = Logit().prob(found.f), found.s
        found.release()
        self._posterior = found

    def _likelihood(self):
        return Binary(Logit(), 2.0 * self.y_train_ - 1.0)

    @property
    def L_(self):
        """Lower Cholesky factor of I + √W K √W."""
        check_is_fitted(self, "X_train_")
        return np.tril(self._posterior.Binv.factor)

    def _blocks(self, X, size=1024):
        """Yield (rows, k(rows, training rows)) for blocks of so many new rows."""
        check_is_fitted(self, "X_train_")
        X, train = self._rows(X), self._rows(self.X_train_)
        for i in range(0, len(X), size):
            yield X[i : i + size], np.asarray(self._kernel(X[i : i + size], train), dtype=float)

    def predict(self, X):
        """The likelier class, by the sign of the latent mean."""
        positive = np.concatenate([k @ self._posterior.a > 0 for _, k in self._blocks(X)])
        return self.classes_[positive.astype(int)]

    def predict_proba(self, X):
        """P(class), of shape (m, 2)."""
        p = Logit().expect(*self.latent_mean_and_variance(X))
        return np.stack([1.0 - p, p], axis=1)

    def latent_mean_and_variance(self, X):
        """Mean and variance of the latent function."""
        means, variances = [], []
        for rows, k in self._blocks(X):
            noise = Covariance(self.kernel_, rows).noise(self._theta, rows)
            mean, variance = self._posterior.latent(k, np.asarray(self._kernel.diag(rows), dtype=float) + noise)
            means.append(mean)
            variances.append(variance)
        return np.concatenate(means), np.concatenate(variances)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """log Z at θ, and its gradient."""
        asked = self._asked(theta, eval_gradient, clone_kernel)
        if asked is None:
            return self.log_marginal_likelihood_value_
        covariance, X, theta = asked
        search = _Evidence(covariance, X, self._likelihood(), self.max_iter_predict, self.a_cached_)
        found = search.negative(theta, eval_gradient)
        return (-found[0], -found[1]) if eval_gradient else -found


class _Evidence:
    """θ ↦ −log Z; each search for the mode begins where the last one ended. log σ is concave: there is one mode."""

    def __init__(self, covariance, X, likelihood, max_iter, start):
        self.covariance, self.X, self.likelihood, self.max_iter = covariance, X, likelihood, max_iter
        self.start = start if start is not None and len(start) == likelihood.n else None

    def posterior(self, theta):
        """(the approximation, K) at θ."""
        K = self.covariance.gram(theta, self.X)
        found = laplace(DenseGram.from_matrix(K.dense()), self.likelihood, start=self.start, max_iter=self.max_iter)
        self.start = found.a
        return found, K

    def negative(self, theta, eval_gradient=True):
        """−log Z, and its gradient; ∞ where K cannot be used."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found, K = self.posterior(theta)
                value = np.float64(-found.log_evidence)
                if not eval_gradient:
                    return value
                C, W = found.value_and_adjoint(overwrite=True)
                return np.float64(C), self.covariance.pull(K, W)
        except np.linalg.LinAlgError:
            return (np.inf, np.zeros(len(theta))) if eval_gradient else np.inf
