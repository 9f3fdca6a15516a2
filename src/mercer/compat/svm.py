"""SVR and NuSVR with scikit-learn's arguments."""

from sklearn import svm

from mercer.compat._support import SupportVectors


class SVR(SupportVectors):
    """min ½αᵀKα − yᵀα + ε‖α‖₁,  |αᵢ| <= Cwᵢ,  Σα = 0: ``sklearn.svm.SVR`` on our solver.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A function is called with two collections of rows and returns their matrix.
    degree : int, default=3
        p of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ of "rbf", "poly" and "sigmoid": 1/(d · var X), 1/d, or a number.
    coef0 : float, default=0.0
        c of "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in units of y and of its standard deviation.
    C : float, default=1.0
        The box; infinity is allowed.
    epsilon : float, default=0.1
        ε, half the width of the tube.
    shrinking, cache_size
        Accepted; our solver chooses its working sets and what it stores by itself.
    verbose : bool, default=False
        Whether the report is printed.
    max_iter : int, default=-1
        Most steps; -1 is no limit.

    Attributes
    ----------
    support_ : ndarray of shape (s,)
        Rows of X that are support vectors.
    support_vectors_ : {ndarray, sparse array} of shape (s, d)
        Empty for "precomputed" and for functions of objects.
    n_support_ : ndarray of shape (1,)
    dual_coef_ : {ndarray, sparse array} of shape (1, s)
        α of the support vectors.
    coef_ : {ndarray, sparse array} of shape (1, d)
        For the linear kernel.
    intercept_ : ndarray of shape (1,)
        b, the constant of the decision function.
    fit_status_ : int
        0 if it converged, else 1, with a warning.
    n_iter_ : int
        Steps of the solver.
    shape_fit_ : tuple of int
    fit_report_ : FitReport
        How K was stored, steps, duality gap.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    mercer.SVR : with several targets, λ for C, a time budget, and leave-one-out residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compat import SVR
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR(C=10.0, gamma=0.5).fit(X, np.sin(X[:, 0]))
    >>> len(model.support_) < 20
    True
    """

    _parameter_constraints = svm.SVR._parameter_constraints

    def __init__(self, *, kernel="rbf", degree=3, gamma="scale", coef0=0.0, tol=1e-3, C=1.0, epsilon=0.1,
                 shrinking=True, cache_size=200, verbose=False, max_iter=-1): ...  # fmt: skip

    def _tube(self):
        return self.epsilon, None


class NuSVR(SupportVectors):
    """Σ|α| = ν Σ Cwᵢ chooses ε: ``sklearn.svm.NuSVR`` on our solver; at most a share ν of the rows is outside the tube.

    Parameters
    ----------
    nu : float, default=0.5
        ν in (0, 1].
    C : float, default=1.0
        The box; infinity is allowed.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVR`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, fit_status_, n_iter_, shape_fit_
        As in `SVR`; ε is in ``fit_report_``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compat import NuSVR
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(50 * X[:, 0])
    >>> model = NuSVR(nu=0.3, gamma=0.5).fit(X, y)
    >>> len(model.support_) >= 0.3 * 60
    True
    """

    _parameter_constraints = svm.NuSVR._parameter_constraints

    def __init__(self, *, nu=0.5, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
                 tol=1e-3, cache_size=200, verbose=False, max_iter=-1): ...  # fmt: skip

    def _tube(self):
        return None, self.nu
