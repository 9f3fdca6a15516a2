"""Any convex loss on landmarks: min Σ w L(y, f) + λ‖f‖² by L-BFGS, one pass for each step, with one preconditioner.

The preconditioner is the Hessian on a sample of the rows, at the minimum there: a factor of order m for each column.
"""

from dataclasses import dataclass, replace

import numpy as np

from mercer import _machine
from mercer._clock import FOREVER, Clock
from mercer.primal.design import FIRST, Chosen, InSingle
from mercer.primal.lbfgs import inner, minimise_columns
from mercer.primal.options import SmoothLossOptions
from mercer.primal.pass_losses import centres_of, losses_of
from mercer.solvers.normal import add_square, unwhiten, whiten, whiten_first
from mercer.solvers.small import Hessians
from mercer.sources import OutOfTime, map_reduce
from mercer.sources.changed import Recoded

STRIP = 512  # rows whose features stay in the cache
RAISED = 1e-3  # of the largest curvature: below, it is no longer raised


@dataclass(frozen=True)
class SmoothLimits:
    """When the descent ends."""

    tol: float = 1e-6  # of J: what half the squared gradient in the preconditioned metric may be
    max_iter: int = 100
    clock: Clock = FOREVER  # the best point by then is returned
    memory: float | None = None  # bytes; a part of them for features that are kept from pass to pass


@dataclass
class SmoothFit:
    """α (m, t) and b (q, t) in the coordinates of the data, and how near the minimum they are."""

    chosen: Chosen
    alpha: np.ndarray
    b: np.ndarray
    objective: float
    gap: float
    violation: float
    iterations: int
    status: str
    info: dict


class _Problem:
    """J(β, b) = Σ w L(y, aᵀβ + hᵀb) + λ‖β‖², a = L⁻¹k, by a pass over all rows; ``single``: features in float32.

    In float32 the first features are made before they are rounded (see `whiten_first`). J and its gradient are then
    known to six digits or so, which is enough to get near the minimum; the last steps are in float64.
    """

    def __init__(self, source, design, L, loss, lam, memory, settings, options):
        self.source, self.design, self.loss, self.lam = source, design, loss, lam
        self.settings, self.options, self.passes, self.memory = settings, options, 0, memory
        self._L = L
        self.set_precision(design.halved)

    def set_precision(self, single, check=False):
        """Choose float32 or float64 for the features; those of the other are forgotten.

        Where a ``check`` is probably the only pass, nothing is kept of it.
        """
        design, first = self.design, min(FIRST, self.design.m)
        self.halves, self.rest = None, self._L
        if single:
            self.halves, self.rest = InSingle(design, self._L[:, :first].copy()), np.eye(design.m)
            self.rest[first:, first:] = self._L[first:, first:]
        size, free = (
            (4.0 if single else 8.0) * self.source.n * (design.m + design.q),
            _machine.within(self.memory).bytes,
        )
        near = self.source.engine is None  # elsewhere nobody would remember them
        self._room = near and free is not None and size <= self.settings.kept * free
        self.kept = {} if self._room and not check else None

    def evaluate(self, theta, hessians):
        """(J, gradient) at (β, b)."""
        m = self.design.m
        at = np.vstack([unwhiten(self.rest, theta[:m]), theta[m:]])
        leaf = _Slopes(self.design, self.loss, at, self.kept, self.halves)
        self.passes += 1
        value, gradient = map_reduce(leaf, self.source, leaf.zero, **self.options)
        if self._room and self.kept is None:
            self.kept = {}
        gradient = np.vstack([whiten(self.rest, gradient[:m]), gradient[m:]])
        return self.with_penalty(theta, value, gradient)

    def curve(self, theta, hessians, shared, raised, deadline):
        """Set the factors of Σ w L″ a aᵀ + 2λI at a point, from all rows: what Newton's own step takes."""
        leaf = _Curves(self.design, self._L, self.loss, theta, shared, raised)
        self.passes += 1
        squares = map_reduce(leaf, self.source, leaf.zero, **self.options, deadline=deadline)
        hessians.set(squares, 2.0 * self.lam)

    def with_penalty(self, theta, value, gradient):
        beta = theta[: self.design.m]
        gradient[: self.design.m] += 2.0 * self.lam * beta
        return value + self.lam * inner(beta, beta, len(value)), gradient


class _Slopes:
    """What a leaf adds to Σ w L and its gradient at [α; b]; features are evaluated once where all of them are kept."""

    def __init__(self, design, loss, at, kept, halves=None):
        self.design, self.loss, self.kept, self.halves = design, loss, kept, halves
        self.at = at if halves is None else at.astype(np.float32)

    def zero(self):
        """Return the sums before the first leaf."""
        return np.zeros(self.loss.problems), np.zeros(self.at.shape)

    def __call__(self, sums, block):
        F = None if self.kept is None else self.kept.get(block.start)
        if F is None:
            F = self.design.features(block) if self.halves is None else self.halves.features(block)
            if self.kept is not None:
                self.kept[block.start] = F
        _add_slopes(sums, F, self.at, self.loss, block.y, block.weight)


def _add_slopes(sums, F, at, loss, y, weight):
    """Add Σ w L(y, F θ) and its gradient in θ, by strips that are still in the cache when they are read once more."""
    for i in range(0, len(F), STRIP):
        part, rows = F[i : i + STRIP], slice(i, i + STRIP)
        value, slope, _ = loss(y[rows], (part @ at).astype(float, copy=False))
        if weight is not None:
            value, slope = weight[rows, None] * value, weight[rows, None] * slope
        sums[0][:] += value.sum(axis=0)
        sums[1][:] += (slope.T.astype(F.dtype) @ part).T


class _Curves:
    """What a leaf adds to Σ w L″ [a, h]ᵀ[a, h] at [β; b], one for each column or one that all share.

    Whitened at once: of sums of the k themselves rounding would leave less than a tiny λ needs.
    """

    def __init__(self, design, L, loss, at, shared, raised):
        self.design, self.L, self.loss, self.at = design, L, loss, at
        self.shared, self.raised = shared, raised

    def zero(self):
        """Return the sums before the first leaf."""
        return tuple(np.zeros((len(self.at),) * 2) for _ in range(1 if self.shared else self.at.shape[1]))

    def __call__(self, sums, block):
        F, m = self.design.features(block), self.design.m
        whiten_first(F, self.L, m)
        f = F @ self.at
        curve = np.maximum(self.loss(block.y, f, curved=True)[2], 0.0)
        if self.raised:  # the largest curvature of many losses is at 0
            largest = np.maximum(curve, self.loss(block.y, 0.0 * f, curved=True)[2]).max(axis=0)
            curve = np.maximum(curve, self.raised * largest)
        if block.weight is not None:
            curve = block.weight[:, None] * curve
        for C, column in zip(sums, [curve.mean(axis=1)] if self.shared else curve.T, strict=True):
            add_square(C, np.sqrt(column)[:, None] * F)


class _OnSample:
    """The same on some rows, whose features are kept, in float32; each stands for as many rows of all."""

    def __init__(self, problem, block, hessians):
        m = problem.design.m
        block = block.cut_to(np.arange(0, len(block), max(1, len(block) // (problem.settings.near * m))))
        self.problem, self.y = problem, block.y
        F = problem.design.features(block)
        whiten_first(F, hessians.L, m)
        self.A = F.astype(np.float32 if problem.design.mild else np.float64)
        times = problem.source.n / len(block)
        self.weight = times * (np.ones(len(block)) if block.weight is None else block.weight)

    def evaluate(self, theta, hessians):
        value, gradient = np.zeros(self.problem.loss.problems), np.zeros(theta.shape)
        _add_slopes((value, gradient), self.A, theta.astype(self.A.dtype), self.problem.loss, self.y, self.weight)
        return self.problem.with_penalty(theta, value, gradient)

    def hessians(self, theta, hessians, shared):
        """Set the factors of Σ w L″ a aᵀ + 2λI at a point, from some rows; one for all columns where they share it."""
        some = slice(None, None, max(1, len(self.y) // (self.problem.settings.curved * len(hessians.L))))
        A = self.A[some]
        f = (A @ theta.astype(A.dtype)).astype(float)
        curve = self.problem.loss(self.y[some], f, curved=True)[2] * self.weight[some, None]
        curve *= len(self.y) / len(A)
        curve = curve.mean(axis=1, keepdims=True) if shared else curve
        floor = 1e-3 * curve.mean(axis=0) + 1e-300
        squares = []
        for column in np.maximum(curve, floor).T:
            C = np.zeros((A.shape[1],) * 2, dtype=A.dtype)
            add_square(C, np.sqrt(column).astype(A.dtype)[:, None] * A)
            squares.append(C)
        hessians.set(squares, 2.0 * self.problem.lam)


class Centred:
    """Targets less their centres, for whoever reads them."""

    def __init__(self, centre):
        self.centre = centre

    def __call__(self, y):
        """Return y less the centres."""
        return y - self.centre


def fit_smooth(source, basis, loss, lam, *, joint=False, limits=SmoothLimits(), **options):
    """`SmoothFit`: the minimum of Σ w L(y, f) + λ‖f‖² over landmarks.

    Parameters
    ----------
    source : Source
        y of shape (n, t): targets, or ±1 for each class.
    basis : LandmarkBasis
    loss : Loss
    lam : float
    joint : bool, default=False
        Whether one softmax joins the columns.
    limits : SmoothLimits
    **options
        Of `mercer.sources.map_reduce`.
    """
    sample, chosen, settings = basis.sample, basis.chosen, basis.options[SmoothLossOptions]
    tol, max_iter, clock = limits.tol, limits.max_iter, limits.clock
    y = sample.some.y if sample.some.weight is None else sample.some.y[sample.some.weight > 0]
    centre = np.zeros(source.t) if basis.trend is None or joint else centres_of(loss, y)
    if centre.any():
        change = Centred(centre)
        source, sample, y = Recoded(source, change, source.t), sample.recoded(change), change(y)
    design = replace(basis, sample=sample).design(targets=False)
    losses, delta, rounds = losses_of(loss, source.t, y, joint, settings.corner)
    hessians = Hessians(chosen.L, design.q)
    problem = _Problem(source, design, chosen.L, losses[0], lam, limits.memory, settings, options)
    near = _OnSample(problem, sample.candidates, hessians)
    theta = np.zeros((design.m + design.q, losses[0].t))
    for one in losses:  # the corners ever sharper
        problem.loss = one
        near.hessians(theta, hessians, shared=True)
        theta = minimise_columns(near, theta, hessians, tol=1e-4, max_iter=settings.on_sample, clock=clock.part(0.5))[0]
    shared = losses[0].t >= settings.shared_from
    near.hessians(theta, hessians, shared)
    ends, steps = {"tol": tol, "clock": clock, "pairs": []}, 0  # what is learnt in float32 is not forgotten
    if problem.halves is not None:
        theta, _, _, steps, _ = minimise_columns(
            problem, theta, hessians, max_iter=min(max_iter, settings.patience), **ends
        )
        problem.set_precision(False, check=True)
    most = max(min(settings.patience, max_iter) - steps, 1)
    theta, value, gradient, more, status = minimise_columns(problem, theta, hessians, max_iter=most, **ends)
    steps += more
    if status not in ("converged", "time_budget") and steps < max_iter:
        last = theta, value, gradient
        theta, value, gradient, steps, status = _newton(problem, last, hessians, shared, steps, max_iter, ends)
    alpha, b = unwhiten(hessians.L, theta[: design.m]), np.array(theta[design.m :])
    if design.q:
        b[0] += np.tile(centre, len(b[0]) // len(centre)) - design.centre @ alpha
    g = gradient[: design.m]
    gap = float((g**2).sum()) / (4.0 * lam)  # J is 2λ-strongly convex in β
    info = {"solver": "l-bfgs on landmarks", "passes": problem.passes, "jitter": chosen.jitter}
    info |= {"features_kept": problem.kept is not None, "seconds_choosing": chosen.seconds} | (
        {"rounded_off": float(delta[0]) if len(delta) == 1 else delta.tolist()} if rounds else {}
    )
    violation = np.abs(gradient).max(axis=0) / np.maximum(np.abs(2.0 * lam * theta[: design.m]).max(axis=0), 1e-300)
    return SmoothFit(chosen, alpha, b, float(value.sum()), gap, float(violation.max()), steps, status, info)


def curvatures(source, design, L, loss, alpha):
    """(t, m, m): the factor of Σ w L″ a aᵀ + I for each column of f = aᵀLᵀα, in one pass over all rows."""
    leaf = _Curves(design, L, losses_of(loss, alpha.shape[1], None, False)[0][-1], L.T @ alpha, False, 0.0)
    squares = map_reduce(leaf, source, leaf.zero)
    hessians = Hessians(L, 0)
    hessians.set(squares, 1.0)
    return hessians.lower()


def _newton(problem, last, hessians, shared, steps, max_iter, limits):
    """(θ, J, gradient, steps, status) by Hessians of all rows: one for each step, that of a sample has led nowhere.

    Far from the minimum rows that are fitted too surely have no curvature, and steps lead too far. So it is raised to a
    part of the largest, at first to all of it, which majorises; a tenth after each step, ten times after none.
    """
    raised, stuck = 1.0, False  # stuck: a stall since the last step that was made
    while True:
        try:
            problem.curve(last[0], hessians, shared, raised, limits["clock"].deadline)
        except OutOfTime:
            return *last, steps, "time_budget"
        limits["pairs"].clear()
        *last, more, status = minimise_columns(problem, last[0], hessians, max_iter=1, **limits)
        steps += more
        if status == "time_budget" or steps >= max_iter or (status == "converged" and raised == 0.0):
            return *last, steps, status
        if (status == "stalled" and raised == 1.0) or (status == "converged" and stuck):  # or both would take turns
            return *last, steps, "stalled"
        stuck = status == "stalled"
        raised = min(10.0 * max(raised, RAISED), 1.0) if status == "stalled" else raised / 10.0
        raised = raised if raised >= RAISED else 0.0
