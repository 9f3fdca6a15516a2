"""KernelRidge: the squared loss, in closed form."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.dual import ridge
from mercer.dual.ridge import power_of_two
from mercer.estimators._base import KernelEstimator, default_kernel
from mercer.estimators._intervals import IntervalsMixin
from mercer.estimators._validation import check_weight, check_X_y, shared_noise
from mercer.gram import ScaledGram, TiledGram, take
from mercer.gram.merge import merge_rows
from mercer.kernels import as_kernel
from mercer.selection._progress import ProgressSupport, begin, end, reporter, with_progress
from mercer.selection.base import Rule, with_rows
from mercer.selection.residuals import constant_model, leave_one_out
from mercer.selection.rules import Discrepancy
from mercer.selection.search import search
from mercer.solvers import CG, Solver
from mercer.solvers.auto import choose


class KernelRidge(ProgressSupport, IntervalsMixin, KernelEstimator):
    """α = (K + λI)⁻¹(y − b),  f(x) = Σⱼ αⱼ k(x, xⱼ) + b: minimises Σᵢ wᵢ (yᵢ − f(xᵢ))² + λ‖f‖².

    Parameters
    ----------
    kernel : Kernel, or list of Kernel, default=None
        k; None is a `Gaussian` whose length scales are √d times the standard deviation of each column. Of a list the
        best by the criterion is taken.
    lam : float or array-like of shape (n,), default=1.0
        λ >= 0 of K + λI; an array is a noise variance for each row. With a criterion, where the search starts (an array
        then gives the noise of the rows relative to each other).
    criterion : Criterion or Rule, default=None
        What chooses λ and the free hyper-parameters of the kernel: `mercer.selection.LOO`, `GCV`, `Evidence`, `KFold`;
        `LCurve` and `Discrepancy` choose λ alone. None takes ``kernel`` and ``lam`` as they are.
    optimize : {"all", "lam"}, default="all"
        What is chosen: hyper-parameters and λ, or λ alone.
    intercept : bool, default=True
        Whether an unpenalised constant b is fitted.
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver, default="auto"
        How K + λI is inverted; "auto" asks `mercer.plan`.
    merge : bool, default=True
        Whether equal rows of X are merged into one point with more weight. The model does not change.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds the search may take; the best point found by then is used.
    random_state : int, default=0
        Seed of the rows and starts a search looks at first.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_points,) or (n_points, t)
        α.
    points_ : collection
        The distinct training inputs, in the order of their first appearance.
    point_index_ : ndarray of shape (n,)
        The point of each training row; -1 for rows of weight 0.
    row_weight_ : ndarray of shape (n,)
        The weight of each training row; 0 for rows that were left out.
    intercept_ : float or ndarray of shape (t,)
        b.
    kernel_ : Kernel
        The kernel used.
    lam_ : float
        λ; inf is the constant model that `Discrepancy` asks for when all of y is noise.
    selection_ : SearchResult
        With a criterion: how the kernel and λ were chosen, and how surely. Where squares of y are beyond a float, its
        values are those of y divided by a power of two near the largest |y|.
    loo_residuals_ : ndarray of shape (n,) or (n, t)
        With a criterion: yᵢ − f₋ᵢ(xᵢ) for each row under the model fitted without it; nan for rows of weight 0.
    leverage_ : ndarray of shape (n,)
        With a criterion: ∂f(xᵢ)/∂yᵢ.
    dof_ : float
        With a criterion: the sum of the leverages, the degrees of freedom of the fit.
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

    The length scale and λ by leave-one-out:

    >>> from mercer.datasets import load_cars
    >>> from mercer.selection import LOO
    >>> X, y = load_cars(return_X_y=True)
    >>> model = KernelRidge(Gaussian(10.0), criterion=LOO()).fit(X, y)
    >>> bool(model.selection_.value < y.var())
    True
    """

    _parameter_constraints = {
        "kernel": "no_validation",
        "lam": [Interval(Real, 0, None, closed="left"), "array-like"],
        "criterion": [Rule, None],
        "optimize": [StrOptions({"all", "lam"})],
        "intercept": ["boolean"],
        "solver": [StrOptions({"auto", "cholesky", "mixed", "spectral", "cg"}), Solver],
        "merge": ["boolean"],
        "memory": [Interval(Real, 0, None, closed="neither"), None],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernel=None,
        lam=1.0,
        *,
        criterion=None,
        optimize="all",
        intercept=True,
        solver="auto",
        merge=True,
        memory=None,
        time_budget=None,
        random_state=0,
    ):
        self.kernel = kernel
        self.lam = lam
        self.criterion = criterion
        self.optimize = optimize
        self.intercept = intercept
        self.solver = solver
        self.merge = merge
        self.memory = memory
        self.time_budget = time_budget
        self.random_state = random_state

    @with_progress
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
        begin(self, X, y, steps=0 if self.criterion is None else None)
        self._fit_all_or_nothing(X, y, sample_weight)
        end(self, X, y)
        return self

    def _fit(self, X, y, sample_weight):
        if self.criterion is not None and (self.solver == "cg" or isinstance(self.solver, CG)):
            raise ValueError(
                f"criterion={self.criterion!r} needs the diagonal of (K + lam I)^-1, which solver={self.solver!r} does "
                'not give; use solver="auto", or choose lam on fewer rows and fit here with criterion=None.'
            )
        kernels, X, y, flat = self._prepare_kernels(X, y)
        lam, weight = self._combine(check_weight(sample_weight, len(y)), len(y))
        keep = np.flatnonzero(weight > 0)
        if self.kernel is None:
            kernels = [default_kernel(X[keep], weight[keep])]
        rows = len(y)
        if keep.size < rows:
            X, y, weight = take(X, keep), y[keep], weight[keep]
        for kernel in kernels:
            self._check_kernel(kernel, X)
        kernel = kernels[0]
        if self.criterion is not None:
            kernel, lam = self._select(kernels, X, y, weight, lam, keep)
        self._solve(kernel, lam, X, y, weight, rows, keep, flat)
        self._remember(y, weight, flat)

    def _prepare_kernels(self, X, y):
        """Return (kernels, X, y, flat): one kernel, or those of the list among which the criterion chooses."""
        if not isinstance(self.kernel, list | tuple):
            kernel, X, y, flat = self._prepare(X, y)
            return [kernel], X, y, flat
        if self.criterion is None or not len(self.kernel):
            raise ValueError(f"a list of {len(self.kernel)} kernels needs at least one, and a criterion to choose by.")
        kernels = [clone(as_kernel(kernel), safe=False) for kernel in self.kernel]
        X, y = check_X_y(self, X, y, kernels[0])
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y.reshape(len(y), -1), y.ndim == 1

    def _select(self, kernels, X, y, weight, lam, keep):
        """(kernel, λ) as the criterion chooses them on the rows, equal ones not merged."""
        unit = _extreme(y)
        self.selection_ = search(
            kernels if isinstance(self.kernel, list | tuple) else kernels[0],
            X,
            y / unit,
            _in_unit(self.criterion.restrict(keep), unit),
            lam=lam,
            weight=None if np.all(weight == 1.0) else weight,
            intercept=self.intercept,
            optimize=self.optimize,
            time_budget=self.time_budget,
            callback=reporter(self),
            random_state=self.random_state,
        ).warn()
        return self.selection_.kernel, self.selection_.lam

    def _solve(self, kernel, lam, X, y, weight, rows, keep, flat):
        """Fit at a kernel and λ, and set everything that is learnt."""
        row_y, row_weight = y, weight
        X, y, weight, index, _ = merge_rows(X, y, weight, self.merge)

        n = len(y)
        if np.isinf(lam):
            alpha = np.zeros_like(y)
            b, loo, leverage = constant_model(row_y, row_weight, self.intercept)
            norm, plan, info = np.zeros(y.shape[1]), None, {"solver": "none: the constant model"}
        else:
            d = X.shape[1] if isinstance(X, np.ndarray) and X.ndim == 2 else None
            options = {"memory": self.memory, "targets": y.shape[1], "inverse": self.criterion is not None}
            solver, plan = choose(self.solver, n, d, **options)
            K = TiledGram(kernel, X)
            s = None if np.all(weight == 1.0) else np.sqrt(weight)
            H = self._trend(n) if s is None else s[:, None] * self._trend(n)
            Kinv = solver.resolvent(K if s is None else ScaledGram(K, s))(lam)
            beta, b = ridge.solve(Kinv, y if s is None else s[:, None] * y, H)
            alpha = beta if s is None else s[:, None] * beta
            residual = lam * alpha / weight[:, None]  # y − f, from the system itself
            norm = np.sqrt(np.maximum(np.einsum("ij,ij->j", alpha, y - residual - (b[0] if b.size else 0.0)), 0.0))
            if self.criterion is not None:
                loo, leverage = leave_one_out(Kinv, beta, H, (y, weight), (row_y, row_weight, index))
            info = Kinv.info

        self._set_model(kernel, X, alpha, b[0] if b.size else b, flat)
        self.lam_ = lam
        self.rkhs_norm_ = float(norm[0]) if flat else norm
        self.point_index_ = np.full(rows, -1)
        self.point_index_[keep] = index
        self.regularization_ = conventions(lam, float(weight.sum()))
        if self.criterion is not None:
            self._set_residuals(loo, leverage, rows, keep, flat)
        self._report(plan, info, rows, keep.size, n)

    def _set_residuals(self, loo, leverage, rows, keep, flat):
        """Leave-one-out residuals, leverages and degrees of freedom, in the order of the rows given."""
        self.loo_residuals_, self.leverage_ = np.full((rows, loo.shape[1]), np.nan), np.full(rows, np.nan)
        self.loo_residuals_[keep], self.leverage_[keep] = loo, leverage
        self.dof_ = float(leverage.sum())
        if flat:
            self.loo_residuals_ = self.loo_residuals_[:, 0]

    def _combine(self, weight, n):
        """One λ and a weight for each row: a noise variance λᵢ for a row is the weight λ/λᵢ at a shared λ."""
        shared, relative = shared_noise(self.lam, n, "lam")
        weight = np.ones(n) if weight is None else weight
        return shared, weight if relative is None else weight * relative

    def _trend(self, n):
        """H: a column of ones with an intercept, no column without."""
        return np.ones((n, 1 if self.intercept else 0))

    def _report(self, plan, info, rows, used, points):
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
            reasons=[] if plan is None else list(plan.reasons),
            memory_predicted=0.0 if plan is None else plan.memory_bytes,
            seconds_predicted=0.0 if plan is None else plan.seconds,
            **info,
        )
        if self.criterion is not None:
            self.fit_report_["selection"] = self.selection_.to_dict()


def _extreme(y):
    """A power of two near the largest |y| where its square would overflow or vanish, else 1."""
    size = float(power_of_two(y).max())
    return size if not 1e-100 < size < 1e100 else 1.0


def _in_unit(criterion, unit):
    """The criterion for y/unit, which chooses the same λ; refused where there is none."""
    if unit == 1.0 or criterion.scale_free:
        return criterion
    if isinstance(criterion, Discrepancy):
        return criterion if criterion.noise is None else with_rows(criterion, noise=criterion.noise / unit)
    raise ValueError(
        f"y is of the size {unit:.1g}, whose square is beyond a float, and {criterion.name} depends on the unit of y: "
        f"divide y by {unit:.1g}, or use a criterion that does not, such as LOO() or GCV()."
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
