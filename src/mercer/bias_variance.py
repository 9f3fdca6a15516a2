"""Bias and variance of lecture 003: in closed form for what is linear in y, by simulation for any estimator.

E(f̂(x) − f(x))² = (E f̂(x) − f(x))² + E(f̂(x) − E f̂(x))², over draws y = f(X) + σε of the training targets, X fixed.
"""

import numpy as np
from sklearn.base import clone

from mercer.kernels.base import Kernel
from mercer.solvers.factoring import eigen, thin_svd


class BiasVariance(dict):
    """error = bias² + variance: a dictionary of columns, means over the inputs that were asked for.

    Columns of `bias_variance` are lam, dof, bias2, variance, error, one entry for each λ. Those of
    `simulate_bias_variance` are bias2, variance, error, one number each, and their standard errors ``*_se``.
    The noise σ² of a new target is in none of them.

    Attributes
    ----------
    bias_at : ndarray of shape (L, m) or (m,)
        E f̂(x) − f(x), with its sign, for each λ and input.
    variance_at : ndarray of shape (L, m) or (m,)
        E(f̂(x) − E f̂(x))².

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.diagnostics import bias_variance
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> found = bias_variance(Gaussian(0.2), X, lambda X: np.sin(6 * X[:, 0]), 0.3, [0.01, 0.1, 1.0])
    >>> bool(np.allclose(found["error"], found["bias2"] + found["variance"])), found.bias_at.shape
    (True, (3, 20))
    """

    def __init__(self, columns, bias_at, variance_at):
        super().__init__(columns)
        self.bias_at, self.variance_at = bias_at, variance_at

    @property
    def best(self):
        """λ of the smallest error; None for a simulation."""
        return float(self["lam"][np.argmin(self["error"])]) if "lam" in self else None

    def __reduce__(self):
        return type(self), (dict(self), self.bias_at, self.variance_at)

    def __str__(self):
        """Return about twenty rows of the table."""
        columns = {name: np.atleast_1d(column) for name, column in self.items()}
        length = len(columns["error"])
        shown = np.unique(np.linspace(0, length - 1, min(length, 20)).round().astype(int))
        lines = ["".join(name.rjust(13) for name in columns)]
        lines += ["".join(f"{column[i]:13.4g}" for column in columns.values()) for i in shown]
        return "\n".join(lines)


def bias_variance(kernel, X, truth, sigma, lams=None, X_test=None, intercept=True):
    """bias(x) = ℓ(x)ᵀf − f(x),  variance(x) = Σᵢ ℓᵢ(x)² σᵢ²  for the linear smoother f̂(x) = ℓ(x)ᵀy, at every λ.

    Exact, for all λ from one decomposition. With a kernel this is `KernelRidge` at fixed λ; with a basis (any
    `Features`) and ``intercept=False`` it is `BasisRegression`, λ = 0 (least squares) included.

    Parameters
    ----------
    kernel : Kernel
        k; for a basis the decomposition is that of Φ itself.
    X : collection
        n training inputs, fixed over the draws.
    truth : callable or array-like of shape (n,)
        f: a function of a collection, or its values at X if these are all that is asked for.
    sigma : float or array-like of shape (n,)
        Standard deviation of the noise, of each row where it differs; noise is uncorrelated.
    lams : array-like of shape (L,), default=None
        λ >= 0; None is 100 values between the largest eigenvalue of K and rounding, evenly in log λ.
    X_test : collection, default=None
        m inputs at which bias and variance are found; None is X.
    intercept : bool, default=True
        Whether the model has a constant that is not penalised.

    Returns
    -------
    BiasVariance
        Columns lam, dof, bias2, variance, error; ``bias_at`` and ``variance_at`` for each λ and input.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.diagnostics import bias_variance
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 25)[:, None]
    >>> table = bias_variance(Gaussian(0.1), X, lambda X: np.sin(6 * X[:, 0]), 0.3, [0.01, 0.5, 20.0])
    >>> print(table)
              lam          dof        bias2     variance        error
             0.01        12.83    1.201e-05      0.04219       0.0422
              0.5        7.417     0.004521      0.02047      0.02499
               20         1.83       0.3193     0.004025       0.3233
    >>> table.best
    0.5
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel (a basis is one too), got {type(kernel).__name__}.")
    X = kernel.validate(X)
    new = X if X_test is None else kernel.validate(X_test)
    f, f_new = _truth(truth, X, new, X_test is None)
    sigma = _sigma(sigma, len(f))
    mean = 1.0 / len(f) if intercept else 0.0
    U, e, T, floor = (_of_features if kernel.explicit else _of_kernel)(kernel, X, new, intercept)
    lams = _default_lams(e, floor) if lams is None else _check_lams(lams)
    kept = e > floor
    with np.errstate(divide="ignore"):  # 1/(e + λ), which at λ = 0 is the pseudo-inverse
        inverse = np.where(kept | (lams[:, None] > 0), 1.0 / (np.maximum(e, 0.0) + lams[:, None]), 0.0)
    bias = mean * f.sum() + (inverse * (U.T @ f)) @ T - f_new
    if np.ptp(sigma) == 0:
        variance = sigma[0] ** 2 * (mean + inverse**2 @ T**2)
    else:
        variance = np.stack([sigma**2 @ (mean + U @ (row[:, None] * T)) ** 2 for row in inverse])
    bias2, spread = np.mean(bias**2, axis=1), np.mean(variance, axis=1)
    dof = float(intercept) + (inverse * np.maximum(e, 0.0)).sum(axis=1)
    columns = {"lam": lams, "dof": dof, "bias2": bias2, "variance": spread, "error": bias2 + spread}
    return BiasVariance(columns, bias, variance)


def _of_kernel(kernel, X, new, intercept):
    """(U, e, T, floor) of the centred K = U e Uᵀ, such that f̂(x) = ȳ + Σⱼ Tⱼ(x) uⱼᵀy/(eⱼ + λ)."""
    K = np.asarray(kernel(X), dtype=float)
    k = K.copy() if new is X else np.asarray(kernel(new, X), dtype=float).T
    if intercept:
        k -= K.mean(axis=1, keepdims=True)
        K -= K.mean(axis=0)
        K -= K.mean(axis=1, keepdims=True)
    e, U = eigen((K + K.T) / 2)
    floor = len(K) * np.finfo(float).eps * max(float(e[-1]), np.finfo(float).tiny)
    if intercept:
        U -= U.mean(axis=0)  # rounding, and the one direction that the intercept takes
    return U, e, U.T @ k, floor


def _of_features(basis, X, new, intercept):
    """(U, e, T, floor) from the centred Φ = U s Vᵀ, e = s²: no square of the condition number."""
    Phi = np.asarray(basis.features(X), dtype=float)
    phi = np.asarray(basis.features(new), dtype=float)
    if intercept:
        phi, Phi = phi - Phi.mean(axis=0), Phi - Phi.mean(axis=0)
    U, s, Vt = thin_svd(Phi)
    floor = (max(Phi.shape) * np.finfo(float).eps * max(float(s[:1].sum()), np.finfo(float).tiny)) ** 2
    return U, s**2, s[:, None] * (Vt @ phi.T), floor


def simulate_bias_variance(estimator, X, truth, sigma, n_draws=200, X_test=None, random_state=0, noise=None):
    """mean_r (f̂_r(x) − f(x))² = bias² + variance, from fits f̂_r to n_draws drawn targets y = f(X) + σε.

    Works for any estimator, linear or not, tuned or not. The sample mean of f̂ has a variance itself, which is taken
    off bias²: both parts are unbiased, and add up to the error exactly. Where the bias is nothing, bias² can therefore
    come out slightly below 0.

    Parameters
    ----------
    estimator : estimator
        Cloned for every draw.
    X : collection
        Training inputs, fixed.
    truth : callable or array-like of shape (n,)
        f, as for `bias_variance`.
    sigma : float or array-like of shape (n,)
        Standard deviation of the noise.
    n_draws : int, default=200
        How many data sets are drawn, each with noise of its own.
    X_test : collection, default=None
        None is X.
    random_state : int, default=0
    noise : callable, default=None
        ``noise(rng, n)`` returns n errors of variance 1; None is Gaussian.

    Returns
    -------
    BiasVariance
        Numbers bias2, variance, error, their standard errors bias2_se, variance_se, error_se; ``bias_at`` and
        ``variance_at`` for each input.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.diagnostics import simulate_bias_variance
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 25)[:, None]
    >>> model = KernelRidge(Gaussian(0.1), lam=0.5)
    >>> found = simulate_bias_variance(model, X, lambda X: np.sin(6 * X[:, 0]), 0.3, n_draws=50)
    >>> abs(found["error"] - 0.02499) < 3 * found["error_se"]  # the closed form
    True
    """
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}.")
    new = X if X_test is None else X_test
    f, f_new = _truth(truth, X, new, X_test is None)
    sigma = _sigma(sigma, len(f))
    rng = np.random.default_rng(random_state)
    fits = np.empty((n_draws, len(f_new)))
    for r in range(n_draws):
        errors = rng.standard_normal(len(f)) if noise is None else np.asarray(noise(rng, len(f)), dtype=float)
        fits[r] = clone(estimator).fit(X, f + sigma * errors).predict(new)
    centre = fits.mean(axis=0)
    bias = centre - f_new
    variance = fits.var(axis=0, ddof=1)
    errors = np.mean((fits - f_new) ** 2, axis=1)
    spread = np.mean((fits - centre) ** 2, axis=1)
    slope = 2.0 * np.mean((fits - centre) * bias, axis=1)
    root = np.sqrt(n_draws)
    curve = np.sqrt(2.0) * _covariance_norm(fits - centre) / (len(f_new) * n_draws)  # where there is no bias
    columns = {
        "bias2": float(np.mean(bias**2 - variance / n_draws)),
        "variance": float(np.mean(variance)),
        "error": float(np.mean(errors)),
        "bias2_se": float(np.hypot(slope.std(ddof=1) / root, curve)),
        "variance_se": float(spread.std(ddof=1) / root),
        "error_se": float(errors.std(ddof=1) / root),
    }
    return BiasVariance(columns, bias, variance)


def _covariance_norm(D):
    """Return ‖DᵀD‖/(R − 1) for R centred draws, from the smaller of DᵀD and DDᵀ."""
    return np.linalg.norm(D @ D.T if len(D) < D.shape[1] else D.T @ D) / (len(D) - 1)


def _truth(truth, X, new, same):
    """f at the training inputs and at the new ones."""
    if callable(truth):
        f = np.asarray(truth(X), dtype=float)
        f_new = f if same else np.asarray(truth(new), dtype=float)
    elif same:
        f = f_new = np.asarray(truth, dtype=float)
    else:
        raise ValueError("with X_test, truth must be a function: its values at X_test are needed too.")
    for name, values, rows in (("X", f, len(X)), ("X_test", f_new, len(new))):
        if values.shape != (rows,) or not np.isfinite(values).all():
            raise ValueError(f"truth must give {rows} finite numbers for {name}, got shape {values.shape}.")
    return f, f_new


def _sigma(sigma, n):
    """σ of each row, checked."""
    sigma = np.asarray(sigma, dtype=float)
    if sigma.shape not in ((), (n,)) or not (np.isfinite(sigma).all() and (sigma >= 0).all()):
        raise ValueError(f"sigma must be one number >= 0, or one for each of the {n} rows.")
    return np.broadcast_to(sigma, (n,))


def _check_lams(lams):
    """λ as an array, checked."""
    lams = np.atleast_1d(np.asarray(lams, dtype=float))
    if lams.ndim != 1 or not lams.size or not (np.isfinite(lams).all() and (lams >= 0).all()):
        raise ValueError("lams must be finite numbers >= 0.")
    return lams


def _default_lams(e, floor):
    """100 λ between the largest eigenvalue and rounding."""
    largest = max(float(e.max()), np.finfo(float).tiny)
    return np.geomspace(max(float(e.min()), floor, np.finfo(float).eps * largest), largest, 100)
