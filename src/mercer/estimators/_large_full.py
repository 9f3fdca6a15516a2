"""All rows after landmarks: λ from rows left out near their neighbours, then a solution, if that ends in time."""

import math

import numpy as np

from mercer._clock import Clock
from mercer._warn import warn
from mercer.gram import take
from mercer.inference.neighbours_kept import left_out_near
from mercer.primal import certificate as proof
from mercer.primal.kept import plain
from mercer.solvers.full import ByLandmarks, Cost, seconds_of, solve_all

JUDGED, NEAR = 1024, 64  # rows left out, and neighbours of each, that say how well all rows predict
ROUGH = 2.0  # of Σλ: the trace of K that landmarks miss beyond which blocks of rows come nearer in fewer passes
DOWN, WORTH = 2.0, 0.001  # factor of λ from one trial to the next, and what of the error one must gain
LATE = "No passes over all rows fit the time"
HALVINGS = 40  # of λ, at most: without noise the error falls for ever


def solved(grown, kernel, rows, clock, free):
    """(`Solved` for all rows, λ); None and the λ of the landmarks where it came no nearer: the certificate says which.

    ``grown`` is the fit on landmarks. The error of a target, a tenth of which may be left, is its, or the smaller one
    of some rows left out that their neighbours predict. ``free`` is whether λ was chosen, and may be chosen again.
    """
    fit, found = grown.fit, grown.certificate
    b, loo, unit = plain(fit)[1], grown.errors, math.sqrt(rows.n / rows.total)  # weight w counts w times
    K, rough, s = rows.gram(kernel), rows.gram(kernel, np.float32), np.sqrt(rows.weights())

    def prepare(some, lam=fit.lam):
        own = None if rows.weight is None else s[some]
        return ByLandmarks(kernel, take(rows.X, some), fit.chosen.points, fit.chosen.L, lam, own)

    cost = seconds_of(rough, rows.t + rows.q, prepare) if clock.limited else Cost(0.0, 0.0)
    if not clock.fits(cost.all):
        return _stays(found, LATE), fit.lam
    lam, error = lam_of_all(kernel, rows, fit.lam, b, free, clock.part(keep=cost.all))
    if found["verdict"] == proof.VERDICTS[0] and lam == fit.lam:
        return None, lam
    error = np.maximum(np.minimum(loo, error), fit.floor)
    made = solve_all(
        K, rough, lam, rows.scaled(rows.y), rows.scaled(rows.H), b, prepare(np.arange(rows.n), lam),
        proof.CERTIFIED * error / unit, clock, blocks=fit.missing[0] > ROUGH * rows.total * lam, seconds=cost.product,
    )  # fmt: skip
    if made is None:
        return _stays(found, LATE), fit.lam
    rms, passes = made.rms * unit, made.info["passes"]
    nearer = (rms <= proof.CERTIFIED * error) | (np.hypot(rms, error) < loo)  # errors of predictions, both
    if not nearer.all():
        far = rms[~nearer].max()
        return _stays(found, f"{passes} passes over all rows came no nearer to the exact fit ({far:.3g})"), fit.lam
    _tell(found, made, rms, error, rows.n, clock)
    if lam != fit.lam:
        found["words"] += f" λ is {lam:.3g} for all rows; landmarks alone like {fit.lam:.3g} better."
    return made, lam


def lam_of_all(kernel, rows, lam, b, free, clock):
    """(λ, errors) of all rows, as some of them say that are left out and predicted by their neighbours.

    Landmarks that miss much of K like a large λ. Where it is free, it goes down from theirs while the error falls: the
    mean square over the targets, as a criterion has it. The errors are those of each target.
    """
    error_at = left_out_near(kernel, rows, b, JUDGED, NEAR)
    error, timed = error_at(lam), Clock()
    for _ in range(HALVINGS if free else 0):
        if not clock.fits(timed.seconds):
            break
        timed = Clock()
        less = error_at(lam / DOWN)
        if not np.linalg.norm(less) < (1.0 - WORTH) * np.linalg.norm(error):
            break
        lam, error = lam / DOWN, less
    return lam, error


def _stays(found, why):
    """None: the fit on landmarks is what one gets; its certificate says why."""
    found["words"] += f" {why}: these stay."
    proof.told(found, warn)


def _tell(found, made, rms, error, n, clock):
    """Write into the certificate how near the solution is, of the target that is furthest off beside its error."""
    relative = np.divide(rms, error, out=np.where(rms > 0, np.inf, 0.0), where=error > 0)
    target, was = int(np.argmax(relative)), found["distance"]
    verdict = "solved" if (rms <= proof.CERTIFIED * error).all() else "not solved"
    if len(rms) > 1:
        was = found["distances"][target]
        found |= {"target": target, "distances": rms.tolist(), "errors": error.tolist()}
    words = (
        f"{verdict}: {made.info['passes']} passes over {n} points by {made.info['method']}.{proof.of_target(found)} "
    )
    words += f"The exact fit is within {rms[target]:.3g} (rms over the rows; "
    words += f"{relative[target]:.2g} of the error of predictions, about {error[target]:.3g}); that of "
    words += f"{found['m']} landmarks was known to be within {was:.3g}."
    if verdict != "solved":
        why = "The time budget ended" if clock.limited else f"{made.info['passes']} passes were not enough"
        words += f" {why} before it was {proof.CERTIFIED:g} of it."
    numbers = {"distance": float(rms[target]), "distance_relative": float(relative[target]), **made.info}
    found |= {"verdict": verdict, "words": words, **numbers}
