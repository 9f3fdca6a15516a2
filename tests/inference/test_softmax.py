"""Several classes: evidence with the term of M, its adjoint, cavities, probabilities; two classes are the logit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from mercer.gram import DenseGram
from mercer.inference.likelihood import Binary, Logit
from mercer.inference.sites import laplace
from mercer.inference.softmax import Softmax, expected_softmax, mean_field, softmax_laplace, unshared
from mercer.kernels import Gaussian


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((24, 2))
    y = rng.integers(0, 3, 24)
    y[X[:, 0] > 0.3] = 0
    y[:3] = [0, 1, 2]
    return X, y, rng.uniform(0.3, 3.0, 24)


def coupled(K, likelihood, **options):
    return softmax_laplace(DenseGram.from_matrix(K), likelihood, **options)


def big_W(likelihood, f):
    """W of all classes and rows as one matrix, class by class."""
    prob, (n, C) = likelihood.prob(f), f.shape
    W = np.zeros((C * n, C * n))
    for i in range(n):
        index = np.arange(C) * n + i
        p = prob[i]
        W[np.ix_(index, index)] = likelihood.weight[i] * (np.diag(p) - np.outer(p, p))
    return W


@pytest.mark.parametrize("weighted", [False, True])
def test_evidence_and_covariances_in_the_plainest_way(problem, weighted):
    X, y, w = problem
    K, likelihood = 3.0 * Gaussian(0.8)(X), Softmax(y, 3, w if weighted else None)
    found = coupled(K, likelihood)
    assert found.info["converged"]
    assert_allclose(found.a, likelihood.gradient(found.f), atol=1e-7)
    W, big = big_W(likelihood, found.f), np.kron(np.eye(3), K)
    half = 0.5 * np.linalg.slogdet(np.eye(72) + big @ W)[1]
    assert_allclose(found.log_evidence, likelihood.value(found.f) - 0.5 * np.sum(found.a * found.f) - half, rtol=1e-10)
    S = big - big @ W @ np.linalg.solve(np.eye(72) + big @ W, big)
    S = S.reshape(3, 24, 3, 24)
    expected = np.stack([S[:, i, :, i] for i in range(24)])
    assert_allclose(found.covariances(), expected, atol=1e-8)
    assert_allclose(found.joint(K, np.diagonal(K))[1], expected, atol=1e-8)


def test_adjoint_against_central_differences(problem):
    X, y, w = problem
    likelihood, D = Softmax(y, 3, w), np.sum((X[:, None] - X) ** 2, axis=2)

    def K(theta):
        return np.exp(theta[0]) * np.exp(-0.5 * D / np.exp(2 * theta[1])) + 4.0

    theta, h = np.array([1.2, -0.2]), 1e-4
    W = coupled(K(theta), likelihood, tol=1e-10).value_and_adjoint()[1]
    for j in range(2):
        e = h * np.eye(2)[j]
        up, down = (coupled(K(theta + s * e), likelihood, tol=1e-10).log_evidence for s in (1, -1))
        assert_allclose(np.sum(W * (K(theta + e) - K(theta - e)) / (2 * h)), -(up - down) / (2 * h), rtol=1e-5)


def test_whole_weights_are_repeated_rows(problem, rng):
    X, y, _ = problem
    w = rng.integers(1, 4, 24)
    index = np.repeat(np.arange(24), w)
    K = 3.0 * Gaussian(0.8)(X)
    one = coupled(K, Softmax(y, 3, w))
    many = coupled(K[np.ix_(index, index)], Softmax(y[index], 3))
    assert_allclose(one.log_evidence, many.log_evidence, rtol=1e-9)
    assert_allclose(one.f[index], many.f, atol=1e-6)


def test_two_classes_are_the_logit_of_a_difference(problem):
    X, y, _ = problem
    y = (y > 0).astype(int)
    K = 2.0 * Gaussian(0.8)(X)
    two = coupled(K, Softmax(y, 2))
    one = laplace(DenseGram.from_matrix(2.0 * K), Binary(Logit(), 2.0 * y - 1.0))  # f₁ − f₀ has twice the variance
    assert_allclose(two.f[:, 1] - two.f[:, 0], one.f, atol=1e-6)
    assert_allclose(two.log_evidence, one.log_evidence, rtol=1e-9)
    assert_allclose(two.proba(K, np.diagonal(K), "joint")[:, 1], one.proba(2 * K, 2 * np.diagonal(K)), atol=2e-4)


def test_cavities_against_refits(problem):
    X, y, _ = problem
    K, likelihood = 2.0 * Gaussian(1.0)(X), Softmax(y, 3)
    found = coupled(K, likelihood)
    for averaging in ("joint", "mean_field"):
        loo = found.loo(averaging=averaging)
        for i in range(0, 24, 3):
            rest = np.arange(24) != i
            part = coupled(K[np.ix_(rest, rest)], likelihood.rows(rest))
            assert_allclose(loo[i], part.proba(K[i : i + 1, rest], K[i, i : i + 1], averaging)[0], atol=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_that_no_class_shares_follow_from_those_of_each(problem, weighted):
    """cov(f_c, mean f) is k(x, x)/C for any data: one product for each class stands for all C² covariances."""
    X, y, w = problem
    K, new = 5.0 * Gaussian(0.8)(X) + 25.0, 5.0 * Gaussian(0.8)(X + 0.3, X) + 25.0
    found, diagonal = coupled(K, Softmax(y, 3, w if weighted else None)), np.full(24, 30.0)
    cov = found.joint(new, diagonal)[1]
    assert_allclose(cov.mean(axis=2), 30.0 / 3, rtol=1e-9)
    variance = found.latent(new, diagonal)[1]
    assert_allclose(variance, np.einsum("icc->ic", cov), rtol=1e-8)
    assert_allclose((3.0 * variance - 30.0) / 2.0, unshared(cov), rtol=1e-7)


@pytest.mark.parametrize("C", [2, 3, 5, 10])
def test_mean_field_is_within_what_it_says_of_the_joint_integral(rng, C):
    A = rng.standard_normal((100, C, C))
    cov = 0.7 * np.eye(C) + 0.3 * A @ np.swapaxes(A, 1, 2) / C
    mean = rng.standard_normal((100, C))
    for scale, within in ((0.1, 0.02), (1.0, 0.08), (25.0, 0.25)):
        f, S = np.sqrt(1.0 + scale) * mean, scale * cov
        p, exact = mean_field(f, unshared(S)), expected_softmax(f, S)
        assert np.abs(p - exact).max() < within
        assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(mean_field(mean, 0.0), softmax(mean, axis=1))


def test_typical_variances_are_those_at_the_rows(problem):
    X, y, _ = problem
    K = 3.0 * Gaussian(0.8)(X)
    found = coupled(K, Softmax(y, 3))
    variance = found.latent(K, np.diagonal(K))[1]
    assert_allclose(found.typical, ((3.0 * variance - 3.0) / 2.0).mean(axis=0), rtol=1e-7)
    near = found.proba(K, np.diagonal(K), "typical")
    assert np.abs(near - found.proba(K, np.diagonal(K))).max() < 0.1
    assert (near.argmax(axis=1) == (found.f / np.sqrt(1 + np.pi / 8 * found.typical)).argmax(axis=1)).all()


def test_what_is_made_again_of_the_points_is_the_same(problem):
    X, y, _ = problem
    K = DenseGram.from_matrix(3.0 * Gaussian(0.8)(X))
    found = softmax_laplace(K, Softmax(y, 3))
    before = found.proba(K.dense(), np.full(24, 3.0)), found.proba(K.dense(), np.full(24, 3.0), "joint")
    found.gram = lambda: K
    found.release()
    again = type(found).from_state(found.state())
    again.gram = found.gram
    assert again.state()["E"] is None
    for averaging, p in zip(("mean_field", "joint", "mean_field"), (*before, before[0]), strict=True):
        assert_allclose(again.proba(K.dense(), np.full(24, 3.0), averaging), p, rtol=1e-12)


def test_expected_softmax_against_many_draws(rng):
    A = rng.standard_normal((3, 3))
    mean, cov = rng.standard_normal((1, 3)), (A @ A.T)[None]
    draws = mean + rng.standard_normal((400_000, 3)) @ A.T
    assert_allclose(expected_softmax(mean, cov)[0], softmax(draws, axis=1).mean(axis=0), atol=4e-3)
    assert_allclose(expected_softmax(mean, 0 * cov)[0], softmax(mean[0]), rtol=1e-12)


@pytest.mark.parametrize("C", [2, 3, 5])
def test_expected_softmax_does_not_see_what_all_classes_share(rng, C):
    A = rng.standard_normal((4, C, C))
    mean, cov = rng.standard_normal((4, C)), 4.0 * A @ np.swapaxes(A, 1, 2) / C
    p = expected_softmax(mean, cov)
    assert_allclose(expected_softmax(mean + 7.0, cov + 25.0), p, rtol=1e-9)
    assert_allclose(p, expected_softmax(mean, cov, 2**15), atol=1e-3)


@pytest.mark.parametrize(("C", "within"), [(2, 1e-12), (3, 2e-4), (5, 1.5e-3)])
def test_equal_classes_stay_equal(C, within):
    p = expected_softmax(np.zeros((1, C)), 25.0 * np.eye(C)[None])
    assert np.abs(p - 1.0 / C).max() < within


@pytest.mark.parametrize("amplitude", [1e-6, 1e3, 1e6])
def test_extreme_amplitudes_and_separated_classes(rng, amplitude):
    X = np.concatenate([rng.standard_normal((8, 2)) + 6 * c for c in range(3)])
    y = np.repeat(np.arange(3), 8)
    K = amplitude * Gaussian(2.0)(X)
    found = coupled(K, Softmax(y, 3))
    p = found.proba(K, np.diagonal(K))
    assert np.isfinite(found.log_evidence)
    assert np.isfinite(found.value_and_adjoint()[1]).all()
    assert np.isfinite(found.loo()).all()
    assert_allclose(p.sum(axis=1), 1.0)
    assert (found.f.argmax(axis=1) == y).all()
