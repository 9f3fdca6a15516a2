"""Transforms of the target: their inverses, slopes and means; and which one the density of y chooses."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import GaussianProcessRegressor, KernelRidge, Landmarks, Neighbours, StackedKernels, TransformedTarget
from mercer.estimators.targets import KINDS
from mercer.exceptions import NotEnoughTime
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
SKEW = np.exp(RNG.standard_normal(200))


@pytest.fixture
def growing():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 4, (80, 1))
    return X, np.exp(X[:, 0] + 0.4 * rng.standard_normal(80))


@pytest.mark.parametrize("word", KINDS)
class TestTransforms:
    def test_there_and_back(self, word):
        target = KINDS[word].of(SKEW)
        np.testing.assert_allclose(target.back(target.forward(SKEW)), SKEW, rtol=1e-9)

    def test_slope(self, word):
        target, y = KINDS[word].of(SKEW), np.quantile(SKEW, [0.113, 0.417, 0.831])
        slope = (target.forward(y + 1e-6) - target.forward(y - 1e-6)) / 2e-6
        np.testing.assert_allclose(np.exp(target.log_slope(y)), slope, rtol=1e-4)

    def test_mean_is_not_that_of_the_middle(self, word):
        target = KINDS[word].of(SKEW)
        mean, std = np.array([0.2, -0.3]), np.array([0.5, 0.3])
        drawn = target.back(mean + std * np.random.default_rng(0).standard_normal((400_000, 2)))
        np.testing.assert_allclose(target.mean(mean, std), drawn.mean(axis=0), rtol=0.01)
        np.testing.assert_allclose(target.variance(mean, std), drawn.var(axis=0), rtol=0.03)

    def test_state(self, word):
        target = KINDS[word].of(SKEW)
        again = type(target).from_state(target.state())
        np.testing.assert_array_equal(again.forward(SKEW), target.forward(SKEW))


def test_the_density_of_y_chooses(growing):
    X, y = growing
    assert TransformedTarget().fit(X, y).target_.word == "log"
    rng = np.random.default_rng(2)
    plain = TransformedTarget().fit(X, 50.0 + X[:, 0] + rng.standard_normal(80))
    assert plain.target_.word == "none" and set(plain.tried_) == {"none", "log", "yeo-johnson"}


def test_the_density_integrates_to_one(growing):
    model = TransformedTarget(target="log").fit(*growing)
    grid = np.geomspace(1e-4, 1e5, 20_001)
    density = np.exp(model.log_density(np.full((len(grid), 1), 2.0), grid))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    "inner", [GaussianProcessRegressor(), KernelRidge(criterion="loo"), StackedKernels(time_budget=60)]
)
def test_means_and_intervals(growing, inner):
    X, y = growing
    model = TransformedTarget(inner, "log").fit(X, y)
    new = np.random.default_rng(5).uniform(0.2, 3.8, (2000, 1))
    truth = np.exp(new[:, 0] + 0.4 * np.random.default_rng(6).standard_normal(2000))
    assert model.predict(new).min() > 0
    mean = np.exp(new[:, 0] + 0.08)
    assert np.mean(model.predict(new) / mean) == pytest.approx(1.0, abs=0.12)
    ends = model.predict_interval(new, 0.9)
    assert (ends > 0).all() and 0.8 < np.mean((truth > ends[:, 0]) & (truth < ends[:, 1])) < 0.97


def test_intervals_are_mapped_exactly(growing):
    X, y = growing
    model, inner = TransformedTarget(target="log").fit(X, y), GaussianProcessRegressor().fit(X, np.log(y))
    np.testing.assert_allclose(model.predict_interval(X), np.exp(inner.predict_interval(X)))
    mean, std = inner.predict(X, return_std=True, noisy=True)
    np.testing.assert_allclose(model.log_density(X, y), norm.logpdf(np.log(y), mean, std) - np.log(y))


def test_a_mixture_stays_one(growing):
    X, y = growing
    kernels = {"kernel": [1.0 * Gaussian(1.0), 3.0 * Gaussian(0.3)], "lam": [0.1, 0.3]}
    model = TransformedTarget(StackedKernels(**kernels), "log").fit(X, y)
    inner = StackedKernels(**kernels).fit(X, np.log(y))
    np.testing.assert_allclose(model.log_density(X, y), inner.log_density(X, np.log(y)) - np.log(y))
    np.testing.assert_allclose(model.quantile(X, [0.05, 0.95]), model.predict_interval(X, 0.9))
    assert model.tried_["log"] == pytest.approx(len(y) * inner.left_out_density_ - np.log(y).sum())
    plain = TransformedTarget(target="log").fit(X, y)
    np.testing.assert_allclose(plain.quantile(X, [0.05, 0.95]), plain.predict_interval(X, 0.9))
    with pytest.raises(ValueError, match="levels"):
        plain.quantile(X, 1.5)


def test_files(tmp_path, growing):
    for word in ("log", "yeo-johnson"):
        model = TransformedTarget(target=word).fit(*growing)
        model.save(tmp_path / f"{word}.mercer")
        again = mercer.load(tmp_path / f"{word}.mercer")
        np.testing.assert_array_equal(again.predict(growing[0]), model.predict(growing[0]))


def test_bad_targets(growing):
    X, y = growing
    with pytest.raises(ValueError, match=r"needs y > 0.*yeo-johnson"):
        TransformedTarget(target="log").fit(X, y - 3.0)
    with pytest.raises(ValueError, match="target="):
        TransformedTarget(target="cube").fit(X, y)
    with pytest.raises(ValueError, match="one finite target"):
        TransformedTarget().fit(X, np.column_stack([y, y]))
    assert TransformedTarget().fit(X, y - 3.0).target_.word in ("none", "yeo-johnson")


def test_shares_stay_between_their_ends():
    X = np.linspace(-3, 3, 60)[:, None]
    y = 1 / (1 + np.exp(-(2 * X[:, 0] + 0.3 * np.random.default_rng(0).standard_normal(60))))
    model = TransformedTarget().fit(X, y)
    assert model.target_.word == "logit"
    found = model.predict_interval(np.linspace(-6, 6, 50)[:, None], 0.99)
    assert (found > 0).all() and (found < 1).all()


def test_deviations_of_every_kind(growing):
    X, y = growing
    model = TransformedTarget(target="log").fit(X, y)
    std = model.predict(X[:5], return_std=True)[1]
    np.testing.assert_allclose(np.sqrt(model.predict(X[:5], return_cov=True)[1].diagonal()), std, rtol=1e-6)
    assert (model.predict(X[:5], return_std=True, noisy=True)[1] > std).all()


@pytest.mark.parametrize("how", [Landmarks(64), Neighbours(32)], ids=["landmarks", "neighbours"])
def test_a_transform_is_chosen_where_the_model_is_an_approximation(how, rng):
    X = rng.uniform(0.0, 3.0, (300, 2))
    y = np.exp(np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(300))
    inner = GaussianProcessRegressor(Gaussian(1.0), 0.01, criterion=None, approximation=how)
    assert TransformedTarget(inner).fit(X, y).target_.word == "log"


class TestWeights:
    def test_rows_of_weight_0_choose_nothing(self, growing):
        X, y = growing
        more, wrong = np.vstack([X, [[1.0], [2.0]]]), np.append(y, [-5.0, 1e6])  # a negative one would rule out the log
        weight = np.append(np.ones(len(y)), [0.0, 0.0])
        model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None)
        one, other = TransformedTarget(model).fit(X, y), TransformedTarget(model).fit(more, wrong, weight)
        assert other.target_.word == one.target_.word == "log"
        for word, density in one.tried_.items():
            assert other.tried_[word] == pytest.approx(density, rel=1e-9)

    @pytest.mark.parametrize(
        "model", [StackedKernels([Gaussian(1.0)], [0.1]), GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None)]
    )
    def test_a_weight_of_two_is_two_rows(self, growing, model):
        X, y = growing
        twice = np.arange(len(y)) % 2 + 1
        one = TransformedTarget(model, "log").fit(np.repeat(X, twice, axis=0), np.repeat(y, twice))
        other = TransformedTarget(model, "log").fit(X, y, twice)
        apart, together = one.tried_["log"] / twice.sum(), other.tried_["log"] / twice.sum()
        assert abs(apart - together) < 0.1  # the copies of a row that is left out stay, or go with it


def test_a_target_that_cannot_be_has_no_density(growing):
    X, y = growing
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None)
    log = TransformedTarget(model, "log").fit(X, y)
    found = log.log_density(X[:3], [1.0, 0.0, -2.0])
    assert np.isfinite(found[0]) and (found[1:] == -np.inf).all()
    share = TransformedTarget(model, "logit").fit(X, 1.0 / (1.0 + y))
    assert (share.log_density(X[:2], [0.0, 1.5]) == -np.inf).all()


def test_ranks_of_targets_that_are_nearly_all_alike():
    with pytest.raises(
        ValueError, match="nearly all alike: of 100, with 3 different values, the quantiles take only 2"
    ):
        KINDS["rank"].of(np.array([0.0] * 98 + [1.0, 2.0]))


def test_a_transform_that_there_is_no_time_for_is_named(growing, monkeypatch):
    """The second fit was refused for want of time, and the first one was lost."""
    X, y = growing
    fits, plain = [], GaussianProcessRegressor.fit

    def fit(self, *arguments):
        fits.append(1)
        if len(fits) > 1:
            raise NotEnoughTime("too long")
        return plain(self, *arguments)

    monkeypatch.setattr(GaussianProcessRegressor, "fit", fit)
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None, time_budget=5.0)
    with pytest.warns(ConvergenceWarning, match="'log', 'yeo-johnson'"):
        assert TransformedTarget(model).fit(X, y).target_.word == "none"
