"""Radial functions of the distances of two sets of rows, their derivatives, and the sum norm: pairs.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address, by_rows, stride

CODES = {"gaussian": 0, "exponential": 1, "matern32": 2, "matern52": 3, "rationalquadratic": 4}  # φ(s)
RAW = -1  # s itself, a squared distance
ANOVA_STRIP = 128  # as in pairs.h: columns that the contraction of an Anova kernel has in its work space


class PairLoops:
    """The compiled functions of pairs.c; their twins in NumPy are in ``plain.pairs``. Bt is Bᵀ, of the dtype of A."""

    def __init__(self, library):
        matrix = (POINTER, INT)
        self._radial = library.functions("radial", INT, REAL, INT, INT, INT, *matrix, *matrix, REAL, *matrix)
        product = (INT, REAL, INT, INT, INT, *matrix, POINTER, POINTER, *matrix, *matrix, REAL, REAL)
        self._radial_from_product = library.functions("radial_from_product", *product)
        self._radial_contract = library.functions(
            "radial_contract", INT, REAL, INT, INT, INT, *matrix, *matrix, *matrix, REAL, POINTER, POINTER, POINTER
        )
        self._radial_contract_product = library.functions(
            "radial_contract_product", *product, *matrix, POINTER, POINTER, POINTER, POINTER, POINTER
        )
        self._anova = library.functions("anova", INT, INT, INT, INT, *matrix, *matrix, REAL, REAL, *matrix)
        self._anova_contract = library.functions(
            "anova_contract", INT, INT, INT, INT, *matrix, *matrix, *matrix, REAL, POINTER, POINTER, POINTER
        )
        self._laplacian = library.functions("laplacian", INT, INT, INT, *matrix, *matrix, *matrix)
        self._weighted_abs = library.functions("weighted_abs", INT, INT, INT, *matrix, *matrix, *matrix, POINTER)

    def radial(self, code, A, Bt, first, largest, out, shape=1.0):
        """out[i, j] = φ(s), s = min(‖aᵢ − b₍first₊ⱼ₎‖², largest) by differences: exactly 0 for equal rows."""
        (m, d), n = A.shape, out.shape[1]
        failed = self._radial[A.dtype](
            code, shape, m, d, n, address(A), A.strides[0] // A.itemsize, address(Bt, first),
            Bt.strides[0] // Bt.itemsize, largest, address(out), out.strides[0] // out.itemsize,
        )  # fmt: skip
        if failed:
            _refuse(code)

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
            _refuse(code)

    def radial_contract(self, code, A, Bt, first, W, largest, sums, shape=1.0):
        """sums[k] += Σᵢⱼ Wᵢⱼ φ′(s) (aᵢₖ − b₍first₊ⱼ₎ₖ)², by differences; returns (Σ W φ, Σ W ∂φ/∂α)."""
        W, work, totals = by_rows(W), np.empty(2 * W.shape[1], dtype=A.dtype), np.zeros(2)
        failed = self._radial_contract[A.dtype](
            code, shape, *A.shape, W.shape[1], address(A), A.strides[0] // A.itemsize, address(Bt, first),
            Bt.strides[0] // Bt.itemsize, address(W), W.strides[0] // W.itemsize, largest, address(work), address(sums),
            address(totals),
        )  # fmt: skip
        if failed:
            _refuse(code)
        return float(totals[0]), float(totals[1])

    def radial_contract_product(self, code, G, aa, bb, A, B, near, largest, W, rows, columns, sums, shape=1.0):
        """G ← W ∘ φ′(s) with s from the product as in ``radial_from_product``; returns (Σ W φ, Σ W ∂φ/∂α).

        rows and columns get the sums of the new G over each row and (added) over each column. Near pairs, for which
        (a − b)² must not be multiplied out, are 0 in G: their Wᵢⱼ φ′(s) (aᵢₖ − bⱼₖ)² are added to sums[k].
        """
        (m, n), W, totals = G.shape, by_rows(W), np.zeros(2)
        work = np.empty(2 * n, dtype=G.dtype)
        failed = self._radial_contract_product[G.dtype](
            code, shape, m, A.shape[1], n, address(G), stride(G), address(aa), address(bb), address(A), stride(A),
            address(B), stride(B), near, largest, address(W), stride(W), address(work), address(rows),
            address(columns), address(sums), address(totals),
        )  # fmt: skip
        if failed:
            _refuse(code)
        return float(totals[0]), float(totals[1])

    def anova(self, code, A, Bt, first, strength, whole, out):
        """out[i, j] = whole · ∏ₖ (1 + aφ(|aᵢₖ − b₍first₊ⱼ₎ₖ|)), a the strength."""
        failed = self._anova[A.dtype](
            code, *A.shape, out.shape[1], address(A), stride(A), address(Bt, first), stride(Bt),
            strength, whole, address(out), stride(out),
        )  # fmt: skip
        if failed:
            _refuse(code)

    def anova_contract(self, code, A, Bt, first, W, strength, sums):
        """(Σ V, Σ V Σₖ aφₖ/fₖ) with V = W ∘ ∏ₖ fₖ, fₖ = 1 + aφₖ; sums[k] += Σ V (−a u φ′)/fₖ."""
        W, totals = by_rows(W), np.zeros(2)
        work = np.empty(ANOVA_STRIP * (A.shape[1] + 1), dtype=A.dtype)
        failed = self._anova_contract[A.dtype](
            code, *A.shape, W.shape[1], address(A), stride(A), address(Bt, first), stride(Bt),
            address(W), stride(W), strength, address(work), address(sums), address(totals),
        )  # fmt: skip
        if failed:
            _refuse(code)
        return float(totals[0]), float(totals[1])

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


def _refuse(code):
    """Raise for a code that no loop has."""
    raise ValueError(f"no φ has the code {code}; expected one of {sorted([RAW, *CODES.values()])}.")
