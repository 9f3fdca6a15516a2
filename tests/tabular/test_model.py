"""TableModel and score: the table model is its estimator on its recipe, and no row judges what it has taught."""

import warnings

import numpy as np
import polars as pl
import pytest

from mercer import (
    SVR,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelMachine,
    KernelRidge,
    Neighbours,
    files,
)
from mercer.exceptions import DataError
from mercer.kernels import Categorical, Gaussian, Linear, Matern32
from mercer.losses import Huber, Poisson
from mercer.selection import LOO
from mercer.tabular import Recipe, TableModel, default_kernel, place_kernel, score
from mercer.tabular.kernels import length_scales


@pytest.fixture
def frame(rng):
    n = 40
    x, z = rng.uniform(-2, 2, n), rng.normal(size=n)
    site = rng.choice(["a", "b", "c"], n)
    y = np.sin(2 * x) + 0.3 * (site == "a") + 0.05 * rng.normal(size=n)
    label = np.where(y + 0.2 * rng.normal(size=n) > 0.3, "high", "low")
    return pl.DataFrame({"x": x, "z": z, "site": site, "label": label, "y": y})


def test_it_is_the_estimator_on_the_recipe(frame):
    model = TableModel(KernelRidge(criterion=LOO()), Recipe(ignore=["label"]), target="y").fit(frame)
    recipe = Recipe(ignore=["label"]).fit(frame.drop("y"))
    X, y = recipe.transform(frame), frame["y"].to_numpy()
    plain = KernelRidge(default_kernel(recipe, 40), criterion=LOO()).fit(X, y)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    np.testing.assert_array_equal(model.predict_interval(frame, 0.8), plain.predict_interval(X, 0.8))
    assert model.interval_method == "conformal"
    assert model.feature_names_ == ["x", "z", "site = a", "site = b", "site = c"]


def test_the_default_kernel_is_the_product_with_the_categorical_one(frame):
    recipe = Recipe(ignore=["label", "y"]).fit(frame)
    kernel = default_kernel(recipe, 40)
    ell = kernel.right.kernel.length_scale
    twin = Matern32(kernel.left.kernel.length_scale).on([0, 1])(recipe.transform(frame))
    twin = twin * Categorical(ell**2)(frame["site"].to_list())
    np.testing.assert_allclose(kernel(recipe.transform(frame)), twin, rtol=1e-12)
    assert length_scales(kernel, recipe) == list(zip(kernel.names, ["x", "z", "site"], strict=True))
    assert np.ndim(default_kernel(recipe, 10).left.kernel.length_scale) == 0  # too few rows for one each


def test_a_kernel_may_name_columns_of_the_table(frame):
    recipe = Recipe(ignore=["label", "y"]).fit(frame)
    kernel = place_kernel(2.0 * Gaussian(0.5).on("x") + Linear().on(["z", "site"]), recipe)
    assert repr(kernel) == "2.0 * Gaussian(0.5).on([0]) + Linear().on([1, 2, 3, 4])"
    with pytest.raises(DataError, match="'sit', which is not there; did you mean 'site'"):
        place_kernel(Gaussian().on("sit"), recipe)
    with pytest.raises(DataError, match="left out: as asked"):
        place_kernel(Gaussian().on("label"), recipe)


def test_rows_without_a_target_are_dropped_and_few_rows_refused(frame):
    gone = frame.with_columns(y=pl.when(pl.int_range(40) < 5).then(None).otherwise(pl.col("y")))
    model = TableModel(KernelRidge(Gaussian().on("x"), 0.1), target="y").fit(gone)
    np.testing.assert_array_equal(model.rows_, np.arange(5, 40))
    assert "5 rows without a target 'y' dropped." in model.notes_
    with pytest.raises(DataError, match="2 rows with a target"):
        TableModel(KernelRidge(), target="y").fit(frame[:2])
    with pytest.raises(DataError, match="is text"):
        TableModel(KernelRidge(), target="label").fit(frame)


def test_with_many_rows_the_choice_is_made_on_some_of_them(frame):
    model = TableModel(KernelRidge(criterion=LOO()), Recipe(ignore=["label"]), target="y", search_rows=30).fit(frame)
    assert len(model.estimator_.points_) == 40
    assert model.estimator_.criterion is None
    assert model.selection_.criterion == "LOO()"
    assert model.estimator_.lam_ == model.selection_.lam
    assert any("chosen on 30 of 40 rows" in note for note in model.notes_)
    part = TableModel(KernelRidge(Gaussian().on("x"), 0.1), target="y", fit_rows=20).fit(frame)
    assert len(part.rows_) == 20


def test_a_failed_fit_leaves_the_model_as_it_was(frame):
    model = TableModel(KernelRidge(Gaussian().on("x"), 0.1), target="y").fit(frame)
    before = model.predict(frame)
    with pytest.raises(DataError):
        model.fit(frame.drop("y"))
    np.testing.assert_array_equal(model.predict(frame), before)


OTHERS = {
    "gp": (GaussianProcessRegressor(), "y", "gaussian"),
    "svr": (SVR(), "y", "left-out"),
    "huber": (KernelMachine(loss=Huber(), criterion="loo"), "y", "left-out"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models(frame, name):
    estimator, target, method = OTHERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableModel(estimator, Recipe(ignore=["label", "site"]), target=target).fit(frame)
    assert np.corrcoef(model.predict(frame), frame[target].to_numpy())[0, 1] > 0.9
    if method != "gaussian":
        assert model.interval_method == method
        assert np.isfinite(model.predict_interval(frame)).all()
        model.calibrate(np.r_[np.linspace(-1, 1, 99), np.nan], np.zeros(100))
        ends = model.predict_interval(frame, 0.9)
        np.testing.assert_allclose((ends[:, 1] - ends[:, 0]) / 2, np.sort(np.abs(np.linspace(-1, 1, 99)))[89])
    else:
        assert model.interval_method == method


def test_intervals_are_those_of_the_estimator_by_neighbours_too(frame):
    process = GaussianProcessRegressor(Matern32(1.0), 0.01, criterion=None, approximation=Neighbours(8))
    model = TableModel(process, Recipe(ignore=["label", "site"]), target="y").fit(frame)
    X = model.inputs(frame)
    assert model.interval_method == "calibrated" == model.estimator_.interval_method
    np.testing.assert_array_equal(model.predict_interval(frame, 0.8), model.estimator_.predict_interval(X, 0.8))
    wide = model.estimator_.predict_interval(X, 0.8, method="gaussian")
    assert not np.allclose(model.predict_interval(frame, 0.8), wide)


def test_counts(frame):
    counts = frame.with_columns(y=(3 + 2 * frame["x"]).clip(0).round())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableModel(KernelMachine(loss=Poisson(), criterion="loo"), Recipe(ignore=["label", "site"]), target="y")
        assert (model.fit(counts).predict(counts) >= 0).all()


@pytest.mark.parametrize("estimator", [GaussianProcessClassifier(), KernelMachine(loss="logistic", criterion="loo")])
def test_labels(frame, estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableModel(estimator, Recipe(ignore=["y", "site"]), target="label").fit(frame)
    assert np.mean(model.predict(frame) == frame["label"].to_numpy()) > 0.85
    with pytest.raises(DataError, match="probabilities"):
        _ = model.interval_method
    with pytest.raises(DataError, match="two classes"):
        TableModel(estimator, target="label").fit(frame.filter(pl.col("label") == "low"))


def test_a_model_file_gives_the_same_predictions_to_the_last_bit(frame, tmp_path):
    model = TableModel(KernelRidge(lam=0.1), Recipe(ignore=["label"]), target="y").fit(frame)
    model.calibrate([0.5, -1.0, 2.0], np.zeros(3), fold=[0, 1, 1])
    files.save(model, tmp_path / "m.mercer")
    again = files.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.predict_interval(frame, 0.6), model.predict_interval(frame, 0.6))
    assert again.recipe_.columns_ == model.recipe_.columns_
    assert again.notes_ == model.notes_
    np.testing.assert_array_equal(again.left_out_.residuals, [0.5, -1.0, 2.0])
    np.testing.assert_array_equal(again.left_out_.fold, [0, 1, 1])


# ------------------------------------------------------------------------------------------------ scores
def test_scores_are_those_of_fits_without_the_fold(frame):
    model = TableModel(KernelRidge(Gaussian().on("x"), criterion=LOO()), target="y")
    found = score(model, frame, outer=2)
    y = frame["y"].to_numpy()
    for (_, fold), value in zip(found.folds, found.scores, strict=True):
        train = np.setdiff1d(np.arange(40), fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold may go beyond the range of the others
            predicted = model.fit(frame[train]).predict(frame[fold])
        np.testing.assert_allclose(found.predictions[fold], predicted)
        np.testing.assert_allclose(
            value, 1 - np.sum((y[fold] - predicted) ** 2) / np.sum((y[fold] - y[fold].mean()) ** 2)
        )
    assert sorted(np.concatenate([test for _, test in found.folds])) == list(range(40))
    np.testing.assert_allclose(found.residuals, y - found.predictions)
    assert [one["name"] for one in found.baselines] == ["mean", "linear model", "5 neighbours"]
    mean = np.concatenate([np.full(len(fold), np.delete(y, fold).mean()) for _, fold in found.folds])
    np.testing.assert_allclose(
        found.baselines[0]["rmse"], np.sqrt(np.mean((y[np.concatenate([test for _, test in found.folds])] - mean) ** 2))
    )


def test_scores_of_labels_and_rows_without_a_target(frame):
    gone = frame.with_columns(label=pl.when(pl.int_range(40) == 7).then(None).otherwise(pl.col("label")))
    model = TableModel(GaussianProcessClassifier(Gaussian().on("x"), criterion=None), target="label")
    found = score(model, gone, outer=2)
    assert found.scoring == "accuracy"
    assert found.optimism == 0
    assert found.predictions[7] is None
    assert found.to_dict()["predictions"][7] is None
    assert found.baselines[0]["name"] == "commonest class"


def test_the_listener_hears_of_evaluations_and_folds(frame):
    pytest.importorskip("sklearn.callback")  # from scikit-learn 1.9 on
    heard = []
    model = TableModel(KernelRidge(Gaussian().on("x"), criterion=LOO()), target="y")
    score(model, frame, fitted=model.fit(frame), outer=2, listener=lambda *step: heard.append(step))
    assert [step for step in heard if step] == [(1, 2), (2, 2)]
    assert heard.count(()) > 10


def test_too_few_rows_to_judge(frame):
    with pytest.raises(ValueError, match="9 rows are too few"):
        score(KernelRidge(), frame[:9].select("x", "z").to_numpy(), frame["y"][:9])


ONE_ROW = {
    "a number that one row alone has": (KernelRidge(Gaussian().on("x") + Linear().on("w"), 0.1), {"w": np.eye(40)[3]}),
    "one missing number": (KernelRidge(Gaussian([1.0, 1.0]).on(["m"]), 0.1), {"m": [None, *np.arange(39.0)]}),
    "text that is numbers in most rows": (
        KernelRidge(Gaussian().on("t"), 0.1),
        {"t": [f"{i % 27}.5" for i in range(31)] + ["a", "b", "a", "b", "a", "b", "a", "b", "a"]},
    ),
}


@pytest.mark.parametrize("name", ONE_ROW)
def test_what_a_column_is_does_not_depend_on_the_fold(frame, name):
    estimator, columns = ONE_ROW[name]
    table = frame.select("x", "y").with_columns(pl.Series(key, cells) for key, cells in columns.items())
    found = score(TableModel(estimator, target="y"), table)
    assert len(found.scores) == 5


def test_there_are_no_more_folds_than_rows_of_the_largest_class(frame):
    labels = pl.Series("label", [f"l{i // 3}" for i in range(40)])
    model = TableModel(GaussianProcessClassifier(Gaussian().on("x"), criterion=None), target="label")
    assert len(score(model, frame.with_columns(labels)[:12]).scores) == 3


def test_rows_are_numbered_as_in_the_table(frame):
    gone = frame.with_columns(y=pl.when(pl.int_range(40) < 5).then(None).otherwise(pl.col("y")),
                              x=pl.when(pl.int_range(40) == 7).then(np.inf).otherwise(pl.col("x")))  # fmt: skip
    with pytest.raises(DataError, match="'x' is infinite.* in row 8"):
        TableModel(KernelRidge(Gaussian().on("x"), 0.1), target="y").fit(gone)


def test_infinite_intervals_of_left_out_rows_are_said(frame):
    model = TableModel(KernelMachine(Gaussian().on("x"), "huber", 0.1), target="y").fit(frame)
    model.calibrate(np.linspace(-1, 1, 9), np.zeros(9))
    with pytest.warns(UserWarning, match="9 rows cannot show a coverage of 0.95: 19 are needed"):
        assert np.isinf(model.predict_interval(frame, 0.95)).all()


def test_how_dates_are_written_goes_with_the_model_and_its_file(frame, tmp_path):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 9), eager=True)
    table = frame.select("x", "y").with_columns(days.alias("when"))
    model = TableModel(KernelRidge(lam=0.1), target="y").fit(table, written={"when": "%d/%m/%Y"})
    files.save(model, tmp_path / "m.mercer")
    assert files.load(tmp_path / "m.mercer").written == model.written == {"when": "%d/%m/%Y"}
    assert TableModel(KernelRidge(lam=0.1), target="y").fit(table).written == {}
