"""Real processes that are killed, added, slow, small or of another version: the same bits in the end, or why not.

The leaf of most of these passes sleeps: what is tested is who does what, and the machine may be busy with other tests.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.chaos import KillWorker

from mercer import KernelRidge, Landmarks
from mercer.exceptions import NotEnoughMemory
from mercer.kernels import Gaussian
from mercer.sources import Arrays, EngineLost, as_source, map_reduce
from mercer.sources.cluster import ClusterOptions, Workers
from mercer.sources.engines import add_arrays
from mercer.sources.passes import Checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this file

LEAVES = 100
N = 2048 * LEAVES - 5


def zero():
    return np.zeros((40, 40)), np.zeros(1)


class Slowly:
    """X'X of a leaf, after a while; longer where the process is a slow one."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, sums, block):
        time.sleep(self.seconds * float(os.environ.get("SLOWER", "1")))
        F = np.tile(np.sin(block.X), 8)
        sums[0][:] += F.T @ F
        sums[1][:] += block.y.sum()


class SlowSum:
    """a + b, after a while, in which it says whose process it is."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, a, b):
        open(os.path.join(self.folder, str(os.getpid())), "w").close()
        time.sleep(0.3)
        return add_arrays(a, b)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, 5)), rng.standard_normal(N)


@pytest.fixture(scope="module")
def whole(rows):
    return map_reduce(Slowly(0.0), Arrays(rows[0], rows[1][:, None]), zero)


@pytest.fixture(autouse=True)
def patience():
    """A `LocalCluster` gives a worker up that is not back after 15 s, which a busy machine may need to start one."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "120 s"}):
        yield


@pytest.fixture
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as found, Client(found) as client:
        yield client


def collection(rows):
    return as_source(da.from_array(rows[0], chunks=(9_999, 5)), da.from_array(rows[1], chunks=31_234))


def pids(client):
    return list(client.run(os.getpid).values())


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def timed(source, leaf, **options):
    started = time.monotonic()
    return map_reduce(leaf, source, zero, **options), time.monotonic() - started


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def when(progress_at, action):
    """A progress that acts once, as soon as so many rows are done."""
    done = []

    def progress(at, n):
        if at >= progress_at and not done:
            done.append(action())

    return progress


@pytest.mark.parametrize("count", [1, 2, 3])
def test_any_number_of_workers(rows, whole, count):
    with LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as found, Client(found):
        assert same(map_reduce(Slowly(0.0), collection(rows), zero), whole)


def test_threads_of_a_worker(rows, whole):
    with LocalCluster(n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0") as it, Client(it):
        assert same(map_reduce(Slowly(0.0), collection(rows), zero), whole)


def warmed(client, source):
    """Seconds that a new worker needs until it has done something: everything is imported by then."""
    started = time.monotonic()
    map_reduce(Slowly(0.0), source, zero)
    return time.monotonic() - started


def test_a_worker_that_is_killed_in_the_middle(cluster, rows, whole):
    source, leaf = collection(rows), Slowly(0.2)
    start = warmed(cluster, source)
    _, quiet = timed(source, leaf)
    found, took = timed(source, leaf, progress=when(N // 2, lambda: kill(pids(cluster)[0])))
    assert same(found, whole)
    print(f"one killed: {took:.1f} s, {took / quiet:.2f} times; a worker starts in {start:.1f} s")
    assert took <= 1.5 * quiet + max(start, 2.0)  # a busy machine starts a worker slowly


def test_both_workers_killed_in_turn(cluster, rows, whole):
    source, leaf = collection(rows), Slowly(0.2)
    start = warmed(cluster, source)
    _, quiet = timed(source, leaf)
    first, second = pids(cluster)
    steps = [when(N // 4, lambda: kill(first)), when(N // 2, lambda: kill(second))]
    found, took = timed(source, leaf, progress=lambda at, n: [step(at, n) for step in steps])
    assert same(found, whole)
    print(f"both killed: {took:.1f} s, {took / quiet:.2f} times; a worker starts in {start:.1f} s")
    assert took <= 1.5 * quiet + 2 * max(start, 2.0)  # for a while nobody is there


def test_a_worker_killed_during_the_reduction(cluster, rows, whole, tmp_path):
    source, leaf, killed = collection(rows), Slowly(0.05), []

    def watch():
        while not killed:
            for name in os.listdir(tmp_path):
                kill(int(name))
                killed.append(name)
                break
            time.sleep(0.02)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    found, _ = timed(source, leaf, add=SlowSum(tmp_path))
    thread.join(10)
    assert killed and int(killed[0]) != os.getpid()
    assert same(found, whole)


def test_chaos(rows, whole):
    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as it, Client(it) as client:
        start = warmed(client, collection(rows))
        client.register_plugin(KillWorker(delay=f"{max(5.0, 3 * start)} s", mode="segfault"))
        found, took = timed(collection(rows), Slowly(0.15))
        print(f"chaos: {took:.1f} s; a worker starts in {start:.1f} s")
    assert same(found, whole)


def test_workers_that_are_gone_for_good_are_told(rows):
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as it, Client(it) as client:
        client.submit(abs, 1).result()
        it.scale(0)
        source = collection(rows)
        source.engine = Workers(client, ClusterOptions(deserted=3.0))
        with pytest.raises(EngineLost, match="3 s"):
            map_reduce(Slowly(0.2), source, zero)


def test_chaos_whose_workers_do_not_come_back_is_told(rows):
    """Workers that exit by themselves are not started again."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as it, Client(it) as client:
        client.register_plugin(KillWorker(delay="2 s", mode="sys.exit"))
        source = collection(rows)
        source.engine = Workers(client, ClusterOptions(deserted=3.0))
        with pytest.raises(EngineLost, match="3 s; .* rows"):
            map_reduce(Slowly(0.2), source, zero)


def test_a_worker_that_comes_later_and_one_that_is_slow(cluster, rows, whole):
    (slow, *_) = cluster.scheduler_info(n_workers=-1)["workers"]
    cluster.run(os.environ.__setitem__, "SLOWER", "6", workers=[slow])

    def one_more():
        cluster.cluster.scale(3)
        cluster.wait_for_workers(3, timeout=100)

    found, _ = timed(collection(rows), Slowly(0.05), progress=when(N // 8, one_more))
    assert same(found, whole)


def test_another_version_is_refused_in_words(cluster, rows):
    def older():
        import mercer

        mercer.__version__ = "0.0.1"

    (one, *_) = cluster.scheduler_info(n_workers=-1)["workers"]
    cluster.run(older, workers=[one])
    with pytest.raises(EngineLost, match=r"a worker has mercer 0.0.1, and this is mercer .*Install the same version"):
        map_reduce(Slowly(0.01), collection(rows), zero)


def test_a_task_that_ends_every_worker_is_told(cluster, rows):
    def fatal(sums, block):
        os._exit(1)

    with pytest.raises(EngineLost, match="ended, one after the other.*memory"):
        map_reduce(fatal, collection(rows), zero)


# ------------------------------------------------------------------------------------------------ memory
def test_data_larger_than_the_workers_spill(rng):
    """Workers of 0.6 GB and 1.5 GB of rows that they are asked to hold."""
    n = 3_000_000

    def block(i):
        return np.random.default_rng(i).standard_normal((n // 60, 60))

    blocks = [da.from_delayed(dask.delayed(block)(i), (n // 60, 60), float) for i in range(60)]
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=":0") as it:
        with Client(it):
            X = da.concatenate(blocks).persist()
            source = as_source(X, X[:, 0])
            found = map_reduce(Moments(), source, moments_zero)
    assert found[1][0] == n
    assert abs(found[0].mean()) < 1.0


class Moments:
    """Σ x and n."""

    def __call__(self, sums, block):
        sums[0][:] += block.X.sum(axis=0) / 1000
        sums[1][:] += len(block)


def moments_zero():
    return np.zeros(60), np.zeros(1)


def test_workers_too_small_for_the_landmarks_are_refused_before_anything_runs(rows):
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, memory_limit="500MB", dashboard_address=":0") as it,
        Client(it),
    ):
        X, y = da.from_array(rows[0], chunks=(9_999, 5)), da.from_array(rows[1], chunks=31_234)
        model = KernelRidge(Gaussian(1.0), lam=1.0, approximation=Landmarks(2500))
        with pytest.raises(NotEnoughMemory, match=r"a task on 2500 landmarks needs 0.\d GB, but 0.1 GB.*2 threads"):
            model.fit(X, y)
        assert not hasattr(model, "dual_coef_")


# ------------------------------------------------------------------------------------------------ the scheduler
def started(folder, name):
    """(scheduler, worker): processes that find each other by a file."""
    file = str(folder / name)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*run, "--scheduler-file", file], **quiet)
    while not os.path.exists(file):
        time.sleep(0.1)
    run = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    return scheduler, subprocess.Popen([*run, "--scheduler-file", file, "--death-timeout", "5"], **quiet), file


def test_a_scheduler_that_is_killed_is_told_and_the_pass_goes_on_elsewhere(rows, whole, tmp_path):
    path, seen, processes = tmp_path / "sums.npz", [], []
    try:
        scheduler, worker, file = started(tmp_path, "one.json")
        processes += [scheduler, worker]
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(1, timeout=60)
            before = time.monotonic()
            with pytest.raises(EngineLost, match=r"the scheduler of Dask is gone .* of .* rows were done.*checkpoint"):
                options = {"checkpoint": Checkpoint(path, every=0), "progress": when(N // 2, scheduler.kill)}
                map_reduce(Slowly(0.05), collection(rows), zero, **options)
            assert time.monotonic() - before < 60
        scheduler, worker, file = started(tmp_path, "two.json")
        processes += [scheduler, worker]
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(1, timeout=60)
            options = {"checkpoint": Checkpoint(path), "progress": lambda at, n: seen.append(at)}
            found = map_reduce(Slowly(0.0), collection(rows), zero, **options)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert min(seen) > N // 2
    assert same(found, whole)
