"""Landmarks: m of the inputs that stand for all of them, K ≈ K_nm K_mm⁻¹ K_mn; what all kinds of models share of it.

The data are a source, read pass by pass; the model that comes out is an ordinary one, whose points are the landmarks.
"""

import math
import time
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from mercer._warn import warn
from mercer.approximate.base import Approximation
from mercer.approximate.kernels import check_kernel
from mercer.approximate.options import LandmarkOptions, TimeOptions
from mercer.gram import Rows
from mercer.gram.base import draw_rows
from mercer.kernels.hyper import lengths_of
from mercer.primal import LandmarkFitOptions
from mercer.primal import certificate as proof
from mercer.primal.growth import LandmarkSearch, fit_landmarks
from mercer.primal.squared import VALUES
from mercer.selection import SearchOptions
from mercer.selection.result import SearchResult
from mercer.selection.search import Record, SearchSpace, search_rows
from mercer.solvers.plan_approximate import plan_landmarks, stages
from mercer.solvers.plan_class import LandmarkSizeOptions
from mercer.sources import OutOfTime
from mercer.sources.changed import Without
from mercer.sources.passes import Checkpoint

WAYS = ("rpcholesky", "uniform")


@dataclass(frozen=True, eq=False)
class Landmarks(Approximation):
    """K ≈ AᵀA,  A = L⁻¹K_mn,  L Lᵀ = K_mm: what ``approximation=`` asks of an estimator.

    f(x) = Σⱼ αⱼ k(x, zⱼ) over m landmarks z instead of all n rows: n m² operations and m² memory, not n³ and n². The
    fit says how far it is from the exact one (``fit_report_["approximation"]``).

    Parameters
    ----------
    m : int or "auto", default="auto"
        How many. "auto" doubles them until the leave-one-out error no longer falls, or time or memory ends.
    choose : {"rpcholesky", "uniform"} or collection, default="rpcholesky"
        "rpcholesky" draws each landmark with a probability in proportion to what the ones before it leave unexplained
        of k(x, x), from a sample of the rows; their order is such that the first m′ of them are a choice of m′.
        "uniform" draws rows evenly. A collection is the landmarks themselves.
    solve : bool, default=False
        Whether a ridge regression then solves for all n rows, by conjugate gradients which the landmarks precondition,
        until the exact fit is nearer than a tenth of the leave-one-out error; n² kernel values a step. Where time ends
        before that is nearer than the fit on landmarks, that fit is what one gets. Intervals are those of landmarks.
    held : int, default=0
        Rows, drawn by the hash of their number, that the fit does not see: ``predict_interval(X, method="split")`` is
        then split conformal from them, with ``normalise=True`` in units of the deviation of the model. 5000 give a
        coverage within half a percent.
    checkpoint : str or os.PathLike, default=None
        What the names of files begin with that passes write their sums to every 20 seconds, one file for each: killed
        and started again, a fit goes on from there, and ends with the same bits. They are removed when it is done.
    random_state : int, default=0
        Seed of the sample and of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, Landmarks
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 10, 3000)[:, None]
    >>> model = KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(100)).fit(X, np.sin(X[:, 0]))
    >>> len(model.points_) < 100, model.fit_report_["approximation"]["verdict"]
    (True, 'certified')
    """

    reads: ClassVar[bool] = True
    m: Any = "auto"
    choose: Any = "rpcholesky"
    solve: bool = False
    held: int = 0
    checkpoint: Any = None
    random_state: int = 0

    def check(self):
        """Return self, or raise ValueError for what cannot be."""
        whole = isinstance(self.m, Integral) and not isinstance(self.m, bool) and self.m >= 1
        if not (whole or (isinstance(self.m, str) and self.m == "auto")):
            raise ValueError(f"m must be a whole number >= 1, or 'auto'; got {self.m!r}.")
        if not (isinstance(self.held, Integral) and self.held >= 0):
            raise ValueError(f"held must be a whole number >= 0; got {self.held!r}.")
        if isinstance(self.choose, str) and self.choose not in WAYS:
            raise ValueError(
                f"choose must be one of {', '.join(map(repr, WAYS))} or the landmarks; got {self.choose!r}."
            )
        return self

    @property
    def given(self):
        """The landmarks themselves, where they were given; else None."""
        return None if isinstance(self.choose, str) else self.choose

    @property
    def updates(self):  # type: ignore[override]
        """Whether rows can join and leave: not the solution for all rows."""
        return not self.solve

    def resolved(self):
        """See `Approximation.resolved`."""
        if not self.solve:
            return self
        from mercer.approximate.full import FullSolve  # which derives from what is here

        return FullSolve(self)

    @property
    def size(self):
        """How many there are to be: a number or "auto"."""
        return self.m if self.given is None else len(self.given)

    def plan(self, problem, binding=True, why="", **options):
        """See `Approximation.plan`; ``why`` says why the fit is not exact."""
        if problem.source is not None:
            engine = problem.source.engine
            options["elsewhere"] = None if engine is None else engine.room()
            why = "The data are read pass by pass."
        tried = problem.options[LandmarkOptions].factors if problem.lengths_tried else 0
        return plan_landmarks(problem.row_sizes(), self.size, factors=tried, why=why, **options)

    @classmethod
    def offer(cls, problem, exact, why):
        """See `Approximation.offer`."""
        return (cls(), cls().plan(problem, why=why)) if why else None

    def search(self, problem):
        """See `Approximation.search`."""
        return _of(problem).search(self, replace(problem, on_some=True))

    def fit(self, problem, at):
        """See `Approximation.fit`."""
        return _of(problem).fit(self, problem, at)


def _of(problem):
    """The module that has landmarks for a kind of model, loaded when it is first asked for."""
    return import_module(f"mercer.approximate.landmarks_{problem.model}")


def rule_of(criterion):
    """What a criterion is called on landmarks; ValueError, with the list of what can be, where it cannot be."""
    if criterion is None or criterion.on_landmarks:
        return None if criterion is None else criterion.on_landmarks
    raise ValueError(
        f"{criterion!r} needs all of K; with landmarks use LOO(), GCV() or Evidence(), or approximation=None."
    )


def prepare_search(how, problem, trend, centred=True, clock=None):
    """`LandmarkSearch` of a problem that has its plan: stages, deadline, progress and checkpoint."""
    source = problem.as_source()
    if how.held:
        if 2 * how.held > source.n:
            raise ValueError(f"Landmarks(held={how.held}): of {source.n} rows at most half can be held out.")
        source = Without(source, draw_rows(source.n, how.held, how.random_state + 9))
    sizes = stages(
        problem.plan.landmarks,
        how.given is None and isinstance(how.m, str),
        problem.options[LandmarkSizeOptions].first,
    )
    options = {}
    if problem.report is not None:
        options["progress"] = lambda done, n: problem.report({"rows": done, "of": n})
    if how.checkpoint is not None:
        every = problem.options[LandmarkFitOptions].checkpoint_every
        options["checkpoint"] = Checkpoint(how.checkpoint, every)
    clock, settings = clock or problem.clock, problem.options
    return LandmarkSearch(source, how, sizes, trend, centred, how.random_state, clock, options, settings=settings)


def kernels_on_sample(problem):
    """The kernels, checked on a sample of the rows; the default one has its length scales from it."""
    if problem.source is not None and problem.automatic:
        raise ValueError(
            'kernel="auto" searches over arrays, and these data are read; run search_kernels on a sample of the rows, '
            "and give kernel_ of what it finds."
        )
    if problem.source is None and not problem.unnamed:
        return problem.kernels
    source, found = problem.as_source(), []
    block = source.take(draw_rows(source.n, problem.options[LandmarkOptions].subset, 0))
    for kernel in problem.kernels:
        X = kernel.validate(block.X)
        made = problem.default(X, block.weight) if problem.unnamed else kernel
        check_kernel(made, X)
        found.append(made)
    return tuple(found)


def choose_kernel(task, problem, kernels):
    """(kernel, SearchResult or None): hyper-parameters on a subset, exactly; then a length factor on all rows."""
    criterion, started, several = problem.criterion, time.perf_counter(), len(kernels) > 1
    rule = rule_of(criterion)
    if problem.optimize == "lam" and not several:
        return kernels[0], None
    subset = problem.options[LandmarkOptions].subset
    block = task.source.take(draw_rows(task.source.n, subset, task.seed + 2))
    rows = Rows(block.X, block.y, block.weight, task.trend, problem.merge)
    space = SearchSpace(list(kernels) if several else kernels[0], problem.lam, optimize=problem.optimize)
    record, options = Record(task.clock.part(problem.options[TimeOptions].subset_share)), problem.options[SearchOptions]
    found = search_rows(space, rows, criterion, record=record, seed=problem.seed, options=options)
    kernel, task.lam = found.kernel, found.lam
    if problem.optimize != "lam" and task.source.n > subset:
        lam = problem.lam if problem.optimize == "kernel" else None
        kernel = rescale_lengths(task, problem, kernel, rule, lam)
    found.kernel, found.seconds = kernel, time.perf_counter() - started
    return kernel, found


def rescale_lengths(task, problem, kernel, rule, lam=None):
    """The kernel with all length scales times the power of √2 that is best on all rows, by few landmarks.

    Each is judged at ``lam``, or at the λ that the rule chooses for it.
    """
    theta, free = kernel.theta, lengths_of(kernel.names)
    if not free.any():
        return kernel
    options = problem.options[LandmarkOptions]
    m = min(options.tried, max(task.sizes))
    clock, tried = task.clock.part(problem.options[TimeOptions].rescaling_share), {}

    def value(power):
        at = np.clip(theta + free * power * 0.5 * math.log(2.0), *kernel.theta_bounds.T)
        one = kernel.with_theta(at)
        fit = task.stage(one, m, lam, None if lam else rule, clock)[1]
        tried[power] = VALUES[rule](fit, [lam])[0] if lam else min(pair[1] for pair in fit.history), one
        return tried[power][0]

    try:
        first = value(0)
        for step in (1, -1):
            best, now = first, value(step)
            while now < best and len(tried) < options.factors:
                best, step = now, step + int(np.sign(step))
                now = value(step)
            if best < first:
                break
    except OutOfTime:
        task.cut.append(f"The time budget ended after {len(tried)} length factors were tried on all rows.")
    return min(tried.values(), key=lambda pair: pair[0])[1] if tried else kernel


def fit_and_choose_lam(task, problem, at, rule):
    """(`LandmarkFit`, SearchResult or None): the fit, and how hyper-parameters were chosen; λ by a rule on all rows."""
    kernel, lam, found = at.kernel, at.lam, at.result
    if rule is None and not lam > 0:
        raise ValueError(f"lam = {lam}: a fit on landmarks needs lam > 0; use a small one, or approximation=None.")
    task.lam = lam if rule is None else task.lam
    fit = fit_landmarks(task, kernel, None if rule else lam, rule)
    if not task.how.solve:
        proof.warn_of(fit.certificate, warn)
    if rule is None:
        return fit, found
    whole = fit.fit.lam
    if found is None:
        found = SearchResult(kernel, whole, np.nan, criterion=repr(problem.criterion))
    ratio = found.lam / whole
    if not 0.5 <= ratio <= 2.0:
        subset = problem.options[LandmarkOptions].subset
        found.message = f"lam is {found.lam:.3g} on {subset} rows and {whole:.3g} on all of them, with landmarks."
    found.lam, found.kernel = whole, kernel
    found.value = min(pair[1] for pair in fit.fit.history)
    found.history = [*found.history, *({"lam": pair[0], "value": pair[1]} for pair in fit.fit.history)]
    found.evaluations = len(found.history)
    return fit, found


def engine_of(source):
    """Who ran the passes over a source, as a report says it."""
    return "threads" if source.engine is None else source.engine.name


def dropped_rows(fit, n):
    """How many of n rows have weight 0: they are neither in the sums nor held out."""
    block = fit.held
    held = 0 if block is None else len(block) if block.weight is None else np.count_nonzero(block.weight)
    return n - round(fit.fit.sums.n) - held


def report_of(fit, problem, source, kernel, lam):
    """What ``fit_report_`` says of a fit on landmarks."""
    report = {"kernel": repr(kernel), "lam": lam}
    report |= {"rows": source.n, "dropped_rows": dropped_rows(fit, source.n), "points": fit.fit.design.m}
    report |= {"gram": "landmarks", "solver": "normal equations", "engine": engine_of(source)}
    report |= {"reasons": list(problem.plan.reasons), "memory_predicted": problem.plan.memory_bytes}
    return report | fit.solver | {"stages": fit.stages, "approximation": fit.certificate}
