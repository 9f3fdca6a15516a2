"""Mixtures of kernels: their weights, what they answer, and files."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import make_friedman1

import mercer
from mercer import GaussianProcessRegressor, StackedKernels, _machine
from mercer.inference.stacking import log_density_of, moments_of, quantiles_of, stacking_weights
from mercer.kernels import Gaussian, Linear, Matern32, Periodic, Spectrum


@pytest.fixture(scope="module")
def data():
    X, y = make_friedman1(120, n_features=5, noise=1.0, random_state=0)
    held = make_friedman1(400, n_features=5, noise=1.0, random_state=1)
    return X, y, *held


@pytest.fixture(scope="module")
def fitted(data):
    return StackedKernels(time_budget=60).fit(*data[:2])


def test_weights_are_the_best_on_the_simplex():
    rng = np.random.default_rng(0)
    densities = rng.standard_normal((3, 200)) + [[0.5], [0.0], [-1.0]]
    best = stacking_weights(densities, prior=0.0, gap=1e-9)

    def value(w):
        return np.mean(np.log(w @ np.exp(densities)))

    assert best.sum() == pytest.approx(1.0) and (best >= 0).all()
    for other in rng.dirichlet(np.ones(3), 200):
        assert value(best) >= value(other) - 1e-8
    twice = stacking_weights(densities, counts=np.full(200, 2.0), prior=0.0, gap=1e-9)
    np.testing.assert_allclose(best, twice, atol=1e-6)


def test_moments_quantiles_and_densities_of_a_mixture():
    means, stds, weights = np.array([[0.0], [4.0]]), np.array([[1.0], [0.5]]), np.array([0.3, 0.7])
    rng = np.random.default_rng(0)
    which = rng.choice(2, 400_000, p=weights)
    drawn = means[which, 0] + stds[which, 0] * rng.standard_normal(400_000)
    mean, std = moments_of(means, stds, weights)
    assert mean[0] == pytest.approx(drawn.mean(), abs=0.01) and std[0] == pytest.approx(drawn.std(), abs=0.01)
    levels = [0.05, 0.5, 0.95]
    np.testing.assert_allclose(quantiles_of(levels, means, stds, weights)[0], np.quantile(drawn, levels), atol=0.03)
    expected = np.log(0.3 * norm.pdf(1.0) + 0.7 * norm.pdf(1.0, 4.0, 0.5))
    assert log_density_of(np.array([1.0]), means, stds, weights)[0] == pytest.approx(expected)


def test_it_foresees_better_than_the_default_process(data, fitted):
    X, y, held, truth = data
    mean, std = GaussianProcessRegressor().fit(X, y).predict(held, return_std=True, noisy=True)
    assert fitted.log_density(held, truth).mean() > norm.logpdf(truth, mean, std).mean()
    assert np.sqrt(np.mean((fitted.predict(held) - truth) ** 2)) < np.sqrt(np.mean((mean - truth) ** 2))
    assert len(fitted.kernels_) <= 6 and fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.left_out_density_ == pytest.approx(fitted.log_density(held, truth).mean(), abs=0.25)


def test_intervals_cover(data, fitted):
    ends = fitted.predict_interval(data[2], 0.9)
    inside = (data[3] > ends[:, 0]) & (data[3] < ends[:, 1])
    assert 0.82 < inside.mean() < 0.97
    assert fitted.predict_interval(data[2][:3], 0.9, method="left-out").shape == (3, 2)


def test_files_keep_all_of_it(tmp_path, data, fitted):
    fitted.save(tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    for ours, theirs in zip(*(m.predict(data[2], return_std=True, noisy=True) for m in (fitted, again)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.words_ == fitted.words_ and again.selection_.message == fitted.selection_.message


def test_tails_are_as_long_as_those_of_the_rows(data):
    X, y, held, truth = data
    rng = np.random.default_rng(2)
    kernels, lams, heavy = [20.0 * Matern32(1.0)], [1.0], rng.standard_t(2, len(y)) * 2.0
    there = truth + 2.0 * rng.standard_t(2, len(truth))
    model = StackedKernels(kernels, lams).fit(X, y + heavy)
    one = StackedKernels(kernels, lams, weights=[1.0]).fit(X, y + heavy)
    normal, density = (m.log_density(held, there).mean() for m in (one, model))
    moments = norm.logpdf(there, *model.predict(held, return_std=True, noisy=True)).mean()
    assert density > normal + 0.1 and density > moments + 0.02
    np.testing.assert_allclose(model.predict(held), one.predict(held))  # the scales leave it as it is
    assert model.scale_weights_.shape == (1, 5) and (model.scale_weights_ > 0).all()
    same = StackedKernels(kernels, lams, weights=model.scale_weights_).fit(X, y + heavy)
    np.testing.assert_allclose(same.log_density(held, there), model.log_density(held, there))


def test_given_kernels_are_taken_as_they_are(data):
    X, y = data[:2]
    model = StackedKernels([Gaussian(1.0), 9.0 * Matern32(1.0)], [1.0, 1.0], weights=[1, 3]).fit(X, y)
    single = [GaussianProcessRegressor(k, 1.0, criterion=None).fit(X, y).predict(X) for k in model.kernels_]
    np.testing.assert_allclose(model.predict(X), 0.75 * single[0] + 0.25 * single[1])  # the heaviest first
    with pytest.raises(ValueError, match="lam"):
        StackedKernels([Gaussian(1.0)]).fit(X, y)
    with pytest.raises(ValueError, match="weights"):
        StackedKernels([Gaussian(1.0)], [1.0], weights=[-1.0]).fit(X, y)


def test_weights_of_rows_are_copies():
    X, y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
    kernels, lams = [10.0 * Matern32(1.0), 10.0 * Gaussian(1.0)], [1.0, 1.0]
    weight = np.where(np.arange(60) < 5, 2.0, 1.0)
    some = StackedKernels(kernels, lams, weights=[1, 1]).fit(X, y, sample_weight=weight)
    all_ = StackedKernels(kernels, lams, weights=[1, 1]).fit(np.vstack([X, X[:5]]), np.append(y, y[:5]))
    np.testing.assert_allclose(some.predict(X), all_.predict(X))


def test_data_that_say_nothing():
    X = np.random.default_rng(0).standard_normal((30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.allclose(StackedKernels().fit(X, np.full(30, 7.0)).predict(X), 7.0)
        assert np.allclose(StackedKernels().fit(X[:2], [1.0, 1.0]).predict(X), 1.0)
        assert np.isfinite(StackedKernels(time_budget=60).fit(X, np.arange(30.0)).predict(X)).all()
        mean, std = StackedKernels().fit(X[:4], [1.0, 2.0, 3.0, 4.0]).predict(X, return_std=True, noisy=True)
        assert np.allclose(mean, 2.5, atol=0.01) and (std > 1.0).all()
        assert np.allclose(StackedKernels().fit(np.ones((30, 2)), X[:, 0]).predict(np.ones((2, 2))), X[:, 0].mean())
    with pytest.warns(UserWarning, match="the mean of y"):
        StackedKernels().fit(X, np.full(30, 7.0))
    with pytest.raises(ValueError, match="one target"):
        StackedKernels().fit(X, X)


def test_covariance_is_that_of_the_mixture(data, fitted):
    X = data[2][:6]
    mean, cov = fitted.predict(X, return_cov=True)
    np.testing.assert_allclose(np.sqrt(cov.diagonal()), fitted.predict(X, return_std=True)[1], rtol=1e-6)
    np.testing.assert_allclose(mean, fitted.predict(X))
    noisy = fitted.predict(X, return_cov=True, noisy=True)[1]
    np.testing.assert_allclose(np.sqrt(noisy.diagonal()), fitted.predict(X, return_std=True, noisy=True)[1], rtol=1e-6)


def test_given_kernels_are_in_the_order_of_their_weights():
    X = np.linspace(0, 3, 30)[:, None]
    model = StackedKernels([Gaussian(0.1), Gaussian(1.0)], [0.3, 0.1], weights=[0.2, 0.8]).fit(X, np.sin(X[:, 0]))
    assert model.kernel_ == Gaussian(1.0) and model.lam_ == 0.1 and model.weights_.tolist() == [0.8, 0.2]
    assert model.lams_ == [0.1, 0.3]


def test_factors_of_all_kernels_fit_the_memory_of_the_machine(monkeypatch):
    small = _machine.Memory(int(4.5 * 8 * 500**2), "the machine")
    monkeypatch.setattr(_machine, "SMALL", 0)
    monkeypatch.setattr(_machine, "available_memory", lambda: small)
    plan = mercer.plan(StackedKernels(), n=500, d=3)
    assert plan.memory_bytes <= small.bytes and any("kernels are weighed, not 24" in why for why in plan.reasons)
    many = StackedKernels([Gaussian(0.1 * k) for k in range(1, 9)], [0.1] * 8)
    with pytest.raises(MemoryError, match="factors of 8 kernels for n = 500 needs .* fewer kernels"):
        many.fit(np.linspace(0, 1, 500)[:, None], np.linspace(0, 1, 500))


def test_parts_sum_to_the_prediction(data, fitted):
    X, y, held, _ = data
    kernels = [9.0 * Matern32(1.0).on([0, 1]) + Linear().on(3) + Gaussian().on(0), 4.0 * Gaussian() + Linear().on([3])]
    given = StackedKernels(kernels, [1.0, 0.5], weights=[1, 3]).fit(X, y)
    for model in (given, fitted):
        parts = model.decompose(held)
        np.testing.assert_allclose(sum(part.mean for part in parts), model.predict(held), rtol=0, atol=1e-10)
        assert parts[-1].name == "trend" and all(part.kernels for part in parts[:-1])
    assert given.decomposes and [part.name for part in given.decompose(held)] == [
        "a very smooth function of the columns", "a line in x3", "a function without jumps in its slope of x0 and x1",
        "a very smooth function of x0", "trend",
    ]  # fmt: skip


def test_parts_of_one_process_are_those_of_the_process(data):
    X, y, held, _ = data
    kernel = 9.0 * Matern32(1.0).on([0, 1]) + Linear().on(3)
    ours = StackedKernels([kernel], [1.0], weights=[1]).fit(X, y).decompose(held)
    theirs = GaussianProcessRegressor(kernel, 1.0, criterion=None).fit(X, y).decompose(held)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-10)
        np.testing.assert_allclose(one.std, other.std, atol=1e-8)
        assert one.kernels == other.kernels


def test_deviation_of_a_part_is_that_of_the_mixture(data):
    X, y, held, _ = data
    kernels = [9.0 * Matern32(1.0).on(0) + Linear().on(0) + Linear().on(1), 4.0 * Gaussian().on(0), Linear().on(1)]
    model = StackedKernels(kernels, [1.0, 0.5, 0.7], weights=[5, 3, 2]).fit(X, y)
    first, second, third = [
        GaussianProcessRegressor(k, lam, criterion=None).fit(X, y) for k, lam in zip(kernels, model.lams_, strict=True)
    ]
    part, *_ = model.decompose(held)
    both = first.predict(held) - first.decompose(held)[2].mean - first.decompose(held)[3].mean
    other = second.decompose(held)[0]
    np.testing.assert_allclose(part.mean, 0.5 * both + 0.3 * other.mean, atol=1e-10)
    # Var = E v + Var of the means; the third process has no such part, and the first the sum of two that covary
    within = part.std**2 - 0.5 * both**2 - 0.3 * other.mean**2 + part.mean**2 - 0.3 * other.std**2
    once = StackedKernels([kernels[0]], [1.0], weights=[1]).fit(X, y).decompose(held)[0]
    np.testing.assert_allclose(within, 0.5 * once.std**2, atol=1e-8)
    line = 0.5 * first.decompose(held)[2].mean + 0.2 * third.decompose(held)[0].mean
    np.testing.assert_allclose(model.decompose(held)[1].mean, line, atol=1e-10)


def test_seasons_are_parts_of_their_own_and_long_tails_widen(rng):
    t = np.arange(72.0)[:, None]
    y = 0.1 * t[:, 0] + np.sin(2 * np.pi * t[:, 0] / 12) + 0.1 * rng.standard_normal(72)
    kernels = [Linear() + Periodic(1.0, 12.0), 9.0 * Gaussian(30.0) + Periodic(1.0, 12.1) + Periodic(1.0, 5.0)]
    weights = np.array([[0.0, 0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0, 0.0]])
    model = StackedKernels(kernels, [0.01, 0.01], weights=weights).fit(t, y)
    parts = model.decompose(t)
    assert [len(part.kernels) for part in parts] == [2, 2, 1, 0] and "season of period 12" in parts[1].name
    wide = StackedKernels(kernels, [0.01, 0.01], weights=np.roll(weights, 1, axis=1)).fit(t, y).decompose(t)
    for one, other in zip(parts, wide, strict=True):  # deviations twice as large within, the means as they are
        np.testing.assert_allclose(one.mean, other.mean)
        assert (other.std > one.std).all()


def test_parts_of_texts():
    texts = ["abab", "baba", "aabb", "bbaa", "abba", "baab"]
    model = StackedKernels([Spectrum(1) + Spectrum(2), Spectrum(2)], [0.1, 0.1], weights=[1, 1])
    model.fit(texts, [text.count("ab") for text in texts])
    part, trend = model.decompose(texts)
    np.testing.assert_allclose(part.mean + trend.mean, model.predict(texts))
    assert len(part.kernels) == 3
