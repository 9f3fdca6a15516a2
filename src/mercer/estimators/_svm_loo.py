"""Leave-one-out residuals of an SVR by the span rule, and intervals from them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import uncertainty
from mercer.estimators._intervals import check_calibration, held_residuals
from mercer.gram import take
from mercer.uncertainty.span import span


class SpanMixin:
    """``loo_residuals_`` and ``predict_interval`` of an estimator with free and bounded support vectors."""

    state_extras = {"rows": "_rows"}

    def _remember_rows(self, residual, weight, index, keep, rows, flat):
        """Keep the residuals of the merged rows, their weight, and the merged row of each row given."""
        where = np.full(rows, -1)
        where[keep] = index
        self._rows = (residual, weight, np.bincount(index, minlength=len(weight)), where)
        self.__dict__.pop("_loo", None)  # those of an earlier fit

    @property
    def row_weight_(self):
        """Weight of each row given to ``fit``, in equal parts among equal rows; 0 for rows that were left out."""
        check_is_fitted(self)
        _, weight, copies, where = self._rows
        out = np.zeros(len(where))
        out[where >= 0] = (weight / copies)[where[where >= 0]]
        return out

    @property
    def loo_residuals_(self):
        """yᵢ − f₋ᵢ(xᵢ) ≈ yᵢ − f(xᵢ) + αᵢSᵢ²: the span rule; nan for rows of weight 0."""
        check_is_fitted(self)
        if "_loo" not in self.__dict__:
            self._loo = self._span_residuals()
        return self._loo

    def _span_residuals(self):
        """The span rule for every target. One of several equal rows takes away only what the others cannot carry."""
        residual, weight, copies, where = self._rows
        if not np.isfinite(np.asarray(self.kernel_.diag(self.points_), dtype=float)).all():
            raise ValueError(
                f"{self.kernel_!r} keeps no matrix of the training rows, so there is no span rule; use the kernel "
                'itself, or predict_interval(..., method="split").'
            )
        merged = where[self.support_]
        t = residual.shape[1]
        alpha, free = self.dual_coef_.reshape(-1, t), self.free_.reshape(-1, t)
        left, jitter = residual.copy(), 0.0
        for j in range(t):
            inside, at_bound = np.flatnonzero(free[:, j]), np.flatnonzero(self.bounded_.reshape(-1, t)[:, j])
            parts = take(self.points_, inside), take(self.points_, at_bound)
            distance = span(self.kernel_, *parts, intercept=self.intercept)
            jitter = max(jitter, distance.jitter)
            for chosen, s in ((inside, distance.free), (at_bound, distance.bounded)):
                row = merged[chosen]
                others = self.C_ * weight[row] * (1.0 - 1.0 / copies[row])
                size = np.abs(alpha[chosen, j])
                left[row, j] += np.sign(alpha[chosen, j]) * np.maximum(size - others, 0.0) * s
        self.fit_report_["span_jitter"] = jitter
        out = np.full((len(where), t), np.nan)
        out[where >= 0] = left[where[where >= 0]]
        return out[:, 0] if self.dual_coef_.ndim == 1 else out

    def predict_interval(self, X, coverage=0.9, *, method="span", calibration=None):
        """[f(x) − q, f(x) + q],  q the ⌈coverage·(n + 1)⌉-th smallest |residual| of rows left out of the fit.

        With ``method="span"`` the residuals are ``loo_residuals_``: cheap, usually close to the coverage asked for, and
        **without a guarantee**: the span rule is an approximation, and even exact leave-one-out residuals promise
        nothing for an unstable fit. ``method="split"`` uses rows that the fit has not seen; it then holds the target of
        a new row with a probability of at least ``coverage``, if those rows and the new one are exchangeable, whatever
        the fit and its tuning did.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
        method : {"span", "split"}, default="span"
        calibration : (X, y), default=None
            Rows for "split".

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)
            Infinite, with a warning, where there are fewer than coverage/(1 − coverage) rows.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import SVR
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
        >>> SVR(Gaussian(0.3), C=10.0, epsilon=0.1).fit(X, y).predict_interval([[0.25], [0.75]]).shape
        (2, 2)
        """
        check_is_fitted(self)
        if method not in {"span", "split"}:
            raise ValueError(f'method must be "span" or "split", got {method!r}.')
        check_calibration(method, calibration)
        f = self.predict(X)
        if method == "split":
            residuals = held_residuals(self, calibration)
        else:
            residuals = self.loo_residuals_
            residuals = residuals[np.isfinite(residuals.reshape(len(residuals), -1)).all(axis=1)]
        ends = uncertainty.split(residuals.reshape(len(residuals), -1), f.reshape(len(f), -1), coverage)
        return ends[..., 0] if self.dual_coef_.ndim == 1 else ends
