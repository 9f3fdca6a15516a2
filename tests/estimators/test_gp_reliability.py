"""A hundred nearly singular problems: no wrong answer without a warning, no negative variance, no crash.

The reference is exact: the entries of K are floats, so K + σ²I is a matrix of fractions, and is solved as such.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from mercer import GaussianProcessRegressor
from mercer.exceptions import NumericalWarning
from mercer.kernels import Exponential, Gaussian, Linear, Matern52, Polynomial

KERNELS = {
    "gaussian": lambda size: size**2 * Gaussian(1.0),
    "smooth": lambda size: size**2 * Gaussian(1e3),
    "matern": lambda size: size**2 * Matern52(50.0),
    "rough": lambda size: size**2 * Exponential(1.0),
    "low rank": lambda size: size**2 * (Linear() + Polynomial(2, 1.0)),
}
PROBLEMS = {
    "duplicates at 1e-12": {"close": 1e-12, "noise": 1e-6},
    "exact duplicates": {"close": 0.0, "noise": 1e-8},
    "huge length scale": {"noise": 1e-10},
    "noise 1e-14": {"noise": 1e-14},
    "offset 1e8": {"offset": 1e8, "noise": 1e-6},
    "y offset 1e8": {"y_offset": 1e8, "noise": 1e-6},
    "y times 1e150": {"size": 1e150, "noise": 1e-4},
    "y times 1e-150": {"size": 1e-150, "noise": 1e-4},
    "everything": {"close": 1e-12, "noise": 1e-14, "size": 1e-150},
    "no noise": {"noise": 0.0},
}


def problem(rng, close=None, noise=1e-6, offset=0.0, y_offset=0.0, size=1.0):
    X = np.sort(rng.uniform(0.0, 3.0, 9))[:, None]
    if close is not None:
        X[3:6] = X[:3] + close
    X = X + offset
    y = np.sin(2.0 * (X[:, 0] - offset))
    if noise:
        y = y + np.sqrt(noise) * rng.standard_normal(9)
    return X, size * (y + y_offset), size**2 * noise


def exact(kernel, noise, X, y, new):
    """Posterior mean and variance with fractions, for a process without a trend."""
    n = len(X)
    K, k, diagonal = kernel(X), kernel(X, new), kernel.diag(new)
    A = [[Fraction(float(K[i, j])) + (Fraction(noise) if i == j else 0) for j in range(n)] for i in range(n)]
    B = [[Fraction(float(y[i])), *(Fraction(float(v)) for v in k[i])] for i in range(n)]
    for p in range(n):
        if A[p][p] <= 0:
            return None  # the rounded K is not positive definite: there is no posterior to compare with
        for i in range(p + 1, n):
            factor = A[i][p] / A[p][p]
            A[i] = [a - factor * b for a, b in zip(A[i], A[p], strict=True)]
            B[i] = [a - factor * b for a, b in zip(B[i], B[p], strict=True)]
    mean, variance = [], []
    for j in range(len(new)):
        half = [B[p][j + 1] for p in range(n)]
        mean.append(float(sum(half[p] * B[p][0] / A[p][p] for p in range(n))))
        variance.append(float(Fraction(float(diagonal[j])) - sum(half[p] ** 2 / A[p][p] for p in range(n))))
    return np.array(mean), np.array(variance)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("case", PROBLEMS)
@pytest.mark.parametrize("name", KERNELS)
def test_no_wrong_answer_without_a_warning(name, case, seed):
    options = PROBLEMS[case]
    X, y, noise = problem(np.random.default_rng(seed), **options)
    size, offset = options.get("size", 1.0), options.get("offset", 0.0)
    kernel = KERNELS[name](size)
    if name == "low rank" and offset:
        X, offset = X - offset, 0.0  # (xᵀz + 1)² at 1e8 is 1e32: another problem than the one meant
    new = np.array([[0.1], [1.3], [2.9], [3.5]]) + offset
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GaussianProcessRegressor(kernel, noise, criterion=None, trend=None, merge=options.get("close") == 0.0)
        found = model.fit(X, y).posterior(new)
        sample = model.sample(new, 2, random_state=0)
    assert all(issubclass(one.category, NumericalWarning) for one in caught)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(sample).all()
    assert (found.latent_std >= 0).all()
    assert (found.noisy_std >= found.latent_std).all()
    assert (found.latent_std <= np.sqrt(kernel.diag(new)) * (1 + 1e-9)).all()
    if caught:
        return
    expected = exact(kernel, noise, X, y, new)
    assert expected is not None
    mean, variance = expected
    scale = max(np.abs(y).max(), np.abs(mean).max())
    assert np.abs(found.mean - mean).max() <= 1e-3 * scale, (found.mean, mean)
    assert np.abs(found.latent_std**2 - variance).max() <= 1e-9 * kernel.diag(new).max()


def test_the_reference_is_a_posterior(rng):
    X, y, noise = problem(rng, noise=0.1)
    K, new = Gaussian()(X), np.array([[0.5]])
    mean, variance = exact(Gaussian(), noise, X, y, new)
    k = Gaussian()(X, new)[:, 0]
    A = np.linalg.inv(K + noise * np.eye(9))
    np.testing.assert_allclose([mean[0], variance[0]], [k @ A @ y, 1.0 - k @ A @ k], rtol=1e-9)


@pytest.mark.parametrize("case", PROBLEMS)
def test_learning_on_them_ends_well_or_says_so(case):
    options = {**PROBLEMS[case]}
    X, y, _ = problem(np.random.default_rng(3), **options)
    new = X[::2] + 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(starts=1).fit(X, y)
        found = model.posterior(new)
    spread = np.ptp(y)
    assert np.isfinite(model.log_marginal_likelihood_value_)
    assert np.isfinite(found.latent_std).all()
    assert (found.latent_std >= 0).all()
    assert (np.abs(found.mean - y.mean()) < 3 * spread).all()
    assert np.abs(model.predict(X) - y).max() < 0.5 * spread


def test_the_size_of_y_is_a_unit_and_nothing_else():
    X, y, _ = problem(np.random.default_rng(0), noise=1e-2)
    plain = GaussianProcessRegressor().fit(X, y)
    mean, std, noise = plain.predict(X), plain.posterior(X).noisy_std, plain.noise_
    for unit in (2.0**100, 2.0**498, 2.0**-498, 1e6):  # far from 1: the amplitude of the default kernel is a bad start
        model = GaussianProcessRegressor().fit(X, y * unit)
        np.testing.assert_allclose(model.predict(X) / unit, mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(model.posterior(X).noisy_std / unit, std, rtol=1e-4)
        np.testing.assert_allclose(model.noise_ / unit / unit, noise, rtol=1e-3)
        np.testing.assert_allclose(model.kernel_.kernel.length_scale, plain.kernel_.kernel.length_scale, rtol=1e-3)
    with pytest.raises(ValueError, match="Divide y"):
        GaussianProcessRegressor().fit(X, y * 1e200)
