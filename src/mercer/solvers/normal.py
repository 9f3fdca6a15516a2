"""Least squares on m landmarks from its sums: min Σ w (y − kᵀα − hᵀb)² + λ αᵀK_mm α, for every λ.

The sums are C = Σ w [k, h, y]ᵀ[k, h, y], one matrix: a row more is an outer product more, and a row less one less. With
L Lᵀ = K_mm the problem is ridge regression on the features a = L⁻¹k. The trend h is projected out of S = Σ w a aᵀ, and
one reduction S = Q T Qᵀ to a tridiagonal T serves every λ. Landmarks are nested: the factor of the first m′ rows of
S + λI is the leading block of the factor, so that one solve gives the model of every m′ <= m.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._parameters import cached_property
from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.engine.blas import blas
from mercer.solvers.engine.blocks import invert, side_by_side, strips
from mercer.solvers.engine.lapack import mirror
from mercer.solvers.small import factor

TURNS = 12  # of the power method
PANEL = 64  # columns of a block of reflectors
STRIP = 64  # rows of a triangle that are added at once
ALONE = 1e-8  # of 1 − leverage: below, a row alone decides its fit, and rounding what is left of it
ROUNDED = 1e-14  # of y: what rounding leaves of a sum of squared residuals
DIRECT = 2500  # landmarks beyond which a factor for each λ is quicker than one reduction for all


def add_square(C, F):
    """Lower triangle of C ← C + FᵀF, without the GIL."""
    blas(F.dtype.name).add_transposed_square(C, F)


def add_lower(C, D):
    """Lower triangle of C ← C + D, by rows that stay in the cache."""
    for i in range(0, len(C), STRIP):
        C[i : i + STRIP, : i + STRIP] += D[i : i + STRIP, : i + STRIP]


def whiten_first(F, L, b):
    """[k₁ | k₂ | …] ← [a₁ | k₂ − L₂₁a₁ | …]: the first b features, and what they leave of the others; without the GIL.

    What is left is small where the first landmarks explain much. So sums of it keep, in float32, the digits that a sum
    of the k themselves would lose in its largest directions.
    """
    lib, m = blas(F.dtype.name), len(L)
    lib.divide_right(F[:, :b], L[:b, :b])
    if m > b:
        lib.subtract_product(F[:, b:m], F[:, :b], L[b:, :b])


def landmark_factor(K):
    """(L, jitter): L Lᵀ = K_mm + jitter · max k(z, z) · I; of pivots that are no rounding the jitter is 0."""
    found = factor(K)
    return np.tril(found.lower), found.jitter


def whiten(L, B):
    """L⁻¹ B of a lower triangle."""
    return solve_triangular(L, B, lower=True, check_finite=False)


def unwhiten(L, B):
    """L⁻ᵀ B of a lower triangle."""
    return solve_triangular(L, B, lower=True, trans="T", check_finite=False)


def between(G, L, first=0):
    """L⁻¹ G L⁻ᵀ, symmetric, of the lower triangle of a G that is overwritten; the first rows have been divided already.

    By strips on our threads: LAPACK's own reduction does half the operations, but one after the other.
    """
    lib, m, rest = blas(G.dtype.name), len(G), L[first:, first:]
    if m == first:
        return mirror(G)
    mirror(G)
    side_by_side([lambda i, j: lib.divide_right(G[i:j, first:], rest)], strips(m, float(m) ** 3, m))
    S = np.ascontiguousarray(G.T)

    def lower(i, j):
        """Rows i to j, as far as the diagonal."""
        if j > first:
            lib.divide_right(S[i:j, first:j], rest[: j - first, : j - first])

    side_by_side([lower], [(i, min(i + STRIP, m)) for i in range(0, m, STRIP)])
    return mirror(S)


class Left(NamedTuple):
    """Rows under the model without them: residuals (r, t), and what leverages (r,) leave of 1, of rows scaled by √w."""

    residuals: np.ndarray
    rest: np.ndarray

    def out(self):
        """Residuals of each row under the model that was fitted without it."""
        return self.residuals / self.rest[:, None]


class Solution(NamedTuple):
    """Coefficients α (m, t) of the landmarks and b (q, t) of the trend, in the coordinates of the sums."""

    alpha: np.ndarray
    b: np.ndarray


class NormalEquations:
    """The sums of a pass, ready for every λ.

    Parameters
    ----------
    C : ndarray of shape (m + q + t, m + q + t)
        Σ w [k, h, y]ᵀ[k, h, y], the lower triangle.
    L : ndarray of shape (m, m)
        The factor of K_mm.
    q, t : int
        Columns of the trend and of y.
    first : int, default=0
        How many of the k are features already, by `whiten_first`.
    one : bool, default=False
        Whether one λ is all that is asked for: a factor then does what a reduction would do for every λ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.normal import NormalEquations, add_square
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> C = np.zeros((3, 3))
    >>> add_square(C, np.hstack([x, np.ones((50, 1)), 2.0 * x + 1.0]))
    >>> found = NormalEquations(C, np.ones((1, 1)), 1, 1).solve(1e-8)
    >>> found.alpha.round(4), found.b.round(4)
    (array([[2.]]), array([[1.]]))
    """

    def __init__(self, C, L, q, t, first=0, one=False):
        m = len(L)
        self.m, self.q, self.t, self.L = m, q, t, L
        self.direct = one or m > DIRECT  # a reduction goes at the speed of memory, not of products
        rest = np.eye(m)
        rest[first:, first:] = L[first:, first:]
        gh, gy = (
            solve_triangular(rest, part.T, lower=True, check_finite=False)
            for part in (C[m : m + q, :m], C[m + q :, :m])
        )
        hh = C[m : m + q, m : m + q] + np.tril(C[m : m + q, m : m + q], -1).T
        hy, yy = C[m + q :, m : m + q].T, np.diagonal(C)[m + q :].copy()
        self._hh = _pseudo_inverse(hh)
        self._ah, self._hy = gh, hy
        self._fixed = self._hh @ hy  # the trend alone
        S = between(np.array(C[:m, :m]), L, first)
        S -= gh @ (self._hh @ gh.T)
        self.S, self.u = S, gy - gh @ self._fixed
        self.total = yy - np.einsum("qt,qt->t", hy, self._fixed)

    def trace(self, centre, weight):
        """Σ w ‖L⁻¹k‖² of the k themselves: neither centred nor with the trend projected out."""
        a, k = self._ah, self.whitened(centre)
        trace = float(np.trace(self.S)) + float(((a @ self._hh) * a).sum())
        return trace + float(2.0 * k @ a[:, 0] + weight * (k @ k)) if self.q else trace

    def whitened(self, B):
        """L⁻¹ B: features of the columns k of B."""
        return whiten(self.L, B)

    # ------------------------------------------------------------------------------------------- every λ
    @cached_property
    def _tridiagonal(self):
        """(d, e, reflectors, τ) of S = Q T Qᵀ, and Qᵀu."""
        c, d, e, tau, _ = lapack.dsytrd(np.array(self.S, order="F"), lower=1, lwork=PANEL * self.m)
        return d, e, np.asfortranarray(c[1:, : self.m - 1]), tau

    def _turned(self, B):
        """Qᵀ B."""
        d, _, reflectors, tau = self._tridiagonal
        B = np.array(B, order="F")
        if len(d) > 1:
            rest = np.asfortranarray(B[1:])
            B[1:] = lapack.dormqr("L", "T", reflectors, tau, rest, lwork=PANEL * rest.shape[1])[0]
        return B

    @cached_property
    def _values(self):
        """The eigenvalues of S, ascending, as rounding left them."""
        d, e = self._tridiagonal[:2]
        return lapack.dsterf(d, e)[0] if len(d) > 1 else d

    @cached_property
    def eigenvalues(self):
        """Those of S, ascending, none below 0."""
        return np.maximum(self._values, 0.0)

    @cached_property
    def top(self):
        """The largest eigenvalue of S, or where that would take a reduction about it."""
        if not self.direct:
            return float(self.eigenvalues[-1])
        v = np.ones(self.m)
        for _ in range(TURNS):
            v = self.S @ (v / max(float(np.linalg.norm(v)), 1e-300))
        return float(np.linalg.norm(v))

    @property
    def floor(self):
        """The least λ at which S + λI is known: some times the rounding that an eigenvalue below 0 shows."""
        if self.direct:
            return max(1e-13 * self.top, 1e-300)
        return max(10.0 * float(-self._values[0]), 1e-13 * float(self._values[-1]), 1e-300)

    @cached_property
    def _turned_u(self):
        return self._turned(self.u)

    def _shifted(self, lam, B):
        """(T + λI)⁻¹ B."""
        d, e = self._tridiagonal[:2]
        lam = max(lam, self.floor)
        return B / (d + lam) if len(d) == 1 else lapack.dpttrs(*lapack.dpttrf(d + lam, e)[:2], B)[0]

    def dof(self, lam):
        """Σ s/(s + λ): degrees of freedom of the kernel part."""
        if self.direct:  # m − λ tr (S + λI)⁻¹
            if self.__dict__.get("_dof", (None,))[0] != lam:  # kept for the last λ, as the factor is
                inverse = np.tril(self._factor(lam).lower)
                invert(blas(inverse.dtype.name), inverse)
                self._dof = lam, self.m - lam * float(np.vdot(inverse, inverse))
            return self._dof[1]
        return float((self.eigenvalues / (self.eigenvalues + lam)).sum())

    def rss(self, lam):
        """Σ w (y − f)² of each target."""
        beta = self._shifted(lam, self._turned_u)
        # ‖y‖² − 2uᵀβ + βᵀSβ with Sβ = u − λβ
        return np.maximum(self.total - np.einsum("mt,mt->t", self._turned_u, beta) - lam * (beta**2).sum(axis=0), 0.0)

    def gcv(self, lam, n, weight, scale=1.0):
        """(Σ w (y − f)²/Σ w)/(1 − dof/n)² of n rows, the mean over targets; residuals are no less than rounding.

        ``scale`` is that of each target, by which y is divided.
        """
        rss = np.maximum(self.rss(lam), ROUNDED * self.total) / scale**2  # else a rounded 0/0 is the best of m = n
        return float(rss.mean()) / weight / max(1.0 - (self.q + self.dof(lam)) / n, 1e-9 / n) ** 2

    def elbo(self, lam, n, missing, logs=0.0):
        """Σ over targets of log N(y | 0, K̂ + λI) − missing/(2λ), the trend projected out: a bound of the evidence.

        n is how many observations are counted, ``logs`` what log det of the noise lacks where each has its own.
        """
        if self.direct:
            logdet = self._factor(lam).logdet() + (n - self.q - self.m) * np.log(lam)
            quad = (self.total - np.square(self._factor(lam).half(self.u)).sum(axis=0)) / lam
        else:
            logdet = float(np.log1p(self.eigenvalues / lam).sum()) + (n - self.q) * np.log(lam)
            quad = (self.rss(lam) + lam * (self._shifted(lam, self._turned_u) ** 2).sum(axis=0)) / lam
        constant = (n - self.q) * np.log(2 * np.pi) - logs
        return -0.5 * float(quad.sum() + self.t * (logdet + constant + missing / lam))

    # ------------------------------------------------------------------------------------------- one λ
    def solve(self, lam):
        """`Solution` at λ."""
        return self._back(self._factor(lam).solve(self.u), self._hy)

    def correct(self, lam, rk, rh):
        """`Solution` of the same system for another right-hand side: what a step of refinement adds."""
        return self._back(self._factor(lam).solve(self.whitened(rk) - self._ah @ (self._hh @ rh)), rh)

    def shift(self, lam):
        """What the factor of S + λI needed on its diagonal, relative to λ; inf where nothing helped."""
        try:
            return self._factor(lam).jitter * float(np.diagonal(self.S).max() + lam) / lam
        except NotPositiveDefinite:
            return float("inf")

    def rms(self, solution, weight):
        """√(Σ w f²/Σ w) of the kernel part of a solution for each target, the trend projected out."""
        beta = self.L.T @ solution.alpha
        return np.sqrt(np.maximum(np.einsum("mt,mt->t", beta, self.S @ beta), 0.0) / weight)

    def _back(self, beta, rh):
        return Solution(unwhiten(self.L, beta), self._hh @ (rh - self._ah.T @ beta))

    def _factor(self, lam):
        """The factor of S + λI; kept for the last λ."""
        if self.__dict__.get("_at", (None,))[0] != lam:
            self._at = (lam, factor(self.S + lam * np.eye(self.m), overwrite=True))
        return self._at[1]

    # ------------------------------------------------------------------------------------------- some rows
    def features(self, F):
        """(a, h-leverage, y) of rows F = √w [k, h, y], the trend projected out."""
        m, q = self.m, self.q
        k, h, y = F[:, :m], F[:, m : m + q], F[:, m + q :]
        a = self.whitened(k.T) - self._ah @ (h @ self._hh).T
        return a, np.einsum("iq,iq->i", h @ self._hh, h), y - h @ self._fixed

    def left_out(self, lams, F):
        """[`Left`] of rows F = √w [k, h, y] of the sums, one for each λ."""
        if self.direct:
            return [self.nested(lam, F, [self.m])[0] for lam in lams]
        a, of_trend, y = self.features(F)
        z = self._turned(a)
        found = []
        for lam in lams:
            solved = self._shifted(lam, z)
            leverage = np.einsum("ij,ij->j", z, solved) + of_trend
            found.append(Left(y - solved.T @ self._turned_u, 1.0 - leverage))
        return self._known(found, lams, F, [self.m] * len(lams))

    def nested(self, lam, F, sizes):
        """[`Left`] of rows F under the models of the first m′ landmarks, m′ in ``sizes`` ascending, at one λ."""
        found = self._nested(self._factor(lam), F, sizes)
        return self._known(found, [lam] * len(sizes), F, sizes)

    def _nested(self, LB, F, sizes):
        """The same for a factor of S + λI, with all of 1 − leverage that rounding leaves."""
        a, of_trend, y = self.features(F)
        V, c = LB.half(a), LB.half(self.u)
        found, start, f, h = [], 0, 0.0, of_trend
        for size in sizes:
            part = V[start:size]
            f, h = f + part.T @ c[start:size], h + np.einsum("ij,ij->j", part, part)
            found.append(Left(y - f, 1.0 - h))
            start = size
        return found

    def _known(self, found, lams, F, sizes):
        """Each `Left`, its rows that alone decide their fit read off at a larger λ, where 1 − leverage has digits.

        What the others say of such a row is the same there, and 1 − leverage is proportional to λ.
        """
        least = ALONE * self.top
        each = [
            np.flatnonzero(left.rest < ALONE if lam < least else left.rest <= 0.0)
            for left, lam in zip(found, lams, strict=True)
        ]
        alone = np.unique(np.concatenate(each))
        if not len(alone):
            return found
        LB = factor(self.S + least * np.eye(self.m), overwrite=True)
        safe = dict(zip(sorted(set(sizes)), self._nested(LB, F[alone], sorted(set(sizes))), strict=True))
        for left, lam, size, rows in zip(found, lams, sizes, each, strict=True):
            here, other = np.searchsorted(alone, rows), safe[size]
            rest = np.maximum(other.rest[here], ALONE)
            left.rest[rows] = rest * max(lam / least, 1e-200)
            left.residuals[rows] = other.residuals[here] / rest[:, None] * left.rest[rows, None]
        return found

    def posterior_parts(self, lam, centre):
        """(B, T, (HᵀH)⁻¹): what variances need: the factor of S + λI, and what is taken from a for the trend."""
        T = self._ah @ self._hh
        if self.q:
            T[:, 0] += self.whitened(centre)
        return np.tril(self._factor(lam).lower), T, self._hh


def _pseudo_inverse(A):
    """A⁻¹ of a small positive semi-definite matrix; directions that are not there are left out."""
    if not len(A):
        return A
    e, U = np.linalg.eigh(A)
    keep = e > 1e-12 * max(float(e[-1]), 1e-300)
    return (U[:, keep] / e[keep]) @ U[:, keep].T


def log_volume(A):
    """log det of a small positive semi-definite matrix, in the directions that are there."""
    if not len(A):
        return 0.0
    e = np.linalg.eigvalsh(A)
    return float(np.log(e[e > 1e-12 * max(float(e[-1]), 1e-300)]).sum())
