"""The unpenalised trend x ↦ h(x): a constant, a plane, or the features of a basis, in units that lose no digits."""

import numpy as np

from mercer._state import check
from mercer.kernels.base import Kernel
from mercer.kernels.basis import Features


class Trend:
    """x ↦ h(x): 1; (1, (x − c)/u); or φ(x)/u of a basis. Made by `make_trend`.

    Parameters
    ----------
    basis : Features, default=None
        φ; None is a constant, or a plane where there is a centre.
    centre : ndarray of shape (d,), default=None
        c of a plane, so that far from the origin no digit is lost.
    unit : ndarray, default=None
        u, powers of two, so that no unit of x loses digits: (d,) of a plane; (q,) of a basis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.trend import make_trend
    >>> plane = make_trend("linear", np.array([[1.0], [5.0]]))
    >>> plane(np.array([[1.0], [3.0], [5.0]]))
    array([[ 1. , -0.5],
           [ 1. ,  0. ],
           [ 1. ,  0.5]])
    >>> plane.natural(np.array([[7.0], [4.0]])).ravel()  # 7 + (x − 3)
    array([7., 1.])
    """

    def __init__(self, basis=None, centre=None, unit=None):
        self.basis, self.centre, self.unit = basis, centre, unit

    def __call__(self, X):
        """H, of shape (m, q)."""
        if self.basis is not None:
            H = np.asarray(self.basis.features(X), dtype=float)
            return H if self.unit is None else H / self.unit
        ones = np.ones((len(X), 1))
        return ones if self.centre is None else np.hstack([ones, (X - self.centre) / self.unit])

    @property
    def plain(self):
        """Whether it is the same everywhere."""
        return self.basis is None and self.centre is None

    def dx(self, X):
        """∂h/∂x, of shape (m, q, d)."""
        m, d = X.shape
        if self.basis is not None:
            dH = self.basis.features_dx(X)
            return dH if self.unit is None else dH / self.unit[:, None]
        if self.centre is None:
            return np.zeros((m, 1, d))
        return np.broadcast_to(np.vstack([np.zeros((1, d)), np.diag(1.0 / self.unit)]), (m, d + 1, d))

    def natural(self, b):
        """Return the coefficients in the units of x: of a plane those of 1 and x − c."""
        if self.unit is None:
            return b
        return b / (self.unit if self.basis is not None else np.append(1.0, self.unit))[:, None]

    def state(self):
        """{name: value}: what a file keeps."""
        return {"basis": self.basis, "centre": self.centre, "unit": self.unit}

    @classmethod
    def from_state(cls, state):
        """Return the trend that had this state."""
        check(state, {"basis": (Features, None), "centre": ("float d", None), "unit": ("float u", None)}, "Trend")
        return cls(**state)


def make_trend(trend, X):
    """Return the `Trend` for None, "constant", "linear" or a basis, with the centre and units of the rows X."""
    if trend is None:
        return None
    if isinstance(trend, Kernel) and trend.explicit:
        made = Trend(basis=trend, unit=power_of_two(Trend(basis=trend)(X)))
    elif trend == "constant":
        return Trend()
    else:
        if not (isinstance(X, np.ndarray) and X.ndim == 2):
            raise TypeError('trend="linear" needs rows of numbers; use "constant" or a FeatureMap for objects.')
        still = np.flatnonzero(np.ptp(X, axis=0) == 0)
        if still.size:
            raise ValueError(
                f'trend="linear": column {still[0]} of X has one value only, so its slope cannot be separated from the '
                'constant; leave the column out, or use trend="constant".'
            )
        centre = X.mean(axis=0)
        made = Trend(centre=centre, unit=power_of_two(X - centre))
    H = made(X)
    if not np.isfinite(H).all():
        raise ValueError(f"trend: row {int(np.argwhere(~np.isfinite(H))[0][0])} of its features is not finite.")
    if H.shape[1] > len(H):
        raise ValueError(
            f"n_samples = {len(H)} is less than the {H.shape[1]} columns of the trend; use fewer columns or more rows."
        )
    return made


def power_of_two(y):
    """A power of two near the largest |y| of each column: dividing by it is exact, and nothing overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.rows import power_of_two
    >>> power_of_two(np.array([[3.0, 0.0], [-5.0, 0.0]]))
    array([8., 2.])
    """
    largest = np.abs(y).max(axis=0, initial=0.0)
    exponent = np.frexp(np.where((largest > 0) & np.isfinite(largest), largest, 1.0))[1]
    return np.ldexp(1.0, np.clip(exponent, -1000, 1000))
