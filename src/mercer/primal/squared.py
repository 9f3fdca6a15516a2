"""The squared loss on landmarks: one pass for the sums, closed forms for every λ, one pass that checks and refines."""

import time
from dataclasses import dataclass, field

import numpy as np

from mercer._parameters import cached_property
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import take
from mercer.primal.design import FIRST, Chosen, Design, InSingle
from mercer.primal.options import LandmarkFitOptions
from mercer.solvers.normal import NormalEquations, Solution, add_lower, add_square, log_volume, whiten_first
from mercer.solvers.projected import relative_to_mean
from mercer.sources import map_reduce

ABOVE = 4.0  # times the least λ that sums allow: the grid ends there


@dataclass
class Sums:
    """Σ w [k, h, y]ᵀ[k, h, y] and some counts of the rows with w > 0: all that a fit needs of its rows.

    Sums of two sets of rows are added; subtracting those of a block removes it, exactly up to rounding.
    """

    C: np.ndarray
    counts: np.ndarray  # Σ w k(x, x), Σ w, rows, Σ log w
    trend: np.ndarray  # Σ h hᵀ without weights

    @classmethod
    def of(cls, source, design, L, single=False, **options):
        """One pass over a source, with the factor L of the landmarks; ``single`` where features are in float32."""
        leaf = _Squares(design, L, single)
        options["key"] = f"{options.get('key', '')} {design.q} {single}"  # sums in float32 are not taken up in float64
        return cls(*map_reduce(leaf, source, leaf.zero, add_sums, **options))

    def plus(self, other, sign=1.0):
        """Return these sums and those of further rows; with sign −1 without them."""
        return Sums(
            *(a + sign * b for a, b in ((self.C, other.C), (self.counts, other.counts), (self.trend, other.trend)))
        )

    @property
    def n(self):
        """Rows."""
        return float(self.counts[2])

    @property
    def weight(self):
        """Σ w."""
        return float(self.counts[1])

    def observations(self, precisions):
        """How many observations the evidence counts: Σ w of weights that are repeats, the rows of precisions."""
        return self.n if precisions else self.weight

    def log_weights(self, precisions, t):
        """What the evidence of rows with noise variances λ/w has beside that of the scaled rows; 0 of repeats."""
        if not precisions:
            return 0.0
        q = len(self.trend)
        m = len(self.C) - q - t
        scaled = self.C[m : m + q, m : m + q]
        scaled = scaled + np.tril(scaled, -1).T
        return float(self.counts[3]) + log_volume(self.trend) - log_volume(scaled)


def add_sums(a, b):
    """Add the sums of two sets of leaves: triangles, and counts."""
    add_lower(a[0], b[0])
    a[1][:] += b[1]
    a[2][:] += b[2]
    return a


class _Squares:
    """What a leaf adds to `Sums`; of L it needs the columns of the first landmarks."""

    def __init__(self, design, L, single):
        self.design, self.L = design, L[:, : min(FIRST, design.m)].copy()
        self.rows = InSingle(design, self.L) if single else None

    def zero(self):
        """Return the sums before the first leaf."""
        return np.zeros((self.design.width,) * 2), np.zeros(4), np.zeros((self.design.q,) * 2)

    def __call__(self, sums, block):
        inner = self.design.m
        self._count(sums, block)
        if self.rows is None:
            F = self.design.rows(block)
            whiten_first(F, self.L, self.L.shape[1])
            add_square(sums[0], F)
            return
        F, tail = self.rows(block)
        corner = sums[0][inner:, inner:] + np.tril(tail.T @ tail)  # y and the trend in float64
        part = np.zeros(sums[0].shape, dtype=np.float32)
        add_square(part, F)
        add_lower(sums[0], part)
        sums[0][inner:, inner:] = corner

    def _count(self, sums, block):
        """Add the counts, and the trend without weights."""
        w, X = block.weight, block.X
        own = float(len(block)), float(len(block)), 0.0
        if w is not None:
            used = np.flatnonzero(w > 0)
            own, X = (w.sum(), len(used), np.log(w[used]).sum()), X if len(used) == len(w) else take(X, used)
        sums[1][:] += (self.design.diagonal(block), *own)
        if self.design.q:
            H = self.design.trend(X)
            sums[2][:] += H.T @ H


@dataclass
class SquaredFit:
    """min Σ w (y − f)² + λ‖f‖² over f = Σ αⱼ k(·, zⱼ) + hᵀb, with what is known of it."""

    design: Design
    chosen: Chosen
    sums: Sums
    normal: NormalEquations
    lam: float
    solution: Solution
    rows: np.ndarray  # √w [k, h, y] of the rows that are left out one by one
    weight: np.ndarray  # their weights
    prior: np.ndarray  # their k(x, x)
    single: bool = False  # whether the sums were made in float32
    precisions: bool = False  # whether weights are precisions, noise variances λ/w, and not repeats
    seconds: dict = field(default_factory=dict)
    history: list = field(default_factory=list)

    @property
    def spread(self):
        """The rms of each target about its trend: what predicting without the kernel would leave."""
        return np.maximum(np.sqrt(np.maximum(self.normal.total, 0.0) / self.sums.weight), self.floor)

    @property
    def target_scale(self):
        """What errors of each of several targets are divided by: its deviation, relative to their mean square."""
        deviation = np.sqrt(np.maximum(self.normal.total, 0.0) / self.sums.weight)
        deviation[deviation <= self.floor] = 0.0
        return relative_to_mean(deviation) if self.design.t > 1 else np.ones(1)

    @property
    def floor(self):
        """Errors of each target that are rounding."""
        return 1e-14 * np.abs(self.design.shift)

    @property
    def missing(self):
        """(tr(K − K̂), tr K), weighted."""
        all_of_it = float(self.sums.counts[0])
        return max(all_of_it - self.normal.trace(self.design.centre, self.sums.weight), 0.0), all_of_it

    def evidence(self, lam):
        """The collapsed bound of log p(y) at λ, summed over targets; log p(y) itself where nothing of K is missing."""
        logs = self.sums.log_weights(self.precisions, self.design.t)
        return self.normal.elbo(lam, self.sums.observations(self.precisions), self.missing[0], logs)

    def unseen(self):
        """k(x, x) − ‖a‖² of the rows that are left out one by one: what the landmarks do not see of f there."""
        return self._unseen

    @cached_property
    def _unseen(self):
        k = self.rows[:, : self.normal.m] / np.sqrt(self.weight)[:, None] + self.design.centre
        return np.maximum(self.prior - np.square(self.normal.whitened(k.T)).sum(axis=0), 0.0)


def fit_squared(source, basis, lam, *, rule=None, near=None, single=True, precisions=False, **options):
    """`SquaredFit` on chosen landmarks; λ is given, or where a rule chooses it None.

    Parameters
    ----------
    source : Source
    basis : LandmarkBasis
    lam : float or None
    rule : {"loo", "density", "gcv", "elbo"}, default=None
    near : float, default=None
        About what λ will be.
    single : bool, default=True
        Whether sums may be made in float32, where that is quicker; `refine` finds out whether they were good enough.
    precisions : bool, default=False
        Whether a weight is a precision: a noise variance λ/w; else it is w equal rows.
    **options
        Of `mercer.sources.map_reduce`.
    """
    started, design, chosen = time.perf_counter(), basis.design(), basis.chosen
    large = source.n * design.m >= basis.options[LandmarkFitOptions].single_from
    single = single and design.halved and large
    sums = Sums.of(source, design, chosen.L, single, **options)
    summed = time.perf_counter()
    normal = equations(sums, chosen.L, design, rule is None)
    rows, weight, prior = weighted_features(design, basis.sample.some)
    fit = SquaredFit(design, chosen, sums, normal, lam, None, rows, weight, prior, single, precisions)
    if rule is not None:
        fit.lam, fit.history = choose_lam(fit, rule, near)
    if single and (_too_small(fit, rule) or normal.shift(fit.lam) > 0.05):  # of λ, which a factor needs more
        again = {"rule": rule, "near": fit.lam, "precisions": precisions}
        return fit_squared(source, basis, lam, single=False, **again, **options)
    fit.solution = normal.solve(fit.lam)
    fit.seconds = {"sums": summed - started, "solve": time.perf_counter() - summed}
    return fit


def _too_small(fit, rule):
    """Whether sums in float32 are too coarse for the λ of a rule, or for a smaller one that it would rather have."""
    if rule is None:
        return False
    # where no eigenvalue below 0 says it, sums in float32 know 1e-7 of the largest
    least = max(fit.normal.floor, 1e-7 * fit.normal.top if fit.normal.direct else 0.0)
    return fit.lam <= max(ABOVE * least, fit.history[0][0])


def equations(sums, L, design, one=True):
    """The `NormalEquations` of sums, for one λ or for all."""
    return NormalEquations(sums.C, L, design.q, design.t, min(FIRST, design.m), one)


def weighted_features(design, block):
    """(F, w, k(x, x)) of rows of positive weight."""
    w = np.ones(len(block)) if block.weight is None else block.weight
    used = w > 0
    return design.rows(block)[used], w[used], np.asarray(design.kernel.diag(block.X), dtype=float)[used]


# ------------------------------------------------------------------------------------------------ λ
def choose_lam(fit, rule, near=None):
    """(λ, [(λ, value)]) by GCV or the bound of the evidence on all rows, or by leave-one-out on some.

    Of many landmarks each λ takes a factor: leave-one-out then goes downhill from ``near``, which is about λ.
    """
    normal, values = fit.normal, VALUES[rule]
    if normal.direct and rule in ("loo", "density"):
        return _descend_in_steps(fit, values, near)
    top = max(normal.top, 1e-300)
    lams = top * np.logspace(-12, 1, 40)  # of the largest eigenvalue
    lams = lams[lams >= normal.floor]
    tried = list(zip(lams, values(fit, lams), strict=True))
    lam = min(tried, key=lambda pair: pair[1])[0]
    if rule == "loo":
        lams = np.unique(np.clip(lam * 2.0 ** np.arange(-4, 5), lams[0], lams[-1]))
        tried = list(zip(lams, values(fit, lams), strict=True))
        lam = min(tried, key=lambda pair: pair[1])[0]
    tried.sort()
    return _vertex(tried, lam), tried


def _descend_in_steps(fit, values, near):
    """(λ, [(λ, value)]): steps by factors of 4 from ``near`` as long as they go down, and the parabola at the end."""
    top, floor = fit.normal.top, fit.normal.floor
    lam = float(np.clip(1e-5 * top if near is None else near, floor, 10.0 * top))
    tried = {}

    def value(at):
        at = float(np.clip(at, floor, 10.0 * top))
        if at not in tried:
            try:
                tried[at] = values(fit, [at])[0]
            except NotPositiveDefinite:  # below the rounding of the sums: a larger λ is tried
                tried[at] = np.inf
        return tried[at]

    while not np.isfinite(value(lam)) and lam < 10.0 * top:  # sums in float32 may need a much larger one
        lam = min(16.0 * lam, 10.0 * top)
    most = len(tried) + 12
    for factor in (4.0, 0.25):
        while len(tried) < most and value(lam * factor) < tried[lam]:
            lam = float(np.clip(lam * factor, floor, 10.0 * top))
            if lam in (floor, 10.0 * top):
                break
    found = sorted(pair for pair in tried.items() if np.isfinite(pair[1]))
    if not found:
        raise NotPositiveDefinite(f"no λ from {floor:.3g} to {10.0 * top:.3g} gives a system that can be factored.")
    return _vertex(found, lam), found


def elbo_values(fit, lams):
    """Minus the bound of the evidence at each λ."""
    return [-fit.evidence(lam) for lam in lams]


def gcv_values(fit, lams):
    """The generalised cross-validation at each λ, on all rows; each target relative to its variance."""
    return [fit.normal.gcv(lam, fit.sums.n, fit.sums.weight, fit.target_scale) for lam in lams]


def loo_values(fit, lams):
    """Mean squared leave-one-out residual at each λ, weighted, over the rows of the sample and the targets.

    Each target counts relative to its variance, so that its unit does not matter.
    """
    total, scale = fit.weight.sum() * fit.design.t, fit.target_scale
    return [float(((left.out() / scale) ** 2).sum() / total) for left in fit.normal.left_out(lams, fit.rows)]


def density_values(fit, lams):
    """−log N(y | f₋ᵢ, v₋ᵢ + λ/w) at each λ, the mean over rows of the sample and targets; v with what landmarks miss.

    Rows under the model without them have the variance λ/(1 − h) and what the landmarks do not explain of k(x, x). The
    bound of the evidence would count what they miss as noise; where rows are many, that is most of it.
    """
    w, unseen, values = fit.weight, fit.unseen(), []
    counts = np.ones(len(w)) if fit.precisions else w
    for lam, left in zip(lams, fit.normal.left_out(lams, fit.rows), strict=True):
        variance = np.maximum(unseen + lam / w / left.rest, 1e-300)[:, None]
        e2 = left.out() ** 2 / w[:, None]
        values.append(0.5 * float(np.average((np.log(variance) + e2 / variance).mean(axis=1), weights=counts)))
    return values


VALUES = {"loo": loo_values, "density": density_values, "gcv": gcv_values, "elbo": elbo_values}


def _vertex(tried, lam):
    """The λ of the parabola through the best and its neighbours, in log λ; the best itself at an end."""
    i = [pair[0] for pair in tried].index(lam)
    if not 0 < i < len(tried) - 1:
        return float(lam)
    x, f = np.log([pair[0] for pair in tried[i - 1 : i + 2]]), np.array([pair[1] for pair in tried[i - 1 : i + 2]])
    below, above = (f[1] - f[0]) / (x[1] - x[0]), (f[2] - f[1]) / (x[2] - x[1])
    if not above > below:
        return float(lam)
    best = 0.5 * (x[0] + x[1]) - below * (x[2] - x[0]) / (2.0 * (above - below))
    return float(np.exp(np.clip(best, x[0], x[2])))
