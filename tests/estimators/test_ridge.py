"""KernelRidge: identities, weights, duplicates, per-row noise, solvers that agree, all-or-nothing fits."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import KernelRidge
from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.kernels import Exponential, Gaussian, Linear, Matern52, Pairwise, Precomputed


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(60), rng.standard_normal((11, 3))


def naive(kernel, lam, X, y, new, w=None, intercept=True):
    """The bordered system, solved in the plainest way."""
    n = len(X)
    w = np.ones(n) if w is None else w
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = kernel(X) + np.diag(lam / w)
    if intercept:
        system[:n, n] = system[n, :n] = 1.0
    else:
        system[n, n] = 1.0
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return kernel(new, X) @ solution[:n] + solution[n]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(0.8), 2.0 * Matern52([1.0, 2.0, 0.5]) + Linear()], ids=repr)
@pytest.mark.parametrize("solver", ["auto", "cholesky", "mixed", "spectral", "cg"])
def test_solves_the_bordered_system(data, intercept, kernel, solver):
    X, y, new = data
    model = KernelRidge(kernel, 0.1, trend=intercept, solver=solver).fit(X, y)
    tolerance = 1e-6 if solver == "cg" else 1e-9
    assert_allclose(
        model.predict(new), naive(kernel, 0.1, X, y, new, intercept=intercept), rtol=tolerance, atol=tolerance
    )
    assert_allclose(model.dual_coef_.sum(), 0.0, atol=1e-5) if intercept else None


def test_weights_are_repeated_rows(data, rng):
    X, y, new = data
    w = rng.integers(0, 4, len(y)).astype(float)
    weighted = KernelRidge(lam=0.3).fit(X, y, sample_weight=w)
    repeated = KernelRidge(lam=0.3).fit(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-9)
    unweighted = KernelRidge(lam=0.3).fit(X[w > 0], y[w > 0])
    assert np.abs(weighted.predict(new) - unweighted.predict(new)).max() > 1e-3  # the positive weights act


def test_weighted_system(data, rng):
    X, y, new = data
    w = rng.uniform(0.2, 3.0, len(y))
    k = Gaussian(0.9)
    got = KernelRidge(k, 0.2).fit(X, y, sample_weight=w).predict(new)
    assert_allclose(got, naive(k, 0.2, X, y, new, w), rtol=1e-9)


def test_noise_for_each_row(data, rng):
    X, y, new = data
    noise = rng.uniform(0.05, 2.0, len(y))
    k = Gaussian(0.9)
    got = KernelRidge(k, noise).fit(X, y).predict(new)
    assert_allclose(got, naive(k, noise, X, y, new), rtol=1e-9)
    scaled = KernelRidge(k, noise).fit(X, y, sample_weight=np.full(len(y), 2.0)).predict(new)
    assert_allclose(scaled, naive(k, noise / 2, X, y, new), rtol=1e-9)


def test_merging_duplicates_changes_nothing(data, rng):
    X, y, new = data
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3) + rng.standard_normal(180)
    order = rng.permutation(180)
    X, y, w = X[order], y[order], rng.uniform(0.5, 2.0, 180)
    merged = KernelRidge(Gaussian(0.9), 0.3).fit(X, y, w)
    plain = KernelRidge(Gaussian(0.9), 0.3, merge=False).fit(X, y, w)
    assert len(merged.points_) == 60
    assert merged.fit_report_["merged_rows"] == 120
    assert_allclose(merged.predict(new), plain.predict(new), rtol=1e-9)
    assert_allclose(merged.rkhs_norm_, plain.rkhs_norm_, rtol=1e-8)
    assert_array_equal(merged.points_[merged.point_index_], X)


def test_rkhs_norm(data):
    X, y, _ = data
    model = KernelRidge(Gaussian(0.9), 0.3).fit(X, y)
    alpha = model.dual_coef_
    assert_allclose(model.rkhs_norm_, np.sqrt(alpha @ Gaussian(0.9)(model.points_) @ alpha), rtol=1e-9)


def test_large_lam_gives_the_mean_and_small_lam_the_data(data):
    X, y, new = data
    assert_allclose(KernelRidge(Gaussian(), 1e12).fit(X, y).predict(new), y.mean(), rtol=1e-8)
    assert_allclose(KernelRidge(Exponential(), 1e-10).fit(X, y).predict(X), y, atol=1e-7)


@pytest.mark.parametrize("factor", [1e200, 1e-200, 1e150])
def test_scale_of_y(data, factor):
    X, y, new = data
    model = KernelRidge(Gaussian(), 0.1)
    assert_allclose(
        clone(model).fit(X, y * factor).predict(new) / factor, clone(model).fit(X, y).predict(new), rtol=1e-9
    )


def test_units_of_x_do_not_matter_to_the_default_kernel(data):
    X, y, new = data
    unit = np.array([1e-3, 1.0, 1e6])
    expected = KernelRidge(lam=0.1).fit(X, y).predict(new)
    assert_allclose(KernelRidge(lam=0.1).fit(X * unit, y).predict(new * unit), expected, rtol=1e-8)
    assert_allclose(KernelRidge(lam=0.1).fit(X + 1e8, y).predict(new + 1e8), expected, rtol=1e-4)


def test_regularization_shows_every_convention(data):
    X, y, _ = data
    shown = KernelRidge(lam=0.6).fit(X, y).regularization_
    assert shown == {"lam": 0.6, "lam_over_n": 0.6 / 60, "C": 1 / 1.2, "noise_variance": 0.6}


def test_report_says_what_was_done(data):
    X, y, _ = data
    report = KernelRidge(Gaussian(), 0.1).fit(X, y, sample_weight=np.r_[np.zeros(5), np.ones(55)]).fit_report_
    assert report["dropped_rows"] == 5
    assert report["points"] == 55
    for key in ("solver", "reasons", "condition", "residual", "jitter", "memory_predicted", "seconds"):
        assert key in report, key
    assert "solver" in str(report)
    import json

    json.dumps(report)


def test_functions_of_objects():
    words = ["kernel", "colonel", "ridge", "bridge", "fridge", "gauss"]

    def shared(a, b):
        return float(len(set(a) & set(b)))

    model = KernelRidge(Pairwise(shared), 0.1).fit(words, [1.0, 1.0, 2.0, 2.0, 2.0, 3.0])
    assert model.predict(["ridges"])[0] == pytest.approx(2.0, abs=0.5)
    with pytest.raises(TypeError, match="sequence"):
        model.predict("ridge")


def test_not_a_kernel_is_refused_with_a_witness(data):
    X, y, _ = data

    def distance(x, z):
        return float(np.linalg.norm(x - z))

    with pytest.raises(NotPositiveDefinite, match="eigenvalue") as error:
        KernelRidge(Pairwise(distance), 100.0).fit(X, y)
    rows, matrix, eigenvalue = error.value.witness
    true = np.array([[distance(X[i], X[j]) for j in rows] for i in rows])
    assert_allclose(matrix, true)
    assert np.linalg.eigvalsh(true)[0] == pytest.approx(eigenvalue)
    assert eigenvalue < 0


def test_not_symmetric_is_refused_with_the_pair(data):
    X, y, _ = data

    def sided(x, z):
        return float(np.exp(-np.sum((x - z) ** 2)) * (1.0 if x[0] < z[0] else 0.5))

    with pytest.raises(ValueError, match="symmetric"):
        KernelRidge(Pairwise(sided)).fit(X, y)


def test_precomputed_checks_shapes(data):
    X, y, new = data
    k = Gaussian()
    model = KernelRidge(Precomputed(), 0.1).fit(k(X), y)
    assert_allclose(model.predict(k(new, X)), KernelRidge(k, 0.1).fit(X, y).predict(new), rtol=1e-9)
    with pytest.raises(ValueError, match="square"):
        KernelRidge(Precomputed()).fit(k(X)[:, :5], y)
    with pytest.raises(ValueError, match="60"):
        model.predict(k(new, X)[:, :7])


def test_a_failed_fit_leaves_the_estimator_as_it_was(data):
    X, y, new = data
    model = KernelRidge(Gaussian(), 0.1).fit(X, y)
    before, expected = dict(model.__dict__), model.predict(new)
    for bad in ((np.full_like(X, np.nan), y), (X, y[:-1]), (X[:, :2] * np.nan, y)):
        with pytest.raises(ValueError, match="NaN|inconsistent"):
            model.fit(*bad)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)
    assert_array_equal(model.predict(new), expected)
    fresh = KernelRidge()
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(np.full((3, 2), np.nan), np.ones(3))
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_ctrl_c_in_a_kernel_leaves_the_estimator_as_it_was(data):
    X, y, _ = data
    calls = []

    def interrupted(x, z):
        calls.append(1)
        if len(calls) > 100:
            raise KeyboardInterrupt
        return float(np.exp(-np.sum((x - z) ** 2)))

    model = KernelRidge(Pairwise(interrupted))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_lam_zero_warns_when_k_is_singular(rng):
    X = np.linspace(0, 1, 40)[:, None]
    with pytest.warns(NumericalWarning):
        model = KernelRidge(Gaussian(1.0), 0.0, trend=None, solver="cholesky").fit(X, np.sin(6 * X[:, 0]))
    assert np.isfinite(model.predict(X)).all()
    assert model.fit_report_["jitter"] > 0


def test_threads_share_a_model(data):
    X, y, new = data
    model = KernelRidge(Gaussian(), 0.1).fit(X, y)
    big = np.repeat(new, 300, axis=0)
    expected, results = model.predict(big), []
    pool = [threading.Thread(target=lambda: results.append(model.predict(big))) for _ in range(16)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    for result in results:
        assert_allclose(result, expected, rtol=1e-12)
    assert len(results) == 16
