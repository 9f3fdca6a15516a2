"""Mixed tables in every estimator: by name equals by hand, columns are matched, scikit-learn's tools slice frames."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import (
    SVR,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
)
from mercer.kernels import Categorical, Gaussian, Ordinal, Pairwise, Periodic, Spectrum, Table, parse_kernel
from mercer.losses import Huber, Logistic
from mercer.selection import LOO, Evidence, nested_cv
from mercer.selection.search.space import median_heuristic

LEVELS = ["low", "medium", "high"]


@pytest.fixture
def data(rng):
    """A frame in which the site turns the effect of age around, and y."""
    n = 90
    frame = pd.DataFrame(
        {
            "age": rng.normal(50.0, 10.0, n),
            "dose": rng.gamma(2.0, 2.0, n),
            "site": rng.choice(["Bern", "Turin", "Ulm"], n),
            "grade": [LEVELS[i] for i in rng.integers(0, 3, n)],
            "note": ["x"] * n,
        }
    )
    sign = frame["site"].map({"Bern": 1.0, "Turin": -1.0, "Ulm": 0.2}).to_numpy()
    y = sign * np.sin(frame["age"].to_numpy() / 8.0) + 0.2 * np.cos(frame["dose"].to_numpy())
    return frame, y + 0.05 * rng.standard_normal(n)


def mixed():
    """Numbers, categories and an ordered scale."""
    return Gaussian([10.0, 3.0]).on(["age", "dose"]) * Categorical().on("site") + 0.1 * Ordinal(LEVELS).on("grade")


def test_ridge_by_name_is_ridge_with_the_matrix(data):
    frame, y = data
    kernel, new = mixed(), frame[::-1][:7]
    model = KernelRidge(kernel, 0.1, trend=None).fit(frame, y)
    alpha = np.linalg.solve(kernel(frame) + 0.1 * np.eye(len(y)), y)
    assert_allclose(model.predict(new), kernel(new, frame) @ alpha, rtol=1e-8)


def test_indicator_columns_are_the_categorical_kernel(data):
    # [x ≠ z] is half the squared distance of indicator columns, so e^(−[x ≠ z]/ℓ) is a Gaussian kernel on them.
    frame, y = data
    indicators = (frame["site"].to_numpy()[:, None] == np.array(["Bern", "Turin", "Ulm"])).astype(float)
    X = np.hstack([frame[["age"]].to_numpy() / 10.0, indicators / np.sqrt(0.7)])
    by_hand = KernelRidge(Gaussian(1.0), 0.1).fit(X, y)
    by_name = KernelRidge(Gaussian(10.0).on("age") * Categorical(0.7).on("site"), 0.1).fit(frame, y)
    assert_allclose(by_name.predict(frame), by_hand.predict(X), rtol=1e-8)


ESTIMATORS = [
    KernelRidge(mixed(), 0.1),
    KernelRidge(mixed(), criterion=LOO()),
    KernelInterpolator(mixed()),
    GaussianProcessRegressor(mixed(), 0.01, criterion=None),
    SVR(mixed(), C=10.0),
    KernelMachine(mixed(), Huber(), 0.1),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_estimators_read_frames_of_all_kinds(data, model):
    frame, y = data
    fitted = clone(model).fit(frame, y)
    expected = fitted.predict(frame)
    assert fitted.score(frame, y) > 0.8
    assert_array_equal(fitted.feature_names_in_, frame.columns)
    assert fitted.n_features_in_ == 5
    columns = {name: frame[name].tolist() for name in frame}
    for X in (pl.DataFrame(columns), columns, Table(columns), frame[frame.columns[::-1]]):
        assert_array_equal(fitted.predict(X), expected)
    other = clone(model).fit(pl.DataFrame(columns), y)
    assert_allclose(other.predict(columns), expected, rtol=1e-7, atol=1e-9)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(frame), expected)
    assert parse_kernel(repr(again.kernel_)) == fitted.kernel_


@pytest.mark.parametrize("make", [GaussianProcessClassifier, KernelMachine])
def test_classifiers_read_frames(data, make):
    frame, y = data
    labels = np.where(y > np.median(y), "high", "low")
    model = make(mixed(), criterion=None) if make is GaussianProcessClassifier else make(mixed(), Logistic(), 0.1)
    found = model.fit(frame, labels).predict_proba(pl.DataFrame(frame.to_dict("list")))
    assert_array_equal(found, model.predict_proba(frame))
    assert np.mean(model.classes_[found.argmax(axis=1)] == labels) > 0.85


def test_a_new_category_falls_back_on_the_others(data):
    frame, y = data
    model = GaussianProcessRegressor(mixed(), 0.01, criterion=None).fit(frame, y)
    new = frame[:5].assign(site="Oslo")
    mean, std = model.predict(new, return_std=True)
    known = model.predict(frame[:5], return_std=True)[1]
    assert np.isfinite(mean).all() and (std > known).all()
    assert_allclose(mean, model.predict(new.assign(site="Rome")), rtol=1e-12)  # all new ones are alike
    cov = model.predict(pd.concat([new[:1], new[:1], new[:1].assign(site="Rome")]), return_cov=True)[1]
    assert cov[0, 1] > cov[0, 2]  # but each is equal to itself only


def loo_error(K, lam, y):
    """Σ eᵢ²,  eᵢ = αᵢ/[K̃⁻¹]ᵢᵢ."""
    inverse = np.linalg.inv(K + lam * np.eye(len(y)))
    return np.sum((inverse @ y / np.diag(inverse)) ** 2)


def minus_log_evidence(K, lam, y):
    """½ yᵀK̃⁻¹y + ½ log det K̃, up to a constant."""
    system = K + lam * np.eye(len(y))
    return 0.5 * y @ np.linalg.solve(system, y) + 0.5 * np.linalg.slogdet(system)[1]


@pytest.mark.parametrize(("criterion", "value"), [(LOO(), loo_error), (Evidence(), minus_log_evidence)])
def test_a_search_ends_where_no_step_is_better(data, criterion, value):
    frame, y = data
    kernel = 1.0 * Gaussian([10.0, 10.0]).on(["age", "dose"]) * Categorical().on("site")
    model = KernelRidge(kernel, criterion=criterion, trend=None).fit(frame, y)
    found = value(model.kernel_(frame), model.lam_, y)
    assert found < value(kernel(frame), 0.1, y) - 0.1
    for i in range(len(kernel.theta)):  # naive steps either way, in every hyper-parameter; in some it is flat
        for step in (-0.3, 0.3):
            theta = model.kernel_.theta
            theta[i] += step
            assert value(model.kernel_.with_theta(theta)(frame), model.lam_, y) > found - 5e-3 * abs(found)


def test_a_list_of_kernels_is_a_discrete_search(data):
    frame, y = data
    ages = [Gaussian(10.0).on("age"), Gaussian(10.0).on("age") * Categorical().on("site"), Gaussian(3.0).on("dose")]
    model = KernelRidge(ages, criterion=LOO(), optimize="lam").fit(frame, y)
    assert model.kernel_ == ages[1]


def test_a_search_over_the_length_of_words(rng):
    words = ["".join(rng.choice(list("acgt"), 10)) for _ in range(50)]
    X = pd.DataFrame({"text": words, "age": rng.normal(50.0, 10.0, 50)})
    y = np.array([word.count("ac") for word in words]) + 0.02 * X["age"].to_numpy() + 0.1 * rng.standard_normal(50)
    kernels = [Spectrum(k).on("text") + Gaussian(20.0).on("age") for k in (1, 2, 4)]
    model = KernelRidge(kernels, criterion=LOO(), optimize="lam").fit(X, y)
    assert model.kernel_ == kernels[1] and model.score(X, y) > 0.95
    grid = GridSearchCV(KernelRidge(kernels[0], 0.1), {"kernel__left__kernel": [Spectrum(1), Spectrum(2)]}, cv=3)
    assert grid.fit(X, y).best_params_ == {"kernel__left__kernel": Spectrum(2)}


def test_starts_see_the_columns_by_name(data):
    frame, _ = data
    numbers = frame[["age", "dose"]].to_numpy()
    kernel = Gaussian([1.0, 1.0]).on(["age", "dose"]) * Categorical(0.8).on("site") + Gaussian().on("dose")
    got = median_heuristic(kernel, kernel.validate(frame))
    assert got.left.right == Categorical(0.8).on("site")
    assert got.left.left.kernel == median_heuristic(Gaussian([1.0, 1.0]), numbers)
    assert got.right.kernel == median_heuristic(Gaussian(), numbers[:, 1:])
    coded = np.column_stack([numbers, frame["site"].astype("category").cat.codes])
    by_number = median_heuristic(Gaussian().on(1) * Categorical(0.8).on(2), coded)
    assert by_number.right == Categorical(0.8).on(2)


def test_scikit_learn_slices_the_rows(data):
    frame, y = data
    other = pl.DataFrame(frame.to_dict("list"))
    scores = cross_val_score(KernelRidge(mixed(), 0.1), frame, y, cv=3)
    assert_allclose(cross_val_score(KernelRidge(mixed(), 0.1), other, y, cv=3), scores, rtol=1e-10)
    assert_allclose(cross_val_score(KernelRidge(mixed(), 0.1), Table(other), y, cv=3), scores, rtol=1e-10)
    grid = {"kernel__left__right__kernel__length_scale": [0.5, 1000.0]}
    search = GridSearchCV(KernelRidge(mixed(), 0.1), grid, cv=3).fit(frame, y)
    assert search.best_estimator_.kernel.left.right.kernel == Categorical(0.5)
    assert search.predict(other).shape == y.shape


def test_nested_cv_on_frames(data):
    frame, y = data
    model = KernelRidge([mixed(), Gaussian(10.0).on("age")], optimize="lam")
    result = nested_cv(model, frame, y, outer=3, inner=LOO())
    again = nested_cv(model, pl.DataFrame(frame.to_dict("list")), y, outer=3, inner=LOO())
    assert result.mean > 0.7 and result.choice["kernel"] == mixed()
    assert_allclose(again.scores, result.scores, rtol=1e-8)


def test_weights_of_zero_drop_rows(data, rng):
    frame, y = data
    w = rng.integers(0, 3, len(y)).astype(float)
    weighted = KernelRidge(mixed(), 0.1).fit(frame, y, sample_weight=w)
    repeated = KernelRidge(mixed(), 0.1).fit(
        frame.loc[np.repeat(np.arange(len(y)), w.astype(int))], np.repeat(y, w.astype(int))
    )
    assert len(weighted.points_) == np.count_nonzero(w)
    assert_allclose(weighted.predict(frame), repeated.predict(frame), rtol=1e-7, atol=1e-9)


def test_columns_are_matched_by_name(data):
    frame, y = data
    model = KernelRidge(mixed(), 0.1).fit(frame, y)
    with pytest.raises(ValueError, match=r"in any order; X comes without 'site'\."):
        model.predict(frame.drop(columns="site"))
    with pytest.raises(ValueError, match=r"without 'age' and with 'Age', 'id', unseen"):
        model.predict(frame.rename(columns={"age": "Age"}).assign(id=1))
    with pytest.raises(TypeError, match="by name"):
        model.predict(frame.to_numpy())
    with pytest.raises(ValueError, match="no row"):
        model.predict(frame[:0])


def test_kernels_on_whole_rows_see_the_columns_of_the_fit(data):
    frame, y = data
    text = frame[["site", "grade"]]
    model = KernelRidge(Categorical([0.5, 2.0]), 0.1).fit(text, y)
    assert_array_equal(model.feature_names_in_, ["site", "grade"])
    assert_array_equal(model.predict(text[["grade", "site"]]), model.predict(text))
    pairs = KernelRidge(Pairwise(agreement), 0.1).fit(text, y)
    assert_allclose(pairs.predict(text[["grade", "site"]]), pairs.predict(text))


def agreement(x, z):
    """The share of equal entries, the first one counted twice."""
    return float(2 * (x[0] == z[0]) + (x[1] == z[1]))


def test_another_fit_forgets_the_columns(data):
    frame, y = data
    model = KernelRidge(Categorical(), 0.1).fit(frame[["site", "grade"]], y)
    model.fit(frame["site"].tolist(), y)
    assert not hasattr(model, "feature_names_in_") and not hasattr(model, "n_features_in_")
    before = model.predict(["Bern", "Ulm"])
    with pytest.raises(ValueError, match="row 0"):
        model.fit([None] * len(y), y)
    assert_array_equal(model.predict(["Bern", "Ulm"]), before)


def test_missing_values_name_column_and_row(data):
    frame, y = data
    for name, value in (("site", None), ("age", np.nan), ("dose", np.inf)):
        broken = frame.copy()
        broken.loc[4, name] = value
        with pytest.raises(ValueError, match=f"column '{name}' of X, row 4"):
            KernelRidge(mixed(), 0.1).fit(broken, y)
    KernelRidge(mixed(), 0.1).fit(frame.assign(note=None), y)  # no kernel reads the notes


def test_no_kernel_still_means_numbers(data):
    frame, y = data
    numbers = frame[["age", "dose"]]
    model = KernelRidge(lam=0.1).fit(numbers, y)
    assert_array_equal(
        model.predict(numbers), KernelRidge(lam=0.1).fit(numbers.to_numpy(), y).predict(numbers.to_numpy())
    )
    with pytest.raises(ValueError, match="column 'site' of X does not hold numbers"):
        KernelRidge(lam=0.1).fit(frame, y)
    with pytest.raises(ValueError, match=r"Categorical\(\)\.on\('site'\)"):
        KernelRidge(lam=0.1).fit(frame[["age", "site"]].astype({"site": "category"}), y)


def test_day_of_the_year(rng):
    day = rng.uniform(0.0, 3 * 365.25, 60)
    y = np.cos(2 * np.pi * day / 365.25)
    model = KernelRidge(Periodic(1.0, 365.25, period_bounds="fixed").on("day"), 1e-3).fit({"day": day}, y)
    assert_allclose(model.predict({"day": day + 10 * 365.25}), y, atol=0.02)
