"""The explicit Mercer feature map of a Gram matrix: φ(x)ᵀφ(z) = k(x, z) on the data."""

import numpy as np

from mercer.gram import DenseGram, apply
from mercer.solvers import Spectral


class EmpiricalFeatureMap:
    """φ(x) = Λ^(−1/2) Uᵀ k_X(x), from K = U Λ Uᵀ; made by `empirical_feature_map`.

    Attributes
    ----------
    kernel : Kernel
    points : collection
        X, the rows whose features are made.
    eigenvalues : ndarray of shape (r,)
        Λ, largest first.
    projection : ndarray of shape (n, r)
        U Λ^(−1/2).
    """

    def __init__(self, kernel, points, eigenvalues, projection):
        self.kernel, self.points = kernel, points
        self.eigenvalues, self.projection = eigenvalues, projection

    def __call__(self, X):
        """Φ(X), of shape (m, r)."""
        return apply(self.kernel, self.kernel.validate(X), self.points, self.projection)

    def __repr__(self):
        return f"EmpiricalFeatureMap({self.kernel!r}, n={len(self.points)}, rank={len(self.eigenvalues)})"


def empirical_feature_map(kernel, X, *, rank=None):
    """φ(x) = Λ^(−1/2) Uᵀ k_X(x)  with  K = U Λ Uᵀ:  φ(xᵢ)ᵀφ(xⱼ) = k(xᵢ, xⱼ) on the data.

    Parameters
    ----------
    kernel : Kernel
    X : collection
        The n inputs whose Gram matrix is taken apart.
    rank : int, default=None
        How many features to keep, those of the largest eigenvalues; None keeps all above rounding.

    Returns
    -------
    EmpiricalFeatureMap
        A function of a collection: usable as ``FeatureMap(phi)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import empirical_feature_map
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 5).reshape(-1, 1)
    >>> phi = empirical_feature_map(Gaussian(0.5), X)
    >>> bool(np.allclose(phi(X) @ phi(X).T, Gaussian(0.5)(X)))
    True
    """
    K = DenseGram(kernel, kernel.validate(X))
    spectrum = Spectral().resolvent(K)
    e, U = spectrum.eigenvalues[::-1], spectrum.eigenvectors[:, ::-1]
    keep = int(np.count_nonzero(e > K.n * np.finfo(float).eps * max(e[0], 0.0)))
    if rank is not None:
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}.")
        keep = min(keep, rank)
    e = e[:keep].copy()
    return EmpiricalFeatureMap(kernel, K.source.X, e, U[:, :keep] / np.sqrt(e))
