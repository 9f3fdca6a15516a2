"""Neighbours: which they are, the small systems that they make, and the exact process where they are all rows."""

import numpy as np
import pytest

from mercer import _native
from mercer.gram import Rows
from mercer.gram.neighbours import BatchedGram, NearestRows
from mercer.gram.trend import make_trend
from mercer.inference.neighbours import NeighbourPosterior, OrderedRows
from mercer.inference.regression import RegressionPosterior
from mercer.kernels import Exponential, Gaussian, Laplacian, Linear, Matern32, Spectrum
from mercer.selection import Evidence
from mercer.solvers import Cholesky, Span
from mercer.solvers.small import conditionals


@pytest.fixture(params=["compiled", "numpy"])
def loops(request, monkeypatch):
    """With the compiled loops, and with their twins."""
    if request.param == "numpy":
        monkeypatch.setattr(_native, "neighbours", _native.plain.neighbours)
    return request.param


# ---------------------------------------------------------------------------------------------- which
def naive(kernel, X, Q, k, allowed):
    """Indices by sorting all kernel distances; of equal ones the first."""
    S = kernel.diag(X) - 2.0 * np.asarray(kernel(Q, X), dtype=float)
    out = np.full((len(Q), k), -1)
    for i, mask in enumerate(allowed):
        found = [j for j in np.argsort(S[i], kind="stable") if mask[j]][:k]
        out[i, : len(found)] = found
    return out


@pytest.mark.parametrize(
    "kernel",
    [Matern32([0.5, 2.0]), 3.0 * Laplacian([1.0, 0.3]), Gaussian(0.7).on([1]), Gaussian(0.4) + Linear()],
    ids=["tree", "sum norm", "columns", "no metric"],
)
def test_nearest_rows_are_those_of_the_kernel(kernel, rng, loops):
    X, Q, n = rng.uniform(-1, 1, (90, 2)), rng.uniform(-1, 1, (7, 2)), 90
    near, rows, j = NearestRows(kernel, X), np.array([0, 3, 40, 41, 89]), np.arange(n)
    np.testing.assert_array_equal(near.among(Q, 6), naive(kernel, X, Q, 6, np.ones((7, n), dtype=bool)))
    np.testing.assert_array_equal(near.others(rows, 6), naive(kernel, X, X[rows], 6, j != rows[:, None]))
    np.testing.assert_array_equal(near.before(rows, 6), naive(kernel, X, X[rows], 6, j < rows[:, None]))


@pytest.mark.parametrize("d", [5, 14])
def test_nearest_rows_in_many_columns(d, rng, loops):
    kernel, X = Gaussian(np.linspace(0.5, 2.0, d)), rng.standard_normal((1100, d))
    near, rows = NearestRows(kernel, X), np.array([5, 600, 1099])
    assert not near.tree
    allowed = np.arange(1100) < rows[:, None]
    np.testing.assert_array_equal(near.before(rows, 9), naive(kernel, X, X[rows], 9, allowed))


def test_fewer_rows_than_neighbours(rng, loops):
    for d in (2, 9):
        near = NearestRows(Gaussian(), rng.standard_normal((4, d)))
        assert (np.sort(near.among(rng.standard_normal((2, d)), 6)) == [-1, -1, 0, 1, 2, 3]).all()
        assert (near.before(np.array([0]), 3) == -1).all()


def test_strings_by_their_kernel(rng):
    kernel = Spectrum(2)
    X = kernel.validate(["abab", "ccdd", "abba", "cddc", "aabb"])
    near = NearestRows(kernel, X)
    assert near.U is None
    assert set(near.among(kernel.validate(["ababab"]), 2)[0]) <= {0, 2}


def test_clouds_are_the_kernel(rng):
    kernel, X, index = 2.0 * Matern32([1.0, 2.0]) + Linear(), rng.standard_normal((30, 2)), rng.integers(0, 30, (5, 4))
    cloud, W = BatchedGram(kernel, X, index), rng.standard_normal((5, 4, 4))
    np.testing.assert_allclose(cloud.matrices(), [kernel(X[i]) for i in index], rtol=1e-13)
    expected = sum(kernel.grad(X[i], X[i], w) for i, w in zip(index, W, strict=True))
    np.testing.assert_allclose(cloud.grad(W), expected, rtol=1e-10)


# ---------------------------------------------------------------------------------------------- small systems
def test_conditionals_are_those_of_a_normal_distribution(rng, loops):
    b, k, t = 5, 7, 2
    B, Y = rng.standard_normal((b, k + 1, 12)), rng.standard_normal((b, t, k))
    C, absent = B @ B.transpose(0, 2, 1), np.zeros((b, k), dtype=bool)
    absent[1, [0, 4]] = absent[2] = True
    found = conditionals(C.copy(), absent.copy(), Y)
    for i in range(b):
        here = np.flatnonzero(~absent[i])
        A, c = C[i][np.ix_(here, here)], C[i, -1, here]
        w = np.linalg.solve(A, c)
        np.testing.assert_allclose(found.weights[i, here], w, rtol=1e-9)
        assert (found.weights[i, absent[i]] == 0).all()
        np.testing.assert_allclose(found.variance[i], C[i, -1, -1] - c @ w, rtol=1e-9)
        np.testing.assert_allclose(found.solved[i][:, here], np.linalg.solve(A, Y[i][:, here].T).T, rtol=1e-8)


def test_a_copy_among_the_neighbours_is_left_out(loops):
    X = np.array([[0.0], [0.0], [1.0], [0.5]])
    C, absent = Gaussian()(X)[None], np.zeros((1, 3), dtype=bool)
    found = conditionals(C.copy(), absent)
    assert found.dropped == 1 and absent.tolist() == [[False, True, False]]
    alone = conditionals(Gaussian()(X[[0, 2, 3]])[None], np.zeros((1, 2), dtype=bool))
    np.testing.assert_allclose(found.weights[0, [0, 2]], alone.weights[0], rtol=1e-12)
    np.testing.assert_allclose(found.variance, alone.variance, rtol=1e-10)


# ---------------------------------------------------------------------------------------------- the process
def some_rows(rng, trend, t=1, n=60, weight=True):
    X = rng.standard_normal((n, 2))
    X[5] = X[9] = X[4]
    y = np.column_stack([np.sin((2 + i) * X[:, 0]) + X[:, 1] for i in range(t)]) + 0.1 * rng.standard_normal((n, t))
    w = rng.integers(1, 4, n).astype(float) if weight else None
    return Rows(X, y, w, make_trend(trend, X))


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
@pytest.mark.parametrize("landmarks", [0, 7])
def test_with_all_rows_it_is_the_exact_process(trend, landmarks, rng, loops):
    rows, kernel, lam = some_rows(rng, trend, t=2), 2.0 * Matern32([0.7, 1.3]), 0.02
    exact = RegressionPosterior.fit(kernel, rows, lam, Cholesky(), Span(rows.scaled(rows.H)))
    Z = rows.X[10 : 10 + landmarks]
    basis = (Z, np.linalg.cholesky(kernel(Z))) if landmarks else None
    near = NeighbourPosterior.fit(kernel, rows, lam, 100, 3, Evidence(), basis)
    Q = 2.0 * rng.standard_normal((20, 2))
    np.testing.assert_allclose(near.moments(Q).mean, exact.moments(Q).mean, atol=1e-10)
    np.testing.assert_allclose(near.moments(Q).variance, exact.moments(Q).variance, atol=1e-10)
    np.testing.assert_allclose(near.log_evidence, sum(exact.evidence(Evidence()).values()), rtol=1e-9)


def test_rescaled_is_a_fit_of_the_scaled_kernel(rng):
    rows, kernel = some_rows(rng, "linear"), 2.0 * Exponential(1.0)
    Z, Q = rows.X[20:26], rng.standard_normal((9, 2))
    one = NeighbourPosterior.fit(kernel, rows, 0.1, 12, 0, Evidence(), (Z, np.linalg.cholesky(kernel(Z))))
    other = 6.0 * Exponential(1.0)
    two = NeighbourPosterior.fit(other, rows, 0.3, 12, 0, Evidence(), (Z, np.linalg.cholesky(other(Z))))
    one = one.rescaled(other, 3.0)
    for found, expected in zip(one.moments(Q), two.moments(Q), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11)
    np.testing.assert_allclose(one.log_evidence, two.log_evidence, rtol=1e-10)


def test_rows_left_out_are_predicted_from_the_others(rng):
    rows, kernel = some_rows(rng, None, weight=False), Gaussian(0.8)
    f = NeighbourPosterior.fit(kernel, rows, 0.05, 8, 0, Evidence())
    residuals, variance = f.left_out()
    order = f.ordered.order
    for place in (0, 17):
        i = order[place]
        rest = np.delete(np.arange(rows.n), i)
        other = NeighbourPosterior.fit(kernel, rows.take(rest), 0.05, 8, 0, Evidence())
        found = other.moments(rows.X[[i]])
        noise = 0.05 / rows.weights()[i]
        np.testing.assert_allclose(rows.y[i] - residuals[place], found.mean[0], rtol=1e-10)
        np.testing.assert_allclose(variance[place], found.variance[0] + noise, rtol=1e-10)


@pytest.mark.parametrize("kernel", [2.0 * Matern32([0.7, 1.3]), 0.5 * Gaussian(0.6) + Linear()], ids=["ard", "sum"])
def test_gradient_of_densities(kernel, rng, loops):
    rows, lam = some_rows(rng, "constant", t=2), 0.05
    ordered = OrderedRows(kernel, rows, lam, 0)
    own, beta = np.arange(rows.n), rng.standard_normal((1, 2))
    index = ordered.near.before(own, 6)
    slope, z, h = ordered.densities(index, own, beta)[1], np.append(kernel.theta, np.log(lam)), 1e-5

    def value(z):
        return ordered.at(kernel.with_theta(z[:-1]), np.exp(z[-1])).densities(index, own, beta)[0]

    expected = [(value(z + h * e) - value(z - h * e)) / (2 * h) for e in np.eye(len(z))]
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)


def test_densities_of_all_rows_before_are_the_evidence(rng):
    rows, kernel = some_rows(rng, None, weight=False), Matern32(0.9)
    rows = rows.once()
    ordered, own = OrderedRows(kernel, rows, 0.1, 0), np.arange(rows.n)
    K = kernel(rows.X) + np.diag(0.1 / rows.weights())
    expected = -0.5 * (rows.y[:, 0] @ np.linalg.solve(K, rows.y[:, 0]) + np.linalg.slogdet(2 * np.pi * K)[1])
    found = ordered.densities(ordered.near.before(own, rows.n), own, np.zeros((0, 1)))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
