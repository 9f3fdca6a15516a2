"""Inverses that selection works with: K̃⁻¹ as a plain array, and P, which has a trend projected out."""

import numpy as np
from scipy.linalg import solve_triangular

from mercer.exceptions import NotPositiveDefinite
from mercer.selection.base import combined
from mercer.solvers import Inverse, _lapack
from mercer.solvers.base import check_lam


class Explicit(Inverse):
    """K̃⁻¹ as an array, with its log-determinant: what a criterion with a gradient wants.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        K̃⁻¹, symmetric.
    lam : float
    logdet : float, default=nan
        log det K̃.
    disposable : bool, default=False
        Whether ``dense()`` gives the array itself away instead of a copy. It can then be asked once, last.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import Explicit
    >>> Explicit(np.diag([0.5, 0.25]), lam=1.0) @ np.array([2.0, 4.0])
    array([1., 1.])
    """

    def __init__(self, matrix, lam, logdet=np.nan, *, disposable=False):
        self.n, self.lam, self._logdet = len(matrix), check_lam(lam), float(logdet)
        self._matrix, self._disposable = matrix, disposable
        self._diagonal = np.diagonal(matrix).copy()
        self.info = {"solver": "inverse", "dtype": "float64", "jitter": 0.0}

    def _solve(self, B):
        return self._matrix @ B

    def _quad(self, B):
        return B.T @ (self._matrix @ B)

    def diag(self):
        """The diagonal of K̃⁻¹."""
        return self._diagonal

    def logdet(self):
        """log det K̃."""
        return self._logdet

    def block(self, index):
        """The rows and columns ``index`` of K̃⁻¹."""
        return self._matrix[np.ix_(index, index)]

    def squared_norm(self):
        """tr K̃⁻²."""
        return float(np.vdot(self._matrix, self._matrix))

    def dense(self):
        """K̃⁻¹: a copy, or the array itself if it is disposable."""
        if not self._disposable:
            return self._matrix.copy()
        matrix, self._matrix = self._matrix, None
        if matrix is None:
            raise ValueError("this inverse has already given its array away.")
        return matrix

    def combined(self, factor, U, V):
        """factor · K̃⁻¹ + U Vᵀ, made in the array that ``dense()`` gives."""
        return _lapack.combine(self.dense(), U, V, factor)


def invert(K, lam):
    """K̃⁻¹ = (K + λI)⁻¹ in the one array that held K: n³ operations, 8n² bytes; disposable.

    Parameters
    ----------
    K : Gram
    lam : float

    Returns
    -------
    Explicit

    Raises
    ------
    NotPositiveDefinite
        If the factorisation fails: nothing is added to the diagonal here.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.selection.projected import invert
    >>> invert(DenseGram.from_matrix(np.eye(2)), 1.0).dense() + 0.0
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    lam = check_lam(lam)
    A = K.dense(lower=True)
    diagonal = np.einsum("ii->i", A)
    diagonal += lam
    bad = _lapack.cholesky_lower(A)
    if bad or not np.isfinite(diagonal).all():
        raise NotPositiveDefinite(
            f"K + lam I could not be factored ({K!r}, lam = {lam:.3g}, pivot {bad or int(np.argmin(diagonal)) + 1}): "
            "use a larger lam."
        )
    logdet = _lapack.logdet(A)
    return Explicit(_lapack.inverse_from_lower(A), lam, logdet, disposable=True)


class Projected(Inverse):
    """P = K̃⁻¹ − K̃⁻¹H (HᵀK̃⁻¹H)⁻¹ HᵀK̃⁻¹: the inverse with an unpenalised trend H projected out.

    α = P y is the dual vector of the model with a trend, P H = 0, and dP = −P dK̃ P, so that every formula for K̃⁻¹
    holds for P: leave-one-out residuals are (P y)ᵢ/Pᵢᵢ, the influence matrix is I − λP.

    Parameters
    ----------
    Kinv : Inverse
        K̃⁻¹.
    H : ndarray of shape (n, q)
        Trend; a column of ones (of √w in a scaled system) is the intercept.

    Attributes
    ----------
    n, q : int
        Rows, and columns of H.
    lam : float
    info : dict
        Those of K̃⁻¹.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import Explicit, Projected
    >>> P = Projected(Explicit(np.eye(3), lam=1.0), np.ones((3, 1)))
    >>> (P @ np.array([1.0, 2.0, 3.0])).round(12)
    array([-1.,  0.,  1.])
    """

    def __init__(self, Kinv, H):
        H = np.asarray(H, dtype=float)
        self.Kinv, self.n, self.lam, self.q = Kinv, Kinv.n, Kinv.lam, H.shape[1]
        if self.q >= self.n:
            raise ValueError(f"a trend of {self.q} columns leaves nothing of {self.n} rows; give more rows.")
        size = np.linalg.svd(H, compute_uv=False)
        if self.q and size[-1] <= self.n * np.finfo(float).eps * size[0]:
            raise ValueError(f"the {self.q} columns of the trend are linearly dependent.")
        Z = Kinv @ H
        try:
            R = np.linalg.cholesky(H.T @ Z)
        except np.linalg.LinAlgError:
            raise NotPositiveDefinite(f"HᵀK̃⁻¹H is not positive definite at lam = {self.lam:.3g}.") from None
        self._trend = 2.0 * float(np.log(np.diagonal(R)).sum() - np.log(size).sum())
        self._Z = solve_triangular(R, Z.T, lower=True).T  # so that P = K̃⁻¹ − Z Zᵀ

    @property
    def info(self):
        """What was done for K̃⁻¹."""
        return self.Kinv.info

    def _solve(self, B):
        return self.Kinv @ B - self._Z @ (self._Z.T @ B)

    def _quad(self, B):
        V = self._Z.T @ B
        return self.Kinv.quad(B) - V.T @ V

    def diag(self):
        """The diagonal of P."""
        return self.Kinv.diag() - np.einsum("ij,ij->i", self._Z, self._Z)

    def logdet(self):
        """log det K̃ + log det HᵀK̃⁻¹H − log det HᵀH: log det of K̃ on the complement of the trend (REML)."""
        return self.Kinv.logdet() + self._trend

    def block(self, index):
        """The rows and columns ``index`` of P."""
        Z = self._Z[index]
        return block(self.Kinv, index) - Z @ Z.T

    def squared_norm(self):
        """tr P² = tr K̃⁻² − 2 tr ZᵀK̃⁻¹Z + ‖ZᵀZ‖²."""
        Z = self._Z
        whole = self.Kinv.squared_norm() if hasattr(self.Kinv, "squared_norm") else np.sum(self.Kinv.dense() ** 2)
        return float(whole - 2.0 * np.trace(self.Kinv.quad(Z)) + np.sum((Z.T @ Z) ** 2))

    def dense(self):
        """P as a symmetric array; made in the one that ``Kinv.dense()`` gives."""
        return combined(self.Kinv, 1.0, self._Z, -self._Z)

    def combined(self, factor, U, V):
        """factor · P + U Vᵀ, in one pass over the array that ``Kinv.dense()`` gives."""
        return combined(self.Kinv, factor, np.hstack([U, self._Z]), np.hstack([V, -factor * self._Z]))


def block(Kinv, index):
    """Kinv[index, index] for any Inverse: its own ``block``, or the columns of the identity solved for."""
    if hasattr(Kinv, "block"):
        return Kinv.block(index)
    E = np.zeros((Kinv.n, len(index)))
    E[index, np.arange(len(index))] = 1.0
    B = (Kinv @ E)[index]
    return (B + B.T) / 2
