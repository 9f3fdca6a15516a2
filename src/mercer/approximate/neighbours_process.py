"""A Gaussian process by neighbours: hyper-parameters from some rows, then by batches; recalibrated on rows left out."""

import math
import time
from dataclasses import replace

import numpy as np

from mercer.approximate.base import Hyperparameters
from mercer.approximate.kernels import refuse_without_points
from mercer.approximate.neighbours_state import NeighbourState, enough_rows
from mercer.approximate.process import evidence_of, learn, make_prior
from mercer.gram import take
from mercer.gram.landmarks import drawn
from mercer.inference.neighbours import NeighbourPosterior
from mercer.kernels.algebra import rescale
from mercer.kernels.hyper import lengths_of
from mercer.primal.design import choose_landmarks
from mercer.selection import NeighbourSearchOptions
from mercer.selection.search import Record, SearchSpace
from mercer.selection.search.neighbours import NeighbourDensity, search_neighbours
from mercer.solvers import Cholesky
from mercer.solvers.plan_approximate import SUBSET
from mercer.sources.base import Block

CANDIDATES = 20  # rows for each landmark of the global part
ALIVE = 5.0  # factor of a length scale from the median distance beyond which its slope is too small to follow
NOISY = 0.1  # of the variance of y: noise of these starts, so that structure is taken in as it pays
GLOBAL = 256  # landmarks of the global part where none are said


def plan_options(how, problem, fourier=False):
    """What a plan is told of a process."""
    criterion = problem.criterion
    if criterion is not None and criterion.by_neighbours is None:
        raise ValueError(f'{criterion!r} needs all of K; by neighbours use criterion="evidence", "loo" or None.')
    m = how.chosen()
    m = 0 if m is None else GLOBAL if isinstance(m.m, str) else min(m.m, problem.n)
    return {"m": m, "learnt": criterion is not None, "fourier": fourier}


def search(how, problem, refine_more=None):
    """See `Approximation.search`; ``refine_more`` is (found, space) ↦ a `SearchResult` that goes on from one."""
    rows, kernel, lam, result = problem.rows, problem.kernels[0], problem.start, None
    started, one = time.perf_counter(), take(rows.X, np.arange(1))
    refuse_without_points(kernel, kernel.stored_inputs(one), "new rows have no neighbours; use approximation=None")
    if problem.criterion is not None:
        some = rows.take(drawn(rows.n, SUBSET, how.random_state + 2)) if rows.n > SUBSET else rows
        at = learn(problem, problem.kernels, some, lam, Cholesky())
        kernel, lam, result = at.kernel, at.lam, at.result
        if rows.n > SUBSET:
            result = _refine(how, problem, at, started, refine_more)
            kernel, lam = result.kernel, result.lam
    if not lam >= 0:
        raise ValueError(f"noise = {lam}: neighbours need noise >= 0.")
    return Hyperparameters(kernel, lam, result)


def fit(how, problem, at):
    """See `Approximation.fit`: by as many neighbours as rows left out gain by."""
    rows, criterion, seed = problem.rows, evidence_of(problem.precisions), how.random_state
    basis = _global_part(at.kernel, rows, how)
    f = NeighbourPosterior.fit(at.kernel, rows, at.lam, how.first, seed, criterion, basis)
    k, tried = enough_rows(f, seed, how.most, problem.clock)
    if k != f.k:
        f = NeighbourPosterior.fit(at.kernel, rows, at.lam, k, seed, criterion, basis)
    return state_of(how, problem, at, f, tried)


def state_of(how, problem, at, f, tried=(), near=None):
    """`NeighbourState` of a posterior that ``how`` has made; ``near`` are the neighbours of its variances."""
    near = near or how
    options = {"flat": problem.flat, "precisions": problem.precisions, "how": how, "plan": problem.plan}
    state = NeighbourState.of(f, near.random_state, tried, **options)
    if near.recalibrate and problem.criterion is not None and problem.optimize == "all":
        state = _recalibrated(f, state, state.variance_factor(near.random_state))
    state.result = at.result
    return state


def _starts(kernel, kernels, lam, variance):
    """Starts beside what was found on some rows: a length that it made too long to matter may matter on all of them."""
    first = next((one for one in kernels if one.names == kernel.names), kernel)
    lengths = lengths_of(kernel.names)
    near = np.clip(kernel.theta, first.theta - math.log(ALIVE), first.theta + math.log(ALIVE))
    mine = np.where(lengths, near, kernel.theta)
    lam = max(lam, NOISY * variance)
    return [np.append(theta, math.log(lam)) for theta in (mine, np.where(lengths, first.theta, mine))]


def _refine(how, problem, at, started, refine_more):
    """The `SearchResult` by batches of rows of all; what was found on some rows is where they begin."""
    kernel, rows, criterion = at.kernel, problem.rows, problem.criterion
    counts = np.bincount(rows.index, minlength=rows.n).astype(float) if criterion.weights == "precision" else None
    starts = _starts(kernel, problem.kernels, at.lam, float(rows.y.var(axis=0).mean()))
    prior = make_prior(problem.prior, kernel, rows, criterion)
    space = SearchSpace(kernel, at.lam, problem.bounds, problem.optimize, prior)
    density = NeighbourDensity(rows, how.first, criterion.by_neighbours == "before", counts)
    record, options = Record(problem.search_clock(), problem.report), problem.options[NeighbourSearchOptions]
    found = search_neighbours(space, criterion, density, starts, record=record, seed=how.random_state, options=options)
    if refine_more is not None and density.ordered:
        found = refine_more(found, replace(space, kernel=found.kernel, lam=found.lam))
    first = at.result
    found.criterion, found.candidates = first.criterion, first.candidates
    found.history = [*first.history, *found.history]
    found.evaluations, found.seconds = len(found.history), time.perf_counter() - started
    return found.warn()


def _global_part(kernel, rows, how):
    """(landmarks, L) that carry what is smooth, or None."""
    chosen = how.chosen()
    if chosen is None:
        return None
    m = GLOBAL if isinstance(chosen.m, str) else min(chosen.m, rows.n)
    some = rows.take(drawn(rows.n, CANDIDATES * m, how.random_state + 3))
    found = choose_landmarks(kernel, Block(0, some.X, some.y, None), m, chosen, how.random_state)
    return found.points, found.L


def _recalibrated(f, state, c):
    """`NeighbourState` with variances times c; as it is where no amplitude may change."""
    kernel = rescale(f.kernel, c) if 0 < c < np.inf else None
    return state if kernel is None else state.rescaled(f.rescaled(kernel, c), c)
