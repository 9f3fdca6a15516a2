"""KernelRidge: the squared loss, in closed form."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.dual import ridge
from mercer.estimators._base import KernelEstimator, default_kernel
from mercer.estimators._validation import check_weight
from mercer.gram import ScaledGram, TiledGram, take
from mercer.gram.merge import duplicate_groups, merge
from mercer.solvers import Solver
from mercer.solvers.auto import choose


class KernelRidge(KernelEstimator):
    """α = (K + λI)⁻¹(y − b),  f(x) = Σⱼ αⱼ k(x, xⱼ) + b: minimises Σᵢ wᵢ (yᵢ − f(xᵢ))² + λ‖f‖².

    Parameters
    ----------
    kernel : Kernel, default=None
        k; None is a `Gaussian` whose length scales are √d times the standard deviation of each column.
    lam : float or array-like of shape (n,), default=1.0
        λ >= 0 of K + λI; an array is a noise variance for each row.
    intercept : bool, default=True
        Whether an unpenalised constant b is fitted.
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver, default="auto"
        How K + λI is inverted; "auto" asks `mercer.plan`.
    merge : bool, default=True
        Whether equal rows of X are merged into one point with more weight. The model does not change.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_points,) or (n_points, t)
        α.
    points_ : collection
        The distinct training inputs, in the order of their first appearance.
    point_index_ : ndarray of shape (n,)
        The point of each training row; -1 for rows of weight 0.
    intercept_ : float or ndarray of shape (t,)
        b.
    kernel_ : Kernel
        The kernel used.
    lam_ : float
        λ.
    rkhs_norm_ : float or ndarray of shape (t,)
        ‖f‖ = √(αᵀKα), the intercept aside.
    regularization_ : dict
        λ in every convention of the lectures.
    fit_report_ : FitReport
        Which solver and why, condition, residual, jitter, merged rows, time and memory.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, when X is a data frame.

    See Also
    --------
    KernelInterpolator : the limit λ = 0.
    BasisRegression : the same model in the primal, for an explicit basis.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> model = KernelRidge(Gaussian(1.0), lam=0.1).fit(X, y)
    >>> model.predict([[1.0]]).round(3)
    array([0.802])
    """

    _parameter_constraints = {
        "kernel": "no_validation",
        "lam": [Interval(Real, 0, None, closed="left"), "array-like"],
        "intercept": ["boolean"],
        "solver": [StrOptions({"auto", "cholesky", "mixed", "spectral", "cg"}), Solver],
        "merge": ["boolean"],
        "memory": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, kernel=None, lam=1.0, *, intercept=True, solver="auto", merge=True, memory=None):
        self.kernel = kernel
        self.lam = lam
        self.intercept = intercept
        self.solver = solver
        self.merge = merge
        self.memory = memory

    def fit(self, X, y, sample_weight=None):
        """Solve (K + λW⁻¹) α = y − b.

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        kernel, X, y, flat = self._prepare(X, y)
        lam, weight = self._combine(check_weight(sample_weight, len(y)), len(y))
        keep = np.flatnonzero(weight > 0)
        if self.kernel is None:
            kernel = default_kernel(X[keep], weight[keep])
        rows = len(y)
        X, y, weight = (X, y, weight) if keep.size == rows else (take(X, keep), y[keep], weight[keep])
        self._check_kernel(kernel, X)

        groups = duplicate_groups(X) if self.merge else None
        index = np.arange(len(y))
        if groups is not None:
            first, index = groups
            X = X[first]
            y, weight, _ = merge(y, weight, index, first.size)

        n = len(y)
        d = X.shape[1] if isinstance(X, np.ndarray) and X.ndim == 2 else None
        solver, plan = choose(self.solver, n, d, memory=self.memory, targets=y.shape[1])
        K = TiledGram(kernel, X)
        s = None if np.all(weight == 1.0) else np.sqrt(weight)
        Kinv = solver.resolvent(K if s is None else ScaledGram(K, s))(lam)
        beta, b = ridge.solve(
            Kinv, y if s is None else s[:, None] * y, self._trend(n) if s is None else s[:, None] * self._trend(n)
        )
        alpha = beta if s is None else s[:, None] * beta
        residual = lam * alpha / weight[:, None]  # y − f, from the system itself

        self._set_model(kernel, X, alpha, b[0] if b.size else b, flat)
        self.lam_ = lam
        norm = np.sqrt(np.maximum(np.einsum("ij,ij->j", alpha, y - residual - (b[0] if b.size else 0.0)), 0.0))
        self.rkhs_norm_ = float(norm[0]) if flat else norm
        self.point_index_ = np.full(rows, -1)
        self.point_index_[keep] = index
        self.regularization_ = conventions(lam, float(weight.sum()))
        self._report(plan, Kinv, rows, keep.size, n)

    def _combine(self, weight, n):
        """One λ and a weight for each row: a noise variance λᵢ for a row is the weight λ/λᵢ at a shared λ."""
        weight = np.ones(n) if weight is None else weight
        lam = np.asarray(self.lam, dtype=float)
        if lam.ndim == 0:
            if not np.isfinite(lam):
                raise ValueError(f"lam must be finite, got {self.lam}.")
            return float(lam), weight
        if lam.shape != (n,):
            raise ValueError(f"lam has shape {lam.shape}; give one number, or one for each of the {n} rows.")
        if not (np.isfinite(lam).all() and (lam > 0).all()):
            raise ValueError(f"lam must be positive and finite for every row, got a smallest value of {lam.min()}.")
        shared = float(np.exp(np.log(lam).mean()))
        return shared, weight * (shared / lam)

    def _trend(self, n):
        """H: a column of ones with an intercept, no column without."""
        return np.ones((n, 1 if self.intercept else 0))

    def _report(self, plan, Kinv, rows, used, points):
        """Fill ``fit_report_``."""
        self.fit_report_.update(
            estimator=type(self).__name__,
            kernel=repr(self.kernel_),
            lam=self.lam_,
            rows=rows,
            dropped_rows=rows - used,
            merged_rows=used - points,
            points=points,
            gram="TiledGram",
            reasons=list(plan.reasons),
            memory_predicted=plan.memory_bytes,
            seconds_predicted=plan.seconds,
            **Kinv.info,
        )


def conventions(lam, n):
    """λ of K + λI in the other conventions of the lectures.

    ``lam_over_n``: λ′ of K + Nλ′I (004) and of K/N + λ′I (002); ``C``: the box 1/(2Nλ′) of the support vector
    dual (004); ``noise_variance``: σ² of a Gaussian process (000, 001).
    """
    return {
        "lam": lam,
        "lam_over_n": lam / n,
        "C": 1.0 / (2.0 * lam) if lam > 0 else np.inf,
        "noise_variance": lam,
    }
