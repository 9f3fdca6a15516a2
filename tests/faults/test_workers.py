"""Fits beside each other: in threads, in processes of joblib, in a fork of a process that is fitting.

The same numbers but for last digits: the threads of BLAS are one setting of a process, and cut the work.
"""

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from faults.test_interrupts import MODELS, data

ROWS = 150


def fitted(name, i=0):
    """Predictions of a fit; i draws other rows."""
    X, y = data(name, ROWS + 10 * i)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(clone(MODELS[name]).fit(X, y).predict(X[:20]))


def same(one, other):
    """Equal labels, or numbers but for last digits."""
    return np.array_equal(one, other) or (one.dtype.kind == "f" and np.allclose(one, other, rtol=1e-6, atol=1e-6))


@pytest.fixture(scope="module")
def alone():
    return {name: [fitted(name, i) for i in range(2)] for name in MODELS}


def test_two_threads_fit_at_once(alone):
    found = {}

    def work(i):
        for name in MODELS:
            found[name, i] = fitted(name, i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (name, i), one in found.items():
        assert same(one, alone[name][i]), name
    assert len(found) == 2 * len(MODELS)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_workers_of_joblib(backend, alone):
    joblib = pytest.importorskip("joblib")
    jobs = [(name, i) for name in MODELS for i in range(2)]
    with joblib.parallel_config(backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(fitted)(*job) for job in jobs)
    for (name, i), one in zip(jobs, found, strict=True):
        assert same(one, alone[name][i]), name


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.parametrize("name", MODELS)
def test_a_fork_in_the_middle_of_a_fit_can_fit(name, alone):
    going = threading.Event()
    busy = threading.Thread(target=lambda: [fitted(name, 1) for _ in iter(going.is_set, True)])
    busy.start()
    time.sleep(0.02)
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if same(fitted(name), alone[name][0]) else 2
        finally:
            os._exit(status)
    try:
        assert _ended(child, 60.0) == 0
    finally:
        going.set()
        busy.join()


def _ended(child, seconds):
    """The status of a child; one that hangs is killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"
