"""A kernel whose matrix is already there: the same rows are asked for again in every fold."""

import numpy as np
from sklearn.utils import check_array

from mercer import _machine
from mercer.kernels.base import Kernel


class RowKernel(Kernel):
    """k(i, j) = Kᵢⱼ for rows by their number: K of ``source`` on all rows is made once, and a fold reads its block."""

    domain = "objects"

    def __init__(self, source, matrix):
        self.source = source
        self.matrix = matrix

    @property
    def psd(self):
        """Whether positive semi-definiteness is proved for the source."""
        return self.source.psd

    def original(self):
        """The kernel whose values these are."""
        return self.source

    def validate(self, X):
        return np.asarray(X, dtype=np.intp)

    def _tile(self, X, Z):
        return self.matrix[X[:, None], Z]

    def diag(self, X):
        """Kᵢᵢ."""
        X = self.validate(X)
        return self.matrix[X, X]

    def __sklearn_clone__(self):
        return self  # nothing here changes, and a copy of K would cost what is saved

    def __repr__(self):
        return repr(self.source)


def row_kernels(kernels, X):
    """[RowKernel, …] of each kernel on all rows of X; None where X is not fit for it, or K too large to keep.

    Stored matrices may take a quarter of the free memory. Nothing is refused here: without them the estimator sees X
    itself, and says what is wrong with it.
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    needed = 8.0 * n * n * len(kernels)
    if needed > _machine.SMALL:
        free = _machine.within().bytes
        if free is not None and needed > 0.25 * free:
            return None
    out = []
    for kernel in kernels:
        try:
            rows = X if kernel.domain == "objects" else check_array(X, dtype=np.float64)
            out.append(RowKernel(kernel, np.asarray(kernel(rows), dtype=float)))
        except (TypeError, ValueError):
            return None
    return out
