"""Laplace's approximation: the mode, the evidence and its adjoint, weights, cavities, and published numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer.gram import DenseGram
from mercer.inference.ep import expectation_propagation
from mercer.inference.likelihood import Binary, Logit, Probit
from mercer.inference.sites import laplace
from mercer.kernels import Gaussian

both = pytest.mark.parametrize("link", [Logit(), Probit()], ids=["logit", "probit"])
METHODS = {"laplace": laplace, "ep": expectation_propagation}
methods = pytest.mark.parametrize("method", METHODS)


def approximate(method, K, likelihood, **options):
    return METHODS[method](DenseGram.from_matrix(K), likelihood, **options)


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((30, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(30) > 0, 1.0, -1.0), rng.uniform(0.3, 3.0, 30)


@both
def test_the_mode_and_the_evidence_in_the_plainest_way(problem, link):
    X, t, w = problem
    K = 2.0 * Gaussian(0.8)(X)
    likelihood = Binary(link, t, w, 0.2)
    found = approximate("laplace", K, likelihood)
    g, W = likelihood.derivatives(found.f)
    assert found.info["converged"]
    assert_allclose(found.a, g, atol=1e-7)  # f̂ = K ∇ log p(y | f̂)
    half = 0.5 * np.linalg.slogdet(np.eye(30) + K * W)[1]
    assert_allclose(found.log_evidence, likelihood.value(found.f) - 0.5 * found.a @ found.f - half, rtol=1e-10)
    S = np.linalg.inv(np.linalg.inv(K + 1e-9 * np.eye(30)) + np.diag(W))
    assert_allclose(found.variances(), np.diagonal(S), rtol=1e-5)
    mean, var = found.latent(K[:5], np.diagonal(K)[:5])
    assert_allclose(mean, found.f[:5] + 0.2, rtol=1e-9)
    assert_allclose(var, np.diagonal(S)[:5], rtol=1e-5)


@methods
@both
def test_adjoint_against_central_differences(problem, link, method):
    X, t, w = problem
    assert_adjoint(X, Binary(link, t, w, -0.1), np.array([1.5, -0.2]), method)


@both
def test_adjoint_where_most_rows_are_certain(rng, link):
    X = np.sort(rng.uniform(-9, 9, (30, 1)), axis=0)
    theta = np.array([12.0, 3.0])
    found = approximate("laplace", np.exp(theta[0]) * Gaussian(np.exp(theta[1]))(X), Binary(link, np.sign(X[:, 0])))
    assert np.sum(found.s**2 < 1e-8) > 10  # so small that Σ could not be told from 1 − [B⁻¹]ᵢᵢ
    assert_adjoint(X, Binary(link, np.sign(X[:, 0])), theta, "laplace")


def assert_adjoint(X, likelihood, theta, method):
    """W·∂K/∂log θ is the slope of −log Z."""
    D, h = np.sum((X[:, None] - X) ** 2, axis=2), 1e-4

    def K(log_theta):
        return np.exp(log_theta[0]) * np.exp(-0.5 * D / np.exp(2 * log_theta[1]))

    W = approximate(method, K(theta), likelihood, tol=1e-10).value_and_adjoint()[1]
    assert_allclose(W, W.T, atol=1e-12)
    for j in range(2):
        e = h * np.eye(2)[j]
        up, down = (approximate(method, K(theta + s * e), likelihood, tol=1e-10).log_evidence for s in (1, -1))
        dK = (K(theta + e) - K(theta - e)) / (2 * h)
        assert_allclose(np.sum(W * dK), -(up - down) / (2 * h), rtol=1e-5)


@methods
@both
def test_whole_weights_are_repeated_rows(problem, rng, link, method):
    X, t, _ = problem
    w = rng.integers(1, 4, 30)
    index = np.repeat(np.arange(30), w)
    K = 3.0 * Gaussian(0.8)(X)
    one = approximate(method, K, Binary(link, t, w))
    many = approximate(method, K[np.ix_(index, index)], Binary(link, t[index]))
    assert_allclose(one.log_evidence, many.log_evidence, rtol=1e-9)
    assert_allclose(one.f[index], many.f, atol=1e-7)


@methods
@both
def test_cavities_against_refits(problem, link, method):
    X, t, _ = problem
    K, likelihood = 2.0 * Gaussian(1.0)(X), Binary(link, t)
    loo = approximate(method, K, likelihood).loo()
    refit = []
    for i in range(30):
        rest = np.arange(30) != i
        part = approximate(method, K[np.ix_(rest, rest)], likelihood.rows(rest))
        refit.append(part.proba(K[i : i + 1, rest], K[i, i : i + 1])[0])
    assert np.abs(loo - refit).max() < (0.03 if method == "laplace" else 0.015)
    assert np.abs(loo - approximate(method, K, likelihood).proba(K, np.diagonal(K))).max() > 0.02  # rows do count


@methods
def test_part_of_a_row_left_out_is_a_smaller_weight(problem, method):
    X, t, _ = problem
    K, w = 2.0 * Gaussian(1.0)(X), np.full(30, 2.0)
    loo = approximate(method, K, Binary(Probit(), t, w)).loo(np.array([3]), 0.5)
    w[3] = 1.0
    refit = approximate(method, K, Binary(Probit(), t, w)).proba(K[3:4], K[3, 3:4])
    assert_allclose(loo, refit, atol=0.01)


def test_warm_starts_end_in_the_same_place(problem):
    X, t, _ = problem
    likelihood, K = Binary(Logit(), t), 5.0 * Gaussian(0.7)(X)
    cold = approximate("laplace", K, likelihood)
    for start in (
        approximate("laplace", 0.01 * K, likelihood).a,
        approximate("laplace", 1e4 * K, likelihood).a,
        -cold.a,
        1e3 * cold.a,
    ):
        warm = approximate("laplace", K, likelihood, start=start)
        assert_allclose(warm.log_evidence, cold.log_evidence, rtol=1e-9)


@methods
@both
@pytest.mark.parametrize("amplitude", [1e-8, 1e3, 1e8])
def test_extreme_amplitudes_and_separated_classes(rng, link, method, amplitude):
    X = np.concatenate([rng.standard_normal((15, 1)) - 5, rng.standard_normal((15, 1)) + 5])
    t = np.where(X[:, 0] > 0, 1.0, -1.0)
    K = amplitude * Gaussian(3.0)(X)
    found = approximate(method, K, Binary(link, t))
    assert np.isfinite(found.log_evidence)
    assert found.log_evidence < 0
    assert np.isfinite(found.loo()).all()
    assert np.isfinite(found.value_and_adjoint()[1]).all()
    p = found.proba(K, np.diagonal(K))
    assert ((p >= 0) & (p <= 1)).all()
    assert ((p > 0.5) == (t > 0)).all()


def test_evidence_of_the_peer(problem):
    X, t, _ = problem
    peer = Peer(ConstantKernel(2.0) * RBF(0.8), optimizer=None).fit(X, t)
    ours = approximate("laplace", 2.0 * Gaussian(0.8)(X), Binary(Logit(), t))
    assert_allclose(ours.log_evidence, peer.log_marginal_likelihood_value_, rtol=1e-5)  # it stops its Newton at 1e-10
    assert_allclose(ours.proba(2.0 * Gaussian(0.8)(X), np.full(30, 2.0)), peer.predict_proba(X)[:, 1], atol=1e-3)


def test_not_converged_is_said(problem):
    X, t, _ = problem
    assert not approximate("laplace", 1e4 * Gaussian(0.5)(X), Binary(Logit(), t), max_iter=1).info["converged"]
    found = approximate("ep", 1e4 * Gaussian(0.5)(X), Binary(Logit(), t), max_iter=2)
    assert not found.info["converged"]
    assert found.info["change"] > 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "log_length", "log_amplitude", "nlml", "within", "errors", "bits"),
    [
        ("laplace", 3.0, 0.0, 222.39, 0.05, 35, 0.71),
        ("laplace", 2.75, 2.27, 98.87, 0.05, 22, 0.83),
        ("ep", 3.0, 0.0, 222.0, 0.5, 35, 0.72),
        ("ep", 2.55, 3.96, 90.0, 0.5, 19, 0.89),
    ],
)
def test_three_against_five_as_published(shared_data, method, log_length, log_amplitude, nlml, within, errors, bits):
    file = np.load(shared_data / "classics" / "usps_resampled.npz")
    data = []
    for part in ("train", "test"):
        y = file[f"y_{part}"]
        rows = (y == 3) | (y == 5)
        data += [file[f"X_{part}"][rows].astype(float), np.where(y[rows] == 3, 1.0, -1.0)]
    X, t, new, truth = data
    k = np.exp(2 * log_amplitude) * Gaussian(np.exp(log_length))
    found = approximate(method, k(X), Binary(Probit(), t))
    p = found.proba(k(new, X), k.diag(new))
    assert found.info["converged"]
    assert abs(-found.log_evidence - nlml) < within
    assert np.sum((p > 0.5) != (truth > 0)) == errors
    assert abs(np.mean(np.log2(np.where(truth > 0, p, 1 - p))) + 1 - bits) < 0.006
