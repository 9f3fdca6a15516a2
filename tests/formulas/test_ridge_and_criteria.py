"""One test for each formula of the lectures, named by lecture and formula, in the notes' letters.

000 Kernel selection · 001 Kernels and Gaussian processes · 002 Interpolation and ridge in an RKHS ·
003 Kernel methods · 004 Kernel ridge and support vectors. The left side is the library, the right side the notes.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import BasisRegression, KernelInterpolator, KernelRidge, empirical_feature_map
from mercer.gram import DenseGram
from mercer.kernels import (
    Constant,
    FeatureMap,
    Gaussian,
    GaussianBasis,
    Linear,
    Polynomial,
    PolynomialBasis,
    QuadraticForm,
    SigmoidBasis,
)
from mercer.solvers import Cholesky

N, LAM = 25, 0.3


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (N, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(N)
    return X, y, rng.uniform(-2, 2, (7, 2))


def predict(kernel, X, y, new, lam=LAM):
    return KernelRidge(kernel, lam, trend=None).fit(X, y).predict(new)


# ---------------------------------------------------------------- 000: kernel selection
def test_000_krr_prediction_is_k_xX_times_inverse_of_K_plus_lam(data):
    """f̂(x) = k_xX (K_XX + λI)⁻¹ f_X."""
    X, y, new = data
    k = Gaussian(0.9)
    assert_allclose(predict(k, X, y, new), k(new, X) @ np.linalg.solve(k(X) + LAM * np.eye(N), y), rtol=1e-9)


def test_000_saddle_point_form_gives_the_same_c(data):
    """[λI Ψ; Ψᵀ −I][c; r] = [0; f_X] gives f̂(x) = ψ(x)ᵀc."""
    X, y, new = data
    basis = PolynomialBasis(2)
    Psi = basis.features(X).T
    M = len(Psi)
    saddle = np.block([[LAM * np.eye(M), Psi], [Psi.T, -np.eye(N)]])
    c = np.linalg.solve(saddle, np.concatenate([np.zeros(M), y]))[:M]
    assert_allclose(predict(basis, X, y, new), basis.features(new) @ c, rtol=1e-8)


def test_000_ridge_tends_to_interpolation_as_lam_tends_to_0(data):
    """λ → 0 recovers kernel interpolation."""
    X, y, new = data
    k = Gaussian(0.3)
    assert_allclose(
        predict(k, X, y, new, lam=1e-11), KernelInterpolator(k).fit(X, y).predict(new), rtol=1e-5, atol=1e-7
    )


def test_000_rkhs_norm_is_the_norm_of_c(data):
    """‖f̂‖²_H = ‖c‖² = αᵀKα."""
    X, y, _ = data
    basis = PolynomialBasis(2)
    model = KernelRidge(basis, LAM, trend=None).fit(X, y)
    theta = basis.features(X).T @ model.dual_coef_
    assert_allclose(model.rkhs_norm_, np.linalg.norm(theta), rtol=1e-9)


def test_000_fast_loocv_for_least_squares(data):
    """r⁽⁻ⁱ⁾ = rᵢ/(1 − ℓᵢ²), ℓᵢ² the squared norm of row i of Q."""
    X, y, _ = data
    model = BasisRegression(PolynomialBasis(2)).fit(X, y)
    A = PolynomialBasis(2).features(X)
    refits = [y[i] - A[i] @ np.linalg.lstsq(np.delete(A, i, 0), np.delete(y, i), rcond=None)[0] for i in range(N)]
    assert_allclose(model.loo_residuals_, refits, rtol=1e-9)
    Q = np.linalg.qr(A)[0]
    assert_allclose(model.leverage_, (Q**2).sum(axis=1), rtol=1e-9)


def test_000_fast_loocv_for_kernels(data):
    """r⁽⁻ⁱ⁾ = cᵢ/[K̃⁻¹]ᵢᵢ."""
    X, y, _ = data
    k = Gaussian(0.9)
    Kinv = Cholesky().resolvent(DenseGram(k, X))(LAM)
    loo = (Kinv @ y) / Kinv.diag()
    refits = [y[i] - predict(k, np.delete(X, i, 0), np.delete(y, i), X[[i]])[0] for i in range(N)]
    assert_allclose(loo, refits, rtol=1e-9)


def test_000_inverse_diagonal_is_the_squared_power_function(data):
    """1/[K⁻¹]ᵢᵢ is the squared power function at xᵢ given the other points."""
    X, y, _ = data
    k = Gaussian(0.5)
    Kinv = Cholesky().resolvent(DenseGram(k, X))(0.0)
    others = KernelInterpolator(k).fit(np.delete(X, 3, 0), np.delete(y, 3))
    assert_allclose(1.0 / Kinv.diag()[3], others.power_function(X[[3]])[0] ** 2, rtol=1e-6)


def test_000_derivative_of_the_inverse(data):
    """δ[K̃⁻¹] = −K̃⁻¹ [δK̃] K̃⁻¹, and δ log det K̃ = tr(K̃⁻¹ δK̃), through the contraction with dK/dlog ℓ."""
    X, y, _ = data
    h, k = 1e-5, Gaussian(0.9)

    def quantities(step):
        Kinv = Cholesky().resolvent(DenseGram(k.with_theta(k.theta + step), X))(LAM)
        return y @ (Kinv @ y), Kinv.logdet()

    up, down = quantities(h), quantities(-h)
    K = DenseGram(k, X)
    Kinv = Cholesky().resolvent(K)(LAM)
    c = Kinv @ y
    assert_allclose(K.grad(-np.outer(c, c))[0], (up[0] - down[0]) / (2 * h), rtol=1e-6)
    assert_allclose(K.grad(Kinv.dense())[0], (up[1] - down[1]) / (2 * h), rtol=1e-6)


def test_000_log_determinant(data):
    """log det K̃ of the Gaussian log likelihood."""
    X, _, _ = data
    K = DenseGram(Gaussian(0.9), X)
    assert_allclose(
        Cholesky().resolvent(K)(LAM).logdet(), np.linalg.slogdet(K.dense() + LAM * np.eye(N))[1], rtol=1e-10
    )


# ---------------------------------------------------------------- 001: kernels
def test_001_kernel_matrix_is_Psi_Psi_transposed(data):
    """K = ΨΨᵀ."""
    X, _, _ = data
    Psi = PolynomialBasis(3).features(X)
    assert_allclose(PolynomialBasis(3)(X), Psi @ Psi.T, rtol=1e-12)


def test_001_primal_dual_w_is_Psi_transposed_a(data):
    """w = Ψᵀa with a = (y − Ψw)/λ and a = (K + λI)⁻¹ y."""
    X, y, new = data
    basis = PolynomialBasis(2)
    primal = BasisRegression(basis, lam=LAM).fit(X, y)
    assert_allclose(basis.features(X).T @ primal.dual_coef_, primal.coef_, rtol=1e-9)
    dual = KernelRidge(basis, LAM, trend=None).fit(X, y)
    assert_allclose(primal.dual_coef_, dual.dual_coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(primal.predict(new), dual.predict(new), rtol=1e-8)


def test_001_square_of_the_inner_product_has_quadratic_features(data):
    """(xᵀz)² = ψ(x)ᵀψ(z), ψ(x) = (x₁², √2 x₁x₂, x₂²)."""
    X, _, new = data

    def psi(U):
        return np.column_stack([U[:, 0] ** 2, np.sqrt(2) * U[:, 0] * U[:, 1], U[:, 1] ** 2])

    assert_allclose((Linear() ** 2)(X, new), FeatureMap(psi)(X, new), rtol=1e-10, atol=1e-12)


def test_001_gaussian_kernel(data):
    """exp(−‖x − z‖²/2σ²)."""
    X, _, new = data
    direct = np.exp(-((X[:, None] - new) ** 2).sum(axis=2) / (2 * 0.7**2))
    assert_allclose(Gaussian(0.7)(X, new), direct, rtol=1e-12)


def amplitude(X):
    return 1.0 + np.abs(X[:, 0])


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (3.0 * Gaussian(), lambda a, b, f, g: 3.0 * a),
        (Gaussian().warp(amplitude), lambda a, b, f, g: f[:, None] * a * g),
        (Gaussian() + Linear(), lambda a, b, f, g: a + b),
        (Gaussian() * Linear(), lambda a, b, f, g: a * b),
        (Linear().exp(), lambda a, b, f, g: np.exp(b)),
        (Linear().polynomial([1.0, 0.0, 2.0]), lambda a, b, f, g: 1 + 2 * b**2),
    ],
    ids=["c k", "f k f", "k1 + k2", "k1 k2", "exp k", "q(k)"],
)
def test_001_constructing_kernels_from_kernels(kernel, formula, data):
    """c k₁, f(x) k₁ f(x′), k₁ + k₂, k₁ k₂, exp(k₁), q(k₁)."""
    X, _, new = data
    expected = formula(Gaussian()(X, new), Linear()(X, new), amplitude(X), amplitude(new))
    assert_allclose(kernel(X, new), expected, rtol=1e-12)


def test_001_quadratic_form(data):
    """xᵀAx′ for A PSD."""
    X, _, new = data
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert_allclose(QuadraticForm(A)(X, new), X @ A @ new.T, rtol=1e-12)


def test_001_radial_basis_functions(data):
    """ψⱼ(x) = h(‖x − μⱼ‖), h Gaussian or sigmoid."""
    X, _, _ = data
    mu = np.array([[0.0, 0.0], [1.0, -1.0]])
    r = np.linalg.norm(X[:, None] - mu, axis=2)
    assert_allclose(GaussianBasis(mu, 0.8).features(X), np.exp(-(r**2) / (2 * 0.8**2)), rtol=1e-12)
    assert_allclose(SigmoidBasis(mu, 0.8).features(X), 1 / (1 + np.exp(-r / 0.8)), rtol=1e-12)


# ---------------------------------------------------------------- 002: RKHS
def test_002_interpolation_is_feasible_iff_y_in_range_of_K(rng):
    """Problem 1 is feasible iff y ∈ range(K)."""
    X = rng.standard_normal((10, 2))
    inside = KernelInterpolator(Linear()).fit(X, X @ [1.0, -2.0])
    assert inside.feasible_
    assert inside.rank_ == 2
    assert_allclose(inside.predict(X), X @ [1.0, -2.0], rtol=1e-9)
    with pytest.warns(UserWarning, match="not in the range of K"):
        outside = KernelInterpolator(Linear()).fit(X, X[:, 0] ** 2)
    assert not outside.feasible_


def test_002_minimal_norm_interpolant(data):
    """f̂ = n^(−1/2) Σ α̂ᵢ K(·, xᵢ), K α̂ = y/√n with Kᵢⱼ = k(xᵢ, xⱼ)/n; no interpolant has a smaller norm."""
    X, y, new = data
    k = Gaussian(0.4)
    alpha = np.linalg.solve(k(X) / N, y / np.sqrt(N))
    model = KernelInterpolator(k).fit(X, y)
    assert_allclose(model.predict(new), k(new, X) @ alpha / np.sqrt(N), rtol=1e-7, atol=1e-9)
    assert_allclose(model.rkhs_norm_, np.sqrt(alpha @ (k(X) / N) @ alpha), rtol=1e-7)
    other = KernelInterpolator(k).fit(np.vstack([X, new]), np.concatenate([y, model.predict(new) + 0.1]))
    assert other.rkhs_norm_ > model.rkhs_norm_


def test_002_ridge_in_the_scaled_convention(data):
    """α̂ = (K/n + λ_n I)⁻¹ y/√n, f̂ = n^(−1/2) Σ α̂ᵢ K(·, xᵢ), with λ_n = λ/n."""
    X, y, new = data
    k = Gaussian(0.9)
    model = KernelRidge(k, LAM, trend=None).fit(X, y)
    lam_n = model.regularization_["lam_over_n"]
    alpha = np.linalg.solve(k(X) / N + lam_n * np.eye(N), y / np.sqrt(N))
    assert_allclose(model.predict(new), k(new, X) @ alpha / np.sqrt(N), rtol=1e-9)


def test_002_linear_kernel_is_psd(data):
    """αᵀKα = ‖Σ αᵢxᵢ‖² >= 0."""
    X, y, _ = data
    assert_allclose(y @ Linear()(X) @ y, np.sum((y @ X) ** 2), rtol=1e-10)


# ---------------------------------------------------------------- 003: kernel methods
def test_003_ordinary_least_squares_is_blue(rng):
    """ŵ = (XXᵀ)⁻¹Xy, Cov ŵ = σ²(XXᵀ)⁻¹ (the notes' X holds a column for each sample)."""
    X = rng.standard_normal((40, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(40)

    def identity(U):
        return np.asarray(U)

    model = BasisRegression(identity).fit(X, y)
    w = np.linalg.solve(X.T @ X, X.T @ y)
    assert_allclose(model.coef_, w, rtol=1e-10)
    sigma2 = np.sum((y - X @ w) ** 2) / (40 - 3)
    assert_allclose(model.sigma2_, sigma2, rtol=1e-9)
    assert_allclose(model.covariance_, sigma2 * np.linalg.inv(X.T @ X), rtol=1e-8)


def test_003_ridge_regression(data):
    """w = (XXᵀ + λI)⁻¹Xyᵀ."""
    X, y, _ = data
    Phi = PolynomialBasis(3).features(X)
    w = np.linalg.solve(Phi.T @ Phi + LAM * np.eye(Phi.shape[1]), Phi.T @ y)
    assert_allclose(BasisRegression(PolynomialBasis(3), lam=LAM).fit(X, y).coef_, w, rtol=1e-8)


def test_003_paraboloid_feature_map(data):
    """φ(x) = (x₁, x₂, x₁² + x₂²) has k(x, y) = xᵀy + (‖x‖‖y‖)²."""
    X, _, new = data

    def phi(U):
        return np.column_stack([U, (U**2).sum(axis=1)])

    norms = (X**2).sum(axis=1)[:, None] * (new**2).sum(axis=1)
    assert_allclose(FeatureMap(phi)(X, new), X @ new.T + norms, rtol=1e-10)


def test_003_mercers_theorem_on_the_data(data):
    """k(x, x′) = φ(x)ᵀφ(x′) for the constructed feature space."""
    X, _, new = data
    k = Gaussian(0.8)
    phi = empirical_feature_map(k, X)
    assert_allclose(phi(X) @ phi(X).T, k(X), atol=1e-9)
    assert_allclose(phi(new) @ phi(X).T, k(new, X), atol=1e-6)


def test_003_polynomial_kernel(data):
    """(xᵢᵀxⱼ + c)ᵖ."""
    X, _, new = data
    assert_allclose(Polynomial(3, 2.0)(X, new), (X @ new.T + 2.0) ** 3, rtol=1e-12)


def test_003_alpha_is_the_scaled_residual(data):
    """αᵢ = (yᵢ − φ(xᵢ)ᵀw)/λ."""
    X, y, _ = data
    model = KernelRidge(Gaussian(0.9), LAM, trend=None).fit(X, y)
    assert_allclose(model.dual_coef_, (y - model.predict(X)) / LAM, rtol=1e-8)


# ---------------------------------------------------------------- 004: kernel ridge regression
def test_004_n_lambda_convention(data):
    """ŷ(x*) = yᵀ(K(X, X) + NλI)⁻¹K(X, x*): the notes' λ is λ/N here."""
    X, y, new = data
    k = Gaussian(0.9)
    model = KernelRidge(k, LAM, trend=None).fit(X, y)
    lam = model.regularization_["lam_over_n"]
    assert_allclose(model.predict(new), y @ np.linalg.solve(k(X) + N * lam * np.eye(N), k(X, new)), rtol=1e-9)
    assert_allclose(model.regularization_["C"], 1 / (2 * N * lam))


def test_004_push_through_identity(data):
    """A(AᵀA + I)⁻¹ = (AAᵀ + I)⁻¹A: primal and dual predictions agree."""
    X, y, new = data
    A = PolynomialBasis(2).features(X)
    M = A.shape[1]
    assert_allclose(A @ np.linalg.inv(A.T @ A + np.eye(M)), np.linalg.inv(A @ A.T + np.eye(N)) @ A, atol=1e-10)
    primal = BasisRegression(PolynomialBasis(2), lam=LAM).fit(X, y).predict(new)
    assert_allclose(predict(PolynomialBasis(2), X, y, new), primal, rtol=1e-8)


def test_004_scaled_polynomial_basis_is_the_polynomial_kernel(rng):
    """φ(x) = (1, √3x, √3x², x³): φ(x)ᵀφ(x′) = (1 + xx′)³."""
    x, z = rng.standard_normal((6, 1)), rng.standard_normal((4, 1))
    assert_allclose(PolynomialBasis(3, scaled=True)(x, z), (1 + x @ z.T) ** 3, rtol=1e-10)
    expected = np.hstack([np.ones_like(x), np.sqrt(3) * x, np.sqrt(3) * x**2, x**3])
    assert_allclose(np.sort(PolynomialBasis(3, scaled=True).features(x)), np.sort(expected), rtol=1e-12)


def test_004_squared_exponential_plus_polynomial_on_the_cars():
    """The stopping distances with a sum of a squared exponential and a polynomial kernel, λ = 0.01."""
    from mercer.datasets import load_cars

    X, y = load_cars(return_X_y=True)
    X = (X - X.mean()) / X.std()
    k = Gaussian(1.0) + Polynomial(2, 1.0)
    alpha = np.linalg.solve(k(X) + 0.01 * 50 * np.eye(50), y)
    model = KernelRidge(k, 0.01 * 50, trend=None).fit(X, y)
    assert_allclose(model.predict(X), k(X) @ alpha, rtol=1e-8)


def test_004_constant_kernel_is_a_penalised_intercept(data):
    """A feature 1 in φ(x) is the constant kernel."""
    X, y, new = data
    assert_allclose(predict(PolynomialBasis(1), X, y, new), predict(Linear() + Constant(1.0), X, y, new), rtol=1e-8)
