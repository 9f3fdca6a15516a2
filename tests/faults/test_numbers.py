"""Faults of one kind each: no silent wrong number, no number that is not finite, no error that names nothing."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    SVR,
    BasisRegression,
    GaussianProcessRegressor,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
    Landmarks,
    StackedKernels,
    compat,
)
from mercer.exceptions import NumericalWarning
from mercer.kernels import Exponential, Gaussian, Linear, Matern32, PolynomialBasis
from mercer.selection import GCV


def line(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = 100.0 * rng.uniform(-1, 1, (n, 1))
    return x, 3.0 * x[:, 0] + rng.standard_normal(n)


@pytest.mark.parametrize("solver", ["cg", "cholesky", "spectral", "mixed"])
@pytest.mark.parametrize("lam", [1e-8, 1e-10, 1e-14])
def test_every_solver_says_how_many_digits_are_left(solver, lam):
    X, y = line()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelRidge(Linear(), lam, trend=None, solver=solver).fit(X, y)
    slope = float(X[:, 0] @ y / (X[:, 0] @ X[:, 0]))
    off = abs(float(model.predict([[1.0]])[0]) - slope) / slope
    assert off <= 30 * model.fit_report_["accuracy"]["fitted"]
    assert off < 1e-5 or any(issubclass(one.category, NumericalWarning) for one in caught)


@pytest.mark.parametrize("lam", 10.0 ** np.arange(0, -11, -1))
def test_the_norm_of_a_kernel_of_low_rank(lam):
    X, y = line(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        norm = KernelRidge(Linear(), 1e4 * lam, trend=None).fit(X, y).rkhs_norm_
    exact = abs(float(X[:, 0] @ y / (X[:, 0] @ X[:, 0] + 1e4 * lam)))
    np.testing.assert_allclose(norm, exact, rtol=1e-5)


@pytest.mark.parametrize("lam", [1e-5, 1e-8, 1e-10])
@pytest.mark.parametrize("kind", ["process", "machine", "mixture"])
def test_the_norm_of_every_estimator(kind, lam):
    """αᵀKα was 0.16 instead of 0.136 at λ = 1e-7, and 150 at 1e-10."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 1))
    y = 0.15 * X[:, 0] + 0.1 * rng.standard_normal(200)
    model = {
        "process": GaussianProcessRegressor(Linear(), lam, criterion=None, trend=None),
        "machine": KernelMachine(Linear(), lam=lam, loss="huber", trend=None),
        "mixture": StackedKernels([Linear()], [lam]),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounding may end the search early, and says so
        norm = model.fit(X, y).rkhs_norm_
    x, z = (X[:, 0] - X.mean(), y - y.mean()) if kind == "mixture" else (X[:, 0], y)
    np.testing.assert_allclose(norm, abs(float(x @ z / (x @ x + lam))), rtol=1e-4)


def test_rows_that_join_leave_no_accuracy_of_the_fit_before():
    X, y = line(30)
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None).fit(X[:25], y[:25])
    assert "accuracy" in model.fit_report_
    model.update(X[25:26], y[25:26])
    assert not model.fit_report_["factored_afresh"] and not {"accuracy", "residual"} & set(model.fit_report_)


@pytest.mark.parametrize("noise", [1e-9, 1e-12, 1e-15])
def test_left_out_with_a_noise_of_each_row(noise):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 10, (30, 1)), axis=0)
    y, noise = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30), noise * (1.0 + rng.uniform(size=30))
    model = GaussianProcessRegressor(Exponential(0.5), noise=noise, criterion=None, trend=None).fit(X, y)
    inverse = np.linalg.inv(Exponential(0.5)(X) + np.diag(noise))
    np.testing.assert_allclose(model.loo_residuals_, inverse @ y / inverse.diagonal(), atol=1e-10)
    np.testing.assert_allclose(model.loo_std_, 1.0 / np.sqrt(inverse.diagonal()), atol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "huber", "expectile", "logistic", "squared_epsilon_insensitive"])
@pytest.mark.parametrize(("kernel", "lam"), [(Matern32(1.0), 1e-16), (Gaussian(1.0), 1e-18)])
def test_the_objective_is_that_of_the_model_that_predicts(loss, kernel, lam):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (30, 1))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(30)
    target = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelMachine(kernel, loss=loss, lam=lam).fit(X, target)
        f = model.decision_function(X) if loss == "logistic" else model.predict(X)
    value = float(np.sum(model.loss_.value(target, f)))
    assert value <= model.objective_ + model.dual_gap_ + 1e-9


MODELS = [
    KernelRidge(Gaussian(1.0), 1.0),
    KernelRidge(Gaussian(1.0), criterion=GCV()),
    KernelMachine(loss="poisson"),
    GaussianProcessRegressor(Gaussian(1.0), criterion=None, noise=0.1),
    SVR(Gaussian(1.0), nu=0.5),
    SVR(Gaussian(1.0)),
    compat.SVR(),
    compat.NuSVR(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("low, high", [(-8, 8), (-30, 0), (0, 10), (-2, -2), (100, 100)])
def test_weights_of_any_size_give_numbers(model, low, high):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 1))
    y = np.abs(np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        fitted = model.fit(X, y, sample_weight=10.0 ** rng.uniform(low, high, 40))
    assert np.isfinite(fitted.predict(X)).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("weight", [1e300, 1e-300, 5e-324])
def test_weights_that_no_product_survives_are_refused_in_words(model, weight):
    X = np.linspace(0, 1, 5)[:, None]
    with pytest.raises(ValueError, match=r"sample_weight goes from .* Multiply the weights"):
        model.fit(X, X[:, 0], sample_weight=np.full(5, weight))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_target_beyond_float64_is_refused_in_words(model):
    y = np.array([1, 2, 3], dtype=np.longdouble) * np.longdouble("1e4000")
    with pytest.raises(ValueError, match="y has values that are no float64 numbers"):
        model.fit([[1.0], [2.0], [3.0]], y)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("size", [1e-10, 1e4, 1e14])
def test_weights_of_any_size_are_weights(criterion, size):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(60)
    one, many = (
        KernelRidge(Gaussian(1.0), criterion=criterion).fit(X, y, sample_weight=np.full(60, w)) for w in (1.0, size)
    )
    assert many.lam_ == pytest.approx(size * one.lam_, rel=1e-3)
    np.testing.assert_allclose(many.predict(X), one.predict(X), rtol=1e-6, atol=1e-6)


def test_targets_of_unlike_deviations_share_an_interval_loudly():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 1))
    y = np.column_stack([np.sin(X[:, 0]), 500.0 * np.cos(X[:, 0])])
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None)
    with pytest.warns(UserWarning, match="2 targets share one amplitude .* Divide each target by its deviation"):
        model.fit(X, y)
    model.fit(X, y / y.std(axis=0))  # alike: nothing to say


@pytest.mark.parametrize("size", [1e300, 1e305, 1e307, 1.7e308])
def test_an_interpolant_beyond_float64_is_refused_in_words(size):
    X = np.linspace(0, 1, 8)[:, None]
    y = size * np.cos(3.0 * X[:, 0])
    try:
        found = KernelInterpolator(Gaussian(0.5)).fit(X, y).predict(X)
    except ValueError as error:
        assert "beyond float64. Divide y by" in str(error) and size > 1e300
    else:
        np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-4 * size)


@pytest.mark.parametrize("lam", [1e-8, 1e-10, 1e-12, 1e-14, 1e-18])
def test_rows_that_alone_decide_their_fit_are_left_out_with_digits(lam):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 2))
    far = np.arange(0, 1500, 150)
    X[far] *= 1e3  # landmarks of their own: the leverage is 1 to the last bit
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(1500)
    y[far] += 50.0

    def left_out(lam):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return KernelRidge(Gaussian(1.0), lam, trend=None, approximation=Landmarks(30)).fit(X, y).loo_residuals_

    np.testing.assert_allclose(left_out(lam)[far], left_out(1e-4)[far], rtol=1e-3)  # what the others say: 0
    np.testing.assert_allclose(left_out(lam)[far], y[far], rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_tube_of_a_search_is_in_the_unit_of_the_target(unit):
    """ε was 0.1 whatever the unit where a criterion chose C."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (40, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    one, other = (SVR(criterion="loo").fit(X, scale * y) for scale in (1.0, unit))
    assert other.epsilon_ == pytest.approx(unit * one.epsilon_, rel=1e-3)
    np.testing.assert_allclose(other.predict(X) / unit, one.predict(X), atol=0.02)


def test_weights_of_a_basis_are_repeated_rows():
    """σ² had as many degrees of freedom as rows were given; a row of weight 0 counted among those left out."""
    rng = np.random.default_rng(0)
    X, w = rng.uniform(0, 3, (20, 1)), rng.integers(0, 4, 20)
    y = X[:, 0] + 0.2 * rng.standard_normal(20)
    model = BasisRegression(PolynomialBasis(2)).fit(X, y, w)
    repeated = BasisRegression(PolynomialBasis(2)).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert model.sigma2_ == pytest.approx(repeated.sigma2_)
    np.testing.assert_array_equal(np.isnan(model.loo_residuals_), w == 0)
