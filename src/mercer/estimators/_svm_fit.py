"""One target of an SVR: solved in units of y's spread, ε given or found from ν."""

import time
from typing import NamedTuple

import numpy as np

from mercer.dual.ridge import power_of_two
from mercer.dual.working_set import DualSolution, solve
from mercer.losses import EpsilonInsensitive

ROOT_STEPS = 60  # of the search for ε


class Found(NamedTuple):
    """A fitted target, in the units of y."""

    alpha: np.ndarray
    b: float
    epsilon: float
    residual: np.ndarray
    gap: float
    objective: float
    primal: float
    unit: float
    solution: DualSolution


def spread(y, weight, centred):
    """(centre, unit): weighted mean (0 unless centred) and root mean square about it; 1 for a constant y."""
    size = float(power_of_two(y[:, None])[0])
    u = y / size
    total = weight.sum()
    centre = float(weight @ u / total) if centred else 0.0
    unit = float(np.sqrt(weight @ (u - centre) ** 2 / total))
    return centre * size, size * (unit if unit > 1e-12 else 1.0)


def deadline(time_budget):
    """When a budget of seconds, None for no end, will be spent."""
    return None if time_budget is None else time.perf_counter() + time_budget


def fit_target(K, y, weight, C, epsilon, nu, intercept, start=None, end=None, **options):
    """The ε-insensitive dual of one target: |αᵢ| <= C wᵢ.

    With y = c + s ỹ the dual in ỹ has the box C/s and the tube ε/s, and α = s α̃: the same model, and a tolerance that
    means the same for every unit of y.
    """
    centre, unit = spread(y, weight, intercept)
    target, box = (y - centre) / unit, C * weight / unit
    start = None if start is None else start / unit
    steps = []

    def at(eps, start):
        dual = EpsilonInsensitive(eps).dual(target, box)
        seconds = None if end is None else max(end - time.perf_counter(), 1e-3)
        found = solve(K, dual, intercept=intercept, start=start, time_budget=seconds, **options)
        steps.append(found.iterations)
        return found

    if nu is None:
        eps = epsilon / unit
        found = at(eps, start)
    else:
        eps, found = _epsilon_of(nu, at, target, box, intercept, options["tol"], start)
    return Found(
        alpha=unit * found.alpha,
        b=unit * found.b + centre,
        epsilon=unit * eps,
        residual=unit * (target - found.info["product"] - found.b),
        gap=unit**2 * found.gap,
        # with an intercept Σα = 0, so that centring changes neither objective
        objective=unit**2 * found.objective,
        primal=unit**2 * found.primal,
        unit=unit,
        solution=found._replace(iterations=sum(steps)),
    )


def _epsilon_of(nu, at, target, box, intercept, tol, start):
    """(ε, solution) with Σ|α| = ν ΣC: it falls as ε grows, so secants in a bracket find it; ε = 0 if it is less."""
    goal = nu * float(box.sum())
    high = 0.5 * float(np.ptp(target)) if intercept else float(np.abs(target).max())
    found = at(0.0, start)
    low, low_value = 0.0, float(np.abs(found.alpha).sum()) - goal
    if low_value <= 0.0 or high == 0.0:
        return 0.0, found
    high_value, side, eps = -goal, 0, 0.0
    for _ in range(ROOT_STEPS):
        eps = (low * high_value - high * low_value) / (high_value - low_value)
        if not low < eps < high:
            eps = 0.5 * (low + high)
        found = at(eps, found.alpha)
        value = float(np.abs(found.alpha).sum()) - goal
        if abs(value) <= 1e-9 * goal or high - low <= 1e-3 * tol or found.status != "converged":
            break
        if value > 0.0:  # Illinois: an end that stays twice counts half
            low, low_value = eps, value
            high_value = 0.5 * high_value if side > 0 else high_value
            side = 1
        else:
            high, high_value = eps, value
            low_value = 0.5 * low_value if side < 0 else low_value
            side = -1
    return eps, found


def warm(found, box, old_box):
    """α of a neighbouring problem as a start: bounded rows go to their new bound, the others stay."""
    at_bound = np.abs(found.alpha) >= old_box * (1.0 - 1e-12)
    return np.where(at_bound, np.sign(found.alpha) * box, found.alpha)
