"""SVR: the ε-insensitive loss, whose α is sparse."""

from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mercer._policies import OptionSet
from mercer._warn import warn
from mercer.approximate.base import too_few
from mercer.approximate.fitted import conventions
from mercer.approximate.kernels import check_kernel
from mercer.dual.working_set import hold
from mercer.estimators import _base as base
from mercer.estimators.svm_fit import fit_target, solver_of, span_residuals
from mercer.estimators.validation import check_weight
from mercer.gram import Rows, take
from mercer.losses import EpsilonInsensitive
from mercer.selection.judging import RowsLeftOut
from mercer.selection.targets import warn_of_unlike_targets
from mercer.solvers import Sizes
from mercer.solvers.plan_iterations import plan_dual

CHOOSING = 0.6  # of the time, for the search of C; the rest is for the fit


class SVR(base.KernelRegressor):
    """min ½αᵀKα − yᵀα + ε‖α‖₁,  |αᵢ| <= Cwᵢ:  f = Σ αⱼ k(·, xⱼ) + b minimises Σᵢ wᵢ max(0, |yᵢ − f(xᵢ)| − ε) + λ‖f‖².

    C = 1/(2λ). Rows inside the tube |y − f| < ε have α = 0 exactly; prediction uses the others, the support vectors.
    The dual of the lectures is ``trend=None``: with the mean loss and λ′, C = 1/(2Nλ′).

    Parameters
    ----------
    kernel : Kernel, list of Kernel or "auto", default=None
        k; None is a `Matern32` whose length scales are √d times the standard deviation of each column. Of a list the
        best by the criterion is taken. "auto" is what a search over expressions finds; C is then chosen too.
    C : float, default=None
        The box, as in libsvm: large C follows the data closely. None is chosen: 3σ/λ, with λ and the noise σ that
        kernel ridge regression finds by leave-one-out, and its length scales where no kernel is given.
    epsilon : float, default=None
        ε >= 0, half the width of the tube, in units of y. None is 3σ√(ln n/n) where C is chosen, else 0.1.
    lam : float, default=None
        λ > 0, instead of C: C = 1/(2λ). Both are refused.
    nu : float, default=None
        ν in (0, 1], instead of ε: at most a share ν of the rows is outside the tube, at least a share ν on or outside
        of it. ε is then found so that Σ|α| = ν Σ Cwᵢ. Both are refused.
    criterion : {"loo", "kfold"}, int, splitter, LOO or KFold, default=None
        What chooses C, and the kernel of a list: the span rule or the loss on folds; see `KernelMachine`. Not with ν.
    optimize : {"all", "lam", "kernel"}, default="all"
        What is chosen: C and the kernel of a list, or one of them alone.
    trend : {"constant"} or None, default="constant"
        Whether an unpenalised constant b is fitted: then Σα = 0.
    tol : float, default=1e-3
        Largest KKT violation, as libsvm measures it, in units of the standard deviation of y.
    max_iter : int, default=None
        Most steps of the solver; None is no limit.
    time_budget : float, default=None
        Seconds; the fit then ends with the best α so far, its duality gap and a warning.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has. K is stored if it fits; else rows are cached.
    random_state : int, RandomState or None, default=0
        Seed of the folds.
    options : list of Options, default=()
        Numbers that steer a search, a solver or an approximation, where the defaults will not do:
        ``[SearchOptions(...)]``; see `mercer.options`.

    Attributes
    ----------
    support_ : ndarray of shape (s,)
        Rows of X that are support vectors, ascending; of rows equal in x and y the first stands for all.
    point_index_ : ndarray of shape (n,)
        The support vector of each training row; -1 for rows that have none.
    points_ : collection
        The support vectors.
    dual_coef_ : ndarray of shape (s,) or (s, t)
        α of the support vectors.
    intercept_ : float or ndarray of shape (t,)
        b, the constant that is added to Σⱼ αⱼ k(x, xⱼ).
    bounded_, free_ : ndarray of bool of shape (s,) or (s, t)
        Which support vectors have |α| = Cw (outside the tube), and which 0 < |α| < Cw (on its edge).
    epsilon_ : float or ndarray of shape (t,)
        ε used; found by the fit when ``nu`` is given.
    C_, lam_ : float
        C and λ = 1/(2C).
    regularization_ : dict
        C, λ, and the lectures' λ′ = λ/N.
    dual_objective_, primal_objective_ : float or ndarray of shape (t,)
        −½αᵀKα + yᵀα − ε‖α‖₁, and ½‖f‖² + C Σ w loss; the optimum lies between them.
    dual_gap_ : float or ndarray of shape (t,)
        Their difference.
    kkt_violation_ : float or ndarray of shape (t,)
        In units of the standard deviation of y, like ``tol``.
    row_weight_ : ndarray of shape (n,)
        The weight of each training row; 0 for rows that were left out, shared equally by equal rows.
    loo_residuals_ : ndarray of shape (n,) or (n, t)
        yᵢ − f₋ᵢ(xᵢ) by the span rule; made when first asked for.
    n_iter_ : int
        Steps of the solver.
    kernel_ : Kernel
        The kernel used.
    selection_ : SearchResult or None
        With a criterion: what was tried, and what was chosen.
    fit_report_ : FitReport
        How K was stored, rounds, Newton steps, gap, merged rows, time.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, when X is a data frame.

    See Also
    --------
    svr_path : many C and ε with one K.
    KernelRidge : the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR(Gaussian(1.0), C=10.0, epsilon=0.1).fit(X, np.sin(X[:, 0]))
    >>> len(model.support_) < 20
    True
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.11)
    True
    """

    state_extras = {**base.KernelRegressor.state_extras, "residual": "_residual", "point_weight": "_weight"}
    state_extras |= {"copies": "_copies", "point": "_point"}
    state_version = 2  # the first had the four without names
    criteria = ("loo", "kfold")
    learns_lengths = False
    leaves_out = "rough"  # good enough for intervals; a single row can be far from a refit

    def __init__(
        self, kernel=None, C=None, epsilon=None, *, lam=None, nu=None, criterion=None, optimize="all", trend="constant",
        tol=1e-3, max_iter=None, time_budget=None, memory=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = base.constraints(
        __init__,
        C=[base.POSITIVE, None],
        epsilon=[Interval(Real, 0, None, closed="left"), None],
        lam=[base.POSITIVE, None],
        nu=[Interval(Real, 0, 1, closed="right"), None],
        max_iter=[base.COUNT, None],
    )

    def fit(self, X, y, sample_weight=None):
        """Find α and b.

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,) or (n, t)
            Several targets are several fits.
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        (kernel, *_), X, y, flat = self._prepare(X, y, auto=True)
        C, epsilon = self._given()
        if not np.isfinite(C) or not np.isfinite(epsilon):
            raise ValueError(f"C = {C} and epsilon = {epsilon} must be finite; use a smaller C or a larger lam.")
        self.row_target_, weight = y[:, 0] if flat else y, check_weight(sample_weight, len(y))
        rows = Rows(X, y, weight, None, "targets")
        if self.criterion is not None or base.automatic(self.kernel):
            epsilon = self._tube(X, y, weight) if self.epsilon is None else epsilon
            kernel, C = self._select(X, y, weight, epsilon)
            check_kernel(kernel, rows.X)
        elif self._unasked() and not too_few(rows):
            kernel, C, epsilon = self._from_ridge(X, y, weight)
        else:
            kernel = base.resolved_kernel(self, kernel, rows)
        self.plan_ = self.plan(rows.given, rows.d)
        K = rows.kernel_matrix(kernel)
        if self.nu is not None or rows.t > 1:
            K = hold(K, self.tol, self.memory)
        options = {"tol": self.tol, "max_iter": self.max_iter, "memory": self.memory}
        weight, constant, found = rows.weights(), base.named_trend(self) is not None, []
        for j, t in enumerate(rows.y.T):
            clock = self._clock.part(1.0 / (rows.t - j))  # or the first would leave the others nothing
            found.append(fit_target(K, t, weight, C, epsilon, self.nu, constant, clock=clock, **options))
        self._keep(kernel, rows, C, found, flat)
        self.C_, self.lam_ = C, 1.0 / (2.0 * C)
        every = conventions(self.lam_, rows.total)
        self.regularization_ = {name: every[name] for name in ("C", "lam", "lam_over_n")}
        self._report(found, rows)
        self._warn(found)

    def _given(self):
        """(C, ε), with 1 and 0.1 for what is not given; two words for one thing are refused."""
        if self.C is not None and self.lam is not None:
            raise ValueError(f"C={self.C:g} and lam={self.lam:g} both say how closely to follow the data: "
                             f"C = 1/(2 lam) would be {0.5 / self.lam:g}. Drop one of them.")  # fmt: skip
        if self.nu is not None and self.epsilon is not None:
            raise ValueError(f"nu={self.nu:g} finds epsilon, and epsilon={self.epsilon:g} is given too. Drop nu for a "
                             "tube of this width, or epsilon for one that is found.")  # fmt: skip
        C = (1.0 if self.C is None else self.C) if self.lam is None else 1.0 / (2.0 * self.lam)
        return C, 0.1 if self.epsilon is None else self.epsilon

    def _unasked(self):
        """Whether C is to be chosen although no criterion is named."""
        return self.criterion is None and self.C is None and self.lam is None

    def _from_ridge(self, X, y, weight):
        """(kernel, C, ε) that are not given: C is the α = r/λ of ridge regression for r of three deviations."""
        warn_of_unlike_targets(y, weight, "the ε-insensitive loss")
        kernel, lam, sigma, epsilon = self._by_noise(X, y, weight)
        return kernel, 3.0 * sigma / lam, epsilon if self.epsilon is None else self.epsilon

    def _tube(self, X, y, weight):
        """The ε that is not given where a criterion chooses C: in the units of y, whatever the kernel will be."""
        if self.nu is not None:
            return 0.1  # no ε of a search: ν is refused there
        asked = clone(self).set_params(kernel=None) if base.automatic(self.kernel) else self
        return self._by_noise(X, y, weight, asked)[3]

    def _by_noise(self, X, y, weight, asked=None):
        """(kernel, λ, σ, ε) of ridge regression, with the kernel of the estimator that is asked."""
        from mercer.estimators._auto import ridge_first  # a fit with a given C does not pay for it

        kernel, lam, sigma = ridge_first(self if asked is None else asked, X, y, weight, self._clock)
        self.fit_report_["noise"] = sigma
        n = len(y) if weight is None else np.count_nonzero(weight)
        return kernel, lam, sigma, EpsilonInsensitive().for_noise(sigma, n).epsilon

    def _select(self, X, y, weight, epsilon):
        """(kernel, C) as the criterion chooses them for the ε-insensitive loss."""
        if self.nu is not None:
            what = 'kernel="auto"' if base.automatic(self.kernel) else "criterion"
            raise ValueError(f"{what} chooses C for a given epsilon; with nu, give a kernel and use GridSearchCV.")
        base.as_rule(self)  # what cannot be is refused in this model's name
        from mercer.estimators.machine import KernelMachine  # a fit without a criterion does not pay for it

        names = ("kernel", "criterion", "optimize", "trend", "memory", "random_state")
        options = {name: getattr(self, name) for name in names} | {"time_budget": self._clock.part(CHOOSING).budget}
        found = KernelMachine(loss=EpsilonInsensitive(epsilon), lam=1.0 / (2.0 * self._given()[0]), **options)
        found = found.fit(X, y if y.shape[1] > 1 else y[:, 0], weight)
        self.selection_ = found.selection_
        return found.kernel_, 1.0 / (2.0 * found.lam_)

    def for_noise(self, sigma, n, lam):
        # |α| <= C is what ridge regression would give a residual of three deviations: α = r/λ
        epsilon = EpsilonInsensitive().for_noise(sigma, n).epsilon if self.nu is None else None
        return clone(self).set_params(epsilon=epsilon, C=3.0 * sigma / lam, lam=None)

    def _learnt(self, rows):
        return {"C": self.C_, "lam": None, "epsilon": float(np.ravel(self.epsilon_)[0]) if self.nu is None else None}

    def _left_out_rows(self):
        return RowsLeftOut(self.row_target_ - self.loo_residuals_, "span rule at the kernel and C of the fit")

    def plan(self, n, d=None, *, targets=1, rows=None):
        chooses = self.criterion is not None or base.automatic(self.kernel)
        sizes = Sizes(n, memory=self.memory, options=OptionSet(self.options))
        return plan_dual(sizes, tol=self.tol, double=chooses, folds=chooses, hard=self._given()[0])

    def _keep(self, kernel, rows, C, found, flat):
        """Keep the support vectors, what is known about them, and what the span rule needs of all rows."""
        alpha, box = np.column_stack([one.alpha for one in found]), C * rows.weights()
        self._residual, self._weight = np.column_stack([one.residual for one in found]), rows.weights()
        self._copies, self._point = np.bincount(rows.index, minlength=rows.n), rows.point_index()
        self.__dict__.pop("_loo", None)  # those of an earlier fit
        chosen = np.flatnonzero(np.any(alpha != 0, axis=1))
        units = np.array([one.unit for one in found])
        size = np.abs(alpha[chosen]) / units  # the solver's own numbers: a bound is met exactly there
        bounded = size >= (box[chosen, None] / units) * (1.0 - 1e-12)
        intercept = np.array([one.b for one in found])
        self._set_model(kernel, take(rows.X, chosen), alpha[chosen], intercept, flat)
        number = np.full(rows.n + 1, -1)  # one more, for rows that are no point
        number[chosen] = np.arange(len(chosen))
        self.point_index_ = number[rows.point_index()]
        free = (alpha[chosen] != 0) & ~bounded
        self.bounded_, self.free_ = (bounded[:, 0], free[:, 0]) if flat else (bounded, free)

        def numbers(values):
            values = np.array(values, dtype=float)
            return float(values[0]) if flat else values

        self.epsilon_ = numbers([one.epsilon for one in found])
        self.dual_gap_ = numbers([one.gap for one in found])
        self.dual_objective_ = numbers([one.objective for one in found])
        self.primal_objective_ = numbers([one.primal for one in found])
        self.kkt_violation_ = numbers([one.solution.violation for one in found])
        self.n_iter_ = max(1, sum(one.solution.iterations for one in found))  # a fit without a step is one look

    def _report(self, found, rows):
        """Fill ``fit_report_``."""
        infos = [one.solution.info for one in found]
        epsilon = self.epsilon_ if np.ndim(self.epsilon_) == 0 else self.epsilon_.tolist()
        said = {"kernel": repr(self.kernel_), "C": self.C_, "lam": self.lam_, "epsilon": epsilon, **rows.counts()}
        said |= {"support_vectors": len(self.points_), "bounded": int(np.sum(self.bounded_))}
        said |= {"free": int(np.sum(self.free_)), "solver": solver_of(found[-1]), "gram": infos[-1]["gram"]}
        said |= {"status": ", ".join(sorted({one.solution.status for one in found})), "iterations": self.n_iter_}
        counted = ("rounds", "interior_steps", "newton_steps", "refinements")
        said |= {name: sum(info[name] for info in infos) for name in counted}
        said |= {"jitter": max(info["jitter"] for info in infos), "y_unit": [one.unit for one in found]}
        said |= {"kkt_violation": float(np.max(self.kkt_violation_)), "dual_gap": float(np.max(self.dual_gap_))}
        self.fit_report_.update(said)

    def _warn(self, found):
        """Say with numbers when a target has not converged."""
        for one in found:
            solution = one.solution
            if solution.status == "converged":
                continue
            otherwise = "Rounding allows no more, or the kernel matrix is not positive semi-definite"
            limit = solution.status in ("max_iter", "time_budget")
            advice = f"Raise {solution.status}" if limit else otherwise
            share = one.gap / max(abs(one.primal), np.finfo(float).tiny)
            warn(
                f"SVR stopped ({solution.status}) after {solution.iterations} steps with a KKT violation of "
                f"{solution.violation:.2g} (tol = {self.tol:g}, in standard deviations of y). The duality gap is "
                f"{one.gap:.3g}, {100 * share:.2g} % of the objective: it cannot be improved by more. The factors of "
                f"the search had {solution.info['jitter']:.1g} of K's diagonal added. {advice}, or use a smaller C, a "
                "larger epsilon or tol, or scaled columns of X.",
                ConvergenceWarning,
            )

    def decision_tube(self, X):
        """(f(x) − ε, f(x) + ε): the tube inside of which rows cost nothing.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)
        """
        check_is_fitted(self)
        f = self.predict(X)
        return np.stack([f - self.epsilon_, f + self.epsilon_], axis=1)

    @classmethod
    def migrate(cls, version, state):
        names = ("residual", "point_weight", "copies", "point")
        return dict(zip(names, state.pop("rows", ()), strict=False)) | state

    # ------------------------------------------------------------------ rows left out
    @property
    def row_weight_(self):
        """Weight of each row given to ``fit``, in equal parts among equal rows; 0 for rows that were left out."""
        check_is_fitted(self)
        return np.where(self._point >= 0, (self._weight / self._copies)[self._point], 0.0)

    @property
    def loo_residuals_(self):
        """yᵢ − f₋ᵢ(xᵢ) ≈ yᵢ − f(xᵢ) + αᵢSᵢ²: the span rule; nan for rows of weight 0."""
        check_is_fitted(self)
        if "_loo" not in self.__dict__:
            left, self.fit_report_["span_jitter"] = span_residuals(self)
            self._loo = self._shaped(np.where((self._point >= 0)[:, None], left[self._point], np.nan))
        return self._loo
