"""One target of an SVR: solved in units of y's spread, ε given or found from ν."""

from typing import NamedTuple

import numpy as np

from mercer.approximate.kernels import refuse_without_points
from mercer.dual.working_set import DualSolution, solve_dual
from mercer.gram import take
from mercer.gram.rows import power_of_two
from mercer.losses import EpsilonInsensitive
from mercer.uncertainty.span import span


class FittedTarget(NamedTuple):
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
    centre = float((weight * u).sum() / total) if centred else 0.0
    unit = float(np.sqrt((weight * (u - centre) ** 2).sum() / total))
    return centre * size, size * (unit if unit > 1e-12 else 1.0)


def solver_of(found):
    """The name of what solved it, for a report."""
    return "interior point, Newton" if found.solution.info.get("interior_steps") else "working set"


def fit_target(K, y, weight, C, epsilon, nu, intercept, start=None, **options):
    """The ε-insensitive dual of one target: |αᵢ| <= C wᵢ; ``start`` is α, or (α, Kα), options those of `solve_dual`.

    With y = c + s ỹ the dual in ỹ has the box C/s and the tube ε/s, and α = s α̃: the same model, and a tolerance that
    means the same for every unit of y.
    """
    centre, unit = spread(y, weight, intercept)
    target, box = (y - centre) / unit, C * weight / unit
    if start is not None:
        start = tuple(v / unit for v in start) if isinstance(start, tuple) else start / unit
    eps = epsilon / unit if nu is None else 0.0
    dual = EpsilonInsensitive(eps).dual(target, box)
    found = solve_dual(K, dual, intercept=intercept, nu=nu, start=start, **options)
    return FittedTarget(
        alpha=unit * found.alpha,
        b=unit * found.b + centre,
        epsilon=unit * (eps if nu is None else found.epsilon),
        residual=unit * (target - found.info["product"] - found.b),
        gap=unit**2 * found.gap,
        # with an intercept Σα = 0, so that centring changes neither objective
        objective=unit**2 * found.objective,
        primal=unit**2 * found.primal,
        unit=unit,
        solution=found,
    )


def span_residuals(model):
    """(yᵢ − f₋ᵢ(xᵢ) of each merged row and target, jitter), by the span rule.

    One of several equal rows takes away only what the others cannot carry.
    """
    use = 'use the kernel itself, or predict_interval(..., method="split")'
    refuse_without_points(model.kernel_, model.points_, f"there is no span rule; {use}")
    left, jitter, merged = model._residual.copy(), 0.0, model._point[model.support_]
    t = left.shape[1]
    alpha, free, bounded = (v.reshape(-1, t) for v in (model.dual_coef_, model.free_, model.bounded_))
    for j in range(t):
        inside, at_bound = np.flatnonzero(free[:, j]), np.flatnonzero(bounded[:, j])
        parts = take(model.points_, inside), take(model.points_, at_bound)
        distance = span(model.kernel_, *parts, intercept=model.trend not in (None, False))
        jitter = max(jitter, distance.jitter)
        for chosen, s in ((inside, distance.free), (at_bound, distance.bounded)):
            row = merged[chosen]
            others = model.C_ * model._weight[row] * (1.0 - 1.0 / model._copies[row])
            size = np.abs(alpha[chosen, j])
            left[row, j] += np.sign(alpha[chosen, j]) * np.maximum(size - others, 0.0) * s
    return left, jitter


def warm(found, box, old_box):
    """α of a neighbouring problem as a start: bounded rows go to their new bound, the others stay."""
    at_bound = np.abs(found.alpha) >= old_box * (1.0 - 1e-12)
    return np.where(at_bound, np.sign(found.alpha) * box, found.alpha)
