"""A Gaussian posterior made of sites: what Laplace and expectation propagation have in common.

Each row contributes a factor exp(νᵢ fᵢ − ½ τᵢ fᵢ²) in place of its likelihood. With s = √τ and B = I + s K s = L Lᵀ the
posterior at x has the mean k(x)ᵀ a and the variance k(x, x) − ‖L⁻¹ s k(x)‖². B has no eigenvalue below 1: nothing here
needs jitter, however singular K is.
"""

import numpy as np

from mercer._threads import few_threads, run
from mercer._tiles import spans
from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.engine.lapack import FEW_ROWS, cholesky_lower, forward, inverse_diagonal, inverse_from_lower, logdet

BLOCK = 64  # rows of a matrix that are scaled at once
SMALL = 1e-7  # of 1 − [B⁻¹]ᵢᵢ: below, the variance is computed by its other formula, which keeps the digits


def by_rows(work, n):
    """work(i, j) for blocks of rows that stay in the cache, on the cores where there are enough of them."""
    rows = spans(n, BLOCK)
    run(lambda index, worker: work(*rows[index]), len(rows), None if n > FEW_ROWS else 1)


def factor_sites(K, s, out=None):
    """L with L Lᵀ = I + s K s, below the diagonal only; ``out`` is overwritten there if it is given."""
    B = np.zeros(K.shape) if out is None else out

    def scale(i, j):
        np.multiply(K[i:j, :j], s[:j], out=B[i:j, :j])
        B[i:j, :j] *= s[i:j, None]

    by_rows(scale, len(K))
    np.einsum("ii->i", B)[...] += 1.0
    if cholesky_lower(B):
        raise NotPositiveDefinite(
            "I + √W K √W could not be factored: K has a negative or non-finite entry on a large scale. Is it a kernel, "
            "and are its amplitude and length scales of a sensible size?"
        )
    return B


class SitePosterior:
    """N(f | K a, (K⁻¹ + diag s²)⁻¹), with the approximate evidence.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    likelihood : Binary
    a : ndarray of shape (n,)
        Mean K a.
    s : ndarray of shape (n,)
        √τ.
    L : ndarray of shape (n, n)
        Lower factor of I + s K s.
    nu : ndarray of shape (n,)
        Linear part of the sites.
    log_evidence : float
    info : dict
        iterations, converged, step: what the iteration said of itself.
    f : ndarray of shape (n,), default=None
        K a, if it is known.
    """

    def __init__(self, K, likelihood, a, s, L, nu, log_evidence, info, f=None):
        self.K, self.likelihood, self.a, self.s, self.L = K, likelihood, a, s, L
        self.nu, self.log_evidence, self.info = nu, float(log_evidence), info
        self.f = K @ a if f is None else f

    def inverse(self, overwrite=False):
        """R = s B⁻¹ s = (K + diag τ⁻¹)⁻¹, full, and diag(B⁻¹)."""
        R = inverse_from_lower(self.L if overwrite else self.L.copy())
        beta = np.diagonal(R).copy()

        def scale(i, j):
            R[i:j] *= self.s
            R[i:j] *= self.s[i:j, None]

        by_rows(scale, len(R))
        return R, beta

    def variances(self):
        """diag((K⁻¹ + diag τ)⁻¹)."""
        gone = 1.0 - inverse_diagonal(self.L)
        weak = np.flatnonzero(~(gone > SMALL))
        with np.errstate(divide="ignore", invalid="ignore"):
            var = gone / self.s**2
        if weak.size:  # the site says almost nothing: K less what the others explain
            var[weak] = np.maximum(np.diagonal(self.K)[weak] - self._explained(weak), 0.0)
        return var

    def _explained(self, rows):
        """k_iᵀ R k_i for some rows."""
        V = np.asfortranarray((self.K[rows] * self.s).T)
        forward(self.L, V)
        return np.einsum("ij,ij->j", V, V)

    def cavity(self, index=None, share=1.0):
        """Mean and variance of fᵢ, i in ``index``, without ``share`` of its own site: 1/v₋ = 1/v − share τ.

        For Laplace the slope of the log likelihood takes the place of the site: m₋ = f − v₋ share (ν − τ f).
        """
        index = slice(None) if index is None else index
        with few_threads(len(self.a)):
            var = self.variances()[index]
        tau, nu, f = (self.s**2)[index], self.nu[index], self.f[index]
        v = var / np.maximum(1.0 - share * tau * var, 1e-12)
        return f - v * share * (nu - tau * f), v

    def loo(self, index=None, share=1.0):
        """P(t = +1) of the rows ``index`` under the posterior without ``share`` of their weight."""
        return self.likelihood.prob(*self.cavity(index, share))

    def release(self):
        """Forget K, which prediction does not need."""
        self.K = None

    def latent(self, k, diagonal):
        """Mean and variance of f at new points: k is (m, n), ``diagonal`` k(x, x)."""
        V = np.asfortranarray((k * self.s).T)
        with few_threads(len(self.a)):
            forward(self.L, V)
        return k @ self.a + self.likelihood.offset, np.maximum(diagonal - np.einsum("ij,ij->j", V, V), 0.0)

    def proba(self, k, diagonal):
        """P(t = +1) at new points."""
        mean, var = self.latent(k, diagonal)
        return self.likelihood.link.expect(mean, var)


def half_logdet(L):
    """½ log det B."""
    return 0.5 * logdet(L)
