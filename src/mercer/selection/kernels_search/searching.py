"""The levels of rows of a search over kernels: all families on few, the best carried on to all."""

from abc import ABC, abstractmethod

import numpy as np

from mercer.selection.search.objective import Stop


class LevelSearch(ABC):
    """The levels of one search, and what was found on them.

    ``level`` is (rows, which of all rows they are or None) ↦ `Level`; where rows are too many they are taken in
    ``order``. The clock of the record is that of the whole search.
    """

    time: int | None = None  # the column along which the rows are a series
    periods: list = []  # of that series
    unit: tuple = (None, None)  # (centre, scale) of the columns; None of inputs that are no vectors

    def __init__(self, rows, level, order, record, options):
        self.rows, self.level, self.order, self.record, self.options = rows, level, order, record, options
        self.found, self.clock = [], record.clock
        self.most, self.shares = min(rows.n, options.most_rows), options.shares

    @abstractmethod
    def _first(self, level):
        """Try what there is on the first level."""

    def run(self, keep):
        """(candidates on all rows, the best first; status): each level has a share of the time."""
        options = self.options
        steps = options.first_rows, options.first_rows * options.growth
        sizes = [size for size in steps if size * 1.5 < self.most] + [self.most]
        shares = self.shares[-len(sizes) :]
        status = self._within(shares[0], self._first, self._level(sizes[0]))
        for size, share in zip(sizes[1:], shares[1:], strict=True):
            kept = self.best(keep if size == self.most else options.survivors)
            later = self._within(share, self._carry, self._level(size), kept)
            status = later if status == "ok" else status  # families that there was no time for are missed to the end
        found = self.best(keep)
        if not found:
            raise ValueError("no kernel could be evaluated on these rows before the time budget was spent.")
        return found, status

    def best(self, count):
        """The best candidates that could be evaluated."""
        return sorted((one for one in self.found if np.isfinite(one.value)), key=lambda one: one.score)[:count]

    def _level(self, size):
        if size == self.rows.n:
            return self.level(self.rows, None)
        some = np.sort(self.order[:size])
        return self.level(self.rows.take(some), some)

    def _within(self, share, work, *arguments):
        """Do something until a share of the time is spent; the status."""
        self.record.clock = self.clock.until(share)
        try:
            work(*arguments)
        except Stop as stop:
            return stop.status
        return "ok"

    def _carry(self, level, kept):
        """Candidates of the level before on more rows: as they are, and then with descents, the best first.

        Where there are all rows, the best goes on to the end before the others begin.
        """
        self.found = [level.value(one) for one in kept]
        for number, one in enumerate(self.best(len(kept))):
            place = next(i for i, other in enumerate(self.found) if other is one)
            last = number == 0 and level.rows.n == self.rows.n
            tolerance = self.options.final_gain if last else self.options.gain
            self.found[place] = self._fit(level, one, [(one.kernel, one.lam)], tolerance)

    def _try(self, level, candidate, starts):
        self.found.append(candidate)
        self.found[-1] = self._fit(level, candidate, starts)
        return self.found[-1]

    def _fit(self, level, candidate, starts, tolerance=None):
        """The candidate fitted; where time ends with it, it is the last one."""
        fitted, stop = level.fit(candidate, starts, self.options.gain if tolerance is None else tolerance)
        if stop is not None:
            self.found = [fitted if other is candidate else other for other in self.found]
            raise stop
        return fitted
