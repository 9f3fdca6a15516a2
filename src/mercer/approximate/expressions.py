"""kernel="auto": the kernel is what a search over expressions chooses."""

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer.selection import KernelSearchOptions
from mercer.selection.kernels_search import search_classes_rows, search_kernels_rows
from mercer.selection.search import Record

SECONDS = 30.0  # of a search, unless time_budget says otherwise
LEAST_ROWS = 5


def searchable(rows):
    """Whether there is something to choose a kernel by: a few different inputs, and targets that differ."""
    return rows.n >= LEAST_ROWS and bool(np.ptp(rows.row_y, axis=0).max() > 1e-13 * np.abs(rows.row_y).max())


def search_expressions(problem, rows, criterion, solver=None, clock=FOREVER):
    """The `KernelSearch` for a problem, until the clock is spent."""
    return search_kernels_rows(rows, criterion=criterion, solver=solver, seed=problem.seed, **_options(problem, clock))


def search_class_expressions(problem, rows, evaluate, order, scale=None):
    """The same for labels, by the evidence that ``evaluate`` gives; ``scale`` is the prior of an amplitude."""
    return search_classes_rows(rows, evaluate, order, scale=scale, **_options(problem, problem.search_clock()))


def _options(problem, clock):
    """The record, names of columns, and the options of the problem."""
    record = Record(clock if clock.limited else Clock(SECONDS), problem.report)
    return {"record": record, "names": problem.names, "options": problem.options[KernelSearchOptions]}
