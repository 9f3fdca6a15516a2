"""BasisRegression: least squares by QR, leave-one-out, covariance, and the equality of primal and dual."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import BasisRegression, KernelRidge
from mercer.exceptions import NumericalWarning
from mercer.kernels import GaussianBasis, PolynomialBasis


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, (30, 2))
    return X, np.cos(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(30)


@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_a_refit(data, rng, lam, intercept, weighted):
    X, y = data

    def basis(U):
        return np.column_stack([U, U**2])

    w = rng.uniform(0.3, 2.0, 30) if weighted else None
    model = BasisRegression(basis, lam, trend=intercept).fit(X, y, w)
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        refit = BasisRegression(basis, lam, trend=intercept).fit(X[rest], y[rest], None if w is None else w[rest])
        assert_allclose(model.loo_residuals_[i], y[i] - refit.predict(X[[i]])[0], rtol=1e-9, atol=1e-12)


def test_primal_is_dual(data):
    X, y = data
    basis = GaussianBasis(X[:7], 0.6)
    primal = BasisRegression(basis, 0.2).fit(X, y)
    dual = KernelRidge(basis, 0.2, trend=None).fit(X, y)
    assert_allclose(basis.features(X).T @ dual.dual_coef_, primal.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(primal.dual_coef_, dual.dual_coef_, rtol=1e-7, atol=1e-8)
    with_intercept = BasisRegression(basis, 0.2, trend="constant").fit(X, y)
    assert_allclose(with_intercept.predict(X), KernelRidge(basis, 0.2).fit(X, y).predict(X), rtol=1e-7)


def test_covariance_is_that_of_repeated_draws(rng):
    """Gauss–Markov: the covariance of the estimate over draws of the noise is σ²(ΦᵀΦ)⁻¹."""
    X = rng.uniform(-1, 1, (25, 1))
    basis, sigma = PolynomialBasis(2), 0.3
    Phi = basis.features(X)
    truth = Phi @ [1.0, -2.0, 0.5]
    Y = truth[:, None] + sigma * rng.standard_normal((25, 4000))
    model = BasisRegression(basis).fit(X, Y)
    assert_allclose(np.cov(model.coef_), sigma**2 * np.linalg.inv(Phi.T @ Phi), rtol=0.15, atol=2e-3)
    assert_allclose(model.sigma2_.mean(), sigma**2, rtol=0.02)
    assert_allclose(model.covariance_[0], model.sigma2_[0] * np.linalg.inv(Phi.T @ Phi), rtol=1e-9)
    f, std = model.predict(X, return_std=True)
    assert_allclose(f.std(axis=1), std.mean(axis=1), rtol=0.1)


def test_rank_deficient_gives_the_smallest_norm(rng):
    X = rng.standard_normal((4, 1))
    with pytest.warns(NumericalWarning, match="rank 4 of 8"):
        model = BasisRegression(PolynomialBasis(7)).fit(X, X[:, 0])
    Phi = PolynomialBasis(7).features(X)
    assert_allclose(model.coef_, np.linalg.pinv(Phi) @ X[:, 0], rtol=1e-6, atol=1e-9)


def test_units_do_not_decide_the_rank(rng):
    X = rng.standard_normal((20, 2)) * [1e-9, 1e9]
    model = BasisRegression().fit(X, 1 + X @ [1e9, 1e-9])
    assert model.rank_ == 3
    assert_allclose(model.coef_, [1.0, 1e9, 1e-9], rtol=1e-8)


def test_leverage_sums_to_the_degrees_of_freedom(data):
    X, y = data
    model = BasisRegression(PolynomialBasis(2)).fit(X, y)
    assert_allclose(model.dof_, 6.0)
    ridge = BasisRegression(PolynomialBasis(2), lam=1.0).fit(X, y)
    Phi = PolynomialBasis(2).features(X)
    hat = Phi @ np.linalg.solve(Phi.T @ Phi + np.eye(6), Phi.T)
    assert_allclose(ridge.leverage_, np.diag(hat), rtol=1e-9)


def test_certified_wampler_polynomials():
    """NIST StRD Wampler 1 and 2: a polynomial of degree 5 with coefficients 1, and 10⁻ⁱ, to at least 9 digits."""
    x = np.arange(21.0)[:, None]
    powers = x ** np.arange(6)
    one = BasisRegression(PolynomialBasis(5)).fit(x, powers.sum(axis=1)).coef_
    assert_allclose(one, 1.0, rtol=1e-8)
    tenth = BasisRegression(PolynomialBasis(5)).fit(x, powers @ 10.0 ** -np.arange(6)).coef_
    assert_allclose(tenth, 10.0 ** -np.arange(6), rtol=1e-9)
