"""Lecture 004, support vector regression: one test for each formula, in the notes' letters.

λ here is the lecture's, of the mean loss; the library's ``lam`` is Nλ.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import SVR, KernelRidge
from mercer.datasets import load_cars
from mercer.kernels import FeatureMap, Gaussian, Polynomial
from mercer.losses import EpsilonInsensitive

LAM, EPS = 0.01, 0.2


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (40, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(40)


@pytest.fixture
def model(data):
    X, y = data
    return SVR(Gaussian(1.0), lam=len(y) * LAM, epsilon=EPS, trend=None).fit(X, y)


def full(model, n):
    """α of all N rows."""
    alpha = np.zeros(n)
    alpha[model.support_] = model.dual_coef_
    return alpha


def test_004_the_loss_is_zero_inside_the_tube_and_linear_outside():
    """L(y, ŷ) = 0 if |y − ŷ| < ε, |y − ŷ| − ε otherwise = max{0, |y − ŷ| − ε}."""
    y, f = np.array([0.0, 0.0, 0.0]), np.array([0.1, -0.5, 2.0])
    assert_allclose(EpsilonInsensitive(EPS).value(y, f), [0.0, 0.3, 1.8])


def test_004_primal_objective_is_the_least(data, model, rng):
    """θ̂ = argmin 1/N Σ max{0, |y − θᵀφ(x)| − ε} + λ‖θ‖²."""
    X, y = data
    K = Gaussian(1.0)(X)

    def J(alpha):
        return np.maximum(0, np.abs(y - K @ alpha) - EPS).mean() + LAM * alpha @ K @ alpha

    alpha = full(model, len(y))
    assert_allclose(J(alpha), model.primal_objective_ * 2 * LAM, rtol=1e-9)
    for _ in range(50):
        assert J(alpha + 10 ** rng.uniform(-4, 0) * rng.standard_normal(len(y))) >= J(alpha) - 1e-12


def test_004_dual_objective_is_the_least_and_meets_the_primal(data, model, rng):
    """α̂ = argmin ½αᵀKα − αᵀy + ε‖α‖₁."""
    X, y = data
    K, box = Gaussian(1.0)(X), 1 / (2 * len(y) * LAM)

    def D(alpha):
        return 0.5 * alpha @ K @ alpha - alpha @ y + EPS * np.abs(alpha).sum()

    alpha = full(model, len(y))
    assert_allclose(-D(alpha), model.dual_objective_, rtol=1e-9)
    assert_allclose(model.dual_objective_, model.primal_objective_, rtol=1e-7)
    for _ in range(50):
        other = np.clip(alpha + 10 ** rng.uniform(-4, 0) * rng.standard_normal(len(y)), -box, box)
        assert D(other) >= D(alpha) - 1e-12


def test_004_the_box_is_1_over_2N_lam(data, model):
    """|αᵢ| <= 1/(2Nλ)."""
    _, y = data
    box = 1 / (2 * len(y) * LAM)
    assert_allclose(model.regularization_["C"], box)
    assert_allclose(model.regularization_["lam_over_n"], LAM)
    assert model.bounded_.any()
    assert_allclose(np.abs(model.dual_coef_).max(), box)


def test_004_prediction_is_alpha_times_K(data, model):
    """ŷ(x*) = α̂ᵀ K(X, x*)."""
    X, _ = data
    new = np.linspace(-2, 2, 9)[:, None]
    assert_allclose(model.predict(new), full(model, len(X)) @ Gaussian(1.0)(X, new), atol=1e-10)


def test_004_support_vectors_are_the_rows_on_or_outside_the_tube(data, model):
    """{(x, y) : |ŷ(x) − y| >= ε}."""
    X, y = data
    distance = np.abs(model.predict(X) - y)
    assert_allclose(np.sort(model.support_), np.flatnonzero(distance >= EPS - 1e-7))
    assert 0 < len(model.support_) < len(y)


def test_004_theta_is_Phi_transposed_alpha(data):
    """θ̂ = Φ(X)ᵀα: the representer theorem, for the ε-insensitive loss."""
    X, y = data

    def phi(x):
        return np.column_stack([np.ones(len(x)), np.sqrt(3) * x, np.sqrt(3) * x**2, x**3])

    model = SVR(FeatureMap(phi), lam=0.5, epsilon=EPS, trend=None).fit(X, y)
    theta = phi(model.points_).T @ model.dual_coef_
    assert_allclose(model.predict(X), phi(X) @ theta, rtol=1e-8, atol=1e-10)
    by_kernel = SVR(Polynomial(degree=3), lam=0.5, epsilon=EPS, trend=None).fit(X, y)
    assert_allclose(model.predict(X), by_kernel.predict(X), atol=1e-6)


def test_004_a_larger_epsilon_gives_fewer_support_vectors(data):
    """Larger ε, fewer support vectors; none when the tube holds all."""
    X, y = data
    counts = [len(SVR(Gaussian(1.0), lam=0.4, epsilon=e, trend=None).fit(X, y).support_) for e in (0, 0.3, 0.8, 5)]
    assert counts[0] == len(y) > counts[1] > counts[2] > counts[3] == 0


def test_004_cars():
    """λ = 0.01, ε = 15, squared exponential + polynomial: KRR uses all rows, SVR a few."""
    X, y = load_cars(return_X_y=True)
    kernel = Gaussian(5.0) + Polynomial(degree=2)
    ridge = KernelRidge(kernel, lam=len(y) * 0.01, trend=None, merge=False).fit(X, y)
    model = SVR(kernel, lam=len(y) * 0.01, epsilon=15, trend=None).fit(X, y)
    assert (ridge.dual_coef_ != 0).all()
    assert len(model.support_) == np.count_nonzero(np.abs(y - model.predict(X)) >= 15 - 1e-6) < len(y) / 3
    assert np.abs(ridge.predict(X) - model.predict(X)).max() < 20
