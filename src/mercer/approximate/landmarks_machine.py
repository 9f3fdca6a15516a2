"""A kernel machine on landmarks: how many by a least-squares fit to a sample, then the loss itself on all rows."""

import time
from dataclasses import replace

import numpy as np

from mercer._warn import warn
from mercer.approximate.base import Hyperparameters
from mercer.approximate.classes import as_signs
from mercer.approximate.landmarks import engine_of, kernels_on_sample, prepare_search
from mercer.approximate.machine import MachineFit
from mercer.approximate.options import LandmarkOptions
from mercer.gram import Rows
from mercer.gram.base import draw_rows
from mercer.gram.rows import constant
from mercer.primal import certificate as proof
from mercer.primal.design import LandmarkBasis, Sample
from mercer.primal.growth import SLOWER
from mercer.primal.smooth import SmoothLimits, fit_smooth
from mercer.primal.squared import fit_squared
from mercer.sources import Arrays


class LabelSigns:
    """Labels, numbers of the ascending ``classes``, as columns of ±1; it travels to whoever reads them."""

    def __init__(self, classes):
        self.classes, self.t = classes, 1 if len(classes) == 2 else len(classes)

    def __call__(self, y):
        """Return the columns of some labels."""
        return as_signs(np.searchsorted(self.classes, y[:, 0]), len(self.classes))


def search(how, problem):
    """See `Approximation.search`: on some of the rows, exactly."""
    if how.held or how.checkpoint is not None:
        raise ValueError(
            "Landmarks(held=, checkpoint=) are for the squared loss, in KernelRidge; here set rows aside, and give "
            "calibration=(X, y)."
        )
    problem = replace(problem, kernels=kernels_on_sample(problem))
    if problem.criterion is None:
        return Hyperparameters(problem.kernels[0], problem.single_lam())
    source, options = problem.as_source(), problem.options[LandmarkOptions]
    block = source.take(draw_rows(source.n, options.machine_subset, problem.seed + 2))
    rows = Rows(block.X, block.y, block.weight, merge=False)
    columns = problem.columns(rows.y, rows.weights(), stored=True)
    return problem.choose(rows, columns, rows.y.argmax(axis=1), problem.clock.part(options.choosing_share))


def fit(how, problem, at):
    """See `Approximation.fit`."""
    source, trend = problem.as_source(), constant if problem.trend else None
    task = prepare_search(how, problem, trend)
    sample, chosen, points, is_flat, candidates = enough_landmarks(
        task, at.kernel, problem.options[LandmarkOptions].choosing_share
    )
    started = time.perf_counter()
    options = {name: task.options[name] for name in ("progress",) if name in task.options}
    limits = SmoothLimits(problem.tol, problem.max_iter, task.clock, problem.memory)
    basis = LandmarkBasis(at.kernel, chosen, sample, trend, options=problem.options)
    found = fit_smooth(source, basis, problem.loss, at.lam, joint=problem.joint, limits=limits, **options)
    seconds = time.perf_counter() - started
    fit = MachineFit(at, problem.loss, problem.tol, problem.flat and found.alpha.shape[1] == 1)
    b = found.b[0] if len(found.b) else np.zeros(found.alpha.shape[1])
    fit.set_function(chosen.points, found.alpha, b, float(source.n))
    fit.set_certificate(found.gap, found.objective, found.violation, found.iterations)
    counts = {"rows": source.n, "dropped_rows": 0, "points": chosen.m, "engine": engine_of(source)}
    fit.say(counts, [found.status], found.info, None if at.start is None else at.start[2].warnings)
    fit.said["approximation"] = describe_enough(chosen, points, is_flat, candidates, source.n, seconds)
    return fit


def enough_landmarks(task, kernel, share):
    """(sample, landmarks, curve, whether it is flat, its rows): the first stage whose least-squares error stays.

    The fit is one of the candidates, and rows that are left out of it one by one are some of them: of others a leverage
    means nothing.
    """
    clock = task.clock.part(share)
    for m in task.sizes:
        began = clock.seconds
        sample, chosen = task.choose(kernel, m)
        rows = sample.candidates
        near = Arrays(rows.X, rows.y, rows.weight)
        some = Sample.of(rows)
        fit = fit_squared(
            near, LandmarkBasis(kernel, chosen, some, task.trend, options=task.settings), None, rule="gcv"
        )
        curve = proof.Curve.of(fit)[0]
        is_flat = curve.flat
        if chosen.m < m or is_flat or not clock.fits(SLOWER * (clock.seconds - began)):
            break
    points = curve.points(curve.least_certain(np.full(len(curve.last), np.inf)))
    return sample, chosen, points, is_flat or chosen.left <= 1e-5, len(rows)


def describe_enough(chosen, points, is_enough, rows, n, seconds):
    """The certificate of another loss: no distance from the exact fit, but whether landmarks are still worth it."""
    found = {"kind": "landmarks", "m": chosen.m, "verdict": proof.VERDICTS[1 if is_enough else 2]}
    found |= {"trace_missing": chosen.missing, "loo": [list(point) for point in points], "loo_rows": rows}
    errors = ", ".join(f"{error:.4g} at m = {m}" for m, error, _ in reversed(points))
    found["words"] = (
        f"{found['verdict']}: {chosen.m} landmarks. Leave-one-out error of a least-squares fit to {rows} rows: "
        f"{errors}. {chosen.missing:.2g} of the trace of K is missing. The distance from the exact fit is not "
        "certified."
    )
    if not is_enough:
        more = proof.estimate_landmarks(points, n)
        found |= {"wanted_m": more, "wanted_seconds": seconds * more / chosen.m}
    return proof.warn_of(found, warn)
