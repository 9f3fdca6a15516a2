"""One descent for every objective: BFGS within bounds, with a Hessian from before where there is one."""

import math
from dataclasses import dataclass, replace

import numpy as np

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
