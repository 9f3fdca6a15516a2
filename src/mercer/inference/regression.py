"""The posterior of a Gaussian process given noisy values, with a flat prior on the trend (universal kriging).

The system is S K S + λI with S = diag(√c), c the weights of the points. The solver's `Inverse` has the trend projected
out, and knows what is explained of f(x): here nothing is factored or solved.
"""

import numpy as np

from mercer._state import check, check_vectors
from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import Rows, apply, take
from mercer.inference.moments import Posterior, Slopes, clip
from mercer.kernels import Kernel
from mercer.solvers.cholesky import CholeskyInverse
from mercer.solvers.fitted import examine_fit
from mercer.solvers.projected import Projected, project

ENTRIES = 2**22  # of the largest array of a block of rows: 32 MB
FIELDS = {
    "kernel": Kernel, "rows": Rows, "beta": "float n t", "b": "float q t", "Z": ("float n q", None),
    "R": ("float q q", None), "factor": ("factor n", None), "lam": "number", "info": dict, "norm": ("number", None),
}  # fmt: skip


class RegressionPosterior(Posterior):
    """f | y:  m(x) = kₓᵀα + h(x)ᵀb,  v(x) = k(x, x) − what the rows explain of f(x).

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
        With the trend.
    inverse : Inverse
        (S K S + λI)⁻¹ of the points, the trend projected out.
    whole : bool, default=True
        Whether a file keeps the factor, since it is of another matrix than that of the kernel and the rows.

    Attributes
    ----------
    alpha : ndarray of shape (n, t)
        Dual vector α, of the points.
    b : ndarray of shape (q, t)
        Coefficients of the trend.
    beta : ndarray of shape (n, t)
        α of the scaled system, α = S β.
    lam : float
        Noise variance λ of a point of weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.inference.regression import RegressionPosterior
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Cholesky
    >>> rows = Rows(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    >>> f = RegressionPosterior.fit(Gaussian(), rows, 0.1, Cholesky())
    >>> found = f.moments(np.array([[1.0], [9.0]]))
    >>> found.mean.ravel().round(4), found.variance.round(4)
    (array([0.8694, 0.    ]), array([0.0869, 1.    ]))
    """

    def __init__(self, kernel, rows, inverse, whole=True):
        self.kernel, self.rows, self._inverse, self._kept = kernel, rows, inverse, None
        self.whole = whole
        self.beta, self.b = inverse.regress(rows.scaled(rows.y))
        self.alpha = np.ascontiguousarray(rows.scaled(self.beta))

    @classmethod
    def fit(cls, kernel, rows, lam, solver, span=None):
        """Condition on the rows: one factorisation. ``span`` is that of the scaled trend, where it is known."""
        refuse_conflict(lam, rows.within_squares)
        K = rows.gram(kernel)
        inverse = solver.resolvent(K, rows.scaled(rows.H) if span is None else span)(lam)
        self = cls(kernel, rows.retained(kernel), inverse, kernel.pairwise)
        self.norm, found = examine_fit(K, inverse, self.beta, rows.scaled(rows.y), rows.scaled(rows.H), self.b)
        inverse.info["accuracy"] = found and found._asdict()
        return self

    def state(self):
        """{name: value}: what a file keeps.

        The factor only where it cannot be made again from the kernel and the points, when a variance is asked for.
        """
        own, kept = {"kernel": self.kernel, "rows": self.rows, "beta": self.beta, "b": self.b}, self._kept
        if kept is None:
            Z, R = self.inverse.parts if self.rows.q else (None, None)
            kept = {"Z": Z, "R": R} | self.inverse.unprojected.state(whole=self.whole)
        return own | kept

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state."""
        sizes = check(state, FIELDS, "RegressionPosterior")
        check_vectors(state["kernel"], state["rows"].X, "RegressionPosterior.rows.X")
        if any(sizes.get(letter, 0) != getattr(state["rows"], letter) for letter in "nqt"):
            raise ValueError(f"RegressionPosterior.rows are not those of arrays of {sizes}.")
        self = cls.__new__(cls)
        own = ("kernel", "rows", "beta", "b")
        self.kernel, self.rows, self.beta, self.b = (state[name] for name in own)
        self._inverse, self._kept = None, {name: state[name] for name in FIELDS if name not in own}
        self.whole = state["factor"] is not None
        self.alpha = np.ascontiguousarray(self.rows.scaled(self.beta))
        return self

    @property
    def inverse(self):
        """(S K S + λI)⁻¹, the trend projected out; of a posterior from a file made where it is first asked for."""
        if self._inverse is None:
            rows, kept = self.rows, self._kept
            with few_threads(rows.n):
                Kinv = CholeskyInverse.from_state(kept, rows.gram(self.kernel))
            self._inverse = Projected(Kinv, rows.scaled(rows.H), (kept["Z"], kept["R"])) if rows.q else Kinv
        return self._inverse

    @property
    def lam(self):
        """Noise variance λ of a point of weight 1."""
        return self.inverse.lam if self._kept is None else self._kept["lam"]

    # ---------------------------------------------------------------------- mean, variance, covariance
    def mean(self, X):
        """m(x), of shape (m, t); no variance is computed."""
        mean = apply(self.kernel, X, self.rows.X, self.alpha)
        return mean + self.rows.trend_at(X) @ self.b if self.rows.q else mean

    def moments(self, X):
        """(m(x), v(x)) of shapes (m, t) and (m,), as `Moments`."""
        return self._moments(X, self.kernel, self.rows.trend_at)

    def covariance(self, X):
        """(Moments, c(x, x′) of shape (m, m)) for all pairs of rows of X."""
        B, h = self._cross(X, self.kernel), self.rows.trend_at(X)
        mean = B.T @ self.alpha + h @ self.b
        C = np.asarray(self.kernel(X), dtype=float) - self.inverse.explained_covariance(self.rows.scaled(B), h)
        C = (C + C.T) / 2
        found = clip(mean, C.diagonal().copy(), np.asarray(self.kernel.diag(X), dtype=float), self.rows.n)
        np.fill_diagonal(C, found.variance)
        return found, C

    def parts(self, X):
        """[Moments]: f = f₁ + f₂ + … + trend, each with its own posterior variance; the means sum to m(x)."""
        found = [self.part(X, kernel) for kernel in self.kernel.additive_parts()]
        return [*found, self.trend_part(X)] if self.rows.q else found

    def part(self, X, kernel):
        """The `Moments` of the part of f with this kernel, one of the summands of k or a sum of some."""
        return self._moments(X, kernel, self._no_trend)

    def trend_part(self, X):
        """The `Moments` of h(x)ᵀb."""
        h = self.rows.trend_at(X)
        variance = -self.inverse.explained_variance(np.zeros((self.rows.n, len(X)), order="F"), h)
        return clip(h @ self.b, variance, variance, self.rows.n)

    def _moments(self, X, kernel, trend):
        """Moments of the part of f with this kernel and trend."""
        prior = np.asarray(kernel.diag(X), dtype=float)
        mean, explained = np.empty((len(X), self.rows.t)), np.empty(len(X))
        for block in self._blocks(X):
            B, h = self._cross(X[block], kernel), trend(X[block])
            mean[block] = B.T @ self.alpha + h @ self.b
            explained[block] = self.inverse.explained_variance(self.rows.scaled(B), h)
        return clip(mean, prior - explained, prior, self.rows.n)

    def _cross(self, X, kernel):
        """k(points, x), of shape (n, m), in column order."""
        return np.asarray(kernel(X, self.rows.X), dtype=float).T

    def _no_trend(self, X):
        return np.zeros((len(X), self.rows.q))

    def _blocks(self, X, width=1):
        """Slices of the rows of X, so that ``width`` arrays of rows × n stay small."""
        step = max(1, ENTRIES // (max(1, self.rows.n) * width))
        return [slice(i, min(i + step, len(X))) for i in range(0, len(X), step)]

    # ---------------------------------------------------------------------- derivatives
    def slopes(self, X):
        """∂m/∂x = Σⱼ αⱼ ∂k(x, xⱼ)/∂x + bᵀ∂h/∂x,  ∂v/∂x = ∂k(x, x)/∂x − 2 Σⱼ (SE)ⱼ ∂k(x, xⱼ)/∂x − 2 rᵀ∂h/∂x.

        E and r are the weights and the trend residual of `mercer.solvers.base.KrigingWeights`.

        Returns
        -------
        Slopes
        """
        rows, d = self.rows, X.shape[1]
        out = Slopes(np.empty((len(X), rows.t)), np.empty(len(X)), np.empty((len(X), d, rows.t)), np.empty((len(X), d)))
        for block in self._blocks(X, width=max(1, d)):
            A = X[block]
            B, h, D = self._cross(A, self.kernel), rows.trend_at(A), self.kernel.dx(A, rows.X)
            dh = rows.trend.dx(A) if rows.q else np.zeros((len(A), 0, d))
            found = self.inverse.kriging_weights(rows.scaled(B), h)
            out.mean[block] = B.T @ self.alpha + h @ self.b
            out.variance[block] = self.kernel.diag(A) - found.explained_variance
            out.d_mean[block] = np.einsum("mnd,nt->mdt", D, self.alpha) + np.einsum("mqd,qt->mdt", dh, self.b)
            along = np.einsum("nm,mnd->md", rows.scaled(found.E), D) + np.einsum("qm,mqd->md", found.trend_residual, dh)
            out.d_variance[block] = self.kernel.dx_diag(A) - 2.0 * along
        return out

    # ---------------------------------------------------------------------- evidence
    @property
    def quad(self):
        """yᵀPy of each target, in the scaled system: (t,)."""
        return np.einsum("ij,ij->j", self.rows.scaled(self.rows.y), self.beta)

    def evidence(self, criterion):
        """{fidelity, complexity, constant} of log p(y), as a criterion that is the evidence has them."""
        return criterion.of(self.rows, self.lam, self.inverse, self.quad)

    # ---------------------------------------------------------------------- rows that join and leave
    def changed(self, rows, points, solver):
        """(posterior, whether it was factored afresh) for other rows at the same kernel and λ.

        Parameters
        ----------
        rows : Rows
            As `Rows.extended` and `Rows.without` make them.
        points : ndarray of int
            The points of now that are the first ones of ``rows``, in their order.
        solver : Solver
            Where a new factor is cheaper, or safer.
        """
        refuse_conflict(self.lam, rows.within_squares)
        Kinv, gone = self.inverse.unprojected, np.setdiff1d(np.arange(self.rows.n), points)
        old, new = self.rows.weights()[points], rows.weights()[: len(points)]
        other = points[np.abs(new - old) > 1e-14 * new]
        steps = len(gone) + 2 * len(other) + rows.n - len(points)
        if not Kinv.info.get("jitter") and steps <= max(1, self.rows.n // 4):  # beyond, a new factor is cheaper
            try:
                inverse = project(self._walked(Kinv, rows, points, gone, other), rows.scaled(rows.H))
                return RegressionPosterior(self.kernel, rows, inverse, self.whole), False
            except NotPositiveDefinite:
                pass  # rounding left nothing of a pivot
        return RegressionPosterior.fit(self.kernel, rows, self.lam, solver), True

    def _walked(self, Kinv, rows, points, gone, other):
        """The inverse, row by row: weights that change leave and come back, points leave, points join."""
        X, s = self.rows.X, np.sqrt(self.rows.weights())
        place = dict(zip(points.tolist(), np.sqrt(rows.weights()[: len(points)]), strict=True))
        for g in other:
            rest = np.delete(np.arange(len(s)), g)
            s[g] = place[int(g)]
            Kinv = Kinv.remove(g).insert(g, *self._bordered(take(X, [g]), s[g], take(X, rest), s[rest]))
        for g in gone[::-1]:
            Kinv = Kinv.remove(g)
        X, s = rows.X, np.sqrt(rows.weights())
        for j in range(len(points), rows.n):
            before = np.arange(j)
            Kinv = Kinv.insert(j, *self._bordered(take(X, [j]), s[j], take(X, before), s[:j]))
        return Kinv

    def _bordered(self, x, root, others, roots):
        """(row, diagonal entry) of S K S + λI of a point of weight root²."""
        row = np.asarray(self.kernel(x, others), dtype=float)[0]
        return root * roots * row, float(root) ** 2 * float(np.asarray(self.kernel.diag(x))[0]) + self.lam


def refuse_conflict(lam, spread):
    """Refuse equal inputs with other targets where there is no noise to explain them."""
    apart = np.flatnonzero(spread.sum(axis=1) > 0) if lam == 0 else ()
    if len(apart):
        raise ValueError(
            f"noise = 0, but {len(apart)} inputs come with more than one target: no function goes through both. Give "
            "noise > 0, or remove the rows that differ."
        )
