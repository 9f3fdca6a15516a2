"""FoldDensity: against densities written out, its two limits, and differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from check_assertions import assert_passes
from mercer import GaussianProcessRegressor
from mercer.gram import DenseGram
from mercer.kernels import Gaussian
from mercer.selection import LOO, FoldDensity
from mercer.solvers import Cholesky, Projected
from mercer.testing import check_criterion


@pytest.fixture
def data(rng):
    return rng.standard_normal((20, 2)), rng.standard_normal((20, 2))


def evidence(K, y):
    """log N(y; 0, K), summed over targets."""
    return sum(-0.5 * column @ np.linalg.solve(K, column) - 0.5 * np.linalg.slogdet(2 * np.pi * K)[1] for column in y.T)


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_it_is_the_density_of_each_fold_given_the_others(data, folds):
    X, y = data
    K, criterion = Gaussian(1.3)(X) + 0.2 * np.eye(20), FoldDensity(folds)
    expected = 0.0
    for B in criterion.folds(20):
        rest = np.setdiff1d(np.arange(20), B)
        expected -= evidence(K, y) - evidence(K[np.ix_(rest, rest)], y[rest])
    assert_allclose(criterion.value(Cholesky().resolvent(DenseGram(Gaussian(1.3), X))(0.2), y), expected, rtol=1e-10)


def test_one_row_in_each_fold_is_leave_one_out(data):
    X, y = data
    Kinv = Cholesky().resolvent(DenseGram(Gaussian(1.3), X))(0.2)
    assert_allclose(FoldDensity(20).value(Kinv, y), y.size * LOO("log_density").value(Kinv, y), rtol=1e-10)


@pytest.mark.parametrize("trend", [False, True])
def test_the_adjoint_against_differences(data, trend):
    X, y = data
    H = np.hstack([np.ones((20, 1)), X[:, :1]])

    def at(z):
        K = DenseGram(np.exp(z[0]) * Gaussian(np.exp(z[1:3])), X)
        Kinv = Cholesky().resolvent(K)(np.exp(z[3]))
        value, W = FoldDensity(3).value_and_adjoint(Projected(Kinv, H) if trend else Kinv, y)
        return value, np.append(K.grad(W), np.exp(z[3]) * np.trace(W))

    z = np.array([0.2, 0.1, -0.1, -1.0])
    differences = [(at(z + step)[0] - at(z - step)[0]) / 2e-5 for step in 1e-5 * np.eye(4)]
    assert_allclose(at(z)[1], differences, rtol=1e-5, atol=1e-6)


def test_weights_are_precisions(data):
    X, y = data
    w = np.linspace(0.5, 2.0, 20)
    K = Gaussian(1.3)(X)
    scaled = Cholesky().resolvent(DenseGram.from_matrix(np.sqrt(w)[:, None] * K * np.sqrt(w)))(0.2)
    plain = Cholesky().resolvent(DenseGram.from_matrix(K + np.diag(0.2 / w) - 1e-12 * np.eye(20)))(1e-12)
    criterion = FoldDensity(4)
    assert_allclose(criterion.value(scaled, np.sqrt(w)[:, None] * y, w), criterion.value(plain, y), rtol=1e-9)


def test_it_keeps_the_promises_of_a_criterion():
    assert_passes(check_criterion, FoldDensity())


def test_a_gaussian_process_can_be_learnt_by_it(rng):
    X = rng.uniform(-3, 3, (60, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0), criterion=FoldDensity()).fit(X, y)
    other = GaussianProcessRegressor(1.0 * Gaussian(1.0), criterion=FoldDensity()).fit(X, 1000.0 * y)
    assert_allclose(model.noise_, 0.01, rtol=0.8)
    assert_allclose(other.selection_.value - model.selection_.value, 60 * np.log(1000.0), rtol=1e-3)
    assert np.isfinite(model.hyper_std_["noise"])
