"""Hyper-parameters by the evidence of waves: all rows count, and after one sum over them none is looked at again."""

import math

import numpy as np

from mercer.gram.fourier import TooManyWaves, Waves
from mercer.inference.fourier import box_of
from mercer.inference.waves import WaveInverse, WaveSums
from mercer.kernels.hyper import lengths_of
from mercer.selection.options import LocalSearchOptions
from mercer.selection.search.neighbours import LocalObjective, result_of_local
from mercer.selection.search.record import Record, Stop
from mercer.solvers.waves import FEW

GAIN = 1e-5  # of the mean log density: where a descent ends
NATS = 0.1  # or so much of all rows
TOL = 1e-5  # of the iteration: an error of the evidence is its square


def search_waves(space, rows, eps, criterion, *, record=None, options=LocalSearchOptions()):
    """`SearchResult` of the kernel and λ of the highest evidence by waves, near where it starts.

    Parameters
    ----------
    space : SearchSpace
        The kernel and λ where the search starts.
    rows : Rows
    eps : float
        Of the waves.
    criterion : Evidence
    record : Record, default=None
    options : LocalSearchOptions

    Returns
    -------
    SearchResult
        With status "too_many_waves" where the next grid would have more than 2¹⁵: the best point so far, which is the
        start, without a value, if that was the first grid.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.kernels import Matern32
    >>> from mercer.selection import Evidence
    >>> from mercer.selection.search.space import SearchSpace
    >>> from mercer.selection.wave_search import search_waves
    >>> X = np.linspace(0, 40, 400)[:, None]
    >>> y = np.sin(X) + 0.1 * np.random.default_rng(0).standard_normal((400, 1))
    >>> found = search_waves(SearchSpace(1.0 * Matern32(2.0), 0.1, (1e-6, 1.0)), Rows(X, y), 1e-4, Evidence())
    >>> 0.005 < found.lam < 0.02
    True
    """
    record, gain = record or Record(), max(GAIN, NATS / rows.n)
    start, box = space.start_in_box(rows, criterion)
    place, status, best, why = (*box_of(space.kernel, rows, space.lam), eps), "ok", None, ""
    try:
        for _ in range(options.grids):
            z, B = (start, None) if best is None else (best.best_z, best.B)
            level = _OnGrid(space, z, rows, place, criterion, record, gain, options)
            near = level.around(z, box)
            try:
                level.descend(z, near, B, gain)
            except _NoGain:
                pass
            finally:
                best = best if level.best_z is None else level
            z = level.best_z if level.best_z is not None else z
            if not np.any((near != box) & (np.abs(z[:, None] - near) < 1e-9)):
                break
        else:
            status = "edge"
    except Stop as stop:
        status = stop.status
    except TooManyWaves as error:
        status = "too_many_waves"
        why = "length scales went to where a grid is too large, and the best point so far is kept"
        why = f"{why if record.history else 'the evidence of all rows was not climbed'}: {error} "
    found = result_of_local(space, best, start, status, box, record, rows.n, rows.n)
    found.message = (why + found.message).rstrip()
    return found


class _NoGain(Exception):
    """No gain for a while that probes could tell from none."""


class _OnGrid(LocalObjective):
    """The evidence of all rows by waves on one grid, and its gradient by probes where they are many."""

    def __init__(self, space, z, rows, place, criterion, record, gain, options):
        super().__init__(space, rows.n, rows.n, record)
        self._gain, self._reached, self._idle = gain, np.inf, 0
        self._rows, self._criterion, self._limits = rows, criterion, options
        low, high, eps = place
        self.waves = Waves(self.at(z)[0], low, high, eps, slack=options.reach, most=options.most_features)
        self._sums = WaveSums(self.waves, rows)

    def around(self, z, box):
        """The part of a box in which length scales are those of the grid."""
        reach = np.where(lengths_of(self.names), math.log(self._limits.reach), np.inf)
        return np.column_stack([np.maximum(box[:, 0], z - reach), np.minimum(box[:, 1], z + reach)])

    def _evaluate(self, z, gradient):
        if self.best < self._reached - self._gain:
            self._reached, self._idle = self.best, 0
        elif self._idle == self._limits.patience and self.waves.count > FEW:
            raise _NoGain
        self._idle += 1
        kernel, lam = self.at(z)
        found, rows = WaveInverse(self._sums, self.waves.power(kernel), lam, TOL), self._rows
        extras = self._criterion.extras(rows)
        value = sum(self._criterion.terms(found, found.quad, rows.weight, **extras).values())
        slope = found.gradient(self.waves.slopes(kernel))
        slope[-1] -= self._criterion.explicit(found, rows.y, rows.weight, **extras)
        return -value / self.n, -slope / self.n
