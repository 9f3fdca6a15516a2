"""BasisRegression: least squares on an explicit basis, in the primal."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone

from mercer.approximate.fitted import conventions
from mercer.estimators._parameters import NOT_NEGATIVE, KernelParameters, constraints
from mercer.estimators._protocol import LARGEST, KernelEstimator
from mercer.estimators.validation import check_weight
from mercer.gram.rows import Rows, power_of_two, safe_unit
from mercer.gram.trend import make_trend
from mercer.kernels import FeatureMap, Features, Kernel, PolynomialBasis
from mercer.selection.judging import RowsLeftOut
from mercer.selection.search import SearchSpace
from mercer.solvers import choose_solver
from mercer.solvers.least_squares import predict_features, weighted_fit
from mercer.solvers.plan import plan_features


class BasisRegression(KernelParameters, MultiOutputMixin, RegressorMixin, KernelEstimator):
    """θ = (ΦᵀWΦ + λI)⁻¹ΦᵀWy by QR of Φ;  f(x) = φ(x)ᵀθ.

    λ = 0 is ordinary least squares, the best linear unbiased estimator (Gauss–Markov), with its covariance
    σ²(ΦᵀΦ)⁻¹. λ > 0 is ridge regression; there θ = Φᵀα with the dual α of `KernelRidge` on the same basis.

    Parameters
    ----------
    basis : Features, callable or list of them, default=None
        φ: a basis of `mercer.kernels`, or a function of a collection that returns (n, M) features.
        None is ``PolynomialBasis(1)``: (1, x). Of a list the best by the criterion is taken.
    lam : float, default=0.0
        λ >= 0. With a criterion, where the search starts; 0 starts at 1.
    criterion : {"loo", "gcv", "evidence", "kfold", "lcurve", "discrepancy"}, int, splitter or Rule, default=None
        What chooses λ and the free hyper-parameters of the basis, as `KernelRidge` with the kernel φ(x)ᵀφ(z) does.
        None takes ``basis`` and ``lam`` as they are.
    optimize : {"all", "lam", "kernel"}, default="all"
        What is chosen: hyper-parameters of the basis and λ, or one of them alone.
    trend : {"constant"} or None, default=None
        Whether an unpenalised constant is added; most bases have their own 1.
    memory : float, default=None
        Bytes the search may use; None is what the machine has.
    time_budget : float, default=None
        Seconds that the fit may take. The best point that a search has found by then is used; what is predicted to take
        longer is refused.
    random_state : int, RandomState or None, default=0
        Seed of the folds, and of the rows and starts a search looks at first.
    options : list of Options, default=()
        Numbers that steer a search or a solver, where the defaults will not do: ``[SearchOptions(...)]``; see
        `mercer.options`.

    Attributes
    ----------
    coef_ : ndarray of shape (M,) or (M, t)
        θ, the coefficient of each basis function.
    intercept_ : float or ndarray of shape (t,)
        b, the constant.
    leverage_ : ndarray of shape (n,)
        hᵢ: the squared norms of the rows of Q; NaN for rows of weight 0.
    loo_residuals_ : ndarray of shape (n,) or (n, t)
        rᵢ/(1 − hᵢ): the residual at row i of the fit without row i (at the same λ); NaN for rows of weight 0.
    dual_coef_ : ndarray of shape (n,) or (n, t)
        α = W(y − f)/λ with θ = Φᵀα; only for λ > 0.
    covariance_ : ndarray of shape (M, M) or (t, M, M)
        Covariance of θ (and of b, last, with an intercept) for uncorrelated noise of equal variance.
    sigma2_ : float or ndarray of shape (t,)
        Noise variance, RSS over the residual degrees of freedom Σw − 2 tr H + tr H²; NaN when there are none left.
    dof_ : float
        Effective degrees of freedom, Σ hᵢ.
    rank_ : int
        Numerical rank of the design.
    selection_ : SearchResult
        With a criterion: how the basis and λ were chosen, and how surely.
    fit_report_ : FitReport
        Rank, condition, time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import BasisRegression
    >>> from mercer.kernels import PolynomialBasis
    >>> X = np.arange(5.0).reshape(-1, 1)
    >>> model = BasisRegression(PolynomialBasis(2)).fit(X, 1 + X[:, 0] ** 2)
    >>> model.coef_.round(6) + 0.0
    array([1., 0., 1.])
    """

    state_fields = {**KernelEstimator.state_fields, "basis_": Features, "coef_": ("float M", "float M t")}
    criteria = ("loo", "gcv", "evidence", "kfold", "lcurve", "discrepancy")
    leaves_out = "exact"

    def __init__(
        self, basis=None, lam=0.0, *, criterion=None, optimize="all", trend=None, memory=None, time_budget=None,
        random_state=0, options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(__init__, lam=[NOT_NEGATIVE])

    def fit(self, X, y, sample_weight=None):
        """Minimise Σᵢ wᵢ (yᵢ − φ(xᵢ)ᵀθ)² + λ‖θ‖².

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        bases = self._bases()
        X, y = self._check_X_y(X, y, bases[0])
        flat, y = y.ndim == 1, y.reshape(len(y), -1)
        w, rule = check_weight(sample_weight, len(y)), self._as_criterion(y)
        w = np.ones(len(y)) if w is None else w
        self.basis_, lam = (bases[0], float(self.lam)) if rule is None else self._select(bases, X, y, w, rule)
        self.plan_ = self._plan(len(y), X[:1])
        design, scale = self._design(X), power_of_two(y)
        penalised = design.shape[1] - self._constants
        found = weighted_fit(design, y / scale, w, np.where(np.arange(design.shape[1]) < penalised, lam, 0.0))
        theta, residual = found.theta * scale, y - found.fitted * scale
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # of y beyond 1e154, σ² is no float64
            rest = (1.0 - found.leverage)[:, None]
            known = (rest > 1e-12) & (w > 0)[:, None]  # h = 1: row i alone fixes a direction
            loo = np.where(known, residual / rest, np.nan)
            rss = (w[:, None] * residual**2).sum(axis=0)
            sigma2 = rss / found.free if found.free > 1e-9 * w.sum() else np.full(rss.shape, np.nan)
            covariance = sigma2[:, None, None] * found.covariance
        norm = scale * np.linalg.norm(found.theta[:penalised], axis=0)

        def shaped(values):
            return values[..., 0] if flat else values

        self.coef_ = shaped(theta[:penalised])
        b = shaped(theta[penalised:])
        self.intercept_ = 0.0 if not self._constants else float(b[0]) if flat else b[0]
        self.leverage_, self.dof_ = np.where(w > 0, found.leverage, np.nan), float(found.leverage.sum())
        self.loo_residuals_, self.row_target_, self.row_weight_ = shaped(loo), shaped(y), w
        if lam > 0:
            self.dual_coef_ = shaped(w[:, None] * residual / lam)
        self.sigma2_, self.covariance_ = (float(sigma2[0]), covariance[0]) if flat else (sigma2, covariance)
        self.rkhs_norm_ = float(norm[0]) if flat else norm
        self.rank_, self.lam_, self.regularization_ = found.info["rank"], lam, conventions(lam, float(w.sum()))
        said = {"basis": repr(self.basis_), "lam": lam, "rows": len(y), "dropped_rows": int(np.count_nonzero(w == 0))}
        self.fit_report_.update(said, features=design.shape[1], **found.info)

    def _bases(self):
        """The basis, or those of a list among which the criterion chooses."""
        several = isinstance(self.basis, list | tuple)
        if several and (self.criterion is None or not len(self.basis)):
            raise ValueError(f"a list of {len(self.basis)} bases needs at least one, and a criterion to choose by.")
        given = [PolynomialBasis(1) if one is None else one for one in (self.basis if several else [self.basis])]
        return [
            clone(one, safe=False) if isinstance(one, Kernel) and one.explicit else FeatureMap(one) for one in given
        ]

    def _select(self, bases, X, y, w, rule):
        """(basis, λ) as the criterion chooses them, by the kernel φ(x)ᵀφ(z)."""
        for basis in bases:
            X = basis.validate(X)
        rows = Rows(X, y, w, make_trend(self._given_trend(), X), True, safe_unit(y))
        solver, self.plan_ = choose_solver("auto", self._sizes(rows.n, rows.d, time_budget=None), inverse=True)
        several = bases if isinstance(self.basis, list | tuple) else bases[0]
        self.selection_ = self._search(
            SearchSpace(several, float(self.lam) or 1.0, optimize=self.optimize), rows, rule, solver
        )
        return self.selection_.kernel, min(self.selection_.lam, LARGEST)

    def _learnt(self, rows):
        return {"basis": self.basis_} | super()._learnt(rows)

    def plan(self, n, d=None, *, targets=1, rows=None):
        """What a fit of n rows will do; the features are counted on one row of ones."""
        if d is None:
            return plan_features(self._sizes(n, binding=False), 1 + self._constants)
        return self._plan(n, np.ones((1, d)), self._bases()[0], binding=False)

    def _plan(self, n, one, basis=None, binding=True):
        """The plan for n rows like the one that is given: its features are counted."""
        basis = self.basis_ if basis is None else basis
        count = np.shape(basis.features(basis.validate(one)))[1] + self._constants
        return plan_features(self._sizes(n, binding=binding), count)

    @property
    def _constants(self):
        """How many columns of ones are added."""
        return int(self._given_trend() is not None)

    @property
    def kernel_(self):
        """k(x, z) = φ(x)ᵀφ(z)."""
        return self.basis_

    def _left_out_rows(self):
        return RowsLeftOut(self.row_target_ - self.loo_residuals_)

    def _design(self, X):
        """Φ, with a last column of ones for the intercept."""
        Phi = np.asarray(self.basis_.features(self.basis_.validate(X)), dtype=float)
        if not np.isfinite(Phi).all():
            row, column = np.argwhere(~np.isfinite(Phi))[0]
            raise ValueError(f"feature {column} of {self.basis_!r} is {Phi[row, column]} for row {row}; scale X first.")
        return np.hstack([Phi, np.ones((len(Phi), 1))]) if self._constants else Phi

    def predict(self, X, return_std=False):
        """f(x) = φ(x)ᵀθ + b, and with ``return_std`` the standard error of f(x).

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        return_std : bool, default=False
            Whether to return the standard deviation of the mean too.

        Returns
        -------
        ndarray of shape (m,) or (m, t), or a pair of them
        """
        self._check_fitted()
        design = self._design(self._check_X(X, reset=False, kernel=self.basis_))
        b = np.reshape(self.intercept_, (1, *self.coef_.shape[1:])) if self._constants else self.coef_[:0]
        theta = np.concatenate([self.coef_, b])
        if not return_std:
            return predict_features(design, theta)
        f, std = predict_features(design, theta, self.covariance_)
        return f, std[:, 0] if f.ndim == 1 else std
