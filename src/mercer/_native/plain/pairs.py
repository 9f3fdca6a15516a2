"""The loops of pairs.c in NumPy and SciPy."""

import functools

import numpy as np

SQRT3, SQRT5 = 3.0**0.5, 5.0**0.5
PAIRS = 2**16  # near pairs that are done again at once: a block of their differences is no larger than a tile


def _phi(code, s):
    """φ(s)."""
    real = s.dtype.type
    if code == -1:
        return s
    if code == 0:
        return np.exp(real(-0.5) * s)
    r = np.sqrt(s) * real({1: 1.0, 2: SQRT3, 3: SQRT5}[code])
    e = np.exp(-r)
    return e if code == 1 else (1 + r) * e if code == 2 else (1 + r + r * r / 3) * e


def _slope(code, s):
    """φ′(s); 0 where it is infinite."""
    real = s.dtype.type
    if code == 0:
        return real(-0.5) * np.exp(real(-0.5) * s)
    r = np.sqrt(s) * real({1: 1.0, 2: SQRT3, 3: SQRT5}[code])
    e = np.exp(-r)
    if code == 1:
        return real(-0.5) * np.divide(e, r, out=np.zeros_like(s), where=r > 0)
    return real(-1.5) * e if code == 2 else real(-5.0 / 6.0) * (1 + r) * e


@functools.cache
def _cdist():
    """SciPy's distances, imported when they are first needed."""
    from scipy.spatial.distance import cdist

    return cdist


def squared(A, B, largest):
    """min(‖a − b‖², largest)."""
    with np.errstate(over="ignore"):
        S = _cdist()(A, B, "sqeuclidean").astype(A.dtype, copy=False)
    return np.minimum(S, A.dtype.type(largest), out=S)


def radial(code, A, Bt, first, largest, out):
    """out[i, j] = φ(s), s = min(‖aᵢ − b₍first₊ⱼ₎‖², largest) by differences: exactly 0 for equal rows. Bt is Bᵀ."""
    out[:] = _phi(code, squared(A, Bt[:, first : first + out.shape[1]].T, largest))


def radial_from_product(code, G, aa, bb, A, B, near, largest):
    """G[i, j] = φ(s), s = aaᵢ + bbⱼ − 2Gᵢⱼ; pairs nearer than near·(aa + bb) are done again by differences."""
    G[:] = _phi(code, _from_product(G, aa, bb, A, B, near, largest)[0])


def _from_product(G, aa, bb, A, B, near, largest):
    """(s, the indices of the pairs that were done again)."""
    scale = aa[:, None] + bb
    s = np.clip(scale - 2 * G, 0, G.dtype.type(largest))
    i, j = np.nonzero(s < G.dtype.type(near) * scale)
    for k in range(0, i.size, PAIRS):
        ik, jk = i[k : k + PAIRS], j[k : k + PAIRS]
        s[ik, jk] = np.square(A[ik] - B[jk]).sum(axis=1)
    return s, (i, j)


def radial_contract(code, A, Bt, first, W, largest, sums):
    """sums[k] += Σᵢⱼ Wᵢⱼ φ′(s) (aᵢₖ − b₍first₊ⱼ₎ₖ)², by differences; returns Σᵢⱼ Wᵢⱼ φ(s)."""
    B = Bt[:, first : first + W.shape[1]].T
    s = squared(A, B, largest)
    V = W * _slope(code, s)
    for k in range(A.shape[1]):
        with np.errstate(over="ignore"):
            squares = np.minimum(np.square(np.subtract.outer(A[:, k], B[:, k])), A.dtype.type(largest))
        sums[k] += np.vdot(V, squares)
    return float(np.vdot(W, _phi(code, s)))


def radial_contract_product(code, G, aa, bb, A, B, near, largest, W, rows, columns, sums):
    """G ← W ∘ φ′(s) with s from the product; returns Σᵢⱼ Wᵢⱼ φ(s). Near pairs go to sums and are 0 in G."""
    s, (i, j) = _from_product(G, aa, bb, A, B, near, largest)
    total = float(np.vdot(W, _phi(code, s)))
    G[:] = W * _slope(code, s)
    for k in range(0, i.size, PAIRS):
        ik, jk = i[k : k + PAIRS], j[k : k + PAIRS]
        sums += G[ik, jk] @ np.square(A[ik] - B[jk])
    G[i, j] = 0.0
    rows[:] = G.sum(axis=1)
    columns += G.sum(axis=0)
    return total


def laplacian(A, Bt, out):
    """out[i, j] = exp(−‖aᵢ − bⱼ‖₁)."""
    out[:] = np.exp(-_cdist()(A, Bt.T, "cityblock").astype(A.dtype, copy=False))


def weighted_abs(V, A, Bt, sums):
    """sums[k] += Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ| for every column k."""
    for k in range(A.shape[1]):
        sums[k] += np.vdot(V, np.abs(np.subtract.outer(A[:, k], Bt[k])))
