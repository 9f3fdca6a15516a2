"""KernelMachine: the representer theorem as one estimator, for any convex loss."""

from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import column_or_1d

from mercer.approximate.base import choose, is_splitter
from mercer.approximate.classes import as_signs, number_labels
from mercer.approximate.kernels import default_kernel
from mercer.approximate.machine import MachineProblem
from mercer.estimators._machine_predict import FittedMachine, resolve
from mercer.estimators._parameters import POSITIVE, PreliminaryModel, constraints
from mercer.estimators.validation import check_weight
from mercer.gram import Rows
from mercer.losses import BY_NAME, Loss
from mercer.selection.result import ProgressSupport, with_progress
from mercer.sources import is_source


class KernelMachine(ProgressSupport, PreliminaryModel, FittedMachine):
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
    options : list of Options, default=()
        Numbers that steer a search, a solver or an approximation, where the defaults will not do:
        ``[SearchOptions(...)]``; see `mercer.options`.

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

    criteria, own_criteria = ("loo", "kfold"), False
    learns_lengths = False
    _kernel_search = None  # `SearchResult` of a search for the kernel, while a fit is under way

    def __init__(
        self, kernel=None, loss="squared", lam=None, *, criterion=None, optimize="all", trend="constant",
        non_crossing=False, multi_class="one_vs_rest", max_iter=100, tol=1e-6, solver="auto", approximation="auto",
        time_budget=None, memory=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        loss=[Loss, StrOptions(set(BY_NAME))],
        lam=[POSITIVE, "array-like", None],
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

    @property
    def default_criterion(self):
        """Leave-one-out for a λ that is not given, or a kernel that is searched for; folds for the softmax."""
        if self.lam is not None and not self._automatic:
            return None
        return "kfold" if self.multi_class == "softmax" else "loo"

    def _make_problem(self, X, y, sample_weight):
        if not isinstance(X, np.ndarray) and is_source(X):
            return self._source_problem(X, y, sample_weight)
        loss = resolve(self.loss)
        kernels, X, y = self._check_rows_for(loss, X, y)
        weight = check_weight(sample_weight, len(y))
        Y, flat = y.reshape(len(y), -1), y.ndim == 1
        if loss.classification:
            if self.multi_class == "softmax" and not loss.softmax:
                raise ValueError(f"multi_class='softmax' is for the logistic loss; got loss={self.loss!r}.")
            self.classes_, number = number_labels(y, weight)
            Y, flat = as_signs(number, len(self.classes_)), len(self.classes_) == 2
        rows = Rows(X, Y, weight, merge=False)
        problem = replace(self._problem(loss, rows.n, rows.d, rows.t), kernels=tuple(kernels), rows=rows, flat=flat)
        problem = replace(problem.with_kernels(), given_y=y)
        if problem.automatic:
            model = self._propose(X, self._ridge_target(loss, y), weight, loss.classification)
            problem, self._kernel_search = replace(problem, kernels=(model.kernel_,)), model.selection_
        elif self._chooses_lengths(loss) and not problem.too_few():
            kernel, _, sigma = self._fit_ridge(X, self._ridge_target(loss, y), weight)
            loss = loss.for_noise(sigma, rows.n) if isinstance(self.loss, str) else loss
            problem = replace(problem, kernels=(kernel,), default=None, loss=loss)
        return replace(problem, X=rows.X, y=loss.check_target(rows.y), weight=rows.weight)

    def _publish(self, fitted):
        super()._publish(fitted)
        search, self._kernel_search = self._kernel_search, None
        if search is not None and self.selection_ is not None:
            self.selection_.candidates, self.selection_.message = search.candidates, search.message

    def _source_problem(self, X, y, sample_weight):
        """The `Problem` of data that are read; labels are found in one reading."""
        from mercer.approximate.landmarks_machine import LabelSigns  # arrays do not pay for it
        from mercer.sources.changed import Recoded, distinct

        loss = resolve(self.loss)
        source, flat = self._open_source(X, y, sample_weight)
        kernels = tuple(self._given_kernels())
        if loss.classification:
            if source.t != 1:
                raise ValueError(f"labels are one column; got {source.t}.")
            seen = distinct(source)
            self.classes_, _ = number_labels(seen.astype(int) if (seen == seen.astype(int)).all() else seen)
            signs_of = LabelSigns(seen)
            source, flat = Recoded(source, signs_of, signs_of.t), len(seen) == 2
        problem = self._problem(loss, source.n, source.d, source.t)
        return replace(problem, kernels=kernels, source=source, flat=flat)

    def _problem(self, loss, n, d, columns):
        """The `Problem` of so many rows, columns of X and columns of y."""
        default = default_kernel if self.kernel is None or self._automatic else None
        options = {"tol": self.tol, "max_iter": self.max_iter, "solver": self.solver, "trend": self._given_trend()}
        options |= {"lam": 1.0 if self.lam is None else self.lam, "default": default}
        options["criterion"] = self.criterion if is_splitter(self.criterion) else self._as_criterion()
        options["joint"] = self.multi_class == "softmax" and loss.classification and columns > 1
        return MachineProblem(loss=loss, n=n, d=d, t=columns, count=n, **options, **self._parameters_of_problem())

    def _ridge_target(self, loss, y):
        """What another model learns instead: labels as they are, counts on the scale of their logarithm."""
        return np.log1p(loss.check_target(y)) if loss.positive_only else y

    def _chooses_lengths(self, loss):
        """Whether ridge regression is to choose the length scales: nothing was named, and the target is numbers."""
        return self.kernel is None and self.lam is None and self.criterion is None and not loss.classification

    def _columns(self, loss, Y, weight):
        """The problem of each column of some rows of the fit."""
        problem = self._problem(loss, len(Y), None, Y.shape[1])
        return problem.columns(Y, weight, self.plan_.gram == "dense")

    def for_noise(self, sigma, n, lam):
        start = {"lam": lam * sigma} if self.criterion == "loo" else {}
        return clone(self).set_params(loss=resolve(self.loss).for_noise(sigma, n), **start)

    def plan(self, n, d=None, *, targets=1, rows=None):
        """What a fit of n points will do; ``targets`` is the number of columns: levels, targets or classes."""
        return choose(self._problem(resolve(self.loss), n, d, targets), binding=False)[1]

    def _check_rows_for(self, loss, X, y):
        """(kernels, X, y): the kernels resolved, X as they read it, y one array of numbers or labels."""
        kernels = self._given_kernels(X)
        if loss.classification:
            X = self._check_X(X, reset=True, kernel=kernels[0])
            y = self._check_labels(X, y)
        else:
            X, y = self._check_X_y(X, y, kernels[0])
            y = column_or_1d(y, warn=True) if loss.positive_only else y
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y
