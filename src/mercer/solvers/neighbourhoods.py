"""Many small systems at once: a point given its neighbours, [[A, k], [kᵀ, c]], by Cholesky factors of A.

A neighbour that those before it explain to rounding says nothing more, and is left out: nothing is added to a diagonal.
"""

from typing import NamedTuple

import numpy as np

from mercer import _tiles

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
    Y = np.zeros((b, 0, k)) if Y is None else np.ascontiguousarray(Y)
    loops = _tiles.loops()
    if loops is None:
        return _stacked(C, absent, Y)
    weights, variance, solved = np.empty((b, k)), np.empty(b), np.empty(Y.shape)
    dropped = loops.neighbourhoods.conditionals(C, absent, TOLERANCE, Y, weights, variance, solved)
    return Conditionals(weights, variance, solved, int(dropped))


def _stacked(C, absent, Y):
    """The same a column at a time, of all systems together: what NumPy does without compiled loops."""
    k, before = absent.shape[1], int(absent.sum())
    L = np.zeros_like(C)
    for j in range(k + 1):
        column = C[:, j:, j] - np.matmul(L[:, j:, :j], L[:, j, :j, None])[:, :, 0]
        if j == k:
            variance = np.maximum(column[:, 0], 0.0)
            continue
        absent[:, j] |= column[:, 0] <= TOLERANCE * C[:, j, j]
        root = np.sqrt(np.where(absent[:, j], 1.0, column[:, 0]))
        L[:, j:, j] = np.where(absent[:, j, None], 0.0, column / root[:, None])
        L[:, j, :j] *= ~absent[:, j, None]
        L[:, j, j] = np.where(absent[:, j], 1.0, root)
    solved = np.where(absent[:, None], 0.0, Y)
    for j in range(k):
        solved[:, :, j] = (solved[:, :, j] - np.matmul(solved[:, :, :j], L[:, j, :j, None])[:, :, 0]) / L[:, j, j, None]
    both = np.concatenate([np.where(absent, 0.0, L[:, k, :k])[:, None], solved], axis=1)
    for j in range(k - 1, -1, -1):
        both[:, :, j] /= L[:, j, j, None]
        both[:, :, :j] -= both[:, :, j, None] * L[:, None, j, :j]
    return Conditionals(both[:, 0], variance, both[:, 1:], int(absent.sum()) - before)
