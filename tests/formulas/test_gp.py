"""One test for each formula on Gaussian-process regression of lectures 000 and 001, in the notes' letters.

000 Kernel selection · 001 Kernels and Gaussian processes. The left side is the library, the right side the notes.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mercer import BasisRegression, GaussianProcessRegressor
from mercer.kernels import Exponential, FeatureMap, Gaussian, GaussianBasis, PolynomialBasis

N, SIGMA2 = 20, 0.3


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (N, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(N), rng.uniform(-2, 2, (6, 2))


def fitted(X, y, kernel=None, noise=SIGMA2, trend=None):
    return GaussianProcessRegressor(kernel or Gaussian(0.9), noise, criterion=None, trend=trend).fit(X, y)


# ---------------------------------------------------------------- 000: Gaussian processes with noise
def test_000_posterior_mean_and_covariance(data):
    """μ̂(x) = k_xX K̃⁻¹ f_X,  k̂(x, x′) = k(x, x′) − k_xX K̃⁻¹ k_Xx′,  K̃ = K + σ²I."""
    X, y, new = data
    k = Gaussian(0.9)
    K = k(X) + SIGMA2 * np.eye(N)
    found = fitted(X, y).posterior(new, cov=True)
    assert_allclose(found.mean, k(new, X) @ np.linalg.solve(K, y), rtol=1e-9)
    assert_allclose(found.latent_cov, k(new) - k(new, X) @ np.linalg.solve(K, k(X, new)), rtol=1e-8, atol=1e-12)


def test_000_leave_one_out_residual(data):
    """r⁽⁻ⁱ⁾ = cᵢ/[K̃⁻¹]ᵢᵢ, and 1/[K̃⁻¹]ᵢᵢ is the squared power function at xᵢ given the others (noise included)."""
    X, y, _ = data
    inverse = np.linalg.inv(Gaussian(0.9)(X) + SIGMA2 * np.eye(N))
    model = fitted(X, y)
    assert_allclose(model.loo_residuals_, inverse @ y / np.diag(inverse), rtol=1e-9)
    assert_allclose(model.loo_std_**2, 1.0 / np.diag(inverse), rtol=1e-9)
    others = np.arange(1, N)
    alone = fitted(X[others], y[others]).predict(X[:1], return_std=True, noisy=True)
    assert_allclose([model.loo_residuals_[0], model.loo_std_[0]], [y[0] - alone[0][0], alone[1][0]], rtol=1e-9)


def test_000_log_likelihood_and_its_terms(data):
    """log p(y) = −½(y − μ)ᵀK⁻¹(y − μ) − ½ log det K − (n/2) log 2π: fidelity, complexity, constant."""
    X, y, _ = data
    K = Gaussian(0.9)(X) + SIGMA2 * np.eye(N)
    terms = fitted(X, y).evidence_terms()
    assert_allclose(terms["fidelity"], -0.5 * y @ np.linalg.solve(K, y), rtol=1e-10)
    assert_allclose(terms["complexity"], -0.5 * np.linalg.slogdet(K)[1], rtol=1e-10)
    assert_allclose(terms["constant"], -0.5 * N * np.log(2 * np.pi), rtol=1e-12)
    assert_allclose(sum(terms.values()), multivariate_normal(np.zeros(N), K).logpdf(y), rtol=1e-10)


def test_000_fidelity_is_largest_and_zero_when_y_is_the_mean(data):
    """The model fidelity term has a maximum value of zero, when y = μ."""
    X, y, _ = data
    model = fitted(X, y, trend="constant")
    assert model.evidence_terms()["fidelity"] < 0
    assert_allclose(fitted(X, np.full(N, 3.0), trend="constant").evidence_terms()["fidelity"], 0.0, atol=1e-20)


def test_000_derivatives_of_fidelity_and_log_determinant(data):
    """δ[−½ yᵀK⁻¹y] = ½ cᵀ[δK]c,  δ[log det K] = tr(K⁻¹δK)."""
    X, y, _ = data
    k, h = Gaussian(0.9), 1e-5
    K = k(X) + SIGMA2 * np.eye(N)
    dK = (Gaussian(0.9 * np.exp(h))(X) - Gaussian(0.9 * np.exp(-h))(X)) / (2 * h)  # by log ℓ
    c = np.linalg.solve(K, y)
    expected = 0.5 * c @ dK @ c - 0.5 * np.trace(np.linalg.solve(K, dK))
    noise = SIGMA2 * (0.5 * c @ c - 0.5 * np.trace(np.linalg.inv(K)))  # by log σ²: δK = σ²I
    _, gradient = fitted(X, y).log_marginal_likelihood(eval_gradient=True)
    assert_allclose(gradient, [expected, noise], rtol=1e-6)


# ---------------------------------------------------------------- 001: from linear regression to processes
def test_001_bayesian_linear_regression_is_a_gaussian_process(data):
    """w ~ N(0, I/α), y | x ~ N(wᵀψ(x), σ²): the posterior of wᵀψ is the process with the kernel ψᵀψ′/α."""
    X, y, new = data
    basis, alpha = PolynomialBasis(3), 0.7
    Psi, psi = basis.features(X), basis.features(new)
    A = Psi.T @ Psi / SIGMA2 + alpha * np.eye(Psi.shape[1])
    w = np.linalg.solve(A, Psi.T @ y / SIGMA2)
    found = fitted(X, y, (1 / alpha) * basis).posterior(new, cov=True)
    assert_allclose(found.mean, psi @ w, rtol=1e-7)
    assert_allclose(found.latent_cov, psi @ np.linalg.solve(A, psi.T), rtol=1e-6, atol=1e-9)
    primal = BasisRegression(basis, lam=alpha * SIGMA2).fit(X, y)  # its mean: ridge with λ = ασ²
    assert_allclose(primal.predict(new), found.mean, rtol=1e-7)


def test_001_any_feature_map_gives_a_process(data):
    """ŷ ~ N(0, ΨΨᵀ/α): K = ΨΨᵀ/α is the covariance of the function values, also for a map that anyone wrote."""
    X, _, _ = data
    model = GaussianProcessRegressor(2.0 * FeatureMap(_features))
    Psi = _features(X)
    assert_allclose(model.prior_moments(X, cov=True).latent_cov, 2.0 * Psi @ Psi.T, rtol=1e-12)


def _features(X):
    return np.hstack([np.cos(X), np.sin(X), X**2])


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Exponential(0.5)], ids=repr)
def test_001_samples_of_the_prior(kernel):
    """E[ŷ(x)ŷ(x′)] = k(x, x′), for the two kernels of the picture; one is smooth, the other rough."""
    X = np.linspace(0, 1, 40)[:, None]
    draws = GaussianProcessRegressor(kernel).sample(X, 20000, random_state=0)
    assert_allclose(draws @ draws.T / 20000, kernel(X), atol=0.05)
    steps = np.mean(np.diff(draws, axis=0) ** 2)
    assert_allclose(steps, 2 - 2 * kernel(X[:1], X[1:2])[0, 0], rtol=0.05)


def test_001_marginal_of_y(data):
    """y ~ N(0, C),  c(x, x′) = k(x, x′) + σ²δ(x, x′)."""
    X, _, _ = data
    model = GaussianProcessRegressor(Gaussian(0.9), SIGMA2)
    assert_allclose(model.prior_moments(X, cov=True).noisy_cov, Gaussian(0.9)(X) + SIGMA2 * np.eye(N))


def test_001_conditional_of_a_gaussian_vector(rng):
    """x₂ | x₁ = a ~ N(μ₂ + Σ₂₁Σ₁₁⁻¹(a − μ₁), Σ₂₂ − Σ₂₁Σ₁₁⁻¹Σ₁₂), met by y⁽ᴺ⁺¹⁾ | y_N."""
    X = rng.standard_normal((6, 1))
    y = rng.standard_normal(5)
    C = Gaussian()(X) + SIGMA2 * np.eye(6)
    m = C[5, :5] @ np.linalg.solve(C[:5, :5], y)
    v = C[5, 5] - C[5, :5] @ np.linalg.solve(C[:5, :5], C[:5, 5])
    mean, std = fitted(X[:5], y, Gaussian()).predict(X[5:], return_std=True, noisy=True)
    assert_allclose([mean[0], std[0] ** 2], [m, v], rtol=1e-10)


def test_001_mean_and_variance_of_the_prediction(data):
    """mean = kᵀC_N⁻¹y_N,  variance = c − kᵀC_N⁻¹k,  c = k(x, x) + σ²."""
    X, y, new = data
    k = 1.7 * Gaussian(0.9)
    C = k(X) + SIGMA2 * np.eye(N)
    found = fitted(X, y, k).posterior(new)
    cross = k(X, new)
    assert_allclose(found.mean, cross.T @ np.linalg.solve(C, y), rtol=1e-9)
    variance = 1.7 + SIGMA2 - np.einsum("ij,ij->j", cross, np.linalg.solve(C, cross))
    assert_allclose(found.noisy_std**2, variance, rtol=1e-8)
    assert_allclose(found.noisy_std**2 - found.latent_std**2, SIGMA2, rtol=1e-9)


def test_001_joint_evidence_is_a_chain_of_predictions(data):
    """p(y_N) = Π p(y⁽ⁱ⁾ | y_{i−1}): the evidence is the sum of the log densities of one-step predictions."""
    X, y, _ = data
    total = -0.5 * (y[0] ** 2 / (1 + SIGMA2) + np.log(2 * np.pi * (1 + SIGMA2)))
    model = fitted(X[:1], y[:1])
    for i in range(1, N):
        mean, std = model.predict(X[i : i + 1], return_std=True, noisy=True)
        total += -0.5 * ((y[i] - mean[0]) / std[0]) ** 2 - np.log(std[0]) - 0.5 * np.log(2 * np.pi)
        model.update(X[i : i + 1], y[i : i + 1])
    assert_allclose(model.log_marginal_likelihood_value_, total, rtol=1e-9)


def test_001_learning_the_hyper_parameters(data):
    """log p(y | θ) = −½ log |C_N| − ½ yᵀC_N⁻¹y − (N/2) log 2π, and no θ nearby is better than the one learnt."""
    X, y, _ = data
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0), trend=None, prior=None).fit(X, y)
    theta = np.append(model.kernel_.theta, np.log(model.noise_))
    C = model.kernel_(X) + model.noise_ * np.eye(N)
    expected = -0.5 * np.linalg.slogdet(C)[1] - 0.5 * y @ np.linalg.solve(C, y) - 0.5 * N * np.log(2 * np.pi)
    assert_allclose(model.log_marginal_likelihood_value_, expected, rtol=1e-8)
    for step in 0.3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert model.log_marginal_likelihood(theta + step) < expected + 1e-3


def test_001_radial_basis_functions_in_weight_space(data):
    """ψⱼ(x) = h(‖x − μⱼ‖): a process of rank M, whose variance is that of M weights."""
    X, y, new = data
    basis = GaussianBasis(X[:4], 1.0)
    C = fitted(X, y, basis).posterior(new, cov=True).latent_cov
    assert np.linalg.matrix_rank(C, tol=1e-9) <= 4
