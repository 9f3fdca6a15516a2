"""Kernels on categories: different or the same (`Categorical`), and steps of an ordered scale (`Ordinal`)."""

import numpy as np

from mercer.kernels.base import UnitDiagonal, result_dtype
from mercer.kernels.conversion import as_collection, as_vectors, refuse_entries
from mercer.kernels.objects.collection import Objects
from mercer.kernels.objects.tables import Table, as_table, is_frame, is_missing


class OnCategories(UnitDiagonal):
    """A kernel on columns of categories: a table, the objects of one column, or rows of numbers."""

    domain = "objects"
    hyper = {"length_scale": (0.03, 1e5)}  # exp(−1/0.03) = 3e-15: there the categories have nothing in common

    def validate(self, X):
        """X as a table, as the objects of one column, or as rows of numbers, with nothing missing."""
        who = type(self).__name__
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "buif":
            X = as_vectors(X, who)
            refuse_entries(np.isnan(X), X, f"{who}: X")
            return X
        if is_frame(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
            X = as_table(X, who)
        elif not isinstance(X, Objects):
            X = Objects(as_collection(X, who))
        self._codes(X)
        return X

    def _codes(self, X):
        """`Codes` of a collection, made once."""
        who = type(self).__name__
        if isinstance(X, Table):
            return X.prepared(who, lambda table: Codes.of([table.objects(n) for n in table.columns], len(table), who))
        if isinstance(X, Objects):
            return X.prepared(who, lambda items: Codes.of([items], len(items), who))
        return Codes.of([column.tolist() for column in X.T], len(X), who)


class Categorical(OnCategories):
    """exp(−Σⱼ [xⱼ ≠ zⱼ]/ℓⱼ): 1 for equal categories, e^(−1/ℓ) for different ones, multiplied over the columns.

    A weighted Hamming distance. ℓ → 0 is the indicator [x = z], where each category has a function of its own; ℓ → ∞
    is one function for all. Values are compared by ``==`` after hashing, so 1, 1.0 and True are equal, and "1" is
    another category. There is no list of known categories: one that was not seen in the fit differs from all that
    were, and a model falls back on what it has learnt from the other columns and across categories. A missing value
    (None, NaN) is an error: fill it in with a category of its own.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ >= 0. One for each column is ARD; 0 is the indicator. A search leaves ℓ alone if it is 0,
        and all of them if one of several is.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (0.03, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Categorical
    >>> Categorical(2.0)(["Bern", "Turin", "Bern"]).round(3)
    array([[1.   , 0.607, 1.   ],
           [0.607, 1.   , 0.607],
           [1.   , 0.607, 1.   ]])
    """

    reads = "category"

    def _phrase(self, place):
        return f"a value for each {place.all()}"

    def __init__(self, length_scale=1.0, *, length_scale_bounds=None): ...

    def _factors(self, d):
        """e^(−1/ℓⱼ) of each of d columns."""
        scale = self._positive("length_scale", d, zero=True)
        inverse = np.divide(1.0, scale, out=np.full(scale.shape, np.inf), where=scale > 0)
        return np.broadcast_to(np.exp(-inverse), (d,))

    def _both_codes(self, X, Z):
        """Two arrays, of shapes (m, d) and (n, d), that are equal where the categories of X and Z are."""
        if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
            return X, Z
        left = self._codes(X)
        right = left if Z is X else self._codes(Z)
        if len(left.known) != len(right.known):
            raise ValueError(
                f"Categorical: X has {len(left.known)} columns and Z has {len(right.known)}; they must agree."
            )
        codes = right.codes.copy()
        for c, (mine, theirs) in enumerate(zip(left.known, right.known, strict=True)):
            if mine is not theirs:  # what only Z has gets codes below zero, which X has not
                new = [mine.get(value, -1 - code) for value, code in theirs.items()]
                codes[:, c] = np.array(new, dtype=np.intp)[codes[:, c]] if new else codes[:, c]
        return left.codes, codes

    def tiles(self, X, Z):
        """Products over the columns; the categories of X and Z are matched once."""
        A, B = self._both_codes(X, Z)
        factors, dtype = self._factors(A.shape[1]).astype(result_dtype(X)), result_dtype(X)

        def tile(i, j):
            left, right = A[i], B[j]
            K = np.ones((len(left), len(right)), dtype=dtype)
            for c, factor in enumerate(factors):
                np.multiply(K, factor, out=K, where=left[:, c, None] != right[None, :, c])
            return K

        return tile

    def _grad(self, X, Z, W):
        """∂k/∂ℓⱼ = k [xⱼ ≠ zⱼ]/ℓⱼ²."""
        A, B = self._both_codes(X, Z)
        V = W * self._tile(X, Z)
        sums = np.array([V[A[:, c, None] != B[None, :, c]].sum() for c in range(A.shape[1])])
        scale = np.asarray(self.length_scale, dtype=float)
        slope = sums / scale**2
        return {"length_scale": slope if scale.size > 1 else slope.sum()}

    def _dx(self, X, Z):
        """0: k is constant but for steps."""
        return np.zeros((len(X), len(Z), X.shape[1]))


class Ordinal(OnCategories):
    """exp(−Σₛ 1/ℓₛ) over the steps s between two levels of an ordered scale: neighbours are alike.

    The levels lie on a line at distances 1/ℓₛ, and k is the exponential kernel on it. With one length scale all steps
    are equal; with one for each step a search finds how far apart the levels are.

    Parameters
    ----------
    levels : sequence
        All levels, from the lowest to the highest. A value that is none of them is an error: it has no place.
    length_scale : float or array-like of shape (number of levels − 1,), default=1.0
        ℓ > 0, in steps.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (0.03, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Ordinal
    >>> Ordinal(["low", "medium", "high"], 2.0)(["low"], ["low", "medium", "high"]).round(3)
    array([[1.   , 0.607, 0.368]])
    """

    def __init__(self, levels, length_scale=1.0, *, length_scale_bounds=None): ...

    @property
    def reads(self):
        """Texts as categories, other levels as numbers."""
        return "category" if all(isinstance(level, str) for level in self.levels) else "number"

    def _phrase(self, place):
        return f"a value for each {place.all()}, like that of the next level"

    def _places(self):
        """{level: its place}, checked."""
        levels = list(self.levels)
        places = {level: i for i, level in enumerate(levels)}
        if len(places) < len(levels) or len(levels) < 2:
            raise ValueError(f"Ordinal: levels must be at least two different values in order, got {levels}.")
        return places

    def _line(self):
        """Where each level lies on the line."""
        steps = len(list(self.levels)) - 1
        scale = self._positive("length_scale")
        if scale.size not in (1, steps):
            raise ValueError(
                f"Ordinal: length_scale has {scale.size} entries for {steps} steps between levels; give one value, or "
                "one for each step."
            )
        return np.concatenate([[0.0], np.cumsum(np.broadcast_to(1.0 / scale, (steps,)))])

    def validate(self, X):
        """X as one column of values, each one of the levels."""
        X = super().validate(X)
        self._ranks(X)
        return X

    def _ranks(self, X):
        """The place of the level of each input; an error names the row."""
        codes, places = self._codes(X), self._places()
        if len(codes.known) != 1:
            raise ValueError(f"Ordinal reads one column, got {len(codes.known)}; multiply one kernel for each.")
        for value, code in codes.known[0].items():
            if value not in places:
                row = np.argmax(codes.codes[:, 0] == code)
                raise ValueError(f"Ordinal: row {row}: {value!r} is none of the levels {list(self.levels)}.")
        return np.array([places[value] for value in codes.known[0]], dtype=np.intp)[codes.codes[:, 0]]

    def tiles(self, X, Z):
        """Entries of the small matrix of all pairs of levels."""
        line, a = self._line(), self._ranks(X)
        b = a if Z is X else self._ranks(Z)
        small = np.exp(-np.abs(line[:, None] - line)).astype(result_dtype(X))
        return lambda i, j: small[a[i][:, None], b[j]]

    def _grad(self, X, Z, W):
        """∂k/∂ℓₛ = k [step s lies between x and z]/ℓₛ²."""
        line, a, b = self._line(), self._ranks(X), self._ranks(Z)
        L = len(line)
        sums = np.bincount((a[:, None] * L + b).ravel(), weights=np.ravel(W), minlength=L * L).reshape(L, L)
        sums *= np.exp(-np.abs(line[:, None] - line))
        scale = np.asarray(self.length_scale, dtype=float)
        between = [sums[: s + 1, s + 1 :].sum() + sums[s + 1 :, : s + 1].sum() for s in range(L - 1)]
        slope = np.array(between) / scale**2
        return {"length_scale": slope if scale.size > 1 else slope.sum()}


# ---------------------------------------------------------------------- codes
class Codes:
    """Whole numbers for the categories of n inputs and d columns, with the categories of each column.

    Parameters
    ----------
    codes : ndarray of shape (n, d)
    known : list of dict
        {category: code} of each column.
    """

    def __init__(self, codes, known):
        self.codes, self.known = codes, known

    def __getitem__(self, index):
        """The rows of a slice or of an array of indices."""
        return Codes(self.codes[index], self.known)

    @classmethod
    def of(cls, columns, n, who):
        """Codes of raw columns; an error names the row."""
        codes, known = np.empty((n, len(columns)), dtype=np.intp), []
        for c, values in enumerate(columns):
            found = {}
            for row, value in enumerate(values):
                try:
                    if is_missing(value):
                        raise ValueError(
                            f"{who}: row {row} is {value}, which is no category; fill it in with one of its own."
                        )
                    codes[row, c] = found.setdefault(value, len(found))
                except TypeError:
                    raise TypeError(
                        f"{who}: row {row}: a {type(value).__name__} is no category; give values that can be "
                        "hashed, and several columns as a table or a two-dimensional array."
                    ) from None
            known.append(found)
        return cls(codes, known)
