"""Fits on landmarks: what every estimator with ``approximation=`` asks, from the plan to the model.

The data are a source, read pass by pass; the model that comes out is an ordinary one, whose points are the landmarks.
"""

import math
import time

import numpy as np

from mercer._warn import warn
from mercer.estimators._base import automatic, check_kernel, conventions, default_kernel, given_kernels
from mercer.estimators._protocol import SEARCHED
from mercer.estimators._report import FitReport
from mercer.estimators.validation import check_more_rows, check_X
from mercer.gram import Rows
from mercer.gram.landmarks import Landmarks, drawn
from mercer.kernels.hyper import lengths_of
from mercer.primal import certificate as proof
from mercer.primal.growth import Task, grow
from mercer.primal.kept import after_change, norm
from mercer.selection.result import SearchResult
from mercer.selection.search import search_rows
from mercer.solvers import Cholesky
from mercer.solvers.plan_landmarks import affordable, plan_landmarks, preferred, stages
from mercer.sources import OutOfTime, as_source
from mercer.sources.changed import Without
from mercer.sources.checkpoint import Checkpoint

ITERATED = "A factor of all rows does not fit the memory; an iteration need not go on to the last digits."
HELD = 9  # added to the seed of the rows that are held out
SUBSET = 3000  # rows that hyper-parameters are searched on exactly
TRIED = 512  # landmarks with which a length factor is tried on all rows
STEP = math.sqrt(2.0)  # from one length factor to the next
FACTORS = 5  # that are tried, at most
BEFORE = 0.4  # of the time, for the landmarks of a fit that then solves for all rows
STRETCHED = 0.4  # of the time that is left after a search on a subset
DISAGREE = 2.0  # factor in λ beyond which subset and whole disagree


def landmark_plan(estimator, exact, n, d, targets, solves=False):
    """The `Plan` of a fit on landmarks; None where the exact one fits. Only for one that `approximates`.

    ``exact`` returns the exact plan, without refusing anything; ``solves`` is whether all rows may be solved for after.
    """
    how, why, factors = estimator.approximation, "", 0 if estimator.chooses_by() is None else FACTORS
    options = {"memory": estimator.memory, "time_budget": estimator.time_budget}
    if isinstance(how, str):
        plan = exact()
        why = preferred(plan, n, **options)
        said = why or (ITERATED if solves and plan.solver == "cg" else "")
        whole = affordable(n, d, targets=targets, factors=factors, why=said, **options) if solves and said else None
        if whole is not None or not why:
            return whole
        how = Landmarks()
    if how.check().solve and not solves:
        raise ValueError("Landmarks(solve=True) is for KernelRidge; other models are fitted on landmarks alone.")
    m = how.m if how.given is None else len(how.given)
    return plan_landmarks(n, d, m, targets=targets, factors=factors, why=why, solve=how.solve, **options)


def rule_of(criterion):
    """What a criterion is called on landmarks; ValueError, with the list of what can be, where it cannot be."""
    if criterion is None or criterion.on_landmarks:
        return None if criterion is None else criterion.on_landmarks
    raise ValueError(
        f"{criterion!r} needs all of K; with landmarks use LOO(), GCV() or Evidence(), or approximation=None."
    )


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


def task_of(estimator, source, plan, trend, report=None, centred=True):
    """`Task` of a plan: stages, deadline, progress and checkpoint."""
    how = estimator.approximation
    how = Landmarks(solve=plan.solver == "all rows") if isinstance(how, str) else how
    if how.held:
        if 2 * how.held > source.n:
            raise ValueError(f"Landmarks(held={how.held}): of {source.n} rows at most half can be held out.")
        source = Without(source, drawn(source.n, how.held, how.random_state + HELD))
    sizes = stages(plan.landmarks, how.given is None and isinstance(how.m, str))
    options = {}
    if report is not None:
        options["progress"] = lambda done, n: report({"rows": done, "of": n})
    if how.checkpoint is not None:
        options["checkpoint"] = Checkpoint(how.checkpoint)
    clock = estimator._clock.part(BEFORE) if how.solve else estimator._clock
    return Task(source, how, sizes, trend, centred, how.random_state, clock, options)


def resolve_kernel(kernel, source, default=False):
    """The kernel, checked on a sample of the rows; the default one has its length scales from it."""
    block = source.take(drawn(source.n, SUBSET, 0))
    X = kernel.validate(block.X)
    kernel = default_kernel(X, block.weight) if default else kernel
    check_kernel(kernel, X)
    return kernel


def read_kernels(estimator, source):
    """The kernels for data that are read; a search over expressions needs the rows as arrays."""
    if automatic(estimator.kernel):
        raise ValueError(
            'kernel="auto" searches over arrays, and these data are read; run search_kernels on a sample of the rows, '
            "and give kernel_ of what it finds."
        )
    return [resolve_kernel(kernel, source, estimator.kernel is None) for kernel in given_kernels(estimator)]


def keep_leaderboard(estimator, found):
    """Keep the kernels that a search compared, and its words, in the result of the fit that went on from there."""
    if found is not None and estimator.selection_ is not None:
        estimator.selection_.candidates, estimator.selection_.message = found.candidates, found.message


def settled_on(estimator, kernels, source):
    """The kernels; where none was given, the default of the same rows whatever all of them lie in."""
    return [resolve_kernel(kernels[0], source, True)] if estimator.kernel is None else kernels


def source_plan(estimator, source):
    """The `Plan` for data that are read: landmarks, whatever ``approximation`` says."""
    how = estimator.approximation
    if how is None:
        raise ValueError("data that are read are fitted on landmarks: approximation=None needs them as arrays.")
    how = Landmarks() if isinstance(how, str) else how.check()
    if not isinstance(how, Landmarks) or how.solve:
        what = "Landmarks(solve=True)" if isinstance(how, Landmarks) else repr(how)
        raise ValueError(f"{what} needs all rows as arrays; data that are read are fitted on Landmarks().")
    m, why = how.m if how.given is None else len(how.given), "The data are read pass by pass."
    options = {"memory": estimator.memory, "time_budget": estimator.time_budget, "targets": source.t, "why": why}
    options["elsewhere"] = None if source.engine is None else source.engine.room()
    return plan_landmarks(source.n, source.d, m, factors=0 if estimator.chooses_by() is None else FACTORS, **options)


def choose_kernel(task, kernels, lam, criterion, *, optimize, merge, seed):
    """(kernel, SearchResult or None): hyper-parameters on a subset, exactly; then a length factor on all rows."""
    rule, started = rule_of(criterion), time.perf_counter()
    several = len(kernels) > 1
    if optimize == "lam" and not several:
        return kernels[0], None
    block = task.source.take(drawn(task.source.n, SUBSET, task.seed + 2))
    rows = Rows(block.X, block.y, block.weight, task.trend, merge)
    found = search_rows(
        list(kernels) if several else kernels[0], rows, criterion, solver=Cholesky(), lam=lam, optimize=optimize,
        clock=task.clock.part(SEARCHED), random_state=seed,
    )  # fmt: skip
    kernel, task.lam = found.kernel, found.lam
    if optimize != "lam" and task.source.n > SUBSET:
        kernel = stretched(task, kernel, rule)
    found.kernel, found.seconds = kernel, time.perf_counter() - started
    return kernel, found


def stretched(task, kernel, rule):
    """The kernel with all length scales times the factor that is best on all rows, by few landmarks."""
    theta, free = kernel.theta, lengths_of(kernel.names)
    if not free.any():
        return kernel
    m = min(TRIED, max(task.sizes))

    clock, tried = task.clock.part(STRETCHED), {}

    def value(power):
        at = np.clip(theta + free * power * math.log(STEP), *kernel.theta_bounds.T)
        one = kernel.with_theta(at)
        fit = task.stage(one, m, None, rule, clock)[1]
        tried[power] = min(pair[1] for pair in fit.history), one
        return tried[power][0]

    try:
        first = value(0)
        for step in (1, -1):
            best, now = first, value(step)
            while now < best and len(tried) < FACTORS:
                best, step = now, step + int(np.sign(step))
                now = value(step)
            if best < first:
                break
    except OutOfTime:
        task.cut.append(f"The time budget ended after {len(tried)} length factors were tried on all rows.")
    return min(tried.values(), key=lambda pair: pair[0])[1] if tried else kernel


def fitted(task, kernel, lam, rule, found, criterion):
    """(`Grown`, SearchResult or None): the fit, and how λ was chosen on all rows."""
    if rule is None and not lam > 0:
        raise ValueError(f"lam = {lam}: a fit on landmarks needs lam > 0; use a small one, or approximation=None.")
    task.lam = lam if rule is None else task.lam
    grown = grow(task, kernel, None if rule else lam, rule)
    if not task.how.solve:
        proof.told(grown.certificate, warn)
    if rule is None:
        return grown, None
    whole = grown.fit.lam
    if found is None:
        found = SearchResult(kernel, whole, np.nan, criterion=repr(criterion))
    ratio = found.lam / whole
    if not 1.0 / DISAGREE <= ratio <= DISAGREE:
        found.message = f"lam is {found.lam:.3g} on {SUBSET} rows and {whole:.3g} on all of them, with landmarks."
    found.lam, found.kernel = whole, kernel
    found.value = min(pair[1] for pair in grown.fit.history)
    found.history = [*found.history, *({"lam": pair[0], "value": pair[1]} for pair in grown.fit.history)]
    found.evaluations = len(found.history)
    return grown, found


def engine_of(source):
    """Who ran the passes over a source, as a report says it."""
    return "threads" if source.engine is None else source.engine.name


def dropped(grown, n):
    """How many of n rows have weight 0: they are neither in the sums nor held out."""
    block = grown.held
    held = 0 if block is None else len(block) if block.weight is None else np.count_nonzero(block.weight)
    return n - round(grown.fit.sums.n) - held


def said(estimator, grown, source):
    """What ``fit_report_`` says of a fit on landmarks."""
    report = {"estimator": type(estimator).__name__, "kernel": repr(estimator.kernel_), "lam": estimator.lam_}
    report |= {"rows": source.n, "dropped_rows": dropped(grown, source.n)}
    report |= {"points": grown.fit.design.m, "gram": "landmarks", "solver": "normal equations"}
    report["engine"] = engine_of(source)
    report |= {"reasons": list(estimator.plan_.reasons), "memory_predicted": estimator.plan_.memory_bytes}
    return report | grown.solver | {"stages": grown.stages, "approximation": grown.certificate}


# ------------------------------------------------------------------------------------- rows that join and leave
def has_landmarks(estimator):
    """Whether landmarks were asked for; AttributeError, as for any missing method, where they were not."""
    how = estimator.approximation
    if how is None or isinstance(how, str) or how.solve:
        raise AttributeError("rows join and leave the sums of landmarks: use approximation=Landmarks(...).")
    return True


def changed(estimator, X, y, sample_weight, sign):
    """The estimator with further rows, or without these; all or nothing."""
    kernel, was = estimator.kernel_, estimator.landmarks_
    X = kernel.validate(check_X(estimator, X, reset=False, kernel=kernel))
    coef = estimator.dual_coef_
    y, weight = check_more_rows(X, y, sample_weight, 1 if coef.ndim == 1 else coef.shape[1])
    alpha, b, kept = was.changed(X, y, weight, sign)
    estimator.dual_coef_ = alpha[:, 0] * was.unit if coef.ndim == 1 else alpha * was.unit
    if b.size:
        estimator.intercept_ = float(b[0, 0]) * was.unit if coef.ndim == 1 else b[0] * was.unit
    size = norm(kept.live.fit) * was.unit
    estimator.rkhs_norm_ = float(size[0]) if coef.ndim == 1 else size
    estimator.regularization_ = conventions(estimator.lam_, kept.live.fit.sums.weight)
    estimator.landmarks_ = kept
    estimator.fit_report_ = FitReport(counted_again(estimator.fit_report_, kept, was, weight, sign))
    return estimator


def counted_again(found, kept, was, weight, sign):
    """What ``fit_report_`` says of rows and of the certificate after rows of such weights have joined or left."""
    dropped = found["dropped_rows"] + int(sign) * (0 if weight is None else np.count_nonzero(weight == 0))
    found = {**found, "rows": kept.n, "dropped_rows": dropped}
    return found | {"approximation": after_change(found["approximation"], was, sign)}
