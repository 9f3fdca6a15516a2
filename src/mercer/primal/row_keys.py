"""Which rows are in the sums of a fit: a number for each row, by which those that never were can be told."""

import numpy as np

from mercer.gram.duplicates import identities_of
from mercer.kernels.objects.counts import combine, mix

ROUNDING = 1e-9  # of a weight


def row_keys(X, y):
    """A 64-bit number for each row (x, y), by value; None where nothing tells inputs apart.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.primal.row_keys import row_keys
    >>> a, b, c = row_keys(np.array([[0.0], [1.0], [-0.0]]), np.array([[2.0], [2.0], [2.0]]))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    columns = np.asarray(y, dtype=float)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        columns, keys = np.column_stack([X, columns]), np.zeros(len(X), dtype=np.uint64)
    else:
        known = identities_of(X)
        if known is None:
            return None
        keys = np.array([hash(key) for key in known], dtype=np.int64).view(np.uint64)
    keys = mix(keys)
    for column in columns.T:
        keys = combine(keys, (column + 0.0).astype(np.float64).view(np.uint64))
    return keys


class RowKeys:
    """The rows of a fit: their keys, ascending, and the weight that each has left.

    Parameters
    ----------
    keys : ndarray of shape (k,)
    weight : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.primal.row_keys import RowKeys
    >>> X, y = np.arange(3.0)[:, None], np.zeros((3, 1))
    >>> rows = RowKeys.of(X, y, None)
    >>> rows.missing(X + 1, y, None).tolist(), rows.without(X[:1], y[:1], None).missing(X, y, None).tolist()
    ([2], [0])
    """

    def __init__(self, keys, weight):
        self.keys, self.weight = keys, weight

    @classmethod
    def of(cls, X, y, weight):
        """Return the keys of some rows; None where nothing tells inputs apart."""
        keys = row_keys(X, y)
        return None if keys is None else cls(*_sum_weights(keys, _ones(weight, len(y))))

    @classmethod
    def of_source(cls, source):
        """Return that of a source in memory; None of what is read: a number for each row may be more than there is."""
        if not source.at_hand:
            return None
        found = None
        for block in source.stream():
            keys = row_keys(block.X, block.y)
            if keys is None:
                return None
            one = keys, _ones(block.weight, len(block))
            found = one if found is None else tuple(np.append(a, b) for a, b in zip(found, one, strict=True))
        return cls(*_sum_weights(*found))

    def plus(self, X, y, weight):
        """Return the keys of these rows and further ones."""
        keys = np.append(self.keys, row_keys(X, y))
        return RowKeys(*_sum_weights(keys, np.append(self.weight, _ones(weight, len(y)))))

    def without(self, X, y, weight):
        """Return the keys of these rows without some of them."""
        keys, gone = _sum_weights(row_keys(X, y), _ones(weight, len(y)))
        left = self.weight.copy()
        left[np.searchsorted(self.keys, keys)] -= gone
        stay = left > ROUNDING * self.weight
        return RowKeys(self.keys[stay], left[stay])

    def missing(self, X, y, weight):
        """Which of some rows are not among these, with as much weight as they are to leave with."""
        own = row_keys(X, y)
        keys, wanted = _sum_weights(own, _ones(weight, len(y)))
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        there = np.zeros(len(keys))
        if len(self.keys):
            there = np.where(self.keys[place] == keys, self.weight[place], 0.0)
        lacking = keys[wanted > there * (1.0 + ROUNDING)]
        return np.flatnonzero(np.isin(own, lacking) & (_ones(weight, len(y)) > 0))


def _ones(weight, n):
    return np.ones(n) if weight is None else np.asarray(weight, dtype=float)


def _sum_weights(keys, weight):
    """(distinct keys, ascending; the sum of their weights), of rows that count."""
    used = weight > 0
    keys, group = np.unique(keys[used], return_inverse=True)
    return keys, np.bincount(group.reshape(-1), weights=weight[used], minlength=len(keys))
