"""A mixture of Gaussian processes whose weights are those of the best left-out densities (stacking)."""

import warnings
from functools import reduce
from operator import add

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from mercer._state import check
from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.inference.regression import RegressionPosterior
from mercer.solvers.fitted import left_out


def group_summands(kernels, every=()):
    """[{number of a kernel: its summands}]: those of all kernels that read the same, in the order of the kernels.

    A line and a smooth function of a column read the same: how much of their sum is which, each kernel says in another
    way. A season is apart from both.

    Parameters
    ----------
    kernels : list of Kernel
    every : sequence, default=()
        All columns that there are; empty for objects.

    Examples
    --------
    >>> from mercer.inference.stacking import group_summands
    >>> from mercer.kernels import Gaussian, Linear
    >>> first, second = Gaussian(1.0).on(0) + Linear().on(1), Linear().on(0)
    >>> group_summands([first, second], range(2))
    [{0: [Gaussian(1.0).on(0)], 1: [Linear().on(0)]}, {0: [Linear().on(1)]}]
    """
    found: list = []  # (columns, period, {number: summands})
    for k, kernel in enumerate(kernels):
        for part in kernel.additive_parts():
            columns, period = frozenset(part.columns_read(every)), part.season()
            same = (one for own, other, one in found if own == columns and _same_period(period, other))
            home = next(same, None)
            if home is None:
                found.append((columns, period, home := {}))
            home.setdefault(k, []).append(part)
    return [one for _, _, one in found]


def _same_period(one, other):
    """Whether two periods are one, or neither is there."""
    return one is other if one is None or other is None else abs(np.log(one / other)) < 0.1


SCALES = np.array([0.25, 0.5, 1.0, 2.0, 4.0])  # of the deviations of a process, K and λ times the square: tails
LOG_2PI = float(np.log(2.0 * np.pi))


def stacking_weights(densities, counts=None, prior=0.1, gap=1e-4, most=5000):
    """argmax over weights on the simplex of Σᵢ log Σₖ wₖ pₖ(yᵢ) + prior Σₖ log wₖ, by expectation and maximisation.

    The problem is concave: the largest slope says how much is left to gain, and ends the iteration.

    Parameters
    ----------
    densities : ndarray of shape (k, n)
        log pₖ(yᵢ) of each row under model k without the row.
    counts : ndarray of shape (n,), default=None
        How often each row counts.
    prior : float, default=0.1
    gap : float, default=1e-4
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
    """p(y | x) = Σₖₛ wₖₛ N(y; mₖ(x), s² (vₖ(x) + λₖ)): several posteriors, each at several scales, with weights.

    K and λ times s² leave the mean as it is; together the scales say how long the tails are.

    Parameters
    ----------
    posteriors : list of RegressionPosterior
        On the same rows, of one target.
    weights : ndarray of shape (k, number of scales)
        Not negative, of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.inference.regression import RegressionPosterior
    >>> from mercer.inference.stacking import Stack, at_scale_one
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Cholesky
    >>> rows = Rows(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    >>> both = [RegressionPosterior.fit(Gaussian(ell), rows, 0.1, Cholesky()) for ell in (0.5, 2.0)]
    >>> Stack(both, at_scale_one([0.25, 0.75])).mean(np.array([[1.0]])).round(3)
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
        check(state, {"posteriors": list, "weights": "float k s"}, "Stack")
        one = np.shape(state["weights"]) == (len(state["posteriors"]), len(SCALES))
        if not one or not all(isinstance(part, RegressionPosterior) for part in state["posteriors"]):
            raise ValueError("a stack is made of posteriors, with a weight for each at each scale.")
        return cls(**state)

    def mean(self, X):
        """Σₖ wₖ mₖ(x), of shape (m,)."""
        return sum(w * part.mean(X)[:, 0] for w, part in zip(self.weights.sum(axis=1), self.posteriors, strict=True))

    def covariance(self, X, noisy=False):
        """(mean, covariance) of f, or of new y, at all rows of X: within the parts and between them."""
        found, weights, within = [part.covariance(X) for part in self.posteriors], self.weights.sum(axis=1), 0.0
        means = np.array([one.mean[:, 0] for one, _ in found])
        mean = weights @ means
        for square, part, (_, C) in zip(self.weights @ SCALES**2, self.posteriors, found, strict=True):
            within = within + square * (C + (part.lam if noisy else 0.0) * np.eye(len(mean)))
        return mean, within + ((means - mean).T * weights) @ (means - mean)

    def normals(self, X, noisy=True):
        """(means, standard deviations, weights) of the parts at all scales: of a new y, or of f(x)."""
        found = [part.moments(X) for part in self.posteriors]
        noise = [part.lam if noisy else 0.0 for part in self.posteriors]
        means = np.array([one.mean[:, 0] for one in found])
        stds = np.sqrt([one.variance.ravel() + lam for one, lam in zip(found, noise, strict=True)])
        return scaled(means, stds, self.weights)

    def parts(self, X):
        """[(kernels, mean, standard deviation)] of f: the summands of the kernels by what they read, and the trend.

        A process without such a summand has 0 there, for certain; the means sum to `mean`.
        """
        d, out = self.posteriors[0].rows.d, []
        for summands in group_summands([f.kernel for f in self.posteriors], range(d or 0)):
            found = {k: self.posteriors[k].part(X, reduce(add, some)) for k, some in summands.items()}
            out.append((tuple(one for some in summands.values() for one in some), *self._mixed(found)))
        trends = {k: f.trend_part(X) for k, f in enumerate(self.posteriors) if f.rows.q}
        return [*out, ((), *self._mixed(trends))] if trends else out

    def _mixed(self, found):
        """(mean, standard deviation) from {number of a posterior: Moments}; others are 0."""
        weights, squares = self.weights.sum(axis=1), self.weights @ SCALES**2
        means = np.zeros((len(weights), len(next(iter(found.values())).mean)))
        variance = 0.0
        for k, one in found.items():
            means[k] = one.mean[:, 0]
            variance = variance + squares[k] * one.variance.ravel()
        mean = weights @ means
        return mean, np.sqrt(variance + weights @ (means - mean) ** 2)


def at_scale_one(weights):
    """Weights of models as those of a `Stack`: nothing at other scales."""
    return np.multiply.outer(np.asarray(weights, dtype=float), (SCALES == 1.0).astype(float))


def given_weights(weights, k):
    """Weights of k models as they are given, (k,) or (k, s), as those of a `Stack`, of sum 1."""
    found = np.asarray(weights, dtype=float)
    if found.shape not in ((k,), (k, len(SCALES))) or not (found >= 0).all() or not found.sum() > 0:
        raise ValueError(f"weights must be {k} or {k} x {len(SCALES)} numbers >= 0, got {weights!r:.80}.")
    return (at_scale_one(found) if found.ndim == 1 else found) / found.sum()


def scaled(means, stds, weights):
    """(means, standard deviations, weights) of models at all scales, a row for each: from (k, m), (k, m), (k, s)."""
    stds = stds[:, None, :] * SCALES[None, :, None]
    return np.repeat(means, len(SCALES), axis=0), stds.reshape(-1, stds.shape[2]), weights.ravel()


def scale_weights(y, means, stds, counts=None):
    """Weights of each model at each scale, (k, s), by what each says of rows that it has not seen; see `scaled`."""
    means, stds, _ = scaled(means, stds, np.empty(0))
    found = stacking_weights(_log_normal(y, means, stds), counts, 0.1 / len(SCALES))
    return found.reshape(-1, len(SCALES))


def _log_normal(y, means, stds):
    return -0.5 * (LOG_2PI + ((y - means) / stds) ** 2) - np.log(stds)


def moments_of(means, stds, weights):
    """(mean, standard deviation) of a mixture of normals, of shape (m,)."""
    mean = weights @ means
    return mean, np.sqrt(weights @ (stds**2 + (means - mean) ** 2))


def log_density_of(y, means, stds, weights):
    """log Σₖ wₖ N(yᵢ; mₖᵢ, sₖᵢ²), of shape (m,)."""
    return logsumexp(_log_normal(y, means, stds), axis=0, b=weights[:, None])


def foreseen(y, means, stds, weights):
    """[mean, standard deviation, probability of less than yᵢ, quantiles of 5 and of 95 %] of mixtures, each (m,)."""
    mixture = means, stds, weights
    return [*moments_of(*mixture), weights @ ndtr((y - means) / stds), *quantiles_of([0.05, 0.95], *mixture).T]


def quantiles_of(levels, means, stds, weights):
    """Quantiles of a mixture of normals by bisection, of shape (m, number of levels)."""
    levels, found = np.atleast_1d(np.asarray(levels, dtype=float)), []
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"levels must be between 0 and 1, got {levels}.")
    for p in levels:
        ends = means + ndtri(p) * stds  # the quantile lies between those of the parts
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = weights @ ndtr((middle - means) / stds) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found.append(0.5 * (low + high))
    return np.stack(found, axis=1)


def left_out_moments(parts, rows):
    """(means, standard deviations) of each row under each model without it, (k, n).

    A row of weight w stands for w targets: deviations are those of one of them, not of their mean.
    """
    found, more = [left_out(part.inverse, rows, part.beta) for part in parts], 1.0 - 1.0 / rows.row_weight
    variances = [one.variance + part.lam * more for one, part in zip(found, parts, strict=True)]
    return np.array([(rows.row_y - one.residuals)[:, 0] for one in found]), np.sqrt(variances)


def usable(kernels, lams, words, rows, solver):
    """(posteriors, words, warnings) of those whose systems rounding leaves a solution."""
    kept, error = [], None
    for kernel, lam, said in zip(kernels, lams, words, strict=True):
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", NumericalWarning)
                part = RegressionPosterior.fit(kernel, rows, lam, solver)
        except NotPositiveDefinite as reason:
            error = reason
            continue
        if part.inverse.info.get("jitter"):
            error = NotPositiveDefinite(f"K + lam I is not positive definite ({kernel!r}, lam = {lam:.3g}); use more.")
        else:
            kept.append((part, said, told))
    if not kept:
        raise error
    return [list(column) for column in zip(*kept, strict=True)]
