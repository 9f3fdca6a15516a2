"""Rows of numbers: families with one length, with one for each column, with a line; along time what goes on."""

import copy

import numpy as np

from mercer.selection.kernels_search import grow
from mercer.selection.kernels_search.candidate import Candidate
from mercer.selection.kernels_search.columns import periods, time_column
from mercer.selection.kernels_search.searching import GAIN, LevelSearch

MOST_PARTS = 4  # that are added along time


def with_inputs(rows, X):
    """The rows with other inputs; the trend stays."""
    other = copy.copy(rows)
    other.X, other._apart = X, None if rows.merged else other
    return other


class VectorSearch(LevelSearch):
    """Families of kernels on columns in standard units, and parts along the column of time if there is one."""

    def __init__(self, rows, unit, level, order, record, in_time):
        super().__init__(with_inputs(rows, (rows.X - unit[0]) / unit[1]), level, order, record)
        self.d, self.periods = rows.d, []
        self.time = time_column(self.rows.X) if in_time else None
        if self.time is not None:  # rows at random of a series would be another one: the last it is
            self.order = np.arange(rows.n)[::-1]

    def _first(self, level):
        """All families on the first level, and what grows from each."""
        for name, kernel, grown, lined in grow.families(self.d):
            one = self._try(level, Candidate(name, kernel), level.fresh(kernel))
            more = grow.with_lengths(one, self.d) if grown and np.isfinite(one.value) else None
            if more is not None:
                one = self._try(level, more, [(more.kernel, one.lam), level.fresh(more.kernel)[1]])
            if lined and self.time is None and np.isfinite(one.value):
                more = grow.with_line(one, level.variance, self.d)
                if self._try(level, more, [(more.kernel, one.lam)]).score > one.score:
                    self.found.pop()  # a line that brings nothing would take the place of another kernel
        if self.time is not None:
            self._along(level)

    def _along(self, level):
        """Parts along time, added while they pay."""
        t = level.rows.X[:, self.time]
        self.periods = periods(t, level.rows.y.mean(axis=1))
        gap = float(np.median(np.abs(np.diff(np.sort(t)))))
        parts = grow.parts_along(self.time, self.d, self.periods, gap, level.variance)
        begun = [Candidate(name, parts[name]) for name in ("slow trend", "bending trend")]
        begun = [self._try(level, one, level.fresh(one.kernel)) for one in begun]
        first = self.best(1)[0]  # what time ends is the growth of the others
        for here in (first, *(one for one in begun if one is not first)):
            self._add(level, here, parts)

    def _add(self, level, here, parts):
        """Add one part after the other while the best of them pays."""
        for _ in range(MOST_PARTS):
            grown = []
            for name, part in parts.items():
                one = Candidate(f"{here.name} + {name}", here.kernel + part)
                grown.append(self._try(level, one, [(one.kernel, here.lam)]))
            best = min(grown, key=lambda one: one.score)
            if best.score > here.score - GAIN:
                break
            here = best
