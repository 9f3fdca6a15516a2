"""How KernelMachine chooses λ, and a kernel of a list: a path of λ, warm-started, under approximate LOO or folds."""

import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._clock import FOREVER
from mercer._machine import check_memory
from mercer.approximate.base import is_splitter
from mercer.dual.columns import LossColumns, values_at
from mercer.dual.newton import step_solver
from mercer.gram import Rows
from mercer.selection.result import SearchResult, best_of
from mercer.uncertainty.alo import approximate_leave_one_out, span_rule


class Found(NamedTuple):
    """The result, where the last fit may start, leave-one-out values there (None where there are none), warnings."""

    result: SearchResult
    starts: list | None
    loo: np.ndarray | None
    warnings: list


@dataclass(frozen=True)
class PathRows:
    """What λ is chosen on: a criterion, rows and the problems of their columns.

    A splitter sees ``target``, of all rows given. λ of all rows is ``times`` that of these, which are some of them.
    """

    criterion: Any
    rows: Rows
    columns: LossColumns
    target: np.ndarray
    times: float = 1.0

    @property
    def by_left_out(self):
        """Whether the criterion is approximate leave-one-out."""
        return not is_splitter(self.criterion) and self.criterion.word == "loo"

    def some(self, index, stored):
        """Return the same on some of the rows; a splitter sees all rows of the fit."""
        part, less = self.rows.among(index), self.columns.take(index)
        less.stored = stored
        rule = self.criterion if is_splitter(self.criterion) else self.criterion.restrict(index)
        return PathRows(rule, part, less, self.target, self.rows.total / part.total)


class LamPath:
    """The criterion as a function of λ for one kernel; every evaluation starts from the one before."""

    def __init__(self, given, kernel, clock=FOREVER, report=None, first=True):
        self.criterion, self.rows, self.columns = given.criterion, given.rows, given.columns
        self.target, self.times, self.kernel = given.target, given.times, kernel
        self.clock, self.report, self.first = clock, report, first
        self.values, self.kept, self.history, self.status, self.failed, self.warned = {}, {}, [], "ok", 0, []
        self.scale = loss_scale(self.columns)
        self.K, self.by_left_out = self.columns.gram(kernel, self.rows.X), given.by_left_out

    def path(self, lams):
        """Evaluate at every λ, the largest first."""
        lams = sorted((float(lam) for lam in lams if float(lam) not in self.values), reverse=True)
        if lams and self.status == "ok":
            # A λ that is only tried may be ill-conditioned: that goes to the report, and is a warning at the λ chosen.
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (self._loo_path if self.by_left_out else self._fold_path)(lams)
            self.warned += sorted({f"{type(one.message).__name__} at a trial: {one.message}" for one in caught})

    def _limit(self):
        """When to stop: the very first evaluation is always finished, so that there is something to return."""
        return FOREVER if self.first and not self.values else self.clock

    def best(self):
        """The λ of the smallest value, of equal ones the largest."""
        good = {lam: value for lam, value in self.values.items() if np.isfinite(value)}
        return min(good, key=lambda lam: (good[lam], -lam), default=None)

    def _loo_path(self, lams):
        found = None
        for lam in lams:
            began = time.perf_counter()
            found = self.columns.fit(self.K, lam / self.times, found, self._limit())
            F = left_out_decision(self.kernel, self.rows.X, self.K, self.columns, found, lam / self.times)
            done = self._record(lam, self.columns.mean_loss(F, self.scale), found, began)
            if self.best() == lam and self.times == 1.0:
                self.kept = {"lam": lam, "starts": found, "loo": F}
            if done:
                return

    def _fold_path(self, lams):
        splits = self._splits()
        parts = [(self.columns.take(train), self.columns.take(test)) for train, test in splits]
        found, weight = [None] * len(splits), [part.weight.sum() for _, part in parts]
        for lam in lams:
            total, began = 0.0, time.perf_counter()
            for i, (train, test) in enumerate(splits):
                learn, judge = parts[i]
                found[i] = learn.fit(self.K.restrict(train), lam / self.times, found[i], self._limit())
                total += weight[i] * judge.mean_loss(values_at(found[i], self.K, train, test), self.scale)
                if self._limit().spent:
                    self.status = "time_budget"  # a sum over some of the folds says nothing: no value is kept
                    return
            if self._record(lam, total / sum(weight), [column for part in found for column in part], began):
                return

    def _splits(self):
        """(train, test) of the folds: shuffled with the seed for a number, stratified for labels."""
        from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

        if is_splitter(self.criterion):
            return self._given_splits()
        n, Y = self.K.n, self.columns.Y
        if not self.criterion.shuffle:
            every = np.arange(n)
            return [(np.setdiff1d(every, part), part) for part in self.criterion.folds(n)]
        labels = np.argmax(np.column_stack([Y, np.zeros(n)]), axis=1)
        kind = StratifiedKFold if self.columns.loss.classification else KFold
        folds = kind(self.criterion.n_splits, shuffle=True, random_state=self.criterion.random_state)
        return list(folds.split(np.zeros((n, 1)), labels))

    def _given_splits(self):
        """Those of a splitter, which sees all rows of the fit; rows of weight 0 then leave either side."""
        number = self.rows.point_index()
        pairs = self.criterion.split(np.zeros((self.rows.given, 1)), self.target)
        splits = [[part[part >= 0] for part in (number[train], number[test])] for train, test in pairs]
        splits = [(train, test) for train, test in splits if len(test)]
        if not splits or not all(len(train) for train, _ in splits):
            raise ValueError(
                f"criterion: a fold of {type(self.criterion).__name__} has no row of positive weight to learn from. "
                "Use other folds, or a number of them: criterion=5."
            )
        return splits

    def _record(self, lam, value, found, began):
        """Note an evaluation; true when the search is to stop."""
        self.values[lam] = value
        self.failed += any(column.status != "converged" for column in found)
        entry = {"n": self.K.n, "value": value, "lam": lam, "seconds": time.perf_counter() - began}
        self.history.append(entry)
        if self.report is not None and self.report(entry):
            self.status = "stopped"
        elif not self.clock.fits(entry["seconds"]):
            self.status = "time_budget"
        return self.status != "ok"


def loss_scale(columns):
    """What the loss of each of several targets is divided by: that of its mean, over the mean of all; None of others.

    A constant target does not count.
    """
    loss, Y, w = columns.loss, columns.Y, columns.weight
    if Y.shape[1] < 2 or columns.joint or loss.classification or loss.deviance != "squared":
        return None
    found = np.array([w @ loss.value(y, np.full_like(y, np.average(y, weights=w))) for _, y in columns.pairs])
    positive = found[found > 0.0]
    return np.where(found > 0.0, found / positive.mean(), np.inf) if positive.size else None


def choose_column_lam(given, kernels, lam, *, seed, clock, options, report=None, unasked=False):
    """`Found`: the kernel and λ with the smallest criterion; ``lam`` is the middle of those that are tried, or all.

    ``report`` gets each evaluation, and a true answer stops the search; ``unasked`` is whether λ = 1 will do where
    there is nothing to choose by. The clock is that of the whole fit.
    """
    began, found, criterion = time.perf_counter(), [], given.criterion
    given = _affordable(given, kernels, lam, seed, clock.part(options.share), options)
    if given.by_left_out:
        refuse_left_out(given.columns)
    for i, kernel in enumerate(kernels):
        search = LamPath(given, kernel, clock.part(options.share / (len(kernels) - i)), report, not found)
        one = _search_lam(search, lam, options)
        found += [] if one is None else [one]
        if search.status == "stopped":
            break
    if not found and unasked:
        return Found(
            SearchResult(kernels[0], 1.0, np.nan, "ok", f"{_words(criterion)} says nothing: lam = 1."), None, None, []
        )
    if not found:
        raise ValueError(
            f"{_words(criterion)} has no finite value at any lam for {len(kernels)} kernel(s). Give other values "
            "of lam, or scale X and y."
        )
    result = best_of([one.result for one in found])
    best = next(one for one in found if one.result is result)
    best.result.seconds = time.perf_counter() - began
    return best


def _affordable(given, kernels, lam, seed, clock, options):
    """`PathRows`: all of them, or as many as a whole path is predicted to end in time with.

    One λ on a few rows shows how long it takes; a path takes n^2.7 times as long.
    """
    n, pilot = given.rows.n, options.pilot
    if not clock.limited or n <= pilot:
        return given
    order, lams = np.random.default_rng(seed).permutation(n), _lam_grid(lam, options)

    def some(size):
        return given.some(np.sort(order[:size]), size <= options.stored)

    path, began = LamPath(some(pilot), kernels[0]), clock.seconds
    path.path([lams[len(lams) // 2]])
    took, count = clock.seconds - began, len(kernels) * (len(lams) + options.more_lams)
    size = int(pilot * max(clock.left / (count * took), 1.0) ** (1.0 / 2.7))
    if size >= n and (given.columns.stored or n > options.stored):
        return given
    return some(min(size, n, options.stored))


def left_out_decision(kernel, X, K, columns, found, lam):
    """f₋ᵢ(xᵢ) of every row and column, of shape (n, t), from the solution (α, b, f, …) of each column."""
    out, c, intercept = np.empty((len(columns.weight), len(found))), columns.weight / (2.0 * lam), columns.intercept
    for j, ((loss, y), (alpha, _, f, *_)) in enumerate(zip(columns.pairs, found, strict=True)):
        if loss.smooth:
            options = {"intercept": intercept, "solver": _loo_solver(columns)}
            out[:, j] = approximate_leave_one_out(K, alpha, f, c * loss.hess(y, f), **options)
        else:
            out[:, j] = span_rule(kernel, X, alpha, f, *loss.box(y, c), intercept=intercept)
    return out


def _loo_solver(columns):
    """What inverts for the leave-one-out: the solver that was given."""
    given = columns.solver
    return step_solver("cholesky" if isinstance(given, str) and given == "auto" else given, columns.sizes)


def refuse_left_out(columns):
    """Refuse approximate leave-one-out, before the first n × n array, where it cannot be had."""
    if columns.joint:
        raise ValueError(
            "approximate leave-one-out is for one class against the rest (multi_class='one_vs_rest'); with "
            "multi_class='softmax' use folds: criterion=5."
        )
    if not columns.stored:
        raise ValueError(
            f"approximate leave-one-out needs the inverse of an n × n matrix, which is not made for n = {columns.n}. "
            "Use folds: criterion=5."
        )
    if not any(loss.smooth for loss, _ in columns.pairs):
        return
    solver = _loo_solver(columns)
    if "diag" not in solver.gives:
        raise ValueError(
            f"approximate leave-one-out needs the diagonal of (K + lam I)^-1, which solver={columns.solver!r} does "
            "not give; use solver='auto' or 'cholesky', or folds: criterion=5."
        )
    what = f"approximate leave-one-out for n = {columns.n}"
    check_memory(solver.memory(columns.n), what, columns.memory, "folds, criterion=5, or fewer rows")


def _lam_grid(lam, options):
    """The values of λ to begin with: those given, or decades around one."""
    if np.ndim(lam) == 0:
        decades = options.decades
        return float(lam) * 10.0 ** np.linspace(decades, -decades, 2 * decades * options.steps + 1)
    lams = np.asarray(lam, dtype=float).ravel()
    if not lams.size or not (np.isfinite(lams) & (lams > 0)).all():
        raise ValueError(f"lam must be positive and finite numbers, at least one, got {lam!r}.")
    return lams


def _search_lam(search, lam, options):
    """The best λ of one kernel: a grid, longer where its end is best, finer around the best."""
    began, given, lams = time.perf_counter(), np.ndim(lam) > 0, _lam_grid(lam, options)
    if search.clock.limited:
        search.path([lams[len(lams) // 2]])  # if there is time for one λ only, it is not the one at the end
    search.path(lams)
    best = search.best()
    if best is None:
        return None
    if not given:
        for _ in range(options.extensions):
            ends = {max(search.values): 1.0, min(search.values): -1.0}
            if best not in ends or search.status != "ok":
                break
            search.path(best * 10.0 ** (ends[best] * np.arange(1, 2 * options.steps + 1) / options.steps))
            best = search.best()
        search.path(best * 10.0 ** (np.array([2, 1, -1, -2]) / 6.0))  # decades
        best = search.best()
    at_end = len(search.values) > 1 and best in (max(search.values), min(search.values))
    if search.times > 1.0:
        search.warned.append(f"lam was chosen on {search.K.n} of the rows, for want of time, and is in units of all.")
    status = "at_bound" if search.status == "ok" and at_end and not given else search.status
    result = SearchResult(
        search.kernel,
        best,
        search.values[best],
        status=status,
        message=_message(status, search, best),
        criterion=_words(search.criterion),
        at_bound={"lam": best} if at_end else {},
        history=search.history,
        evaluations=len(search.history),
        failed=search.failed,
        seconds=time.perf_counter() - began,
    )
    kept = search.kept if search.kept.get("lam") == best else {}
    return Found(result, kept.get("starts"), kept.get("loo"), search.warned)


def _words(criterion):
    """The criterion as a report names it."""
    if is_splitter(criterion):
        return repr(criterion)
    if criterion.word == "loo":
        return "approximate leave-one-out"
    return f"{criterion.n_splits}-fold cross-validation" if criterion.shuffle else criterion.name


def _message(status, search, best):
    """What a status means, and what to do."""
    if status == "at_bound":
        return (
            f"lam = {best:.3g} is the last of {len(search.values)} values tried; the loss hardly depends on it "
            "there. Give lam as a list to try others, or another kernel."
        )
    if status == "time_budget":
        return f"the time was up after {len(search.history)} evaluations; the best of these is used."
    return "a callback asked to stop; the best so far is used." if status == "stopped" else ""
