"""The integral itself: quadrature against an orthant probability, and the other three ways against quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from mercer.exceptions import NotEnoughMemory
from mercer.gram import DenseGram
from mercer.inference import quadrature as rules
from mercer.inference.elliptical import elliptical
from mercer.inference.ep import expectation_propagation
from mercer.inference.likelihood import Binary, Logit, Probit
from mercer.inference.quadrature import Measure, quadrature
from mercer.inference.sites import laplace
from mercer.kernels import Gaussian

X = np.array([-2.0, -1.0, 0.1, 1.2])[:, None]
T = np.array([-1.0, -1.0, 1.0, -1.0])
NEW = np.linspace(-3, 3, 5)[:, None]
KERNEL = 2.0 * Gaussian(1.0)
both = pytest.mark.parametrize("link", [Logit(), Probit()], ids=["logit", "probit"])


def on(method, K, likelihood, **options):
    return method(DenseGram.from_matrix(K), likelihood, **options)


@pytest.fixture(scope="module", params=["logit", "probit"])
def reference(request):
    likelihood = Binary(Logit() if request.param == "logit" else Probit(), T)
    return likelihood, on(quadrature, KERNEL(X), likelihood)


def proba(found):
    return found.proba(KERNEL(NEW, X), KERNEL.diag(NEW))


def test_probit_evidence_is_an_orthant_probability():
    K = KERNEL(X)
    found = on(quadrature, K, Binary(Probit(), T))
    cov = np.eye(4) + T[:, None] * K * T
    expected = multivariate_normal(np.zeros(4), cov, maxpts=1_000_000, abseps=1e-8, releps=1e-8).cdf(np.zeros(4))
    assert found.info["error"] < 1e-8
    assert_allclose(found.log_evidence, np.log(expected), atol=2e-6)


def test_probability_of_a_new_row_is_a_ratio_of_evidences(reference):
    likelihood, found = reference
    rows = np.concatenate([X[:3], NEW[1:2]])
    few = on(quadrature, KERNEL(X[:3]), likelihood.rows(np.arange(3)))
    more = on(quadrature, KERNEL(rows), Binary(likelihood.link, np.append(T[:3], 1.0)))
    p = few.proba(KERNEL(NEW[1:2], X[:3]), KERNEL.diag(NEW[1:2]))[0]
    assert_allclose(np.exp(more.log_evidence - few.log_evidence), p, rtol=1e-6)


def test_adjoint_against_central_differences(reference):
    likelihood, _ = reference
    K, h, few = KERNEL(X[:3]), 1e-4, likelihood.rows(np.arange(3))
    W = on(quadrature, K, few).value_and_adjoint()[1]
    up, down = (on(quadrature, (1 + s * h) * K, few).log_evidence for s in (1, -1))
    assert_allclose(np.sum(W * K), -(up - down) / (2 * h), rtol=1e-5)


def test_laplace_and_ep_against_quadrature(reference):
    likelihood, found = reference
    ep, mode = on(expectation_propagation, KERNEL(X), likelihood), on(laplace, KERNEL(X), likelihood)
    assert abs(ep.log_evidence - found.log_evidence) < 1e-2
    assert np.abs(proba(ep) - proba(found)).max() < 1e-2
    assert abs(mode.log_evidence - found.log_evidence) < 0.2
    assert np.abs(proba(mode) - proba(found)).max() < 0.05
    assert abs(ep.log_evidence - found.log_evidence) < abs(mode.log_evidence - found.log_evidence)


def test_draws_within_three_standard_errors(reference, rng_seed):
    likelihood, found = reference
    draws = on(elliptical, KERNEL(X), likelihood, n_samples=1500, random_state=rng_seed)
    assert draws.info["rhat"] < 1.02
    assert draws.info["ess"] > 500
    spread = np.sqrt(found.latent(KERNEL(X), KERNEL.diag(X))[1])
    error = spread / np.sqrt(draws.info["ess"])
    assert (np.abs(draws.f - found.f) < 3 * error).all()
    assert np.abs(proba(draws) - proba(found)).max() < 3 * 0.5 / np.sqrt(draws.info["ess"])
    assert abs(draws.log_evidence - found.log_evidence) < 4 * draws.info["evidence_error"]


def test_leave_one_out_by_integrating_again(reference):
    likelihood, found = reference
    ep = on(expectation_propagation, KERNEL(X), likelihood)
    assert_allclose(found.loo(np.array([0, 3])), ep.loo(np.array([0, 3])), atol=0.01)


def test_the_gaussian_measure_has_the_moments_of_its_sites(reference):
    likelihood, _ = reference
    measure = Measure(DenseGram.from_matrix(KERNEL(X)), likelihood)
    assert_allclose(measure.mean, measure.sites.f, atol=1e-8)
    assert_allclose(np.sum(measure.G**2, axis=1), measure.sites.variances(), rtol=1e-6)


def test_a_singular_gram_matrix_has_fewer_dimensions():
    rows = np.concatenate([X[:3], X[:3]])
    found = on(quadrature, KERNEL(rows), Binary(Probit(), np.concatenate([T[:3], T[:3]])))
    twice = on(quadrature, KERNEL(X[:3]), Binary(Probit(), T[:3], np.full(3, 2.0)))
    assert_allclose(found.log_evidence, twice.log_evidence, atol=1e-6)


@pytest.mark.parametrize("rank", range(1, rules.LARGEST + 1))
def test_two_rules_at_least_whatever_the_number_of_rows(rank):
    first = rules.FIRST if rank <= rules.MANY else rules.FEWER
    assert np.ceil(first * rules.GROWTH) ** rank <= rules.NODES


def test_seven_rows_have_an_error(rng):
    rows, t = rng.standard_normal((7, 2)), np.tile([1.0, -1.0], 4)[:7]
    K, likelihood = Gaussian(1.0)(rows), Binary(Logit(), t)
    found = on(quadrature, K, likelihood, tol=1e-3)
    assert found.info["converged"] and 0.0 < found.info["error"] < 1e-3
    assert found.info["nodes"] == 7**7
    assert abs(on(expectation_propagation, K, likelihood).log_evidence - found.log_evidence) < 1e-2


def test_memory_bounds_the_nodes():
    K, likelihood = KERNEL(X), Binary(Probit(), T)
    with pytest.raises(NotEnoughMemory, match="direct integration over 4 rows"):
        on(quadrature, K, likelihood, memory=1e5)
    small = on(quadrature, K, likelihood, memory=48.0 * 4 * 12**4)
    assert small.info["nodes"] == 12**4 < on(quadrature, K, likelihood).info["nodes"]


def test_nodes_without_weight_are_dropped(reference):
    _, found = reference
    assert_allclose(found.weight.sum(), 1.0, rtol=1e-12)
    assert len(found.weight) < found.info["nodes"] / 2
    assert np.sort(found.weight)[: len(found.weight) // 100].sum() > 1e-13


def test_too_many_rows_for_quadrature(rng):
    rows = rng.standard_normal((12, 3))
    with pytest.raises(ValueError, match="at most 8 rows, there are 12"):
        on(quadrature, Gaussian(0.5)(rows), Binary(Probit(), np.ones(12)))
