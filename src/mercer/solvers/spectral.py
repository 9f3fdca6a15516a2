"""Spectral: K = U Λ Uᵀ once, then every λ in O(n²), the trend already projected out.

Let the columns of Q complete those of H to an orthogonal basis. Then P(λ) = Q (QᵀKQ + λI)⁻¹ Qᵀ exactly, so that the
eigenvectors V of QᵀKQ give U = QV once and for all λ. A plain matrix A is K = A Aᵀ, by the singular values of A; where
A has more rows than columns, what lies outside its range (eigenvalue 0) is one diagonal.
"""

import time

import numpy as np
from scipy.linalg import qr

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers.base import Inverse, KrigingWeights, Solver, check_lam
from mercer.solvers.engine.lapack import threads_for
from mercer.solvers.factoring import Probe, check_finite, not_positive_definite, warn_of_condition
from mercer.solvers.projected import Resolvent, Span


class Spectral(Solver):
    """K = U Λ Uᵀ,  (K + λI)⁻¹ = U (Λ + λI)⁻¹ Uᵀ: one eigen-decomposition, about 9n³ operations, serves every λ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Spectral
    >>> spectrum = Spectral().resolvent(DenseGram.from_matrix(np.array([[2.0, 1.0], [1.0, 2.0]])))
    >>> spectrum.eigenvalues
    array([1., 3.])
    >>> [round(spectrum(lam).logdet(), 3) for lam in (0.0, 1.0)]
    [1.099, 2.079]
    """

    def resolvent(self, K, H=None):
        """λ ↦ (K + λI)⁻¹, with ``eigenvalues`` (ascending, >= 0) and ``eigenvectors``."""
        return Eigensystem.of_gram(K, H)

    def memory(self, n, targets=1):
        """48n² bytes at the peak: K, LAPACK's copy and its work space, and U."""
        return 48.0 * n * n + 64.0 * n * targets


class Eigensystem(Resolvent):
    """λ ↦ U (Λ + λI)⁻¹ Uᵀ on the complement of the trend; made by `Spectral`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Λ, ascending. Values between −n u ‖K‖ and 0 are rounding, and set to 0; ``clipped`` counts them.
    eigenvectors : ndarray of shape (n, k)
        U, one eigenvector in each column.
    clipped : int
        How many eigenvalues were set to 0.
    zeros : int
        Dimension of what lies outside of U and the trend; 0 but for a plain matrix with more rows than columns.
    seconds : float
        What the decomposition took.
    """

    def __init__(self, eigenvalues, eigenvectors, span, K=None, clipped=0, seconds=0.0):
        self.eigenvalues, self.eigenvectors, self.span = eigenvalues, eigenvectors, span
        self.n, self.q, self.clipped, self.seconds = span.n, span.q, clipped, seconds
        self.K, self.probe = K, None if K is None else Probe(K)
        self.zeros = self.n - self.q - len(eigenvalues)
        U, T = eigenvectors, span.Q
        inside = np.einsum("ij,ij->i", U, U) + np.einsum("ij,ij->i", T, T) if self.zeros else 1.0
        self.outside = np.maximum(1.0 - inside, 0.0) * np.ones(self.n)  # diagonal of the projection on what is left

    @classmethod
    def of_gram(cls, K, H=None):
        """From a Gram matrix and a trend."""
        started, span = time.perf_counter(), _span(H, K.n)
        check_memory(40.0 * K.n**2, f"an eigen-decomposition for n = {K.n}")
        A = K.dense()
        if not np.isfinite(A).all():
            check_finite(K)
        complement = Complement(span.Q)
        scale = float(np.abs(A).sum(axis=1).max(initial=0.0)) if span.q else 0.0  # what is left of K may be rounding
        # numpy's eigh: it gives up the GIL, and its LAPACK counts with 64 bits.
        with threads_for(K.n):
            e, V = np.linalg.eigh(complement.both_sides(A))
        del A
        if len(e) and e[0] < -K.n * np.finfo(float).eps * max(np.abs(e).max(), scale):
            raise not_positive_definite(K, 0.0, complement.back(V[:, :1])[:, 0])
        seconds = time.perf_counter() - started
        return cls(np.maximum(e, 0.0), complement.back(V), span, K, int(np.count_nonzero(e < 0)), seconds)

    @classmethod
    def of_matrix(cls, A, H=None):
        """From a plain matrix A, K = A Aᵀ."""
        span = _span(H, len(A))
        complement = Complement(span.Q)
        U, s, _ = np.linalg.svd(complement.forth(A), full_matrices=False)
        return cls(s[::-1] ** 2, complement.back(U[:, ::-1]), span)

    def __call__(self, lam):
        """(K + λI)⁻¹."""
        Kinv = SpectralInverse(self, lam)
        if self.K is not None:
            Kinv.examine()
        return Kinv

    def unchecked(self, lam, whole=False):
        """Return the same, without warnings."""
        return SpectralInverse(self, lam)

    def points(self, lams, y):
        """Yield P(λ) for each λ, with P y and diag P from two products for all of them."""
        lams = np.asarray(lams, dtype=float)
        n, t = y.shape
        c, rest, size = self.eigenvectors.T @ y, self.left(y), max(1, 2**24 // max(1, n * t))  # 128 MB
        U2 = self.eigenvectors**2
        for i in range(0, len(lams), size):
            part = lams[i : i + size]
            with np.errstate(divide="ignore", over="ignore"):
                weights = 1.0 / (self.eigenvalues[:, None] + part)  # (k, L)
                inverse = np.where(part > 0, 1.0 / part, 0.0) if self.zeros else np.zeros(len(part))
            alphas = self.eigenvectors @ (weights[:, :, None] * c[:, None, :]).reshape(len(c), -1)
            alphas = alphas.reshape(n, len(part), t) + inverse[None, :, None] * rest[:, None, :]
            diagonals = U2 @ weights + self.outside[:, None] * inverse
            for j, lam in enumerate(part):
                yield SpectralInverse(self, lam, (y, alphas[:, j]), diagonals[:, j])

    def left(self, B):
        """What of B lies outside of U and the trend."""
        if not self.zeros:
            return np.zeros_like(B)
        U, T = self.eigenvectors, self.span.Q
        return B - U @ (U.T @ B) - T @ (T.T @ B)

    def __repr__(self):
        return f"Eigensystem(n={self.n})"


class SpectralInverse(Inverse):
    """P(λ) = U (Λ + λI)⁻¹ Uᵀ; made by `Eigensystem`. At λ = 0 zero eigenvalues are left out: the pseudo-inverse."""

    def __init__(self, spectrum, lam, known=None, diagonal=None):
        self.spectrum, self.n, self.q, self.lam = spectrum, spectrum.n, spectrum.q, check_lam(lam)
        self._known, self._diagonal, self.probe = known, diagonal, spectrum.probe
        self._sum = spectrum.eigenvalues + self.lam
        rounding = self.n * np.finfo(float).eps * self._sum.max(initial=0.0) if self.lam == 0 else 0.0
        self._used = self._sum > rounding
        self._inverse = np.divide(1.0, self._sum, out=np.zeros(len(self._sum)), where=self._used)
        self._outside = 1.0 / self.lam if spectrum.zeros and self.lam > 0 else 0.0
        self.info = {"solver": "spectral", "dtype": "float64", "jitter": 0.0}

    def examine(self):
        """Put rank and condition into ``info``, and warn of a singular K."""
        spectrum, used = self.spectrum, self._used
        condition = float(self._sum.max() / self._sum[used].min()) if used.any() else 1.0
        if spectrum.q and used.any():  # K without its trend has the rounding errors of K
            condition = max(condition, (spectrum.probe.largest_eigenvalue() + self.lam) / float(self._sum[used].min()))
        self.info.update(
            condition=condition,
            clipped_eigenvalues=spectrum.clipped,
            rank=int(np.count_nonzero(used)) + spectrum.q,
            seconds=spectrum.seconds,
        )
        if not used.all():
            warn(
                f"K is singular ({spectrum.K!r}): {self.info['rank']} of {self.n} eigenvalues are above rounding. At "
                "lam = 0 the pseudo-inverse is used; a positive lam has an inverse.",
                NumericalWarning,
            )
        warn_of_condition(condition, spectrum.K, self.lam)

    def _solve(self, B):
        if self._known is not None and B is self._known[0]:
            return self._known[1]
        s = self.spectrum
        X = s.eigenvectors @ (self._inverse[:, None] * (s.eigenvectors.T @ B))
        X = X + self._outside * s.left(B) if s.zeros else X
        if s.probe is not None and not s.q:
            self.info["residual"] = s.probe.residual(self.lam, X, B)
        return X

    def regress(self, y):
        """(α, b) of the model with the trend: b from what is left of y, y − (K + λI)α = Hb."""
        alpha = self @ y
        if not self.q:
            return alpha, np.zeros((0, y.shape[1]))
        fitted = self.spectrum.K @ alpha + self.lam * alpha
        b = self.spectrum.span.coefficients(y - fitted)
        return alpha, b

    def kriging_weights(self, B, h=None):
        """`KrigingWeights` at new inputs x from B = k(points, x), of shape (n, m), and the trend h(x), (m, q)."""
        if not self.q:
            return super().kriging_weights(B, h)
        K, span = self.spectrum.K, self.spectrum.span
        E = self._solve(B) + (span.Q - self._solve(K @ span.Q)) @ span.dual(h)
        image = K @ E + self.lam * E
        explained = np.einsum("ij,ij->j", E, 2.0 * B - image)
        return KrigingWeights(E, explained, span.coefficients(B - image))

    def explained_covariance(self, B, h=None):
        """The same for all pairs of the m inputs: (m, m)."""
        if not self.q:
            return self._quad(B)
        E = self.kriging_weights(B, h).E
        cross = E.T @ B
        return cross + cross.T - E.T @ (self.spectrum.K @ E + self.lam * E)

    def _quad(self, B):
        if self.spectrum.zeros:
            return B.T @ self._solve(B)
        C = np.sqrt(self._inverse)[:, None] * (self.spectrum.eigenvectors.T @ B)
        return C.T @ C

    def diag(self):
        """Σⱼ Uᵢⱼ²/(Λⱼ + λ)."""
        if self._diagonal is None:
            U = self.spectrum.eigenvectors
            self._diagonal = np.einsum("ij,ij,j->i", U, U, self._inverse) + self._outside * self.spectrum.outside
        return self._diagonal

    def logdet(self):
        """Σⱼ log(Λⱼ + λ); −inf for a singular K at λ = 0."""
        with np.errstate(divide="ignore"):
            rest = self.spectrum.zeros * np.log(self.lam) if self.spectrum.zeros else 0.0
            return float(np.log(self._sum).sum() + rest)

    def squared_norm(self):
        """tr P²."""
        return float(np.sum(self._inverse**2) + self.spectrum.zeros * self._outside**2)

    def block(self, index):
        """The rows and columns ``index`` of P."""
        s = self.spectrum
        V = s.eigenvectors[index]
        B = (V * self._inverse) @ V.T
        if s.zeros:
            T = s.span.Q[index]
            B += self._outside * (np.eye(len(index)) - V @ V.T - T @ T.T)
        return (B + B.T) / 2

    def dense(self):
        """P as a fresh symmetric array."""
        if self.spectrum.zeros:
            return self.block(np.arange(self.n))
        root = self.spectrum.eigenvectors * np.sqrt(self._inverse)
        return root @ root.T


class Complement:
    """Q of the complement of the columns of an orthonormal T, as Householder reflections: nothing n × n is made."""

    def __init__(self, T):
        self.q, self.reflectors = T.shape[1], []
        if self.q:
            (packed, tau), _ = qr(T, mode="raw")
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
        if not self.q:
            return B
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
        return np.ascontiguousarray(K[self.q :, self.q :]) if self.q else K


def _span(H, n):
    """The trend as a `Span`; without columns where there is none."""
    if isinstance(H, Span):
        return H
    return Span(np.zeros((n, 0)) if H is None else H)
