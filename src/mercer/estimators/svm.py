"""SVR: the ε-insensitive loss, whose α is sparse."""

from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from mercer._policies import OptionSet
from mercer.approximate.base import too_few
from mercer.approximate.kernels import check_kernel
from mercer.dual.working_set import hold
from mercer.estimators._parameters import COUNT, NOT_NEGATIVE, POSITIVE, PreliminaryModel, constraints
from mercer.estimators.svm_fit import EpsilonDual, FittedSVR
from mercer.estimators.validation import check_weight
from mercer.gram import Rows
from mercer.losses import EpsilonInsensitive
from mercer.selection.judging import RowsLeftOut
from mercer.selection.targets import warn_of_unlike_targets
from mercer.solvers.plan_approximate import plan_dual


class SVR(PreliminaryModel, FittedSVR):
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

    criteria = ("loo", "kfold")
    learns_lengths = False
    leaves_out = "rough"  # good enough for intervals; a single row can be far from a refit

    def __init__(
        self, kernel=None, C=None, epsilon=None, *, lam=None, nu=None, criterion=None, optimize="all", trend="constant",
        tol=1e-3, max_iter=None, time_budget=None, memory=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        C=[POSITIVE, None],
        epsilon=[NOT_NEGATIVE, None],
        lam=[POSITIVE, None],
        nu=[Interval(Real, 0, 1, closed="right"), None],
        max_iter=[COUNT, None],
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
        kernels, X, y, flat = self._check_rows(X, y)
        weight = check_weight(sample_weight, len(y))
        rows = Rows(X, y, weight, None, "targets")
        kernel, C, epsilon = self._hyperparameters(kernels[0], rows, X, y, weight)
        self.plan_ = self.plan(rows.given, rows.d)
        K = rows.kernel_matrix(kernel)
        options, limits = OptionSet(self.options), (self.tol, self.max_iter, self.memory)
        K = hold(K, self.tol, self.memory, options) if self.nu is not None or rows.t > 1 else K
        dual = EpsilonDual(K, rows.weights(), self._intercept, self.nu, *limits, options)
        found = []
        for j, t in enumerate(rows.y.T):  # each has its share of the time
            found.append(dual.fit(t, C, epsilon, clock=self._clock.part(1.0 / (rows.t - j))))
        self.row_target_ = y[:, 0] if flat else y
        self._publish(kernel, rows, C, found, flat)

    def _hyperparameters(self, kernel, rows, X, y, weight):
        """(kernel, C, ε): as they are given, as the criterion chooses them, or by the noise of ridge regression."""
        C, epsilon = self._given()
        if not np.isfinite(C) or not np.isfinite(epsilon):
            raise ValueError(f"C = {C} and epsilon = {epsilon} must be finite; use a smaller C or a larger lam.")
        if self.criterion is not None or self._automatic:
            epsilon = self._choose_epsilon(X, y, weight) if self.epsilon is None else epsilon
            kernel, C = self._select(X, y, weight, epsilon)
            check_kernel(kernel, rows.X)
        elif self.C is None and self.lam is None and not too_few(rows):  # nothing was asked for
            warn_of_unlike_targets(y, weight, "the ε-insensitive loss")
            kernel, lam, sigma, found = self._ridge_noise(X, y, weight, self.kernel)
            C, epsilon = 3.0 * sigma / lam, found if self.epsilon is None else epsilon
        else:
            kernel = self._resolve_kernel(kernel, rows)
        return kernel, C, epsilon

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

    def _choose_epsilon(self, X, y, weight):
        """The ε that is not given where a criterion chooses C: in the units of y, whatever the kernel will be."""
        if self.nu is not None:
            return 0.1  # no ε of a search: ν is refused there
        return self._ridge_noise(X, y, weight, None if self._automatic else self.kernel)[3]

    def _ridge_noise(self, X, y, weight, kernel):
        """(kernel, λ, σ, ε) of ridge regression: its α = r/λ for r of three deviations is a box C."""
        kernel, lam, sigma = self._fit_ridge(X, y, weight, kernel)
        self.fit_report_["noise"] = sigma
        n = len(y) if weight is None else np.count_nonzero(weight)
        return kernel, lam, sigma, EpsilonInsensitive().for_noise(sigma, n).epsilon

    def _select(self, X, y, weight, epsilon):
        """(kernel, C) as the criterion chooses them for the ε-insensitive loss."""
        if self.nu is not None:
            what = 'kernel="auto"' if self._automatic else "criterion"
            raise ValueError(f"{what} chooses C for a given epsilon; with nu, give a kernel and use GridSearchCV.")
        self._as_criterion()  # what cannot be is refused in this model's name
        from mercer.estimators.machine import KernelMachine  # a fit without a criterion does not pay for it

        names = ("kernel", "criterion", "optimize", "trend", "memory", "random_state", "options")
        options = {name: getattr(self, name) for name in names} | {"time_budget": self._clock.part(0.6).budget}
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
        chooses = self.criterion is not None or self._automatic
        return plan_dual(
            self._sizes(n, time_budget=None), tol=self.tol, double=chooses, folds=chooses, hard=self._given()[0]
        )
