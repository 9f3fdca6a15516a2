"""Cholesky with pivoting: K ≈ L Lᵀ with L of n × r, for a K that may be singular."""

import numpy as np
from scipy.linalg.lapack import dpstrf

from mercer._machine import check_memory


def pivoted_cholesky(K, tol=None, memory=None):
    """K = L Lᵀ, L[pivots] lower triangular: stops when every remaining pivot is below tol · max k(x, x).

    Parameters
    ----------
    K : Gram
    tol : float, default=None
        Relative; None is n times the unit roundoff.
    memory : float, default=None
        Bytes that may be used.

    Returns
    -------
    L : ndarray of shape (n, r)
    pivots : ndarray of shape (r,)
    info : dict
        ``condition``: ratio of the largest to the smallest pivot, a lower bound of the condition of K[pivots, pivots].
    """
    n = K.n
    check_memory(2 * 8 * n * n, "KernelInterpolator", memory)
    largest = K.diag().max(initial=0.0)
    tol = n * np.finfo(float).eps if tol is None else tol
    if largest == 0.0:  # K = 0: only f = 0 is there
        return np.zeros((n, 0)), np.zeros(0, dtype=int), {"condition": 1.0}
    factor, order, rank, _ = dpstrf(K.dense().T, tol=tol * largest, lower=1, overwrite_a=1)
    order = order - 1
    L = np.zeros((n, rank))
    L[order] = np.tril(factor)[:, :rank]
    pivots = np.diagonal(factor)[:rank] ** 2
    return L, order[:rank], {"condition": float(pivots.max() / pivots.min())}
