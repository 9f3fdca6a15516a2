"""What all evaluations of a search share: the clock, the history, and who listens."""

from mercer._clock import Clock


class Stop(Exception):
    """The time budget is spent, or the callback asked to stop."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Record:
    """The clock of a search, its history, and the callback that is called with each evaluation."""

    def __init__(self, clock=None, callback=None):
        self.started, self.clock, self.callback = Clock(), Clock() if clock is None else clock, callback
        self.history, self.failed, self.last_error, self.succeeded = [], 0, None, False
        self.stopped = False  # whether the callback has asked for it
        self._took = {}  # {rows: seconds of the longest evaluation}

    @property
    def seconds(self):
        """Since the search began."""
        return self.started.seconds

    def begin(self, n):
        """Return the time at which an evaluation of n rows begins; raise Stop where it would end too late.

        The first evaluation is never refused.
        """
        if self.stopped:
            raise Stop("stopped")
        if self.clock.limited and self._took and not self.clock.fits(self.expected(n)):
            raise Stop("time_budget")
        return self.seconds

    def expected(self, n):
        """Seconds of an evaluation of n rows, from those of as many rows, or of the most there were, n^2.8 as long."""
        rows = n if n in self._took else max(self._took)
        return self._took[rows] * max(n / rows, 1.0) ** 2.8

    def add(self, began, **entry):
        """Keep an evaluation of entry["n"] rows; raise Stop when it is to be the last."""
        now, n = self.seconds, entry["n"]
        self._took[n] = max(self._took.get(n, 0.0), now - began)
        self.history.append({"evaluation": len(self.history) + 1, "seconds": now, **entry})
        self.stopped = self.callback is not None and bool(self.callback(self.history[-1]))
        if self.stopped:
            raise Stop("stopped")
        if self.clock.spent:
            raise Stop("time_budget")
