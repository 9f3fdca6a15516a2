"""A search on more and more rows, with the curvature carried along.

Starts are screened on a few hundred rows and followed there; the best end goes on to three times as many rows, and so
on, so that few evaluations are made on all of them. For each row the Hessian of a criterion in log θ changes little
when rows are added: it is measured by differences on a third of the rows, where that costs about as much as one
evaluation on all of them and saves several. It also says what is still to be gained, so that a descent ends without
trying. A descent is BFGS within bounds, with the Hessian from before where there is one.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from mercer.selection.options import SearchOptions
from mercer.solvers.factoring import eigen

LEAST_CURVATURE = 1e-5  # of C, a mean over rows, in log θ


@dataclass
class Position:
    """Where a descent is: C, z, ∂C/∂z, the Hessian B if one is known, and how long the next step may be."""

    value: float
    z: np.ndarray
    gradient: np.ndarray
    B: np.ndarray | None = None
    radius: float = 1.7  # the first step: the next may be longer


def clip_to(z, box):
    """The point of the box that is nearest to z."""
    return np.minimum(np.maximum(z, box[:, 0]), box[:, 1])


def begin_at(level, z, box, B=None):
    """C and its gradient at z, with the Hessian B if one is known from elsewhere."""
    z = clip_to(z, box)
    value, gradient = level(z)
    return Position(value, z, gradient, B)


def descend(level, start, box, tolerance, measured=False):
    """BFGS within the box, with a Hessian from before; until it promises less than the tolerance, on a flat place.

    A Hessian that was not measured is believed only when the last step gained less than ten tolerances, too.
    """
    here, last, longest = start, np.inf, level.options.longest_step
    for _ in range(100):
        d, gain = step(here, box, longest)
        done = gain <= tolerance and _is_flat(level, here, box, tolerance)
        if done and (measured or last <= 10.0 * tolerance or gain == 0):
            break
        there = _line_search(level, here, d, box)
        if there is not None:
            there.B, there.radius = _update_hessian(here, there), _next_radius(here, there, d, gain, longest)
            last, here = here.value - there.value, there
        elif here.B is None:
            break
        else:  # the Hessian has led nowhere: begin without one
            here, last, measured = replace(here, B=None), np.inf, False
    return here


def step(here, box, longest=SearchOptions.longest_step):
    """(d, gain): Newton's step of the free variables, at most ``here.radius`` long, and what it gains."""
    free = _free(here, box)
    B = np.eye(len(here.z)) if here.B is None else here.B
    e, U = eigen(B if free.all() else B[free][:, free])
    e, slope = np.maximum(e, LEAST_CURVATURE), U.T @ here.gradient[free]
    q = -slope / (e + _levenberg_shift(e, slope, here.radius))
    d = np.zeros(len(here.z))
    d[free] = U @ q
    if here.gradient @ (clip_to(here.z + d, box) - here.z) >= 0:  # what the box cuts off was the descent
        d = -np.clip(here.gradient / max(e.max(initial=0.0), LEAST_CURVATURE), -longest, longest)
    return d, float(-(slope @ q) - 0.5 * (e @ q**2))


def _free(here, box):
    """Which variables may go down: not those at a bound that is in the way."""
    low, high = box.T
    return ~(((here.z <= low) & (here.gradient > 0)) | ((here.z >= high) & (here.gradient < 0)))


def _is_flat(level, here, box, tolerance):
    """Whether, at the tolerance of all rows, no slope is left that a Hessian of fewer rows may have taken for steep.

    What is a valley on all rows can be a dell on a third of them: that Hessian then promises too little.
    """
    final = tolerance <= level.fine
    return not final or np.abs(here.gradient[_free(here, box)]).max(initial=0.0) <= 30.0 * level.fine


def _next_radius(here, there, d, gain, longest):
    """How long the next step may be: as this one if that was cut short; up to twice as long if it kept its promise."""
    length = _length(there.z - here.z)
    if length < 0.7 * _length(d):
        return max(length, 0.1)
    kept = here.value - there.value >= 0.5 * gain
    return min(max(here.radius, 2.0 * length), longest) if kept else here.radius


def _levenberg_shift(e, slope, radius):
    """The least μ >= 0 with ‖(B + μI)⁻¹g‖ <= radius, to a few digits: flat directions are cut short, others hardly."""
    if not _length(slope / e) > radius:
        return 0.0
    low, high = 0.0, _length(slope) / radius  # at the upper end it is shorter, whatever e is
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _length(slope / (e + middle)) > radius else (low, middle)
    return high


def _length(v):
    """‖v‖ of a few numbers."""
    return math.sqrt(v @ v)


def _line_search(level, here, d, box):
    """The first point along the step, cut at the box, at which C is lower; None where there is none."""
    length = 1.0
    for _ in range(12):
        z = clip_to(here.z + length * d, box)
        move = z - here.z
        slope = here.gradient @ move
        if not slope < 0:
            return None
        value, gradient = level(z)
        if value <= here.value + 1e-4 * slope:
            return Position(value, z, gradient)
        length *= min(max(_cubic(here.value, slope, value, gradient @ move), 0.1), 0.6)
    return None


def _cubic(f0, s0, f1, s1):
    """Where in (0, 1) the cubic with these values and slopes at 0 and 1 is least; ½ where nothing can be said."""
    t = 3.0 * (f0 - f1) + s0 + s1
    root = t * t - s0 * s1
    below = 2.0 * math.sqrt(max(root, 0.0)) + s1 - s0
    return (math.sqrt(root) - s0 + t) / below if root >= 0 and below > 0 else 0.5


def _update_hessian(here, there):
    """B after a step, by BFGS; damped (Powell) where the slope did not rise enough."""
    s, y, B = there.z - here.z, there.gradient - here.gradient, here.B
    if B is None:
        B = np.eye(len(s)) * (np.clip((y @ y) / (s @ y), 1e-3, 1e3) if s @ y > 0 else 1.0)
    Bs = B @ s
    sBs, sy = s @ Bs, s @ y
    if sy < 0.1 * sBs:
        share = 0.9 * sBs / (sBs - sy)
        y = share * y + (1.0 - share) * Bs
        sy = s @ y
    return B - Bs[:, None] * (Bs / sBs) + y[:, None] * (y / sy)


def measure_curvature(level, end, box):
    """The Hessian at an end, by differences of the gradient, made positive; what BFGS has where a trial fails."""
    failed, p, step = level.record.failed, len(end.z), 0.01  # in log θ
    H, moves = np.zeros((p, p)), np.flatnonzero(box[:, 1] - box[:, 0] > 2.0 * step)
    for j in moves:
        z = end.z.copy()
        z[j] += step if z[j] + step <= box[j, 1] else -step
        H[j] = (level(z)[1] - end.gradient) / (z[j] - end.z[j])
    if level.record.failed > failed:
        return end.B
    B, part = np.eye(p), np.ix_(moves, moves)
    e, U = eigen((H[part] + H[part].T) / 2.0)
    B[part] = (U * np.maximum(np.abs(e), 10.0 * LEAST_CURVATURE)) @ U.T
    return B


WORTH_A_SECOND_LOOK = 1500  # rows up to which a further descent on all of them costs little


def descend_by_levels(objective, box, guesses, rng, reached, order=None, noisy=()):
    """Screen the guesses on the first level, descend from the best of them there, carry the best up to all rows.

    Guesses are what ``objective.start`` takes. Those that are ``noisy`` are not screened, since their values say
    nothing of where they lead; they replace the last other. ``reached`` gets the objective of each level as it begins,
    so that an interrupted search knows what it has. A level has the first rows of ``order``; None is a random one.
    """
    n, options = objective.n, objective.options
    sizes = level_sizes(n, len(box), options)
    order = rng.permutation(n) if order is None else order
    level = take_first(objective, order, sizes[0])
    reached.append(level)
    count, noisy = max(1, int(options.starts)), noisy if options.starts > 1 else ()
    points = screen(level, box, [level.start(*guess) for guess in guesses], count - bool(noisy))
    points += drop_duplicates([clip_to(level.start(*guess), box) for guess in noisy])
    if not objective.smooth:
        return _descend_without_slopes(objective, box, points, order, sizes[1:], reached)
    ends = [descend(level, begin_at(level, z, box), box, options.sample_gain) for z in points]
    before, end = level, _best(ends)
    for size in sizes[1:]:
        end = _best(ends)
        before, level = level, take_first(objective, order, size)
        reached.append(level)
        ends = [_follow(before, level, end, box, options.sample_gain if size < n else level.fine)]
    if not objective.by_levels and 1 < len(sizes) and n <= WORTH_A_SECOND_LOOK:
        starts = [level.start(*guess) for guess in (*guesses[:1], *noisy[:1])]
        ends += [descend(level, begin_at(level, z, box), box, level.fine) for z in starts]
    if noisy and level.exacting:
        ends += _without_noise(before, level, end, _best(ends), points[-1], box)
    if len(sizes) == 1 or n < options.growth * options.first_rows:  # the last digits cost next to nothing
        _polish(level, _best(ends), box)
    return None


def level_sizes(n, variables=1, options=SearchOptions()):
    """Numbers of rows: from a few hundred, and ten for each variable, up to n."""
    sizes, growth, least = [n], options.growth, 10 * variables
    while sizes[0] // growth >= max(least, options.first_rows):
        sizes.insert(0, sizes[0] // growth)
    return [n // growth, n] if len(sizes) == 1 and n // growth >= max(least, 0.4 * options.first_rows) else sizes


def take_first(objective, order, size):
    """The objective on the first ``size`` rows of the order."""
    return objective if size == len(order) else objective.take(np.sort(order[:size]))


def screen(level, box, points, count):
    """The ``count`` best of the points by value; where none can be evaluated, the first safer one that can."""
    points, values = drop_duplicates([clip_to(z, box) for z in points]), []
    for z in points:
        failed = level.record.failed
        value = level.value(z)
        values.append(np.inf if level.record.failed > failed else value)
    if np.isfinite(values).any():
        return [points[i] for i in np.argsort(values)[:count] if np.isfinite(values[i])]
    z = points[0]
    for z in level.safer(points[0], box):
        level.value(z)
        if level.best_z is not None:
            break
    return [z]


def drop_duplicates(points):
    """The points without those that are there already."""
    return [z for i, z in enumerate(points) if not any(np.abs(z - other).max() < 1e-8 for other in points[:i])]


def _best(ends):
    """The end with the lowest value."""
    return min(ends, key=lambda end: end.value)


def _make_safer(level, start, end, box):
    """The start; if it fits the new rows not at all, the first of the safer points behind which they get worse again.

    Equal rows with equal targets in a sample can make λ vanish there.
    """
    if start.value < end.value + 1.0:  # a nat for each row
        return start
    best = start
    for z in level.safer(start.z, box):
        safer = begin_at(level, z, box)
        if safer.value >= best.value:
            break
        best = safer
    return best


def _follow(before, level, end, box, tolerance):
    """Descend from where the level before ended; on all rows with the Hessian measured there."""
    start = _make_safer(level, begin_at(level, end.z, box, end.B), end, box)
    measured = tolerance <= level.fine and start.B is not None
    if measured:
        start.B = measure_curvature(before, end, box)
    return descend(level, start, box, tolerance, measured=measured)


def _without_noise(before, level, there, best, noisy, box):
    """[the end of a descent that begins without noise], where hardly any was found and it costs next to nothing.

    Data without noise, as of a simulation, have an optimum there which no step leads to: λ no longer matters below it.
    It is looked for on the rows of the level before, whose best end was ``there``.
    """
    none, share = box[-1, 0] + np.log(100.0), best.z[-1] - noisy[-1]
    hardly = np.log(1e-5) < share < np.log(5e-3)  # noise that may be none, relative to the variance
    if level.n > WORTH_A_SECOND_LOOK or not hardly or not none < best.z[-1]:
        return []
    silent = np.vstack([box[:-1], [none, none]])
    start = begin_at(before, np.append(noisy[:-1], none), silent)
    end = descend(before, start, silent, level.options.sample_gain)
    if end.value > there.value + 0.5:  # nats for each row: hopeless
        return []
    return [descend(level, begin_at(level, end.z, box), box, level.fine)]


def _polish(level, best, box):
    """Go on from a coarse end: to the last digits of a log density, where that costs next to nothing."""
    options = level.options
    few = level.exacting and level.n < options.growth * options.first_rows
    best.B = measure_curvature(level, best, box) if few else best.B
    # Newton's last steps double the digits.
    descend(level, best, box, 1e-3 * level.fine if level.exacting else level.fine, measured=few)


def _descend_without_slopes(objective, box, points, order, sizes, reached):
    """The same by the simplex method of Nelder and Mead: for a criterion that has no adjoint."""
    options = objective.options
    limits = {"xatol": 0.05, "maxfev": 100 * len(box)}

    def minimise(level, z, tolerance):
        minimize(level.value, z, method="Nelder-Mead", bounds=box, options={"fatol": tolerance, **limits})

    for z in points:
        minimise(reached[0], z, options.sample_gain)
    for size in sizes:
        z = reached[-1].best_z
        reached.append(take_first(objective, order, size))
        minimise(reached[-1], z, options.sample_gain if size < len(order) else objective.fine)
