"""PlainGram: the smallest Gram there is, a stored matrix; the solvers are tested on it and on nothing more."""

import numpy as np


class PlainGram:
    """A plain symmetric matrix with the methods of a Gram, which counts how often it was filled and multiplied."""

    def __init__(self, K):
        self.matrix = np.asarray(K, dtype=float)
        self.n = len(self.matrix)
        self.shape = self.matrix.shape
        self.filled = self.products = 0

    def __repr__(self):
        return f"PlainGram(n={self.n})"

    def __matmul__(self, V):
        self.products += 1
        return self.matrix @ V

    def rows(self, index):
        return self.matrix[np.asarray(index)]

    def diag(self):
        return np.diagonal(self.matrix).copy()

    def dense(self, dtype=np.float64, lower=False):
        self.filled += 1
        out = np.array(self.matrix, dtype=dtype, order="C")
        if lower:  # what lies above the diagonal is not to be read
            out[np.triu_indices(self.n, 1)] = np.nan
        return out


class HugeGram:
    """n rows, and an error for everything else: what only looks at n must not touch the matrix."""

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"HugeGram(n={self.n})"

    def __getattr__(self, name):
        raise AssertionError(f"{name} was used: nothing may be allocated")


def gaussian(X, length=1.0):
    """exp(−‖x − z‖²/(2ℓ²))."""
    s = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-s / (2 * length**2))


def well_conditioned(n, rng):
    """A random positive definite matrix with condition about 10."""
    G = rng.standard_normal((n, n))
    return G @ G.T / max(n, 1) + np.eye(n)
