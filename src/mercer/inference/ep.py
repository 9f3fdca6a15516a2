"""Expectation propagation for two classes: each likelihood replaced by the Gaussian site that keeps its moments."""

import numpy as np

from mercer._clock import FOREVER
from mercer._threads import few_threads
from mercer.inference.mode import LATE
from mercer.inference.sites import SitePosterior, laplace
from mercer.solvers.coupled import site_inverse
from mercer.solvers.small import solve_each

DAMPING = (1.0, 0.05)  # the first, and the least, share of a new site that is taken over


def expectation_propagation(K, likelihood, *, start=None, max_iter=200, tol=1e-8, clock=FOREVER):
    """log Z ≈ Σᵢ log cᵢ + log ∫ N(f | 0, K) Πᵢ exp(νᵢ fᵢ − ½ τᵢ fᵢ²) df, sites that keep the moments of each fᵢ.

    At the fixed point log Z does not change with the sites, so that ∂ log Z/∂K is that at fixed ones.
    All sites are renewed at once, from those of Laplace's approximation; mixed with earlier sweeps (Anderson), and
    damped where the iteration would swing.
    A row of weight w > 1 has w equal sites (so that a whole number is a repeated row), one of weight w < 1 the site of
    σ(t f)ʷ.

    Parameters
    ----------
    K : Gram
    likelihood : Binary
    start : ndarray of shape (n, 2), default=None
        (τ, ν) of a similar problem.
    max_iter : int, default=200
        Most sweeps, each with one factorisation.
    tol : float, default=1e-8
        Largest change of a mean in a sweep, relative to 1 + max |f|, and of the log of a variance.
    clock : Clock, default=FOREVER
        When to end where it is, after one sweep at least.

    Returns
    -------
    SitePosterior
        With ``info["converged"]``, and in ``info["change"]`` the last change.

    Examples
    --------
    For the probit and one row the evidence is ½, and the approximation exact:

    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.inference.ep import expectation_propagation
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.likelihood import Probit
    >>> found = expectation_propagation(DenseGram.from_matrix([[2.0]]), Binary(Probit(), np.array([1.0])))
    >>> round(float(np.exp(found.log_evidence)), 9)
    0.5
    """
    with few_threads(K.n):
        state = _Sites(K, likelihood, *(_from_laplace(K, likelihood, clock) if start is None else start.T))
        for _ in range(max_iter):
            began = clock.seconds
            if state.sweep() <= tol:
                break
            if not clock.fits(clock.seconds - began):  # the next sweep takes about as long
                state.late = True
                break
        return state.posterior(tol)


def _from_laplace(K, likelihood, clock):
    """The sites of Laplace's approximation, which has half of the time at most."""
    found = laplace(K, likelihood, tol=1e-3, clock=clock.part(0.5))
    return found.s**2, found.nu


class _Sites:
    """τ, ν of all copies of each row together, and the posterior they make."""

    def __init__(self, K, likelihood, tau, nu):
        self.K, self.likelihood = K, likelihood
        self.tau, self.nu = tau.copy(), nu.copy()
        self.sweeps, self.change, self.damping, self.history = 0, np.inf, DAMPING[0], []
        self.late = False
        self._refresh()

    def _refresh(self):
        """Posterior means and variances, one factorisation."""
        self.current = None  # its factor first: two of them need not fit
        s = np.sqrt(self.tau)
        Binv = site_inverse(self.K, s)
        a = self.nu - s * (Binv @ (s * (self.K @ self.nu)))
        self.current = SitePosterior(self.K, self.likelihood, a, s, Binv, self.nu, np.nan, {})
        self.var = np.maximum(self.current.variances(), np.finfo(float).tiny)

    def cavity(self):
        """(mean, variance) of each fᵢ without one of its copies."""
        copies = self.likelihood.copies
        left = np.maximum(1.0 - self.tau * self.var / copies, 1e-12)
        v = self.var / left
        return (self.current.f - self.var * self.nu / copies) / left, v

    def sweep(self):
        """Renew all sites; the largest change of the posterior means and log variances, for undamped sites."""
        mean, v = self.cavity()
        _, slope, curve = self.likelihood.tilted(mean, v)
        left = np.maximum(1.0 - v * curve, 1e-12)  # tilted variance over cavity variance
        copies = self.likelihood.copies
        self.sweeps += 1
        f, var = mean + v * slope, v * left  # the moments that the marginals should have
        scale = 1.0 + np.abs(self.current.f).max(initial=0.0)
        moved = np.abs(f - self.current.f).max(initial=0.0) / scale
        change = max(float(moved), float(np.abs(np.log(var / self.var)).max(initial=0.0)))
        if change > 1.5 * self.change:  # it swings: more damping, and the sweeps before are forgotten
            self.damping, self.history = max(0.5 * self.damping, DAMPING[1]), []
        self.change = change
        self._renew(np.stack([copies * curve / left, copies * (slope + mean * curve) / left]))
        self._refresh()
        return change

    def _renew(self, target):
        """Anderson's mixing: the combination of the last sweeps whose residual is least, and then a damped step."""
        now = np.stack([self.tau, self.nu])
        self.history = [*self.history[-8:], (now, target - now)]
        x, r = self.history[-1]
        if len(self.history) > 1:
            unit = np.stack([self.var, np.sqrt(self.var)])  # so that both kinds of parameter count alike
            dx = np.stack([x - old for old, _ in self.history[:-1]])
            dr = np.stack([r - old for _, old in self.history[:-1]])
            A = (dr * unit).reshape(len(dr), -1)
            gram = A @ A.T
            gram += 1e-10 * np.trace(gram) * np.eye(len(dr))
            mix = solve_each(gram, A @ (r * unit).ravel()) if np.trace(gram) > 0 else np.zeros(len(dr))
            x, r = x - np.tensordot(mix, dx, 1), r - np.tensordot(mix, dr, 1)
        new = x + self.damping * r
        wrong = ~(new[0] > 0)  # a negative precision is no site: take over the plain one there
        new[:, wrong] = (now + self.damping * (target - now))[:, wrong]
        self.tau, self.nu = np.maximum(new[0], 0.0), new[1]

    def posterior(self, tol):
        """Return the approximation, with its evidence."""
        mean, v = self.cavity()
        log_z, _, _ = self.likelihood.tilted(mean, v)
        copies, f, var = self.likelihood.copies, self.current.f, self.var
        # log c = log Z − A(marginal) + A(cavity), with A = ½ m²/v + ½ log v the log partition of a Gaussian
        left = np.maximum(1.0 - self.tau * var / copies, 1e-12)
        difference = 0.5 * (mean * mean / v - f * f / var) - 0.5 * np.log(left)
        found = self.current
        evidence = float(np.sum(copies * (log_z + difference)) - 0.5 * found.Binv.logdet() + 0.5 * (self.nu @ f))
        info = {"iterations": self.sweeps, "converged": bool(self.change <= tol), "change": float(self.change)}
        info |= {"damping": self.damping, **(LATE if self.late else {})}
        return SitePosterior(self.K, self.likelihood, found.a, found.s, found.Binv, self.nu, evidence, info, f)
