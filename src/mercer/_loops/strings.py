"""Dynamic programmes over pairs of strings: common subsequences, and the sum over local alignments.

Strings are runs of one array of codes: ``x[xs[a] : xe[a]]`` is string a. Pair p is (left[p], right[p]); its value goes
to out[p], and the derivative with respect to the one continuous parameter to slope[p] (an empty ``slope`` skips it).
"""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS

LARGE, SMALL = 1e120, 1e-120  # a sum beyond LARGE is taken down by SMALL, and the logarithm remembers


@njit(**OPTIONS)
def subsequence(x, xs, xe, z, zs, ze, left, right, length, decay, out, slope):
    """Σ over common subsequences of ``length`` letters of decay^(span in x + span in z), pair by pair."""
    widest_x, widest_z = np.max(xe - xs) + 1, np.max(ze - zs) + 1
    P, Q = np.empty((widest_x, widest_z)), np.empty((widest_x, widest_z))
    wanted = slope.size > 0
    size_x, size_z = (widest_x, widest_z) if wanted else (1, 1)
    dP, dQ = np.empty((size_x, size_z)), np.empty((size_x, size_z))
    for p in range(left.size):
        s, t = x[xs[left[p]] : xe[left[p]]], z[zs[right[p]] : ze[right[p]]]
        m, n = s.size, t.size
        P[: m + 1, : n + 1] = 1.0
        if wanted:
            dP[: m + 1, : n + 1] = 0.0
        for _ in range(length - 1):
            if wanted:
                _longer_both(s, t, decay, P, Q, dP, dQ)
                dP, dQ = dQ, dP
            else:
                _longer(s, t, decay, P, Q)
            P, Q = Q, P
        total, d_total = 0.0, 0.0
        for i in range(m):
            for j in range(n):
                if s[i] == t[j]:
                    total += P[i, j]
                    if wanted:
                        d_total += dP[i, j]
        out[p] = decay * decay * total
        if wanted:
            slope[p] = decay * (2.0 * total + decay * d_total)


@njit(**OPTIONS)
def _longer(s, t, decay, P, Q):
    """Q[i, j]: one letter more than P[i, j], within the first i and j letters, each weighted up to their ends."""
    Q[0, : t.size + 1] = 0.0
    for i in range(s.size):
        w = 0.0
        Q[i + 1, 0] = 0.0
        for j in range(t.size):
            w = decay * w
            if s[i] == t[j]:
                w += decay * decay * P[i, j]
            Q[i + 1, j + 1] = decay * Q[i, j + 1] + w


@njit(**OPTIONS)
def _longer_both(s, t, decay, P, Q, dP, dQ):
    """`_longer`, and its derivative with respect to decay."""
    Q[0, : t.size + 1] = 0.0
    dQ[0, : t.size + 1] = 0.0
    for i in range(s.size):
        w, dw = 0.0, 0.0
        Q[i + 1, 0] = 0.0
        dQ[i + 1, 0] = 0.0
        for j in range(t.size):
            dw = w + decay * dw
            w = decay * w
            if s[i] == t[j]:
                dw += decay * (2.0 * P[i, j] + decay * dP[i, j])
                w += decay * decay * P[i, j]
            dQ[i + 1, j + 1] = Q[i, j + 1] + decay * dQ[i, j + 1] + dw
            Q[i + 1, j + 1] = decay * Q[i, j + 1] + w


@njit(**OPTIONS)
def alignment(x, xs, xe, z, zs, ze, left, right, E, dE, gaps, out, slope):
    """log of 1 + Σ over local alignments of e^(β score), pair by pair, and its derivative with respect to β.

    E = e^(β substitution) and dE = ∂E/∂β; gaps = (e^(−β open), its derivative, e^(−β extend), its derivative).
    """
    widest = np.max(ze - zs) + 1
    old, new = np.empty((6, widest)), np.empty((6, widest))  # rows M, X, Y and their derivatives
    wanted = slope.size > 0
    for p in range(left.size):
        s, t = x[xs[left[p]] : xe[left[p]]], z[zs[right[p]] : ze[right[p]]]
        old[:, : t.size + 1] = 0.0
        one, total, d_total, log_scale = 1.0, 1.0, 0.0, 0.0
        for i in range(s.size):
            more, d_more = _aligned_row(s[i], t, E, dE, gaps, one, old, new, wanted)
            total += more
            d_total += d_more
            if total > LARGE:
                one *= SMALL
                total *= SMALL
                d_total *= SMALL
                new[:, : t.size + 1] *= SMALL
                log_scale -= np.log(SMALL)
            old, new = new, old
        out[p] = np.log(total) + log_scale
        if wanted:
            slope[p] = d_total / total


@njit(**OPTIONS)
def _aligned_row(letter, t, E, dE, gaps, one, old, new, wanted):
    """(Σⱼ M[j], Σⱼ dM[j]) of the next row: M ends in a pair of letters, X and Y in a gap of one string or the other."""
    start, d_start, extend, d_extend = gaps
    total, d_total = 0.0, 0.0
    new[:, 0] = 0.0
    for j in range(t.size):
        e = E[letter, t[j]]
        before = one + old[0, j] + old[1, j] + old[2, j]
        m = e * before
        new[0, j + 1] = m
        new[1, j + 1] = start * old[0, j + 1] + extend * old[1, j + 1]
        new[2, j + 1] = start * (new[0, j] + new[1, j]) + extend * new[2, j]
        total += m
        if wanted:
            d_m = dE[letter, t[j]] * before + e * (old[3, j] + old[4, j] + old[5, j])
            new[3, j + 1] = d_m
            new[4, j + 1] = (
                start * old[3, j + 1] + d_start * old[0, j + 1] + extend * old[4, j + 1] + d_extend * old[1, j + 1]
            )
            new[5, j + 1] = start * (new[3, j] + new[4, j]) + d_start * (new[0, j] + new[1, j])
            new[5, j + 1] += extend * new[5, j] + d_extend * new[2, j]
            d_total += d_m
    return total, d_total
