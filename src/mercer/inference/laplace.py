"""Laplace's approximation for two classes: the mode of the posterior by Newton, and the evidence around it."""

import numpy as np

from mercer._threads import few_threads
from mercer.inference._newton import Newton
from mercer.inference.sites import SitePosterior, factor_sites, half_logdet
from mercer.solvers.engine.lapack import combine, solve_lower


def laplace(K, likelihood, *, start=None, max_iter=100, tol=1e-8):
    """log Z ≈ −½ âᵀf̂ + log p(y | f̂) − ½ log det(I + √W K √W),  f̂ = K â the maximum of log p(y | f) − ½ fᵀK⁻¹f.

    Newton with backtracking. Several steps are taken with one factor of B while they shrink fast, so that an
    evaluation near an earlier one costs two or three factorisations.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Not changed.
    likelihood : Binary
    start : ndarray of shape (n,), default=None
        a of a similar problem.
    max_iter : int, default=100
        Most factorisations.
    tol : float, default=1e-8
        Largest change of f in the last step, relative to 1 + max |f|.

    Returns
    -------
    SitePosterior

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.laplace import laplace
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.links import Logit
    >>> found = laplace(np.eye(2), Binary(Logit(), np.array([1.0, -1.0])))
    >>> found.f.round(4), round(found.log_evidence, 4)
    (array([ 0.4011, -0.4011]), -1.4013)
    """
    with few_threads(len(K)):
        return _TwoClasses(K, likelihood, np.zeros(len(K)), start, tol).climb(max_iter).posterior()


class _TwoClasses(Newton):
    """B = I + √W K √W, W diagonal, as one factor of order n."""

    L = None

    def _factor(self):
        self._factor_at(self.likelihood.derivatives(self.f)[1])

    def _factor_at(self, W):
        self.s = np.sqrt(W)
        self.L = factor_sites(self.K, self.s, self.L)

    def _direction(self):
        r = self.likelihood.derivatives(self.f)[0] - self.a
        da = r - self.s * solve_lower(self.L, self.s * (self.K @ r))
        return da, self.K @ da

    def posterior(self):
        """Return the approximation at the mode, with B factored there."""
        self.f = self.K @ self.a
        g, W, _ = self.likelihood.derivatives(self.f)
        self._factor_at(W)
        self.factored += 1
        info = self._info() | {"gradient": float(np.abs(self.K @ (g - self.a)).max(initial=0.0))}
        evidence = self._height(self.a, self.f) - half_logdet(self.L)
        return SitePosterior(self.K, self.likelihood, self.a, self.s, self.L, W * self.f + g, evidence, info, self.f)


def laplace_adjoint(posterior, overwrite=False):
    """∂C/∂K of C = −log Z: ½ (R − a aᵀ − u aᵀ − a uᵀ),  u = (I − R K) ½ diag(Σ) ∇³log p, the way through f̂.

    Parameters
    ----------
    posterior : SitePosterior
        From `laplace`.
    overwrite : bool, default=False
        Whether its factor may be used up.
    """
    with few_threads(len(posterior.a)):
        R, beta = posterior.inverse(overwrite)
        s2 = 0.5 * (1.0 - beta) * _skew(posterior)
        u = s2 - R @ (posterior.K @ s2)
        a = posterior.a
        left = np.stack([a + u, u], axis=1)
        return combine(R, left * [-0.5, 0.5], left, 0.5)  # ½ R − ½ ((a + u)(a + u)ᵀ − u uᵀ)


def _skew(posterior):
    """∇³log p / W, which is bounded where both vanish: Σᵢᵢ ∇³ᵢ = (1 − [B⁻¹]ᵢᵢ) ∇³ᵢ/Wᵢ then needs no Σ of such rows."""
    _, W, third = posterior.likelihood.derivatives(posterior.f)
    return np.divide(third, W, out=np.zeros_like(third), where=W > 0)
