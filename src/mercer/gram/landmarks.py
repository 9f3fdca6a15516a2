"""Landmarks: m of the inputs that stand for all of them, K ≈ K_nm K_mm⁻¹ K_mn."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mercer import _tiles
from mercer.kernels.objects.counts import mix

WAYS = ("rpcholesky", "uniform")


@dataclass(frozen=True, eq=False)
class Landmarks:
    """K ≈ AᵀA,  A = L⁻¹K_mn,  L Lᵀ = K_mm: what ``approximation=`` asks of an estimator.

    f(x) = Σⱼ αⱼ k(x, zⱼ) over m landmarks z instead of all n rows: n m² operations and m² memory, not n³ and n². The
    fit says how far it is from the exact one (``fit_report_["approximation"]``).

    Parameters
    ----------
    m : int or "auto", default="auto"
        How many. "auto" doubles them until the leave-one-out error no longer falls, or time or memory ends.
    choose : {"rpcholesky", "uniform"} or collection, default="rpcholesky"
        "rpcholesky" draws each landmark with a probability in proportion to what the ones before it leave unexplained
        of k(x, x), from a sample of the rows; their order is such that the first m′ of them are a choice of m′.
        "uniform" draws rows evenly. A collection is the landmarks themselves.
    solve : bool, default=False
        Whether a ridge regression then solves for all n rows, by conjugate gradients which the landmarks precondition,
        until the exact fit is nearer than a tenth of the leave-one-out error; n² kernel values a step. Where time ends
        before that is nearer than the fit on landmarks, that fit is what one gets. Intervals are those of landmarks.
    held : int, default=0
        Rows, drawn by the hash of their number, that the fit does not see: ``predict_interval(X, method="split")`` is
        then split conformal from them, with ``normalise=True`` in units of the deviation of the model. 5000 give a
        coverage within half a percent.
    checkpoint : str or os.PathLike, default=None
        What the names of files begin with that passes write their sums to every 20 seconds, one file for each: killed
        and started again, a fit goes on from there, and ends with the same bits. They are removed when it is done.
    random_state : int, default=0
        Seed of the sample and of the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, Landmarks
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 10, 3000)[:, None]
    >>> model = KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(100)).fit(X, np.sin(X[:, 0]))
    >>> len(model.points_) < 100, model.fit_report_["approximation"]["verdict"]
    (True, 'certified')
    """

    m: Any = "auto"
    choose: Any = "rpcholesky"
    solve: bool = False
    held: int = 0
    checkpoint: Any = None
    random_state: int = 0

    def check(self):
        """Return self, or raise ValueError for what cannot be."""
        whole = isinstance(self.m, Integral) and not isinstance(self.m, bool) and self.m >= 1
        if not (whole or (isinstance(self.m, str) and self.m == "auto")):
            raise ValueError(f"m must be a whole number >= 1, or 'auto'; got {self.m!r}.")
        if not (isinstance(self.held, Integral) and self.held >= 0):
            raise ValueError(f"held must be a whole number >= 0; got {self.held!r}.")
        if isinstance(self.choose, str) and self.choose not in WAYS:
            raise ValueError(
                f"choose must be one of {', '.join(map(repr, WAYS))} or the landmarks; got {self.choose!r}."
            )
        return self

    @property
    def given(self):
        """The landmarks themselves, where they were given; else None."""
        return None if isinstance(self.choose, str) else self.choose


def fill(kernel, X, Z, out, centre=None):
    """Write k(X, Z), less a centre of each column, into ``out``, by tiles in this thread: what a leaf does."""
    tile = kernel.prepare(X, Z).tile
    for i0, i1 in _tiles.spans(len(X), _tiles.ROWS):
        for j0, j1 in _tiles.spans(len(Z), _tiles.COLUMNS):
            k, part = tile(slice(i0, i1), slice(j0, j1)), out[i0:i1, j0:j1]
            if centre is None:
                part[:] = k
            else:
                np.subtract(k, centre[j0:j1], out=part, casting="same_kind")
    return out


def drawn(n, size, seed):
    """``size`` of the rows 0, …, n − 1, those whose hash is smallest, sorted: the same in every process and order."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.argpartition(row_hash(0, n, seed), size)[:size])


def row_hash(start, stop, seed):
    """A number in 0, …, 2⁶⁴ − 1 for each row from start to stop, of the row and the seed alone.

    Examples
    --------
    >>> from mercer.gram.landmarks import row_hash
    >>> bool((row_hash(0, 9, 1)[4:] == row_hash(4, 9, 1)).all())
    True
    """
    return mix(np.arange(start, stop, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15 * 2 * int(seed) % 2**64))
