"""KernelRidge with scikit-learn's arguments."""

import numpy as np
from sklearn import kernel_ridge
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative

from mercer._warn import warn
from mercer.compat._base import Compatible, validate_data
from mercer.compat._kernels import Given, Named, Whole, is_wide, route
from mercer.estimators import FitReport
from mercer.estimators.validation import check_weight
from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.gram import ScaledGram
from mercer.solvers import Cholesky, Sizes, choose_solver
from mercer.solvers.least_squares import least_squares

POSITIVE = ("additive_chi2", "chi2")


class KernelRidge(MultiOutputMixin, RegressorMixin, Compatible):
    """(K + αI) c = y,  f(x) = Σⱼ cⱼ k(x, xⱼ): ``sklearn.kernel_ridge.KernelRidge`` on our solvers.

    α is `mercer.KernelRidge`'s λ and c its α. There is no intercept.

    Parameters
    ----------
    alpha : float or array-like of shape (t,), default=1
        α >= 0; one for each target is allowed.
    kernel : str or callable, default="linear"
        A name of ``sklearn.metrics.pairwise_kernels``, "precomputed", or a function of two rows.
    gamma : float, default=None
        γ of "rbf", "laplacian", "poly", "sigmoid" and "chi2"; None is 1/d, and 1 for "chi2".
    degree : float, default=3
        p of "poly".
    coef0 : float, default=1
        c of "poly" and "sigmoid".
    kernel_params : dict, default=None
        More arguments for a function.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, t)
        The weight of each training row in Σⱼ cⱼ k(x, xⱼ).
    X_fit_ : {ndarray, sparse array} of shape (n, d)
        The training rows; the matrix itself for "precomputed".
    fit_report_ : FitReport
        Which solver and why, condition, residual, and whether least squares took its place.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    mercer.KernelRidge : with an intercept, leave-one-out selection of λ and the kernel, and intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compat import KernelRidge
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = KernelRidge(alpha=0.01, kernel="rbf", gamma=0.5).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    state_fields = {
        **Compatible.state_fields,
        "n_features_in_": "size d",
        "X_fit_": "matrix n d",
        "dual_coef_": ("float n", "float n t"),
    }
    _parameter_constraints = kernel_ridge.KernelRidge._parameter_constraints

    def __init__(self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None): ...

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel not in (*POSITIVE, "precomputed")
        tags.input_tags.positive_only = self.kernel in POSITIVE
        return tags

    def fit(self, X, y, sample_weight=None):
        """Solve (K + αW⁻¹) c = y.

        Parameters
        ----------
        X : {array-like, sparse array} of shape (n, d)
            The (n, n) kernel matrix for "precomputed".
        y : array-like of shape (n,) or (n, t)
        sample_weight : float or array-like of shape (n,), default=None
            wᵢ >= 0: how many rows each row counts for.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        X, y = validate_data(self, X, y, accept_sparse=self._sparse(), multi_output=True, y_numeric=True)
        if self.kernel in POSITIVE:
            check_non_negative(X, f"KernelRidge(kernel={self.kernel!r})")
        n, flat = len(y), y.ndim == 1
        y = y.reshape(n, -1).astype(np.float64)
        alpha = self._alphas(y.shape[1])
        weight = check_weight(sample_weight, n)
        keep = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        self._route = self._make_route(X)  # of X its shape alone
        K = self._route.gram(self._route.part(X, keep))
        s = None if weight is None else np.sqrt(weight[keep])
        coef = np.zeros_like(y)
        self.fit_report_ = FitReport(
            estimator="compat.KernelRidge",
            kernel=repr(self.our_kernel_),
            alpha=alpha.tolist() if alpha.size > 1 else float(alpha[0]),
            rows=n,
            dropped_rows=n - len(keep),
        )
        coef[keep] = self._solve(K, y[keep], alpha, s, X.shape[1] if self._route.tiled else None)
        self.dual_coef_ = coef[:, 0] if flat else coef
        self.X_fit_ = X

    def _sparse(self):
        """The sparse formats that may come in."""
        return ("csr", "csc") if self.__sklearn_tags__().input_tags.sparse else False

    def _alphas(self, targets):
        """α, one or as many as targets, checked."""
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=float))
        if alpha.shape not in ((1,), (targets,)) or not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            raise ValueError(
                f"alpha must be one finite number >= 0, or one for each of the {targets} targets; got {self.alpha!r}."
            )
        return alpha[:1] if (alpha == alpha[0]).all() else alpha

    def _make_route(self, X):
        """How K is evaluated."""
        if callable(self.kernel):
            return Whole(Named(self.kernel, dict(self.kernel_params or {})))
        if self.kernel == "precomputed":
            return Given()
        default = 1.0 if self.kernel == "chi2" else 1.0 / X.shape[1]
        gamma = default if self.gamma is None else self.gamma
        return route(self.kernel, is_wide(X), gamma, self.degree, self.coef0)

    def _restore(self, state):
        super()._restore(state)
        if "X_fit_" in state:
            self._route = self._make_route(self.X_fit_)

    def _solve(self, K, y, alpha, s, d):
        """C of shape (n, t), by one inverse for each α."""
        K = K if s is None else ScaledGram(K, s)
        y = y if s is None else s[:, None] * y
        solver = Cholesky(jitter=None)  # where it fails there is least squares
        if K.n > 1000:  # up to there a float64 factor is quicker than to plan
            planned, plan = choose_solver("auto", Sizes(K.n, d, y.shape[1]))
            solver = solver if plan.solver == "cholesky" else planned
            self.fit_report_["reasons"] = list(plan.reasons)
        resolvent, coef = solver.resolvent(K), np.empty_like(y)
        for lam in np.unique(alpha):
            columns = np.broadcast_to(alpha == lam, y.shape[1])
            try:
                Kinv = resolvent(float(lam))
                coef[:, columns] = Kinv @ y[:, columns]
                self.fit_report_.update(Kinv.info)
            except NotPositiveDefinite:
                coef[:, columns] = self._least_squares(K, y[:, columns], float(lam))
        return coef if s is None else s[:, None] * coef

    def _least_squares(self, K, y, lam):
        """The c of smallest norm that minimises ‖(K + αI)c − y‖, for a matrix that is singular or indefinite."""
        A = K.dense()
        np.einsum("ii->i", A)[...] += lam
        coef, _, _, info = least_squares(A, y, np.zeros(K.n))
        self.fit_report_.update(solver="least squares", **info)
        if info["rank"] == K.n:  # where it is less, least_squares has said so
            warn(
                f"K + alpha I is not positive definite (kernel={self.kernel!r}, alpha = {lam:.3g}, n = {K.n}): the "
                "function is no kernel on these rows, or alpha is too small. The linear system is solved all the same, "
                "but f minimises nothing. Use another kernel or a larger alpha.",
                NumericalWarning,
            )
        return coef

    def predict(self, X):
        """f(x) = Σⱼ cⱼ k(x, xⱼ).

        Parameters
        ----------
        X : {array-like, sparse array} of shape (m, d)
            For "precomputed" the (m, n) matrix of the new rows with the training rows.

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=self._sparse(), reset=False)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        coef = self.dual_coef_
        f = self._route.product(X, self.X_fit_, coef[:, None] if coef.ndim == 1 else coef)
        return f[:, 0] if coef.ndim == 1 else f
