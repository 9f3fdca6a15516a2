"""From a source to a fit with a certificate: landmarks that double until the leave-one-out error no longer falls."""

import hashlib
import time
from dataclasses import dataclass, field

from mercer._clock import FOREVER, Clock
from mercer.primal import certificate as proof
from mercer.primal.design import Sample, choose_landmarks
from mercer.primal.digest import RowDigest
from mercer.primal.remainder import refine
from mercer.primal.squared import SquaredFit, fit_squared
from mercer.sources import OutOfTime

SLOWER = 4.5  # how much longer twice as many landmarks take, at most
CERTIFYING = 512  # rows that residuals are put back through the exact kernel at, where there are too many for all
COARSE = 0.05  # what a step of refinement may leave of the gradient, if sums in float32 are to count
TINY = 1e-5  # of y: a sum of squares that float32 does not know


@dataclass
class LandmarkFit:
    """A fit on landmarks, and what is known of it."""

    fit: SquaredFit
    sample: Sample
    left: object
    certificate: dict
    rss: object
    solver: dict
    stages: list = field(default_factory=list)
    errors: object = None  # leave-one-out errors of each target
    held: object = None  # rows that the fit has not seen
    held_index: object = None  # and which they are
    digest: object = None  # `RowDigest` of the rows that it has


@dataclass
class LandmarkSearch:
    """The adaptive choice of landmarks: what a fit on them is asked for, beside its kernel.

    Attributes
    ----------
    source : Source
    how : Landmarks
    sizes : list of int
        How many landmarks: one number, or those of the stages.
    trend : callable or None
    centred : bool
        Whether the trend has a constant in its first column.
    seed : int
    clock : Clock
        No stage begins that would end too late and none is waited for, but for the first.
    options : dict
        Of `mercer.sources.map_reduce`: progress, checkpoint.
    lam : float or None
        About what λ will be: what counts of a direction depends on it.
    near : float or None
        The λ of the stage before, where a search for the next begins.
    cut : list of str
        What the clock has ended.
    precisions : bool
        Whether weights are precisions: noise variances λ/w.
    """

    source: object
    how: object
    sizes: list
    trend: object = None
    centred: bool = True
    seed: int = 0
    clock: Clock = FOREVER
    options: dict = field(default_factory=dict)
    lam: float | None = None
    near: float | None = None
    cut: list = field(default_factory=list)
    precisions: bool = False

    def choose(self, kernel, m):
        """(sample, landmarks) for m of them."""
        sample = Sample.draw(self.source, m, self.seed)
        least = None if self.lam is None else 0.1 * self.lam / self.source.n
        return sample, choose_landmarks(kernel, sample.candidates, m, self.how, self.seed, least)

    def stage(self, kernel, m, lam, rule, clock=FOREVER, again=None):
        """(sample, fit) on m landmarks, or OutOfTime; ``again`` with those of a stage, in float64."""
        sample, chosen = self.choose(kernel, m) if again is None else again
        key = f"{kernel!r} {hashlib.sha256(chosen.L.tobytes()).hexdigest()}"
        options = {**self.options, "key": key, "deadline": clock.deadline}
        fit = fit_squared(
            self.source, kernel, chosen, lam, trend=self.trend, sample=sample, centred=self.centred, rule=rule,
            near=self.near or self.lam, single=again is None, precisions=self.precisions, **options,
        )  # fmt: skip
        return sample, fit


def fit_landmarks(task, kernel, lam, rule=None):
    """`LandmarkFit`: stages of more and more landmarks; the last that was finished is refined and certified.

    Parameters
    ----------
    task : LandmarkSearch
    kernel : Kernel
    lam : float or None
        λ; None where a rule chooses it, at each number of landmarks anew.
    rule : {"loo", "gcv", "elbo"}, default=None
    """
    sample = fit = judged = stopped = None
    stages, started = [], time.monotonic()
    for number, m in enumerate(task.sizes):
        took = stages[-1]["seconds"] if stages else 0.0
        if number and not task.clock.fits(SLOWER * (took + _checking(fit))):
            stopped = f"The time budget ended before {m} landmarks."
            break
        begun = time.monotonic()
        try:
            sample, fit = task.stage(kernel, m, lam, rule, task.clock if number else FOREVER)
        except OutOfTime:
            stopped = f"The time budget ended before {m} landmarks."
            break
        judged = proof.Curve.of(fit)
        task.near = fit.lam
        stages.append({"m": fit.design.m, "loo": judged[0].errors[-1], "seconds": time.monotonic() - begun})
        if fit.design.m < m or judged[0].flat:
            break
    else:
        stopped = f"{task.sizes[-1]} landmarks are as many as fit." if len(task.sizes) > 1 else None
    if stopped is not None and task.clock.limited:
        task.cut.append(stopped)
    sample, fit, (curve, left), (remainder, solver) = _refined(task, sample, fit, judged, lam, rule)
    bounds = proof.distance(fit, remainder, *proof.rows_of(fit, CERTIFYING))
    found = proof.certificate(fit, bounds, len(remainder.back), curve, stopped, time.monotonic() - started)
    stages = [{**stage, "loo": float(stage["loo"][found.get("target", 0)])} for stage in stages]
    if task.options.get("checkpoint") is not None:
        task.options["checkpoint"].remove()
    held = (task.source.aside(), task.source.index) if task.how.held else (None, None)
    digest = RowDigest.of_source(task.source)
    return LandmarkFit(fit, sample, left, found, remainder.rss, solver, stages, curve.last, *held, digest)


def _checking(fit):
    """Seconds of a pass that checks a fit, from that of its sums: m and the rows of the certificate are evaluated."""
    m = fit.design.m
    return fit.seconds["sums"] * (m + CERTIFYING) / m / 2.0


def _refined(task, sample, fit, judged, lam, rule):
    """The fit at its minimum; sums in float32 that prove too coarse are made again in float64."""
    options = {name: value for name, value in task.options.items() if name != "checkpoint"}
    used = sample.some.weight
    some = sample.some if used is None else sample.some.cut_to(used > 0)

    def refined(fit, judged):
        X = some.cut_to(proof.rows_of(fit, CERTIFYING)[0]).X
        return refine(task.source, fit, X, judged[0].last, task.clock.deadline, **options)

    remainder, steps, rms, rate = refined(fit, judged)
    exact = (remainder.rss <= TINY * fit.normal.total) & (fit.spread > fit.floor)
    if fit.single and (rate > COARSE or exact.any()):
        try:
            sample, fit = task.stage(fit.design.kernel, fit.design.m, lam, rule, task.clock, (sample, fit.chosen))
            judged = proof.Curve.of(fit)
            remainder, steps, rms, rate = refined(fit, judged)
        except OutOfTime:
            task.cut.append("The time budget ended before sums in float32 were made again in float64.")
    solver = {"refinement_steps": steps, "solver_rms": float(rms.max()), "sums": "float32" if fit.single else "float64"}
    solver |= {"out_of_time": list(task.cut)} if task.cut else {}
    solver |= {"jitter": fit.chosen.jitter, "seconds_choosing": fit.chosen.seconds, "seconds_sums": fit.seconds["sums"]}
    return sample, fit, judged, (remainder, solver)
