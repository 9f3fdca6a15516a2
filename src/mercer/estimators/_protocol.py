"""The protocol: what reports, files, tables and the command line may ask of any estimator, with a default for each."""

import functools
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from mercer import uncertainty
from mercer._parameters import Computed, Default, cached_property
from mercer.estimators._fitting import AtomicFit
from mercer.gram import TiledGram
from mercer.selection.judging import RowsLeftOut, refit_left_out
from mercer.solvers.fitted import norms
from mercer.sources.cluster import is_dask

LARGEST = 1e150  # stands for λ = ∞, the constant model, where a number is asked for


def over_partitions(method):
    """Decorate a method of (self, X, …) that answers row by row: for a collection of Dask the answer is one, and lazy.

    What travels is a plain model, as a file would keep it, once for each worker that needs it.
    """

    @functools.wraps(method)
    def call(self, X, *args, **kwargs):
        if isinstance(X, np.ndarray | list | tuple) or not is_dask(X):
            return method(self, X, *args, **kwargs)
        from mercer.sources.partitions import answer_lazily

        return answer_lazily(self, method.__name__, X, args, kwargs)

    return call


def predicts_numbers(self):
    """Whether the estimator is no classifier; AttributeError, as for any missing method, where it is one."""
    if is_classifier(self):
        raise AttributeError(f"{type(self).__name__} is a classifier: it has probabilities, not intervals.")
    return True


class KernelEstimator(AtomicFit):
    """f(x) = Σⱼ αⱼ k(x, xⱼ) + h(x)ᵀb, however α is found: a model of ours, or of yours.

    Reports, model files, tables and the command line ask an estimator for nothing but what is here. A model of your
    own derives from this class and from ``RegressorMixin`` or ``ClassifierMixin``, has ``fit``, which sets ``kernel_``,
    and ``predict``; the rest has a default, and every argument of its ``__init__`` is stored under its name.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel used.
    lam_ : float or None
        λ of K + λI; None where there is none.
    selection_ : SearchResult or None
        How the kernel and λ were chosen; None where they were given.
    regularization_ : dict
        λ in every convention of the lectures.
    fit_report_ : dict
        What the fit did, and why.
    points_ : collection or None
        The training inputs that the model keeps.
    point_index_ : ndarray of shape (n,)
        The point of each training row; -1 for rows that are none.
    row_weight_ : ndarray of shape (n,), or None
        The weight of each training row, 0 for those that were left out; None where the model does not remember.
    row_lam_ : ndarray of shape (n,), or None
        λ of each training row; None where all rows share ``lam_``.
    row_target_ : ndarray of shape (n,) or (n, t)
        The target of each training row, where the model remembers.
    quantile_levels_ : ndarray or None
        Where ``predict`` has a column for each of several quantiles, their levels.
    transform_ : Target or None
        What a model of a transformed target predicts: errors are alike on its scale.
    left_out_density_ : float or None
        Of a mixture: the mean log density of the rows, each under the model without it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import RegressorMixin
    >>> from mercer.estimators import KernelEstimator
    >>> from mercer.kernels import Gaussian
    >>> class Smoother(RegressorMixin, KernelEstimator):
    ...     def __init__(self, kernel=None): ...  # stores its arguments
    ...
    ...     def fit(self, X, y):
    ...         self.kernel_, self.X_, self.y_ = self.kernel or Gaussian(), np.array(X), np.array(y)
    ...         return self
    ...
    ...     def predict(self, X):
    ...         K = self.kernel_(X, self.X_)
    ...         return K @ self.y_ / K.sum(axis=1)
    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0)
    >>> Smoother().fit(X, y).left_out(X, y).predicted.round(1)
    array([1.2, 1.2, 2. , 3. , 3.8, 3.8])
    """

    _doc_link_module = "mercer"
    state_fields = {"fit_report_": dict}

    lam_ = selection_ = points_ = row_weight_ = row_lam_ = quantile_levels_ = left_out_density_ = transform_ = Default(
        None
    )
    regularization_ = fit_report_ = Default({})

    criteria: tuple = ()  # words that ``criterion`` may be, the best for this model first
    linear = False  # whether f is linear in y at a given kernel and λ: paths of λ and influence of rows are defined
    probabilistic = False  # whether predict(X, return_std=True, noisy=True) states the deviation of a new target
    has_evidence = False  # whether log_marginal_likelihood(theta) is log p(y) at other hyper-parameters
    correlated = False  # whether predict(X, return_cov=True) states the covariances of predictions
    decomposes = False  # whether decompose(X) states the posterior of each additive part of the kernel
    leaves_out: str | None = None  # how good ``left_out()`` without rows is: "exact", "close" or "rough"; None: none
    interval_method = "left-out"  # the default of ``predict_interval``
    learns_lengths = True  # whether a criterion chooses the free hyper-parameters of the kernel, not only among kernels
    merges_rows: bool | str = False  # whether equal rows of X are one point; "labels": those of one class
    _left_out_rows: Callable[[], RowsLeftOut]  # a method of those whose ``leaves_out`` is not None

    # ---------------------------------------------------------------------------------------- fitting
    def __sklearn_is_fitted__(self):
        """Whether a fit has set ``kernel_``, or anything that ends with an underscore: asked before every answer."""
        return "kernel_" in vars(self) or any(name.endswith("_") and name[0] != "_" for name in vars(self))

    def _check_fitted(self):
        """Raise NotFittedError before a fit."""
        if not self.__sklearn_is_fitted__():
            who = type(self).__name__
            raise NotFittedError(f"This {who} instance is not fitted yet. Call 'fit' before using this estimator.")

    def _new_rows(self, X):
        """New inputs, checked, as the kernel of the fit reads them; NotFittedError before a fit."""
        self._check_fitted()
        return self.kernel_.validate(self._check_X(X, reset=False, kernel=self.kernel_))

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
            How many columns y will have.
        rows : int, default=None
            Rows, before equal ones are merged; None is n.

        Returns
        -------
        Plan
        """

    # ---------------------------------------------------------------------------------------- after a fit
    @property
    def our_kernel_(self):
        """``kernel_``, as a kernel of `mercer.kernels` where a model keeps it in another form."""
        return self.kernel_

    def frozen(self, rows=None):
        """Return an unfitted clone with what was learnt fixed: it has the kernel and λ of the fit, and chooses nothing.

        Parameters
        ----------
        rows : array-like of int, default=None
            The training rows that it will be fitted on: what was given row by row, such as noise variances, is that of
            these rows. None is all.

        Returns
        -------
        estimator

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> from mercer.datasets import load_cars
        >>> X, y = load_cars(return_X_y=True)
        >>> model = KernelRidge(criterion="loo").fit(X, y)
        >>> again = model.frozen().fit(X, y)
        >>> again.lam_ == model.lam_, again.criterion
        (True, None)
        """
        self._check_fitted()
        known = self.get_params(deep=False)
        fixed = {"kernel": self.kernel_, "criterion": None} | self._learnt(slice(None) if rows is None else rows)
        return clone(self).set_params(**{name: value for name, value in fixed.items() if name in known})

    def _learnt(self, rows):
        """{parameter: value} of what was learnt beside the kernel, for some of the rows."""
        if self.row_lam_ is not None:
            return {"lam": self.row_lam_[rows]}
        return {} if self.lam_ is None else {"lam": float(min(self.lam_, LARGEST))}

    def left_out(self, X=None, y=None, sample_weight=None):
        """Return what the model predicts for each training row without it, at the kernel and λ of the fit.

        Parameters
        ----------
        X, y : default=None
            The rows of the fit: the model is then fitted again without a fifth of them at a time (without each one in
            turn up to 60 rows). None takes the closed form, or the approximation, that the model has.
        sample_weight : array-like of shape (n,), default=None
            The weights of the fit; None are those that the model remembers.

        Returns
        -------
        RowsLeftOut

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None, trend=None)
        >>> model.fit([[0.0], [9.0]], [1.0, 2.0]).left_out().predicted.round(6)  # far apart: 0 without it
        array([0., 0.])
        """
        self._check_fitted()
        if X is None and self.leaves_out is not None:
            return self._left_out_rows()
        if X is None:
            raise ValueError(
                f"{type(self).__name__} does not keep its rows; give them: left_out(X, y) fits without some."
            )
        weight = self.row_weight_ if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return refit_left_out(self, X, y, None if weight is None or np.all(weight == 1.0) else weight)

    @cached_property
    def loo_residuals_(self):
        """yᵢ − f₋ᵢ(xᵢ), of shape (n,) or (n, t): under the model without row i; nan for rows of weight 0."""
        predicts_numbers(self)
        return self.row_target_ - self.left_out().predicted

    @cached_property
    def rkhs_norm_(self):
        """‖f‖ = √(αᵀKα), the trend aside: a number, or one for each target or class."""
        self._check_fitted()
        coef = self.dual_coef_.reshape(len(self.points_), -1)
        norm = norms(TiledGram(self.kernel_, self.points_), coef)
        return float(norm[0]) if self.dual_coef_.ndim == 1 else norm

    @Computed
    def support_(self):
        """The row of each point; of equal rows that are one point the first."""
        point, row = np.unique(self.point_index_, return_index=True)
        return row[point >= 0]

    def quick_proba(self, X):
        """P(class) as ``predict_proba`` has it, or nearly so where that takes long: for curves."""
        return self.predict_proba(X)

    @available_if(predicts_numbers)
    @over_partitions
    def predict_interval(self, X, coverage=0.9, *, method="left-out", calibration=None):
        """[f(x) − q, f(x) + q],  q the ⌈coverage·(n + 1)⌉-th smallest |residual| of rows left out of the fit.

        With ``method="left-out"`` the residuals are ``loo_residuals_``: cheap, usually close to the coverage asked for,
        and **without a guarantee**, since leave-one-out residuals promise nothing for an unstable fit.
        ``method="split"`` uses rows that the fit has not seen; it then holds the target of a new row with a probability
        of at least ``coverage``, if those rows and the new one are exchangeable, whatever the fit and its tuning did.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects
        coverage : float, default=0.9
        method : {"left-out", "split"}, default="left-out"
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
        self._check_fitted()
        self._check_interval_method(method, ("left-out", "split"), calibration)
        f = self.predict(X)
        residuals = self.loo_residuals_ if method == "left-out" else self._residuals_of(calibration)
        residuals = residuals.reshape(len(residuals), -1)
        ends = uncertainty.split(residuals[np.isfinite(residuals).all(axis=1)], f.reshape(len(f), -1), coverage)
        return ends[..., 0] if f.ndim == 1 else ends

    def _check_interval_method(self, method, methods, calibration):
        """Refuse a method of intervals that is none, rows set aside where it needs none, and the other way round."""
        if method not in methods:
            raise ValueError(f"Invalid method={method!r}; expected one of {list(methods)}.")
        if (method == "split") != (calibration is not None):
            raise ValueError('calibration=(X, y), of rows not used in the fit, goes with method="split" and no other.')

    def _residuals_of(self, calibration):
        """y − f(X) of the rows (X, y) set aside."""
        X, y = calibration
        f, y = self.predict(X), np.asarray(y, dtype=float)
        if y.shape != f.shape or not np.isfinite(y).all():
            raise ValueError(f"y of calibration must be finite, of shape {f.shape}; got shape {y.shape}.")
        return y - f

    def _normals(self, X):
        """(means, deviations, weights) of the normals that a new y is a mixture of: one, unless a mixture says more."""
        mean, std = self.predict(X, return_std=True, noisy=True)
        return mean[None], std[None], np.ones(1)

    def for_noise(self, sigma, n, lam):
        """Return a clone that fits noise of this deviation in n rows: the width of a tube, or of a bend; λ of ridge."""
        return clone(self)

    def readable(self, X):
        """Return what of X is numbers to a simple model that this one is compared with; None where nothing is."""
        return np.asarray(X, dtype=float) if self.kernel_.domain == "vectors" else None

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
