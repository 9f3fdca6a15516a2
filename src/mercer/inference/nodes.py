"""A posterior as weighted points: what quadrature and sampling have in common.

K = F Fᵀ and f = F z with z ~ N(0, I) beforehand. The Gaussian that expectation propagation finds, z = z̄ + L⁻ᵀε, is
taken as the measure: the ratio of the posterior to it is close to constant, so that few nodes or draws ε say much.
"""

from abc import ABC, abstractmethod

import numpy as np

from mercer._clock import FOREVER
from mercer._state import check
from mercer._threads import few_threads
from mercer.gram import DenseGram
from mercer.inference.ep import expectation_propagation
from mercer.inference.likelihood import Binary
from mercer.inference.sites import laplace
from mercer.solvers import Spectral
from mercer.solvers.cholesky import factorise_without_checks

FIELDS = {
    "vectors": "float n r", "values": "float r", "z": "float N r", "weight": "float N", "log_evidence": "number",
    "info": dict, "likelihood": dict,
}  # fmt: skip


class Measure:
    """N(f | F z̄, (K⁻¹ + T)⁻¹), and the log ratio of the true posterior to it.

    Parameters
    ----------
    K : Gram
    likelihood : Binary
    max_iter, tol, clock
        Of expectation propagation.
    """

    def __init__(self, K, likelihood, max_iter=200, tol=1e-8, clock=FOREVER):
        self.likelihood = likelihood
        self.vectors, self.values = principal(K)
        self.F = self.vectors * np.sqrt(self.values)
        sites = expectation_propagation(K, likelihood, max_iter=max_iter, tol=tol, clock=clock)
        if not sites.info["converged"]:
            sites = laplace(K, likelihood, clock=clock)
        self.sites, self.tau, self.nu = sites, sites.s**2, sites.nu
        self._precision = factorise_without_checks(DenseGram.from_matrix(self.F.T @ (self.tau[:, None] * self.F)), 1.0)
        half = self._precision.half(self.F.T @ self.nu)
        self.z = self._precision.other_half(half)[:, 0]
        self.G = self._precision.half(self.F.T).T
        self.mean = self.F @ self.z
        self.log_mass = 0.5 * float(half[:, 0] @ half[:, 0]) - 0.5 * self._precision.logdet()

    @property
    def rank(self):
        """The dimension of z."""
        return self.F.shape[1]

    def log_ratio(self, f):
        """log p(y | f) − νᵀf + ½ fᵀTf for f of shape (N, n)."""
        return self.likelihood.value(f) - f @ self.nu + 0.5 * (f * f) @ self.tau

    def whiten(self, eps):
        """z of ε, (N, rank)."""
        return self.z + self._precision.other_half(eps.T).T


def principal(K):
    """(U, Λ) of K = U Λ Uᵀ, without eigenvalues that are 0 to rounding."""
    spectrum = Spectral().resolvent(K)
    values = spectrum.eigenvalues
    kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    return spectrum.eigenvectors[:, kept], values[kept]


class NodePosterior(ABC):
    """Σₖ wₖ δ(z − zₖ): the posterior of f = F z as weighted nodes or draws.

    Parameters
    ----------
    likelihood : Binary
    vectors, values : ndarray of shape (n, rank), (rank,)
        K = U Λ Uᵀ.
    z : ndarray of shape (N, rank)
    weight : ndarray of shape (N,)
        Sum to 1.
    log_evidence : float
    info : dict
    """

    def __init__(self, likelihood, vectors, values, z, weight, log_evidence, info):
        self.likelihood, self.vectors, self.values, self.z, self.weight = likelihood, vectors, values, z, weight
        self.log_evidence, self.info = float(log_evidence), info
        self.mean = weight @ z
        self.F = vectors * np.sqrt(values)
        self.f = self.F @ self.mean
        self.a = (vectors / np.sqrt(values)) @ self.mean  # K a = E f

    def state(self):
        """{name: value} by public names: what a file keeps."""
        names = ("vectors", "values", "z", "weight", "log_evidence", "info")
        return {name: getattr(self, name) for name in names} | {"likelihood": self.likelihood.state()}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state: for predictions."""
        sizes, state = check(state, FIELDS, cls.__name__), dict(state)
        likelihood = Binary.from_state(state.pop("likelihood"))
        if likelihood.n != sizes["n"]:
            raise ValueError(f"the likelihood is one of {likelihood.n} rows, the factor of {sizes['n']}.")
        return cls(likelihood, **state)

    def value_and_adjoint(self, overwrite=False):
        """(C, ∂C/∂K) of C = −log Z: −½ E[g gᵀ + diag(log p)″], by parts twice (Price's theorem)."""
        g, W = self.likelihood.derivatives(self.z @ self.F.T)
        out = -0.5 * (g.T * self.weight) @ g
        np.einsum("ii->i", out)[...] += 0.5 * (self.weight @ W)
        return -self.log_evidence, out

    @abstractmethod
    def release(self):
        """Forget what prediction does not need."""

    def _linear(self, k, diagonal):
        """c with E[f(x) | z] = cᵀz, and the variance that z leaves."""
        c = (k @ self.vectors) / np.sqrt(self.values)
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
        with few_threads(len(self.mean)):
            return np.array([self._average(self.z @ one, var) for one, var in zip(c, rest, strict=True)])

    def _average(self, u, var):
        """Σ w ∫ σ(f) N(f | u, var) df, by a table of the inner integral where there are many u."""
        link, u = self.likelihood.link, u + self.likelihood.offset
        low, high = u.min(), u.max()
        if high - low <= 1e-8 * (1.0 + abs(low)):  # z says nothing of f there: too near for a table
            return float(link.expect(self.weight @ u, var))
        count = int(min((high - low) / 0.04 + 8, 20_000))  # a cubic spline is then good to 1e-9
        if count >= len(u):
            return float(self.weight @ link.expect(u, np.full(len(u), var)))
        from scipy.interpolate import CubicSpline

        grid = np.linspace(low, high, count)
        return float(np.clip(self.weight @ CubicSpline(grid, link.expect(grid, np.full(count, var)))(u), 0.0, 1.0))

    @abstractmethod
    def loo(self, index=None, share=1.0):
        """P(t = +1) of rows ``index`` under the posterior without ``share`` of their weight."""
