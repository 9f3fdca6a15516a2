"""What the parameters mean that several estimators have: ``kernel``, ``trend``, ``criterion`` and their limits."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._clock import Clock
from mercer._policies import Options, OptionSet
from mercer.approximate.base import Approximation, is_splitter
from mercer.approximate.kernels import check_kernel, default_kernel
from mercer.approximate.options import TimeOptions
from mercer.estimators.validation import seed_of
from mercer.gram import take
from mercer.kernels import Kernel, Matern32, as_kernel
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve
from mercer.selection.base import Rule
from mercer.selection.judging import quietly
from mercer.selection.kernels_search import stand_in
from mercer.selection.search import Record, SearchOptions, search_rows
from mercer.selection.targets import check_units
from mercer.solvers import Sizes, Solver
from mercer.solvers.plan_class import PlanOptions

POSITIVE, COUNT = Interval(Real, 0, None, closed="neither"), Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
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


class KernelParameters:
    """What ``kernel``, ``trend`` and ``criterion`` mean, wherever they are parameters."""

    kernel: Any
    trend: Any
    optimize: str
    random_state: Any
    options: list | tuple
    memory: float | None
    time_budget: Any
    criterion: Any
    criterion_used: Any
    criteria: tuple
    _clock: Clock
    _check_X_y: Callable
    trends: tuple = ("constant",)  # words of ``trend``; "a basis" stands for one
    own_criteria = True  # whether a criterion that the caller has written will do
    criterion_words: dict = {
        "loo": LOO, "gcv": GCV, "evidence": Evidence, "kfold": KFold, "lcurve": LCurve, "discrepancy": Discrepancy,
    }  # fmt: skip

    @property
    def _automatic(self):
        """Whether the kernel is to be searched for."""
        kernel = vars(self).get("kernel")
        return isinstance(kernel, str) and kernel == "auto"

    @property
    def _pairwise(self):
        """Whether X is a matrix of values of the kernel."""
        return isinstance(self.kernel, Kernel) and self.kernel.pairwise

    def _given_kernels(self, X=()):
        """The kernel, or those of a list among which the criterion chooses, copied; a `Matern32` where none is given.

        Where the kernel is searched for, it is one that reads X.
        """
        kernel = self.kernel
        several = isinstance(kernel, list | tuple)
        if several and (self.criterion_used is None or not len(kernel)):
            raise ValueError(f"a list of {len(kernel)} kernels needs at least one, and a criterion to choose by.")
        if self._automatic:
            return [stand_in(X)]
        given = [Matern32() if one is None else one for one in (kernel if several else [kernel])]
        return [clone(as_kernel(one), safe=False) for one in given]

    def _resolve_kernel(self, kernel, rows):
        """The kernel, or the default of the rows where none was given; checked on them."""
        if (self.kernel is None or self._automatic) and rows.d is not None:
            kernel = default_kernel(rows.X, rows.weight)
        check_kernel(kernel, rows.X)
        return kernel

    def _check_rows(self, X, y):
        """Return (kernels, X, y, flat): the kernels resolved, X as they read it, y of shape (n, t)."""
        kernels = self._given_kernels(X)
        X, y = self._check_X_y(X, y, kernels[0])
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y.reshape(len(y), -1), y.ndim == 1

    def _given_trend(self):
        """``trend`` as None, a word or a basis, booleans read as a constant or none; what cannot be is refused."""
        trend = self.trend
        if isinstance(trend, bool | np.bool_):
            return "constant" if trend else None
        word = isinstance(trend, str) and trend in self.trends
        if trend is None or word or (isinstance(trend, Kernel) and trend.explicit and "a basis" in self.trends):
            return trend
        words = ", ".join(one if " " in one else repr(one) for one in self.trends)
        raise ValueError(f"Invalid trend={trend!r} for {type(self).__name__}; expected one of {words}, or None.")

    def _as_criterion(self, y=None):
        """The criterion of the fit as an object, or None; what ``criteria`` do not have is refused with the list.

        A splitter of scikit-learn looks at y; without y a criterion stands for it, in a plan.
        """
        criterion, words = self.criterion_used, self.criteria
        if criterion is None:  # a kernel that is searched for has to be chosen by something
            return Evidence() if self._automatic else None
        if isinstance(criterion, str) and criterion in words:
            return self.criterion_words[criterion]()
        if isinstance(criterion, Rule) and (criterion.word in words or (self.own_criteria and criterion.word is None)):
            return criterion
        if "kfold" in words and isinstance(criterion, Integral) and not isinstance(criterion, bool) and criterion >= 2:
            return KFold(int(criterion), random_state=seed_of(self.random_state))
        if "kfold" in words and is_splitter(criterion):
            return KFold() if y is None else _as_groups(criterion, y)
        more = ", a number of folds from 2 on, a splitter of scikit-learn" if "kfold" in words else ""
        raise ValueError(
            f"Invalid criterion={criterion!r} for {type(self).__name__}; expected one of "
            f"{', '.join(map(repr, words))}, an object of mercer.selection for one of these{more}, or None."
        )

    def _sizes(self, n, d=None, **limits):
        """The `Sizes` of a fit of so many points and columns, with the limits of this estimator where no other is."""
        own = {"memory": self.memory, "time_budget": self.time_budget, "options": OptionSet(self.options)}
        return Sizes(n, d, **{**own, **limits})

    def _search_clock(self, seconds=None):
        """The clock of a search: what the last fit leaves of the time; so many seconds where that is not limited."""
        if self._clock.limited:
            return self._clock.part(keep=OptionSet(self.options)[PlanOptions].caution * self.plan_.last)
        return self._clock if seconds is None else Clock(seconds)

    def _search(self, space, rows, criterion, solver):
        """The `SearchResult` of a criterion on rows, with a warning where it is unsure."""
        check_units(criterion, rows)
        clock = self._search_clock(OptionSet(self.options)[TimeOptions].unasked if self.criterion is None else None)
        options = {"solver": solver, "record": Record(clock), "seed": seed_of(self.random_state)}
        options["options"] = OptionSet(self.options)[SearchOptions]
        found = search_rows(space, rows, criterion.restrict(rows.used).in_unit(rows.unit), **options)
        return found if self.criterion is None else found.warn()


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


@dataclass(frozen=True)
class PreliminaryOptions(Options):
    """How a kernel is proposed to a loss that cannot compare kernels."""

    share: float = 0.5  # of the time; the rest is for the λ of the loss itself
    most_rows: int = 2000  # by which the kernel is chosen
    fewest_rows: int = 250  # the same where there is no time for more


class PreliminaryModel(KernelParameters):
    """An estimator that asks another one first; the losses of both have no gradient in the length scales."""

    memory: float | None
    options: list | tuple

    def _propose(self, X, y, weight, labels=False, **parameters):
        """The first model, of labels or of numbers, fitted to some of the rows.

        Without ``parameters`` it searches for a kernel by the evidence.
        """
        if labels:
            from mercer.approximate.classes import stratified_order
            from mercer.estimators.gpc import GaussianProcessClassifier as kind  # each is loaded when it is asked
        else:
            from mercer.estimators.ridge import KernelRidge as kind

        options, seed = OptionSet(self.options)[PreliminaryOptions], seed_of(self.random_state)
        limited = self._clock.limited
        seconds = self._clock.part(options.share).budget if limited else options.share * TimeOptions().unasked
        parameters = {"options": self.options} | (parameters or {"kernel": "auto", "criterion": "evidence"})
        parameters |= {"memory": self.memory, "time_budget": seconds, "random_state": self.random_state}
        model = kind(**parameters)
        used, most = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0), options.most_rows
        while most > options.fewest_rows and 5 * model.plan(most).last > seconds:  # time for some five fits
            most //= 2
        if len(used) > most:
            order = stratified_order(y[used], seed) if labels else np.random.default_rng(seed).permutation(len(used))
            used = np.sort(used[order[:most]])
        return quietly(model.fit, take(X, used), y[used], None if weight is None else weight[used])

    def _fit_ridge(self, X, y, weight, kernel=None):
        """(kernel, λ, σ) of ridge regression: the lengths of a kernel that is not given, and the size of the noise."""
        optimize = "all" if kernel is None else "lam"
        model = self._propose(X, y, weight, kernel=kernel, criterion=LOO(together=True), optimize=optimize)
        sigma = 1.4826 * float(np.nanmedian(np.abs(model._fitted.left_out().residuals)))  # of normal errors
        return model.kernel_, float(np.clip(model.lam_, 1e-6, 1e6)), sigma or float(np.std(y)) or 1.0
