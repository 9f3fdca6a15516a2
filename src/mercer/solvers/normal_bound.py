"""The collapsed bound of the evidence from the sums of a pass, and its derivatives."""

import numpy as np

from mercer.solvers.normal import unwhiten


class BoundParts:
    """F = log N(y | 0, Q + λI) − tr(K − Q)/(2λ) from sums, and its derivatives in the k of rows, in K_mm and in log λ.

    Parameters
    ----------
    normal : NormalEquations
    lam : float
    trace, weight : float
        Σ w k(x, x) and Σ w.
    n : float
        How many observations are counted.
    centre : ndarray of shape (m,)
        What was taken from the k.
    """

    def __init__(self, normal, lam, trace, weight, n, centre):
        self.normal, self.lam, self.t, self.n = normal, lam, normal.t, n
        self.missing = trace - normal.trace(centre, weight)
        self.value = normal.elbo(lam, self.n, self.missing)
        self._factor = normal._factor(lam)
        self.beta = self._factor.solve(normal.u)
        self._c, self._weight = normal.whitened(centre), weight

    def rows(self, F, centre, root):
        """∂F/∂k of rows F = √w [k − k̄, h, y], of shape (rows, m)."""
        normal, lam, m = self.normal, self.lam, self.normal.m
        projected, _, y = normal.features(F)
        raw = normal.whitened((F[:, :m] + root * centre).T)
        e = y - projected.T @ self.beta
        G = self.t * (raw / lam - self._factor.solve(projected)) + self.beta @ e.T / lam
        return root * unwhiten(normal.L, G).T

    def points(self):
        """∂F/∂K_mm."""
        normal, lam, L = self.normal, self.lam, self.normal.L
        a, c = normal._ah, self._c
        S = normal.S + a @ normal._hh @ a.T
        if normal.q:
            S = S + np.outer(c, a[:, 0]) + np.outer(a[:, 0], c) + self._weight * np.outer(c, c)
        inner = 0.5 * self.t * (np.eye(normal.m) - lam * self._factor.solve(np.eye(normal.m)) - S / lam)
        inner -= 0.5 * self.beta @ self.beta.T
        half = unwhiten(L, inner)
        return unwhiten(L, half.T)

    def in_log_lam(self):
        """∂F/∂log λ."""
        normal, lam = self.normal, self.lam
        trace = (normal.m - normal.dof(lam)) / lam  # of (S + λI)⁻¹
        quad = (normal.total - np.einsum("mt,mt->t", normal.u, self.beta)) / lam
        slope = self.t * (trace + (self.n - normal.q - normal.m) / lam - self.missing / lam**2)
        return -0.5 * lam * float(slope + ((self.beta**2).sum(axis=0) - quad).sum() / lam)
