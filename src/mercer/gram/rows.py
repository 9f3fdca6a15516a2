"""Rows: our data, made ready once. Nothing below sees a data frame, a NaN or a weight of zero again."""

import copy

import numpy as np

from mercer._state import check
from mercer.gram.base import join, take
from mercer.gram.duplicates import duplicate_groups, merge_points, merge_rows
from mercer.gram.matrices import ScaledGram, TiledGram
from mercer.gram.trend import power_of_two

FIELDS = {
    "X": "rows n d", "y": "float n t", "weight": ("float n", None), "H": "float n q", "within_squares": "float n t",
    "index": "int r", "used": "int r", "row_y": "float r t", "row_weight": "float r", "given": "size rows",
    "unit": "number", "trend": object,
}  # fmt: skip


class Rows:
    """n rows as m points: distinct inputs X with mean targets y, weights c, the trend H, and the way back to the rows.

    Rows of weight 0 are dropped, equal inputs merged. (K + λ diag(1/c)) α = ȳ − Hb on the points is the same model as
    on the rows, and the main cause of a singular K is gone.

    Parameters
    ----------
    X : collection of n inputs
        As the kernel reads them.
    y : ndarray of shape (n, t)
        Finite.
    weight : ndarray of shape (n,), default=None
        w >= 0; None is ones.
    trend : callable, default=None
        X ↦ H of shape (len(X), q), the unpenalised part; None is none.
    merge : bool, "targets" or "labels", default=True
        Whether equal inputs are one point; "targets": only those of equal targets; "labels": and points are sorted.
    unit : float, default=1.0
        What targets are divided by: a power of two, where their squares would overflow or vanish (`safe_unit`).

    Attributes
    ----------
    X : collection of m inputs
        The points, in the order of their first appearance.
    y : ndarray of shape (m, t)
        Weighted means.
    weight : ndarray of shape (m,) or None
        c, sums of weights; None where all are 1.
    H : ndarray of shape (m, q)
        The trend at the points.
    within_squares : ndarray of shape (m, t)
        Σ w (y − ȳ)² within each point.
    index : ndarray of shape (n_used,)
        The point of each row that is used.
    used : ndarray of shape (n_used,)
        Which of the rows given are used: those of positive weight.
    row_y : ndarray of shape (n_used, t)
        Their targets.
    row_weight : ndarray of shape (n_used,)
        Their weights.
    given : int
        How many rows were given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> rows = Rows(np.array([[0.0], [1.0], [0.0]]), np.array([[1.0], [2.0], [3.0]]))
    >>> rows.n, rows.y.ravel(), rows.weight, rows.within_squares.ravel(), rows.index
    (2, array([2., 2.]), array([2., 1.]), array([2., 0.]), array([0, 1, 0]))
    """

    def __init__(self, X, y, weight=None, trend=None, merge=True, unit=1.0):
        self.given, self.trend, self.unit = len(y), trend, unit
        y = y if unit == 1.0 else y / unit
        weight = np.ones(len(y)) if weight is None else weight
        self.used = np.flatnonzero(weight > 0)
        if self.used.size < len(y):
            X, y, weight = take(X, self.used), y[self.used], weight[self.used]
        self.row_y, self.row_weight = y, weight
        self.X, self.y, total, self.index, self.within_squares = merge_rows(X, y, weight, merge)
        self.weight = or_none(total)
        self.H = self.trend_at(self.X)
        self._apart = None if len(self.y) < len(y) else self

    def state(self):
        """{name: value} by public names: what a file keeps."""
        state = {name: getattr(self, name) for name in FIELDS}
        return state | {"trend": "constant" if self.trend is constant else self.trend}

    @classmethod
    def from_state(cls, state):
        """Return the rows that had this state."""
        check(state, FIELDS, "Rows")
        self = cls.__new__(cls)
        vars(self).update(state)
        self.trend = constant if isinstance(self.trend, str) else self.trend
        if self.index.max(initial=-1) >= self.n or self.used.max(initial=-1) >= self.given:
            raise ValueError("Rows.index or Rows.used names a row that is not there.")
        self._apart = None if self.merged else self
        return self

    @property
    def n(self):
        """The number of points m."""
        return len(self.y)

    @property
    def t(self):
        """The number of targets."""
        return self.y.shape[1]

    @property
    def q(self):
        """Columns of the trend."""
        return self.H.shape[1]

    @property
    def d(self):
        """Columns of X; None where inputs are not vectors."""
        return self.X.shape[1] if isinstance(self.X, np.ndarray) and self.X.ndim == 2 else None

    @property
    def shape(self):
        """(n, d, t, q)."""
        return self.n, self.d, self.t, self.q

    @property
    def merged(self):
        """How many rows were merged away."""
        return len(self.index) - self.n

    @property
    def total(self):
        """Σ w."""
        return float(self.row_weight.sum())

    def counts(self):
        """What a report says: rows given, left out, merged away, and points."""
        left_out = self.given - len(self.used)
        return {"rows": self.given, "dropped_rows": left_out, "merged_rows": self.merged, "points": self.n}

    def weights(self):
        """c of the points, ones included."""
        return np.ones(self.n) if self.weight is None else self.weight

    def scaled(self, B):
        """S B with S = diag(√c): weights are a scaled system, and no solver knows about them."""
        return B if self.weight is None else np.sqrt(self.weight)[:, None] * B

    def trend_at(self, X):
        """H at X, without columns where there is no trend."""
        return np.zeros((len(X), 0)) if self.trend is None else self.trend(X)

    def kernel_matrix(self, kernel, dtype=np.float64):
        """K of the points, without weights: for a loss that has its own."""
        return TiledGram(kernel, self.X, dtype)

    def gram(self, kernel, dtype=np.float64):
        """S K S of the points."""
        K = self.kernel_matrix(kernel, dtype)
        return K if self.weight is None else ScaledGram(K, np.sqrt(self.weight))

    def take(self, index):
        """Return some of the points, for a level of a search or a fold: which of the rows given they are is lost."""
        other = copy.copy(self)
        other.X, other.y, other.H = take(self.X, index), self.y[index], self.H[index]
        other.within_squares = self.within_squares[index]
        other.weight = None if self.weight is None else or_none(self.weight[index])
        if self.merged:
            place = np.full(self.n, -1)
            place[index] = np.arange(len(index))
            mine = np.flatnonzero(place[self.index] >= 0)
            other.index, other.row_y = place[self.index[mine]], self.row_y[mine]
            other.row_weight = self.row_weight[mine]
        else:
            other.row_y, other.row_weight, other.index = other.y, other.weights(), np.arange(len(index))
        other.used, other.given = np.arange(len(other.index)), len(other.index)
        other._apart = None if other.merged else other
        return other

    def among(self, index):
        """Return some of the points, for a fit to these: the rows of all others count as rows of weight 0."""
        other, place = self.take(index), np.full(self.n, -1)
        place[index] = np.arange(len(index))
        mine = np.flatnonzero(place[self.index] >= 0)
        other.index, other.row_y = place[self.index[mine]], self.row_y[mine]
        other.row_weight, other.used, other.given = self.row_weight[mine], self.used[mine], self.given
        return other

    def once(self):
        """Return each point as one row of its weight and mean target: what there is where no noise explains copies."""
        other = copy.copy(self)
        other.row_y, other.row_weight, other.index = self.y, self.weights(), np.arange(self.n)
        other.within_squares, other._apart, other.used, other.given = np.zeros_like(self.y), other, other.index, self.n
        return other

    def retained(self, kernel):
        """Return the rows with what a kernel must keep of the inputs; themselves where that is all."""
        X = kernel.stored_inputs(self.X)
        if X is self.X:
            return self
        other = copy.copy(self)
        other.X, other._apart = X, None
        return other

    def extended(self, X, y, weight=None, merge=True):
        """Return these rows and further ones. The points that are there stay in their places, new ones come after."""
        weight, y = np.ones(len(y)) if weight is None else weight, y / self.unit
        used = np.flatnonzero(weight > 0)
        try:
            both = join(self.X, take(X, used))
        except AttributeError:
            raise TypeError("the kernel keeps no inputs to which rows could be added; fit again.") from None
        groups = duplicate_groups(both) if merge else None
        first, group = (np.arange(len(both)),) * 2 if groups is None else groups
        return self._regrouped(
            take(both, first), np.append(self.index, group[self.n :]), np.vstack([self.row_y, y[used]]),
            np.append(self.row_weight, weight[used]), np.append(self.used, self.given + used), self.given + len(y),
        )  # fmt: skip

    def without(self, gone):
        """(rows, points): the rows given that are not marked in ``gone``, and which points stay, in their order."""
        stay = ~gone[self.used]
        points, index = np.unique(self.index[stay], return_inverse=True)
        number = np.cumsum(~gone) - 1
        rest = self._regrouped(
            take(self.X, points), index, self.row_y[stay], self.row_weight[stay], number[self.used[stay]],
            int(np.count_nonzero(~gone)),
        )  # fmt: skip
        return rest, points

    def _regrouped(self, X, index, row_y, row_weight, used, given):
        """Other rows of the same kind: points X, and the point of each row."""
        other = copy.copy(self)
        other.X, other.index, other.row_y, other.row_weight = X, index, row_y, row_weight
        other.used, other.given = used, given
        other.y, total, other.within_squares = merge_points(row_y, row_weight, index, len(X))
        other.weight, other.H = or_none(total), self.trend_at(X)
        other._apart = None if other.merged else other
        return other

    def apart(self):
        """Return the same rows, each a point of its own: what leaving out single rows is about."""
        if self._apart is None:
            self._apart = Rows(take(self.X, self.index), self.row_y, self.row_weight, self.trend, merge=False)
            self._apart.used, self._apart.given, self._apart.unit = self.used, self.given, self.unit
        return self._apart

    def shares(self):
        """w/c of each row used: exactly 1 for a row that is its own point."""
        alone = np.bincount(self.index, minlength=self.n) == 1
        return np.where(alone[self.index], 1.0, self.row_weight / self.weights()[self.index])

    def to_rows(self, values, fill=np.nan):
        """Values of the rows used, among all rows given: ``fill`` where the weight is 0."""
        if len(self.used) == self.given:
            return values
        out = np.full((self.given, *np.shape(values)[1:]), fill, dtype=np.result_type(values, type(fill)))
        out[self.used] = values
        return out

    def first(self):
        """The first of the rows given that each point stands for."""
        return self.used if not self.merged else self.used[np.unique(self.index, return_index=True)[1]]

    def point_index(self):
        """The point of each row given; -1 for rows of weight 0."""
        return self.to_rows(self.index, -1)


def constant(X):
    """h(x) = 1: the intercept as a trend."""
    return np.ones((len(X), 1))


def safe_unit(y):
    """A power of two near the largest |y| where its square would overflow or vanish, else 1."""
    size = float(power_of_two(y).max(initial=0.0))
    return size if size and not 1e-100 < size < 1e100 else 1.0


def or_none(weight):
    """Weights, or None where all are 1."""
    return None if weight is None or (weight == 1.0).all() else weight
