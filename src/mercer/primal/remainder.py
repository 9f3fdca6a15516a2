"""One pass with a solution: what is left of its equations, and steps of refinement until nobody sees that."""

from dataclasses import dataclass

import numpy as np

from mercer.gram.base import fill
from mercer.primal.options import LandmarkFitOptions
from mercer.solvers.normal import Solution
from mercer.sources import OutOfTime, map_reduce

STRIP = 256  # rows whose features stay in the cache


@dataclass
class Remainder:
    """What one pass with a solution finds: the gradient, Σ w e², and K W e at the rows of the certificate."""

    gradient: np.ndarray
    rss: np.ndarray
    back: np.ndarray

    @classmethod
    def of(cls, source, fit, X, **options):
        """Evaluate the fit at all rows, and put its residuals back through the exact kernel at the rows X."""
        design, (alpha, b) = fit.design, fit.solution
        leaf = _Residuals(design, np.vstack([alpha, b]), X)
        found = cls(*map_reduce(leaf, source, leaf.zero, **options))
        found.gradient[: design.m] -= fit.lam * (fit.chosen.L @ (fit.chosen.L.T @ alpha))
        return found


class _Residuals:
    """What a leaf adds to `Remainder`, at θ = [α; b]."""

    def __init__(self, design, theta, X):
        self.design, self.theta, self.X = design, theta, X

    def zero(self):
        """Return the sums before the first leaf."""
        t = self.design.t
        return np.zeros((len(self.theta), t)), np.zeros(t), np.zeros((len(self.X), t))

    def __call__(self, sums, block):
        first, last, size = block.start, block.start + len(block), min(STRIP, len(block))
        room = np.empty((size, self.design.width)), np.empty((size, len(self.X)))  # touched once, read in the cache
        for i in range(first, last, STRIP):
            self._add(sums, block.cut(i, min(i + STRIP, last)), *room)

    def _add(self, sums, block, F, k):
        """Add some rows, whose features have a place."""
        F, inner = self.design.rows(block, F[: len(block)]), len(self.theta)
        e = F[:, inner:] - F[:, :inner] @ self.theta
        sums[0][:] += F[:, :inner].T @ e
        sums[1][:] += np.einsum("it,it->t", e, e)
        if len(self.X):
            k = fill(self.design.kernel, block.X, self.X, k[: len(block)])
            sums[2][:] += k.T @ (e if block.weight is None else np.sqrt(block.weight)[:, None] * e)


def refine_solution(source, fit, X, error, deadline=None, settings=LandmarkFitOptions(), **options):
    """(`Remainder`, steps, rms, rate): steps of refinement in float64 until nobody sees what is left of any target.

    ``rms`` is how far the next step would move the fitted values of each target. ``rate`` is the most that the first
    step left of it: how wrong the sums are beside S + λI; nan where no step was needed.

    Parameters
    ----------
    source : Source
    fit : SquaredFit
        Its solution becomes the refined one.
    X : collection
        Rows of the certificate.
    error : ndarray of shape (t,)
        The leave-one-out errors, which ``rms`` is compared with.
    deadline : float, default=None
        ``time.monotonic()`` after which what has been found is returned; the first pass is always finished.
    settings : LandmarkFitOptions
    """
    m, best, moves, far, rate = fit.design.m, None, None, None, float("nan")
    for step in range(settings.refinements + 1):
        try:
            found = Remainder.of(source, fit, X, deadline=deadline if step else None, **options)
        except OutOfTime:
            break
        more = fit.normal.correct(fit.lam, found.gradient[:m], found.gradient[m:])
        now = fit.normal.rms(more, fit.sums.weight)
        if not step:
            best, moves, better = (fit.solution, found), now, np.ones(len(now), dtype=bool)
        else:
            better = now < 0.5 * moves  # else the one before it stays
            rate = float(np.max(now[far] / moves[far])) if step == 1 else rate
            best = tuple(
                type(a)(*_merge_columns(better, a, b)) for a, b in zip((fit.solution, found), best, strict=True)
            )
            moves = np.where(better, now, moves)
        far = moves > settings.enough * error
        if not (far & better).any() or step == settings.refinements:
            break
        alpha, b = best[0]
        fit.solution = Solution(alpha + more.alpha * better, b + more.b * better)
    fit.solution = best[0]
    return best[1], step, moves, rate


def _merge_columns(which, a, b):
    """The parts of a, and of b in the columns that are not marked."""
    parts = (vars(one).values() if isinstance(one, Remainder) else one for one in (a, b))
    return [np.where(which, x, y) for x, y in zip(*parts, strict=True)]
