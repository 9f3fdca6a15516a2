"""Laplace's approximation for two classes: the mode of the posterior by Newton, and the evidence around it."""

import numpy as np

from mercer._tiles import few_threads
from mercer.inference.sites import SitePosterior, factor_sites, half_logdet
from mercer.solvers._lapack import combine, solve_lower

CHORD = 0.3  # a step with an old factor must be this much shorter than the last one, or B is factored again
HALVINGS = 40
ROUNDING = 1e-13
STALLED = 1e-5  # a last step below this, which rounding did not let us take, is good enough


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
        mode = _Newton(K, likelihood, start, tol)
        for _ in range(max_iter):
            if mode.advance():
                break
        return mode.posterior()


class _Newton:
    """a, f = K a and ψ on the way up."""

    def __init__(self, K, likelihood, start, tol):
        self.K, self.likelihood, self.tol = K, likelihood, tol
        self.a, self.f = (np.zeros(len(K)), np.zeros(len(K))) if start is None else _shrunk(K, likelihood, start)
        self.psi = self._height(self.a, self.f)
        self.L = self.s = None
        self.factored, self.steps, self.converged = 0, 0, False

    def _height(self, a, f):
        return float(self.likelihood.value(f) - 0.5 * (a @ f))

    def _factor(self, W):
        self.s = np.sqrt(W)
        self.L = factor_sites(self.K, self.s, self.L)
        self.factored += 1

    def advance(self):
        """Factor, and step as long as the factor is good for it; whether the mode is reached."""
        self._factor(self.likelihood.derivatives(self.f)[1])
        last = np.inf
        while True:
            size, length = self._step()
            small = 1.0 + np.abs(self.f).max(initial=0.0)
            if size <= self.tol * small:
                self.converged = True
                return True
            if length == 0.0 and last == np.inf:  # even a fresh factor leads nowhere: rounding is reached
                self.converged = bool(size <= STALLED * small)
                return True
            if length < 1.0 or not size <= CHORD * last:
                return False
            last = size

    def _step(self):
        """δa = (I + W K)⁻¹(g − a), halved until ψ does not fall. Returns the largest change of f, and the length."""
        r = self.likelihood.derivatives(self.f)[0] - self.a
        da = r - self.s * solve_lower(self.L, self.s * (self.K @ r))
        df = self.K @ da
        size = float(np.abs(df).max(initial=0.0))
        slack, length = ROUNDING * (1.0 + abs(self.psi)), 1.0
        for _ in range(HALVINGS):
            a, f = self.a + length * da, self.f + length * df
            psi = self._height(a, f)
            if psi >= self.psi - slack:
                self.a, self.f, self.psi = a, f, psi
                self.steps += 1
                return size, length
            length *= 0.5
        return size, 0.0

    def posterior(self):
        """Return the approximation at the mode, with B factored there."""
        self.f = self.K @ self.a
        g, W, _ = self.likelihood.derivatives(self.f)
        self._factor(W)
        step = float(np.abs(self.K @ (g - self.a)).max(initial=0.0))
        info = {"iterations": self.steps, "factored": self.factored, "converged": self.converged, "gradient": step}
        evidence = self._height(self.a, self.f) - half_logdet(self.L)
        return SitePosterior(self.K, self.likelihood, self.a, self.s, self.L, W * self.f + g, evidence, info, self.f)


def _shrunk(K, likelihood, start):
    """(a, K a), a = c · start with c the best of a few: a good direction for another K, whose scale may be another."""
    f = K @ start
    quadratic = 0.5 * (start @ f)
    heights = {c: likelihood.value(c * f) - c * c * quadratic for c in (0.0, 0.03, 0.1, 0.3, 0.6, 1.0, 1.5, 3.0)}
    best = max(heights, key=heights.get)
    return best * start, best * f


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
        inverse = posterior.inverse(overwrite)
        s2 = 0.5 * posterior.variances(inverse) * posterior.likelihood.derivatives(posterior.f)[2]
        R = inverse[0]
        u = s2 - R @ (posterior.K @ s2)
        a = posterior.a
        left = np.stack([a + u, u], axis=1)
        return combine(R, left * [-0.5, 0.5], left, 0.5)  # ½ R − ½ ((a + u)(a + u)ᵀ − u uᵀ)
