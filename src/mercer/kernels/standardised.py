"""A kernel that reads columns in a unit of their own."""

import numpy as np

from mercer.kernels.composite import Moved


class Standardised(Moved):
    """k((x − m)/s, (z − m)/s): one length scale can then serve columns of different units, and lines begin at m.

    Parameters
    ----------
    kernel : Kernel
        On vectors.
    centre : float or array-like of shape (d,), default=0.0
        m, what is subtracted from each column.
    scale : float or array-like of shape (d,), default=1.0
        s > 0. Neither is a hyper-parameter: a search leaves them as they are.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Standardised
    >>> kernel = Standardised(Gaussian(1.0), [0.0, 1950.0], [0.1, 10.0])
    >>> kernel([[0.0, 1950.0]], [[0.1, 1950.0], [0.0, 1960.0]]).round(3)
    array([[0.607, 0.607]])
    """

    wraps = True

    def __init__(self, kernel, centre=0.0, scale=1.0): ...

    def columns_read(self, columns=()):
        """Those of k: each column is moved for itself."""
        return self.kernel.columns_read(columns)

    def formula(self, x, z):
        """k of (x − m)/s and (z − m)/s."""
        centre, scale = np.asarray(self.centre, dtype=float), np.asarray(self.scale, dtype=float)
        return self.kernel.formula((x - centre) / scale, (z - centre) / scale)

    def _inside(self, X):
        """(X − m)/s, in X's dtype."""
        scale, d = np.asarray(self.scale, dtype=float), X.shape[1]
        for name, value in (("centre", np.asarray(self.centre, dtype=float)), ("scale", scale)):
            if value.shape not in ((), (1,), (d,)) or not np.isfinite(value).all():
                raise ValueError(f"Standardised: {name} must be finite, one number or {d} of them, got {value!r:.80}.")
        if not (scale > 0).all():
            raise ValueError(f"Standardised: scale must be positive, got {self.scale!r:.80}.")
        return np.ascontiguousarray(((X - self.centre) / scale).astype(X.dtype, copy=False))

    def _dx(self, X, Z):
        return self.kernel.dx(self._inside(X), self._inside(Z)) / np.asarray(self.scale, dtype=float)
