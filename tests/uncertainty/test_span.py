"""The span rule: exact while no row changes its side, close to refits on the whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVR
from mercer.kernels import Gaussian
from mercer.uncertainty.alo import span


def data(rng, n=60):
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)


def refit(model, X, y, i):
    """(residual without row i, whether every other row stayed free or bounded, above or below, or zero)."""
    other = np.arange(len(y)) != i
    without = SVR(**model.get_params(deep=False)).fit(X[other], y[other])
    kinds = []
    for fitted, rows in ((model, np.arange(len(y))), (without, np.flatnonzero(other))):
        kind = np.zeros(len(y), dtype=int)
        kind[rows[fitted.support_]] = np.where(fitted.free_, 1, 2) * np.sign(fitted.dual_coef_)
        kinds.append(kind[other])
    return y[i] - without.predict(X[i : i + 1])[0], np.array_equal(*kinds)


@pytest.mark.parametrize("intercept", [False, True])
def test_exact_for_rows_after_which_no_row_changes_its_side(intercept, rng):
    X, y = data(rng)
    model = SVR(Gaussian(0.15), C=20.0, epsilon=0.02, trend=intercept).fit(X, y)
    same = 0
    for i in range(len(y)):
        residual, unchanged = refit(model, X, y, i)
        if unchanged:
            same += i in model.support_
            assert_allclose(model.loo_residuals_[i], residual, atol=1e-6)
    assert same >= 3


@pytest.mark.parametrize("intercept", [False, True])
def test_close_to_refits_on_average(intercept, rng):
    X, y = data(rng)
    model = SVR(Gaussian(1.0), C=1.0, epsilon=0.2, trend=intercept).fit(X, y)
    exact = np.array([refit(model, X, y, i)[0] for i in range(len(y))])
    training, loo = np.abs(y - model.predict(X)).mean(), np.abs(model.loo_residuals_).mean()
    assert abs(loo - np.abs(exact).mean()) < 0.6 * (np.abs(exact).mean() - training) + 0.01
    assert np.median(np.abs(model.loo_residuals_ - exact)) < 0.03


def test_rows_inside_the_tube_keep_their_residual(rng):
    X, y = data(rng)
    model = SVR(Gaussian(1.0), C=1.0, epsilon=0.3).fit(X, y)
    inside = np.setdiff1d(np.arange(len(y)), model.support_)
    assert inside.size
    assert_allclose(model.loo_residuals_[inside], (y - model.predict(X))[inside], atol=1e-10)


def test_equal_rows_stand_in_for_each_other(rng):
    X, y = data(rng, 30)
    twice = SVR(Gaussian(1.0), C=1.0, epsilon=0.2).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = SVR(Gaussian(1.0), C=2.0, epsilon=0.2).fit(X, y)
    assert_allclose(twice.predict(X), weighted.predict(X), atol=1e-8)
    free = weighted.support_[weighted.free_ & (np.abs(weighted.dual_coef_) <= 1.0)]
    assert free.size  # the other copy can take all of α: nothing changes
    assert_allclose(twice.loo_residuals_[::2][free], (y - weighted.predict(X))[free], atol=1e-7)
    heavy = weighted.support_[weighted.bounded_]
    gain = np.abs(twice.loo_residuals_[::2][heavy]) - np.abs(y - weighted.predict(X))[heavy]
    assert (gain > 0).all()


def test_few_free_rows_fall_back_to_the_diagonal(rng):
    X = rng.standard_normal((3, 2))
    free, bounded, _ = span(2.0 * Gaussian(1.0), X[:1], X[1:], intercept=True)
    assert_allclose(free, 2.0)
    assert_allclose(bounded, 2.0)


def test_split_intervals_hold_what_they_promise(rng):
    X, y = data(rng, 900)
    model = SVR(Gaussian(1.0), C=1.0, epsilon=0.1).fit(X[:100], y[:100])
    ends = model.predict_interval(X[500:], 0.8, method="split", calibration=(X[100:500], y[100:500]))
    held = np.mean((ends[:, 0] <= y[500:]) & (y[500:] <= ends[:, 1]))
    assert abs(held - 0.8) < 0.09
    span_ends = model.predict_interval(X[500:], 0.8)
    held = np.mean((span_ends[:, 0] <= y[500:]) & (y[500:] <= span_ends[:, 1]))
    assert abs(held - 0.8) < 0.15


def test_wrong_calls_are_refused(rng):
    X, y = data(rng)
    model = SVR(Gaussian(1.0)).fit(X, y)
    with pytest.raises(ValueError, match="method"):
        model.predict_interval(X, method="jackknife")
    with pytest.raises(ValueError, match="calibration"):
        model.predict_interval(X, method="split")
    with pytest.raises(ValueError, match="calibration"):
        model.predict_interval(X, calibration=(X, y))
    with pytest.raises(ValueError, match="shape"):
        model.predict_interval(X, method="split", calibration=(X, y[:3]))


def test_residuals_and_intervals_are_those_of_the_last_fit():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(40)
    model = SVR(Gaussian(0.7), C=5.0, epsilon=0.05).fit(X, y)
    assert len(model.loo_residuals_) == 40  # kept, until there is another fit
    model.fit(X[:30], -3.0 * y[:30])
    fresh = SVR(Gaussian(0.7), C=5.0, epsilon=0.05).fit(X[:30], -3.0 * y[:30])
    assert_array_equal(model.loo_residuals_, fresh.loo_residuals_)
    assert_array_equal(model.predict_interval(X), fresh.predict_interval(X))
