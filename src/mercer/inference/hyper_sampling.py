"""Slice sampling of a log density of a few variables: no step size to tune, no gradient."""

import time
from dataclasses import dataclass

import numpy as np

from mercer.inference.diagnostics import ess, rhat
from mercer.solvers.factoring import eigen


@dataclass
class Chains:
    """Draws of several chains, and whether they can be believed; made by `slice_sample`.

    Parameters
    ----------
    draws : ndarray of shape (c, n, p)
    log_density : ndarray of shape (c, n)
    ess : ndarray of shape (p,)
        Effective number of draws.
    rhat : ndarray of shape (p,)
        R̂; above 1.01 the chains have not mixed.
    evaluations : int
    complete : bool
        Whether all draws were made; False when the time was spent.
    """

    draws: np.ndarray
    log_density: np.ndarray
    ess: np.ndarray
    rhat: np.ndarray
    evaluations: int
    complete: bool = True


def slice_sample(log_density, start, n_samples, *, directions=None, bounds=None, chains=4, time_budget=None, rng=None):
    """z ~ exp(log_density): along each direction in turn, uniformly from {z : log_density(z) > u} (Neal, 2003).

    Half as many draws, at least 10, come first and are left out: in at most 0.4 of the time.

    Parameters
    ----------
    log_density : callable
        z of shape (p,) ↦ log density up to a constant; −inf outside of the support.
    start : ndarray of shape (p,)
        Where the density is finite.
    n_samples : int
        Draws of each chain that are kept.
    directions : ndarray of shape (p, p), default=None
        Columns: directions of the steps, about as long as the density is wide there (a root of its covariance).
        None is the unit matrix.
    bounds : ndarray of shape (p, 2), default=None
        A box outside of which the density is 0.
    chains : int, default=4
        Started at random around ``start``.
    time_budget : float, default=None
        Seconds; the draws made by then are returned. Where there is no time for one, the starts are: around ``start``
        by the directions.
    rng : Generator, default=None

    Returns
    -------
    Chains

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.hyper_sampling import slice_sample
    >>> found = slice_sample(lambda z: -0.5 * np.sum(z**2), np.zeros(2), 500, rng=np.random.default_rng(0))
    >>> bool(np.all(np.abs(found.draws.std(axis=(0, 1)) - 1.0) < 0.1)), bool(np.all(found.rhat < 1.02))
    (True, True)
    """
    rng = np.random.default_rng() if rng is None else rng
    start = np.asarray(start, dtype=float)
    p, began = len(start), time.perf_counter()
    D = np.eye(p) if directions is None else np.asarray(directions, dtype=float)
    target = _Target(log_density, bounds)
    states = [_start_chain(target, start, D, rng) for _ in range(chains)]
    draws, values = np.empty((chains, n_samples, p)), np.empty((chains, n_samples))
    took = 6 * p * chains * (time.perf_counter() - began) / target.evaluations  # of a sweep, as the starts say
    made, end = 0, np.inf if time_budget is None else began + time_budget
    for _ in range(max(10, n_samples // 2)):
        if time.perf_counter() + took > began + 0.4 * (end - began):
            break
        took = _sweep_all(target, states, D, rng)
    while made < n_samples:
        late = time.perf_counter() + took > end
        if late and made:
            break
        took = took if late else _sweep_all(target, states, D, rng)
        for c, state in enumerate(states):
            draws[c, made], values[c, made] = state
        made += 1
    draws, values = draws[:, :made], values[:, :made]
    sizes = (ess(draws), rhat(draws)) if made >= 4 else (np.full(p, np.nan), np.full(p, np.nan))
    return Chains(draws, values, *sizes, target.evaluations, made == n_samples)


def covariance_of(hessian, flat_below=1e-3):
    """The inverse Hessian of −log density; nan for variables that take part in a direction that nothing pins down.

    That is one of a curvature in log θ below ``flat_below``: e³⁰ would be a standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.hyper_sampling import covariance_of
    >>> covariance_of(np.diag([4.0, 0.0]))
    array([[0.25,  nan],
           [ nan,  nan]])
    """
    e, U = eigen(hessian)
    flat = (U[:, e <= flat_below] ** 2).sum(axis=1) > 0.1
    covariance = (U[:, e > flat_below] / e[e > flat_below]) @ U[:, e > flat_below].T
    covariance[flat], covariance[:, flat] = np.nan, np.nan
    return covariance


def axes_of(hessian):
    """Directions as long as the density is wide, for `slice_sample`: eigenvectors over the root of the curvature.

    Within a factor of e³; a row of nan, where the Hessian is not known, counts as a curvature of 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.hyper_sampling import axes_of
    >>> np.abs(axes_of(np.diag([4.0, 100.0])))
    array([[0.5, 0. ],
           [0. , 0.1]])
    """
    unknown = np.isnan(hessian.diagonal())
    e, U = eigen(np.where(unknown | unknown[:, None], np.eye(len(hessian)), hessian))
    return U / np.sqrt(np.clip(e, np.exp(-3.0), np.exp(9.0)))


class _Target:
    """The log density inside of the box, −inf outside; evaluations are counted."""

    def __init__(self, log_density, bounds):
        self.log_density, self.bounds, self.evaluations = log_density, bounds, 0

    def __call__(self, z):
        if self.bounds is not None and not ((z >= self.bounds[:, 0]) & (z <= self.bounds[:, 1])).all():
            return -np.inf
        self.evaluations += 1
        value = float(self.log_density(z))
        return value if not np.isnan(value) else -np.inf


def _start_chain(target, start, D, rng):
    """(z, log density) near the start, where it is finite."""
    for shrink in (1.0, 0.5, 0.1):
        z = start + shrink * D @ rng.standard_normal(len(start))
        value = target(z)
        if np.isfinite(value):
            return z, value
    value = target(start)
    if not np.isfinite(value):
        raise ValueError("the log density is not finite where the sampling starts.")
    return start.copy(), value


def _sweep_all(target, states, D, rng):
    """One draw of each chain; the seconds it took."""
    began = time.perf_counter()
    for c, state in enumerate(states):
        states[c] = _sweep(target, *state, D, rng)
    return time.perf_counter() - began


def _sweep(target, z, value, D, rng):
    """One draw along each direction, in random order."""
    for j in rng.permutation(len(z)):
        z, value = _draw_along(target, z, value, D[:, j], rng)
    return z, value


def _draw_along(target, z, value, direction, rng, widths=12):
    """Step out from z until both ends are below the level, then draw inside, shrinking after every miss."""
    level = value - rng.exponential()
    left = -rng.uniform()
    right = left + 1.0
    steps = int(rng.integers(widths))  # shared at random between the two sides, so that the step is reversible
    for _ in range(steps):
        if target(z + left * direction) <= level:
            break
        left -= 1.0
    for _ in range(widths - 1 - steps):
        if target(z + right * direction) <= level:
            break
        right += 1.0
    for _ in range(60):
        t = rng.uniform(left, right)
        moved = z + t * direction
        found = target(moved)
        if found > level:
            return moved, found
        left, right = (t, right) if t < 0 else (left, t)
    return z, value
