"""∂k(x, z)/∂x: what every kernel on vectors has, by differences unless its author writes ``_dx``."""

import numpy as np


class InputSlopes:
    """Derivatives of a kernel with respect to its first input."""

    def dx(self, X, Z):
        """∂k(xᵢ, zⱼ)/∂xᵢ; 0 where k has a kink, as at x = z.

        Parameters
        ----------
        X, Z : array-like of shape (m, d) and (n, d)

        Returns
        -------
        ndarray of shape (m, n, d)

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> Linear().dx([[1.0, 2.0]], [[3.0, 4.0]])
        array([[[3., 4.]]])
        """
        X, Z = _float_rows(self, X), _float_rows(self, Z)
        return np.asarray(self._dx(X, Z), dtype=float)

    def dx_diag(self, X):
        """∂k(x, x)/∂x = 2 ∂k(x, z)/∂x at z = x, of shape (m, d)."""
        X = _float_rows(self, X)
        if self.stationary:
            return np.zeros(X.shape)
        out = np.empty(X.shape)
        for i in range(0, len(X), 32):  # by small diagonal blocks
            D = self.dx(X[i : i + 32], X[i : i + 32])
            out[i : i + 32] = 2.0 * D[np.arange(len(D)), np.arange(len(D))]
        return out

    def _dx(self, X, Z):
        """∂k(xᵢ, zⱼ)/∂xᵢ for float64 rows: by differences; an author writes the formula instead."""
        return differences(lambda A: np.asarray(self(A, Z), dtype=float), X)


def differences(function, X, first=1e-3):
    """∂f(xᵢ)/∂x for f that maps rows (m, d) to (m, n), of shape (m, n, d): by five points, at the step that fits.

    The first step is ``first`` times the spread of a column; its error is about the fourth power of that.
    """
    spread = np.abs(X - X.mean(axis=0)).max(axis=0, initial=0.0)
    steps, here = first * np.maximum(spread, 1e-3 * np.abs(X).max(axis=0, initial=0.0)), function(X)
    slopes = [_slope(function, X, here, j, step if step > 0 else first) for j, step in enumerate(steps)]
    return np.stack(slopes, axis=-1) if slopes else np.zeros((*np.shape(here), 0))


def _slope(function, X, here, j, step, most=8):
    """∂f/∂xⱼ at up to ``most`` steps that shrink by tens: of each entry the slope that changes least between two.

    The first step is that of the spread of the rows, but f may change on a scale far below it. A step is near if f
    does not change by more than half over it; others count only where none is, and then by their relative change, for
    beyond all that f does every slope is 0.
    """
    slope, near = _five_points(function, X, here, j, step)
    best, least = slope, np.full(slope.shape, np.inf)
    found = done = np.zeros(slope.shape, dtype=bool)  # whether a near step was found, and whether two steps agreed
    for _ in range(most - 1):
        before, was_near, step = slope, near, step / 10.0
        slope, near = _five_points(function, X, here, j, step)
        gap, size = np.abs(slope - before), np.maximum(np.abs(slope), np.abs(before))
        rounding = np.finfo(float).eps * np.abs(here) / step
        both = near & was_near
        change = np.where(both, gap, np.divide(gap, size, out=np.full(gap.shape, np.inf), where=size > 0))
        better = ~done & np.where(both == found, change < least, both)  # any that is near comes before all others
        found = found | both
        best = np.where(better, np.where(gap > rounding, slope, before), best)
        least = np.where(better, change, least)
        done = done | ((gap <= 1e-8 * size) & (size > 0)) | (both & (gap <= rounding))  # later ones agree by chance
        if done.all():
            break
    return best


def _five_points(function, X, here, j, step):
    """(f(x − 2h) − 8 f(x − h) + 8 f(x + h) − f(x + 2h))/(12 h) in column j, and whether these are near f(x)."""
    total, most, largest = 0.0, 0.0, np.abs(here)
    for k, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        moved = X.copy()
        moved[:, j] += k * step
        value = function(moved)
        total = total + weight * value
        most, largest = np.maximum(most, np.abs(value - here)), np.maximum(largest, np.abs(value))
    return total / (12.0 * step), most <= 0.5 * largest


def _float_rows(kernel, X):
    """X as float64 rows; objects have no derivative."""
    X = kernel.validate(X)
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        raise TypeError(f"{kernel!r} reads objects ({type(X).__name__}), which have no derivative with respect to x.")
    return X.astype(np.float64, copy=False)
