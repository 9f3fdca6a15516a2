"""Every fit without a row, from the one inverse of all rows.

The letters of this folder: a = P y and s = diag P, where P is K̃⁻¹ with the trend projected out and
K̃ = K + λW⁻¹. At a new input x, w(x) are the weights with which the targets make up the prediction, f(x) = w(x)ᵀy, and
κ(x) is the variance of a new target there in the Gaussian reading. With the row (x, z) added, P becomes
[[P + wwᵀ/κ, −w/κ], [−wᵀ/κ, 1/κ]]: all formulas for fits with one row more or less follow from that.
"""

import numpy as np

from mercer.solvers import Sizes, choose_solver
from mercer.solvers.base import check_lam
from mercer.solvers.cholesky import CholeskyInverse
from mercer.solvers.factoring import lower
from mercer.solvers.fitted import left_out


class Deletion:
    """f₋ᵢ(x) = f(x) − wᵢ(x) aᵢ/sᵢ  with  a = P y, s = diag P: every fit without a row, from the one with all rows.

    Nothing is refitted. The formulas for the rows need the inverse for the points only.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
        With the trend, weights and equal rows merged.
    lam : float
        λ, the regularisation of the fit.
    flat : bool, default=True
        Whether results have no axis of targets where there is one target.
    memory : float, default=None
        Bytes that may be used.
    inverse : Inverse, default=None
        That of the points at λ, the trend projected out, where there is one; None makes it.

    Attributes
    ----------
    entries : int
        Of one array of a tile: 16 MB.
    y : ndarray of shape (n, t)
    a : ndarray of shape (n, t)
        P y: what the residuals left out are made of.
    s : ndarray of shape (n,)
        diag P; 1/sᵢ is the variance of yᵢ given the other rows, in the Gaussian reading.
    residuals : ndarray of shape (n, t)
        aᵢ/sᵢ = yᵢ − f₋ᵢ(xᵢ).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> Deletion(Gaussian(1.0), Rows(X, y[:, None], trend=constant), 0.1).residuals[:1].round(4)
    array([[-0.9774]])
    >>> y[:1] - KernelRidge(Gaussian(1.0), 0.1).fit(X[1:], y[1:]).predict(X[:1]).round(4)
    array([-0.9774])
    """

    entries = 2**21

    def __init__(self, kernel, rows, lam, flat=True, memory=None, inverse=None):
        self.kernel, self.rows, self.lam = kernel, rows, check_lam(lam)
        self.y, self.weight, self.index = rows.row_y, rows.row_weight, rows.index
        self.flat, n = flat and rows.t == 1, len(rows.index)
        if n <= rows.q:
            raise ValueError(f"there is no fit without a row when there is only {n}; give more rows.")
        if self.lam == 0 and n > rows.n:
            raise ValueError("with lam = 0 and equal rows in X there is no fit without a row; use lam > 0.")
        self.total, self.share = rows.weights(), rows.shares()
        # w/λ acts on what differs within a point; at λ = 0 no two rows are equal
        self._inner = self.weight / self.lam if self.lam > 0 else np.zeros(n)
        if inverse is None:
            solver, _ = choose_solver("cholesky", Sizes(rows.n, rows.d, rows.t, memory), inverse=True)
            inverse = solver.resolvent(rows.gram(kernel), rows.scaled(rows.H))(self.lam)
        self.inverse = inverse
        self.beta, self.b = self.inverse.regress(rows.scaled(rows.y))
        p = self.total * self.inverse.diag()
        if not np.isfinite(p).all():
            raise ValueError(f"(K + lam I)^-1 of {kernel!r} is not finite for lam = {self.lam:.3g}; use more.")
        self.p = np.maximum(p, 0.0)  # diag P of the points
        self.alpha = rows.scaled(self.beta)
        self.left = left_out(self.inverse, rows, self.beta)
        self.residuals = self.left.residuals

    @property
    def s(self):
        """diag P of the rows; refused where a row alone determines a part of the model."""
        s = 1.0 / self.left.variance
        if not (s > 0).all():
            row = int(np.argmin(np.where(s > 0, s, -1.0)))
            raise ValueError(f"row {row} alone determines a part of the model: there is no fit without it.")
        return s

    @property
    def a(self):
        """P y of the rows."""
        return self.residuals * self.s[:, None]

    # ------------------------------------------------------------------ on the points
    def project(self, B):
        """P B for B of shape (points, t)."""
        return self.rows.scaled(self.inverse @ self.rows.scaled(B))

    def columns(self, points):
        """P[:, points]."""
        E = np.zeros((self.rows.n, len(points)))
        E[points, np.arange(len(points))] = 1.0
        return self.project(E)

    # ------------------------------------------------------------------ on the rows
    def block(self, rows):
        """P[rows, rows]: what the residuals of a fit without all these rows need, r_B = P_BB⁻¹a_B."""
        points, place = np.unique(self.index[rows], return_inverse=True)
        share, inner = self.share[rows], self._inner[rows]
        P = self.columns(points)[points][np.ix_(place, place)] * np.outer(share, share)
        P -= np.outer(inner, share) * (place[:, None] == place)
        P[np.diag_indices(len(rows))] += inner
        return (P + P.T) / 2

    def without(self, rows):
        """P_BB⁻¹ of some rows B, as an Inverse."""
        L, bad = lower(self.block(rows))
        if bad:
            raise ValueError(
                f"without the {len(rows)} rows of a fold the others leave the model open; use smaller folds or a "
                "larger lam."
            )
        return CholeskyInverse(L, self.lam)

    def tiles(self, X, weight=None):
        """Yield (slice, f (m, t), w (n, m), κ (m,)) for one part of the new inputs after the other, in bounded memory.

        Parameters
        ----------
        X : collection
        weight : float or array-like of shape (len(X),), default=None
            Weight of the new rows: their noise variance is λ/weight. None is 1.
        """
        X = self.kernel.validate(X)
        weight = np.broadcast_to(np.asarray(1.0 if weight is None else weight, dtype=float), (len(X),))
        if not (np.isfinite(weight).all() and (weight > 0).all()):
            raise ValueError("weights of new rows must be positive and finite.")
        step = int(np.clip(self.entries // len(self.y), 1, 1024))
        for i in range(0, len(X), step):
            here = slice(i, min(i + step, len(X)))
            yield here, *self._at(X[here], self.lam / weight[here])

    def _at(self, X, noise):
        """(f, w, κ) at new inputs."""
        k, h = np.asarray(self.kernel(X, self.rows.X), dtype=float).T, self.rows.trend_at(X)
        own = np.asarray(self.kernel.diag(X), dtype=float)
        found = self.inverse.kriging_weights(self.rows.scaled(k), h)
        w, f = self.rows.scaled(found.E), k.T @ self.alpha + h @ self.b
        # κ is a variance; what rounding has left of 0 is taken as rounding of k(x, x)
        kappa = np.maximum(own - found.explained_variance, np.finfo(float).eps * own) + noise
        w = w if not self.rows.merged else self.share[:, None] * w[self.index]
        return f, w, np.maximum(kappa, np.finfo(float).tiny)

    def shape(self, out):
        """Return a result without its last axis, that of the targets, if y came without one."""
        return out[..., 0] if self.flat else out
