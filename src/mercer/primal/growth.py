"""From a source to a fit with a certificate: landmarks that double until the leave-one-out error no longer falls.

A solution is refined in passes over the rows, until nobody sees what is left of its equations.
"""

import hashlib
import time
from dataclasses import dataclass, field

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer._policies import OptionSet
from mercer.gram.base import fill
from mercer.primal import certificate as proof
from mercer.primal.design import LandmarkBasis, Sample, choose_landmarks
from mercer.primal.options import LandmarkFitOptions
from mercer.primal.row_keys import RowKeys
from mercer.primal.squared import SquaredFit, fit_squared
from mercer.solvers.normal import Solution
from mercer.sources import OutOfTime, map_reduce

STRIP = 256  # rows whose features stay in the cache


@dataclass
class Remainder:
    """What one pass with a solution finds: the gradient, Σ w e², and K W e at the rows of the certificate."""

    gradient: np.ndarray
    rss: np.ndarray
    back: np.ndarray

    @classmethod
    def of(cls, source, fit, X, **options):
        """Evaluate the fit at all rows, and put its residuals back through the exact kernel at the rows X."""
        design, (alpha, b) = fit.design, fit.solution
        leaf = _Residuals(design, np.vstack([alpha, b]), X)
        found = cls(*map_reduce(leaf, source, leaf.zero, **options))
        found.gradient[: design.m] -= fit.lam * (fit.chosen.L @ (fit.chosen.L.T @ alpha))
        return found


class _Residuals:
    """What a leaf adds to `Remainder`, at θ = [α; b]."""

    def __init__(self, design, theta, X):
        self.design, self.theta, self.X = design, theta, X

    def zero(self):
        """Return the sums before the first leaf."""
        t = self.design.t
        return np.zeros((len(self.theta), t)), np.zeros(t), np.zeros((len(self.X), t))

    def __call__(self, sums, block):
        first, last, size = block.start, block.start + len(block), min(STRIP, len(block))
        room = np.empty((size, self.design.width)), np.empty((size, len(self.X)))  # touched once, read in the cache
        for i in range(first, last, STRIP):
            self._add(sums, block.cut(i, min(i + STRIP, last)), *room)

    def _add(self, sums, block, F, k):
        """Add some rows, whose features have a place."""
        F, inner = self.design.rows(block, F[: len(block)]), len(self.theta)
        e = F[:, inner:] - F[:, :inner] @ self.theta
        sums[0][:] += F[:, :inner].T @ e
        sums[1][:] += np.einsum("it,it->t", e, e)
        if len(self.X):
            k = fill(self.design.kernel, block.X, self.X, k[: len(block)])
            sums[2][:] += k.T @ (e if block.weight is None else np.sqrt(block.weight)[:, None] * e)


def refine_solution(source, fit, X, error, deadline=None, settings=LandmarkFitOptions(), **options):
    """(`Remainder`, steps, rms, rate): steps of refinement in float64 until nobody sees what is left of any target.

    ``rms`` is how far the next step would move the fitted values of each target. ``rate`` is the most that the first
    step left of it: how wrong the sums are beside S + λI; nan where no step was needed.

    Parameters
    ----------
    source : Source
    fit : SquaredFit
        Its solution becomes the refined one.
    X : collection
        Rows of the certificate.
    error : ndarray of shape (t,)
        The leave-one-out errors, which ``rms`` is compared with.
    deadline : float, default=None
        ``time.monotonic()`` after which what has been found is returned; the first pass is always finished.
    settings : LandmarkFitOptions
    """
    m, best, moves, far, rate = fit.design.m, None, None, None, float("nan")
    for step in range(settings.refinements + 1):
        try:
            found = Remainder.of(source, fit, X, deadline=deadline if step else None, **options)
        except OutOfTime:
            break
        more = fit.normal.correct(fit.lam, found.gradient[:m], found.gradient[m:])
        now = fit.normal.rms(more, fit.sums.weight)
        if not step:
            best, moves, better = (fit.solution, found), now, np.ones(len(now), dtype=bool)
        else:
            better = now < 0.5 * moves  # else the one before it stays
            rate = float(np.max(now[far] / moves[far])) if step == 1 else rate
            best = tuple(
                type(a)(*_merge_columns(better, a, b)) for a, b in zip((fit.solution, found), best, strict=True)
            )
            moves = np.where(better, now, moves)
        far = moves > settings.enough * error
        if not (far & better).any() or step == settings.refinements:
            break
        alpha, b = best[0]
        fit.solution = Solution(alpha + more.alpha * better, b + more.b * better)
    fit.solution = best[0]
    return best[1], step, moves, rate


def _merge_columns(which, a, b):
    """The parts of a, and of b in the columns that are not marked."""
    parts = (vars(one).values() if isinstance(one, Remainder) else one for one in (a, b))
    return [np.where(which, x, y) for x, y in zip(*parts, strict=True)]


SLOWER = 4.5  # how much longer twice as many landmarks take, at most


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
    digest: object = None  # `RowKeys` of the rows that it has


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
    settings : OptionSet
        With `LandmarkFitOptions`.
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
    settings: OptionSet = field(default_factory=OptionSet)

    def choose(self, kernel, m):
        """(sample, landmarks) for m of them."""
        options = self.settings[LandmarkFitOptions]
        sample = Sample.draw(self.source, m, self.seed, options)
        least = None if self.lam is None else 0.1 * self.lam / self.source.n
        return sample, choose_landmarks(kernel, sample.candidates, m, self.how, self.seed, least, options)

    def stage(self, kernel, m, lam, rule, clock=FOREVER, again=None):
        """(sample, fit) on m landmarks, or OutOfTime; ``again`` with those of a stage, in float64."""
        sample, chosen = self.choose(kernel, m) if again is None else again
        key = f"{kernel!r} {hashlib.sha256(chosen.L.tobytes()).hexdigest()}"
        options = {**self.options, "key": key, "deadline": clock.deadline}
        basis = LandmarkBasis(kernel, chosen, sample, self.trend, self.centred, self.settings)
        choosing = {"rule": rule, "near": self.near or self.lam}
        fit = fit_squared(
            self.source, basis, lam, single=again is None, precisions=self.precisions, **choosing, **options
        )
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
        if number and not task.clock.fits(SLOWER * (took + _checking_seconds(task, fit))):
            stopped = f"The time budget ended before {m} landmarks."
            break
        stage_started = time.monotonic()
        try:
            sample, fit = task.stage(kernel, m, lam, rule, task.clock if number else FOREVER)
        except OutOfTime:
            stopped = f"The time budget ended before {m} landmarks."
            break
        judged = proof.Curve.of(fit)
        task.near = fit.lam
        stages.append({"m": fit.design.m, "loo": judged[0].errors[-1], "seconds": time.monotonic() - stage_started})
        if fit.design.m < m or judged[0].flat:
            break
    else:
        stopped = f"{task.sizes[-1]} landmarks are as many as fit." if len(task.sizes) > 1 else None
    if stopped is not None and task.clock.limited:
        task.cut.append(stopped)
    sample, fit, (curve, left), (remainder, solver) = _refine_fit(task, sample, fit, judged, lam, rule)
    bounds = proof.distance(fit, remainder, *proof.choose_rows(fit, task.settings[LandmarkFitOptions].certified_rows))
    found = proof.certificate(fit, bounds, len(remainder.back), curve, stopped, time.monotonic() - started)
    stages = [{**stage, "loo": float(stage["loo"][found.get("target", 0)])} for stage in stages]
    if task.options.get("checkpoint") is not None:
        task.options["checkpoint"].remove()
    held = (task.source.aside(), task.source.index) if task.how.held else (None, None)
    digest = RowKeys.of_source(task.source)
    return LandmarkFit(fit, sample, left, found, remainder.rss, solver, stages, curve.last, *held, digest)


def _checking_seconds(task, fit):
    """Seconds of a pass that checks a fit, from that of its sums: m and the rows of the certificate are evaluated."""
    m = fit.design.m
    return fit.seconds["sums"] * (m + task.settings[LandmarkFitOptions].certified_rows) / m / 2.0


def _refine_fit(task, sample, fit, judged, lam, rule):
    """The fit at its minimum; sums in float32 that prove too coarse are made again in float64."""
    options = {name: value for name, value in task.options.items() if name != "checkpoint"}
    used = sample.some.weight
    some = sample.some if used is None else sample.some.cut_to(used > 0)

    settings = task.settings[LandmarkFitOptions]

    def refine(fit, judged):
        X = some.cut_to(proof.choose_rows(fit, settings.certified_rows)[0]).X
        return refine_solution(task.source, fit, X, judged[0].last, task.clock.deadline, settings, **options)

    remainder, steps, rms, rate = refine(fit, judged)
    # sums of squares below 1e-5 of those of y float32 does not know
    exact = (remainder.rss <= 1e-5 * fit.normal.total) & (fit.spread > fit.floor)
    if fit.single and (rate > settings.coarse or exact.any()):
        try:
            sample, fit = task.stage(fit.design.kernel, fit.design.m, lam, rule, task.clock, (sample, fit.chosen))
            judged = proof.Curve.of(fit)
            remainder, steps, rms, rate = refine(fit, judged)
        except OutOfTime:
            task.cut.append("The time budget ended before sums in float32 were made again in float64.")
    solver = {"refinement_steps": steps, "solver_rms": float(rms.max()), "sums": "float32" if fit.single else "float64"}
    solver |= {"out_of_time": list(task.cut)} if task.cut else {}
    solver |= {"jitter": fit.chosen.jitter, "seconds_choosing": fit.chosen.seconds, "seconds_sums": fit.seconds["sums"]}
    return sample, fit, judged, (remainder, solver)
