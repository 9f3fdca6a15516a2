"""Hyper-parameters by neighbours: batches of rows under what their neighbours say, each batch larger than the last."""

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
    z = np.clip(np.append(kernel.theta, np.log(lam)), *box.T)
    box = np.where(free[:, None], box, z[:, None])
    ends, status, value = [(z, None), *((np.clip(other, *box.T), None) for other in starts)], "ok", np.nan
    try:
        for size, most, gain in zip(BATCHES, FOLLOWED, GAIN, strict=True):
            own, found = np.sort(rng.choice(rows.n, min(size, rows.n), replace=False)), []
            try:
                for z0, B in ends[:most]:
                    found.append(_Batch(start, kernel, z0, k, own, ordered, extra, (names, prior), record))
                    found[-1].B = descend(found[-1], begin(found[-1], z0, box, B), box, gain).B
            finally:
                found = sorted((one for one in found if one.best_z is not None), key=lambda one: one.best)
                ends = [(one.best_z, one.B) for one in found] or ends
                z, value = (found[0].best_z, found[0].best) if found else (z, value)
    except Stop as stop:
        status = stop.status
    found = SearchResult(kernel.with_theta(z[:-1]), float(np.exp(z[-1])), value, status, history=record.history)
    found.at_bound = at_bounds(names, z, box)
    found.status = "at_bound" if status == "ok" and found.at_bound else status
    found.message = describe(found, box, names, min(BATCHES[-1], rows.n), rows.n)
    found.evaluations, found.failed, found.seconds = len(record.history), record.failed, record.seconds
    return found


class _Batch:
    """z = (log θ, log λ) ↦ −mean log density of some rows, and its gradient; neighbours and trend stay as they were."""

    def __init__(self, start, kernel, z, k, own, ordered, extra, prior, record):
        self.prior, self.record = prior, record
        self.n, self.t = start.y.shape
        self.at = lambda z: start.at(kernel.with_theta(z[:-1]), float(np.exp(z[-1])))
        self.own = own
        first = self.at(z)
        look = first.near.before if ordered else first.near.others
        self.index = look(self.own, min(k, max(self.n - 1, 1)))
        local, rest, variance, _ = first.told(self.index, self.own)
        root = np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, None]
        self.beta = least_squares(rest / root, (first.y[self.own] - local) / root, np.zeros(rest.shape[1]))[0]
        self.copies, self.spread = (float(part[self.own].sum()) for part in extra)
        self.best, self.best_z, self.B, self.fine = np.inf, None, None, 0.0

    def __call__(self, z):
        """(C, ∂C/∂z)."""
        lam, began = float(np.exp(z[-1])), self.record.begin(len(self.own))
        try:
            value, slope = self.at(z).densities(self.index, self.own, self.beta)
        except (NotPositiveDefinite, ValueError, FloatingPointError):
            value, slope = -np.inf, np.zeros(len(z))
        # rows that were merged into one point differ by noise
        value -= 0.5 * self.t * self.copies * np.log(2 * np.pi * lam) + 0.5 * self.spread / lam
        slope[-1] += -0.5 * self.t * self.copies + 0.5 * self.spread / lam
        value, slope = -value / len(self.own), -slope / len(self.own)
        names, prior = self.prior
        if prior is not None:
            more, its = prior(names, z)
            value, slope = value + more / self.n, slope + its / self.n
        sound = np.isfinite(value) and np.isfinite(slope).all()
        if sound and value < self.best:
            self.best, self.best_z = float(value), z
        self.record.failed += not sound
        self.record.add(began, n=len(self.own), value=float(value), lam=lam, theta=z.tolist())
        return (value, slope) if sound else (WORSE, np.zeros(len(z)))
