"""The loop of walks.c in NumPy."""

import numpy as np

from mercer._native.plain.strings import by_pairs


def walks(x, z, left, right, decay, tolerance, most, slope):
    """1ᵀ(I − λA)⁻¹1 of the product graph of each pair, and ∂/∂λ (None without ``slope``)."""
    return by_pairs(lambda a, b: _walks(_graph(x, a), _graph(z, b), decay, tolerance, most, slope), left, right, slope)


def _graph(x, a):
    """(adjacency matrix, labels) of graph a."""
    labels, first, to, starts, stops = x
    ends = first[starts[a] : stops[a] + 1]
    A = np.zeros((stops[a] - starts[a],) * 2)
    A[np.repeat(np.arange(len(A)), np.diff(ends)), to[ends[0] : ends[-1]]] = 1.0
    return A, labels[starts[a] : stops[a]]


def _walks(x, z, decay, tolerance, most, slope):
    """V − λ S∘(A V B) = S for S = 1 where labels are the same, by conjugate gradients."""
    (A, names), (B, others) = x, z
    S = (names[:, None] == others).astype(float)
    V, R = np.zeros_like(S), S.copy()
    P, norm = R, float(np.vdot(R, R))
    goal = tolerance**2 * norm
    for _ in range(most):
        if norm <= goal:
            break
        AP = P - decay * S * (A @ P @ B)
        step = norm / float(np.vdot(P, AP))
        V += step * P
        R -= step * AP
        new = float(np.vdot(R, R))
        P, norm = R + new / norm * P, new
    return float(V.sum()) if norm <= goal else np.nan, float(np.vdot(V, A @ V @ B)) if slope else 0.0
