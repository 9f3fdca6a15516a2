"""What a search looks through: the hyper-parameters of a kernel and λ, where they start, and their bounds."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.algebra import amplitudes
from mercer.kernels.objects.tables import Table
from mercer.selection.options import SearchOptions


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """(θ, λ): the kernel and λ that a search starts from, which of them are free, their bounds and their prior.

    Parameters
    ----------
    kernel : Kernel, or list of Kernel
        Of a list the best one is looked for, each with its own hyper-parameters.
    lam : float, default=None
        Where λ starts; None is 1 % of the variance.
    bounds : pair of float, default=None
        Of λ; None is relative to the mean of k(x, x).
    optimize : {"all", "lam", "kernel", "none"}, default="all"
        What is free: the hyper-parameters of the kernel, λ, both, or neither.
    prior : callable, default=None
        (names, log values) ↦ (−log density, its gradient); λ is called "lam" in ``names``.
    lam_name : str, default="lam"
        What messages call λ.
    """

    kernel: Any
    lam: float | None = None
    bounds: tuple | None = None
    optimize: str = "all"
    prior: Callable | None = None
    lam_name: str = "lam"

    def check(self):
        """Return self, or refuse what cannot be searched."""
        if self.optimize not in ("all", "lam", "kernel", "none"):
            raise ValueError(f"optimize must be 'all' or 'lam', got {self.optimize!r}.")
        if self.lam is not None and not (np.isfinite(self.lam) and self.lam >= 0):
            raise ValueError(f"lam must be positive and finite, got {self.lam}.")
        if self.bounds is not None and not 0 < float(self.bounds[0]) < float(self.bounds[1]) < np.inf:
            low, high = map(float, self.bounds)
            raise ValueError(f"bounds of lam must satisfy 0 < low < high < inf, got ({low}, {high}).")
        if not self.free_lam and not self.lam:
            raise ValueError(f"fixed_lam needs {self.lam_name} > 0, got {self.lam}.")
        return self

    @property
    def free_kernel(self):
        """Whether the hyper-parameters of the kernel are searched."""
        return self.optimize in ("all", "kernel")

    @property
    def free_lam(self):
        """Whether λ is searched."""
        return self.optimize in ("all", "lam")

    def box(self, rows, criterion):
        """Bounds of z = (log θ, log λ), of shape (p + 1, 2); a fixed λ has two equal ones.

        Amplitudes that are free and have no bounds of their own are bounded relative to the variance of y, so that y
        may have any unit; λ relative to the mean of k(x, x), of an error that only ratios matter to times the weights.
        """
        theta = self.kernel.theta_bounds
        scaled = None if criterion.scale_free else amplitudes(self.kernel)
        if scaled is not None:
            theta[scaled] += np.log(variance_of(rows))
        if not self.free_lam:
            return np.vstack([theta, np.log([self.lam, self.lam])])
        unit = lam_unit(self.kernel, rows) if criterion.scale_free else mean_diagonal(self.kernel, rows.X)
        return np.vstack([theta, np.log(self.bounds or (1e-9 * unit, 1e5 * unit))])

    def start_in_box(self, rows, criterion):
        """(z of the start, the box with what is not free held there)."""
        box = self.box(rows, criterion)
        z = np.clip(np.append(self.kernel.theta, np.log(self.lam)), *box.T)
        free = np.append(np.full(self.kernel.n_theta, self.free_kernel), self.free_lam)
        return z, np.where(free[:, None], box, z[:, None])


def median_heuristic(kernel, X, weight=None):
    """Return the kernel with ℓⱼ = √d median |xᵢⱼ − xₖⱼ| (ARD), or the median distance (one ℓ)."""
    return median_heuristics(kernel, X, weight, factors=(1.0,))[0]


def median_heuristics(kernel, X, weight=None, rng=None, factors=SearchOptions.length_factors):
    """[kernel, …] with several multiples of the median distances for its length scales.

    All pairs of different rows, weighted; of many rows some, drawn in proportion to the weights. Kernels under
    `Columns` see their columns, of a table too; fixed length scales and those of kernels on objects stay.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    if not (isinstance(X, np.ndarray) and X.ndim == 2 or isinstance(X, Table)) or len(X) < 2:
        return [kernel] * len(factors)
    if len(X) <= 200:  # no pair is left to chance: repeated rows and weights then give the same start
        i, j = np.triu_indices(len(X), 1)
        share = np.ones(len(i)) if weight is None else weight[i] * weight[j]
    else:
        i, j = rng.choice(len(X), size=(2, 1000), p=None if weight is None else weight / weight.sum())
        share = np.ones(len(i))
    pairs = _Pairs(X, i, j, share)
    return [_set_lengths(kernel, pairs, factor) for factor in factors]


class _Pairs:
    """|x − z| and the shares of pairs (i, j) of different rows; nothing is known of objects."""

    def __init__(self, X, i, j, share):
        self.X, self.i, self.j, self.given, self.share = X, i, j, share, share
        self.differences, self._typical = None, {}
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
            differences = np.abs(X[i] - X[j])
            apart = differences.any(axis=1)
            self.differences = differences[apart] if apart.any() else np.ones((1, X.shape[1]))
            self.share = share[apart] if apart.any() else np.ones(1)

    def typical(self, size):
        """The typical distance of one length scale or of ``size``, found once."""
        if size not in self._typical:
            self._typical[size] = _typical(self.differences, self.share, size)
        return self._typical[size]

    def inside(self, kernel):
        """What the parts of a kernel see: the same pairs there; None where that is not known."""
        X = kernel.part_inputs(self.X)
        if X is self.X or X is None:
            return None if X is None else self
        if kernel.chosen() is None or self.differences is None:
            return _Pairs(X, self.i, self.j, self.given)
        other = copy.copy(self)  # pairs that differ in other columns only count too
        other.X, other._typical = X, {}
        other.differences = self.differences[:, kernel.scope(range(self.X.shape[1]))]
        return other


def _set_lengths(kernel, pairs, factor):
    """Length scales of a tree of kernels, from |x − z| of pairs of rows."""
    other = copy.copy(kernel)
    free = {name: bounds for name, _, bounds in kernel.own_hyper() if bounds is not None}
    if "length_scale" in free and kernel.domain == "vectors" and pairs.differences is not None:
        value = pairs.typical(np.size(kernel.length_scale)) * factor
        value = np.clip(value, *free["length_scale"].T)
        other.length_scale = float(value[0]) if np.ndim(kernel.length_scale) == 0 else value
    inside = pairs.inside(kernel) if kernel.parts else None
    return other if inside is None else other.with_parts(lambda part: _set_lengths(part, inside, factor))


def _typical(differences, share, size):
    """The median distance, or (size > 1) √d times the median of each column; the mean where most rows agree."""
    d = differences.shape[1]
    D = differences if size > 1 else np.sqrt((differences**2).sum(axis=1, keepdims=True))
    if (share == share[0]).all():  # most often, and a tenth of the time
        half = (len(D) - 1) // 2
        middle = np.partition(D, half, axis=0)[half]
    else:
        middle = np.quantile(D, 0.5, axis=0, weights=share, method="inverted_cdf")
    middle = np.where(middle > 0, middle, np.average(D, axis=0, weights=share))
    middle = np.where(np.isfinite(middle) & (middle > 0), middle, 1.0)
    return middle * (np.sqrt(d) if size > 1 else 1.0)


def with_amplitude(kernel, amplitude, level):
    """Return the kernel with its outermost free `Scaled` set so that the mean of k(x, x) is ``amplitude``."""
    if has_amplitude(kernel) and level > 0 and amplitude > 0:
        other = copy.copy(kernel)
        low, high = kernel.own_hyper()[0][2][0].tolist()  # floats of Python, which go to inf without a word
        unit = 1.0 if kernel.scale_bounds is not None else amplitude  # as `SearchSpace.box` has it
        other.scale = float(np.clip(kernel.scale * amplitude / level, unit * low, unit * high))
        return other
    return kernel


def has_amplitude(kernel):
    """Whether the outermost kernel is c · k with a free c."""
    return "scale" in kernel.hyper and kernel.wraps and kernel.own_hyper()[0][2] is not None


def variance_of(rows):
    """The weighted mean square of y beside its mean, over all rows and targets; 1 where that is 0."""
    w = rows.weights()[:, None]
    total = w.sum()
    rest = rows.y - (w * rows.y).sum(axis=0) / total
    found = float(((w * rest**2).sum() + rows.within_squares.sum()) / (total * rows.t))
    return found if np.isfinite(found) and found > 0 else 1.0


def starting_points(space, rows, criterion, rng, options=SearchOptions()):
    """([(kernel, λ), …], noisy): what was given, then the median heuristic with several length scales and λ.

    ``noisy`` is one with λ = the variance: all of y is noise at first, and structure is taken in as it pays. That ends
    in a better optimum more often than a start with a better value. A λ that is fixed is that of all starts.
    """
    kernel, lam, X, ratios = space.kernel, space.lam, rows.X, options.noise_ratios
    variance, level = variance_of(rows), mean_diagonal(kernel, X)

    def scaled(k):
        return k if criterion.scale_free else with_amplitude(k, variance, level)

    unit = lam_unit(kernel, rows) if criterion.scale_free else variance
    given = [(kernel, lam)] if lam else [(kernel, ratios[0] * unit), (scaled(kernel), ratios[0] * unit)]
    typical = [scaled(guess) for guess in median_heuristics(kernel, X, rows.weight, rng, options.length_factors)]
    guesses = [*given, *((typical[0], ratio * unit) for ratio in ratios)]
    guesses += [(guess, ratios[0] * unit) for guess in typical[1:]]
    if not space.free_lam:
        return [(kernel, lam) for kernel, _ in guesses], []
    return guesses, [(typical[0], unit)]


def lam_unit(kernel, rows):
    """The mean of k(x, x) times the power of ten next to the weights: an error with all weights c times has c λ."""
    return mean_diagonal(kernel, rows.X) * 10.0 ** float(np.round(np.log10(np.median(rows.row_weight))))


def mean_diagonal(kernel, X):
    """The mean of k(x, x), positive."""
    level = float(np.mean(np.asarray(kernel.diag(X), dtype=float)))
    return level if np.isfinite(level) and level > 0 else 1.0
