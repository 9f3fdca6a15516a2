"""What our own estimators share: what their parameters mean, the checked data, the points, and prediction by tiles.

``kernel``, ``criterion`` and ``trend`` mean the same for all. y is (n, t) inside; only here is it ravelled.
"""

import inspect
from numbers import Integral, Real

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer import diagnostics
from mercer._state import check, check_vectors
from mercer._warn import warn
from mercer.estimators._protocol import KernelEstimator
from mercer.estimators.validation import check_diagonal, check_X_y, seed_of
from mercer.gram import Landmarks, apply, take
from mercer.gram.groundwork import Trend, make_trend
from mercer.kernels import Kernel, Matern32, as_kernel
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve
from mercer.selection.base import Rule
from mercer.selection.kernels_search import stand_in
from mercer.selection.priors import LogNormal, Priors
from mercer.selection.search import search_rows
from mercer.selection.search.starts import median_heuristic
from mercer.solvers import Solver
from mercer.solvers.plan_landmarks import LEAST
from mercer.sources.lazily import over_partitions

WORDS = {"loo": LOO, "gcv": GCV, "evidence": Evidence, "kfold": KFold, "lcurve": LCurve, "discrepancy": Discrepancy}
FAR = 3.0  # standard deviation of the log of a length scale that nobody gave
POSITIVE, COUNT = Interval(Real, 0, None, closed="neither"), Interval(Integral, 1, None, closed="left")
CONSTRAINTS: dict = {  # of parameters that mean the same in every estimator
    "optimize": [StrOptions({"all", "lam", "kernel"})],
    "solver": [StrOptions({"auto", "cholesky", "mixed", "spectral", "cg"}), Solver],
    "prior": [StrOptions({"auto"}), dict, callable, None],
    "approximation": [StrOptions({"auto"}), Landmarks, None],
    "merge": ["boolean"],
    "starts": [COUNT],
    "max_iter": [COUNT],
    "tol": [POSITIVE],
    "memory": [POSITIVE, None],
    "time_budget": [POSITIVE, None],
    "random_state": ["random_state"],
}


def constraints(init, **own):
    """{parameter of an ``__init__``: what it may be, as scikit-learn reads it}: its own, or what it is everywhere."""
    names = [name for name in inspect.signature(init).parameters if name != "self"]
    return {name: own.get(name, CONSTRAINTS.get(name, "no_validation")) for name in names}


def check_kernel(kernel, X):
    """Refuse a kernel that overflows on the data, and one that is not positive semi-definite there."""
    check_diagonal(np.asarray(kernel.diag(X), dtype=float), X, kernel)
    if not kernel.psd:
        diagnostics.require_psd(kernel, X)


def kept(kernel, points, instead):
    """Refuse to go on where a kernel, such as `Precomputed`, has kept nothing by which K could be made again."""
    if not np.isfinite(np.asarray(kernel.diag(points), dtype=float)).all():
        raise ValueError(f"{kernel!r} keeps no matrix of the training rows, so {instead}.")


def given_kernels(estimator, auto=False, X=()):
    """The kernel, or those of a list among which the criterion chooses, copied; a `Matern32` where none is given.

    With ``auto`` the word "auto" is a kernel that reads X; who does not search for kernels refuses it.
    """
    kernel = estimator.kernel
    several = isinstance(kernel, list | tuple)
    if several and (estimator.chooses_by() is None or not len(kernel)):
        raise ValueError(f"a list of {len(kernel)} kernels needs at least one, and a criterion to choose by.")
    if auto and automatic(kernel):
        return [stand_in(X)]
    given = kernel if several else [kernel]
    return [clone(as_kernel(Matern32() if one is None else one), safe=False) for one in given]


def settled_kernels(estimator, kernels, rows, default):
    """The kernels, or ``default`` of the rows where none was given; each checked on them."""
    none = (estimator.kernel is None or automatic(estimator.kernel)) and rows.d is not None
    found = [default(rows.X, rows.weight)] if none else kernels
    for kernel in found:
        check_kernel(kernel, rows.X)
    return found


def conventions(lam, n):
    """λ of K + λI in the other conventions of the lectures.

    ``lam_over_n``: λ′ of K + Nλ′I (004) and of K/N + λ′I (002); ``C``: the box 1/(2Nλ′) of the support vector
    dual (004); ``noise_variance``: σ² of a Gaussian process (000, 001).
    """
    return {"lam": lam, "lam_over_n": lam / n, "C": 1.0 / (2.0 * lam) if lam > 0 else np.inf, "noise_variance": lam}


def pairwise_tags(estimator, tags):
    """scikit-learn's tags, with what the kernel says: whether X is a matrix of its values."""
    tags.input_tags.pairwise = isinstance(estimator.kernel, Kernel) and estimator.kernel.pairwise
    tags.input_tags.sparse = False
    return tags


def named_trend(estimator, words=("constant",)):
    """``trend`` as None, a word or a basis, booleans read as a constant or none; what cannot be is refused."""
    trend = estimator.trend
    if isinstance(trend, bool | np.bool_):
        return "constant" if trend else None
    if (
        trend is None
        or (isinstance(trend, str) and trend in words)
        or (isinstance(trend, Kernel) and trend.explicit and "a basis" in words)
    ):
        return trend
    raise ValueError(
        f"trend={trend!r} is none that {type(estimator).__name__} has; it takes "
        f"{', '.join(one if ' ' in one else repr(one) for one in words)} or None."
    )


def automatic(kernel):
    """Whether the kernel is to be searched for."""
    return isinstance(kernel, str) and kernel == "auto"


def unless_given(estimator, word):
    """``criterion``; the word where neither it nor λ is given, or the kernel is searched for: that has to be chosen."""
    unasked = estimator.criterion is None and (estimator.lam is None or automatic(estimator.kernel))
    return word if unasked else estimator.criterion


def too_few(estimator, rows):
    """Whether λ = 1 stays because nobody has asked, and there are too few rows to choose by; said in a warning."""
    few = (
        estimator.criterion is None
        and estimator.lam is None
        and not automatic(estimator.kernel)
        and len(rows.index) < max(rows.q + 2, 3)
    )
    if few:
        warn(f"{len(rows.index)} rows are too few to choose lam by: it is 1. Give lam.", UserWarning)
    return few


def is_splitter(criterion):
    """Whether it is one of scikit-learn's: it splits, and knows how often."""
    return hasattr(criterion, "get_n_splits") and not isinstance(criterion, type)


def as_rule(estimator, y=None, *, own=True, words=None):
    """The rule that an estimator chooses by, or None; what its ``criteria`` do not have is refused with the list.

    A splitter may look at y; without y a rule stands for it, in a plan. ``own`` is whether a rule written by the caller
    will do, ``words`` {word: rule} where a word means another one than usual.
    """
    criterion, can = estimator.chooses_by(), estimator.criteria
    folds = "kfold" in can
    if criterion is None:  # a kernel that is to be searched for has to be chosen by something
        return Evidence() if automatic(estimator.get_params(deep=False).get("kernel")) else None
    if isinstance(criterion, str) and criterion in can:
        return ({**WORDS, **(words or {})})[criterion]()
    if isinstance(criterion, Rule) and (criterion.word in can or (own and criterion.word is None)):
        return criterion
    if folds and isinstance(criterion, Integral) and not isinstance(criterion, bool) and criterion >= 2:
        return KFold(int(criterion), random_state=seed_of(estimator.random_state))
    if folds and is_splitter(criterion):
        return KFold() if y is None else _as_groups(criterion, y)
    more = ", a number of folds from 2 on, a splitter of scikit-learn" if folds else ""
    raise ValueError(
        f"criterion={criterion!r} is nothing that {type(estimator).__name__} can choose by; it takes "
        f"{', '.join(map(repr, can))}, the rule of mercer.selection for one of these{more}, or None."
    )


def chosen(estimator, kernels, rows, rule, solver, lam, **options):
    """The `SearchResult` of a rule on rows, told where it is unsure: which kernel and λ, as ``optimize`` asks."""
    found = search_rows(
        kernels,
        rows,
        rule.restrict(rows.used).in_unit(rows.unit),
        solver=solver,
        lam=lam,
        optimize="lam" if estimator.optimize == "lam" else "all",
        clock=estimator._search_clock(),
        random_state=seed_of(estimator.random_state),
        **{"fixed_lam": estimator.optimize == "kernel", **options},
    )
    return told(estimator, found)


def told(estimator, found):
    """The `SearchResult`, with a warning where it is unsure; one that nobody has asked for keeps it."""
    return found if estimator.criterion is None else found.warn()


def _as_groups(splitter, y):
    """The folds of a splitter as groups that are left out one at a time, which needs no refit."""
    group, count = np.full(len(y), -1), np.zeros(len(y), dtype=int)
    first = y if y.ndim == 1 else y[:, 0]
    for k, (train, test) in enumerate(splitter.split(np.zeros((len(y), 1)), first)):
        group[test], count[test] = k, count[test] + 1
        if len(train) + len(test) != len(y):
            count[test] = 2
    if (count != 1).any():
        raise ValueError(
            f"criterion={splitter!r}: folds without a refit leave out each row once, and learn from all others; use "
            "KFold, GroupKFold or StratifiedKFold, or sklearn.model_selection.GridSearchCV around the model."
        )
    return GroupKFold(group)


def approximates(estimator, n):
    """Whether a fit of n rows may be an approximation: asked for, or "auto" with many rows or a limit to the time."""
    how = estimator.approximation
    return how is not None and (not isinstance(how, str) or n >= LEAST or estimator.time_budget is not None)


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
        return pairwise_tags(self, super().__sklearn_tags__())

    def _prepare(self, X, y, auto=False):
        """Return (kernels, X, y, flat): the kernels resolved, X as they read it, y of shape (n, t)."""
        kernels = given_kernels(self, auto, X)
        X, y = check_X_y(self, X, y, kernels[0])
        for kernel in kernels:
            X = kernel.validate(X)
        return kernels, X, y.reshape(len(y), -1), y.ndim == 1

    def _trend(self, X, weight):
        """The `Trend` of the rows that count, or None."""
        trend = named_trend(self, ("constant", "linear", "a basis"))
        return make_trend(trend, X if weight is None else take(X, np.flatnonzero(weight > 0)))

    def _set_trend(self, trend, b):
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
        return self._shaped(self._decision(X))

    def _shaped(self, values):
        """Values without the axis of targets, if y came without one."""
        return values[..., 0] if self.dual_coef_.ndim == 1 else values

    def _decision(self, X):
        """F of every column, of shape (m, t)."""
        check_is_fitted(self)
        X, coef = self._new_rows(X), self.dual_coef_
        f = apply(self.kernel_, X, self.points_, coef[:, None] if coef.ndim == 1 else coef)
        f += self.intercept_
        if self._slopes is not None:
            trend, b = self._slopes
            f += np.sum(trend(X)[:, :, None] * b, axis=1)
        return f


def latent_kernel(X, weight):
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
    largest = np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    U = X / scale  # so that squares of huge columns stay finite
    sd = scale * np.sqrt(np.average((U - np.average(U, axis=0, weights=weight)) ** 2, axis=0, weights=weight))
    sd[~(sd > 1e-12 * largest)] = 1.0  # a constant column has no scale
    ell = np.sqrt(d) * sd
    return Matern32(float(ell[0]) if d == 1 else ell)
