"""One decomposition for every λ: P(λ) = U (Λ + λI)⁻¹ Uᵀ, the intercept already projected out.

Let the columns of Q complete those of H to an orthogonal basis. Then P(λ) = Q (QᵀKQ + λI)⁻¹ Qᵀ exactly, so that the
eigenvectors V of QᵀKQ give U = QV once and for all λ. A plain matrix A is K = A Aᵀ, by the singular values of A; where
A has more rows than columns, what lies outside its range (eigenvalue 0) is kept as one vector and one diagonal.
"""

import numpy as np
from scipy.linalg import qr

from mercer.exceptions import NotPositiveDefinite
from mercer.gram import DenseGram
from mercer.solvers import Inverse, Spectral
from mercer.solvers.base import check_lam

ENTRIES = 2**24  # numbers in one block of the two products for all λ: 128 MB


class Spectrum:
    """K = U Λ Uᵀ on the complement of the trend, with y in its coordinates.

    Attributes
    ----------
    e : ndarray of shape (k,)
        Λ >= 0, descending.
    U : ndarray of shape (n, k)
    c : ndarray of shape (k, t)
        Uᵀy.
    y : ndarray of shape (n, t)
    rest : ndarray of shape (n, t)
        What of y lies outside U and H; zero unless a plain matrix has more rows than columns.
    zeros : int
        Dimension of that space, n − q − k.
    """

    def __init__(self, e, U, c, y, H):
        order = np.argsort(e)[::-1]
        self.e, self.U, self.c, self.y, self.H = e[order], U[:, order], c[order], y, H
        self.n, self.q = len(y), H.shape[1]
        self.zeros = self.n - self.q - len(e)
        if self.zeros:
            T = np.linalg.qr(H)[0]
            self.rest = y - self.U @ self.c - T @ (T.T @ y)
            inside = np.einsum("ij,ij->i", self.U, self.U) + np.einsum("ij,ij->i", T, T)
            self.outside = np.maximum(1.0 - inside, 0.0)
        else:
            self.rest, self.outside = np.zeros_like(y), np.zeros(self.n)
        self.rest2 = float(np.sum(self.rest**2))

    @classmethod
    def of_gram(cls, K, y, H):
        """From a Gram matrix."""
        reflect = _Complement(H)
        dense = K.dense()
        scale = float(np.abs(dense).sum(axis=1).max(initial=0.0))  # K may be nearly constant, and nothing else be left
        reduced = reflect.both_sides(dense)
        try:
            found = Spectral(scale).resolvent(DenseGram.from_matrix(reduced))
        except NotPositiveDefinite:
            Spectral().resolvent(K)  # the same, with a witness in the rows of the data
            raise
        V = found.eigenvectors
        return cls(found.eigenvalues, reflect.back(V), V.T @ reflect.forth(y), y, H)

    @classmethod
    def of_matrix(cls, A, y, H):
        """From a plain matrix A, K = A Aᵀ."""
        reflect = _Complement(H)
        U, s, _ = np.linalg.svd(reflect.forth(A), full_matrices=False)
        return cls(s**2, reflect.back(U), U.T @ reflect.forth(y), y, H)

    def at(self, lam):
        """P(λ), an Inverse."""
        return SpectralPoint(self, lam)

    def points(self, lams):
        """Yield P(λ) for each λ, with P y and diag P from two products for all of them."""
        lams = np.asarray(lams, dtype=float)
        n, t = self.y.shape
        size = max(1, ENTRIES // max(1, n * t))
        U2 = self.U**2
        for i in range(0, len(lams), size):
            part = lams[i : i + size]
            with np.errstate(divide="ignore", over="ignore"):
                weights = 1.0 / (self.e[:, None] + part)  # (k, L)
                inverse = np.where(part > 0, 1.0 / part, 0.0) if self.zeros else np.zeros(len(part))
            alphas = self.U @ (weights[:, :, None] * self.c[:, None, :]).reshape(len(self.e), -1)
            alphas = alphas.reshape(n, len(part), t) + inverse[None, :, None] * self.rest[:, None, :]
            diagonals = U2 @ weights + self.outside[:, None] * inverse
            for j, lam in enumerate(part):
                yield SpectralPoint(self, lam, alphas[:, j], diagonals[:, j])


class SpectralPoint(Inverse):
    """P(λ) = U (Λ + λI)⁻¹ Uᵀ (plus 1/λ outside of the range of a plain matrix)."""

    def __init__(self, spectrum, lam, alpha=None, diagonal=None):
        self.spectrum, self.n, self.q, self.lam = spectrum, spectrum.n, spectrum.q, check_lam(lam)
        if self.lam <= 0:
            raise ValueError(f"lam must be positive on a path, got {lam}.")
        self._alpha, self._diagonal = alpha, diagonal
        self._inverse = 1.0 / (spectrum.e + self.lam)
        self._zero = 1.0 / self.lam if spectrum.zeros else 0.0
        self.info = {"solver": "spectral", "dtype": "float64", "jitter": 0.0}

    def _solve(self, B):
        s = self.spectrum
        if B is s.y:
            if self._alpha is None:
                self._alpha = s.U @ (self._inverse[:, None] * s.c) + self._zero * s.rest
            return self._alpha
        X = s.U @ (self._inverse[:, None] * (s.U.T @ B))
        return X + self._zero * self._outside(B) if s.zeros else X

    def _outside(self, B):
        s = self.spectrum
        T = np.linalg.qr(s.H)[0]
        return B - s.U @ (s.U.T @ B) - T @ (T.T @ B)

    def _quad(self, B):
        return B.T @ self._solve(B)

    def diag(self):
        """Σⱼ Uᵢⱼ²/(Λⱼ + λ)."""
        if self._diagonal is None:
            s = self.spectrum
            self._diagonal = np.einsum("ij,ij,j->i", s.U, s.U, self._inverse) + self._zero * s.outside
        return self._diagonal

    def logdet(self):
        """Σⱼ log(Λⱼ + λ)."""
        return float(-np.log(self._inverse).sum() + self.spectrum.zeros * np.log(self.lam))

    def squared_norm(self):
        """tr P²."""
        return float(np.sum(self._inverse**2) + self.spectrum.zeros * self._zero**2)

    def block(self, index):
        """The rows and columns ``index`` of P."""
        s = self.spectrum
        V = s.U[index]
        B = (V * self._inverse) @ V.T
        if s.zeros:
            T = np.linalg.qr(s.H)[0][index]
            B += self._zero * (np.eye(len(index)) - V @ V.T - T @ T.T)
        return (B + B.T) / 2

    def dense(self):
        """P as a fresh array."""
        return self.block(np.arange(self.n))


class _Complement:
    """Q of the complement of H, as Householder reflections: nothing n × n is made."""

    def __init__(self, H):
        self.q = H.shape[1]
        self.reflectors = []
        if self.q:
            (packed, tau), _ = qr(H, mode="raw")
            for j in range(self.q):
                v = packed[:, j].copy()
                v[:j], v[j] = 0.0, 1.0
                self.reflectors.append((v, tau[j]))

    def forth(self, B):
        """Qᵀ B."""
        B = np.array(B, dtype=float)
        for v, tau in self.reflectors:
            B -= np.outer(tau * v, v @ B)
        return B[self.q :]

    def back(self, B):
        """Q B."""
        B = np.vstack([np.zeros((self.q, B.shape[1])), B])
        for v, tau in reversed(self.reflectors):
            B -= np.outer(tau * v, v @ B)
        return B

    def both_sides(self, K):
        """QᵀKQ, in the array of K."""
        for v, tau in self.reflectors:
            u = tau * (K @ v)  # (I − τvvᵀ) K (I − τvvᵀ) = K − vwᵀ − wvᵀ with w = u − (τ/2)(vᵀu) v
            w = u - (0.5 * tau * (v @ u)) * v
            K -= np.outer(v, w)
            K -= np.outer(w, v)
        return np.ascontiguousarray(K[self.q :, self.q :])
