"""The bundled data: shapes, names, values against the published ones, and the three ways to ask for them."""

import csv
import inspect
import sys

import numpy as np
import pytest

from mercer import datasets

# loader: rows, features, target, and the sum of the target column, so that a changed file is noticed
EXPECTED = {
    "load_cars": (50, ["speed"], "dist", 2149.0),
    "load_mcycle": (133, ["times"], "accel", -3397.6),
    "load_faithful": (272, ["eruptions"], "waiting", 19284.0),
    "load_ethanol": (88, ["C", "E"], "NOx", 172.249),
    "load_co2": (468, ["decimal_year"], "co2_ppm", 157741.05),
    "load_airpassengers": (144, ["decimal_year"], "passengers", 40363.0),
    "load_synth": (250, ["xs", "ys"], "yc", 125.0),
}


@pytest.fixture(params=sorted(EXPECTED))
def name(request):
    return request.param


def test_every_loader_is_listed_here():
    public = {n for n, f in inspect.getmembers(datasets, inspect.isfunction) if n.startswith("load_")}
    assert public == set(EXPECTED) == set(datasets.__all__)


def test_bunch(name):
    rows, features, target, total = EXPECTED[name]
    bunch = getattr(datasets, name)()
    assert bunch.data.shape == (rows, len(features))
    assert bunch.target.shape == (rows,)
    assert bunch.data.dtype == np.float64
    assert bunch.data.flags.c_contiguous
    assert np.isfinite(bunch.data).all()
    assert np.isfinite(bunch.target).all()
    assert (bunch.feature_names, bunch.target_name, bunch.frame) == (features, target, None)
    assert bunch.target.sum() == pytest.approx(total, abs=1e-6)
    assert bunch.DESCR.splitlines()[0].endswith(".")
    assert all(column in bunch.DESCR for column in [*features, target])
    assert str(rows) in bunch.DESCR


def test_return_X_y(name):
    bunch = getattr(datasets, name)()
    X, y = getattr(datasets, name)(return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_as_frame(name):
    load = getattr(datasets, name)
    plain, framed = load(), load(as_frame=True)
    assert list(framed.frame.columns) == [*plain.feature_names, plain.target_name]
    assert list(framed.data.columns) == plain.feature_names
    assert framed.target.name == plain.target_name
    np.testing.assert_array_equal(framed.data.to_numpy(), plain.data)
    np.testing.assert_array_equal(framed.target.to_numpy(), plain.target)
    X, y = load(as_frame=True, return_X_y=True)
    assert X.equals(framed.data)
    assert y.equals(framed.target)


def test_as_frame_without_pandas_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas"):
        datasets.load_cars(as_frame=True)


def test_calls_do_not_share_memory(name):
    load = getattr(datasets, name)
    first = load()
    first.data[:] = 0
    first.target[:] = 0
    second = load()
    assert second.data.any()
    assert second.target.any()


def test_cars_least_squares_line():
    X, y = datasets.load_cars(return_X_y=True)
    design = np.column_stack([np.ones(len(y)), X])
    coefficients, squares, _, _ = np.linalg.lstsq(design, y)
    np.testing.assert_allclose(coefficients, [-17.5791, 3.9324], atol=5e-5)
    assert np.sqrt(squares[0] / 48) == pytest.approx(15.380, abs=5e-4)


def test_synth_subsets():
    train, test, both = (datasets.load_synth(subset) for subset in ("train", "test", "all"))
    assert train.data.shape == (250, 2)
    assert test.data.shape == (1000, 2)
    np.testing.assert_array_equal(both.data, np.vstack([train.data, test.data]))
    np.testing.assert_array_equal(both.target, np.concatenate([train.target, test.target]))
    assert test.target.dtype.kind == "i"
    np.testing.assert_array_equal(np.bincount(test.target), [500, 500])


def test_synth_refuses_another_subset():
    with pytest.raises(ValueError, match="both"):
        datasets.load_synth("both")


@pytest.mark.parametrize(
    ("load", "file"),
    [
        ("load_cars", "cars"),
        ("load_mcycle", "mcycle"),
        ("load_faithful", "faithful"),
        ("load_ethanol", "ethanol"),
        ("load_co2", "co2_monthly_1959_1997"),
        ("load_airpassengers", "airpassengers"),
        ("load_synth", "ripley_synth_train"),
    ],
)
def test_the_bundled_copy_is_the_shared_file(shared_data, load, file):
    bunch = getattr(datasets, load)()
    with open(shared_data / "classics" / f"{file}.csv", newline="") as text:
        rows = list(csv.DictReader(text))
    expected = [[float(row[column]) for column in [*bunch.feature_names, bunch.target_name]] for row in rows]
    np.testing.assert_array_equal(np.column_stack([bunch.data, bunch.target]), expected)
