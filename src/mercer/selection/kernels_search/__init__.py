"""A search over kernel expressions: what `kernel="auto"` does."""

import numpy as np

from mercer._clock import Clock
from mercer._threads import few_threads
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels.conversion import refuse_nat
from mercer.selection.base import Criterion, as_targets, weights_of
from mercer.selection.criteria import LOO, Evidence
from mercer.selection.kernels_search.candidate import Candidate, DensityLevel, LatentLevel
from mercer.selection.kernels_search.found import KernelSearch
from mercer.selection.kernels_search.objects import ObjectSearch, stand_in
from mercer.selection.kernels_search.series import unit_of
from mercer.selection.kernels_search.vectors import VectorSearch
from mercer.selection.options import KernelSearchOptions
from mercer.selection.search import Record
from mercer.solvers import Cholesky

__all__ = ["Candidate", "KernelSearch", "search_classes_rows", "search_kernels", "search_kernels_rows", "stand_in"]

CRITERIA = {"evidence": Evidence, "loo": lambda: LOO("log_density")}


def search_kernels(
    X,
    y,
    *,
    time_budget=30.0,
    criterion="evidence",
    weight=None,
    names=None,
    keep=5,
    nested=0,
    random_state=0,
    options=KernelSearchOptions(),
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
    options : KernelSearchOptions, optional
        Levels of rows, shares of the time, and what a part must bring.

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
    X, y, weight = _check_data(X, as_targets(y), weight)
    _check_options(X, y, names, keep, nested, time_budget)
    rows = Rows(X, y, weight, constant)
    if not np.ptp(rows.row_y, axis=0).max(initial=0.0) > 1e-13 * np.abs(rows.row_y).max(initial=0.0):  # but rounding
        raise ValueError("y is constant: every kernel fits it, and there is nothing to choose one by.")
    how = {"criterion": criterion, "names": names, "keep": keep, "seed": random_state, "options": options}
    found = search_kernels_rows(rows, record=Record(Clock(time_budget)), **how)
    if nested < 2:
        return found
    share = None if time_budget is None else time_budget / nested
    search_again = lambda some: search_kernels_rows(some, record=Record(Clock(share)), **how)  # noqa: E731
    return found.measure_optimism(rows, nested, search_again)


def _check_data(X, y, weight):
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
    if nested > 1 and len(y) < 5 * (nested + 1):
        raise ValueError(f"nested={nested} folds need at least {5 * (nested + 1)} rows, got {len(y)}.")


def search_kernels_rows(
    rows, *, criterion="evidence", solver=None, names=None, keep=5, record=None, seed=0, options=KernelSearchOptions()
):
    """`search_kernels` on `Rows`: what estimators call, with a `Record`."""
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
    record, solver = record or Record(), solver or Cholesky()

    def level(rows, some):
        return DensityLevel(rows, record, criterion if some is None else criterion.restrict(some), solver, options)

    rows = rows if criterion.merges else rows.apart()
    order = np.random.default_rng(seed).permutation(rows.n)
    search = _level_search(rows, level, order, record, True, options)
    return _run(search, criterion.name, names, keep)


def search_classes_rows(
    rows, evaluate, order, *, scale=None, names=None, keep=5, record=None, options=KernelSearchOptions()
):
    """The same for labels, by the approximate evidence of `search_latent`: what `GaussianProcessClassifier` calls.

    ``scale`` is the prior of an amplitude, such as a `LogNormal`.
    """
    record = record or Record()

    def level(rows, some):
        return LatentLevel(rows, record, evaluate, np.arange(rows.n) if some is None else some, scale, options)

    return _run(_level_search(rows, level, order, record, False, options), "evidence", names, keep)


def _level_search(rows, level, order, record, in_time, options):
    """The `LevelSearch` for these inputs, whose levels ``level`` makes."""
    if rows.d is None:
        return ObjectSearch(rows, level, order, record, options)
    return VectorSearch(rows, unit_of(rows.X, rows.weight), level, order, record, in_time, options)


def _run(search, criterion, names, keep):
    """The `KernelSearch` of a search, whose kernels are in the units of X again."""
    n, (centre, scale), options = search.rows.n, search.unit, search.options
    with few_threads(min(n, options.first_rows * options.growth)):
        candidates, status = search.run(keep)
    for one in candidates:
        one.kernel = one.kernel if scale is None else one.kernel.in_units(centre, scale)
        one.words = one.kernel.describe(None if scale is None else names, scale)
    found = [float(p * scale[search.time]) for p in search.periods]
    return KernelSearch(candidates, criterion, search.record, status, n, search.time is not None, found)
