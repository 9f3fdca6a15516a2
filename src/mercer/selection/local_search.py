"""Hyper-parameters by neighbours: batches of rows under what their neighbours say, each batch larger than the last."""

from abc import ABC, abstractmethod

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.inference.neighbours import OrderedRows
from mercer.selection.result import SearchResult, at_bounds, describe
from mercer.selection.search.descent import begin, descend
from mercer.selection.search.objective import Record, Stop
from mercer.solvers.least_squares import least_squares

BATCHES = (512, 2048, 4096)  # rows; neighbours are found again in the metric of each
FOLLOWED = (None, 2, 1)  # of the ends of the batch before: all starts, then the best
GAIN = (2e-3, 1e-3, 5e-4)  # of the mean log density: where a batch ends
WORSE = 1e10  # what a trial is worth that cannot be evaluated


def search_neighbours(
    kernel, rows, lam, k, seed, *, ordered, names, box, free, starts=(), counts=None, prior=None, clock=None,
    callback=None,
):  # fmt: skip
    """`SearchResult` of the kernel and λ of the highest mean log p(yᵢ | y_N(i)), over batches of rows drawn by a seed.

    Parameters
    ----------
    kernel : Kernel
        Where the search starts.
    rows : Rows
    lam : float
    k : int
    seed : int
    ordered : bool
        Whether N(i) are the nearest of the rows before i in a random order, so that the sum is log p(y) (Vecchia), or
        of all other rows: the left-out density.
    names : list of str
        Of (log θ, log λ).
    box : ndarray of shape (p + 1, 2)
        Their bounds.
    free : ndarray of bool of shape (p + 1,)
        Which of them are searched.
    starts : sequence of ndarray of shape (p + 1,), default=()
        Where the first batch begins beside the kernel and λ given; the best is followed.
    counts : ndarray of shape (n,), default=None
        Rows that each point stands for, where equal ones were merged; None is the weights.
    prior : callable, default=None
        (names, z) ↦ −log density and its gradient.
    clock : Clock, default=None
        When the search must end.
    callback : callable, default=None
        Called with each evaluation; true ends the search.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.kernels import Matern32
    >>> from mercer.selection.local_search import search_neighbours
    >>> X = np.linspace(0, 40, 400)[:, None]
    >>> y = np.sin(X) + 0.1 * np.random.default_rng(0).standard_normal((400, 1))
    >>> box, free = np.log([[1e-3, 1e3], [1e-3, 1e3], [1e-6, 1.0]]), np.ones(3, dtype=bool)
    >>> start, rows = 1.0 * Matern32(0.3), Rows(X, y)
    >>> found = search_neighbours(start, rows, 0.1, 16, 0, ordered=True, names=[*"abc"], box=box, free=free)
    >>> 0.005 < found.lam < 0.02
    True
    """
    record, rng = Record(clock, callback), np.random.default_rng(seed)
    start = OrderedRows(kernel, rows, lam, seed)
    extra = (rows.weights() if counts is None else counts)[start.order] - 1.0, rows.spread[start.order].sum(axis=1)
    z, box = within(kernel, lam, box, free)
    ends, status, value = [(z, None), *((np.clip(other, *box.T), None) for other in starts)], "ok", np.nan
    try:
        for size, most, gain in zip(BATCHES, FOLLOWED, GAIN, strict=True):
            own, found = np.sort(rng.choice(rows.n, min(size, rows.n), replace=False)), []
            try:
                for z0, B in ends[:most]:
                    found.append(_Batch(start, kernel, z0, k, own, ordered, extra, (names, prior), record))
                    found[-1].go_down(z0, box, B, gain)
            finally:
                found = sorted((one for one in found if one.best_z is not None), key=lambda one: one.best)
                ends = [(one.best_z, one.B) for one in found] or ends
                z, value = (found[0].best_z, found[0].best) if found else (z, value)
    except Stop as stop:
        status = stop.status
    return result(kernel, z, value, status, names, box, record, min(BATCHES[-1], rows.n), rows.n)


def within(kernel, lam, box, free):
    """(where a search starts, its box, which holds what is not searched)."""
    z = np.clip(np.append(kernel.theta, np.log(lam)), *box.T)
    return z, np.where(free[:, None], box, z[:, None])


def result(kernel, z, value, status, names, box, record, used, n):
    """The `SearchResult` of a search that ended at z, on so many rows of n."""
    found = SearchResult(kernel.with_theta(z[:-1]), float(np.exp(z[-1])), value, status, history=record.history)
    found.at_bound = at_bounds(names, z, box)
    found.status = "at_bound" if status == "ok" and found.at_bound else status
    found.message = describe(found, box, names, used, n)
    found.evaluations, found.failed, found.seconds = len(record.history), record.failed, record.seconds
    return found


class Densities(ABC):
    """z = (log θ, log λ) ↦ −log density of each row, and its gradient: what a descent asks of so many rows.

    A subclass writes ``_evaluate``.
    """

    def __init__(self, n, counted, prior, record):
        self.n, self._counted, self.prior, self.record = n, counted, prior, record
        self.best, self.best_z, self.B, self.fine = np.inf, None, None, 0.0

    def go_down(self, z, box, B, gain):
        """Descend from z until less than ``gain`` is to be had; the best stays in ``best_z``, also where time ends."""
        self.B = descend(self, begin(self, z, box, B), box, gain).B

    @abstractmethod
    def _evaluate(self, z):
        """(log density of all rows that count, its gradient)."""

    def __call__(self, z):
        """(C, ∂C/∂z)."""
        began = self.record.begin(self._counted)
        try:
            value, slope = self._evaluate(z)
        except (NotPositiveDefinite, ValueError, FloatingPointError):
            value, slope = -np.inf, np.zeros(len(z))
        value, slope = -value / self._counted, -slope / self._counted
        names, prior = self.prior
        if prior is not None:
            more, its = prior(names, z)
            value, slope = value + more / self.n, slope + its / self.n
        sound = np.isfinite(value) and np.isfinite(slope).all()
        if sound and value < self.best:
            self.best, self.best_z = float(value), z
        self.record.failed += not sound
        self.record.add(began, n=self._counted, value=float(value), lam=float(np.exp(z[-1])), theta=z.tolist())
        return (value, slope) if sound else (WORSE, np.zeros(len(z)))


class _Batch(Densities):
    """Some rows given their neighbours; these and the trend stay as they were."""

    def __init__(self, start, kernel, z, k, own, ordered, extra, prior, record):
        n, self.t = start.y.shape
        super().__init__(n, len(own), prior, record)
        self.at = lambda z: start.at(kernel.with_theta(z[:-1]), float(np.exp(z[-1])))
        self.own = own
        first = self.at(z)
        look = first.near.before if ordered else first.near.others
        self.index = look(self.own, min(k, max(self.n - 1, 1)))
        local, rest, variance, _ = first.told(self.index, self.own)
        root = np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, None]
        self.beta = least_squares(rest / root, (first.y[self.own] - local) / root, np.zeros(rest.shape[1]))[0]
        self.copies, self.spread = (float(part[self.own].sum()) for part in extra)

    def _evaluate(self, z):
        value, slope = self.at(z).densities(self.index, self.own, self.beta)
        lam = float(np.exp(z[-1]))
        # rows that were merged into one point differ by noise
        value -= 0.5 * self.t * self.copies * np.log(2 * np.pi * lam) + 0.5 * self.spread / lam
        slope[-1] += -0.5 * self.t * self.copies + 0.5 * self.spread / lam
        return value, slope
