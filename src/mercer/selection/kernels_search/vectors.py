"""Rows of numbers: families with one length, with one for each column, with a line; along time what goes on."""

import copy

import numpy as np

from mercer.selection.kernels_search import grow
from mercer.selection.kernels_search.candidate import Candidate
from mercer.selection.kernels_search.columns import TURNS, seasons, time_column
from mercer.selection.kernels_search.searching import FIRST, GAIN, LevelSearch

MOST_PARTS = 4  # that are added along time
CYCLES = 4  # of the longest period, that the first level looks back


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
        if self.time is not None:
            self._look_along()

    def _look_along(self):
        """Find the periods, and the order of the rows: the last first, for rows at random would be another series.

        Where a period is longer than the last rows show, half of the first level are rows further back.
        """
        n, t = self.rows.n, self.rows.X[:, self.time]
        forward = np.argsort(t, kind="stable")
        self.periods = seasons(t[forward], self.rows.y.mean(axis=1)[forward])
        self.gap = float(np.median(np.diff(t[forward])))
        self.order = np.arange(n)[::-1]
        known = np.abs(t - t[-1])  # from the last row
        if n > FIRST and max(self.periods, default=0.0) > known[-FIRST] / TURNS:
            near, far = FIRST // 2, int(np.sum(known <= CYCLES * max(self.periods)))
            back = np.unique(np.linspace(n - far, n - near - 1, near).astype(int))
            self.order = np.concatenate([np.arange(n - near, n), back, np.setdiff1d(np.arange(n - near), back)[::-1]])

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
        parts = grow.parts_along(self.time, self.d, self.periods, self.gap, level.variance)
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
