"""The rows that come next: what a step is, in numbers and on the calendar, and what cannot be continued."""

import numpy as np
import polars as pl
import pytest

from mercer import GaussianProcessRegressor, KernelRidge, StackedKernels, TransformedTarget
from mercer.kernels import Gaussian
from mercer.tabular import DataError, TableModel, rows_ahead, score


def fitted(**columns):
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame(columns | {"level": 2.0 + np.sin(np.arange(n))})
    return TableModel(KernelRidge(Gaussian(1.0), 1.0), target="level").fit(frame)


def dates(*texts):
    return np.array(texts, dtype="datetime64[D]")


def months(first, n, step=1, day=0):
    return (np.datetime64(first, "M") + step * np.arange(n)).astype("datetime64[D]") + day


def ends(first, n):
    return months(first, n + 1)[1:] - 1


@pytest.mark.parametrize(
    ("time", "next_ones"),
    [
        (np.arange(1950, 1980), [1980, 1981]),
        (1949.0 + np.arange(30) / 12, [1951.5, 1951.583333]),
        (np.delete(np.arange(40.0), 7) * 0.25, [10.0, 10.25]),  # a row is missing
        (np.arange(30)[::-1] * 3, [90, 93]),  # the newest first
        (months("2020-01", 25), dates("2022-02-01", "2022-03-01")),
        (months("2020-01", 25, day=14), dates("2022-02-15", "2022-03-15")),
        (ends("2020-01", 25), dates("2022-02-28", "2022-03-31")),
        (months("2010-01", 30, step=3), dates("2017-07-01", "2017-10-01")),
        (months("1990-01", 24, step=12), dates("2014-01-01", "2015-01-01")),
        (np.datetime64("2024-02-01") + np.arange(28), dates("2024-02-29", "2024-03-01")),
        (np.datetime64("2024-01-01") + 7 * np.arange(25), dates("2024-06-24", "2024-07-01")),
        (
            np.datetime64("2024-01-01T00", "us") + np.arange(30) * np.timedelta64(1, "h"),
            np.array(["2024-01-02T06", "2024-01-02T07"], dtype="datetime64[us]"),
        ),
    ],
)
def test_the_step_goes_on(time, next_ones):
    found = rows_ahead(fitted(when=time), 2)
    assert found.columns == ["when"]
    expected = pl.Series(next_ones)
    if expected.dtype.is_float():
        np.testing.assert_allclose(found["when"], expected, rtol=0, atol=1e-6)
    else:
        assert found["when"].to_list() == expected.to_list()


def test_what_is_no_series():
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="no|none"):
        rows_ahead(fitted(x=rng.standard_normal(30)), 3)
    with pytest.raises(DataError, match="'price'"):
        rows_ahead(fitted(when=np.arange(30), price=rng.standard_normal(30)), 3)
    frame = pl.DataFrame({"when": np.arange(30), "y": np.sin(np.arange(30.0))})
    stack = StackedKernels([1.0 * Gaussian(1.0)], [0.1])
    with pytest.raises(DataError, match="--model gp"):
        rows_ahead(TableModel(stack).fit(frame), 3)


def test_of_a_transformed_target():
    frame = pl.DataFrame({"when": np.arange(30), "y": np.exp(np.arange(30.0) / 10)})
    inner = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.01, criterion=None)
    model = TableModel(inner, target_transform="log").fit(frame)
    assert isinstance(model.estimator_, TransformedTarget)
    assert rows_ahead(model, 2)["when"].to_list() == [30, 31]


@pytest.mark.parametrize("way", [1, -1], ids=["oldest first", "newest first"])
def test_of_a_long_series_the_last_rows_are_kept(way):
    t = np.arange(400.0)[::way]
    frame = pl.DataFrame({"when": t, "y": np.sin(t / 5)})
    model = TableModel(GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None), fit_rows=60).fit(frame)
    np.testing.assert_array_equal(np.sort(frame["when"].to_numpy()[model.rows_]), np.arange(340.0, 400.0))
    assert "60 of 400 rows, the last of a series" in " ".join(model.notes_)
    assert rows_ahead(model, 2)["when"].to_list() == [400, 401]


def test_of_other_tables_rows_are_drawn_at_random():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.standard_normal(400), "y": rng.standard_normal(400)})
    model = TableModel(KernelRidge(Gaussian(1.0), 1.0), fit_rows=60).fit(frame)
    assert len(model.rows_) == 60 and model.rows_[30] < 300 and "drawn at random" in " ".join(model.notes_)


def test_a_series_is_judged_forward():
    frame = pl.DataFrame({"when": np.arange(60), "y": np.sin(np.arange(60.0))})
    found = score(TableModel(KernelRidge(Gaussian(1.0), 1.0)), frame, outer=3)
    assert found.forward and [len(test) for _, test in found.folds] == [10, 10, 10]
    back = score(TableModel(KernelRidge(Gaussian(1.0), 1.0)), frame.reverse(), outer=3)
    np.testing.assert_allclose(back.scores, found.scores)
    np.testing.assert_allclose(back.predictions, found.predictions[::-1])
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=0)
    assert not score(TableModel(KernelRidge(Gaussian(1.0), 1.0)), shuffled, outer=3).forward


def test_a_frozen_model_has_the_transform_that_was_learnt():
    x = np.linspace(0, 3, 40)
    frame = pl.DataFrame({"x": x, "y": np.exp(x)})
    inner = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.01, criterion=None)
    model = TableModel(inner, target_transform="log").fit(frame)
    again = model.frozen().fit(frame)
    np.testing.assert_allclose(again.predict(frame), model.predict(frame), rtol=1e-10)
