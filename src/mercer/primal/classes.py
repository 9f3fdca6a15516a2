"""Classes on landmarks: Laplace's approximation of a Gaussian process whose f is Σ αⱼ k(·, zⱼ), a function for each.

With a = L⁻¹k(z, x) the prior of f(x) = aᵀβ is β ~ N(0, I); the mode is the minimum of Σ −w log p(y | f) + ½‖β‖² that
`mercer.primal.smooth` finds, and the posterior of β is normal with the covariance (Σ w a aᵀ (−log p)″ + I)⁻¹.
"""

import time
from dataclasses import replace

import numpy as np

from mercer.gram import take
from mercer.inference.classes import OneAgainstRest
from mercer.inference.likelihood import LINKS
from mercer.kernels import Constant, Kernel
from mercer.primal.smooth import curvatures, fit_smooth
from mercer.solvers.normal import whiten

ENTRIES = 2**22  # of the largest array of a block of rows: 32 MB
FIELDS = {
    "kernel": Kernel, "points": "rows m d", "link": str, "offset": "number", "constant": "number",
    "alpha": "float m t", "L": "float m m", "B": "float t m m",
}  # fmt: skip


class LinkLoss:
    """−log σ(y (f + offset)) of y = ±1, as `fit_smooth` asks for it."""

    classification, smooth = True, True

    def __init__(self, link, offset=0.0):
        self.link, self.offset = LINKS[link](), offset

    def split(self):
        """Return the losses of one target: itself."""
        return [self]

    def value(self, y, f):
        """−log p."""
        return -self.link.log(y * (f + self.offset))

    def grad(self, y, f):
        """Its slope."""
        return -y * self.link.derivatives(y * (f + self.offset))[0]

    def hess(self, y, f):
        """Its curvature."""
        return -self.link.derivatives(y * (f + self.offset))[1]


class LandmarkClasses(OneAgainstRest):
    """P(class | x) on landmarks: one latent function for two classes, else one for each against the rest.

    Attributes
    ----------
    kernel : Kernel
    points : collection of m landmarks
    link : {"logit", "probit"}
    offset : float
        A known mean of f.
    constant : float
        Prior variance of an unknown one, which is added to the kernel.
    alpha : ndarray of shape (m, t)
    L : ndarray of shape (m, m)
        The factor of K_mm.
    B : ndarray of shape (t, m, m)
        The factor of each Hessian.
    info : dict
        How the mode was found; a file does not keep it.
    """

    FIELDS = FIELDS

    def __init__(self, kernel, points, link, offset, constant, alpha, L, B, info=None):
        self.kernel, self.points, self.link, self.offset, self.constant = kernel, points, link, offset, constant
        self.alpha, self.L, self.B, self.info = alpha, L, B, info

    @classmethod
    def of(cls, source, basis, link, offset, constant, limits):
        """Return the posterior on the landmarks of ``with_constant(kernel, constant)``; y of the source is ±1."""
        started, loss, chosen = time.perf_counter(), LinkLoss(link, offset), basis.chosen
        kernel, basis = basis.kernel, replace(basis, kernel=with_constant(basis.kernel, constant))
        found = fit_smooth(source, basis, loss, 0.5, limits=limits)
        B = curvatures(source, basis.design(), chosen.L, loss, found.alpha)
        info = {"iterations": found.iterations, "converged": found.status == "converged", **found.info}
        info |= {"chosen": chosen, "seconds": time.perf_counter() - started}
        return cls(kernel, chosen.points, link, offset, constant, found.alpha, chosen.L, B, info)

    def latent(self, X, diagonal=None):
        """Means and variances of f at X, (r, t) each."""
        mean, known, unseen = self._parts(X)
        return mean, known + unseen[:, None]

    def proba(self, X, diagonal=None, averaging=None):
        """P(class), (r, C); "typical" takes the part of each variance that the rows leave at landmarks, for many X."""
        if averaging != "typical" or self.alpha.shape[1] == 1:
            return super().proba(X, diagonal, averaging)
        mean, known, unseen = self._parts(X, self._typical_share())
        return self._classes(mean, known + unseen[:, None])

    def _typical_share(self):
        """‖B⁻¹a‖²/‖a‖² of each class, (t,): its median over some landmarks, whose a are the rows of L."""
        a = self.L[np.unique(np.linspace(0, len(self.L) - 1, 100).astype(int))].T
        whole = np.einsum("ij,ij->j", a, a)
        return np.array([np.median(np.sum(whiten(B, a) ** 2, axis=0) / whole) for B in self.B])

    def _parts(self, X, share=None):
        """(mean, what the rows leave of the variance of aᵀβ, what no landmark sees): (r, t), (r, t), (r,).

        With the ``share`` that they leave of each class given, no row is looked at for each class.
        """
        k, t = with_constant(self.kernel, self.constant), self.alpha.shape[1]
        mean, known, unseen = np.empty((len(X), t)), np.empty((len(X), t)), np.empty(len(X))
        prior, step = np.asarray(k.diag(X), dtype=float), max(1, ENTRIES // len(self.L))
        for i in range(0, len(X), step):
            rows = slice(i, i + step)
            tile = np.asarray(k(take(X, range(i, min(i + step, len(X)))), self.points), dtype=float)
            a = whiten(self.L, tile.T)
            mean[rows] = tile @ self.alpha + self.offset
            seen = np.einsum("ij,ij->j", a, a)
            unseen[rows] = np.maximum(prior[rows] - seen, 0.0)
            if share is not None:
                known[rows] = seen[:, None] * share
            for j in range(t if share is None else 0):
                half = whiten(self.B[j], a)
                known[rows, j] = np.einsum("ij,ij->j", half, half)
        return mean, known, unseen

    def left_out(self, X, number, copies):
        """P(class) of rows of the fit, each without one of its copies: from the cavity of Laplace's approximation."""
        mean, known, unseen = self._parts(X)
        own = [1] if self.alpha.shape[1] == 1 else range(self.alpha.shape[1])
        loss = LinkLoss(self.link)
        for j, one in enumerate(own):
            y, f = np.where(number == one, 1.0, -1.0), mean[:, j]
            rest = np.maximum(1.0 - loss.hess(y, f) * known[:, j] * np.minimum(copies, 1.0), 1e-6)
            known[:, j] /= rest
            mean[:, j] = f + known[:, j] * loss.grad(y, f) * np.minimum(copies, 1.0)
        return self._classes(mean, known + unseen[:, None])


def with_constant(kernel, constant):
    """K + c: the kernel of a function with an unknown constant in it."""
    return kernel + Constant(constant) if constant else kernel
