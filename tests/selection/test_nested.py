"""Nested cross-validation: the double loop written out, what it must never do, and what it says."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.kernel_ridge import KernelRidge as SklearnRidge
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer, mean_absolute_error, r2_score
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.model_selection import GroupKFold as SklearnGroupKFold
from sklearn.model_selection import KFold as SklearnKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian, Matern32, Precomputed
from mercer.selection import LOO, Discrepancy, GroupKFold, KFold, nested_cv
from mercer.selection._folded import stored_kernels
from mercer.selection.row_kernel import RowKernel, row_kernels

# A few dozen rows may well ask for a λ at the end of its range; what is said then is tested with the search.
edges = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def smooth(rng, n=40):
    X = rng.uniform(size=(n, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)


def lam_only(kernel, criterion=None, **more):
    return KernelRidge(kernel, criterion=criterion, optimize="lam", **more)


# -------------------------------------------------------------------------------------- the double loop
def test_algorithm_1_written_out(rng):
    """Inner folds 1..F−1 by refits, λ by a fine grid and Brent's method, outer score: all with scikit-learn's ridge."""
    X, y = smooth(rng)
    gamma, F = 1 / (2 * 0.4**2), 4
    splits = list(SklearnKFold(F, shuffle=True, random_state=0).split(X))
    result = nested_cv(lam_only(Gaussian(0.4), KFold(F - 1, shuffle=False), trend=None), X, y, outer=F)
    for (train, test), score, choice in zip(splits, result.scores, result.choices, strict=True):

        def error(log_lam, rows=train):
            total = 0.0
            for a, b in SklearnKFold(F - 1).split(rows):
                model = SklearnRidge(kernel="rbf", gamma=gamma, alpha=np.exp(log_lam)).fit(X[rows[a]], y[rows[a]])
                total += np.sum((y[rows[b]] - model.predict(X[rows[b]])) ** 2)
            return total

        grid = np.linspace(np.log(1e-6), np.log(10), 60)
        i = int(np.argmin([error(z) for z in grid]))
        best = minimize_scalar(error, bounds=(grid[i - 1], grid[i + 1]), method="bounded", options={"xatol": 1e-6})
        model = SklearnRidge(kernel="rbf", gamma=gamma, alpha=np.exp(best.x)).fit(X[train], y[train])
        assert choice["lam"] == pytest.approx(np.exp(best.x), rel=1e-3)
        assert score == pytest.approx(r2_score(y[test], model.predict(X[test])), abs=1e-5)
        np.testing.assert_allclose(result.predictions[test], model.predict(X[test]), atol=1e-4)
    assert result.mean == pytest.approx(result.scores.mean())
    off = sum(np.sum((y[test] - y[train].mean()) ** 2) for train, test in splits)
    assert result.score == pytest.approx(1 - np.sum((y - result.predictions) ** 2) / off)


def test_a_grid_search_of_scikit_learn_written_out(rng):
    X, y = smooth(rng)
    grid = {"alpha": [0.01, 0.1, 1.0], "gamma": [0.3, 3.0, 30.0]}
    splits = list(SklearnKFold(5, shuffle=True, random_state=3).split(X))
    expected, chosen = [], []
    for train, test in splits:
        scores = {}
        for alpha in grid["alpha"]:
            for gamma in grid["gamma"]:
                model = SklearnRidge(kernel="rbf", alpha=alpha, gamma=gamma)
                scores[alpha, gamma] = np.mean(
                    [model.fit(X[train[a]], y[train[a]]).score(X[train[b]], y[train[b]])
                     for a, b in SklearnKFold(4).split(train)]
                )  # fmt: skip
        alpha, gamma = max(scores, key=scores.get)
        chosen.append({"alpha": alpha, "gamma": gamma})
        model = SklearnRidge(kernel="rbf", alpha=alpha, gamma=gamma).fit(X[train], y[train])
        expected.append(model.score(X[test], y[test]))
    search = GridSearchCV(SklearnRidge(kernel="rbf"), grid, cv=4)
    result = nested_cv(search, X, y, random_state=3)
    np.testing.assert_allclose(result.scores, expected, rtol=1e-12)
    assert result.choices == chosen
    best = search.fit(X, y).best_estimator_
    plain = cross_val_score(best, X, y, cv=SklearnKFold(5, shuffle=True, random_state=3))
    np.testing.assert_allclose(result.plain_scores, plain, rtol=1e-12)
    assert (result.optimism == 0) == np.allclose(plain, expected)


@edges
@pytest.mark.parametrize(
    "model",
    [
        lam_only(Gaussian(0.4), LOO()),
        lam_only([Gaussian(0.4), Matern32(1.0), Gaussian(0.05)], KFold(3)),
        KernelRidge(Gaussian(0.4), criterion=LOO()),
        KernelRidge(criterion=LOO(), optimize="lam"),
        make_pipeline(StandardScaler(), lam_only(Gaussian(1.0), LOO())),
    ],
    ids=["lam", "list of kernels", "theta and lam", "default kernel", "pipeline"],
)
def test_cross_val_score_gives_the_same(model, rng):
    X, y = smooth(rng)
    folds = SklearnKFold(2, shuffle=True, random_state=0)
    result = nested_cv(model, X, y, outer=2)
    np.testing.assert_allclose(result.scores, cross_val_score(model, X, y, cv=folds), rtol=1e-6)
    assert result.optimism == pytest.approx(result.plain_score - result.score)
    assert set(result.choice) == {"kernel", "lam"}


# ------------------------------------------------------------------------------------------- R² of all rows
def test_r2_of_folds_of_two_rows_is_that_of_all_rows_together():
    """Two rows that happen to be alike have R² −10⁶ of their own: no mean over folds may be told."""
    X = np.arange(12.0)[:, None]
    y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0])
    y += 0.01 * np.cos(np.arange(12.0))
    folds = [(np.delete(np.arange(12), [i, i + 1]), np.array([i, i + 1])) for i in range(0, 12, 2)]
    near = y.copy()
    near[[0, 1]] = 0.5, 0.5 + 1e-6  # R² of this fold has next to nothing below the line
    found = nested_cv(KernelRidge(Gaussian(3.0), 0.01), X, near, outer=folds, baselines=True)
    assert found.mean < -1e6 and 0.9 < found.score < 1 and 0 < found.standard_error < 0.1
    simple = {one["name"]: one["score"] for one in found.baselines}
    assert simple["mean"] == 0.0 and 0.9 < simple["linear model"] <= 1
    e = found.residuals
    spread = sum(np.sum((near[test] - near[train].mean()) ** 2) for train, test in folds)
    assert found.score == pytest.approx(1 - np.sum(e**2) / spread)


def test_weights_of_the_pooled_r2_are_repeated_rows(rng):
    X, y = smooth(rng, 20)
    w = rng.integers(1, 4, 20)
    folds = [np.arange(k, 20, 4) for k in range(4)]
    many, at = np.repeat(np.arange(20), w), np.repeat(np.arange(20) % 4, w)
    model = KernelRidge(Gaussian(0.4), 0.1)
    one = nested_cv(model, X, y, outer=[(np.setdiff1d(np.arange(20), t), t) for t in folds], sample_weight=w)
    each = [(np.flatnonzero(at != k), np.flatnonzero(at == k)) for k in range(4)]
    assert one.score == pytest.approx(nested_cv(model, X[many], y[many], outer=each).score)


def test_of_several_targets_the_pooled_r2_is_their_mean(rng):
    X, y = smooth(rng)
    Y, model = np.column_stack([y, y[::-1]]), KernelRidge(Gaussian(0.4), 0.1)
    each = [nested_cv(model, X, column, outer=4).score for column in Y.T]
    assert nested_cv(model, X, Y, outer=4).score == pytest.approx(np.mean(each))


def test_other_scores_are_means_over_folds(rng):
    X, y = smooth(rng)
    found = nested_cv(KernelRidge(Gaussian(0.4), 0.1), X, y, outer=4, scoring="neg_mean_absolute_error")
    assert found.score == found.mean == pytest.approx(found.scores.mean())
    assert found.standard_error == pytest.approx(found.scores.std(ddof=1) / 2)


# --------------------------------------------------------------------------------------- one K for all folds
def test_the_noise_of_equal_rows_is_found_in_the_double_loop_too(rng):
    X, y = smooth(rng, 20)
    X, y = np.repeat(X, 6, axis=0), np.repeat(y, 6) + 0.3 * rng.standard_normal(120)
    model, folds = lam_only(Gaussian(0.4), Discrepancy()), SklearnKFold(2, shuffle=True, random_state=0)
    scores = cross_val_score(model, X, y, cv=folds)
    np.testing.assert_allclose(nested_cv(model, X, y, outer=2).scores, scores, rtol=1e-9)
    assert stored_kernels(lam_only(Gaussian(0.4), Discrepancy(0.3)), X, None) is not None  # nothing to look for


def test_k_is_evaluated_once(rng):
    calls = []

    class Counted(Gaussian):
        def __call__(self, X, Z=None):
            calls.append(len(X))
            return super().__call__(X, Z)

    X, y = smooth(rng)
    result = nested_cv(lam_only(Counted(0.4), LOO()), X, y, outer=3)
    assert calls == [40]
    assert result.gram_reused
    assert all(type(choice["kernel"]) is Counted for choice in [*result.choices, result.choice])


@edges
@pytest.mark.parametrize("weighted", [False, True])
def test_with_and_without_a_stored_matrix(weighted, rng, monkeypatch):
    X, y = smooth(rng)
    weight = rng.integers(0, 3, 40).astype(float) if weighted else None
    model = lam_only([Gaussian(0.4), Matern32(1.0)], LOO())
    fast = nested_cv(model, X, y, outer=2, sample_weight=weight)
    monkeypatch.setitem(stored_kernels.__globals__, "row_kernels", lambda kernels, X: None)
    slow = nested_cv(model, X, y, outer=2, sample_weight=weight)
    assert (fast.gram_reused, slow.gram_reused) == (True, False)
    np.testing.assert_allclose(fast.scores, slow.scores, rtol=1e-6)
    np.testing.assert_allclose(fast.plain_scores, slow.plain_scores, rtol=1e-6)
    np.testing.assert_allclose(fast.predictions, slow.predictions, rtol=1e-5)
    assert [c["kernel"] for c in fast.choices] == [c["kernel"] for c in slow.choices]


def test_weights_reach_fit_and_score(rng):
    X, y = smooth(rng)
    weight = rng.uniform(0.1, 3.0, 40)
    for model in (SklearnRidge(kernel="rbf"), make_pipeline(StandardScaler(), SklearnRidge(kernel="rbf"))):
        result = nested_cv(model, X, y, sample_weight=weight)
        key = "sample_weight" if isinstance(model, SklearnRidge) else "kernelridge__sample_weight"
        for (train, test), score in zip(result.folds, result.scores, strict=True):
            model.fit(X[train], y[train], **{key: weight[train]})
            assert score == pytest.approx(r2_score(y[test], model.predict(X[test]), sample_weight=weight[test]))


@edges
def test_when_k_cannot_be_stored(rng, monkeypatch):
    X, y = smooth(rng)
    assert not nested_cv(KernelRidge(Gaussian(0.4), criterion=LOO()), X[:20], y[:20], outer=2).gram_reused  # θ moves
    assert not nested_cv(KernelRidge(lam=0.1), X, y, outer=2).gram_reused  # length scales of each fold's rows
    looks = nested_cv(lam_only(Gaussian(0.4)), X, y, outer=2, scoring=lambda model, X, y: float(X.shape[1]))
    assert not looks.gram_reused
    np.testing.assert_array_equal(looks.scores, 2.0)
    assert row_kernels([Gaussian()], [["a"], ["b"]]) is None
    monkeypatch.setattr("mercer._machine.SMALL", 0)
    monkeypatch.setattr("mercer._machine.within", lambda limit=None: type("M", (), {"bytes": 1000})())
    assert row_kernels([Gaussian()], X) is None


def test_a_precomputed_matrix_is_split_on_both_sides(rng):
    X, y = smooth(rng)
    K = Gaussian(0.4)(X)
    expected = nested_cv(lam_only(Gaussian(0.4), LOO()), X, y, outer=2)
    np.testing.assert_allclose(
        nested_cv(lam_only(Precomputed(), LOO()), K, y, outer=2).scores, expected.scores, rtol=1e-8
    )
    search = GridSearchCV(SklearnRidge(kernel="precomputed"), {"alpha": [0.1, 1.0]})
    other = GridSearchCV(SklearnRidge(kernel="rbf", gamma=1 / (2 * 0.4**2)), {"alpha": [0.1, 1.0]})
    np.testing.assert_allclose(nested_cv(search, K, y).scores, nested_cv(other, X, y).scores)


def test_stored_is_the_kernel_on_row_numbers(rng):
    X, _ = smooth(rng, 6)
    kernel = row_kernels([Gaussian(0.4)], X)[0]
    np.testing.assert_array_equal(kernel([1, 3], [0, 2, 5]), kernel.matrix[np.ix_([1, 3], [0, 2, 5])])
    np.testing.assert_array_equal(kernel.diag([1, 1]), [1.0, 1.0])
    assert isinstance(kernel, RowKernel)
    assert repr(kernel) == "Gaussian(0.4)"


# ------------------------------------------------------------------------------------------------ optimism
@edges
def test_choosing_on_the_rows_that_judge_is_optimistic_on_noise():
    gains = []
    kernels = [Gaussian(ell) for ell in (0.1, 0.5)]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(size=(25, 2)), rng.standard_normal(25)
        gains.append(nested_cv(lam_only(kernels, LOO()), X, y, outer=3, scoring="neg_mean_squared_error").optimism)
    assert np.mean(gains) > 0


def test_no_choice_no_optimism(rng):
    X, y = smooth(rng)
    result = nested_cv(KernelRidge(Gaussian(0.4), lam=0.1), X, y)
    assert result.optimism == 0.0
    assert result.optimism_error == 0.0


def test_an_estimator_that_does_not_say_what_it_chose(rng):
    X, y = smooth(rng)
    result = nested_cv(LinearRegression(), X, y)
    assert np.isnan(result.optimism)
    assert "unknown" in str(result)
    assert result.choices == [{}] * 5


# ------------------------------------------------------------------------------------------------ the folds
def test_groups_are_never_split(rng):
    X, y = smooth(rng)
    groups = np.repeat(np.arange(10), 4)
    rng.shuffle(groups)
    model = lam_only(Gaussian(0.4))
    seen = []

    class Spy(GroupKFold):
        def folds(self, n):
            seen.append(np.asarray(self.groups))
            return super().folds(n)

    result = nested_cv(model, X, y, outer=2, groups=groups, inner=Spy(groups, n_splits=3))
    for train, test in result.folds:
        assert not set(groups[train]) & set(groups[test])
        assert any(np.array_equal(groups[train], inner) for inner in seen)
    given = nested_cv(model, X, y, groups=groups, inner=GroupKFold(groups, n_splits=3), outer=SklearnGroupKFold(2))
    np.testing.assert_allclose(given.scores, result.scores)


def test_time_is_never_turned_back(rng):
    X = np.linspace(0, 4, 60)[:, None]
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    result = nested_cv(lam_only(Gaussian(0.5), LOO()), X, y, outer=TimeSeriesSplit(4), scoring="neg_mean_squared_error")
    assert all(train.max() < test.min() for train, test in result.folds)
    assert np.isnan(result.predictions[:12]).all()
    assert np.isfinite(result.predictions[12:]).all()


def test_repeated_folds_average_predictions(rng):
    X, y = smooth(rng)
    model = KernelRidge(Gaussian(0.4), lam=0.1)
    result = nested_cv(model, X, y, outer=RepeatedKFold(n_splits=2, n_repeats=3, random_state=0))
    assert len(result.scores) == 6
    row = [model.fit(X[a], y[a]).predict(X[:1])[0] for a, b in result.folds if 0 in b]
    assert len(row) == 3
    assert result.predictions[0] == pytest.approx(np.mean(row))


def test_several_targets_frames_and_scorers(rng):
    pandas = pytest.importorskip("pandas")
    X, y = smooth(rng)
    Y = np.column_stack([y, X[:, 0] ** 2])
    frame = pandas.DataFrame(X, columns=["a", "b"])
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    result = nested_cv(lam_only(Gaussian(0.4), LOO()), frame, pandas.DataFrame(Y), outer=2, scoring=scorer)
    assert result.predictions.shape == Y.shape
    assert result.gram_reused
    fold = result.folds[0][1]
    assert result.scores[0] == pytest.approx(-mean_absolute_error(Y[fold], result.predictions[fold]))


def test_labels(rng):
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(30) > 0, "yes", "no")
    result = nested_cv(LogisticRegression(), X, y, outer=3)
    assert result.scoring == "accuracy"
    assert set(result.predictions) <= {"yes", "no"}
    assert all(abs(np.mean(y[test] == "yes") - np.mean(y == "yes")) < 0.1 for _, test in result.folds)


# ------------------------------------------------------------------------------------------------ what it says
def test_the_table_and_plain_values(rng):
    X, y = smooth(rng)
    result = nested_cv(lam_only([Gaussian(0.4), Matern32(1.0)]), X, y, outer=2, inner=LOO())
    text = str(result)
    assert text.count("lam=") == 3  # two folds, and all rows
    assert "optimism" in text
    assert "r2" in text
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["mean"] == result.mean and plain["score"] == result.score
    assert plain["choices"][0]["kernel"] in ("Gaussian(0.4)", "Matern32(1.0)")
    assert len(plain["predictions"]) == 40


def test_inputs_and_estimator_stay_as_they_are(rng, readonly):
    X, y = readonly(*smooth(rng))
    model = lam_only(Gaussian(0.4), LOO())
    before = repr(model)
    nested_cv(model, X, y, outer=2, inner=KFold(3))
    assert repr(model) == before
    assert not hasattr(model, "lam_")


BAD = [
    ({"outer": 5}, 3, ValueError, "there are 3 rows, fewer than the 5 outer folds; use outer=3"),
    ({"outer": 1}, 9, ValueError, "at least 2 folds"),
    ({"outer": 4, "groups": [0, 0, 0, 1, 1, 1, 2, 2, 2]}, 9, ValueError, "3 groups, fewer than the 4 outer folds"),
    ({"outer": 9}, 9, ValueError, "R² needs two"),
    ({"outer": [([0, 1, 2], [2, 3])]}, 9, ValueError, "both to train and to test"),
    ({"outer": []}, 9, ValueError, "no folds"),
    ({"inner": "loo"}, 9, TypeError, "inner must be a criterion"),
    ({"inner": KFold(8)}, 9, ValueError, "fewer than the 8 folds"),
    ({"groups": [1, 2]}, 9, ValueError, "inconsistent numbers of samples"),
]


@edges
@pytest.mark.parametrize(("arguments", "n", "error", "message"), BAD, ids=[b[3] for b in BAD])
def test_bad_input(arguments, n, error, message, rng):
    X, y = smooth(rng, n)
    with pytest.raises(error, match=message):
        nested_cv(lam_only(Gaussian(0.4)), X, y, **{"outer": 3, **arguments})


def test_what_an_estimator_cannot_take(rng):
    X, y = smooth(rng)
    with pytest.raises(TypeError, match="inner"):
        nested_cv(LinearRegression(), X, y, inner=LOO())

    class NoWeights(LinearRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.raises(TypeError, match=r"NoWeights\.fit takes no sample_weight"):
        nested_cv(NoWeights(), X, y, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="NaN"):
        nested_cv(lam_only(Gaussian(0.4), LOO()), np.where(X > 0.9, np.nan, X), y)


def test_a_gaussian_process_is_frozen_by_its_noise(rng):
    """The non-nested score is that of the hyper-parameters chosen on all rows, at their noise variance."""
    X = rng.uniform(-2, 2, (45, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(45)
    model, folds = GaussianProcessRegressor(1.0 * Gaussian(1.0)), SklearnKFold(3)
    found = nested_cv(model, X, y, outer=folds)
    whole = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, y)
    frozen = GaussianProcessRegressor(whole.kernel_, whole.lam_, criterion=None)
    expected = [r2_score(y[test], frozen.fit(X[train], y[train]).predict(X[test])) for train, test in folds.split(X)]
    np.testing.assert_allclose(found.plain_scores, expected, rtol=1e-6)


def test_simple_models_that_not_all_folds_have_rows_for_are_left_out(rng):
    """Folds of a series grow: trees, which need 100 rows, are there in the last ones only."""
    X = np.linspace(0, 3, 150)[:, None]
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(150)
    result = nested_cv(KernelRidge(Gaussian(0.5), 0.1), X, y, outer=TimeSeriesSplit(3), baselines=True)
    assert [one["name"] for one in result.baselines] == ["mean", "linear model", "5 neighbours"]


def test_processes_state_deviations_in_each_fold(rng):
    X = np.linspace(0, 4, 60)[:, None]
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    model = GaussianProcessRegressor(1.0 * Gaussian(0.5), 0.01, criterion=None)
    result = nested_cv(model, X, y, outer=TimeSeriesSplit(4))
    train, test = result.folds[1]
    std = model.fit(X[train], y[train]).predict(X[test], return_std=True, noisy=True)[1]
    np.testing.assert_allclose(result.deviations[test], std)
    assert result.forward and np.isnan(result.deviations[:12]).all()
    assert result.to_dict()["how"] == "forecasts from the rows before, 4 folds"
    spread = result.spread(np.arange(2, 62), 70).deviations
    np.testing.assert_allclose(spread[2 + test], std)
    other = nested_cv(KernelRidge(Gaussian(0.5), 0.1), X, y)
    assert other.deviations is None and not other.forward
