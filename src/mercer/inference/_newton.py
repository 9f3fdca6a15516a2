"""Newton's way up to the mode of a posterior: what Laplace's approximation shares for two and for several classes."""

from abc import ABC, abstractmethod

import numpy as np

CHORD = 0.3  # a step with an old factor must be this much shorter than the last one, or B is factored again
HALVINGS = 40
ROUNDING = 1e-13
STALLED = 1e-5  # a last step below this, which rounding did not let us take, is good enough
MULTIPLES = (0.0, 0.03, 0.1, 0.3, 0.6, 1.0, 1.5, 3.0)


class Newton(ABC):
    """a, f = K a and ψ = log p(y | f) − ½ aᵀf on the way up; a and f have shape (n,), or (C, n) for C classes.

    A subclass writes ``_factor``, ``_direction`` and ``posterior``.
    """

    def __init__(self, K, likelihood, a, start, tol):
        self.K, self.likelihood, self.tol = K, likelihood, tol
        self.a, self.f = (a, np.zeros_like(a)) if start is None else best_multiple(K, likelihood, start)
        self.psi = self._height(self.a, self.f)
        self.factored, self.steps, self.converged = 0, 0, False

    @abstractmethod
    def _factor(self):
        """Factor I + √W K √W at f."""

    @abstractmethod
    def _direction(self):
        """(δa, K δa), δa = (I + W K)⁻¹(∇log p − a) with the last factor."""

    @abstractmethod
    def posterior(self):
        """Return the approximation at the mode."""

    def climb(self, max_iter):
        """Go on until the mode is reached, or for so many factorisations."""
        for _ in range(max_iter):
            if self._advance():
                break
        return self

    def _height(self, a, f):
        return float(self.likelihood.value(f) - 0.5 * np.sum(a * f))

    def _advance(self):
        """Factor, and step as long as the factor is good for it; whether the mode is reached."""
        self._factor()
        self.factored += 1
        last = np.inf
        while True:
            size, length = self._step()
            small = 1.0 + np.abs(self.f).max(initial=0.0)
            if size <= self.tol * small:
                self.converged = True
                return True
            if length == 0.0 and last == np.inf:  # even a fresh factor leads nowhere: rounding is reached
                self.converged = bool(size <= STALLED * small)
                return True
            if length < 1.0 or not size <= CHORD * last:
                return False
            last = size

    def _step(self):
        """Step, halved until ψ does not fall. Returns the largest change of f of the whole step, and the length."""
        da, df = self._direction()
        size = float(np.abs(df).max(initial=0.0))
        slack, length = ROUNDING * (1.0 + abs(self.psi)), 1.0
        for _ in range(HALVINGS):
            a, f = self.a + length * da, self.f + length * df
            psi = self._height(a, f)
            if psi >= self.psi - slack:
                self.a, self.f, self.psi = a, f, psi
                self.steps += 1
                return size, length
            length *= 0.5
        return size, 0.0

    def _info(self):
        return {"iterations": self.steps, "factored": self.factored, "converged": self.converged}


def best_multiple(K, likelihood, start):
    """(a, K a), a = c · start with c the best of a few: a good direction for another K, whose scale may be another."""
    f = start @ K
    quadratic = 0.5 * np.sum(start * f)
    heights = {c: likelihood.value(c * f) - c * c * quadratic for c in MULTIPLES}
    best = max(heights, key=heights.get)
    return best * start, best * f
