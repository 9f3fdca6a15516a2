"""What our own estimators share: what their parameters mean, the checked data, the points, and prediction by tiles.

``kernel``, ``criterion`` and ``trend`` mean the same for all. y is (n, t) inside; only here is it ravelled.
"""

import inspect
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._policies import Options, OptionSet
from mercer._state import check, check_vectors
from mercer.approximate.base import Approximation, choose, is_splitter
from mercer.approximate.fitted import Fitted
from mercer.approximate.kernels import check_kernel, default_kernel
from mercer.estimators._protocol import KernelEstimator
from mercer.estimators.validation import check_X_y, over_partitions, seed_of
from mercer.gram import apply, take
from mercer.gram.trend import Trend, make_trend
from mercer.kernels import Kernel, Matern32, as_kernel
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve
from mercer.selection.base import Rule
from mercer.selection.kernels_search import stand_in
from mercer.selection.result import reporter
from mercer.selection.search import Record, SearchSpace, search_rows
from mercer.selection.targets import check_units
from mercer.solvers import Solver
from mercer.sources import as_source

WORDS = {"loo": LOO, "gcv": GCV, "evidence": Evidence, "kfold": KFold, "lcurve": LCurve, "discrepancy": Discrepancy}
POSITIVE, COUNT = Interval(Real, 0, None, closed="neither"), Interval(Integral, 1, None, closed="left")
TRENDS = ("constant", "linear", "a basis")  # what ``trend`` may be, where all of these can
CONSTRAINTS: dict = {  # of parameters that mean the same in every estimator
    "optimize": [StrOptions({"all", "lam", "kernel"})],
    "solver": [StrOptions({"auto", "cholesky", "mixed", "spectral", "cg"}), Solver],
    "prior": [StrOptions({"auto"}), dict, callable, None],
    "approximation": [StrOptions({"auto"}), Approximation, None],
    "merge": ["boolean"],
    "starts": [COUNT],
    "max_iter": [COUNT],
    "tol": [POSITIVE],
    "memory": [POSITIVE, None],
    "time_budget": [POSITIVE, None],
    "random_state": ["random_state"],
    "options": [list, tuple, Options],
}


def constraints(init, **own):
    """{parameter of an ``__init__``: what it may be, as scikit-learn reads it}: its own, or what it is everywhere."""
    names = [name for name in inspect.signature(init).parameters if name != "self"]
    return {name: own.get(name, CONSTRAINTS.get(name, "no_validation")) for name in names}


def given_kernels(estimator, auto=False, X=()):
    """The kernel, or those of a list among which the criterion chooses, copied; a `Matern32` where none is given.

    With ``auto`` the word "auto" is a kernel that reads X; who does not search for kernels refuses it.
    """
    kernel = estimator.kernel
    several = isinstance(kernel, list | tuple)
    if several and (estimator.chooses_by() is None or not len(kernel)):
        raise ValueError(f"a list of {len(kernel)} kernels needs at least one, and a criterion to choose by.")
    if auto and automatic(kernel):
        return [stand_in(X)]
    given = kernel if several else [kernel]
    return [clone(as_kernel(Matern32() if one is None else one), safe=False) for one in given]


def resolved_kernel(estimator, kernel, rows):
    """The kernel, or the default of the rows where none was given; checked on them."""
    if (estimator.kernel is None or automatic(estimator.kernel)) and rows.d is not None:
        kernel = default_kernel(rows.X, rows.weight)
    check_kernel(kernel, rows.X)
    return kernel


def pairwise_tags(estimator, tags):
    """scikit-learn's tags, with what the kernel says: whether X is a matrix of its values."""
    tags.input_tags.pairwise = isinstance(estimator.kernel, Kernel) and estimator.kernel.pairwise
    tags.input_tags.sparse = False
    return tags


def named_trend(estimator, words=("constant",)):
    """``trend`` as None, a word or a basis, booleans read as a constant or none; what cannot be is refused."""
    trend = estimator.trend
    if isinstance(trend, bool | np.bool_):
        return "constant" if trend else None
    if (
        trend is None
        or (isinstance(trend, str) and trend in words)
        or (isinstance(trend, Kernel) and trend.explicit and "a basis" in words)
    ):
        return trend
    raise ValueError(
        f"trend={trend!r} is none that {type(estimator).__name__} has; it takes "
        f"{', '.join(one if ' ' in one else repr(one) for one in words)} or None."
    )


def automatic(kernel):
    """Whether the kernel is to be searched for."""
    return isinstance(kernel, str) and kernel == "auto"


def unless_given(estimator, word):
    """``criterion``; the word where neither it nor λ is given, or the kernel is searched for: that has to be chosen."""
    default = estimator.criterion is None and (estimator.lam is None or automatic(estimator.kernel))
    return word if default else estimator.criterion


def common(estimator):
    """What every `Problem` is told of an estimator."""
    names = estimator.__dict__.get("feature_names_in_")
    return {
        "approximation": estimator.approximation, "memory": estimator.memory, "time_budget": estimator.time_budget,
        "optimize": estimator.optimize, "asked": estimator.criterion is not None, "clock": estimator._clock,
        "automatic": automatic(estimator.kernel), "several": isinstance(estimator.kernel, list | tuple),
        "seed": seed_of(estimator.random_state), "names": None if names is None else list(names),
        "report": reporter(estimator), "options": OptionSet(estimator.options),
    }  # fmt: skip


def read(estimator, X, y, sample_weight):
    """`Source` of data that are read, and whether y is one column; the columns are noted on the estimator."""
    source = as_source(X, y, sample_weight)
    for name in ("n_features_in_", "feature_names_in_"):
        estimator.__dict__.pop(name, None)
    if source.d is not None:
        estimator.n_features_in_ = source.d
    if source.columns:
        estimator.feature_names_in_ = np.array(source.columns, dtype=object)
    return source, source.t == 1 and not isinstance(y, list | tuple) and np.ndim(y) < 2


def as_rule(estimator, y=None, *, own=True, words=None):
    """The rule that an estimator chooses by, or None; what its ``criteria`` do not have is refused with the list.

    A splitter may look at y; without y a rule stands for it, in a plan. ``own`` is whether a rule written by the caller
    will do, ``words`` {word: rule} where a word means another one than usual.
    """
    criterion, can = estimator.chooses_by(), estimator.criteria
    folds = "kfold" in can
    if criterion is None:  # a kernel that is to be searched for has to be chosen by something
        return Evidence() if automatic(estimator.get_params(deep=False).get("kernel")) else None
    if isinstance(criterion, str) and criterion in can:
        return ({**WORDS, **(words or {})})[criterion]()
    if isinstance(criterion, Rule) and (criterion.word in can or (own and criterion.word is None)):
        return criterion
    if folds and isinstance(criterion, Integral) and not isinstance(criterion, bool) and criterion >= 2:
        return KFold(int(criterion), random_state=seed_of(estimator.random_state))
    if folds and is_splitter(criterion):
        return KFold() if y is None else _as_groups(criterion, y)
    more = ", a number of folds from 2 on, a splitter of scikit-learn" if folds else ""
    raise ValueError(
        f"criterion={criterion!r} is nothing that {type(estimator).__name__} can choose by; it takes "
        f"{', '.join(map(repr, can))}, the rule of mercer.selection for one of these{more}, or None."
    )


def chosen(estimator, kernels, rows, rule, solver, lam, optimize=None):
    """The `SearchResult` of a rule on rows, with a warning where it is unsure."""
    check_units(rule, rows)
    space = SearchSpace(kernels, lam, optimize=optimize or estimator.optimize)
    found = search_rows(
        space,
        rows,
        rule.restrict(rows.used).in_unit(rows.unit),
        solver=solver,
        record=Record(estimator._search_clock()),
        seed=seed_of(estimator.random_state),
    )
    return found if estimator.criterion is None else found.warn()


def _as_groups(splitter, y):
    """The folds of a splitter as groups that are left out one at a time, which needs no refit."""
    group, count = np.full(len(y), -1), np.zeros(len(y), dtype=int)
    first = y if y.ndim == 1 else y[:, 0]
    for k, (train, test) in enumerate(splitter.split(np.zeros((len(y), 1)), first)):
        group[test], count[test] = k, count[test] + 1
        if len(train) + len(test) != len(y):
            count[test] = 2
    if (count != 1).any():
        raise ValueError(
            f"criterion={splitter!r}: folds without a refit leave out each row once, and learn from all others; use "
            "KFold, GroupKFold or StratifiedKFold, or sklearn.model_selection.GridSearchCV around the model."
        )
    return GroupKFold(group)


class Approximated(KernelEstimator):
    """A model that is fitted by an `Approximation`: it makes a `Problem`, and publishes what was learnt."""

    _fitted: Fitted | None = None  # what the last fit has learnt

    def _fit_problem(self, problem):
        """Choose the approximation, search, fit, and publish what was learnt."""
        self._fitted = None  # that of an earlier fit
        approximation, self.plan_ = choose(problem)
        problem = replace(problem, plan=self.plan_)
        self._publish(approximation.fit(problem, approximation.search(problem)))

    def _publish(self, fitted):
        """Set what a fit has learnt, and say it in the report."""
        self._fitted, self.plan_ = fitted, fitted.plan or self.plan_
        vars(self).update(fitted.attributes())
        if fitted.result is not None:
            self.selection_ = fitted.result
        self.fit_report_.update(fitted.report())


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """f(x) = Σⱼ k(x, xⱼ) αⱼ + b: models differ only in how α is found."""

    state_fields = {
        **KernelEstimator.state_fields,
        "kernel_": Kernel,
        "n_features_in_": "size d",
        "points_": "rows n d",
        "dual_coef_": ("float n", "float n t"),
        "intercept_": ("number", "float t"),
        "lam_": ("number", None),
        "slopes": (tuple, None),
    }
    state_extras = {"slopes": "_slopes"}
    _slopes: tuple | None = None  # (Trend, b) of one that is more than a constant

    def _restore(self, state):
        if "points_" in state:
            who = type(self).__name__
            check_vectors(state["kernel_"], state["points_"], f"{who}.points_")
            if state["kernel_"].domain == "vectors" and "n_features_in_" not in state:
                raise ValueError(f"{who} does not say how many columns it reads.")
        slopes = state.get("slopes")
        if slopes is not None and not (len(slopes) == 2 and isinstance(slopes[0], Trend)):
            raise ValueError(f"{type(self).__name__}.slopes is no trend with its coefficients.")
        if slopes is not None:
            check({"b": slopes[1]}, {"b": "float q t"}, f"{type(self).__name__}.slopes")
        super()._restore(state)

    def __sklearn_tags__(self):
        return pairwise_tags(self, super().__sklearn_tags__())

    def _prepare(self, X, y, auto=False):
        """Return (kernels, X, y, flat): the kernels resolved, X as they read it, y of shape (n, t)."""
        kernels = given_kernels(self, auto, X)
        X, y = check_X_y(self, X, y, kernels[0])
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y.reshape(len(y), -1), y.ndim == 1

    def _trend(self, X, weight):
        """The `Trend` of the rows that count, or None."""
        trend = named_trend(self, TRENDS)
        return make_trend(trend, X if weight is None else take(X, np.flatnonzero(weight > 0)))

    def _set_model(self, kernel, points, coef, intercept, flat):
        """Set what prediction needs."""
        self.kernel_ = kernel
        self.points_ = kernel.stored_inputs(points)
        self.dual_coef_ = coef[:, 0] if flat else coef
        self.intercept_ = (float(intercept[0]) if flat else intercept) if np.size(intercept) else 0.0

    @over_partitions
    def predict(self, X):
        """f(x) = Σⱼ k(x, xⱼ) αⱼ + b, by tiles in bounded memory.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        return self._shaped(self._decision(X))

    def _shaped(self, values):
        """Values without the axis of targets, if y came without one."""
        return values[..., 0] if self.dual_coef_.ndim == 1 else values

    def _decision(self, X):
        """F of every column, of shape (m, t)."""
        check_is_fitted(self)
        X, coef = self._new_rows(X), self.dual_coef_
        f = apply(self.kernel_, X, self.points_, coef[:, None] if coef.ndim == 1 else coef)
        f += self.intercept_
        if self._slopes is not None:
            trend, b = self._slopes
            f += np.sum(trend(X)[:, :, None] * b, axis=1)
        return f
