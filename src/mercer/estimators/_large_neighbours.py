"""A Gaussian process by neighbours: hyper-parameters from some rows, then by batches; recalibrated on rows left out."""

import copy
import math
import time
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.estimators import _gp_learning as learning
from mercer.estimators._base import kept as kept_rows
from mercer.estimators._report import FitReport
from mercer.gram import take
from mercer.gram.fourier import Fourier, TooManyWaves
from mercer.gram.landmarks import drawn
from mercer.gram.neighbours import Neighbours
from mercer.inference.fourier import FourierPosterior
from mercer.inference.neighbours import NeighbourPosterior
from mercer.inference.neighbours_kept import KeptNeighbours, enough_rows
from mercer.kernels.algebra import rescale
from mercer.kernels.hyper import lengths_of
from mercer.primal.design import choose_landmarks
from mercer.selection.local_search import search_neighbours
from mercer.selection.result import reporter
from mercer.selection.wave_search import search_waves
from mercer.solvers.plan_neighbours import SUBSET, plan_neighbours, waves_within
from mercer.sources.base import Block

CANDIDATES = 20  # rows for each landmark of the global part
ALIVE = 5.0  # factor of a length scale from the median distance beyond which its slope is too small to follow
NOISY = 0.1  # of the variance of y: noise of these starts, so that structure is taken in as it pays
AUTOMATIC = 2**15  # waves of the first grid that "auto" takes
GLOBAL = 256  # landmarks of the global part where none are said


def plan_for(estimator, criterion, n, d, targets, why="", waves=False):
    """The `Plan` by neighbours, or with ``waves`` by these."""
    how = _how(estimator)
    if criterion is not None and criterion.by_neighbours is None:
        raise ValueError(f'{criterion!r} needs all of K; by neighbours use criterion="evidence", "loo" or None.')
    learnt, m = criterion is not None, how.chosen()
    m = 0 if m is None else GLOBAL if isinstance(m.m, str) else min(m.m, n)
    options = {"m": m, "most": how.most, "memory": estimator.memory, "targets": targets, "learnt": learnt, "why": why}
    return plan_neighbours(n, d, how.first, waves=waves or isinstance(estimator.approximation, Fourier), **options)


def in_waves(kernel, d):
    """Whether a kernel, or the default one, is known to be a sum of waves of d columns."""
    if not d or d > 3:
        return False
    given = kernel if isinstance(kernel, list | tuple) else [kernel]
    return all(one is None or (not isinstance(one, str) and _has_waves(one, d)) for one in given)


def _has_waves(kernel, d):
    """Whether a kernel is a sum of waves in a space of up to three columns."""
    inside = kernel.in_space(np.zeros((1, d))).shape[1]
    return inside <= 3 and kernel.waves(inside) is not None


def _how(estimator):
    """The `Neighbours`: of a fit by waves those of its variances."""
    how = estimator.approximation
    if isinstance(how, Fourier):
        return Neighbours(how.check().k, random_state=how.random_state).check()
    return how.check() if isinstance(how, Neighbours) else Neighbours()


def _waves(estimator):
    """The `Fourier` of a fit by waves, or None."""
    how = estimator.approximation
    return how if isinstance(how, Fourier) else Fourier() if estimator.plan_.gram == "waves" else None


def fit_neighbours(estimator, rows, kernels, lam, criterion, learn, bounds, flat, precisions):
    """Fit by neighbours, and set everything that is learnt.

    Parameters
    ----------
    estimator : GaussianProcessRegressor
        With its plan.
    rows : Rows
    kernels : list of Kernel
    lam : float
        Noise variance: the value, or where a search starts.
    criterion : Criterion or None
    learn : callable
        learn(kernels, rows, λ) returns the kernel and λ that the criterion chooses on some rows, exactly.
    bounds : pair of float
        Of λ in a search.
    flat, precisions : bool
        Whether y is one column, and whether each row has a noise variance of its own.
    """
    how, started, kernel = _how(estimator), time.perf_counter(), kernels[0]
    kept_rows(kernel, kernel.retain(take(rows.X, np.arange(1))), "new rows have no neighbours; use approximation=None")
    if criterion is not None:
        some = rows.take(drawn(rows.n, SUBSET, how.random_state + 2)) if rows.n > SUBSET else rows
        kernel, lam = learn(kernels, some, lam)
        if rows.n > SUBSET:
            kernel, lam = _refined(estimator, kernel, kernels, rows, lam, how, criterion, bounds, started)
    if not lam >= 0:
        raise ValueError(f"noise = {lam}: neighbours need noise >= 0.")
    f, tried = _by_waves(estimator, kernel, rows, lam, precisions), ()
    if f is None:
        f, tried = _by_neighbours(estimator, kernel, rows, lam, precisions)
    kept = KeptNeighbours.of(f, how.random_state, flat, tried)
    if how.recalibrate and criterion is not None and estimator.optimize == "all":
        kept = _recalibrated(f, kept, kept.variance_factor(how.random_state, precisions))
    publish(estimator, kept, precisions)


def _by_waves(estimator, kernel, rows, lam, precisions):
    """The posterior by waves; None where none were asked for, or "auto" finds too many, which its plan then says."""
    how, automatic = _waves(estimator), isinstance(estimator.approximation, str)
    if how is None:
        return None
    try:
        options = {"room": partial(waves_within, estimator.plan_), "clock": estimator._clock}
        options |= {"most": AUTOMATIC} if automatic else {}
        f = FourierPosterior.fit(kernel, rows, lam, how, learning.evidence_of(precisions), **options)
        why = "" if f.report["near"] else f.report_words()
    except TooManyWaves as error:
        if not automatic:
            raise
        why = str(error).split(";")[0]
    if why and not automatic:
        warn(
            f"Fourier() ended before its mean was near enough: {why}. Use a larger eps, more noise, or Neighbours().",
            ConvergenceWarning,
        )
        return f
    if why:
        near = plan_for(estimator, None, rows.n, rows.d, rows.t, why=f"Not by waves: {why}.")
        estimator.plan_ = replace(near, searching=estimator.plan_.searching)
    return None if why else f


def _by_neighbours(estimator, kernel, rows, lam, precisions):
    """(the posterior by neighbours, by as many as rows left out gain by; the k that were tried)."""
    how, criterion = _how(estimator), learning.evidence_of(precisions)
    basis, seed = _global_part(kernel, rows, how), how.random_state
    f = NeighbourPosterior.fit(kernel, rows, lam, how.first, seed, criterion, basis)
    k, tried = enough_rows(f, seed, how.most, estimator._clock)
    return f if k == f.k else NeighbourPosterior.fit(kernel, rows, lam, k, seed, criterion, basis), tried


def _alive(kernel, kernels, lam, variance):
    """Starts beside what was found on some rows: a length that it made too long to matter may matter on all of them."""
    first = next((one for one in kernels if one.names == kernel.names), kernel)
    lengths = lengths_of(kernel.names)
    near = np.clip(kernel.theta, first.theta - math.log(ALIVE), first.theta + math.log(ALIVE))
    mine = np.where(lengths, near, kernel.theta)
    lam = max(lam, NOISY * variance)
    return [np.append(theta, math.log(lam)) for theta in (mine, np.where(lengths, first.theta, mine))]


def _refined(estimator, kernel, kernels, rows, lam, how, criterion, bounds, started):
    """(kernel, λ) by batches of rows of all; what was found on some rows is where they begin."""
    prior = learning.make_prior(estimator.prior, kernel, rows, criterion)
    names, optimize = [*kernel.names, "lam"], estimator.optimize
    box = np.vstack([kernel.theta_bounds, [np.log(bounds)]])
    free = np.append(np.full(kernel.n_theta, optimize != "lam"), optimize != "kernel")
    counts = np.bincount(rows.index, minlength=rows.n).astype(float) if criterion.weights == "precision" else None
    starts = _alive(kernel, kernels, lam, float(rows.y.var(axis=0).mean()))
    options = {"names": names, "box": box, "free": free, "prior": prior, "callback": reporter(estimator)}
    ordered = criterion.by_neighbours == "before"
    found = search_neighbours(
        kernel, rows, lam, how.first, how.random_state, ordered=ordered, starts=starts, counts=counts,
        clock=estimator._search_clock(), **options,
    )  # fmt: skip
    if _waves(estimator) is not None and ordered:
        found = _all_rows(estimator, found, rows, criterion, options)
    first, estimator.selection_ = estimator.selection_, found
    found.criterion, found.candidates = first.criterion, first.candidates
    found.history = [*first.history, *found.history]
    found.evaluations, found.seconds = len(found.history), time.perf_counter() - started
    found.warn()
    return found.kernel, found.lam


def _all_rows(estimator, found, rows, criterion, options):
    """The `SearchResult` after the evidence of all rows by waves; that of neighbours, with why, where there is none.

    "auto" goes on by neighbours then, for which theirs is as good: no reason to warn.
    """
    eps, clock = _waves(estimator).first, estimator._search_clock()
    more = search_waves(found.kernel, rows, found.lam, eps, criterion, clock=clock, **options)
    if np.isfinite(more.value):
        more.history = [*found.history, *more.history]
        return more
    if found.status == "ok" and not isinstance(estimator.approximation, str):
        found.status = more.status
    found.message = f"hyper-parameters are those of neighbours: {more.message} {found.message}".rstrip()
    return found


def _global_part(kernel, rows, how):
    """(landmarks, L) that carry what is smooth, or None."""
    chosen = how.chosen()
    if chosen is None:
        return None
    m = GLOBAL if isinstance(chosen.m, str) else min(chosen.m, rows.n)
    some = rows.take(drawn(rows.n, CANDIDATES * m, how.random_state + 3))
    found = choose_landmarks(kernel, Block(0, some.X, some.y, None), m, chosen, how.random_state)
    return found.points, found.L


def _recalibrated(f, kept, c):
    """`KeptNeighbours` with variances times c; as it is where no amplitude may change."""
    kernel = rescale(f.kernel, c) if 0 < c < np.inf else None
    return kept if kernel is None else kept.rescaled(f.rescaled(kernel, c), c)


def publish(estimator, kept, precisions):
    """Set the public attributes of a fit by neighbours."""
    f, estimator.neighbours_ = kept.posterior, kept
    estimator._set_process(f, kept.flat, precisions, f.log_evidence)
    said = {"kernel": repr(f.kernel), "noise": f.lam, **f.rows.counts()}
    said["log_marginal_likelihood"] = estimator.log_marginal_likelihood_value_
    said |= {"gram": estimator.plan_.gram, "solver": estimator.plan_.solver, "reasons": list(estimator.plan_.reasons)}
    said |= {"memory_predicted": estimator.plan_.memory_bytes, "approximation": kept.report}
    estimator.fit_report_ = FitReport({**estimator.fit_report_, **said})


def changed(estimator, rows):
    """The estimator with other rows at the same hyper-parameters: equal to a new fit of these."""
    was, flat = estimator.neighbours_.posterior, estimator.neighbours_.flat
    precisions, fitted = np.ndim(estimator.noise_) == 1, copy.copy(estimator)
    f, criterion = _by_waves(fitted, was.kernel, rows, was.lam, precisions), learning.evidence_of(precisions)
    if f is None:
        basis, seed = None if was.points is None else (was.points, was.L), _how(estimator).random_state
        f = NeighbourPosterior.fit(was.kernel, rows, was.lam, was.k, seed, criterion, basis)
    publish(fitted, KeptNeighbours.of(f, _how(estimator).random_state, flat), precisions)
    fitted.fit_report_["updates"] = estimator.fit_report_.get("updates", 0) + 1
    return fitted
