"""A Gaussian posterior made of sites, which expectation propagation has too, and Laplace's approximation.

Each row contributes a factor exp(νᵢ fᵢ − ½ τᵢ fᵢ²) in place of its likelihood. With s = √τ and B = I + s K s the
posterior at x has the mean k(x)ᵀ a and the variance k(x, x) − (s k(x))ᵀB⁻¹ s k(x). B has no eigenvalue below 1: nothing
here needs jitter, however singular K is.
"""

import numpy as np

from mercer._clock import FOREVER
from mercer._state import check
from mercer._threads import few_threads
from mercer.inference.likelihood import Binary
from mercer.inference.mode import Mode
from mercer.solvers.cholesky import CholeskyInverse, combine, scale_both
from mercer.solvers.coupled import site_inverse

FIELDS = {
    "a": "float n", "s": "float n", "nu": "float n", "f": "float n", "log_evidence": "number", "info": dict,
    "skew": ("float n", None), "likelihood": dict, "factor": ("factor n", None),
}  # fmt: skip
HALVES = np.array([-0.5, 0.5])


class SitePosterior:
    """N(f | K a, (K⁻¹ + diag s²)⁻¹), with the approximate evidence.

    Parameters
    ----------
    K : Gram
    likelihood : Binary
    a : ndarray of shape (n,)
        Mean K a.
    s : ndarray of shape (n,)
        √τ.
    Binv : CholeskyInverse
        Of I + s K s.
    nu : ndarray of shape (n,)
        Linear part of the sites.
    evidence : float
        log Z with log det B as it was factored.
    info : dict
        iterations, converged, step: what the iteration said of itself.
    f : ndarray of shape (n,), default=None
        K a, if it is known.
    skew : ndarray of shape (n,), default=None
        −∂ log τ/∂f, where sites move with the mode (Laplace); None where log Z does not change with them (EP).
    moved : ndarray of shape (n,), default=None
        How far f has moved since B was factored, which changes log det B a little.
    """

    def __init__(self, K, likelihood, a, s, Binv, nu, evidence, info, f=None, skew=None, moved=None):
        self.K, self.likelihood, self.a, self.s, self._Binv = K, likelihood, a, s, Binv
        self.gram = None  # () ↦ K, from which B is made again where it is asked for
        self.nu, self.evidence, self.info, self.skew, self.moved = nu, float(evidence), info, skew, moved
        self.f = K @ a if f is None else f
        self._beta = self._log_evidence = None

    def state(self):
        """{name: value} by public names: what a file keeps; the factor only where it cannot be made again from K."""
        names = ("a", "s", "nu", "f", "info", "skew")
        state = {name: getattr(self, name) for name in names}
        factor = np.tril(self.Binv.factor) if self.gram is None else None
        return state | {"log_evidence": self.log_evidence, "likelihood": self.likelihood.state(), "factor": factor}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state: for predictions, without K."""
        sizes, state = check(state, FIELDS, "SitePosterior"), dict(state)
        factor, likelihood = state.pop("factor"), Binary.from_state(state.pop("likelihood"))
        Binv = None if factor is None else CholeskyInverse(factor, 1.0)
        if likelihood.n != sizes["n"]:
            raise ValueError(f"the likelihood is one of {likelihood.n} rows, the sites are {sizes['n']}.")
        return cls(None, likelihood, Binv=Binv, evidence=state.pop("log_evidence"), **state)

    @property
    def Binv(self):
        """B⁻¹."""
        if self._Binv is None:
            with few_threads(len(self.a)):
                self._Binv = site_inverse(self.gram(), self.s)
        return self._Binv

    @property
    def beta(self):
        """diag(B⁻¹)."""
        if self._beta is None:
            self._beta = self.Binv.diag()
        return self._beta

    @property
    def log_evidence(self):
        """log Z, with log det B where f is now."""
        if self._log_evidence is None:
            self._log_evidence = self.evidence + self._change(self._bend() if self.moved is not None else None)
        return self._log_evidence

    def _bend(self):
        """∂ log Z/∂f̂ = ½ diag(Σ) ∇³log p, the way through W.

        Σᵢᵢ ∇³ᵢ = (1 − [B⁻¹]ᵢᵢ) ∇³ᵢ/Wᵢ: bounded where both vanish, and needs no Σ of such rows.
        """
        return 0.5 * (1.0 - self.beta) * self.skew

    def _change(self, bend):
        """What log Z has changed by since B was factored."""
        return 0.0 if self.moved is None else float(bend @ self.moved)

    def value_and_adjoint(self, overwrite=False):
        """(C, ∂C/∂K) of C = −log Z: ½ (R − a aᵀ − u aᵀ − a uᵀ),  u = (I − R K) ½ diag(Σ) ∇³log p, the way through f̂.

        R = s B⁻¹ s. Without skew u is 0. With ``overwrite`` the factor is used up.
        """
        with few_threads(len(self.a)):
            Binv = self.Binv.explicit().dense() if overwrite else self.Binv.dense()
            self._beta = Binv.diagonal().copy()
            left, sign = self.a[:, None], -0.5
            if self.skew is not None:
                bend = self._bend()
                self._log_evidence = self.evidence + self._change(bend)
                u = bend - self.s * (Binv @ (self.s * (self.K @ bend)))
                left, sign = np.stack([self.a + u, u], axis=1), HALVES
            W = scale_both(Binv, np.sqrt(0.5) * self.s)
            return -self.log_evidence, combine(W, left * sign, left, 1.0)  # ½ (R − (a + u)(a + u)ᵀ + u uᵀ)

    @property
    def start(self):
        """Where the next search for a similar posterior may begin: a for Laplace, (τ, ν) for EP."""
        return np.stack([self.s**2, self.nu], axis=1) if self.skew is None else self.a

    def variances(self):
        """diag((K⁻¹ + diag τ)⁻¹)."""
        gone = 1.0 - self.beta
        weak = np.flatnonzero(~(gone > 1e-7))
        with np.errstate(divide="ignore", invalid="ignore"):
            var = gone / self.s**2
        if weak.size:  # the site says almost nothing: K less what the others explain
            explained = self.Binv.explained_variance((self.K.rows(weak) * self.s).T)
            var[weak] = np.maximum(self.K.diag()[weak] - explained, 0.0)
        return var

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
        """Forget what prediction does not need."""
        self._log_evidence = self.log_evidence
        self.K = self.moved = None

    def latent(self, k, diagonal):
        """Mean and variance of f at new points: k is (m, n), ``diagonal`` k(x, x)."""
        with few_threads(len(self.a)):
            explained = self.Binv.explained_variance((k * self.s).T)
        return k @ self.a + self.likelihood.offset, np.maximum(diagonal - explained, 0.0)

    def proba(self, k, diagonal):
        """P(t = +1) at new points."""
        mean, var = self.latent(k, diagonal)
        return self.likelihood.link.expect(mean, var)


def laplace(K, likelihood, *, start=None, max_iter=100, tol=1e-8, clock=FOREVER):
    """log Z ≈ −½ âᵀf̂ + log p(y | f̂) − ½ log det(I + √W K √W),  f̂ = K â the maximum of log p(y | f) − ½ fᵀK⁻¹f.

    Parameters
    ----------
    K : Gram
    likelihood : Binary
    start : ndarray of shape (n,), default=None
        a of a similar problem.
    max_iter : int, default=100
        Most factorisations.
    tol : float, default=1e-8
        Largest change of f in the last step, relative to 1 + max |f|.
    clock : Clock, default=FOREVER
        When to end where it is.

    Returns
    -------
    SitePosterior

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.inference.sites import laplace
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.likelihood import Logit
    >>> found = laplace(DenseGram.from_matrix(np.eye(2)), Binary(Logit(), np.array([1.0, -1.0])))
    >>> found.f.round(4), round(found.log_evidence, 4)
    (array([ 0.4011, -0.4011]), -1.4013)
    """
    with few_threads(K.n):
        a = np.zeros(K.n) if start is None else start
        return _TwoClasses(K, likelihood, a, start is not None, tol).climb(max_iter, clock).posterior()


class _TwoClasses(Mode):
    """(I + W K)⁻¹ = √W B⁻¹ √W⁻¹ with B = I + √W K √W, W diagonal: one factor of order n."""

    def _look(self):
        self.gradient, self.W = self.likelihood.derivatives(self.v)

    def _factor(self):
        self.s = np.sqrt(self.W)
        self.Binv, self._curved = site_inverse(self.K, self.s), self.s.all()

    def _solve(self, r):
        if self._curved:
            return self.s * (self.Binv @ (r / self.s))
        return r - self.s * (self.Binv @ (self.s * (self.K @ r)))  # where W has vanished in a row

    def posterior(self):
        """Return the approximation at the mode."""
        self.finish()
        info = self.info()
        if not self.converged:
            info["gradient"] = float(np.abs(self.K @ (self.gradient - self.a)).max(initial=0.0))
        nu, skew = self.W * self.v + self.gradient, self.likelihood.skew(self.v)
        evidence = self.psi - 0.5 * self.Binv.logdet()
        return SitePosterior(
            self.K, self.likelihood, self.a, self.s, self.Binv, nu, evidence, info, self.v, skew, self.moved
        )
