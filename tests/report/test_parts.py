"""Learning curve, weights, categories and texts, pairs of columns, time budget: right numbers by another way."""

import copy
import itertools

import numpy as np
import pytest

from mercer import SVR, GaussianProcessRegressor, KernelMachine, KernelRidge, StackedKernels
from mercer._clock import Clock
from mercer.kernels import Categorical, Gaussian, Linear, Periodic, Spectrum, Table
from mercer.report import Findings, PageContext, ReportLimits, collect, render
from mercer.selection.judging import fair_folds, judge_simple_models, least_seconds


def page_of(found):
    return render(found)


@pytest.fixture
def mixed(rng):
    """A table of numbers, categories and texts, its target, and a kernel for it."""
    n = 60
    X = {"age": rng.uniform(20, 60, n), "site": rng.choice(["Bern", "<b>Oslo", "Turin"], n).tolist(),
         "seq": ["".join(rng.choice(list("ACGT"), 8)) for _ in range(n)]}  # fmt: skip
    y = np.sin(X["age"] / 8) + np.array([s == "Bern" for s in X["site"]]) + 0.1 * rng.standard_normal(n)
    kernel = Gaussian(10.0).on("age") * Categorical().on("site") + 0.1 * Spectrum(2).on("seq")
    return X, y, kernel


# ------------------------------------------------------------------------------------------ learning curve
def test_the_learning_curve_is_that_of_refits(rng):
    from sklearn.model_selection import KFold

    X = rng.uniform(-1, 1, size=(80, 1))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    found = collect(KernelRidge(Gaussian(0.3), lam=0.1).fit(X, y), X, y).learning
    assert found.sizes[-1] == 64
    square = 0.0
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        square += np.sum((y[test] - KernelRidge(Gaussian(0.3), lam=0.1).fit(X[train], y[train]).predict(X[test])) ** 2)
    assert found.error[-1] == pytest.approx(np.sqrt(square / 80), rel=1e-5)
    assert found.error[0] > 1.5 * found.error[-1]
    assert found.all_but_one == pytest.approx(found.error[-1], rel=0.2)


def test_the_noise_floor(rng):
    X = np.repeat(np.linspace(0, 1, 60), 2)[:, None]
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(120)
    found = collect(KernelRidge(Gaussian(0.3), lam=0.5).fit(X, y), X, y).learning.floor
    within = (y.reshape(-1, 2) - y.reshape(-1, 2).mean(axis=1, keepdims=True)).ravel()
    assert found.how == "rows with equal inputs"
    assert found.value == pytest.approx(np.sqrt(np.sum(within**2) / 60), rel=1e-6)
    X = X + np.arange(120)[:, None] * 1e-3
    process = GaussianProcessRegressor(Gaussian(0.3), 0.09, criterion=None).fit(X, y)
    assert collect(process, X, y).learning.floor.value == pytest.approx(0.3, rel=1e-9)
    ridge = KernelRidge(Gaussian(0.3), lam=0.5).fit(X, y)
    assert collect(ridge, X, y).learning.floor.value == pytest.approx(0.3, rel=0.25)


def test_few_rows_have_no_learning_curve(rng):
    X, y = rng.uniform(size=(12, 1)), rng.standard_normal(12)
    found = collect(KernelRidge(lam=0.1).fit(X, y), X, y)
    assert "needs 20 rows" in found.learning.missing
    assert "needs 20 rows" in page_of(found)


# ------------------------------------------------------------------------------------------------- weights
def test_whole_weights_are_repeated_rows(rng):
    X = rng.uniform(-1, 1, size=(40, 1))
    y = np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(40)
    w = rng.integers(1, 4, size=40).astype(float)
    model = KernelRidge(Gaussian(0.5), lam=0.3).fit(X, y, w)
    found = collect(model, X, y)
    e = np.array([
        y[i] - KernelRidge(Gaussian(0.5), lam=0.3).fit(np.delete(X, i, 0), np.delete(y, i), np.delete(w, i))
        .predict(X[i : i + 1])[0] for i in range(40)
    ])  # fmt: skip
    assert found.fit.rmse == pytest.approx(np.sqrt(np.average(e**2, weights=w)), rel=1e-5)
    this = found.scores.models[0]
    assert this.mae == pytest.approx(np.average(np.abs(e), weights=w), rel=1e-5)
    total = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    assert this.score == pytest.approx(1 - np.average(e**2, weights=w) / total, rel=1e-5)
    assert "M107" in {one.code for one in found.checks}
    assert found.data.weights.equal == pytest.approx(w.sum() ** 2 / np.sum(w**2))


def test_a_linear_model_with_weights_is_a_refit(rng):
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import StandardScaler

    X, y = rng.uniform(-1, 1, size=(30, 2)), rng.standard_normal(30)
    w = np.append(rng.uniform(0.5, 2, size=29), 0.0)
    found = collect(KernelRidge(Gaussian(1.0), lam=1.0).fit(X, y, w), X, y)
    e = np.empty(30)
    for k, i in KFold(5, shuffle=True, random_state=0).split(X):
        Z = StandardScaler().fit_transform(X)
        e[i] = y[i] - RidgeCV(np.logspace(-3, 3, 13)).fit(Z[k], y[k], sample_weight=w[k]).predict(Z[i])
    linear = next(one for one in found.scores.models if one.name == "linear model")
    assert linear.rmse == pytest.approx(np.sqrt(np.average(np.square(e), weights=w)), rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        SVR(Gaussian(0.5), C=5.0),
        GaussianProcessRegressor(Gaussian(0.5), 0.1, criterion=None),
        KernelMachine(Gaussian(0.5), loss="huber", lam=0.1),
    ],
    ids=["svr", "process", "huber"],
)
def test_weights_are_remembered_or_said(rng, model):
    X = rng.uniform(-1, 1, size=(40, 1))
    y, w = np.sin(3 * X[:, 0]), rng.uniform(0.5, 3.0, size=40)
    model.fit(X, y, w)
    found = collect(model, X, y)
    text = next(one.text for one in found.checks if one.code == "M107")
    assert "weights from" in text
    assert found.data.weights.high == pytest.approx(w.max(), rel=1e-6)
    with pytest.raises(ValueError, match="sample_weight must be 40"):
        collect(model, X, y, context=PageContext(sample_weight=w[:5]))


@pytest.mark.parametrize(
    "model",
    [KernelRidge(Gaussian(0.5), lam=0.1), SVR(Gaussian(0.5)), GaussianProcessRegressor(Gaussian(0.5), criterion=None)],
    ids=["ridge", "svr", "process"],
)
def test_a_fit_tells_the_weight_of_its_rows(rng, model):
    X = rng.uniform(-1, 1, size=(30, 1))
    X[7] = X[3]
    y, w = np.sin(3 * X[:, 0]), rng.uniform(0.5, 3.0, size=30)
    w[5] = 0.0
    y[7], w[7] = y[3], w[3]
    assert model.fit(X, y, w).row_weight_ == pytest.approx(w, rel=1e-12)
    assert np.array_equal(model.fit(X, y).row_weight_, np.ones(30))


# ------------------------------------------------------------------------------------- categories and texts
@pytest.mark.parametrize("form", ["dict", "Table", "array"])
def test_mixed_tables_have_effects_by_level(mixed, form):
    X, y, kernel = mixed
    if form == "array":
        X = np.array([X["age"].tolist(), X["site"], X["seq"]], dtype=object).T
        kernel = Gaussian(10.0).on(0) * Categorical().on(1) + 0.1 * Spectrum(2).on(2)
    given = Table(X) if form == "Table" else X
    names = None if form != "array" else ["age", "site", "seq"]
    model = KernelRidge(kernel, lam=0.1).fit(given, y)
    found = collect(model, given, y, feature_names=names)
    kinds = {one.name: one.kind for one in found.effects.columns}
    assert kinds == {"age": "number", "site": "levels", "seq": "text"}
    curve = next(one for one in found.effects.curves if one.name == "site")
    assert curve.levels == ["<b>Oslo", "Bern", "Turin"]
    rows = np.sort(np.random.default_rng(0).choice(60, 40, replace=False))
    held = np.array(X, dtype=object)[rows] if form == "array" else {k: [v[i] for i in rows] for k, v in X.items()}
    if form == "array":
        held[:, 1] = "Bern"
    else:
        held["site"] = ["Bern"] * 40
    assert curve.mean[1] == pytest.approx(model.predict(held).mean(), rel=1e-5)
    assert found.data.categories[0].distinct == 3
    page = page_of(found)
    assert "Texts have importance, but neither curve nor slider: seq" in page
    assert "&lt;b&gt;Oslo" in page
    assert {"linear model", "5 neighbours"} <= {one.name for one in found.scores.models}


def test_indicators_of_one_category_are_one_column(rng):
    code = rng.integers(0, 3, size=60)
    X = np.column_stack([np.eye(3)[code], rng.uniform(-1, 1, size=60)])
    y = code + np.sin(3 * X[:, 3]) + 0.1 * rng.standard_normal(60)
    kernel = Gaussian([0.5]).on([3]) * Gaussian(2.0).on([0, 1, 2])
    names = ["soil = clay", "soil = loam", "soil = sand", "rain"]
    found = collect(
        KernelRidge(kernel, lam=0.1).fit(X, y),
        X,
        y,
        feature_names=names,
        context=PageContext(units={"rain": (50.0, 10.0)}),
    )
    effects = {one.name: one for one in found.effects.columns}
    assert set(effects) == {"soil", "rain"}
    labels = {one.name for one in found.selection.chosen.parameters}
    assert labels == {"length scale of rain", "length scale of soil"}
    assert found.data.features[0].low == pytest.approx(50 + 10 * X[:, 3].min())


# ------------------------------------------------------------------------------------------ pairs of columns
def test_a_sum_has_no_interaction_and_a_product_has(rng):
    X = rng.uniform(-1, 1, size=(80, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    plain = Gaussian(1.0).on(0) + Gaussian(1.0).on(1) + Gaussian(1.0).on(2)
    listed = collect(KernelRidge(plain, lam=0.01).fit(X, y), X, y).effects.pairs.listed
    assert max(one.H for one in listed) < 1e-6
    found = collect(KernelRidge(Gaussian(1.0), lam=0.001).fit(X, y), X, y)
    best = found.effects.pairs.listed[0]
    assert set(best.names) == {"x1", "x2"}
    assert best.H > 0.8
    field = found.effects.pairs.surface
    assert f"{field.x.name} and {field.y.name} together" in page_of(found)


def test_h_is_that_of_its_definition(rng):
    X = rng.uniform(-1, 1, size=(25, 2))
    y = np.sin(2 * X[:, 0] * X[:, 1]) + X[:, 0]
    model = KernelRidge(Gaussian(0.8), lam=0.01).fit(X, y)
    found = collect(model, X, y).effects.pairs.listed[0]

    def dependence(columns):
        out = []
        for row in X:
            Z = X.copy()
            Z[:, columns] = row[columns]
            out.append(model.predict(Z).mean())
        return np.array(out) - np.mean(out)

    one, other, both = (dependence(c) for c in ([0], [1], [0, 1]))
    expected = np.sqrt(np.sum((both - one - other) ** 2) / np.sum(both**2))
    assert found.H == pytest.approx(expected, rel=1e-6)


# -------------------------------------------------------------------------------------------- time budget
def test_what_costs_is_left_out_when_the_time_is_over(rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    model = KernelRidge(Gaussian(0.7), lam=0.1).fit(X, y)
    found = collect(model, X, y, options=[ReportLimits(time_budget=0.0)])
    missing = [found.learning, found.effects, found.selection.surface]
    assert all("time budget of 0 s" in one.missing for one in missing)
    assert len(found.data.left_out) == 5
    assert "time budget of 0 s" in found.whatif.missing
    assert found.selection.path.picks
    assert "time budget was used up: effects of the columns" in page_of(found)
    assert collect(model, X, y, options=[ReportLimits(time_budget=1e6)]).data.left_out == []
    for bad in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="time_budget"):
            collect(model, X, y, options=[ReportLimits(time_budget=bad)])


def test_findings_are_read_back_as_parts_and_damaged_ones_are_refused(regression):
    values = regression.to_dict()
    assert Findings.from_dict(values) == regression
    assert "Why this λ and kernel" in page_of(Findings.from_dict(values))
    for path in (("learning",), ("data", "rows"), ("selection", "chosen", "kernel")):
        damaged = copy.deepcopy(values)
        part = damaged
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        with pytest.raises(ValueError, match=path[-1]):
            Findings.from_dict(damaged)


def test_pairs_are_those_of_the_strongest_columns(of_process_pairs):
    names = [one.name for one in of_process_pairs.columns]
    pairs = {frozenset(one.names) for one in of_process_pairs.pairs.listed}
    assert pairs == {frozenset(pair) for pair in itertools.combinations(names[:4], 2)}


@pytest.fixture(scope="module")
def of_process_pairs(regression):
    return regression.effects


# ---------------------------------------------------------------------------------------- parts of the kernel
def test_each_additive_part_along_one_column_is_drawn(rng):
    t = np.arange(72.0)
    y = 0.1 * t + np.sin(2 * np.pi * t / 12) + 0.1 * rng.standard_normal(72)
    kernel = 4.0 * Linear() + 1.0 * Periodic(1.0, 12.0)
    model = GaussianProcessRegressor(kernel, 0.01, criterion=None).fit(t[:, None], y)
    found = collect(model, t[:, None], y, feature_names=["month"])
    slope, season = found.selection.parts
    assert slope.words == "a line in month" and season.words == "a season of period 12 in month"
    level = np.array(model.predict(t[:, None])) - slope.mean - season.mean
    assert np.ptp(level) < 1e-4  # the constant is what remains; findings have six digits
    page = page_of(found)
    assert "A season of period 12 in month" in page and 'id="plot-part-1"' in page


def test_a_part_that_reads_several_columns_has_no_curve(rng):
    X = rng.standard_normal((40, 2))
    model = GaussianProcessRegressor(Gaussian(1.0) + Linear().on([1]), 0.1, criterion=None).fit(X, X[:, 1])
    assert [one.name for one in collect(model, X, X[:, 1]).selection.parts] == ["x2"]


def test_how_far_each_part_moves_the_prediction_and_words_for_texts(mixed):
    X, y, kernel = mixed
    kernel = Gaussian(10.0).on("age") + Categorical().on("site") + 0.1 * Spectrum(2).on("seq")
    model = GaussianProcessRegressor(kernel, 0.01, criterion=None).fit(X, y)
    found = collect(model, X, y)
    selection = found.selection
    said = [
        "a very smooth function of age",
        "a value for each site",
        "a line in how often pieces of 2 letters occur in seq",
    ]
    assert selection.chosen.words == ", plus ".join(said)
    moved = {one.words: one.size for one in selection.moves}
    sizes = [np.std(part.mean) for part in model.decompose(X)[:3]]
    assert moved == pytest.approx(dict(zip(said, sizes, strict=True)), rel=1e-4)
    assert list(moved.values()) == sorted(moved.values(), reverse=True)
    age, site = selection.parts  # texts have no curve
    assert age.name == "age" and site.levels == sorted(set(X["site"]))
    row = [X["site"].index(level) for level in site.levels]
    np.testing.assert_allclose(site.mean, model.decompose(X)[1].mean[row], rtol=1e-4)
    order = np.argsort(X["age"])
    np.testing.assert_allclose(age.mean, model.decompose(X)[0].mean[order], rtol=1e-4)
    page = page_of(found)
    assert "How far each part moves the prediction" in page and "Spectrum(2)" not in page.split('id="reproduce"')[0]
    assert 'id="plot-part-1"' in page and "<b>Oslo" not in page


def test_parts_of_a_mixture_are_drawn(rng):
    X = np.column_stack([rng.uniform(-2, 2, 50), rng.uniform(-2, 2, 50), np.eye(3)[np.arange(50) % 3]])
    y = np.sin(X[:, 0]) + X[:, 1] + X[:, 3] + 0.1 * rng.standard_normal(50)
    names = ["a", "b", "site = Bern", "site = Oslo", "site = Rome"]
    site = Gaussian().on([2, 3, 4])
    kernels = [Gaussian().on(0) + Linear().on(1) + site, 2.0 * Linear().on(0) + Gaussian().on([0, 1]) + 0.5 * site]
    model = StackedKernels(kernels, [0.01, 0.02], weights=[3, 2]).fit(X, y)
    found = collect(model, X, y, feature_names=names)
    parts = {one.words: one for one in found.selection.parts}
    assert list(parts) == ["a function of a", "a line in b", "a value for each site"]
    order, expected = np.argsort(X[:, 0]), model.decompose(X)
    np.testing.assert_allclose(parts["a function of a"].mean, expected[0].mean[order], rtol=1e-4)
    np.testing.assert_allclose(parts["a value for each site"].mean, expected[2].mean[:3], rtol=1e-4)
    width = np.subtract(parts["a value for each site"].high, parts["a value for each site"].low)
    np.testing.assert_allclose(width, 4 * expected[2].std[:3], rtol=1e-4)
    assert {one.words for one in found.selection.moves} == {*parts, "a very smooth function of a and b"}
    assert "A value for each site" in page_of(found)


def test_parts_are_left_out_where_time_is_up_and_where_there_is_one(rng):
    X = rng.standard_normal((30, 2))
    model = GaussianProcessRegressor(Gaussian(1.0).on(0) + Linear().on(1), 0.1, criterion=None).fit(X, X[:, 1])
    late = collect(model, X, X[:, 1], options=[ReportLimits(time_budget=0)])
    assert late.selection.moves == [] and "parts of the kernel" in str(late.data)
    one = GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None).fit(X, X[:, 1])
    assert collect(one, X, X[:, 1]).selection.moves == []


def test_importance_of_a_page_that_has_no_time_is_told_from_few_rows_in_few_calls(rng):
    X = rng.standard_normal((400, 60))
    y = 3 * X[:, 7] + X[:, 3] + 0.1 * rng.standard_normal(400)
    model, calls = KernelRidge(Gaussian(20.0), 0.1).fit(X, y), []
    predict = model.predict
    model.predict = lambda *given, **asked: calls.append(len(given[0])) or predict(*given, **asked)
    inputs = collect(model, X, y, options=[ReportLimits(time_budget=0)]).rows.inputs
    assert inputs[0] == "x8"
    assert sum(calls) < 5000 and len(calls) < 30  # 60 columns, each with all the rows that there is time for else


def test_simple_models_that_would_outlast_the_time_are_not_begun(rng):
    X, y = rng.standard_normal((4000, 30)), rng.integers(0, 9, 4000)
    assert least_seconds("boosted trees", 4000, 30, 9) > 1.0 > least_seconds("boosted trees", 4000, 30, 0)
    found = judge_simple_models(X, y, True, fair_folds(y, True), clock=Clock(0.2))
    assert "boosted trees" not in [name for name, _ in found]
    assert found[0][0] == "commonest class"
