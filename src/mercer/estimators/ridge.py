"""KernelRidge: the squared loss, in closed form."""

from functools import partial
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._threads import few_threads
from mercer.estimators import _base as base
from mercer.estimators import _large as large
from mercer.estimators._auto import searchable, searched
from mercer.estimators._intervals import LinearEstimator
from mercer.estimators._large_full import solved
from mercer.estimators.validation import check_weight, seed_of, shared_noise
from mercer.gram import Rows, take
from mercer.gram.rows import constant, safe_unit
from mercer.primal import kept
from mercer.selection import LOO
from mercer.selection.result import ProgressSupport, reporter, with_progress
from mercer.solvers import choose
from mercer.solvers.fitted import constant_model, examine_fit, left_out
from mercer.sources import Arrays, is_source


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
    landmarks_ : KeptLandmarks
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
        approximation="auto", memory=None, time_budget=None, random_state=0
    ): ...  # fmt: skip

    _parameter_constraints = base.constraints(
        __init__, lam=[Interval(Real, 0, None, closed="left"), "array-like", None]
    )

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

    def chooses_by(self):
        return base.unless_given(self, "evidence" if base.automatic(self.kernel) else LOO(together=True))

    def _fit(self, X, y, sample_weight):
        if not isinstance(X, np.ndarray) and is_source(X):
            return self._fit_source(X, y, sample_weight)
        kernels, X, y, flat = self._prepare(X, y, auto=True)
        rule = base.as_rule(self, y)
        lam, weight = self._combine(check_weight(sample_weight, len(y)), len(y))
        rows = Rows(X, y, weight, self._trend(X, weight), self.merge, safe_unit(y))
        kernels = base.settled_kernels(self, kernels, rows, base.default_kernel)
        solver, self.plan_ = self._choose(rows.n, rows.d, rows.t, len(rows.index))
        if self.plan_.landmarks:
            source = Arrays(X, y / rows.unit, weight)
            kernels, found = large.settled_on(self, kernels, source), None
            if base.automatic(self.kernel) and searchable(rows):  # on some of the rows; the fit goes on from there
                found = searched(self, rows, rule, clock=self._search_clock())
                kernels, lam, found = [found.kernel_], found.lam_, found.result()
            self._fit_landmarks(source, kernels, lam, flat, rows)
            return large.keep_leaderboard(self, found)
        kernel = kernels[0]
        if rule is not None and not base.too_few(self, rows):
            kernel, lam = self._select(kernels, rows, lam, rule, solver)
        self._solve(kernel, lam, rows, solver, flat)

    def _choose(self, n, d, targets, rows, binding=True):
        """(solver, plan) for n points of ``rows`` rows."""
        rule = base.as_rule(self)
        search = None if rule is None else n if rule.merges else rows
        options = {"memory": self.memory, "targets": targets, "inverse": rule is not None, "search": search}
        options |= {"time_budget": self.time_budget, "lam_alone": self.optimize == "lam"}
        options["arrays"] = 2 if rule is None else max(2, rule.arrays)  # two of the rows left out, after any search
        exact = partial(choose, self.solver, n, d, **options)
        able = self.solver == "auto" and (rule is None or rule.on_landmarks)
        if base.approximates(self, rows) and (able or not isinstance(self.approximation, str)):
            found = large.landmark_plan(self, lambda: exact(binding=False)[1], rows, d, targets, solves=True)
            if found is not None:
                return None, found
        return exact(binding=binding)

    def _fit_source(self, X, y, sample_weight):
        """Fit what is read, on landmarks."""
        source, flat = large.read(self, X, y, sample_weight)
        kernels = large.read_kernels(self, source)
        if np.ndim(self.lam):
            raise ValueError("lam must be one number for data that are read; a noise for each row is a weight 1/noise.")
        self.plan_ = large.source_plan(self, source)
        self._fit_landmarks(source, kernels, 1.0 if self.lam is None else float(self.lam), flat)

    def _fit_landmarks(self, source, kernels, lam, flat, rows=None):
        """Fit on landmarks, and set everything that is learnt; ``rows`` are those of the source as points."""
        unit = 1.0 if rows is None else rows.unit
        criterion = base.as_rule(self)
        task = large.task_of(self, source, self.plan_, base.named_trend(self) and constant, reporter(self))
        kernel, found, rule = kernels[0], None, large.rule_of(criterion)
        if rule is not None:
            options = {"optimize": self.optimize, "merge": self.merge, "seed": seed_of(self.random_state)}
            kernel, found = large.choose_kernel(task, kernels, lam, criterion, **options)
        grown, found = large.fitted(task, kernel, lam, rule, found, criterion)
        points, (alpha, b), norm = grown.fit.chosen.points, kept.plain(grown.fit), kept.norm(grown.fit) * unit
        whole, self.lam_ = None, grown.fit.lam
        if task.how.solve:
            if task.how.held:  # rows of weight 0 to the fit
                seen = task.source.take(np.arange(source.n))
                rows = Rows(seen.X, seen.y, seen.weight, rows.trend, self.merge)
            whole, self.lam_ = solved(grown, kernel, rows, self._clock, rule is not None)
        if whole is not None:
            points, alpha, b, norm = rows.X, rows.scaled(whole.alpha), whole.b, np.sqrt(whole.square) * unit
            self.point_index_ = rows.point_index()
        self._set_model(kernel, points, alpha * unit, b[0] * unit if b.size else b, flat)
        self.rkhs_norm_ = float(norm[0]) if flat else norm
        self.regularization_ = base.conventions(self.lam_, grown.fit.sums.weight)
        if found is not None:
            found.lam, self.selection_ = self.lam_, found
        self.landmarks_ = kept.KeptLandmarks.of(grown, source.n, unit)
        if whole is not None and task.how.held:
            self.landmarks_.tell(points, alpha, b)
        self.fit_report_.update(large.said(self, grown, source))

    @available_if(large.has_landmarks)
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
        if "landmarks_" not in self.__dict__:
            return self.fit(X, y, sample_weight)
        return large.changed(self, X, y, sample_weight, 1.0)

    @available_if(large.has_landmarks)
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
        check_is_fitted(self)
        return large.changed(self, X, y, sample_weight, -1.0)

    def _select(self, kernels, rows, lam, rule, solver):
        """(kernel, λ) as the criterion chooses them, in what the last fit leaves of the time."""
        if base.automatic(self.kernel) and searchable(rows):
            unit_rule, clock = rule.restrict(rows.used).in_unit(rows.unit), self._search_clock()
            found = searched(self, rows, unit_rule, solver, clock=clock)
            self.selection_ = found.result().warn()
            return self.selection_.kernel, self.selection_.lam
        for kernel in [] if self.kernel is None else kernels:
            kernel(take(rows.X, [0]))  # what it cannot read is refused in words, not by a trial
        several = kernels if isinstance(self.kernel, list | tuple) else kernels[0]
        unseen = self.kernel is None and rule.smooth and self.optimize != "lam"
        options = {"callback": reporter(self), "prior": base.default_prior(kernels[0]) if unseen else None}
        self.selection_ = base.chosen(self, several, rows, rule, solver, lam, **options)
        return self.selection_.kernel, self.selection_.lam

    def _solve(self, kernel, lam, rows, solver, flat):
        """Fit at a kernel and λ, and set everything that is learnt."""
        if np.isinf(lam):
            beta, info = np.zeros_like(rows.y), {"solver": "none: the constant model"}
            b, self._left = constant_model(rows)
            norm = np.zeros(rows.t)
        else:
            K = rows.gram(kernel)
            with few_threads(rows.n):
                Kinv = solver.until(self._clock).resolvent(K, rows.scaled(rows.H))(lam)
                beta, b = Kinv.regress(rows.scaled(rows.y))
                norm, accuracy = examine_fit(K, Kinv, beta, rows.scaled(rows.y), rows.scaled(rows.H), b)
                self._left = None if self.selection_ is None else left_out(Kinv, rows, beta)
            info = Kinv.info | {"accuracy": accuracy and accuracy._asdict()}
        unit, self._rows = rows.unit, rows
        plain = self._set_trend(rows.trend, b * unit)
        self._set_model(kernel, rows.X, rows.scaled(beta) * unit, plain, flat)
        self.lam_ = lam
        self.rkhs_norm_ = float(norm[0] * unit) if flat else norm * unit
        self.point_index_ = rows.point_index()
        self.regularization_ = base.conventions(lam, rows.total)
        said = {"kernel": repr(kernel), "lam": lam, **rows.counts(), "gram": "TiledGram"}
        said |= {"reasons": list(self.plan_.reasons), "memory_predicted": self.plan_.memory_bytes, **info}
        self.fit_report_.update(said)

    def _combine(self, weight, n):
        """One λ and a weight for each row: a noise variance λᵢ for a row is the weight λ/λᵢ at a shared λ."""
        shared, relative = shared_noise(1.0 if self.lam is None else self.lam, n, "lam")
        if relative is None:
            return shared, weight
        return shared, relative if weight is None else weight * relative
