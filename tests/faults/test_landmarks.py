"""Landmarks and solutions for all rows: each number as the exact fit has it, for every target, weight and unit."""

import warnings

import numpy as np
import polars as pl
import pytest

import mercer
from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge, Landmarks
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels import Exponential, Gaussian, Matern32, Spectrum
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Quantile
from mercer.selection import GCV, LOO, Evidence
from mercer.selection.targets import target_scale
from mercer.solvers import Cholesky


def quiet(model, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments)


def few(rng, n=14):
    X = rng.uniform(0, 3, (n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
@pytest.mark.parametrize("precisions", [False, True])
def test_evidence_and_densities_of_weighted_rows(rng, trend, precisions):
    """At m = n they are those of the exact fit; a whole weight is as many rows, a noise of each row a precision."""
    X, y, w = few(rng)
    Y = np.column_stack([y, 10.0 * y[::-1]])
    noise = rng.uniform(0.1, 0.5, len(y)) if precisions else 0.2
    exact, model = (
        quiet(GaussianProcessRegressor(Gaussian(1.0), noise, criterion=None, trend=trend, approximation=how), X, Y, w)
        for how in (None, Landmarks(choose=X))
    )
    evidence = exact.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ == pytest.approx(evidence, rel=1e-6)
    np.testing.assert_allclose(model.loo_std_, exact.loo_std_, rtol=1e-5)
    np.testing.assert_allclose(model.loo_residuals_, exact.loo_residuals_, atol=1e-5)
    np.testing.assert_allclose(model.leverage_[w > 0], exact.leverage_[w > 0], atol=1e-6)
    if not precisions:
        each = np.repeat(np.arange(len(y)), w.astype(int))
        repeated = quiet(model, X[each], Y[each])
        assert repeated.log_marginal_likelihood_value_ == pytest.approx(evidence, rel=1e-6)


@pytest.mark.parametrize("process", [False, True])
def test_split_intervals_of_rows_of_unlike_weight(process):
    """A weight is a noise variance λ/w: rows of weight 100 and 1 are covered alike (0.74 of both were, of 0.9)."""
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, w = rng.uniform(0, 3, (3000, 2)), np.where(rng.random(3000) < 0.5, 100.0, 1.0)
        y = np.sin(X[:, 0]) * X[:, 1] + 0.5 * rng.standard_normal(3000) / np.sqrt(w)
        how = Landmarks(40, held=300)
        options = {"criterion": None, "approximation": how}
        make = GaussianProcessRegressor(Gaussian(1.0), 0.25, **options) if process else None
        model = quiet(make or KernelRidge(Gaussian(1.0), 0.25, **options), X[:1500], y[:1500], w[:1500])
        asked = {"method": "split", "normalise": True, "sample_weight": w[1500:]}
        low, high = model.predict_interval(X[1500:], 0.9, **asked).T
        inside = (low <= y[1500:]) & (y[1500:] <= high)
        found.append([inside[w[1500:] > 1].mean(), inside[w[1500:] == 1].mean()])
    assert np.abs(np.mean(found, axis=0) - 0.9).max() < 0.03, found


def test_rows_of_weight_zero_are_not_held_out(rng):
    X, y = rng.uniform(0, 3, (400, 2)), rng.standard_normal(400)
    w = (np.arange(400) % 3).astype(float)
    y[w == 0] = 1e6
    model = quiet(KernelRidge(Gaussian(1.0), 1.0, approximation=Landmarks(20, held=100)), X, y, w)
    assert np.abs(model.landmarks_.aside).max() < 10 and (w[model.landmarks_.aside_index] > 0).all()


# ------------------------------------------------------------------------------------------ several targets
def waves(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (n, 2))
    first = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.standard_normal(n)
    return X, first, np.cos(2 * X[:, 1]) + np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("solve", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(2.0)])
def test_targets_of_unlike_size_are_solved_as_well_as_alone(solve, weighted, kernel):
    """RMSE of the small one was 0.92 beside one 100 times as large, and 0.29 alone."""
    X, large, small = waves(700)
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    options = {"lam": 0.02, "approximation": Landmarks(40, solve=solve)}
    alone = quiet(KernelRidge(kernel, **options), X, small, weight)
    told = alone.fit_report_["approximation"]
    for scale, level in ((1e2, 0.0), (1e4, 1e8)):
        Y = np.column_stack([scale * large, small, np.full(len(X), level)])
        model = quiet(KernelRidge(kernel, **options), X, Y, weight)
        said = model.fit_report_["approximation"]
        np.testing.assert_allclose(model.predict(X)[:, 1], alone.predict(X), atol=1e-4)
        np.testing.assert_allclose(model.predict(X)[:, 2], level, rtol=1e-12)
        assert said["verdict"] == told["verdict"]
        assert said["distances"][1] == pytest.approx(told["distance"], rel=1e-3)


@pytest.mark.parametrize("solve", [True, False])
def test_one_and_a_hundred_equal_targets_are_told_the_same(solve):
    X, y, _ = waves(500)
    told = []
    for count in (1, 4, 25, 100):
        how = Landmarks(30, solve=solve)
        model = quiet(KernelRidge(Gaussian(1.0), 0.1, approximation=how), X, np.column_stack([y] * count))
        told.append(model.fit_report_["approximation"])
    assert len({said["verdict"] for said in told}) == 1
    for name in ("distance", "distance_relative"):
        np.testing.assert_allclose([said[name] for said in told], told[0][name], rtol=1e-3)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence"])
def test_what_a_criterion_says_is_that_of_the_exact_fit(criterion):
    """At the λ that was chosen, with weights and several targets, as a mean or a sum over them as there."""
    X, y, z = waves(150)
    w = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    options = {"criterion": criterion, "optimize": "lam"}
    model = quiet(
        KernelRidge(Gaussian(1.0), approximation=Landmarks(choose=X), **options), X, np.column_stack([y, z]), w
    )
    rule = {"loo": LOO(), "gcv": GCV(), "evidence": Evidence()}[criterion]
    rows = Rows(X, np.column_stack([y, z]), w, constant)
    grid = {one["lam"]: one["value"] for one in model.selection_.history}
    lam = min(grid, key=grid.get)
    Kinv = Cholesky().resolvent(rows.gram(Gaussian(1.0)), rows.scaled(rows.H))(lam)
    relative = rows.y / target_scale(rows) if rule.relative else rows.y
    assert grid[lam] == pytest.approx(rule.value(Kinv, rows.scaled(relative), rows.weight), rel=1e-5)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
def test_lam_of_as_many_landmarks_as_rows_is_that_of_the_exact_search(criterion):
    """λ was 4e-12 for 0.02: GCV without residual and freedom is a rounded 0/0, and only λ near its best were tried."""
    rule = {"loo": LOO(), "gcv": GCV()}[criterion]
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (26, 2))
        y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(26)
        options = {"criterion": criterion, "optimize": "lam"}
        exact = quiet(KernelRidge(Matern32(0.6), approximation=None, **options), X, y)
        rows = Rows(X, y[:, None], None, constant)
        K = Cholesky().resolvent(rows.gram(Matern32(0.6)), rows.scaled(rows.H))
        for unit in (1.0, 1e6):
            model = quiet(KernelRidge(Matern32(0.6), approximation=Landmarks(choose=X), **options), X, unit * y)
            found, best = (rule.value(K(lam), rows.scaled(rows.y), None) for lam in (model.lam_, exact.lam_))
            assert found < 1.05 * best, (seed, unit, model.lam_, exact.lam_)


def test_rows_of_weight_zero_are_told_as_dropped_on_landmarks(rng):
    X, y, w = few(rng)
    w[:3] = 0.0
    model = quiet(KernelRidge(Gaussian(1.0), 0.2, approximation=Landmarks(choose=X)), X, y, w)
    assert model.fit_report_["rows"] == len(y) and model.fit_report_["dropped_rows"] == np.count_nonzero(w == 0)
    model.partial_fit(X[:2], y[:2], [0.0, 1.0])
    assert model.fit_report_["dropped_rows"] == np.count_nonzero(w == 0) + 1


def test_the_distance_of_rows_far_from_all_others_is_not_missed():
    """What landmarks miss may be in a few of many rows: the bound is over some, half of them the least seen."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(3, (2600, 2))
        Y = np.column_stack([np.sin(2 * X.sum(axis=1)), rng.standard_normal(2600)]) + 0.2 * rng.standard_normal(
            (2600, 2)
        )
        model = quiet(KernelRidge(Gaussian(0.7), 0.3, approximation=Landmarks(80)), X, Y)
        exact = KernelRidge(Gaussian(0.7), 0.3, approximation=None).fit(X, Y)
        away = np.sqrt(np.mean((model.predict(X) - exact.predict(X)) ** 2, axis=0))
        said = model.fit_report_["approximation"]
        assert (away <= said["distances"]).all() and (said["distances"] < 8 * away).all()


def test_a_bound_that_says_nothing_is_not_stated_as_one(rng):
    """10⁶ rows: "the exact fit is within 648, 1 300 times the error"."""
    X = rng.uniform(0, 10, (4000, 3))
    y = np.sin(X[:, 0]) + 0.5 * rng.standard_normal(4000)
    model = quiet(KernelRidge(Exponential(2.0), 0.01, approximation=Landmarks(60)), X, y)
    said = model.fit_report_["approximation"]
    assert said["distance"] <= said["loo"][-1][1] * 1.2 and "not certified" in said["words"]


# ------------------------------------------------------------------------------------------ units and places
@pytest.mark.parametrize("solve", [True, False])
@pytest.mark.parametrize("change", ["times 1e6", "times 1e-6", "plus 1e8", "shifted", "permuted", "constant column"])
def test_other_units_and_places_give_the_same_fit(solve, change):
    X, y, _ = waves(300)
    order = np.random.default_rng(1).permutation(len(X)) if change == "permuted" else np.arange(len(X))
    scale = {"times 1e6": 1e6, "times 1e-6": 1e-6}.get(change, 1.0)
    level = 1e8 if change == "plus 1e8" else 0.0
    Z = X + np.array([1e4, -3.0]) if change == "shifted" else X
    Z = np.column_stack([X, np.full(len(X), 7.0)]) if change == "constant column" else Z
    found = []
    for inputs, target, index in ((X, y, np.arange(len(X))), (Z, scale * y + level, order)):
        how = Landmarks(30 if solve else 300, choose=inputs if not solve else "rpcholesky", solve=solve)
        model = quiet(KernelRidge(Gaussian(1.0), 0.1, approximation=how), inputs[index], target[index])
        found.append((model.predict(inputs), model.fit_report_["approximation"], model.loo_residuals_))
    tolerance = 0.1 if solve else 1e-6
    np.testing.assert_allclose((found[1][0] - level) / scale, found[0][0], atol=tolerance * y.std())
    assert found[0][1]["verdict"] == found[1][1]["verdict"]


# ------------------------------------------------------------------------------------------ rows join and leave
@pytest.mark.parametrize("process", [False, True])
def test_rows_that_are_not_in_the_fit_cannot_leave_it(rng, process):
    X, y = rng.uniform(0, 3, (400, 2)), rng.standard_normal(400)
    w = np.where(np.arange(400) < 200, 1.0, 2.0)
    how = Landmarks(30, held=50)
    make = GaussianProcessRegressor(Gaussian(1.0), 0.25, criterion=None, approximation=how)
    model = quiet(make if process else KernelRidge(Gaussian(1.0), 0.25, approximation=how), X, y, w)
    held = model.landmarks_.aside_index
    mine = np.setdiff1d(np.arange(400), held)
    before = model.predict(X)
    for gone, target, weight in (
        (held[:1], y, w),  # held out
        (mine[:3], y + 1.0, w),  # never there
        (mine[:3], y, 3.0 * w),  # with more weight than it has
    ):
        with pytest.raises(ValueError, match="not in the fit"):
            model.forget(X[gone], target[gone], weight[gone])
    np.testing.assert_array_equal(model.predict(X), before)
    model.forget(X[mine[:5]], y[mine[:5]], w[mine[:5]])
    with pytest.raises(ValueError, match="not in the fit"):
        model.forget(X[mine[:5]], y[mine[:5]], w[mine[:5]])
    join = model.update if process else model.partial_fit
    join(X[mine[:5]], y[mine[:5]], w[mine[:5]])
    np.testing.assert_allclose(model.predict(X), before, atol=1e-8)
    assert model.predict_interval(X[:2], 0.8, method="split").shape == (2, 2)  # what was held out is still unseen
    join(X[held[:9]], y[held[:9]], w[held[:9]])
    assert len(model.landmarks_.aside) == len(held) - 9
    model.forget(X[held[:9]], y[held[:9]], w[held[:9]])
    with pytest.raises(ValueError, match="hold rows out"):
        model.predict_interval(X[:2], method="conformal")


def test_what_is_read_says_what_cannot_be_told(rng, tmp_path):
    X, y = rng.uniform(0, 3, (400, 2)), rng.standard_normal(400)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    frame.write_parquet(tmp_path / "rows.parquet")
    model = quiet(
        KernelRidge(Gaussian(1.0), 0.25, approximation=Landmarks(20, held=40)), str(tmp_path / "*.parquet"), "y"
    )
    held = model.landmarks_.aside_index
    with pytest.raises(ValueError, match="held out"):
        model.forget(frame[held[:2], :2], y[held[:2]])
    mine = np.setdiff1d(np.arange(400), held)
    model.forget(frame[mine[:2], :2], y[mine[:2]])
    assert "could not be told" in model.fit_report_["approximation"]["words"]


def test_objects_join_and_leave(rng):
    words = np.array(["".join(rng.choice(list("abcd"), 8)) for _ in range(60)], dtype=object)
    y = np.array([float(word.count("ab")) for word in words])
    model = quiet(KernelRidge(Spectrum(2), 1.0, approximation=Landmarks(20)), words[:50], y[:50])
    with pytest.raises(ValueError, match="not in the fit"):
        model.forget(words[50:], y[50:] + 0.5)
    before = model.predict(words)
    model.partial_fit(words[50:], y[50:]).forget(words[50:], y[50:])
    np.testing.assert_allclose(model.predict(words), before, atol=1e-8)


# ------------------------------------------------------------------------------------------ calibration
@pytest.mark.parametrize("process", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
def test_calibration_is_of_the_rows_held_or_left_out(process, targets, tmp_path):
    X, y, z = waves(900)
    Y = y if targets == 1 else np.column_stack([y, z])
    for how, count in ((Landmarks(60, held=100), 100), (Landmarks(60), 900)):
        make = GaussianProcessRegressor(Gaussian(1.0), 0.06, criterion=None, approximation=how)
        model = quiet(make if process else KernelRidge(Gaussian(1.0), 0.06, approximation=how), X, Y)
        found = model.calibration([0.5, 0.9])
        assert found.z.shape == Y.shape and np.isfinite(found.z).sum() == count * targets
        assert np.abs(np.ravel(found.mean_square)[0] - 0.2**2 / 0.06) < 0.5
        assert np.shape(found.coverage) == ((2,) if targets == 1 else (2, 2))
        model.save(tmp_path / f"{count}")
        np.testing.assert_array_equal(mercer.load(tmp_path / f"{count}").calibration([0.5, 0.9]).z, found.z)
    exact = GaussianProcessRegressor(Gaussian(1.0), 0.06, criterion=None).fit(X[:50], y[:50]).calibration()
    twin = quiet(GaussianProcessRegressor(Gaussian(1.0), 0.06, criterion=None, approximation=Landmarks(choose=X[:50])),
                 X[:50], y[:50]).calibration()  # fmt: skip
    np.testing.assert_allclose(twin.z, exact.z, atol=1e-5)


# ------------------------------------------------------------------------------------------ other losses
@pytest.mark.parametrize("loss", [Huber(0.3), Absolute(), Quantile(0.3), EpsilonInsensitive(0.1)], ids=repr)
@pytest.mark.parametrize("weighted", [True, False])
def test_each_target_of_a_machine_is_fitted_as_well_as_alone(loss, weighted):
    """Corners were rounded off over a part of all targets together, and the end was that of their sum."""
    X, large, small = waves(250)
    w = np.random.default_rng(1).integers(0, 4, len(X)).astype(float) if weighted else None
    small = small if w is None else np.where(w > 0, small, 1e9)  # a row of weight 0 is no row
    make = KernelMachine(Gaussian(1.0), loss, lam=0.3, approximation=Landmarks(25))
    alone = quiet(make, X, small, w).predict(X)
    model = quiet(make, X, np.column_stack([1e4 * large, small, np.full(len(X), 5.0)]), w)
    np.testing.assert_allclose(model.predict(X)[:, 1], alone, atol=0.02)
    np.testing.assert_allclose(model.predict(X)[:, 2], 5.0, atol=0.11 if loss.value(0.0, 0.05) == 0 else 1e-6)


def test_rows_held_out_are_unseen_by_a_solution_for_all_rows():
    X, y, _ = waves(900)
    w = np.where(np.arange(900) % 2, 1.0, 2.0)
    model = quiet(KernelRidge(Gaussian(1.0), 0.1, approximation=Landmarks(30, solve=True, held=150)), X, y, w)
    assert model.fit_report_["approximation"]["verdict"] == "solved"
    held = model.landmarks_.aside_index
    left = w.copy()
    left[held] = 0.0
    exact = KernelRidge(Gaussian(1.0), 0.1, approximation=None).fit(X, y, left)
    away = model.predict(X) - exact.predict(X)
    assert np.sqrt(np.average(away**2, weights=left)) <= model.fit_report_["approximation"]["distance"]
    np.testing.assert_allclose(model.landmarks_.aside[:, 0], (y - model.predict(X))[held], atol=1e-12)
    assert (model.point_index_ < 0).sum() == len(held)
    with pytest.raises(ValueError, match="of the landmarks, not of the solution"):
        model.calibration()


@pytest.mark.parametrize("change", [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e8), (1e50, 0.0)])
def test_a_machine_in_other_units_and_far_from_zero(change):
    X, y, _ = waves(250)
    scale, level = change
    models = [
        quiet(KernelMachine(Gaussian(1.0), Huber(0.3 * s), lam=0.1, approximation=Landmarks(25)), X, s * y + at)
        for s, at in ((1.0, 0.0), change)
    ]
    np.testing.assert_allclose((models[1].predict(X) - level) / scale, models[0].predict(X), atol=5e-3)


@pytest.mark.parametrize("how", [Landmarks(40), Landmarks(40, solve=True), Landmarks(40, held=40)])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "evidence"])
def test_a_kernel_is_learnt_at_a_lam_that_is_kept(criterion, how):
    X, y, _ = waves(250)
    options = {"lam": 0.1, "criterion": criterion, "optimize": "kernel"}
    exact = KernelRidge(Gaussian(3.0), approximation=None, **options).fit(X, y)
    model = quiet(KernelRidge(Gaussian(3.0), approximation=how, **options), X, y)
    assert model.lam_ == 0.1 and model.selection_.evaluations > 1
    np.testing.assert_allclose(model.kernel_.length_scale, exact.kernel_.length_scale, rtol=0.2 if how.held else 1e-3)


@pytest.mark.parametrize(("n", "d", "noise", "criterion"), [(90, 1, 1e-3, "evidence"), (300, 2, 0.0, "gcv")])
def test_a_lam_lost_in_rounding_leaves_the_fit_of_landmarks(n, d, noise, criterion):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
    y = np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + noise * rng.standard_normal(n)
    how = Landmarks(60, solve=True, held=40)
    model = quiet(KernelRidge(Gaussian(1.0), criterion=criterion, optimize="lam", approximation=how), X, y)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.01
