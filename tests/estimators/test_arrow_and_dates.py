"""Tables of Arrow are read by their columns; a missing date is refused by its row, never taken as a number."""

import numpy as np
import pytest

import mercer
import mercer.compat
from mercer.kernels import Categorical, Gaussian, Linear

REGRESSORS = [
    mercer.KernelRidge(Gaussian()),
    mercer.GaussianProcessRegressor(Gaussian(), criterion=None),
    mercer.SVR(Gaussian()),
    mercer.KernelMachine(kernel=Gaussian()),
    mercer.KernelInterpolator(Gaussian()),
]
DATES = np.array(["2020-01-01", "2020-03-01", "NaT", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")


def columns(n=12):
    rng = np.random.default_rng(0)
    return {"a": rng.standard_normal(n), "b": rng.integers(0, 9, n)}


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_a_table_of_arrow_is_the_array_of_its_columns(model):
    pa = pytest.importorskip("pyarrow")
    table, X = columns(), np.column_stack(list(columns().values())).astype(float)
    y = np.sin(X[:, 0]) + X[:, 1]
    model.fit(pa.table(table), y)
    found = model.predict(pa.table(table))
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(found, model.fit(X, y).predict(X))


def test_arrow_columns_by_name_and_categories():
    pa = pytest.importorskip("pyarrow")
    words = {"a": columns()["a"], "kind": ["red", "blue", "green"] * 4}
    y = words["a"] + np.tile([0.0, 1.0, 2.0], 4)
    kernel = Gaussian().on("a") * Categorical().on("kind")
    found = mercer.KernelRidge(kernel, 1e-3).fit(pa.table(words), y).predict(pa.table(words))
    np.testing.assert_array_equal(found, mercer.KernelRidge(kernel, 1e-3).fit(words, y).predict(words))


def test_a_column_of_dates_or_words_in_arrow_is_named():
    pa = pytest.importorskip("pyarrow")
    y = np.arange(5.0)
    with pytest.raises(ValueError, match="column 'when' of X is"):
        mercer.KernelRidge().fit(pa.table({"when": DATES.astype("datetime64[s]")}), y)
    with pytest.raises(ValueError, match="column 'word' of X does not hold numbers"):
        mercer.KernelRidge().fit(pa.table({"word": list("abcde")}), y)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("unit", ["datetime64[D]", "datetime64[ns]", "timedelta64[s]"])
def test_a_missing_date_is_refused_by_its_row(model, unit):
    dates = DATES.astype("datetime64[s]")
    dates = (dates - dates[0]).astype(unit) if unit.startswith("timedelta") else dates.astype(unit)
    for X in (dates[:, None], [[date] for date in dates]):
        with pytest.raises(ValueError, match="Input X contains NaT.*row 2"):
            model.fit(X, np.arange(5.0))
    with pytest.raises(ValueError, match="Input y contains NaT.*row 2"):
        model.fit(np.arange(5.0)[:, None], dates)
    model.fit(np.arange(5.0)[:, None], np.arange(5.0))
    with pytest.raises(ValueError, match="NaT.*row 2"):
        model.predict(dates[:, None])


@pytest.mark.parametrize(
    "name", ["KernelRidge", "SVR", "NuSVR", "GaussianProcessRegressor", "GaussianProcessClassifier"]
)
def test_with_signatures_of_scikit_learn_too(name):
    model, x, y = getattr(mercer.compat, name)(), np.arange(5.0)[:, None], np.array([0, 1, 0, 1, 1])
    with pytest.raises(ValueError, match="Input X contains NaT.*row 2"):
        model.fit(DATES[:, None], y)
    with pytest.raises(ValueError, match="Input y contains NaT.*row 2"):
        model.fit(x, DATES)
    with pytest.raises(ValueError, match="Input X contains NaT.*row 2"):
        model.fit(x, y).predict(DATES[:, None])


def test_a_kernel_alone_refuses_it_too():
    with pytest.raises(ValueError, match="Linear: X contains NaT.*row 2"):
        Linear()(DATES[:, None])
