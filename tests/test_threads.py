"""Threads: errors and Ctrl-C pass through, BLAS is left as it was; those that wait are reused inside of a block."""

import contextvars
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings

import pytest

from mercer import _threads
from mercer._threads import Crew, _Job, _Member


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(_threads, "threads", lambda: 3)


def _workers(count=6):
    """{worker: its thread} of one run that uses them all."""
    seen = {}
    barrier = threading.Barrier(3)

    def work(index, worker):
        if index < 3:
            barrier.wait(10)
        seen[worker] = threading.get_ident()

    _threads.run(work, count, 3)
    return seen


def test_a_block_keeps_its_threads(three):
    before = threading.active_count()
    with _threads.one_blas_thread():
        first, second = _workers(), _workers()
        assert first == second
        assert len(set(first.values())) == 3
        assert threading.active_count() == before + 2
    assert threading.active_count() == before


def test_without_a_block_no_thread_is_left(three):
    before = threading.active_count()
    assert set(_workers()) == {0, 1, 2}
    assert threading.active_count() == before


def test_an_error_leaves_the_crew_able(three):
    def work(index, worker):
        if index == 1:
            raise ZeroDivisionError("tile 1")

    with _threads.one_blas_thread():
        first = _workers()
        with pytest.raises(ZeroDivisionError, match="tile 1"):
            _threads.run(work, 6)
        assert _workers() == first


def test_a_thread_with_our_context_does_not_wait_for_our_crew(three):
    """As `asyncio.to_thread` gives it: both work at the same time, each with threads of its own."""
    both, found = threading.Barrier(2), []

    def outer(index, worker):
        if index == 0:
            both.wait(10)
            both.wait(10)

    def inner():
        both.wait(10)
        found.append(_workers())
        both.wait(10)

    with _threads.one_blas_thread():
        mine = _workers()
        thread = threading.Thread(target=contextvars.copy_context().run, args=(inner,))
        thread.start()
        _threads.run(outer, 3)
        thread.join(10)
    assert not set(found[0].values()) & set(mine.values())


@pytest.mark.parametrize("allowed", [0, 1])
def test_where_no_thread_can_be_started_the_caller_does_it_all(allowed, monkeypatch):
    started = []

    def start(thread):
        if len(started) >= allowed:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        begin(thread)

    begin = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    done = []
    _threads.run(lambda index, worker: done.append((index, worker)), 9, 4)
    assert sorted(done) == [(i, i % 4) for i in range(9)]
    assert len(started) == allowed


def test_ctrl_c_waits_for_the_others_and_the_next_run_works(three):
    import _thread

    running = []

    def work(index, worker):
        running.append(1)
        try:
            time.sleep(0.02)
        finally:
            running.pop()

    with _threads.one_blas_thread():
        threading.Timer(0.1, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            _threads.run(work, 3000)
        assert not running
        assert set(_workers()) == {0, 1, 2}


def test_interrupted_again_the_threads_end_by_themselves(monkeypatch):
    before, release, told = threading.active_count(), threading.Event(), []

    def impatient(member, job):
        raise KeyboardInterrupt

    with Crew() as crew:
        crew.share(lambda worker: None, 2, told.append)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(_Member, "wait", impatient)
            crew.share(lambda worker: release.wait(10) if worker else None, 2, told.append)
        assert len(told) == 1
        release.set()
        done = []
        crew.share(done.append, 2, told.append)
        assert sorted(done) == [0, 1]
    deadline = time.perf_counter() + 10
    while threading.active_count() > before and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_a_thread_that_is_dismissed_does_what_it_was_offered():
    """It is waited for once more."""
    for _ in range(200):
        member, job = _Member(), _Job(lambda: None)
        member.offer(job)
        member.dismiss()
        assert job.done.wait(10)


@pytest.mark.parametrize("step", ["offer", "wake"])
@pytest.mark.parametrize("after", [False, True])
def test_ctrl_c_while_a_thread_is_woken_neither_hangs_nor_forgets_it(step, after, monkeypatch):
    """Interrupted before or after either step: what comes next is done by all when it returns."""
    told, call = [], getattr(_Member, step)

    def interrupted(member, *job):
        monkeypatch.setattr(_Member, step, call)
        if after:
            call(member, *job)
        raise KeyboardInterrupt

    with Crew() as crew:
        crew.share(lambda worker: None, 2, told.append)
        monkeypatch.setattr(_Member, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            crew.share(lambda worker: time.sleep(0.05), 2, told.append)
        assert len(told) == 1
        for _ in range(3):
            done = []
            crew.share(lambda worker, done=done: (time.sleep(0.02 * worker), done.append(worker)), 2, told.append)
            assert sorted(done) == [0, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_has_a_crew_of_its_own(three):
    with _threads.one_blas_thread():
        _workers()
        queue = multiprocessing.get_context("fork").SimpleQueue()
        child = os.fork()
        if child == 0:
            queue.put(sorted(_workers()))
            os._exit(0)
        deadline = time.perf_counter() + 20
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.perf_counter() > deadline:
                os.kill(child, 9)
                os.waitpid(child, 0)
                pytest.fail("the fork waits for threads that are not there")
            time.sleep(0.01)
        assert queue.get() == [0, 1, 2]


def test_an_error_in_a_tile_reaches_the_caller_and_restores_blas(monkeypatch):
    monkeypatch.setattr(_threads, "threads", lambda: 3)
    before = _threads.blas_threads()

    def work(index, worker):
        if index == 5:
            raise ZeroDivisionError("tile 5")

    with pytest.raises(ZeroDivisionError, match="tile 5"):
        _threads.run(work, 50)
    assert _threads.blas_threads() == before


def test_blas_is_restored_when_callers_overlap():
    before = _threads.blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with _threads.one_blas_thread():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    with _threads.one_blas_thread():
        assert set(_threads.blas_threads()) == {1}
    leave.set()
    thread.join()
    assert _threads.blas_threads() == before


@pytest.mark.parametrize("first_out", [0, 1])
def test_blas_is_restored_whoever_of_two_callers_leaves_first(first_out):
    before = _threads.blas_threads()
    entered, leave, seen = threading.Semaphore(0), [threading.Event(), threading.Event()], []

    def one(i):
        with _threads.one_blas_thread():
            seen.append(set(_threads.blas_threads()))
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
    assert _threads.blas_threads() == before


def test_a_fork_does_not_wait_for_a_lock_that_a_thread_it_left_behind_has_held():
    with warnings.catch_warnings(), _threads._setting:
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        signal.alarm(20)
        with _threads.one_blas_thread():
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_our_own_limit_is_not_the_users(monkeypatch):
    outside, seen = _threads.threads(), []
    with _threads.one_blas_thread(), _threads.one_blas_thread():
        assert _threads.threads() == outside
    monkeypatch.setattr(_threads, "blas_threads", lambda: [3])
    monkeypatch.setattr(_threads.os, "sched_getaffinity", lambda pid: range(4), raising=False)
    _threads.run(lambda index, worker: seen.append(_threads.threads()), 6)
    assert seen == [1] * 6  # one level of threads: a worker has one core
    assert _threads.threads() == 3


def test_each_index_is_done_once_by_its_worker_and_the_caller_is_the_first(monkeypatch):
    monkeypatch.setattr(_threads, "threads", lambda: 3)
    done = []
    _threads.run(lambda index, worker: done.append((index, worker, threading.get_ident())), 10)
    assert sorted((index, worker) for index, worker, _ in done) == [(i, i % 3) for i in range(10)]
    assert {thread for _, worker, thread in done if worker == 0} == {threading.get_ident()}


def test_ctrl_c_stops_the_tiles(monkeypatch):
    import _thread

    monkeypatch.setattr(_threads, "threads", lambda: 2)
    done = []

    def work(index, worker):
        time.sleep(0.01)
        done.append(index)

    threading.Timer(0.2, _thread.interrupt_main).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        _threads.run(work, 3000)
    assert time.perf_counter() - start < 2.0
    assert len(done) < 1000
