"""The condition number of K + λI: largest eigenvalue from a few rows, smallest from a few solves with the factor."""

from functools import lru_cache

import numpy as np

from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers.base import column_norms
from mercer.solvers.engine.lapack import backward, columns, forward

SAMPLE = 32  # rows of K that are looked at
WARN_ABOVE = 1e12
ENTRY = 4  # errors of an entry of K and of its place in a sum, in units of rounding


class Probe:
    """A few rows of K: from them ‖K + λI‖ and the residual of a solution are estimated, at no further evaluation."""

    def __init__(self, K):
        self._diagonal = np.abs(K.diag())
        self._index, self._start = _sample(K.n)
        self._rows = K.rows(self._index)

    def largest_eigenvalue(self):
        """λ_max(K) from below: the Rayleigh quotient ‖K w‖²/wᵀKw of a vector w that lives on the rows.

        With K = FᵀF it is the quotient of FFᵀ at Fw, so half a step of the power method is already in it.
        """
        rows, most = self._rows, float(self._diagonal.max(initial=0.0))
        if not (np.isfinite(rows).all() and np.isfinite(most) and most > 0):
            return most
        rows = rows / most  # so that no square overflows
        S = rows[:, self._index]
        w = S @ (S @ self._start)  # towards the leading eigenvector of the small block; no entry of S is above 1
        image = np.einsum("ij,it->jt", rows, w)
        below = np.einsum("it,it->t", w, S @ w)
        quotient = np.divide(np.einsum("jt,jt->t", image, image), below, out=np.zeros(2), where=below > 0)
        return most * float(np.clip(quotient.max(), 1.0, (self._diagonal / most).sum()))

    def eigenvalues(self):
        """All eigenvalues of K, ascending, where the rows looked at are all of it; else None."""
        rows = self._rows
        return np.linalg.eigvalsh(rows) if len(rows) == rows.shape[1] and np.isfinite(rows).all() else None

    def residual(self, lam, X, B):
        """max over columns of ‖b − (K + λI)x‖/‖b‖, from the rows looked at (all of them up to n = 32)."""
        index = self._index
        rest = column_norms(B[index] - np.einsum("ij,jt->it", self._rows, X) - lam * X[index])
        size = column_norms(B)
        rest *= np.sqrt(len(B) / max(1, len(index)))
        return float(np.divide(rest, size, out=np.zeros_like(size), where=size > 0).max(initial=0.0))

    def errors(self, lam, alpha, rest):
        """‖δf‖ of the fitted values f = Kα of (K + λI)α = rest, for each column, and ‖r‖ of what that leaves.

        With r = rest − (K + λI)α the fitted values differ from the true ones by K(K + λI)⁻¹r, never more than r. To
        this come errors of rounding in the entries of K and in their sums, which are of the size of |K||α|: they are in
        each prediction, whichever way α was found. From the rows looked at.
        """
        index, unit = self._index, np.finfo(float).eps / 2
        up = np.sqrt(len(alpha) / max(1, len(index)))
        left = rest[index] - np.einsum("ij,jt->it", self._rows, alpha) - lam * alpha[index]
        sums = np.einsum("ij,jt->it", np.abs(self._rows), np.abs(alpha)) + lam * np.abs(alpha[index])
        r = up * column_norms(left)
        return r + ENTRY * unit * up * column_norms(sums), r


@lru_cache(maxsize=8)
def _sample(n):
    """(index, start): which rows are looked at, and two vectors on them; the same for every matrix of this order."""
    rng = np.random.default_rng(0)
    index = np.sort(rng.permutation(n)[:SAMPLE])
    return index, np.stack([np.ones(len(index)), rng.standard_normal(len(index))], axis=1)


def smallest_eigenvalue(L):
    """λ_min(L Lᵀ), from above: inverse iteration with the factor, a Rayleigh quotient after every half step.

    Each triangular solve gives one. A pair of equal rows, which hides from the usual estimate in the 1-norm, is found,
    because its eigenvalue stands far below the others. Steps go on while they pay, and while they cost little
    beside the factorisation.
    """
    n = len(L)
    v = columns(np.random.default_rng(0).standard_normal(n), L.dtype)
    v /= np.sqrt(np.square(v).sum(dtype=float))
    best = 0.0
    for step in range(4 + n // 2000):
        (forward if step % 2 == 0 else backward)(L, v)
        growth = float(np.square(v, dtype=float).sum())
        if not np.isfinite(growth) or growth == 0.0:
            return 0.0
        v /= L.dtype.type(np.sqrt(growth))
        if step >= 2 and growth < 1.1 * best:
            break
        best = max(best, growth)
    return 1.0 / max(best, growth)


def condition_number(L, largest, lam, added=0.0):
    """κ(K + λI) from the factor of K + (λ + added) I."""
    return _ratio(largest, smallest_eigenvalue(L) - added, lam)


def norm_and_condition(probe, L, lam, added=0.0):
    """(‖K + λI‖, κ(K + λI)): from the eigenvalues where the rows looked at are all of K, else estimated."""
    every = probe.eigenvalues()
    if every is None:
        norm = probe.largest_eigenvalue() + lam
        return norm, condition_number(L, norm, lam, added)
    norm = float(every[-1]) + lam
    return norm, _ratio(norm, float(every[0]) + lam, lam)


def _ratio(largest, smallest, lam):
    """largest/smallest, where neither λ nor rounding lets the smallest be less."""
    return float(max(1.0, largest / max(smallest, lam, np.finfo(float).eps / 2 * largest)))


def warn_of_condition(condition, K, lam):
    """Say so when few digits are left."""
    if condition > WARN_ABOVE:
        digits = max(0, int(round(15.95 - np.log10(condition))))
        warn(
            f"K + lam I has condition {condition:.1e} ({K!r}, lam = {lam:.3g}): the solution has about {digits} "
            "correct digits. Use a larger lam, merge equal or nearly equal rows, or a shorter length scale.",
            NumericalWarning,
        )
