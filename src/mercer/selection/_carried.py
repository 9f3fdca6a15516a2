"""A quasi-Newton search on more and more rows that carries the curvature along: for log densities.

The Hessian of a log density in log θ, for each row, changes little when rows are added. It is measured by differences
on a third of the rows, where that costs about as much as one evaluation on all of them, and saves several. It also
says what is still to be gained, so that a descent ends without trying, and a rival is not followed in vain.
"""

from types import SimpleNamespace

import numpy as np

from mercer.selection._levels import CLOSE, COARSE, GROW, MAX_ITER, SCREEN, distinct, levels, on, screen

FIRST, LONGEST = 1.7, 3.0  # step in log θ, at the beginning and ever: beyond, curvature is another
KEPT, CUT = 0.5, 0.7  # of what a step promised, of its length
FLAT = 1e-5  # least curvature, per row
DIFFERENCE = 0.01  # step in log θ of the differences
ARMIJO, HALVINGS = 1e-4, 12
SHRINK = (0.1, 0.6)  # of a step that was too long
PROMISE = 1.5  # a rival is followed if this much of what its curvature promises would make it the best
SAME = 0.3  # in log θ: nearer than this to another end, a descent is on its way there
FEW_ROWS = 1500  # up to which a descent that begins without noise is worth its time
HARDLY, NONE = (1e-5, 5e-3), 100.0  # noise that may be none, of the variance; and none, of the least λ allowed
HOPELESS = 0.5  # nats for each row that an end on few rows may be behind
FAR = 1.0  # nats for each row: what was learnt on fewer rows is wrong on all
BEFORE = 0.3  # of the coarse tolerance: how far the best goes before its curvature is measured
TRUSTED = 10.0  # times the tolerance: what a step may gain after which a Hessian is believed
CHEAP = 1e-4  # of the tolerance, where an evaluation costs next to nothing: Newton's last steps double the digits
STEEP = 30.0  # times the tolerance: a slope in log θ with which a descent on all rows goes on
LEFT = 10.0  # what may be left in all, in units of what `_levels` lets the last iteration gain: a hundredth of a nat


def optimise(objective, box, guesses, count, rng, reached, order=None, noisy=()):
    """Screen, descend from the best ``count``, carry the best up to all rows: as `_levels.optimise`, with curvature.

    ``noisy`` guesses are not screened: their values say nothing of where they lead. They replace the last other.
    """
    n, sizes = objective.n, levels(objective.n, len(box))
    order = rng.permutation(n) if order is None else order
    level = on(objective, order, sizes[0])
    reached.append(level)
    count, noisy = max(1, int(count)), noisy if count > 1 else ()
    points = screen(level, box, [level.start(*guess) for guess in guesses], count - bool(noisy))
    points += [np.clip(level.start(*guess), *box.T) for guess in noisy]
    ends = [descend(level, begin(level, z, box), box, COARSE["ftol"]) for z in points]
    before, kept = level, _best(ends)
    for size in sizes[1:]:
        kept = _best(ends, 2 if size == n else 3)
        kept[0] = descend(level, kept[0], box, BEFORE * COARSE["ftol"])
        before, level = level, on(objective, order, size)
        reached.append(level)
        if size < n:  # an evaluation is cheap here: every one of them is followed
            ends = [descend(level, start, box, COARSE["ftol"]) for start in _begun(level, kept, box)]
        else:
            ends = _follow(before, level, kept, box, LEFT * level.fine["ftol"])
    if not objective.by_levels and 1 < len(sizes) and n <= FEW_ROWS:
        starts = [level.start(*guess) for guess in (*guesses[:1], *noisy[:1])]
        ends += [descend(level, begin(level, z, box), box, LEFT * level.fine["ftol"]) for z in starts]
    if noisy:
        ends += _without_noise(before, level, kept[0], _best(ends)[0], points[-1], box)
    if len(sizes) == 1:
        best, few = _best(ends)[0], n < GROW * SCREEN
        best.B = curvature(level, best, box) if few else best.B
        descend(level, best, box, CHEAP * level.fine["ftol"], measured=few)


def _without_noise(before, level, there, best, noisy, box):
    """[the end of a descent that begins without noise], where hardly any was found and it costs next to nothing.

    Data without noise, as of a simulation, have an optimum there which no step leads to: λ no longer matters below it.
    """
    none, share = box[-1, 0] + np.log(NONE), best.z[-1] - noisy[-1]
    if level.n > FEW_ROWS or not np.log(HARDLY[0]) < share < np.log(HARDLY[1]) or not none < best.z[-1]:
        return []
    silent = np.vstack([box[:-1], [none, none]])
    end = descend(before, begin(before, np.append(noisy[:-1], none), silent), silent, COARSE["ftol"])
    if end.value > there.value + HOPELESS:
        return []
    return [descend(level, begin(level, end.z, box), box, LEFT * level.fine["ftol"])]


def _best(ends, most=1):
    """The best end, and others where `distinct` says so."""
    return [end[-1] for end in distinct([(end.value, end.z, end) for end in ends], most)]


def _begun(level, kept, box):
    """Where the ends of the level before begin on this one, with their Hessians."""
    return [_checked(level, begin(level, end.z, box, end.B), end, box) for end in kept]


def _follow(before, level, kept, box, tolerance):
    """Descend from where the level before ended; a rival only if it is close, and promises to become the best.

    The best end of the level before goes first: it tells more than the value it starts with on the new rows.
    """
    starts, ends = _begun(level, kept, box), []
    for start, end in zip(starts, kept, strict=True):
        best = ends[0] if ends else None
        if best and (start.value > starts[0].value + CLOSE or _lost(start, step(start, box)[1], best)):
            continue
        measured = start.B is not None
        start.B = curvature(before, end, box) if measured else None
        ends.append(descend(level, start, box, tolerance, measured=measured, rival=best))
    return ends


def _lost(here, gain, best):
    """Whether a rival promises no more than the best end, or has come to where that is."""
    return here.value - PROMISE * gain >= best.value or np.abs(here.z - best.z).max() < SAME


def _checked(level, start, end, box):
    """The start; if it fits the new rows not at all, the first of the safer points behind which they get worse again.

    Equal rows with equal targets in a sample can make λ vanish there.
    """
    if start.value < end.value + FAR:
        return start
    best = start
    for z in level.safer(start.z, box):
        safer = begin(level, z, box)
        if safer.value >= best.value:
            break
        best = safer
    return best


def begin(level, z, box, B=None):
    """C and its gradient at z, with the Hessian B if one is known from elsewhere."""
    z = np.clip(z, *box.T)
    value, gradient = level(z)
    return SimpleNamespace(value=value, z=z, gradient=gradient, B=B, radius=FIRST)


def descend(level, start, box, tolerance, measured=False, rival=None):
    """BFGS within the box, with a Hessian from before; until it promises less than the tolerance, on a flat place.

    A Hessian that was not measured is believed only when the last step gained little, too. Beside a ``rival``, an end
    that is known, it is given up when it cannot become better than that.
    """
    here, last = start, np.inf
    for _ in range(MAX_ITER):
        d, gain = step(here, box)
        done = gain <= tolerance and _flat(level, here, box, tolerance)
        if done and (measured or last <= TRUSTED * tolerance or gain == 0):
            break
        if rival and measured and _lost(here, gain, rival):
            break
        there = _line_search(level, here, d, box)
        if there is not None:
            there.B, there.radius = _updated(here, there), _radius(here, there, d, gain)
            last, here = here.value - there.value, there
        elif here.B is None:
            break
        else:  # the Hessian has led nowhere: begin without one
            here, last, measured = SimpleNamespace(**(vars(here) | {"B": None})), np.inf, False
    return here


def step(here, box):
    """(d, gain): Newton's step of the free variables, at most ``here.radius`` long, and what it gains."""
    low, high = box.T
    free = _free(here, box)
    B = np.eye(len(here.z)) if here.B is None else here.B
    e, U = np.linalg.eigh(B[np.ix_(free, free)])
    e, slope = np.maximum(e, FLAT), U.T @ here.gradient[free]
    q = -slope / (e + _shift(e, slope, here.radius))
    d = np.zeros(len(here.z))
    d[free] = U @ q
    if here.gradient @ (np.clip(here.z + d, low, high) - here.z) >= 0:  # what the box cuts off was the descent
        d = -np.clip(here.gradient / max(e.max(initial=0.0), FLAT), -LONGEST, LONGEST)
    return d, float(-(slope @ q) - 0.5 * (e @ q**2))


def _free(here, box):
    """Which variables may go down: not those at a bound that is in the way."""
    low, high = box.T
    return ~(((here.z <= low) & (here.gradient > 0)) | ((here.z >= high) & (here.gradient < 0)))


def _flat(level, here, box, tolerance):
    """Whether, at the tolerance of all rows, no slope is left that a Hessian of fewer rows may have taken for steep.

    What is a valley on all rows can be a dell on a third of them: that Hessian then promises too little.
    """
    final = tolerance <= LEFT * level.fine["ftol"]
    return not final or np.abs(here.gradient[_free(here, box)]).max(initial=0.0) <= STEEP * tolerance


def _radius(here, there, d, gain):
    """How long the next step may be: as this one if that was cut short; up to twice as long if it kept its promise."""
    length = float(np.linalg.norm(there.z - here.z))
    if length < CUT * np.linalg.norm(d):
        return max(length, 0.1)
    kept = here.value - there.value >= KEPT * gain
    return min(max(here.radius, 2.0 * length), LONGEST) if kept else here.radius


def _shift(e, slope, radius):
    """The least μ >= 0 with ‖(B + μI)⁻¹g‖ <= radius, to a few digits: flat directions are cut short, others hardly."""
    low, high = 0.0, float(np.linalg.norm(slope)) / radius  # at the upper end it is shorter, whatever e is
    if not np.linalg.norm(slope / e) > radius:
        return 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(slope / (e + middle)) > radius else (low, middle)
    return high


def _line_search(level, here, d, box):
    """The first point along the step, cut at the box, at which C is lower; None where there is none."""
    length = 1.0
    for _ in range(HALVINGS):
        z = np.clip(here.z + length * d, *box.T)
        move = z - here.z
        slope = here.gradient @ move
        if not slope < 0:
            return None
        value, gradient = level(z)
        if value <= here.value + ARMIJO * slope:
            return SimpleNamespace(value=value, z=z, gradient=gradient)
        length *= float(np.clip(_cubic(here.value, slope, value, gradient @ move), *SHRINK))
    return None


def _cubic(f0, s0, f1, s1):
    """Where in (0, 1) the cubic with these values and slopes at 0 and 1 is least; ½ where nothing can be said."""
    t = 3.0 * (f0 - f1) + s0 + s1
    root = t * t - s0 * s1
    below = 2.0 * np.sqrt(max(root, 0.0)) + s1 - s0
    return (np.sqrt(root) - s0 + t) / below if root >= 0 and below > 0 else 0.5


def _updated(here, there):
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
    return B - np.outer(Bs, Bs) / sBs + np.outer(y, y) / sy


def curvature(level, end, box):
    """The Hessian at an end, by differences of the gradient, made positive; what BFGS has where a trial fails."""
    failed, p = level.record.failed, len(end.z)
    H, moves = np.zeros((p, p)), np.flatnonzero(box[:, 1] - box[:, 0] > 2.0 * DIFFERENCE)
    for j in moves:
        z = end.z.copy()
        z[j] += DIFFERENCE if z[j] + DIFFERENCE <= box[j, 1] else -DIFFERENCE
        H[j] = (level(z)[1] - end.gradient) / (z[j] - end.z[j])
    if level.record.failed > failed:
        return end.B
    B, part = np.eye(p), np.ix_(moves, moves)
    e, U = np.linalg.eigh((H[part] + H[part].T) / 2.0)
    B[part] = (U * np.maximum(np.abs(e), 10.0 * FLAT)) @ U.T
    return B
