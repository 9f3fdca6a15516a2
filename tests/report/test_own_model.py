"""A model of a user's own that derives from KernelEstimator has the report, a model file, and the judging of tables."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import RegressorMixin

import mercer
from mercer.estimators import KernelEstimator
from mercer.kernels import Gaussian
from mercer.report import collect, render
from mercer.selection import nested_cv
from mercer.tabular import TableModel, score


class Smoother(RegressorMixin, KernelEstimator):
    """Weighted means; nothing of the protocol but what one must write."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        self.kernel_ = Gaussian() if self.kernel is None else self.kernel
        self.points_, self.values_ = np.array(X, dtype=float), np.array(y, dtype=float)
        return self

    def predict(self, X):
        K = self.kernel_(np.asarray(X, dtype=float), self.points_) + 1e-12
        return K @ self.values_ / K.sum(axis=1)


class Shy(mercer.KernelRidge):
    """A subclass gets what its parent gets."""


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(50, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(50)


def test_the_whole_report(data):
    X, y = data
    found = collect(Smoother(Gaussian(0.4)).fit(X, y), X, y)
    assert found.scores.models[0].score > 0.5
    assert found.scores.how.startswith("leave-one-out")
    assert found.effects and found.learning
    assert found.uncertainty.kind == "intervals"
    assert len(render(found)) < 1 << 20


def test_a_subclass_has_the_page_of_its_parent(data):
    X, y = data
    one, other = (collect(cls(Gaussian(0.7), 0.1).fit(X, y), X, y) for cls in (Shy, mercer.KernelRidge))
    assert (
        one.scores == other.scores
        and one.selection.path.curves.values.keys() == other.selection.path.curves.values.keys()
    )
    assert one.uncertainty == other.uncertainty


def test_a_model_file(data, tmp_path):
    X, y = data
    model, names = Smoother(Gaussian(0.4)).fit(X, y), {"Smoother": Smoother}
    model.save(tmp_path / "m", names=names)
    np.testing.assert_array_equal(mercer.load(tmp_path / "m", names=names).predict(X), model.predict(X))


def test_the_judging_of_the_command_line(data):
    X, y = data
    found = nested_cv(Smoother(Gaussian(0.4)), X, y, baselines=True)
    assert found.choice == {"kernel": Gaussian(0.4)} and found.optimism == 0
    assert [one["name"] for one in found.baselines] == ["mean", "linear model", "5 neighbours"]
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    judged = score(TableModel(Smoother(), target="y"), frame)
    assert judged.score > judged.baselines[0]["score"]
