"""What a model is asked reaches every approximation: weights, trend, options; where it is exact the answers agree."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import GaussianProcessRegressor, KernelRidge, Landmarks, Neighbours
from mercer.approximate.base import Problem, SourceProblem
from mercer.kernels import Gaussian

KERNEL = 2.0 * Gaussian([0.7, 1.5])


def rows(rng, n=60):
    """X, y with a slope, and weights."""
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sin(3 * X[:, 0]) + 2.0 * X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, y, rng.uniform(0.2, 4.0, n)


def fitted(model, how, X, y, *weight, **options):
    """A model under an approximation; what is certified or not is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model(KERNEL, 0.05, approximation=how, **options).fit(X, y, *weight)


@pytest.mark.parametrize(
    ("model", "how"),
    [
        (KernelRidge, Landmarks(60)),
        (GaussianProcessRegressor, Landmarks(60)),
        (GaussianProcessRegressor, Neighbours(60)),
    ],
    ids=["ridge, landmarks", "process, landmarks", "process, neighbours"],
)
def test_weights_reach_the_fit(model, how, rng):
    X, y, w = rows(rng)
    options = {"criterion": None}
    exact = fitted(model, None, X, y, w, **options)
    found = fitted(model, how, X, y, w, **options)
    assert_allclose(found.predict(X), exact.predict(X), rtol=1e-5, atol=1e-6)
    assert np.abs(fitted(model, how, X, y, **options).predict(X) - found.predict(X)).max() > 1e-3
    if model is GaussianProcessRegressor:
        new = rng.uniform(-2, 2, (5, 2))
        for one, other in zip(found.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True):
            assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", [None, Neighbours(60)], ids=["exact", "neighbours"])
def test_far_from_all_rows_a_process_is_its_trend(how, rng):
    X, y, w = rows(rng)
    model = fitted(GaussianProcessRegressor, how, X, y, w, trend="linear", criterion=None)
    far = np.array([[0.0, 1e3], [0.0, 2e3], [0.0, 3e3]])
    mean, std = model.predict(far, return_std=True)
    assert_allclose(np.diff(mean), 1e3 * 2.0, rtol=0.1)  # the slope of y
    assert_allclose(np.diff(mean, 2), 0.0, atol=1e-6 * np.abs(mean).max())
    assert (np.diff(std) > 0).all()  # the slope is not known exactly


@pytest.mark.parametrize("how", [None, Landmarks(60)], ids=["exact", "landmarks"])
@pytest.mark.parametrize("model", [KernelRidge, GaussianProcessRegressor])
def test_what_is_not_to_be_searched_stays(model, how, rng):
    X, y, w = rows(rng)
    lam = fitted(model, how, X, y, w, criterion="loo", optimize="lam")
    assert lam.lam_ != 0.05
    assert_allclose(lengths(lam.kernel_), [0.7, 1.5])
    every = fitted(model, how, X, y, w, criterion="loo")
    assert not np.allclose(lengths(every.kernel_), [0.7, 1.5], rtol=0.01)


def lengths(kernel):
    """The length scales of a kernel with an amplitude or without."""
    return kernel.get_params().get("length_scale", kernel.get_params().get("kernel__length_scale"))


def test_a_problem_is_abstract_and_data_that_are_read_are_planned_not_fitted_exactly():
    with pytest.raises(TypeError, match="abstract"):
        Problem(n=10, count=10)
    problem = SourceProblem(n=10, count=10)
    for ask in (problem.plan_exactly, problem.search_exactly, lambda: problem.fit_exactly(None)):
        with pytest.raises(ValueError, match="Landmarks"):
            ask()
