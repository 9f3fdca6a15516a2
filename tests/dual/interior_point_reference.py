"""A slow twin of the working-set solver: a primal-dual interior-point method on α = p − m, p and m >= 0."""

import numpy as np


def interior_point(K, dual, intercept, steps=200):
    """(α, objective to be minimised) of ½αᵀKα + Σ h(α), to about 1e-10; infinite bounds become 1e4."""
    target, eps, ridge, low, high = (np.asarray(v, dtype=float) for v in dual)
    n = len(target)
    H = K + np.diag(ridge)
    Q = np.block([[H, -H], [-H, H]])
    c = np.concatenate([eps - target, eps + target])
    top = np.minimum(np.concatenate([high, -low]), 1e4)
    inside = top > 0
    Q, c, top = Q[np.ix_(inside, inside)], c[inside], top[inside]
    A = np.concatenate([np.ones(n), -np.ones(n)])[inside] * float(intercept)
    x, nu = 0.5 * np.minimum(top, 1.0), 0.0
    z, w = np.ones(len(x)), np.ones(len(x))
    for _ in range(steps):
        slack = top - x
        mu = (x @ z + slack @ w) / (2 * len(x))
        if mu < 1e-14:
            break
        goal = 0.1 * mu
        r = Q @ x + c + A * nu - z + w
        D = z / x + w / slack
        rhs = -r + (goal / x - z) - (goal / slack - w)
        M = np.block([[Q + np.diag(D), A[:, None]], [A[None], np.array([[0.0 if intercept else 1.0]])]])
        step = np.linalg.solve(M, np.concatenate([rhs, [-A @ x]]))
        dx, dnu = step[:-1], step[-1]
        dz, dw = goal / x - z - z / x * dx, goal / slack - w + w / slack * dx
        t = 1.0
        for v, dv in ((x, dx), (slack, -dx), (z, dz), (w, dw)):
            if (dv < 0).any():
                t = min(t, 0.995 * float(np.min(-v[dv < 0] / dv[dv < 0])))
        x, nu, z, w = x + t * dx, nu + t * dnu, z + t * dz, w + t * dw
    full = np.zeros(2 * n)
    full[inside] = x
    alpha = full[:n] - full[n:]
    own = -target * alpha + eps * np.abs(alpha) + 0.5 * ridge * alpha**2
    return alpha, 0.5 * alpha @ K @ alpha + own.sum()
