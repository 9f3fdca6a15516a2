"""Every number on the page, read back from its HTML, is a finding; and the findings are those of the model."""

import re

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit

from mercer import (
    SVR,
    Fourier,
    GaussianProcessRegressor,
    KernelMachine,
    KernelRidge,
    Landmarks,
    Neighbours,
    StackedKernels,
    TransformedTarget,
)
from mercer.kernels import Anova, Gaussian, Linear
from mercer.report import PageContext, ReportLimits, collect, render
from mercer.report._html import number, percent
from mercer.selection import LOO, nested_cv
from mercer.selection.judging import quietly
from page_elements import Tree

SILENT = {"style", "script", "code", "pre", "title"}
FIXED = {0, 1, 2, 3, 4, 5, 10, 20, 80, 90, 95, 100, 500, 3000, 1000}  # of explanations, such as "95 of 100"
NUMBER = re.compile(r"[−-]?\d[\d\u202f]*(?:\.\d+)?(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
NAMES = re.compile(  # codes, names of columns, versions, powers that are ticks, and bytes
    r"M\d{3}|[a-z_=]+\d+|SHA-256|\d+\.\d+\.\d+\S*|R²|(?<!× )10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|[\d.]+ [KMG]iB"
)
PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def numbers_on(page):
    """[(text, value)] of all numbers that a reader sees."""
    out = []
    for one in Tree(page).elements:
        if (
            one["tag"] in SILENT
            or SILENT & set(one["above"])
            or one["tag"] not in ("p", "td", "dd", "figcaption", "li")
        ):
            continue
        for text in NUMBER.findall(NAMES.sub("", one["text"])):
            mantissa, _, exponent = text.replace("\u202f", "").partition(" × 10")
            value = float(mantissa.translate(PLAIN)) * 10.0 ** int(exponent.translate(PLAIN) or 0)
            out.append((text, value))
    return out


def leaves(value):
    """All numbers of the findings."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        for text in NUMBER.findall(value):
            mantissa, _, exponent = text.replace("\u202f", "").partition(" × 10")
            yield float(mantissa.translate(PLAIN)) * 10.0 ** int(exponent.translate(PLAIN) or 0)


def explained(text, value, known):
    """Whether a number is one of the findings, to the digits that are written; a share may be in per cent."""
    digits = len(re.sub(r"\D", "", text.split(" ×")[0]).lstrip("0")) or 1
    reach = max(0.51 * 10.0 ** (np.floor(np.log10(abs(value))) - digits + 1), 1e-12) if value else 1e-9
    decimals = len(text.partition(".")[2].split(" ")[0])
    reach = max(
        reach,
        0.51 * 10.0**-decimals
        if "×" not in text and decimals
        else 0.51
        if "." not in text and abs(value) >= 100
        else 0.0,
    )
    return bool(np.any(np.abs(known - value) <= reach))


def derived(found):
    """What the page computes of the findings: shares in per cent, half widths, differences behind the first."""
    values = np.array(list(leaves(found.to_dict())))
    scores = found.scores.models
    more = [1.0 - one.score for one in scores if one.score is not None]
    first = next((one.value for one in found.selection.candidates), 0.0)
    more += [one.value - first for one in found.selection.candidates]
    fit = found.fit
    if found.regression:
        r = np.array(fit.measured) - np.array(fit.predicted)
        more += [np.median(np.abs(r)), np.abs(fit.quantiles.residual).max(), *r]
    learning = found.learning
    if learning:
        more += [learning.error[-1] / learning.floor.value] if learning.floor else []
        more += [1 - b / a for a in learning.error for b in learning.error]
        e, n = np.log(learning.sizes), np.log(learning.sizes[-1] / 2)
        more.append(1 - learning.error[-1] / np.interp(n, e, learning.error))
        more += [a + k * b for a, b in zip(learning.error, learning.spread, strict=True) for k in (-2, 2)]
    if found.effects and found.effects.pairs:
        surface = found.effects.pairs.surface
        more += np.linspace(surface.low, surface.high, 7).tolist()
    path = found.selection.path
    if path:
        more.append(sum(v > path.lam for v in path.picard.eigenvalue))
    u = found.uncertainty
    if u and u.kind != "probabilities":
        more += [u.width / 2] if u.width else []
        sd = [np.sqrt(a * (1 - a) / u.rows) for a in u.levels]
        more += [a + k * b for a, b in zip(u.levels, sd, strict=True) for k in (-2, 2)]
    if u.kind == "probabilities":
        more += [a + k * b for a, b in zip(u.stated, u.deviation, strict=True) for k in (-2, 2)]
    if u.kind == "gaussian":
        more += [sum(u.histogram) / len(u.histogram), *np.linspace(0, 1, 11)]
    values = np.concatenate([values, more, sorted(FIXED)])
    return np.concatenate([values, 100 * values])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(70, 3))
    return X, 1000 * (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]) + 100 * rng.standard_normal(70)


PAGES = ["ridge", "nested", "process", "mixture", "labels", "classes", "mapped", "mapped ridge", "landmarks",
         "neighbours", pytest.param("fourier", marks=pytest.mark.slow)]  # fmt: skip
APPROXIMATED = {"landmarks": Landmarks(30), "neighbours": Neighbours(20), "fourier": Fourier()}


@pytest.fixture(scope="module", params=PAGES)
def seen(request, table):
    """(findings, model, X, y) of all kinds of page."""
    X, y = table
    if request.param in APPROXIMATED:
        kernel = 1e6 * Gaussian([0.5, 0.8, 0.9])
        model = GaussianProcessRegressor(kernel, 1e4, criterion=None, approximation=APPROXIMATED[request.param])
        return collect(quietly(model.fit, X, y), X, y), model, X, y
    if request.param.startswith("mapped"):
        y = np.exp(y / 500)
        inner = GaussianProcessRegressor(Gaussian([0.5, 0.8, 0.9]), 0.05, criterion=None)
        inner = KernelRidge(Gaussian([0.5, 0.8, 0.9]), 0.05) if "ridge" in request.param else inner
        model = TransformedTarget(inner, "log").fit(X, y)
        return collect(model, X, y), model, X, y
    if request.param == "classes":
        label = np.array(["low", "mid", "top"])[np.digitize(y, [-300, 300])]
        model = KernelMachine(Gaussian(0.8), loss="logistic", lam=0.1).fit(X, label)
        return collect(model, X, label), model, X, label
    if request.param == "labels":
        label = np.where(y > 0, "up", "down")
        model = KernelMachine(Gaussian(0.8), loss="logistic", lam=0.1).fit(X, label)
        return collect(model, X, label), model, X, label
    if request.param == "mixture":
        kernels = [1e6 * Gaussian([0.5, 0.8, 0.9]), 1e6 * Anova([0.5, 0.8, 0.9], 0.5)]
        model = StackedKernels(kernels, lam=[1e4, 2e4]).fit(X, y)
        return collect(model, X, y), model, X, y
    if request.param == "process":
        model = GaussianProcessRegressor(1e6 * Gaussian([0.5, 0.8, 0.9]), 1e4, criterion=None).fit(X, y)
        return collect(model, X, y), model, X, y
    model = KernelRidge(Gaussian([0.6, 0.8, 0.9]) + Linear(), criterion=LOO(), optimize="lam")
    scores = nested_cv(model, X, y, baselines=True) if request.param == "nested" else None
    return collect(model.fit(X, y), X, y, scores=scores), model, X, y


def test_every_number_on_the_page_is_a_finding(seen):
    found = seen[0]
    known = derived(found)
    shown = numbers_on(render(found))
    assert len(shown) > 150
    assert sorted({text for text, value in shown if not explained(text, value, known)}) == []


def test_the_findings_are_those_of_the_model(seen):
    """R², RMSE, residuals, coverage, importance and sliders, each by another way."""
    found, model, X, y = seen
    if found.task == "classification":
        confusion = np.array(found.fit.confusion)
        assert found.scores.models[0].score == pytest.approx(np.trace(confusion) / len(y))
        return
    predicted = np.array(found.fit.predicted)
    e = y - predicted
    this = found.scores.models[0]
    assert this.rmse == pytest.approx(np.sqrt(np.mean(e**2)), rel=1e-4)
    for one in found.rows.residuals.rows:
        i = int(one.row)
        assert one.measured == pytest.approx(y[i]) and one.residual == pytest.approx(y[i] - one.predicted)
        assert one.predicted == pytest.approx(predicted[i], rel=1e-4)  # the residual of the chart, and no other
    if found.uncertainty.kind == "intervals" and model.interval_method == "conformal":
        q = np.sort(np.abs(e))[int(np.ceil(0.9 * (len(e) + 1))) - 1]
        assert found.uncertainty.width == pytest.approx(2 * q, rel=1e-4)
        assert found.whatif.width.value == pytest.approx(q, rel=1e-4)  # one interval on the page
    if model.interval_method in ("mixture", "mapped"):  # the intervals of predict_interval, and no others
        left = model.left_out()
        assert found.uncertainty.width == pytest.approx(np.median(np.diff(left.ends, axis=1)))
        assert found.uncertainty.coverage[4] == pytest.approx(
            np.mean((left.ends[:, 0] <= y) & (y <= left.ends[:, 1])), abs=0 if model.probabilistic else 1.5 / len(y)
        )
    rise = {one.name: one.rise for one in found.effects.columns}
    rng, moved = np.random.default_rng(0), []
    for _ in range(5):
        order = rng.permutation(len(X))
        Z = X.copy()
        Z[:, 0] = X[order, 0]
        moved.append(np.sqrt(np.mean((model.predict(Z) - model.predict(X)) ** 2)))
    assert rise["x1"] == pytest.approx(np.mean(moved) / model.predict(X).std(), rel=1e-6)
    w = found.whatif
    assert w.typical == pytest.approx(model.predict(np.median(X, axis=0)[None])[0])
    assert w.error.share < (1e-4 if w.own else 0.3)
    assert w.own or model.interval_method == "mapped" or model.fit_report_.get("approximation")


@pytest.mark.parametrize("inner", [GaussianProcessRegressor(Gaussian(0.5), 0.2, criterion=None),
                                   KernelRidge(Gaussian(0.5), 0.2)])  # fmt: skip
def test_the_band_of_a_logarithm_is_that_of_predict_interval_and_above_0(inner):
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(-2, 2, 60))[:, None]
    y = np.exp(2 * X[:, 0] + 0.5 * rng.standard_normal(60))
    model = TransformedTarget(inner, "log").fit(X, y)
    found = collect(model, X, y)
    one = found.effects.one_input
    ends = model.predict_interval(np.array(one.x)[:, None])
    np.testing.assert_allclose(np.transpose([one.low, one.high]), ends, rtol=1e-4)
    assert min(one.low) > 0 and found.whatif.width.bounds[0] > 0
    assert min(found.effects.curves[0].low) > 0
    unseen = collect(
        model, X[::2], y[::2], context=PageContext(fitted_rows=60, seen=False), options=[ReportLimits(time_budget=0.0)]
    ).uncertainty
    inside = model.predict_interval(X[::2], 0.5)
    assert unseen.coverage[0] == pytest.approx(np.mean((inside[:, 0] <= y[::2]) & (y[::2] <= inside[:, 1])))
    some = collect(
        model, X[::2], y[::2], context=PageContext(fitted_rows=60), options=[ReportLimits(time_budget=0.0)]
    ).uncertainty
    assert "held out of a fit" in some.how and some.rows == 6


@pytest.mark.parametrize(
    "heading", ["Landmarks", "Neighbours", pytest.param("Fourier features", marks=pytest.mark.slow)]
)
def test_what_an_approximated_process_has_no_surface_for(heading):
    """The words are those of the fit: no labels on a page of numbers, and a heading that is there."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    how = {"Landmarks": Landmarks(20), "Neighbours": Neighbours(10), "Fourier features": Fourier()}[heading]
    model = GaussianProcessRegressor(1.0 * Gaussian(0.5), 0.01, criterion=None, approximation=how)
    found = collect(quietly(model.fit, X, y), X, y)
    assert f"see {heading} below" in found.selection.surface.missing
    page = Tree(render(found))
    assert heading in [one["text"] for one in page.all("h3")]
    assert "two classes" not in page.all("body")[0]["text"]


def test_the_page_says_what_it_holds_and_what_it_is_of():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(40, 1))
    y = np.exp(np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(40))

    def text(model, **options):
        return Tree(render(collect(model.fit(X, y), X, y, **options))).all("body")[0]["text"]

    page = text(TransformedTarget(GaussianProcessRegressor(Gaussian(0.5), 0.1, criterion=None), "log"))
    assert "Gaussian process regression of the transformed target (log) on 40 rows" in page
    assert "of up to 1000 rows, and their inputs, which the curve is drawn through" in page
    mixture = StackedKernels([1.0 * Gaussian(0.5)], lam=[0.1])
    assert "Mixture of Gaussian processes on" in text(mixture, options=[ReportLimits(time_budget=0.0)])
    page = text(SVR(Gaussian(0.5)), options=[ReportLimits(time_budget=0.0)])
    assert "set for the noise that was found, σ = " in page and "given, not chosen" not in page
    assert "given, not chosen" in text(SVR(Gaussian(0.5), C=1.0, epsilon=0.1), options=[ReportLimits(time_budget=0.0)])


# ----------------------------------------------------------------------------------------- a part of the rows
@pytest.fixture(scope="module")
def sampled():
    """(findings, rows of the fit): a page about some of the rows of a fit whose λ was chosen on fewer still."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(120)
    first = KernelRidge(Gaussian(0.5), criterion=LOO(), optimize="lam").fit(X[:60], y[:60])
    model, some = first.frozen().fit(X, y), np.sort(rng.choice(120, 50, replace=False))
    return collect(model, X[some], y[some], context=PageContext(fitted_rows=120, selection=first.selection_))


def test_a_page_about_some_of_the_rows_says_what_is_so(sampled):
    page = Tree(render(sampled)).all("body")[0]["text"]
    assert "on 120 rows" in page and "50 rows are looked at here, the model was fitted on 120" in page
    assert "chosen by LOO()" in page and "given, not chosen" not in page
    codes = {one.code for one in sampled.checks}
    assert not codes & {"M107", "M406", "M207"}  # no weights were given; λ was chosen; the curve ends below 120
    assert "50 of the 120 rows of the fit alone" in sampled.scores.how
    assert sampled.uncertainty.kind == "intervals"


def test_rows_that_the_fit_has_not_seen_judge_it_as_it_is():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(160, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(160)
    model = GaussianProcessRegressor(1.0 * Gaussian(0.5), 0.01, criterion=None).fit(X[:100], y[:100])
    found = collect(
        model,
        X[100:],
        y[100:],
        context=PageContext(fitted_rows=100, seen=False),
        options=[ReportLimits(time_budget=0.0)],
    )
    expected, std = model.predict(X[100:], return_std=True, noisy=True)
    np.testing.assert_allclose(found.fit.predicted, expected, rtol=1e-4, atol=1e-6)
    inside = np.abs(y[100:] - expected) <= 1.6448536 * std
    assert found.uncertainty.coverage[4] == pytest.approx(inside.mean())
    assert "60 rows that the fit has not seen" in render(found)
    label = np.where(y > 0, "up", "down")
    machine = KernelMachine(Gaussian(0.5), loss="logistic", lam=0.1).fit(X[:100], label[:100])
    found = collect(
        machine,
        X[100:],
        label[100:],
        context=PageContext(fitted_rows=100, seen=False),
        options=[ReportLimits(time_budget=0.0)],
    )
    assert found.scores.models[0].score == pytest.approx(machine.score(X[100:], label[100:]))


def test_a_series_is_judged_by_forecasts_alone():
    """Error, interval and rows to look at are those of the folds; the curve goes on; random folds say nothing."""
    rng = np.random.default_rng(4)
    X = np.linspace(0, 6, 80)[:, None]
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    model = GaussianProcessRegressor(1.0 * Gaussian(0.5), 0.01, criterion=None)
    scores = nested_cv(model, X, y, outer=TimeSeriesSplit(4), baselines=True)
    found = collect(model.fit(X, y), X, y, scores=scores)
    z = (y - scores.predictions)[16:] / scores.deviations[16:]
    assert found.uncertainty.rows == 64
    assert found.uncertainty.coverage[4] == pytest.approx(np.mean(np.abs(z) <= 1.6448536))
    assert "forecasts from the rows before" in found.uncertainty.how
    assert "forecasts" in found.learning.missing
    assert not {one.code for one in found.checks} & {"M203", "M205", "M207"}
    one = found.effects.one_input
    assert max(one.x) == pytest.approx(6.9) and max(one.at) == 6.0
    assert "beyond 6 it is a forecast" in render(found)


def test_intervals_are_judged_at_any_number_of_rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(500, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(500)
    model = GaussianProcessRegressor(1.0 * Gaussian(0.5), 0.01, criterion=None).fit(X, y)
    found = collect(
        model, X[:90], y[:90], context=PageContext(fitted_rows=500), options=[ReportLimits(time_budget=0.0)]
    ).uncertainty
    assert found.kind == "gaussian" and found.rows == 18
    ridge = KernelRidge(Gaussian(0.5), 0.1).fit(X[:90], y[:90])
    found = collect(ridge, X[:90], y[:90], options=[ReportLimits(time_budget=0.0)]).uncertainty
    assert found.rows == 90 and found.coverage[4] == pytest.approx(0.9, abs=0.06)


def test_percent_and_number_are_what_the_reader_sees():
    assert percent(0.175) == "18 %" and number(452_600.0) == "452\u202f600"
