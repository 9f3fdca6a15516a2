"""An approximation of a user's own, in one class: models, reports, files, plans and the command line have it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import GaussianProcessClassifier, GaussianProcessRegressor, KernelMachine, KernelRidge
from mercer.approximate import Approximation, Exact
from mercer.gram.base import draw_rows
from mercer.kernels import Gaussian
from mercer.report import collect, render


class SubsetOfRows(Approximation):
    """The exact fit to m of the points, drawn by the hash of their number."""

    def __init__(self, m):
        self.m = m

    def plan(self, problem, binding=True):
        plan = Exact().plan(self._some(problem), binding)
        return replace(plan, reasons=(f"{plan.n} of {problem.n} points are fitted.", *plan.reasons))

    def search(self, problem):
        return Exact().search(self._some(problem))

    def fit(self, problem, at):
        return Exact().fit(self._some(problem), at)

    def _some(self, problem):
        return problem.take(draw_rows(problem.n, self.m, problem.seed))


MODELS = {
    "ridge": KernelRidge(Gaussian(1.0), criterion="loo"),
    "process": GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1),
    "classes": GaussianProcessClassifier(4.0 * Gaussian(1.0)),
    "machine": KernelMachine(Gaussian(1.0), "huber", criterion=3),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_it(name, rng, tmp_path):
    X = rng.uniform(0, 6, (90, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(90)
    y = np.where(y > 0, "up", "down") if name == "classes" else y
    model = clone(MODELS[name]).set_params(approximation=SubsetOfRows(40)).fit(X, y)
    some = np.flatnonzero(model.row_weight_)
    alone = clone(MODELS[name]).set_params(approximation=None).fit(X[some], y[some])
    assert len(some) == 40
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert model.plan_ == mercer.plan(model, X, y) and "40 of 90 points" in str(model.plan_)
    if name in ("ridge", "process"):
        left = model.loo_residuals_
        np.testing.assert_array_equal(left[some], alone.loo_residuals_)
        assert np.isnan(np.delete(left, some)).all() and model.predict_interval(X[:3]).shape == (3, 2)
    model.save(tmp_path / "a", names={"SubsetOfRows": SubsetOfRows})
    again = mercer.load(tmp_path / "a", names={"SubsetOfRows": SubsetOfRows})
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.approximation.m == 40
    page = render(collect(model, X, y))  # which has the reasons of a plan for models that report them
    assert name in ("classes", "machine") or "40 of 90 points" in page
