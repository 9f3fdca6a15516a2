"""GaussianProcessRegressor(approximation=Neighbours()): learning, calibration, rows that join and leave, bad input."""

import numpy as np
import pytest

import mercer
from mercer import Fourier, GaussianProcessRegressor, Landmarks, Neighbours
from mercer._clock import Clock
from mercer.approximate.neighbours_left_out import enough_neighbours
from mercer.approximate.neighbours_state import NeighbourState
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.inference.neighbours import NeighbourPosterior
from mercer.kernels import Exponential, Gaussian, Matern32, Precomputed, Spectrum
from mercer.selection import LOO, Evidence


def problem(rng, n):
    X = rng.uniform(0, 6, (n, 2))
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.standard_normal(n)


def fixed(k=16, **options):
    return GaussianProcessRegressor(Matern32(1.0), 0.01, criterion=None, approximation=Neighbours(k), **options)


@pytest.fixture(scope="module")
def learnt():
    X, y = problem(np.random.default_rng(0), 1500)
    return X, y, GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Neighbours(24), starts=1).fit(X, y)


def test_learns_predicts_and_says_how_well(learnt, rng):
    X, y, model = learnt
    assert 0.008 < model.lam_ < 0.012
    Z, target = problem(rng.spawn(1)[0], 1000)  # the generator itself would give the inputs of the fit once more
    mean, std = model.predict(Z, return_std=True, noisy=True)
    assert np.sqrt(np.mean((target - mean) ** 2)) < 0.115
    assert 0.87 < np.mean(np.abs(target - mean) < 1.645 * std) < 0.93
    said = model.fit_report_["approximation"]
    assert said["verdict"] == "calibrated" and abs(said["mean_square"] - 1) < 1e-9 and said["k"] == 24
    assert "of 1500 rows left out" in said["words"] and "from 12" in said["words"]
    latent = model.predict(Z, return_std=True)[1]
    np.testing.assert_allclose(std**2 - latent**2, model.noise_, rtol=1e-10)
    ends = model.predict_interval(Z, 0.8)
    np.testing.assert_array_equal(ends, model.predict_interval(Z, 0.8, method="conformal", normalise=True))
    assert 0.76 < np.mean((ends[:, 0] <= target) & (target <= ends[:, 1])) < 0.84


def test_the_same_bits_twice_and_after_a_file(learnt, tmp_path):
    X, y, model = learnt
    again = GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Neighbours(24), starts=1).fit(X, y)
    expected = model.predict(X[:50], return_std=True)
    model.save(tmp_path / "model")
    for other in (again, mercer.load(tmp_path / "model")):
        for one, two in zip(other.predict(X[:50], return_std=True), expected, strict=True):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(other.loo_residuals_, model.loo_residuals_)


def test_the_plan_is_what_was_done(learnt):
    X, y, model = learnt
    plan = mercer.plan(GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Neighbours(24), starts=1), X, y)
    assert plan == model.plan_ and plan.neighbours == 24 and "24 nearest" in str(plan)


def test_left_out_density_as_criterion(rng):
    X, y = problem(rng, 700)
    model = GaussianProcessRegressor(1.0 * Matern32(1.0), criterion="loo", approximation=Neighbours(12), starts=1)
    assert 0.007 < model.fit(X, y).lam_ < 0.013
    with pytest.raises(ValueError, match='criterion="evidence", "loo" or None'):
        GaussianProcessRegressor(criterion=LOO("squared"), approximation=Neighbours()).fit(X, y)


def test_few_rows_are_the_exact_fit(rng):
    X, y = problem(rng, 60)
    exact, near = (
        GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=how, random_state=0).fit(X, y)
        for how in (None, Neighbours(100, recalibrate=False))
    )
    for one, two in zip(near.predict(X, return_std=True), exact.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-8)
    np.testing.assert_allclose(near.log_marginal_likelihood_value_, exact.log_marginal_likelihood_value_, rtol=1e-8)
    np.testing.assert_allclose(near.trend_coef_, exact.trend_coef_, rtol=1e-6)


def test_noise_of_each_row_weights_and_copies(rng):
    X, y = problem(rng, 80)
    X[40:] = X[:40]
    noise, weight = rng.uniform(0.01, 0.1, 80), rng.uniform(0.5, 2.0, 80)
    weight[3] = 0.0
    exact, near = (
        GaussianProcessRegressor(Matern32(1.0), noise, criterion=None, approximation=how).fit(X, y, weight)
        for how in (None, Neighbours(200))
    )
    assert near.fit_report_["merged_rows"] == 39
    for name in ("noise_", "row_lam_", "row_weight_", "trend_coef_"):
        np.testing.assert_allclose(getattr(near, name), getattr(exact, name), rtol=1e-9)
    np.testing.assert_allclose(near.predict(X), exact.predict(X), atol=1e-9)
    np.testing.assert_allclose(near.log_marginal_likelihood_value_, exact.log_marginal_likelihood_value_, rtol=1e-9)


def test_rows_join_and_leave(rng):
    X, y = problem(rng, 300)
    grown = fixed().fit(X[:200], y[:200]).update(X[200:], y[200:])
    np.testing.assert_array_equal(grown.predict(X), fixed().fit(X, y).predict(X))
    keep = np.delete(np.arange(300), np.arange(50, 90))
    grown.forget(np.arange(50, 90))
    np.testing.assert_array_equal(grown.predict(X), fixed().fit(X[keep], y[keep]).predict(X))
    assert grown.fit_report_["rows"] == 260 and grown.fit_report_["updates"] == 2


def test_several_targets_and_strings(rng):
    X, y = problem(rng, 200)
    both = fixed().fit(X, np.column_stack([y, -2 * y]))
    mean = both.predict(X)
    assert mean.shape == (200, 2) and both.loo_residuals_.shape == (200, 2)
    np.testing.assert_allclose(mean[:, 0], fixed().fit(X, y).predict(X), atol=1e-10)
    words = ["".join(rng.choice(list("ab"), 12)) for _ in range(80)]
    share = np.array([word.count("ab") for word in words], dtype=float)
    model = GaussianProcessRegressor(Spectrum(2), 0.1, criterion=None, approximation=Neighbours(20)).fit(words, share)
    assert np.corrcoef(model.predict(words), share)[0, 1] > 0.95


def test_what_neighbours_do_not_have_is_refused(learnt):
    X, _, model = learnt
    asked = [lambda: model.predict(X, return_cov=True), lambda: model.sample(X), lambda: model.decompose(X)]
    asked += [lambda: model.derivative(X), model.influence, lambda: model.hyper_std_, model.evidence_terms]
    for ask in asked:
        with pytest.raises(ValueError, match="approximation=None"):
            ask()


def test_a_matrix_that_was_computed_has_no_neighbours(rng):
    model = GaussianProcessRegressor(Precomputed(), 0.1, criterion=None, approximation=Neighbours(5))
    with pytest.raises(ValueError, match="new rows have no neighbours"):
        model.fit(np.eye(20), rng.standard_normal(20))


# ---------------------------------------------------------------------------------------------- gaps and bad input
def test_landmarks_carry_a_gap(rng):
    x = rng.uniform(0, 12, (3000, 1))
    x = x[(x[:, 0] < 5) | (x[:, 0] > 7)]
    y, gap = np.sin(x[:, 0]) + 0.05 * rng.standard_normal(len(x)), np.linspace(5.2, 6.8, 30)[:, None]
    options = {"kernel": Gaussian(1.5), "noise": 0.0025, "criterion": None}
    error = {}
    for m in (None, 40):
        model = GaussianProcessRegressor(approximation=Neighbours(16, landmarks=m), **options).fit(x, y)
        mean, std = model.predict(gap, return_std=True)
        error[m] = np.abs(mean - np.sin(gap[:, 0])).max()
        assert np.all(np.abs(mean - np.sin(gap[:, 0])) < 4 * std + 1e-3)
    assert error[40] < 0.5 * error[None]
    assert model.fit_report_["approximation"]["landmarks"] == len(model.neighbours_.posterior.points)


def test_a_gap_as_large_as_the_map_gives_the_prior_back(rng):
    X, y = problem(rng, 400)
    far = X + 1e4
    for m in (None, 20):
        model = fixed().set_params(approximation=Neighbours(16, landmarks=m)).fit(X, y)
        mean, std = model.predict(far, return_std=True)
        np.testing.assert_allclose(mean, model.intercept_, atol=1e-8)
        assert (std > 1.0).all() and (std < 1.1).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bad_input(rng):
    X, y = problem(rng, 50)
    assert np.isfinite(fixed(500).fit(X, y).predict(X)).all()  # k > n
    assert np.isfinite(fixed(1).fit(X[:1], y[:1]).predict(X)).all()
    same = np.tile(X[:1], (50, 1))  # all neighbours equal, merged and not
    for merge in (True, False):
        model = fixed(60, merge=merge).fit(same, y)
        np.testing.assert_allclose(model.predict(same[:1]), y.mean(), atol=0.05)
    X[:, 1] = 3.0  # one column constant
    model = GaussianProcessRegressor(1.0 * Exponential([1.0, 1.0]), approximation=Neighbours(8)).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    for wrong in (0, 2.5, True, "many"):
        with pytest.raises(ValueError, match='k must be a whole number >= 1 or "auto"'):
            fixed(wrong).fit(X, y)
    with pytest.raises(ValueError, match="m must be a whole number"):
        fixed().set_params(approximation=Neighbours(8, landmarks=-1)).fit(X, y)


def test_interpolation_without_noise(rng):
    X, y = problem(rng, 200)
    model = fixed().set_params(noise=0.0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=1e-7)
    assert std.max() < 1e-6


def test_auto_takes_neighbours_where_the_exact_fit_is_too_long():
    model = GaussianProcessRegressor()
    near, wide = mercer.plan(model, n=200_000, d=5), mercer.plan(model, n=200_000, d=60)
    assert near.neighbours == 64 and not near.landmarks and "neighbours are near" in " ".join(near.reasons)
    assert wide.landmarks and not wide.neighbours
    assert mercer.plan(GaussianProcessRegressor(approximation=Landmarks(100)), n=200_000, d=5).landmarks == 100


@pytest.mark.parametrize("landmarks", [None, 20])
def test_recalibration_leaves_rows_left_out_as_they_would_be_again(rng, landmarks):
    X = rng.uniform(0, 10, (300, 2))
    rows = Rows(X, np.sin(X[:, :1]) + 0.2 * rng.standard_normal((300, 1)), trend=constant)
    basis = None if landmarks is None else (X[:landmarks], np.linalg.cholesky(Matern32(2.0)(X[:landmarks])))
    f = NeighbourPosterior.fit(1.0 * Matern32(2.0), rows, 0.04, 20, 0, Evidence(), basis)
    options = {"flat": True, "precisions": False, "how": Neighbours(), "plan": None}
    there = NeighbourState.of(f, 0, **options).rescaled(f.rescaled(2.5 * Matern32(2.0), 2.5), 2.5)
    basis = None if basis is None else (basis[0], basis[1] * np.sqrt(2.5))
    once_more = NeighbourPosterior.fit(2.5 * Matern32(2.0), rows, 0.1, 20, 0, Evidence(), basis)
    again = NeighbourState.of(once_more, 0, **options)
    np.testing.assert_allclose(there.residuals, again.residuals, atol=1e-9)
    np.testing.assert_allclose(there.variance, again.variance, rtol=1e-9)
    assert there.certificate["log_density_of_half"] == pytest.approx(again.certificate["log_density_of_half"], abs=1e-9)
    new = rng.uniform(0, 10, (5, 2))
    for a, b in zip(there.posterior.moments(new), again.posterior.moments(new), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_intervals_hold_what_they_say_where_errors_have_heavy_tails(rng):
    X, Z = rng.uniform(0, 6, (6000, 1)), rng.uniform(0, 6, (6000, 1))
    y, target = (np.sin(P[:, 0]) + 0.1 * rng.standard_t(2.5, len(P)) for P in (X, Z))
    model = GaussianProcessRegressor(Matern32(1.0), 0.05, criterion=None, approximation=Neighbours(16)).fit(X, y)

    def inside(ends):
        return np.mean((ends[:, 0] <= target) & (target <= ends[:, 1]))

    assert inside(model.predict_interval(Z, 0.9, method="gaussian")) > 0.925  # a deviation of few large errors
    for coverage in (0.5, 0.9, 0.99):
        assert abs(inside(model.predict_interval(Z, coverage)) - coverage) < 0.025
    mean, std = model.predict(Z[:5], return_std=True)
    latent, rare = model.predict_interval(Z[:5], noisy=False), model.predict_interval(Z[:5], 0.99999)
    np.testing.assert_allclose(latent[:, 1] - mean, 1.6448536 * std, rtol=1e-6)
    np.testing.assert_array_equal(rare, model.predict_interval(Z[:5], 0.99999, method="gaussian"))  # of 6 000 rows


@pytest.mark.parametrize("how", [Neighbours(300), Fourier(1e-8)], ids=["neighbours", "fourier"])
def test_of_several_copies_one_is_left_out_and_the_others_stay(rng, how):
    X = rng.uniform(0, 6, (40, 1))[rng.integers(0, 40, 90)]
    y, weight = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(90), rng.uniform(0.5, 2.0, 90)
    weight[7] = 0.0
    options = {"kernel": 2.0 * Gaussian(1.5), "noise": 0.09, "criterion": None, "trend": None}
    exact, near = (
        GaussianProcessRegressor(**options, approximation=one).fit(X, y, sample_weight=weight) for one in (None, how)
    )
    np.testing.assert_allclose(near.loo_residuals_, exact.loo_residuals_, atol=1e-5)
    kept, std = near.neighbours_, exact.left_out().std
    np.testing.assert_allclose(np.sqrt(kept.variance), std[kept.index], rtol=1e-4)


@pytest.mark.parametrize(("trend", "landmarks"), [("linear", None), ("constant", 15)])
def test_a_row_left_out_says_nothing_of_what_all_rows_share(rng, trend, landmarks):
    X, y = problem(rng, 60)
    options = {"criterion": None, "trend": trend}
    exact, near = (
        GaussianProcessRegressor(Matern32(1.0), 0.01, approximation=how, **options).fit(X, y)
        for how in (None, Neighbours(100, landmarks=landmarks))
    )
    np.testing.assert_allclose(near.loo_residuals_, exact.loo_residuals_, rtol=1e-7)
    np.testing.assert_allclose(near.loo_std_, exact.loo_std_, rtol=1e-7)


def test_copies_without_noise_are_those_of_the_exact_process(rng):
    X, y = problem(rng, 60)
    X[40:] = X[:20]
    with pytest.raises(ValueError, match="20 inputs come with more than one target"):
        GaussianProcessRegressor(Matern32(1.0), 0.0, criterion=None, approximation=Neighbours(8)).fit(X, y)
    y[40:] = y[:20]
    exact, near = (
        GaussianProcessRegressor(Matern32(1.0), 0.0, criterion=None, approximation=how).fit(X, y)
        for how in (None, Neighbours(100))
    )
    np.testing.assert_allclose(near.predict(X + 0.1), exact.predict(X + 0.1), rtol=1e-7)
    np.testing.assert_allclose(near.log_marginal_likelihood_value_, exact.log_marginal_likelihood_value_, rtol=1e-8)


def test_intervals_of_new_rows_know_their_weight(rng):
    X, y = problem(rng, 200)
    for how in (Neighbours(16), Landmarks(150)):
        model = GaussianProcessRegressor(Matern32(1.0), 0.5, criterion=None, approximation=how).fit(X, y)
        own = {"method": "conformal", "normalise": True}
        one, many = (np.ptp(model.predict_interval(X[:5], sample_weight=w, **own), axis=1) for w in (1.0, 1e9))
        _, std = model.predict(X[:5], return_std=True)
        np.testing.assert_allclose(many / one, std / np.sqrt(std**2 + model.noise_), rtol=1e-5)
        np.testing.assert_array_equal(one, np.ptp(model.predict_interval(X[:5], **own), axis=1))


def test_neighbours_are_doubled_while_rows_left_out_gain(rng):
    X = rng.uniform(0, 6, (600, 2))
    fits = {}
    for noise in (1e-6, 0.25):
        y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + np.sqrt(noise) * rng.standard_normal(600)
        options = {"criterion": None, "approximation": Neighbours()}
        fits[noise] = GaussianProcessRegressor(Gaussian(1.0), noise, **options).fit(X, y)
    said = fits[1e-6].fit_report_["approximation"]
    assert said["k"] > 64 and [k for k, _ in said["tried"]][:2] == [64, 128]
    assert said["tried"][1][1] > said["tried"][0][1] + 0.02 and "Neighbours tried" in said["words"]
    assert said["log_density"] == pytest.approx(
        dict(map(tuple, said["tried"]))[said["k"]], abs=0.01
    )  # but for the trend
    assert fits[0.25].fit_report_["approximation"]["k"] == 64
    assert fixed().fit(X, y).fit_report_["approximation"]["tried"] == []  # a k that is given is not tried


def test_no_more_neighbours_than_there_is_time_for():
    class Spent(Clock):
        def fits(self, seconds):
            return False

    assert enough_neighbours(lambda k: np.full(3, -1.0 / k), 8, 64, Spent()) == (8, [[8, -0.125]])


def test_few_inputs_do_not_copy_all_rows(rng, monkeypatch):
    copied = []
    monkeypatch.setattr("mercer.inference.neighbours.join", lambda X, Z: copied.append(len(X)) or np.vstack([X, Z]))
    X = rng.uniform(0, 10, (900, 2))
    options = {"criterion": None, "approximation": Neighbours(8)}
    model = GaussianProcessRegressor(Matern32(2.0), 0.1, **options).fit(X, np.sin(X[:, 0]))
    model.predict(X[:3])
    assert max(copied) <= 24
