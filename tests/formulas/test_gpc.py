"""The classification formulas of lecture 001, each checked once against the plainest arithmetic."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from mercer import GaussianProcessClassifier
from mercer.gram import DenseGram
from mercer.inference.likelihood import Binary, Logit
from mercer.inference.quadrature import quadrature
from mercer.kernels import Gaussian

KERNEL = 2.0 * Gaussian(1.0)


def test_the_class_probability_is_the_sigmoid_of_a_gaussian_process(rng):
    """ŷ(x) = σ(a(x)): a probability, and not Gaussian."""
    X = np.linspace(-2, 2, 4)[:, None]
    a = rng.multivariate_normal(np.zeros(4), KERNEL(X), 20_000)
    y_hat = expit(a)
    assert ((y_hat > 0) & (y_hat < 1)).all()
    assert_allclose(y_hat.mean(axis=0), Logit().expect(np.zeros(4), KERNEL.diag(X)), atol=0.01)
    centred = y_hat - y_hat.mean(axis=0)
    kurtosis = (centred**4).mean(axis=0) / (centred**2).mean(axis=0) ** 2
    assert (kurtosis < 2.7).all()  # a Gaussian has 3


def test_the_likelihood_of_a_label():
    """p(y | a) = σ(a)ʸ (1 − σ(a))¹⁻ʸ."""
    a = np.array([-3.0, -0.2, 0.0, 4.0])
    for y in (0, 1):
        likelihood = Binary(Logit(), np.full(4, 2.0 * y - 1.0))
        assert_allclose(np.exp(likelihood.logs(a)), expit(a) ** y * (1 - expit(a)) ** (1 - y), rtol=1e-12)


def test_the_covariance_with_a_nugget():
    """C(xᵢ, xⱼ) = k(xᵢ, xⱼ)/α + ν δᵢⱼ: a nugget ν is a wider Gaussian behind the link, at training rows only."""
    X, t, nugget = np.array([[0.0], [0.7], [1.5]]), np.array([1.0, -1.0, 1.0]), 0.5
    with_nugget = quadrature(DenseGram.from_matrix(KERNEL(X) + nugget * np.eye(3)), Binary(Logit(), t))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    f = (
        np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
        @ np.linalg.cholesky(KERNEL(X)).T
    )
    w = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() / (2 * np.pi) ** 1.5
    wide = np.prod(Logit().expect(t * f, np.full(3, nugget)), axis=1)
    assert_allclose(with_nugget.log_evidence, np.log(w @ wide), atol=1e-6)


@pytest.mark.parametrize("inference", ["laplace", "ep", "mcmc", "quadrature"])
def test_the_predictive_integral(rng, inference):
    """p(y_{N+1} | y_N) = ∫ p(y_{N+1} | a_{N+1}) p(a_{N+1} | y_N) da_{N+1}, by draws of a weighted by p(y_N | a_N)."""
    X, y, new = np.array([[-1.0], [0.0], [0.8], [2.0]]), np.array([0, 1, 1, 0]), np.array([[0.4]])
    a = rng.multivariate_normal(np.zeros(5), KERNEL(np.concatenate([X, new])), 400_000)
    weight = np.prod(expit((2 * y - 1) * a[:, :4]), axis=1)
    expected = weight @ expit(a[:, 4]) / weight.sum()
    model = GaussianProcessClassifier(KERNEL, inference=inference, trend=None, criterion=None).fit(X, y)
    within = {"laplace": 0.02, "ep": 0.005, "mcmc": 0.015, "quadrature": 0.004}[inference]
    assert_allclose(model.predict_proba(new)[0, 1], expected, atol=within)


def test_the_decision_boundary_is_where_the_latent_mean_is_zero():
    """P(y = 1) = ½ ⟺ E a(x) = 0, for a Gaussian posterior and a symmetric sigmoid."""
    X, y = np.array([[-1.0], [0.0], [1.5], [2.0]]), np.array([0, 0, 1, 1])
    model = GaussianProcessClassifier(KERNEL, trend=None, criterion=None).fit(X, y)
    grid = np.linspace(-2, 3, 101)[:, None]
    mean, _ = model.predict_latent(grid)
    assert ((mean > 0) == (model.predict_proba(grid)[:, 1] > 0.5)).all()
    assert (mean > 0).any()
    assert (mean < 0).any()


def test_the_hyper_parameters_are_learnt_by_their_likelihood(rng):
    """θ̂ = argmax log p(y | θ), by its gradient."""
    X = rng.uniform(-3, 3, (60, 1))
    y = rng.uniform(size=60) < expit(3 * np.sin(2 * X[:, 0]))
    model = GaussianProcessClassifier(1.0 * Gaussian(1.0), trend=None, prior=None).fit(X, y)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert np.abs(gradient).max() < 0.1
    for step in rng.uniform(-1, 1, (20, 2)):
        assert model.log_marginal_likelihood(model.kernel_.theta + step) < value + 1e-2
