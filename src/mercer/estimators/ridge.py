"""KernelRidge: the squared loss, in closed form."""

from dataclasses import replace

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.approximate.base import as_approximation, choose
from mercer.approximate.exact import RidgeProblem
from mercer.approximate.kernels import default_kernel
from mercer.estimators._intervals import LinearEstimator
from mercer.estimators._parameters import NOT_NEGATIVE, constraints
from mercer.estimators.validation import check_weight, shared_noise
from mercer.gram import Rows, take
from mercer.gram.rows import safe_unit
from mercer.gram.trend import make_trend
from mercer.selection import LOO
from mercer.selection.result import ProgressSupport, with_progress
from mercer.sources import is_source


def _sums_change(self):
    """Whether rows can join and leave a fit; AttributeError, as for any missing method, where they cannot."""
    if not as_approximation(self.approximation).updates:
        raise AttributeError("partial_fit and forget need approximation=Landmarks(...) without solve.")
    return True


class KernelRidge(ProgressSupport, LinearEstimator):
    """α = (K + λI)⁻¹(y − b),  f(x) = Σⱼ αⱼ k(x, xⱼ) + b: minimises Σᵢ wᵢ (yᵢ − f(xᵢ))² + λ‖f‖².

    Parameters
    ----------
    kernel : Kernel, list of Kernel or "auto", default=None
        k; None is a `Matern32` whose length scales are √d times the standard deviation of each column. Of a list the
        best by the criterion is taken. "auto" searches over kernel expressions, and λ, by the evidence (or another log
        density given as ``criterion``): see `mercer.selection.search_kernels`.
    lam : float or array-like of shape (n,), default=None
        λ >= 0 of K + λI; an array is a noise variance for each row. None is chosen, with the free hyper-parameters of
        the kernel. With a criterion, where the search starts (an array then gives the noise of the rows relative to
        each other).
    criterion : {"loo", "gcv", "evidence", "kfold", "lcurve", "discrepancy"}, int, splitter or Rule, default=None
        What chooses λ and the free hyper-parameters of the kernel: a word, so many folds, the folds of a scikit-learn
        splitter, or a rule of `mercer.selection`; "lcurve" and "discrepancy" choose λ alone. None takes ``kernel`` and
        ``lam`` as they are; where ``lam`` is not given either it is "loo", for half a minute at most.
    optimize : {"all", "lam", "kernel"}, default="all"
        What is chosen: hyper-parameters and λ, or one of them alone.
    trend : {"constant", "linear"}, Features or None, default="constant"
        h(x), which is not penalised: 1; 1 and x; the features of a basis of `mercer.kernels`; nothing.
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver, default="auto"
        How K + λI is inverted; "auto" asks `mercer.plan`.
    merge : bool, default=True
        Whether equal rows of X are merged into one point with more weight. The model does not change.
    approximation : {"auto"}, Landmarks or None, default="auto"
        None is the exact fit, whatever it takes. `Landmarks` are m points that stand for all rows. "auto" is exact
        wherever that fits the memory and the time budget (ten minutes without one); else all rows are solved for after
        landmarks, ended where a tenth of the error of predictions is left, if that takes less than five minutes or the
        budget; and else there are landmarks alone. What that costs is in ``fit_report_["approximation"]``.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds the search may take; the best point found by then is used. None has no end; with kernel="auto" it is 30.
        With landmarks, the seconds of the fit.
    random_state : int, RandomState or None, default=0
        Seed of the rows and starts a search looks at first.
    options : list of Options, default=()
        Numbers that steer a search, a solver or an approximation, where the defaults will not do:
        ``[SearchOptions(...)]``; see `mercer.options`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_points,) or (n_points, t)
        α, the weight of each training point in f(x) = Σⱼ αⱼ k(x, xⱼ) + b.
    points_ : collection
        The distinct training inputs, in the order of their first appearance.
    point_index_ : ndarray of shape (n,)
        The point of each training row; -1 for rows of weight 0.
    row_weight_ : ndarray of shape (n,)
        The weight of each training row; 0 for rows that were left out.
    intercept_ : float or ndarray of shape (t,)
        b of a constant trend; 0 without one.
    trend_coef_ : ndarray of shape (q, t)
        b; of a linear trend the coefficients of 1 and x minus the mean of the rows.
    kernel_ : Kernel
        The kernel used.
    lam_ : float
        λ; inf is the constant model that `Discrepancy` asks for when all of y is noise.
    selection_ : SearchResult
        With a criterion: how the kernel and λ were chosen, and how surely. Where squares of y are beyond a float, its
        values are those of y divided by a power of two near the largest |y|.
    loo_residuals_ : ndarray of shape (n,) or (n, t)
        yᵢ − f₋ᵢ(xᵢ) for each row under the model fitted without it; nan for rows of weight 0. Where no criterion was
        used, this and the next two are computed when first asked for.
    leverage_ : ndarray of shape (n,)
        ∂f(xᵢ)/∂yᵢ, how far a row pulls the fit towards itself, from 0 to 1.
    dof_ : float
        The sum of the leverages, the degrees of freedom of the fit.
    rkhs_norm_ : float or ndarray of shape (t,)
        ‖f‖ = √(αᵀKα), the intercept aside.
    regularization_ : dict
        λ in every convention of the lectures.
    landmarks_ : LandmarkState
        With landmarks: the rows that were left out one by one; ``loo_residuals_`` and ``leverage_`` are nan for others.
    plan_ : Plan
        What `mercer.plan` says of such a fit: solver, memory, threads, seconds, reasons.
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
    >>> X, y = load_cars(return_X_y=True)
    >>> model = KernelRidge(Gaussian(10.0), criterion="loo").fit(X, y)
    >>> bool(model.selection_.value < y.var())
    True
    """

    criteria = ("loo", "gcv", "evidence", "kfold", "lcurve", "discrepancy")

    def __init__(
        self, kernel=None, lam=None, *, criterion=None, optimize="all", trend="constant", solver="auto", merge=True,
        approximation="auto", memory=None, time_budget=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(__init__, lam=[NOT_NEGATIVE, "array-like", None])

    @with_progress
    def fit(self, X, y, sample_weight=None):
        """Solve (K + λW⁻¹) α = y − b.

        Parameters
        ----------
        X : array-like of shape (n, d), a sequence of objects, or what is read
            A path or glob of Parquet or CSV files, a dataset of Arrow, a function that returns batches, or a
            `mercer.sources.Source`: these are fitted on landmarks, in bounded memory.
        y : array-like of shape (n,) or (n, t)
            Of data that are read, the name of the column, or a list of names.
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one. Of data that are read, the name of the column.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    @property
    def default_criterion(self):
        """The evidence for a kernel that is searched for, else leave-one-out for a λ that is not given."""
        return "evidence" if self._automatic else LOO(together=True) if self.lam is None else None

    def _make_problem(self, X, y, sample_weight):
        if not isinstance(X, np.ndarray) and is_source(X):
            return self._source_problem(X, y, sample_weight)
        kernels, X, y, flat = self._check_rows(X, y)
        lam, weight = self._combine(check_weight(sample_weight, len(y)), len(y))
        trend = make_trend(self._given_trend(), X if weight is None else take(X, np.flatnonzero(weight > 0)))
        rows = Rows(X, y, weight, trend, self.merge, safe_unit(y))
        problem = self._problem(rows.n, rows.d, rows.t, len(rows.index), self._as_criterion(y))
        given = {"X": X, "y": y / rows.unit, "weight": weight, "rows": rows, "flat": flat}
        return replace(problem, kernels=tuple(kernels), lam=lam, **given).with_kernels()

    def _source_problem(self, X, y, sample_weight):
        """The `Problem` of data that are read."""
        source, flat = self._open_source(X, y, sample_weight)
        if np.ndim(self.lam):
            raise ValueError("lam must be one number for data that are read; a noise for each row is a weight 1/noise.")
        kernels, lam = tuple(self._given_kernels()), 1.0 if self.lam is None else float(self.lam)
        problem = self._problem(source.n, source.d, source.t, source.n, self._as_criterion())
        return replace(problem, kernels=kernels, lam=lam, source=source, flat=flat)

    def _problem(self, n, d, targets, rows, criterion):
        """The `Problem` of so many points, columns, targets and rows."""
        options = {"criterion": criterion, "trend": self._given_trend(), "solver": self.solver, "merge": self.merge}
        options["default"] = default_kernel if self.kernel is None or self._automatic else None
        return RidgeProblem(n=n, d=d, t=targets, count=rows, **options, **self._parameters_of_problem())

    def plan(self, n, d=None, *, targets=1, rows=None):
        problem = self._problem(n, d, targets, n if rows is None else rows, self._as_criterion())
        return choose(problem, binding=False)[1]

    @available_if(_sums_change)
    def partial_fit(self, X, y, sample_weight=None):
        """Add rows to the sums: the fit on all rows so far, at the same landmarks, kernel and λ.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``; the first call is a fit, which chooses the landmarks.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge, Landmarks
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = KernelRidge(Gaussian(0.3), lam=0.1, approximation=Landmarks(60)).fit(X, np.sin(6 * X[:, 0]))
        >>> model.partial_fit(X, np.cos(6 * X[:, 0])).landmarks_.n
        120
        """
        if self._fitted is None:
            return self.fit(X, y, sample_weight)
        return self._change(self._fitted.extended, X, y, sample_weight)

    @available_if(_sums_change)
    def forget(self, X, y, sample_weight=None):
        """Remove rows that were fitted from the sums, exactly: the fit on the others.

        Parameters
        ----------
        X, y, sample_weight
            The rows, as they were given.

        Returns
        -------
        self
        """
        return self._change(self._asked().reduced, X, y, sample_weight)

    def _change(self, change, X, y, sample_weight):
        """Become the fit that ``change`` makes with some rows, all or nothing."""
        return self._become(change(*self._check_more_rows(X, y, sample_weight)))

    def _combine(self, weight, n):
        """One λ and a weight for each row: a noise variance λᵢ for a row is the weight λ/λᵢ at a shared λ."""
        shared, relative = shared_noise(1.0 if self.lam is None else self.lam, n, "lam")
        if relative is None:
            return shared, weight
        return shared, relative if weight is None else weight * relative
