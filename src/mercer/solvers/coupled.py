"""Coupled: the inverse behind C functions that a softmax couples, from C + 1 factors of order n, not one of order C n.

In every row W = D − D 1 (1ᵀD 1)⁻¹ 1ᵀD has rank C − 1. With E_c = (K + D_c⁻¹)⁻¹ and M = Σ_c E_c the inverse of K + W⁻ is
R_cd = δ_cd E_c − E_c M⁻¹ E_d (Rasmussen and Williams, algorithm 3.3): here for Newton's steps, evidence and variances.
"""

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.gram import DenseGram, ScaledGram
from mercer.solvers.cholesky import CholeskyInverse, factorise_without_checks, scale_both, square
from mercer.solvers.factoring import factor


def site_inverse(K, s):
    """B⁻¹ of B = I + s K s: no eigenvalue of B is below 1, and nothing is added to it."""
    try:
        return factorise_without_checks(ScaledGram(K, s), 1.0)
    except NotPositiveDefinite as error:
        raise NotPositiveDefinite(
            "I + √W K √W could not be factored: K has a negative or non-finite entry on a large scale. Is it a kernel, "
            "and are its amplitude and length scales of a sensible size?"
        ) from error


class Coupled:
    """R = (K + W⁻)⁻¹ for f of shape (n, C), one K for all classes.

    Parameters
    ----------
    K : Gram
    D : ndarray of shape (n, C)
        w π > 0, the diagonal part of the curvature; its rows sum to w.
    jitter : {"auto", None}, default=None
        What may be added to the diagonal of a matrix that cannot be factored; ``info["jitter"]`` says how much.

    Attributes
    ----------
    E : ndarray of shape (C, n, n)
    M : CholeskyInverse
        Of Σ E_c.
    beta : ndarray of shape (n, C)
        1 − D_c diag((K⁻¹ + D_c)⁻¹).
    info : dict

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers.coupled import Coupled
    >>> R = Coupled(DenseGram.from_matrix(np.eye(1)), np.array([[0.5, 0.5]]))
    >>> R @ np.array([[1.0, -1.0]])  # along (1, −1) W is ½, so that R is 1/(1 + 2)
    array([[ 0.33333333, -0.33333333]])
    """

    def __init__(self, K, D, jitter=None):
        self.K, self.D, self.info = K, D, {"jitter": 0.0}
        n, C = D.shape
        self.E, self.beta, self._half_logdet = np.empty((C, n, n)), np.empty((n, C)), 0.0
        total = np.zeros((n, n))
        for c in range(C):
            s = np.sqrt(D[:, c])
            B = site_inverse(K, s) if jitter is None else self._repaired(ScaledGram(K, s), 1.0, jitter)
            self._half_logdet += 0.5 * B.logdet()
            self.E[c] = B.explicit().dense()
            self.beta[:, c] = self.E[c].diagonal()
            total += scale_both(self.E[c], s)
        self.M = self._repaired(DenseGram.from_matrix(total), 0.0, jitter)

    def _repaired(self, K, lam, jitter):
        """(K + λI)⁻¹; what had to be added to the diagonal goes to ``info``."""
        L, added = factor(K, lam, np.float64, jitter)
        self.info["jitter"] = max(self.info["jitter"], added)
        return CholeskyInverse(L, lam)

    def __matmul__(self, x):
        """R x for x of shape (n, C) or (n, C, k)."""
        columns = np.moveaxis(x if x.ndim == 3 else x[:, :, None], 1, 0)
        Ex = np.matmul(self.E, columns)
        out = np.moveaxis(Ex - np.matmul(self.E, self.M @ Ex.sum(axis=0)), 0, 1)
        return out if x.ndim == 3 else out[:, :, 0]

    def half_logdet(self):
        """½ log det(I + K W)."""
        return self._half_logdet + 0.5 * self.M.logdet() - 0.5 * float(np.log(self.D.sum(axis=1)).sum())

    def halves(self):
        """V with V_c = L⁻¹E_c and L Lᵀ = M, so that R_cd = δ_cd E_c − V_cᵀV_d: (C, n, n)."""
        V = np.empty_like(self.E)
        for c, E in enumerate(self.E):
            V[c] = self.M.half(E)
        return V

    def diagonal_blocks(self, V):
        """Σ_c R_cc, from the halves."""
        return self.E.sum(axis=0) - square(V.reshape(-1, V.shape[-1]))

    def covariances(self, V):
        """(K⁻¹ + W)⁻¹ at each row, of shape (n, C, C), from the halves: by K E = I − D⁻¹E, but in rows of little D."""
        n, C = self.D.shape
        inverse, T = self.M.half(np.eye(n)), np.empty_like(V)
        own = np.empty((n, C))
        with np.errstate(divide="ignore", invalid="ignore"):
            for c in range(C):
                T[c] = inverse - V[c] / self.D[:, c]
                own[:, c] = (1.0 - self.beta[:, c]) / self.D[:, c]
        for c in range(C):
            weak = np.flatnonzero(~(self.D[:, c] > 1e-8))  # where K E = I − D⁻¹E has lost its digits
            if weak.size:
                k = self.K.rows(weak)
                T[c][:, weak] = V[c] @ k.T
                own[weak, c] = k[np.arange(weak.size), weak] - np.einsum("ij,ij->i", k @ self.E[c], k)
        out = np.einsum("cki,dki->icd", T, T, optimize=True)
        out[:, np.arange(C), np.arange(C)] += np.maximum(own, 0.0)
        return out
