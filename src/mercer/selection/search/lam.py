"""λ alone, θ fixed: the whole path from one decomposition; for many rows a line search, one factorisation each."""

import numpy as np
from scipy.optimize import minimize_scalar

from mercer._clock import refuse_late
from mercer.selection.base import Criterion
from mercer.selection.path import Path, default_grid
from mercer.selection.result import SearchResult
from mercer.selection.search.objective import Stop
from mercer.solvers import Sizes, Spectral, choose_solver


def choose_lam(objective, bounds=None, lam_name="lam"):
    """Return the `SearchResult` with the kernel as it is and λ by the rule."""
    rule, clock = objective.criterion, objective.record.clock
    decomposing = choose_solver("spectral", Sizes(objective.n, objective.rows.d, binding=False), path=True)[1].seconds
    if not isinstance(rule, Criterion):
        what, instead = f"the path of {rule.name} for n = {objective.n}", "criterion='loo', fewer rows"
        refuse_late(decomposing, clock.budget, what, instead)
    if not isinstance(rule, Criterion) or (objective.n <= objective.options.path_rows and clock.fits(decomposing)):
        found = path_of(objective, bounds)
        found.lam_name = lam_name
        choice = rule.choose(found)
        result = SearchResult(objective.kernel, choice.lam, choice.value, choice.status, choice.message)
        result.path = found.slim()
        return result
    return _line_search(objective, bounds, lam_name)


def path_of(objective, bounds=None):
    """The path of the rows of an objective."""
    rows = objective.rows
    spectrum = Spectral().resolvent(rows.gram(objective.kernel), objective.span)
    points = 40 if objective.criterion.costly else 200  # the minimum is refined anyway
    lams = default_grid(spectrum.eigenvalues, points) if bounds is None else np.geomspace(*bounds, points)
    criteria = [objective.criterion] if isinstance(objective.criterion, Criterion) else []
    return Path(spectrum, rows, lams, criteria, kernel=objective.kernel)


def _line_search(objective, bounds, lam_name):
    """Brent's method in log λ around the λ that a sample of the rows chooses; a failed λ counts as a bad one."""
    n, tolerance, around = objective.n, 1e-2, np.log(1e3)  # in log λ
    some = objective.options.sample_rows if objective.record.clock.fits(2.0) else 300
    sample = objective.take(np.sort(np.random.default_rng(0).permutation(n)[: min(some, n)]))
    found = path_of(sample, bounds)
    centre, status = np.log(found.choose(sample.criterion).lam), "ok"
    low, high = (centre - around, centre + around) if bounds is None else np.log(bounds)
    failed = objective.record.failed
    try:
        options = {"xatol": tolerance}
        minimize_scalar(lambda z: objective.value(np.array([z])), bounds=(low, high), method="bounded", options=options)
    except Stop as stop:
        status = stop.status
    best = centre if objective.best_z is None else objective.best_z[-1]
    result = SearchResult(objective.kernel, float(np.exp(best)), objective.best_value, status)
    result.failed = objective.record.failed - failed
    if status != "ok":
        result.message = f"the search was cut short ({status}); the best {lam_name} so far, {result.lam:.3g}, is kept."
    elif min(best - low, high - best) < 2 * tolerance:
        result.status = "at_lower_edge" if best - low < high - best else "at_upper_edge"
        result.at_bound = {lam_name: result.lam}
        result.message = (
            f"{lam_name} = {result.lam:.3g} ended at the end of ({np.exp(low):.3g}, {np.exp(high):.3g}); give bounds."
        )
    return result
