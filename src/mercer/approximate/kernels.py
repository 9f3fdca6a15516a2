"""The kernel where none was given, or where a search over expressions finds one, and the checks on the data."""

import numpy as np

from mercer import diagnostics
from mercer._clock import FOREVER, Clock
from mercer.approximate.options import TimeOptions
from mercer.kernels import Matern32
from mercer.selection import KernelSearchOptions
from mercer.selection.kernels_search import search_classes_rows, search_kernels_rows
from mercer.selection.priors import LogNormal, Priors
from mercer.selection.search import Record
from mercer.selection.search.space import median_heuristic

LEAST_ROWS = 5  # different inputs, below which no kernel is searched for


def check_kernel(kernel, X):
    """Refuse a kernel that overflows on the data, and one that is not positive semi-definite there."""
    check_diagonal(np.asarray(kernel.diag(X), dtype=float), X, kernel)
    if not kernel.psd:
        diagnostics.require_psd(kernel, X)


def latent_kernel(X, weight):
    """1.0 · Matérn-3/2 with one length scale for each column of X, at the median distances: the prior of a process.

    The bounds of a length scale are those of the kernel, moved along where the columns are in other units.
    """
    d = X.shape[1]
    anywhere = Matern32(1.0 if d == 1 else np.ones(d), length_scale_bounds=(1e-300, 1e300))
    found = median_heuristic(anywhere, X, weight).length_scale
    near = np.all((np.asarray(found) > 1e-2) & (np.asarray(found) < 1e2))
    bounds = None if near else np.multiply.outer(np.atleast_1d(found), (1e-5, 1e5))
    return 1.0 * Matern32(found, length_scale_bounds=bounds)


def default_prior(kernel):
    """log ℓⱼ ~ N(log of where it begins, 3²): few rows do not send a length that they cannot see to its bound."""
    begun = zip(kernel.names, np.exp(kernel.theta), strict=True)
    return Priors({name: LogNormal(float(value), 3.0) for name, value in begun})


def default_kernel(X, weight):
    """Matérn-3/2 with ℓⱼ = √d · sd(xⱼ): one unit of distance is the spread of the data, in any unit of measurement."""
    d = X.shape[1]
    largest = np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    U = X / scale  # so that squares of huge columns stay finite
    sd = scale * np.sqrt(np.average((U - np.average(U, axis=0, weights=weight)) ** 2, axis=0, weights=weight))
    sd[~(sd > 1e-12 * largest)] = 1.0  # a constant column has no scale
    ell = np.sqrt(d) * sd
    return Matern32(float(ell[0]) if d == 1 else ell)


def check_diagonal(diagonal, X, kernel):
    """Refuse a kernel that overflows on the data: a non-finite k(x, x) is traced to its row and column."""
    bad = np.flatnonzero(~np.isfinite(diagonal))
    if bad.size:
        row, where = bad[0], ""
        if isinstance(X, np.ndarray) and X.ndim == 2:
            column = int(np.argmax(np.abs(X[row])))
            where = f", whose largest entry is {X[row, column]:.3g} in column {column}"
        raise ValueError(
            f"k(x, x) is {diagonal[row]} for row {row}{where} ({bad.size} such rows), with kernel {kernel!r}. "
            "Scale the columns of X first, or use a smaller degree."
        )
    if (diagonal < 0).any():
        row = int(np.argmin(diagonal))
        raise ValueError(f"k(x, x) is {diagonal[row]:.3g} < 0 for row {row}: {kernel!r} is not a kernel.")


def refuse_without_points(kernel, points, instead):
    """Refuse to go on where a kernel, such as `Precomputed`, has kept nothing by which K could be made again."""
    if not np.isfinite(np.asarray(kernel.diag(points), dtype=float)).all():
        raise ValueError(f"{kernel!r} keeps no matrix of the training rows, so {instead}.")


# ---------------------------------------------------------------------- kernel="auto": a search over expressions
def searchable(rows):
    """Whether there is something to choose a kernel by: a few different inputs, and targets that differ."""
    return rows.n >= LEAST_ROWS and bool(np.ptp(rows.row_y, axis=0).max() > 1e-13 * np.abs(rows.row_y).max())


def search_expressions(problem, rows, criterion, solver=None, clock=FOREVER):
    """The `KernelSearch` for a problem, until the clock is spent."""
    options = _search_options(problem, clock)
    return search_kernels_rows(rows, criterion=criterion, solver=solver, seed=problem.seed, **options)


def search_class_expressions(problem, rows, evaluate, order, scale=None):
    """The same for labels, by the evidence that ``evaluate`` gives; ``scale`` is the prior of an amplitude."""
    return search_classes_rows(rows, evaluate, order, scale=scale, **_search_options(problem, problem.search_clock()))


def _search_options(problem, clock):
    """The record, names of columns, and the options of the problem."""
    record = Record(clock if clock.limited else Clock(problem.options[TimeOptions].unasked), problem.report)
    return {"record": record, "names": problem.names, "options": problem.options[KernelSearchOptions]}
