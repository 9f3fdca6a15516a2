"""Displays of Gaussian processes: computed once, drawn where asked, labelled."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian
from mercer.plots import EvidenceSurfaceDisplay, PosteriorDisplay


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 5, 30))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(30)


@pytest.fixture(scope="module")
def model(data):
    return GaussianProcessRegressor(1.0 * Gaussian(1.0), starts=1).fit(*data)


def test_bands_are_two_standard_deviations(model, data):
    display = PosteriorDisplay.from_estimator(model, data[0], n_samples=3)
    expected = model.posterior(display.grid[:, None])
    assert_allclose(display.mean, expected.mean)
    for band, std in ((display.latent_band_, expected.latent_std), (display.noisy_band_, expected.noisy_std)):
        y = band.get_paths()[0].vertices[:, 1]
        assert_allclose([y.min(), y.max()], [(expected.mean - 2 * std).min(), (expected.mean + 2 * std).max()])
    assert len(display.samples_) == 3
    x, y = display.points_.get_offsets().T
    assert_allclose(np.sort(x), data[0][:, 0])
    assert_allclose(y[np.argsort(x)], data[1])
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {"mean", "±2σ of f", "±2σ of a new y", "samples of f", "data, n = 30"} == set(words)


def test_the_prior_of_a_model_that_is_not_fitted(data):
    display = PosteriorDisplay.from_estimator(GaussianProcessRegressor(4.0 * Gaussian(1.0), 0.0), data[0], noisy=False)
    assert_allclose(display.latent_std, 2.0)
    assert display.noisy_band_ is None
    assert display.points_ is None
    assert "Prior" in display.ax_.get_title(loc="left")


def test_several_columns_targets_and_frames(data):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"time": data[0][:, 0], "size": np.linspace(0, 1, 30)})
    model = GaussianProcessRegressor(Gaussian([1.0, 1.0]), 0.1, criterion=None).fit(X, np.c_[data[1], data[1] ** 2])
    _, ax = plt.subplots()
    display = PosteriorDisplay.from_estimator(model, X, column=1, target=1, n_samples=2, ax=ax, y_name="power")
    assert display.ax_ is ax
    assert ax.get_xlabel() == "size"
    assert ax.get_ylabel() == "power"
    rows = pd.DataFrame({"time": np.full(300, X["time"].median()), "size": display.grid})
    assert_allclose(display.mean, model.predict(rows)[:, 1])
    with pytest.raises(ValueError, match="target"):
        PosteriorDisplay.from_estimator(model, X)
    given = PosteriorDisplay.from_estimator(model, X, data[1], target=0)
    assert len(given.points_.get_offsets()) == 30


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_both_libraries_and_a_column_by_name(data, library):
    frames = pytest.importorskip(library)
    X = frames.DataFrame({"speed": data[0][:, 0]})
    for kernel in (Gaussian(1.0), Gaussian(1.0).on("speed")):
        model = GaussianProcessRegressor(kernel, 0.1, criterion=None).fit(X, data[1])
        display = PosteriorDisplay.from_estimator(model, X)
        assert_allclose(display.mean, model.predict(frames.DataFrame({"speed": display.grid})))
        x, y = display.points_.get_offsets().T
        assert_allclose(x, data[0][:, 0])
        assert_allclose(y, data[1])
        assert display.ax_.get_xlabel() == "speed"


def test_a_surface_needs_a_fit_and_noise(data):
    with pytest.raises(NotFittedError):
        EvidenceSurfaceDisplay.from_estimator(GaussianProcessRegressor(Gaussian(1.0), 0.1))
    X, y = data[0][::5], data[1][::5]
    exact = GaussianProcessRegressor(Gaussian(0.5), 0.0, criterion=None).fit(X, y)
    with pytest.raises(ValueError, match="noise"):
        EvidenceSurfaceDisplay.from_estimator(exact, points=3)


def test_the_surface_is_the_evidence(model):
    display = EvidenceSurfaceDisplay.from_estimator(model, points=7)
    assert display.names == ("kernel__length_scale", "noise")
    theta = np.append(model.kernel_.theta, np.log(model.noise_))
    theta[[1, 2]] = np.log([display.first[2], display.second[4]])
    assert_allclose(display.values[4, 2], model.log_marginal_likelihood(theta))
    assert_allclose([display.first[3], display.second[3]], display.chosen)
    assert display.values.max() <= display.best + 0.01
    x = np.log(display.ellipse_.get_xdata() / display.chosen[0])
    assert_allclose(x.max(), model.hyper_std_["kernel__length_scale"], rtol=1e-3)


def test_terms_along_one_axis(model):
    display = EvidenceSurfaceDisplay.from_estimator(model, ("kernel__length_scale", "scale"), points=9, terms=True)
    total = display.lines_["log p(y)"].get_ydata()
    assert_allclose(total[4], model.log_marginal_likelihood_value_, rtol=1e-8)
    assert (np.diff(display.terms["complexity"]) > 0).all()  # longer scales, smaller volume
    with pytest.raises(ValueError, match="terms"):
        EvidenceSurfaceDisplay.from_estimator(model, points=3).plot_terms()


def test_bad_names_and_ranges(model):
    for bad in (("noise", "noise"), ("noise", "nothing"), ("noise",)):
        with pytest.raises(ValueError, match="names"):
            EvidenceSurfaceDisplay.from_estimator(model, bad)
    with pytest.raises(ValueError, match="ranges"):
        EvidenceSurfaceDisplay.from_estimator(model, ranges=((1.0, 0.5), (0.1, 1.0)))


def test_no_ellipse_where_nothing_was_learnt(data):
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None).fit(*data)
    assert EvidenceSurfaceDisplay.from_estimator(model, points=4).ellipse_ is None
