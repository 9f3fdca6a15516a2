"""Factor and inverse as a list of BLAS calls that threads make without Python: the same identities and failures."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import get_lapack_funcs

from mercer import _loops, _threads
from mercer.solvers.engine import lapack, recorded
from mercer.solvers.engine.recorded import Recorder
from solvers.plain import gaussian

W = recorded.WIDTH
SIZES = [1, 2, 100, W, W + 1, 2 * W, 3 * W - 1, 400, 5 * W + 7, 1000]


@pytest.fixture(params=[1, 2, 3])
def workers(request, monkeypatch):
    """So many threads, whatever the machine has."""
    monkeypatch.setattr(_threads, "threads", lambda: request.param)
    monkeypatch.setattr(recorded, "threads", lambda: request.param)
    return request.param


def positive_definite(n, dtype=np.float64, seed=0):
    G = np.random.default_rng(seed).standard_normal((n, n + 5))
    return (G @ G.T / n + np.eye(n)).astype(dtype)


def within(A, width):
    """A in the middle of a wider array of NaN, where only the lower triangle may be touched."""
    around = np.full((len(A) + 2, width), np.nan, dtype=A.dtype)
    part = around[1:-1, 1 : 1 + len(A)]
    part[np.tril_indices(len(A))] = A[np.tril_indices(len(A))]
    return around, part


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", SIZES)
def test_factor_and_inverse(n, dtype, workers):
    A = positive_definite(n, dtype)
    around, part = within(A, n + 9)
    rtol = 1e3 * np.finfo(dtype).eps
    assert recorded.cholesky(part) == 0
    assert np.isnan(around).sum() == around.size - n * (n + 1) // 2
    L = np.tril(part).astype(float)
    assert_allclose(L @ L.T, A, rtol=rtol, atol=rtol)
    recorded.inverse(part)
    assert np.isnan(around).sum() == around.size - n * (n + 1) // 2
    inverse = np.tril(part) + np.tril(part, -1).T
    assert_allclose(inverse @ A.astype(float), np.eye(n), atol=10 * rtol)


@pytest.mark.parametrize(("dtype", "lam"), [(np.float64, 1e-12), (np.float32, 3e-5)])
def test_as_stable_as_lapack_where_blocks_are_nearly_singular(dtype, lam, workers, rng):
    A = gaussian(rng.standard_normal((600, 2))).astype(dtype)
    A[np.diag_indices(600)] += dtype(lam)
    reference, info = get_lapack_funcs("potrf", (A,))(A.T, lower=0)
    assert info == 0
    L = A.copy()
    assert recorded.cholesky(L) == 0
    T = np.tril(L).astype(float)
    assert np.abs(T @ T.T - A).max() < 10 * np.abs(reference.T.astype(float) @ reference - A).max()


@pytest.mark.parametrize("pivot", [0, 5, W - 1, W, 3 * W + 40, 499])
def test_the_failing_pivot_is_named(pivot, workers):
    A = positive_definite(500)
    A[pivot, pivot] = -1.0
    before = A.copy()
    assert recorded.cholesky(A) == pivot + 1
    first = pivot // W * W  # the rows above its block hold the factor
    assert_allclose(np.tril(A[:first, :first]), np.linalg.cholesky(before[:first, :first]), rtol=1e-9, atol=1e-12)


def test_the_result_is_the_same_in_every_run(workers):
    results = []
    for _ in range(5):
        A = positive_definite(700)
        recorded.cholesky(A)
        recorded.inverse(A)
        results.append(A)
    for other in results[1:]:
        assert_array_equal(other, results[0])


def test_it_agrees_with_the_pieces_python_gives_out(monkeypatch):
    monkeypatch.setattr(recorded, "threads", lambda: 2)
    results = []
    for most in (0, 10_000):
        monkeypatch.setattr(recorded, "MOST", most)
        A = positive_definite(600)
        assert lapack.cholesky_lower(A) == 0
        results.append(lapack.inverse_from_lower(A))
    assert_allclose(results[1], results[0], rtol=1e-10, atol=1e-12)


def test_one_program_serves_several_threads_at_once(monkeypatch):
    monkeypatch.setattr(recorded, "threads", lambda: 2)
    matrices = [positive_definite(500, seed=seed) for seed in range(4)]
    matrices[2][300, 300] = -1.0
    found = {}

    def fit(i):
        found[i] = [recorded.cholesky(matrices[i].copy()) for _ in range(5)]

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [0] * 5, 1: [0] * 5, 2: [301] * 5, 3: [0] * 5}


def test_a_thread_that_comes_late_or_never_is_not_missed():
    A = positive_definite(500)
    L = np.linalg.cholesky(A)
    program = recorded._program(recorded._cholesky, 500, 500, A.dtype, 4)
    calls, infos, state = program.start(A)
    end, phase = len(program.phases) - 1, 0
    while phase < end:
        phase = _loops.tasks.work(calls, program.tasks, program.phases, infos, state, phase)
    assert_allclose(np.tril(A), L, rtol=1e-10, atol=1e-13)
    for phase in range(end):  # one that comes now finds nothing
        _loops.tasks.work(calls, program.tasks, program.phases, infos, state, phase)
    assert_allclose(np.tril(A), L, rtol=1e-10, atol=1e-13)


def test_whoever_waits_for_others_comes_back():
    A = positive_definite(300)
    program = recorded._program(recorded._cholesky, 300, 300, A.dtype, 2)
    calls, infos, state = program.start(A)
    state[1] = 1  # the first task is taken by a thread that never ends it
    assert _loops.tasks.work(calls, program.tasks, program.phases, infos, state, 0) == 0


def test_the_wait_for_python_is_short():
    """Ctrl-C is heard between two calls of ``work``: none takes all phases of a long program."""
    L = np.tril(positive_definite(1500))  # any triangle will do; it is held here, for a program knows only its address
    program = recorded._program(recorded._inverse, 1500, 1500, L.dtype, 2)
    calls, infos, state = program.start(L)
    start = time.perf_counter()
    assert 0 < _loops.tasks.work(calls, program.tasks, program.phases, infos, state, 0) < len(program.phases) - 1
    assert time.perf_counter() - start < 5.0


def test_what_reads_a_program_agrees_with_what_writes_it():
    for name in ("ARGUMENTS", "FAILED", "FIRST"):
        assert getattr(recorded, name) == getattr(_loops.tasks, name)


def test_a_triangle_that_lapack_refuses_changes_no_later_run():
    L = np.eye(300)
    L[200, 200] = 0.0
    recorded.inverse(L)
    L = np.linalg.cholesky(positive_definite(300))
    found = np.array(L, order="C")
    recorded.inverse(found)
    assert_allclose(np.tril(found), np.tril(np.linalg.inv(L @ L.T)), rtol=1e-9, atol=1e-12)


def test_what_is_written_counts_from_the_matrix():
    recorder = Recorder(10, 20, np.float64)
    recorder.task(
        recorder.subtract_product, recorder.matrix[4:6, 2:4], recorder.matrix[4:6, :2], recorder.matrix[2:4, :2]
    )
    recorder.end_phase()
    recorder.end_phase()  # a phase without tasks is none
    program = recorder.program()
    assert program.phases.tolist() == [0, 1]
    assert program.tasks.tolist() == [0, 1]
    A = np.zeros((10, 20))
    first = A.__array_interface__["data"][0]
    calls, _, _ = program.start(A[:, :10])
    assert {8 * 80, 8 * 82, 8 * 40} <= {int(value) - first for value in calls[0]}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3 * W - 1, 1000])
def test_python_makes_the_same_calls_and_gives_the_same_bits(n, dtype, workers, monkeypatch):
    A, found = positive_definite(n, dtype), []
    bad = A.copy()
    bad[n // 2, n // 2] = -1.0
    for loaded in (lambda: _loops, lambda: None):
        monkeypatch.setattr(recorded, "loaded", loaded)
        L, failed = A.copy(), recorded.cholesky(bad.copy())
        recorded.cholesky(L)
        inverse = L.copy()
        recorded.inverse(inverse)
        found.append((np.tril(L), np.tril(inverse), failed))
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)
