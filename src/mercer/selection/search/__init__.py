"""θ and λ together: a descent in log space, started well, screened on few rows, and never believed on its word."""

import numpy as np

from mercer._clock import Clock
from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels.algebra import amplitudes
from mercer.kernels.base import Kernel
from mercer.selection.base import Criterion, rows_of, weights_of
from mercer.selection.result import SearchResult, at_bounds, describe, flat_directions
from mercer.selection.search.descent import optimise
from mercer.selection.search.lam import choose_lam
from mercer.selection.search.objective import Objective, Record, Stop
from mercer.selection.search.several import best_of_list
from mercer.selection.search.starts import has_amplitude, lam_unit, mean_diagonal, variance_of
from mercer.selection.search.starts import starts as starting_points
from mercer.solvers import Cholesky

LAM_RANGE = (1e-9, 1e5)  # of λ to the mean of k(x, x)
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
    y, columns = rows_of(y), None if trend is None else rows_of(trend)
    first = kernel[0] if isinstance(kernel, list | tuple) and len(kernel) else kernel
    X = first.validate(X) if isinstance(first, Kernel) else X
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)}.")
    rows = Rows(X, y, weights_of(weight, len(y)), constant if intercept and columns is None else None, merge=False)
    if columns is not None:
        rows.H = columns[rows.used]
    options = {"lam": lam, "optimize": optimize, "bounds": bounds, "starts": starts, "clock": Clock(time_budget)}
    options |= {"callback": callback, "random_state": random_state, "prior": prior, "fixed_lam": fixed_lam}
    return search_rows(kernel, rows, criterion, solver=solver, **options)


def search_rows(
    kernel,
    rows,
    criterion,
    *,
    solver=None,
    lam=None,
    optimize="all",
    bounds=None,
    starts=3,
    clock=None,
    callback=None,
    random_state=0,
    prior=None,
    fixed_lam=False,
    lam_name="lam",
):
    """`search` on `Rows`: what every estimator calls. Equal rows are taken apart unless the criterion merges them.

    The search ends with the clock; ``lam_name`` is what messages call λ.
    """
    lam, bounds = _check_start(lam), _check_bounds(bounds)
    solver = Cholesky() if solver is None else solver
    check_options(criterion, solver, optimize, prior)
    if fixed_lam and lam is None:
        raise ValueError(f"fixed_lam needs {lam_name} > 0, got {lam}.")
    rows = rows if criterion.merges and rows.n >= rows.q + 2 else rows.apart()
    if rows.n - rows.q < 2:
        raise ValueError(f"there is nothing to choose by with {rows.n} rows; give {lam_name}, and no criterion.")
    record = Record(clock, callback)
    options = {"lam": lam, "optimize": optimize, "bounds": bounds, "starts": starts, "fixed_lam": bool(fixed_lam)}
    options |= {"random_state": random_state, "prior": prior, "solver": solver, "lam_name": lam_name}
    if not isinstance(kernel, list | tuple):
        return _one(kernel, rows, criterion, record, **options)
    if not isinstance(criterion, Criterion):
        raise ValueError(f"{criterion.name} has no value to compare kernels by; use a criterion, or one kernel.")
    if not len(kernel):
        raise ValueError("the list of kernels is empty.")
    return best_of_list(list(kernel), lambda one: _one(one, rows, criterion, record, **options), record)


def check_options(criterion, solver, optimize="all", prior=None):
    """Refuse, before the first trial, what cannot be: a solver that does not give what a criterion needs, in words."""
    if optimize not in ("all", "lam"):
        raise ValueError(f"optimize must be 'all' or 'lam', got {optimize!r}.")
    if prior is not None and not isinstance(criterion, Criterion):
        raise ValueError(f"prior needs a criterion that has a value, such as Evidence or LOO, not {criterion.name}.")
    needs = criterion.needs | (frozenset({"dense"}) if criterion.smooth else frozenset())
    if not needs <= solver.gives:
        missing = ", ".join(NEEDED[name] for name in sorted(needs - solver.gives))
        raise ValueError(
            f"{criterion.name} needs {missing}, which solver={solver!r} does not give; use solver='auto' or "
            "'cholesky', or choose lam on fewer rows and fit here with criterion=None."
        )


def _one(kernel, rows, criterion, record, *, lam, prior, solver, lam_name, **options):
    """The search for one kernel."""
    began, count, fixed_lam = record.seconds, len(record.history), options["fixed_lam"]
    free = np.full(kernel.n_theta, options["optimize"] == "all" and isinstance(criterion, Criterion))
    scale_free = criterion.scale_free and has_amplitude(kernel) and free.any() and not fixed_lam
    kept = kernel.names[:1] if scale_free else []
    free[: len(kept)] = False  # the amplitude: λ alone does what both would do
    objective = Objective(kernel, rows, criterion, record, solver=solver, free=free, prior=prior)
    if _is_constant(objective):
        result = _constant(objective, lam, lam_name)
    elif not free.any() and fixed_lam:
        objective.once(objective.start(kernel, lam))
        result = SearchResult(kernel, lam, objective.best_value)
    elif not free.any() and prior is None:
        result = choose_lam(objective, options["bounds"], lam_name)
    else:
        box = box_of(kernel, rows, criterion, lam, options["bounds"], fixed_lam)
        result = _joint(objective, np.vstack([box[:-1][free], box[-1:]]), lam, lam_name, options)
    result.flat += kept
    result.criterion, result.history = criterion.name, record.history
    result.seconds, result.evaluations = record.seconds - began, len(record.history) - count
    return result


def box_of(kernel, rows, criterion, lam=None, bounds=None, fixed_lam=False):
    """Bounds of z = (log θ, log λ), of shape (p + 1, 2).

    Amplitudes that are free and have no bounds of their own are bounded beside the variance of y, so that y may have
    any unit; λ beside the mean of k(x, x), of an error that only ratios matter to times the weights.
    """
    theta = kernel.theta_bounds
    scaled = None if criterion.scale_free else amplitudes(kernel)
    if scaled is not None:
        theta[scaled] += np.log(variance_of(rows))
    unit = lam_unit(kernel, rows) if criterion.scale_free else mean_diagonal(kernel, rows.X)
    limits = (lam, lam) if fixed_lam else bounds or [ratio * unit for ratio in LAM_RANGE]
    return np.vstack([theta, np.log(limits)])


def _joint(objective, box, lam, lam_name, options):
    """θ and λ together, level by level; the last level that was reached decides."""
    rng = np.random.default_rng(options["random_state"])
    guesses, noisy = starting_points(objective.kernel, objective.rows, lam, objective.criterion, rng)
    if options["fixed_lam"]:
        guesses, noisy = [(kernel, lam) for kernel, _ in guesses], []
    names = [*objective.names[:-1], lam_name]
    last, result = climb(objective, box, guesses, options["starts"], rng, noisy=noisy, names=names)
    result.kernel, result.lam = objective.at(last.best_z)
    return result


def climb(objective, box, guesses, count, rng, order=None, noisy=(), names=None):
    """(level, result): `optimise`, and what is to be said of where it ended; the last level reached decides."""
    failed, status, reached = objective.record.failed, "ok", []
    names = objective.names if names is None else names
    try:
        # For the whole search: threads of BLAS that wake between two evaluations spin into the next one.
        with few_threads(objective.n):
            optimise(objective, box, guesses, count, rng, reached, order, noisy)
    except Stop as stop:
        status = stop.status
    seen = [level for level in reached if level.best_z is not None]
    if not seen and status != "ok" and objective.record.succeeded:  # of a list, one before it: there is a result
        raise Stop(status)
    if not seen:
        raise NotPositiveDefinite(
            f"no trial of {objective.kernel!r} gave a finite value ({objective.record.failed - failed} failed); the "
            f"last error was: {objective.record.last_error}"
        )
    last = seen[-1]
    last.settle(box)
    result = SearchResult(objective.kernel, np.nan, last.best_value, status, failed=objective.record.failed - failed)
    result.at_bound = at_bounds(names, last.best_z, box)
    slope = np.max([level.slope for level in seen], axis=0)
    seen_slopes = status == "ok" or slope.any()  # a search that was stopped while it screened has evaluated none
    result.flat = flat_directions(names, slope) if seen_slopes else []
    if status == "ok":
        result.status = "at_bound" if result.at_bound else "flat" if result.flat else "ok"
    result.message = describe(result, box, names, last.n, objective.n)
    return last, result


def _is_constant(objective):
    """Whether nothing of y is left beside the trend, nor among equal rows that were merged."""
    size = np.abs(objective.rows.y).max() or 1.0
    rest, whole = objective.y / size, objective.rows.scaled(objective.rows.y / size)  # so that no square vanishes
    within = np.sum(objective.rows.spread) / size / size
    return bool(np.sum(rest**2) + within <= 1e-26 * np.sum(whole**2))


def _constant(objective, lam, lam_name):
    """Every kernel and λ fits a constant: the given ones are kept."""
    lam = lam or mean_diagonal(objective.kernel, objective.rows.X)
    message = (
        f"y is constant (up to the trend), so every kernel and {lam_name} fits it; {lam_name} = {lam:.3g} and the "
        "kernel stay."
    )
    return SearchResult(objective.kernel, lam, 0.0, "constant", message)


def _check_bounds(bounds):
    """Bounds of λ as a pair, or None."""
    if bounds is None:
        return None
    low, high = (float(b) for b in bounds)
    if not 0 < low < high < np.inf:
        raise ValueError(f"bounds of lam must satisfy 0 < low < high < inf, got ({low}, {high}).")
    return low, high


def _check_start(lam):
    """λ to start from, or None."""
    if lam is None or lam == 0:
        return None
    if not (np.isfinite(lam) and lam > 0):
        raise ValueError(f"lam must be positive and finite, got {lam}.")
    return float(lam)
