"""Products that make a symmetric n × n array, in place and on our threads: what an adjoint is made of."""

from mercer._threads import run
from mercer._tiles import spans
from mercer.solvers.engine.lapack import FEW_ROWS, ONE_CALL, add_symmetric, combine, sandwich, square

__all__ = ["add_symmetric", "combine", "sandwich", "scale_both", "square"]


def scale_both(A, s):
    """A ← S A S with S = diag(s), in place; returns it."""
    if len(A) <= ONE_CALL:
        A *= s
        A *= s[:, None]
        return A
    rows = spans(len(A), 64)

    def scale(index, worker):  # by rows that stay in the cache
        i, j = rows[index]
        A[i:j] *= s
        A[i:j] *= s[i:j, None]

    run(scale, len(rows), None if len(A) > FEW_ROWS else 1)
    return A
