"""What is asked of a fit after it, against 60 digits: covariance, rows that join and leave, intervals.

As in `test_linear`: what is further away than ``SLACK`` times what the fit says of itself fails, unless it was said.
"""

import math

import mpmath
import numpy as np
import pytest

from differential import naive_reference as reference
from differential.test_linear import FIRST, SHAPES, Problem, batches, fitted, judge, off, share, told
from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import Linear

QUICK, ALL = 20, 250
COVERAGE = 0.5


def process(p):
    noise = p.lam if p.weight is None else p.lam / p.weight
    trend = "constant" if p.intercept else None
    return GaussianProcessRegressor(p.kernel, noise, criterion=None, trend=trend, merge=False)


def grams(p, rows):
    """(K, k(X, new), k(new, new)) of some rows."""
    shape, X = SHAPES[p.kind], p.X[rows]
    return (reference.gram(shape, p.length, a, b) for a, b in ((X, X), (X, p.new), (p.new, p.new)))


def of_rows(p, rows):
    """(Twin, k(X, new), k(new, new)) of some rows."""
    K, cross, own = grams(p, rows)
    weight = None if p.weight is None else p.weight[rows]
    return reference.Twin(K, p.y[rows], p.lam, weight, p.intercept), cross, own


@pytest.mark.parametrize("batch", list(batches(FIRST + 30_000, QUICK, ALL)))
def test_covariance(batch):
    assert share(check_covariance, batch) > 0.5


def check_covariance(seed):
    p = Problem(seed)
    model = fitted(process(p), p.X, p.y)
    if model is None:
        return False
    true, cross, own = of_rows(p, np.arange(len(p.y)))
    exact = true.covariance(cross, own)
    top = max(float(np.abs(p.kernel.diag(np.vstack([p.X, p.new]))).max()), np.abs(exact).max())
    with told() as caught:
        _, found = model.predict(p.new, return_cov=True)
    digits = model.fit_report_["condition"] * np.finfo(float).eps
    return judge(seed, {"covariance": (off(found, exact, top), digits)}, caught)


@pytest.mark.parametrize("batch", list(batches(FIRST + 31_000, QUICK, ALL)))
def test_rows_that_join_and_leave(batch):
    assert share(check_changes, batch) > 0.15


def check_changes(seed):
    p = Problem(seed)
    n = len(p.y)
    if n < 5:
        return False
    some, gone = n // 2 + 1, [0, n - 1]
    model = process(p)
    if p.weight is not None:
        model.noise = p.lam / p.weight[:some]
    if fitted(model, p.X[:some], p.y[:some]) is None:
        return False
    with told() as caught:
        more = {} if p.weight is None else {"noise": p.lam / p.weight[some:]}
        model.update(p.X[some:], p.y[some:], **more).forget(gone)
        mean, std = model.predict(p.new, return_std=True)
    rows = np.delete(np.arange(n), gone)
    true, cross, own = of_rows(p, rows)
    exact_mean, exact_variance = true.posterior(cross, [own[j, j] for j in range(own.cols)])
    top = max(float(np.abs(p.kernel.diag(np.vstack([p.X, p.new]))).max()), exact_variance.max())
    # The factor was that of all rows for a while.
    condition = np.linalg.cond(p.kernel(p.X) * p.root * p.root[:, None] + p.lam * np.eye(n))
    digits = condition * np.finfo(float).eps
    stated = model.fit_report_.get("accuracy", {"fitted": 0.0, "dual_coef": 0.0})  # none of a factor that was walked to
    size = max(np.abs(p.y).max(), np.abs(exact_mean).max())
    errors = {
        "mean": (off(mean, exact_mean, size), stated["fitted"] + stated["dual_coef"] + digits),
        "variance": (off(std**2, exact_variance, top), digits),
    }
    return judge(seed, errors, caught)


@pytest.mark.parametrize("batch", list(batches(FIRST + 32_000, QUICK, ALL)))
def test_jackknife_plus_is_n_refits(batch):
    assert share(check_intervals, batch) > 0.1


def check_intervals(seed):
    p = Problem(seed)
    n = len(p.y)
    if n < 4 or p.weight is not None:
        return False
    model = fitted(KernelRidge(p.kernel, p.lam, trend=p.intercept, merge=False), p.X, p.y)
    if model is None:
        return False
    with told() as caught:
        found = model.predict_interval(p.new, COVERAGE, method="jackknife+")
    lows, highs = np.empty((2, n, len(p.new)))
    K, _, _ = grams(p, np.arange(n))
    whole = reference.Twin(K, p.y, p.lam, None, p.intercept)
    for i in range(n):
        true, part, _ = of_rows(p, np.delete(np.arange(n), i))
        mean = true.posterior(part, [mpmath.mpf(0)] * len(p.new))[0]
        lows[i], highs[i] = mean - abs(whole.loo_residuals[i]), mean + abs(whole.loo_residuals[i])
    rank = math.ceil(COVERAGE * (n + 1))
    exact = np.column_stack([np.sort(lows, axis=0)[n - rank], np.sort(highs, axis=0)[rank - 1]])
    size = max(np.abs(exact).max(), np.abs(p.y).max())
    digits = model.fit_report_["accuracy"]["dual_coef"] + whole.lost + model.fit_report_["accuracy"]["fitted"]
    return judge(seed, {"interval": (off(found, exact, size), digits)}, caught)


# ------------------------------------------------------------------------------------------- a trend of several columns
def with_trend(p):
    """(log of the restricted likelihood, yᵀPy, mean and variance at the new rows) beside b₀ + bᵀx: bordered systems."""
    n, noise = len(p.y), [mpmath.mpf(p.lam) / mpmath.mpf(w) for w in p.root**2]
    K, cross, own = grams(p, np.arange(n))
    H = mpmath.matrix([[1, *(mpmath.mpf(float(v)) / p.size for v in x)] for x in p.X])
    h = mpmath.matrix([[1, *(mpmath.mpf(float(v)) / p.size for v in x)] for x in p.new])
    q, y = H.cols, reference.exact(p.y)
    for i in range(n):
        K[i, i] += noise[i]
    bordered = mpmath.zeros(n + q)
    bordered[:n, :n], bordered[:n, n:], bordered[n:, :n] = K, H, H.T
    inverse = bordered**-1
    P = inverse[:n, :n]
    left = mpmath.det(H.T * (K**-1) * H) / mpmath.det(H.T * H)
    log = mpmath.log(mpmath.det(K)) + mpmath.log(left) + (n - q) * mpmath.log(2 * mpmath.pi)
    mean, variance = [], []
    for j in range(len(p.new)):
        k = mpmath.matrix([*cross[:, j], *h[j, :]])
        weights = inverse * k
        mean.append((weights[:n, 0].T * y)[0])
        variance.append(own[j, j] - (k.T * weights)[0])
    quad = (y.T * P * y)[0]
    return float(-(quad + log) / 2), float(quad), reference.floats(mean), reference.floats(variance)


@pytest.mark.parametrize("batch", list(batches(FIRST + 33_000, QUICK, ALL)))
def test_restricted_likelihood_and_posterior_beside_a_linear_trend(batch):
    assert share(check_trend, batch) > 0.0


def check_trend(seed):
    p = Problem(seed)
    n, d = p.X.shape
    if n < d + 4 or p.kind is Linear or p.weight is not None:  # a linear kernel is no more than the trend
        return False
    model = process(p).set_params(trend="linear")
    if fitted(model, p.X, p.y) is None:
        return False
    report, stated = model.fit_report_, model.fit_report_["accuracy"]
    evidence, quad, exact_mean, exact_variance = with_trend(p)
    H = np.column_stack([np.ones(n), p.X / p.size])
    digits = report["condition"] * np.finfo(float).eps + np.linalg.cond(H) ** 2 * np.finfo(float).eps
    top = max(float(np.abs(p.kernel.diag(p.X)).max()), exact_variance.max())
    with told() as caught:
        mean, std = model.predict(p.new, return_std=True)
        far = abs(model.log_marginal_likelihood() - evidence)
    unit = n * (1.0 + abs(np.log(p.lam))) + quad + np.sqrt(quad * np.sum(p.y**2) / p.lam)  # of y itself, as without one
    errors = {
        "evidence": (far / unit, digits),
        "mean": (off(mean, exact_mean, max(np.abs(p.y).max(), np.abs(exact_mean).max())),
                 stated["fitted"] + stated["dual_coef"] + digits),
        "variance": (off(std**2, exact_variance, top), digits),
    }  # fmt: skip
    return judge(seed, errors, caught)
