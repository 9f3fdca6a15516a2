"""A search over kernel expressions: what `kernel="auto"` does."""

import copy

import numpy as np

from mercer._clock import Clock
from mercer._threads import few_threads
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.selection.base import Criterion, rows_of
from mercer.selection.criteria import LOO, Evidence
from mercer.selection.kernels_search import grow
from mercer.selection.kernels_search.candidate import COARSE, FINE, Candidate, DensityLevel, LatentLevel
from mercer.selection.kernels_search.columns import in_units, periods, time_column, unit_of
from mercer.selection.kernels_search.found import KernelSearch
from mercer.selection.kernels_search.words import in_words
from mercer.selection.search import Record
from mercer.selection.search.objective import Stop
from mercer.solvers import Cholesky

__all__ = ["Candidate", "KernelSearch", "search_classes_rows", "search_kernels", "search_kernels_rows"]

FIRST, TIMES = 600, 3  # rows of the first level, and how many times as many the next one has
MOST_ROWS = 6000  # on which candidates are compared: beyond, hyper-parameters hardly change
SHARES = {1: (1.0,), 2: (0.3, 1.0), 3: (0.2, 0.4, 1.0)}  # of the time that is spent by the end of each level
SURVIVE = 6  # candidates that go on to more rows
GAIN = 2.0  # nats that a further part has to bring beside those for its hyper-parameters
MOST_PARTS = 4
CRITERIA = {"evidence": Evidence, "loo": lambda: LOO("log_density")}


def search_kernels(
    X, y, *, time_budget=30.0, criterion="evidence", weight=None, names=None, keep=5, nested=0, random_state=0
):
    """argmin C over kernel expressions and their hyper-parameters: families, lengths, additive and seasonal parts.

    Families (linear, Gaussian, Matérn, rational quadratic, Laplacian, sums of main effects and interactions) begin with
    one length scale for all columns; from there with one for each, drawn towards each other; the best also with a line.
    Where the rows are a series along a column, trends, irregular parts and seasons are added while they pay, with
    periods found in the data. All is done on some hundred rows, and the best are carried on to all of them.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or (n, t)
    time_budget : float, default=30.0
        Seconds; what was found by then is returned. None has no end.
    criterion : {"evidence", "loo"} or Criterion, default="evidence"
        What judges: the evidence, the leave-one-out log density, or another log density of `mercer.selection`.
    weight : array-like of shape (n,), default=None
        w > 0.
    names : list of str, default=None
        Of the columns, for the words.
    keep : int, default=5
        How many candidates are carried on to all rows.
    nested : int, default=0
        Above 1, so many folds in each of which the whole search is repeated without the fold, to measure by how much
        the choice flatters itself; they share another ``time_budget``. In a series, what
        was before a fold judges it.
    random_state : int, default=0
        Seed of the rows of the levels.

    Returns
    -------
    KernelSearch

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import search_kernels
    >>> t = np.arange(60.0)[:, None]
    >>> y = 0.05 * t[:, 0] + np.sin(2 * np.pi * t[:, 0] / 12) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> found = search_kernels(t, y, names=["month"], time_budget=20)
    >>> "a season" in found.words_, round(found.periods_[0])
    (True, 12)
    """
    y = rows_of(y)
    X = np.ascontiguousarray(np.asarray(X, dtype=float))
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"X must be of shape ({len(y)}, d) for these y, got {X.shape}.")
    for name, values in (("X", X), ("y", y)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds NaN or infinity.")
    rows = Rows(X, y, None if weight is None else np.asarray(weight, dtype=float), constant)
    options = {"criterion": criterion, "names": names, "keep": keep, "random_state": random_state}
    found = search_kernels_rows(rows, clock=Clock(time_budget), **options)
    if nested < 2:
        return found
    share = None if time_budget is None else time_budget / nested
    return found.judged(rows, nested, lambda some: search_kernels_rows(some, clock=Clock(share), **options))


def search_kernels_rows(
    rows, *, clock=None, criterion="evidence", names=None, keep=5, random_state=0, solver=None, callback=None
):
    """`search_kernels` on `Rows`: what estimators call, with a `Clock`."""
    if rows.d is None:
        raise ValueError('kernel="auto" reads columns of numbers; give a kernel for other inputs.')
    criterion = CRITERIA[criterion]() if isinstance(criterion, str) and criterion in CRITERIA else criterion
    if not (isinstance(criterion, Criterion) and criterion.density and criterion.smooth):
        raise ValueError(
            f"criterion={criterion!r} is nothing that kernels can be compared by; it takes 'evidence', 'loo', or a log "
            "density of mercer.selection."
        )
    if len(rows.index) - rows.q < 3:
        raise ValueError(f"there is nothing to choose a kernel by with {len(rows.index)} rows; give one.")
    if rows.n - rows.q < 2:
        raise ValueError("all rows of X are equal: there is nothing to choose a kernel by.")
    record, solver = Record(clock, callback), Cholesky() if solver is None else solver

    def level(rows, some):
        return DensityLevel(rows, record, criterion if some is None else criterion.restrict(some), solver)

    rows = rows if criterion.merges else rows.apart()
    order = np.random.default_rng(random_state).permutation(rows.n)
    return _searched(rows, level, order, record, criterion.name, names, keep, True)


def search_classes_rows(rows, evaluate, order, *, clock=None, names=None, keep=5, callback=None):
    """The same for targets that are labels, by an approximate evidence: what `GaussianProcessClassifier` calls.

    Parameters
    ----------
    rows : Rows
    evaluate, order
        See `mercer.selection.search.latent.search_latent`.
    """
    if rows.d is None:
        raise ValueError('kernel="auto" reads columns of numbers; give a kernel for other inputs.')
    record = Record(clock, callback)

    def level(rows, some):
        return LatentLevel(rows, record, evaluate, np.arange(rows.n) if some is None else some)

    return _searched(rows, level, order, record, "evidence", names, keep, False)


def _searched(rows, level, order, record, criterion, names, keep, in_time):
    """The `KernelSearch` on rows, whose levels ``level`` makes."""
    centre, scale = unit_of(rows.X, rows.weight)
    search = _Search(rows, (centre, scale), level, order, record, in_time)
    with few_threads(min(rows.n, FIRST * TIMES)):
        candidates, status = search.run(keep)
    for one in candidates:
        one.kernel = in_units(one.kernel, centre, scale)
        one.words = in_words(one.kernel, names, scale)
    series = search.time is not None
    found = [float(p * scale[search.time]) for p in search.periods] if series else []
    return KernelSearch(candidates, criterion, record, status, series, found)


def _with_inputs(rows, X):
    """The rows with other inputs; the trend stays."""
    other = copy.copy(rows)
    other.X, other._apart = X, None if rows.merged else other
    return other


class _Search:
    """The levels of one search, and what was found on them."""

    def __init__(self, rows, unit, level, order, record, in_time):
        self.rows = _with_inputs(rows, (rows.X - unit[0]) / unit[1])
        self.level, self.order, self.record, self.d = level, order, record, rows.d
        self.time = time_column(self.rows.X) if in_time else None
        if self.time is not None:  # rows at random of a series would be another one: the last it is
            self.order = np.arange(rows.n)[::-1]
        self.periods, self.found, self.clock = [], [], record.clock

    def run(self, keep):
        """(candidates on all rows, the best first; status): each level has a share of the time."""
        most = min(self.rows.n, MOST_ROWS)
        sizes = [size for size in (FIRST, FIRST * TIMES) if size * 1.5 < most] + [most]
        shares = SHARES[len(sizes)]
        status = self._within(shares[0], self._first, self._level(sizes[0]))
        for size, share in zip(sizes[1:], shares[1:], strict=True):
            kept = self.best(keep if size == most else SURVIVE)
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
            tolerance = FINE if number == 0 and level.rows.n == self.rows.n else COARSE
            self.found[place] = self._fit(level, one, [(one.kernel, one.lam)], tolerance)

    def _try(self, level, candidate, starts):
        self.found.append(candidate)
        self.found[-1] = self._fit(level, candidate, starts)
        return self.found[-1]

    def _fit(self, level, candidate, starts, tolerance=COARSE):
        """The candidate fitted; where time ends with it, it is the last one."""
        fitted, stop = level.fit(candidate, starts, tolerance)
        if stop is not None:
            self.found = [fitted if other is candidate else other for other in self.found]
            raise stop
        return fitted

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
        for here in (*begun, self.best(1)[0]):
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
