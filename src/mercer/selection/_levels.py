"""L-BFGS on more and more rows: most iterations on few of them, the last few on all."""

import numpy as np
from scipy.optimize import minimize

SCREEN, GROW = 150, 3  # least rows of the first level (and ten for each variable), and how much larger the next one is
MAX_ITER, RESTARTS = 100, 2
COARSE = {"ftol": 1e-3, "gtol": 1e-2}  # a sample of the rows is not worth more than three digits
APART, CLOSE = 1.0, 0.05  # in log θ and in log C: another optimum that is worth following
CONVERGED, LIMIT = 0, 1  # what L-BFGS-B calls them; all else is an abnormal end of a line search


def optimise(objective, box, guesses, count, rng, reached, order=None):
    """Screen the guesses on the first level, optimise the best ``count`` there, carry the best one up to all rows.

    Parameters
    ----------
    objective : Trials
        On all rows.
    box : ndarray of shape (p + 1, 2)
        Bounds of z.
    guesses : list of (kernel, λ), or what else ``objective.start`` takes
    count : int
    rng : Generator
    reached : list
        Gets the objective of each level as it begins, so that an interrupted search knows what it has.
    order : ndarray of int, default=None
        A permutation of the rows: a level has the first of them. None is a random one.
    """
    n, sizes = objective.n, levels(objective.n, len(box))
    order = rng.permutation(n) if order is None else order
    level = on(objective, order, sizes[0])
    reached.append(level)
    points = screen(level, box, [level.start(*guess) for guess in guesses], max(1, int(count)))
    scale = np.ones(len(box))
    found = [descend(level, z, box, scale, COARSE) for z in points]
    for size in sizes[1:]:
        kept = distinct(found)
        level = on(objective, order, size)
        reached.append(level)
        found = [
            descend(level, z, box, scale, COARSE if size < n or len(kept) > 1 else level.fine) for _, z, scale in kept
        ]
    value, z, scale = distinct(found)[0]
    if len(sizes) == 1 or len(found) > 1:  # the best of several is finished where it was found
        descend(level, z, box, scale, level.fine)


def distinct(found, most=2):
    """Of several descents the best, and the next best if they ended elsewhere with about the same value."""
    found = sorted(found, key=lambda end: end[0])
    kept = found[:1]
    for end in found[1:]:
        if end[0] < kept[0][0] + CLOSE and all(np.abs(end[1] - other[1]).max() > APART for other in kept):
            kept.append(end)
    return kept[:most]


def levels(n, variables=1):
    """Numbers of rows: from a few hundred up to n, each three times the one before."""
    sizes, least = [n], max(SCREEN, 10 * variables)
    while sizes[0] // GROW >= least:
        sizes.insert(0, sizes[0] // GROW)
    return sizes


def on(objective, order, size):
    """The objective on the first ``size`` rows of the order."""
    return objective if size == len(order) else objective.rows(np.sort(order[:size]))


def screen(level, box, points, count):
    """The ``count`` best of the points by value; where none can be evaluated, the first safer one that can."""
    points = [np.clip(z, *box.T) for z in points]
    distinct = [z for i, z in enumerate(points) if not any(np.allclose(z, other) for other in points[:i])]
    failed = level.record.failed
    values = []
    for z in distinct:
        value = level.value(z)
        values.append(np.inf if level.record.failed > failed else value)
        failed = level.record.failed
    if np.isfinite(values).any():
        return [distinct[i] for i in np.argsort(values)[:count] if np.isfinite(values[i])]
    z = distinct[0]
    for z in level.safer(distinct[0], box):
        level.value(z)
        if level.best_z is not None:
            break
    return [z]


def descend(level, z, box, scale, tolerances):
    """L-BFGS-B from z, in variables of about unit curvature; begun again after an abnormal line search.

    Returns (C, z, scale): the best point this descent saw, and the scale of each variable (the root of the diagonal of
    the inverse Hessian) for the next level.
    """
    if not level.smooth:
        return _wander(level, z, box, tolerances)
    seen = [(np.inf, z)]

    def watched(v, scale):
        value, gradient = level(v * scale)
        if value < seen[-1][0]:
            seen.append((value, v * scale))
        return value, gradient * scale

    for _ in range(1 + RESTARTS):
        before = seen[-1][0]
        end = minimize(
            watched,
            seen[-1][1] / scale,
            args=(scale,),
            jac=True,
            method="L-BFGS-B",
            bounds=box / scale[:, None],
            options={"maxiter": MAX_ITER, **tolerances},
        )
        if end.status in (CONVERGED, LIMIT) or not seen[-1][0] < before - tolerances["ftol"]:
            break
        scale = np.ones(len(box))
    return *seen[-1], _curvature(end, scale)


def _wander(level, z, box, tolerances):
    """The same without derivatives, by the simplex method: for a criterion that has no adjoint."""
    options = {"fatol": tolerances["ftol"], "xatol": 0.05, "maxfev": MAX_ITER * len(z)}
    end = minimize(level.value, z, method="Nelder-Mead", bounds=box, options=options)
    return float(end.fun), np.asarray(end.x), np.ones(len(z))


def _curvature(found, scale):
    """√diag(H⁻¹) of the variables, within a factor of ten."""
    try:
        diagonal = np.diagonal(found.hess_inv.todense()) * scale**2
    except (AttributeError, ValueError):
        return np.ones_like(scale)
    return np.sqrt(np.clip(np.where(np.isfinite(diagonal), diagonal, 1.0), 0.01, 100.0))
