"""KernelInterpolator: the function of smallest norm through the data (λ = 0)."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._warn import warn
from mercer.approximate.fitted import conventions
from mercer.approximate.kernels import check_kernel, default_kernel
from mercer.estimators._parameters import NOT_NEGATIVE, constraints
from mercer.estimators._regressor import KernelRegressor
from mercer.exceptions import InfeasibleWarning
from mercer.gram import TiledGram, take
from mercer.gram.rows import Rows, power_of_two, safe_unit
from mercer.selection.judging import RowsLeftOut
from mercer.selection.search import SearchSpace
from mercer.solvers import choose_solver
from mercer.solvers.fitted import examine_interpolant
from mercer.solvers.pivoted import ARRAYS, pivoted_cholesky, squared_power
from mercer.solvers.plan import plan_arrays


class KernelInterpolator(KernelRegressor):
    """f = argmin ‖f‖  subject to  f(xᵢ) = yᵢ;  f(x) = Σⱼ αⱼ k(x, xⱼ),  K α = y.

    The problem has a solution exactly when y is in the range of K (lecture 002). When it is not, y is replaced by
    its projection on the range, and an `InfeasibleWarning` says by how much. K is factored with pivoting, so that
    a singular K is no obstacle: α is zero outside the pivots.

    Parameters
    ----------
    kernel : Kernel or list of Kernel, default=None
        k; None is a `Matern32` whose length scales are √d times the standard deviation of each column. Of a list the
        best by the criterion is taken.
    criterion : {"loo", "evidence", "kfold"}, int, splitter or Rule, default=None
        What chooses the free hyper-parameters of the kernel, with as little λ as rounding needs: a word, so many folds,
        the folds of a scikit-learn splitter, or a rule of `mercer.selection`. None takes ``kernel`` as it is.
    optimize : {"all", "kernel"}, default="all"
        What is chosen: the two are the same, as there is no λ.
    rank_tol : float, default=None
        A pivot below ``rank_tol`` times the largest k(x, x) counts as zero; None is n times the unit roundoff.
    feasible_tol : float, default=1e-6
        y is in the range of K when its distance to it is at most this, relative to ‖y‖.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds that the fit may take. The best point that a search has found by then is used; what is predicted to take
        longer is refused.
    random_state : int, RandomState or None, default=0
        Seed of the folds, and of the rows and starts a search looks at first.
    options : list of Options, default=()
        Numbers that steer a search, a solver or an approximation, where the defaults will not do:
        ``[SearchOptions(...)]``; see `mercer.options`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (rank_,) or (rank_, t)
        α at the pivots.
    points_ : collection
        The pivots.
    support_ : ndarray of shape (rank_,)
        Rows of X that the points of the interpolant are.
    point_index_ : ndarray of shape (n,)
        The pivot of each training row; -1 for rows that are none.
    rank_ : int
        Numerical rank of K.
    feasible_ : bool
        Whether y is in the range of K.
    infeasibility_ : float
        Distance of y to the range of K, relative to ‖y‖.
    loo_residuals_ : ndarray of shape (n,) or (n, t)
        yᵢ − f₋ᵢ(xᵢ) = αᵢ/[K⁻¹]ᵢᵢ at the pivots, the others staying pivots; yᵢ − f(xᵢ) elsewhere.
    rkhs_norm_ : float or ndarray of shape (t,)
        ‖f‖ = √(αᵀKα).
    kernel_ : Kernel
        The kernel used.
    selection_ : SearchResult
        With a criterion: how the kernel was chosen, and how surely.
    fit_report_ : FitReport
        Rank, condition of the pivots, accuracy (relative errors to be expected), infeasibility, time.

    Examples
    --------
    >>> from mercer import KernelInterpolator
    >>> from mercer.kernels import Gaussian
    >>> model = KernelInterpolator(Gaussian(1.0)).fit([[0.0], [1.0]], [1.0, 2.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([1., 2.])
    >>> model.feasible_
    True
    """

    state_extras = {**KernelRegressor.state_extras, "triangle": "_triangle"}
    leaves_out = "exact"
    state_fields = {**KernelRegressor.state_fields, "triangle": "float n n"}
    criteria = ("loo", "evidence", "kfold")
    _automatic = False  # kernel="auto" needs a λ

    def __init__(
        self, kernel=None, *, criterion=None, optimize="all", rank_tol=None, feasible_tol=1e-6, memory=None,
        time_budget=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        optimize=[StrOptions({"all", "kernel"})],
        rank_tol=[Interval(Real, 0, 1, closed="both"), None],
        feasible_tol=[NOT_NEGATIVE],
    )

    def fit(self, X, y):
        """Find the function of smallest norm through the data.

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,) or (n, t)

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y)

    def _fit(self, X, y):
        kernels, X, y, flat = self._check_rows(X, y)
        if self.kernel is None:
            kernels = [default_kernel(X, None)]
        for kernel in kernels:
            check_kernel(kernel, X)
        rule = self._as_criterion(y)
        self.plan_ = self._plan(len(X))
        kernel = kernels[0] if rule is None else self._select(kernels, X, y, rule)
        factor = pivoted_cholesky(TiledGram(kernel, X), self.rank_tol, self.memory)
        scale = power_of_two(y)
        target = factor.project(y / scale)
        distance = np.linalg.norm(y / scale - target) / max(np.linalg.norm(y / scale), np.finfo(float).tiny)
        alpha, norm = factor.solve(target)
        with np.errstate(over="ignore"):
            terms = np.abs(alpha).sum(axis=0) * scale * float(np.max(kernel.diag(X)))
        if not np.isfinite(terms).all():
            raise ValueError(
                f"y reaches {np.abs(y).max():.2g}, and its interpolant is a sum of numbers beyond float64. "
                f"Divide y by {np.abs(y).max():.1g}, or take a shorter length scale."
            )

        rank = factor.rank
        self._set_model(kernel, take(X, factor.pivots), alpha * scale, np.zeros(0), flat)
        self.point_index_ = np.full(len(y), -1)
        self.point_index_[factor.pivots] = np.arange(rank)
        self.lam_, self.regularization_, self.rank_ = 0.0, conventions(0.0, len(y)), rank
        self.row_target_ = y[:, 0] if flat else y
        self.infeasibility_ = float(distance)
        self.feasible_ = bool(distance <= self.feasible_tol)
        self.rkhs_norm_ = float(norm[0] * scale[0]) if flat else norm * scale
        self._triangle = factor.triangle
        residual = y - target * scale  # of rows that are no pivots: without them nothing changes
        diagonal = factor.inverse_diagonal
        residual[factor.pivots] = alpha * scale / np.where(diagonal > 0, diagonal, np.nan)[:, None]
        self.loo_residuals_ = self._shaped(residual)
        accuracy = None
        if rank:
            K = TiledGram(kernel, take(X, factor.pivots))
            accuracy = examine_interpolant(K, factor.condition, alpha, target[factor.pivots], norm)._asdict()
        said = {"kernel": repr(kernel), "rows": len(y), "rank": rank, "condition": factor.condition}
        said["accuracy"] = accuracy
        self.fit_report_.update(said, feasible=self.feasible_, infeasibility=self.infeasibility_)
        if not self.feasible_:
            warn(
                f"y is not in the range of K: its distance to it is {distance:.3g} of ‖y‖ (feasible_tol "
                f"{self.feasible_tol:g}), and K has rank {rank} of {len(y)}. The projection of y is interpolated. "
                "Equal inputs with different targets, or a kernel with few features, cause this: use "
                "KernelRidge(lam > 0), or a rougher kernel or a shorter length scale.",
                InfeasibleWarning,
            )

    def _select(self, kernels, X, y, rule):
        """The kernel that the criterion chooses, at the λ of rounding."""
        rows = Rows(X, y, None, None, True, safe_unit(y))
        largest = max(float(np.max(kernel.diag(X))) for kernel in kernels)
        lam = max(len(X) * np.finfo(float).eps, self.rank_tol or 0.0) * largest
        solver, _ = choose_solver("auto", self._sizes(rows.n, rows.d, time_budget=None), inverse=True)
        several = kernels if isinstance(self.kernel, list | tuple) else kernels[0]
        self.selection_ = self._search(SearchSpace(several, lam, optimize="kernel"), rows, rule, solver)
        return self.selection_.kernel

    def plan(self, n, d=None, *, targets=1, rows=None):
        return self._plan(n, binding=False)

    def _plan(self, n, binding=True):
        sizes, reason = self._sizes(n, binding=binding), "A factor with pivoting finds the rank of K."
        operations = 1.2 * n**3 * sizes.cores  # one core finds the pivots one by one, and the diagonal of the inverse
        return plan_arrays("pivoted cholesky", sizes, ARRAYS, reason=reason, operations=operations)

    def _left_out_rows(self):
        return RowsLeftOut(self.row_target_ - self.loo_residuals_)

    def power_function(self, X):
        """P(x) = √(k(x, x) − k_X(x)ᵀ K⁻¹ k_X(x)):  |f*(x) − f(x)| <= P(x) ‖f*‖ for every f* in the native space.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m,)
        """
        X = self._new_rows(X)
        out = np.empty(len(X))
        for i in range(0, len(X), 1024):
            block = X[i : i + 1024]
            k = self.kernel_(block, self.points_).T  # new inputs first: of training ones a kernel may keep little
            out[i : i + 1024] = squared_power(self._triangle, k, self.kernel_.diag(block))
        return np.sqrt(np.maximum(out, 0.0))
