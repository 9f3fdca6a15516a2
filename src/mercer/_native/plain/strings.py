"""The loops of strings.c in NumPy and SciPy."""

import functools

import numpy as np


def subsequence(x, z, left, right, length, decay, slope):
    """Σ over common subsequences of ``length`` letters of decay^(span in x + span in z), and ∂/∂decay."""
    return by_pairs(lambda a, b: _subsequence(_run(x, a), _run(z, b), length, decay, slope), left, right, slope)


def alignment(x, z, left, right, E, dE, gaps, slope):
    """log of 1 + Σ over local alignments of e^(β score), and its derivative with respect to β."""
    return by_pairs(lambda a, b: _alignment(_run(x, a), _run(z, b), E, dE, gaps), left, right, slope)


def by_pairs(one, left, right, slope):
    """(values, derivatives or None) of the pairs (a, b), one(a, b) at a time."""
    found = np.array([one(a, b) for a, b in zip(left, right, strict=True)]).reshape(-1, 2)
    return np.ascontiguousarray(found[:, 0]), (np.ascontiguousarray(found[:, 1]) if slope else None)


def _run(x, a):
    """The codes of string a."""
    codes, starts, stops = x
    return codes[starts[a] : stops[a]]


@functools.cache
def _lfilter():
    """SciPy's filter, imported when it is first needed."""
    from scipy.signal import lfilter

    return lfilter


def _filtered(G, decay, axis=-1):
    """Each entry with what was before it along the axis, decay, decay², … of it."""
    return _lfilter()([1.0], [1.0, -decay], G, axis=axis) if G.size else G


def _shifted(G, rows, columns):
    """G moved on by so many rows and columns; zeros before it."""
    out = np.zeros_like(G)
    out[rows:, columns:] = G[: len(G) - rows, : G.shape[1] - columns]
    return out


def _subsequence(s, t, length, decay, slope):
    """(k(s, t), ∂k/∂λ): the recursions along both strings are filters with the response λ, λ², …"""
    same = (s[:, None] == t[None]).astype(float)
    P, D = np.ones(same.shape), np.zeros(same.shape)  # within the letters before i and j
    if not same.size:
        return 0.0, 0.0
    for _ in range(length - 1):
        row = _filtered(decay * decay * same * P, decay)
        both = _filtered(row, decay, axis=0)
        if slope:
            d_row = _filtered(same * decay * (2.0 * P + decay * D) + _shifted(row, 0, 1), decay)
            D = _shifted(_filtered(d_row + _shifted(both, 1, 0), decay, axis=0), 1, 1)
        P = _shifted(both, 1, 1)
    total, d_total = float((same * P).sum()), float((same * D).sum())
    return decay * decay * total, decay * (2.0 * total + decay * d_total)


def _alignment(s, t, E, dE, gaps):
    """(log k(s, t), its derivative with respect to β): a row at a time, the recursion along t is a filter."""
    start, d_start, extend, d_extend = gaps
    one, total, d_total, log_scale = 1.0, 1.0, 0.0, 0.0
    M, X, Y, dM, dX, dY = np.zeros((6, len(t) + 1))

    def shifted(G):
        return np.concatenate([[0.0], G[:-1]])

    for letter in s:
        e, de = np.concatenate([[0.0], E[letter, t]]), np.concatenate([[0.0], dE[letter, t]])
        before, d_before = shifted(one + M + X + Y), shifted(dM + dX + dY)
        dX, X = start * dM + d_start * M + extend * dX + d_extend * X, start * M + extend * X
        dM, M = de * before + e * d_before, e * before
        Y = _filtered(start * shifted(M + X), extend)
        dY = _filtered(start * shifted(dM + dX) + d_start * shifted(M + X) + d_extend * shifted(Y), extend)
        total, d_total = total + M.sum(), d_total + dM.sum()
        if total > 1e120:
            one, total, d_total = one * 1e-120, total * 1e-120, d_total * 1e-120
            M, X, Y, dM, dX, dY = (row * 1e-120 for row in (M, X, Y, dM, dX, dY))
            log_scale += 120.0 * np.log(10.0)
    return np.log(total) + log_scale, d_total / total
