"""Hyper-parameters by neighbours: batches of rows under what their neighbours say, each batch larger than the last."""

from dataclasses import dataclass

import numpy as np

from mercer.gram import Rows
from mercer.inference.neighbours import OrderedRows
from mercer.selection.options import NeighbourSearchOptions
from mercer.selection.result import SearchResult, at_bounds, describe
from mercer.selection.search.levels import begin_at, descend
from mercer.selection.search.objective import Objective, Record, Stop
from mercer.solvers.least_squares import least_squares


@dataclass(frozen=True, eq=False)
class NeighbourDensity:
    """Σ log p(yᵢ | y_N(i)) with k neighbours N(i) of each row.

    Parameters
    ----------
    rows : Rows
    k : int
    ordered : bool
        Whether N(i) are the nearest of the rows before i in a random order, so that the sum is log p(y) (Vecchia), or
        of all other rows: the left-out density.
    counts : ndarray of shape (n,), default=None
        Rows that each point stands for, where equal ones were merged; None is the weights.
    """

    rows: Rows
    k: int
    ordered: bool = True
    counts: np.ndarray | None = None


def search_neighbours(space, criterion, density, starts=(), *, record=None, seed=0, options=NeighbourSearchOptions()):
    """`SearchResult` of the kernel and λ of the highest mean log p(yᵢ | y_N(i)), over batches of rows drawn by a seed.

    Parameters
    ----------
    space : SearchSpace
        The kernel and λ where the search starts.
    criterion : Criterion
        What the density stands for.
    density : NeighbourDensity
    starts : sequence of ndarray of shape (p + 1,), default=()
        Where the first batch begins beside the kernel and λ given; the best is followed.
    record : Record, default=None
    seed : int, default=0
    options : NeighbourSearchOptions

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.kernels import Matern32
    >>> from mercer.selection import Evidence
    >>> from mercer.selection.search.neighbours import NeighbourDensity, search_neighbours
    >>> from mercer.selection.search.space import SearchSpace
    >>> X = np.linspace(0, 40, 400)[:, None]
    >>> y = np.sin(X) + 0.1 * np.random.default_rng(0).standard_normal((400, 1))
    >>> space = SearchSpace(1.0 * Matern32(0.3), 0.1, (1e-6, 1.0))
    >>> found = search_neighbours(space, Evidence(), NeighbourDensity(Rows(X, y), 16))
    >>> 0.005 < found.lam < 0.02
    True
    """
    record, rng, rows = record or Record(), np.random.default_rng(seed), density.rows
    ordered = OrderedRows(space.kernel, rows, space.lam, seed)
    z, box = space.start_in_box(rows, criterion)
    ends, status, best = [(z, None), *((np.clip(other, *box.T), None) for other in starts)], "ok", None
    try:
        for size, most, gain in zip(options.batches, options.followed, options.gains, strict=True):
            own, reached = np.sort(rng.choice(rows.n, min(size, rows.n), replace=False)), []
            try:
                for z0, B in ends[:most]:
                    reached.append(BatchObjective(space, density, ordered, z0, own, record))
                    reached[-1].descend(z0, box, B, gain)
            finally:
                reached = sorted((one for one in reached if one.best_z is not None), key=lambda one: one.best)
                best = reached[0] if reached else best
                ends = [(one.best_z, one.B) for one in reached] or ends
    except Stop as stop:
        status = stop.status
    return result_of_local(space, best, z, status, box, record, min(options.batches[-1], rows.n), rows.n)


def result_of_local(space, best, z, status, box, record, used, n):
    """The `SearchResult` of the best objective, on so many rows of n; that of the start z where there is none."""
    z, value = (z, np.nan) if best is None else (best.best_z, best.best)
    names = [*space.kernel.names, space.lam_name]
    result = SearchResult(space.kernel.with_theta(z[:-1]), float(np.exp(z[-1])), value, status, history=record.history)
    result.at_bound = at_bounds(names, z, box)
    result.status = "at_bound" if status == "ok" and result.at_bound else status
    result.message = describe(result, box, names, used, n)
    result.evaluations, result.failed, result.seconds = len(record.history), record.failed, record.seconds
    return result


class LocalObjective(Objective):
    """The mean of a log density near where a descent begins, with a minus; ``whole`` rows are what a prior is beside.

    Attributes
    ----------
    B : ndarray or None
        The Hessian where the last descent ended.
    """

    def __init__(self, space, n, whole, record):
        super().__init__(space.kernel, n, [*space.kernel.names, "lam"], record, space.prior)
        self.whole, self.B = whole, None

    def descend(self, z, box, B, gain):
        """Descend from z until less than ``gain`` is to be had; the best stays in ``best_z``, also where time ends."""
        self.B = descend(self, begin_at(self, z, box, B), box, gain).B

    def _normalise(self, value, gradient, prior):
        return value + prior[0] / self.whole, gradient + prior[1] / self.whole


class BatchObjective(LocalObjective):
    """Some rows given their neighbours; these and the trend stay as they were at z."""

    def __init__(self, space, density, ordered, z, own, record):
        n, self.t = ordered.y.shape
        super().__init__(space, len(own), n, record)
        self.ordered, self.own = ordered, own
        first = ordered.at(*self.at(z))
        near = first.near.before if density.ordered else first.near.others
        self.index = near(own, min(density.k, max(n - 1, 1)))
        local, rest, variance, _ = first.told(self.index, own)
        root = np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, None]
        self.beta = least_squares(rest / root, (first.y[own] - local) / root, np.zeros(rest.shape[1]))[0]
        counts = density.rows.weights() if density.counts is None else density.counts
        mine = ordered.order[own]
        self.copies, self.spread = float((counts[mine] - 1.0).sum()), float(density.rows.within_squares[mine].sum())

    def _evaluate(self, z, gradient):
        kernel, lam = self.at(z)
        value, slope = self.ordered.at(kernel, lam).densities(self.index, self.own, self.beta)
        # rows that were merged into one point differ by noise
        value -= 0.5 * self.t * self.copies * np.log(2 * np.pi * lam) + 0.5 * self.spread / lam
        slope[-1] += -0.5 * self.t * self.copies + 0.5 * self.spread / lam
        return -value / self.n, -slope / self.n
