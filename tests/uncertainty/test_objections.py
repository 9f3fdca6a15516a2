"""Gaussian intervals that the rows left out contradict are warned of; right ones are not."""

import warnings

import numpy as np
import pytest

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian
from mercer.report import ReportLimits, collect
from mercer.uncertainty.objections import objection


def rows(seed, uneven, n=150):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    s = 0.05 + 0.6 * X[:, 0] if uneven else np.full(n, 0.3)
    return X, np.sin(6 * X[:, 0]) + s * rng.standard_normal(n), s


def said(model, X, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_interval(X, **options)
    return [str(one.message) for one in caught]


def process(noise):
    return GaussianProcessRegressor(Gaussian(0.3), noise, criterion=None)


@pytest.mark.parametrize("seed", range(5))
def test_right_deviations_are_not_doubted(seed):
    X, y, s = rows(seed, uneven=False)
    assert not said(process(0.09).fit(X, y), X)
    X, y, s = rows(seed, uneven=True)
    assert not said(process(s**2).fit(X, y), X)


@pytest.mark.parametrize("seed", range(5))
def test_noise_that_varies_with_x_is_seen(seed):
    X, y, _ = rows(seed, uneven=True)
    (text,) = said(process(0.09).fit(X, y), X)
    assert "column 0" in text and 'method="conformal"' in text and "noise=[...]" in text
    assert not said(process(0.09).fit(X, y), X, method="conformal")
    assert not said(process(0.09).fit(X, y), X, noisy=False)


@pytest.mark.parametrize(("noise", "coverage"), [(0.02, 0.9), (0.5, 0.5)])
def test_too_few_or_too_many_inside(noise, coverage):
    X, y, _ = rows(0, uneven=False)
    (text,) = said(process(noise).fit(X, y), X, coverage=coverage)
    assert "of 150 rows left out" in text


def test_the_answer_is_that_of_the_fit_at_hand():
    X, y, _ = rows(0, uneven=True)
    model = process(0.09).fit(X, y)
    assert said(model, X)
    X, y, _ = rows(0, uneven=False)
    assert not said(model.fit(X, y), X)


def test_of_few_rows_or_objects_nothing_is_said_of_columns():
    z = np.random.default_rng(0).standard_normal(100)
    assert objection(3 * z[:19]) is None and objection(z) is None
    assert objection(np.column_stack([3 * z, z[::-1]])) is not None  # several targets
    assert objection(3 * np.r_[z, np.nan]) == objection(3 * z)


def test_the_page_looks_at_residuals_beside_their_deviations():
    X, y, s = rows(0, uneven=True)
    for noise, fires in ((0.09, True), (s**2, False)):
        found = collect(process(noise).fit(X, y), X, y, options=[ReportLimits(time_budget=0.0)])
        assert ("M204" in {one.code for one in found.checks}) == fires
