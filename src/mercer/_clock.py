"""The time of a fit: one clock, started when the fit begins and handed down to all that may take long."""

import math
import time

from mercer.exceptions import NotEnoughTime

SLACK = 1.0  # seconds, or
SHARE = 0.1  # of the budget: how late a fit may end


class Clock:
    """Seconds that are left; a part of a fit has a `part` of them.

    What is about to begin asks whether it `fits`, a loop whether the clock is `spent`; without a budget all fits.

    Parameters
    ----------
    seconds : float, default=None
        From now; None is no end.

    Examples
    --------
    >>> from mercer._clock import Clock
    >>> clock = Clock(10.0)
    >>> clock.fits(9.0), clock.part(0.5, keep=4.0).left <= 3.0, Clock().fits(1e9)
    (True, True, True)
    """

    def __init__(self, seconds=None):
        self.began = time.monotonic()
        self.end = math.inf if seconds is None else self.began + seconds

    @property
    def limited(self):
        """Whether there is an end."""
        return self.end < math.inf

    @property
    def seconds(self):
        """Since it was started."""
        return time.monotonic() - self.began

    @property
    def left(self):
        """Seconds until the end: infinite without one, never below zero."""
        return max(self.end - time.monotonic(), 0.0) if self.limited else math.inf

    @property
    def budget(self):
        """Seconds until the end, as a ``time_budget``: None without one, always positive."""
        return max(self.left, 1e-3) if self.limited else None

    @property
    def deadline(self):
        """``time.monotonic()`` at the end; None without one."""
        return self.end if self.limited else None

    @property
    def spent(self):
        """Whether the end has come."""
        return self.limited and time.monotonic() >= self.end

    def fits(self, seconds):
        """Whether something that takes so long ends in time."""
        return not self.limited or time.monotonic() + seconds <= self.end

    def part(self, share=1.0, keep=0.0):
        """A clock from now that ends when ``share`` of what is left is spent, ``keep`` seconds being kept for later."""
        return Clock(None if not self.limited else max(share * (self.left - keep), 0.0))

    def until(self, share):
        """A clock of the same beginning that ends when ``share`` of all its seconds are spent."""
        other = Clock()
        other.began = self.began
        other.end = self.began + share * (self.end - self.began)
        return other


FOREVER = Clock()


def latest(time_budget):
    """Seconds within which a fit with this budget has to end: a tenth, or a second, may be added."""
    return math.inf if time_budget is None else time_budget + max(SLACK, SHARE * time_budget)


def refuse_late(seconds, time_budget, what, alternatives):
    """Refuse, before it begins, what is predicted to end too late.

    Examples
    --------
    >>> from mercer._clock import refuse_late
    >>> refuse_late(300.0, 10.0, "KernelInterpolator for n = 9000", "fewer rows")
    Traceback (most recent call last):
    ...
    mercer.exceptions.NotEnoughTime: KernelInterpolator for n = 9000 is predicted to take 300 s, but time_budget is ...
    """
    if seconds > latest(time_budget):
        raise NotEnoughTime(
            f"{what} is predicted to take {duration(seconds)}, but time_budget is {duration(time_budget)}. Possible "
            f"instead: {alternatives}, or a larger time_budget."
        )


def duration(seconds):
    """Seconds as a person reads them."""
    if seconds < 1:
        return f"{max(seconds, 1e-3) * 1e3:.0f} ms"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
