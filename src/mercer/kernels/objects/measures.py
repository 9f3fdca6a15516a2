"""Probability measures as inputs: samples, weighted samples, Gaussians; and kernels from their features.

One input is an array of shape (m, d) whose rows are samples, an array of shape (m,) of samples on the line, a pair
``(samples, weights)``, or a `GaussianMeasure`. Weights are a share of the whole: they are divided by their sum.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer.kernels.basis import Features
from mercer.kernels.definite import semidefinite
from mercer.kernels.objects.collection import ObjectKernel
from mercer.kernels.objects.sets import MeanOverPairs, Members


@dataclass(frozen=True, eq=False)
class GaussianMeasure:
    """N(m, Σ): a measure that kernels know by its mean and covariance alone.

    Parameters
    ----------
    mean : array-like of shape (d,), or a number for d = 1
        The centre of the normal distribution.
    cov : array-like of shape (d, d), or a number for d = 1
        Symmetric and positive semi-definite: a variance, not a standard deviation. It may be singular.

    Examples
    --------
    >>> from mercer.kernels import GaussianMeasure, GaussianTransport
    >>> GaussianTransport(0.0, 1.0)([GaussianMeasure(3.0, 4.0)])  # 3² + (2 − 1)²
    array([[10.]])
    """

    mean: Any
    cov: Any


@dataclass(frozen=True)
class Samples:
    """Σᵢ wᵢ δ(xᵢ): points of shape (m, d), weights > 0 that sum to one."""

    points: np.ndarray
    weights: np.ndarray


# ---------------------------------------------------------------------- reading
def read_measures(items, who):
    """[Samples or GaussianMeasure, …] of float64 arrays, every one checked; an error names the row."""
    out, d = [], None
    for row, item in enumerate(items):
        try:
            measure = _gaussian(item) if isinstance(item, GaussianMeasure) else _samples(item)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{who}: row {row}: {error}") from None
        if d is None:
            d = dimension(measure)
        if dimension(measure) != d:
            raise ValueError(f"{who}: row {row} is a measure on {dimension(measure)} columns, those before it on {d}.")
        out.append(measure)
    return out


def dimension(measure):
    """The number of columns d."""
    return len(measure.mean) if isinstance(measure, GaussianMeasure) else measure.points.shape[1]


def moments(measure):
    """(mean, covariance) of a measure; of samples those of the weighted points themselves, divided by m, not m − 1."""
    if isinstance(measure, GaussianMeasure):
        return measure.mean, measure.cov
    mean = measure.weights @ measure.points
    centred = measure.points - mean
    return mean, (measure.weights[:, None] * centred).T @ centred


def _floats(values, what):
    """An array of finite real numbers."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{what} are not an array of numbers ({error})") from None
    if array.size == 0:
        return array.astype(float)
    if array.dtype.kind not in "buif":
        raise TypeError(f"{what} must be real numbers, got {type(values).__name__} of dtype {array.dtype}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{what} hold {np.count_nonzero(~np.isfinite(array))} values that are not finite.")
    return array.astype(float, copy=False)


def _samples(item):
    """Samples of one input, points of weight 0 left out."""
    if isinstance(item, tuple) and len(item) != 2:
        raise TypeError(f"a tuple is (samples, weights), got one of length {len(item)}.")
    points, weights = item if isinstance(item, tuple) else (item, None)
    points = _floats(points, "samples")
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2:
        raise ValueError(f"samples must have shape (m, d) or (m,), got {points.shape}.")
    if not points.size:
        raise ValueError("a measure needs at least one sample, this one is empty.")
    if weights is None:
        return Samples(points, np.full(len(points), 1.0 / len(points)))
    weights = _floats(weights, "weights")
    if weights.shape != (len(points),):
        raise ValueError(f"{len(points)} samples need as many weights, got shape {weights.shape}.")
    if (weights < 0).any() or not weights.max() > 0:
        raise ValueError(
            f"weights must be >= 0 and not all 0, got {weights.min():.4g} as the smallest, {weights.max():.4g} as the "
            "largest."
        )
    weights = weights / weights.max()  # so that their sum cannot overflow
    kept = weights > 0
    return Samples(points[kept], weights[kept] / weights.sum())


def _gaussian(item):
    """A Gaussian with arrays of shapes (d,) and (d, d)."""
    mean = np.atleast_1d(_floats(item.mean, "mean"))
    cov = np.atleast_2d(_floats(item.cov, "cov"))
    if mean.ndim != 1 or cov.shape != (len(mean), len(mean)) or not len(mean):
        raise ValueError(
            f"a Gaussian needs a mean of shape (d,) and a cov of shape (d, d), got {mean.shape}, {cov.shape}."
        )
    return GaussianMeasure(mean, semidefinite(cov, "cov"))


# ---------------------------------------------------------------------- kernels from features
class MeasureFeatures(ObjectKernel, Features):
    """k(μ, ν) = φ(μ)ᵀφ(ν) for features of measures, computed once for each input. A subclass writes ``_build``."""

    reads = None

    @abstractmethod
    def _build(self, measures):
        """Φ of a list from `read_measures`, of shape (n, M)."""

    def _read(self, items):
        measures = read_measures(items, type(self).__name__)
        return self._build(measures) if measures else np.zeros((0, 0))

    def features(self, X):
        """Φ, of shape (n, M)."""
        return self._prepared(X)

    def tiles(self, X, Z):
        """Products of the rows of Φ."""
        if not len(X) or not len(Z):
            return lambda i, j: np.zeros((len(range(*i.indices(len(X)))), len(range(*j.indices(len(Z))))))
        P, Q = self._both(X, Z)
        read_measures([X[0], Z[0]], f"{type(self).__name__}: X and Z")  # on as many columns
        return lambda i, j: P[i] @ Q[j].T


def level_means(measure, direction, edges):
    """Means of the quantile function of ⟨x, direction⟩ over the levels edges[j−1] … edges[j].

    Exact: the quantile function of samples is a step function, and a Gaussian's has an integral in closed form.
    """
    if isinstance(measure, GaussianMeasure):
        centre, sd = measure.mean @ direction, np.sqrt(max(direction @ measure.cov @ direction, 0.0))
        density = np.exp(-0.5 * ndtri(edges) ** 2) / np.sqrt(2.0 * np.pi)
        return centre - sd * np.diff(density) / np.diff(edges)
    x = measure.points @ direction
    order = np.argsort(x, kind="stable")
    w = measure.weights[order]
    centre = w @ x[order]  # far from 0 the digits are in the differences
    level = np.concatenate([[0.0], np.cumsum(w)])
    integral = np.concatenate([[0.0], np.cumsum(w * (x[order] - centre))])
    level /= level[-1]
    return centre + np.diff(np.interp(edges, level, integral)) / np.diff(edges)


class SlicedWasserstein(MeasureFeatures):
    """k(μ, ν) = E_θ ∫₀¹ Q_μ(u; θ) Q_ν(u; θ) du,  Q(·; θ) the quantiles of ⟨x, θ⟩: ‖φ(μ) − φ(ν)‖² is SW₂²(μ, ν).

    The mean over directions θ of the sphere is over ``directions`` random ones (in one column there is only one), and
    quantiles are means over ``levels`` equal parts of [0, 1]: exact for m samples of equal weight if m divides
    ``levels``. O(m log m) for each measure and direction. `RadialOf` makes it exp(−SW₂²/(2ℓ²)).

    Parameters
    ----------
    directions : int, default=50
        Lines that the points are projected on, drawn at random: more are closer to the average over all lines.
    levels : int, default=100
        Quantiles of each projection that are compared.
    random_state : int, default=0
        Seed of the directions: a number, because the kernel must be the same function at every call.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import SlicedWasserstein
    >>> SlicedWasserstein(levels=2)([np.array([0.0, 2.0]), np.array([1.0, 1.0])])
    array([[2., 1.],
           [1., 1.]])
    """

    whole_numbers = {"directions": (1, 10_000), "levels": (1, 10_000)}

    def __init__(self, directions=50, levels=100, random_state=0): ...

    def _thetas(self, d):
        """Unit vectors, one in each row."""
        count = self._whole_number("directions")
        if d == 1:
            return np.ones((1, 1))
        theta = np.random.default_rng(self.random_state).standard_normal((count, d))
        return theta / np.linalg.norm(theta, axis=1, keepdims=True)

    def _build(self, measures):
        levels = self._whole_number("levels")
        thetas, edges = self._thetas(dimension(measures[0])), np.linspace(0.0, 1.0, levels + 1)
        rows = [[level_means(measure, theta, edges) for theta in thetas] for measure in measures]
        return np.reshape(rows, (len(measures), -1)) / np.sqrt(len(thetas) * levels)


class MeanEmbedding(MeanOverPairs):
    """k(μ, ν) = ⟨m_μ, m_ν⟩ = Σᵢⱼ wᵢ vⱼ k(xᵢ, zⱼ),  m_μ = E_μ k(x, ·): ‖m_μ − m_ν‖ is the maximum mean discrepancy.

    Every pair of samples is looked at, block by block, and again at every value of θ: with `RadialOf` on top of many
    large samples fix the base (``MeanEmbedding(Gaussian(2.0)).fixed()``) and search over few length scales.

    Parameters
    ----------
    base : Kernel
        k, on the samples, which are vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear, MeanEmbedding
    >>> MeanEmbedding(Linear())([np.array([1.0, 3.0]), (np.array([0.0, 1.0]), [1.0, 3.0])])
    array([[4.    , 1.5   ],
           [1.5   , 0.5625]])
    """

    def _read(self, items):
        """`Members` of raw items: the samples of all measures, one after the other."""
        measures = read_measures(items, "MeanEmbedding")
        for row, measure in enumerate(measures):
            if isinstance(measure, GaussianMeasure):
                raise TypeError(
                    f"MeanEmbedding: row {row} is a GaussianMeasure; it takes samples, or GaussianTransport."
                )
        points = np.concatenate([measure.points for measure in measures]) if measures else np.zeros((0, 1))
        sizes = [len(measure.points) for measure in measures]
        weights = np.concatenate([np.zeros(0), *(measure.weights for measure in measures)])
        return Members(self.base.validate(points), sizes, weights)
