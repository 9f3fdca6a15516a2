"""GaussianProcessClassifier: a Gaussian process behind a link, its integral done in one of four ways."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.approximate.base import choose
from mercer.approximate.classes import ClassProblem, number_labels
from mercer.approximate.fitted import Fitted
from mercer.approximate.kernels import latent_kernel
from mercer.estimators._fitting import Approximated
from mercer.estimators._parameters import constraints
from mercer.estimators._protocol import KernelEstimator, over_partitions
from mercer.estimators.validation import check_weight
from mercer.gram import Rows, TiledGram, take
from mercer.inference.temperature import apply_temperature
from mercer.selection.judging import RowsLeftOut
from mercer.selection.result import ProgressSupport, with_progress


class GaussianProcessClassifier(ProgressSupport, Approximated, ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """P(y = 1 | x) = ∫ σ(f) p(f | x, y₁ … yₙ) df with f ~ GP(b, k): the integral of lecture 001, done in four ways.

    Parameters
    ----------
    kernel : Kernel, list of Kernel or "auto", default=None
        k; of a list the best by the criterion is taken. None is ``1.0 * Matern32`` with one length
        scale for each column, started by the median heuristic. "auto" searches over kernel expressions by the
        evidence: see `mercer.selection.search_kernels`.
    inference : {"laplace", "ep", "mcmc", "quadrature"}, default="laplace"
        How the integral over the latent function is done. Laplace's approximation at the mode is quickest; expectation
        propagation is closer to the truth, at some ten times the price; elliptical slice sampling is right up to its
        standard error; direct integration is the reference for at most 8 rows (log evidence to 1e-6 for 6, to 1e-4
        for 8). The last two learn their hyper-parameters by the evidence of expectation propagation.
    link : {"logit", "probit"}, default="logit"
        σ for two classes (and for one against the rest).
    multi_class : {"softmax", "one_vs_rest"}, default="softmax"
        With more than two classes: one latent function for each, coupled by the softmax (Laplace only), or one problem
        of two classes for each class against the rest, with one kernel for all; their probabilities are divided by
        their sum, which has no model behind it. By neighbours and on landmarks there is only the latter.
    criterion : {"evidence"}, Evidence or None, default="evidence"
        What the free hyper-parameters of the kernel are chosen by; None takes the kernel as it is.
    optimize : {"all", "kernel"}, default="all"
        What is learnt: all there is are the hyper-parameters of the kernel.
    trend : {"constant"}, float or None, default="constant"
        "constant" has an unknown constant b in f with a wide prior (standard deviation 5 for the logit and softmax, 3
        for the probit), integrated out: it takes up unequal class frequencies. None is a zero mean, a number a known
        one.
    prior : {"auto"}, None, dict or callable, default="auto"
        Of the hyper-parameters; see `mercer.selection.Priors`. "auto" has a log-normal one for the prior variance of f
        (median 10 for the logit, and a factor of e either way), without which it has no end where classes can be told
        apart without an error; and below 50 points weak ones for length scales.
    n_samples : int, default=1000
        With "mcmc": draws of each of four chains.
    temperature : {"auto"} or bool, default="auto"
        Whether probabilities are raised to the power 1/T and normalised, with T learnt on ``loo_probabilities_`` (and
        a standard normal prior on log T), or on some rows left out by neighbours and on landmarks. "auto" does so with
        a softmax of several classes, which is too cautious, as is one class against the rest where it stands for it.
    averaging : {"mean_field", "joint"}, default="mean_field"
        How the softmax of several classes is averaged over f: by a formula with the variance of each class, or by
        4096 points in the joint distribution, which takes far longer. For other models the integral is exact.
    starts : int, default=3
        How many starts of the search are followed.
    max_iter : int, default=100
        Most factorisations of Laplace's approximation, and half the sweeps of expectation propagation.
    tol : float, default=1e-8
        When an approximation has converged: the last change of f relative to 1 + max |f|; with "quadrature" the
        last change of the log evidence. On landmarks what the objective may be off by, relative to it; 1e-8 at least.
    approximation : {"auto"}, Landmarks, Neighbours or None, default="auto"
        None is exact, whatever it takes; "auto" is exact wherever that fits the memory and the time budget, else, by
        Laplace's approximation, on landmarks. `Landmarks` have it of a function of m landmarks, several classes by one
        against the rest; `Neighbours` have it within the nearest rows of each input: see the report.
    memory : float, default=None
        Bytes that may be used; None is what the machine has.
    time_budget : float, default=None
        Seconds the search may take; the best point found by then is used.
    random_state : int, RandomState or None, default=0
        Seed of the search's samples of the rows, and of the chains.
    options : list of Options, default=()
        Numbers that steer a search, a solver or an approximation, where the defaults will not do:
        ``[SearchOptions(...)]``; see `mercer.options`.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, sorted.
    kernel_ : Kernel
        With the hyper-parameters used.
    points_, point_index_
        The distinct training rows (equal rows of the same class are one), and the point of each row.
    dual_coef_ : ndarray of shape (n_points,) or (n_points, C)
        α: the latent mean is Σⱼ αⱼ k(x, xⱼ) + b.
    intercept_ : float or ndarray of shape (C,)
        b: the posterior mean of the constant.
    log_marginal_likelihood_value_ : float
        log p(y | X, θ), by the inference that was chosen; with "mcmc" by importance sampling.
    loo_probabilities_ : ndarray of shape (n, C)
        P(class) of each row under the posterior of the other rows, at the same hyper-parameters: from the cavity for
        Laplace, expectation propagation and sampling, by integrating again for "quadrature"; nan for rows of weight 0.
        Of a row of weight w > 1, which stands for w rows, one is left out.
    temperature_ : float
        T; 1 if none was asked for.
    n_iter_ : int
        Iterations of the inference at the end.
    selection_ : SearchResult or None
        How the hyper-parameters were chosen.
    fit_report_ : FitReport
        Iterations, convergence, effective sample size and R̂, error of the integration, merged rows, time; the mean
        log loss of ``loo_probabilities_`` (after the temperature), and of the class frequencies.

    Examples
    --------
    >>> from mercer import GaussianProcessClassifier
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["cold", "cold", "warm", "warm"]
    >>> model = GaussianProcessClassifier(4.0 * Gaussian(1.0), criterion=None).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array(['cold', 'warm'], dtype='<U4')
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.5, 0.5]])
    >>> model.set_params(inference="ep").fit(X, y).predict_proba([[3.0]]).round(2)
    array([[0.26, 0.74]])
    """

    criteria, own_criteria = ("evidence",), False

    state_fields = {**KernelEstimator.state_fields, "fitted": Fitted}
    state_extras = {"fitted": "_fitted"}

    @property
    def has_evidence(self):
        """Whether log p(y) is known: not by neighbours, each of which has its own, nor on landmarks."""
        return self._fitted is None or self._fitted.exact

    @property
    def leaves_out(self):
        """How good ``left_out()`` is; None by neighbours and on landmarks, which leave out some rows only."""
        return "exact" if self.has_evidence else None

    def __init__(
        self, kernel=None, *, inference="laplace", link="logit", multi_class="softmax", criterion="evidence",
        optimize="all", trend="constant", prior="auto", n_samples=1000, temperature="auto", averaging="mean_field",
        starts=3, max_iter=100, tol=1e-8, approximation="auto", memory=None, time_budget=None, random_state=0,
        options=(),
    ): ...  # fmt: skip

    _parameter_constraints = constraints(
        __init__,
        inference=[StrOptions({"laplace", "ep", "mcmc", "quadrature"})],
        link=[StrOptions({"logit", "probit"})],
        multi_class=[StrOptions({"softmax", "one_vs_rest"})],
        optimize=[StrOptions({"all", "kernel"})],
        trend=[StrOptions({"constant"}), "boolean", Real, None],
        n_samples=[Interval(Integral, 20, None, closed="left")],
        temperature=[StrOptions({"auto"}), "boolean"],
        averaging=[StrOptions({"mean_field", "joint"})],
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise, tags.input_tags.sparse = self._pairwise, False
        return tags

    @with_progress
    def fit(self, X, y, sample_weight=None):
        """Learn the hyper-parameters by the evidence, and the posterior of the latent function.

        Parameters
        ----------
        X : array-like of shape (n, d), or a sequence of objects
        y : array-like of shape (n,)
            Labels of any kind, at least two different ones.
        sample_weight : array-like of shape (n,), default=None
            wᵢ >= 0 multiplies log p(yᵢ | f); a whole number is a repeated row, 0 a removed one.

        Returns
        -------
        self
        """
        return self._fit_all_or_nothing(X, y, sample_weight)

    def _make_problem(self, X, y, sample_weight):
        kernels = self._given_kernels(X)
        X = self._check_X(X, reset=True, kernel=kernels[0])
        y = self._check_labels(X, y)
        for kernel in kernels:
            X = kernel.validate(X)
        weight = check_weight(sample_weight, len(y))
        self.classes_, number = number_labels(y, weight)
        rows = Rows(X, number[:, None].astype(float), weight, merge="labels")
        problem = self._problem(rows.n, rows.d, len(self.classes_))
        given = {"X": X, "y": number[:, None].astype(float), "weight": weight, "rows": rows}
        return replace(problem, kernels=tuple(kernels), **given).with_kernels()

    merges_rows = "labels"  # equal inputs of one class are one point

    def plan(self, n, d=None, *, targets=1, rows=None):
        """What a fit of n points will do; ``targets`` is the number of functions: 1 for two classes, else one each."""
        return choose(self._problem(n, d, max(2, targets)), binding=False)[1]

    def _problem(self, n, d, classes):
        """The `Problem` of so many points, columns and classes."""
        names = ("inference", "link", "multi_class", "prior", "n_samples", "temperature", "averaging", "starts")
        options = {name: getattr(self, name) for name in (*names, "max_iter", "tol", "trend")}
        default = latent_kernel if self.kernel is None or self._automatic else None
        sizes = {"n": n, "d": d, "t": 1 if classes == 2 else classes, "count": n, "classes": classes}
        options |= {"criterion": self._as_criterion(), "default": default}
        return ClassProblem(**sizes, **options, **self._parameters_of_problem())

    def _left_out_rows(self):
        proba = apply_temperature(self.loo_probabilities_, self.temperature_)  # as predict_proba has them
        how = "leave-one-out probabilities at the kernel of the fit"
        best = self.classes_[proba.argmax(axis=1)].astype(object)
        return RowsLeftOut(np.where(np.isfinite(proba[:, 0]), best, None), how, proba=proba)

    @over_partitions
    def predict(self, X):
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m,)
        """
        parts = []
        for new, k in self._blocks(X):
            labels = self._fitted.posterior.labels(k)
            if labels is None:
                labels = self._fitted.posterior.proba(k, self._diagonal(new), self.averaging).argmax(axis=1)
            parts.append(labels)
        return self.classes_[np.concatenate(parts)]

    @over_partitions
    def predict_proba(self, X):
        """∫ σ(f) p(f | x, y) df, one column for each of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m, C)
            Rows sum to 1.
        """
        return self._proba(X, self.averaging)

    def _proba(self, X, averaging):
        parts = [self._fitted.posterior.proba(k, self._diagonal(new), averaging) for new, k in self._blocks(X)]
        return apply_temperature(np.concatenate(parts), self.temperature_)

    def quick_proba(self, X):
        """P(class), with several classes by the variances that are typical of the rows: a hundred times as quick.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m, C)
        """
        return self._proba(X, "typical")

    def predict_latent(self, X):
        """Mean and standard deviation of the latent function f: two outputs.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        mean, std : ndarray of shape (m,), or (m, C) with several classes
        """
        parts = [self._fitted.posterior.latent(k, self._diagonal(new)) for new, k in self._blocks(X)]
        mean, var = (np.concatenate(values) for values in zip(*parts, strict=True))
        std = np.sqrt(var)
        return (mean[:, 0], std[:, 0]) if mean.shape[1] == 1 else (mean, std)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """log p(y | X, θ) of the training rows, and its gradient in θ.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            log of the free hyper-parameters of ``kernel_``; None are those of the fit.
        eval_gradient : bool, default=False
            Whether to return the gradient in θ too.

        Returns
        -------
        float, or (float, ndarray of shape (p,))
        """
        self._check_fitted()
        if not self.has_evidence:
            raise ValueError("log p(y) needs one system of all rows: approximation=None.")
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        kernel = self.kernel_ if theta is None else self.kernel_.with_theta(theta)
        if not kernel.n_theta:  # Precomputed does not even keep its matrix
            value = self.log_marginal_likelihood_value_
            return (value, np.zeros(0)) if eval_gradient else value
        K = TiledGram(kernel, self.points_)
        value, W = self._fitted.model.exact(K, eval_gradient, self.memory)
        return (-value, -K.grad(W)) if eval_gradient else -value

    def _blocks(self, X, size=1024):
        """Yield (rows, k(rows, points)) for blocks of so many new rows."""
        X = self._new_rows(X)
        if not len(X):
            raise ValueError("Found array with 0 sample(s): X has no row, but a minimum of 1 is required.")
        for i in range(0, len(X), size):
            part = take(X, range(i, min(i + size, len(X))))
            yield part, self._fitted.posterior.cross(self.kernel_, part, self.points_)

    def _diagonal(self, rows):
        """Return k(x, x)."""
        return np.asarray(self.kernel_.diag(rows), dtype=float)
