"""CountKernel: k(x, z) = φ(x)ᵀφ(z) for sparse counts φ, keyed by 64-bit hashes. Strings, graphs and molecules use it.

A kernel has no vocabulary of its own: each collection is counted once, and the columns of two collections are matched
by key when their tiles are asked for. Hashes are fixed functions of the content, the same in every process; two
different keys among a million coincide with probability 3e-8.
"""

from abc import abstractmethod

import numpy as np
from scipy import sparse

from mercer.kernels.base import result_dtype
from mercer.kernels.objects.collection import ObjectKernel

_ODD = np.uint64(0x9E3779B97F4A7C15)


# ---------------------------------------------------------------------- hashes
def mix(keys):
    """Scramble 64-bit keys, one to one (the finaliser of splitmix64)."""
    keys = np.atleast_1d(np.asarray(keys)).astype(np.uint64) + _ODD
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def combine(keys, more):
    """The key of a sequence that ends with ``more``: order matters."""
    return mix(np.atleast_1d(keys) * _ODD + mix(more))


# ---------------------------------------------------------------------- sparse counts
class Counts:
    """Sparse counts C₀, C₁, … (levels) of n inputs in common columns; a part shares the columns of the whole.

    Parameters
    ----------
    levels : list of sparse arrays of shape (n, V)
    keys : ndarray of shape (V,) of uint64
        What each column counts, ascending.
    """

    def __init__(self, levels, keys):
        self.levels, self.keys = levels, keys

    @classmethod
    def build(cls, n, parts):
        """Sum up triplets: ``parts`` has (rows, keys) or (rows, keys, values) for each level."""
        rows = [np.asarray(part[0], dtype=np.int64) for part in parts]
        every = [np.asarray(part[1], dtype=np.uint64) for part in parts]
        keys, column = np.unique(np.concatenate([*every, np.zeros(0, np.uint64)]), return_inverse=True)
        levels, used = [], 0
        for part, row in zip(parts, rows, strict=True):
            values = np.asarray(part[2], dtype=float) if len(part) > 2 else np.ones(len(row))
            where = column[used : used + len(row)]
            levels.append(sparse.coo_array((values, (row, where)), shape=(n, len(keys))).tocsr())
            used += len(row)
        return cls(levels, keys)

    def __getitem__(self, index):
        """The rows of a slice or of an array of indices."""
        return Counts([level[index] for level in self.levels], self.keys)

    def mixed(self, coefficients):
        """Σₛ aₛ Cₛ."""
        total = None
        for a, level in zip(coefficients, self.levels, strict=True):
            if a:
                total = a * level if total is None else total + a * level
        return sparse.csr_array(self.levels[0].shape) if total is None else total


def common_columns(A, keys_A, B, keys_B):
    """A and B in the columns that both have."""
    if keys_A is keys_B:
        return A, B
    _, a, b = np.intersect1d(keys_A, keys_B, assume_unique=True, return_indices=True)
    return A[:, a], B[:, b]


def products(A, B, dense=0.05):
    """t with t(i, j) = A[i] B[j]ᵀ: dense for columns that a share ``dense`` of the rows have, else sparse."""
    rows, columns = A.shape[0] + B.shape[0], A.shape[1]
    used = np.bincount(A.indices, minlength=columns) + np.bincount(B.indices, minlength=columns)
    common = used > dense * rows
    left = A[:, common].toarray()
    right = left if B is A else B[:, common].toarray()
    if common.all():
        return lambda i, j: left[i] @ right[j].T
    rare_left = A[:, ~common]
    rare_right = rare_left if B is A else B[:, ~common]

    def tile(i, j):
        K = (rare_left[i] @ rare_right[j].T).toarray()
        K += left[i] @ right[j].T
        return K

    return tile


# ---------------------------------------------------------------------- the kernel
class CountKernel(ObjectKernel):
    """k(x, z) = φ(x)ᵀφ(z),  φ = Σₛ aₛ(θ) Cₛ: sparse counts at several levels, weighted by θ.

    A subclass writes ``_read(items)``, which returns `Counts`; and, when the levels are not just added,
    ``_coefficients`` and ``_slopes``. Its discrete parameters are plain arguments of the constructor.
    """

    def _coefficients(self):
        """aₛ, one for each level."""
        return [1.0]

    def _slopes(self):
        """{name: array of shape (p, levels)}: ∂aₛ/∂value for own hyper-parameters."""
        return {}

    def _check_parameters(self):
        super()._check_parameters()
        self._coefficients()

    def features(self, X, like=None):
        """Φ, sparse, of shape (n, V): row i is φ(xᵢ), columns are the keys of X, or of ``like``, in ascending order.

        Parameters
        ----------
        X : collection
            The n inputs to be counted.
        like : collection, default=None
            Whose columns to use: those of the training inputs, for new inputs.
        """
        X = self.validate(X)
        counts = self._prepared(X)
        phi = counts.mixed(self._coefficients())
        if like is None:
            return phi
        keys = self._prepared(self.validate(like)).keys
        _, mine, theirs = np.intersect1d(counts.keys, keys, assume_unique=True, return_indices=True)
        phi = phi[:, mine].tocoo()
        return sparse.csr_array((phi.data, (phi.coords[0], theirs[phi.coords[1]])), shape=(len(X), len(keys)))

    def tiles(self, X, Z):
        """Sparse products of the counts, whose columns are matched once."""
        left, right = self._both(X, Z)
        A = left.mixed(self._coefficients())
        B = A if right is left else right.mixed(self._coefficients())
        return products(*common_columns(A, left.keys, B, right.keys))

    def diag(self, X):
        """‖φ(x)‖²."""
        phi = self._prepared(X).mixed(self._coefficients())
        return np.asarray(phi.multiply(phi).sum(axis=1), dtype=result_dtype(X)).reshape(-1)

    def _grad(self, X, Z, W):
        """Σ W ∂(φ(x)ᵀφ(z)) = ⟨W, ∂Φ(X) Φ(Z)ᵀ + Φ(X) ∂Φ(Z)ᵀ⟩."""
        left, right = self._both(X, Z)
        a = self._coefficients()
        out = {}
        for name, slopes in self._slopes().items():
            values = []
            for slope in np.atleast_2d(slopes):
                total = 0.0
                for one, other in ((slope, a), (a, slope)):
                    A, B = common_columns(left.mixed(one), left.keys, right.mixed(other), right.keys)
                    total += float(np.vdot(W, products(A, B)(slice(None), slice(None))))
                values.append(total)
            out[name] = np.array(values)
        return out


class LevelKernel(CountKernel):
    """k(x, z) = Σₛ wₛ Cₛ(x)ᵀCₛ(z): levels in columns of their own, each with a weight wₛ >= 0.

    ``weights=None`` is the default weights, fixed; given weights are hyper-parameters.
    """

    continuous = ("weights",)

    @property
    def hyper(self):
        """The weights, if they were given."""
        return {} if self.weights is None else {"weights": (1e-5, 1e5)}

    @abstractmethod
    def _n_levels(self):
        """How many levels there are."""

    def _check_parameters(self):
        super()._check_parameters()
        levels = self._n_levels()
        if levels > 101:  # rounds, lengths of words, radii
            raise ValueError(f"{type(self).__name__}: there are {levels:,} levels, more than 101.")

    def _default_weights(self):
        """The weights for None: 1 each."""
        return np.ones(self._n_levels())

    def _weights(self):
        """wₛ, one for each level, checked."""
        if self.weights is None:
            return self._default_weights()
        who, levels = type(self).__name__, self._n_levels()
        w = np.atleast_1d(np.asarray(self.weights, dtype=float))
        if not (np.isfinite(w).all() and (w >= 0).all()):
            raise ValueError(f"{who}: weights must be finite and >= 0, got {self.weights}.")
        if w.shape != (levels,):
            raise ValueError(f"{who}: weights must be {levels} numbers, one for each level, got {self.weights}.")
        return w

    def _coefficients(self):
        return np.sqrt(self._weights())

    def _slopes(self):
        if self.weights is None:
            return {}
        a = self._coefficients()
        return {"weights": np.diag(np.divide(0.5, a, out=np.zeros_like(a), where=a > 0))}
