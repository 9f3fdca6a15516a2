"""θ and λ together: a descent in log space, started well, screened on few rows, and never believed on its word."""

from dataclasses import replace

import numpy as np

from mercer._clock import Clock
from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels.base import Kernel
from mercer.selection.base import Criterion, as_targets, weights_of
from mercer.selection.options import SearchOptions
from mercer.selection.result import (
    SearchResult,
    at_bounds,
    best_of,
    describe,
    flat_directions,
    is_cut,
    name_kernels_cut,
)
from mercer.selection.search.lam import choose_lam
from mercer.selection.search.levels import descend_by_levels
from mercer.selection.search.objective import CriterionObjective, Record, Stop
from mercer.selection.search.space import SearchSpace, has_amplitude, mean_diagonal, starting_points
from mercer.solvers import Cholesky

__all__ = ["Record", "SearchSpace", "optimise", "search", "search_rows"]

NEEDED = {
    "diag": "the diagonal of (K + lam I)^-1",
    "logdet": "log det(K + lam I)",
    "dense": "all of (K + lam I)^-1",
}


def search(
    kernel,
    X,
    y,
    criterion,
    *,
    lam=None,
    weight=None,
    intercept=True,
    optimize="all",
    bounds=None,
    starts=3,
    time_budget=None,
    callback=None,
    random_state=0,
    trend=None,
    prior=None,
    fixed_lam=False,
    solver=None,
):
    """argmin C(θ, λ) over the free hyper-parameters of the kernel and λ, by BFGS in log θ and log λ.

    Starts (what was given, and the weighted median heuristic at several scales) are screened on 500 rows, the best
    few optimised there, and the best of these carried over to more rows and at last to all of them. The best
    finite point ever seen is returned, whatever the optimiser says of itself.

    Parameters
    ----------
    kernel : Kernel, or list of Kernel
        Of a list the kernel with the smallest value is returned.
    X : collection of n inputs
    y : array-like of shape (n,) or (n, t)
    criterion : Criterion or Rule
        A rule without a value (LCurve, Discrepancy) chooses λ only.
    lam : float, default=None
        Where λ starts; None is 1 % of the variance.
    weight : array-like of shape (n,), default=None
        w > 0: how many rows each row counts for.
    intercept : bool, default=True
        Whether the model has a constant that is not penalised.
    optimize : {"all", "lam"}, default="all"
        Whether the hyper-parameters of the kernel are searched for too, or λ alone.
    bounds : pair of float, default=None
        Of λ; None is 1e-9 to 1e5 times the mean of k(x, x). Those of θ are the kernel's own; an amplitude that has
        none is bounded beside the variance of y.
    starts : int, default=3
        How many starts are followed on the first level; one with much noise is the last of several.
    time_budget : float, default=None
        Seconds; no evaluation begins that is predicted to end after them.
    callback : callable, default=None
        Gets the dict of each evaluation; a true answer stops the search.
    random_state : int, default=0
    trend : array-like of shape (n, q), default=None
        Unpenalised columns, in the place of the intercept.
    prior : callable, default=None
        (names, log values) ↦ (−log density, its gradient), as `mercer.selection.priors` makes them; the point found is
        then the maximum a posteriori. Beside an error C, such as that of LOO, it counts as beside ½ n log C.
    fixed_lam : bool, default=False
        Whether λ stays what ``lam`` says.
    solver : Solver, default=None
        What inverts K + λI in each trial; None is `mercer.solvers.Cholesky`.

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LOO, search
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (80, 1))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    >>> found = search(Gaussian(10.0), X, y, LOO())
    >>> 0.3 < found.kernel.length_scale < 2.0, found.status
    (True, 'ok')
    """
    y, columns = as_targets(y), None if trend is None else as_targets(trend)
    first = kernel[0] if isinstance(kernel, list | tuple) and len(kernel) else kernel
    X = first.validate(X) if isinstance(first, Kernel) else X
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)}.")
    rows = Rows(X, y, weights_of(weight, len(y)), constant if intercept and columns is None else None, merge=False)
    if columns is not None:
        rows.H = columns[rows.used]
    if fixed_lam and optimize in ("all", "lam"):
        optimize = "kernel" if optimize == "all" else "none"
    space = SearchSpace(kernel, lam, bounds, optimize, prior)
    options, record = SearchOptions(starts=starts), Record(Clock(time_budget), callback)
    return search_rows(space, rows, criterion, solver=solver, record=record, seed=random_state, options=options)


def search_rows(space, rows, criterion, *, solver=None, record=None, seed=0, options=SearchOptions()):
    """`search` on `Rows`: what every estimator calls. Equal rows are taken apart unless the criterion merges them.

    Parameters
    ----------
    space : SearchSpace
    rows : Rows
    criterion : Criterion or Rule
    solver : Solver, default=None
    record : Record, default=None
        The clock with which the search ends, and the callback.
    seed : int, default=0
    options : SearchOptions

    Returns
    -------
    SearchResult
    """
    space, solver, record = space.check(), solver or Cholesky(), record or Record()
    _check_search(space, criterion, solver)
    rows = rows if criterion.merges and rows.n >= rows.q + 2 else rows.apart()
    if rows.n - rows.q < 2:
        raise ValueError(f"there is nothing to choose by with {rows.n} rows; give {space.lam_name}, and no criterion.")
    kernels = space.kernel
    if not isinstance(kernels, list | tuple):
        return _search_kernel(space, rows, criterion, record, solver, seed, options)
    if not isinstance(criterion, Criterion):
        raise ValueError(f"{criterion.name} has no value to compare kernels by; use a criterion, or one kernel.")
    if not len(kernels):
        raise ValueError("the list of kernels is empty.")
    return _search_list(space, rows, criterion, record, solver, seed, options)


def _search_list(space, rows, criterion, record, *arguments):
    """The best of a list of kernels, as far as there is time for them; what there was no time for is said."""
    found, histories, status, kernels = [], [], "ok", list(space.kernel)
    for kernel in kernels:
        began = len(record.history)
        try:
            found.append(_search_kernel(replace(space, kernel=kernel), rows, criterion, record, *arguments))
        except Stop as stop:  # it could not even begin
            status = stop.status
            break
        histories.append(record.history[began:])
        if is_cut(found[-1]):
            status = found[-1].status
            break
    best = best_of(found, histories)
    best.candidates, best.seconds, best.evaluations = found, record.seconds, len(record.history)
    return name_kernels_cut(best, status, kernels[len(found) :])


def _check_search(space, criterion, solver):
    """Refuse, before the first trial, a solver that does not give what a criterion needs."""
    if space.prior is not None and not isinstance(criterion, Criterion):
        raise ValueError(f"prior needs a criterion that has a value, such as Evidence or LOO, not {criterion.name}.")
    needs = criterion.needs | (frozenset({"dense"}) if criterion.smooth else frozenset())
    if not needs <= solver.gives:
        missing = ", ".join(NEEDED[name] for name in sorted(needs - solver.gives))
        raise ValueError(
            f"{criterion.name} needs {missing}, which solver={solver!r} does not give; use solver='auto' or "
            "'cholesky', or choose lam on fewer rows and fit here with criterion=None."
        )


def _search_kernel(space, rows, criterion, record, solver, seed, options):
    """The search for one kernel."""
    kernel, began, count = space.kernel, record.seconds, len(record.history)
    free = np.full(kernel.n_theta, space.free_kernel and isinstance(criterion, Criterion))
    scale_free = criterion.scale_free and has_amplitude(kernel) and free.any() and space.free_lam
    unseen = kernel.names[:1] if scale_free else []
    free[: len(unseen)] = False  # the amplitude: λ alone does what both would do
    same = {"solver": solver, "free": free, "prior": space.prior, "options": options}
    objective = CriterionObjective(kernel, rows, criterion, record, **same)
    if _is_constant(objective):
        result = _result_of_constant(objective, space)
    elif not free.any() and not space.free_lam:
        objective.once(objective.start(kernel, space.lam))
        result = SearchResult(kernel, space.lam, objective.best_value)
    elif not free.any() and space.prior is None:
        result = choose_lam(objective, space.bounds, space.lam_name)
    else:
        box, rng = space.box(rows, criterion), np.random.default_rng(seed)
        guesses, noisy = starting_points(space, rows, criterion, rng, options)
        names = [*objective.names[:-1], space.lam_name]
        result = optimise(objective, np.vstack([box[:-1][free], box[-1:]]), guesses, rng, noisy=noisy, names=names)
    result.flat += unseen
    result.criterion, result.history = criterion.name, record.history
    result.seconds, result.evaluations = record.seconds - began, len(record.history) - count
    return result


def optimise(objective, box, guesses, rng, order=None, noisy=(), names=None):
    """The `SearchResult` of a search by levels: the best point of the last level reached, and what is to be said of it.

    The arguments are those of `descend_by_levels`; ``names`` are those of z in messages.
    """
    record, reached, status = objective.record, [], "ok"
    failed, names = record.failed, objective.names if names is None else names
    try:
        # For the whole search: threads of BLAS that wake between two evaluations spin into the next one.
        with few_threads(objective.n):
            descend_by_levels(objective, box, guesses, rng, reached, order, noisy)
    except Stop as stop:
        status = stop.status
    seen = [level for level in reached if level.best_z is not None]
    if not seen and status != "ok" and record.succeeded:  # of a list, one before it: there is a result
        raise Stop(status)
    if not seen:
        raise NotPositiveDefinite(
            f"no trial of {objective.kernel!r} gave a finite value ({record.failed - failed} failed); the "
            f"last error was: {record.last_error}"
        )
    last = seen[-1]
    last.prefer_large_lam(box)
    kernel, lam = objective.at(last.best_z)
    result = SearchResult(kernel, lam, last.best_value, status, failed=record.failed - failed)
    result.at_bound = at_bounds(names, last.best_z, box)
    slope = np.max([level.slope for level in seen], axis=0)
    seen_slopes = status == "ok" or slope.any()  # a search that was stopped while it screened has evaluated none
    result.flat = flat_directions(names, slope) if seen_slopes else []
    if status == "ok":
        result.status = "at_bound" if result.at_bound else "flat" if result.flat else "ok"
    result.message = describe(result, box, names, last.n, objective.n)
    return result


def _is_constant(objective):
    """Whether nothing of y is left beside the trend, nor among equal rows that were merged."""
    size = np.abs(objective.rows.y).max() or 1.0
    rest, whole = objective.y / size, objective.rows.scaled(objective.rows.y / size)  # so that no square vanishes
    within = np.sum(objective.rows.within_squares) / size / size
    return bool(np.sum(rest**2) + within <= 1e-26 * np.sum(whole**2))


def _result_of_constant(objective, space):
    """Every kernel and λ fits a constant: the given ones are kept."""
    lam, lam_name = space.lam or mean_diagonal(objective.kernel, objective.rows.X), space.lam_name
    message = (
        f"y is constant (up to the trend), so every kernel and {lam_name} fits it; {lam_name} = {lam:.3g} and the "
        "kernel stay."
    )
    return SearchResult(objective.kernel, lam, 0.0, "constant", message)
