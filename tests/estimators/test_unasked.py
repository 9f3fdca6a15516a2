"""What is not given is chosen: λ of ridge regression and of machines, C and ε of support vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import SVR, KernelMachine, KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import LOO


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (90, 2))
    f = np.sin(3 * X[:, 0])
    return X, f, f + 0.1 * rng.standard_normal(90)


def error(model, X, f, y):
    return np.sqrt(np.mean((model.fit(X[:60], y[:60]).predict(X[60:]) - f[60:]) ** 2))


def test_the_default_is_better_than_a_number_for_everybody(data):
    assert error(KernelRidge(), *data) < 0.5 * error(KernelRidge(lam=1.0), *data)
    assert error(SVR(), *data) < 0.8 * error(SVR(C=1.0), *data)
    assert error(KernelMachine(loss="huber"), *data) < 0.5 * error(KernelMachine(loss="huber", lam=1.0), *data)


def test_what_is_given_is_taken_as_it_is(data):
    X, _, y = data
    fixed = KernelRidge(Gaussian(0.7), 0.3).fit(X, y)
    assert (fixed.lam_, fixed.kernel_, fixed.selection_) == (0.3, Gaussian(0.7), None)
    fixed = SVR(Gaussian(0.7), C=2.0).fit(X, y)
    assert (fixed.C_, fixed.epsilon_, fixed.kernel_) == (2.0, 0.1, Gaussian(0.7))
    assert SVR(Gaussian(0.7)).fit(X, y).kernel_ == Gaussian(0.7)


@pytest.mark.parametrize("model", [KernelRidge(), SVR(), KernelMachine(loss="huber")], ids=repr)
def test_units_of_y_do_not_matter(model, data):
    X, _, y = data
    here = model.fit(X, y).predict(X)
    assert_allclose(model.fit(X, 1e4 * y).predict(X) / 1e4, here, atol=0.02)


@pytest.mark.parametrize("model", [KernelRidge(), SVR(), KernelMachine(loss="logistic")], ids=repr)
def test_a_frozen_model_is_the_same_fit(model, data):
    X, _, y = data
    y = y > 0 if model.__sklearn_tags__().estimator_type == "classifier" else y
    fitted = model.fit(X, y)
    again = fitted.frozen().fit(X, y)
    assert again.lam_ == fitted.lam_ and again.kernel_ == fitted.kernel_
    assert_allclose(again.predict(X) * 1.0, fitted.predict(X) * 1.0, atol=1e-5)


def test_equal_inputs_left_out_together_are_refits_without_them(rng):
    X = np.repeat(rng.standard_normal((12, 1)), [1, 2, 3] * 4, axis=0)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    model = KernelRidge(Gaussian(0.8), 0.2, criterion=LOO(together=True), optimize="lam").fit(X, y)
    errors = [
        y[X[:, 0] == x] - KernelRidge(Gaussian(0.8), model.lam_).fit(X[X[:, 0] != x], y[X[:, 0] != x]).predict([[x]])
        for x in np.unique(X)
    ]
    assert_allclose(model.selection_.value, np.mean(np.concatenate(errors) ** 2), rtol=1e-6)
    assert KernelRidge().fit(X, y).selection_.value < np.var(y)  # with its gradient in the length scale


def test_a_weight_is_a_repeated_row(data):
    X, _, y = data
    times = np.arange(60) % 3
    weighted = KernelRidge().fit(X[:60], y[:60], sample_weight=times)
    repeated = KernelRidge().fit(np.repeat(X[:60], times, axis=0), np.repeat(y[:60], times))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
