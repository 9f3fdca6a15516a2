"""Laplace's approximation for several classes: one latent function each, and the softmax between them.

W = D − D 1 w⁻¹ 1ᵀ D couples the C classes of a row. With E_c = (K + D_c⁻¹)⁻¹ and Σ_c E_c = M Mᵀ everything is done by
C + 1 factorisations of order n, never by one of order C n (Rasmussen and Williams, algorithm 3.3).
"""

import numpy as np
from scipy.special import log_softmax, ndtri, softmax

from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.inference._newton import Newton
from mercer.inference.sites import SMALL, factor_sites, half_logdet
from mercer.solvers.engine.lapack import cholesky_lower, forward, inverse_from_lower, solve_lower

POINTS, MORE, MANY = 1024, 4096, 5  # of a Sobol rule; more for five classes and more
BLOCK = 2**18  # points of all rows at once
TINY = 1e-300  # of π: a class that is out of the question keeps a number


class Softmax:
    """log p(y | f) = Σᵢ wᵢ (f_{yᵢ i} − log Σ_c exp f_{c i}).

    Parameters
    ----------
    y : ndarray of int of shape (n,)
        Classes 0 … C − 1.
    classes : int
        C.
    weight : ndarray of shape (n,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import Softmax
    >>> Softmax(np.array([0, 1, 2]), 3).value(np.zeros((3, 3))).round(4)  # 3 log ⅓
    np.float64(-3.2958)
    """

    def __init__(self, y, classes, weight=None):
        self.y, self.classes = np.asarray(y), int(classes)
        self.weight = np.ones(len(self.y)) if weight is None else np.asarray(weight, dtype=float)
        self.target = (self.y == np.arange(self.classes)[:, None]).astype(float)

    def rows(self, index):
        """Return the likelihood of some of the rows."""
        return Softmax(self.y[index], self.classes, self.weight[index])

    def value(self, f):
        """Return log p(y | f) for f of shape (C, n)."""
        return np.sum(self.weight * log_softmax(f, axis=0)[self.y, np.arange(len(self.y))])

    def prob(self, f):
        """π_{c i}."""
        return np.maximum(softmax(f, axis=0), TINY)

    def gradient(self, prob):
        """w (t − π)."""
        return self.weight * (self.target - prob)


def softmax_laplace(K, likelihood, *, start=None, max_iter=100, tol=1e-8):
    """log Z ≈ −½ Σ_c a_cᵀf_c + log p(y | f̂) − Σ_c Σ log diag L_c − Σ log diag M + ½ Σ log w.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Shared by all classes.
    likelihood : Softmax
    start : ndarray of shape (C, n), default=None
    max_iter : int, default=100
    tol : float, default=1e-8

    Returns
    -------
    SoftmaxPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import Softmax, softmax_laplace
    >>> found = softmax_laplace(np.eye(3), Softmax(np.array([0, 1, 2]), 3))
    >>> found.f.argmax(axis=0)
    array([0, 1, 2])
    """
    with few_threads(len(K)):
        a = np.zeros((likelihood.classes, len(K)))
        return _SeveralClasses(K, likelihood, a, start, tol).climb(max_iter).posterior()


class _Blocks:
    """E_c, β_c = diag(B_c⁻¹) and M at one W; R x for R = (K + W⁻)⁻¹, its application."""

    def __init__(self, K, prob, weight):
        C, n = prob.shape
        self.D = weight * prob
        self.E, self.beta, self.half_logdet = np.empty((C, n, n)), np.empty((C, n)), -0.5 * np.log(weight).sum()
        total = np.zeros((n, n))
        for c in range(C):
            s = np.sqrt(self.D[c])
            L = factor_sites(K, s, self.E[c])
            self.half_logdet += half_logdet(L)
            E = inverse_from_lower(L)
            self.beta[c] = np.diagonal(E)
            E *= s
            E *= s[:, None]
            total += E
        if cholesky_lower(total):
            raise NotPositiveDefinite(
                "Σ E_c of the classes could not be factored: the probabilities are 0 or 1 to the last digit. Bound the "
                "amplitude of the kernel, or put a prior on it."
            )
        self.M = total
        self.half_logdet += half_logdet(total)

    def apply(self, x):
        """R x for x of shape (C, n)."""
        Ex = np.matmul(self.E, x[:, :, None])[:, :, 0]
        y = solve_lower(self.M, Ex.sum(axis=0))
        return Ex - np.matmul(self.E, y)

    def halves(self):
        """V_c = M⁻¹ E_c: R_{cd} = δ E_c − V_cᵀ V_d."""
        V = np.empty_like(self.E)
        for c, E in enumerate(self.E):
            W = np.array(E, order="F")
            forward(self.M, W)
            V[c] = W
        return V


class _SeveralClasses(Newton):
    """W couples the classes of a row; R = (K + W⁻)⁻¹ by `_Blocks`."""

    def _factor(self):
        self.blocks = _Blocks(self.K, self.likelihood.prob(self.f), self.likelihood.weight)

    def _direction(self):
        r = self.likelihood.gradient(self.likelihood.prob(self.f)) - self.a
        da = r - self.blocks.apply(r @ self.K)
        return da, da @ self.K

    def posterior(self):
        """Return the approximation at the mode."""
        self.f = self.a @ self.K
        self._factor()
        self.factored += 1
        evidence = self._height(self.a, self.f) - self.blocks.half_logdet
        return SoftmaxPosterior(self.K, self.likelihood, self.a, self.f, self.blocks, evidence, self._info())


class SoftmaxPosterior:
    """N(f | K a, (K⁻¹ + W)⁻¹) over C latent functions; made by `softmax_laplace`."""

    def __init__(self, K, likelihood, a, f, blocks, log_evidence, info):
        self.K, self.likelihood, self.a, self.f, self.blocks = K, likelihood, a, f, blocks
        self.log_evidence, self.info = float(log_evidence), info
        self._V = None

    @property
    def V(self):
        """M⁻¹ E_c, computed once."""
        if self._V is None:
            with few_threads(len(self.K)):
                self._V = self.blocks.halves()
        return self._V

    def covariances(self):
        """The C × C posterior covariance of each row, (n, C, C)."""
        blocks, C = self.blocks, len(self.a)
        T = np.matmul(self.V, self.K)
        out = np.einsum("cki,dki->icd", T, T, optimize=True)
        for c in range(C):
            gone = 1.0 - blocks.beta[c]
            with np.errstate(divide="ignore", invalid="ignore"):
                own = gone / blocks.D[c]
            weak = np.flatnonzero(~(gone > SMALL))
            Kw = self.K[weak]
            own[weak] = np.diagonal(self.K)[weak] - np.einsum("ij,ij->i", Kw @ blocks.E[c], Kw)
            out[:, c, c] += np.maximum(own, 0.0)
        return out

    def adjoint(self):
        """∂C/∂K of C = −log Z: ½ Σ_c (R_cc − a_c a_cᵀ − u_c a_cᵀ − a_c u_cᵀ), u = (I − R K) ∂ log Z/∂f̂."""
        with few_threads(len(self.K)):
            prob, S = self.likelihood.prob(self.f), self.covariances()
            p = prob.T
            q = np.einsum("icc->ic", S) - 2.0 * np.einsum("icd,id->ic", S, p)
            s2 = (-0.5 * self.likelihood.weight[:, None] * p * (q - np.sum(p * q, axis=1, keepdims=True))).T
            u = s2 - self.blocks.apply(s2 @ self.K)
            W = self.blocks.E.sum(axis=0)
            for V in self.V:
                W -= V.T @ V
            W -= (self.a + u).T @ (self.a + u)
            W += u.T @ u
            W *= 0.5
            W += W.T.copy()
            W *= 0.5
        return W

    def release(self):
        """Forget K, which prediction does not need."""
        self._V, self.K = self.V, None

    def latent(self, k, diagonal):
        """Means (m, C) and covariances (m, C, C) of f at new points."""
        with few_threads(k.shape[1]):
            mean = k @ self.a.T
            T = np.matmul(k, np.swapaxes(self.V, 1, 2))  # (C, m, n): V_c k
            cov = np.einsum("cmk,dmk->mcd", T, T, optimize=True)
            for c, E in enumerate(self.blocks.E):
                cov[:, c, c] += np.maximum(diagonal - np.einsum("mk,mk->m", k @ E, k), 0.0)
        return mean, cov

    def proba(self, k, diagonal):
        """P(class) at new points, (m, C)."""
        return expected_softmax(*self.latent(k, diagonal))

    def loo(self, index=None, share=1.0):
        """P(class) of rows without ``share`` of their weight, from the cavity N(f − V₋ g, V₋); (rows, C)."""
        index = np.arange(len(self.K)) if index is None else np.asarray(index)
        with few_threads(len(self.K)):
            S = self.covariances()[index]
        prob = self.likelihood.prob(self.f)
        f, g, p = self.f.T[index], self.likelihood.gradient(prob).T[index], prob.T[index]
        share = np.broadcast_to(share, len(p))[:, None]
        weight = (share * self.likelihood.weight[index][:, None])[:, :, None]
        one = np.eye(len(self.a))
        W = weight * (one * p[:, :, None] - p[:, :, None] * p[:, None])
        cavity = S @ np.linalg.inv(one - W @ S)
        cavity = 0.5 * (cavity + np.swapaxes(cavity, 1, 2))
        return expected_softmax(f - np.einsum("icd,id->ic", cavity, share * g), cavity)


def expected_softmax(mean, cov, points=None):
    """∫ softmax(f) N(f | mean, cov) df for each row, by a scrambled Sobol rule and its mirror image.

    A constant added to all f changes nothing: the rule has the C − 1 other directions, that of the largest variance
    first. The error is about 1e-4 for variances of 1, and 1e-3 for 25; with many classes and a large variance more.

    Parameters
    ----------
    mean : ndarray of shape (m, C)
    cov : ndarray of shape (m, C, C)
    points : int, default=None
        A power of two; None is 1024 for up to four classes, and 4096 for more.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import expected_softmax
    >>> expected_softmax(np.zeros((1, 2)), np.eye(2)[None]).round(3)
    array([[0.5, 0.5]])
    """
    from scipy.stats import qmc  # slow to load, and not needed by most

    C = mean.shape[1]
    points = (POINTS if C < MANY else MORE) if points is None else points
    normal = ndtri(qmc.Sobol(C - 1, scramble=True, rng=np.random.default_rng(0)).random(points))
    normal = np.concatenate([normal, -normal])
    P = np.eye(C) - 1.0 / C
    values, vectors = np.linalg.eigh(P @ cov @ P)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])[:, :, :0:-1]  # without the smallest, which is 0
    out, block = np.empty_like(mean), max(1, BLOCK // points)
    for i in range(0, len(mean), block):
        f = mean[i : i + block, None, :] + normal @ np.swapaxes(root[i : i + block], 1, 2)
        out[i : i + block] = softmax(f, axis=2).mean(axis=1)
    return out / out.sum(axis=1, keepdims=True)
