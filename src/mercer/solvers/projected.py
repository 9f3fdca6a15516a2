"""P: the inverse with a trend projected out, and λ ↦ P. Every α and b of a model with a trend is made here."""

import warnings

import numpy as np
from scipy.linalg.blas import dtrsm

from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.solvers.base import Inverse, KrigingWeights, column_norms


class Span:
    """H = Q R: the columns of a trend as an orthonormal basis, made once for all λ.

    Parameters
    ----------
    H : ndarray of shape (n, q)
        Its columns must be linearly independent.

    Attributes
    ----------
    Q : ndarray of shape (n, q)
    logdet : float
        log det HᵀH.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Span
    >>> Span(np.ones((4, 1))).coefficients(np.array([[1.0], [2.0], [3.0], [6.0]]))  # the mean
    array([[3.]])
    """

    def __init__(self, H):
        H = np.asarray(H, dtype=float)
        self.n, self.q = H.shape
        if self.q > self.n:
            raise ValueError(f"a trend of {self.q} columns leaves nothing of {self.n} rows; give more rows.")
        if self.q > 1:
            self.Q, self._R = np.linalg.qr(H)
            values = np.linalg.svd(self._R, compute_uv=False)
        else:
            values = column_norms(H)
        if self.q and not values[-1] > self.n * np.finfo(float).eps * values[0]:
            raise ValueError(f"the {self.q} columns of the trend are linearly dependent.")
        if self.q <= 1:
            self.Q, self._R = H / values, np.diag(values)
        self.logdet = 2.0 * float(np.log(values).sum())

    def project_out(self, V):
        """V − QQᵀV: V with the trend projected out."""
        return V - self.Q @ (self.Q.T @ V)

    def coefficients(self, V):
        """b with H b nearest to V: R⁻¹QᵀV."""
        return self.natural(self.Q.T @ V)

    def natural(self, c):
        """R⁻¹c: coefficients of H from those of Q."""
        return triangular(self._R, c)

    def dual(self, h):
        """R⁻ᵀhᵀ for rows h of a trend, of shape (m, q): rows of Q as they would be there."""
        return triangular(self._R, h.T, transposed=True)


def independent(H):
    """A basis of the columns of H, for rows on which some of them depend on others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.projected import independent
    >>> independent(np.ones((3, 2))).shape
    (3, 1)
    """
    from scipy.linalg import qr

    Q, R, _ = qr(H, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(R))
    used = size > 1e-10 * size.max(initial=0.0)
    return H if used.all() else Q[:, used]


def triangular(R, B, transposed=False):
    """R⁻¹B, or R⁻ᵀB, for a small upper triangle R."""
    if not len(R):
        return np.zeros((0, B.shape[1]))
    if len(R) == 1:  # an intercept
        return B / R[0, 0]
    return dtrsm(1.0, R, B, trans_a=int(transposed))  # trtrs would wake the threads of BLAS for a handful of numbers


def project(Kinv, H):
    """P of `Projected`, or K̃⁻¹ itself where there is no trend."""
    if H is None:
        return Kinv
    span = H if isinstance(H, Span) else Span(H)
    return Projected(Kinv, span) if span.q else Kinv


class Projected(Inverse):
    """P = K̃⁻¹ − K̃⁻¹H (HᵀK̃⁻¹H)⁻¹ HᵀK̃⁻¹: the inverse with an unpenalised trend H projected out.

    α = P y is the dual vector of the model with a trend, P H = 0, and dP = −P dK̃ P, so that every formula for K̃⁻¹
    holds for P: leave-one-out residuals are (P y)ᵢ/Pᵢᵢ, the influence matrix is I − λP. What of a right-hand side lies
    in the trend is removed first, since P B = P (B − Hc) for every c: an offset of y costs no digits.

    Parameters
    ----------
    Kinv : Inverse
        K̃⁻¹.
    H : ndarray of shape (n, q) or Span
        Trend; a column of ones (of √w in a scaled system) is the intercept.
    parts : (ndarray, ndarray), default=None
        Those of another one for the same K̃⁻¹ and H, to the last bit; None computes them.

    Attributes
    ----------
    n, q : int
        Rows, and columns of H.
    unprojected : Inverse
        K̃⁻¹.
    parts : (ndarray of shape (n, q), ndarray of shape (q, q))
        (Z, R) with P = K̃⁻¹ − Z Zᵀ.
    lam : float
    info : dict
        Those of K̃⁻¹.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Explicit, Projected
    >>> P = Projected(Explicit(np.eye(3), lam=1.0), np.ones((3, 1)))
    >>> (P @ np.array([1.0, 2.0, 3.0])).round(12)
    array([-1.,  0.,  1.])
    """

    def __init__(self, Kinv, H, parts=None):
        self.span = H if isinstance(H, Span) else Span(H)
        self.Kinv, self.n, self.lam, self.q = Kinv, Kinv.n, Kinv.lam, self.span.q
        self._Z, self._R = (None, None) if parts is None else parts

    @property
    def info(self):
        """What was done for K̃⁻¹."""
        return self.Kinv.info

    def errors(self, alpha, rest):
        """Those of K̃⁻¹."""
        return self.Kinv.errors(alpha, rest)

    @property
    def unprojected(self):
        """K̃⁻¹."""
        return self.Kinv

    @property
    def parts(self):
        """(Z, R) with P = K̃⁻¹ − Z Zᵀ."""
        return self._prepare()

    def _prepare(self, image=None):
        """(Z, R): QᵀK̃⁻¹Q = RᵀR and Z = K̃⁻¹Q R⁻¹, so that P = K̃⁻¹ − Z Zᵀ; ``image`` is K̃⁻¹Q if it is known."""
        if self._Z is None:
            image = self.Kinv @ self.span.Q if image is None else image
            self._R = self._root(self.span.Q.T @ image)
            self._Z = triangular(self._R, image.T, transposed=True).T
        return self._Z, self._R

    def _root(self, S):
        """R with RᵀR = S = QᵀK̃⁻¹Q."""
        if self.q == 1 and S[0, 0] > 0:  # an intercept
            return np.sqrt(S)
        try:
            return np.linalg.cholesky((S + S.T) / 2).T
        except np.linalg.LinAlgError:
            raise NotPositiveDefinite(f"HᵀK̃⁻¹H is not positive definite at lam = {self.lam:.3g}.") from None

    def _without_trend(self, B):
        """(B − QQᵀB, QᵀB)."""
        c = self.span.Q.T @ B
        return B - self.span.Q @ c, c

    def _solve(self, B):
        return self._solved(B)[0]

    def _solved(self, B):
        """(P B, ZᵀB of what is left beside the trend, QᵀB)."""
        rest, c = self._without_trend(B)
        t = B.shape[1]
        if self._Z is None:  # one pass for both: an iteration serves all right-hand sides at once
            both = self.Kinv @ np.concatenate([rest, self.span.Q], axis=1)
            A, Z = both[:, :t], self._prepare(both[:, t:])[0]
        else:
            A, Z = self.Kinv @ rest, self._Z
        along = Z.T @ rest
        A = A - Z @ along
        return A - self.span.Q @ (self.span.Q.T @ A), along, c

    def regress(self, y):
        """(α, b) of the model with the trend H: α = K̃⁻¹(y − Hb), Hᵀα = 0."""
        alpha, along, c = self._solved(self._right_hand_side(y))
        return alpha, self.span.natural(c + triangular(self._R, along))

    def _quad(self, B):
        return self._without_trend(B)[0].T @ self._solve(B)

    def diag(self):
        """The diagonal of P."""
        Z = self._prepare()[0]
        return self.Kinv.diag() - np.einsum("ij,ij->i", Z, Z)

    def logdet(self):
        """log det K̃ + log det HᵀK̃⁻¹H − log det HᵀH: log det of K̃ on the complement of the trend (REML)."""
        return self.Kinv.logdet() + 2.0 * float(np.add.reduce(np.log(self._prepare()[1].diagonal())))

    def block(self, index):
        """The rows and columns ``index`` of P."""
        Z = self._prepare()[0][index]
        return self.Kinv.block(index) - Z @ Z.T

    def squared_norm(self):
        """tr P² = tr K̃⁻² − 2 tr ZᵀK̃⁻¹Z + ‖ZᵀZ‖²."""
        Z = self._prepare()[0]
        return float(self.Kinv.squared_norm() - 2.0 * np.trace(self.Kinv.quad(Z)) + np.sum((Z.T @ Z) ** 2))

    def dense(self):
        """P as a symmetric array; made in the one that ``Kinv.dense()`` gives."""
        Z = self._prepare()[0]
        return self.Kinv.combined(1.0, Z, -Z)

    def combined(self, factor, U, V):
        """factor · P + U Vᵀ, in one pass over the array that ``Kinv.dense()`` gives."""
        Z = self._prepare()[0]
        return self.Kinv.combined(factor, np.concatenate([U, Z], axis=1), np.concatenate([V, -factor * Z], axis=1))

    def _along(self, B, h):
        """ZᵀB − R⁻ᵀh, with h in the coordinates of Q: what the trend has to make up for."""
        Z, R = self._prepare()
        return Z.T @ B - triangular(R, self.span.dual(h), transposed=True)

    def kriging_weights(self, B, h=None):
        """`KrigingWeights` at new inputs x from B = k(points, x), of shape (n, m), and the trend h(x), (m, q)."""
        inner, along = self.Kinv.kriging_weights(B), self._along(B, h)
        residual = self.span.natural(triangular(self._R, along))
        return KrigingWeights(
            inner.E - self._Z @ along, inner.explained_variance - np.einsum("ij,ij->j", along, along), residual
        )

    def explained_variance(self, B, h=None):
        """What the rows explain of the variance of f(x), with the trend estimated. B may be overwritten."""
        along = self._along(B, h)
        return self.Kinv.explained_variance(B) - np.einsum("ij,ij->j", along, along)

    def explained_covariance(self, B, h=None):
        """The same for all pairs of the m inputs: (m, m)."""
        along = self._along(B, h)
        return self.Kinv.explained_covariance(B) - along.T @ along

    def explicit(self):
        """Return P with all entries of K̃⁻¹ at hand."""
        self.Kinv = self.Kinv.explicit()
        return self


class Resolvent:
    """λ ↦ (K + λI)⁻¹, with the trend H projected out where there is one.

    Parameters
    ----------
    inverse : callable
        λ ↦ `Inverse` of K + λI, with jitter where it is needed, and warnings.
    H : ndarray or Span, default=None
    unchecked : callable, default=None
        λ ↦ `Inverse` without repair or warning, or `NotPositiveDefinite`; None derives it from ``inverse``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Explicit
    >>> from mercer.solvers import Resolvent
    >>> inverse = Resolvent(lambda lam: Explicit(np.eye(2) / (1.0 + lam), lam), np.ones((2, 1)))
    >>> inverse(1.0) @ np.array([1.0, 3.0])  # the mean is projected out
    array([-0.5,  0.5])
    """

    def __init__(self, inverse, H=None, unchecked=None):
        self._inverse, self._H, self._unchecked = inverse, H, unchecked

    def __call__(self, lam):
        """(K + λI)⁻¹."""
        return self._projected(self._inverse(lam))

    def unchecked(self, lam, whole=False):
        """Return the same for a trial of a search, without repair or warning; ``whole`` if all entries are needed.

        Raises
        ------
        NotPositiveDefinite
            Where it would have to be repaired.
        """
        Kinv = (self._unchecked or self._quiet)(lam)
        return self._projected(Kinv.explicit() if whole else Kinv)

    def _quiet(self, lam):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            Kinv = self._inverse(lam)
        if Kinv.info.get("jitter"):
            raise NotPositiveDefinite(f"K + lam I is not positive definite to working precision at lam = {lam:.3g}.")
        return Kinv

    def _projected(self, Kinv):
        return project(Kinv, self._H)


def as_resolvent(made):
    """What a solver's ``resolvent`` returned, as a `Resolvent`: an author may return any function of λ."""
    return made if isinstance(made, Resolvent) else Resolvent(made)


def relative_to_mean(deviation):
    """Deviations over the root of their mean square; ∞ where there is none."""
    positive = deviation[deviation > 0.0]
    if not positive.size:
        return np.ones_like(deviation)
    largest = positive.max()  # so that no square vanishes
    unit = largest * np.sqrt(np.mean((positive / largest) ** 2))
    return np.where(deviation > 0.0, deviation / unit, np.inf)
