"""StackedKernels: the best few kernels of a search, mixed by how well they foresee rows that they have not seen."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from mercer._machine import check_memory, within
from mercer._policies import Options, OptionSet
from mercer._warn import warn, warn_again
from mercer.approximate.fitted import conventions
from mercer.approximate.kernels import LEAST_ROWS, check_kernel, searchable
from mercer.approximate.options import TimeOptions
from mercer.estimators._parameters import COUNT, KernelParameters, constraints
from mercer.estimators._protocol import KernelEstimator
from mercer.estimators.validation import check_weight, seed_of
from mercer.gram import Rows
from mercer.gram.trend import make_trend
from mercer.inference import stacking
from mercer.inference.moments import Part
from mercer.kernels import Constant, Kernel, as_kernel
from mercer.kernels.words import describe_together
from mercer.selection import KernelSearchOptions
from mercer.selection.judging import RowsLeftOut
from mercer.selection.kernels_search import search_kernels_rows, stand_in
from mercer.selection.result import ProgressSupport, reporter, with_progress
from mercer.selection.search import Record
from mercer.solvers import choose_solver
from mercer.solvers.plan_class import PlanOptions

LAST = 3  # times as long as a factor: conditioning on the rows, with what is left out


@dataclass(frozen=True)
class StackingOptions(Options):
    """How many kernels are weighed and kept."""

    least_weight: float = 0.01  # below which a kernel is left out
    tried: tuple = ((600, 24), (2000, 8), (float("inf"), 2))  # (up to so many points, so many kernels are weighed)
    most_bytes: float = 2e9  # of the factors of all kernels that are kept

    def usual(self, n):
        """How many kernels are weighed for n points where nothing is short."""
        return next(count for most, count in self.tried if n <= most)


class StackedKernels(ProgressSupport, KernelParameters, RegressorMixin, KernelEstimator):
    """p(y | x) = Σₖₛ wₖₛ N(y; mₖ(x), s² (vₖ(x) + λₖ)): processes with different kernels, weighed by left-out densities.

    `mercer.selection.search_kernels` proposes the kernels; the weights maximise the mean log density of each row under
    the mixture of the models without it, which is a concave problem. Each process is there with its deviations times
    s = 1/4, 1/2, 1, 2 and 4: a normal distribution is too sure of rows far away, and rows like that would decide
    which kernel is the best. What one kernel would be too sure of, several are not.

    Parameters
    ----------
    kernel : "auto" or list of Kernel, default="auto"
        "auto" searches for kernels; a list is what is mixed, as it is.
    lam : list of float, default=None
        λ of each kernel of a list.
    weights : array-like of shape (k,) or (k, 5), default=None
        Of each kernel of a list, or of each at each scale s; None takes those of the best left-out density.
    n_models : int, default=6
        How many kernels are kept at most.
    criterion : {"evidence", "loo"} or Criterion, default="evidence"
        What the search compares kernels by.
    memory : float, default=None
        Bytes this fit may use; None is what the machine has.
    time_budget : float, default=None
        Seconds the search may take; None is 30.
    random_state : int, RandomState or None, default=0
        Seed of the rows that the search looks at first.
    options : list of Options, default=()
        Numbers that steer the search and the weights, where the defaults will not do; see `mercer.options`.

    Attributes
    ----------
    kernels_, lams_ : list
        Kernels and λ that are mixed, the heaviest first.
    weights_ : ndarray of shape (k,)
        Their weights.
    scale_weights_ : ndarray of shape (k, 5)
        The same for each scale of their deviations.
    words_ : list of str
        What each says of the function.
    kernel_, lam_ : Kernel, float
        Those of the largest weight.
    selection_ : SearchResult
        How the search chose; its candidates are the leaderboard.
    left_out_density_ : float
        The weighted mean log density of the rows, each under the mixture without it.
    rkhs_norm_ : float
        The weighted mean of the norms of the parts, each in the space of its kernel.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    GaussianProcessRegressor : one of them; ``kernel="auto"`` is the best by the criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import StackedKernels
    >>> X = np.random.default_rng(0).uniform(-2, 2, (60, 2))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(60)
    >>> model = StackedKernels().fit(X, y)
    >>> mean, std = model.predict(X, return_std=True, noisy=True)
    >>> bool(std.min() > 0.05), model.predict_interval(X[:3]).shape
    (True, (3, 2))
    """

    state_fields = {
        **KernelEstimator.state_fields,
        "kernel_": Kernel,
        "lam_": "number",
        "weights_": "float k",
        "scale_weights_": "float k s",
        "stack": stacking.Stack,
        "n_features_in_": ("size d", None),
    }
    state_extras = {"stack": "_stack", "left": "_left"}
    probabilistic = True
    decomposes = merges_rows = True
    leaves_out = "exact"
    interval_method = "mixture"
    _stack: stacking.Stack

    def __init__(
        self, kernel="auto", lam=None, *, weights=None, n_models=6, criterion="evidence", memory=None, time_budget=None,
        random_state=0, options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        kernel=[StrOptions({"auto"}), list, tuple],
        lam=["array-like", None],
        weights=["array-like", None],
        n_models=[COUNT],
    )

    @with_progress
    def fit(self, X, y, sample_weight=None):
        """Search for kernels, weigh them, and condition each on the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0; a whole number is a repeated row, 0 a removed one.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    @property
    def criterion_used(self):
        """``criterion``; None for kernels that are given."""
        return self.criterion if self._automatic else None

    def _fit(self, X, y, sample_weight):
        first = stand_in(X) if self._automatic or not len(self.kernel) else as_kernel(self.kernel[0])
        X, y = self._check_X_y(X, y, first)
        X = first.validate(X)
        if y.ndim > 1 and y.shape[1] > 1:
            raise ValueError(f"StackedKernels has one target, got {y.shape[1]}; fit one for each.")
        rows = Rows(X, y.reshape(-1, 1), check_weight(sample_weight, len(y)), make_trend("constant", X))
        solver, self.plan_, tried = self._choose(rows.n, rows.d, binding=True)
        kernels, lams, words = self._search_kernels(rows, solver, tried) if self._automatic else self._given(rows)
        parts, words, told = stacking.usable(kernels, lams, words, rows, solver)
        means, stds = stacking.left_out_moments(parts, rows)
        self.scale_weights_, kept = self._choose_weights(means, stds, rows)
        warn_again(itertools.chain.from_iterable(told[k] for k in kept))  # nothing is said of kernels that go
        parts, self.words_ = [parts[k] for k in kept], [words[k] for k in kept]
        self.kernels_, self.lams_ = [part.kernel for part in parts], [part.lam for part in parts]
        self.weights_, self.kernel_, self.lam_ = self.scale_weights_.sum(axis=1), self.kernels_[0], self.lams_[0]
        self._stack = stacking.Stack(parts, self.scale_weights_)
        self._publish(rows, stacking.scaled(means[kept], stds[kept], self.scale_weights_))

    def plan(self, n, d=None, *, targets=1, rows=None):
        return self._choose(n, d, binding=False)[1]

    def _choose(self, n, d, binding):
        """(solver, plan, kernels that are weighed): a factor of each, and one more array for what is left out."""
        search = n if self._automatic else None
        solver, plan = choose_solver("cholesky", self._sizes(n, d, binding=binding), inverse=True, search=search)
        factors = self._tried(n, plan.last) if self._automatic else len(self.kernel)
        work = {kind: LAST * factors * count for kind, count in plan.work.items()}
        need = max(plan.memory_bytes, (factors + 1) * 8.0 * n**2)
        if binding:
            check_memory(need, f"factors of {factors} kernels for n = {n}", self.memory, "fewer kernels or rows")
        reasons = plan.reasons
        if self._automatic and factors < self._stacking.usual(n):
            reasons = (
                *reasons,
                f"{factors} kernels are weighed, not {self._stacking.usual(n)}: memory or time is short of more.",
            )
        return solver, replace(plan, memory_bytes=need, work=work, reasons=reasons), factors

    @property
    def _stacking(self):
        return OptionSet(self.options)[StackingOptions]

    def _tried(self, n, last):
        """How many kernels are weighed: as many as memory and time allow, a factor taking ``last`` seconds."""
        tried = self._stacking.usual(n)
        caution = OptionSet(self.options)[PlanOptions].caution
        room = within(self.memory, (tried + 1) * 8.0 * n**2).bytes
        tried = min(tried, (np.inf if room is None else room) / (8.0 * n**2) - 1.0)
        tried = min(tried, (self.time_budget or np.inf) / (2.0 * LAST * caution * last))
        return int(max(tried, 1.0))

    def _given(self, rows):
        """Kernels, λ and words as they were given."""
        kernels = list(self.kernel)
        if self.lam is None or len(self.lam) != len(kernels) or not kernels:
            raise ValueError(f"{len(kernels)} kernels need as many lam, got {self.lam!r:.80}.")
        for kernel in kernels:
            check_kernel(kernel, rows.X)
        return kernels, [float(lam) for lam in self.lam], [repr(kernel) for kernel in kernels]

    def _search_kernels(self, rows, solver, tried):
        """Kernels, λ and words as a search proposes them; a constant target needs none."""
        if self.criterion is None:
            raise ValueError("criterion=None chooses nothing; give a list of kernels and lam.")
        if not searchable(rows):
            return self._mean_alone(rows)
        given = OptionSet(self.options)
        clock = self._search_clock(given[TimeOptions].unasked)
        names = vars(self).get("feature_names_in_")
        options = {"seed": seed_of(self.random_state), "record": Record(clock, reporter(self))}
        options["options"] = given[KernelSearchOptions]
        options["names"] = None if names is None else list(names)
        found = search_kernels_rows(rows, criterion=self.criterion, solver=solver, keep=tried, **options)
        self.selection_ = found.result().warn()
        return [list(column) for column in zip(*((c.kernel, c.lam, c.words) for c in found.candidates_), strict=True)]

    def _mean_alone(self, rows):
        """The mean, and the spread of y as noise, where nothing says more."""
        spread = float(np.var(rows.row_y)) or (1e-6 * (float(np.abs(rows.row_y).max()) or 1.0)) ** 2
        warn(
            f"{rows.n} different inputs, or targets that are all alike, are nothing to choose a kernel by: the model "
            "is the mean of y.",
            UserWarning,
        )
        return [1e-6 * spread * Constant()], [spread], ["a constant"]

    def _choose_weights(self, means, stds, rows):
        """(weights of each kernel at each scale, which kernels), the heaviest first; those that hardly count go."""
        if self.weights is not None:
            weights = stacking.given_weights(self.weights, len(means))
            return weights[order := np.argsort(-weights.sum(axis=1), kind="stable")], order
        if len(rows.row_y) < LEAST_ROWS:
            return stacking.given_weights(np.ones(len(means)), len(means)), np.arange(len(means))
        y, counts = rows.row_y[:, 0], rows.row_weight
        most = int(max(1, min(self.n_models, self._stacking.most_bytes // (8 * rows.n**2 + 1))))
        weights = stacking.scale_weights(y, means, stds, counts).sum(axis=1)
        kept = np.argsort(-weights, kind="stable")[:most]
        kept = kept[weights[kept] >= min(self._stacking.least_weight, weights.max())]
        weights = stacking.scale_weights(y, means[kept], stds[kept], counts)
        return weights[order := np.argsort(-weights.sum(axis=1), kind="stable")], kept[order]

    def _publish(self, rows, mixture):
        """Set what is known after the fit; ``mixture`` is what is said of each row without it."""
        density = stacking.log_density_of(rows.row_y[:, 0], *mixture)
        self.left_out_density_ = float(np.average(density, weights=rows.row_weight))
        self._left = [rows.to_rows(one) for one in stacking.foreseen(rows.row_y[:, 0], *mixture)]
        self.row_weight_, self.row_target_ = rows.to_rows(rows.row_weight, 0.0), rows.to_rows(rows.row_y[:, 0])
        self.point_index_, self.points_count_ = rows.point_index(), rows.n
        self.regularization_ = conventions(self.lam_, rows.total)
        self.rkhs_norm_ = float(np.average([part.norm[0] for part in self._stack.posteriors], weights=self.weights_))
        said = {"kernel": repr(self.kernel_), "lam": self.lam_, **rows.counts()}
        said |= {"kernels": dict(zip(map(repr, self.kernels_), self.weights_.tolist(), strict=True))}
        said |= {"reasons": list(self.plan_.reasons), "memory_predicted": self.plan_.memory_bytes}
        self.fit_report_.update(said)

    def _learnt(self, rows):
        return {"kernel": self.kernels_, "lam": self.lams_, "weights": self.scale_weights_.tolist()}

    def _left_out_rows(self):
        mean, std, rank, low, high = self._left
        return RowsLeftOut(mean, std=std, rank=rank, ends=np.column_stack([low, high]))

    # ---------------------------------------------------------------------- at new inputs
    def predict(self, X, return_std=False, return_cov=False, noisy=False):
        """Σₖ wₖ mₖ(x), and on request the standard deviation or the covariance of the mixture.

        Parameters
        ----------
        X : array-like of shape (m, d)
        return_std, return_cov : bool, default=False
            Whether to return it too, beside the mean.
        noisy : bool, default=False
            Whether it is that of a new y, not of f(x).

        Returns
        -------
        mean : ndarray of shape (m,)
        std : ndarray of shape (m,)
            With ``return_std``.
        cov : ndarray of shape (m, m)
            With ``return_cov``.
        """
        X = self._new_rows(X)
        if return_cov:
            return self._stack.covariance(X, noisy)
        return stacking.moments_of(*self._stack.normals(X, noisy)) if return_std else self._stack.mean(X)

    def decompose(self, X):
        """f = Σ parts + trend: what all kernels have on the same columns is one part, Σₖ wₖ times their means.

        A season is a part of its own. The means sum to ``predict``; a process without the part has 0 in the mixture.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        list of Part
            With ``name`` (in words, or "trend"), ``mean``, ``std`` and ``kernels``.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> kernels = [Gaussian().on(0) + Linear().on(1), Linear().on(0)]
        >>> model = StackedKernels(kernels, [0.1, 0.1], weights=[3, 1]).fit([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0])
        >>> [part.name for part in model.decompose([[2.0, 2.0]])]
        ['a function of x0', 'a line in x1', 'trend']
        """
        names, found = vars(self).get("feature_names_in_"), self._stack.parts(self._new_rows(X))
        return [Part(describe_together(own, names) if own else "trend", mean, std, own) for own, mean, std in found]

    def quantile(self, X, levels):
        """The quantiles of a new y at x, of shape (m, number of levels).

        Parameters
        ----------
        X : array-like of shape (m, d)
        levels : float or array-like
            Between 0 and 1.
        """
        return stacking.quantiles_of(levels, *self.normals(X))

    def normals(self, X):
        """(means, standard deviations, weights) of the normals that a new y at x is a mixture of.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (k, m), ndarray of shape (k, m), ndarray of shape (k,)
        """
        return self._normals(X)

    def _normals(self, X):
        return self._stack.normals(self._new_rows(X))

    def predict_interval(self, X, coverage=0.9, *, method="mixture", calibration=None):
        """The interval between two quantiles of the mixture, which holds a new target with probability ``coverage``.

        Parameters
        ----------
        X : array-like of shape (m, d)
        coverage : float, default=0.9
            The share of new targets that are to lie inside.
        method : {"mixture", "left-out", "split"}, default="mixture"
            "mixture" believes the models; the others are those of other estimators.
        calibration : (X, y), default=None
            Rows for "split".

        Returns
        -------
        ndarray of shape (m, 2)
        """
        if method != "mixture":
            return super().predict_interval(X, coverage, method=method, calibration=calibration)
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
        return self.quantile(X, [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0])

    def log_density(self, X, y):
        """log p(y | x) of new rows, of shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,)
        """
        return stacking.log_density_of(np.asarray(y, dtype=float), *self.normals(X))
