"""What is collected: right numbers by another way, every kind of model, bounded size, inputs left alone."""

import json
import warnings

import numpy as np
import pytest

from mercer import SVR, GaussianProcessRegressor, KernelInterpolator, KernelMachine, KernelRidge
from mercer.kernels import Gaussian, Precomputed, Spectrum
from mercer.losses import Quantile
from mercer.report import Findings, PageContext, collect, render
from mercer.report.findings import SCHEMA
from mercer.selection import LOO, Discrepancy, nested_cv


@pytest.fixture
def table(rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def of_process(process):
    """Findings of the Gaussian process, with plain names."""
    return collect(*process)


def refits(make, X, y):
    """Predictions of each row by a model fitted without it."""
    keep = ~np.eye(len(y), dtype=bool)
    return np.array([make().fit(X[k], y[k]).predict(X[i : i + 1])[0] for i, k in enumerate(keep)])


def test_left_out_predictions_are_those_of_refits(table):
    X, y = table
    X, y = X[:25], y[:25]
    found = collect(KernelRidge(Gaussian(0.7), lam=0.1).fit(X, y), X, y)
    expected = refits(lambda: KernelRidge(Gaussian(0.7), lam=0.1), X, y)
    np.testing.assert_allclose(found.fit.predicted, expected, rtol=1e-4, atol=1e-6)
    model = found.scores.models[0]
    assert model.rmse == pytest.approx(np.sqrt(np.mean((y - expected) ** 2)), rel=1e-6)
    assert model.score == pytest.approx(1 - np.sum((y - expected) ** 2) / np.sum((y - y.mean()) ** 2), rel=1e-6)


def test_baselines_are_those_of_refits(table):
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.preprocessing import StandardScaler

    X, y = table
    scores = {one.name: one for one in collect(KernelRidge(lam=0.1).fit(X, y), X, y).scores.models}
    linear, near = RidgeCV(np.logspace(-3, 3, 13)), KNeighborsRegressor(5)
    for name, model in (("mean", DummyRegressor()), ("linear model", linear), ("5 neighbours", near)):
        folds = KFold(5, shuffle=True, random_state=0)
        expected = cross_val_predict(model, StandardScaler().fit_transform(X), y, cv=folds)
        assert scores[name].rmse == pytest.approx(np.sqrt(np.mean((y - expected) ** 2)), rel=1e-9)


def test_coverage_of_a_process_is_counted(process, of_process):
    model, X, y = process
    found = of_process.uncertainty
    z = np.abs(model.loo_residuals_ / model.loo_std_)
    assert found.coverage[found.levels.index(0.9)] == pytest.approx(np.mean(z < 1.6448536), abs=1e-12)
    assert sum(found.histogram) == len(y)


def test_band_of_a_process_is_that_of_its_average(process, of_process):
    model, X, y = process
    curve = next(one for one in of_process.effects.curves if one.name == "x1")
    rows = X[np.sort(np.random.default_rng(0).choice(len(X), 40, replace=False))].copy()
    rows[:, 0] = curve.x[3]
    mean, cov = model.predict(rows, return_cov=True)
    w = np.full(40, 1 / 40)
    assert curve.mean[3] == pytest.approx(w @ mean, rel=1e-4)
    assert curve.high[3] - curve.low[3] == pytest.approx(4 * np.sqrt(w @ cov @ w), rel=1e-3)


def test_irrelevant_columns_come_last(of_process):
    names = [one.name for one in of_process.effects.columns]
    assert names[0] == "x1"
    assert names[-1] == "x3"


def test_surface_agrees_with_the_evidence(process, of_process):
    model, X, y = process
    surface = of_process.selection.surface
    factor, lam = surface.x.values[4], surface.y.values[12]
    other = surface.x.values[8], surface.y.values[9]

    def evidence(factor, lam):
        names = model.kernel_.names
        move = np.array([np.log(factor) if "length_scale" in name else 0.0 for name in names])
        return model.log_marginal_likelihood(np.append(model.kernel_.theta + move, np.log(lam)))

    lost = np.array(surface.loss)
    assert lost.min() == 0
    expected = evidence(*other) - evidence(factor, lam)
    assert lost[12, 4] - lost[9, 8] == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (SVR(Gaussian(0.7), C=10.0), "intervals"),
        (KernelMachine(Gaussian(0.7), loss="huber", lam=0.01), "intervals"),
        (KernelMachine(Gaussian(0.7), loss="absolute", lam=[0.01, 0.1, 1.0], criterion="loo"), "intervals"),
        (KernelMachine(Gaussian(0.7), loss=Quantile([0.1, 0.5, 0.9]), lam=0.01), "quantiles"),
        (KernelInterpolator(Gaussian(0.3)), "intervals"),
        (GaussianProcessRegressor(Gaussian(0.7), 0.01, criterion=None, trend="linear"), "gaussian"),
        (KernelRidge(Gaussian(0.7), lam=np.linspace(0.01, 0.1, 60)), "intervals"),
    ],
    ids=["svr", "huber", "absolute", "quantiles", "interpolator", "trend", "noise"],
)
def test_every_model_for_numbers(table, model, kind):
    X, y = table
    found = collect(model.fit(X, y), X, y)
    assert found.uncertainty.kind == kind
    assert bool(found.uncertainty) == (kind is not None)
    assert Findings.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert len(render(found)) < 1 << 20


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_every_model_for_labels(table, loss):
    X, y = table
    label = np.where(y > 0, "up", "down")
    found = collect(KernelMachine(Gaussian(0.7), loss=loss, lam=0.1).fit(X, label), X, label)
    assert np.sum(found.fit.confusion) == 60
    table = np.array(found.fit.confusion)
    missed = [i for i in range(len(table)) if table[i].any() and not table[:, i].any()]
    assert [one.rows for one in found.fit.never] == table[missed].sum(axis=1).tolist()
    assert 0.5 < found.fit.roc.area <= 1
    assert bool(found.uncertainty) == (loss != "hinge")
    assert render(found)


def test_three_classes(table):
    X, y = table
    label = np.digitize(y, [-0.5, 0.5])
    found = collect(KernelMachine(Gaussian(0.7), loss="logistic", lam=0.1).fit(X, label), X, label)
    assert found.fit.roc is None
    assert len(found.fit.classes) == 3
    page = render(found)
    assert "Confusion of the rows left out" in page.split('id="checks"')[0]  # on the first screen
    effect = found.effects.curves[0]
    assert found.effects.classes == ["0", "1", "2"]
    np.testing.assert_allclose(np.sum(effect.each, axis=0), 1.0, atol=1e-5)  # a curve for each class
    w = found.whatif
    assert w.classes == ["0", "1", "2"] and np.sum(w.typical) == pytest.approx(1.0)
    assert w.error.usual < 0.05 and np.shape(w.model.parts[0]["coef"])[1] == 3


def test_objects_have_no_partial_dependence(rng):
    words = ["".join(rng.choice(list("ACGT"), size=10)) for _ in range(40)]
    y = np.array([word.count("A") for word in words], dtype=float)
    found = collect(KernelRidge(Spectrum(2), lam=0.1).fit(words, y), words, y)
    assert "no partial dependence" in found.effects.missing
    assert [one.name for one in found.scores.models] == ["this model", "mean"]
    assert found.selection.path.picks
    assert "no partial dependence" in render(found)


def test_a_matrix_of_kernel_values(table):
    X, y = table
    K = Gaussian(0.7)(X)
    found = collect(KernelRidge(Precomputed(), lam=0.1).fit(K, y), K, y)
    assert found.scores.models[0].score > 0.8
    assert render(found)


def test_several_targets_have_a_table_and_the_worst_is_shown(table, rng):
    X, y = table
    Y = np.column_stack([y, y + rng.standard_normal(60), -y])
    found = collect(KernelRidge(Gaussian(0.7), lam=0.1).fit(X, Y), X, Y, target=["a", "<b>", "c"])
    alone = collect(KernelRidge(Gaussian(0.7), lam=0.1).fit(X, y), X, y).scores.models[0]
    listed = {one.name: one for one in found.targets.listed}
    assert list(listed) == ["a", "<b>", "c"]
    assert listed["a"].score == pytest.approx(alone.score, rel=1e-9)
    assert listed["c"].rmse == pytest.approx(alone.rmse, rel=1e-9)
    assert found.title == found.targets.shown == "<b>"
    assert found.fit.measured == pytest.approx(Y[:, 1], rel=1e-5)
    page = render(found)
    assert "The model has 3 targets" in page


@pytest.mark.parametrize(
    "model",
    [
        SVR(Gaussian(0.7), C=5.0),
        KernelMachine(Gaussian(0.7), loss="huber", lam=0.1),
        GaussianProcessRegressor(Gaussian(0.7), 0.01, criterion=None),
    ],
    ids=["svr", "huber", "process"],
)
def test_targets_of_other_models(table, model):
    X, y = table
    found = collect(model.fit(X, np.column_stack([y, -y])), X, np.column_stack([y, -y]))
    first, second = found.targets.listed
    assert second.score == pytest.approx(first.score, abs=0.01)
    assert render(found)


def test_nested_scores_are_taken_over(table):
    X, y = table
    model = KernelRidge(Gaussian(0.7), criterion=LOO(), optimize="lam")
    nested = nested_cv(model, X, y)
    found = collect(model.fit(X, y), X, y, scores=nested)
    assert found.scores.nested
    assert found.scores.models[0].score == pytest.approx(nested.score)
    assert found.scores.optimism.value == pytest.approx(nested.optimism)
    assert found.fit.predicted == pytest.approx(nested.predictions, rel=1e-5)
    assert "nested cross-validation, 5 folds" in render(found)


def test_scores_with_baselines_and_rows_without_a_prediction(table):
    X, y = table
    given = {"scoring": "r2", "mean": 0.5, "standard_error": 0.1, "scores": [0.4, 0.6],
             "predictions": [None, *y[1:].tolist()], "optimism": None,
             "baselines": [{"name": "mean", "score": -0.01, "error": 0.0, "rmse": 1.0, "mae": 0.8}]}  # fmt: skip
    found = collect(KernelRidge(lam=0.1).fit(X, y), X, y, scores=given)
    assert [one.name for one in found.scores.models] == ["this model", "mean"]
    assert found.fit.rows == 59
    with pytest.raises(ValueError, match="3 rows"):
        collect(KernelRidge(lam=0.1).fit(X, y), X, y, scores={**given, "predictions": [0.0] * 3})


def test_many_rows_are_sampled_and_said(rng):
    X = rng.uniform(-1, 1, size=(1050, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(1050)
    found = collect(KernelMachine(Gaussian(0.5), loss="huber", lam=10.0).fit(X, y), X, y)
    assert found.fit.shown == 1000
    page = render(found)
    assert "1000 of 1050 rows are drawn" in page
    assert len(page.encode()) < 1 << 20
    assert len(json.dumps(found.to_dict())) < 300_000


def test_inputs_are_left_alone(table, readonly):
    X, y = readonly(*table)
    model = KernelRidge(Gaussian(0.7), lam=0.1).fit(X, y)
    before = dict(model.__dict__)
    collect(model, X, y)
    assert all(model.__dict__[name] is value for name, value in before.items())


def test_same_rows_same_findings(table):
    X, y = table
    model = KernelRidge(Gaussian(0.7), lam=0.1).fit(X, y)
    found, other = collect(model, X, y), collect(model, X, y, target="z")
    assert found.reproduce.data != other.reproduce.data
    one, two = found.to_dict(), other.to_dict()
    differs = {name for name in one if one[name] != two[name]}
    assert differs <= {"title", "reproduce", "effects", "whatif", "verdict"}  # where the name of the target stands


def test_wrong_input_is_named(table):
    X, y = table
    model = KernelRidge(lam=0.1).fit(X, y)
    with pytest.raises(ValueError, match="fitted on 60 rows"):
        collect(model, X[:50], y[:50])
    with pytest.raises(ValueError, match="feature_names has 1"):
        collect(model, X, y, feature_names=["a"])
    with pytest.raises(ValueError, match="row_labels has 2"):
        collect(model, X, y, context=PageContext(row_labels=["a", "b"]))
    with pytest.raises(ValueError, match="X has 60 rows and y has 59"):
        collect(model, X, y[:59])


def test_findings_from_elsewhere_are_refused():
    with pytest.raises(ValueError, match="schema"):
        Findings.from_dict({"title": "y"})
    with pytest.raises(ValueError, match="schema 99"):
        Findings.from_dict({"schema": 99})
    with pytest.raises(ValueError, match="more than the"):
        Findings.from_dict({"schema": SCHEMA, "notes": ["x" * 4000] * 600})


@pytest.mark.parametrize(
    "case", ["lam is 0", "lam is inf", "constant", "large", "small", "near constant kernel", "four rows"]
)
def test_limits_are_reported_not_raised(table, case):
    X, y = table
    kernel, lam, options = Gaussian(0.7), 0.1, {}
    if case == "lam is 0":
        lam = 0.0
    elif case == "lam is inf":
        options = {"criterion": Discrepancy(noise=100.0)}
    elif case == "constant":
        y = np.ones(60)
    elif case in ("large", "small"):
        y = y * (1e200 if case == "large" else 1e-200)
    elif case == "near constant kernel":
        kernel = Gaussian(1e5)
    else:
        X, y = X[:4], y[:4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect(KernelRidge(kernel, lam, **options).fit(X, y), X, y)
    assert Findings.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert len(render(found)) > 10_000
    if case in ("large", "small"):
        assert found.scores.models[0].score > 0.5


def test_two_rows_are_too_few():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="at least 3 rows"):
        collect(KernelRidge(lam=0.1).fit(X, y), X, y)
