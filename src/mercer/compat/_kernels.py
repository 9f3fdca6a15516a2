"""Kernels by scikit-learn's names, as ours; and two routes from rows to a Gram: by tiles, or as a whole matrix.

A name for which we have a kernel becomes that kernel, and K is evaluated by tiles. A name for which we have none (or
arguments with which it is not positive semi-definite), a function, and a given matrix are whole matrices.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from mercer.compat._base import same_columns
from mercer.gram import DenseGram, TiledGram, apply
from mercer.kernels import Constant, Gaussian, Kernel, Laplacian, Linear, Pairwise, Polynomial, Precomputed, Scaled


def by_name(name, gamma, degree, coef0):
    """The kernel that scikit-learn means by a name, as ours; None where we have no kernel for it."""
    if name == "linear":
        return Linear()
    if name == "cosine":
        return Linear().normalise()
    if name in ("rbf", "laplacian"):
        if gamma == 0:
            return Constant(1.0)
        finite = gamma > 1.0 / np.finfo(np.float64).max  # whether 1/γ is
        if name == "rbf":
            return Gaussian(float(np.sqrt(0.5 / gamma) if finite else np.sqrt(0.5) / np.sqrt(gamma)))
        return Laplacian(1.0 / gamma) if finite else Constant(1.0)  # γ‖x − z‖₁ is 0
    if name in ("poly", "polynomial") and degree >= 1 and degree == int(degree) and coef0 >= 0 and gamma > 0:
        with np.errstate(over="ignore", under="ignore"):
            offset, scale = np.float64(coef0) / gamma, np.float64(gamma) ** degree  # γᵖ(xᵀz + c/γ)ᵖ
        if np.isfinite(offset) and 0 < scale < np.inf:
            return Scaled(Polynomial(int(degree), float(offset)), float(scale))
    return None


@dataclass(frozen=True)
class Tiles:
    """A kernel of ours on rows of numbers; sparse rows are made dense, at prediction a block at a time."""

    kernel: Kernel
    tiled = True  # by a kernel of ours, which is positive semi-definite

    def part(self, X, keep):
        """Some of the training rows."""
        return take_rows(X, keep)

    def gram(self, X):
        """K of the training rows, as a `Gram`."""
        return TiledGram(self.kernel, dense(X))

    def product(self, X, Z, coef):
        """K(X, Z) c for c of shape (len(Z), t)."""
        Z, parts = dense(Z), []
        for part in row_blocks(X, X.shape[1]) if sp.issparse(X) else [X]:
            part = dense(part)
            same_columns(part, Z)
            parts.append(apply(self.kernel, part, Z, coef))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def as_kernel(self):
        """Return the kernel as one of ours, for whoever describes the model."""
        return self.kernel


@dataclass(frozen=True)
class Whole:
    """A function (X, Z) ↦ K(X, Z) of all rows at once; the methods are those of `Tiles`."""

    function: object
    at_once: bool = False  # whether the function must see all new rows in one call
    tiled = False

    def gram(self, X):
        """K of the training rows, as a `Gram`."""
        return DenseGram.from_matrix(square(self.function(X, X), X))

    def product(self, X, Z, coef):
        """K(X, Z) c for c of shape (len(Z), t)."""
        parts = [X] if self.at_once else row_blocks(X, len(coef))
        return np.concatenate([matrix(self.function(part, Z)) @ coef for part in parts])

    def part(self, X, keep):
        """Some of the training rows."""
        return take_rows(X, keep)

    def as_kernel(self):
        """Return the kernel as one of ours."""
        return Pairwise(OfRows(self.function))


@dataclass(frozen=True)
class OfRows:
    """(x, z) ↦ k(x, z) of two rows, by a function of collections of them."""

    function: object

    def __call__(self, x, z):
        one = [np.asarray(row)[None] if isinstance(row, np.ndarray) else [row] for row in (x, z)]
        return float(matrix(self.function(*one))[0, 0])


@dataclass(frozen=True)
class Named:
    """(X, Z) ↦ K(X, Z) by a name of scikit-learn's, or by a function of two rows."""

    metric: object
    params: dict = field(default_factory=dict)

    def __call__(self, X, Z):
        from sklearn.metrics.pairwise import pairwise_kernels

        # the compiled chi2 of scikit-learn refuses arrays that cannot be written to
        X, Z = (A if sp.issparse(A) else np.require(A, requirements="W") for A in (X, Z))
        return pairwise_kernels(X, Z, metric=self.metric, filter_params=not callable(self.metric), **self.params)


def _first(X, Z):
    return X


@dataclass(frozen=True)
class Given(Whole):
    """K(X, Z) is X: the matrix itself was given."""

    function: object = _first

    def part(self, X, keep):
        """Some of the training rows, and their columns."""
        return X[np.ix_(keep, keep)] if len(keep) < len(X) else X

    def as_kernel(self):
        """Return the kernel as one of ours."""
        return Precomputed()


def is_wide(X, shape=None):
    """Whether X, of this shape, is sparse rows with more columns than rows: dense, they take more memory than K."""
    return sp.issparse(X) and np.subtract(*(shape or X.shape)) < 0


def route(name, wide, gamma, degree, coef0):
    """The route for a named kernel: by tiles, except where it has to be, or for wide rows, a whole matrix."""
    kernel = None if wide else by_name(name, gamma, degree, coef0)
    if kernel is not None:
        return Tiles(kernel)
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return Whole(Named(name, {key: value for key, value in given.items() if value is not None}))


def dense(X):
    """Rows as a float64 array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def matrix(K):
    """What a kernel function returned, as a float64 array."""
    return np.ascontiguousarray(dense(K))


def square(K, X):
    """A matrix of training rows, checked: one row for each, finite, symmetric."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    K = matrix(K)
    if K.shape != (n, n):
        raise ValueError(
            f"Precomputed matrix must be a square matrix: one row and one column for each of the {n} rows of X; the "
            f"kernel gave a {' x '.join(map(str, K.shape))} matrix."
        )
    asymmetry = Precomputed().validate(K).asymmetry
    if asymmetry:
        raise ValueError(asymmetry)
    return K


def row_blocks(X, width, entries=2**22):
    """X in parts of so many rows that rows × width is at most so many entries: 32 MB."""
    n, step = X.shape[0] if hasattr(X, "shape") else len(X), max(1, entries // max(1, width))
    return [X] if n <= step else [X[i : i + step] for i in range(0, n, step)]


def take_rows(X, index):
    """Rows of an array, a sparse array, a data frame or a list; X itself where they are all."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return X if len(index) == n else _safe_indexing(X.tocsr() if sp.issparse(X) else X, index)
