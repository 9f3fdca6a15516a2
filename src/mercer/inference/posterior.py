"""What every posterior of a Gaussian process can be asked at new inputs."""

from abc import ABC, abstractmethod

from mercer._policies import OptionSet
from mercer.exceptions import NeedsAllRows
from mercer.inference.moments import draw, noise_at


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
