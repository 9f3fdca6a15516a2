"""A posterior as weighted points: what quadrature and sampling have in common.

K = F Fᵀ and f = F z with z ~ N(0, I) beforehand. The Gaussian that expectation propagation finds, z = z̄ + L⁻ᵀε, is
taken as the measure: the ratio of the posterior to it is close to constant, so that few nodes or draws ε say much.
"""

from abc import ABC, abstractmethod

import numpy as np

from mercer._threads import few_threads
from mercer.inference.ep import expectation_propagation
from mercer.inference.laplace import laplace

STEP = 0.04  # of the latent mean, in a table of averaged probabilities: a cubic spline is then good to 1e-9
MOST = 20_000


class Measure:
    """N(f | F z̄, (K⁻¹ + T)⁻¹), and the log ratio of the true posterior to it.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    likelihood : Binary
    max_iter, tol
        Of expectation propagation.
    """

    def __init__(self, K, likelihood, max_iter=200, tol=1e-8):
        self.likelihood = likelihood
        values, vectors = np.linalg.eigh(K)
        kept = ranked(values)
        self.vectors, self.values = vectors[:, kept], values[kept]
        self.F = self.vectors * np.sqrt(self.values)
        sites = expectation_propagation(K, likelihood, max_iter=max_iter, tol=tol)
        if not sites.info["converged"]:
            sites = laplace(K, likelihood)
        self.sites, self.tau, self.nu = sites, sites.s**2, sites.nu
        self.L = np.linalg.cholesky(np.eye(self.rank) + self.F.T @ (self.tau[:, None] * self.F))
        half = np.linalg.solve(self.L, self.F.T @ self.nu)
        self.z = np.linalg.solve(self.L.T, half)
        self.G = np.linalg.solve(self.L, self.F.T).T
        self.mean = self.F @ self.z
        self.log_mass = 0.5 * float(half @ half) - float(np.log(np.diagonal(self.L)).sum())

    @property
    def rank(self):
        """The dimension of z."""
        return self.F.shape[1]

    def log_ratio(self, f):
        """log p(y | f) − νᵀf + ½ fᵀTf for f of shape (N, n)."""
        return self.likelihood.value(f) - f @ self.nu + 0.5 * (f * f) @ self.tau

    def whiten(self, eps):
        """z of ε, (N, rank)."""
        return self.z + np.linalg.solve(self.L.T, eps.T).T

    def project(self, k):
        """c with E f(x) = cᵀz for k(x) of shape (m, n)."""
        return (k @ self.vectors) / np.sqrt(self.values)


def ranked(values):
    """Which eigenvalues of a Gram matrix, in ascending order, are not 0 to rounding."""
    return values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)


class NodePosterior(ABC):
    """Σₖ wₖ δ(z − zₖ): the posterior of f = F z as weighted nodes or draws.

    Parameters
    ----------
    measure : Measure
    z : ndarray of shape (N, rank)
    weight : ndarray of shape (N,)
        Sum to 1.
    log_evidence : float
    info : dict
    """

    def __init__(self, measure, z, weight, log_evidence, info):
        self.measure, self.z, self.weight = measure, z, weight
        self.likelihood, self.log_evidence, self.info = measure.likelihood, float(log_evidence), info
        self.mean = weight @ z
        self.f = measure.F @ self.mean
        self.a = measure.project(np.eye(len(measure.F))) @ self.mean  # K a = E f

    def adjoint(self):
        """∂C/∂K of C = −log Z: −½ E[g gᵀ + diag(log p)″], by parts twice (Price's theorem)."""
        g, W, _ = self.likelihood.derivatives(self.z @ self.measure.F.T)
        out = -0.5 * (g.T * self.weight) @ g
        np.einsum("ii->i", out)[...] += 0.5 * (self.weight @ W)
        return out

    def release(self):
        """Forget what prediction does not need."""
        self.measure.sites = None

    def _linear(self, k, diagonal):
        c = self.measure.project(k)
        return c, np.maximum(diagonal - np.einsum("ij,ij->i", c, c), 0.0)

    def latent(self, k, diagonal):
        """Mean and variance of f at new points."""
        c, rest = self._linear(k, diagonal)
        centred = self.z - self.mean
        S = (centred.T * self.weight) @ centred
        return c @ self.mean + self.likelihood.offset, rest + np.einsum("ij,jk,ik->i", c, S, c)

    def proba(self, k, diagonal):
        """P(t = +1) at new points: the link averaged over f given z, and this over z."""
        c, rest = self._linear(k, diagonal)
        with few_threads(self.measure.rank):
            return np.array([self._average(self.z @ one, var) for one, var in zip(c, rest, strict=True)])

    def _average(self, u, var):
        """Σ w ∫ σ(f) N(f | u, var) df, by a table of the inner integral where there are many u."""
        link, u = self.likelihood.link, u + self.likelihood.offset
        low, high = u.min(), u.max()
        count = int(min((high - low) / STEP + 8, MOST))
        if count >= len(u):
            return float(self.weight @ link.expect(u, np.full(len(u), var)))
        from scipy.interpolate import CubicSpline

        grid = np.linspace(low, high, count)
        return float(np.clip(self.weight @ CubicSpline(grid, link.expect(grid, np.full(count, var)))(u), 0.0, 1.0))

    @abstractmethod
    def loo(self, index=None, share=1.0):
        """P(t = +1) of rows ``index`` under the posterior without ``share`` of their weight."""
