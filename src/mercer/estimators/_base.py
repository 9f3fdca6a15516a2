"""What our own kernel regressors share: the kernel, the checked data, the points, and prediction by tiles.

y is (n, t) inside; only here is it ravelled.
"""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer import diagnostics
from mercer._state import check, check_vectors
from mercer.estimators._auto import automatic
from mercer.estimators._protocol import KernelEstimator
from mercer.estimators._report import FitReport
from mercer.estimators.validation import check_diagonal, check_X, check_X_y
from mercer.gram import apply, take
from mercer.gram.trend import Trend, make_trend
from mercer.kernels import Features, Kernel, Matern32, as_kernel
from mercer.selection.priors import LogNormal, Priors
from mercer.selection.search.starts import median_heuristic
from mercer.sources.lazily import over_partitions

FAR = 3.0  # standard deviation of the log of a length scale that nobody gave


def check_kernel(kernel, X):
    """Refuse a kernel that overflows on the data, and one that is not positive semi-definite there."""
    check_diagonal(np.asarray(kernel.diag(X), dtype=float), X, kernel)
    if not kernel.psd:
        diagnostics.require_psd(kernel, X)


def given_kernels(estimator, auto=False):
    """The kernel, or those of a list among which the criterion chooses, copied; a `Matern32` where none is given.

    With ``auto`` the word "auto" is none, too; who does not search for kernels refuses it.
    """
    kernel = estimator.kernel
    several = isinstance(kernel, list | tuple)
    if several and (estimator.criterion is None or not len(kernel)):
        raise ValueError(f"a list of {len(kernel)} kernels needs at least one, and a criterion to choose by.")
    given = kernel if several else [kernel]
    return [
        clone(as_kernel(Matern32() if one is None or (auto and automatic(one)) else one), safe=False) for one in given
    ]


def named_trend(estimator, words=("constant",)):
    """``trend`` as None, a word or a basis, booleans read as a constant or none; what cannot be is refused."""
    trend = estimator.trend
    if isinstance(trend, bool | np.bool_):
        return "constant" if trend else None
    if (
        trend is None
        or (isinstance(trend, str) and trend in words)
        or (isinstance(trend, Features) and "a basis" in words)
    ):
        return trend
    raise ValueError(
        f"trend={trend!r} is none that {type(estimator).__name__} has; it takes "
        f"{', '.join(one if ' ' in one else repr(one) for one in words)} or None."
    )


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """f(x) = Σⱼ k(x, xⱼ) αⱼ + b: models differ only in how α is found."""

    state_fields = {
        **KernelEstimator.state_fields,
        "kernel_": Kernel,
        "n_features_in_": "size d",
        "points_": "rows n d",
        "dual_coef_": ("float n", "float n t"),
        "intercept_": ("number", "float t"),
        "lam_": ("number", None),
        "slopes": (tuple, None),
    }
    state_extras = {"slopes": "_slopes"}
    _slopes: tuple | None = None  # (Trend, b) of one that is more than a constant

    def _restore(self, state):
        if "points_" in state:
            who = type(self).__name__
            check_vectors(state["kernel_"], state["points_"], f"{who}.points_")
            if state["kernel_"].domain == "vectors" and "n_features_in_" not in state:
                raise ValueError(f"{who} does not say how many columns it reads.")
        slopes = state.get("slopes")
        if slopes is not None and not (len(slopes) == 2 and isinstance(slopes[0], Trend)):
            raise ValueError(f"{type(self).__name__}.slopes is no trend with its coefficients.")
        if slopes is not None:
            check({"b": slopes[1]}, {"b": "float q t"}, f"{type(self).__name__}.slopes")
        super()._restore(state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, Kernel) and self.kernel.pairwise
        tags.input_tags.sparse = False
        return tags

    def _prepare(self, X, y, auto=False):
        """Return (kernels, X, y, flat): the kernels resolved, X as they read it, y of shape (n, t)."""
        kernels = given_kernels(self, auto)
        X, y = check_X_y(self, X, y, kernels[0])
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y.reshape(len(y), -1), y.ndim == 1

    def _trend(self, X, weight):
        """The `Trend` of the rows that count, or None."""
        trend = named_trend(self, ("constant", "linear", "a basis"))
        return make_trend(trend, X if weight is None else take(X, np.flatnonzero(weight > 0)))

    def _set_trend(self, trend, b, flat):
        """Keep b of the trend, of shape (q, t); returned is what is the same for every x."""
        self.trend_coef_ = b if trend is None else trend.natural(b)
        self._slopes = None if trend is None or trend.plain else (trend, b)
        return b[0] if b.size and self._slopes is None else np.zeros(0)

    def _set_model(self, kernel, points, coef, intercept, flat):
        """Set what prediction needs."""
        self.kernel_ = kernel
        self.points_ = kernel.retain(points)
        self.dual_coef_ = coef[:, 0] if flat else coef
        self.intercept_ = (float(intercept[0]) if flat else intercept) if np.size(intercept) else 0.0
        self.fit_report_ = FitReport()

    @over_partitions
    def predict(self, X):
        """f(x) = Σⱼ k(x, xⱼ) αⱼ + b, by tiles in bounded memory.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        check_is_fitted(self)
        X = self.kernel_.validate(check_X(self, X, reset=False, kernel=self.kernel_))
        coef = self.dual_coef_
        f = apply(self.kernel_, X, self.points_, coef[:, None] if coef.ndim == 1 else coef)
        f += self.intercept_
        if self._slopes is not None:
            trend, b = self._slopes
            f += np.sum(trend(X)[:, :, None] * b, axis=1)
        return f[:, 0] if coef.ndim == 1 else f


def latent_kernel(X, weight=None):
    """1.0 · Matérn-3/2 with one length scale for each column of X, at the median distances: the prior of a process.

    The bounds of a length scale are those of the kernel, moved along where the columns are in other units.
    """
    d = X.shape[1]
    anywhere = Matern32(1.0 if d == 1 else np.ones(d), length_scale_bounds=(1e-300, 1e300))
    found = median_heuristic(anywhere, X, weight).length_scale
    near = np.all((np.asarray(found) > 1e-2) & (np.asarray(found) < 1e2))
    bounds = None if near else np.multiply.outer(np.atleast_1d(found), (1e-5, 1e5))
    return 1.0 * Matern32(found, length_scale_bounds=bounds)


def default_prior(kernel):
    """log ℓⱼ ~ N(log of where it begins, 3²): few rows do not send a length that they cannot see to its bound."""
    begun = zip(kernel.names, np.exp(kernel.theta), strict=True)
    return Priors({name: LogNormal(float(value), FAR) for name, value in begun})


def default_kernel(X, weight):
    """Matérn-3/2 with ℓⱼ = √d · sd(xⱼ): one unit of distance is the spread of the data, in any unit of measurement."""
    d = X.shape[1]
    w = np.ones(len(X)) if weight is None else weight
    largest = np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    U = X / scale  # so that squares of huge columns stay finite
    mean = w @ U / w.sum()
    sd = scale * np.sqrt(w @ (U - mean) ** 2 / w.sum())
    sd[~(sd > 1e-12 * largest)] = 1.0  # a constant column has no scale
    ell = np.sqrt(d) * sd
    return Matern32(float(ell[0]) if d == 1 else ell)
