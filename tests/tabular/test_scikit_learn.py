"""A table model is an estimator of scikit-learn: in pipelines, searches, cross-validation, with polars and pandas."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer import GaussianProcessClassifier, KernelRidge
from mercer.kernels import Gaussian
from mercer.tabular import Recipe, TableModel

pytestmark = pytest.mark.filterwarnings("ignore::mercer.exceptions.DataWarning", "ignore::UserWarning")


@pytest.fixture
def table():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, 60)
    site = np.array(["a", "b", "c"])[np.arange(60) % 3]
    y = np.sin(x) + (site == "b") + 0.1 * rng.standard_normal(60)
    return pl.DataFrame({"x": x, "site": site}), y


def test_fit_takes_inputs_and_targets(table):
    X, y = table
    one = TableModel(KernelRidge(criterion="loo")).fit(X, y)
    other = TableModel(KernelRidge(criterion="loo"), target="y").fit(X.with_columns(y=y))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, y) > 0.8
    assert one.target_ == "y" and is_regressor(one) and not is_classifier(one)


def test_pandas_is_the_same_table(table):
    pandas = pytest.importorskip("pandas")
    X, y = table
    frame = pandas.DataFrame({"x": X["x"].to_numpy(), "site": X["site"].to_list()})
    model = TableModel(KernelRidge(criterion="loo"))
    expected = model.fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(frame, pandas.Series(y)).predict(frame), expected)
    assert cross_val_score(model, frame, pandas.Series(y), cv=3).shape == (3,)


def test_cross_validation_searches_and_pipelines(table):
    X, y = table
    model = TableModel(KernelRidge())
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.shape == (3,) and np.isfinite(scores).all()
    search = GridSearchCV(model, {"estimator__lam": [1e-3, 1e3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"estimator__lam": 1e-3}
    piped = make_pipeline(FunctionTransformer(), model).fit(X, y)
    np.testing.assert_array_equal(piped.predict(X), model.fit(X, y).predict(X))
    assert cross_val_predict(model, X, y, cv=3).shape == (60,)


def test_labels(table):
    X, y = table
    label = np.where(y > 0.5, "high", "low")
    model = TableModel(GaussianProcessClassifier(4.0 * Gaussian().on("x"), criterion=None))
    assert is_classifier(model)
    assert cross_val_score(model, X, label, cv=3).mean() > 0.5
    fitted = model.fit(X, label)
    assert fitted.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)


def test_a_recipe_is_a_transformer(table):
    X, y = table
    Z = make_pipeline(Recipe(), KernelRidge()).fit(X, y)
    assert np.isfinite(Z.predict(X)).all()
    np.testing.assert_array_equal(Recipe().fit_transform(X, y), Recipe().fit(X).transform(X))


def test_frozen_keeps_columns_and_hyper_parameters(table, tmp_path):
    X, y = table
    model = TableModel(KernelRidge(criterion="loo")).fit(X, y)
    again = model.frozen().fit(X[:40], y[:40])
    assert again.recipe_.feature_names_ == model.recipe_.feature_names_
    assert again.lam_ == model.lam_ and again.selection_ is None
    assert again.recipe_.columns_[0]["centre"] != model.recipe_.columns_[0]["centre"]
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m").predict(X), model.predict(X))
