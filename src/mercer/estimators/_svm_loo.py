"""Leave-one-out residuals of an SVR by the span rule."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimators._base import KernelRegressor, named_trend
from mercer.gram import take
from mercer.selection.judging import RowsLeftOut
from mercer.uncertainty.span import span


class SpanMixin:
    """``loo_residuals_`` of an estimator with free and bounded support vectors."""

    state_extras = {**KernelRegressor.state_extras, "rows": "_rows"}
    leaves_out = "rough"  # good enough for intervals; a single row can be far from a refit

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
            distance = span(self.kernel_, *parts, intercept=named_trend(self) is not None)
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

    def _left_out_rows(self):
        return RowsLeftOut(self.row_target_ - self.loo_residuals_, "span rule at the kernel and C of the fit")
