"""Threads and tiles: same results on any number, errors and Ctrl-C pass through, BLAS is left as it was."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import _tiles
from mercer.gram import TiledGram
from mercer.gram.merge import duplicate_groups, merge
from mercer.kernels import Gaussian, Kernel


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(_tiles, "ROWS", 16)
    monkeypatch.setattr(_tiles, "COLUMNS", 32)
    monkeypatch.setattr(_tiles, "SMALL", 64)


def test_same_bits_in_every_run(small_tiles, rng):
    X, v = rng.standard_normal((200, 6)), rng.standard_normal(200)
    K = TiledGram(Gaussian(), X)
    first = K @ v
    for _ in range(5):
        assert_array_equal(K @ v, first)


def test_number_of_threads_changes_last_digits_only(small_tiles, rng, monkeypatch):
    X, v = rng.standard_normal((200, 6)), rng.standard_normal(200)
    results = []
    for number in (1, 2, 5):
        monkeypatch.setattr(_tiles, "threads", lambda number=number: number)
        results.append((TiledGram(Gaussian(), X) @ v, Gaussian()(X)))
    for product, K in results[1:]:
        assert_allclose(product, results[0][0], rtol=1e-12)
        assert_array_equal(K, results[0][1])


def test_an_error_in_a_tile_reaches_the_caller_and_restores_blas(monkeypatch):
    monkeypatch.setattr(_tiles, "threads", lambda: 3)
    before = _tiles.blas_threads()

    def work(index, worker):
        if index == 5:
            raise ZeroDivisionError("tile 5")

    with pytest.raises(ZeroDivisionError, match="tile 5"):
        _tiles.run(work, 50)
    assert _tiles.blas_threads() == before


def test_blas_is_restored_when_callers_overlap():
    before = _tiles.blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with _tiles.one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    with _tiles.one_blas_thread():
        assert set(_tiles.blas_threads()) == {1}
    leave.set()
    thread.join()
    assert _tiles.blas_threads() == before


@pytest.mark.parametrize("first_out", [0, 1])
def test_blas_is_restored_whoever_of_two_callers_leaves_first(first_out):
    before = _tiles.blas_threads()
    entered, leave, seen = threading.Semaphore(0), [threading.Event(), threading.Event()], []

    def one(i):
        with _tiles.one_blas_thread():
            seen.append(set(_tiles.blas_threads()))
            entered.release()
            leave[i].wait(10)

    callers = [threading.Thread(target=one, args=(i,)) for i in range(2)]
    for caller in callers:
        caller.start()
        assert entered.acquire(timeout=10)
    for i in (first_out, 1 - first_out):
        leave[i].set()
        callers[i].join()
    assert seen == [{1}, {1}]
    assert _tiles.blas_threads() == before


def test_a_fork_does_not_wait_for_a_lock_that_a_thread_it_left_behind_has_held():
    with warnings.catch_warnings(), _tiles._setting:
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        signal.alarm(20)
        with _tiles.one_blas_thread():
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_our_own_limit_is_not_the_users(monkeypatch):
    outside, seen = _tiles.threads(), []
    with _tiles.one_blas_thread(), _tiles.one_blas_thread():
        assert _tiles.threads() == outside
    monkeypatch.setattr(_tiles, "blas_threads", lambda: [3])
    monkeypatch.setattr(_tiles.os, "sched_getaffinity", lambda pid: range(4), raising=False)
    _tiles.run(lambda index, worker: seen.append(_tiles.threads()), 6)
    assert seen == [1] * 6  # one level of threads: a worker has one core
    assert _tiles.threads() == 3


def test_each_index_is_done_once_by_its_worker_and_the_caller_is_the_first(monkeypatch):
    monkeypatch.setattr(_tiles, "threads", lambda: 3)
    done = []
    _tiles.run(lambda index, worker: done.append((index, worker, threading.get_ident())), 10)
    assert sorted((index, worker) for index, worker, _ in done) == [(i, i % 3) for i in range(10)]
    assert {thread for _, worker, thread in done if worker == 0} == {threading.get_ident()}


def test_a_contraction_reads_the_lower_triangle_and_the_squares_on_the_diagonal(rng):
    n = 3 * _tiles.ROWS + 10
    X, W = rng.standard_normal((n, 2)), rng.standard_normal((n, n))
    W = W + W.T
    kernel = 1.5 * Gaussian([0.7, 1.2])
    expected = kernel.grad(X, X, W)
    for i0, i1, _, j1 in _tiles._lower_tiles(n):
        W[i0:i1, j1:] = np.nan if j1 == i1 else W[i0:i1, j1:]
    assert_allclose(TiledGram(kernel, X).grad(W), expected, rtol=1e-9)


def test_ctrl_c_stops_the_tiles(monkeypatch):
    import _thread

    monkeypatch.setattr(_tiles, "threads", lambda: 2)
    done = []

    def work(index, worker):
        time.sleep(0.01)
        done.append(index)

    threading.Timer(0.2, _thread.interrupt_main).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        _tiles.run(work, 3000)
    assert time.perf_counter() - start < 2.0
    assert len(done) < 1000


def test_equal_rows_are_found_by_value():
    X = np.array([[1.0, 0.0], [2.0, 3.0], [1.0, -0.0], [2.0, 3.0], [5.0, 5.0]])
    first, group = duplicate_groups(X)
    assert_array_equal(first, [0, 1, 4])
    assert_array_equal(group, [0, 1, 0, 1, 2])
    assert duplicate_groups(X[[0, 1, 4]]) is None
    assert duplicate_groups(["a", "a"]) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_duplicate_groups_rebuild_x(dtype, rng):
    X = rng.integers(0, 3, (400, 4)).astype(dtype)
    first, group = duplicate_groups(X)
    assert_array_equal(X[first][group], X)
    assert len(first) == len(np.unique(X, axis=0))


def test_merge_keeps_weighted_means_and_spread(rng):
    group = np.array([0, 1, 0, 2, 1])
    y, w = rng.standard_normal((5, 2)), rng.uniform(0.5, 2.0, 5)
    mean, weight, spread = merge(y, w, group, 3)
    assert_allclose(weight, [w[0] + w[2], w[1] + w[4], w[3]])
    assert_allclose(mean[0], (w[0] * y[0] + w[2] * y[2]) / (w[0] + w[2]))
    assert_allclose(spread, (w[:, None] * (y - mean[group]) ** 2).sum(axis=0))


class Common(Kernel):
    """min(x, z) of whole numbers, as whole numbers; or whether they are equal."""

    def __init__(self, equal=False):
        self.equal = equal

    def _tile(self, X, Z):
        A, B = X[:, :1].astype(int), Z[:, 0].astype(int)
        return A == B if self.equal else np.minimum(A, B)

    def diag(self, X):
        return np.ones(len(X)) if self.equal else X[:, 0].copy()


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("size", [3, 90])
def test_a_kernel_may_return_whole_numbers(small_tiles, equal, size):
    x = np.arange(1.0, size + 1.0)
    expected = np.eye(size) if equal else np.minimum(x[:, None], x)
    assert_array_equal(Common(equal)(x[:, None]), expected)
    assert_array_equal(Common(equal)(x[:, None], x[:, None].copy()), expected)
    assert Common(equal)(x[:, None]).dtype == np.float64
