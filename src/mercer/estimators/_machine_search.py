"""How KernelMachine chooses λ, and a kernel of a list: a path of λ, warm-started, under approximate LOO or folds."""

import numbers
import time
import warnings
from typing import NamedTuple

import numpy as np

from mercer.dual._memory import restrict
from mercer.estimators import _machine_fit as machine_fit
from mercer.estimators._machine_loo import leave_one_out
from mercer.gram import DenseGram, apply, take
from mercer.selection.result import SearchResult

DECADES = 4  # on either side of lam
STEPS = 2  # a decade
EXTENSIONS = 3  # of two decades each, where the best λ is the last
FINE = (1 / 3, 1 / 6, -1 / 6, -1 / 3)  # decades around the best, at the end
SHARE = 0.8  # of the time that the search may take; the rest is for the last fit


class Found(NamedTuple):
    """The result, where the last fit may start, leave-one-out values there (None where there are none), warnings."""

    result: SearchResult
    starts: list | None
    loo: np.ndarray | None
    warnings: list


class Place(NamedTuple):
    """How many rows were given, which of them count, y of all of them; whether a softmax joins the classes."""

    rows: int
    keep: np.ndarray
    target: np.ndarray
    joint: bool


class Search:
    """The criterion as a function of λ for one kernel; every evaluation starts from the one before."""

    def __init__(self, model, kernel, X, pairs, weight, place, options, deadline, report, first):
        self.model, self.kernel, self.X, self.pairs, self.weight, self.place = model, kernel, X, pairs, weight, place
        self.options, self.deadline, self.report = options, deadline, report
        self.K = machine_fit.gram(kernel, X, model.memory)
        self.values, self.kept, self.history, self.status, self.failed = {}, {}, [], "ok", 0
        self.warned, self.first = [], first

    def path(self, lams):
        """Evaluate at every λ, the largest first."""
        lams = sorted((float(lam) for lam in lams if float(lam) not in self.values), reverse=True)
        if lams and self.status == "ok":
            # A λ that is only tried may be ill-conditioned: that goes to the report, and is a warning at the λ chosen.
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (self._loo_path if self.model.criterion == "alo" else self._fold_path)(lams)
            self.warned += sorted({f"{type(one.message).__name__} at a trial: {one.message}" for one in caught})

    def _limit(self):
        """When to stop: the very first evaluation is always finished, so that there is something to return."""
        return np.inf if self.first and not self.values else self.deadline

    def best(self):
        """The λ of the smallest value, of equal ones the largest."""
        good = {lam: value for lam, value in self.values.items() if np.isfinite(value)}
        return min(good, key=lambda lam: (good[lam], -lam), default=None)

    def _loo_path(self, lams):
        starts = None
        for lam in lams:
            began = time.perf_counter()
            columns = machine_fit.fit_columns(self.K, self.pairs, self.weight, lam, self.options, starts, self._limit())
            F = leave_one_out(
                self.K, self.kernel, self.X, self.pairs, columns, self.weight, lam, self.options["intercept"]
            )
            starts = [(column.alpha, column.b) for column in columns]
            value = machine_fit.mean_loss(self.pairs, F, self.weight)
            done = self._record(lam, value, columns, began)
            if self.best() == lam:
                self.kept = {"lam": lam, "starts": starts, "loo": F}
            if done:
                return

    def _fold_path(self, lams):
        splits = self._splits()
        starts = [None] * len(splits)
        for lam in lams:
            total, began, fitted = 0.0, time.perf_counter(), []
            for i, (train, test) in enumerate(splits):
                columns = self._fit_part(train, lam, starts[i])
                starts[i] = [(column.alpha, column.b) for column in columns]
                seen = [(loss, y[test]) for loss, y in self.pairs]
                judge = machine_fit.mean_softmax_loss if self.place.joint else machine_fit.mean_loss
                loss = judge(seen, self._at(train, test, columns), self.weight[test])
                total, fitted = total + self.weight[test].sum() * loss, [*fitted, *columns]
                if time.perf_counter() > self._limit():
                    self.status = "time_budget"  # a sum over some of the folds says nothing: no value is kept
                    return
            if self._record(lam, total / sum(self.weight[test].sum() for _, test in splits), fitted, began):
                return

    def _fit_part(self, rows, lam, starts):
        """Fit all columns on some rows."""
        K, pairs = restrict(self.K, rows), [(loss, y[rows]) for loss, y in self.pairs]
        if self.place.joint:
            return machine_fit.fit_softmax(K, pairs, self.weight[rows], lam, self.options, self._limit())
        return machine_fit.fit_columns(K, pairs, self.weight[rows], lam, self.options, starts, self._limit())

    def _splits(self):
        """(train, test) of the folds: shuffled with the seed for a number, stratified for labels."""
        from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

        cv, n = self.model.criterion, len(self.weight)
        if hasattr(cv, "get_n_splits"):
            return self._given_splits(cv)
        labels = np.argmax(np.column_stack([y for _, y in self.pairs] + [np.zeros(n)]), axis=1)
        kind = StratifiedKFold if self.pairs[0][0].classification else KFold
        return list(kind(cv, shuffle=True, random_state=self.model.random_state).split(np.zeros((n, 1)), labels))

    def _given_splits(self, cv):
        """Those of a splitter, which sees all rows of the fit; rows of weight 0 then leave either side."""
        number = np.full(self.place.rows, -1)
        number[self.place.keep] = np.arange(len(self.place.keep))
        pairs = cv.split(np.zeros((self.place.rows, 1)), self.place.target)
        splits = [[part[part >= 0] for part in (number[train], number[test])] for train, test in pairs]
        splits = [(train, test) for train, test in splits if len(test)]
        if not splits or not all(len(train) for train, _ in splits):
            raise ValueError(
                f"criterion: a fold of {type(cv).__name__} has no row of positive weight to learn from. Use "
                "other folds, or a number of them: criterion=5."
            )
        return splits

    def _at(self, train, test, columns):
        """F of the columns at the rows that were left out."""
        alpha, b = np.column_stack([column.alpha for column in columns]), np.array([column.b for column in columns])
        if isinstance(self.K, DenseGram):
            return self.K.matrix[np.ix_(test, train)] @ alpha + b
        return apply(self.kernel, take(self.X, test), take(self.X, train), alpha) + b

    def _record(self, lam, value, columns, began):
        """Note an evaluation; true when the search is to stop."""
        self.values[lam] = value
        self.failed += any(column.status != "converged" for column in columns)
        entry = {"n": len(self.weight), "value": value, "lam": lam, "seconds": time.perf_counter() - began}
        self.history.append(entry)
        if self.report is not None and self.report(entry):
            self.status = "stopped"
        elif time.perf_counter() > self.deadline:
            self.status = "time_budget"
        return self.status != "ok"


def choose(model, kernels, X, pairs, weight, place, options, deadline, report=None):
    """The kernel and λ with the smallest criterion."""
    if model.criterion == "alo" and place.joint:
        raise ValueError(
            "criterion='alo' is for one class against the rest (multi_class='ovr'); with multi_class='softmax' use "
            "folds: criterion=5."
        )
    if model.criterion == "alo" and len(weight) > machine_fit.STORED_UP_TO:
        raise ValueError(
            f"criterion='alo' needs the inverse of an n × n matrix; n = {len(weight)} is more than "
            f"{machine_fit.STORED_UP_TO}. Use folds: criterion=5."
        )
    began = time.perf_counter()
    found = []
    for i, kernel in enumerate(kernels):
        share = (deadline - time.perf_counter()) * SHARE / (len(kernels) - i)
        until = time.perf_counter() + share
        search = Search(model, kernel, X, pairs, weight, place, options, until, report, not found)
        one = _one(search, model.lam)
        found += [] if one is None else [one]
        if search.status == "stopped":
            break
    if not found:
        raise ValueError(
            f"{_name(model.criterion)} has no finite value at any lam for {len(kernels)} kernel(s). Give other values "
            "of lam, or scale X and y."
        )
    best = min(found, key=lambda one: one.result.value)
    if len(found) > 1:
        best.result.candidates = [one.result for one in found]
    best.result.seconds = time.perf_counter() - began
    return best


def _grid(lam):
    """The values of λ to begin with: those given, or decades around one."""
    if np.ndim(lam) == 0:
        return float(lam) * 10.0 ** np.linspace(DECADES, -DECADES, 2 * DECADES * STEPS + 1)
    lams = np.asarray(lam, dtype=float).ravel()
    if not lams.size or not (np.isfinite(lams) & (lams > 0)).all():
        raise ValueError(f"lam must be positive and finite numbers, at least one, got {lam!r}.")
    return lams


def _folds(criterion):
    """How many fits an evaluation takes, about."""
    if criterion == "alo":
        return 1
    return int(criterion) if isinstance(criterion, numbers.Integral) else 5


def _one(search, lam):
    """The best λ of one kernel: a grid, longer where its end is best, finer around the best."""
    began, given, lams = time.perf_counter(), np.ndim(lam) > 0, _grid(lam)
    if np.isfinite(search.deadline):
        search.path([lams[len(lams) // 2]])  # if there is time for one λ only, it is not the one at the end
    search.path(lams)
    best = search.best()
    if best is None:
        return None
    if not given:
        for _ in range(EXTENSIONS):
            ends = {max(search.values): 1.0, min(search.values): -1.0}
            if best not in ends or search.status != "ok":
                break
            search.path(best * 10.0 ** (ends[best] * np.arange(1, 2 * STEPS + 1) / STEPS))
            best = search.best()
        search.path(best * 10.0 ** np.array(FINE))
        best = search.best()
    at_end = len(search.values) > 1 and best in (max(search.values), min(search.values))
    status = "at_bound" if search.status == "ok" and at_end and not given else search.status
    result = SearchResult(
        search.kernel,
        best,
        search.values[best],
        status=status,
        message=_message(status, search, best),
        criterion=_name(search.model.criterion),
        at_bound={"lam": best} if at_end else {},
        history=search.history,
        evaluations=len(search.history),
        failed=search.failed,
        seconds=time.perf_counter() - began,
    )
    kept = search.kept if search.kept.get("lam") == best else {}
    return Found(result, kept.get("starts"), kept.get("loo"), search.warned)


def _name(criterion):
    """The criterion as a report names it."""
    if isinstance(criterion, str):
        return "approximate leave-one-out"
    return repr(criterion) if hasattr(criterion, "get_n_splits") else f"{criterion}-fold cross-validation"


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
