"""A kernel machine on landmarks: how many by a least-squares fit to a sample, then the loss itself on all rows."""

import time

import numpy as np

from mercer._warn import warn
from mercer.dual.columns import LossColumns
from mercer.estimators import _large as large
from mercer.estimators._base import conventions, named_trend
from mercer.estimators._labels import as_signs, number_labels
from mercer.estimators.validation import seed_of
from mercer.gram import Rows
from mercer.gram.landmarks import Landmarks, drawn
from mercer.gram.rows import constant
from mercer.primal import certificate as proof
from mercer.primal.design import Sample
from mercer.primal.growth import SLOWER
from mercer.primal.smooth import fit_smooth
from mercer.primal.squared import fit_squared
from mercer.selection.result import reporter
from mercer.sources import Arrays
from mercer.sources.changed import Recoded, distinct

SUBSET = 1500  # rows that a criterion chooses on: every λ is some Newton steps
CHOOSING = 0.3  # of the time, for choosing on them, and of the rest for finding out how many landmarks are enough


class LabelSigns:
    """Labels, numbers of the ascending ``classes``, as columns of ±1; it travels to whoever reads them."""

    def __init__(self, classes):
        self.classes, self.t = classes, 1 if len(classes) == 2 else len(classes)

    def __call__(self, y):
        """Return the columns of some labels."""
        return as_signs(np.searchsorted(self.classes, y[:, 0]), len(self.classes))


def read_machine(estimator, loss, X, y, sample_weight):
    """(source, kernels, flat) of data that are read; labels are found in one reading."""
    source, flat = large.read(estimator, X, y, sample_weight)
    kernels = large.read_kernels(estimator, source)
    if loss.classification:
        if source.t != 1:
            raise ValueError(f"labels are one column; got {source.t}.")
        seen = distinct(source)
        estimator.classes_, _ = number_labels(seen.astype(int) if (seen == seen.astype(int)).all() else seen)
        signs = LabelSigns(seen)
        source, flat = Recoded(source, signs, signs.t), len(seen) == 2
    estimator.plan_ = large.source_plan(estimator, source)
    return source, kernels, flat


def fit_machine(estimator, source, kernels, flat, loss, rule):
    """Fit a machine that has its plan on landmarks, and set what is learnt; y of the source are columns of the loss.

    ``rule`` chooses λ and the kernel on a subset of the rows.
    """
    how = estimator.approximation
    if isinstance(how, Landmarks) and (how.held or how.checkpoint is not None):
        raise ValueError(
            "Landmarks(held=, checkpoint=) are for the squared loss, in KernelRidge; here set rows aside, and give "
            "calibration=(X, y)."
        )
    joint = estimator.multi_class == "softmax" and loss.classification and source.t > 1
    kernel, lam = _chosen(estimator, source, kernels, loss, rule, joint)
    trend = named_trend(estimator) and constant
    task = large.task_of(estimator, source, estimator.plan_, trend, reporter(estimator))
    sample, chosen, points, flat_now, candidates = enough(task, kernel)
    started = time.perf_counter()
    options = {"tol": estimator.tol, "max_iter": estimator.max_iter, "clock": task.clock, "joint": joint}
    options["memory"] = estimator.memory
    if "progress" in task.options:
        options["progress"] = task.options["progress"]
    found = fit_smooth(source, kernel, chosen, loss, lam, trend=trend, sample=sample, **options)
    seconds = time.perf_counter() - started
    estimator.loss_, estimator.lam_, columns = loss, lam, found.alpha.shape[1]
    b = found.b[0] if len(found.b) else np.zeros(columns)
    estimator._set_model(kernel, chosen.points, found.alpha, b, flat and columns == 1)
    estimator.dual_gap_, estimator.objective_, estimator.kkt_violation_ = found.gap, found.objective, found.violation
    estimator.n_iter_, estimator.regularization_ = found.iterations, conventions(lam, float(source.n))
    counts = {"rows": source.n, "dropped_rows": 0, "points": chosen.m, "engine": large.engine_of(source)}
    estimator._tell(counts, columns, [found.status], found.info)
    estimator.fit_report_["approximation"] = said_enough(chosen, points, flat_now, candidates, source.n, seconds)


def _chosen(estimator, source, kernels, loss, rule, joint):
    """(kernel, λ): as they are given, or as the criterion chooses them on some rows, exactly."""
    if rule is None:
        if np.ndim(estimator.lam):
            raise ValueError(f"lam is a list of {np.size(estimator.lam)} values; give one, or a criterion.")
        return kernels[0], float(estimator.lam)
    block = source.take(drawn(source.n, SUBSET, seed_of(estimator.random_state) + 2))
    rows = Rows(block.X, block.y, block.weight, merge=False)
    options = {name: getattr(estimator, name) for name in ("tol", "max_iter", "memory", "solver")}
    options |= {"joint": joint, "stored": True, "intercept": named_trend(estimator) is not None}
    columns = LossColumns(loss, loss.check_target(rows.y), rows.weights(), **options)
    clock = estimator._clock.part(CHOOSING)
    kernel, lam, _ = estimator._select(rule, kernels, rows, columns, rows.y.argmax(axis=1), clock)
    estimator.__dict__.pop("loo_decision_", None)  # of these rows, not of all
    return kernel, float(lam)


def enough(task, kernel):
    """(sample, landmarks, curve, whether it is flat, its rows): the first stage whose least-squares error stays.

    The fit is one of the candidates, and rows that are left out of it one by one are some of them: of others a leverage
    means nothing.
    """
    clock = task.clock.part(CHOOSING)
    for m in task.sizes:
        began = clock.seconds
        sample, chosen = task.choose(kernel, m)
        rows = sample.candidates
        near = Arrays(rows.X, rows.y, rows.weight)
        some = Sample.of(rows)
        fit = fit_squared(near, kernel, chosen, None, trend=task.trend, sample=some, rule="gcv")
        curve = proof.Curve.of(fit)[0]
        is_flat = curve.flat
        if chosen.m < m or is_flat or not clock.fits(SLOWER * (clock.seconds - began)):
            break
    points = curve.points(curve.least_certain(np.full(len(curve.last), np.inf)))
    return sample, chosen, points, is_flat or chosen.left <= 1e-5, len(rows)


def said_enough(chosen, points, enough, rows, n, seconds):
    """The certificate of another loss: no distance from the exact fit, but whether landmarks are still worth it."""
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
