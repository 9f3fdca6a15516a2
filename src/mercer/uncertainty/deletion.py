"""Every fit without a row, from the one inverse of all rows.

The letters of this folder: a = P y and s = diag P, where P is K̃⁻¹ with the intercept projected out and
K̃ = K + λW⁻¹. At a new input x, w(x) are the weights with which the targets make up the prediction, f(x) = w(x)ᵀy, and
κ(x) is the variance of a new target there in the Gaussian reading. With the row (x, z) added, P becomes
[[P + wwᵀ/κ, −w/κ], [−wᵀ/κ, 1/κ]]: all formulas for fits with one row more or less follow from that.
"""

import numpy as np

from mercer.gram import ScaledGram, TiledGram
from mercer.solvers import Cholesky
from mercer.solvers.base import check_lam

ENTRIES = 2**21  # of one array of a tile: 16 MB


class Deletion:
    """f₋ᵢ(x) = f(x) − wᵢ(x) aᵢ/sᵢ  with  a = P y, s = diag P: every fit without a row, from the one with all rows.

    Nothing is refitted. Equal rows may come merged into points (``index``): the formulas for the rows need the
    inverse for the points only.

    Parameters
    ----------
    kernel : Kernel
    points : collection
        Inputs; those of the rows when ``index`` is None.
    y : array-like of shape (n,) or (n, t)
    lam : float
        λ.
    weight : array-like of shape (n,), default=None
        w > 0 of the rows: λ/wᵢ is the noise variance of row i.
    index : array-like of shape (n,), default=None
        The point of each row.
    intercept : bool, default=True

    Attributes
    ----------
    y : ndarray of shape (n, t)
    flat : bool
        Whether y came as (n,): results then have no axis of targets.
    a : ndarray of shape (n, t)
        P y.
    s : ndarray of shape (n,)
        diag P; 1/sᵢ is the variance of yᵢ given the other rows, in the Gaussian reading.
    residuals : ndarray of shape (n, t)
        aᵢ/sᵢ = yᵢ − f₋ᵢ(xᵢ).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> Deletion(Gaussian(1.0), X, y, 0.1).residuals[:1].round(4)
    array([[-0.9774]])
    >>> y[:1] - KernelRidge(Gaussian(1.0), 0.1).fit(X[1:], y[1:]).predict(X[:1]).round(4)
    array([-0.9774])
    """

    def __init__(self, kernel, points, y, lam, *, weight=None, index=None, intercept=True):
        self.kernel, self.points, self.lam = kernel, kernel.validate(points), check_lam(lam)
        y = np.asarray(y, dtype=float)
        self.flat, self.y = y.ndim == 1, y.reshape(len(y), -1)
        n, size = len(y), len(self.points)
        self.weight = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
        self.index = np.arange(n) if index is None else np.asarray(index)
        self._check(n, size, bool(intercept))
        self._plain = size == n and bool(np.all(self.index == np.arange(n)))
        self.total = np.bincount(self.index, weights=self.weight, minlength=size)  # weight of a point
        self.share = self.weight / self.total[self.index]  # of a row in its point
        # w/λ acts on what differs within a point; at λ = 0 no two rows are equal
        self._inner = self.weight / self.lam if self.lam > 0 else np.zeros(n)
        self._factorise(bool(intercept))
        self._solve_for_y()

    def _check(self, n, size, intercept):
        """Refuse what has no fit without a row."""
        if self.weight.shape != (n,) or not (np.isfinite(self.weight).all() and (self.weight > 0).all()):
            raise ValueError(f"weight must be {n} positive numbers; leave out rows of weight 0.")
        if self.index.shape != (n,) or not np.array_equal(np.unique(self.index), np.arange(size)):
            raise ValueError(f"index must give one of the {size} points for each of {n} rows, and all of them.")
        if n <= intercept:
            raise ValueError(f"there is no fit without a row when there is only {n}; give more rows.")
        if self.lam == 0 and n > size:
            raise ValueError("with lam = 0 and equal rows in X there is no fit without a row; use lam > 0.")

    def _factorise(self, intercept):
        """K̃ of the points; c = K̃⁻¹1 and G = 1ᵀK̃⁻¹1, so that P = K̃⁻¹ − ccᵀ/G (G = ∞ without an intercept)."""
        self._root = np.sqrt(self.total)[:, None]
        K = TiledGram(self.kernel, self.points)
        weighted = bool(np.any(self.total != 1.0))
        self._Kinv = Cholesky().resolvent(ScaledGram(K, self._root[:, 0]) if weighted else K)(self.lam)
        self._c = self._solve(np.ones((len(self.total), 1)))
        self._G = float(self._c.sum()) if intercept else np.inf
        p = self.total * self._Kinv.diag() - self._c[:, 0] ** 2 / self._G
        if not np.isfinite(p).all():
            raise ValueError(f"(K + lam I)^-1 of {self.kernel!r} is not finite for lam = {self.lam:.3g}; use more.")
        self.p = np.maximum(p, 0.0)  # diag P of the points

    def _solve_for_y(self):
        """α and b of the points, a and s of the rows."""
        self.mean = self.to_points(self.y)
        self.alpha = self.project(self.mean)
        self._b = self._c[:, 0] @ self.mean / self._G
        of, share = self.index, self.share
        self.a = self._inner[:, None] * (self.y - self.mean[of]) + share[:, None] * self.alpha[of]
        self.s = self._inner * (1.0 - share) + share**2 * self.p[of]
        if not (self.s > 0).all():
            row = int(np.argmin(self.s))
            raise ValueError(f"row {row} alone determines a part of the model: there is no fit without it.")
        self.residuals = self.a / self.s[:, None]

    # ------------------------------------------------------------------ on the points
    def _solve(self, B):
        """K̃⁻¹ B."""
        return self._root * (self._Kinv @ (self._root * B))

    def project(self, B):
        """P B for B of shape (points, t)."""
        return self._solve(B) - self._c @ (self._c.T @ B / self._G)

    def columns(self, points):
        """P[:, points]."""
        E = np.zeros((len(self.total), len(points)))
        E[points, np.arange(len(points))] = 1.0
        return self.project(E)

    def to_points(self, B):
        """Weighted means, for each point, of B of shape (n, t)."""
        if self._plain:
            return B
        columns = [np.bincount(self.index, self.share * column, minlength=len(self.total)) for column in B.T]
        return np.stack(columns, axis=1)

    # ------------------------------------------------------------------ on the rows
    def block(self, rows):
        """P[rows, rows]: what the residuals of a fit without all these rows need, r_B = P_BB⁻¹a_B."""
        points, place = np.unique(self.index[rows], return_inverse=True)
        share, inner = self.share[rows], self._inner[rows]
        P = self.columns(points)[points][np.ix_(place, place)] * np.outer(share, share)
        P -= np.outer(inner, share) * (place[:, None] == place)
        P[np.diag_indices(len(rows))] += inner
        return (P + P.T) / 2

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
        step = int(np.clip(ENTRIES // len(self.y), 1, 1024))
        for i in range(0, len(X), step):
            here = slice(i, min(i + step, len(X)))
            yield here, *self._at(X[here], self.lam / weight[here])

    def _at(self, X, noise):
        """(f, w, κ) at new inputs."""
        k = np.asarray(self.kernel(X, self.points), dtype=float).T
        own = np.asarray(self.kernel.diag(X), dtype=float)
        e = self._solve(k)
        rest = (1.0 - e.sum(axis=0)) / self._G
        latent = own - np.einsum("ij,ij->j", k, e) + rest**2 * (0.0 if np.isinf(self._G) else self._G)
        w = e + self._c * rest
        f = k.T @ self.alpha + self._b
        # κ is a variance; what rounding has left of 0 is taken as rounding of k(x, x)
        kappa = np.maximum(latent, np.finfo(float).eps * own) + noise
        return f, w if self._plain else self.share[:, None] * w[self.index], np.maximum(kappa, np.finfo(float).tiny)

    def shape(self, out):
        """Return a result without its last axis, that of the targets, if y came without one."""
        return out[..., 0] if self.flat else out
