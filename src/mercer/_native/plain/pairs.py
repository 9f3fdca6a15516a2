"""The loops of pairs.c in NumPy and SciPy."""

import functools

import numpy as np

SQRT3, SQRT5 = 3.0**0.5, 5.0**0.5
PAIRS = 2**16  # near pairs that are done again at once: a block of their differences is no larger than a tile


def _phi(code, s, shape):
    """φ(s)."""
    real = s.dtype.type
    if code == -1:
        return s
    if code == 4:
        return np.exp(real(-shape) * np.log1p(s / real(2.0 * shape)))
    if code == 0:
        return np.exp(real(-0.5) * s)
    r = np.sqrt(s) * real({1: 1.0, 2: SQRT3, 3: SQRT5}[code])
    e = np.exp(-r)
    return e if code == 1 else (1 + r) * e if code == 2 else (1 + r + r * r / 3) * e


def _slope(code, s, shape):
    """φ′(s); 0 where it is infinite."""
    real = s.dtype.type
    if code == 4:
        return real(-0.5) * np.exp(real(-shape - 1.0) * np.log1p(s / real(2.0 * shape)))
    if code == 0:
        return real(-0.5) * np.exp(real(-0.5) * s)
    r = np.sqrt(s) * real({1: 1.0, 2: SQRT3, 3: SQRT5}[code])
    e = np.exp(-r)
    if code == 1:
        return real(-0.5) * np.divide(e, r, out=np.zeros_like(s), where=r > 0)
    return real(-1.5) * e if code == 2 else real(-5.0 / 6.0) * (1 + r) * e


def _totals(code, s, W, shape):
    """(Σ W φ, Σ W ∂φ/∂α); the second is 0 where φ has no shape α."""
    phi = _phi(code, s, shape)
    u = s / s.dtype.type(2.0 * shape)
    return float(np.vdot(W, phi)), float(np.vdot(W, phi * (u / (1 + u) - np.log1p(u)))) if code == 4 else 0.0


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


def radial(code, A, Bt, first, largest, out, shape=1.0):
    """out[i, j] = φ(s), s = min(‖aᵢ − b₍first₊ⱼ₎‖², largest) by differences: exactly 0 for equal rows. Bt is Bᵀ."""
    out[:] = _phi(code, squared(A, Bt[:, first : first + out.shape[1]].T, largest), shape)


def radial_from_product(code, G, aa, bb, A, B, near, largest, shape=1.0):
    """G[i, j] = φ(s), s = aaᵢ + bbⱼ − 2Gᵢⱼ; pairs nearer than near·(aa + bb) are done again by differences."""
    G[:] = _phi(code, _from_product(G, aa, bb, A, B, near, largest)[0], shape)


def _from_product(G, aa, bb, A, B, near, largest):
    """(s, the indices of the pairs that were done again)."""
    scale = aa[:, None] + bb
    s = np.clip(scale - 2 * G, 0, G.dtype.type(largest))
    i, j = np.nonzero(s < G.dtype.type(near) * scale)
    for k in range(0, i.size, PAIRS):
        ik, jk = i[k : k + PAIRS], j[k : k + PAIRS]
        s[ik, jk] = np.square(A[ik] - B[jk]).sum(axis=1)
    return s, (i, j)


def radial_contract(code, A, Bt, first, W, largest, sums, shape=1.0):
    """sums[k] += Σᵢⱼ Wᵢⱼ φ′(s) (aᵢₖ − b₍first₊ⱼ₎ₖ)², by differences; returns (Σ W φ, Σ W ∂φ/∂α)."""
    B = Bt[:, first : first + W.shape[1]].T
    s = squared(A, B, largest)
    V = W * _slope(code, s, shape)
    for k in range(A.shape[1]):
        with np.errstate(over="ignore"):
            squares = np.minimum(np.square(np.subtract.outer(A[:, k], B[:, k])), A.dtype.type(largest))
        sums[k] += np.vdot(V, squares)
    return _totals(code, s, W, shape)


def radial_contract_product(code, G, aa, bb, A, B, near, largest, W, rows, columns, sums, shape=1.0):
    """G ← W ∘ φ′(s) with s from the product; returns (Σ W φ, Σ W ∂φ/∂α). Near pairs go to sums and are 0 in G."""
    s, (i, j) = _from_product(G, aa, bb, A, B, near, largest)
    totals = _totals(code, s, W, shape)
    G[:] = W * _slope(code, s, shape)
    for k in range(0, i.size, PAIRS):
        ik, jk = i[k : k + PAIRS], j[k : k + PAIRS]
        sums += G[ik, jk] @ np.square(A[ik] - B[jk])
    G[i, j] = 0.0
    rows[:] = G.sum(axis=1)
    columns += G.sum(axis=0)
    return totals


def _factors(code, A, Bt, first, n, strength):
    """Yield for each column (f = 1 + aφ(u), aφ/f, −a u φ′(u)/f), u = |a − b|."""
    for k in range(A.shape[1]):
        u = np.abs(np.subtract.outer(A[:, k], Bt[k, first : first + n]))
        if code == 0:
            value = strength * np.exp(-0.5 * u * u)
            slope = u * u * value
        elif code == 1:
            value = strength * np.exp(-u)
            slope = u * value
        else:
            u *= SQRT3
            e = strength * np.exp(-u)
            value, slope = (1 + u) * e, u * u * e
        f = 1 + value
        yield f, value / f, slope / f


def anova(code, A, Bt, first, strength, whole, out):
    """out[i, j] = whole · ∏ₖ (1 + aφ(|aᵢₖ − b₍first₊ⱼ₎ₖ|)), a the strength."""
    out[:] = whole
    for f, _, _ in _factors(code, A, Bt, first, out.shape[1], strength):
        out *= f


def anova_contract(code, A, Bt, first, W, strength, sums):
    """(Σ V, Σ V Σₖ aφₖ/fₖ) with V = W ∘ ∏ₖ fₖ, fₖ = 1 + aφₖ; sums[k] += Σ V (−a u φ′)/fₖ."""
    V, values, slopes = W.copy(), np.zeros(W.shape), []
    for f, value, slope in _factors(code, A, Bt, first, W.shape[1], strength):
        V *= f
        values += value
        slopes.append(slope)
    sums += [np.vdot(V, slope) for slope in slopes]
    return float(V.sum()), float(np.vdot(V, values))


def laplacian(A, Bt, out):
    """out[i, j] = exp(−‖aᵢ − bⱼ‖₁)."""
    out[:] = np.exp(-_cdist()(A, Bt.T, "cityblock").astype(A.dtype, copy=False))


def weighted_abs(V, A, Bt, sums):
    """sums[k] += Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ| for every column k."""
    for k in range(A.shape[1]):
        sums[k] += np.vdot(V, np.abs(np.subtract.outer(A[:, k], Bt[k])))
