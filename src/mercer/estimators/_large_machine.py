"""A kernel machine on landmarks: how many by a least-squares fit to a sample, then the loss itself on all rows."""

import time

from mercer._warn import warn
from mercer.estimators import _large as large
from mercer.estimators._base import named_trend
from mercer.gram.rows import constant
from mercer.primal import certificate as proof
from mercer.primal.growth import SLOWER
from mercer.primal.smooth import fit_smooth
from mercer.sources import Arrays

CHOOSING = 0.3  # of the time, for finding out how many landmarks are enough


def fit_machine(estimator, source, kernel, lam, loss, joint, report=None):
    """(`SmoothFit`, what is known of the approximation).

    Parameters
    ----------
    estimator : KernelMachine
        With its plan.
    source : Source
        y as the columns of the loss.
    kernel : Kernel
    lam : float
    loss : Loss
    joint : bool
        Whether one softmax joins the columns.
    report : callable, default=None
        Told of progress.
    """
    if estimator.criterion is not None and not isinstance(estimator.approximation, str):
        raise ValueError("with landmarks a KernelMachine takes lam as it is: criterion=None, or approximation=None.")
    trend = named_trend(estimator) and constant
    task = large.task_of(estimator, source, estimator.plan_, trend, report)
    sample, chosen, points = _enough(task, kernel)
    started = time.perf_counter()
    options = {"tol": estimator.tol, "max_iter": estimator.max_iter, "clock": task.clock, "joint": joint}
    options["memory"] = estimator.memory
    if "progress" in task.options:
        options["progress"] = task.options["progress"]
    found = fit_smooth(source, kernel, chosen, loss, lam, trend=trend, sample=sample, **options)
    seconds = time.perf_counter() - started
    return found, _said(chosen, points, len(sample.candidates), source.n, seconds)


def _enough(task, kernel):
    """(sample, landmarks, curve): those of the first stage whose least-squares error on the sample no longer falls."""
    clock = task.clock.part(CHOOSING)
    for m in task.sizes:
        began = clock.seconds
        sample, chosen = task.choose(kernel, m)
        rows = sample.candidates
        near = large.Task(Arrays(rows.X, rows.y, rows.weight), task.how, [m], task.trend, True, task.seed)
        fit = near.stage(kernel, m, None, "gcv", again=(sample, chosen))[1]
        points = proof.curve(fit)[0]
        if chosen.m < m or proof.flat(points) or not clock.fits(SLOWER * (clock.seconds - began)):
            break
    return sample, chosen, points


def _said(chosen, points, rows, n, seconds):
    """The certificate of another loss: no distance from the exact fit, but whether landmarks are still worth it."""
    enough = proof.flat(points) or chosen.left <= 1e-5
    found = {"kind": "landmarks", "m": chosen.m, "verdict": proof.VERDICTS[1 if enough else 2]}
    found |= {"trace_missing": chosen.missing, "loo": [list(point) for point in points], "loo_rows": rows}
    errors = ", ".join(f"{error:.4g} at m = {m}" for m, error, _ in reversed(points))
    found["words"] = (
        f"{found['verdict']}: {chosen.m} landmarks. Leave-one-out error of a least-squares fit to {rows} rows: "
        f"{errors}. {chosen.missing:.2g} of the trace of K is missing. The distance from the exact fit is not "
        "certified."
    )
    if not enough:
        more = proof.wanted(points, n)
        found |= {"wanted_m": more, "wanted_seconds": seconds * more / chosen.m}
    return proof.told(found, warn)
