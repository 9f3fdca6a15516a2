"""Landmarks that are followed by a solution for all rows: as near to the exact fit as it says, or not handed out."""

from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer import KernelRidge, Landmarks
from mercer._clock import FOREVER, Clock
from mercer.approximate.full import lam_of_all
from mercer.gram import Rows, ScaledGram, TiledGram
from mercer.gram.neighbours import NearestRows
from mercer.kernels import Exponential, Gaussian, Matern32, Spectrum
from mercer.solvers import LandmarkSizeOptions, PlanOptions
from mercer.solvers.full import FullSolveOptions, System, by_blocks, solve_all


def problem(rng, n):
    X = rng.uniform(-2, 2, (n, 3))
    return X, np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + X[:, 2] + 0.2 * rng.standard_normal(n) + 50.0


@pytest.fixture
def data(rng):
    return problem(rng, 800)


def both(kernel, lam, X, y, m=60, weight=None, **options):
    """(the exact fit, the one that solves after landmarks)."""
    exact = KernelRidge(kernel, lam, approximation=None, **options).fit(X, y, weight)
    return exact, KernelRidge(kernel, lam, approximation=Landmarks(m, solve=True), **options).fit(X, y, weight)


def apart(exact, other, X):
    return float(np.sqrt(np.mean((exact.predict(X) - other.predict(X)) ** 2)))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern32(1.5), Exponential(2.0)])
@pytest.mark.parametrize("lam", [1.0, 0.05, 1e-3])
def test_the_stated_distance_bounds_the_true_one(data, kernel, lam):
    X, y = data
    exact, whole = both(kernel, lam, X, y)
    said = whole.fit_report_["approximation"]
    assert said["verdict"] == "solved", said["words"]
    assert apart(exact, whole, X) <= said["distance"] * (1 + 1e-6)
    assert whole.rkhs_norm_ == pytest.approx(exact.rkhs_norm_, rel=0.05)


def test_it_stops_where_half_a_percent_of_the_error_is_left(data, rng):
    X, y = data
    exact, whole = both(Matern32(1.5), 0.05, X, y)
    few = KernelRidge(Matern32(1.5), 0.05, approximation=Landmarks(60, solve=True)).fit(X, y)
    new = rng.uniform(-2, 2, (1000, 3))
    truth = np.sin(3 * new[:, 0]) * np.cos(2 * new[:, 1]) + new[:, 2] + 50.0 + 0.2 * rng.standard_normal(1000)
    errors = [np.sqrt(np.mean((model.predict(new) - truth) ** 2)) for model in (exact, whole)]
    assert errors[1] <= 1.005 * errors[0]
    assert few.fit_report_["approximation"]["passes"] < 100
    assert np.array_equal(few.dual_coef_, whole.dual_coef_)


def test_weights_repeated_rows_and_several_targets(data, rng):
    X, y = data
    X = np.vstack([X, X[:200]])
    Y = np.column_stack([np.append(y, y[:200] + 0.1), rng.standard_normal(len(X))])
    weight = rng.integers(0, 4, len(X)).astype(float)
    exact, whole = both(Matern32(1.5), 0.1, X, Y, weight=weight)
    assert whole.dual_coef_.shape == exact.dual_coef_.shape
    away = np.sqrt(np.average((exact.predict(X) - whole.predict(X)) ** 2, axis=0, weights=weight))
    assert (away <= np.array(whole.fit_report_["approximation"]["distances"]) * (1 + 1e-6)).all()
    assert np.array_equal(whole.point_index_, exact.point_index_)
    assert np.allclose(whole.intercept_, exact.intercept_, atol=0.1)


def test_no_trend_and_a_criterion(data):
    X, y = data
    exact, whole = both(Matern32(1.5), 0.1, X, y - 50.0, trend=None)
    assert apart(exact, whole, X) <= whole.fit_report_["approximation"]["distance"]
    chosen = KernelRidge(Matern32(1.5), criterion="loo", optimize="lam", approximation=Landmarks(60, solve=True))
    chosen.fit(X, y)
    at = KernelRidge(Matern32(1.5), chosen.lam_, approximation=None).fit(X, y)
    assert apart(at, chosen, X) <= chosen.fit_report_["approximation"]["distance"] * (1 + 1e-6)


def test_objects_are_solved_for(rng):
    words = np.array(["".join(rng.choice(list("abcd"), 12)) for _ in range(300)], dtype=object)
    y = np.array([word.count("ab") - word.count("dc") for word in words], dtype=float)
    exact, whole = both(Spectrum(2), 1.0, words, y, m=10)
    assert apart(exact, whole, words) <= whole.fit_report_["approximation"]["distance"] * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@pytest.mark.parametrize("steps", [1, 3, 10, 30])
@pytest.mark.parametrize("kernel", [Exponential(2.0), Gaussian(0.5)])
def test_a_solution_cut_short_is_not_worse_than_the_landmarks(data, kernel, steps):
    X, y = data
    exact, whole = both(kernel, 1e-3, X, y, m=200, options=FullSolveOptions(max_iter=steps, rounds=1))
    plain = KernelRidge(kernel, 1e-3, approximation=Landmarks(200)).fit(X, y)
    assert apart(exact, whole, X) <= apart(exact, plain, X) * (1 + 1e-9)
    said = whole.fit_report_["approximation"]
    assert ("stay" in said["words"]) == np.array_equal(whole.predict(X), plain.predict(X))


@pytest.mark.parametrize("scaled", [False, True])
def test_blocks_solve_the_system(rng, scaled):
    X, lam = problem(rng, 1500)[0], 1e-3
    K, B = TiledGram(Exponential(2.0), X), rng.standard_normal((1500, 2))
    K = ScaledGram(K, rng.uniform(0.5, 2.0, 1500)) if scaled else K
    goal = np.full(1, 1e-3)
    found = by_blocks(K, lam, B, goal, FOREVER)
    np.testing.assert_allclose(B - K @ found.X - lam * found.X, found.R, atol=1e-8)
    assert np.sqrt(np.mean(found.R[:, 0] ** 2)) < 1e-3 and not found.cut and found.passes < 60
    assert not by_blocks(K, lam, B, goal, Clock(1e-9)).passes > 1
    assert by_blocks(K, lam, B, goal, Clock(60.0), last=1e3).cut
    assert not by_blocks(K, lam, B, goal, Clock(60.0), last=1.0).cut


def test_rough_kernels_with_little_noise_go_by_blocks(data):
    X, y = data[0][:700], data[1][:700]
    rough = both(Exponential(2.0), 1e-3, X, y)[1].fit_report_["approximation"]
    smooth = both(Matern32(1.5), 0.5, X, y)[1].fit_report_["approximation"]
    assert (rough["method"], smooth["method"]) == ("blocks", "conjugate gradients")
    other = both(Exponential(2.0), 1e-3, X, y, options=FullSolveOptions(rough_trace=np.inf))[1].fit_report_[
        "approximation"
    ]
    assert other["verdict"] == rough["verdict"] == "solved" and rough["passes"] < other["passes"]
    few = FullSolveOptions(block_passes=3)  # too slow: conjugate gradients go on
    exact, slow = both(Exponential(2.0), 1e-3, X, y, options=few)
    said = slow.fit_report_["approximation"]
    assert said["verdict"] == "solved" and apart(exact, slow, X) <= said["distance"] * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
def test_lam_of_all_rows_is_not_that_of_few_landmarks(rng):
    X = rng.uniform(-2, 2, (900, 3))
    y = np.sin(4 * X[:, 0]) * np.cos(4 * X[:, 1]) + np.sin(3 * X[:, 2]) + 0.2 * rng.standard_normal(900)
    exact, few, whole = (
        KernelRidge(Matern32(1.5), criterion="loo", optimize="lam", approximation=how).fit(X[:600], y[:600])
        for how in (None, Landmarks(30), Landmarks(30, solve=True))
    )
    errors = [np.sqrt(np.mean((model.predict(X[600:]) - y[600:]) ** 2)) for model in (exact, few, whole)]
    assert errors[2] < 1.1 * errors[0] and errors[2] < 0.8 * errors[1], errors
    assert whole.lam_ < few.lam_ / 3 and whole.selection_.lam == whole.lam_
    assert "landmarks alone like" in whole.fit_report_["approximation"]["words"]


def test_auto_solves_for_all_rows_where_that_ends_in_time(data):
    X, y = data[0][:700], data[1][:700]
    few = PlanOptions(exact_below=100, exact_seconds=1e-9)
    model = KernelRidge(Matern32(1.5), 0.05, options=[few, LandmarkSizeOptions(preconditioning=60)])
    assert mercer.plan(model, X, y).solver == "all rows" and "all rows at once" in str(mercer.plan(model, X, y))
    assert model.fit(X, y).fit_report_["approximation"]["verdict"] == "solved"
    assert len(model.points_) == 700 and model.plan_ == mercer.plan(model, X, y)
    short = [replace(few, landmark_seconds=1e-9)]
    assert mercer.plan(model, X, y, options=short).solver == "landmarks"
    assert mercer.plan(mercer.GaussianProcessRegressor(), n=10**6, d=50).solver == "landmarks"


def test_a_short_time_budget_ends_early(rng):
    X, y = problem(rng, 1500)
    model = KernelRidge(Exponential(2.0), 1e-3, approximation=Landmarks(200, solve=True), time_budget=1e-3)
    with pytest.warns(mercer.exceptions.NumericalWarning, match="landmarks"):
        model.fit(X, y)
    assert "passes" in model.fit_report_["approximation"]["words"]


def test_no_step_begins_that_would_end_too_late(data):
    X, y = data[0][:300], data[1][:300, None]
    K, H = TiledGram(Matern32(1.5), X), np.ones((300, 1))
    asked = []

    def precondition(R):
        asked.append(1)
        return R

    def solve(clock, seconds):
        return solve_all(System(K, K, 1.0, y, H), np.zeros((1, 1)), precondition, 1e-3, clock, seconds=seconds)

    assert solve(Clock(10.0), 3.0) is None and not asked  # one step and its end are five products
    assert solve(Clock(30.0), 3.0).rms < 1e-3


def test_lam_of_all_rows_ends_without_noise_and_looks_neighbours_up_once(data, monkeypatch):
    looked, others = [], NearestRows.others
    monkeypatch.setattr(NearestRows, "others", lambda self, *rows: looked.append(1) or others(self, *rows))
    X = data[0][:400]
    rows, b = Rows(X, np.sin(X[:, :1]) + X[:, 1:2]), np.zeros((0, 1))
    lam, error = lam_of_all(Gaussian(2.0), rows, 1.0, b, True, FOREVER)
    assert 2.0**-40 <= lam < 1e-3 and error < 0.01 and len(looked) == 1
    assert lam_of_all(Gaussian(2.0), rows, 1.0, b, True, Clock(0.0))[0] == 1.0


def test_files_plans_and_what_cannot_be(data, tmp_path):
    X, y = data
    model = KernelRidge(Matern32(1.5), 0.1, approximation=Landmarks(60, solve=True)).fit(X, y)
    mercer.save(model, tmp_path / "whole.mercer")
    assert np.array_equal(mercer.load(tmp_path / "whole.mercer").predict(X), model.predict(X))
    assert model.plan_.reasons == mercer.plan(model, X, y).reasons
    assert model.predict_interval(X[:5], method="left-out").shape == (5, 2)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="arrays"):
        KernelRidge(approximation=Landmarks(60, solve=True)).fit(mercer.sources.Arrays(X, y[:, None]), None)
