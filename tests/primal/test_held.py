"""Files for every estimator on landmarks, and intervals from rows that the fit has not seen."""

import warnings

import numpy as np
import polars as pl
import pytest

import mercer
from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge, Landmarks
from mercer.approximate import LandmarkOptions
from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.kernels import Gaussian, Matern32
from mercer.primal import squared
from mercer.sources import Arrays


@pytest.fixture(autouse=True)
def small(set_defaults):
    set_defaults(LandmarkOptions, subset=150, machine_subset=150)


def quiet(model, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        return model.fit(*arguments)


def data(rng, n=1200):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.standard_normal(n)


@pytest.fixture
def folder(tmp_path, rng):
    X, y = data(rng)
    label = 1.0 * (y > 0) + (y > 1)
    for part in range(2):
        rows = slice(600 * part, 600 * (part + 1))
        frame = pl.DataFrame({"a": X[rows, 0], "b": X[rows, 1], "y": y[rows], "label": label[rows]})
        frame.write_parquet(tmp_path / f"{part}.parquet")
    return tmp_path, X, y, label


def files(folder, target):
    from mercer.sources import as_source

    return as_source(folder, target, columns=["a", "b"])


def test_a_process_fits_files_as_arrays(folder):
    path, X, y, _ = folder
    model = GaussianProcessRegressor(1.0 * Matern32(1.0), approximation=Landmarks(60), starts=1)
    a = quiet(model, files(path, "y"), None)
    means = a.predict(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}), return_std=True)
    b = quiet(model, X, y)
    for one, other in zip(means, b.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="one number for data that are read"):
        GaussianProcessRegressor(noise=np.ones(3)).fit(files(path, "y"), None)


def test_a_classifier_fits_files_as_arrays(folder):
    path, X, _, label = folder
    model = KernelMachine(Gaussian(1.0), loss="logistic", lam=0.1, approximation=Landmarks(60))
    named = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    a = quiet(model, files(path, "label"), None).predict_proba(named)
    b = quiet(model, X, label)
    np.testing.assert_array_equal(a, b.predict_proba(X))
    assert b.classes_.tolist() == [0, 1, 2]
    assert b.score(X, label) > 0.9


def test_a_criterion_chooses_lam_of_a_machine_on_some_rows(rng):
    X, y = data(rng)
    model = KernelMachine(Gaussian(1.0), "huber", criterion="loo", lam=[1e-3, 0.1, 1e4], approximation=Landmarks(60))
    assert mercer.plan(model, X, y) == quiet(model, X, y).plan_
    assert model.lam_ < 1e4
    assert model.selection_.criterion == "approximate leave-one-out"
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("process", [False, True])
def test_split_intervals_from_rows_that_are_held_out(rng, process, tmp_path):
    X, y = data(rng, 3000)
    how = Landmarks(60, held=400)
    make = GaussianProcessRegressor if process else KernelRidge
    options = {"noise": 0.04} if process else {"lam": 0.04}
    model = quiet(make(1.0 * Gaussian(1.0), criterion=None, approximation=how, **options), Arrays(X, y[:, None]), None)
    new, truth = data(rng, 4000)
    for normalise in (False, True):
        low, high = model.predict_interval(new, 0.8, method="split", normalise=normalise).T
        assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.8, abs=0.07)
    kept = model.landmarks_
    away = np.setdiff1d(np.arange(3000), mercer.gram.base.draw_rows(3000, 400, 9))
    alone = quiet(make(1.0 * Gaussian(1.0), criterion=None, approximation=Landmarks(choose=model.points_), **options),
                  X[away], y[away])  # fmt: skip
    np.testing.assert_allclose(model.predict(new), alone.predict(new), atol=2e-4)  # what was held out did not count
    assert kept.aside.shape == (400, 1)
    model.save(tmp_path / "m")
    again = mercer.load(tmp_path / "m").predict_interval(new, 0.8, method="split")
    np.testing.assert_array_equal(again, model.predict_interval(new, 0.8, method="split"))


def test_what_cannot_be_held_out(rng):
    X, y = data(rng, 100)
    with pytest.raises(ValueError, match="at most half"):
        KernelRidge(Gaussian(1.0), approximation=Landmarks(10, held=60)).fit(X, y)
    with pytest.raises(ValueError, match="held must be a whole number"):
        KernelRidge(Gaussian(1.0), approximation=Landmarks(10, held=0.5)).fit(X, y)
    with pytest.raises(ValueError, match="are for the squared loss"):
        KernelMachine(Gaussian(1.0), "huber", approximation=Landmarks(10, held=20)).fit(X, y)
    model = quiet(KernelRidge(Gaussian(1.0), approximation=Landmarks(10)), X, y)
    with pytest.raises(ValueError, match="checkpoint=. are for the squared loss"):
        KernelMachine(Gaussian(1.0), "huber", approximation=Landmarks(10, checkpoint="sums")).fit(X, y)
    for other in (KernelMachine(Gaussian(1.0), "huber"), GaussianProcessRegressor(Gaussian(1.0))):
        with pytest.raises(ValueError, match="solve=True.* is for KernelRidge"):
            other.set_params(approximation=Landmarks(10, solve=True)).fit(X, y)
    with pytest.raises(ValueError, match="or rows held out"):
        model.predict_interval(X, method="split")


def test_a_factor_for_each_lam_gives_what_one_reduction_gives(rng, monkeypatch):
    X, y = data(rng, 800)
    made = KernelRidge(Matern32(1.0), criterion="loo", optimize="lam", approximation=Landmarks(120))
    found = []
    for direct in (2500, 50):
        monkeypatch.setattr("mercer.solvers.normal.DIRECT", direct)
        model = quiet(made, X, y)
        found.append((model.landmarks_.residuals, model.dof_))
        fixed = quiet(KernelRidge(Matern32(1.0), lam=0.1, approximation=Landmarks(120)), X, y)
        found[-1] += (fixed.dof_, model.lam_)
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-8)
    assert found[0][3] == pytest.approx(found[1][3], rel=0.3)
    error = [float(np.mean(one[0] ** 2)) for one in found]
    assert error[0] == pytest.approx(error[1], rel=0.01)


def test_sums_that_allow_no_lam_near_the_guess_lead_to_a_larger_one(rng, monkeypatch):
    monkeypatch.setattr("mercer.solvers.normal.DIRECT", 10)
    known, limit = squared.loo_values, 10.0

    def values(fit, lams):
        if lams[0] < limit:
            raise NotPositiveDefinite("rounded off")
        return known(fit, lams)

    monkeypatch.setitem(squared.VALUES, "loo", values)
    made = KernelRidge(Matern32(1.0), criterion="loo", optimize="lam", approximation=Landmarks(40))
    assert quiet(made, *data(rng, 800)).lam_ >= limit / 4
