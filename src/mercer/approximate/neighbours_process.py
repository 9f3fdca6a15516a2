"""A Gaussian process by neighbours: hyper-parameters from some rows, then by batches; recalibrated on rows left out."""

import math
import time
from dataclasses import replace

import numpy as np

from mercer.approximate.base import Hyperparameters
from mercer.approximate.kernels import refuse_without_points
from mercer.approximate.neighbours_left_out import enough_rows
from mercer.approximate.neighbours_state import NeighbourState
from mercer.approximate.options import NeighbourOptions
from mercer.approximate.process import evidence_of, learn, make_prior
from mercer.gram import take
from mercer.gram.base import draw_rows
from mercer.inference.neighbours import NeighbourPosterior
from mercer.kernels.algebra import rescale
from mercer.kernels.hyper import lengths_of
from mercer.primal.design import choose_landmarks
from mercer.selection import NeighbourSearchOptions, PriorOptions
from mercer.selection.search import Record, SearchSpace
from mercer.selection.search.neighbours import NeighbourDensity, search_neighbours
from mercer.solvers import Cholesky
from mercer.sources.base import Block


def plan_options(how, problem, fourier=False):
    """What a plan is told of a process."""
    criterion = problem.criterion
    if criterion is not None and criterion.by_neighbours is None:
        raise ValueError(f'{criterion!r} needs all of K; by neighbours use criterion="evidence", "loo" or None.')
    part = how.global_part()
    m = 0 if part is None else _size(part, problem)
    return {"m": m, "learnt": criterion is not None, "fourier": fourier}


def _size(part, problem):
    """How many landmarks carry the global part."""
    return problem.options[NeighbourOptions].landmarks if isinstance(part.m, str) else min(part.m, problem.n)


def search(how, problem, refine_more=None):
    """See `Approximation.search`; ``refine_more`` is (found, space) ↦ a `SearchResult` that goes on from one."""
    rows, kernel, lam, result = problem.rows, problem.kernels[0], problem.start, None
    started, one = time.perf_counter(), take(rows.X, np.arange(1))
    refuse_without_points(kernel, kernel.stored_inputs(one), "new rows have no neighbours; use approximation=None")
    if problem.criterion is not None:
        subset = problem.options[NeighbourOptions].subset
        some = rows.take(draw_rows(rows.n, subset, how.random_state + 2)) if rows.n > subset else rows
        at = learn(problem, problem.kernels, some, lam, Cholesky())
        kernel, lam, result = at.kernel, at.lam, at.result
        if rows.n > subset:
            result = _refine(how, problem, at, started, refine_more)
            kernel, lam = result.kernel, result.lam
    if not lam >= 0:
        raise ValueError(f"noise = {lam}: neighbours need noise >= 0.")
    return Hyperparameters(kernel, lam, result)


def fit(how, problem, at):
    """See `Approximation.fit`: by as many neighbours as rows left out gain by."""
    rows, criterion, seed = problem.rows, evidence_of(problem.precisions), how.random_state
    basis, options = _global_part(problem, at.kernel, how), problem.options[NeighbourOptions]
    f = NeighbourPosterior.fit(at.kernel, rows, at.lam, how.first(problem), seed, criterion, basis)
    k, tried = enough_rows(f, seed, how.most(problem), problem.precisions, problem.clock, options)
    if k != f.k:
        f = NeighbourPosterior.fit(at.kernel, rows, at.lam, k, seed, criterion, basis)
    return state_of(how, problem, at, f, tried)


def state_of(how, problem, at, f, tried=(), near=None):
    """`NeighbourState` of a posterior that ``how`` has made; ``near`` are the neighbours of its variances."""
    near = near or how
    options = {"flat": problem.flat, "precisions": problem.precisions, "how": how, "plan": problem.plan}
    options["options"] = problem.options[NeighbourOptions]
    state = NeighbourState.of(f, near.random_state, tried, **options)
    if near.recalibrate and problem.criterion is not None and problem.optimize == "all":
        state = _recalibrate(f, state, state.variance_factor())
    state.result = at.result
    return state


def _starts(kernel, kernels, lam, variance):
    """Starts beside what was found on some rows: a length that it made too long to matter may matter on all of them.

    Beyond five median distances its slope is too small to follow; a tenth of the variance as noise takes structure in
    as it pays.
    """
    first = next((one for one in kernels if one.names == kernel.names), kernel)
    lengths = lengths_of(kernel.names)
    near = np.clip(kernel.theta, first.theta - math.log(5.0), first.theta + math.log(5.0))
    mine = np.where(lengths, near, kernel.theta)
    lam = max(lam, 0.1 * variance)
    return [np.append(theta, math.log(lam)) for theta in (mine, np.where(lengths, first.theta, mine))]


def _refine(how, problem, at, started, refine_more):
    """The `SearchResult` by batches of rows of all; what was found on some rows is where they begin."""
    kernel, rows, criterion = at.kernel, problem.rows, problem.criterion
    counts = np.bincount(rows.index, minlength=rows.n).astype(float) if criterion.weights == "precision" else None
    starts = _starts(kernel, problem.kernels, at.lam, float(rows.y.var(axis=0).mean()))
    prior = make_prior(problem.prior, kernel, rows, criterion, problem.options[PriorOptions])
    space = SearchSpace(kernel, at.lam, problem.bounds, problem.optimize, prior)
    density = NeighbourDensity(rows, how.first(problem), criterion.by_neighbours == "before", counts)
    record, options = Record(problem.search_clock(), problem.report), problem.options[NeighbourSearchOptions]
    found = search_neighbours(space, criterion, density, starts, record=record, seed=how.random_state, options=options)
    if refine_more is not None and density.ordered:
        found = refine_more(found, replace(space, kernel=found.kernel, lam=found.lam))
    first = at.result
    found.criterion, found.candidates = first.criterion, first.candidates
    found.history = [*first.history, *found.history]
    found.evaluations, found.seconds = len(found.history), time.perf_counter() - started
    return found.warn()


def _global_part(problem, kernel, how):
    """(landmarks, L) that carry what is smooth, chosen among 20 times as many rows; or None."""
    part, rows = how.global_part(), problem.rows
    if part is None:
        return None
    m = _size(part, problem)
    some = rows.take(draw_rows(rows.n, 20 * m, how.random_state + 3))
    found = choose_landmarks(kernel, Block(0, some.X, some.y, None), m, part, how.random_state)
    return found.points, found.L


def _recalibrate(f, state, c):
    """`NeighbourState` with variances times c; as it is where no amplitude may change."""
    kernel = rescale(f.kernel, c) if 0 < c < np.inf else None
    return state if kernel is None else state.rescaled(f.rescaled(kernel, c), c)
