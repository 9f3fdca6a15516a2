"""Pivots drawn at random: a partial Cholesky factor of K whose next pivot is drawn by what is left of the diagonal.

Chen, Epperly, Tropp and Webber, "Randomly pivoted Cholesky"; in blocks by rejection after Epperly, Tropp and Webber,
"Embrace rejection": a block is proposed by the diagonal as it was, and each of its rows kept with the probability that
the kept ones before it leave it. The order is that of the method row by row, at the speed of matrix products.
"""

import numpy as np
from scipy.linalg import solve_triangular

BLOCK = 256  # rows that are proposed at once, at most
TOLERANCE = 1e-6  # of the largest k(x, x): below it a pivot is rounding


def random_pivots(K, m, rng, *, order=None, tol=TOLERANCE, dtype=np.float64):
    """(pivots, left): m rows of a Gram and what they leave of its diagonal; fewer where nothing is left.

    Parameters
    ----------
    K : Gram
        Asked for ``diag``, ``rows`` and ``restrict`` only.
    m : int
    rng : numpy.random.Generator
    order : ndarray of int, default=None
        Rows to be taken one after the other instead of drawn; those that the ones before explain are left out.
    tol : float, default=1e-6
        Of the largest entry of the diagonal: the least that a pivot must have left.
    dtype : {float64, float32}
        Of the factor.

    Returns
    -------
    pivots : ndarray of int
        In the order of their choice.
    left : ndarray of shape (n,)
        k(x, x) − ‖L⁻¹k(x)‖².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.rpcholesky import random_pivots
    >>> K = TiledGram(Gaussian(), np.array([[0.0], [0.0], [3.0]]))
    >>> pivots, left = random_pivots(K, 3, np.random.default_rng(0))
    >>> len(pivots), bool(left.max() < 1e-12)
    (2, True)
    """
    left = K.diag()
    floor = tol * float(left.max(initial=0.0))
    m = min(m, K.n)
    F, found, at = np.empty((m, K.n), dtype=dtype), np.empty(0, dtype=np.int64), 0
    while len(found) < m and left.max(initial=0.0) > floor:
        k = len(found)
        size = min(BLOCK, max(8, k))
        if order is None:
            total = np.cumsum(left)
            proposed = np.searchsorted(total, rng.random(size) * total[-1], side="right").clip(max=K.n - 1)
            chance = rng.random(size)
        else:
            proposed, chance, at = order[at : at + size], np.zeros(size), at + size
            if not len(proposed):
                break
        # the block once more, as a matrix: what is left of it says which rows stay
        H = np.asarray(K.restrict(proposed).dense(), dtype=float)
        H -= (F[:k, proposed].T @ F[:k, proposed]).astype(float)
        stay, T = _kept(H, left[proposed], chance, floor, m - k)
        if not len(
            stay
        ):  # H is as it was: what is left, without the rounding of the sums, or they are proposed for ever
            left[proposed] = np.where(H.diagonal() > floor, H.diagonal(), 0.0)
            continue
        new = proposed[stay]
        rows = F[:k, new].T @ F[:k]
        np.subtract(K.rows(new), rows, out=rows, casting="same_kind")
        part = F[k : k + len(new)]
        np.matmul(solve_triangular(T, np.eye(len(T)), lower=True, check_finite=False).astype(dtype), rows, out=part)
        left -= np.einsum("ij,ij->j", part, part)
        np.maximum(left, 0.0, out=left)
        found = np.append(found, new)
        left[found] = 0.0
    return found, left


def _kept(H, before, chance, floor, most):
    """(positions, triangle) of the rows of a block that stay, by what those before them leave."""
    stay, columns = [], []
    for j in range(len(H)):
        if len(stay) < most and H[j, j] > floor and chance[j] * before[j] < H[j, j]:
            column = H[:, j] / np.sqrt(H[j, j])
            H -= np.multiply.outer(column, column)
            stay.append(j)
            columns.append(column)
    stay = np.array(stay, dtype=np.int64)
    return stay, np.tril(np.array(columns).T[stay]) if len(stay) else np.zeros((0, 0))
