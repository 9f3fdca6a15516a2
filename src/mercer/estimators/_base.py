"""What all kernel estimators share: the kernel, the checked data, the points, and prediction by tiles.

``fit`` works on a shallow copy and takes over its attributes at the end: a fit that fails or is interrupted leaves
the estimator as it was. y is (n, t) inside; only here is it ravelled.
"""

import copy
import time
from abc import abstractmethod
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer import diagnostics
from mercer._state import Stateful, check_vectors
from mercer.estimators._auto import given
from mercer.estimators._report import FitReport
from mercer.estimators._validation import check_diagonal, check_X, check_X_y
from mercer.gram import apply
from mercer.kernels import Gaussian, Kernel, Matern32, as_kernel
from mercer.kernels.base import call_repr
from mercer.selection.search.starts import median_heuristic


class Estimator(Stateful, BaseEstimator):
    """Common to all estimators: parameters are checked, and fit is all or nothing."""

    _doc_link_module = "mercer"
    _parameter_constraints: dict = {}
    state_fields = {"fit_report_": dict}

    @classmethod
    def _get_param_names(cls):
        """Names of the parameters, read from the signature once for each class."""
        return list(_parameter_names(cls))

    def _fit_all_or_nothing(self, *args, **kwargs):
        """Run ``_fit`` on a copy, and take over what it learnt only if it ends well."""
        self._validate_params()
        started = time.perf_counter()
        fitted = copy.copy(self)
        for name in [name for name in fitted.__dict__ if name.endswith("_") and not name.startswith("_")]:
            del fitted.__dict__[name]  # what an earlier fit has learnt: not all of it may be learnt again
        fitted._fit(*args, **kwargs)
        fitted.fit_report_["seconds"] = time.perf_counter() - started
        return self._take_over(fitted)

    def _take_over(self, fitted):
        """Become the other, and nothing else."""
        self.__dict__.update(fitted.__dict__)
        for name in set(self.__dict__) - set(fitted.__dict__):  # e.g. feature names of an earlier fit
            del self.__dict__[name]
        return self

    def __repr__(self):
        """Return the call that makes this estimator, with the parameters that are not the default."""
        return call_repr(self)

    def save(self, path, force=False, *, note=None, names=None):
        """Write the estimator to one file, which `mercer.load` reads: data only, all or nothing.

        A fitted kernel model contains its training inputs: whoever has the file has them.

        Parameters
        ----------
        path : str or os.PathLike
        force : bool, default=False
            Whether a file that is there is replaced.
        note : dict, default=None
            Plain values to keep with it; see `mercer.files.read_header`.
        names : dict, default=None
            {name: function or class} for what is code and not data; see `mercer.files.save`.

        Examples
        --------
        >>> import os, tempfile
        >>> from mercer import KernelRidge, load
        >>> model = KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "model.mercer"))
        ...     again = load(os.path.join(folder, "model.mercer"))
        >>> bool((again.predict([[0.5]]) == model.predict([[0.5]])).all())
        True
        """
        from mercer import files  # the one arrow upwards: the method is sugar, files does the work

        files.save(self, path, force=force, note=note, names=names)

    merges_rows: bool | str = False  # whether equal rows of X are one point; "labels": those of one class

    @abstractmethod
    def plan(self, n, d=None, *, targets=1, rows=None):
        """What a fit of n points will do; see `mercer.plan`.

        Parameters
        ----------
        n : int
            Points: rows, after equal rows are merged.
        d : int, default=None
            Columns; None for inputs that are not vectors.
        targets : int, default=1
        rows : int, default=None
            Rows, before equal ones are merged; None is n.

        Returns
        -------
        Plan
        """

    @abstractmethod
    def _fit(self, X, y):
        """Learn, and set every fitted attribute on self, which is a copy."""


@cache
def _parameter_names(cls):
    """What scikit-learn finds."""
    return tuple(super(Estimator, cls)._get_param_names())


def check_kernel(kernel, X):
    """Refuse a kernel that overflows on the data, and one that is not positive semi-definite there."""
    check_diagonal(np.asarray(kernel.diag(X), dtype=float), X, kernel)
    if not kernel.psd:
        diagnostics.require_psd(kernel, X)


class KernelEstimator(MultiOutputMixin, RegressorMixin, Estimator):
    """f(x) = Σⱼ k(x, xⱼ) αⱼ + b: models differ only in how α is found."""

    state_fields = {
        **Estimator.state_fields,
        "kernel_": Kernel,
        "n_features_in_": "size d",
        "points_": "rows n d",
        "dual_coef_": ("float n", "float n t"),
        "intercept_": ("number", "float t"),
        "lam_": "number",
    }

    def _restore(self, state):
        if "points_" in state:
            who = type(self).__name__
            check_vectors(state["kernel_"], state["points_"], f"{who}.points_")
            if state["kernel_"].domain == "vectors" and "n_features_in_" not in state:
                raise ValueError(f"{who} does not say how many columns it reads.")
        super()._restore(state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        kernel = self.kernel
        tags.input_tags.pairwise = type(kernel).__name__ == "Precomputed"
        tags.input_tags.sparse = False
        return tags

    def _prepare(self, X, y):
        """Return (kernel, X, y, flat): the kernel resolved, X as it reads it, y of shape (n, t)."""
        kernel = clone(as_kernel(self.kernel), safe=False) if given(self.kernel) else Gaussian()
        X, y = check_X_y(self, X, y, kernel)
        flat = y.ndim == 1
        X = kernel.validate(X)
        return kernel, X, y.reshape(len(y), -1), flat

    def _check_kernel(self, kernel, X):
        """See `check_kernel`."""
        check_kernel(kernel, X)

    def _set_model(self, kernel, points, coef, intercept, flat):
        """Set what prediction needs."""
        self.kernel_ = kernel
        self.points_ = kernel.retain(points)
        self.dual_coef_ = coef[:, 0] if flat else coef
        self.intercept_ = (float(intercept[0]) if flat else intercept) if np.size(intercept) else 0.0
        self.fit_report_ = FitReport()

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


def default_kernel(X, weight):
    """Gaussian with ℓⱼ = √d · sd(xⱼ): one unit of distance is the spread of the data, in any unit of measurement."""
    d = X.shape[1]
    w = np.ones(len(X)) if weight is None else weight
    largest = np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    U = X / scale  # so that squares of huge columns stay finite
    mean = w @ U / w.sum()
    sd = scale * np.sqrt(w @ (U - mean) ** 2 / w.sum())
    sd[~(sd > 1e-12 * largest)] = 1.0  # a constant column has no scale
    ell = np.sqrt(d) * sd
    return Gaussian(float(ell[0]) if d == 1 else ell)
