"""Landmarks: the exact fit where they are all rows, a bound that is never broken where they are not."""

import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import mercer
from mercer import KernelRidge, Landmarks
from mercer.approximate import LandmarkOptions
from mercer.exceptions import NumericalWarning
from mercer.gram import TiledGram, take
from mercer.gram.base import draw_rows
from mercer.gram.rows import constant
from mercer.kernels import Gaussian, Matern32, Spectrum
from mercer.primal import certificate as proof
from mercer.primal.design import Design, LandmarkBasis, Sample, choose_landmarks
from mercer.primal.growth import refine_solution
from mercer.primal.squared import Sums, fit_squared, loo_values
from mercer.selection import GCV, LOO, Evidence, KFold
from mercer.solvers import PlanOptions, plan_class
from mercer.solvers.normal import NormalEquations, add_square, between, landmark_factor
from mercer.solvers.pivoted import random_pivots
from mercer.sources import Arrays
from mercer.sources.engines import Threads


def problem(rng, n=400, d=2, t=1, noise=0.2):
    X = rng.standard_normal((n, d))
    y = np.column_stack([np.sin((2 + i) * X.sum(axis=1)) + noise * rng.standard_normal(n) + 10 for i in range(t)])
    return X, y


def quiet(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        return model.fit(*data)


# ---------------------------------------------------------------------------------------------- pivots
def test_pivots_leave_what_the_factor_leaves(rng):
    X, k = rng.standard_normal((300, 3)), Gaussian(1.5)
    for options in ({}, {"order": rng.permutation(300)}, {"dtype": np.float32}):
        pivots, left = random_pivots(TiledGram(k, X), 50, rng, **options)
        assert len(set(pivots)) == 50
        A = np.linalg.solve(np.linalg.cholesky(k(X[pivots])), k(X[pivots], X))
        np.testing.assert_allclose(
            left, np.maximum(1 - (A**2).sum(axis=0), 0), atol=1e-12 if not options.get("dtype") else 1e-5
        )


def test_pivots_beat_uniform_ones(rng):
    X = np.vstack([0.05 * rng.standard_normal((950, 2)), rng.uniform(-4, 4, (50, 2))])
    K = TiledGram(Gaussian(0.5), X)
    drawn_, uniform = random_pivots(K, 60, rng)[1], random_pivots(K, 60, rng, order=rng.permutation(1000))[1]
    assert drawn_.sum() < 0.5 * uniform.sum()


def test_copies_are_chosen_once(rng):
    X = np.repeat(rng.standard_normal((20, 2)), 10, axis=0)
    pivots, left = random_pivots(TiledGram(Gaussian(), X), 100, rng)
    assert len(pivots) == 20 and left.max() < 1e-10
    assert len(random_pivots(TiledGram(Gaussian(), np.zeros((30, 2))), 5, rng)[0]) == 1


def test_rows_that_rounding_leaves_something_of_are_not_proposed_for_ever(rng):
    class Rounded(TiledGram):
        def diag(self):
            return super().diag() + 1e-5  # as sums in float32 are

    X = np.repeat(rng.standard_normal((3, 2)), 10, axis=0)
    assert len(random_pivots(Rounded(Gaussian(), X), 30, rng)[0]) == 3


def test_rows_are_drawn_by_hash():
    first, more = draw_rows(10**5, 100, 3), draw_rows(10**5, 1000, 3)
    assert np.isin(first, more).all() and len(first) == 100
    assert abs(more.mean() / 5e4 - 1) < 0.1
    assert not np.array_equal(first, draw_rows(10**5, 100, 4))


# ---------------------------------------------------------------------------------------------- sums
def test_normal_equations_are_ridge_regression(rng):
    n, m, lam = 200, 30, 0.3
    X, Y = problem(rng, n, t=2)
    w, k = rng.random(n) + 0.5, Gaussian(0.3)
    Z = X[:m]
    L, jitter = landmark_factor(k(Z))
    F = np.hstack([k(X, Z), np.ones((n, 1)), Y]) * np.sqrt(w)[:, None]
    C = np.zeros((m + 3, m + 3))
    add_square(C, F)
    normal = NormalEquations(C, L, 1, 2)
    P = np.zeros((m + 1, m + 1))
    P[:m, :m] = L @ L.T
    D = F[:, : m + 1]
    M = np.linalg.inv(D.T @ D + lam * P)
    theta, H = M @ (D.T @ F[:, m + 1 :]), D @ M @ D.T
    found = normal.solve(lam)
    fitted = k(X, Z) @ found.alpha + found.b
    np.testing.assert_allclose(fitted, (D @ theta) / np.sqrt(w)[:, None], rtol=1e-8)
    assert normal.dof(lam) + 1 == pytest.approx(np.trace(H), rel=1e-9)
    np.testing.assert_allclose(normal.rss(lam), ((F[:, m + 1 :] - D @ theta) ** 2).sum(axis=0), rtol=1e-8)
    left = normal.left_out([lam], F[:20])[0]
    np.testing.assert_allclose(1.0 - left.rest, np.diag(H)[:20], rtol=1e-8)
    one = np.delete(np.arange(n), 7)
    theta1 = np.linalg.solve(D[one].T @ D[one] + lam * P, D[one].T @ F[one, m + 1 :])
    np.testing.assert_allclose(left.out()[7], F[7, m + 1 :] - D[7] @ theta1, rtol=1e-7)
    for size, nested in zip((10, 20, m), normal.nested(lam, F[:20], (10, 20, m)), strict=True):
        keep = [*range(size), m]
        part = np.linalg.inv(D[:, keep].T @ D[:, keep] + lam * P[np.ix_(keep, keep)])
        np.testing.assert_allclose(
            1.0 - nested.rest, np.einsum("ij,jk,ik->i", D[:20][:, keep], part, D[:20][:, keep]), rtol=1e-7
        )


def test_the_bound_of_the_evidence(rng):
    n, m, lam = 150, 25, 0.2
    X, Y = problem(rng, n)
    k, Z = Gaussian(1.0), X[:m]
    L, _ = landmark_factor(k(Z))
    C = np.zeros((m + 1, m + 1))
    add_square(C, np.hstack([k(X, Z), Y]))
    A = np.linalg.solve(L, k(Z, X))
    missing = n - (A**2).sum()
    Q = A.T @ A + lam * np.eye(n)
    exact = -0.5 * (Y[:, 0] @ np.linalg.solve(Q, Y[:, 0]) + np.linalg.slogdet(Q)[1] + n * np.log(2 * np.pi))
    assert NormalEquations(C, L, 0, 1).elbo(lam, n, missing) == pytest.approx(exact - missing / (2 * lam), rel=1e-9)


def test_sums_have_the_same_bits_for_any_number_of_threads(rng):
    X, Y = problem(rng, 12_000)
    source, k = Arrays(X, Y), Gaussian(1.0)
    design = Design(k, X[:40], constant, source.take(np.arange(500)))
    L = landmark_factor(k(X[:40]))[0]
    for single in (False, True):
        source.engine = Threads(1)
        one = Sums.of(source, design, L, single)
        source.engine = Threads(3)
        np.testing.assert_array_equal(one.C, Sums.of(source, design, L, single).C)


def test_sums_in_float32_are_refined_to_the_same_fit(rng):
    X, Y = problem(rng, 60_000, d=3)
    source, k = Arrays(X, Y), Gaussian(1.0)
    sample = Sample.draw(source, 400, 0)
    chosen = choose_landmarks(k, sample.candidates, 400, Landmarks(400), 0)
    half, full = (fit_squared(source, LandmarkBasis(k, chosen, sample, constant), 0.1, single=s) for s in (True, False))
    assert half.single and not full.single
    assert half.missing[0] == pytest.approx(full.missing[0], rel=1e-3)
    assert loo_values(half, [0.1])[0] == pytest.approx(loo_values(full, [0.1])[0], rel=1e-4)
    error = np.sqrt(loo_values(full, [0.1])[0])
    rms, rate = refine_solution(source, half, sample.some.X[:10], error)[2:]
    assert rms <= 1e-3 * error and (np.isnan(rate) or rate < 0.05)
    f = [
        k(X[:500], chosen.points) @ fit.design.in_data_units(fit.solution)[0]
        + fit.design.in_data_units(fit.solution)[1]
        for fit in (half, full)
    ]
    assert np.sqrt(np.mean((f[0] - f[1]) ** 2)) <= 1e-3 * error


def test_float32_that_is_too_coarse_is_not_used(rng):
    X, Y = problem(rng, 60_000, d=1, noise=0.0)
    model = quiet(KernelRidge(Gaussian(1.0), lam=1e-6, approximation=Landmarks(400)), X, Y[:, 0])
    assert model.fit_report_["sums"] == "float64"
    assert np.abs(model.predict(X) - Y[:, 0]).max() < 0.01


# ---------------------------------------------------------------------------------------------- the certificate
@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_never_below_the_distance(seed):
    rng = np.random.default_rng(seed)
    n, k = 400, [Gaussian, Matern32][seed % 2](float(np.exp(rng.normal())))
    X, Y = problem(rng, n, d=1 + seed % 4)
    w = None if seed % 3 else rng.random(n) + 0.1
    lam, m = 10 ** rng.uniform(-3, 1), int(10 ** rng.uniform(0.7, 2.3))
    trend = constant if seed % 5 else None
    source = Arrays(X, Y, w)
    sample = Sample.draw(source, m, seed)
    chosen = choose_landmarks(k, sample.candidates, m, Landmarks(m), seed)
    fit = fit_squared(source, LandmarkBasis(k, chosen, sample, trend), lam)
    remainder = refine_solution(source, fit, sample.some.X, 1.0)[0]
    index, times = proof.choose_rows(fit, 512)
    bound = proof.distance(fit, remainder, index, times)
    W = np.ones(n) if w is None else w
    Kinv = np.linalg.inv(k(X) + lam * np.diag(1 / W))
    b = (Kinv.sum(axis=0) @ Y) / Kinv.sum() if trend else 0.0
    exact = k(X) @ (Kinv @ (Y - b)) + b
    alpha, c = fit.design.in_data_units(fit.solution)
    found = k(X, fit.chosen.points) @ alpha + (c if trend else 0.0)
    distance = np.sqrt((W[:, None] * (exact - found) ** 2).sum() / W.sum())
    assert len(index) == n and distance <= bound * (1 + 1e-6)
    assert bound <= 0.05 or fit.missing[0] > 0.02 * n * lam


def test_verdicts_and_their_words(rng):
    X, Y = problem(rng, 2000)
    with pytest.warns(NumericalWarning, match=r"10 landmarks are not enough.*approximation=Landmarks\("):
        few = KernelRidge(Gaussian(0.3), lam=0.1, approximation=Landmarks(10)).fit(X, Y[:, 0])
    said = few.fit_report_["approximation"]
    assert said["verdict"] == "not enough landmarks" and said["wanted_m"] > 10
    model = KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks()).fit(X, Y[:, 0])
    said = model.fit_report_["approximation"]
    exact = KernelRidge(Gaussian(1.0), lam=0.1, approximation=None).fit(X, Y[:, 0])
    assert said["verdict"] == "certified" and said["words"].startswith("certified")
    assert np.sqrt(np.mean((model.predict(X) - exact.predict(X)) ** 2)) <= said["distance"]
    assert said["effective_dimension"][0] - 1e-6 <= exact.dof_ <= said["effective_dimension"][1] + 1e-6
    assert said["loo"][-1][1] == pytest.approx(np.sqrt(np.mean(exact.loo_residuals_**2)), rel=0.02)


def test_a_fit_that_is_worse_than_the_mean_says_so(rng):
    X, _ = problem(rng, 600)
    with pytest.warns(NumericalWarning, match="worse than by the mean of y"):
        model = KernelRidge(Gaussian(0.6), lam=1e-9, approximation=Landmarks(400)).fit(X, rng.standard_normal(600))
    said = model.fit_report_["approximation"]
    assert said["worse_than_mean"] > 2 and "mean of y" in said["words"]


# ---------------------------------------------------------------------------------------------- the estimator
def test_with_all_rows_as_landmarks_it_is_the_exact_fit(rng):
    X, Y = problem(rng, 150, t=2)
    w = rng.random(150) + 0.5
    for intercept in (True, False):
        options = {"lam": 0.3, "trend": intercept}
        exact = KernelRidge(Matern32(0.7), **options).fit(X, Y, w)
        model = quiet(KernelRidge(Matern32(0.7), approximation=Landmarks(choose=X), **options), X, Y, w)
        np.testing.assert_allclose(model.predict(X[:20]), exact.predict(X[:20]), rtol=1e-6)
        np.testing.assert_allclose(model.loo_residuals_, exact.loo_residuals_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(model.leverage_, exact.leverage_, rtol=1e-6)
        assert model.dof_ == pytest.approx(exact.dof_, rel=1e-7)
        np.testing.assert_allclose(model.rkhs_norm_, exact.rkhs_norm_, rtol=1e-6)


def test_a_weight_of_zero_is_no_row_and_of_two_is_two_rows(rng):
    X, Y = problem(rng, 200)
    w = rng.integers(0, 3, 200).astype(float)
    again = np.repeat(np.arange(200), w.astype(int))
    how = Landmarks(choose=X[:30])
    one = quiet(KernelRidge(Gaussian(1.0), lam=0.2, approximation=how), X, Y[:, 0], w)
    two = quiet(KernelRidge(Gaussian(1.0), lam=0.2, approximation=how), X[again], Y[again, 0])
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-8)
    assert np.isnan(one.loo_residuals_[w == 0]).all()


def test_criteria_choose_lam_on_all_rows(rng):
    X, Y = problem(rng, 1500)
    exact = KernelRidge(Gaussian(1.0), criterion=LOO(), optimize="lam").fit(X, Y[:, 0])
    for criterion in (LOO(), GCV(), Evidence()):
        model = KernelRidge(Gaussian(1.0), criterion=criterion, optimize="lam", approximation=Landmarks(200)).fit(
            X, Y[:, 0]
        )
        assert 0.1 < model.lam_ / exact.lam_ < 10
        assert model.selection_.lam == model.lam_
    with pytest.raises(ValueError, match="with landmarks use"):
        KernelRidge(criterion=KFold(5), approximation=Landmarks(20)).fit(X, Y[:, 0])


def test_hyper_parameters_come_from_a_subset_and_all_rows(rng):
    X, Y = problem(rng, 4000)
    options = {"approximation": Landmarks(256), "options": LandmarkOptions(subset=500)}
    model = KernelRidge(Gaussian(5.0), criterion=LOO(), **options).fit(X, Y[:, 0])
    assert 0.2 < model.kernel_.length_scale < 2.0
    assert np.sqrt(np.nanmean(model.loo_residuals_**2)) < 0.25
    assert model.selection_.kernel is model.kernel_


def test_rows_join_and_leave(rng):
    X, Y = problem(rng, 300)
    model = KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(choose=X[:40]))
    whole = quiet(KernelRidge(**model.get_params(deep=False)), X, Y[:, 0])
    quiet(model, X[:100], Y[:100, 0])
    model.partial_fit(X[100:], Y[100:, 0])
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6)
    assert model.landmarks_.n == 300 and model.fit_report_["approximation"]["verdict"] == "not certified"
    model.forget(X[:50], Y[:50, 0])
    part = quiet(KernelRidge(**model.get_params(deep=False)), X[50:], Y[50:, 0])
    np.testing.assert_allclose(model.predict(X), part.predict(X), rtol=1e-6)
    assert model.rkhs_norm_ == pytest.approx(part.rkhs_norm_, rel=1e-6)
    assert model.regularization_ == pytest.approx(part.regularization_)
    assert not hasattr(KernelRidge(), "partial_fit")


def test_a_file_of_it_predicts_the_same(rng, tmp_path):
    X, Y = problem(rng, 300)
    model = quiet(KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(30)), X, Y[:, 0])
    model.save(tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X[:5]), model.predict_interval(X[:5]))
    np.testing.assert_array_equal(again.loo_residuals_, model.loo_residuals_)
    with pytest.raises(ValueError, match="not in a file"):
        again.partial_fit(X, Y[:, 0])


def test_intervals_cover(rng):
    X, Y = problem(rng, 3000)
    model = KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(300)).fit(X[:2000], Y[:2000, 0])
    for normalise in (False, True):
        low, high = model.predict_interval(X[2000:], normalise=normalise).T
        assert 0.86 < np.mean((low <= Y[2000:, 0]) & (Y[2000:, 0] <= high)) < 0.94
    with pytest.raises(ValueError, match="in an approximation method is"):
        model.predict_interval(X[:2], method="cv+")
    with pytest.raises(ValueError, match="needs one system of all rows"):
        model.influence()


def test_files_are_fitted_like_arrays(rng, tmp_path):
    X, Y = problem(rng, 500)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y[:, 0]})
    for i, (start, stop) in enumerate([(0, 200), (200, 200), (200, 500)]):
        frame[start:stop].write_parquet(tmp_path / f"{i}.parquet")
    options = {"lam": 0.1, "approximation": Landmarks(60)}
    arrays = quiet(KernelRidge(Gaussian(1.0), **options), X, Y[:, 0])
    files = quiet(KernelRidge(Gaussian(1.0), **options), str(tmp_path / "*.parquet"), "y")
    np.testing.assert_array_equal(files.dual_coef_, arrays.dual_coef_)
    assert list(files.feature_names_in_) == ["a", "b"]
    two = quiet(KernelRidge(**options), lambda: [frame.with_columns(z=2 * frame["y"])], ["y", "z"])
    np.testing.assert_allclose(
        two.predict(frame[["a", "b"]])[:, 1], 2 * two.predict(frame[["a", "b"]])[:, 0], rtol=1e-8
    )
    with pytest.raises(ValueError, match="approximation=None needs them as arrays"):
        KernelRidge(approximation=None).fit(tmp_path, "y")


def test_objects_need_rows_of_the_gram_only(rng):
    words = ["".join(rng.choice(list("acgt"), 12)) for _ in range(150)]
    y = np.array([word.count("a") for word in words], dtype=float)
    exact = KernelRidge(Spectrum(2), lam=0.1, approximation=None).fit(words, y)
    model = quiet(KernelRidge(Spectrum(2), lam=0.1, approximation=Landmarks(140)), words, y)
    distance = model.fit_report_["approximation"]["distance"]
    assert np.sqrt(np.mean((model.predict(words) - exact.predict(words)) ** 2)) <= distance * (1 + 1e-6) + 1e-9
    assert isinstance(take(model.points_, [0]), list) or len(model.points_) <= 140


def test_odd_cases(rng):
    X, Y = problem(rng, 60)
    X = np.hstack([X, np.ones((60, 1))])  # a constant column
    y = Y[:, 0]
    assert len(quiet(KernelRidge(approximation=Landmarks(1000)), X, y).points_) <= 60  # m > n
    with pytest.warns(NumericalWarning, match="1 landmark is not enough"):
        assert len(KernelRidge(approximation=Landmarks(1)).fit(X, y).points_) == 1
    equal = quiet(KernelRidge(Gaussian(1.0), approximation=Landmarks(10)), np.ones((50, 2)), np.arange(50.0))
    assert len(equal.points_) == 1
    np.testing.assert_allclose(equal.predict([[1.0, 1.0]]), 24.5)
    big = quiet(KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(30)), X, 1e200 * y)
    small = quiet(KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(30)), X, y)
    np.testing.assert_allclose(big.predict(X) / 1e200, small.predict(X), rtol=1e-7)
    with pytest.raises(ValueError, match="needs lam > 0"):
        KernelRidge(lam=0.0, approximation=Landmarks(5)).fit(X, y)
    for wrong in (Landmarks(0), Landmarks(2.5), Landmarks("many"), Landmarks(3, choose="best")):
        with pytest.raises(ValueError, match="must be"):
            KernelRidge(approximation=wrong).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was(rng):
    X, Y = problem(rng, 100)
    model = quiet(KernelRidge(Gaussian(1.0), approximation=Landmarks(20)), X, Y[:, 0])
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(lambda: [pl.DataFrame({"a": [1.0, np.nan], "b": [1.0, 2.0], "y": [0.0, 1.0]})], "y")
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_time_budget_returns_the_last_stage(rng):
    X, Y = problem(rng, 20_000, d=4)
    model = quiet(KernelRidge(Matern32(0.5), lam=0.1, approximation=Landmarks(), time_budget=1e-3), X, Y[:, 0])
    assert len(model.points_) == 64
    model = quiet(
        KernelRidge(Matern32(0.5), lam=0.1, approximation=Landmarks(), memory=1.5e9, time_budget=5.0), X, Y[:, 0]
    )
    assert len(model.points_) >= 256


def test_a_checkpoint_is_removed_when_the_fit_is_done(rng, tmp_path):
    X, Y = problem(rng, 5000)
    path = tmp_path / "sums"
    plain = quiet(KernelRidge(Gaussian(1.0), 1.0, approximation=Landmarks(50)), X, Y[:, 0])
    model = quiet(KernelRidge(Gaussian(1.0), 1.0, approximation=Landmarks(50, checkpoint=path)), X, Y[:, 0])
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)
    assert not list(tmp_path.iterdir())


READ = """
    import itertools, os, signal, sys, warnings
    import numpy as np
    import polars as pl
    from mercer import KernelRidge, Landmarks
    from mercer.kernels import Gaussian
    from mercer.primal import LandmarkFitOptions

    path, checkpoint, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    data, read = np.load(path), itertools.count(1)

    def batches():
        for i in range(0, len(data["y"]), 500):
            if next(read) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            rows = slice(i, i + 500)
            yield pl.DataFrame({"a": data["X"][rows, 0], "b": data["X"][rows, 1], "y": data["y"][rows]})

    warnings.simplefilter("ignore")
    how = Landmarks(checkpoint=checkpoint)
    options = {"criterion": "loo", "optimize": "lam", "options": [LandmarkFitOptions(checkpoint_every=0.0)]}
    model = KernelRidge(Gaussian(0.2), approximation=how, **options).fit(batches, "y")
    print(next(read) - 1, len(model.fit_report_["stages"]), model.lam_.hex(), model.dual_coef_.tobytes().hex())
"""


def test_a_whole_fit_that_was_killed_goes_on_and_ends_with_the_same_bits(rng, tmp_path):
    """The rows come from a function that counts its batches, and kills the process at one of them."""
    X = rng.uniform(-1, 1, (5000, 2))
    y = np.sin(9 * X[:, 0]) * np.cos(8 * X[:, 1]) + 0.1 * rng.standard_normal(5000)
    np.savez(tmp_path / "rows.npz", X=X, y=y)

    def fit(name, last=0):
        command = [sys.executable, "-c", textwrap.dedent(READ), tmp_path / "rows.npz", tmp_path / name, last]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        assert done.returncode == (-signal.SIGKILL if last else 0), done.stderr
        return done.stdout.split()

    batches, stages, *whole = fit("other")
    assert int(stages) > 1
    fit("sums", int(rng.integers(int(batches) // 2, int(batches))))
    assert list(tmp_path.glob("sums.*"))
    fewer, _, *again = fit("sums")
    assert int(fewer) < int(batches)
    assert again == whole and not list(tmp_path.glob("sums.*"))


# ---------------------------------------------------------------------------------------------- the plan
def test_the_plan_says_what_the_fit_does(rng):
    X, Y = problem(rng, 3000)
    for how in (Landmarks(100), Landmarks()):
        model = KernelRidge(Gaussian(1.0), lam=0.1, approximation=how)
        planned = mercer.plan(model, X, Y[:, 0])
        assert planned == quiet(model, X, Y[:, 0]).plan_ and planned.landmarks


def test_auto_is_exact_wherever_that_fits():
    auto, exact = KernelRidge(), KernelRidge(approximation=None)
    assert mercer.plan(auto, n=5000, d=5) == mercer.plan(exact, n=5000, d=5)
    large = mercer.plan(auto, n=3_000_000, d=10)
    assert large.gram == "landmarks" and large.landmarks >= 256
    assert mercer.plan(exact, n=3_000_000, d=10).gram == "tiled"
    assert mercer.plan(KernelRidge(solver="cg"), n=3_000_000, d=10).solver == "cg"
    source = Arrays(np.zeros((30_000, 3)), np.zeros((30_000, 1)))
    assert mercer.plan(source).gram == "landmarks" and mercer.plan(KernelRidge(), source).n == 30_000
    short = mercer.plan(KernelRidge(memory=1e9), n=50_000, d=10)
    assert short.gram == "landmarks" and short.memory_bytes <= 1e9
    need = mercer.plan(KernelRidge(approximation=Landmarks(256)), n=50_000, d=3).memory_bytes
    tight = mercer.plan(KernelRidge(memory=0.95 * need), n=50_000, d=3)
    assert 64 <= tight.landmarks < 256 and tight.memory_bytes <= 0.95 * need


def switch(model, solver, low=1200, high=9000):
    """The least n in (low, high] whose plan has this solver."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if mercer.plan(model, n=middle, d=2).solver == solver else (middle, high)
    return high


@pytest.mark.parametrize(
    ("slower", "options", "solver"),
    [
        (400.0, {"time_budget": 100.0}, "landmarks"),  # too short by the plan; the fit itself has time enough
        (3000.0, {}, "landmarks"),  # the patience that nobody has set
        (1.0, {"memory": 3e7}, "cg"),
    ],
)
def test_just_below_and_above_a_switch_of_the_plan_fits_agree(rng, monkeypatch, slower, options, solver):
    real = plan_class.rates()
    slow = plan_class.MachineRates(*(rate / slower for rate in real))
    monkeypatch.setattr("mercer.solvers.plan_class.rates", lambda: slow)
    steer = [] if options else [PlanOptions(exact_below=1500)]
    model = KernelRidge(Gaussian(0.7), lam=0.1, options=steer, **options)
    n = switch(model, solver)
    X, Y = problem(rng, n)
    below, above = quiet(clone(model), X[:-1], Y[:-1, 0]), quiet(clone(model), X, Y[:, 0])
    assert below.plan_.solver not in ("cg", "landmarks") and above.plan_.solver == solver
    apart = np.sqrt(np.mean((above.predict(X) - below.predict(X)) ** 2))
    one_row = np.abs(Y[-1, 0] - below.predict(X[-1:])[0]) / np.sqrt(n)  # all that a row more can move, rms
    certified = above.fit_report_["approximation"]["distance"] if solver == "landmarks" else 1e-6
    assert apart <= certified + one_row and apart < 0.02


def test_a_flat_kernel_with_a_tiny_lambda_gets_the_landmarks_it_needs(rng):
    """Long length scales tell a curve by directions of 1e-9 of the trace: they count where λ is smaller still."""
    X = rng.uniform(-2, 2, (3000, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(3000)
    kernel = Gaussian([8.0, 200.0])
    exact = KernelRidge(kernel, 1e-8, approximation=None).fit(X, y).predict(X)
    model = KernelRidge(kernel, 1e-8, approximation=Landmarks()).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - exact) ** 2)) < 1e-3
    assert model.fit_report_["approximation"]["verdict"] != "not enough landmarks"


@pytest.mark.parametrize(("m", "first"), [(1, 0), (1, 1), (7, 3), (64, 64), (129, 128), (300, 0), (300, 128)])
def test_a_square_between_two_factors(m, first, rng):
    A, L = rng.standard_normal((m, m + 5)), np.tril(rng.standard_normal((m, m))) / m + np.eye(m)
    G, rest = A @ A.T, np.eye(m)
    rest[first:, first:] = L[first:, first:]
    found = between(np.tril(G), L, first)  # what lies above the diagonal is not read
    inverse = np.linalg.inv(rest)
    np.testing.assert_allclose(found, inverse @ G @ inverse.T, atol=1e-11 * np.abs(G).max())
    np.testing.assert_array_equal(found, found.T)
