"""Rows left out in blocks: written out, where a model is far worse than a line, where nothing can be said."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from mercer import GaussianProcessClassifier, KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.report import ReportLimits, collect, render


def line(rng, n=60):
    X = rng.uniform(-2, 2, (n, 2))
    return X, 3 * X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(n)


def blocks_of(model, X, y):
    found = collect(model.fit(X, y), X, y)
    return found.blocks, {one.code: one for one in found.checks}, found


def test_the_ends_of_a_column_written_out(rng):
    X, y = line(rng)
    found, _, _ = blocks_of(KernelRidge(Gaussian(0.5), 0.1), X, y)
    ends, low, high = found.listed[0], *np.quantile(X[:, 0], [0.2, 0.8])
    assert ends.name == "the ends of x1"
    model, simple = [], []
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for out in (X[:, 0] <= low, X[:, 0] >= high):
        model.append(y[out] - KernelRidge(Gaussian(0.5), 0.1).fit(X[~out], y[~out]).predict(X[out]))
        simple.append(y[out] - RidgeCV(np.logspace(-3, 3, 13)).fit(Z[~out], y[~out]).predict(Z[out]))
    assert ends.rmse["model"] == pytest.approx(np.sqrt(np.mean(np.concatenate(model) ** 2)), rel=1e-6)
    assert ends.rmse["a linear model"] == pytest.approx(np.sqrt(np.mean(np.concatenate(simple) ** 2)), rel=1e-6)
    assert ends.rows == 24


def test_a_kernel_that_falls_back_to_the_mean_beyond_the_rows_of_a_line(rng):
    X, y = line(rng)
    found, checks, page = blocks_of(KernelRidge(Gaussian(0.5), 0.1), X, y)
    worst = max(found.listed, key=lambda one: one.rmse["model"] / one.rmse["a linear model"])
    assert checks["M209"].severity == "warning" and worst.name in checks["M209"].text
    assert "left out in blocks" in render(page)
    _, checks, _ = blocks_of(KernelRidge(1e4 * Linear(), 0.1), X, y)
    assert "M209" not in checks


def test_a_curve_that_a_line_does_not_follow(rng):
    X = rng.uniform(-2, 2, (80, 1))
    _, checks, _ = blocks_of(KernelRidge(Gaussian(1.0), 0.01), X, np.cos(3 * X[:, 0]) + 0.1 * rng.standard_normal(80))
    assert "M209" not in checks


def test_where_no_blocks_are_left_out(rng):
    X, y = line(rng, 30)
    assert "40 rows" in blocks_of(KernelRidge(lam=0.1), X, y)[0].missing
    X, y = line(rng, 50)
    labels = GaussianProcessClassifier(Gaussian(1.0), criterion=None)
    assert not blocks_of(labels, X, np.where(y > 0, "a", "b"))[0]
    found = collect(KernelRidge(lam=0.1).fit(X, y), X, y, options=[ReportLimits(time_budget=0.0)])
    assert "time budget" in found.blocks.missing
    constant = np.column_stack([X[:, 0], np.repeat([0.0, 1.0], 25)])
    assert blocks_of(KernelRidge(lam=0.1), constant, y)[0].listed
