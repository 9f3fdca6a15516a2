"""Radial functions of the distances of two sets of rows, their derivatives, and the sum norm: pairs.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address, by_rows, stride

CODES = {"gaussian": 0, "exponential": 1, "matern32": 2, "matern52": 3, "rationalquadratic": 4}  # φ(s)
RAW = -1  # s itself, a squared distance
LINE = 16  # numbers of a line of the cache, at most: work space begins with a line


class PairLoops:
    """The compiled functions of pairs.c; their twins in NumPy are in ``plain.pairs``. Bt is Bᵀ, of the dtype of A."""

    def __init__(self, library):
        matrix = (POINTER, INT)
        both = (INT, POINTER, INT, INT, *matrix, *matrix, INT, REAL, INT, POINTER)
        self._tree = library.functions("tree", *both, *matrix)
        self._tree_contract = library.functions("tree_contract", *both, *matrix, POINTER)
        product = (INT, REAL, INT, INT, INT, *matrix, POINTER, POINTER, *matrix, *matrix, REAL, REAL)
        self._radial_from_product = library.functions("radial_from_product", *product)
        self._radial_contract_product = library.functions(
            "radial_contract_product", *product, *matrix, POINTER, POINTER, POINTER, POINTER, POINTER
        )
        self._laplacian = library.functions("laplacian", INT, INT, INT, *matrix, *matrix, *matrix)
        self._weighted_abs = library.functions("weighted_abs", INT, INT, INT, *matrix, *matrix, *matrix, POINTER)

    def tree(self, operations, A, Bt, first, largest, out):
        """out[i, j] = k(aᵢ, b₍first₊ⱼ₎), k a tree of kernels; squared distances are at most ``largest``.

        Where Bt has more columns than are asked for, up to a whole line of the cache, they are read: finite numbers.
        """
        width = operations.width
        work = np.empty((operations.count + 1) * width + LINE, dtype=A.dtype)
        failed = self._tree[A.dtype](
            operations.count, operations.table, *out.shape, address(A), A.strides[0] // A.itemsize,
            address(Bt, first), Bt.strides[0] // Bt.itemsize, Bt.shape[1] - first, largest, width,
            address(work), address(out), out.strides[0] // out.itemsize,
        )  # fmt: skip
        if failed:
            _refuse()

    def tree_contract(self, operations, A, Bt, first, W, largest, found):
        """Add what the weights W of the values of a tree of kernels give, leaf by leaf.

        With v the values of a leaf and w its weights (W times its cofactor): found[2 leaf:] begins with Σ w v and
        Σ w ∂v/∂shape; after those of all operations comes Σ w ∂v/∂log ℓ of each column, for one length in the first.
        """
        width, W = operations.width, by_rows(W)
        work = np.empty((operations.strips + 1) * width + LINE, dtype=A.dtype)
        failed = self._tree_contract[A.dtype](
            operations.count, operations.table, *W.shape, address(A), A.strides[0] // A.itemsize,
            address(Bt, first), Bt.strides[0] // Bt.itemsize, Bt.shape[1] - first, largest, width,
            address(work), address(W), W.strides[0] // W.itemsize, address(found),
        )  # fmt: skip
        if failed:
            _refuse()

    def radial_from_product(self, code, G, aa, bb, A, B, near, largest, shape=1.0):
        """G[i, j] = φ(s), s = aaᵢ + bbⱼ − 2Gᵢⱼ; pairs nearer than near·(aa + bb) are done again by differences.

        G holds A Bᵀ on entry.
        """
        m, n = G.shape
        failed = self._radial_from_product[G.dtype](
            code, shape, m, A.shape[1], n, address(G), stride(G), address(aa), address(bb), address(A), stride(A),
            address(B), stride(B), near, largest,
        )  # fmt: skip
        if failed:
            _refuse()

    def radial_contract_product(self, code, G, aa, bb, A, B, near, largest, W, rows, columns, sums, shape=1.0):
        """G ← W ∘ φ′(s) with s from the product as in ``radial_from_product``; returns (Σ W φ, Σ W ∂φ/∂α).

        rows and columns get the sums of the new G over each row and (added) over each column. Near pairs, for which
        (a − b)² must not be multiplied out, are 0 in G: their Wᵢⱼ φ′(s) (aᵢₖ − bⱼₖ)² are added to sums[k].
        """
        (m, n), W, totals = G.shape, by_rows(W), np.zeros(2)
        work = np.empty(3 * n, dtype=G.dtype)
        failed = self._radial_contract_product[G.dtype](
            code, shape, m, A.shape[1], n, address(G), stride(G), address(aa), address(bb), address(A), stride(A),
            address(B), stride(B), near, largest, address(W), stride(W), address(work), address(rows),
            address(columns), address(sums), address(totals),
        )  # fmt: skip
        if failed:
            _refuse()
        return totals

    def laplacian(self, A, Bt, out):
        """out[i, j] = exp(−‖aᵢ − bⱼ‖₁)."""
        m, n = out.shape
        self._laplacian[A.dtype](
            m, A.shape[1], n, address(A), stride(A), address(Bt), stride(Bt), address(out), stride(out)
        )

    def weighted_abs(self, V, A, Bt, sums):
        """sums[k] += Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ| for every column k, with no array larger than V."""
        V, (m, n) = by_rows(V), V.shape
        self._weighted_abs[A.dtype](
            m, A.shape[1], n, address(V), stride(V), address(A), stride(A), address(Bt), stride(Bt), address(sums)
        )


def _refuse():
    """Raise for a code that no loop has."""
    raise ValueError(f"no such φ; its code must be one of {sorted([RAW, *CODES.values()])}.")
