"""What a fit is asked (`Problem`), the ways to answer it (`Approximation`), and what "auto" is (`choose`)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer._policies import OptionSet
from mercer._warn import warn
from mercer.approximate.kernels import check_kernel
from mercer.approximate.options import TimeOptions
from mercer.gram import Rows
from mercer.kernels import Kernel
from mercer.selection.base import Rule
from mercer.selection.result import SearchResult
from mercer.solvers.plan_approximate import why_approximate
from mercer.solvers.plan_class import Plan, PlanOptions, Sizes

NAMES = {
    "ridge": "KernelRidge", "process": "GaussianProcessRegressor", "classes": "GaussianProcessClassifier",
    "machine": "KernelMachine",
}  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(ABC):
    """What a fit is asked: made once by the estimator, and all that an approximation knows of it.

    A plan is asked with the sizes alone, before there are rows.

    Attributes
    ----------
    model : str
        The kind of model: "ridge", "process", "classes" or "machine". A class of its own for each has what only these
        need, and says how they are fitted exactly.
    n, d, t, count : int
        Points (rows, after equal ones are merged), columns (None for inputs that are not vectors), targets or
        functions, and rows.
    X, y, weight
        The rows as they were given, checked; y has shape (n, t).
    rows : Rows
        The same, merged into points, with the trend.
    source : Source
        Rows that are read in batches, instead of arrays.
    flat : bool
        Whether y is one column.
    kernels : tuple of Kernel
        The kernel, or those among which the criterion chooses.
    default : callable
        (X, weight) ↦ the kernel, where none was given: an approximation may ask for that of other rows.
    automatic, several : bool
        Whether the kernel is searched for as an expression; whether a list of kernels was given.
    lam : float
        λ or noise variance; None where none was given.
    criterion : Rule or None
        What hyper-parameters are chosen by.
    asked : bool
        Whether that was asked for, or is the default.
    optimize, trend, solver, merge, memory, time_budget
        As the estimator has them.
    approximation : Approximation, "auto" or None
    seed : int
    names : list of str or None
        Names of the columns.
    clock : Clock
        Of the whole fit.
    report : callable or None
        What is told of progress.
    plan : Plan
        What `choose` has decided.
    on_some : bool
        Whether hyper-parameters are searched on some of the rows, and the fit to all of them comes after.
    options : OptionSet
        The numbers that steer each policy: ``options[SearchOptions].steps``.
    """

    model: ClassVar[str] = ""
    n: int
    d: int | None = None
    t: int = 1
    count: int
    X: Any = None
    y: Any = None
    weight: Any = None
    rows: Rows | None = None
    source: Any = None
    flat: bool = True
    kernels: tuple = ()
    default: Callable | None = None
    automatic: bool = False
    several: bool = False
    lam: Any = None
    criterion: Rule | None = None
    asked: bool = True
    optimize: str = "all"
    trend: Any = None
    solver: Any = "auto"
    merge: bool = True
    approximation: Any = "auto"
    memory: float | None = None
    time_budget: float | None = None
    seed: int = 0
    names: list | None = None
    clock: Clock = FOREVER
    report: Callable | None = None
    plan: Plan | None = None
    on_some: bool = False
    options: OptionSet = OptionSet()

    @abstractmethod
    def plan_exactly(self, binding=True):
        """`Plan` of the exact fit."""

    @abstractmethod
    def search_exactly(self):
        """`Hyperparameters` by all rows."""

    @abstractmethod
    def fit_exactly(self, at):
        """`Fitted` to all rows."""

    @property
    def needs_exact(self):
        """What only an exact fit has, of all that is asked for; "" where that is nothing."""
        return ""

    @property
    def may_approximate(self):
        """Whether "auto" may be anything else than exact."""
        many = self.count >= self.options[PlanOptions].exact_below
        return not self.needs_exact and (many or self.time_budget is not None)

    def sizes(self, binding=True):
        """`Sizes` and limits, for the rules of a plan; ``binding`` is whether a fit follows."""
        return Sizes(self.n, self.d, self.t, self.memory, self.time_budget, self.options, binding)

    def row_sizes(self):
        """`Sizes` with every row, equal ones too: of a fit that goes over the rows as they are."""
        return replace(self.sizes(), n=self.count)

    @property
    def lengths_tried(self):
        """Whether length scales are tried on all rows, by few landmarks."""
        return self.criterion is not None

    def take(self, index):
        """Return the same problem on some of the points; the rows of the others count as rows of weight 0."""
        size = {"n": len(index), "count": len(index)}
        if self.rows is None:
            return replace(self, **size)
        rows = self.rows.among(index)
        weight = np.zeros(rows.given)
        weight[rows.used] = rows.row_weight
        return replace(self, rows=rows, weight=weight, **size)

    def as_source(self):
        """Return the rows as a `Source`."""
        if self.source is not None:
            return self.source
        from mercer.sources import Arrays  # an exact fit reads nothing

        return Arrays(self.X, self.y, self.weight)

    @property
    def unnamed(self):
        """Whether the kernel is the default one."""
        return self.default is not None and not self.automatic

    def kernels_on(self, rows):
        """The kernels, or the default of some rows where none was given; each checked on them."""
        made = self.default is not None and rows.d is not None
        found = (self.default(rows.X, rows.weight),) if made else tuple(self.kernels)
        for kernel in found:
            check_kernel(kernel, rows.X)
        return found

    def with_kernels(self):
        """Return the problem with the kernels of its rows."""
        return replace(self, kernels=self.kernels_on(self.rows))

    def too_few(self):
        """Whether λ = 1 stays because nobody has asked, and there are too few rows to choose by: that is warned of."""
        return not self.asked and not self.automatic and too_few(self.rows)

    def search_limit(self):
        """The clock of a search: half a minute where nobody has asked for it, nor limited it."""
        return self.clock if self.asked or self.clock.limited else Clock(self.options[TimeOptions].unasked)

    def search_clock(self, share=1.0, fits=1):
        """The clock of a search: ``share`` of the time that is left by so many last fits as the plan predicts."""
        if not self.clock.limited:
            return self.search_limit()
        if self.on_some:
            return self.clock.part(share * self.options[TimeOptions].subset_share)
        return self.clock.part(share, keep=self.options[PlanOptions].caution * fits * self.plan.last)


@final
class SourceProblem(Problem):
    """Data that are read in batches, whatever the model, of which a plan is asked: never an exact one."""

    def plan_exactly(self, binding=True):
        raise ValueError("data that are read are not fitted exactly: use approximation=Landmarks().")

    def search_exactly(self):
        raise ValueError("data that are read are not searched exactly: use approximation=Landmarks().")

    def fit_exactly(self, at):
        raise ValueError("data that are read are not fitted exactly: use approximation=Landmarks().")


def too_few(rows):
    """Whether there are too few rows to choose λ by; then that is warned of."""
    few = len(rows.index) < max(rows.q + 2, 3)
    if few:
        warn(f"{len(rows.index)} rows are too few to choose lam by: it is 1. Give lam.", UserWarning)
    return few


def is_splitter(criterion):
    """Whether it is one of scikit-learn's: it splits, and knows how often."""
    return hasattr(criterion, "get_n_splits") and not isinstance(criterion, type)


@dataclass
class Hyperparameters:
    """The kernel and λ that a fit is made at.

    Attributes
    ----------
    kernel : Kernel
    lam : float
    result : SearchResult or None
        How they were chosen; None where they were given.
    start : object
        What the fit goes on from, of the search before it.
    """

    kernel: Kernel
    lam: Any
    result: SearchResult | None = None
    start: Any = None

    @classmethod
    def of(cls, result):
        """Return those that a search has found."""
        return cls(result.kernel, result.lam, result)


class Approximation(ABC):
    """A way to fit: a plan, a search for hyper-parameters, and a fit at these.

    One of your own derives from this, is given as ``approximation=`` of a model, and may ask `Exact` or any other for
    what it does not do itself.
    """

    models: ClassVar[tuple] = ("ridge", "process", "classes", "machine")  # kinds of models that it fits
    reads: ClassVar[bool] = False  # whether it fits data that are read in batches
    exact: ClassVar[bool] = False
    updates = False  # whether rows can join and leave its sums

    def check(self):
        """Return self, or raise ValueError for arguments that cannot be."""
        return self

    def resolved(self):
        """Return the approximation that these arguments mean; itself, for most."""
        return self

    @abstractmethod
    def plan(self, problem, binding=True):
        """`Plan`: memory, seconds, reasons. What cannot be is refused in words; beyond the limits only if binding."""

    @abstractmethod
    def search(self, problem):
        """`Hyperparameters`: as they were given, or as the criterion chooses them."""

    @abstractmethod
    def fit(self, problem, at):
        """`Fitted` at some `Hyperparameters`."""

    @classmethod
    def offer(cls, problem, exact, why):
        """(approximation, plan) that "auto" may take; None where it is none for this problem.

        Parameters
        ----------
        problem : Problem
        exact : Plan
            Of the exact fit.
        why : str
            Why that is not made; "" where it could be.
        """
        return


def as_approximation(approximation):
    """Return the `Approximation` that was asked for; "auto" and None are exact as long as nothing else is known."""
    from mercer.approximate.exact import Exact

    return approximation.check().resolved() if isinstance(approximation, Approximation) else Exact()


def choose(problem, binding=True):
    """(approximation, plan): the one that was asked for, or what "auto" finds.

    "auto" is exact wherever that fits memory and time; else the first of these that is offered: all rows solved for
    after landmarks, spectral features, neighbours, landmarks.
    """
    how = as_approximation(problem.approximation)
    if problem.source is not None:
        how = _for_source(problem, how)
    elif isinstance(problem.approximation, str) and problem.may_approximate:
        found = _first_offer(problem)
        if found is not None:
            return found
    if problem.model and problem.model not in how.models:
        raise ValueError(f"{problem.approximation!r} is for {', '.join(NAMES[model] for model in how.models)}.")
    if problem.needs_exact and not how.exact:
        raise ValueError(f"{problem.needs_exact} needs the exact fit: approximation=None.")
    return how, how.plan(problem, binding)


def _first_offer(problem):
    """(approximation, plan) of the first that is offered; None where the exact fit is made."""
    from mercer.approximate.exact import Exact

    exact = Exact().plan(problem, binding=False)
    why = why_approximate(exact, problem.row_sizes())
    if not why and exact.solver != "cg":  # nothing is offered, and a first small fit does not load these modules
        return None
    from mercer.approximate.full import FullSolve
    from mercer.approximate.landmarks import Landmarks
    from mercer.approximate.neighbours import Neighbours
    from mercer.approximate.spectral import Fourier

    for kind in (FullSolve, Fourier, Neighbours, Landmarks):
        found = kind.offer(problem, exact, why) if problem.model in kind.models else None
        if found is not None:
            return found
    return None


def _for_source(problem, how):
    """The approximation of data that are read: landmarks, unless another was asked for that reads."""
    from mercer.approximate.landmarks import Landmarks

    if problem.approximation is None:
        raise ValueError("data that are read are fitted on landmarks: approximation=None needs them as arrays.")
    how = Landmarks() if isinstance(problem.approximation, str) else how
    if not how.reads:
        raise ValueError(f"{how!r} needs all rows as arrays; data that are read are fitted on Landmarks().")
    return how
