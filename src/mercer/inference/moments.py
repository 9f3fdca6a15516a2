"""What every posterior of a Gaussian process says at new inputs: moments of f and of y, parts, slopes, draws."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._policies import OptionSet
from mercer._warn import warn
from mercer.exceptions import NeedsAllRows, NumericalWarning
from mercer.solvers.factoring import square_root

ROUNDING = 64 * np.finfo(float).eps  # for each point: what cancellation may leave of k(x, x)


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


@dataclass(frozen=True)
class Part:
    """One additive part of a posterior; the means of all parts sum to the mean.

    Parameters
    ----------
    name : str
        The kernel of the part, of a mixture what it does in words; or "trend".
    mean : ndarray of shape (m,) or (m, t)
    std : ndarray of shape (m,)
        Latent standard deviation of the part by itself. Parts are correlated: variances do not sum.
    kernels : tuple of Kernel, default=()
        That of the part, of a mixture one for each process that has it; none of the trend.
    """

    name: str
    mean: np.ndarray
    std: np.ndarray
    kernels: tuple = ()


class Moments(NamedTuple):
    """Mean (m, t) and variance of f, (m,) or of a mixture (m, t), with what was clipped of it: see `clip`."""

    mean: np.ndarray
    variance: np.ndarray
    clipped: int = 0
    beyond: float = 0.0

    def warn(self, lam):
        """Say so when a negative variance is more than rounding; return self."""
        if self.beyond:
            warn(
                f"{self.clipped} of {len(self.mean)} variances came out negative, by up to {self.beyond:.1e} of the "
                f"prior variance, and are 0 now: K + noise I is nearly singular (noise = {lam:.3g}). Use a larger "
                "noise, or shorter length scales.",
                NumericalWarning,
            )
        return self

    def with_noise(self, noise, flat, cov=None):
        """The `PosteriorMoments`, for a new y with these noise variances; ``flat`` without an axis of targets."""
        mean, variance = (self.mean[:, 0], self.variance.reshape(len(self.mean))) if flat else self[:2]
        std = np.sqrt(variance)
        noisy = None if cov is None else cov + np.diag(noise)
        return PosteriorMoments(mean, std, noisy_std(std, noise), cov, noisy, self.clipped)


class Slopes(NamedTuple):
    """Mean and variance, and their derivatives by x: (m, d, t); of a variance that all targets share (m, d)."""

    mean: np.ndarray
    variance: np.ndarray
    d_mean: np.ndarray
    d_variance: np.ndarray

    @property
    def d_std(self):
        """∂√v/∂x; nan where v is 0."""
        std = np.sqrt(np.maximum(self.variance, 0.0))[:, None]
        return np.divide(self.d_variance, 2.0 * std, out=np.full(self.d_variance.shape, np.nan), where=std > 0)


def clip(mean, variance, prior, n):
    """The `Moments` with a variance >= 0, how many were below, and the largest beyond rounding relative to k(x, x).

    Parameters
    ----------
    mean : ndarray of shape (m, t)
    variance : ndarray of shape (m,)
        Overwritten.
    prior : ndarray of shape (m,)
        k(x, x), which it was subtracted from.
    n : int
        Points: rounding grows with them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.moments import clip
    >>> clip(np.zeros((2, 1)), np.array([0.5, -1e-3]), np.ones(2), 10)[1:]
    (array([0.5, 0. ]), 1, 0.001)
    """
    below = np.flatnonzero(variance < 0)
    worst = 0.0
    if below.size:
        worst = float((-variance[below] / np.maximum(prior[below], np.finfo(float).tiny)).max())
        variance[below] = 0.0
    return Moments(mean, variance, below.size, worst if worst > ROUNDING * n else 0.0)


def draw(mean, covariance, n_samples, rng, noise=None):
    """(m, t, n_samples): mean + A z with A Aᵀ the covariance; an eigenvalue beyond rounding below 0 is warned of.

    Parameters
    ----------
    mean : ndarray of shape (m, t)
    covariance : ndarray of shape (m, m)
    n_samples : int
    rng : Generator or RandomState
    noise : ndarray of shape (m,), default=None
        Noise variances of the rows, where draws of y are wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.moments import draw
    >>> draw(np.zeros((2, 1)), np.eye(2), 1000, np.random.default_rng(0)).std(axis=2).round(1).ravel()
    array([1., 1.])
    """
    m, t = mean.shape
    z = rng.standard_normal((m, t * n_samples))
    A, below = square_root(covariance)
    if below > ROUNDING * m:
        warn(
            f"the covariance at the {m} rows has an eigenvalue of -{below:.1e} of the largest; it is taken as 0. Use a "
            "larger noise, or shorter length scales.",
            NumericalWarning,
        )
    samples = mean[:, :, None] + (A @ z).reshape(m, t, n_samples)
    if noise is not None and noise.any():
        samples += np.sqrt(noise)[:, None, None] * rng.standard_normal(samples.shape)
    return samples


def mixed(means, variances):
    """(m̄, v̄): moments of an equal mixture; means (s, m, t), variances (s, m) → (m, t), (m, t).

    The variance of a mixture is the mean variance plus the variance of the means.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.moments import mixed
    >>> mixed(np.array([[[0.0]], [[2.0]]]), np.array([[1.0], [3.0]]))
    (array([[1.]]), array([[3.]]))
    """
    means, variances = np.asarray(means), np.asarray(variances)
    mean = means.mean(axis=0)
    return mean, variances.mean(axis=0)[:, None] + ((means - mean) ** 2).mean(axis=0)


def noise_at(noisy, lam, m):
    """Noise variances of m rows: 0 for False, ``lam`` for True, or those given.

    Examples
    --------
    >>> from mercer.inference.moments import noise_at
    >>> noise_at(True, 0.5, 2), noise_at([1.0, 2.0], 0.5, 2)
    (array([0.5, 0.5]), array([1., 2.]))
    """
    if isinstance(noisy, bool | np.bool_):
        return np.full(m, lam if noisy else 0.0)
    noise = np.asarray(noisy, dtype=float)
    if noise.ndim == 0:
        noise = np.full(m, noise)
    if noise.shape != (m,) or not (np.isfinite(noise).all() and (noise >= 0).all()):
        raise ValueError(f"noisy must be True, False or {m} finite variances >= 0, got {noisy!r}.")
    return noise


def noisy_std(std, noise):
    """√(std² + noise), no square overflowing."""
    root = np.sqrt(noise)
    return np.hypot(std, root if np.ndim(std) == 1 else root[:, None])


class Posterior(ABC):
    """f | y at new inputs: a mean and a variance, and, as far as an approximation has them, all else.

    Attributes
    ----------
    lam : float
        Noise variance of a row of weight 1.
    correlated : bool
        Whether there are covariances between inputs.
    options : OptionSet
        Of the fit; a file does not keep them.
    """

    correlated = True
    options = OptionSet()
    lam: float

    @abstractmethod
    def moments(self, X):
        """(m(x), v(x)) as `Moments`."""

    def mean(self, X):
        """m(x), of shape (r, t)."""
        return self.moments(X).mean

    def covariance(self, X):
        """(Moments, c(x, x′)) for all pairs of rows of X."""
        raise NeedsAllRows("the covariance of several inputs")

    def sample(self, X, n_samples, rng, noisy=False):
        """Joint draws of f, or with noise of y, at the rows of X: (r, t, n_samples)."""
        found, C = self.covariance(X)
        return draw(found.mean, C, n_samples, rng, noise_at(noisy, self.lam, len(X)))

    def parts(self, X):
        """[Moments] of each additive part."""
        raise NeedsAllRows("the posterior of each part")

    def slopes(self, X):
        """`Slopes`: how mean and variance change with each column of x."""
        raise NeedsAllRows("the derivative")
