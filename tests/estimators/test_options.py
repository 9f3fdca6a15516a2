"""options= of every estimator: taken by clone, repr, pipelines, model files and plans, handed down, refused by name."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    SVR,
    BasisRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
    StackedKernels,
    TransformedTarget,
)
from mercer._policies import Options, OptionSet
from mercer.approximate import exact
from mercer.estimators import _parameters, stacked
from mercer.kernels import Gaussian, PolynomialBasis
from mercer.options import KernelSearchOptions, PreliminaryOptions, SearchOptions, StackingOptions

MODELS = [
    KernelRidge(Gaussian(1.0), 0.1), KernelInterpolator(Gaussian(0.3)), GaussianProcessRegressor(Gaussian(1.0), 0.1),
    GaussianProcessClassifier(Gaussian(1.0), criterion=None), SVR(Gaussian(1.0), C=1.0),
    KernelMachine(Gaussian(1.0), "huber", 0.1), BasisRegression(PolynomialBasis(2)),
    StackedKernels([Gaussian(1.0)], [0.1]),
]  # fmt: skip
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
GIVEN = [PreliminaryOptions(most_rows=300), StackingOptions()]


@dataclass(frozen=True)
class Own(Options):
    """Options of a caller's own part."""

    depth: int = 3


def data(model, n=30):
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return X, (X[:, 0] > 0).astype(int) if isinstance(model, GaussianProcessClassifier) else X[:, 0] + X[:, 1] ** 2


@every
def test_a_copy_a_call_and_a_file_have_them(model, tmp_path):
    model = clone(model).set_params(options=GIVEN)
    assert clone(model).options == GIVEN and clone(model).get_params()["options"] == GIVEN
    assert "options=[PreliminaryOptions(most_rows=300), StackingOptions()]" in repr(model)
    model.fit(*data(model)).save(tmp_path / "a")
    again = mercer.load(tmp_path / "a")
    assert again.options == GIVEN and OptionSet(again.options)[PreliminaryOptions].most_rows == 300
    X = data(model)[0]
    assert np.array_equal(again.predict(X), model.predict(X)) and repr(again) == repr(model)
    assert model.frozen().options == GIVEN


@every
def test_a_pipeline_and_a_plan_take_them(model):
    model, (X, y) = clone(model).set_params(options=GIVEN), data(model)
    pipeline = make_pipeline(clone(model)).fit(X, y)
    assert pipeline[-1].options == GIVEN
    assert mercer.plan(model, X, y) == pipeline[-1].plan_


@every
@pytest.mark.parametrize("wrong", [["steps"], [Own(), Own()], [Own], 3], ids=repr)
def test_what_are_no_options_is_refused(model, wrong):
    with pytest.raises(ValueError, match="options"):
        clone(model).set_params(options=wrong).fit(*data(model))


@pytest.mark.parametrize("model", [KernelRidge(), GaussianProcessRegressor(), GaussianProcessClassifier()], ids=repr)
def test_an_approximation_has_them_in_its_plan_its_search_and_its_fit(model, monkeypatch):
    seen = []
    for name in ("plan", "search", "fit"):
        plain = getattr(exact.Exact, name)

        def spy(self, problem, *rest, plain=plain, **options):
            seen.append(problem.options[Own].depth)
            return plain(self, problem, *rest, **options)

        monkeypatch.setattr(exact.Exact, name, spy)
    model = clone(model).set_params(options=[Own(depth=7)])
    mercer.plan(model, *data(model))
    model.fit(*data(model))
    assert len(seen) >= 4 and set(seen) == {7}


def test_a_first_model_and_a_model_inside_have_them(monkeypatch):
    model, seen = SVR(options=[Own(depth=7)]), []
    plain = KernelRidge._fit

    def spy(self, *arguments):
        seen.append(OptionSet(self.options)[Own].depth)
        return plain(self, *arguments)

    monkeypatch.setattr(KernelRidge, "_fit", spy)
    model.fit(*data(model))
    TransformedTarget(KernelRidge(options=[Own(depth=8)]), "none").fit(*data(model))
    assert seen == [7, 8] and TransformedTarget(KernelRidge(options=GIVEN)).options == GIVEN


def test_a_kernel_is_proposed_by_so_many_rows():
    X, y = data(None, 120)
    model = KernelMachine("auto", "huber", options=[PreliminaryOptions(most_rows=40)])
    found = model._propose(X, y, None, kernel=Gaussian(1.0), lam=0.1)
    assert len(found.points_) == 40 and found.options == model.options


@pytest.mark.parametrize(
    ("model", "place", "name", "given"),
    [
        (StackedKernels(time_budget=1.0), stacked, "search_kernels_rows", KernelSearchOptions()),
        (BasisRegression(criterion="loo"), _parameters, "search_rows", SearchOptions(starts=1)),
        (KernelInterpolator(criterion="loo"), _parameters, "search_rows", SearchOptions(starts=1)),
    ],
    ids=["kernels", "basis", "interpolation"],
)
@pytest.mark.filterwarnings("ignore")  # of a search that was cut short, of few digits
def test_a_search_has_its_options(model, place, name, given, monkeypatch):
    seen, plain = [], getattr(place, name)

    def spy(*arguments, options, **others):
        seen.append(options)
        return plain(*arguments, options=options, **others)

    monkeypatch.setattr(place, name, spy)
    clone(model).set_params(options=[given]).fit(*data(model))
    assert seen == [given]


def test_options_say_what_differs_and_take_numbers_for_numbers():
    assert repr(Own()) == "Own()" and repr(Own(depth=5)) == "Own(depth=5)" and Own(5).changed() == {"depth": 5}
    assert Own.from_state({"depth": 4, "width": 1}) == Own(4)
    with pytest.raises(ValueError, match="depth"):
        Own(depth="deep")
