"""Threads that wait for work: reused inside of a block, gone after it, never waited for in vain."""

import contextvars
import multiprocessing
import os
import sys
import threading
import time

import pytest

from mercer import _tiles
from mercer._crew import Crew, _Job, _Member


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(_tiles, "threads", lambda: 3)


def _workers(count=6):
    """{worker: its thread} of one run that uses them all."""
    seen = {}
    barrier = threading.Barrier(3)

    def work(index, worker):
        if index < 3:
            barrier.wait(10)
        seen[worker] = threading.get_ident()

    _tiles.run(work, count, 3)
    return seen


def test_a_block_keeps_its_threads(three):
    before = threading.active_count()
    with _tiles.one_blas_thread():
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

    with _tiles.one_blas_thread():
        first = _workers()
        with pytest.raises(ZeroDivisionError, match="tile 1"):
            _tiles.run(work, 6)
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

    with _tiles.one_blas_thread():
        mine = _workers()
        thread = threading.Thread(target=contextvars.copy_context().run, args=(inner,))
        thread.start()
        _tiles.run(outer, 3)
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
    _tiles.run(lambda index, worker: done.append((index, worker)), 9, 4)
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

    with _tiles.one_blas_thread():
        threading.Timer(0.1, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            _tiles.run(work, 3000)
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
    with _tiles.one_blas_thread():
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
