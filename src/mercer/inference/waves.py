"""The evidence of a process by waves, and its gradient: after one sum over the rows nothing depends on their number."""

import numpy as np

from mercer.gram import Rows
from mercer.gram.fourier import Waves
from mercer.solvers.base import column_norms
from mercer.solvers.least_squares import least_squares
from mercer.solvers.normal import whiten
from mercer.solvers.projected import Span
from mercer.solvers.small import factor
from mercer.solvers.toeplitz import Convolution
from mercer.solvers.waves import system

PERCENT = 0.01  # that HᵀK̃⁻¹H may be off
BLOCK = 2**21  # rows whose waves are summed at once: of all of them copies take more memory than the rows


class WaveSums:
    """ΦᵀWΦ, ΦᵀW[H y] and [H y]ᵀW[H y] of some rows on a grid of waves, y without its plain trend.

    Parameters
    ----------
    waves : Waves
    rows : Rows

    Attributes
    ----------
    T : Convolution
    B : ndarray of shape (M, q + t)
    G : ndarray of shape (q + t, q + t)
    plain : ndarray of shape (q, t)
        The trend by least squares, taken out of y so that an offset costs no digits.
    weight : float
        Of all rows.
    """

    def __init__(self, waves: Waves, rows: Rows):
        self.waves, self.n, self.q, self.t = waves, rows.n, rows.q, rows.t
        H = rows.scaled(rows.H)
        self.plain = least_squares(H, rows.scaled(rows.y), np.zeros(rows.q))[0] if rows.q else np.zeros((0, rows.t))
        self.trend_logdet, width = Span(H).logdet if rows.q else 0.0, rows.q + rows.t
        self.B, self.G = np.zeros((waves.count, width)), np.zeros((width, width))
        self.T, self.weight = squares(waves, rows), float(rows.weights().sum())
        for part, u, w in _blocks(waves, rows):
            both = np.hstack([rows.H[part], rows.y[part] - rows.H[part] @ self.plain])
            self.B += np.column_stack([waves.adjoint(u, w * column) for column in both.T])
            self.G += both.T @ (w[:, None] * both)


def squares(waves, rows):
    """ΦᵀWΦ of some rows, as a `mercer.solvers.toeplitz.Convolution`."""
    return Convolution(sum(waves.sums(u, w) for _, u, w in _blocks(waves, rows)))


def _blocks(waves, rows):
    """Yield (part, angles, weights) of the rows, not too many at once."""
    for i in range(0, rows.n, BLOCK):
        part = slice(i, i + BLOCK)
        u = waves.angles(rows.X[part])
        yield part, u, np.ones(len(u)) if rows.weight is None else rows.weight[part]


def _trend_tol(sums, D2, lam, b, tol):
    """Tolerances with which each hᵀK̃⁻¹h, all that waves leave of a trend, is right to a percent.

    It is at least hᵀWh/(Σw ΣD² + λ), and ‖r‖²/λ² is the most that a residual r can add.
    """
    least = np.diagonal(sums.G)[: sums.q] / (sums.weight * D2.sum() + lam)
    length = np.maximum(column_norms(b[:, : sums.q]), np.finfo(float).tiny)
    return np.minimum(tol, lam * np.sqrt(PERCENT * least) / length)


class WaveInverse:
    """K̃ = ΦD²Φᵀ + λW⁻¹ inverted, the trend projected out: as much as the mean and the evidence ask for.

    With Ax = DΦᵀW[H y] the mean is ΦDx, ΦᵀK̃⁻¹[H y] = x/D, and tr K̃⁻¹∂K = Σ ∂log D² (1 − λ(A⁻¹)ⱼⱼ).

    Parameters
    ----------
    sums : WaveSums
    D2 : ndarray of shape (M,)
    lam : float
    tol : float
        Of the iteration, where there is one.

    Attributes
    ----------
    b : ndarray of shape (q, t)
        Coefficients of the trend.
    coef : ndarray of shape (M, q + t)
        Dx: those of the smooth of each column of H, and of y beside the trend.
    L : ndarray of shape (q, q)
        The factor of HᵀK̃⁻¹H.
    quad : ndarray of shape (t,)
        (y − Hb)ᵀK̃⁻¹(y − Hb).
    """

    def __init__(self, sums, D2, lam, tol):
        self.n, self.q, self.lam, self._t, self._waves = sums.n, sums.q, lam, sums.t, len(D2)
        D, q = np.sqrt(D2)[:, None], sums.q
        self.system = system(sums.T, D2, lam)
        b = D * sums.B
        self.solved = self.system.solve(b, np.append(_trend_tol(sums, D2, lam, b, tol), np.full(sums.t, tol)))
        x, G = self.solved.X, (sums.G - self.solved.inner) / lam
        made = factor(G[:q, :q]) if q else None
        b = made.solve(np.ascontiguousarray(G[:q, q:])) if q else np.zeros((0, sums.t))
        self.L, self._trend_logdet = (np.tril(made.lower) if q else np.zeros((0, 0))), sums.trend_logdet
        self.b, self.quad = sums.plain + b, np.diagonal(G[q:, q:]) - np.einsum("qt,qt->t", G[:q, q:], b)
        self._xh, self._xy = x[:, :q], x[:, q:] - x[:, :q] @ b
        self.coef = D * np.hstack([self._xh, self._xy])
        self._found = None

    def _traced(self):
        """(log det A, the diagonal of A⁻¹)."""
        if self._found is None:
            self._found = self.system.traced()
        return self._found

    def logdet(self):
        """log det of K̃ of the scaled rows, the trend projected out."""
        inner = 2.0 * float(np.log(np.diagonal(self.L)).sum()) - self._trend_logdet
        return self._traced()[0] + (self.n - self._waves) * np.log(self.lam) + inner

    def gradient(self, slopes):
        """∂ log p(y)/∂(log θ, log λ), for ∂ log D²/∂ log θ of shape (p, M)."""
        fits = (self._xy**2).sum(axis=1)
        known = 1.0 - self.lam * self._traced()[1]
        if self.q:
            known = known - (whiten(self.L, np.ascontiguousarray(self._xh.T)) ** 2).sum(axis=0)
        noise = self.quad.sum() - fits.sum() - self._t * ((self.n - self.q) - known.sum())
        return 0.5 * np.append(slopes @ (fits - self._t * known), noise)
