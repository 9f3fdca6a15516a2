"""Hyper-parameters by neighbours: batches of rows under what their neighbours say, each batch larger than the last."""

import numpy as np
from scipy.optimize import minimize

from mercer.exceptions import NotPositiveDefinite
from mercer.inference.neighbours import OrderedRows
from mercer.selection.result import SearchResult, at_bounds, describe
from mercer.selection.search.objective import Record, Stop
from mercer.solvers.least_squares import least_squares

BATCHES = (512, 2048, 4096)  # rows; neighbours are found again in the metric of each
STEPS = (20, 15, 10)  # of each batch, at most
GAIN = (1e-4, 2e-5, 1e-5)  # of the mean log density: where a batch ends
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
    z, status, value = np.clip(np.append(kernel.theta, np.log(lam)), *box.T), "ok", np.nan
    begun = [z, *(np.where(free, np.clip(other, *box.T), z) for other in starts)]
    try:
        for size, steps, gain in zip(BATCHES, STEPS, GAIN, strict=True):
            own = np.sort(rng.choice(rows.n, min(size, rows.n), replace=False))
            options, found = {"maxiter": steps, "ftol": gain, "gtol": 1e-6, "maxcor": 20}, []
            try:
                for z0 in begun:
                    found.append(_Batch(start, kernel, z0, k, own, ordered, extra, (names, prior), record))
                    minimize(
                        found[-1], z0[free], (z0, free), method="L-BFGS-B", jac=True, bounds=box[free], options=options
                    )
            finally:
                best = min(found, key=lambda one: one.best, default=None)
                z, value = (best.best_z, best.best) if best is not None and best.best_z is not None else (z, value)
            begun = [z]
    except Stop as stop:
        status = stop.status
    found = SearchResult(kernel.with_theta(z[:-1]), float(np.exp(z[-1])), value, status, history=record.history)
    found.at_bound = at_bounds(names, z, np.where(free[:, None], box, z[:, None]))
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
        self.best, self.best_z = np.inf, None

    def __call__(self, moved, z, free):
        """(C, ∂C/∂z of what is free)."""
        z = z.copy()
        z[free] = moved
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
        return (value, slope[free]) if sound else (WORSE, np.zeros(int(free.sum())))
