"""Newton's way to the mode: one iteration for Laplace's approximation and for the smooth losses of a kernel machine.

ψ(a, b) = log p(y | f) − ½ aᵀK a with f = K a + b is concave where log p is. At its maximum a = ∇log p(y | f), and
Σ a = 0 where b is free. A step solves δa + W (K δa + δb) = ∇log p − a with W = −∇²log p: how, is a matter of the
subclass. f has shape (n,), or (n, C) for C classes.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from mercer._clock import FOREVER

LATE = {"status": "time_budget"}  # what an approximation says of itself that the clock has ended
MULTIPLES = np.array([0.0, 0.03, 0.1, 0.3, 0.6, 1.0, 1.5, 3.0])


class Newton(ABC):
    """a, v = K a, b, ∇log p and ψ on the way up.

    A subclass writes ``_direction`` and ``_verdict``, and counts in ``factored`` what it factors.

    Parameters
    ----------
    K : Gram
    likelihood : object
        ``value(f)`` is log p(y | f); ``gradient(f)`` its derivative.
    a : ndarray
    v : ndarray
        K a.
    b : float or ndarray, default=0.0
    """

    after = 0  # steps that are kept time for, after the climb; one step is then made in any case

    def __init__(self, K, likelihood, a, v, b=0.0):
        self.K, self.likelihood = K, likelihood
        self.factored, self.steps, self.status = 0, 0, None
        self._go(a, v, b)

    @property
    def f(self):
        """K a + b."""
        return self.v + self.b

    @property
    def converged(self):
        """Whether the mode is reached."""
        return self.status == "converged"

    @abstractmethod
    def _direction(self):
        """(δa, δb) of the next step."""

    @abstractmethod
    def _verdict(self):
        """How it ended: "converged", "stalled"; None to go on."""

    def climb(self, max_iter, clock=FOREVER, callback=None):
        """Step until the verdict, for so many factorisations, until the clock says so, or until a callback does."""
        self.status, took = self._verdict(), 0.0
        while self.status is None:
            began = clock.seconds
            if self.factored >= max_iter and self._needs_factor():
                self.status = "max_iter"
            elif (took or not self.after) and not clock.fits((1 + self.after) * took):  # as long as the longest one
                self.status = "time_budget"
            else:
                self._step(*self._direction())
                took = max(took, clock.seconds - began)
                self.status = self._verdict()
                if callback is not None and callback(self):
                    self.status = self.status or "max_iter"
        return self

    def _needs_factor(self):
        """Whether the next direction takes a new factor."""
        return True

    def _go(self, a, v, b, psi=None):
        """Be at a point."""
        self.a, self.v, self.b = a, v, b
        self.psi = self.height(a, v, b) if psi is None else psi
        self._look()

    def _look(self):
        """What is known at a point: the gradient of log p, and what a subclass needs beside it."""
        self.gradient = self.likelihood.gradient(self.f)

    def height(self, a, v, b):
        """ψ."""
        return float(self.likelihood.value(v + b)) - 0.5 * float(np.vdot(a, v))

    def _step(self, da, db):
        """Go along a direction as far as ψ rises: the whole step, or up to where the slope turns; ``length`` of it."""
        dv = self.K @ da
        df, b = (dv, 0.0) if db is None else (dv + db, db)
        self.size, self.length, self.moved = float(np.abs(df).max()), 0.0, None
        rise = float(np.vdot(self.gradient, df) - np.vdot(self.a, dv))
        if not rise > 0.0:
            return
        t, slack = 1.0, 1e-13 * abs(self.psi)  # rounding
        there = self.a + da, self.v + dv, self.b + b
        psi = self.height(*there)
        if not psi >= self.psi + 1e-4 * rise - slack:
            t = turning_point(lambda t: self._rise(t, da, dv, df, b))
            there = self.a + t * da, self.v + t * dv, self.b + t * b
            psi = self.height(*there)
            if not psi >= self.psi - slack:
                return
            df = t * df
        self.steps, self.length, self.moved = self.steps + 1, t, df
        self._go(*there, psi)

    def _rise(self, t, da, dv, df, b):
        """The slope of ψ at a part t of a step."""
        v = self.v + t * dv
        return float(np.vdot(self.likelihood.gradient(v + (self.b + t * b)), df) - np.vdot(da, v))


class Mode(Newton):
    """Up to where f is the mode to a tolerance; a factor serves several steps where that is quicker.

    What is left after a step follows from how much shorter it was than the one before. A fresh factor is one for
    W at the point where it is used: what it leaves of a distance d is about d², since W changes by about d of
    itself on the way. A subclass writes ``_factor`` and ``_solve``.

    Parameters
    ----------
    K, likelihood
        See `Newton`.
    a : ndarray
        Where to begin, or zeros.
    warm : bool
        Whether ``a`` is that of a similar problem; the best of a few multiples of it is then taken.
    tol : float
        Largest error of f, relative to 1 + max |f|.
    """

    after = 1  # the last factor

    def __init__(self, K, likelihood, a, warm, tol):
        self.tol, self.size, self.length, self._last, self._stale = tol, math.inf, 1.0, math.inf, True
        self._small = 1.0
        v = K @ a if warm else np.zeros_like(a)
        if warm:  # a good direction for another K, whose scale may be another
            c = MULTIPLES.reshape(-1, *(1,) * v.ndim)
            best = MULTIPLES[np.argmax(likelihood.value(c * v) - MULTIPLES**2 * (0.5 * np.vdot(a, v)))]
            a, v = (a, v) if best == 1.0 else (best * a, best * v)
        super().__init__(K, likelihood, a, v)

    @property
    def f(self):
        """K a."""
        return self.v

    def height(self, a, v, b):
        """ψ; b is 0."""
        return float(self.likelihood.value(v)) - 0.5 * float(np.vdot(a, v))

    @abstractmethod
    def _factor(self):
        """Factor I + √W K √W at f."""

    @abstractmethod
    def _solve(self, r):
        """(I + W K)⁻¹ r with the last factor."""

    def _needs_factor(self):
        return self._stale

    def _direction(self):
        if self._stale:
            self._factor()
            self.factored, self._last, self._stale = self.factored + 1, math.inf, False
            self._small = 1.0 + float(np.abs(self.v).max())
        return self._solve(self.gradient - self.a), None

    def _verdict(self):
        """Whether f is the mode; and whether the next step takes a new factor."""
        if self.size == math.inf:
            return None
        goal, fresh = self.tol * self._small, self._last == math.inf
        if self.length == 0.0 and fresh:  # even a fresh factor leads nowhere: rounding is reached
            return "converged" if self.size <= max(1.0, 1e-5 / self.tol) * goal else "stalled"
        rate = self.size if fresh else self.size / self._last
        left = self.size * rate / (1.0 - rate) if rate < 0.9 else self.size
        if left <= goal:
            return "converged"
        self._stale = self.length < 1.0 or not self._worth(left, rate, goal, fresh)
        self._last = self.size
        return None

    def _worth(self, left, rate, goal, fresh):
        """Whether the steps that are left with this factor cost less than a new one and the steps with that."""
        price = len(self.a) / 60.0  # of a factor, in steps with it
        if fresh and price > 2.0:  # one step more shows how much shorter they get
            return True
        return rate < 0.9 and math.log(left / goal) / -math.log(rate) <= price + (1.0 if left * left <= goal else 2.0)

    def finish(self):
        """A factor that is that of the mode to the tolerance, and one more step with it; f has ``moved`` by that."""
        if self._last == math.inf and self.size <= self.tol * self._small:  # the last one was
            return
        self._go(self.a, self.K @ self.a, 0.0)  # not the sum of all steps, which rounding may have moved
        self._factor()
        self.factored, self.moved = self.factored + 1, None
        if self.converged:
            self._step(self._solve(self.gradient - self.a), None)

    def info(self):
        """What the iteration says of itself."""
        info = {"iterations": self.steps, "factored": self.factored, "converged": self.converged}
        return info | LATE if self.status == "time_budget" else info


def turning_point(slope):
    """The t in (0, 1) where the slope of a concave function turns negative, to two digits.

    Examples
    --------
    >>> from mercer.inference.mode import turning_point
    >>> round(turning_point(lambda t: 0.25 - t), 1)
    0.2
    """
    low, high = 0.0, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(60):
            middle = 0.5 * (low + high)
            rising = slope(middle) >= 0.0  # a NaN is beyond
            low, high = (middle, high) if rising else (low, middle)
            if low > 0.0 and high - low <= 0.02 * high:
                break
    return low
