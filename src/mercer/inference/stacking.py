"""A mixture of Gaussian processes whose weights are those of the best left-out densities (stacking)."""

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from mercer._state import check
from mercer.inference.regression import RegressionPosterior

PRIOR = 0.1  # rows that each model is taken to have explained before any is seen
GAP = 1e-5  # nats for each row that weights may be short of the best
LOG_2PI = float(np.log(2.0 * np.pi))


def stacking_weights(densities, counts=None, prior=PRIOR, gap=GAP, most=5000):
    """argmax over weights on the simplex of Σᵢ log Σₖ wₖ pₖ(yᵢ) + prior Σₖ log wₖ, by expectation and maximisation.

    The problem is concave: the largest slope says how much is left to gain, and ends the iteration.

    Parameters
    ----------
    densities : ndarray of shape (k, n)
        log pₖ(yᵢ) of each row under model k without the row.
    counts : ndarray of shape (n,), default=None
        How often each row counts.
    prior : float, default=0.1
    gap : float, default=1e-5
        Of a mean over the rows.
    most : int, default=5000
        Iterations.

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.stacking import stacking_weights
    >>> better = np.array([[0.0] * 90 + [-3.0] * 10, [-3.0] * 90 + [0.0] * 10])
    >>> stacking_weights(better).round(2)
    array([0.94, 0.06])
    """
    densities = np.asarray(densities, dtype=float)
    k, n = densities.shape
    counts = np.ones(n) if counts is None else np.asarray(counts, dtype=float)
    ratios = np.exp(densities - densities.max(axis=0))
    weights, total = np.full(k, 1.0 / k), counts.sum()
    for _ in range(most):
        taken = weights[:, None] * ratios
        slope = ((taken / taken.sum(axis=0)) @ counts + prior) / (total + k * prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.nanmax(slope / weights) - 1.0
        weights = slope
        if left <= gap:
            break
    return weights


class Stack:
    """p(y | x) = Σₖ wₖ N(y; mₖ(x), vₖ(x) + λₖ): several posteriors with weights.

    Parameters
    ----------
    posteriors : list of RegressionPosterior
        On the same rows, of one target.
    weights : ndarray of shape (k,)
        Not negative, of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.inference.regression import RegressionPosterior
    >>> from mercer.inference.stacking import Stack
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Cholesky
    >>> rows = Rows(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    >>> both = [RegressionPosterior.fit(Gaussian(ell), rows, 0.1, Cholesky()) for ell in (0.5, 2.0)]
    >>> Stack(both, np.array([0.25, 0.75])).mean(np.array([[1.0]])).round(3)
    array([0.786])
    """

    def __init__(self, posteriors, weights):
        self.posteriors, self.weights = list(posteriors), np.asarray(weights, dtype=float)

    def state(self):
        """{name: value}: what a file keeps."""
        return {"posteriors": self.posteriors, "weights": self.weights}

    @classmethod
    def from_state(cls, state):
        """Return the stack that had this state."""
        check(state, {"posteriors": list, "weights": "float k"}, "Stack")
        one = len(state["posteriors"]) == len(state["weights"])
        if not one or not all(isinstance(part, RegressionPosterior) for part in state["posteriors"]):
            raise ValueError("a stack is made of posteriors, with a weight for each.")
        return cls(**state)

    def mean(self, X):
        """Σₖ wₖ mₖ(x), of shape (m,)."""
        return sum(w * part.mean(X)[:, 0] for w, part in zip(self.weights, self.posteriors, strict=True))

    def covariance(self, X, noisy=False):
        """(mean, covariance) of f, or of new y, at all rows of X: within the parts and between them."""
        found = [part.covariance(X) for part in self.posteriors]
        means = np.array([one.mean[:, 0] for one, _ in found])
        mean = self.weights @ means
        C = np.tensordot(self.weights, [C for _, C in found], axes=1) + ((means - mean).T * self.weights) @ (
            means - mean
        )
        noise = sum(w * part.lam for w, part in zip(self.weights, self.posteriors, strict=True)) if noisy else 0.0
        return mean, C + noise * np.eye(len(mean))

    def normals(self, X, noisy=True):
        """(means, standard deviations) of the parts, of shape (k, m): of a new y, or of f(x)."""
        found = [part.moments(X) for part in self.posteriors]
        noise = [part.lam if noisy else 0.0 for part in self.posteriors]
        means = np.array([one.mean[:, 0] for one in found])
        return means, np.sqrt([one.variance.ravel() + lam for one, lam in zip(found, noise, strict=True)])


def moments_of(means, stds, weights):
    """(mean, standard deviation) of a mixture of normals, of shape (m,)."""
    mean = weights @ means
    return mean, np.sqrt(weights @ (stds**2 + (means - mean) ** 2))


def log_density_of(y, means, stds, weights):
    """log Σₖ wₖ N(yᵢ; mₖᵢ, sₖᵢ²), of shape (m,)."""
    terms = -0.5 * (LOG_2PI + ((y - means) / stds) ** 2) - np.log(stds)
    return logsumexp(terms, axis=0, b=weights[:, None])


def quantiles_of(levels, means, stds, weights):
    """Quantiles of a mixture of normals by bisection, of shape (m, number of levels)."""
    found = []
    for p in np.atleast_1d(levels):
        ends = means + ndtri(p) * stds  # the quantile lies between those of the parts
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = weights @ ndtr((middle - means) / stds) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found.append(0.5 * (low + high))
    return np.stack(found, axis=1)
