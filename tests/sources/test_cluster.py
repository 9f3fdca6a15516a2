"""Passes on executors and on Dask: the same bits whoever runs them, lazy answers, errors that name the partition."""

import os
import platform
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from distributed import Client, LocalCluster

from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge, Landmarks, Neighbours
from mercer._machine import Memory
from mercer.exceptions import DataError, NotEnoughMemory
from mercer.gram.rows import constant
from mercer.kernels import Gaussian
from mercer.primal.design import Design, choose_landmarks
from mercer.primal.squared import Sums
from mercer.solvers import Sizes
from mercer.solvers.plan_approximate import plan_landmarks
from mercer.sources import Arrays, Block, EngineLost, OutOfTime, as_source
from mercer.sources.changed import Recoded, distinct
from mercer.sources.engines import Threads, Triangle, pack, unpack
from mercer.sources.passes import Checkpoint, subtrees

N = 12_000


@pytest.fixture
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found, Client(found) as client:
        yield client


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (N, 3))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(N), rng.random(N)


def frame_of(data):
    X, y, w = data
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "w": w})


def model(m=150, **options):
    return KernelRidge(Gaussian(4.0), lam=0.3, approximation=Landmarks(m, **options))


def printed(code, **environment):
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sums(source, **options):
    some = source.take(np.arange(64))
    chosen = choose_landmarks(Gaussian(0.9), some, 30, Landmarks(), 0)
    design = Design(Gaussian(0.9), chosen.points, constant, Block(0, some.X, some.y, some.weight))
    return Sums.of(source, design, chosen.L, **options)


def same(one, other):
    return np.array_equal(one.C, other.C) and np.array_equal(one.counts, other.counts)


def cuts(n, pieces, rng):
    """Sizes of pieces, some of them 0."""
    ends = np.sort(rng.integers(0, n + 1, pieces - 1))
    return tuple(int(size) for size in np.diff([0, *ends, n]))


def chunked(data, pieces, rng):
    """(X, y, w) of Dask, each in its own chunks of any sizes."""
    X, y, w = data
    return (
        da.from_array(X, chunks=(cuts(N, pieces, rng), (2, 1))),
        da.from_array(y, chunks=(cuts(N, pieces + 1, rng),)),
        da.from_array(w, chunks=(cuts(N, 2, rng),)),
    )


# ------------------------------------------------------------------------------------------------ the tree
def test_subtrees_add_up_to_the_same_tree():
    for count in (1, 2, 3, 15, 64, 65, 200, 256):
        for parts in (1, 3, 64, 1000):
            for done in range(0, count, 7):
                found = list(subtrees(done, count, parts))
                assert [a for a, _, _ in found] == [done, *(b for _, b, _ in found)][:-1]
                assert found[-1][1] == count
                assert all(b - a == 2**level and a % 2**level == 0 for a, b, level in found)
        assert len(list(subtrees(0, count, 64))) <= 70


def test_sums_of_squares_travel_as_triangles(rng):
    square = np.tril(rng.standard_normal((100, 100)))
    others = rng.standard_normal((100, 100)), rng.standard_normal((100, 3)), np.arange(3.0), np.tril(np.ones((5, 5)))
    sent = pack((square, *others))
    assert sent[0].values.nbytes < 0.51 * square.nbytes
    sent = [one if isinstance(one, Triangle) else np.frombuffer(one.tobytes()).reshape(one.shape) for one in sent]
    for one, other in zip(unpack(sent), (square, *others), strict=True):
        np.testing.assert_array_equal(one, other)
        one += 1.0  # what came is read-only, what is added to is not


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="its allocator")
def test_workers_of_dask_keep_the_memory_of_a_leaf_for_the_next():
    code = (
        "import resource, numpy as np\n"
        "from mercer._machine import keep_freed_memory\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(20): np.ones(2**18)\n"  # 2 MB
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "given_back = faults()\n"
        "keep_freed_memory()\n"
        "faults()\n"
        "print(given_back, faults())"
    )
    given_back, kept = map(int, printed(code, MALLOC_TRIM_THRESHOLD_="65536").split())
    assert kept < 0.1 * given_back


# ------------------------------------------------------------------------------------------------ executors
def test_any_executor_gives_the_same_bits(data):
    X, y, w = data
    source = Arrays(X, y[:, None], w)
    source.engine = Threads(1)
    one = sums(source)
    source.engine = None
    with ThreadPoolExecutor(3) as pool:
        assert same(one, sums(as_source(source, executor=pool)))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert same(one, sums(as_source(X, y, w, executor=pool)))


def test_files_are_read_by_the_executor(data, tmp_path):
    import pyarrow.dataset

    frame = pl.DataFrame(frame_of(data).to_dict("list"))
    frame[:5_000].write_parquet(tmp_path / "0.parquet", row_group_size=1500)
    frame[5_000:].write_parquet(tmp_path / "1.parquet", row_group_size=1500)
    one = sums(as_source(tmp_path, "y", "w"))
    with ThreadPoolExecutor(2) as pool:
        assert same(one, sums(as_source(tmp_path, "y", "w", executor=pool)))
        groups = as_source(pyarrow.dataset.dataset(tmp_path), "y", "w", executor=pool)
        assert len(groups.parts) == 9
        assert same(one, sums(groups))
        some = pyarrow.dataset.dataset(tmp_path).filter(pyarrow.dataset.field("a") > 0)
        assert as_source(some, "y", "w").n == int((data[0][:, 0] > 0).sum())
        with pytest.raises(DataError, match="cannot be read by several processes"):
            sums(as_source(lambda: [frame], "y", "w", executor=pool))


class Dying(ThreadPoolExecutor):
    """An executor that breaks after some calls."""

    left = 3

    def submit(self, *args, **kwargs):
        from concurrent.futures.process import BrokenProcessPool

        self.left -= 1
        if self.left < 0:
            raise BrokenProcessPool("a process was killed")
        return super().submit(*args, **kwargs)


def test_an_executor_that_breaks_is_told_and_the_fit_goes_on_from_its_checkpoint(data, tmp_path):
    X, y, _ = data
    with Dying(1) as pool, pytest.raises(EngineLost, match="of the Dying ended.*checkpoint"):
        sums(as_source(X, y, executor=pool))
    with ThreadPoolExecutor(1) as pool, pytest.raises(OutOfTime, match="of 12000 rows"):
        sums(as_source(X, y, executor=pool), deadline=0.0)
    path, seen = tmp_path / "sums.npz", []

    def stop(done, n):
        if done >= 8_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sums(as_source(X, y), checkpoint=Checkpoint(path, every=0), progress=stop)
    with ThreadPoolExecutor(1) as pool:
        source = as_source(X, y, executor=pool)
        again = sums(source, checkpoint=Checkpoint(path), progress=lambda done, n: seen.append(done))
    assert same(again, sums(as_source(X, y))) and min(seen) > 6_000
    other = sums(as_source(X, 2 * y), checkpoint=Checkpoint(path))  # other targets: it begins anew
    assert same(other, sums(as_source(X, 2 * y)))


# ------------------------------------------------------------------------------------------------ Dask
def test_chunks_of_any_sizes_give_the_same_bits(data, rng):
    X, y, w = data
    one = sums(Arrays(X, y[:, None], w))
    for pieces in (3, 300):
        assert same(one, sums(as_source(*chunked(data, pieces, rng))))
    frame = dd.from_pandas(frame_of(data), npartitions=7)
    assert same(one, sums(as_source(frame, "y", "w")))
    kept = frame[frame.a > 0]  # of unknown sizes
    some = X[:, 0] > 0
    few = sums(Arrays(X[some], y[some, None], w[some]))
    assert same(few, sums(as_source(kept, "y", "w")))
    assert same(few, sums(as_source(kept[["a", "b", "c"]], kept["y"], kept["w"])))
    assert same(few, sums(as_source(kept[["a", "b", "c"]].to_dask_array(), kept["y"].to_dask_array(), w[some])))
    none = frame.partitions[:3].map_partitions(lambda part: part[:0] if part["a"].iloc[0] == X[0, 0] else part)
    assert as_source(none, "y").parts[0] == ("partition 0", 0)
    index = [9000, 3, 4500, 3]
    np.testing.assert_array_equal(as_source(frame, "y", "w").take(index).X, X[index])


def test_a_cluster_gives_the_same_model(cluster, data, rng, tmp_path):
    X, y, w = data
    plain = model().fit(X, y, w)
    assert plain.fit_report_["engine"] == "threads"
    dX, dy, dw = chunked(data, 40, rng)
    there = model().fit(dX, dy, dw)
    for name in ("dual_coef_", "points_", "intercept_", "loo_residuals_"):
        np.testing.assert_array_equal(getattr(there, name), getattr(plain, name))
    assert there.fit_report_["engine"].startswith("dask: 2 workers")
    there.save(tmp_path / "there")
    code = f"import sys, mercer; mercer.load({str(tmp_path / 'there')!r})\n"
    assert printed(code + "print({'dask', 'distributed'} & set(sys.modules))").strip() == "set()"
    pl.DataFrame(frame_of(data).to_dict("list")).write_parquet(tmp_path / "rows.parquet")
    read = model().fit(tmp_path / "rows.parquet", "y", "w")  # the workers read it
    np.testing.assert_array_equal(read.dual_coef_, plain.dual_coef_)
    assert read.fit_report_["engine"].startswith("dask: 2 workers")


# ----------------------------------------------------------------------------------------- what is wrong, and where
def test_a_nan_is_named_by_partition_and_row(data):
    X, y, _ = data
    X = X.copy()
    X[17 * 300 + 3, 1] = np.nan
    dX = da.from_array(X, chunks=(300, 3))
    with pytest.raises(ValueError, match=r"X contains NaN: row 3 of part 17 \(partition 17\), column 1"):
        sums(as_source(dX, y))
    with pytest.raises(ValueError, match="row 3 of part 17"):
        as_source(dX, y).take([17 * 300 + 3])
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(y=y), npartitions=40)
    with pytest.raises(ValueError, match=r"row 3 of part 17 \(partition 17\), column 'b'"):
        sums(as_source(frame, "y"))


def test_partitions_that_differ_are_named(data):
    frame = frame_of(data)
    parts = [dask.delayed(frame[:100]), dask.delayed(frame[100:200].rename(columns={"b": "B"}))]
    with pytest.raises(DataError, match="partition 1 has other columns: no 'b' and 'B'"):
        as_source(dd.from_delayed(parts, meta=frame[:0], verify_meta=False), "y")
    blocks = [da.from_delayed(dask.delayed(np.ones((5, d))), (5, 2), float) for d in (2, 3)]
    with pytest.raises(DataError, match="partition 1 of X has 3 columns; it should have 2"):
        as_source(da.concatenate(blocks), np.ones(10)).take([7])
    text = dd.from_pandas(pd.DataFrame({"a": ["x", "y"], "y": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(DataError, match="column 'a' of partition 0 does not hold numbers"):
        as_source(text, "y").take([0])
    with pytest.raises(DataError, match="partition 0 of y does not hold numbers: .* labels of classes into 0, 1, 2"):
        as_source(da.ones((2, 1)), text["a"]).take([0])
    X = da.ones((10, 2), chunks=5)
    with pytest.raises(ValueError, match="X has 10 rows, y has 9"):
        as_source(X, da.ones(9))
    with pytest.raises(ValueError, match="2 dimensions"):
        as_source(X[:, 0], da.ones(10))
    for y in (None, "y"):
        with pytest.raises(TypeError):
            as_source(X, y)


def test_dask_is_not_imported_for_others():
    code = (
        "import sys, numpy as np, mercer, mercer.sources\n"
        "X = np.linspace(0, 1, 30)[:, None]\n"
        "mercer.KernelRidge(approximation=mercer.Landmarks(5)).fit(X, X[:, 0]).predict(X)\n"
        "print({'dask', 'distributed'} & set(sys.modules))"
    )
    assert printed(code).strip() == "set()"


def test_what_needs_all_rows_is_refused_in_words(data):
    X, y, _ = data
    model = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None, approximation=Neighbours(20))
    with pytest.raises(ValueError, match=r"Neighbours\(.*20.* needs all rows as arrays; data that are read"):
        model.fit(da.from_array(X[:500], chunks=(100, 3)), y[:500])


# ------------------------------------------------------------------------------------------------ new rows
def test_predictions_of_a_collection_are_lazy(data, rng):
    X, y, w = data
    fitted = model().fit(X[:3000], y[:3000])
    dX = chunked(data, 5, rng)[0]
    for name, options in (("predict", {}), ("predict_interval", {"coverage": 0.8, "method": "left-out"})):
        lazy = getattr(fitted, name)(dX, **options)
        assert isinstance(lazy, da.Array) and lazy.shape[0] == N
        np.testing.assert_allclose(lazy.compute(), getattr(fitted, name)(X, **options), rtol=1e-10, atol=1e-10)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)
    named = model().fit(pd.DataFrame(X[:3000], columns=list("abc")), y[:3000])
    kept = frame[frame.a > 1.999]  # some partitions are empty
    np.testing.assert_allclose(named.predict(kept).compute(), named.predict(kept.compute()), rtol=1e-10)
    assert "p" in frame.assign(p=named.predict(frame)).columns
    process = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None).fit(X[:50], y[:50])
    mean, std = process.predict(dX, return_std=True, noisy=True)
    plain = process.predict(X, return_std=True, noisy=True)
    np.testing.assert_allclose(mean.compute(), plain[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(std.compute(), plain[1], rtol=1e-12)
    with pytest.raises(ValueError, match="return_cov needs all rows"):
        process.predict(dX, return_cov=True)
    with pytest.raises(ValueError, match="2 features"):  # at once, not when it is computed
        process.predict(dX[:, :2])
    labels = KernelMachine(Gaussian(1.0), loss="logistic", lam=0.1).fit(X[:50], np.where(y[:50] > 0, "up", "down"))
    np.testing.assert_array_equal(labels.predict(dX).compute(), labels.predict(X))
    assert labels.predict_proba(dX).shape == (N, 2)


def test_the_plan_refuses_what_workers_cannot_hold():
    small = Memory(10**8, "the worker tcp://one may use 0.4 GB")
    with pytest.raises(NotEnoughMemory, match=r"a task on 3000 landmarks needs 0.\d GB, but 0.1 GB is available \(the"):
        plan_landmarks(Sizes(10**6, 10), 3000, elsewhere=small)
    assert plan_landmarks(Sizes(10**6, 10), elsewhere=small).landmarks <= 1024
    assert plan_landmarks(Sizes(10**6, 10), 500, elsewhere=small).landmarks == 500


# ------------------------------------------------------------------------------------------------ other targets
class Signs:
    """±1 for the sign of y."""

    def __call__(self, y):
        return np.where(y > 0, 1.0, -1.0)


def test_other_targets_are_made_where_the_rows_are(data, rng):
    X, y, w = data
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    one = sums(Arrays(X, Signs()(y)[:, None], w))
    assert same(one, sums(Recoded(Arrays(X, y[:, None], w), Signs(), 1)))
    assert same(one, sums(Recoded(as_source(*chunked(data, 6, rng)), Signs(), 1)))
    with ThreadPoolExecutor(2) as pool:
        assert same(one, sums(Recoded(as_source(X, y, w, executor=pool), Signs(), 1)))
    frame = dd.from_pandas(frame_of(data).assign(y=np.floor(y)), npartitions=4)
    np.testing.assert_array_equal(distinct(as_source(frame, "y")), np.unique(np.floor(y)))
