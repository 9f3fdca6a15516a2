"""Counts: Tanimoto and min-max on rows of counts, dense or sparse, and Tanimoto of any other kernel."""

import numpy as np
from scipy import sparse

from mercer._state import check
from mercer.kernels.base import UnitDiagonal
from mercer.kernels.conversion import as_vectors, refuse_entries
from mercer.kernels.inputs import Compared


class SparseRows:
    """Rows of a sparse matrix as a collection of inputs.

    Parameters
    ----------
    matrix : sparse array of shape (n, d), in CSR form
    """

    def __init__(self, matrix):
        self.matrix = matrix

    def __len__(self):
        return self.matrix.shape[0]

    def __getitem__(self, chosen):
        """Return the chosen rows (a slice, integers or a mask) as a collection."""
        return SparseRows(self.matrix[chosen if isinstance(chosen, slice) else np.atleast_1d(chosen)])

    def state(self):
        """{name: value} by public names: what a file keeps."""
        return {"matrix": self.matrix}

    @classmethod
    def from_state(cls, state):
        """Return the rows that had this state."""
        check(state, {"matrix": sparse.csr_array}, "SparseRows")
        if state["matrix"].dtype != np.float64:
            raise ValueError("sparse rows are float64.")
        return cls(state["matrix"])

    def __repr__(self):
        return f"SparseRows({self.matrix.shape[0]} rows, {self.matrix.shape[1]} columns)"


class CountRows(UnitDiagonal):
    """A kernel on rows of numbers, dense or sparse (any scipy.sparse format)."""

    reads = "number"
    domain = "objects"  # so that sparse matrices come through; dense ones are checked as vectors are

    def validate(self, X):
        """X as float rows, dense or `SparseRows`."""
        who = type(self).__name__
        if isinstance(X, SparseRows):
            return X
        if not sparse.issparse(X):
            X = as_vectors(X, who)
            refuse_entries(~np.isfinite(X), X, f"{who}: X")
            return X
        if X.ndim != 2 or X.dtype.kind not in "buif":
            raise ValueError(f"{who}: expected a 2-D sparse matrix of real numbers, got {X.ndim}-D of dtype {X.dtype}.")
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        if not np.isfinite(X.data).all():
            raise ValueError(f"{who}: {np.count_nonzero(~np.isfinite(X.data))} entries of X are not finite.")
        return SparseRows(X)

    def _pair(self, X, Z):
        """(X, Z) both dense or both sparse arrays; the number of columns must agree."""
        if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
            A, B = X, Z
        else:
            A, B = (V.matrix if isinstance(V, SparseRows) else sparse.csr_array(V, dtype=np.float64) for V in (X, Z))
            B = A if Z is X else B
        if A.shape[1] != B.shape[1]:
            raise ValueError(f"{type(self).__name__}: X has {A.shape[1]} columns and Z {B.shape[1]}; they must agree.")
        return A, B


def _squares(A):
    """‖a‖² of every row."""
    return np.einsum("ij,ij->i", A, A) if isinstance(A, np.ndarray) else np.asarray(A.multiply(A).sum(axis=1)).ravel()


def _divide_or_one(part, whole):
    """part/whole in place of part; 1 where the whole is 0, as for two rows without counts."""
    empty = whole <= 0
    np.divide(part, whole, out=part, where=~empty)  # what is not a number stays so
    part[empty] = 1.0
    return part


class Tanimoto(CountRows):
    """k(x, z) = xᵀz/(‖x‖² + ‖z‖² − xᵀz): for sets of bits, what both have divided by what one of them has.

    1/(a + b − c) = ∫₀^∞ e^(−ta) e^(−tb) e^(tc) dt, so it is positive semi-definite for all real rows, not for bits and
    counts only. Two rows of zeros have k = 1, one such row and another k = 0.

    Examples
    --------
    >>> from mercer.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1]], [[1, 1, 1, 0], [0, 0, 0, 0]])
    array([[0.5, 0. ]])
    """

    def tiles(self, X, Z):
        """From products of the rows."""
        A, B = self._pair(X, Z)
        a, b = _squares(A), _squares(B)

        def tile(i, j):
            K = A[i] @ B[j].T
            K = K if isinstance(K, np.ndarray) else K.toarray()
            return _divide_or_one(K, (a[i][:, None] + b[j]) - K)

        return tile


class MinMax(CountRows):
    """k(x, z) = Σⱼ min(xⱼ, zⱼ) / Σⱼ max(xⱼ, zⱼ) for counts >= 0: `Tanimoto` of sets in which a member may repeat.

    Two rows of zeros have k = 1, one such row and another k = 0.

    Examples
    --------
    >>> from mercer.kernels import MinMax
    >>> MinMax()([[2, 0, 1]], [[1, 1, 1]])
    array([[0.5]])
    """

    def validate(self, X):
        """X as float rows, checked to be >= 0."""
        X = super().validate(X)
        A = X.matrix.data if isinstance(X, SparseRows) else X
        if A.min(initial=0.0) < 0:
            row = X.matrix.nonzero()[0][A < 0][0] if isinstance(X, SparseRows) else np.argwhere(A < 0)[0][0]
            raise ValueError(f"MinMax: counts must be >= 0; row {row} has {A.min():.4g} as the smallest.")
        return X

    def tiles(self, X, Z):
        """From |x − z| for dense rows, from products of unary codes for sparse ones."""
        A, B = self._pair(X, Z)
        a, b = np.asarray(A.sum(axis=1)).ravel(), np.asarray(B.sum(axis=1)).ravel()
        if isinstance(A, np.ndarray):

            def tile(i, j):
                D, S = _city_block(A[i], B[j]), a[i][:, None] + b[j]
                return _divide_or_one(S - D, S + D)

            return tile
        U, V = _unary(A, B)

        def tile(i, j):
            K = (U[i] @ V[j].T).toarray()
            return _divide_or_one(K, (a[i][:, None] + b[j]) - K)

        return tile


def _city_block(A, B):
    """Σₖ |aᵢₖ − bⱼₖ|."""
    from scipy.spatial.distance import cdist

    return cdist(A, B, "cityblock").astype(A.dtype, copy=False)


def _unary(A, B):
    """U and V with (UVᵀ)ᵢⱼ = Σₖ min(aᵢₖ, bⱼₖ): a number v is written as a one for each step up to v, in both alike.

    Steps are the different values of a column, each weighted by the root of its height: whole counts or not.
    """
    both = [M.tocoo() for M in (A, B)]
    column = np.concatenate([M.coords[1] for M in both])
    value = np.concatenate([M.data for M in both])
    kept = value > 0
    pairs, step = np.unique(np.stack([column[kept], value[kept]]), axis=1, return_inverse=True)
    fresh = np.concatenate([[True], pairs[0, 1:] != pairs[0, :-1]])[: pairs.shape[1]]  # the first step of a column
    height = np.diff(pairs[1], prepend=0.0)
    height[fresh] = pairs[1, fresh]
    first = np.maximum.accumulate(np.where(fresh, np.arange(pairs.shape[1]), 0))
    out, used, kept_used = [], 0, 0
    for M in both:
        mask = kept[used : used + M.nnz]
        last = step.ravel()[kept_used : kept_used + mask.sum()]
        count = last - first[last] + 1
        ends = np.cumsum(count)
        steps = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - count, count) + np.repeat(first[last], count)
        rows = np.repeat(M.coords[0][mask], count)
        out.append(sparse.csr_array((np.sqrt(height[steps]), (rows, steps)), shape=(M.shape[0], pairs.shape[1])))
        used, kept_used = used + M.nnz, kept_used + int(mask.sum())
    return out


class TanimotoOf(Compared):
    """k(x, z)/(k(x, x) + k(z, z) − k(x, z)): Tanimoto in the feature space of any kernel k.

    On a kernel that counts (k-mers of strings, subtrees of graphs, environments of atoms) it is `Tanimoto` of the
    counts. Positive semi-definite if k is. Two inputs without a feature have value 1.

    Parameters
    ----------
    base : Kernel
        k, a kernel whose values are compared: shared over all, k(x, z) / (k(x, x) + k(z, z) − k(x, z)).

    Examples
    --------
    >>> from mercer.kernels import Spectrum, TanimotoOf
    >>> TanimotoOf(Spectrum(2))(["CCO", "CCN"]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """

    parts = ("base",)
    noun = "a comparison"

    def __init__(self, base): ...

    def _phrase(self, place):
        return f"a function of {self.counts()}{place.where()}" if self.counts() else super()._phrase(place)

    def _value(self, K, a, b):
        return _divide_or_one(K, (a + b) - K)

    def _pull_back(self, W, K, a, b):
        """Of u/(a + b − u): (a + b, −u, −u)/(a + b − u)²."""
        size = (a + b) - K
        V = np.divide(W, size**2, out=np.zeros(K.shape), where=size > 0)
        lost = V * K
        return V * (a + b), -lost.sum(axis=1), -lost.sum(axis=0)
