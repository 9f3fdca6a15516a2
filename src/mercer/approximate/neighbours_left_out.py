"""Rows left out of a fit by neighbours, one by one: their residuals and variances, and how many neighbours are enough.

Rows with equal inputs and equal targets are copies: for intervals they leave together, and count as often as they are
there, exactly as one row of their weight does.
"""

from typing import NamedTuple

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer.inference.neighbours import LOG_2PI, OrderedRows


class Copies(NamedTuple):
    """Distinct rows: the first row of each, its share of the weight of its point, how often it counts, all its rows.

    Where weights are precisions, each row is a measurement of its own.
    """

    first: np.ndarray
    share: np.ndarray
    times: np.ndarray
    group: np.ndarray  # of each row used

    @classmethod
    def of(cls, rows, precisions):
        """Return those of some `Rows`."""
        if precisions or not rows.merged:
            every = np.arange(len(rows.index))
            return cls(every, rows.shares(), np.ones(len(every)) if precisions else rows.row_weight, every)
        order = np.lexsort((*rows.row_y.T, rows.index))
        same = (np.diff(rows.index[order]) == 0) & (np.diff(rows.row_y[order], axis=0) == 0).all(axis=1)
        number = np.concatenate([[0], np.cumsum(~same)])
        first = order[np.flatnonzero(np.append(True, ~same))]  # a stable sort: the first row of each
        rank = np.argsort(np.argsort(first))
        group = np.empty(len(order), dtype=np.int64)
        group[order] = rank[number]
        first, count = np.sort(first), np.bincount(group, weights=rows.row_weight)
        whole = rows.weights()[rows.index[first]]
        alone = np.bincount(rows.index[first], minlength=rows.n)[rows.index[first]] == 1
        return cls(first, np.where(alone, 1.0, count / whole), count, group)

    def draw(self, seed, most):
        """Which of the distinct rows are left out."""
        return np.sort(np.random.default_rng(seed + 1).permutation(len(self.first))[:most])

    def rows_of(self, drawn, most):
        """Rows of the distinct ones that were drawn."""
        return np.flatnonzero(np.isin(self.group, drawn))[:most]


def left_out(posterior, own, share, k=None):
    """(yᵣ − f₋ᵣ(xᵣ), variance of yᵣ) of some rows, each with a share of the weight of its point; the rest stays.

    A point with share s of its weight in row r, predicted by the other points as N(m, v) with noise g, is predicted by
    what stays too: with h = v/(v(1 − s) + g) and e = yᵣ − ȳ the residual is (ȳ − m) + e − h((1 − s)(ȳ − m) − s e), the
    variance g(h + 1/s). New rows are then at the old inputs as often as these.
    """
    rows = posterior.rows
    points, place = np.unique(rows.index[own], return_inverse=True)
    residuals, variance = posterior.left_out(np.argsort(posterior.ordered.order)[points], k)
    residuals, variance = residuals[place], variance[place]
    if not rows.merged or not posterior.lam > 0:
        return residuals, variance
    point = rows.index[own]
    noise = posterior.lam / rows.weights()[point]
    v, e = np.maximum(variance - noise, 0.0), rows.row_y[own] - rows.y[point]
    h = v / (v * (1.0 - share) + noise)
    by_rest = h[:, None] * ((1.0 - share)[:, None] * residuals - share[:, None] * e)
    return residuals + e - by_rest, noise * (h + 1.0 / share)


def log_density(residuals, variance):
    """log N(residuals; 0, variance) of each row, the mean over targets."""
    z2 = residuals**2 / variance[:, None]
    return -0.5 * (LOG_2PI + np.log(variance) + z2.mean(axis=1))


def enough_neighbours(densities, k, most, clock=FOREVER, least=lambda densities: 0.02):
    """(k, [[k, mean log density], …] of those tried): doubled, up to ``most``, while rows left out gain by it.

    Parameters
    ----------
    densities : callable
        k ↦ log density of each of some rows, left out and predicted from their k nearest others.
    k, most : int
    clock : Clock, default=FOREVER
        What does not fit is not tried.
    least : callable, default=0.02
        (densities of k) ↦ what twice as many must gain, of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.approximate.neighbours_left_out import enough_neighbours
    >>> enough_neighbours(lambda k: np.full(9, -1.0 / k), 8, 64)
    (32, [[8, -0.125], [16, -0.0625], [32, -0.03125], [64, -0.015625]])
    """
    here, tried = None, []
    while 2 * k <= most:
        if here is None:
            timed, here = Clock(), densities(k)
            tried.append([k, float(here.mean())])
        if not clock.fits(40.0 * timed.seconds):  # the next trial, and what is left out in the end
            break
        timed, there = Clock(), densities(2 * k)
        tried.append([2 * k, float(there.mean())])
        gain = there - here
        if not gain.mean() > max(least(here), 2.0 * float(gain.std()) / np.sqrt(len(gain))):  # and two standard errors
            break
        k, here = 2 * k, there
    return k, tried


def enough_rows(posterior, seed, most, precisions, clock, options):
    """`enough_neighbours` of the rows of a posterior."""
    copies = Copies.of(posterior.rows, precisions)
    drawn = copies.draw(seed, options.tried)
    own, share = copies.first[drawn], copies.share[drawn]
    most, least = min(most, posterior.rows.n - 1), lambda densities: options.gain
    return enough_neighbours(
        lambda k: log_density(*left_out(posterior, own, share, k)), posterior.k, most, clock, least
    )


def words_of_trials(tried):
    """Words about the k that were tried; none where there was one."""
    if not tried:
        return ""
    return f" Neighbours tried (log density of rows left out): {', '.join(f'{k} ({value:.4g})' for k, value in tried)}."


def left_out_errors(kernel, rows, b, count, k):
    """λ ↦ (t,): the rms error of each target at some rows, each left out and predicted from its k neighbours and Hb.

    Which these are does not depend on λ: they are looked up once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.approximate.neighbours_left_out import left_out_errors
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 9, 100)[:, None]
    >>> error = left_out_errors(Gaussian(1.0), Rows(X, np.sin(X)), np.zeros((0, 1)), 50, 8)
    >>> bool(error(1e-4)[0] < 0.01 < error(1.0)[0])
    True
    """
    ordered, own = OrderedRows(kernel, rows, 1.0, 0), np.arange(min(count, rows.n))
    index = ordered.near.others(own, min(k, rows.n - 1))

    def error(lam):
        local, rest, _, _ = ordered.at(kernel, lam).told(index, own)
        return np.sqrt(np.mean((ordered.y[own] - local - rest @ b) ** 2, axis=0))

    return error
