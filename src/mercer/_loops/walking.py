"""Sums over pairs of walks, one in each of two graphs.

Graphs are runs of nodes: those of graph a are xs[a], …, xe[a] − 1 with labels ``xl``; the neighbours of node i are
``xt[xf[i] : xf[i + 1]]``, counted from the first node of their graph. Pair p is (left[p], right[p]); its value goes
to out[p], and the derivative with respect to decay to slope[p] (an empty ``slope`` skips it).
"""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS


@njit(**OPTIONS)
def walks(xl, xf, xt, xs, xe, zl, zf, zt, zs, ze, left, right, decay, tol, most, out, slope):
    """1ᵀ(I − λA)⁻¹1 of the product graph by conjugate gradients; nan without convergence in ``most`` steps.

    Vectors hold the pairs of nodes with the same label only: few, where labels tell much.
    """
    widest_x, widest_z = np.max(xe - xs), np.max(ze - zs)
    P, T = np.empty((widest_x, widest_z)), np.empty((widest_x, widest_z))
    u, w = np.empty(P.size, np.int64), np.empty(P.size, np.int64)
    v, r, p, q = np.empty(P.size), np.empty(P.size), np.empty(P.size), np.empty(P.size)
    for k in range(left.size):
        s, m = xs[left[k]], xe[left[k]] - xs[left[k]]
        t, n = zs[right[k]], ze[right[k]] - zs[right[k]]
        X, Z = (xf[s : s + m + 1], xt), (zf[t : t + n + 1], zt)
        P[:m, :n] = 0.0
        count = 0
        for i in range(m):
            for j in range(n):
                if xl[s + i] == zl[t + j]:
                    u[count], w[count] = i, j
                    v[count], r[count], p[count] = 0.0, 1.0, 1.0
                    count += 1
        norm, goal, steps = float(count), tol * tol * count, 0
        while norm > goal and steps < most:
            _neighbours(X, Z, u[:count], w[:count], p, P, T, q)
            curvature = 0.0
            for c in range(count):
                q[c] = p[c] - decay * q[c]
                curvature += p[c] * q[c]
            step, new = norm / curvature, 0.0
            for c in range(count):
                v[c] += step * p[c]
                r[c] -= step * q[c]
                new += r[c] * r[c]
            for c in range(count):
                p[c] = r[c] + new / norm * p[c]
            norm = new
            steps += 1
        out[k] = np.sum(v[:count]) if norm <= goal else np.nan
        if slope.size:
            _neighbours(X, Z, u[:count], w[:count], v, P, T, q)
            slope[k] = np.sum(v[:count] * q[:count])


@njit(**OPTIONS)
def _neighbours(X, Z, u, w, p, P, T, q):
    """q = A p on the product graph: first along the edges of x, then along those of z."""
    (xf, xt), (zf, zt) = X, Z
    n = zf.size - 1
    for c in range(u.size):
        P[u[c], w[c]] = p[c]
    for i in range(xf.size - 1):
        T[i, :n] = 0.0
        for e in range(xf[i], xf[i + 1]):
            for j in range(n):
                T[i, j] += P[xt[e], j]
    for c in range(u.size):
        total = 0.0
        for e in range(zf[w[c]], zf[w[c] + 1]):
            total += T[u[c], zt[e]]
        q[c] = total
