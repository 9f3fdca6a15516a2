"""Laplace's approximation for two classes: the mode of the posterior by Newton, and the evidence around it."""

import numpy as np

from mercer._clock import FOREVER
from mercer._threads import few_threads
from mercer.inference.mode import Mode
from mercer.inference.sites import SitePosterior
from mercer.solvers.coupled import site_inverse


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
    >>> from mercer.inference.laplace import laplace
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.links import Logit
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
