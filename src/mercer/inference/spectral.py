"""The evidence of a process by Fourier features, and its gradient: its cost depends on the rows in one sum only."""

import numpy as np

from mercer import _threads
from mercer.gram import Rows
from mercer.gram.fourier import FourierFeatures
from mercer.solvers.base import column_norms
from mercer.solvers.least_squares import least_squares
from mercer.solvers.normal import whiten
from mercer.solvers.projected import Span
from mercer.solvers.small import factor
from mercer.solvers.toeplitz import Convolution, ToeplitzOptions, toeplitz_system


class FeatureSums:
    """ΦᵀWΦ, ΦᵀW[H y] and [H y]ᵀW[H y] of some rows, y without its least-squares trend.

    Parameters
    ----------
    features : FourierFeatures
    rows : Rows

    Attributes
    ----------
    T : Convolution
    B : ndarray of shape (M, q + t)
    G : ndarray of shape (q + t, q + t)
    C : ndarray of shape (M, q + t)
        Coefficients of the columns that are features, as those of ones are: a constant is the feature of frequency 0.
    plain : ndarray of shape (q, t)
        The trend by least squares, taken out of y so that an offset costs no digits.
    weight : float
        Of all rows.
    """

    def __init__(self, features: FourierFeatures, rows: Rows):
        self.n, self.q, self.t = rows.n, rows.q, rows.t
        H = rows.scaled(rows.H)
        self.plain = least_squares(H, rows.scaled(rows.y), np.zeros(rows.q))[0] if rows.q else np.zeros((0, rows.t))
        self.trend_logdet, width = Span(H).logdet if rows.q else 0.0, rows.q + rows.t
        self.weight, self.G, one = float(rows.weights().sum()), np.zeros((width, width)), (rows.H == 1.0).all(axis=0)
        F, kept = np.zeros(()), np.append(~one, np.ones(rows.t, dtype=bool))
        for part, u, w in _row_blocks(features, rows):
            both = np.hstack([rows.H[part], rows.y[part] - rows.H[part] @ self.plain])
            self.G += both.T @ (w[:, None] * both)
            F = F + _sums(features, u, w[:, None] * np.column_stack([np.ones(len(u)), both[:, kept]]))
        # a column of ones, as a constant trend is, has the sums of the weights
        self.T, self.B = Convolution(F[0]), features.adjoint(F[np.where(kept, np.cumsum(kept), 0)])
        self.C = np.zeros_like(self.B)
        self.C[features.count // 2, ~kept] = 1.0


def feature_gram(features, rows, block=2**21):
    """ΦᵀWΦ of some rows, as a `mercer.solvers.toeplitz.Convolution`."""
    return Convolution(sum(_sums(features, u, w[:, None])[0] for _, u, w in _row_blocks(features, rows, block)))


def _row_blocks(features, rows, block=2**21):
    """Yield (part, angles, weights) of the rows in blocks: copies of all rows at once take too much memory."""
    for i in range(0, rows.n, block):
        part = slice(i, i + block)
        u = features.angles(rows.X[part])
        yield part, u, np.ones(len(u)) if rows.weight is None else rows.weight[part]


def _sums(features, u, C):
    """``features.sums`` in two threads; the split is fixed, so that the last bits do not depend on the cores."""
    found, half = [None, None], len(u) // 2

    def work(i, worker):
        part = slice(half, None) if i else slice(half)
        found[i] = features.sums(u[part], C[part])

    _threads.run(work, 2)
    return found[0] + found[1]


class FourierInverse:
    """K̃ = ΦD²Φᵀ + λW⁻¹ inverted, the trend projected out: as much as the mean and the evidence ask for.

    With Ax = DΦᵀW[H y] the mean is ΦDx, ΦᵀK̃⁻¹[H y] = x/D, and tr K̃⁻¹∂K = Σ ∂log D² (1 − λ(A⁻¹)ⱼⱼ).

    Parameters
    ----------
    sums : FeatureSums
    D2 : ndarray of shape (M,)
    lam : float
    tol : float
        Of the iteration, where there is one.
    options : ToeplitzOptions, optional

    Attributes
    ----------
    b : ndarray of shape (q, t)
        Coefficients of the trend.
    coef : ndarray of shape (M, q + t)
        Dx: those of the smooth of each column of H, and of y − Hb.
    L : ndarray of shape (q, q)
        The factor of HᵀK̃⁻¹H.
    quad : ndarray of shape (t,)
        (y − Hb)ᵀK̃⁻¹(y − Hb).
    """

    def __init__(self, sums, D2, lam, tol, options=ToeplitzOptions()):
        self.n, self.q, self.lam, self._t, self._m = sums.n, sums.q, lam, sums.t, len(D2)
        D, q = np.sqrt(D2)[:, None], sums.q
        self.system = toeplitz_system(sums.T, D2, lam, options)
        x, G = self._solve(sums, D, tol)
        made = factor(G[:q, :q]) if q else None
        b = made.solve(np.ascontiguousarray(G[:q, q:])) if q else np.zeros((0, sums.t))
        self.L, self._trend_logdet = (np.tril(made.lower) if q else np.zeros((0, 0))), sums.trend_logdet
        self.b, self.quad = sums.plain + b, np.diagonal(G[q:, q:]) - np.einsum("qt,qt->t", G[:q, q:], b)
        self._xh, self._xy = x[:, :q], x[:, q:] - x[:, :q] @ b
        self.coef = D * np.hstack([self._xh, self._xy])
        self._traces = None

    def _solve(self, sums, D, tol):
        """(A⁻¹B, [H y]ᵀK̃⁻¹[H y]) for B = DΦᵀW[H y].

        Features leave little of a trend: hᵀWh − bᵀA⁻¹b is the difference of numbers n times as large. Where h = Φc is a
        feature itself, x = c/D − λA⁻¹c/D, hᵀK̃⁻¹h = ‖c/D‖² − λ(c/D)ᵀA⁻¹c/D and hᵀK̃⁻¹y = (c/D)ᵀA⁻¹b of y lose nothing.
        """
        X0, known, lam = sums.C / D, sums.C.any(axis=0), self.lam
        R = np.where(known, -lam * X0, D * sums.B)
        self.solved = self.system.solve(R, self._tolerances(sums, R, known, D, tol))
        S = np.where(known | known[:, None], lam * X0.T @ X0, sums.G)
        return X0 + self.solved.X, (S - self.solved.inner) / lam

    def _tolerances(self, sums, R, known, D, tol):
        """Of each column: hᵀK̃⁻¹h >= hᵀWh/(Σw ΣD² + λ) is to be right to one percent; a residual r adds <= ‖r‖²/λ²."""
        least = np.diagonal(sums.G) / (sums.weight * float((D**2).sum()) + self.lam)
        trend = self.lam * np.sqrt(0.01 * least) / np.maximum(column_norms(R), np.finfo(float).tiny)
        trend = np.minimum(np.where(known, 0.01, tol), trend)
        return np.where(np.arange(len(trend)) < self.q, trend, tol)

    def _traced(self):
        """(log det A, the diagonal of A⁻¹)."""
        if self._traces is None:
            self._traces = self.system.traced()
        return self._traces

    def logdet(self):
        """log det of K̃ of the scaled rows, the trend projected out."""
        inner = 2.0 * float(np.log(np.diagonal(self.L)).sum()) - self._trend_logdet
        return self._traced()[0] + (self.n - self._m) * np.log(self.lam) + inner

    def gradient(self, slopes):
        """∂ log p(y)/∂(log θ, log λ), for ∂ log D²/∂ log θ of shape (p, M)."""
        fits = (self._xy**2).sum(axis=1)
        known = 1.0 - self.lam * self._traced()[1]
        if self.q:
            known = known - (whiten(self.L, np.ascontiguousarray(self._xh.T)) ** 2).sum(axis=0)
        noise = self.quad.sum() - fits.sum() - self._t * ((self.n - self.q) - known.sum())
        return 0.5 * np.append(slopes @ (fits - self._t * known), noise)
