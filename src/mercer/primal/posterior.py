"""The posterior of a Gaussian process on landmarks: its mean is the ridge fit, its variance is never below 0."""

import numpy as np

from mercer._state import check, check_vectors
from mercer.gram import apply
from mercer.gram.trend import Trend
from mercer.inference.moments import Moments, Posterior
from mercer.kernels import Kernel
from mercer.solvers.normal import whiten

ENTRIES = 2**22  # of the largest array of a block of rows: 32 MB
FIELDS = {
    "kernel": Kernel, "points": "rows m d", "trend": (Trend, None), "lam": "number", "alpha": "float m t",
    "b": "float q t", "L": "float m m", "B": "float m m", "T": "float m q", "hh": "float q q",
}  # fmt: skip


class LandmarkPosterior(Posterior):
    """f | y on landmarks z:  m(x) = k(x, z)ᵀα + h(x)ᵀb,  v(x) = k(x, x) − ‖a‖² + λ aᵀ(S + λI)⁻¹a,  a = L⁻¹k(z, x).

    k(x, x) − ‖a‖² is what the landmarks do not see of f(x): far from them the prior variance comes back. The rest is a
    sum of squares.

    Attributes
    ----------
    kernel, points, trend, lam, alpha, b
        Of the fit.
    L, B : ndarray of shape (m, m)
        The factors of K_mm and of S + λI.
    T : ndarray of shape (m, q)
        What is taken from a for the trend.
    hh : ndarray of shape (q, q)
        (HᵀH)⁻¹.
    """

    def __init__(self, kernel, points, trend, lam, alpha, b, L, B, T, hh):
        self.kernel, self.points, self.trend, self.lam = kernel, points, trend, lam
        self.alpha, self.b, self.L, self.B, self.T, self.hh = alpha, b, L, B, T, hh

    @classmethod
    def of(cls, fit):
        """Return the posterior of a `SquaredFit`."""
        B, T, hh = fit.normal.posterior_parts(fit.lam, fit.design.centre)
        alpha, b = fit.design.in_data_units(fit.solution)
        return cls(fit.design.kernel, fit.chosen.points, fit.design.trend, fit.lam, alpha, b, fit.chosen.L, B, T, hh)

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state."""
        check(state, FIELDS, "LandmarkPosterior")
        check_vectors(state["kernel"], state["points"], "LandmarkPosterior.points")
        return cls(**state)

    def _trend_at(self, X):
        return np.zeros((len(X), 0)) if self.trend is None else self.trend(X)

    def mean(self, X):
        """m(x), of shape (r, t)."""
        return apply(self.kernel, X, self.points, self.alpha) + self._trend_at(X) @ self.b

    def _halves(self, X):
        """(a, (S + λI)^−½ a, h): their squares are what is explained and what is left of it."""
        h = self._trend_at(X)
        a = whiten(self.L, np.asarray(self.kernel(X, self.points), dtype=float).T)
        return a, whiten(self.B, a - self.T @ h.T), h

    def moments(self, X):
        """(m(x), v(x)) as `Moments`."""
        return Moments(self.mean(X), self.variance(X))

    def variance(self, X):
        """v(x), never below 0; by blocks of rows."""
        variance, prior = np.empty(len(X)), np.asarray(self.kernel.diag(X), dtype=float)
        step = max(1, ENTRIES // len(self.L))
        for i in range(0, len(X), step):
            a, half, h = self._halves(X[i : i + step])
            unseen = np.maximum(prior[i : i + step] - np.einsum("ij,ij->j", a, a), 0.0)
            known = np.einsum("ij,ij->j", half, half) + np.einsum("iq,iq->i", h @ self.hh, h)
            variance[i : i + step] = unseen + self.lam * known
        return variance

    def covariance(self, X):
        """(Moments, c(x, x′)) for all pairs of rows of X."""
        a, half, h = self._halves(X)
        C = np.asarray(self.kernel(X), dtype=float) - a.T @ a + self.lam * (half.T @ half + h @ self.hh @ h.T)
        C = (C + C.T) / 2
        found = self.moments(X)
        np.fill_diagonal(C, found.variance)
        return found, C
