"""The loops of pairs.c in NumPy and SciPy."""

import functools

import numpy as np

from mercer._native import operations as op

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


def tree(operations, A, Bt, first, largest, out):
    """out[i, j] = k(aᵢ, b₍first₊ⱼ₎), k a tree of kernels; squared distances are at most ``largest``."""
    out[:] = _steps(operations, A, Bt[:, first : first + out.shape[1]].T, largest)[-1]


def _steps(operations, A, B, largest):
    """The values of each operation."""
    values = []
    for o in operations:
        (a, b), real = _columns(o, A, B), A.dtype.type
        match o["what"]:
            case op.SUM:
                values.append(values[o["left"]] + values[-1])
            case op.PRODUCT:
                values.append(values[o["left"]] * values[-1])
            case op.CONSTANT:
                values.append(np.full((len(A), len(B)), o["scale"], dtype=A.dtype))
            case op.LINEAR:
                values.append(real(o["scale"]) * (a @ b.T))
            case op.ANOVA:
                factors = (1 + real(o["shape"]) * _phi(o["code"], s, 1.0) for s in _squares(a, b, largest))
                values.append(functools.reduce(np.multiply, factors, np.full((len(A), len(B)), o["scale"], A.dtype)))
            case _:
                values.append(real(o["scale"]) * _phi(o["code"], squared(a, b, largest), float(o["shape"])))
    return values


def _columns(o, A, B):
    """What an operation reads of the points."""
    columns = slice(o["first"], o["first"] + o["columns"])
    return A[:, columns], B[:, columns]


def _squares(A, B, largest):
    """Yield (aₖ − bₖ)² of each column, at most ``largest``."""
    for k in range(A.shape[1]):
        with np.errstate(over="ignore"):
            yield np.minimum(np.square(np.subtract.outer(A[:, k], B[:, k])), A.dtype.type(largest))


def tree_contract(operations, A, Bt, first, W, largest, found):
    """Add what the weights W of the values of a tree of kernels give, leaf by leaf: see `PairLoops`."""
    B, table = Bt[:, first : first + W.shape[1]].T, [*operations]
    totals, sums = found[: 2 * len(table)].reshape(-1, 2), found[2 * len(table) :]
    values, weights = _steps(operations, A, B, largest), {len(table) - 1: W}
    for place in range(len(table) - 1, -1, -1):
        o, w = table[place], weights[place]
        left, right = o["left"], place - 1
        if o["what"] == op.SUM:
            weights[left] = weights[right] = w
        elif o["what"] == op.PRODUCT:
            weights[left], weights[right] = w * values[right], w * values[left]
        else:
            totals[place, 0] += np.vdot(w, values[place])
            _pull(o, *_columns(o, A, B), w, values[place], largest, totals[place], sums[o["first"] :])


def _pull(o, a, b, w, v, largest, totals, sums):
    """What the weights w of the values v of one leaf give."""
    code, scale, shape = o["code"], o["scale"], float(o["shape"])
    if o["what"] == op.ANOVA:
        for k, s in enumerate(_squares(a, b, largest)):
            part = w * v * shape / (1 + shape * _phi(code, s, 1.0))
            totals[1] += np.vdot(part, _phi(code, s, 1.0))
            sums[k] += np.vdot(part, -2 * s * _slope(code, s, 1.0))
    if o["what"] not in (op.RADIAL, op.COLUMN):
        return
    s = squared(a, b, largest)
    if code == 4:
        u = s / s.dtype.type(2.0 * shape)
        totals[1] += np.vdot(w, v * (u / (1 + u) - np.log1p(u)))
    slope = w * (s.dtype.type(-2.0 * scale) * _slope(code, s, shape))
    if o["lengths"] == 1:
        sums[0] += np.vdot(slope, s)
    elif o["lengths"] == 2:
        sums[: a.shape[1]] += [np.vdot(slope, square) for square in _squares(a, b, largest)]


def laplacian(A, Bt, out):
    """out[i, j] = exp(−‖aᵢ − bⱼ‖₁)."""
    out[:] = np.exp(-_cdist()(A, Bt.T, "cityblock").astype(A.dtype, copy=False))


def weighted_abs(V, A, Bt, sums):
    """sums[k] += Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ| for every column k."""
    for k in range(A.shape[1]):
        sums[k] += np.vdot(V, np.abs(np.subtract.outer(A[:, k], Bt[k])))
