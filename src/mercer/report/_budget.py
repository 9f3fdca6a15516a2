"""Time: what costs is left out when the budget is used up, and the page says so."""

import time

from mercer.report.findings import missing


class Budget:
    """Seconds that the costly parts of a page may take together, from now on; None is no limit."""

    def __init__(self, seconds):
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"time_budget must be >= 0 seconds or None, got {seconds}.")
        self.seconds = seconds
        self.left_out = []
        self._start = time.perf_counter()

    def over(self, since=None, limit=None):
        """Whether the budget is used up, or a part has taken longer than its own limit."""
        now = time.perf_counter()
        alone = since is not None and now - since > limit
        return alone or (self.seconds is not None and now - self._start > self.seconds)

    def skips(self, what):
        """The line of a part that is left out; None while there is time."""
        if not self.over():
            return None
        self.left_out.append(what)
        return missing(f"{what[0].upper()}{what[1:]}: left out, the time budget of {self.seconds:g} s was used up.")

    @staticmethod
    def now():
        """The clock that ``over`` reads."""
        return time.perf_counter()
