"""K-fold cross-validation without a refit: all the held-out residuals of a block from one inverse."""

from abc import abstractmethod

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.selection.base import LOG_2PI, SmoothCriterion, as_targets, relative_rows, total_weight, with_rows
from mercer.solvers.cholesky import CholeskyInverse, add_symmetric, square
from mercer.solvers.factoring import lower


def factors(Kinv, folds):
    """Yield (B, P_BB⁻¹ as an Inverse) for each fold B."""
    for B in folds:
        L, bad = lower(Kinv.block(B))
        if not bad:
            yield B, CholeskyInverse(L, Kinv.lam)
        else:
            raise NotPositiveDefinite(
                f"without the {len(B)} rows of a fold the trend (intercept) is not determined by the other "
                f"{Kinv.n - len(B)} rows, or lam is too small to tell; use smaller folds or a larger lam."
            )


class _Folds(SmoothCriterion):
    """Σᵢ wᵢ eᵢ²/Σᵢ wᵢ  with  e_B = ([K̃⁻¹]_BB)⁻¹ α_B: each block B predicted by the model fitted without it."""

    scale_free = True
    positive = True
    relative = True
    costly = True  # n³/k operations for each λ of a path
    needs = frozenset()

    @abstractmethod
    def folds(self, n):
        """Return [rows of fold 1, rows of fold 2, …]."""

    def residuals(self, Kinv, y):
        """Return (n, t): the residual of each row under the model fitted without its fold, times √w where scaled."""
        alpha = Kinv @ as_targets(y)
        out = np.empty_like(alpha)
        for B, factor in factors(Kinv, self.folds(Kinv.n)):
            out[B] = factor @ alpha[B]
        return out

    def value(self, Kinv, y, weight=None, scale=None):
        e = self.residuals(Kinv, relative_rows(y, scale))
        return float(np.sum(e**2)) / (e.shape[1] * total_weight(weight, Kinv.n))

    def value_and_adjoint(self, Kinv, y, weight=None, scale=None):
        """W = −½[(Pu)αᵀ + α(Pu)ᵀ] + ½ Σ_B [(P u_B)(P e_B)ᵀ + (P e_B)(P u_B)ᵀ] with u_B = P_BB⁻¹ ∂C/∂e_B."""
        alpha = Kinv @ relative_rows(y, scale)
        n, t = alpha.shape
        scale = 2.0 / (t * total_weight(weight, n))
        parts = []
        for B, factor in factors(Kinv, self.folds(n)):
            e = factor @ alpha[B]
            parts.append((B, e, factor @ (scale * e)))
        E, U = np.zeros((n, len(parts) * t)), np.zeros((n, len(parts) * t))
        for k, (B, e, u) in enumerate(parts):
            E[B, k * t : (k + 1) * t], U[B, k * t : (k + 1) * t] = e, u
        PE, PU = Kinv @ E, Kinv @ U
        total = PU.reshape(n, len(parts), t).sum(axis=1)
        value = float(np.sum(E**2)) / (t * total_weight(weight, n))
        return value, add_symmetric(np.zeros((n, n)), np.hstack([PU, -total]), np.hstack([PE, alpha]), 0.5)


class KFold(_Folds):
    """Σᵢ wᵢ eᵢ²/Σᵢ wᵢ  with  e_B = ([K̃⁻¹]_BB)⁻¹ α_B for each of k folds B: exact, without a refit.

    Parameters
    ----------
    n_splits : int, default=5
        k, how many parts the rows are dealt into.
    shuffle : bool, default=True
        Whether rows are dealt to the folds at random; else folds are runs of neighbouring rows.
    random_state : int, default=0
        Seed of the shuffle: the same folds at every trial of a search.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import LOO, KFold
    >>> from mercer.solvers import Explicit
    >>> Kinv = Explicit(np.linalg.inv([[2.0, 1.0], [1.0, 2.0]]), lam=1.0)
    >>> y = np.array([[1.0], [3.0]])
    >>> round(KFold(2).value(Kinv, y) - LOO().value(Kinv, y), 12)  # two folds of one row
    0.0
    """

    word = "kfold"

    def __init__(self, n_splits=5, shuffle=True, random_state=0):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def folds(self, n):
        """Return the k index arrays of n rows."""
        k = int(self.n_splits)
        if k < 2:
            raise ValueError(f"n_splits must be at least 2, got {self.n_splits}.")
        if n < k:
            raise ValueError(f"there are {n} rows, fewer than the {k} folds; use KFold({max(n, 2)}) or LOO().")
        order = np.random.default_rng(self.random_state).permutation(n) if self.shuffle else np.arange(n)
        return [np.sort(part) for part in np.array_split(order, k)]


class GroupKFold(_Folds):
    """Σᵢ wᵢ eᵢ²/Σᵢ wᵢ  with  e_B = ([K̃⁻¹]_BB)⁻¹ α_B, where rows of one group are always left out together.

    Parameters
    ----------
    groups : array-like of shape (n,)
        The group of each row.
    n_splits : int, default=None
        Folds, filled with whole groups so that they have about equal size; None leaves out one group at a time.

    Examples
    --------
    >>> from mercer.selection import GroupKFold
    >>> [fold.tolist() for fold in GroupKFold(["a", "b", "a", "c"]).folds(4)]
    [[0, 2], [1], [3]]
    """

    word = "kfold"

    shuffle = False  # whole groups, the largest first

    def __init__(self, groups, n_splits=None):
        self.groups = groups
        self.n_splits = n_splits

    @property
    def name(self):
        """What a table calls it."""
        return f"GroupKFold({len(np.unique(np.asarray(self.groups)))} groups, n_splits={self.n_splits})"

    def restrict(self, index):
        return with_rows(self, groups=np.asarray(self.groups)[index])

    def folds(self, n):
        """Return the index arrays of the folds of n rows."""
        groups = np.asarray(self.groups)
        if groups.shape != (n,):
            raise ValueError(f"groups has shape {groups.shape}, but there are {n} rows.")
        _, code, count = np.unique(groups, return_inverse=True, return_counts=True)
        k = len(count) if self.n_splits is None else int(self.n_splits)
        if k < 2 or len(count) < k:
            raise ValueError(
                f"there are {len(count)} groups for {k} folds; at least 2 and as many as folds are needed."
            )
        fold = np.arange(len(count))
        if k < len(count):  # largest groups first, each to the smallest fold
            size = np.zeros(k)
            for g in np.argsort(-count, kind="stable"):
                fold[g] = int(np.argmin(size))
                size[fold[g]] += count[g]
        return [np.flatnonzero(fold[code] == f) for f in range(k)]


class FoldDensity(SmoothCriterion):
    """−Σ_B log p(y_B | y₋B) = Σ_B ½(α_Bᵀ[K̃⁻¹]_BB⁻¹α_B − log det [K̃⁻¹]_BB + |B| log 2π), summed over targets.

    The joint density of each fold under the Gaussian process that has seen the others. The evidence is that of all rows
    under one that has seen none, and so also judges predictions from hardly any rows; with two folds half of the rows
    are always seen. Where the model is wrong, as models are, this predicts better densities (docs/selection.md); the
    evidence is surer where rows are few.

    Parameters
    ----------
    n_splits : int, default=2
        Folds; with one row in each it is the sum of `LOO`'s log densities.
    shuffle : bool, default=True
        Whether rows are dealt to the folds at random; else folds are runs of neighbouring rows.
    random_state : int, default=0
        Seed of the shuffle: the same folds at every trial of a search.

    Notes
    -----
    A weight w is a noise variance of λ/w; every row counts once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import FoldDensity
    >>> from mercer.solvers import Explicit
    >>> Kinv = Explicit(np.diag([0.5, 0.5]), lam=1.0)  # independent rows of variance 2
    >>> round(FoldDensity().value(Kinv, np.array([[1.0], [2.0]])), 4)
    3.781
    """

    summed = True
    costly = True
    by_levels = False  # half of few rows is too little to predict from: their optimum is another one
    density = True
    needs = frozenset()

    def __init__(self, n_splits=2, shuffle=True, random_state=0):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    folds = KFold.folds

    def value(self, Kinv, y, weight=None):
        return self._parts(Kinv, Kinv @ as_targets(y), weight)[0]

    def _parts(self, Kinv, alpha, weight):
        """(C, [(B, P_BB⁻¹, e_B)])."""
        n, t = alpha.shape
        value = 0.5 * t * (n * LOG_2PI - (0.0 if weight is None else float(np.log(weight).sum())))
        parts = []
        for B, factor in factors(Kinv, self.folds(n)):
            e = factor @ alpha[B]
            value += 0.5 * float(np.sum(e * alpha[B])) - 0.5 * t * factor.logdet()
            parts.append((B, factor, e))
        return value, parts

    def value_and_adjoint(self, Kinv, y, weight=None):
        """W = ½ Σ_B [(P e_B)(P e_B)ᵀ + P_:B P_BB⁻¹ P_B:] − ½[(P e)αᵀ + α(P e)ᵀ], e of all folds together."""
        alpha = Kinv @ as_targets(y)
        n, t = alpha.shape
        value, parts = self._parts(Kinv, alpha, weight)
        E = np.zeros((n, len(parts) * t))
        for k, (B, _, e) in enumerate(parts):
            E[B, k * t : (k + 1) * t] = e
        PE, P = Kinv @ E, Kinv.dense()
        for B, factor, _ in parts:  # in place: row block after row block becomes √(t/2) L⁻¹ P_B:
            P[B] = factor.half(np.sqrt(0.5 * t) * P[B])
        total = PE.reshape(n, len(parts), t).sum(axis=1)
        return value, add_symmetric(square(P), np.hstack([0.5 * PE, -total]), np.hstack([PE, alpha]), 0.5)
