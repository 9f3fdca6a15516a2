"""Priors, a given trend, a given λ: what the search minimises with them, against a plain optimiser and differences."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

from mercer.gram import Rows
from mercer.kernels import Gaussian, Linear
from mercer.selection import LOO, Evidence, LCurve, LogNormal, Priors, search, weak_priors
from mercer.selection.search import SearchSpace
from mercer.selection.search.latent import search_latent
from mercer.selection.search.objective import CriterionObjective, Record
from mercer.solvers import Cholesky


@pytest.fixture
def problem(rng):
    X = rng.uniform(-2, 2, (40, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(40)
    return X, y


def test_log_normal_is_the_normal_density_of_the_log():
    prior, z = LogNormal(3.0, 0.7), np.array([0.2, 1.4])
    expected = -norm.logpdf(z, np.log(3.0), 0.7)
    found = np.array([prior.value_and_slope(one)[0] for one in z])
    assert np.diff(found) == pytest.approx(np.diff(expected))  # up to the constant
    step = 1e-6
    slope = (prior.value_and_slope(0.2 + step)[0] - prior.value_and_slope(0.2 - step)[0]) / (2 * step)
    assert prior.value_and_slope(0.2)[1] == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize("name, value", [("median", 0.0), ("median", np.nan), ("sd", -1.0)])
def test_log_normal_refuses_what_is_not_positive(name, value):
    with pytest.raises(ValueError, match=name):
        LogNormal(**{"median": 1.0, "sd": 1.0, name: value})


def test_patterns_find_the_whole_name_its_last_part_and_an_index():
    first, second, third = LogNormal(1.0), LogNormal(2.0), LogNormal(3.0)
    priors = Priors({"left__length_scale[1]": first, "length_scale*": second, "lam": third})
    assert priors.find("left__length_scale[1]") is first
    assert priors.find("left__length_scale[0]") is second
    assert priors.find("kernel__length_scale") is second
    assert priors.find("lam") is third
    assert priors.find("scale") is None
    assert priors.unused(["lam", "scale"]) == ["left__length_scale[1]", "length_scale*"]


def test_the_search_finds_the_maximum_a_posteriori(problem):
    X, y = problem
    prior = Priors({"length_scale": LogNormal(0.2, 0.05), "lam": LogNormal(0.05, 0.1)})
    found = search(Gaussian(), X, y, Evidence(), intercept=False, prior=prior)

    def posterior(z):
        K = np.exp(-0.5 * ((X - X.T) / np.exp(z[0])) ** 2) + np.exp(z[1]) * np.eye(len(y))
        ups = (z[0] - np.log(0.2)) / 0.05, (z[1] - np.log(0.05)) / 0.1
        return -multivariate_normal(np.zeros(len(y)), K).logpdf(y) + 0.5 * (ups[0] ** 2 + ups[1] ** 2)

    best = minimize(posterior, np.log([0.3, 0.05]), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8})
    z = np.log([found.kernel.length_scale, found.lam])
    assert posterior(z) == pytest.approx(best.fun, abs=1e-2)
    assert z == pytest.approx(best.x, abs=0.02)


def test_a_prior_decides_what_the_data_do_not_say(rng):
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    kernel = 1.0 * Gaussian([1.0, 1.0])
    found = search(kernel, X, y, Evidence(), prior=weak_priors(kernel, X, y[:, None]))
    assert found.status == "ok"  # without it a pure-noise problem runs into a bound


def test_the_gradient_with_prior_and_trend_is_that_of_differences(problem):
    X, y = problem
    kernel = 1.5 * Gaussian(0.7)
    prior = weak_priors(kernel, X, y[:, None])
    rows = Rows(X, y[:, None], trend=lambda X: np.hstack([np.ones((len(X), 1)), X]))
    objective = CriterionObjective(kernel, rows, Evidence(), Record(), prior=prior)
    z = objective.start(kernel, 0.1)
    gradient = objective(z)[1]
    for j in range(len(z)):
        e = 1e-5 * np.eye(len(z))[j]
        assert gradient[j] == pytest.approx((objective.value(z + e) - objective.value(z - e)) / 2e-5, abs=1e-7)


def test_a_prior_beside_an_error_counts_as_beside_its_log_density(problem):
    rows, prior = Rows(problem[0], problem[1][:, None]), Priors({"length_scale": LogNormal(1.0, 0.5)})
    plain, drawn = (CriterionObjective(Gaussian(), rows, LOO(), Record(), prior=one) for one in (None, prior))
    z = plain.start(Gaussian(3.0), 0.1)
    assert drawn.value(z) == pytest.approx(plain.value(z) + 2 * prior(plain.names, z)[0] / rows.n)
    slope = [(drawn.value(z + e) - drawn.value(z - e)) / 2e-5 for e in 1e-5 * np.eye(2)]
    assert drawn(z)[1] == pytest.approx(slope, abs=1e-6)
    with pytest.raises(ValueError, match="prior"):
        search(Gaussian(), *problem, LCurve(), prior=Priors({}))


def test_a_given_trend_replaces_the_intercept(problem):
    X, y = problem
    ones = np.ones((len(y), 1))
    with_intercept = search(Gaussian(), X, y, Evidence())
    with_trend = search(Gaussian(), X, y, Evidence(), intercept=False, trend=ones)
    assert with_trend.lam == pytest.approx(with_intercept.lam)
    assert with_trend.value == pytest.approx(with_intercept.value)


def test_columns_of_the_trend_that_depend_on_a_sample_of_the_rows_are_left_out_there(rng):
    X = rng.standard_normal((700, 1))
    H = np.hstack([np.ones((700, 1)), np.zeros((700, 1))])
    H[3, 1] = 1.0  # one row alone has it: a sample without the row sees a column of zeros
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(700)
    found = search(Gaussian(), X, y, Evidence(), trend=H)
    assert found.failed == 0 and found.lam < 0.1


@pytest.mark.parametrize("criterion", [Evidence(), LOO()])
def test_a_given_lam_stays(problem, criterion):
    found = search(1.0 * Gaussian(), *problem, criterion, lam=0.3, fixed_lam=True)
    assert found.lam == pytest.approx(0.3, rel=1e-12)
    assert "lam" not in found.at_bound
    free = search(1.0 * Gaussian(), *problem, criterion)
    assert free.lam != pytest.approx(0.3, rel=0.1)


def test_with_everything_given_the_value_is_that_of_the_criterion(problem):
    X, y = problem
    found = search(Gaussian(0.5).fixed(), X, y, Evidence(), lam=0.3, fixed_lam=True, intercept=False)
    K = np.exp(-0.5 * ((X - X.T) / 0.5) ** 2) + 0.3 * np.eye(len(y))
    assert found.value == pytest.approx(-multivariate_normal(np.zeros(len(y)), K).logpdf(y))


def test_a_given_lam_must_be_given(problem):
    with pytest.raises(ValueError, match="fixed_lam"):
        search(Gaussian(), *problem, Evidence(), fixed_lam=True)


def test_the_latent_search_equals_the_other_for_a_gaussian_likelihood(problem):
    X, y = problem

    def evaluate(K, index, gradient):
        return Evidence().value_and_adjoint(Cholesky().resolvent(K)(0.01), y[index, None])

    found = search_latent(SearchSpace(1.0 * Gaussian()), X, evaluate, order=np.arange(len(y)))
    other = search(1.0 * Gaussian(), X, y, Evidence(), lam=0.01, fixed_lam=True, intercept=False)
    assert found.value == pytest.approx(other.value, abs=1e-2)
    assert found.kernel.theta == pytest.approx(other.kernel.theta, abs=0.05)


def test_the_latent_search_sees_prefixes_of_the_order(problem):
    X, y = np.tile(problem[0], (20, 1)), np.tile(problem[1], 20)
    X = X + np.arange(len(X))[:, None] * 1e-6
    order, seen = np.arange(len(y))[::-1].copy(), set()

    def evaluate(K, index, gradient):
        seen.add(tuple(sorted(index)))
        return Evidence().value_and_adjoint(Cholesky().resolvent(K)(0.01), y[index, None])

    search_latent(SearchSpace(Gaussian() + 0.1 * Linear()), X, evaluate, order=order)
    assert seen == {tuple(range(len(y) - size, len(y))) for size in map(len, seen)}
    assert {len(index) for index in seen} == {266, 800}


def test_a_kernel_without_free_parameters_is_evaluated_once(problem):
    X, y = problem

    def evaluate(K, index, gradient):
        return Evidence().value(Cholesky().resolvent(K)(0.01), y[index, None]), None

    found = search_latent(SearchSpace(Gaussian(0.5).fixed()), X, evaluate, order=np.arange(len(y)))
    A = Gaussian(0.5)(X) + 0.01 * np.eye(len(y))
    log_density = -0.5 * (y @ np.linalg.solve(A, y) + np.linalg.slogdet(2 * np.pi * A)[1])
    assert found.evaluations == 1 and found.value == pytest.approx(-log_density, rel=1e-8)
