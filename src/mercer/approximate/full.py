"""All rows after landmarks: λ from rows left out near their neighbours, then a solution, if that ends in time."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from mercer._clock import Clock
from mercer._warn import warn
from mercer.approximate import landmarks_ridge
from mercer.approximate.base import Approximation
from mercer.approximate.fitted import conventions, expansion, number_by_target
from mercer.approximate.landmarks import Landmarks
from mercer.approximate.landmarks_state import plain
from mercer.approximate.neighbours_left_out import left_out_errors
from mercer.approximate.options import LandmarkOptions
from mercer.gram import Rows, take
from mercer.primal import certificate as proof
from mercer.solvers.full import ByLandmarks, Cost, FullSolveOptions, System, seconds_of, solve_all
from mercer.solvers.plan_approximate import affordable

ITERATED = "A factor of all rows does not fit the memory; an iteration need not go on to the last digits."
LATE = "No passes over all rows fit the time"


@dataclass(frozen=True)
class FullSolve(Approximation):
    """The exact ridge regression, iterated until a tenth of the error of predictions is left, after landmarks.

    Parameters
    ----------
    landmarks : Landmarks
        Which precondition the solution, and are what one gets where time ends before.
    """

    models = ("ridge",)
    landmarks: Landmarks = field(default_factory=lambda: Landmarks(solve=True))

    def plan(self, problem, binding=True):
        """See `Approximation.plan`."""
        return self.landmarks.plan(problem, binding, solve=True)

    @classmethod
    def offer(cls, problem, exact, why):
        """See `Approximation.offer`."""
        why = why or (ITERATED if exact.solver == "cg" else "")
        if not why:
            return None
        factors = problem.options[LandmarkOptions].factors if problem.lengths_tried else 0
        plan = affordable(problem.row_sizes(), factors=factors, why=why)
        return plan and (cls(), plan)

    def search(self, problem):
        """See `Approximation.search`."""
        problem = replace(problem, on_some=True)
        return landmarks_ridge.search(
            self.landmarks, problem, lambda: problem.clock.part(problem.options[LandmarkOptions].share_before)
        )

    def fit(self, problem, at):
        """See `Approximation.fit`."""
        fitted, at = landmarks_ridge.fit_landmarks_alone(problem, at)
        rows, source, held = problem.rows, at.start[0].source, self.landmarks.held
        if held:  # rows of weight 0 to the fit
            seen = source.take(np.arange(source.n))
            rows = Rows(seen.X, seen.y, seen.weight, rows.trend, problem.merge)
        free = problem.criterion is not None and problem.optimize != "kernel"
        whole, at.lam = solve_all_rows(fitted, at.kernel, rows, problem.clock, free, problem.options[FullSolveOptions])
        if at.result is not None:
            at.result.lam = at.lam
        state, unit = landmarks_ridge.state_of(problem, at, fitted), problem.rows.unit
        state.learnt |= {"lam_": at.lam, "regularization_": conventions(at.lam, fitted.fit.sums.weight)}
        if whole is None:
            return state
        alpha, state.solved = rows.scaled(whole.alpha), True
        state.learnt |= expansion(at.kernel, rows.X, alpha * unit, whole.b * unit, problem.flat)
        state.learnt["rkhs_norm_"] = number_by_target(np.sqrt(whole.square) * unit, problem.flat)
        state.learnt["point_index_"] = rows.point_index()
        if held:
            state.take_held_from(rows.X, alpha, whole.b)
        return state


def solve_all_rows(fitted, kernel, rows, clock, free, options=FullSolveOptions()):
    """(`Solved` for all rows, λ); None and the λ of the landmarks where it came no nearer: the certificate says which.

    ``fitted`` is the `LandmarkFit`. The error of a target, a tenth of which may be left, is its, or the smaller one
    of some rows left out that their neighbours predict. ``free`` is whether λ was chosen, and may be chosen again.
    """
    fit, found = fitted.fit, fitted.certificate
    b, loo, unit = plain(fit)[1], fitted.errors, math.sqrt(rows.n / rows.total)  # weight w counts w times
    K, rough, s = rows.gram(kernel), rows.gram(kernel, np.float32), np.sqrt(rows.weights())

    def prepare(some, lam=fit.lam):
        own = None if rows.weight is None else s[some]
        return ByLandmarks(kernel, take(rows.X, some), fit.chosen.points, fit.chosen.L, lam, own, options.landmarks)

    cost = seconds_of(rough, rows.t + rows.q, prepare, options) if clock.limited else Cost(0.0, 0.0)
    if not clock.fits(cost.all):
        return _keep_landmarks(found, LATE), fit.lam
    lam, error = lam_of_all(kernel, rows, fit.lam, b, free, clock.part(keep=cost.all))
    if found["verdict"] == proof.VERDICTS[0] and lam == fit.lam:
        return None, lam
    error = np.maximum(np.minimum(loo, error), fit.floor)
    system = System(K, rough, lam, rows.scaled(rows.y), rows.scaled(rows.H))
    more = {"blocks": fit.missing[0] > options.rough_trace * rows.total * lam, "seconds": cost.product}
    goal, whole = proof.CERTIFIED * error / unit, prepare(np.arange(rows.n), lam)
    made = solve_all(system, b, whole, goal, clock, **more, options=options)
    if made is None:
        return _keep_landmarks(found, LATE), fit.lam
    rms, passes = made.rms * unit, made.info["passes"]
    nearer = (rms <= proof.CERTIFIED * error) | (np.hypot(rms, error) < loo)  # errors of predictions, both
    if not nearer.all():
        far = rms[~nearer].max()
        why = f"{passes} passes over all rows came no nearer to the exact fit ({far:.3g})"
        return _keep_landmarks(found, why), fit.lam
    _certify(found, made, rms, error, rows.n, clock)
    if lam != fit.lam:
        found["words"] += f" λ is {lam:.3g} for all rows; landmarks alone like {fit.lam:.3g} better."
    return made, lam


def lam_of_all(kernel, rows, lam, b, free, clock, count=1024, k=64):
    """(λ, errors) of all rows, as some of them say that are left out and predicted by their neighbours.

    Landmarks that miss much of K like a large λ. Where it is free, it is halved from theirs while the error falls by a
    thousandth: the mean square over the targets, as a criterion has it. The errors are those of each target.
    """
    error_at = left_out_errors(kernel, rows, b, count, k)
    error, timed = error_at(lam), Clock()
    for _ in range(40 if free else 0):  # without noise the error falls for ever
        if not clock.fits(timed.seconds):
            break
        timed = Clock()
        less = error_at(lam / 2.0)
        if not np.linalg.norm(less) < 0.999 * np.linalg.norm(error):
            break
        lam, error = lam / 2.0, less
    return lam, error


def _keep_landmarks(found, why):
    """None: the fit on landmarks is what one gets; its certificate says why."""
    found["words"] += f" {why}: these stay."
    proof.warn_of(found, warn)


def _certify(found, made, rms, error, n, clock):
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
