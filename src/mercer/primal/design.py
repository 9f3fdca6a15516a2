"""The features of a block of rows, [k(x, z) − k̄ | h(x) | y − ȳ] times √w, and the rows that a fit looks at closely."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._policies import OptionSet
from mercer.gram import TiledGram, take
from mercer.gram.base import draw_rows, fill
from mercer.primal.options import LandmarkFitOptions
from mercer.solvers.normal import landmark_factor, whiten_first
from mercer.solvers.pivoted import random_pivots
from mercer.sources.base import Block

FIRST = 128  # landmarks whose features are made before the sums in float32


@dataclass
class Sample:
    """Rows drawn once: candidates for landmarks, those left out one by one, and those of the certificate."""

    candidates: Block
    some: Block
    index: np.ndarray  # which rows ``some`` are

    @classmethod
    def draw(cls, source, m, seed, options=LandmarkFitOptions()):
        """Draw them by the hash of their number, in one reading."""
        least, most = options.candidates
        size = min(source.n, max(least * m, min(source.n // 5, most * m)))
        candidates, some = draw_rows(source.n, size, seed), draw_rows(source.n, options.left_out, seed + 1)
        both = np.union1d(candidates, some)
        block = source.take(both)
        first, second = (block.cut_to(np.searchsorted(both, index)) for index in (candidates, some))
        return cls(first, second, some)

    @classmethod
    def of(cls, block, options=LandmarkFitOptions()):
        """Return the rows of a block, where they are all there are."""
        index = draw_rows(len(block), options.left_out, 1)
        return cls(block, block.cut_to(index), index)

    def recoded(self, change):
        """Return the same rows with other targets, change(y)."""
        blocks = (Block(one.start, one.X, change(one.y), one.weight) for one in (self.candidates, self.some))
        return Sample(*blocks, self.index)


@dataclass
class Chosen:
    """Landmarks in the order of their choice, the factor L of their K, and how they were come by."""

    points: Any
    L: np.ndarray
    jitter: float
    seconds: float
    missing: float  # part of the trace of the candidates that they leave
    left: float  # the largest k(x, x) − ‖a‖² of a candidate, beside the largest k(x, x)

    @property
    def m(self):
        """How many."""
        return len(self.L)

    def first(self, m):
        """Return the first m of them: a choice of m."""
        return Chosen(take(self.points, np.arange(m)), self.L[:m, :m].copy(), self.jitter, 0.0, np.nan, np.nan)


def choose_landmarks(kernel, candidates, m, how, seed, least=None, options=LandmarkFitOptions()):
    """`Chosen` of m rows; fewer where the candidates have not as many directions.

    Parameters
    ----------
    kernel : Kernel
    candidates : Block
        Rows of weight 0 are no candidates.
    m : int
    how : Landmarks
    seed : int
    least : float, default=None
        What may be left of k(x, x) where fewer are enough: a flat kernel with a tiny λ tells directions apart that are
        as small.
    """
    started, rng = time.perf_counter(), np.random.default_rng(seed)
    X = candidates.X if how.given is None else kernel.validate(how.given)
    if candidates.weight is not None and how.given is None:
        X = take(X, np.flatnonzero(candidates.weight > 0))
    K = TiledGram(kernel, X)
    order = None
    if how.given is not None:
        order, m = np.arange(K.n), K.n
    elif how.choose == "uniform":
        order = rng.permutation(K.n)
    # in float32 the residual is known to 1e-6 or so: enough to draw by, half the time
    large = K.n * m >= options.single_from and _mild(K.diag()[:, None])
    tol = 1e-5 if large else 1e-6
    pivots, left = random_pivots(K, m, rng, order=order, dtype=np.float32 if large else np.float64, tol=tol)
    if least is not None and len(pivots) < min(m, K.n):
        finer = max(least / max(float(K.diag().max(initial=0.0)), 1e-300), 1e-13)  # of k(x, x): what rounding leaves
        if finer < tol:
            rng = np.random.default_rng(seed)
            pivots, left = random_pivots(K, m, rng, order=order, tol=finer)
    if not len(pivots):
        raise ValueError("k(x, x) is 0 for all candidates: there is nothing to choose landmarks by.")
    points = take(X, pivots)
    L, jitter = landmark_factor(TiledGram(kernel, points).dense())
    diagonal = K.diag()
    seconds = time.perf_counter() - started
    parts = float(left.sum() / diagonal.sum()), float(left.max() / diagonal.max())
    return Chosen(points, L, jitter, seconds, *parts)


class Design:
    """x ↦ [k(x, z) − k̄ | h(x)] and y ↦ y − ȳ, scaled by √w: the columns that a pass multiplies.

    With a constant in the trend k̄ and ȳ (means of a sample) change nothing but the rounding: the largest direction of
    the sums, that of a common offset, is gone before they are summed.

    Parameters
    ----------
    kernel : Kernel
    points : collection
        The landmarks.
    trend : callable or None
        X ↦ H.
    sample : Block
        Rows that means are taken of.
    centred : bool
        Whether the trend has a constant in its first column.
    targets : bool
        Whether y is centred with it.
    """

    def __init__(self, kernel, points, trend, sample, centred=True, targets=True):
        self.kernel, self.points, self.trend, self.centred = kernel, points, trend, centred
        self.m, self.t = len(points), sample.y.shape[1]
        self.q = 0 if trend is None else trend(take(sample.X, [0])).shape[1]
        self.centre, self.shift = np.zeros(self.m), np.zeros(self.t)
        self.mild = _mild(np.asarray(kernel.diag(sample.X), dtype=float)[:, None]) and _mild(sample.y)
        if centred and self.q:
            w = np.ones(len(sample)) if sample.weight is None else sample.weight
            some = np.flatnonzero(w > 0)[:1024]
            k = fill(kernel, take(sample.X, some), points, np.empty((len(some), self.m)))
            self.centre = k.mean(axis=0)
            self.shift = w @ sample.y / w.sum() if targets else self.shift

    @property
    def width(self):
        """m + q + t."""
        return self.m + self.q + self.t

    def features(self, block):
        """[k − k̄ | h] of a block."""
        F = np.empty((len(block), self.m + self.q))
        fill(self.kernel, block.X, self.points, F[:, : self.m], self.centre)
        if self.q:
            F[:, self.m :] = self.trend(block.X)
        return F

    def rows(self, block, out=None):
        """√w [k − k̄ | h | y − ȳ] of a block, of shape (rows, m + q + t)."""
        F = np.empty((len(block), self.width)) if out is None else out
        fill(self.kernel, block.X, self.points, F[:, : self.m], self.centre)
        if self.q:
            F[:, self.m : self.m + self.q] = self.trend(block.X)
        F[:, self.m + self.q :] = block.y - self.shift
        if block.weight is not None:
            F *= np.sqrt(block.weight)[:, None]
        return F

    @property
    def halved(self):
        """Whether features can be made in float32: of vectors, by a kernel of their differences, of mild sizes."""
        vectors = isinstance(self.points, np.ndarray) and self.points.dtype == np.float64
        return self.kernel.stationary and vectors and self.mild

    def diagonal(self, block):
        """Σ w k(x, x)."""
        diagonal = np.asarray(self.kernel.diag(block.X), dtype=float)
        return float(diagonal.sum() if block.weight is None else block.weight @ diagonal)

    def in_data_units(self, solution):
        """(α, b) of f(x) = Σ αⱼ k(x, zⱼ) + h(x)ᵀb in the coordinates of the data."""
        b = np.array(solution.b)
        if self.centred and self.q:
            b[0] += self.shift - self.centre @ solution.alpha
        return solution.alpha, b


def _mild(columns):
    """Whether the largest number of each column, if there is one, is far from what float32 cannot hold."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    return not ((largest > 0) & ((largest < 1e-12) | (largest > 1e12))).any()


@dataclass
class LandmarkBasis:
    """What a function on landmarks is made of: a kernel, its landmarks, a trend, and a sample of the rows.

    Attributes
    ----------
    kernel : Kernel
    chosen : Chosen
    sample : Sample
    trend : callable or None
    centred : bool
        Whether the trend has a constant in its first column.
    options : OptionSet
    """

    kernel: Any
    chosen: Chosen
    sample: Sample
    trend: Any = None
    centred: bool = True
    options: OptionSet = field(default_factory=OptionSet)

    def design(self, targets=True):
        """Return the features of its rows; ``targets`` are centred with them."""
        return Design(self.kernel, self.chosen.points, self.trend, self.sample.some, self.centred, targets)


class InSingle:
    """block ↦ (√w [a₁ | k₂ − L₂₁a₁ | h | y] in float32, √w [h | y]): see `whiten_first`."""

    def __init__(self, design, L):
        self.design, self.middle = design, design.points.mean(axis=0)
        self.L, self.points = L.astype(np.float32), (design.points - self.middle).astype(np.float32)
        self.centre = design.centre.astype(np.float32)

    def __call__(self, block):
        """Return the features of a block of rows."""
        design, m, F = self.design, self.design.m, self._filled(block, self.design.width)
        tail = np.hstack([design.trend(block.X) if design.q else np.zeros((len(block), 0)), block.y - design.shift])
        F[:, m:] = tail
        if block.weight is not None:
            root = np.sqrt(block.weight)[:, None]
            F *= root.astype(np.float32)
            tail = tail * root
        return F, tail

    def features(self, block):
        """[a₁ | k₂ − L₂₁a₁ | h] of a block, without its weights."""
        design, m = self.design, self.design.m
        F = self._filled(block, m + design.q)
        if design.q:
            F[:, m:] = design.trend(block.X)
        return F

    def _filled(self, block, columns):
        """[a₁ | k₂ − L₂₁a₁ | room] in float32."""
        m, F = self.design.m, np.empty((len(block), columns), dtype=np.float32)
        fill(self.design.kernel, (block.X - self.middle).astype(np.float32), self.points, F[:, :m], self.centre)
        whiten_first(F, self.L, self.L.shape[1])
        return F
