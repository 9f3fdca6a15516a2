"""Products that make a symmetric n × n array, in place and on our threads: what an adjoint is made of."""

import numpy as np

from mercer._threads import run
from mercer._tiles import spans
from mercer.solvers.engine import lapack

ROWS = 512
PASS = 64  # rows of a matrix that are scaled at once
FEW = 256  # rows up to which plain NumPy takes fewer calls than it saves


def combine(C, U, V, factor):
    """C ← factor · C + U Vᵀ, in place; returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import combine
    >>> combine(np.eye(2), np.ones((2, 1)), np.ones((2, 1)), 2.0)
    array([[3., 1.],
           [1., 3.]])
    """
    if len(C) > FEW:
        return lapack.combine(C, U, V, factor)
    if factor != 1.0:
        C *= factor
    C += U @ V.T
    return C


def sandwich(P, v):
    """P diag(v) P; P is overwritten. One symmetric update, n³ operations, when no v is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import sandwich
    >>> sandwich(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0]))
    array([[1., 1.],
           [1., 1.]])
    """
    if not (v >= 0).all() or len(P) <= FEW:
        return (P * v) @ P
    for i in range(0, len(P), ROWS):
        P[i : i + ROWS] *= np.sqrt(v[i : i + ROWS, None])
    return square(P)


def scale_both(A, s):
    """A ← S A S with S = diag(s), in place; returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import scale_both
    >>> scale_both(np.ones((2, 2)), np.array([1.0, 2.0]))
    array([[1., 2.],
           [2., 4.]])
    """
    if len(A) <= FEW:
        A *= s
        A *= s[:, None]
        return A
    rows = spans(len(A), PASS)

    def scale(index, worker):  # by rows that stay in the cache
        i, j = rows[index]
        A[i:j] *= s
        A[i:j] *= s[i:j, None]

    run(scale, len(rows), None if len(A) > lapack.FEW_ROWS else 1)
    return A


def square(A):
    """AᵀA, both triangles, as a fresh array.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import square
    >>> square(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[1., 2.],
           [2., 5.]])
    """
    C = np.zeros((A.shape[1], A.shape[1]))
    lapack.add_gram(C, A)
    return lapack.mirror(C)


def add_symmetric(W, p, a, factor):
    """W ← W + factor (p aᵀ + a pᵀ), in place; returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import add_symmetric
    >>> add_symmetric(np.zeros((2, 2)), np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]), 0.5)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    return combine(W, np.hstack([p, a]) * factor, np.hstack([a, p]), 1.0)
