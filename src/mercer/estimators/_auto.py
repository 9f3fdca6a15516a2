"""kernel="auto": the kernel is what a search over expressions chooses."""

import numpy as np

from mercer.estimators._protocol import seed_of
from mercer.selection.kernels_search import search_kernels_rows
from mercer.selection.result import reporter

SECONDS = 30.0  # of a search, unless time_budget says otherwise
LEAST_ROWS = 5


def searchable(rows):
    """Whether there is something to choose a kernel by: a few different inputs, and targets that differ."""
    return rows.n >= LEAST_ROWS and bool(np.ptp(rows.row_y, axis=0).max() > 1e-13 * np.abs(rows.row_y).max())


def searched(estimator, rows, criterion, solver=None, keep=5, share=1.0):
    """The `KernelSearch` for an estimator with ``time_budget``, ``random_state`` and names of columns."""
    seconds = share * (SECONDS if estimator.time_budget is None else estimator.time_budget)
    names = estimator.__dict__.get("feature_names_in_")
    options = {"time_budget": seconds, "names": None if names is None else list(names)}
    options |= {"solver": solver, "callback": reporter(estimator), "random_state": seed_of(estimator.random_state)}
    return search_kernels_rows(rows, criterion=criterion, keep=keep, **options)
