"""Hyper-parameters by the evidence of Fourier features: all rows count, and one sum for each grid reads them."""

import math

import numpy as np

from mercer._policies import OptionSet
from mercer.gram.fourier import FourierFeatures, TooManyFeatures
from mercer.inference.fourier import bounding_box
from mercer.inference.spectral import FeatureSums, FourierInverse
from mercer.kernels.hyper import lengths_of
from mercer.selection.options import SpectralSearchOptions
from mercer.selection.search.neighbours import LocalObjective, result_of_local
from mercer.selection.search.objective import Record, Stop
from mercer.solvers.toeplitz import ToeplitzOptions


def search_spectral(space, rows, eps, criterion, *, record=None, options=OptionSet()):
    """`SearchResult` of the kernel and λ of the highest evidence by Fourier features, near where it starts.

    Parameters
    ----------
    space : SearchSpace
        The kernel and λ where the search starts.
    rows : Rows
    eps : float
        Of the features.
    criterion : Evidence
    record : Record, default=None
    options : OptionSet, optional

    Returns
    -------
    SearchResult
        With status "too_many_features" where the next grid would have too many: the best point so far, which is the
        start, without a value, if that was the first grid.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.kernels import Matern32
    >>> from mercer.selection import Evidence
    >>> from mercer.selection.search import SearchSpace
    >>> from mercer.selection.spectral_search import search_spectral
    >>> X = np.linspace(0, 40, 400)[:, None]
    >>> y = np.sin(X) + 0.1 * np.random.default_rng(0).standard_normal((400, 1))
    >>> found = search_spectral(SearchSpace(1.0 * Matern32(2.0), 0.1, (1e-6, 1.0)), Rows(X, y), 1e-4, Evidence())
    >>> 0.005 < found.lam < 0.02
    True
    """
    record, best, status, why = record or Record(), None, "ok", ""
    start, box = space.start_in_box(rows, criterion)
    place = (*bounding_box(space.kernel, rows, space.lam), eps)
    try:
        for _ in range(options[SpectralSearchOptions].grids):
            z, B = (start, None) if best is None else (best.best_z, best.B)
            level = _OnGrid(space, z, rows, place, criterion, record, options)
            near = level.around(z, box)
            try:
                level.descend(z, near, B, level.gain)
            except _NoGain:
                pass
            finally:
                best = best if level.best_z is None else level
            z = z if level.best_z is None else level.best_z
            if not np.any((near != box) & (np.abs(z[:, None] - near) < 1e-9)):
                break
        else:
            status = "edge"
    except Stop as stop:
        status = stop.status
    except TooManyFeatures as error:
        status = "too_many_features"
        why = "length scales reached values whose grid is too large; the best point so far is kept"
        why = f"{why if record.history else 'the evidence of all rows was not climbed'}: {error} "
    found = result_of_local(space, best, start, status, box, record, rows.n, rows.n)
    found.message = (why + found.message).rstrip()
    return found


class _NoGain(Exception):
    """No gain that probes could tell from none, for a while."""


class _OnGrid(LocalObjective):
    """The evidence of all rows by Fourier features on one grid, and its gradient by probes where they are many."""

    def __init__(self, space, z, rows, place, criterion, record, options):
        super().__init__(space, rows.n, rows.n, record)
        self._steer, self._toeplitz = options[SpectralSearchOptions], options[ToeplitzOptions]
        self.gain, self._reached, self._idle = max(self._steer.gain, self._steer.nats / rows.n), np.inf, 0
        self._rows, self._criterion, (low, high, eps) = rows, criterion, place
        grid = {"reach": self._steer.reach, "most": self._steer.most}
        self.features = FourierFeatures(self.at(z)[0], low, high, eps, **grid)
        self._sums = FeatureSums(self.features, rows)

    def around(self, z, box):
        """The part of a box in which length scales are those of the grid."""
        reach = np.where(lengths_of(self.names), math.log(self._steer.reach), np.inf)
        return np.column_stack([np.maximum(box[:, 0], z - reach), np.minimum(box[:, 1], z + reach)])

    def _evaluate(self, z, gradient):
        if self.best < self._reached - self.gain:
            self._reached, self._idle = self.best, 0
        elif self._idle == self._steer.patience and self.features.count > self._toeplitz.factored_up_to:
            raise _NoGain
        self._idle += 1
        rows, (kernel, lam) = self._rows, self.at(z)
        found = FourierInverse(self._sums, self.features.spectrum(kernel), lam, self._steer.tol, self._toeplitz)
        extras = self._criterion.extras(rows)
        value = sum(self._criterion.terms(found, found.quad, rows.weight, **extras).values())
        slope = found.gradient(self.features.slopes(kernel))
        slope[-1] -= self._criterion.explicit(found, rows.y, rows.weight, **extras)
        return -value / self.n, -slope / self.n
