"""Rows of numbers: families with one length, with one for each column, with a line; along time what goes on."""

import copy

import numpy as np

from mercer.kernels import Matern32
from mercer.selection.kernels_search import grow
from mercer.selection.kernels_search.candidate import Candidate
from mercer.selection.kernels_search.columns import time_column
from mercer.selection.kernels_search.periods import TURNS, seasons, step_of
from mercer.selection.kernels_search.searching import FIRST, GAIN, LevelSearch

MOST_PARTS = 4  # that are added along time
SERIES_ROWS = 2000  # on which candidates are compared along time
# Of the time that is spent by the end of each level: the parts of a series are found on the first one.
SERIES_SHARES = {1: (1.0,), 2: (0.7, 1.0), 3: (0.5, 0.7, 1.0)}
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
        self.d = rows.d
        self.time = time_column(self.rows.X) if in_time else None
        if self.time is not None:
            self._look_along()

    def _look_along(self):
        """Find the periods, and the order of the rows: the last first, for rows at random would be another series.

        Where a period is longer than the last rows show, half of the first level are rows further back.
        """
        n, forward = self.rows.n, np.argsort(self.rows.X[:, self.time], kind="stable")
        t = self.rows.X[forward, self.time]
        self.most, self.shares = (n if n <= 1.5 * SERIES_ROWS else SERIES_ROWS), SERIES_SHARES
        self.periods, self.gap = seasons(t, self.rows.y.mean(axis=1)[forward]), step_of(t)
        longest, order = max(self.periods, default=0.0), np.arange(n)[::-1]
        if n > FIRST and TURNS * longest > t[-1] - t[-FIRST]:
            near, far = FIRST // 2, int(np.sum(t[-1] - t <= CYCLES * longest))
            back = np.unique(np.linspace(n - far, n - near - 1, near).astype(int))
            order = np.concatenate([np.arange(n - near, n), back, np.setdiff1d(np.arange(n - near), back)[::-1]])
        self.order = forward[order]

    def _first(self, level):
        """All families on the first level, and what grows from each; before them, what most series are made of."""
        parts = {}
        if self.time is not None:
            span = float(np.ptp(self.rows.X[:, self.time]))
            parts = grow.parts_along(self.time, self.d, self.periods, self.gap, span, level.variance)
        if self.periods:
            self._add(level, self._whole(level, parts), parts)
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
            self._along(level, parts)

    def _whole(self, level, parts):
        """A trend, what one row leaves to the next, and all seasons at once; then without what does not pay.

        The trend stays: without it a forecast would be too sure of itself, which the rows cannot tell.
        """
        parts = parts if self.d == 1 else parts | {"Matern32": level.variance * Matern32(float(np.sqrt(self.d)))}
        common = ["bending trend", "short memory", *parts.keys() & {"Matern32"}]
        tried = []
        for kind in ("changing season", "growing season"):
            names = common + [name for name in parts if name.startswith(kind)]
            kernel = sum((parts[name] for name in names[1:]), parts[names[0]])
            tried.append(self._try(level, Candidate(" + ".join(names), kernel), [(kernel, 0.1 * level.variance)]))
        here = min(tried, key=lambda one: one.score)
        names = here.name.split(" + ")
        while np.isfinite(here.value):
            each, without = here.kernel.additive_parts(), {}
            for j in range(1, len(each)):
                rest = each[:j] + each[j + 1 :]
                one = Candidate(" + ".join(names[:j] + names[j + 1 :]), sum(rest[1:], rest[0]))
                without[j] = self._try(level, one, [(one.kernel, here.lam)])
            best = min(without, key=lambda j: without[j].score, default=0)
            if not best or without[best].score > here.score:
                break
            here = without[best]
            del names[best]
        return here

    def _along(self, level, parts):
        """Parts along time, added while they pay to a trend, and to the best family where there is more."""
        begun = self._try(
            level, Candidate("bending trend", parts["bending trend"]), level.fresh(parts["bending trend"])
        )
        alone = self.periods and self.d == 1
        first = [] if alone else self.best(1)  # what time ends is the growth of the others
        for here in [*first, begun]:
            self._add(level, here, parts)

    def _add(self, level, here, parts):
        """Add one part after the other while the best of them pays."""
        for _ in range(MOST_PARTS):
            known = {one.name for one in self.found}
            grown = []
            for name, part in parts.items():
                one = Candidate(f"{here.name} + {name}", here.kernel + part)
                if one.name not in known:
                    grown.append(self._try(level, one, [(one.kernel, here.lam)]))
            best = min(grown, key=lambda one: one.score, default=here)
            if best.score > here.score - GAIN:
                break
            here = best
