"""Many small systems at once: one matrix of a few classes or sweeps for each row."""

import numpy as np


def solve_each(A, B):
    """A⁻¹B for each of a stack of small square matrices.

    Parameters
    ----------
    A : ndarray of shape (..., c, c)
    B : ndarray of shape (..., c, k), or (c,) for a single A
    """
    return np.linalg.solve(A, B)


def roots(S):
    """R with S = R Rᵀ for each of a stack of small symmetric matrices, the largest direction first; below 0 is 0."""
    values, vectors = np.linalg.eigh(S)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])[..., ::-1]


def least_norm(S, b):
    """The shortest x with S x = b for a small symmetric S; eigenvalues below 1e-10 of the largest count as 0."""
    values, vectors = np.linalg.eigh(S)
    kept = np.abs(values) > 1e-10 * np.abs(values).max(initial=0.0)
    return vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept])
