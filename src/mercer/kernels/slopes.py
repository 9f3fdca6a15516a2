"""∂k(x, z)/∂x: what every kernel on vectors has, by differences unless its author writes ``_dx``."""

import numpy as np

STEP = 1e-3  # of the five-point differences, relative to the size of a column: the error is about STEP⁴
BLOCK = 32  # rows of which a diagonal is taken at once


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
        X, Z = _rows(self, X), _rows(self, Z)
        return np.asarray(self._dx(X, Z), dtype=float)

    def dx_diag(self, X):
        """∂k(x, x)/∂x = 2 ∂k(x, z)/∂x at z = x, of shape (m, d)."""
        X = _rows(self, X)
        if self.stationary:
            return np.zeros(X.shape)
        out = np.empty(X.shape)
        for i in range(0, len(X), BLOCK):
            D = self.dx(X[i : i + BLOCK], X[i : i + BLOCK])
            out[i : i + BLOCK] = 2.0 * D[np.arange(len(D)), np.arange(len(D))]
        return out

    def _dx(self, X, Z):
        """∂k(xᵢ, zⱼ)/∂xᵢ for float64 rows: by differences; an author writes the formula instead."""
        return differences(lambda A: np.asarray(self(A, Z), dtype=float), X)


def differences(function, X):
    """∂f(xᵢ)/∂x for f that maps rows (m, d) to (m, n), of shape (m, n, d): by five points."""
    steps = STEP * np.maximum(
        np.abs(X - X.mean(axis=0)).max(axis=0, initial=0.0), 1e-3 * np.abs(X).max(axis=0, initial=0.0)
    )
    steps = np.where(steps > 0, steps, STEP)
    slopes = []
    for j, step in enumerate(steps):
        total = 0.0
        for k, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            moved = X.copy()
            moved[:, j] += k * step
            total = total + weight * function(moved)
        slopes.append(total / (12.0 * step))
    return np.stack(slopes, axis=-1)


def _rows(kernel, X):
    """X as float64 rows; objects have no derivative."""
    X = kernel.validate(X)
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        raise TypeError(f"{kernel!r} reads objects ({type(X).__name__}), which have no derivative with respect to x.")
    return X.astype(np.float64, copy=False)
