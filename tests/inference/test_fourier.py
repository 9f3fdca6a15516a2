"""Fourier features: the kernel that they make, and the mean, variance and evidence of the exact process."""

import sys
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import Fourier, GaussianProcessRegressor, Neighbours
from mercer._policies import OptionSet
from mercer.gram import Rows
from mercer.gram.fourier import FourierFeatures, from_frequencies, to_frequencies
from mercer.gram.trend import make_trend
from mercer.inference.fourier import FourierPosterior, bounding_box
from mercer.inference.regression import RegressionPosterior
from mercer.inference.spectral import FeatureSums, FourierInverse, feature_gram
from mercer.kernels import Exponential, Gaussian, Linear, Matern, Matern32, Matern52, Sphere
from mercer.report import collect, write
from mercer.selection import Evidence, SpectralSearchOptions
from mercer.selection.search import SearchSpace
from mercer.selection.spectral_search import search_spectral
from mercer.solvers import Cholesky, PlanOptions, Span
from mercer.solvers.toeplitz import Convolution, FactoredToeplitz, IteratedToeplitz, ToeplitzOptions, lanczos


# ---------------------------------------------------------------------------------------------- sums of features
@pytest.mark.parametrize(("d", "J"), [(1, [40]), (2, [20, 13]), (3, [6, 5, 4])])
def test_sums_over_frequencies(d, J, rng):
    u, C = rng.uniform(-np.pi, np.pi, (50, d)), rng.standard_normal((50, 3)) * [1.0, 1e9, 1e-9]
    k = np.stack(np.meshgrid(*(np.arange(-j, j + 1) for j in J), indexing="ij"), -1)
    E = np.exp(-1j * np.tensordot(k, u.T, 1))
    F = to_frequencies(u, C, J)
    assert len(F) == 3
    for found, c in zip(F, C.T, strict=True):
        np.testing.assert_allclose(found, E @ c, atol=1e-9 * np.abs(E @ c).max())
    F = F[0]
    back = (E.conj() * F[..., None]).sum(axis=tuple(range(d))).real
    np.testing.assert_allclose(from_frequencies(u, F), back, atol=1e-9 * np.abs(back).max())


@pytest.mark.parametrize(
    ("kernel", "eps"),
    [(2.0 * Gaussian([0.3, 0.6]), 1e-8), (Matern52(0.5), 1e-5), (Matern32([0.5, 0.4]), 1e-4), (Matern(0.5, 3.5), 1e-6)],
    ids=["gaussian", "matern52", "matern32", "matern"],
)
def test_waves_are_the_kernel(kernel, eps, rng):
    X = rng.uniform(0, 1, (40, 2))
    features = FourierFeatures(kernel, np.zeros(2), np.ones(2), eps)
    u, K = features.angles(X), kernel(X)
    spread = features.adjoint(features.sums(u, np.eye(40)))
    found = np.column_stack([features.at(u, features.D2 * v) for v in spread.T])
    assert np.abs(found - K).max() < 3 * eps * K[0, 0]
    Phi = features.rows(u)
    np.testing.assert_allclose(Phi * features.D2 @ Phi.T, found, atol=1e-8)
    assert 0 <= features.missing < eps * K[0, 0]
    theta, steps = kernel.theta, 1e-5 * np.eye(kernel.n_theta)
    there, back = ([np.log(features.spectrum(kernel.with_theta(theta + sign * e))) for e in steps] for sign in (1, -1))
    np.testing.assert_allclose(features.slopes(kernel), np.subtract(there, back) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("J", [[5], [3, 4], [2, 1, 3]])
def test_a_convolution_is_a_matrix(J, rng):
    features = FourierFeatures(Gaussian(1.0), np.zeros(len(J)), np.ones(len(J)), 1e-3)
    features.J, features.shape, features.count = J, tuple(2 * j + 1 for j in J), int(np.prod([2 * j + 1 for j in J]))
    u, w = rng.uniform(-np.pi, np.pi, (30, len(J))), rng.uniform(0, 2, 30)
    T, Phi = Convolution(features.sums(u, w[:, None])[0]), features.rows(u)
    np.testing.assert_allclose(T(np.eye(features.count)), Phi.T * w @ Phi, atol=1e-9)
    some = rng.permutation(features.count)[:5]
    np.testing.assert_allclose(T.block(some), (Phi.T * w @ Phi)[np.ix_(some, some)], atol=1e-9)


def test_probes_say_what_a_factor_says(rng):
    features = FourierFeatures(Gaussian(0.2), np.zeros(1), np.ones(1), 1e-6)
    X, B = rng.uniform(0, 1, (200, 1)), rng.standard_normal((features.count, 2))
    probes = partial(ToeplitzOptions, 20, 20, 3000, probe_tol=1e-9)
    T = Convolution(features.sums(features.angles(X), np.ones((200, 1)))[0])
    exact, near = FactoredToeplitz(T, features.D2, 0.01), IteratedToeplitz(T, features.D2, 0.01, probes(400))
    np.testing.assert_allclose(near.solve(B, 1e-10).X, exact.solve(B, 0.0).X, rtol=1e-5, atol=1e-6)
    (a, diagonal), (b, other) = exact.traced(), near.traced()
    assert abs(a - b) < 0.5 and np.abs(0.01 * (other - diagonal)).max() < 0.05
    few = IteratedToeplitz(T, features.D2, 0.01, probes(4))
    assert few.traced()[0] == few.traced()[0]


def test_columns_of_lanczos_end_one_by_one(rng):
    A = np.diag(np.linspace(1.0, 5.0, 12))
    B = np.column_stack([np.eye(12)[3], np.zeros(12), rng.standard_normal(12)])
    X, logs = lanczos(lambda V: A @ V, lambda V: V / 2.0, B, 1e-10, 50)
    np.testing.assert_allclose(A @ X, B, atol=1e-8)
    np.testing.assert_allclose(logs, np.einsum("ij,i,ij->j", B, np.log(A.diagonal() / 2) / 2, B), atol=1e-8)


# ---------------------------------------------------------------------------------------------- the process
def problem(rng, trend, n=300):
    X = rng.uniform(0, 3, (n, 2))
    X[7] = X[8]
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] * X[:, 1]]) + 0.1 * rng.standard_normal((n, 2))
    y += 0.0 if trend is None else 1e5
    return Rows(X, y, rng.integers(1, 4, n).astype(float), make_trend(trend, X))


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
def test_evidence_and_gradient_are_those_of_the_exact_process(trend, rng):
    rows, kernel, lam, step = problem(rng, trend), 2.0 * Gaussian([0.9, 1.2]), 0.05, 1e-4
    features = FourierFeatures(kernel, *bounding_box(kernel, rows, lam), 1e-9, reach=1.01)

    def exact(z):
        theta, noise = kernel.with_theta(z[:-1]), float(np.exp(z[-1]))
        f = RegressionPosterior.fit(theta, rows, noise, Cholesky(), Span(rows.scaled(rows.H)))
        return sum(f.evidence(Evidence(weights="precision")).values())

    found, criterion = (
        FourierInverse(FeatureSums(features, rows), features.D2, lam, 0.0),
        Evidence(weights="precision"),
    )
    extras, z = criterion.extras(rows), np.append(kernel.theta, np.log(lam))
    value = sum(criterion.terms(found, found.quad, rows.weight, **extras).values())
    assert value == pytest.approx(exact(z), abs=1e-3)
    slope = found.gradient(features.slopes(kernel))
    slope[-1] -= criterion.explicit(found, rows.y, rows.weight, **extras)
    differences = [(exact(z + e) - exact(z - e)) / (2 * step) for e in step * np.eye(len(z))]
    np.testing.assert_allclose(slope, differences, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
@pytest.mark.parametrize("kernel", [2.0 * Matern52([0.7, 1.0]), 2.0 * Gaussian([0.7, 1.0])], ids=["many", "few"])
def test_mean_and_variance_are_those_of_the_exact_process(trend, kernel, rng):
    rows, lam, Z = problem(rng, trend), 0.05, rng.uniform(0, 3, (50, 2))
    exact = RegressionPosterior.fit(kernel, rows, lam, Cholesky(), Span(rows.scaled(rows.H)))
    eps = 1e-5 if np.isinf(kernel.kernel.smoothness) else 1e-3
    found = FourierPosterior.fit(kernel, rows, lam, Fourier(eps, k=100), Evidence())
    a, b, spread = exact.moments(Z), found.moments(Z), rows.y.std()
    assert found.report["near"] and found.local == (eps > 1e-4)
    assert np.sqrt(np.mean((a.mean - b.mean) ** 2)) < eps * spread
    np.testing.assert_allclose(b.variance, a.variance, rtol=2e-2 if found.local else 1e-3)
    if not found.local:
        np.testing.assert_allclose(found.covariance(Z)[1], exact.covariance(Z)[1], atol=1e-5)
        assert found.sample(Z, 3, rng).shape == (50, 2, 3)
    with pytest.raises(ValueError, match="covariance"):
        found.covariance(Z + 9.0)
    np.testing.assert_allclose(found.b, exact.b, rtol=1e-4, atol=30 * eps)


def test_rows_left_out_are_those_of_the_exact_process(rng):
    X = rng.uniform(0, 3, (200, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    exact, features = (
        GaussianProcessRegressor(Gaussian(0.5), 0.01, criterion=None, trend=None, approximation=how).fit(X, y)
        for how in (None, Fourier(1e-8))
    )
    kept = features.neighbours_
    np.testing.assert_allclose(kept.residuals[:, 0], exact.loo_residuals_[kept.index], atol=1e-6)
    said = features.fit_report_["approximation"]
    assert "by a factor" in said["words"] and "neighbours" not in said["words"]
    assert said["kind"] == "fourier" and features.fit_report_["gram"] == "fourier"


def test_the_page_says_what_is_known_of_waves_and_neighbours(rng, tmp_path):
    X = rng.uniform(0, 3, (150, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(150)
    for how, name in ((Fourier(), "Fourier features"), (Neighbours(8), "Neighbours")):
        model = GaussianProcessRegressor(Gaussian(0.5), 0.01, criterion=None, approximation=how).fit(X, y)
        found = collect(model, X, y)
        assert found.local.numbers["coverage"] == model.fit_report_["approximation"]["coverage"]
        write(found, tmp_path / f"{name}.html")
        text = (tmp_path / f"{name}.html").read_text("utf-8")
        assert f"<h3>{name}</h3>" in text and "within their 90" in text


def test_what_features_leave_of_a_trend_is_right_though_an_iteration_ends_early(rng):
    X = rng.uniform(0, 3, (3000, 2))
    y = np.sin(2 * X[:, :1]) + 0.1 * rng.standard_normal((3000, 1))
    rows = Rows(X, y, np.full(3000, 300.0), trend=lambda X: np.column_stack([np.ones(len(X)), X[:, 0]]))
    features = FourierFeatures(2.5 * Matern32(1.5), np.zeros(2), np.full(2, 3.0), 1e-2)
    sums = FeatureSums(features, rows)
    exact = FourierInverse(sums, features.D2, 0.01, 0.0)
    found = FourierInverse(sums, features.D2, 0.01, 1e-4, ToeplitzOptions(factored_up_to=0, strong=50))
    assert found.solved.steps > 0 and exact.solved.steps == 0
    np.testing.assert_allclose(found.L, exact.L, rtol=0.02, atol=0.02)
    assert found.quad == pytest.approx(exact.quad, rel=1e-2)


def test_search_by_the_evidence_of_all_rows(rng):
    X = rng.uniform(0, 6, (250, 1))
    y = np.sin(2 * X) + 0.1 * rng.standard_normal((250, 1))
    rows = Rows(X, y)
    found = search_spectral(SearchSpace(1.0 * Gaussian(3.0), 0.1, (1e-6, 1.0)), rows, 1e-6, Evidence())
    exact = GaussianProcessRegressor(1.0 * Gaussian(1.0), trend=None, prior=None, starts=1).fit(X, y)
    there = exact.log_marginal_likelihood(np.append(found.kernel.theta, np.log(found.lam)))
    assert exact.log_marginal_likelihood_value_ - 0.2 < there == pytest.approx(-found.value * 250, abs=1e-3)
    assert found.lam == pytest.approx(exact.lam_, rel=0.05) and found.status == "ok"
    refused = search_spectral(SearchSpace(1.0 * Exponential(0.01), 0.1, (1e-6, 1.0)), rows, 1e-6, Evidence())
    assert refused.status == "too_many_features" and np.isnan(refused.value)


def test_learns_updates_and_comes_back_from_a_file(rng, tmp_path):
    X = rng.uniform(0, 6, (1300, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(1300)
    model = GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Fourier(k=16), starts=1).fit(X, y)
    assert 0.008 < model.lam_ < 0.012
    Z = np.linspace(-2, 8, 101)[:, None]  # outside too: there by neighbours
    mean, std = model.predict(Z, return_std=True)
    assert np.abs(mean - np.sin(2 * Z[:, 0]))[25:75].max() < 0.1 and std[0] > 5 * std[50]
    model.save(tmp_path / "model")
    again = mercer.load(tmp_path / "model").predict(Z, return_std=True)
    np.testing.assert_array_equal(again[0], mean)
    np.testing.assert_allclose(again[1], std, rtol=1e-9)
    grown = model.frozen().fit(X[:1000], y[:1000]).update(X[1000:], y[1000:])
    np.testing.assert_allclose(grown.predict(X), model.frozen().fit(X, y).predict(X), atol=1e-9)
    assert mercer.plan(model.frozen(), X, y) == model.frozen().fit(X, y).plan_


FEW = PlanOptions(exact_below=100, exact_seconds=1e-9)  # from 100 rows on "auto" looks for something faster


def test_auto_takes_features_where_they_are_not_too_many(rng):
    X = rng.uniform(0, 6, (400, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(400)

    def fitted(kernel, d=2):
        model = GaussianProcessRegressor(kernel, 0.01, criterion=None, options=FEW)
        assert mercer.plan(model, X[:, :d]).gram == "fourier"
        return model.fit(X[:, :d], y)

    smooth = fitted(Gaussian(1.0))
    assert smooth.plan_.gram == "fourier" and "Fourier" in smooth.plan_.reasons[0]
    exact = GaussianProcessRegressor(Gaussian(1.0), 0.01, criterion=None, approximation=None).fit(X, y)
    assert np.sqrt(np.mean((smooth.predict(X) - exact.predict(X)) ** 2)) < 0.01
    rough = fitted(Exponential(0.1))
    assert rough.plan_.gram == "neighbours" and "features: eps" in rough.plan_.reasons[0]
    assert rough.fit_report_["approximation"]["kind"] == "neighbours"
    grown = rough.update(X[:5] + 0.01, y[:5])
    assert grown.fit_report_["approximation"]["kind"] == "neighbours"
    for kernel in (Linear(), Gaussian(1.0) + Linear()):
        assert mercer.plan(GaussianProcessRegressor(kernel, options=FEW), X).gram == "neighbours"
    assert mercer.plan(GaussianProcessRegressor(), n=50_000, d=2).gram == "fourier"
    assert mercer.plan(GaussianProcessRegressor(), n=50_000, d=4).gram == "neighbours"


def test_what_has_no_fourier_features(rng):
    X, y = rng.uniform(0, 1, (60, 2)), rng.standard_normal(60)

    def fit(kernel, how, X=X, noise=0.1):
        return GaussianProcessRegressor(kernel, noise, criterion=None, approximation=how).fit(X, y)

    for kernel, data in ((Linear(), X), (Gaussian(), rng.uniform(0, 1, (60, 4)))):
        with pytest.raises(ValueError, match="columns"):
            fit(kernel, Fourier(), data)
    with pytest.raises(ValueError, match="Exponential"):
        fit(Exponential(0.01), Fourier(1e-6))
    with pytest.raises(ValueError, match="noise"):
        fit(Gaussian(), Fourier(), noise=0.0)
    for eps in (2.0, "many"):
        with pytest.raises(ValueError, match="eps"):
            fit(Gaussian(), Fourier(eps))
    X[:, 1] = 4.0  # one column constant
    exact = fit(Gaussian(0.5), None, X).predict(X)
    np.testing.assert_allclose(fit(Gaussian(0.5), Fourier(1e-8), X).predict(X), exact, atol=1e-5)


def test_without_finufft_fourier_names_the_extra_and_auto_says_what_is_missing(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "finufft", None)
    monkeypatch.setattr("mercer.approximate.spectral.has_finufft", lambda: False)
    X = rng.uniform(0, 6, (400, 2))
    model = GaussianProcessRegressor(Gaussian(1.0), 0.01, criterion=None, options=FEW)
    for refused in (model.set_params(approximation=Fourier()).fit, lambda X, y: mercer.plan(model, X)):
        with pytest.raises(ImportError, match="fourier"):
            refused(X, X[:, 0])
    model.set_params(approximation="auto").fit(X, np.sin(X[:, 0]))
    assert model.plan_.gram == "neighbours" and "mercer[fourier]" in model.plan_.reasons[0]
    assert mercer.plan(model, X) == model.plan_


def test_without_noise_auto_takes_no_features():
    grams = [
        mercer.plan(GaussianProcessRegressor(Gaussian(), noise), n=200_000, d=2).gram for noise in (None, 0.1, 0.0)
    ]
    assert grams == ["fourier", "fourier", "neighbours"]


def test_variances_times_c_take_no_new_sums(rng, monkeypatch):
    X = rng.uniform(0, 10, (500, 1))
    rows = Rows(X, np.sin(X) + 0.2 * rng.standard_normal((500, 1)), trend=make_trend("constant", X))
    f = FourierPosterior.fit(1.0 * Gaussian(1.0), rows, 0.04, Fourier(1e-6), Evidence())
    other, again = f.rescaled(2.5 * Gaussian(1.0), 2.5), f.rescaled(2.5 * Gaussian(1.0), 2.5)
    again._factor = None  # as after a file
    np.testing.assert_allclose(other.moments(X[:9]).variance, again.moments(X[:9]).variance, rtol=1e-8)
    np.testing.assert_allclose(other.factor.traced()[0], again.factor.traced()[0], rtol=1e-10)
    right = np.ones((other.features.count, 1))
    np.testing.assert_allclose(other.factor.solve(right, 0.0).X, again.factor.solve(right, 0.0).X, rtol=1e-7)
    np.testing.assert_allclose(
        feature_gram(f.features, rows, block=100).sums, feature_gram(f.features, rows).sums, atol=1e-9
    )
    monkeypatch.setattr("mercer.inference.fourier.feature_gram", None)
    f.rescaled(2.5 * Gaussian(1.0), 2.5).moments(X[:9])


# ---------------------------------------------------------------------------------------------- on the sphere
def test_on_the_sphere_features_are_those_of_space(rng):
    X = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, 400))), rng.uniform(-180, 180, 400)])
    X[:4] = [[90.0, 0.0], [-90.0, 10.0], [0.0, 180.0], [5.0, -180.0]]
    y = np.sin(np.radians(X[:, 0]) * 2) + np.cos(np.radians(X[:, 1])) * np.cos(np.radians(X[:, 0]))
    y += 0.1 * rng.standard_normal(400)
    new = [[90.0, 0.0], [90.0, 133.0], [-90.0, -40.0], [20.0, 180.0], [20.0, -180.0], [20.0, 179.999], [0.0, 0.0]]
    exact, features = (
        GaussianProcessRegressor(2.0 * Sphere(Gaussian(4000.0)), 0.01, criterion=None, approximation=how).fit(X, y)
        for how in (None, Fourier(1e-6))
    )
    mean, std = features.predict(new, return_std=True)
    for a, b, tol in zip((mean, std), exact.predict(new, return_std=True), (1e-4, 0.01), strict=True):
        np.testing.assert_allclose(a, b, atol=tol)  # variances of so many features are those of neighbours
    assert abs(mean[0] - mean[1]) < 1e-9 and abs(mean[3] - mean[4]) < 1e-9 and abs(mean[3] - mean[5]) < 1e-4
    assert mercer.plan(GaussianProcessRegressor(Sphere(Gaussian(4000.0))), n=200_000, d=2).gram == "fourier"
    assert mercer.plan(GaussianProcessRegressor(Sphere(Gaussian(4000.0))), n=200_000, d=3).gram == "neighbours"


def test_a_constant_column_takes_no_features_of_its_own(rng):
    X = np.column_stack([rng.uniform(0, 10, 300), np.full(300, 7.0)])
    rows = Rows(X, np.sin(X[:, :1]))
    assert FourierFeatures(Gaussian([1.0, 1e-3]), *bounding_box(Gaussian([1.0, 1e-3]), rows, 0.1), 1e-4).count < 1000
    options = {"criterion": None, "trend": None}
    exact, features = (
        GaussianProcessRegressor(Gaussian([1.0, 1e-3]), 0.1, approximation=how, **options).fit(X, np.sin(X[:, 0]))
        for how in (None, Fourier(1e-6))
    )
    np.testing.assert_allclose(features.predict(X), exact.predict(X), atol=1e-5)
    new = [[3.0, 7.0], [3.0, 7.5]]  # beside the column there are the neighbours
    np.testing.assert_allclose(features.predict(new), exact.predict(new), atol=1e-3)


@pytest.mark.parametrize("how", [Fourier(), Neighbours(32)])
def test_in_a_gap_as_large_as_the_map_the_prior_comes_back(rng, how):
    X = rng.uniform(0, 40, (1500, 2))
    X = X[(np.abs(X - 20.0) > 15.0).any(axis=1)]  # a frame around nothing
    y = 7.0 + np.sin(X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    model = GaussianProcessRegressor(2.0 * Gaussian(1.5), 0.01, criterion=None, approximation=how).fit(X, y)
    mean, std = model.predict([[20.0, 20.0], [2.0, 20.0]], return_std=True)
    assert mean[0] == pytest.approx(model.trend_coef_[0, 0], abs=0.01)
    assert std[0] == pytest.approx(np.sqrt(2.0), rel=0.05) and std[1] < 0.4
    ways = model.predict(np.column_stack([np.linspace(5, 20, 12), np.full(12, 20.0)]), return_std=True)[1]
    assert (np.diff(ways) > -1e-3).all()


def test_grids_are_refined_as_far_as_there_is_room(rng):
    X = rng.uniform(0, 5, (60, 2))
    rows, kernel = Rows(X, np.sin(X[:, :1]) * X[:, 1:]), Matern32(3.0)
    first = FourierFeatures(kernel, *bounding_box(kernel, rows, 0.04), 1e-2).count
    found = FourierPosterior.fit(kernel, rows, 0.04, Fourier(1e-2), Evidence(), room=lambda d, columns: first)
    assert found.report["features"] == first and not found.report["near"]
    with pytest.raises(ValueError, match="features"):  # which take 300 MB
        GaussianProcessRegressor(Exponential(0.5), 0.04, criterion=None, approximation=Fourier(1e-2), memory=1e8).fit(
            X, rows.y[:, 0]
        )


def test_little_noise_leaves_the_trend_to_a_stricter_iteration(rng):
    options = ToeplitzOptions(factored_up_to=10, strong=100)
    X = rng.uniform(0, 5, (60, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(60)
    exact, found = (
        GaussianProcessRegressor(1e5 * Matern32(2.0), 0.04, criterion=None, approximation=how, options=options).fit(
            X, y
        )
        for how in (None, Fourier(1e-2))
    )
    np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=0.02)
    assert not found.fit_report_["approximation"]["factored"]


def test_an_iteration_that_does_not_converge_is_warned_of(rng):
    options = ToeplitzOptions(factored_up_to=10, strong=1, max_iter=2)
    X = rng.uniform(0, 5, (60, 1))
    model = GaussianProcessRegressor(Matern32(1.0), 0.04, criterion=None, trend=None, approximation=Fourier(1e-2))
    model.set_params(options=options)
    with pytest.warns(ConvergenceWarning, match="converged"):
        model.fit(X, np.sin(X[:, 0]))
    assert not model.fit_report_["approximation"]["near"]


def test_what_fourier_cannot_be(rng):
    with pytest.raises(ValueError, match="k"):
        GaussianProcessRegressor(approximation=Fourier(k="auto")).fit(rng.uniform(0, 1, (50, 1)), np.zeros(50))


def test_a_search_that_ends_at_the_edge_of_its_last_grid_says_so(rng):
    X = np.linspace(0, 40, 400)[:, None]
    rows = Rows(X, np.sin(X) + 0.1 * rng.standard_normal((400, 1)))
    space = SearchSpace(1.0 * Matern32(1.0), 0.1, (1e-6, 1.0))
    found = search_spectral(space, rows, 1e-4, Evidence())
    cut = search_spectral(space, rows, 1e-4, Evidence(), options=OptionSet([SpectralSearchOptions(grids=1)]))
    assert found.status == "ok" and cut.status == "edge" and "last grid" in cut.message


class Rugged(Evidence):
    """The evidence with a ripple of three nats, and a slope that does not belong to it: as if probes said it."""

    def terms(self, Kinv, *args, **options):
        return {**super().terms(Kinv, *args, **options), "ripple": 3.0 * np.sin(1e7 * Kinv.lam)}

    def explicit(self, Kinv, *args, **options):
        return super().explicit(Kinv, *args, **options) - 20.0


def test_a_search_ends_where_probes_differ_by_more_than_there_is_to_gain(rng):
    X = np.linspace(0, 40, 400)[:, None]
    rows = Rows(X, np.sin(X) + 0.1 * rng.standard_normal((400, 1)))
    options = OptionSet([ToeplitzOptions(factored_up_to=0, strong=1000)])  # however few, they are probed
    space = SearchSpace(1.0 * Matern32(2.0), 0.012, (1e-6, 1.0))
    found = search_spectral(space, rows, 1e-4, Rugged(), options=options)
    assert found.evaluations < 60 and 0.005 < found.lam < 0.02  # without patience, more than twice as many


def test_a_search_that_needs_too_many_features_says_so(rng):
    X = np.linspace(0, 40, 400)[:, None]
    rows = Rows(X, np.sin(2 * X) + 0.1 * rng.standard_normal((400, 1)))
    start = 1.0 * Gaussian(2.0)
    space = SearchSpace(start, 0.1, (1e-6, 1.0))
    found = search_spectral(space, rows, 1e-4, Evidence())
    first = FourierFeatures(start, *bounding_box(start, rows, 0.1), 1e-4, reach=SpectralSearchOptions.reach).count
    only_first = OptionSet([SpectralSearchOptions(most=first)])  # the first grid, and no finer one
    cut = search_spectral(space, rows, 1e-4, Evidence(), options=only_first)
    assert found.status == "ok" and cut.status == "too_many_features" and found.value < cut.value < np.inf
    assert "best point so far" in cut.message and f"{first} are allowed. Use a larger eps" in cut.message
    none = search_spectral(space, rows, 1e-4, Evidence(), options=OptionSet([SpectralSearchOptions(most=10)]))
    assert none.status == "too_many_features" and "was not climbed" in none.message
    assert np.isnan(none.value) and none.kernel == start and none.evaluations == 0


@pytest.mark.parametrize("how", [Fourier(), "auto"], ids=["asked", "auto"])
def test_a_fit_whose_search_had_too_many_features(rng, how):
    X = rng.uniform(0, 10, (1100, 1))  # more than the search on some rows takes
    options = [SpectralSearchOptions(most=10), FEW]
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0), approximation=how, starts=1, options=options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(1100))
    asked = not isinstance(how, str)  # "auto" has promised no features
    assert model.fit_report_["selection"]["status"] == ("too_many_features" if asked else "ok")
    assert asked == any("10 are allowed" in str(one.message) for one in caught)
