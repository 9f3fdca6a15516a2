"""What makes rows ready: exact duplicates merged, and the trend x ↦ h(x) evaluated.

Rows with equal X are one point with more weight: n rows with c copies of each point give (K + λ diag(1/c)) α = ȳ on the
points. The model does not change, the matrix shrinks, and the main cause of a singular K is gone. A trend is a
constant, a plane, or the features of a basis, in units that lose no digits.
"""

import numpy as np

from mercer._state import check
from mercer.gram.base import take
from mercer.kernels.base import Kernel
from mercer.kernels.basis import Features
from mercer.kernels.objects.collection import Objects
from mercer.kernels.objects.tables import Table

FEW = 1000  # rows up to which a set of Python's tells soonest that all differ


def duplicate_groups(X, beside=None):
    """(first, group) of the distinct rows of X: X[first][group] equals X; None if all rows differ.

    Rows are compared by value, so 0.0 and -0.0 are equal. A hash finds the candidates; the rows themselves decide.
    Collections of objects say themselves which are equal (``identities``). With ``beside``, numbers for each row, rows
    are equal if these are too.
    """
    keys = identities_of(X)
    if keys is not None:
        if beside is None:
            return _equal_keys(keys)
        rows = np.asarray(beside, dtype=float).reshape(len(X), -1) + 0.0
        return _equal_keys([(key, row.tobytes()) for key, row in zip(keys, rows, strict=True)])
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or len(X) < 2:
        return None
    X = np.ascontiguousarray((X if beside is None else np.column_stack([X, beside])) + 0.0)
    if len(X) <= FEW and len(set(X.view(f"V{X.strides[0]}")[:, 0].tolist())) == len(X):
        return None
    bits = X.view(np.uint64 if X.dtype == np.float64 else np.uint32).astype(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    bits ^= bits >> np.uint64(29)  # mixes the high bits, where floats differ, into the low ones
    keys = (bits * odd).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if first.size == len(X):
        return None
    if not np.array_equal(X[first][group], X):  # two different rows share a key: sort the rows themselves
        _, first, group = np.unique(X + 0.0, axis=0, return_index=True, return_inverse=True)
        if first.size == len(X):
            return None
    order = np.argsort(first)  # keep the order in which the points first appear
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[group.reshape(-1)]


def identities_of(X):
    """One key for each object of a collection, equal where the objects are; None of arrays, and where nothing tells."""
    return X.identities() if isinstance(X, Objects | Table) else None


def _equal_keys(keys):
    """(first, group) of equal keys, in the order of their first appearance; None if all differ."""
    places = {}
    group = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    if len(places) == len(group):
        return None
    return np.unique(group, return_index=True)[1], group


def merge_points(y, weight, group, size):
    """(ȳ, w, spread): weighted means, summed weights, and Σ w (y − ȳ)² within each group, per target.

    Means are taken beside one row: equal targets stay as they are.
    """
    w = np.bincount(group, weights=weight, minlength=size)
    one = np.zeros((size, y.shape[1]))
    one[group] = y
    rest = y - one[group]
    mean = one + np.stack([np.bincount(group, weights=weight * r, minlength=size) for r in rest.T], axis=1) / w[:, None]
    squares = weight[:, None] * (y - mean[group]) ** 2
    return mean, w, np.stack([np.bincount(group, weights=c, minlength=size) for c in squares.T], axis=1)


def merge_rows(X, y, weight, wanted=True):
    """(points, ȳ, w, index, spread): equal rows as one point; the rows themselves if none are, or not ``wanted``.

    Parameters
    ----------
    X : collection of n inputs
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,)
    wanted : bool, "targets" or "labels"
        "targets": rows are equal if y is, too. "labels": and points are sorted, so that their order is not that of the
        rows.

    Returns
    -------
    points : collection of m inputs
        In the order of their first appearance.
    y : ndarray of shape (m, t)
        Weighted means.
    weight : ndarray of shape (m,)
        Sums.
    index : ndarray of shape (n,)
        The point of each row.
    spread : ndarray of shape (m, t)
        Σ w (y − ȳ)² within each point.
    """
    if isinstance(wanted, str):
        return _merge_equal(X, y, weight, wanted == "labels")
    groups = duplicate_groups(X) if wanted else None
    if groups is None:
        return X, y, weight, np.arange(len(y)), np.zeros(y.shape)
    first, index = groups
    mean, total, spread = merge_points(y, weight, index, first.size)
    return take(X, first), mean, total, index, spread


def _merge_equal(X, y, weight, ordered):
    """The same for rows of equal X and y; sorted, if they are to be ``ordered``."""
    groups = duplicate_groups(X, y)
    if groups is None and not ordered:
        return X, y, weight, np.arange(len(y)), np.zeros(y.shape)
    first, index = (np.arange(len(y)),) * 2 if groups is None else groups
    if ordered and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64:
        order = np.lexsort(np.column_stack([X, y])[first].T[::-1])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        index, first = rank[index], first[order]
    total = np.bincount(index, weights=weight, minlength=first.size)
    return take(X, first), y[first], total, index, np.zeros((first.size, y.shape[1]))


# ---------------------------------------------------------------------- the trend
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
    >>> from mercer.gram.groundwork import make_trend
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
                f'trend="linear": column {still[0]} of X has one value only, so its slope cannot be told from the '
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
