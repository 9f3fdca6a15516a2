"""What is asked of a fit after it, against 60 digits: covariance, rows that join and leave, intervals.

As in `test_linear`: what is further away than ``SLACK`` times what the fit says of itself fails, unless it was said.
"""

import math

import mpmath
import numpy as np
import pytest

from differential import twin
from differential.test_linear import FIRST, SHAPES, Problem, batches, fitted, judge, off, told
from mercer import GaussianProcessRegressor, KernelRidge

QUICK, ALL = 20, 250
COVERAGE = 0.5


def process(p):
    noise = p.lam if p.weight is None else p.lam / p.weight
    trend = "constant" if p.intercept else None
    return GaussianProcessRegressor(p.kernel, noise, criterion=None, trend=trend, merge=False)


def grams(p, rows):
    """(K, k(X, new), k(new, new)) of some rows."""
    shape, X = SHAPES[p.kind], p.X[rows]
    return (twin.gram(shape, p.length, a, b) for a, b in ((X, X), (X, p.new), (p.new, p.new)))


def of_rows(p, rows):
    """(Twin, k(X, new), k(new, new)) of some rows."""
    K, cross, own = grams(p, rows)
    weight = None if p.weight is None else p.weight[rows]
    return twin.Twin(K, p.y[rows], p.lam, weight, p.intercept), cross, own


@pytest.mark.parametrize("batch", list(batches(FIRST + 30_000, QUICK, ALL)))
def test_covariance(batch):
    for seed in batch:
        check_covariance(seed)


def check_covariance(seed):
    p = Problem(seed)
    model = fitted(process(p), p.X, p.y)
    if model is None:
        return
    true, cross, own = of_rows(p, np.arange(len(p.y)))
    exact = true.covariance(cross, own)
    top = max(float(np.abs(p.kernel.diag(np.vstack([p.X, p.new]))).max()), np.abs(exact).max())
    with told() as caught:
        _, found = model.predict(p.new, return_cov=True)
    judge(seed, {"covariance": (off(found, exact, top), model.fit_report_["condition"] * np.finfo(float).eps)}, caught)


@pytest.mark.parametrize("batch", list(batches(FIRST + 31_000, QUICK, ALL)))
def test_rows_that_join_and_leave(batch):
    for seed in batch:
        check_changes(seed)


def check_changes(seed):
    p = Problem(seed)
    n = len(p.y)
    if n < 5:
        return
    some, gone = n // 2 + 1, [0, n - 1]
    model = process(p)
    if p.weight is not None:
        model.noise = p.lam / p.weight[:some]
    if fitted(model, p.X[:some], p.y[:some]) is None:
        return
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
    digits, stated = condition * np.finfo(float).eps, model.fit_report_["accuracy"]
    size = max(np.abs(p.y).max(), np.abs(exact_mean).max())
    errors = {
        "mean": (off(mean, exact_mean, size), stated["fitted"] + stated["dual_coef"] + digits),
        "variance": (off(std**2, exact_variance, top), digits),
    }
    judge(seed, errors, caught)


@pytest.mark.parametrize("batch", list(batches(FIRST + 32_000, QUICK, ALL)))
def test_jackknife_plus_is_n_refits(batch):
    for seed in batch:
        check_intervals(seed)


def check_intervals(seed):
    p = Problem(seed)
    n = len(p.y)
    if n < 4 or p.weight is not None:
        return
    model = fitted(KernelRidge(p.kernel, p.lam, trend=p.intercept, merge=False), p.X, p.y)
    if model is None:
        return
    with told() as caught:
        found = model.predict_interval(p.new, COVERAGE, method="jackknife+")
    lows, highs = np.empty((2, n, len(p.new)))
    K, _, _ = grams(p, np.arange(n))
    whole = twin.Twin(K, p.y, p.lam, None, p.intercept)
    for i in range(n):
        true, part, _ = of_rows(p, np.delete(np.arange(n), i))
        mean = true.posterior(part, [mpmath.mpf(0)] * len(p.new))[0]
        lows[i], highs[i] = mean - abs(whole.loo_residuals[i]), mean + abs(whole.loo_residuals[i])
    rank = math.ceil(COVERAGE * (n + 1))
    exact = np.column_stack([np.sort(lows, axis=0)[n - rank], np.sort(highs, axis=0)[rank - 1]])
    size = max(np.abs(exact).max(), np.abs(p.y).max())
    digits = model.fit_report_["accuracy"]["dual_coef"] + whole.lost + model.fit_report_["accuracy"]["fitted"]
    judge(seed, {"interval": (off(found, exact, size), digits)}, caught)
