"""KernelInterpolator: it interpolates, has the smallest norm, knows its rank, and bounds its error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelInterpolator
from mercer.exceptions import InfeasibleWarning, NumericalWarning
from mercer.kernels import Exponential, Gaussian, Linear, Matern32, PolynomialBasis, Precomputed


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Exponential(), Matern32(2.0)], ids=repr)
def test_interpolates(kernel, rng):
    X, y = rng.uniform(-1, 1, (25, 2)), rng.standard_normal(25)
    model = KernelInterpolator(kernel).fit(X, y)
    assert model.feasible_
    assert model.rank_ == 25
    assert_allclose(model.predict(X), y, atol=1e-6)
    assert_allclose(model.power_function(X), 0.0, atol=1e-5)


def test_power_function_bounds_the_error(rng):
    """|f*(x) − f(x)| <= P(x) ‖f*‖ for f* in the native space."""
    k = Matern32(0.7)
    centres, c = rng.uniform(-1, 1, (6, 2)), rng.standard_normal(6)
    X, new = rng.uniform(-1, 1, (20, 2)), rng.uniform(-1, 1, (200, 2))
    model = KernelInterpolator(k).fit(X, k(X, centres) @ c)
    error = np.abs(k(new, centres) @ c - model.predict(new))
    norm = np.sqrt(c @ k(centres) @ c)
    assert (error <= model.power_function(new) * norm + 1e-9).all()
    assert model.rkhs_norm_ <= norm + 1e-9


def test_rkhs_norm_is_that_of_the_coefficients(rng):
    X, y = rng.uniform(-1, 1, (15, 1)), rng.standard_normal((15, 2))
    model = KernelInterpolator(Exponential(0.5)).fit(X, y)
    alpha = model.dual_coef_
    expected = np.sqrt(np.einsum("it,ij,jt->t", alpha, model.kernel_(model.points_), alpha))
    assert_allclose(model.rkhs_norm_, expected, rtol=1e-8)


def test_rank_of_few_features(rng):
    X = rng.standard_normal((30, 1))
    model = KernelInterpolator(PolynomialBasis(3)).fit(X, 1 + X[:, 0] ** 3)
    assert model.rank_ == 4
    assert model.feasible_
    assert_allclose(model.predict([[2.0]]), [9.0], rtol=1e-7)


def test_repeated_inputs_with_equal_targets_are_feasible(rng):
    X = np.repeat(rng.standard_normal((8, 2)), 2, axis=0)
    y = np.repeat(rng.standard_normal(8), 2)
    model = KernelInterpolator(Gaussian(0.5)).fit(X, y)
    assert model.rank_ == 8
    assert model.feasible_
    assert_allclose(model.predict(X), y, atol=1e-8)


def test_projection_when_infeasible(rng):
    """y outside the range of K: what is interpolated is its projection on the range."""
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    with pytest.warns(InfeasibleWarning, match="rank 2 of 12"):
        model = KernelInterpolator(Linear()).fit(X, y)
    projection = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    assert_allclose(model.predict(X), projection, rtol=1e-8, atol=1e-10)
    assert_allclose(model.infeasibility_, np.linalg.norm(y - projection) / np.linalg.norm(y), rtol=1e-8)


def test_zero_kernel(rng):
    def zero(X):
        return np.zeros((len(X), 1))

    from mercer.kernels import FeatureMap

    model = KernelInterpolator(FeatureMap(zero)).fit(rng.standard_normal((5, 2)), np.zeros(5))
    assert model.rank_ == 0
    assert_allclose(model.predict(rng.standard_normal((3, 2))), 0.0)


def test_power_function_of_a_given_matrix(rng):
    K = Gaussian()(rng.standard_normal((8, 2)))
    model = KernelInterpolator(Precomputed()).fit(K, np.arange(8.0))
    assert_allclose(model.power_function(K), 0.0, atol=1e-6)
    with pytest.raises(ValueError, match="holds new inputs"):
        model.power_function(K[:3])


def test_digits_are_told():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    good = KernelInterpolator(Exponential(0.3)).fit(X, np.sin(5 * X[:, 0]))
    assert good.fit_report_["accuracy"]["fitted"] < 1e-12
    rough = np.where(np.arange(40) % 2, 1.0, -1.0)  # smooth functions reach it by sums that cancel
    model = KernelInterpolator(Gaussian(0.08), rank_tol=1e-300)
    with pytest.warns(NumericalWarning, match=r"digit.* Use KernelRidge\(lam > 0\)"):
        model.fit(X, rough)
    assert model.fit_report_["accuracy"]["fitted"] > 1e-6
