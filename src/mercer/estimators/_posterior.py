"""What a Gaussian process says after a fit: an estimator that asks its posterior."""

from abc import abstractmethod

import numpy as np
from scipy.special import ndtri

from mercer._policies import OptionSet
from mercer.estimators._intervals import LinearEstimator
from mercer.estimators._protocol import over_partitions
from mercer.estimators.validation import seed_of, shared_noise
from mercer.inference.moments import Moments, Part, draw, noise_at, noisy_std
from mercer.uncertainty.objections import ObjectionOptions, warn_of_wrong_deviations


class PosteriorEstimator(LinearEstimator):
    """A model whose answers at new inputs are those of a `Posterior`."""

    probabilistic, decomposes = True, True

    @property
    def correlated(self):
        """Whether there are covariances of predictions: neighbours give each input a posterior of its own."""
        return self._fitted is None or self._fitted.posterior.correlated

    @abstractmethod
    def _prior_model(self, X):
        """(kernel, X, noise variance) before a fit."""

    # ---------------------------------------------------------------------- at new inputs
    @over_partitions
    def predict(self, X, return_std=False, return_cov=False, noisy=False):
        """m(x) = kₓᵀα + h(x)ᵀb, and on request √v(x) or the covariance of all rows.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        return_std, return_cov : bool, default=False
            Whether the standard deviation or the covariance is returned too; without, no variance is computed.
        noisy : bool or array-like of shape (m,), default=False
            Whether it is that of a new y, not of f(x). An array gives the noise variances of the new rows; True takes
            ``lam_``.

        Returns
        -------
        mean : ndarray of shape (m,) or (m, t)
        std : ndarray of shape (m,)
            With ``return_std``.
        cov : ndarray of shape (m, m)
            With ``return_cov``.
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not for both: the std is in the diagonal of the cov.")
        X = self._new_rows(X)
        if not (return_std or return_cov):
            return self._shaped(self._fitted.posterior.mean(X))
        found, noise = self._moments(X, return_cov), noise_at(noisy, self._fitted.posterior.lam, len(X))
        return found.mean, found.latent_cov + np.diag(noise) if return_cov else noisy_std(found.latent_std, noise)

    def posterior(self, X, cov=False):
        """Mean, latent and noisy standard deviation at X, and the covariances if ``cov``.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        cov : bool, default=False
            Whether to return the covariance of all rows too.

        Returns
        -------
        PosteriorMoments
            ``mean``, ``latent_std``, ``noisy_std``, ``latent_cov``, ``noisy_cov``, ``clipped``.

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> model = GaussianProcessRegressor(Gaussian(), 0.19, criterion=None, trend=None).fit([[0.0]], [1.0])
        >>> far = model.posterior([[50.0]])
        >>> far.latent_std.round(6), far.noisy_std.round(6)
        (array([1.]), array([1.090871]))
        """
        return self._moments(self._new_rows(X), cov)

    def _moments(self, X, cov):
        """The `PosteriorMoments` at checked inputs."""
        f = self._fitted.posterior
        found, C = f.covariance(X) if cov else (f.moments(X), None)
        return found.warn(self.lam_).with_noise(noise_at(True, f.lam, len(X)), self._fitted.flat, C)

    @over_partitions
    def predict_interval(self, X, coverage=0.9, *, method="auto", noisy=True, **options):
        """[m(x) − z s(x), m(x) + z s(x)], z the normal quantile: holds a new target with probability ``coverage``.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
            The share of new targets that are to lie inside.
        method : {"auto", "gaussian", "conformal", "jackknife+", "cv+", "left-out", "split"}, default="auto"
            "gaussian" believes the model. The others do not, and are those of `KernelRidge.predict_interval`, at the
            hyper-parameters of the fit. "auto" is "gaussian"; by neighbours or Fourier features, for a new y, z is the
            quantile of the rows left out of like deviation ("conformal" with ``normalise=True``), if these are enough.
        noisy : bool or array-like of shape (m,), default=True
            Whether the interval is for a new y (or for one with these noise variances), or for f(x) itself.
        **options
            ``normalise``, ``sample_weight``, ``folds``, ``calibration`` of the other methods.

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> model.predict_interval([[0.0]], 0.9).shape
        (1, 2)
        """
        if method == "auto" and noisy is True and self._asked().calibrates(coverage):
            method, options = "conformal", {"normalise": True} | options
        if method not in ("auto", "gaussian"):
            if noisy is not True:
                raise ValueError(f'method={method!r} is for a new y; noisy={noisy!r} goes with method="gaussian".')
            return super().predict_interval(X, coverage, method=method, **options)
        if options:
            raise TypeError(f'method="gaussian" takes no {", ".join(options)}.')
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
        if noisy is True and self._fitted.states_errors:
            options = OptionSet(self.options)[ObjectionOptions]
            warn_of_wrong_deviations(self, coverage, self.__dict__.setdefault("_objections", {}), options)
        mean, std = self.predict(X, return_std=True, noisy=noisy)
        reach = float(ndtri((1.0 + coverage) / 2.0)) * (std[:, None] if std.ndim < mean.ndim else std)
        return np.stack([mean - reach, mean + reach], axis=1)

    def prior_moments(self, X, cov=False):
        """f ~ GP(0, k) before any data: mean 0, latent and noisy standard deviation at X.

        The kernel and the noise are those given; a kernel of None has its length scales from X. A trend has a flat
        prior, and is left out.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        cov : bool, default=False
            Whether to return the covariance of all rows too.

        Returns
        -------
        PosteriorMoments

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> GaussianProcessRegressor(4.0 * Gaussian(), 0.0).prior_moments([[0.0], [1.0]]).latent_std
        array([2., 2.])
        """
        kernel, X, noise = self._prior_model(X)
        found = Moments(np.zeros((len(X), 1)), np.asarray(kernel.diag(X), dtype=float))
        C = np.asarray(kernel(X), dtype=float) if cov else None
        return found.with_noise(np.full(len(X), noise), True, C)

    def sample(self, X, n_samples=1, random_state=None, noisy=False):
        """f(X) ~ N(m, C): joint draws of the function at the rows of X, from the prior before a fit.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        n_samples : int, default=1
            How many functions to draw.
        random_state : int, RandomState or Generator, default=None
        noisy : bool or array-like of shape (m,), default=False
            Whether noise is added: True, or the noise variances of the rows.

        Returns
        -------
        ndarray of shape (m, n_samples) or (m, t, n_samples)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> GaussianProcessRegressor(Gaussian()).sample(np.linspace(0, 1, 50)[:, None], 3, random_state=0).shape
        (50, 3)
        """
        rng = make_generator(random_state)
        if self._fitted is None:
            kernel, X, noise = self._prior_model(X)
            C = np.asarray(kernel(X), dtype=float)
            return draw(np.zeros((len(X), 1)), C, n_samples, rng, noise_at(noisy, noise, len(X)))[:, 0]
        found = self._fitted.posterior.sample(self._new_rows(X), n_samples, rng, noisy)
        return found[:, 0] if self._fitted.flat else found

    def decompose(self, X):
        """f = f₁ + f₂ + … + trend: the posterior of each additive part of the kernel; the means sum to the mean.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        list of Part
            With ``name`` (the kernel of the part, or "trend"), ``mean``, ``std`` and ``kernels``.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian, Linear
        >>> X = np.linspace(0, 1, 5)[:, None]
        >>> model = GaussianProcessRegressor(Gaussian(0.5) + Linear(), 0.1, criterion=None).fit(X, X[:, 0] ** 2)
        >>> [part.name for part in model.decompose(X)]
        ['Gaussian(0.5)', 'Linear()', 'trend']
        """
        self._needs_all_rows("the posterior of each part")
        kernels = [(one,) for one in self.kernel_.additive_parts()] + [()] * bool(self._fitted.rows.q)
        found = zip(kernels, self._fitted.posterior.parts(self._new_rows(X)), strict=True)
        parts = ((own, self._shaped(one.mean), self._per_row(np.sqrt(one.variance), 1)) for own, one in found)
        return [Part(repr(*own) if own else "trend", mean, std, own) for own, mean, std in parts]

    def derivative(self, X):
        """(∂m/∂x, ∂√v/∂x): how the mean and the latent standard deviation change with each column of x.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        d_mean : ndarray of shape (m, d) or (m, d, t)
        d_std : ndarray of shape (m, d) or (m, d, t)
            nan where the standard deviation is 0. The last axis is there only with several targets and
            ``n_hyper_samples``.

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Linear
        >>> model = GaussianProcessRegressor(Linear(), 1e-6, criterion=None, trend=None).fit([[1.0], [2.0]], [3.0, 6.0])
        >>> model.derivative([[5.0]])[0].round(4)
        array([[3.]])
        """
        self._needs_all_rows("the derivative")
        X = self._new_rows(X)
        if not (isinstance(X, np.ndarray) and X.ndim == 2):
            raise TypeError(f"{self.kernel_!r} reads objects, which have no derivative.")
        slopes = self._fitted.posterior.slopes(X)
        return self._shaped(slopes.d_mean), self._per_row(slopes.d_std, 2)

    def _per_row(self, values, axes):
        """Values that all targets share, or those of a mixture, which have an axis of targets more."""
        return self._shaped(values) if values.ndim > axes else values

    # ---------------------------------------------------------------------- rows that join, leave, and are left out
    def update(self, X, y, sample_weight=None, noise=None):
        """Add rows at the same hyper-parameters: exact, O(n²) for each row, or O(m²) on landmarks, equal to a new fit.

        Parameters
        ----------
        X : array-like of shape (k, d), or a sequence of objects
        y : array-like of shape (k,) or (k, t)
        sample_weight : array-like of shape (k,), default=None
        noise : float or array-like of shape (k,), default=None
            Noise variances of the new rows, for a fit with an array of them; None is ``lam_``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> X, y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))
        >>> model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None)
        >>> grown = model.fit(X[:4], y[:4]).update(X[4:], y[4:]).predict(X)
        >>> bool(np.allclose(grown, model.fit(X, y).predict(X), rtol=1e-9))
        True
        """
        fitted = self._asked()
        if noise is not None and np.ndim(self.noise_) == 0:
            raise ValueError("noise of new rows goes with a fit that had an array of noise variances.")
        X, y, weight = self._check_more_rows(X, y, sample_weight)
        if noise is not None:
            shared, relative = shared_noise(np.broadcast_to(noise, len(y)), len(y), "noise")
            weight = weight * (self.lam_ / shared) * relative
        return self._become(fitted.extended(X, y, weight, self.merge))

    def forget(self, index, y=None, sample_weight=None):
        """Remove rows at the same hyper-parameters: exact, O(n²) for each row, equal to a new fit.

        Parameters
        ----------
        index : int, array-like of int, or array-like of bool of shape (n,)
            Training rows, counted as they were given; those that stay keep their order.
        y, sample_weight : array-like, default=None
            Only on landmarks, which keep no rows: ``index`` is the inputs of those that leave, and these go with them.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> X, y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))
        >>> model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None)
        >>> fewer = model.fit(X, y).forget([1, 2]).predict(X)
        >>> bool(np.allclose(fewer, model.fit(X[[0, 3, 4, 5]], y[[0, 3, 4, 5]]).predict(X), rtol=1e-9))
        True
        """
        fitted = self._asked()
        if fitted.rows is None:
            if y is None:
                raise ValueError("a fit on landmarks keeps no rows: forget(X, y) takes those away that are given.")
            return self._become(fitted.reduced(*self._check_more_rows(index, y, sample_weight)))
        if y is not None:
            raise ValueError("forget(X, y) is for landmarks; this fit keeps its rows: give their index.")
        gone = mask_of(index, fitted.rows.given)
        if gone[fitted.rows.used].all():
            raise ValueError("forget would leave no row.")
        return self._become(fitted.without(gone))

    @property
    def loo_std_(self):
        """√(variance of yᵢ given the other rows), noise included: what loo_residuals_ should be in size."""
        return np.sqrt(self._asked().left_out().variance)


def mask_of(index, n):
    """A mask of the rows that leave, from a row, several, or a mask of the n rows given."""
    index = np.atleast_1d(np.asarray(index))
    if index.dtype == bool:
        if index.shape != (n,):
            raise ValueError(f"a mask must have one entry for each of the {n} rows, got shape {index.shape}.")
        index = np.flatnonzero(index)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise ValueError(f"index must be whole numbers, or a mask of the {n} rows.")
    if index.size and not ((index >= -n) & (index < n)).all():
        raise IndexError(f"index must be between {-n} and {n - 1}, got {index.min()} to {index.max()}.")
    gone = np.zeros(n, dtype=bool)
    gone[index.astype(int)] = True
    return gone


def make_generator(random_state):
    """A numpy Generator from a seed, a RandomState or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        random_state = seed_of(random_state)
    return np.random.default_rng(random_state)
