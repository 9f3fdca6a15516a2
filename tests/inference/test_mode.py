"""Newton's way to the mode: how few factors it takes, and what a factor that is not quite that of the mode costs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram
from mercer.inference.likelihood import Binary, Logit, Probit
from mercer.inference.mode import turning_point
from mercer.inference.sites import laplace
from mercer.inference.softmax import Softmax, softmax_laplace
from mercer.kernels import Gaussian


@pytest.fixture(params=["logit", "probit", "softmax"])
def problem(request, rng):
    """(K, likelihood, approximation)."""
    X = rng.standard_normal((40, 2))
    f = X[:, 0] + 0.5 * rng.standard_normal(40)
    K = DenseGram.from_matrix(3.0 * Gaussian(0.8)(X) + 4.0)
    if request.param == "softmax":
        return K, Softmax(np.digitize(f, [-0.5, 0.5]), 3, rng.uniform(0.5, 2.0, 40)), softmax_laplace
    return K, Binary({"logit": Logit, "probit": Probit}[request.param](), np.where(f > 0, 1.0, -1.0)), laplace


def test_the_mode_is_the_slope_there(problem):
    K, likelihood, approximate = problem
    found = approximate(K, likelihood)
    assert found.info["converged"]
    assert_allclose(found.a, likelihood.gradient(found.f), atol=1e-11)
    assert_allclose(found.f, K @ found.a, atol=1e-11)


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_evidence_and_adjoint_at_a_loose_tolerance(problem, tol):
    """The determinant is corrected by how far f has moved since: what is left is of second order."""
    K, likelihood, approximate = problem
    exact, loose = approximate(K, likelihood, tol=1e-13), approximate(K, likelihood, tol=tol)
    assert abs(loose.log_evidence - exact.log_evidence) < 10 * tol**2 * K.n + 1e-10
    value, W = loose.value_and_adjoint()
    assert_allclose(value, -loose.log_evidence, rtol=1e-13)
    truth = exact.value_and_adjoint()[1]
    assert np.abs(W - truth).max() <= 100 * tol * np.abs(truth).max()


def test_from_the_mode_one_factor_is_enough(problem):
    K, likelihood, approximate = problem
    cold = approximate(K, likelihood)
    warm = approximate(K, likelihood, start=cold.start)
    assert warm.info["factored"] == 1 < cold.info["factored"]
    assert_allclose(warm.f, cold.f, atol=1e-11)
    assert_allclose(warm.log_evidence, cold.log_evidence, rtol=1e-12)


def test_factors_are_counted_and_bounded(problem):
    K, likelihood, approximate = problem
    short = approximate(K, likelihood, max_iter=1, tol=1e-12)
    assert not short.info["converged"]
    assert short.info["factored"] <= 2  # that of the approximation beside the one that was allowed


def test_a_step_ends_where_the_slope_turns():
    assert turning_point(lambda t: 0.3 - t) == pytest.approx(0.3, rel=0.05)
    assert turning_point(lambda t: 1e-9 - t) == pytest.approx(1e-9, rel=0.05)
    assert turning_point(lambda t: np.nan if t > 0.2 else 1.0) <= 0.2
