"""What a Gaussian process says at new inputs: moments, samples, intervals; the prior too."""

import copy
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._warn import warn
from mercer.estimators._gp_fit import default_kernel
from mercer.estimators._gp_learn import NOISE
from mercer.estimators._validation import check_X
from mercer.exceptions import NumericalWarning
from mercer.inference.posterior import clip, draw, mixture
from mercer.kernels import Matern32, as_kernel


@dataclass(frozen=True)
class PosteriorMoments:
    """Mean, latent and noisy standard deviation, and covariances, of a Gaussian process at some inputs.

    Parameters
    ----------
    mean : ndarray of shape (m,) or (m, t)
    latent_std : ndarray of shape (m,)
        Of f(x).
    noisy_std : ndarray of shape (m,)
        Of a new y at x.
    latent_cov, noisy_cov : ndarray of shape (m, m), default=None
        Where they were asked for.
    clipped : int, default=0
        Variances that rounding had made negative, and that are 0 now.
    """

    mean: np.ndarray
    latent_std: np.ndarray
    noisy_std: np.ndarray
    latent_cov: np.ndarray | None = None
    noisy_cov: np.ndarray | None = None
    clipped: int = 0


class PredictMixin:
    """Prediction of `GaussianProcessRegressor`."""

    # ---------------------------------------------------------------------- moments
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
        check_is_fitted(self)
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not for both: the std is in the diagonal of the cov.")
        if not (return_std or return_cov):
            X, unit = self._new_rows(X), self._unit
            mean = np.mean([f.mean(X) for f in self._posteriors()], axis=0) * unit
            return mean[:, 0] if self._train.flat else mean
        found = self.posterior(X, cov=return_cov)
        noise = self._noise_at(noisy, len(found.mean))
        if return_cov:
            return found.mean, found.latent_cov + _on_diagonal(noise, found.latent_cov)
        return found.mean, _with_noise(found.latent_std, noise)

    def posterior(self, X, cov=False):
        """Mean, latent and noisy standard deviation at X, and the covariances if ``cov``.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        cov : bool, default=False

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
        check_is_fitted(self)
        X = self._new_rows(X)
        if cov:
            return self._with_covariance(X)
        means, variances, clipped, worst = [], [], 0, 0.0
        for f in self._posteriors():
            mean, variance = f.moments(X)
            variance, count, beyond = clip(variance, np.asarray(f.kernel.diag(X), dtype=float), f.Kinv.n)
            clipped, worst = clipped + count, max(worst, beyond)
            means.append(mean)
            variances.append(variance)
        self._warn_clipped(clipped, worst, len(X))
        mean, variance = (means[0], variances[0]) if len(means) == 1 else mixture(means, variances)
        return self._moments(mean, variance, clipped=clipped)

    def _moments(self, mean, variance, cov=None, clipped=0):
        """The result in the units of y."""
        unit, flat = self._unit, self._train.flat
        variance = variance[:, 0] if variance.ndim == 2 and flat else variance
        std, noise = unit * np.sqrt(variance), self._noise_at(True, len(mean))
        mean = unit * (mean[:, 0] if flat else mean)
        cov = None if cov is None else cov * unit**2
        noisy = None if cov is None else cov + _on_diagonal(noise, cov)
        return PosteriorMoments(mean, std, _with_noise(std, noise), cov, noisy, clipped)

    def _with_covariance(self, X):
        """Moments with the covariance of all rows."""
        found = [f.covariance(X) for f in self._posteriors()]
        mean = np.mean([one for one, _ in found], axis=0)
        C = np.mean([one for _, one in found], axis=0)
        if len(found) > 1:
            rest = np.array([one for one, _ in found]) - mean
            if rest.shape[2] > 1:
                raise ValueError("the covariance of a mixture differs by target; ask for one target at a time.")
            C = C + np.einsum("smt,snt->mn", rest, rest) / len(found)
        variance, prior = np.diagonal(C).copy(), np.asarray(self._f.kernel.diag(X), dtype=float)
        variance, clipped, worst = clip(variance, prior, self._f.Kinv.n)
        self._warn_clipped(clipped, worst, len(X))
        np.fill_diagonal(C, variance)
        return self._moments(mean, variance, C, clipped)

    def _warn_clipped(self, count, worst, rows):
        """Say so when a negative variance is more than rounding."""
        if worst:
            warn(
                f"{count} of {rows} variances came out negative, by up to {worst:.1e} of the prior variance, and are 0 "
                f"now: K + noise I is nearly singular (noise = {self.lam_:.3g}). Use a larger noise, or shorter length "
                "scales.",
                NumericalWarning,
            )

    def _posteriors(self):
        """The posterior, or one for each draw of the hyper-parameters."""
        return [self._f] if self._components is None else self._components

    def _new_rows(self, X):
        return self.kernel_.validate(check_X(self, X, reset=False, kernel=self.kernel_))

    def _noise_at(self, noisy, m):
        """Noise variances of new rows, in the units of y: 0, ``lam_`` (its mean over the draws), or those given."""
        return _noise_of(noisy, np.mean([f.lam for f in self._posteriors()]) * self._unit**2, m)

    def _gaussian_interval(self, X, coverage, noisy):
        """Mean ± quantile · std."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
        mean, std = self.predict(X, return_std=True, noisy=noisy)
        reach = float(ndtri((1.0 + coverage) / 2.0)) * (std[:, None] if std.ndim < mean.ndim else std)
        return np.stack([mean - reach, mean + reach], axis=1)

    # ---------------------------------------------------------------------- prior and samples
    def prior_moments(self, X, cov=False):
        """f ~ GP(0, k) before any data: mean 0, latent and noisy standard deviation at X.

        The kernel and the noise are those given; a kernel of None has its length scales from X. A trend has a flat
        prior, and is left out.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        cov : bool, default=False

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
        variance = np.asarray(kernel.diag(X), dtype=float)
        C = np.asarray(kernel(X), dtype=float) if cov else None
        std = np.sqrt(variance)
        noisy = None if C is None else C + _on_diagonal(np.full(len(X), noise), C)
        return PosteriorMoments(np.zeros(len(X)), std, _with_noise(std, noise), C, noisy)

    def _prior_model(self, X):
        """(kernel, X, noise variance) before a fit."""
        self._validate_params()
        reader = copy.copy(self)  # it learns the columns; self stays as it was
        if self.kernel is None:
            X = check_X(reader, X, reset=True, kernel=Matern32())
            kernel = default_kernel(X)
        else:
            kernel = clone(as_kernel(self.kernel), safe=False)
            X = kernel.validate(check_X(reader, X, reset=True, kernel=kernel))
        noise = NOISE * float(np.mean(kernel.diag(X))) if self.noise is None else float(np.mean(self.noise))
        return kernel, X, noise

    def sample(self, X, n_samples=1, random_state=None, noisy=False):
        """f(X) ~ N(m, C): joint draws of the function at the rows of X, from the prior before a fit.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        n_samples : int, default=1
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
        rng = _generator(random_state)
        if not hasattr(self, "kernel_"):
            kernel, X, noise = self._prior_model(X)
            C = np.asarray(kernel(X), dtype=float)
            return self._draw(np.zeros((len(X), 1)), C, _noise_of(noisy, noise, len(X)), n_samples, rng)[:, 0]
        X, unit = self._new_rows(X), self._unit
        fs, noise = self._posteriors(), self._noise_at(noisy, len(X)) / unit**2
        counts = np.bincount(rng.integers(len(fs), size=n_samples), minlength=len(fs))
        out = []
        for f, count in zip(fs, counts, strict=True):
            if count:
                own = np.full(len(X), f.lam) if isinstance(noisy, bool | np.bool_) and noisy else noise
                out.append(self._draw(*f.covariance(X), own, int(count), rng))
        samples = unit * np.concatenate([np.zeros((len(X), self._train.y.shape[1], 0)), *out], axis=2)
        samples = samples if len(out) < 2 else samples[:, :, rng.permutation(n_samples)]
        return samples[:, 0] if self._train.flat else samples

    def _draw(self, mean, C, noise, n_samples, rng):
        """Draws of f, then of the noise; a covariance that is not positive semi-definite is warned of."""
        samples, clipped = draw(mean, C, n_samples, rng)
        if clipped:
            warn(
                f"the covariance at the {len(C)} rows has an eigenvalue of -{clipped:.1e} of the largest; it is taken "
                "as 0. Use a larger noise, or shorter length scales.",
                NumericalWarning,
            )
        if noise.any():
            samples += np.sqrt(noise)[:, None, None] * rng.standard_normal(samples.shape)
        return samples


def _noise_of(noisy, lam, m):
    """Noise variances of m rows: 0 for False, ``lam`` for True, or those given."""
    if isinstance(noisy, bool | np.bool_):
        return np.full(m, lam if noisy else 0.0)
    noise = np.asarray(noisy, dtype=float)
    if noise.ndim == 0:
        noise = np.full(m, noise)
    if noise.shape != (m,) or not (np.isfinite(noise).all() and (noise >= 0).all()):
        raise ValueError(f"noisy must be True, False or {m} finite variances >= 0, got {noisy!r}.")
    return noise


def _with_noise(std, noise):
    """√(std² + noise), no square overflowing."""
    noise = np.sqrt(noise)
    return np.hypot(std, noise if np.ndim(std) == 1 else noise[:, None])


def _on_diagonal(noise, C):
    """The noise as a diagonal matrix."""
    return np.diag(noise) if np.ndim(noise) else noise * np.eye(len(C))


def _generator(random_state):
    """A numpy Generator from a seed, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    return np.random.default_rng(random_state)
