"""Many small systems at once: a point given its neighbours, [[A, k], [kᵀ, c]], by Cholesky factors of A.

A neighbour that those before it explain to rounding says nothing more, and is left out: nothing is added to a diagonal.
"""

from typing import NamedTuple

import numpy as np

from mercer import _native

TOLERANCE = 1e-13  # of its own variance: what a neighbour must have left beside those before it


class Conditionals(NamedTuple):
    """What neighbours say of a point: weights A⁻¹k (b, k), variance c − kᵀA⁻¹k (b,), A⁻¹Y (b, t, k), rows left out."""

    weights: np.ndarray
    variance: np.ndarray
    solved: np.ndarray
    dropped: int


def conditionals(C, absent, Y=None):
    """`Conditionals` of b systems of k + 1 rows, the last of which is the point itself.

    Parameters
    ----------
    C : ndarray of shape (b, k + 1, k + 1)
        Both triangles given, noise included; overwritten.
    absent : ndarray of bool of shape (b, k)
        Neighbours that are not there; overwritten.
    Y : ndarray of shape (b, t, k), default=None
        What A⁻¹ is applied to.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.neighbourhoods import conditionals
    >>> C = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    >>> found = conditionals(C, np.zeros((1, 1), dtype=bool))
    >>> found.weights, found.variance
    (array([[0.5]]), array([1.5]))
    """
    b, k = absent.shape
    Y = np.zeros((b, 0, k)) if Y is None else Y
    return Conditionals(*_native.neighbours.conditionals(C, absent, TOLERANCE, Y))
