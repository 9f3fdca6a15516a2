"""``--time-budget``: one amount of time for the whole command, and how it is dealt out."""

import re

from mercer.cli._run import Usage

SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20}
BYTES |= {"gib": 2.0**30, "tib": 2.0**40, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}

MOST = 1e15  # of what is counted: whole numbers up to here are exact as floats


def seconds(text, option):
    """Seconds of "60s", "5m", "2h"; None of None."""
    return None if text is None else _read(text, SECONDS, option, "a time such as 60s, 5m or 2h")


def bytes_of(text, option):
    """Bytes of "500MB", "8GB"; None of None."""
    return None if text is None else _read(text, BYTES, option, "a size such as 500MB or 8GB")


def whole(text, option, least=1):
    """A whole number of "500", "2e6", "20_000"; None of None."""
    if text is None:
        return None
    value = _read(str(text).replace("_", "").replace(",", ""), {"": 1.0, "k": 1e3, "m": 1e6}, option, "a number")
    if value != int(value):
        raise Usage(f"{option}: {text} is not a whole number")
    if not least <= value <= MOST:
        raise Usage(f"{option} must be from {least} to {MOST:.0e}, got {text}")
    return int(value)


def _read(text, units, option, what):
    """A positive number with a unit."""
    match = re.fullmatch(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([a-z]*)\s*", str(text).lower())
    if not match or match[2] not in units:
        raise Usage(f"{option} must be {what}, got {text!r}")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < float("inf"):
        raise Usage(f"{option} must be positive, got {text!r}")
    return value


SEARCH = 0.5  # of the time, at most, for choosing the model
FOLDS_END = 0.85  # of the time, when folds must have ended if there is a page to be made; without one, all of it
FIT = 0.25  # of the time, for one fit at given hyper-parameters
LONG = 600.0  # seconds: a fit that is predicted to take longer has fewer rows, unless --time-budget says otherwise
# Of a fit, in fits of a ridge regression; ITERATED of the other models.
COST = {"ridge": 1.0, "gp": 3.0, "stack": 10.0, "svr": 3.0}
ITERATED = 20.0
EVALUATIONS, GRADIENT = 30, 3.0  # of a search, at least; and the cost of each, in fits
FEWEST = 250  # rows of a search
FEWEST_FITTED = 3  # rows of a fit


AUTO_SEARCH, AUTO_FOLDS = 9.0, 22.0  # seconds for a search over kernels, and for repeating it in folds: half a minute


class Budget:
    """The time of a command; without one, every share is None, but for a search over kernels (``searching``)."""

    searching = False

    def __init__(self, settings, session):
        self.total, self.session = seconds(settings.time_budget, "--time-budget"), session
        self.page = bool(settings.report or settings.output)
        self.memory = bytes_of(settings.memory, "--memory")
        self.most_rows = whole(settings.max_rows, "--max-rows", FEWEST_FITTED)

    @property
    def left(self):
        """Seconds that are left; None without a budget."""
        return None if self.total is None else max(self.total - self.session.seconds, 0.0)

    @property
    def search(self):
        """Seconds for choosing the model; for folds see `folds`."""
        if self.total is None and self.searching:
            return AUTO_SEARCH
        return None if self.total is None else SEARCH * self.total

    @property
    def folds(self):
        """Seconds for the folds that judge it, from now."""
        if self.total is None:
            return AUTO_FOLDS if self.searching else None
        return max((FOLDS_END if self.page else 1.0) * self.total - self.session.seconds, 0.0)

    # ------------------------------------------------------------------------------------------------ rows
    def rows(self, name, n, d, folds):
        """(most rows to fit on or None, plan, rows of the search, notes): what is predicted to fit into the time."""
        from mercer.solvers import choose
        from mercer.tabular import TableModel

        def plan(rows):
            return choose("auto", rows, d, memory=self.memory, inverse=name != "ridge", binding=False)[1]

        def fits(rows):
            return COST.get(name, ITERATED) * plan(rows).seconds <= limit

        limit = LONG if self.total is None else FIT * self.total
        most, notes = n if self.most_rows is None else min(n, self.most_rows), []
        if self.most_rows is None and not fits(n):
            most = _largest(fits, n)
            notes.append(
                f"all {n:,} rows would take longer than {self.total or LONG:.3g} s: {most:,} of them are used, drawn "
                f"at random. --max-rows {n} takes all."
            )
        searched = min(TableModel(None).search_rows, most)
        if self.total is not None and not self.searching:  # a search over kernels begins on few rows by itself
            share = min(self.search, FOLDS_END * self.total / (folds + 1))
            while searched > FEWEST and EVALUATIONS * GRADIENT * plan(searched).seconds > share:
                searched = max(searched // 2, FEWEST)
        return (None if most == n else most), plan(most), searched, notes


def _largest(fits, most):
    """About the largest number of rows that fit."""
    low, high = 1, most
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
