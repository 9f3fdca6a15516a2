"""Equal objects are one point with more weight, and rows of objects can join and leave a Gaussian process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge
from mercer.gram.duplicates import duplicate_groups
from mercer.kernels import Categorical, Gaussian, Spectrum, Table
from mercer.kernels.objects.collection import Objects


def words(rng, n):
    return ["".join(rng.choice(list("ACGT"), size=8)) for _ in range(n)]


def frame(rng, n):
    return {"dose": rng.uniform(size=n), "site": list(rng.choice(["a", "b"], size=n)), "sequence": words(rng, n)}


MIXED = Gaussian(0.5).on(["dose"]) * Categorical().on("site") + Spectrum(2).normalise().on("sequence")


def cases(rng):
    """(kernel, rows, how to take some of them) for a list and for a table."""
    table, items = frame(rng, 30), words(rng, 30)
    yield Spectrum(2).normalise(), lambda index: [items[i] for i in index]
    yield MIXED, lambda index: {name: [values[i] for i in index] for name, values in table.items()}


@pytest.mark.parametrize("which", [0, 1])
def test_update_and_forget_equal_a_refit(rng, which):
    kernel, rows = list(cases(rng))[which]
    rows = rows if which == 0 else (lambda index, rows=rows: Table(rows(index)))
    y = rng.standard_normal(30)
    model = GaussianProcessRegressor(kernel, 0.1, criterion=None).fit(rows(range(24)), y[:24])
    model.update(rows(range(24, 28)), y[24:28])
    whole = GaussianProcessRegressor(kernel, 0.1, criterion=None).fit(rows(range(28)), y[:28])
    for return_std in (False, True):
        assert_allclose(
            model.predict(rows(range(30)), return_std=return_std),
            whole.predict(rows(range(30)), return_std=return_std),
            rtol=1e-9, atol=1e-12,
        )  # fmt: skip
    model.forget([0, 25])
    rest = [i for i in range(28) if i not in (0, 25)]
    fewer = GaussianProcessRegressor(kernel, 0.1, criterion=None).fit(rows(rest), y[rest])
    assert_allclose(model.predict(rows(range(30))), fewer.predict(rows(range(30))), rtol=1e-9)


@pytest.mark.parametrize("which", [0, 1])
def test_equal_objects_are_merged_and_the_model_is_the_same(rng, which):
    kernel, rows = list(cases(rng))[which]
    index = [*range(20), *range(5), 3]
    y = rng.standard_normal(len(index))
    X = rows(index) if which == 0 else Table(rows(index))
    merged = KernelRidge(kernel, lam=0.1).fit(X, y)
    apart = KernelRidge(kernel, lam=0.1, merge=False).fit(X, y)
    assert len(merged.points_) == 20 and len(apart.points_) == 26
    assert merged.fit_report_["merged_rows"] == 6
    assert_allclose(merged.predict(X), apart.predict(X), rtol=1e-9)
    grown = GaussianProcessRegressor(kernel, 0.1, criterion=None)
    part = (lambda i: rows(i)) if which == 0 else (lambda i: Table(rows(i)))
    grown.fit(part(index[:20]), y[:20]).update(part(index[20:]), y[20:])
    assert len(grown.points_) == 20
    whole = GaussianProcessRegressor(kernel, 0.1, criterion=None, merge=False).fit(part(index), y)
    assert_allclose(grown.predict(X), whole.predict(X), rtol=1e-9)


def test_svr_and_classifier_merge_objects_equal_in_x_and_y(rng):
    items = words(rng, 15)
    index, kernel = [*range(15), 2, 2, 7], Spectrum(2).normalise()
    X, y = [items[i] for i in index], rng.standard_normal(15)[index]
    svr = SVR(kernel, C=2.0, epsilon=0.05, tol=1e-8)
    weight = np.bincount(index, minlength=15).astype(float)
    assert_allclose(
        svr.fit(X, y).predict(items), svr.fit(items, y[:15], sample_weight=weight).predict(items), atol=1e-6
    )
    label = (y > np.median(y[:15])).astype(int)
    model = GaussianProcessClassifier(kernel, criterion=None).fit(X, label)
    assert len(model.points_) == 15
    weighted = GaussianProcessClassifier(kernel, criterion=None).fit(items, label[:15], sample_weight=weight)
    assert_allclose(model.predict_proba(items), weighted.predict_proba(items), rtol=1e-8)


def test_columns_of_an_array_of_categories_are_merged_too(rng):
    X, y = rng.integers(0, 2, size=(30, 2)), rng.standard_normal(30)
    kernel = Categorical([0.5, 2.0])
    merged = KernelRidge(kernel, lam=0.1).fit(X, y)
    assert len(merged.points_) == len(np.unique(X, axis=0))
    assert_allclose(merged.predict(X), KernelRidge(kernel, lam=0.1, merge=False).fit(X, y).predict(X), rtol=1e-9)
    assert SVR(kernel).fit(X, y).predict(X).shape == (30,)


def test_groups_of_objects(rng):
    first, group = duplicate_groups(Objects(["b", "a", "b", "c", "a"]))
    assert first.tolist() == [0, 1, 3] and group.tolist() == [0, 1, 0, 2, 1]
    first, group = duplicate_groups(Objects(["b", "a", "b"]), [1.0, 1.0, 2.0]) or (None, None)
    assert first is None
    assert duplicate_groups(Objects([np.ones(2), np.ones(2)])) is None  # arrays cannot be told apart by hash
