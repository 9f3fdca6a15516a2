"""Fourier: sums of waves, the kernel that they make, and the mean of the exact process."""

import numpy as np
import pytest

import mercer
from mercer import Fourier, GaussianProcessRegressor
from mercer.gram import nufft
from mercer.gram.fourier import Waves
from mercer.kernels import Exponential, Gaussian, Linear, Matern, Matern32, Matern52


@pytest.mark.parametrize(("d", "J"), [(1, [40]), (2, [20, 13]), (3, [6, 5, 4])])
def test_sums_of_waves(d, J, rng):
    u, c = rng.uniform(-np.pi, np.pi, (50, d)), rng.standard_normal(50)
    k = np.stack(np.meshgrid(*(np.arange(-j, j + 1) for j in J), indexing="ij"), -1)
    E = np.exp(-1j * np.tensordot(k, u.T, 1))
    F = nufft.to_waves(u, c, J, own=True)
    np.testing.assert_allclose(F, E @ c, atol=1e-9 * np.abs(E @ c).max())
    back = (E.conj() * F[..., None]).sum(axis=tuple(range(d))).real
    np.testing.assert_allclose(nufft.from_waves(u, F, own=True), back, atol=1e-9 * np.abs(back).max())


def test_gridding_and_the_library_agree(rng):
    pytest.importorskip("finufft")
    u, c = rng.uniform(-np.pi, np.pi, (200, 2)), rng.standard_normal(200)
    one, two = (nufft.to_waves(u, c, [15, 9], own=own) for own in (True, False))
    np.testing.assert_allclose(one, two, atol=1e-9 * np.abs(two).max())
    np.testing.assert_allclose(nufft.from_waves(u, two, own=True), nufft.from_waves(u, two), atol=1e-7)


@pytest.mark.parametrize(
    ("kernel", "eps"),
    [(2.0 * Gaussian([0.3, 0.6]), 1e-8), (Matern52(0.5), 1e-5), (Matern32([0.5, 0.4]), 1e-4), (Matern(0.5, 3.5), 1e-6)],
    ids=["gaussian", "matern52", "matern32", "matern"],
)
def test_waves_are_the_kernel(kernel, eps, rng):
    X = rng.uniform(0, 1, (40, 2))
    waves = Waves(kernel, np.zeros(2), np.ones(2), eps)
    u, K = waves.angles(X), kernel(X)
    found = np.column_stack([waves.at(u, waves.D2 * waves.adjoint(u, e)) for e in np.eye(40)])
    assert np.abs(found - K).max() < 3 * eps * K[0, 0]


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
def test_the_mean_is_that_of_the_exact_process(trend, rng):
    X = rng.uniform(0, 3, (400, 2))
    X[7] = X[8]
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] * X[:, 1]]) + 0.1 * rng.standard_normal((400, 2))
    weight, Z = rng.integers(1, 4, 400).astype(float), rng.uniform(0, 3, (50, 2))
    exact, waves = (
        GaussianProcessRegressor(2.0 * Matern52([0.7, 1.0]), 0.05, criterion=None, trend=trend, approximation=how)
        for how in (None, Fourier(1e-6, k=60))
    )
    exact.fit(X, y, weight), waves.fit(X, y, weight)
    np.testing.assert_allclose(waves.predict(Z), exact.predict(Z), atol=2e-5)
    np.testing.assert_allclose(waves.trend_coef_, exact.trend_coef_, atol=1e-4)
    np.testing.assert_allclose(waves.predict(Z, return_std=True)[1], exact.predict(Z, return_std=True)[1], rtol=2e-2)
    said = waves.fit_report_["approximation"]
    true = np.sqrt(np.mean((waves.predict(X) - exact.predict(X)) ** 2))
    assert said["kind"] == "fourier" and true < 2 * said["distance"] + 1e-7 and "waves is" in said["words"]


def test_learns_updates_and_comes_back_from_a_file(rng, tmp_path):
    X = rng.uniform(0, 6, (1300, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(1300)
    model = GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Fourier(1e-4, k=16), starts=1).fit(X, y)
    assert 0.008 < model.lam_ < 0.012
    Z = np.linspace(-2, 8, 101)[:, None]  # outside too: there by neighbours
    mean, std = model.predict(Z, return_std=True)
    assert np.abs(mean - np.sin(2 * Z[:, 0]))[25:75].max() < 0.1 and std[0] > 5 * std[50]
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(Z), mean)
    grown = model.frozen().fit(X[:1000], y[:1000]).update(X[1000:], y[1000:])
    np.testing.assert_allclose(grown.predict(X), model.frozen().fit(X, y).predict(X), atol=1e-9)
    assert mercer.plan(model.frozen(), X, y) == model.frozen().fit(X, y).plan_


def test_what_cannot_be_said_in_waves(rng):
    X, y = rng.uniform(0, 1, (60, 2)), rng.standard_normal(60)

    def fit(kernel, how, X=X, noise=0.1):
        return GaussianProcessRegressor(kernel, noise, criterion=None, approximation=how).fit(X, y)

    for kernel, data in ((Linear(), X), (Gaussian(), rng.uniform(0, 1, (60, 4)))):
        with pytest.raises(ValueError, match="no sum of waves"):
            fit(kernel, Fourier(), data)
    with pytest.raises(ValueError, match="waves for Exponential"):
        fit(Exponential(0.01), Fourier(1e-6))
    with pytest.raises(ValueError, match="noise > 0"):
        fit(Gaussian(), Fourier(), noise=0.0)
    with pytest.raises(ValueError, match="eps must be between"):
        fit(Gaussian(), Fourier(2.0))
    X[:, 1] = 4.0  # one column constant
    exact = fit(Gaussian(0.5), None, X).predict(X)
    np.testing.assert_allclose(fit(Gaussian(0.5), Fourier(1e-8), X).predict(X), exact, atol=1e-5)
