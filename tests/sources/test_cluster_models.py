"""Every model on landmarks, on collections of Dask: the same bits as on arrays, whatever they are cut into."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge, Landmarks
from mercer.approximate import LandmarkOptions
from mercer.kernels import Gaussian
from mercer.losses import BY_NAME

N = 4500  # more than one leaf, and more than the rows that hyper-parameters are chosen on
COLUMNS = ["a", "b"]
LEARNT = ("dual_coef_", "points_", "intercept_", "lam_", "loo_residuals_", "trend_coef_", "objective_")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (N, 2))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    return X, f + 0.3 * rng.standard_normal(N), rng.uniform(0.5, 2.0, N), (f + 0.5 * rng.standard_normal(N) > 0) + 2.0


@pytest.fixture(autouse=True)
def few(set_defaults):
    """Hyper-parameters are chosen on few rows, and with few landmarks."""
    set_defaults(LandmarkOptions, subset=150, machine_subset=100, bound_rows=300)


def arrays(X, y, w):
    """X, y and weights in chunks of unknown sizes, one of them empty, each cut elsewhere."""

    def unknown(values, ends):
        parts = np.split(values, ends)
        blocks = [da.from_delayed(dask.delayed(part), (np.nan, *part.shape[1:]), float) for part in parts]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)

    return unknown(X, [900, 900, 3000]), unknown(y, [2500]), None if w is None else unknown(w, [10, N - 1])


def frame(X, y, w):
    """A data frame with a partition of no rows, its target and weight by name."""
    table = pd.DataFrame(X, columns=COLUMNS).assign(y=y, **({} if w is None else {"w": w}))
    parts = [dask.delayed(table[a:b]) for a, b in ((0, 1234), (1234, 1234), (1234, 4000), (4000, N))]
    return dd.from_delayed(parts, meta=table[:0]), "y", None if w is None else "w"


def assert_same(one, other):
    found = [name for name in LEARNT if getattr(one, name, None) is not None]
    assert len(found) > 3
    for name in found:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.predict(one.points_), other.predict(other.points_))


def landmarks(**options):
    return Landmarks(25, **options)


def machine(loss, **options):
    options = {"lam": 0.5, "approximation": landmarks()} | options
    return KernelMachine(options.pop("kernel", Gaussian(1.0)), loss=loss, **options)


MODELS = {
    "ridge, uniform": lambda: KernelRidge(Gaussian(1.0), lam=0.5, approximation=landmarks(choose="uniform")),
    "ridge, held": lambda: KernelRidge(Gaussian(1.0), lam=0.5, approximation=landmarks(held=500)),
    "ridge, loo": lambda: KernelRidge(Gaussian(0.3), criterion="loo", approximation=landmarks()),
    "ridge, default kernel": lambda: KernelRidge(lam=0.5, approximation=landmarks()),
    **{name: lambda name=name: machine(name) for name in BY_NAME},
    "huber, default kernel": lambda: machine("huber", kernel=None),
    "logistic, loo": lambda: machine("logistic", criterion="loo"),
    "logistic, three classes": lambda: machine("logistic"),
    "softmax, three classes": lambda: machine("logistic", multi_class="softmax"),
    "process": lambda: GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None, approximation=landmarks()),
    "process, evidence": lambda: GaussianProcessRegressor(1.0 * Gaussian(0.5), approximation=landmarks()),
    "process, loo": lambda: GaussianProcessRegressor(
        1.0 * Gaussian(0.5), criterion="loo", trend="linear", approximation=landmarks()
    ),
    "process, default kernel": lambda: GaussianProcessRegressor(approximation=landmarks()),
}


def problem(name, data):
    X, y, w, label = data
    if "three" in name:
        label = label + (X[:, 1] > 1)
    labels, counts = any(word in name for word in ("logistic", "softmax", "hinge")), "poisson" in name
    return X, label if labels else np.floor(np.exp(y)) if counts else y, w if "process" not in name else None


def assert_bits_of_arrays(name, data, collections, engine):
    X, y, w = problem(name, data)
    here = MODELS[name]().fit(X, y, w)
    assert here.fit_report_["engine"] == "threads"
    for collection in collections:
        found = MODELS[name]().fit(*collection(X, y, w))
        assert_same(here, found)
        assert found.fit_report_["engine"].startswith(engine)
        if here.selection_ is not None:
            assert found.kernel_ == here.kernel_
            assert found.selection_.value == here.selection_.value


QUICK = {"ridge, loo": frame, "ridge, held": arrays, "huber": arrays, "logistic": frame, "process, evidence": arrays}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # landmarks are few


@pytest.mark.parametrize("name", QUICK)
def test_collections_give_the_bits_of_arrays(name, data):
    assert_bits_of_arrays(name, data, [QUICK[name]], "dask")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_so_do_all_models_in_every_kind_of_collection(name, data):
    assert_bits_of_arrays(name, data, [arrays, frame], "dask")


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found, Client(found) as client:
        yield client


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", MODELS)
def test_so_do_processes(name, data, cluster):
    assert_bits_of_arrays(name, data, [arrays, frame], "dask: 2 workers")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_so_do_300_chunks_on_processes(data, cluster):
    def chunked(X, y, w):
        ends = np.sort(np.random.default_rng(0).integers(0, N + 1, 299))
        sizes = tuple(np.diff([0, *ends, N]).tolist())
        return da.from_array(X, chunks=(sizes, (1, 1))), da.from_array(y, chunks=(sizes[::-1],)), w

    for name in ("ridge, uniform", "huber", "process"):
        assert_bits_of_arrays(name, data, [chunked], "dask: 2 workers")
