"""kernel="auto": the kernel is what a search over expressions chooses."""

import numpy as np

from mercer.estimators._labels import stratified_order
from mercer.estimators._protocol import seed_of
from mercer.gram import take
from mercer.selection.judging import quietly
from mercer.selection.kernels_search import search_classes_rows, search_kernels_rows
from mercer.selection.progress import reporter

SECONDS = 30.0  # of a search, unless time_budget says otherwise
LEAST_ROWS = 5
HALF = 0.5  # of the time, for the kernel of a loss that cannot compare kernels; the rest is for its own λ
MOST_PROPOSED = 2000  # rows by which that kernel is chosen


def automatic(kernel):
    """Whether the kernel is to be chosen."""
    return isinstance(kernel, str) and kernel == "auto"


def is_given(kernel):
    """Whether there is a kernel, and not something to make one by."""
    return not (kernel is None or automatic(kernel))


def searchable(rows):
    """Whether there is something to choose a kernel by: a few different inputs, and targets that differ."""
    return rows.n >= LEAST_ROWS and bool(np.ptp(rows.row_y, axis=0).max() > 1e-13 * np.abs(rows.row_y).max())


def searched(estimator, rows, criterion, solver=None, keep=5, share=1.0):
    """The `KernelSearch` for an estimator with ``time_budget``, ``random_state`` and names of columns."""
    options = {"solver": solver, "random_state": seed_of(estimator.random_state)} | _asked(estimator, share)
    return search_kernels_rows(rows, criterion=criterion, keep=keep, **options)


def searched_classes(estimator, rows, evaluate, order):
    """The same for labels, by the approximate evidence that ``evaluate`` gives."""
    return search_classes_rows(rows, evaluate, order, **_asked(estimator))


def _asked(estimator, share=1.0):
    """Seconds, names of columns and who listens."""
    seconds = share * (SECONDS if estimator.time_budget is None else estimator.time_budget)
    names = estimator.__dict__.get("feature_names_in_")
    named = {"names": None if names is None else list(names)}
    return {"time_budget": seconds, "callback": reporter(estimator), **named}


def proposed(estimator, X, y, weight, labels):
    """The kernel for a loss that has no evidence, as a fitted model chooses it that has one: of labels, or of numbers.

    Parameters
    ----------
    estimator : KernelEstimator
        ``time_budget``, ``memory`` and ``random_state`` are read.
    X, y, weight
        Rows; of many rows some are drawn.
    labels : bool
        Whether y are labels.

    Returns
    -------
    GaussianProcessClassifier or KernelRidge
    """
    from mercer.estimators.gpc import GaussianProcessClassifier  # both import this module
    from mercer.estimators.ridge import KernelRidge

    seconds = SECONDS if estimator.time_budget is None else estimator.time_budget
    options = {"criterion": "evidence", "memory": estimator.memory, "time_budget": HALF * seconds}
    kind, seed = GaussianProcessClassifier if labels else KernelRidge, seed_of(estimator.random_state)
    used = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    if len(used) > MOST_PROPOSED:
        order = stratified_order(y[used], seed) if labels else np.random.default_rng(seed).permutation(len(used))
        used = np.sort(used[order[:MOST_PROPOSED]])
    model = kind("auto", random_state=estimator.random_state, **options)
    return quietly(model.fit, take(X, used), y[used], None if weight is None else weight[used])
