"""The collapsed bound of the evidence on landmarks, with its gradient: two passes, n m² operations, m² memory.

F = log N(y | 0, Q + λI) − tr(K − Q)/(2λ) <= log N(y | 0, K + λI),  Q = K_nm K_mm⁻¹ K_mn, the trend integrated out. Its
derivatives in K_mn and K_mm are matrices that the kernel contracts with its own, tile by tile.
"""

import numpy as np
from scipy.optimize import minimize

from mercer._clock import FOREVER
from mercer.primal.design import Design
from mercer.primal.squared import Sums, equations
from mercer.solvers.normal import landmark_factor
from mercer.solvers.normal_bound import BoundParts
from mercer.sources import OutOfTime, map_reduce


class Bound:
    """(kernel, λ) ↦ (F, ∂F/∂log θ, ∂F/∂log λ) at fixed landmarks.

    Parameters
    ----------
    source : Source
    points : collection
        The landmarks.
    trend : callable or None
    sample : Block
        Rows that means are taken of.
    centred : bool
        Whether the trend has a constant in its first column.
    precisions : bool, default=False
        Whether a weight is a precision: a noise variance λ/w; else it is w equal rows.
    **options
        Of `mercer.sources.map_reduce`.
    """

    def __init__(self, source, points, trend, sample, centred=True, precisions=False, **options):
        self.source, self.points, self.trend, self.sample = source, points, trend, sample
        self.centred, self.precisions, self.options = centred, precisions, options

    def __call__(self, kernel, lam):
        """Return the bound and its gradient."""
        K = np.asarray(kernel(self.points, self.points), dtype=float)
        L, _ = landmark_factor(np.array(K))
        design = Design(kernel, self.points, self.trend, self.sample, self.centred)
        sums = Sums.of(self.source, design, L, **self.options)
        normal = equations(sums, L, design)
        n = sums.observations(self.precisions)
        parts = BoundParts(normal, lam, float(sums.counts[0]), sums.weight, n, design.centre)

        leaf = _Contractions(design, parts)
        cross, diagonal = map_reduce(leaf, self.source, leaf.zero, **self.options)
        slope = cross + kernel.grad(self.points, self.points, parts.points()) - parts.t / (2.0 * lam) * diagonal
        return parts.value, slope, parts.in_log_lam()


class _Contractions:
    """What a leaf adds to Σ ∂F/∂k ∂k/∂log θ over its rows and the landmarks, and to Σ w ∂k(x, x)/∂log θ."""

    def __init__(self, design, parts):
        self.design, self.parts = design, parts

    def zero(self):
        """Return the sums before the first leaf."""
        return np.zeros(self.design.kernel.n_theta), np.zeros(self.design.kernel.n_theta)

    def __call__(self, sums, block):
        design, root = self.design, 1.0 if block.weight is None else np.sqrt(block.weight)[:, None]
        W = self.parts.rows(design.rows(block), design.centre, root)
        sums[0][:] += design.kernel.grad(block.X, design.points, W)
        sums[1][:] += _diagonal_slopes(design.kernel, block)


def _diagonal_slopes(kernel, block):
    """Σ w ∂k(x, x)/∂log θ, by differences: k(x, x) of most kernels is constant."""
    h = 1e-4
    w = np.ones(len(block)) if block.weight is None else block.weight
    theta, out = kernel.theta, np.zeros(kernel.n_theta)
    for i in range(len(theta)):
        step = h * (np.arange(len(theta)) == i)
        up, down = (w @ np.asarray(kernel.with_theta(theta + s).diag(block.X), dtype=float) for s in (step, -step))
        out[i] = (up - down) / (2.0 * h)
    return out


def maximise_bound(bound, kernel, lam, steps, clock=FOREVER):
    """(kernel, λ, F): the highest point that some evaluations of the bound found, uphill from a start.

    Parameters
    ----------
    bound : Bound
    kernel : Kernel
    lam : float
    steps : int
        Evaluations, at most.
    clock : Clock, default=FOREVER
        When it is spent, none begins.
    """
    start, reach = np.append(kernel.theta, np.log(lam)), np.log(8.0)  # beyond, the start knew better
    ends = np.vstack([kernel.theta_bounds, [start[-1] - reach, start[-1] + reach]])
    low, high = np.maximum(ends[:, 0], start - reach), np.minimum(ends[:, 1], start + reach)
    best, scale = [-np.inf, start], max(bound.source.n, 1)

    def down(z):
        if clock.spent and np.isfinite(best[0]):
            raise OutOfTime
        value, slope, along = bound(kernel.with_theta(z[:-1]), float(np.exp(z[-1])))
        if value > best[0]:
            best[:] = [value, np.array(z)]
        return -value / scale, -np.append(slope, along) / scale

    try:
        minimize(down, start, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
                 options={"maxfun": steps, "maxiter": steps})  # fmt: skip
    except OutOfTime:
        pass
    value, z = best
    return kernel.with_theta(z[:-1]), float(np.exp(z[-1])), value
