"""The posterior of a Gaussian process given noisy values: mean, variance, covariance, parts and slopes.

The system is S K S + λI with S = diag(√c), c the weights of the points, L its Cholesky factor, H the trend at the
points. The trend has a flat prior (universal kriging). Everything is in the units that y came in.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from mercer.gram import apply
from mercer.solvers.update import Factored

ENTRIES = 2**22  # of the largest array of a block of rows: 32 MB
LOG_2PI = float(np.log(2.0 * np.pi))
ROUNDING = 64 * np.finfo(float).eps  # for each point: what cancellation may leave of k(x, x)


class Slopes(NamedTuple):
    """Derivatives with respect to x: of the mean (m, d, t), of the variance (m, d), with mean and variance."""

    mean: np.ndarray
    variance: np.ndarray
    d_mean: np.ndarray
    d_variance: np.ndarray


class Posterior:
    """f | y:  m(x) = kₓᵀα + h(x)ᵀb,  v(x) = k(x, x) − ‖L⁻¹Skₓ‖² + rᵀ(HᵀSK̃⁻¹SH)⁻¹r,  r = h(x) − HᵀSK̃⁻¹Skₓ.

    Parameters
    ----------
    kernel : Kernel
    points : collection of n inputs
    Kinv : Inverse
        K̃⁻¹ = (S K S + λI)⁻¹ with a factor: of `Cholesky`, or `Factored`.
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,), default=None
        c; None is ones.
    trend : callable, default=None
        X ↦ H of shape (m, q); ``trend.dx(X)`` is its derivative (m, q, d). None is no trend.

    Attributes
    ----------
    alpha : ndarray of shape (n, t)
        Dual vector α, of the points.
    b : ndarray of shape (q, t)
        Coefficients of the trend.
    lam : float
        Noise variance λ of a point of weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.inference.posterior import Posterior
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Cholesky
    >>> X, y = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]])
    >>> f = Posterior(Gaussian(), X, Cholesky().resolvent(TiledGram(Gaussian(), X))(0.1), y)
    >>> mean, variance = f.moments(np.array([[1.0], [9.0]]))
    >>> mean.ravel().round(4), variance.round(4)
    (array([0.8694, 0.    ]), array([0.0869, 1.    ]))
    """

    def __init__(self, kernel, points, Kinv, y, weight=None, trend=None):
        self.kernel, self.points, self.trend = kernel, points, trend
        self.Kinv = Kinv if isinstance(Kinv, Factored) else Factored.of(Kinv)
        self.lam = self.Kinv.lam
        self.s = None if weight is None else np.sqrt(weight)
        H = np.zeros((len(y), 0)) if trend is None else trend(points)
        self.size_of_trend = log_gram(self._scale(H) if self.lam > 0 else H)
        y, H = self._scale(y), self._scale(H)
        v, G = self.Kinv.half(y), self.Kinv.half(H)
        Q, self._R = np.linalg.qr(G)
        self._G, self.q = np.ascontiguousarray(G), H.shape[1]
        self.b = self._by_trend(Q.T @ v)
        rest = v - Q @ (Q.T @ v)
        if self.Kinv.jittered:  # the factor is that of another matrix: the original system is solved by refinement
            both = self.Kinv @ np.hstack([y, H])
            A, Z = both[:, : y.shape[1]], both[:, y.shape[1] :]
            self.b = np.linalg.lstsq(H.T @ Z, H.T @ A, rcond=None)[0] if self.q else self.b
            beta = A - Z @ self.b
        else:
            beta = self.Kinv.other_half(rest)
        self.quad = np.einsum("ij,ij->j", rest, rest)
        self.alpha = np.ascontiguousarray(self._scale(beta))

    def _scale(self, B):
        return B if self.s is None else self.s[:, None] * B

    def _by_trend(self, B):
        """R⁻¹B."""
        return solve_triangular(self._R, B) if self.q else np.zeros((0, B.shape[1]))

    def _at(self, X):
        """H at X."""
        return np.zeros((len(X), 0)) if self.trend is None else self.trend(X)

    def blocks(self, X, width=1):
        """Slices of the rows of X, so that ``width`` arrays of rows × n stay small."""
        step = max(1, ENTRIES // (max(1, self.Kinv.n) * width))
        return [slice(i, min(i + step, len(X))) for i in range(0, len(X), step)]

    # ---------------------------------------------------------------------- mean, variance, covariance
    def mean(self, X):
        """m(x), of shape (m, t); no variance is computed."""
        return apply(self.kernel, X, self.points, self.alpha) + self._at(X) @ self.b

    def moments(self, X, kernel=None):
        """(m(x), v(x)) of shapes (m, t) and (m,); v is not clipped. Of one part of a sum, with its kernel.

        Parameters
        ----------
        X : collection of m inputs
        kernel : Kernel, default=None
            A part of an additive kernel: its share of the mean and its own posterior variance, the trend left out.
        """
        part = self.kernel if kernel is None else kernel
        mean, variance = np.empty((len(X), self.alpha.shape[1])), np.asarray(part.diag(X), dtype=float).copy()
        for block in self.blocks(X):
            K = np.asarray(part(X[block], self.points), dtype=float)
            H = self._at(X[block]) if kernel is None else np.zeros((len(K), self.q))
            mean[block] = K @ self.alpha + H @ self.b
            V, r = self._halves(K, H)
            variance[block] -= np.einsum("ij,ij->j", V, V)
            variance[block] += np.einsum("ij,ij->j", r, r)
        return mean, variance

    def trend_moments(self, X):
        """(h(x)ᵀb, h(x)ᵀ(HᵀSK̃⁻¹SH)⁻¹h(x)): the trend by itself."""
        H = self._at(X)
        r = solve_triangular(self._R, H.T, trans="T") if self.q else np.zeros((0, len(H)))
        return H @ self.b, np.einsum("ij,ij->j", r, r)

    def _halves(self, K, H):
        """(L⁻¹S kₓ, R⁻ᵀ r) for the rows of K, which is overwritten: v = k(x, x) − ‖first‖² + ‖second‖²."""
        if self.s is not None:
            K = K * self.s
        V = self.Kinv.half_inplace(np.ascontiguousarray(K).T)
        r = solve_triangular(self._R, (H - V.T @ self._G).T, trans="T") if self.q else np.zeros((0, len(H)))
        return V, r

    def covariance(self, X):
        """(m(x), c(x, x′)) for all pairs of rows of X: (m, t) and (m, m)."""
        K, H = np.asarray(self.kernel(X, self.points), dtype=float), self._at(X)
        mean = K @ self.alpha + H @ self.b
        V, r = self._halves(K, H)
        C = np.asarray(self.kernel(X), dtype=float)
        C -= V.T @ V
        C += r.T @ r
        return mean, (C + C.T) / 2

    # ---------------------------------------------------------------------- derivatives
    def slopes(self, X):
        """∂m/∂x = Σⱼ αⱼ ∂k(x, xⱼ)/∂x + …,  ∂v/∂x = ∂k(x, x)/∂x − 2 Σⱼ (P kₓ)ⱼ ∂k(x, xⱼ)/∂x + …, with the trend.

        Returns
        -------
        Slopes
        """
        d, t = X.shape[1], self.alpha.shape[1]
        out = Slopes(np.empty((len(X), t)), np.empty(len(X)), np.empty((len(X), d, t)), np.empty((len(X), d)))
        SZ = self._scale(self.Kinv.other_half(self._G))  # S K̃⁻¹S H
        for block in self.blocks(X, width=max(1, d)):
            A = X[block]
            K, H, D = np.asarray(self.kernel(A, self.points), dtype=float), self._at(A), self.kernel.dx(A, self.points)
            dH = self.trend.dx(A) if self.q else np.zeros((len(A), 0, d))
            out.mean[block] = K @ self.alpha + H @ self.b
            out.d_mean[block] = np.einsum("mnd,nt->mdt", D, self.alpha) + np.einsum("mqd,qt->mdt", dH, self.b)
            V, r = self._halves(K, H)
            out.variance[block] = (
                self.kernel.diag(A) - np.einsum("ij,ij->j", V, V) + np.einsum("ij,ij->j", r, r)
            )  # fmt: skip
            W = self._scale(self.Kinv.other_half(V))  # S K̃⁻¹S kₓ
            slope = self.kernel.dx_diag(A) - 2.0 * np.einsum("nm,mnd->md", W, D)
            if self.q:
                u = solve_triangular(self._R, r)  # (HᵀSK̃⁻¹SH)⁻¹ r
                slope += 2.0 * np.einsum("qm,mqd->md", u, dH - np.einsum("nq,mnd->mqd", SZ, D))
            out.d_variance[block] = slope
        return out

    # ---------------------------------------------------------------------- evidence
    def evidence(self, rows, logs=0.0, spread=0.0, size_of_trend=None):
        """{fidelity, complexity, constant} of log p(y), each summed over the targets; restricted if there is a trend.

        Parameters
        ----------
        rows : float
            How many rows were merged into the points. Without noise a copy of a row says nothing, and does not count.
        logs : float
            Σ log wᵢ over the rows where w is a precision; 0 where it is a number of copies.
        spread : ndarray of shape (t,)
            Σ w (y − ȳ)² within the points.
        size_of_trend : float, default=None
            log det HᵀH over the rows; None is that of S H, which it is where w counts copies.
        """
        n, t = self.Kinv.n, self.alpha.shape[1]
        if not self.lam > 0:
            rows, logs = n, 0.0 if self.s is None else 2.0 * float(np.log(self.s).sum())
        extra, spread = rows - n, np.broadcast_to(np.asarray(spread, dtype=float), (t,))
        logdet = self.Kinv.logdet() - logs + (extra * np.log(self.lam) if extra else 0.0)
        # log det HᵀK̃⁻¹H − log det HᵀH
        size = self.size_of_trend if size_of_trend is None else size_of_trend
        logdet += 2.0 * float(np.log(np.abs(np.diagonal(self._R))).sum()) - size
        with np.errstate(over="ignore"):
            fit = self.quad + (spread / self.lam if spread.any() else 0.0)
            fidelity = -0.5 * float(fit.sum())
        return {
            "fidelity": fidelity,
            "complexity": -0.5 * t * logdet,
            "constant": -0.5 * t * (rows - self.q) * LOG_2PI,
        }


def log_gram(H):
    """log det HᵀH."""
    return 2.0 * float(np.log(np.linalg.svd(H, compute_uv=False)).sum())


def clip(variance, prior, n):
    """(variance >= 0, how many were below, the largest beyond rounding relative to k(x, x)).

    Parameters
    ----------
    variance : ndarray of shape (m,)
        Overwritten.
    prior : ndarray of shape (m,)
        k(x, x), which it was subtracted from.
    n : int
        Points: rounding grows with them.
    """
    below = variance < 0
    count = int(np.count_nonzero(below))
    worst = 0.0
    if count:
        ratio = -variance[below] / np.maximum(prior[below], np.finfo(float).tiny)
        worst = float(ratio.max())
        variance[below] = 0.0
    return variance, count, worst if worst > ROUNDING * n else 0.0


def draw(mean, covariance, n_samples, rng):
    """(samples, clipped): mean + A z with A Aᵀ the covariance: a Cholesky factor, else eigenvectors with clipping.

    Parameters
    ----------
    mean : ndarray of shape (m, t)
    covariance : ndarray of shape (m, m)
    n_samples : int
    rng : Generator

    Returns
    -------
    samples : ndarray of shape (m, t, n_samples)
    clipped : float
        The most negative eigenvalue that was set to 0, relative to the largest; 0 if it is within rounding.
    """
    m, t = mean.shape
    z = rng.standard_normal((m, t * n_samples))
    clipped = 0.0
    try:
        A = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:  # singular, as for close points of a smooth process
        e, U = np.linalg.eigh(covariance)
        if e[0] < -ROUNDING * m * e[-1]:
            clipped = float(-e[0] / e[-1])
        A = U * np.sqrt(np.maximum(e, 0.0))
    return mean[:, :, None] + (A @ z).reshape(m, t, n_samples), clipped


def mixture(means, variances):
    """(m̄, v̄): moments of an equal mixture; means (s, m, t), variances (s, m) → (m, t), (m, t).

    The variance of a mixture is the mean variance plus the variance of the means.
    """
    means, variances = np.asarray(means), np.asarray(variances)
    mean = means.mean(axis=0)
    return mean, variances.mean(axis=0)[:, None] + ((means - mean) ** 2).mean(axis=0)
