"""kernel="auto": the kernel is what a search over expressions chooses."""

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer.estimators._labels import stratified_order
from mercer.estimators.validation import seed_of
from mercer.gram import take
from mercer.selection import LOO
from mercer.selection.judging import quietly
from mercer.selection.kernels_search import search_classes_rows, search_kernels_rows
from mercer.selection.result import reporter

SECONDS = 30.0  # of a search, unless time_budget says otherwise
LEAST_ROWS = 5
HALF = 0.5  # of the time, for the kernel of a loss that cannot compare kernels; the rest is for its own λ
MOST_PROPOSED, FEW_PROPOSED = 2000, 250  # rows by which that kernel is chosen; and where there is no time for more
HURRY = 5.0  # fits that there is to be time for
NORMAL = 1.4826  # median |e| to standard deviation, for normal errors
LAM_RANGE = 1e-6, 1e6  # of ridge regression, where another loss goes by it


def searchable(rows):
    """Whether there is something to choose a kernel by: a few different inputs, and targets that differ."""
    return rows.n >= LEAST_ROWS and bool(np.ptp(rows.row_y, axis=0).max() > 1e-13 * np.abs(rows.row_y).max())


def searched(estimator, rows, criterion, solver=None, keep=5, clock=FOREVER):
    """The `KernelSearch` for an estimator with ``random_state`` and names of columns, until the clock is spent."""
    options = {"solver": solver, "random_state": seed_of(estimator.random_state)} | _asked(estimator, clock)
    return search_kernels_rows(rows, criterion=criterion, keep=keep, **options)


def searched_classes(estimator, rows, evaluate, order, scale=None, clock=FOREVER):
    """The same for labels, by the evidence that ``evaluate`` gives; ``scale`` is the prior of an amplitude."""
    return search_classes_rows(rows, evaluate, order, scale=scale, **_asked(estimator, clock))


def _asked(estimator, clock):
    """The clock, names of columns and who listens."""
    names = estimator.__dict__.get("feature_names_in_")
    named = {"names": None if names is None else list(names)}
    return {"clock": clock if clock.limited else Clock(SECONDS), "callback": reporter(estimator), **named}


def proposed(estimator, X, y, weight, labels, clock, **options):
    """The model, of labels or of numbers, that chooses a kernel for a loss that cannot compare kernels: by some rows.

    Without ``options`` of its own it searches for a kernel by the evidence. The clock is that of the whole fit.
    """
    from mercer.estimators.gpc import GaussianProcessClassifier  # both import this module
    from mercer.estimators.ridge import KernelRidge

    seconds = clock.part(HALF).budget if clock.limited else HALF * SECONDS
    options = options or {"kernel": "auto", "criterion": "evidence"}
    kind, seed = GaussianProcessClassifier if labels else KernelRidge, seed_of(estimator.random_state)
    model = kind(memory=estimator.memory, time_budget=seconds, random_state=estimator.random_state, **options)
    used, most = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0), MOST_PROPOSED
    while most > FEW_PROPOSED and HURRY * model.plan(most).last > seconds:
        most //= 2
    if len(used) > most:
        order = stratified_order(y[used], seed) if labels else np.random.default_rng(seed).permutation(len(used))
        used = np.sort(used[order[:most]])
    return quietly(model.fit, take(X, used), y[used], None if weight is None else weight[used])


def ridge_first(estimator, X, y, weight, clock):
    """(kernel, λ, σ) by ridge regression and leave-one-out: lengths of a kernel that is not given, and the noise.

    Other losses have no gradient in the length scales, and have to know how large the noise is.
    """
    given = estimator.kernel is not None
    options = {"kernel": estimator.kernel if given else None, "criterion": LOO(together=True)}
    options["optimize"] = "lam" if given else "all"
    model = proposed(estimator, X, y, weight, False, clock, **options)
    sigma = NORMAL * float(np.nanmedian(np.abs(model.loo_residuals_)))
    return model.kernel_, float(np.clip(model.lam_, *LAM_RANGE)), sigma or float(np.std(y)) or 1.0
