"""Bias and variance: the closed form against the fits themselves, and against simulation."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.neighbors import KNeighborsRegressor

from mercer import BasisRegression, KernelRidge
from mercer._threads import one_blas_thread
from mercer.diagnostics import bias_variance, simulate_bias_variance
from mercer.kernels import FeatureMap, Gaussian, Linear, Matern32, PolynomialBasis

LAMS = [1e-3, 0.1, 3.0]


def truth(X):
    return np.sin(3 * X[:, 0]) + 0.5 * X[:, 0]


@pytest.fixture
def X(rng):
    return rng.uniform(-1, 1, (20, 1))


@pytest.fixture
def new(rng):
    return rng.uniform(-1.2, 1.2, (9, 1))


def smoother(model, X, new):
    """L with f̂(new) = L y, column by column from the model itself."""
    return model.fit(X, np.eye(len(X))).predict(new)


def assert_table(table, models, X, new, sigma):
    """Every number against L f − f and the row sums of L² σ²."""
    for i, model in enumerate(models):
        L = smoother(model, X, new)
        bias = L @ truth(X) - truth(new)
        variance = L**2 @ np.broadcast_to(np.asarray(sigma) ** 2, len(X))
        assert_allclose(table.bias_at[i], bias, rtol=1e-7, atol=1e-10)
        assert_allclose(table.variance_at[i], variance, rtol=1e-7)
        assert_allclose(table["bias2"][i], np.mean(bias**2), rtol=1e-7)
        assert_allclose(table["variance"][i], np.mean(variance), rtol=1e-7)
        assert_allclose(table["dof"][i], np.trace(smoother(model, X, X)), rtol=1e-7)
    assert_allclose(table["error"], table["bias2"] + table["variance"], rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.3, "uneven"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), 2.0 * Matern32(0.7) + Linear()], ids=repr)
def test_of_kernel_ridge(X, new, kernel, intercept, sigma):
    sigma = np.linspace(0.1, 0.9, len(X)) if sigma == "uneven" else sigma
    models = [KernelRidge(kernel, lam, trend=intercept, solver="cholesky") for lam in LAMS]
    assert_table(bias_variance(kernel, X, truth, sigma, LAMS, new, intercept), models, X, new, sigma)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "basis",
    [FeatureMap(lambda X: np.hstack([X, X**3])), PolynomialBasis(3)],
    ids=["own features", "polynomials"],
)
def test_of_basis_regression(X, new, basis, intercept):
    lams = [*LAMS, 0.0]
    if intercept and isinstance(basis, PolynomialBasis):
        lams = LAMS  # two constants: the design has no full rank at λ = 0
    models = [BasisRegression(basis, lam, trend=intercept) for lam in lams]
    assert_table(bias_variance(basis, X, truth, 0.2, lams, new, intercept), models, X, new, 0.2)


def test_least_squares_is_unbiased_and_its_variance_is_sigma2_p_over_n(X):
    def cubic(X):
        return X[:, 0] ** 3 - X[:, 0]

    table = bias_variance(PolynomialBasis(3), X, cubic, 0.5, [0.0, 0.1], intercept=False)
    assert table["bias2"][0] < 1e-25
    assert_allclose(table["variance"][0], 0.5**2 * 4 / 20, rtol=1e-9)  # Gauss–Markov
    assert table["bias2"][1] > 0
    assert table["variance"][1] < table["variance"][0]  # biased, but of smaller variance


def test_the_trade_off(X):
    table = bias_variance(Gaussian(0.3), X, truth, 0.3)
    assert len(table["lam"]) == 100
    assert np.all(np.diff(table["lam"]) > 0)
    assert np.all(np.diff(table["bias2"]) > -1e-12)
    assert np.all(np.diff(table["variance"]) < 0)
    assert np.all(np.diff(table["dof"]) < 0)
    assert table["lam"][0] < table.best < table["lam"][-1]
    no_noise = bias_variance(Gaussian(0.3), X, truth, 0.0, LAMS)
    assert not np.any(no_noise["variance"])


def test_values_instead_of_a_function(X):
    a = bias_variance(Gaussian(0.3), X, truth, 0.3, LAMS)
    b = bias_variance(Gaussian(0.3), X, truth(X), 0.3, LAMS)
    assert_allclose(a["error"], b["error"])
    with pytest.raises(ValueError, match="truth"):
        bias_variance(Gaussian(0.3), X, truth(X), 0.3, LAMS, X[:3])


@pytest.mark.parametrize(
    ("model", "kernel", "intercept"),
    [
        (KernelRidge(Gaussian(0.4), 0.3, solver="cholesky"), Gaussian(0.4), True),
        (BasisRegression(PolynomialBasis(4), 0.3), PolynomialBasis(4), False),
    ],
    ids=["KernelRidge", "BasisRegression"],
)
def test_simulation_agrees_within_its_standard_errors(X, new, model, kernel, intercept):
    table = bias_variance(kernel, X, truth, 0.4, [0.3], new, intercept)
    with one_blas_thread():  # small matrices: two threads would wait for each other
        found = simulate_bias_variance(model, X, truth, 0.4, 300, new, random_state=1)
    assert_allclose(found["error"], found["bias2"] + found["variance"], rtol=1e-12)
    for name in ("bias2", "variance", "error"):
        assert abs(found[name] - table[name][0]) < 4 * found[f"{name}_se"], name
        assert found[f"{name}_se"] < 0.3 * table["error"][0]
    spread = np.sqrt(table.variance_at[0] / 300)
    assert np.all(np.abs(found.bias_at - table.bias_at[0]) < 4.5 * spread)


def test_standard_errors_are_honest(X):
    model = KNeighborsRegressor(5)
    L = smoother(model, X, X)
    exact = {"bias2": np.mean((L @ truth(X) - truth(X)) ** 2), "variance": 0.4**2 / 5}
    exact["error"] = exact["bias2"] + exact["variance"]
    z = {name: [] for name in exact}
    for seed in range(40):
        found = simulate_bias_variance(model, X, truth, 0.4, 25, random_state=seed)
        for name, scores in z.items():
            scores.append((found[name] - exact[name]) / found[f"{name}_se"])
    for name, scores in z.items():
        assert abs(np.mean(scores)) < 0.7, name
        assert 0.6 < np.std(scores) < 1.6, name


def test_any_estimator_and_any_noise(X):
    def signs(rng, n):
        return rng.choice([-1.0, 1.0], n)

    found = simulate_bias_variance(KNeighborsRegressor(4), X, truth, 0.4, 200, noise=signs)
    assert abs(found["variance"] - 0.4**2 / 4) < 4 * found["variance_se"]  # a mean of four
    again = simulate_bias_variance(KNeighborsRegressor(4), X, truth, 0.4, 200, noise=signs)
    assert again == found
    assert found.best is None
    assert "error_se" in str(found)


def test_pickle_keeps_the_arrays(X):
    table = bias_variance(Gaussian(0.3), X, truth, 0.3, LAMS)
    copied = pickle.loads(pickle.dumps(table))
    assert_allclose(copied["error"], table["error"])
    assert_allclose(copied.bias_at, table.bias_at)


def test_refusals(X):
    with pytest.raises(TypeError, match="kernel"):
        bias_variance("gaussian", X, truth, 0.3)
    with pytest.raises(ValueError, match="sigma"):
        bias_variance(Gaussian(), X, truth, -1.0)
    with pytest.raises(ValueError, match="lams"):
        bias_variance(Gaussian(), X, truth, 0.3, [np.nan])
    with pytest.raises(ValueError, match="truth.* 20 "):
        bias_variance(Gaussian(), X, lambda X: np.zeros(3), 0.3)
    with pytest.raises(ValueError, match="n_draws"):
        simulate_bias_variance(KernelRidge(), X, truth, 0.3, n_draws=1)
