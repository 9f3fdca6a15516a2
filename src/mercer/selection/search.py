"""θ and λ together: L-BFGS in log space, started well, screened on few rows, and never believed on its word."""

import numpy as np

from mercer._threads import few_threads
from mercer._tiles import loops
from mercer.exceptions import NotPositiveDefinite
from mercer.selection import _carried
from mercer.selection._lam_only import choose_lam
from mercer.selection._levels import optimise
from mercer.selection._objective import Objective, Record, Stop
from mercer.selection._report import at_bounds, describe, flat_directions
from mercer.selection._starts import has_amplitude, mean_diagonal
from mercer.selection._starts import starts as starting_points
from mercer.selection.base import Criterion, rows_of
from mercer.selection.result import SearchResult

LAM_RANGE = (1e-9, 1e5)  # of λ to the mean of k(x, x)
PASSES = 5  # over the matrix for each variable, about: whether the compiled loops are worth loading


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
    carry=False,
):
    """argmin C(θ, λ) over the free hyper-parameters of the kernel and λ, by L-BFGS-B in log θ and log λ.

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
        w > 0.
    intercept : bool, default=True
    optimize : {"all", "lam"}, default="all"
    bounds : pair of float, default=None
        Of λ; None is 1e-9 to 1e5 times the mean of k(x, x). Those of θ are the kernel's own.
    starts : int, default=3
        How many starts are optimised on the first level; with ``carry`` and more than one, two with much noise take the
        place of the last.
    time_budget : float, default=None
        Seconds, checked after each evaluation.
    callback : callable, default=None
        Gets the dict of each evaluation; a true answer stops the search.
    random_state : int, default=0
    trend : array-like of shape (n, q), default=None
        Unpenalised columns, in the place of the intercept.
    prior : callable, default=None
        (names, log values) ↦ (−log density, its gradient), as `mercer.selection.priors` makes them; the point found is
        then the maximum a posteriori. Needs a criterion that is a log density.
    fixed_lam : bool, default=False
        Whether λ stays what ``lam`` says.
    carry : bool, default=False
        Whether curvature is measured on few rows and carried on to more: fewer evaluations on all rows, for a log
        density, and a search that ends by what is still to be gained.

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
    options = {
        "lam": _check_start(lam),
        "weight": None if weight is None else np.asarray(weight, dtype=float),
        "intercept": intercept,
        "optimize": optimize,
        "bounds": _check_bounds(bounds),
        "starts": starts,
        "random_state": random_state,
        "trend": None if trend is None else rows_of(trend),
        "prior": prior,
        "fixed_lam": bool(fixed_lam),
        "carry": bool(carry),
    }
    if optimize not in ("all", "lam"):
        raise ValueError(f"optimize must be 'all' or 'lam', got {optimize!r}.")
    if prior is not None and (not isinstance(criterion, Criterion) or criterion.positive):
        raise ValueError(f"prior needs a criterion that is a log density, such as Evidence, not {criterion.name}.")
    if fixed_lam and options["lam"] is None:
        raise ValueError(f"fixed_lam needs lam > 0, got {lam}.")
    record, y = Record(time_budget, callback), rows_of(y)
    if len(y) - (bool(intercept) if trend is None else rows_of(trend).shape[1]) < 2:
        raise ValueError(f"there is nothing to choose by with {len(y)} rows; give lam, and no criterion.")
    if not isinstance(kernel, list | tuple):
        return _one(kernel, X, y, criterion, record, **options)
    if not isinstance(criterion, Criterion):
        raise ValueError(f"{criterion.name} has no value to compare kernels by; use a criterion, or one kernel.")
    if not len(kernel):
        raise ValueError("the list of kernels is empty.")
    found = []
    for one in kernel:
        found.append(_one(one, X, y, criterion, record, **options))
        if found[-1].status in ("time_budget", "stopped"):
            break
    best = min(found, key=lambda result: result.value if np.isfinite(result.value) else np.inf)
    best.candidates, best.seconds, best.evaluations = list(found), record.seconds, len(record.history)
    return best


def _one(kernel, X, y, criterion, record, *, lam, weight, intercept, trend, prior, **options):
    """The search for one kernel."""
    began, count, fixed_lam = record.seconds, len(record.history), options["fixed_lam"]
    X = kernel.validate(X)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)}.")
    free = np.full(kernel.n_theta, options["optimize"] == "all" and isinstance(criterion, Criterion))
    scale_free = criterion.scale_free and has_amplitude(kernel) and free.any() and not fixed_lam
    kept = kernel.names[:1] if scale_free else []
    free[: len(kept)] = False  # the amplitude: λ alone does what both would do
    objective = Objective(
        kernel, X, y, criterion, record, weight=weight, intercept=intercept, trend=trend, free=free, prior=prior
    )
    if _is_constant(objective):
        result = _constant(objective, lam)
    elif not free.any() and fixed_lam:
        objective.value(objective.start(kernel, lam))
        result = SearchResult(kernel, lam, objective.best_value)
    elif not free.any() and prior is None:
        result = choose_lam(objective, options["bounds"], lam)
    else:
        result = _joint(objective, _box(objective, lam, options["bounds"], fixed_lam), lam, options)
    result.flat += kept
    result.criterion, result.history = criterion.name, record.history
    result.seconds, result.evaluations = record.seconds - began, len(record.history) - count
    return result


def _box(objective, lam, bounds, fixed_lam):
    """Bounds of z."""
    level = mean_diagonal(objective.kernel, objective.X)
    limits = (lam, lam) if fixed_lam else bounds or [ratio * level for ratio in LAM_RANGE]
    return np.vstack([objective.kernel.theta_bounds[objective.free], np.log(limits)])


def _joint(objective, box, lam, options):
    """θ and λ together, level by level; the last level that was reached decides."""
    rng = np.random.default_rng(options["random_state"])
    y = objective.y if objective.s is None else objective.y / objective.s[:, None]
    guesses, noisy = starting_points(objective.kernel, objective.X, y, objective.weight, lam, objective.criterion, rng)
    if options["fixed_lam"]:
        guesses, noisy = [(kernel, lam) for kernel, _ in guesses], []
    last, result = climb(objective, box, guesses, options["starts"], rng, carry=options["carry"], noisy=noisy)
    result.kernel, result.lam = objective.at(last.best_z)
    return result


def climb(objective, box, guesses, count, rng, order=None, carry=False, noisy=()):
    """(level, result): `optimise`, and what is to be said of where it ended; the last level reached decides."""
    failed, status, reached = objective.record.failed, "ok", []
    loops(PASSES * len(box) * objective.n**2)
    try:
        # For the whole search: threads of BLAS that wake between two evaluations spin into the next one.
        with few_threads(objective.n):
            if carry and objective.smooth:
                _carried.optimise(objective, box, guesses, count, rng, reached, order, noisy)
            else:
                optimise(objective, box, guesses, count, rng, reached, order)
    except Stop as stop:
        status = stop.status
    seen = [level for level in reached if level.best_z is not None]
    if not seen:
        raise NotPositiveDefinite(
            f"no trial of {objective.kernel!r} gave a finite value ({objective.record.failed - failed} failed); the "
            f"last error was: {objective.record.last_error}"
        )
    last = seen[-1]
    result = SearchResult(objective.kernel, np.nan, last.best_value, status, failed=objective.record.failed - failed)
    result.at_bound = at_bounds(objective.names, last.best_z, box)
    slope = np.max([level.slope for level in seen], axis=0)
    seen_slopes = status == "ok" or slope.any()  # a search that was stopped while it screened has evaluated none
    result.flat = flat_directions(objective.names, slope) if seen_slopes else []
    if status == "ok":
        result.status = "at_bound" if result.at_bound else "flat" if result.flat else "ok"
    result.message = describe(result, box, objective.names, last.n, objective.n)
    return last, result


def _is_constant(objective):
    """Whether nothing of y is left beside the trend, nor among equal rows that were merged."""
    size = np.abs(objective.y).max() or 1.0
    y, H = objective.y / size, objective.H  # so that no square vanishes
    rest = y - H @ np.linalg.lstsq(H, y, rcond=None)[0] if H.shape[1] else y
    within = np.sum(getattr(objective.criterion, "spread", 0.0)) / size / size
    return bool(np.sum(rest**2) + within <= 1e-26 * np.sum(y**2))


def _constant(objective, lam):
    """Every kernel and λ fits a constant: the given ones are kept."""
    lam = lam or mean_diagonal(objective.kernel, objective.X)
    message = f"y is constant (up to the trend), so every kernel and lam fits it; lam = {lam:.3g} and the kernel stay."
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
