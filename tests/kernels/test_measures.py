"""Kernels on probability measures: transport against its definition, closed forms, bad input, every estimator."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer import SVR, GaussianProcessRegressor, KernelMachine, KernelRidge
from mercer.kernels import (
    Exponential,
    Gaussian,
    GaussianMeasure,
    GaussianTransport,
    Linear,
    Matern32,
    MeanEmbedding,
    RadialOf,
    SlicedWasserstein,
    TransportKernel,
    parse_kernel,
)
from mercer.kernels.objects import transport
from mercer.kernels.objects.collection import Objects
from mercer.kernels.objects.measures import level_means, read_measures
from mercer.kernels.objects.transport import transport_map, transport_plan
from mercer.losses import Quantile
from mercer.selection import LOO


def clouds(rng, n, d=2, low=4, high=9):
    """n clouds of points."""
    return [rng.normal(rng.normal(0, 1, d), rng.uniform(0.3, 2), (rng.integers(low, high), d)) for _ in range(n)]


def random_gaussian(rng, d):
    root = rng.standard_normal((d, d))
    return GaussianMeasure(rng.standard_normal(d), root @ root.T + 0.1 * np.eye(d))


def squared_distances(K):
    return np.diag(K)[:, None] + np.diag(K) - 2.0 * K


# ---------------------------------------------------------------------- discrete transport
@pytest.mark.parametrize("q, m", [(1, 1), (1, 4), (5, 1), (4, 7), (9, 6), (6, 6)])
@pytest.mark.parametrize("equal", [True, False])
def test_plan_is_the_solution_of_the_linear_programme(rng, loops, q, m, equal):
    C = rng.random((q, m))
    a, b = (np.ones(q), np.ones(m)) if equal else (rng.random(q) + 0.01, rng.random(m) + 0.01)
    a, b = a / a.sum(), b / b.sum()
    flow = transport_plan(C, a, b)
    assert (flow >= 0).all()
    np.testing.assert_allclose(flow.sum(axis=1), a, atol=1e-13)
    np.testing.assert_allclose(flow.sum(axis=0), b, atol=1e-13)
    rows, columns = np.kron(np.eye(q), np.ones(m)), np.kron(np.ones(q), np.eye(m))
    best = linprog(C.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([a, b]))
    np.testing.assert_allclose(np.sum(flow * C), best.fun, atol=1e-9)
    np.testing.assert_allclose(flow, best.x.reshape(q, m), atol=1e-8)  # unique for random costs


def test_plan_with_ties_is_optimal(rng, loops):
    C = rng.integers(0, 3, (8, 11)).astype(float)
    a, b = np.full(8, 1 / 8), np.full(11, 1 / 11)
    flow = transport_plan(C, a, b)
    rows, columns = np.kron(np.eye(8), np.ones(11)), np.kron(np.ones(8), np.eye(11))
    best = linprog(C.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([a, b]))
    np.testing.assert_allclose(np.sum(flow * C), best.fun, atol=1e-12)


def test_pot_is_asked_for_many_points_where_it_is_installed(rng, monkeypatch):
    """A stand-in for POT sees costs and masses that it can solve; its plan is used."""
    import importlib.util
    import sys
    import types

    seen = []

    def emd(a, b, C):
        seen.append(C.shape)
        np.testing.assert_allclose(a.sum(), b.sum(), rtol=1e-15)
        return np.outer(a, b)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "ot" or None)
    monkeypatch.setitem(sys.modules, "ot", types.SimpleNamespace(emd=emd))
    flow = transport_plan(rng.random((3, 5)), np.full(3, 1 / 3), np.full(5, 1 / 5), large=10)
    np.testing.assert_allclose(flow, 1 / 15)
    assert seen == [(3, 5)]


# ---------------------------------------------------------------------- lecture 002
def test_transport_kernel_is_its_definition(rng):
    """⟨Id − T_μ, Id − T_ν⟩ with T from an assignment, written out."""
    Z = rng.standard_normal((7, 3))
    X = [rng.standard_normal((7, 3)) + rng.standard_normal(3) for _ in range(5)]
    maps = []
    for points in X:
        cost = np.array([[np.sum((z - x) ** 2) for x in points] for z in Z])
        maps.append(points[linear_sum_assignment(cost)[1]])
    expected = [[np.mean([(z - s) @ (z - t) for z, s, t in zip(Z, S, T, strict=True)]) for T in maps] for S in maps]
    np.testing.assert_allclose(TransportKernel(Z)(X), expected, atol=1e-12)


def test_weights_of_the_reference_are_repeated_points(rng):
    Z, X = rng.standard_normal((3, 2)), clouds(rng, 4)
    twice = TransportKernel(Z[[0, 1, 1, 2]])(X)
    np.testing.assert_allclose(TransportKernel(Z, [1.0, 2.0, 1.0])(X), twice, atol=1e-12)


def test_a_weight_is_a_repeated_sample_and_only_shares_count(rng):
    points = rng.standard_normal((4, 2))
    same = [points[[0, 1, 1, 2]], (points, [1.0, 2.0, 1.0, 0.0]), (points[::-1], [0.0, 10.0, 20.0, 10.0])]
    for kernel in (TransportKernel(rng.standard_normal((5, 2))), SlicedWasserstein(7, 11), GaussianTransport(),
                   MeanEmbedding(Gaussian())):  # fmt: skip
        K = kernel(same)
        np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)


def test_far_from_the_origin_nothing_cancels(rng):
    X, Z = clouds(rng, 4), rng.standard_normal((6, 2))
    near, far = TransportKernel(Z)(X), TransportKernel(Z + 1e6)([points + 1e6 for points in X])
    np.testing.assert_allclose(far, near, rtol=1e-6)


@pytest.mark.parametrize("q", [6, 12, 60])
def test_on_the_line_the_distance_is_wasserstein(rng, q):
    X = [rng.standard_normal(m) * rng.uniform(0.2, 3) for m in (2, 3, 6, 6, 1)]
    W2 = np.array([[np.mean((np.sort(np.repeat(a, 6 // len(a))) - np.sort(np.repeat(b, 6 // len(b)))) ** 2) for b in X]
                   for a in X])  # fmt: skip
    for kernel in (TransportKernel(rng.standard_normal(q)), SlicedWasserstein(1, q)):
        np.testing.assert_allclose(squared_distances(kernel(X)), W2, atol=1e-12)


def test_on_the_line_quantiles_are_the_solution_of_the_linear_programme(rng):
    z, x, w = rng.standard_normal(5), rng.standard_normal(8), rng.random(8) + 0.1
    reference, measure = read_measures([z, (x, w)], "test")
    C = (z[:, None] - x) ** 2
    flow = transport_plan(C, reference.weights, measure.weights)
    np.testing.assert_allclose(transport_map(reference, measure)[:, 0], flow @ x * 5, atol=1e-12)


def test_features_are_transported_once_for_each_measure(rng, monkeypatch):
    X, calls = Objects(clouds(rng, 9)), []
    original = transport.transport_map
    monkeypatch.setattr(transport, "transport_map", lambda *args: calls.append(1) or original(*args))
    kernel = RadialOf(Gaussian(), TransportKernel(rng.standard_normal((5, 2))))
    K = kernel(X)
    kernel.grad(kernel.validate(X), kernel.validate(X), K)
    np.testing.assert_allclose(kernel(X[2:5], X[4:]), K[2:5, 4:], atol=1e-12)
    assert len(calls) == 9


# ---------------------------------------------------------------------- Gaussians
def test_gaussian_map_pushes_the_reference_to_the_measure_and_k_is_its_inner_product(rng):
    d, m0 = 3, rng.standard_normal(3)
    root = rng.standard_normal((d, d))
    S0 = root @ root.T + 0.2 * np.eye(d)
    X = [random_gaussian(rng, d) for _ in range(4)]
    kernel = GaussianTransport(m0, S0)
    F = kernel.features(X)
    values, vectors = np.linalg.eigh(S0)
    half = (vectors * np.sqrt(values)) @ vectors.T
    maps = []
    for f, measure in zip(F, X, strict=True):
        A = f[d:].reshape(d, d) @ np.linalg.inv(half) + np.eye(d)
        np.testing.assert_allclose(A, A.T, atol=1e-10)  # the gradient of a convex function
        assert np.linalg.eigvalsh(A).min() > 0
        np.testing.assert_allclose(A @ S0 @ A, measure.cov, atol=1e-9)
        maps.append((measure.mean, A))
    sample = rng.multivariate_normal(m0, S0, 200_000)
    moved = [sample - (m + (sample - m0) @ A) for m, A in maps]
    products = np.array([[np.sum(u * v, axis=1) for v in moved] for u in moved])
    error = products.std(axis=2) / np.sqrt(len(sample))
    assert (np.abs(products.mean(axis=2) - kernel(X)) < 5.5 * error).all()


def test_gaussian_closed_form_is_the_discrete_kernel_of_affine_images(rng):
    """For y = Ax + b with A positive definite the optimal map of the samples is that map: both kernels agree."""
    Z, X = rng.standard_normal((30, 2)) @ np.array([[1.0, 0.3], [0.3, 0.7]]), []
    for _ in range(4):
        root = rng.standard_normal((2, 2))
        X.append(Z @ (root @ root.T + 0.05 * np.eye(2)) + rng.standard_normal(2))
    m0, centred = Z.mean(axis=0), Z - Z.mean(axis=0)
    closed = GaussianTransport(m0, centred.T @ centred / 30)(X)
    np.testing.assert_allclose(TransportKernel(Z)(X), closed, atol=1e-9)


def test_gaussian_closed_form_is_the_limit_of_many_quantiles():
    X = [GaussianMeasure(0.5, 2.0), GaussianMeasure(-1.0, 0.25), GaussianMeasure(0.0, 0.0)]
    closed = GaussianTransport(0.3, 1.5)(X)
    off = []
    for q in (100, 1000):
        (rho,) = read_measures([GaussianMeasure(0.3, 1.5)], "test")
        z = level_means(rho, np.ones(1), np.linspace(0, 1, q + 1))
        off.append(np.abs(TransportKernel(z)(X) - closed).max())
    assert off[1] < 2e-3 and off[1] < 0.2 * off[0]


def test_level_means_of_a_gaussian_are_those_of_its_quantiles():
    from scipy.stats import norm

    (measure,) = read_measures([GaussianMeasure([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]])], "test")
    theta = np.array([0.6, 0.8])
    edges = np.array([0.0, 0.2, 0.5, 1.0])
    u = (np.arange(200_000) + 0.5) / 200_000
    q = norm(measure.mean @ theta, np.sqrt(theta @ measure.cov @ theta)).ppf(u)
    expected = [q[(u > a) & (u < b)].mean() for a, b in zip(edges[:-1], edges[1:], strict=True)]
    np.testing.assert_allclose(level_means(measure, theta, edges), expected, atol=1e-4)


# ---------------------------------------------------------------------- sliced, mean embedding
def test_sliced_distance_is_the_mean_over_its_directions(rng):
    X = [rng.standard_normal((6, 3)) for _ in range(4)]
    kernel = SlicedWasserstein(9, 12, 5)
    theta = kernel._thetas(3)
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 1.0)
    expected = [[np.mean((np.sort(a @ theta.T, axis=0) - np.sort(b @ theta.T, axis=0)) ** 2) for b in X] for a in X]
    np.testing.assert_allclose(squared_distances(kernel(X)), expected, atol=1e-12)


def test_mean_embedding_is_the_double_sum(rng):
    X = [*clouds(rng, 4), (rng.standard_normal((3, 2)), [1.0, 0.5, 2.5])]
    pairs = [(x, np.full(len(x), 1 / len(x))) for x in X[:-1]] + [(X[-1][0], np.array(X[-1][1]) / 4.0)]
    base = Matern32(0.8)
    expected = [[w @ base(x, z) @ v for z, v in pairs] for x, w in pairs]
    np.testing.assert_allclose(MeanEmbedding(base)(X), expected, atol=1e-13)


def test_large_measures_go_by_blocks(rng):
    X = clouds(rng, 5, low=300, high=900)  # blocks of 1024 points end within a measure
    base, W = Gaussian(0.9), rng.standard_normal((5, 5))
    kernel = MeanEmbedding(base)
    expected = [[base(A, B).mean() for B in X] for A in X]
    slope = sum(
        base.grad(A, B, np.full((len(A), len(B)), W[i, j] / (len(A) * len(B))))
        for i, A in enumerate(X)
        for j, B in enumerate(X)
    )
    np.testing.assert_allclose(kernel(X), expected, atol=1e-13)
    np.testing.assert_allclose(kernel(X[:3], X[2:]), np.array(expected)[:3, 2:], atol=1e-13)
    np.testing.assert_allclose(kernel.grad(kernel.validate(X), kernel.validate(X), W), slope, rtol=1e-10)


def all_kernels(rng, d):
    return [
        TransportKernel(rng.standard_normal((6, d))), GaussianTransport(), SlicedWasserstein(10, 12),
        MeanEmbedding(Gaussian()),
    ]  # fmt: skip


@pytest.mark.parametrize("d", [1, 2, 4])
def test_positive_semidefinite_on_random_measures(rng, d):
    X = [(points, rng.random(len(points)) + 0.01) for points in clouds(rng, 25, d)]
    for base in all_kernels(rng, d):
        for kernel in (base, RadialOf(Gaussian(0.7), base), RadialOf(Exponential(0.5), base), base.normalise()):
            assert kernel.psd
            K = kernel(X)
            assert np.linalg.eigvalsh(K).min() > -1e-10 * np.trace(K)


def test_repr_reads_back(rng):
    X = clouds(rng, 4)
    for kernel in (TransportKernel.from_data(X, 3), RadialOf(Matern32(0.3), GaussianTransport.from_data(X))):
        again = parse_kernel(repr(kernel))
        assert again == kernel
        np.testing.assert_array_equal(again(X), kernel(X))


# ---------------------------------------------------------------------- references from data
def test_reference_from_data(rng):
    X = clouds(rng, 6)
    kernel = TransportKernel.from_data(X, 5, random_state=1)
    assert kernel == TransportKernel.from_data(X, 5, random_state=1)
    assert np.shape(kernel.reference) == (5, 2)
    gaussian = GaussianTransport.from_data(X)
    np.testing.assert_allclose(gaussian.mean, np.mean([x.mean(axis=0) for x in X], axis=0))
    np.testing.assert_allclose(gaussian.cov, np.mean([np.cov(x.T, bias=True) for x in X], axis=0))
    with pytest.raises(ValueError, match="1000"):
        TransportKernel.from_data(X, 1000)
    with pytest.raises(ValueError, match="empty"):
        TransportKernel.from_data([])
    with pytest.raises(ValueError, match="cov"):
        GaussianTransport.from_data([np.ones((4, 2))])


# ---------------------------------------------------------------------- bad input
GOOD = np.array([[0.0, 1.0], [2.0, 3.0]])
BAD = {
    "empty": np.zeros((0, 2)),
    "no array": "abc",
    "nan": np.array([[np.nan, 1.0]]),
    "infinite": np.array([[np.inf, 1.0]]),
    "ragged": [[1.0, 2.0], [3.0]],
    "three": (GOOD, [1.0, 1.0], 3),
    "weights short": (GOOD, [1.0]),
    "weights negative": (GOOD, [2.0, -1.0]),
    "weights zero": (GOOD, [0.0, 0.0]),
    "weights nan": (GOOD, [np.nan, 1.0]),
    "other columns": np.ones((2, 3)),
    "four-dimensional": np.ones((1, 1, 1, 1)),
    "cov not square": GaussianMeasure([0.0, 0.0], [1.0, 1.0]),
    "cov indefinite": GaussianMeasure([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]),
    "cov not symmetric": GaussianMeasure([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_measures_are_refused_with_their_row(name):
    for kernel in (TransportKernel(GOOD), GaussianTransport(), SlicedWasserstein(3, 4), MeanEmbedding(Gaussian())):
        with pytest.raises((TypeError, ValueError), match="row 2"):
            kernel([GOOD, GOOD + 1.0, BAD[name], GOOD])


def test_what_does_not_fit_together_is_refused():
    gaussian, flat = GaussianMeasure([0.0, 0.0], np.eye(2)), [np.ones((3, 1))]
    with pytest.raises(TypeError, match="row 1"):
        TransportKernel(GOOD)([GOOD, gaussian])
    with pytest.raises(TypeError, match="row 0"):
        MeanEmbedding(Gaussian())([gaussian])
    with pytest.raises(ValueError, match="row 0 .* 1 .* 2"):
        TransportKernel(GOOD)(flat)
    for kernel in (SlicedWasserstein(), GaussianTransport()):
        with pytest.raises(ValueError, match="row 1"):
            kernel([GOOD], flat)
    with pytest.raises(ValueError, match=" 2 .* 1"):
        MeanEmbedding(Gaussian())([GOOD], flat)
    with pytest.raises(ValueError, match="reference: row 0"):
        TransportKernel([[np.nan]])(flat)
    with pytest.raises(TypeError, match="GaussianTransport"):
        TransportKernel(gaussian)([GOOD])
    with pytest.raises(ValueError, match="cov"):
        GaussianTransport(0.0, [[1.0, 0.0], [0.0, 0.0]])([GOOD])
    with pytest.raises(ValueError, match="directions"):
        SlicedWasserstein(0)([GOOD])


def test_defined_values_at_the_edge():
    atom, wide = GaussianMeasure([1.0, 1.0], np.zeros((2, 2))), np.array([[1.0, 1.0]])
    K = GaussianTransport()([atom, wide])  # one sample is its own mean, without spread
    np.testing.assert_allclose(K, K[0, 0])
    np.testing.assert_allclose(K[0, 0], 4.0)  # ‖m‖² + tr(I)
    assert np.isfinite(SlicedWasserstein(4, 3)([wide, (GOOD * 1e100, [1e300, 1e300])])).all()


# ---------------------------------------------------------------------- estimators
def test_every_estimator_takes_measures(rng):
    X = [rng.normal(0, s, (12, 2)) for s in rng.uniform(0.3, 3.0, 40)]
    y = np.array([np.log(x.std()) for x in X])
    kernel = RadialOf(Gaussian(1.0), GaussianTransport())
    models = [KernelRidge(kernel, 1e-3), SVR(kernel, C=10.0), KernelMachine(kernel, Quantile(0.5), 1e-3),
              GaussianProcessRegressor(kernel, noise=1e-3)]  # fmt: skip
    for model in models:
        f = clone(model).fit(X, y).predict(X)
        assert 1.0 - np.var(y - f) / np.var(y) > 0.9
    fitted = models[0].fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X[:5]), fitted.predict(X[:5]))
    assert cross_val_score(models[0], X, y, cv=3).min() > 0.7


def test_a_list_of_kernels_and_a_length_scale_are_searched(rng):
    X = [rng.normal(0, s, (10, 2)) for s in rng.uniform(0.3, 3.0, 30)]
    y = np.array([np.log(x.std()) for x in X])
    kernels = [RadialOf(Gaussian(1.0), base) for base in (GaussianTransport(), SlicedWasserstein(5, 10))]
    model = KernelRidge(kernels, criterion=LOO()).fit(X, y)
    assert type(model.kernel_) is RadialOf and model.kernel_.radial.length_scale != 1.0
    assert model.score(X, y) > 0.95


def test_an_array_of_rows_is_measures_on_the_line(rng):
    X = rng.standard_normal((5, 8))
    np.testing.assert_allclose(SlicedWasserstein(1, 8)(X), Linear()(np.sort(X, axis=1)) / 8, atol=1e-12)


def test_costs_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="costs"):
        transport_plan(np.array([[1.0, np.nan, 2.0]]), np.ones(1), np.full(3, 1 / 3))
