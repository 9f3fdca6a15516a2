"""A whole weight is as many equal rows: for intervals, which are made of rows left out, too."""

import warnings

import numpy as np
import pytest

from mercer import Fourier, GaussianProcessRegressor, Neighbours
from mercer.approximate import NeighbourOptions
from mercer.kernels import Gaussian, Matern32
from mercer.uncertainty import split


def rows(rng, n=40):
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, y, rng.integers(1, 5, n)


@pytest.mark.parametrize(
    ("how", "criterion", "targets"),
    [
        (Neighbours(12), None, 2),
        (Neighbours("auto"), None, 1),
        (Fourier(1e-4), None, 2),
        (Neighbours(12), "evidence", 1),
    ],
    ids=repr,
)
def test_intervals_of_weights_are_those_of_repeated_rows(how, criterion, targets, rng):
    X, y, w = rows(rng)
    Y = y if targets == 1 else np.column_stack([y, 100.0 * y[::-1]])
    kernel = Gaussian([0.8, 1.0]) if isinstance(how, Fourier) else Matern32([0.8, 1.0])
    optimize = {} if criterion is None else {"optimize": "kernel"}
    model = GaussianProcessRegressor(1.0 * kernel, 0.05, criterion=criterion, approximation=how, **optimize)
    order = np.repeat(np.arange(len(X)), w)
    new = rng.uniform(-2, 2, (7, 2))
    found = []
    for arguments in ((X, Y, w), (X[order], Y[order])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = model.fit(*arguments)
            said = fitted.fit_report_["approximation"]
            asked = [{}, {"method": "conformal"}, {"method": "left-out", "normalise": True}]
            found.append([fitted.predict_interval(new, 0.8, **one) for one in asked] + [said["coverage"], said["k"]])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-4 * np.abs(Y).max())


def test_of_noise_for_each_row_copies_are_measurements_of_their_own(rng):
    X, y, _ = rows(rng)
    X, y = np.vstack([X, X]), np.append(y, y)
    options = {"criterion": None, "approximation": Neighbours(20)}
    model = GaussianProcessRegressor(Gaussian(1.0), np.full(len(y), 0.05), **options).fit(X, y)
    assert model.fit_report_["approximation"]["rows_left_out"] == len(y)


def test_copies_are_drawn_together(rng):
    """Of many rows some are left out: copies with the row that they are copies of."""
    X, y, w = rows(rng, 200)
    order = np.repeat(np.arange(len(X)), w)
    options = {"criterion": None, "approximation": Neighbours(12), "options": NeighbourOptions(left_out=50)}
    weighted, repeated = (
        GaussianProcessRegressor(Matern32(1.0), 0.05, **options).fit(*given)
        for given in ((X, y, w), (X[order], y[order]))
    )
    assert weighted.fit_report_["approximation"]["rows_left_out"] == 50
    np.testing.assert_allclose(weighted.predict_interval(X[:5], 0.8), repeated.predict_interval(X[:5], 0.8), rtol=1e-9)


def test_a_quantile_counts_copies():
    r, w = np.arange(1.0, 21.0)[:, None], np.ones(20)
    for coverage in (0.5, 0.8, 0.9):
        every = split(r, np.zeros((1, 1)), coverage, copies=w)
        np.testing.assert_array_equal(every, split(r, np.zeros((1, 1)), coverage))
    w[-5:] = 9.0
    assert split(r, np.zeros((1, 1)), 0.8, copies=w)[0, 1, 0] > split(r, np.zeros((1, 1)), 0.8)[0, 1, 0]
    np.testing.assert_array_equal(
        split(r, np.zeros((1, 1)), 0.8, copies=1e-3 * w), split(r, np.zeros((1, 1)), 0.8, copies=w)
    )
