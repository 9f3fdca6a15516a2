"""Newton's method for the softmax over several classes: p(class c | x) = e^(f_c)/Σ e^(f_d), all classes at once."""

import numpy as np

from mercer._clock import Clock
from mercer._machine import check_memory
from mercer.dual.newton import Certified, store
from mercer.inference.softmax import Softmax
from mercer.solvers.coupled import Coupled
from mercer.solvers.small import least_norm


def solve_softmax(K, Y, c, *, intercept=True, tol=1e-6, max_iter=100, time_budget=None, memory=None):
    """`NewtonSolution` of min over α, b of Σᵢ cᵢ [log Σ_d e^(f_id) − Σ_d Y_id f_id] + ½ Σ_d α_dᵀKα_d,  f = Kα + b.

    Y is 1 at the class of each row, else 0; α and f are of shape (n, C), b, of sum 0, of shape (C,). C + 3 arrays of
    order n are needed. The others are those of `mercer.dual.newton.solve_smooth`.
    """
    n, classes = Y.shape
    refuse_beyond_memory(n, classes, memory)
    likelihood = Softmax(np.argmax(Y, axis=1), classes, np.broadcast_to(c, n))
    way = _AllClasses(store(K, np.float64, memory), likelihood, intercept, tol)
    return way.run(max_iter, Clock(time_budget))


def refuse_beyond_memory(n, classes, memory=None):
    """Refuse, before anything is allocated, what does not fit: a matrix for each class, and three more."""
    check_memory(8.0 * n * n * (classes + 3), f"the softmax of {classes} classes with n = {n}", memory)


class _AllClasses(Certified):
    """One function for each class; the constants b have the sum 0."""

    def __init__(self, K, likelihood, intercept, tol):
        self.intercept, self.info = intercept, {"solver": "cholesky", "multi_class": "softmax", "jitter": 0.0}
        zeros = np.zeros((K.n, likelihood.classes))
        super().__init__(K, likelihood, zeros, zeros.copy(), np.zeros(likelihood.classes), tol)

    def violation(self):
        """Newton's constraint Σα = 0 holds for α; Σ∇log p = 0 only at the minimum, so it is a part of the violation."""
        worst = np.abs(self.gradient.sum(axis=0)).max() if self.intercept else 0.0
        worst = max(float(np.abs(self.a - self.gradient).max()), float(worst))
        return self._relative(worst, float(np.abs(self.gradient).max()))

    def _direction(self):
        """Δα = R (r/D − Δb) for r = ∇log p − α = W (r/D), whose classes sum to 0: no digits cancel, whatever K is."""
        self.factored += 1
        D = self.likelihood.weight[:, None] * np.maximum(self.likelihood.prob(self.f), 1e-12)
        R = Coupled(self.K, D, jitter="auto")
        self.info["jitter"] = max(self.info["jitter"], R.info["jitter"])
        x = (self.gradient - self.a) / D
        if not self.intercept:
            return R @ x, None
        n, classes = x.shape
        ones = np.broadcast_to(np.eye(classes), (n, classes, classes))
        both = R @ np.concatenate([x[:, :, None], ones], axis=2)
        dalpha, along = both[:, :, 0], both[:, :, 1:]
        db = least_norm(along.sum(axis=0), (self.a + dalpha).sum(axis=0))
        db -= db.mean()
        return dalpha - along @ db, db
