"""A search over kernel expressions: what `kernel="auto"` does."""

import numpy as np

from mercer._clock import Clock
from mercer._threads import few_threads
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels.base import refuse_nat
from mercer.selection.base import Criterion, rows_of, weights_of
from mercer.selection.criteria import LOO, Evidence
from mercer.selection.kernels_search.candidate import Candidate, DensityLevel, LatentLevel
from mercer.selection.kernels_search.columns import unit_of
from mercer.selection.kernels_search.found import KernelSearch
from mercer.selection.kernels_search.objects import ObjectSearch, stand_in
from mercer.selection.kernels_search.searching import FIRST, TIMES
from mercer.selection.kernels_search.vectors import VectorSearch
from mercer.selection.search import Record
from mercer.solvers import Cholesky

__all__ = ["Candidate", "KernelSearch", "search_classes_rows", "search_kernels", "search_kernels_rows", "stand_in"]

ALIKE = 1e-13  # of their size: targets that differ by less are rounding
FOLD_ROWS = 5  # of a fold, at least
CRITERIA = {"evidence": Evidence, "loo": lambda: LOO("log_density")}


def search_kernels(
    X, y, *, time_budget=30.0, criterion="evidence", weight=None, names=None, keep=5, nested=0, random_state=0
):
    """argmin C over kernel expressions and their hyper-parameters: families, lengths, additive and seasonal parts.

    Families (linear, Gaussian, Matérn, rational quadratic, Laplacian, sums of main effects and interactions) begin with
    one length scale for all columns; from there with one for each, drawn towards each other; the best also with a line.
    Where the rows are a series along a column, a trend, irregular parts and the seasons that repeat in the data are
    tried together, left out and added while that pays. All is done on some hundred rows, and the best are carried on to
    all of them.

    Parameters
    ----------
    X : array-like of shape (n, d), sequence of texts or of `Graph`, or data frame with columns of these
    y : array-like of shape (n,) or (n, t)
    time_budget : float, default=30.0
        Seconds; what was found by then is returned. None has no end.
    criterion : {"evidence", "loo"} or Criterion, default="evidence"
        What judges: the evidence, the leave-one-out log density, or another log density of `mercer.selection`.
    weight : array-like of shape (n,), default=None
        w > 0: how many rows each row counts for.
    names : list of str, default=None
        Of the columns, for the words.
    keep : int, default=5
        How many candidates are carried on to all rows.
    nested : int, default=0
        Above 1, so many folds in each of which the whole search is repeated without the fold, to measure by how much
        the choice flatters itself; they share another ``time_budget``. In a series, what
        was before a fold judges it.
    random_state : int, default=0
        Seed of the rows of the levels.

    Returns
    -------
    KernelSearch

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import search_kernels
    >>> t = np.arange(60.0)[:, None]
    >>> y = 0.05 * t[:, 0] + np.sin(2 * np.pi * t[:, 0] / 12) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> found = search_kernels(t, y, names=["month"], time_budget=20)
    >>> "a season" in found.words_, round(found.periods_[0])
    (True, 12)
    """
    X, y, weight = _checked(X, rows_of(y), weight)
    _check_options(X, y, names, keep, nested, time_budget)
    rows = Rows(X, y, weight, constant)
    if not np.ptp(rows.row_y, axis=0).max(initial=0.0) > ALIKE * np.abs(rows.row_y).max(initial=0.0):
        raise ValueError("y is constant: every kernel fits it, and there is nothing to choose one by.")
    options = {"criterion": criterion, "names": names, "keep": keep, "random_state": random_state}
    found = search_kernels_rows(rows, clock=Clock(time_budget), **options)
    if nested < 2:
        return found
    share = None if time_budget is None else time_budget / nested
    return found.judged(rows, nested, lambda some: search_kernels_rows(some, clock=Clock(share), **options))


def _checked(X, y, weight):
    """X, y and the weights of the rows as arrays or collections, finite."""
    begun = stand_in(X)
    refuse_nat(X, "X")
    X = np.ascontiguousarray(np.asarray(X, dtype=float)) if begun.domain == "vectors" else begun.validate(X)
    if len(X) != len(y) or (isinstance(X, np.ndarray) and (X.ndim != 2 or not X.shape[1])):
        raise ValueError(f"X must have {len(y)} rows for these y, and a column, got {getattr(X, 'shape', len(X))}.")
    for name, values in (("X", X), ("y", y)):
        if isinstance(values, np.ndarray) and not np.isfinite(values).all():
            raise ValueError(f"{name} holds NaN or infinity.")
    return X, y, weights_of(weight, len(y))


def _check_options(X, y, names, keep, nested, time_budget):
    """Refuse what cannot be asked for."""
    if keep < 1:
        raise ValueError(f"keep must be at least 1, got {keep}.")
    if time_budget is not None and not time_budget > 0:
        raise ValueError(f"time_budget must be positive, or None, got {time_budget}.")
    if names is not None and isinstance(X, np.ndarray) and len(names) != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, and there are {len(names)} names.")
    if nested > 1 and len(y) < FOLD_ROWS * (nested + 1):
        raise ValueError(f"nested={nested} folds need at least {FOLD_ROWS * (nested + 1)} rows, got {len(y)}.")


def search_kernels_rows(
    rows, *, clock=None, criterion="evidence", names=None, keep=5, random_state=0, solver=None, callback=None
):
    """`search_kernels` on `Rows`: what estimators call, with a `Clock`."""
    criterion = CRITERIA[criterion]() if isinstance(criterion, str) and criterion in CRITERIA else criterion
    if not (isinstance(criterion, Criterion) and criterion.density and criterion.smooth):
        raise ValueError(
            f"criterion={criterion!r} is nothing that kernels can be compared by; it takes 'evidence', 'loo', or a log "
            "density of mercer.selection."
        )
    if len(rows.index) - rows.q < 3:
        raise ValueError(f"there is nothing to choose a kernel by with {len(rows.index)} rows; give one.")
    if rows.n - rows.q < 2:
        raise ValueError("all rows of X are equal: there is nothing to choose a kernel by.")
    record, solver = Record(clock, callback), Cholesky() if solver is None else solver

    def level(rows, some):
        return DensityLevel(rows, record, criterion if some is None else criterion.restrict(some), solver)

    rows = rows if criterion.merges else rows.apart()
    order = np.random.default_rng(random_state).permutation(rows.n)
    return _searched(rows, level, order, record, criterion.name, names, keep, True)


def search_classes_rows(rows, evaluate, order, *, scale=None, clock=None, names=None, keep=5, callback=None):
    """The same for labels, by the approximate evidence of `search_latent`: what `GaussianProcessClassifier` calls.

    ``scale`` is the prior of an amplitude, such as a `LogNormal`.
    """
    record = Record(clock, callback)

    def level(rows, some):
        return LatentLevel(rows, record, evaluate, np.arange(rows.n) if some is None else some, scale)

    return _searched(rows, level, order, record, "evidence", names, keep, False)


def _searched(rows, level, order, record, criterion, names, keep, in_time):
    """The `KernelSearch` on rows, whose levels ``level`` makes."""
    vectors = rows.d is not None
    centre, scale = unit_of(rows.X, rows.weight) if vectors else (None, None)
    common = level, order, record
    search = VectorSearch(rows, (centre, scale), *common, in_time) if vectors else ObjectSearch(rows, *common)
    with few_threads(min(rows.n, FIRST * TIMES)):
        candidates, status = search.run(keep)
    for one in candidates:
        one.kernel = one.kernel.in_units(centre, scale) if vectors else one.kernel
        one.words = one.kernel.describe(names if vectors else None, scale)
    series = search.time is not None
    found = [float(p * scale[search.time]) for p in search.periods]
    return KernelSearch(candidates, criterion, record, status, rows.n, series, found)
