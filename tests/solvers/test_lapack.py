"""The blocked factorisation: identities as oracle, at sizes around the blocks, in both precisions."""

import mmap
import signal
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import get_lapack_funcs

from mercer import _native
from mercer._threads import one_blas_thread
from mercer.solvers.engine import blocks, lapack
from mercer.solvers.engine.blas import MAX_ORDER, blas
from solvers.plain_gram import gaussian

DTYPES = [np.float64, np.float32]
B, R = lapack.BLOCK, lapack.ROWS
SIZES = [0, 1, 2, 3, 5, 10, 50, 127, 128, 129, B - 1, B, B + 1, 2 * B + 3, R + 1, 2 * R + 1]
RATIO = 30  # LAPACK's own tests pass a scaled residual below this


def positive_definite(n, dtype, rng):
    G = rng.standard_normal((n, n + 5))
    return (G @ G.T + n * np.eye(n)).astype(dtype)


def factored(A):
    """The factor in an array whose upper triangle is NaN: it must be neither read nor written."""
    L = A.copy()
    L[np.triu_indices(len(L), 1)] = np.nan
    assert lapack.cholesky_lower(L) == 0
    assert np.isnan(L[np.triu_indices(len(L), 1)]).all()
    return L


def scaled(error, size, n, dtype):
    """‖error‖/(‖size‖ n u), in float64."""
    error = np.abs(np.asarray(error, dtype=float)).max(initial=0.0)
    return error / (max(np.abs(size).max(initial=0.0), 1e-300) * max(n, 1) * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_identities(n, dtype, rng, one_thread):
    A = positive_definite(n, dtype, rng)
    exact = A.astype(float)
    L = factored(A)
    T = np.tril(L).astype(float)
    assert scaled(T @ T.T - exact, exact, n, dtype) < RATIO

    for t in (None, 1, 3, 70):
        right = rng.standard_normal(n if t is None else (n, t))
        X = lapack.solve_lower(L, right)
        assert X.shape == right.shape
        assert X.dtype == dtype
        size = np.abs(exact).sum(axis=1).max(initial=0.0) * np.abs(X).max(initial=0.0)
        assert scaled(exact @ X - right, size, n, dtype) < RATIO

    inverse = lapack.inverse_from_lower(L.copy())
    assert np.array_equal(inverse, inverse.T)
    assert scaled(exact @ inverse - np.eye(n), 1.0, n, dtype) < RATIO
    diagonal = np.diagonal(np.linalg.inv(exact))
    assert scaled(lapack.inverse_diagonal(L) / diagonal - 1, 1.0, n, dtype) < RATIO
    assert scaled(lapack.logdet(L) - np.linalg.slogdet(exact)[1], max(1, lapack.logdet(L)), n, dtype) < RATIO


@pytest.mark.parametrize("solve", [lapack.forward, lapack.backward])
@pytest.mark.parametrize("t", [0, 1, 3, 70])
@pytest.mark.parametrize("n", [0, 1, 5, R + 1])
def test_one_triangle_in_place(n, t, solve, rng):
    L = factored(positive_definite(n, np.float64, rng))
    T = np.tril(L) if solve is lapack.forward else np.tril(L).T
    around = np.full((n, t + 2), np.nan, order="F")
    around[:, 1:-1] = right = rng.standard_normal((n, t))
    solve(L, around[:, 1:-1])
    assert_allclose(T @ around[:, 1:-1], right, rtol=1e-9, atol=1e-10)
    assert np.isnan(around[:, [0, -1]]).all()  # nothing beside it was written


@pytest.mark.parametrize("solve", [lapack.forward, lapack.backward])
def test_right_hand_sides_that_blas_would_read_beyond_are_refused(solve, rng):
    L = factored(positive_definite(6, np.float64, rng))
    fixed = np.zeros((6, 2), order="F")
    fixed.flags.writeable = False
    wrong = {
        "short": np.zeros((5, 2), order="F"),
        "long": np.zeros((7, 2), order="F"),
        "flat": np.zeros(6),
        "single": np.zeros((6, 2), dtype=np.float32, order="F"),
        "rows": np.zeros((6, 2)),
        "fixed": fixed,
    }
    for W in wrong.values():
        with pytest.raises(ValueError, match="float64"):
            solve(L, W)
    for bad in (L[:5], L[:, ::-1], np.eye(6, dtype=int)):
        with pytest.raises(ValueError, match="square"):
            solve(bad, np.zeros((len(bad), 2), order="F"))
    with pytest.raises(ValueError, match="6"):
        lapack.solve_lower(L, np.zeros(5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pivot", [1, 2, B, B + 1, 2 * B + 40])
def test_the_failing_pivot_is_named(pivot, dtype, rng):
    A = positive_definite(3 * B, dtype, rng)
    A[pivot - 1, pivot - 1] = -1.0
    assert lapack.cholesky_lower(A) == pivot


@pytest.mark.parametrize("dtype", DTYPES)
def test_pieces_give_the_same_answer(dtype, rng, monkeypatch, one_thread):
    A = positive_definite(900, dtype, rng)
    whole = factored(A)
    inverse, diagonal = lapack.inverse_from_lower(whole.copy()), lapack.inverse_diagonal(whole)
    right = A[:, :300]
    X = lapack.solve_lower(whole, right)
    monkeypatch.setattr(blocks, "WORK", 1e7)
    monkeypatch.setattr(lapack, "COLUMNS", 300)
    cut = factored(A)
    tol = 100 * np.finfo(dtype).eps
    assert np.allclose(np.tril(cut), np.tril(whole), rtol=tol, atol=tol * np.abs(A).max() ** 0.5)
    assert np.allclose(lapack.inverse_from_lower(cut.copy()), inverse, rtol=tol, atol=tol * np.abs(inverse).max())
    assert np.allclose(lapack.inverse_diagonal(cut), diagonal, rtol=tol)
    assert np.allclose(lapack.solve_lower(cut, right), X, rtol=tol, atol=tol * 10)


@pytest.mark.parametrize(("dtype", "lam"), [(np.float64, 1e-12), (np.float32, 3e-5)])
def test_as_stable_as_lapack_where_blocks_are_nearly_singular(dtype, lam, rng):
    # Smooth kernel, little noise: blocks of L have a condition near 1/√lam. With their inverses it would fail.
    n = 600
    A = gaussian(rng.standard_normal((n, 2))).astype(dtype)
    A[np.diag_indices(n)] += dtype(lam)
    reference, info = get_lapack_funcs("potrf", (A,))(A.T, lower=0)
    assert info == 0
    T = np.tril(factored(A)).astype(float)
    error = np.abs(T @ T.T - A).max()
    assert error < 10 * np.abs(reference.T.astype(float) @ reference - A).max()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_entries_far_below_rounding_are_zero_and_no_others(dtype, compiled, rng, monkeypatch):
    monkeypatch.setattr(_native, "matrix", _native.matrix if compiled else _native.plain.matrix)
    n, tiny = 2 * B + 3, lapack.TINY[np.dtype(dtype).name]
    A = np.eye(n, dtype=dtype) * 4
    A[-1, 0], A[-1, 1], A[B, 2], A[3, 1] = 3.9 * tiny, 4.1 * tiny, -3.9 * tiny, -4.1 * tiny
    L = factored(A)
    assert L[-1, 0] == L[B, 2] == 0.0
    assert_allclose([L[-1, 1], L[3, 1]], np.array([2.05, -2.05]) * tiny, rtol=1e-6)
    size = np.ones(n, dtype=dtype)
    size[::2] = 1e-10 if dtype == np.float32 else 1e-60  # what is small counts beside its own diagonal
    K = positive_definite(n, dtype, rng) * size * size[:, None]
    T = np.tril(factored(K)) / size[:, None]
    assert scaled(T @ T.T - K / size / size[:, None], n, n, dtype) < RATIO


def test_a_narrow_kernel_leaves_no_subnormal_number(rng):
    """They take a processor a hundred times as long; here two thirds of K are below 1e-150."""
    X = np.sort(rng.uniform(0, 1, 700))
    K = np.exp(-0.5 * ((X[:, None] - X) / 0.012) ** 2) + 0.01 * np.eye(700)
    assert (K[K > 0] < 1e-300).any()
    exact = np.linalg.inv(K)
    L = factored(K)
    smallest = np.finfo(float).tiny
    assert not ((np.tril(L) != 0) & (np.abs(np.tril(L)) < smallest)).any()
    inverse = lapack.inverse_from_lower(L)
    assert_allclose(inverse, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_threads_of_our_own_give_the_same_answer(workers, rng, monkeypatch):
    """Orders at which a thread is worth waking: the answer of one thread, and that of the definition."""
    n = 6 * B + 17
    A = positive_definite(n, np.float64, rng)
    monkeypatch.setattr("mercer._threads.threads", lambda: workers)
    monkeypatch.setattr(blocks, "threads", lambda: workers)
    L = factored(A)
    assert_allclose(np.tril(L) @ np.tril(L).T, A, rtol=1e-6, atol=1e-11 * n)
    assert_allclose(lapack.inverse_from_lower(L) @ A, np.eye(n), rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 100, 1000])
def test_shares_cover_everything_once(count, parts, monkeypatch):
    monkeypatch.setattr(blocks, "threads", lambda: parts)
    for found in (blocks.strips(count, 1e12, 100), blocks.wedges(count, 1e9, 100)):
        assert [i for part in found for i in range(*part)] == list(range(count))
        assert len(found) <= parts
    areas = [j * j - i * i for i, j in blocks.wedges(count, 1e9, 100)]
    assert not areas or max(areas) <= count**2 / parts + 2 * count + 1


def test_add_gram_and_combine_and_mirror(rng):
    n = 2 * B + 30
    A, C = rng.standard_normal((70, n)), positive_definite(n, np.float64, rng)
    U, V = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))
    found = C.copy()
    lapack.add_gram(found, A)
    assert_allclose(np.tril(found), np.tril(C + A.T @ A), rtol=1e-11, atol=1e-11)
    assert_allclose(np.triu(found, 1), np.triu(C, 1))
    lapack.mirror(found)
    assert_allclose(found, C + A.T @ A, rtol=1e-11, atol=1e-11)
    assert_allclose(lapack.combine(C.copy(), U, V, -0.5), -0.5 * C + U @ V.T, rtol=1e-12, atol=1e-12)


def test_what_blas_cannot_read_is_refused():
    for A in (np.eye(3, dtype=int), np.ones((2, 3)), np.asfortranarray(np.tri(3) + np.eye(3))):
        with pytest.raises(ValueError, match="square"):
            lapack.cholesky_lower(A)


def test_factor_and_solve_need_no_second_matrix(rng, one_thread):
    n = 1200
    A = positive_definite(n, np.float64, rng)
    right = rng.standard_normal(n)
    lapack.cholesky_lower(A.copy())
    tracemalloc.start()
    try:
        lapack.cholesky_lower(A)
        lapack.solve_lower(A, right)
        assert tracemalloc.get_traced_memory()[1] < 0.2 * A.nbytes
    finally:
        tracemalloc.stop()


# --------------------------------------------------------------------------------------- beyond 32 bits
@pytest.mark.parametrize(("n", "dtype"), [(46341, np.float64), (65537, np.float32)])
def test_blocks_beyond_two_to_the_31_entries(n, dtype, rng):
    # A matrix of that order as address space only: pages that are not touched take no memory.
    itemsize, rows = np.dtype(dtype).itemsize, 300
    no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
    try:
        memory = mmap.mmap(-1, n * n * itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    except (OSError, ValueError):
        pytest.skip("this system gives no address space without memory")
    A = np.frombuffer(memory, dtype=dtype, count=n * n).reshape(n, n)
    corner = A[n - rows :, n - rows :]
    corner[...] = positive_definite(rows, dtype, rng)
    expected = np.linalg.cholesky(corner.astype(float))
    assert n * n > 2**31
    assert lapack.cholesky_lower(corner) == 0
    assert np.allclose(np.tril(corner), expected, rtol=1e-3, atol=1e-3)
    X = lapack.solve_lower(corner, np.ones(rows))
    assert np.allclose(expected @ (expected.T @ X), 1.0, atol=1e-3)
    inverse = lapack.inverse_from_lower(corner)
    assert np.allclose(inverse @ (expected @ expected.T), np.eye(rows), atol=1e-3)
    assert lapack.check_square(A) == n
    del A, corner, inverse


def test_an_order_that_blas_cannot_count_is_refused(monkeypatch):
    assert MAX_ORDER >= 2**31 - 1
    monkeypatch.setattr(lapack, "MAX_ORDER", 10)
    with pytest.raises(ValueError, match="11"):
        lapack.cholesky_lower(np.eye(11))


@pytest.mark.parametrize("n", [32767, 46341, 65537, 200_000])
def test_no_piece_is_long(n):
    for k in (256, n // 2, n):
        for cost in (2.0 * 256 * k, 2.0 * lapack.ROWS * k):
            pieces = blocks.pieces(n, cost)
            assert pieces[0][0] == 0
            assert pieces[-1][1] == n
            assert all(a[1] == b[0] for a, b in zip(pieces, pieces[1:], strict=False))
            assert max(j - i for i, j in pieces) * cost <= max(blocks.WORK, 64 * cost)


# --------------------------------------------------------------------------------------- Ctrl-C and other threads
def large(n=4500):
    A = np.full((n, n), 0.5, dtype=np.float32)
    A[np.diag_indices(n)] = 1.0
    return A


def test_ctrl_c_is_heard_at_once():
    A, sent = large(), []

    def press():
        time.sleep(0.05)
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    with one_blas_thread():  # slower, so that the key is pressed in the middle
        thread = threading.Thread(target=press)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                lapack.cholesky_lower(A)
                A = large()
        delay = time.perf_counter() - sent[0]
        thread.join()
    assert delay < 2.0  # one piece takes 0.1 s; the machine may be busy
    small = positive_definite(300, np.float64, np.random.default_rng(0))  # and nothing is broken
    T = np.tril(factored(small))
    assert np.allclose(T @ T.T, small)


def test_other_threads_go_on():
    A, ticks, done = large(), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    lapack.cholesky_lower(A)
    seconds = time.perf_counter() - started
    done.set()
    thread.join()
    during = [t for t in ticks if started <= t <= started + seconds]
    gaps = np.diff([started, *during, started + seconds])
    assert len(during) >= 5
    assert gaps.max() < max(0.5, 0.7 * seconds)


def test_routines_are_looked_up_once():
    assert blas(np.dtype(np.float64)) is blas(np.dtype(np.float64))
