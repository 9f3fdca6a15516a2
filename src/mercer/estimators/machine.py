"""KernelMachine: the representer theorem as one estimator, for any convex loss."""

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import column_or_1d

from mercer._warn import warn
from mercer.dual.columns import LossColumns
from mercer.estimators import _base as base
from mercer.estimators import _large as large
from mercer.estimators._auto import proposed, ridge_first
from mercer.estimators._labels import check_labels, signs
from mercer.estimators._large_machine import fit_machine, read_machine
from mercer.estimators._machine_predict import FittedMachine, resolve
from mercer.estimators._machine_search import choose_column_lam, fold_rule
from mercer.estimators.validation import check_weight, check_X, check_X_y, seed_of
from mercer.exceptions import NumericalWarning
from mercer.gram import Rows, take
from mercer.losses import BY_NAME, Loss
from mercer.selection.result import ProgressSupport, reporter, with_progress
from mercer.solvers.plan import as_solver
from mercer.solvers.plan_iterations import LABELS, plan_dual, plan_smooth
from mercer.sources import Arrays, is_source

ROUNDED = 1e-6  # of the objective: what rounding may do to it without a warning


class KernelMachine(ProgressSupport, FittedMachine):
    """f(x) = Σⱼ αⱼ k(x, xⱼ) + b: minimises Σᵢ wᵢ L(yᵢ, f(xᵢ)) + λ‖f‖² for any convex loss L.

    By the representer theorem the minimum has this form whatever L is. Smooth losses are fitted by Newton's method, the
    others by their dual; both end with a duality gap. With a loss for labels this is a classifier: `Hinge` is the
    support vector classifier with C = 1/(2λ), `Logistic` kernel logistic regression.

    Parameters
    ----------
    kernel : Kernel, list of Kernel or "auto", default=None
        k; None is a `Matern32` whose length scales are √d times the standard deviation of each column. Of a list the
        best by the criterion is taken. "auto" is what a search over expressions finds by the evidence, of a Gaussian
        process of these labels or numbers; λ is then chosen for the loss.
    loss : Loss or str, default="squared"
        L, from `mercer.losses`, or its name in small letters: "absolute", "epsilon_insensitive", "expectile", "hinge",
        "huber", "logistic", "poisson", "quantile", "squared", "squared_epsilon_insensitive", "squared_hinge".
    lam : float or array-like, default=None
        λ > 0. None is chosen. With a criterion, the middle of the λ that are tried, or all of them as a list.
    criterion : {"loo", "kfold"}, int, splitter, LOO or KFold, default=None
        What chooses λ, and the kernel of a list: the approximate leave-one-out loss (one Newton step backwards for
        smooth losses, the span rule for the others; not with the softmax), or the loss on the folds; each path of λ is
        warm-started. A splitter sees all rows, also those of weight 0. None takes ``kernel`` and ``lam`` as they are;
        where ``lam`` is not given either it is "loo" (folds with the softmax), for half a minute at most.
    optimize : {"all", "lam", "kernel"}, default="all"
        What is chosen: λ and the kernel of a list, or one of them alone.
    trend : {"constant"} or None, default="constant"
        Whether an unpenalised constant b is fitted.
    non_crossing : bool, default=False
        For several quantile levels: whether the predictions of each row are put in the order of the levels
        (rearrangement, which never makes the mean quantile loss worse).
    multi_class : {"one_vs_rest", "softmax"}, default="one_vs_rest"
        Three or more classes: each against the rest, or, for the logistic loss, one softmax over all of them.
    max_iter : int, default=100
        Steps of Newton's method.
    tol : float, default=1e-6
        Smooth losses: of max|α + wL′/(2λ)| relative to the largest |α|. Others: the largest violation of the optimality
        conditions, in standard deviations of y (or units of the margin).
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver, default="auto"
        How the system of a Newton step is solved; "auto" is a factor up to 4000 rows, then conjugate gradients.
    approximation : {"auto"}, Landmarks or None, default="auto"
        None is the exact fit, whatever it takes; `Landmarks` stand for all rows; "auto" is exact wherever that fits the
        memory and the time budget. On landmarks a loss with corners is rounded off (``fit_report_["rounded_off"]``).
    time_budget : float, default=None
        Seconds the fit may take; the best solution by then is used, with a warning.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_support,) or (n_support, t)
        α of the support vectors, a column for each target, level or class.
    points_ : collection
        The support vectors: the training inputs whose α is not 0.
    support_ : ndarray of shape (n_support,)
        Rows of X that the function depends on: their dual coefficients are not 0.
    point_index_ : ndarray of shape (n,)
        The support vector that a training row is; -1 for rows that are none.
    intercept_ : float or ndarray of shape (t,)
        b, the constant that is added to Σⱼ αⱼ k(x, xⱼ).
    classes_ : ndarray
        With a loss for labels: the classes.
    kernel_, lam_, loss_
        The kernel, λ and loss used.
    objective_ : float
        Σᵢ wᵢ L(yᵢ, f(xᵢ)) + λ‖f‖², summed over the columns.
    dual_gap_ : float
        How far that is from the minimum at most: primal − dual, summed over the columns.
    kkt_violation_ : float
        What ``tol`` bounds, the largest over the columns.
    n_iter_ : int
        Iterations, the most of any column.
    selection_ : SearchResult
        With a criterion: what was tried, and what was chosen.
    row_decision_ : ndarray of shape (n, t)
        f(xᵢ) of each training row; nan for rows of weight 0.
    row_target_, row_weight_ : ndarray
        Target or label, and weight, of each training row.
    loo_decision_ : ndarray of shape (n,) or (n, t)
        f₋ᵢ(xᵢ) of each row, approximately; nan for rows of weight 0. Made when it is first asked for.
    loo_residuals_ : ndarray of shape (n,) or (n, t)
        Of numbers: yᵢ minus the prediction that ``loo_decision_`` is.
    regularization_ : dict
        λ in every convention of the lectures.
    plan_ : Plan
        What `mercer.plan` says of such a fit: way of solving, whether K is stored, memory, seconds.
    fit_report_ : FitReport
        Solver, iterations, certificates, support vectors, time.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, when X is a data frame.

    See Also
    --------
    KernelRidge : the squared loss in closed form, with more ways to choose λ and the kernel.
    SVR : the ε-insensitive loss, with what is special to it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMachine
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Quantile
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> y = np.sin(X[:, 0]) + 0.3 * np.cos(40 * X[:, 0])
    >>> model = KernelMachine(Gaussian(1.0), loss="huber", lam=0.1).fit(X, y)
    >>> bool(model.dual_gap_ < 1e-9)
    True
    >>> KernelMachine(Gaussian(1.0), loss=Quantile([0.1, 0.9]), lam=0.1).fit(X, y).predict(X[:3]).shape
    (3, 2)

    A classifier:

    >>> label = np.where(y > 0, "up", "down")
    >>> model = KernelMachine(Gaussian(1.0), loss="logistic", lam=0.1).fit(X, label)
    >>> model.predict(X[[5, 30]])
    array(['up', 'down'], dtype='<U4')
    """

    criteria = ("loo", "kfold")
    learns_lengths = False

    def __init__(
        self, kernel=None, loss="squared", lam=None, *, criterion=None, optimize="all", trend="constant",
        non_crossing=False, multi_class="one_vs_rest", max_iter=100, tol=1e-6, solver="auto", approximation="auto",
        time_budget=None, memory=None, random_state=0
    ): ...  # fmt: skip

    _parameter_constraints = base.constraints(
        __init__,
        loss=[Loss, StrOptions(set(BY_NAME))],
        lam=[base.POSITIVE, "array-like", None],
        non_crossing=["boolean"],
        multi_class=[StrOptions({"one_vs_rest", "softmax"})],
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        loss = self.loss if isinstance(self.loss, Loss) else BY_NAME.get(self.loss, Loss)
        if loss.classification:
            tags.estimator_type, tags.classifier_tags, tags.regressor_tags = "classifier", ClassifierTags(), None
        tags.target_tags.positive_only = loss.positive_only
        tags.target_tags.multi_output = not (loss.classification or loss.positive_only)
        return tags

    @with_progress
    def fit(self, X, y, sample_weight=None):
        """Minimise Σᵢ wᵢ L(yᵢ, f(xᵢ)) + λ‖f‖².

        Parameters
        ----------
        X : array-like of shape (n, d), a sequence of objects, or what is read
            Files, as for `KernelRidge`: these are fitted on landmarks, in bounded memory.
        y : array-like of shape (n,) or (n, t)
            Numbers, or labels where the loss is one for labels. Of data that are read the name of the column.
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def chooses_by(self):
        return base.unless_given(self, "kfold" if self.multi_class == "softmax" else "loo")

    def _fit(self, X, y, sample_weight):
        loss, rule = resolve(self.loss), fold_rule(self)
        if is_source(X):
            return fit_machine(self, *read_machine(self, loss, X, y, sample_weight), loss, rule)
        kernels, X, y = self._inputs(loss, X, y)
        weight = check_weight(sample_weight, len(y))
        Y, flat = y.reshape(len(y), -1), y.ndim == 1
        if loss.classification:
            if self.multi_class == "softmax" and not loss.softmax:
                raise ValueError(f"multi_class='softmax' is for the logistic loss; got loss={self.loss!r}.")
            self.classes_, Y, flat = signs(y, weight)
        rows = Rows(X, Y, weight, merge=False)
        kernels = base.settled_kernels(self, kernels, rows, base.default_kernel)
        self.plan_, model = self.plan(rows.n, rows.d, targets=rows.t), None
        if base.automatic(self.kernel):
            model = proposed(self, X, self._ridge_target(loss, y), weight, loss.classification, self._clock)
            kernels = [model.kernel_]
        elif self._lengths_unasked(loss) and not base.too_few(self, rows):
            kernel, _, sigma = ridge_first(self, X, self._ridge_target(loss, y), weight, self._clock)
            kernels, loss = [kernel], loss.for_noise(sigma, rows.n) if isinstance(self.loss, str) else loss
        elif self.plan_.landmarks:
            kernels = large.settled_on(self, kernels, Arrays(rows.X, rows.y, rows.weight))
        if self.plan_.landmarks:
            source = Arrays(rows.X, loss.check_target(rows.y), rows.weight)
            fit_machine(self, source, kernels, flat, loss, rule)
            return large.keep_leaderboard(self, model and model.selection_)
        columns = self._columns(loss, rows.y, rows.weights())
        columns.refuse_beyond_memory()
        kernel, lam, starts = kernels[0], 1.0 if self.lam is None else self.lam, None
        if rule is not None and not base.too_few(self, rows):
            kernel, lam, starts = self._select(rule, kernels, rows, columns, y if y.ndim == 1 else y[:, 0])
            large.keep_leaderboard(self, model and model.selection_)
        elif np.ndim(lam):
            raise ValueError(f"lam is a list of {np.size(lam)} values; give one, or a criterion to choose by.")
        found = columns.fit(columns.gram(kernel, rows.X), lam, starts, self._clock)
        self.loss_, self.lam_ = loss, float(lam)
        self._set_columns(kernel, rows, found, flat and len(found) == 1)
        self.row_target_, self.row_weight_ = y, rows.to_rows(rows.row_weight, 0.0)
        self.regularization_ = base.conventions(float(lam), rows.total)
        self._report(found, rows)

    def _ridge_target(self, loss, y):
        """What another model learns instead: labels as they are, counts on the scale of their logarithm."""
        return np.log1p(loss.check_target(y)) if loss.positive_only else y

    def _lengths_unasked(self, loss):
        """Whether ridge regression is to choose the length scales: nothing was named, and the target is numbers."""
        return self.kernel is None and self.lam is None and self.criterion is None and not loss.classification

    def _columns(self, loss, Y, weight):
        """The problem of each column."""
        joint = self.multi_class == "softmax" and loss.classification and Y.shape[1] > 1
        options = {name: getattr(self, name) for name in ("tol", "max_iter", "memory", "solver")}
        options |= {
            "joint": joint,
            "stored": self.plan_.gram == "dense",
            "intercept": base.named_trend(self) is not None,
        }
        return LossColumns(loss, loss.check_target(Y), weight, **options)

    def for_noise(self, sigma, n, lam):
        start = {"lam": lam * sigma} if self.criterion == "loo" else {}
        return clone(self).set_params(loss=resolve(self.loss).for_noise(sigma, n), **start)

    def plan(self, n, d=None, *, targets=1, rows=None):
        """What a fit of n points will do; ``targets`` is the number of columns: levels, targets or classes."""
        loss = resolve(self.loss)
        joint = self.multi_class == "softmax" and loss.classification and targets > 2
        rule = fold_rule(self)
        left_out = rule is not None and not base.is_splitter(rule) and rule.word == "loo"
        options = {"memory": self.memory, "folds": rule is not None and not left_out}
        if joint or all(part.smooth for part in loss.split()):
            solver = as_solver(self.solver)
            options |= {"direct": None if solver is None else not solver.iterative, "classes": targets if joint else 0}
            exact = plan_smooth(n, left_out=left_out, **options)
        else:
            hard = LABELS if loss.classification else 1.0
            exact = plan_dual(n, double=True, hard=hard, **options)
        if isinstance(self.approximation, str) and self.solver != "auto":
            return exact
        found = large.landmark_plan(self, lambda: exact, n, d, targets) if base.approximates(self, n) else None
        return found or exact

    def _inputs(self, loss, X, y):
        """(kernels, X, y): the kernels resolved, X as they read it, y one array of numbers or labels."""
        kernels = base.given_kernels(self, auto=True, X=X)
        if loss.classification:
            X = check_X(self, X, reset=True, kernel=kernels[0])
            y = check_labels(self, X, y)
        else:
            X, y = check_X_y(self, X, y, kernels[0])
            y = column_or_1d(y, warn=True) if loss.positive_only else y
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y

    def _select(self, rule, kernels, rows, columns, target, clock=None):
        """(kernel, λ, starts) as the criterion chooses them."""
        rule = rule if base.is_splitter(rule) else rule.restrict(rows.used)
        kernels = kernels[:1] if self.optimize == "lam" else kernels
        lam = 1.0 if self.lam is None else self.lam
        lam = np.atleast_1d(lam)[:1] if self.optimize == "kernel" else lam
        options = {"target": target, "seed": seed_of(self.random_state), "clock": clock or self._limit()}
        found = choose_column_lam(
            rule, kernels, rows, columns, lam, **options, report=reporter(self), unasked=self.criterion is None
        )
        self.selection_ = base.told(self, found.result)
        self._trial_warnings = found.warnings
        if found.loo is not None:
            self.loo_decision_ = rows.to_rows(found.loo if found.loo.shape[1] > 1 else found.loo[:, 0])
        return found.result.kernel, found.result.lam, found.starts

    def _set_columns(self, kernel, rows, columns, flat):
        """Keep the support vectors of all columns; one row at least."""
        alpha = np.column_stack([column.alpha for column in columns])
        b = np.array([column.b for column in columns])
        used = np.flatnonzero((alpha != 0.0).any(axis=1))
        used = used if used.size else np.array([0])
        self._set_model(kernel, rows.X if used.size == rows.n else take(rows.X, used), alpha[used], b, flat)
        self.point_index_ = np.full(rows.given, -1)
        self.point_index_[rows.used[used]] = np.arange(len(used))
        self.row_decision_ = rows.to_rows(np.column_stack([column.f for column in columns]))
        self.dual_gap_ = float(sum(column.gap for column in columns))
        self.objective_ = float(sum(column.objective for column in columns))
        self.kkt_violation_ = float(max(column.violation for column in columns))
        self.n_iter_ = max(1, *(int(column.iterations) for column in columns))

    def _report(self, columns, rows):
        """Fill ``fit_report_``, and warn where a column is not at its minimum."""
        self._tell(rows.counts(), len(columns), [column.status for column in columns], columns[0].info)
        lost = sum(column.info["rounding"] for column in columns)
        if lost > ROUNDED * abs(self.objective_):
            warn(
                f"KernelMachine: α is so large (lam = {self.lam_:.3g}) that rounding in sums of K α may change the "
                f"objective {self.objective_:.4g} by {lost:.1e}; it is in dual_gap_. Use a larger lam.",
                NumericalWarning,
            )

    def _tell(self, counts, columns, statuses, info):
        """What a report says, on landmarks or not."""
        said = {"kernel": repr(self.kernel_), "loss": repr(self.loss_), "lam": self.lam_, **counts}
        said |= {"columns": columns, "support_vectors": len(self.points_), "objective": self.objective_}
        said |= {"dual_gap": self.dual_gap_, "kkt_violation": self.kkt_violation_, **info}
        said |= {"iterations": self.n_iter_, "status": ", ".join(sorted(set(statuses)))}
        self.fit_report_.update(said)
        if self.selection_ is not None:
            self.fit_report_["selection_warnings"] = self.__dict__.pop("_trial_warnings", [])
        bad = [status for status in statuses if status != "converged"]
        if bad:
            warn(
                f"KernelMachine: {len(bad)} of {columns} columns did not converge ({bad[0]}): violation "
                f"{self.kkt_violation_:.1e} (asked: {self.tol:.1e}), duality gap {self.dual_gap_:.1e} of an objective "
                f"of {self.objective_:.4g}, {self.n_iter_} iterations. Use more iterations or time, a larger lam, or "
                "scale X.",
                ConvergenceWarning,
            )
