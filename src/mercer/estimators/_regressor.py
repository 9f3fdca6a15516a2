"""A dual expansion f(x) = Σⱼ k(x, xⱼ) αⱼ + h(x)ᵀb: what a file keeps of it, and its predictions, by tiles."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._state import check, check_vectors
from mercer.estimators._parameters import KernelParameters
from mercer.estimators._protocol import KernelEstimator, over_partitions
from mercer.gram import apply
from mercer.gram.trend import Trend
from mercer.kernels import Kernel


class KernelRegressor(KernelParameters, MultiOutputMixin, RegressorMixin, KernelEstimator):
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
        tags.input_tags.pairwise, tags.input_tags.sparse = self._pairwise, False
        return tags

    def _set_model(self, kernel, points, coef, intercept, flat):
        """Set what prediction needs."""
        self.kernel_ = kernel
        self.points_ = kernel.stored_inputs(points)
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
        X, coef = self._new_rows(X), self.dual_coef_
        f = apply(self.kernel_, X, self.points_, coef[:, None] if coef.ndim == 1 else coef)
        f += self.intercept_
        if self._slopes is not None:
            trend, b = self._slopes
            f += np.sum(trend(X)[:, :, None] * b, axis=1)
        return f
