"""Loops over pairs of rows: radial functions and their slopes, and the 1-norm."""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS, _exp, _wide

CODES = {"gaussian": 0, "exponential": 1, "matern32": 2, "matern52": 3}  # φ(s), s a squared distance
RAW = -1  # s itself


@njit(**OPTIONS)
def _phi_row(code, s):
    """Replace a row of squared distances s by φ(s); by itself for the code −1."""
    _wide()
    one, half, third = s.dtype.type(1.0), s.dtype.type(0.5), s.dtype.type(1.0 / 3.0)
    a3, a5 = s.dtype.type(np.sqrt(3.0)), s.dtype.type(np.sqrt(5.0))
    n = s.size
    if code == 0:
        for j in range(n):
            s[j] = _exp(-half * s[j])
    elif code == 1:
        for j in range(n):
            s[j] = _exp(-np.sqrt(s[j]))
    elif code == 2:
        for j in range(n):
            r = a3 * np.sqrt(s[j])
            s[j] = (one + r) * _exp(-r)
    elif code == 3:
        for j in range(n):
            r = a5 * np.sqrt(s[j])
            s[j] = (one + r + third * r * r) * _exp(-r)
    elif code != -1:
        raise ValueError("no compiled loop has this code")


@njit(**OPTIONS)
def radial(code, A, Bt, first, largest, out):
    """out[i, j] = φ(s), s = min(‖aᵢ − b₍first₊ⱼ₎‖², largest) by differences: exactly 0 for equal rows. Bt is Bᵀ.

    The columns go by strips of B that stay in the first-level cache while all rows of A pass.
    """
    _wide()
    m, d = A.shape
    n = out.shape[1]
    strip = max(64, 32768 // (max(d, 1) * out.itemsize) // 64 * 64)
    for j0 in range(0, n, strip):
        j1 = min(j0 + strip, n)
        lo, hi = first + j0, first + j1
        for i in range(m):
            row = out[i, j0:j1]
            width = j1 - j0
            for j in range(width):
                row[j] = A.dtype.type(0.0)
            for q in range(d // 4):  # four columns at once: the row is read and written a quarter as often
                k = 4 * q
                a0, a1, a2, a3 = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
                b0, b1, b2, b3 = Bt[k, lo:hi], Bt[k + 1, lo:hi], Bt[k + 2, lo:hi], Bt[k + 3, lo:hi]
                for j in range(width):
                    t0, t1, t2, t3 = a0 - b0[j], a1 - b1[j], a2 - b2[j], a3 - b3[j]
                    row[j] = row[j] + (t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3)
            for k in range(d // 4 * 4, d):
                a, b = A[i, k], Bt[k, lo:hi]
                for j in range(width):
                    t = a - b[j]
                    row[j] += t * t
            for j in range(width):
                row[j] = min(row[j], largest)
            _phi_row(code, row)


@njit(**OPTIONS)
def radial_from_product(code, G, aa, bb, A, B, near, largest):
    """G[i, j] = φ(s), s = aaᵢ + bbⱼ − 2Gᵢⱼ; pairs nearer than near·(aa + bb) are done again by differences.

    G holds A Bᵀ on entry. Cancellation leaves no correct digit in s of a near pair, so that pair is recomputed:
    equal rows give exactly 0.
    """
    _wide()
    m, n = G.shape
    zero, two = G.dtype.type(0.0), G.dtype.type(2.0)
    for i in range(m):
        row = G[i]
        close = 0
        a = aa[i]
        for j in range(n):
            scale = a + bb[j]
            s = scale - two * row[j]
            close += 1 if s < near * scale else 0
            row[j] = min(max(s, zero), largest)
        if close:
            _differences(row, A[i], B, a, bb, near)
        _phi_row(code, row)


@njit(**OPTIONS)
def _differences(row, a, B, aa, bb, near):
    """Recompute the near pairs of a row of squared distances."""
    for j in range(row.size):
        if row[j] < near * (aa + bb[j]):
            s = row.dtype.type(0.0)
            for k in range(a.size):
                t = a[k] - B[j, k]
                s += t * t
            row[j] = s


# Sums over a row may be taken in any order here: they are contracted, not compared, and a vector holds eight.
SUMS = {**OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**OPTIONS)
def _phi_and_slope_row(code, s, slope):
    """Replace a row of squared distances s by φ(s), and fill ``slope`` with φ′(s), from one exp."""
    _wide()
    one, half, zero = s.dtype.type(1.0), s.dtype.type(0.5), s.dtype.type(0.0)
    a3, a5 = s.dtype.type(np.sqrt(3.0)), s.dtype.type(np.sqrt(5.0))
    c3, c5, third = s.dtype.type(-1.5), s.dtype.type(-5.0 / 6.0), s.dtype.type(1.0 / 3.0)
    n = s.size
    if code == 0:
        for j in range(n):
            e = _exp(-half * s[j])
            s[j] = e
            slope[j] = -half * e
    elif code == 1:
        for j in range(n):
            r = np.sqrt(s[j])
            e = _exp(-r)
            s[j] = e
            slope[j] = -half * e / r if r > zero else zero
    elif code == 2:
        for j in range(n):
            r = a3 * np.sqrt(s[j])
            e = _exp(-r)
            s[j] = (one + r) * e
            slope[j] = c3 * e
    elif code == 3:
        for j in range(n):
            r = a5 * np.sqrt(s[j])
            e = _exp(-r)
            s[j] = (one + r + third * r * r) * e
            slope[j] = c5 * (one + r) * e
    else:
        raise ValueError("no compiled loop has this code")


@njit(**SUMS)
def _weigh(W, s, slope):
    """slope ← W ∘ slope; returns (Σ W ∘ s, Σ slope)."""
    _wide()
    total, whole = s.dtype.type(0.0), s.dtype.type(0.0)
    for j in range(s.size):
        v = W[j] * slope[j]
        total += W[j] * s[j]
        whole += v
        slope[j] = v
    return total, whole


@njit(**SUMS)
def _spread(v, a, b):
    """Σⱼ vⱼ (a − bⱼ)²."""
    _wide()
    total = v.dtype.type(0.0)
    for j in range(v.size):
        t = a - b[j]
        total += v[j] * (t * t)
    return total


@njit(**OPTIONS)
def radial_contract(code, A, Bt, first, W, largest, sums):
    """sums[k] += Σᵢⱼ Wᵢⱼ φ′(s) (aᵢₖ − b₍first₊ⱼ₎ₖ)², by differences; returns Σᵢⱼ Wᵢⱼ φ(s). Bt is Bᵀ."""
    m, d = A.shape
    n = W.shape[1]
    s, slope = np.empty((1, n), dtype=A.dtype), np.empty(n, dtype=A.dtype)
    total = 0.0
    for i in range(m):
        radial(-1, A[i : i + 1], Bt, first, largest, s)
        _phi_and_slope_row(code, s[0], slope)
        part, _ = _weigh(W[i], s[0], slope)
        total += part
        for k in range(d):
            sums[k] += _spread(slope, A[i, k], Bt[k, first : first + n])
    return total


@njit(**OPTIONS)
def radial_contract_product(code, G, aa, bb, A, B, near, largest, W, rows, columns, sums):
    """G ← W ∘ φ′(s) with s from the product as in ``radial_from_product``; returns Σᵢⱼ Wᵢⱼ φ(s).

    rows and columns get the sums of the new G over each row and (added) over each column. Near pairs, for which
    (a − b)² must not be multiplied out, are 0 in G: their Wᵢⱼ φ′(s) (aᵢₖ − bⱼₖ)² are added to sums[k].
    """
    m, n = G.shape
    slope, before = np.empty(n, dtype=G.dtype), np.empty(n, dtype=G.dtype)
    total = 0.0
    radial_from_product(-1, G, aa, bb, A, B, near, largest)
    for i in range(m):
        s, a = G[i], aa[i]
        close = 0
        for j in range(n):
            close += 1 if s[j] < near * (a + bb[j]) else 0
            before[j] = s[j]
        _phi_and_slope_row(code, s, slope)
        if close:
            _near_sums(before, W[i], slope, A[i], B, a, bb, near, sums)
        part, rows[i] = _weigh(W[i], s, slope)
        total += part
        for j in range(n):
            s[j] = slope[j]
            columns[j] += slope[j]
    return total


@njit(**OPTIONS)
def _near_sums(s, W, slope, a, B, aa, bb, near, sums):
    """sums[k] += Wⱼ slopeⱼ (aₖ − bⱼₖ)² for the near pairs of a row, whose slope becomes 0."""
    for j in range(s.size):
        if s[j] < near * (aa + bb[j]):
            v = W[j] * slope[j]
            for k in range(a.size):
                t = a[k] - B[j, k]
                sums[k] += v * (t * t)
            slope[j] = s.dtype.type(0.0)


@njit(**OPTIONS)
def laplacian(A, Bt, out):
    """out[i, j] = exp(−‖aᵢ − bⱼ‖₁). Bt is B transposed."""
    _wide()
    m, d = A.shape
    n = Bt.shape[1]
    for i in range(m):
        row = out[i]
        for j in range(n):
            row[j] = A.dtype.type(0.0)
        for k in range(d):
            a, b = A[i, k], Bt[k]
            for j in range(n):
                row[j] -= abs(a - b[j])
        for j in range(n):
            row[j] = _exp(row[j])


@njit(**SUMS)
def _distances(v, a, b):
    """Σⱼ vⱼ |a − bⱼ|."""
    _wide()
    total = v.dtype.type(0.0)
    for j in range(v.size):
        total += v[j] * abs(a - b[j])
    return total


@njit(**OPTIONS)
def weighted_abs(V, A, Bt, out):
    """out[k] += Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ| for every column k, with no array larger than V."""
    m, d = A.shape
    for i in range(m):
        for k in range(d):
            out[k] += _distances(V[i], A[i, k], Bt[k])
