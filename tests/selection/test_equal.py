"""Rows that are equal stay on one side of a split: copies, repeated measurements, designs, classes, tables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian
from mercer.report import ReportLimits, collect
from mercer.selection import nested_cv
from mercer.selection.equal import copied_rows, equal_rows, random_folds
from mercer.tabular import TableModel, score


def noise_twice(rng, n=40):
    """Every row twice, and nothing to learn: a copy in the training rows explains all of its twin."""
    X, y = rng.uniform(-1, 1, (n, 3)), rng.standard_normal(n)
    return np.r_[X, X], np.r_[y, y]


@pytest.mark.parametrize("as_what", [np.array, pd.DataFrame, pl.DataFrame, lambda X: ["".join(map(str, x)) for x in X]])
def test_groups_of_equal_rows_in_every_form(rng, as_what):
    X, y = noise_twice(rng)
    np.testing.assert_array_equal(equal_rows(as_what(X), y), np.r_[:40, :40])
    assert equal_rows(as_what(X[:40]), y[:40]) is None
    assert copied_rows(as_what(X), y) == 40 and copied_rows(as_what(X), np.arange(80.0)) == 0


def test_designs_are_repeated_measurements_and_are_parted(rng):
    dose = np.repeat(np.arange(5.0), 8)[:, None]
    assert equal_rows(dose, rng.standard_normal(40)) is None  # eight measurements at each dose
    assert equal_rows(dose, np.repeat(["no", "yes"], 20)) is None  # and labels
    assert equal_rows(np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0.0, 1.0], 20)) is None  # a category
    twice = np.repeat(np.arange(20.0), 2)[:, None]
    assert equal_rows(twice, rng.standard_normal(40)) is not None  # each input twice: new rows have new inputs
    five = np.repeat(np.arange(20.0), 5)[:, None]
    assert equal_rows(five, np.sin(five[:, 0])) is not None and equal_rows(five, rng.standard_normal(100)) is None


@pytest.mark.parametrize("labels", [False, True])
def test_random_folds_hold_groups_together_and_every_row_once(rng, labels):
    group = rng.integers(0, 30, 90)
    group = np.unique(group, return_inverse=True)[1]
    y = rng.integers(0, 2, 90) if labels else rng.standard_normal(90)
    folds = random_folds(y, 5, labels, group)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(90))
    for train, test in folds:
        assert not set(group[train]) & set(group[test]) and 9 <= len(test) <= 27


def test_every_row_twice_explains_nothing_that_is_noise(rng):
    X, y = noise_twice(rng)
    model = KernelRidge(Gaussian(0.3), 0.01)
    assert nested_cv(model, X, y, equal=None).score > 0.3
    found = nested_cv(model, X, y)
    assert (
        found.score < 0.1
        and found.equal == 80
        and "80 rows with equal inputs in the same fold" in found.to_dict()["how"]
    )
    labels = nested_cv(KernelRidge(Gaussian(0.3), 0.01), X, y, outer=3, scoring="neg_mean_squared_error")
    assert labels.equal == 80


def test_a_table_with_an_identifier_of_its_own_for_each_copy(rng):
    X, y = noise_twice(rng)
    frame = pl.DataFrame({"id": [f"row {i}" for i in range(80)], "a": X[:, 0], "b": X[:, 1], "y": y})
    found = score(TableModel(KernelRidge(lam=0.01), target="y"), frame)
    assert found.equal == 80 and found.score < 0.1


def test_the_page_leaves_copies_out_together_and_says_so(rng):
    X, y = noise_twice(rng)
    model = GaussianProcessRegressor(Gaussian(0.3), 0.01, criterion=None).fit(X, y)
    found = collect(model, X, y, options=[ReportLimits(time_budget=0.0)])
    assert found.scores.models[0].score < 0.1 and "equal rows in one fold" in found.scores.how
    assert found.uncertainty.kind == "gaussian" and found.rows.residuals.outliers < 5
    told = {one.code: one.text for one in found.checks}
    assert told["M109"].startswith("40 of 80 rows are copies")
    once = collect(model.fit(X[:40], y[:40]), X[:40], y[:40], options=[ReportLimits(time_budget=0.0)])
    assert "M109" not in {one.code for one in once.checks} and "equal" not in once.scores.how
