"""Hyper-parameters by the evidence of waves: all rows count, and after one sum over them none is looked at again."""

import math

import numpy as np

from mercer.gram.fourier import TooManyWaves, Waves
from mercer.inference.fourier import box_of
from mercer.inference.waves import WaveInverse, WaveSums
from mercer.kernels.hyper import lengths_of
from mercer.selection.local_search import Densities, result, within
from mercer.selection.search.objective import Record, Stop
from mercer.solvers.waves import FEW

SLACK = 1.2  # factor of a length scale within which a grid of waves serves: 1.5 takes three times as long
GRIDS = 8  # that are laid, one after the other, where length scales go further
MOST = 2**15  # waves of a search: beyond, an evaluation takes as long as all that neighbours say
GAIN = 1e-5  # of the mean log density: where a descent ends
NATS = 0.1  # or so much of all rows
PATIENCE = 6  # evaluations without that gain: what probes say differs by more from place to place
TOL = 1e-5  # of the iteration: an error of the evidence is its square


def search_waves(
    kernel, rows, lam, eps, criterion, *, names, box, free, prior=None, clock=None, callback=None,
):  # fmt: skip
    """`SearchResult` of the kernel and λ of the highest evidence by waves, near where it starts.

    Parameters
    ----------
    kernel : Kernel
        Where the search starts.
    rows : Rows
    lam : float
    eps : float
        Of the waves.
    criterion : Evidence
    names : list of str
        Of (log θ, log λ).
    box : ndarray of shape (p + 1, 2)
        Their bounds.
    free : ndarray of bool of shape (p + 1,)
        Which of them are searched.
    prior : callable, default=None
        (names, z) ↦ −log density and its gradient.
    clock : Clock, default=None
        When the search must end.
    callback : callable, default=None
        Called with each evaluation; true ends the search.

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
    >>> from mercer.selection.wave_search import search_waves
    >>> X = np.linspace(0, 40, 400)[:, None]
    >>> y = np.sin(X) + 0.1 * np.random.default_rng(0).standard_normal((400, 1))
    >>> box, free = np.log([[1e-3, 1e3], [1e-3, 1e3], [1e-6, 1.0]]), np.ones(3, dtype=bool)
    >>> start, rows = 1.0 * Matern32(2.0), Rows(X, y)
    >>> found = search_waves(start, rows, 0.1, 1e-4, Evidence(), names=[*"abc"], box=box, free=free)
    >>> 0.005 < found.lam < 0.02
    True
    """
    record, gain = Record(clock, callback), max(GAIN, NATS / rows.n)
    z, box = within(kernel, lam, box, free)
    place, status, value, B, why = (*box_of(kernel, rows, lam), eps), "ok", np.nan, None, ""
    try:
        for _ in range(GRIDS):
            level = _OnGrid(kernel, z, rows, place, criterion, (names, prior), record, gain)
            near = level.around(z, box)
            try:
                level.go_down(z, near, B, gain)
            except _Settled:
                pass
            finally:
                B = level.B
                z, value = (z, value) if level.best_z is None else (level.best_z, level.best)
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
    found = result(kernel, z, value, status, names, box, record, rows.n, rows.n)
    found.message = (why + found.message).rstrip()
    return found


class _Settled(Exception):
    """No gain for a while that probes could tell from none."""


class _OnGrid(Densities):
    """The evidence of all rows by waves on one grid, and its gradient by probes where they are many."""

    def __init__(self, kernel, z, rows, place, criterion, prior, record, gain):
        super().__init__(rows.n, rows.n, prior, record)
        self._gain, self._reached, self._idle = gain, np.inf, 0
        self._kernel, self._rows, self._criterion = kernel, rows, criterion
        low, high, eps = place
        self.waves = Waves(kernel.with_theta(z[:-1]), low, high, eps, slack=SLACK, most=MOST)
        self._sums = WaveSums(self.waves, rows)

    def around(self, z, box):
        """The part of a box in which length scales are those of the grid."""
        reach = np.where(lengths_of(self.prior[0]), math.log(SLACK), np.inf)
        return np.column_stack([np.maximum(box[:, 0], z - reach), np.minimum(box[:, 1], z + reach)])

    def _evaluate(self, z):
        if self.best < self._reached - self._gain:
            self._reached, self._idle = self.best, 0
        elif self._idle == PATIENCE and self.waves.count > FEW:
            raise _Settled
        self._idle += 1
        kernel, lam = self._kernel.with_theta(z[:-1]), float(np.exp(z[-1]))
        found, rows = WaveInverse(self._sums, self.waves.power(kernel), lam, TOL), self._rows
        extras = self._criterion.extras(rows)
        value = sum(self._criterion.terms(found, found.quad, rows.weight, **extras).values())
        slope = found.gradient(self.waves.slopes(kernel))
        slope[-1] -= self._criterion.explicit(found, rows.y, rows.weight, **extras)
        return value, slope
