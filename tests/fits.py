"""What several test files build: every fit without a row, from plain arrays."""

import numpy as np

from mercer import uncertainty
from mercer.gram import Rows
from mercer.gram.rows import constant


def deletion(kernel, X, y, lam, *, weight=None, index=None, intercept=True):
    """`Deletion` of plain rows: with ``index`` the rows are X[index]."""
    X, y = kernel.validate(X), np.asarray(y, dtype=float)
    if index is not None:
        X = X[np.asarray(index)]
    weight = None if weight is None else np.asarray(weight, dtype=float)
    rows = Rows(X, y.reshape(len(y), -1), weight, constant if intercept else None)
    return uncertainty.Deletion(kernel, rows, lam, flat=y.ndim == 1)
