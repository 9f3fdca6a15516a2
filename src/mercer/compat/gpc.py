"""GaussianProcessClassifier with scikit-learn's arguments."""

import math

import numpy as np
from sklearn import gaussian_process
from sklearn.base import ClassifierMixin
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

from mercer.compat._base import Compatible, validate_data
from mercer.compat._covariance import RowsMixin
from mercer.compat._two_classes import TwoClasses
from mercer.estimators import FitReport


class GaussianProcessClassifier(RowsMixin, ClassifierMixin, Compatible):
    """P(y = 1 | x) = ∫ σ(f) p(f | x, y) df by Laplace: ``sklearn.gaussian_process.GaussianProcessClassifier`` on ours.

    The latent function has mean 0, σ is the logistic function. The last integral is exact here, where scikit-learn
    takes five error functions for σ.

    Parameters
    ----------
    kernel : kernel object of ``sklearn.gaussian_process.kernels``, default=None
        None is ``1.0 * RBF(1.0)`` with fixed hyper-parameters.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        What maximises the evidence over θ; None leaves the kernel as it is.
    n_restarts_optimizer : int, default=0
        Further starts, drawn uniformly from the log bounds.
    max_iter_predict : int, default=100
        Most factorisations in the search for the mode.
    warm_start : bool, default=False
        Whether the search for the mode of the next fit starts at the mode of this one.
    copy_X_train : bool, default=True
        Whether the training rows are copied.
    random_state : int, RandomState or None, default=None
        For the restarts.
    multi_class : {"one_vs_rest", "one_vs_one"}, default="one_vs_rest"
        More than two classes are several problems of two. One against one has no probabilities.
    n_jobs : int, default=None
        Processes for these problems.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    n_classes_ : int
    base_estimator_ : estimator
        The problem of two classes, or scikit-learn's meta-estimator around several.
    kernel_ : kernel object of scikit-learn
        With the θ that was found; a ``CompoundKernel`` for several problems.
    log_marginal_likelihood_value_ : float
        log p(y) at ``kernel_.theta``; the mean over several problems.
    fit_report_ : FitReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    mercer.GaussianProcessClassifier : several classes in one model, an unknown mean, expectation propagation, weights.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer.compat import GaussianProcessClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["cold", "cold", "warm", "warm"]
    >>> GaussianProcessClassifier(4.0 * RBF(1.0), optimizer=None).fit(X, y).predict([[0.5], [2.5]])
    array(['cold', 'warm'], dtype='<U4')
    """

    _parameter_constraints = gaussian_process.GaussianProcessClassifier._parameter_constraints

    def __init__(self, kernel=None, *, optimizer="fmin_l_bfgs_b", n_restarts_optimizer=0, max_iter_predict=100,
                 warm_start=False, copy_X_train=True, random_state=None, multi_class="one_vs_rest",
                 n_jobs=None): ...  # fmt: skip

    def fit(self, X, y):
        """Maximise the evidence over θ, and find the mode of the latent function.

        Parameters
        ----------
        X : array-like of shape (n, d), or a list of objects
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, getattr(self, "base_estimator_", None))

    def _fit(self, X, y, before):
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel: it has several outputs; give one of its kernels.")
        X, y = validate_data(self, X, y, multi_output=False, **self._reads())
        self.classes_ = np.unique(y)
        self.n_classes_ = self.classes_.size
        if self.n_classes_ == 1:
            raise ValueError(
                "GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only class "
                f"{self.classes_[0]} is present)"
            )
        self.base_estimator_ = self._base(before).fit(X, y)
        fitted = self._problems()
        self.log_marginal_likelihood_value_ = np.mean([one.log_marginal_likelihood() for one in fitted])
        self.fit_report_ = FitReport(
            estimator="compat.GaussianProcessClassifier",
            rows=len(y),
            classes=int(self.n_classes_),
            log_marginal_likelihood=float(self.log_marginal_likelihood_value_),
            problems=[dict(one.report_) for one in fitted],
        )

    def _base(self, before):
        """What is to be fitted; ``before`` is what an earlier fit has left."""
        one = TwoClasses(**{name: getattr(self, name) for name in TwoClasses._get_param_names()})
        if self.n_classes_ == 2:
            if self.warm_start and isinstance(before, TwoClasses):
                one.a_cached_ = before.a_cached_
            return one
        around = OneVsRestClassifier if self.multi_class == "one_vs_rest" else OneVsOneClassifier
        return around(one, n_jobs=self.n_jobs)

    @property
    def our_kernel_(self):
        """The kernel, of several problems of two classes that of the first, as one of `mercer.kernels`."""
        return self._problems()[0].our_kernel_

    def _learnt(self, rows):
        """Of several problems each has learnt its own: they are learnt again."""
        return {"kernel": self.kernel_, "optimizer": None} if self.n_classes_ == 2 else {}

    def state(self):
        """{name: value} of the parameters and of all that was learnt: scikit-learn's meta-estimator as its problems."""
        state = super().state()
        return state | {"problems": self._problems()} if state.pop("base_estimator_", None) is not None else state

    def _restore(self, state):
        problems = state.pop("problems", None)
        super()._restore(state)
        if problems is None:
            return
        count = len(self.classes_) if self.multi_class == "one_vs_rest" else math.comb(len(self.classes_), 2)
        if not all(isinstance(one, TwoClasses) for one in problems) or len(problems) != (1 if count == 2 else count):
            raise ValueError(f"{len(problems)} problems of two classes do not make {len(self.classes_)} classes.")
        self.base_estimator_ = problems[0]
        if len(problems) > 1:
            self.base_estimator_ = around = self._base(None)
            around.estimators_, around.classes_, around.pairwise_indices_ = problems, self.classes_, None
            around.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(self.classes_)

    def _problems(self):
        """The fitted problems of two classes."""
        return [self.base_estimator_] if self.n_classes_ == 2 else self.base_estimator_.estimators_

    def _new(self, X):
        """New rows, checked."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._reads())

    def predict(self, X):
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : array-like of shape (m, d), or a list of objects

        Returns
        -------
        ndarray of shape (m,)
        """
        X = self._new(X)
        return self.base_estimator_.predict(X)

    def predict_proba(self, X):
        """∫ σ(f) p(f | x, y) df, one column for each of ``classes_``; of several problems divided by their sum.

        Parameters
        ----------
        X : array-like of shape (m, d), or a list of objects

        Returns
        -------
        ndarray of shape (m, C)
        """
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
        return self.base_estimator_.predict_proba(self._new(X))

    def latent_mean_and_variance(self, X):
        """Mean and variance of the latent function at X, for two classes.

        Parameters
        ----------
        X : array-like of shape (m, d), or a list of objects

        Returns
        -------
        mean, variance : ndarray of shape (m,)
        """
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for binary classification, "
                f"received {self.n_classes_} classes."
            )
        return self.base_estimator_.latent_mean_and_variance(self._new(X))

    @property
    def kernel_(self):
        """The kernel with the θ that was found; a ``CompoundKernel`` for several problems."""
        kernels = [one.kernel_ for one in self._problems()]
        return kernels[0] if self.n_classes_ == 2 else CompoundKernel(kernels)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """log p(y | θ) by Laplace, and its gradient for two classes; the mean over several problems.

        Parameters
        ----------
        theta : array-like of shape (p,) or (p · problems,), default=None
            None is the value of the fit. For several problems one θ for all, or one after the other.
        eval_gradient : bool, default=False
        clone_kernel : bool, default=True
            False sets the θ of ``kernel_``, too; predictions stay those of the fit.

        Returns
        -------
        float, or (float, ndarray of shape (p,))
        """
        check_is_fitted(self)
        problems = self._problems()
        if len(problems) == 1:
            return problems[0].log_marginal_likelihood(theta, eval_gradient, clone_kernel)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if eval_gradient:
            raise NotImplementedError("Gradient of log-marginal-likelihood not implemented for multi-class GPC.")
        theta, p = np.asarray(theta, dtype=float), problems[0].kernel_.n_dims
        if theta.shape not in ((p,), (p * len(problems),)):
            raise ValueError(
                f"Shape of theta must be either {p} or {p * len(problems)}. Obtained theta with shape {theta.shape[0]}."
            )
        parts = np.broadcast_to(theta.reshape(-1, p), (len(problems), p)) if p else [theta] * len(problems)
        values = [one.log_marginal_likelihood(t, False, clone_kernel) for one, t in zip(problems, parts, strict=True)]
        return np.mean(values)
