"""What SVR and NuSVR with scikit-learn's arguments share: rows, weights, γ, the solution, prediction."""

from abc import abstractmethod

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from mercer._warn import warn
from mercer.compat._base import Compatible, numbers, validate_data
from mercer.compat._kernels import Given, Whole, is_wide, route
from mercer.dual.working_set import hold
from mercer.estimators import FitReport
from mercer.estimators.svm_fit import EpsilonDual, centre_and_unit
from mercer.estimators.validation import refuse_extreme
from mercer.solvers.witness import negative_witness


class SupportVectors(RegressorMixin, Compatible):
    """f(x) = Σⱼ αⱼ k(x, xⱼ) + b: what SVR and NuSVR share."""

    state_extras = {"gamma": "_gamma", "rows": "_X"}
    state_fields = {
        **Compatible.state_fields,
        "gamma": "number",
        "n_features_in_": "size d",
        "dual_coef_": "matrix one m",
        "support_": "int m",
        "support_vectors_": ("matrix m d", "matrix none none"),
        "intercept_": "float one",
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @abstractmethod
    def _tube(self):
        """(ε, ν), one of which is None."""

    # ---------------------------------------------------------------------- fit
    def fit(self, X, y, sample_weight=None):
        """Find α and b.

        Parameters
        ----------
        X : {array-like, sparse array} of shape (n, d)
            The (n, n) kernel matrix for "precomputed"; whatever a kernel function reads.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            C of row i is C wᵢ; rows with wᵢ <= 0 are left out.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            check_consistent_length(X, y)
            y = column_or_1d(numbers(y), warn=True, dtype=np.float64)
            assert_all_finite(y, input_name="y")
        else:
            form = {"accept_sparse": "csr", "accept_large_sparse": False}
            X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True, **form)
            y = y.astype(np.float64)
        weight, keep = self._weights(sample_weight, len(y))
        self._gamma = self._resolve_gamma(X)
        self._route = self._make_route(is_wide(X))
        K = self._route.gram(self._route.part(X, keep))
        self._keep(self._solve(K, y[keep], weight), X, keep)
        if self.fit_status_:
            self._warn(K)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(y),)

    def _weights(self, sample_weight, n):
        """(w of the rows that count, which they are)."""
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (n,):
            raise ValueError(f"sample_weight and X have incompatible shapes: {weight.shape} vs {n} rows.")
        if not np.isfinite(weight).all():
            raise ValueError("sample_weight contains NaN or infinity.")
        keep = np.flatnonzero(weight > 0)
        if not keep.size:
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        refuse_extreme(weight[keep])
        return weight[keep], keep

    def _resolve_gamma(self, X):
        """γ as a number; "scale" is 1/(d · var X), as in scikit-learn without the weights."""
        if callable(self.kernel) or self.kernel == "precomputed":
            return 0.0
        if isinstance(self.gamma, str) and self.gamma == "auto":
            return 1.0 / X.shape[1]
        if isinstance(self.gamma, str):
            variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
            return float(1.0 / (X.shape[1] * variance)) if variance != 0 else 1.0
        return float(self.gamma)

    def _make_route(self, wide):
        """How K is evaluated; a function sees all rows at once, as scikit-learn calls it."""
        if callable(self.kernel):
            return Whole(self.kernel, at_once=True)
        if self.kernel == "precomputed":
            return Given()
        return route(self.kernel, wide, self._gamma, self.degree, self.coef0)

    def _learnt(self, rows):
        return {"gamma": self._gamma} if isinstance(self.gamma, str) else {}

    def _restore(self, state):
        super()._restore(state)
        if "support_" in state:
            alpha = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
            self._alpha = alpha[0]
            self._route = self._make_route(is_wide(self.support_vectors_, self.shape_fit_))
            if len(self._alpha) != len(self.support_):
                raise ValueError(f"there are {len(self._alpha)} coefficients of {len(self.support_)} support vectors.")

    def _solve(self, K, y, weight):
        """The solution in units of y: `FittedTarget`."""
        C = 1e10 * max(1.0, float(np.abs(y).max())) if np.isinf(self.C) else float(self.C)
        epsilon, nu = self._tube()
        # tol is in units of y in libsvm and of its spread in ours: what is asked for holds in both
        tol = max(self.tol / max(1.0, centre_and_unit(y, weight, True)[1]), 1e-12)
        K = hold(K, tol) if nu is not None else K
        limit = None if self.max_iter == -1 else self.max_iter
        return EpsilonDual(K, weight, True, nu, tol, limit).fit(y, C, epsilon)

    def _keep(self, found, X, keep):
        """Set what was learnt."""
        chosen = np.flatnonzero(found.alpha)
        self._alpha = found.alpha[chosen]
        self.support_ = keep[chosen].astype(np.int32)
        self.intercept_ = np.array([found.b])
        self.dual_coef_ = self._alpha[None, :]
        self._X = X if callable(self.kernel) else None  # which a function wants to see whole
        if callable(self.kernel) or self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[self.support_]
            if sp.issparse(X):
                form = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
                self.dual_coef_ = form(self.dual_coef_)
        self.n_iter_ = max(1, int(found.solution.iterations))
        self.fit_status_ = int(found.solution.status != "converged")
        self._report(found, len(keep))

    def _report(self, found, rows):
        """Fill ``fit_report_``."""
        info = found.solution.info
        self.fit_report_ = FitReport(
            estimator=f"compat.{type(self).__name__}",
            kernel=repr(self.our_kernel_),
            gamma=self._gamma,
            epsilon=found.epsilon,
            rows=rows,
            support_vectors=len(self.support_),
            solver=found.solver,
            gram=info["gram"],
            status=found.solution.status,
            iterations=self.n_iter_,
            rounds=info["rounds"],
            interior_steps=info["interior_steps"],
            newton_steps=info["newton_steps"],
            jitter=info["jitter"],
            kkt_violation=found.unit * found.solution.violation,
            dual_gap=found.gap,
            objective=found.primal,
        )
        if self.verbose:
            print(f"[mercer] {self.fit_report_!r}")  # noqa: T201

    def _warn(self, K):
        """Say that the solution is not one, and whether K is to blame."""
        report, why = self.fit_report_, ""
        if not self._route.tiled:
            witness = negative_witness(K)
            if witness is not None:
                report["lowest_eigenvalue"] = witness[2]
                why = (
                    f" The kernel is not positive semi-definite: its matrix of rows {witness[0].tolist()} has the "
                    f"eigenvalue {witness[2]:.3g}, so that the dual has no single minimum, and the coefficients (their "
                    f"sum is {self._alpha.sum():.3g}, for 0) may solve nothing; use another kernel."
                )
        warn(
            f"Solver terminated early ({report['status']}, max_iter={self.max_iter}) after {self.n_iter_} steps with a "
            f"duality gap of {report['dual_gap']:.3g} at an objective of {report['objective']:.3g}. Consider "
            f"pre-processing your data with StandardScaler or MinMaxScaler, a smaller C or a larger tol.{why}",
            ConvergenceWarning,
        )

    # ---------------------------------------------------------------------- what was learnt
    @property
    def n_support_(self):
        """The number of support vectors, as an array of one."""
        if not hasattr(self, "support_"):
            raise AttributeError("n_support_ is there after fit.")
        return np.array([len(self.support_)], dtype=np.int32)

    @property
    def coef_(self):
        """Σⱼ αⱼ xⱼ, of shape (1, d), for the linear kernel; read only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self, "support_")
        coef = self.dual_coef_ @ self.support_vectors_
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def predict(self, X):
        """f(x) = Σⱼ αⱼ k(x, xⱼ) + b.

        Parameters
        ----------
        X : {array-like, sparse array} of shape (m, d)
            For "precomputed" the (m, n) matrix of the new rows with the training rows.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self, "support_")
        if callable(self.kernel):
            return self._by_matrix(self.kernel(X, self._X))
        sparse = False if self.kernel == "precomputed" else "csr"
        X = validate_data(self, X, dtype=np.float64, order="C", accept_sparse=sparse, reset=False)
        if self.kernel == "precomputed":
            return self._by_matrix(X)
        if self.kernel == "linear":
            coef = self.coef_
            f = X @ (coef.toarray() if sp.issparse(coef) else coef).T
            return f[:, 0] + self.intercept_[0]
        f = self._route.product(X, self.support_vectors_, self._alpha[:, None])
        return f[:, 0] + self.intercept_[0]

    def _by_matrix(self, K):
        """F from the values of the kernel with all training rows."""
        K = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
        n = self.shape_fit_[0]
        if K.ndim != 2 or K.shape[1] != n:
            raise ValueError(
                f"X.shape[1] = {K.shape[-1]} should be equal to {n}, the number of samples at training time"
            )
        return K[:, self.support_] @ self._alpha + self.intercept_[0]
