"""Small symmetric matrices among the parameters and inputs of kernels: eigenvalues, and whether one is negative."""

import numpy as np


def eigen(A):
    """(Λ, U) with A = U Λ Uᵀ, ascending; for the few dozen rows that a kernel has."""
    from mercer.solvers.factoring import eigen as found  # where everything is factored; nothing of it knows a kernel

    return found(A)


def semidefinite(A, what, tolerance=1e-9):
    """Return A as a float64 array, checked to be square, finite, symmetric and positive semi-definite."""
    A = np.asarray(A, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{what} must be a square matrix, got shape {A.shape}.")
    if not np.isfinite(A).all():
        raise ValueError(f"{what} has entries that are not finite.")
    largest, off = np.abs(A).max(initial=0.0), np.abs(A - A.T)
    if off.max(initial=0.0) > tolerance * largest:
        i, j = np.unravel_index(np.argmax(off), A.shape)
        raise ValueError(f"{what} must be symmetric; [{i}, {j}] is {A[i, j]:.6g} and [{j}, {i}] is {A[j, i]:.6g}.")
    smallest = eigen(0.5 * (A + A.T))[0].min(initial=0.0)
    if smallest < -tolerance * largest:
        raise ValueError(f"{what} must be positive semi-definite, but its smallest eigenvalue is {smallest:.6g}.")
    return 0.5 * (A + A.T)
