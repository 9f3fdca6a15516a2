"""Several posteriors in equal shares, one for each draw of the hyper-parameters: the same questions, one answer."""

import numpy as np

from mercer._state import check
from mercer.inference.moments import Moments, Posterior, Slopes, mixed
from mercer.inference.regression import RegressionPosterior


class PosteriorMixture(Posterior):
    """p(f | y) = (1/s) Σ p(f | y, θᵢ) over draws θᵢ: what `RegressionPosterior` answers, as moments of the mixture.

    Its variance differs by target, because means do: it is (m, t).

    Parameters
    ----------
    posteriors : list of RegressionPosterior
        On the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.inference.mixture import PosteriorMixture
    >>> from mercer.inference.regression import RegressionPosterior
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Cholesky
    >>> rows = Rows(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    >>> draws = [RegressionPosterior.fit(Gaussian(ell), rows, 0.1, Cholesky()) for ell in (0.5, 2.0)]
    >>> PosteriorMixture(draws).moments(np.array([[1.0], [9.0]])).variance.ravel().round(4)
    array([0.0893, 1.    ])
    """

    def __init__(self, posteriors):
        self.posteriors = list(posteriors)

    def state(self):
        """{name: value}: what a file keeps."""
        return {"posteriors": self.posteriors}

    @classmethod
    def from_state(cls, state):
        """Return the mixture that had this state."""
        check(state, {"posteriors": list}, "PosteriorMixture")
        if not state["posteriors"] or not all(isinstance(one, RegressionPosterior) for one in state["posteriors"]):
            raise ValueError("a mixture is made of posteriors.")
        return cls(**state)

    @property
    def lam(self):
        """Noise variance λ of a point of weight 1, on average."""
        return float(np.mean([f.lam for f in self.posteriors]))

    def mean(self, X):
        """m(x), of shape (m, t)."""
        return np.mean([f.mean(X) for f in self.posteriors], axis=0)

    def moments(self, X):
        """(m(x), v(x)), both of shape (m, t), as `Moments`."""
        return _mixed([f.moments(X) for f in self.posteriors])

    def covariance(self, X):
        """(Moments, c(x, x′) of shape (m, m)): the mean covariance plus the covariance of the means."""
        moments, covariances = zip(*[f.covariance(X) for f in self.posteriors], strict=True)
        found = _mixed(moments)
        rest = np.array([one.mean for one in moments]) - found.mean
        if rest.shape[2] > 1:
            raise ValueError("the covariance of a mixture differs by target; ask for one target at a time.")
        return found, np.mean(covariances, axis=0) + np.einsum("smt,snt->mn", rest, rest) / len(rest)

    def sample(self, X, n_samples, rng, noisy=False):
        """Joint draws, each from one of the posteriors: (m, t, n_samples)."""
        counts = np.bincount(rng.integers(len(self.posteriors), size=n_samples), minlength=len(self.posteriors))
        chosen = [(f, int(count)) for f, count in zip(self.posteriors, counts, strict=True) if count]
        none = np.zeros((len(X), self.posteriors[0].rows.t, 0))
        drawn = np.concatenate([none, *(f.sample(X, count, rng, noisy) for f, count in chosen)], axis=2)
        return drawn[:, :, rng.permutation(n_samples)]

    def parts(self, X):
        """[Moments] of each additive part."""
        return [_mixed(same) for same in zip(*[f.parts(X) for f in self.posteriors], strict=True)]

    def slopes(self, X):
        """Return the `Slopes`: ∂v/∂x = mean of ∂vᵢ/∂x + 2 mean of (mᵢ − m)(∂mᵢ/∂x − ∂m/∂x), of shape (m, d, t)."""
        found = [f.slopes(X) for f in self.posteriors]
        mean, variance = mixed([one.mean for one in found], [one.variance for one in found])
        d_mean = np.mean([one.d_mean for one in found], axis=0)
        within = np.mean([one.d_variance for one in found], axis=0)[:, :, None]
        between = np.mean([(one.mean - mean)[:, None] * (one.d_mean - d_mean) for one in found], axis=0)
        return Slopes(mean, variance, d_mean, within + 2.0 * between)

    def changed(self, rows, points, solver):
        """(mixture, whether one was factored afresh) for other rows: see `RegressionPosterior.changed`."""
        found = [f.changed(rows, points, solver) for f in self.posteriors]
        return PosteriorMixture([f for f, _ in found]), any(afresh for _, afresh in found)


def _mixed(found):
    """The `Moments` of an equal mixture."""
    mean, variance = mixed([one.mean for one in found], [one.variance for one in found])
    return Moments(mean, variance, sum(one.clipped for one in found), max(one.beyond for one in found))
