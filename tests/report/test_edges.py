"""Models and rows at the edge: λ for each row, other trends, draws, lone classes, ties, long names, one target."""

import json

import numpy as np
import pytest

from mercer import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelMachine, KernelRidge
from mercer.kernels import Categorical, Gaussian
from mercer.report import PageContext, ReportLimits, collect, render
from mercer.report._case import make_case
from mercer.report._left_out import predict_left_out
from mercer.report.parts import Missing
from mercer.report.parts_about import SupportCount
from mercer.selection.judging import quietly

NO_TIME = [ReportLimits(time_budget=0.0)]


def page_of(found):
    return render(found)


def codes(found):
    return {one.code for one in found.checks}


@pytest.fixture
def table(rng):
    X = rng.uniform(0, 1, size=(30, 2))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(30)


# ------------------------------------------------------------------------------------- λ for each row
NOISE = np.where(np.arange(30) < 15, 1e-3, 1.0)


@pytest.mark.parametrize("kind", ["ridge", "process"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_lam_for_each_row_is_kept(table, rng, kind, weighted):
    X, y = table
    w = rng.integers(1, 4, size=30).astype(float) if weighted else None
    if kind == "ridge":
        model = KernelRidge(Gaussian(0.4), NOISE).fit(X, y, w)
    else:
        model = GaussianProcessRegressor(Gaussian(0.4), NOISE, criterion=None).fit(X, y, w)
    found = collect(model, X, y)
    assert ("M107" in codes(found)) == weighted
    again = model.frozen().fit(X, y, w)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9, atol=1e-12)
    assert found.selection.path.dof == pytest.approx(model.influence().dof, rel=1e-9)
    assert "each row has its own" in page_of(found)
    case, square = make_case(model, X, y), []
    for i in range(30):
        rows = np.delete(np.arange(30), i)
        square.append((y[i] - case.fit(rows).predict(X[i : i + 1])[0]) ** 2)
    expected = np.sqrt(np.average(square, weights=w))
    assert found.scores.models[0].rmse == pytest.approx(expected, rel=1e-6)


def test_the_common_factor_that_was_learnt_is_kept(table):
    X, y = table
    model = GaussianProcessRegressor(Gaussian(0.4), NOISE, optimize="lam", starts=1, prior=None).fit(X, y)
    np.testing.assert_allclose(model.frozen().noise, model.noise_, rtol=1e-9)
    model.forget([0])
    assert len(model.frozen().noise) == 29
    with pytest.raises(ValueError, match="fitted on 29 rows with a λ for each"):
        collect(model, X, y)


# ---------------------------------------------------------------------------------- what a model cannot
def test_an_svr_is_judged_by_refits():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 10, (40, 2))
    X[:, 1] = X[:, 1].round()
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(40)
    make = lambda: SVR(Gaussian([1.0, 4.0]), C=2.0)  # noqa: E731
    found = collect(make().fit(X, y), X, y, options=NO_TIME)
    keep = ~np.eye(40, dtype=bool)
    e = [y[i] - make().fit(X[k], y[k]).predict(X[i : i + 1])[0] for i, k in enumerate(keep)]
    assert found.scores.models[0].rmse == pytest.approx(np.sqrt(np.mean(np.square(e))), rel=1e-4)
    with pytest.raises(ValueError, match="fitted on 40 rows"):
        collect(make().fit(X, y), X[:30], y[:30])


def test_larger_svrs_are_judged_by_folds(rng):
    X = rng.uniform(size=(70, 1))
    y = np.sin(6 * X[:, 0])
    assert collect(SVR(Gaussian(0.3)).fit(X, y), X, y, options=NO_TIME).scores.how.startswith("5 folds")


def test_an_svr_without_support_vectors(table):
    X, y = table
    found = collect(SVR(Gaussian(1.0), epsilon=100.0).fit(X, y), X, y, options=NO_TIME)
    assert found.numerics.support == SupportCount(vectors=0, bounded=0)


def test_another_trend_has_no_path(table):
    X, y = table
    found = collect(GaussianProcessRegressor(Gaussian(0.4), 0.01, criterion=None, trend="linear").fit(X, y), X, y)
    assert "constant trend" in found.selection.path.missing
    assert "constant trend" in found.selection.surface.missing
    assert not codes(found) & {"M403", "M404", "M405", "M406"}
    assert "degrees of freedom" not in [label for label, _, _ in found.verdict.numbers]
    assert "constant trend" in page_of(found)


def test_the_surface_goes_beyond_the_bounds(table):
    X, y = table
    bound = GaussianProcessRegressor(Gaussian(0.5, length_scale_bounds=(0.4, 0.6)), 0.1, criterion=None)
    free = GaussianProcessRegressor(Gaussian(0.5), 0.1, criterion=None)
    one, other = (collect(model.fit(X, y), X, y).selection.surface for model in (bound, free))
    assert one.loss == other.loss


def test_draws_of_hyper_parameters(rng):
    X = rng.uniform(size=(24, 1))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(24)
    model = GaussianProcessRegressor(Gaussian(0.3), 0.01, n_hyper_samples=16, starts=1)
    quietly(model.fit, X, y)  # so few draws do not mix
    found = collect(model, X, y)
    assert len(found.learning.sizes) > 2
    assert "draws are not part of it" in page_of(found)
    assert "n_hyper_samples" not in found.reproduce.fitted


def test_a_learning_curve_says_why_there_is_none(table, monkeypatch):
    X, y = table
    model = KernelRidge(Gaussian(0.4), lam=0.1).fit(X, y)

    def fail(*args):
        raise ValueError("the kernel is upside down.")

    monkeypatch.setattr("mercer.report._case.Case.fit", fail)
    monkeypatch.setattr("mercer.report._collect.uncertainty_section", lambda *args: Missing(missing=""))
    assert "(the kernel is upside down)" in collect(model, X, y).learning.missing


# ------------------------------------------------------------------------------------- rows alone in a class
@pytest.mark.parametrize(
    ("loss", "counts"), [("logistic", (19, 1)), ("hinge", (19, 1)), ("hinge", (10, 9, 1)), ("logistic", (10, 9, 1))]
)
def test_a_class_with_one_row_is_not_judged(rng, loss, counts):
    label = np.repeat([f"c{k}" for k in range(len(counts))], counts)
    X = rng.uniform(size=(20, 1)) + 0.5 * np.repeat(np.arange(len(counts)), counts)[:, None]
    model = KernelMachine(Gaussian(0.7), loss=loss, lam=0.1).fit(X, label)
    left = predict_left_out(make_case(model, X, label))
    assert [value is None for value in left.predicted] == [False] * 19 + [True]
    assert "1 row alone in its class is not judged" in left.how
    found = collect(model, X, label, options=NO_TIME)
    assert np.sum(found.fit.confusion) == 19
    if loss == "logistic":
        own = left.proba[np.arange(19), np.searchsorted(model.classes_, label[:19])]
        assert found.uncertainty.log_loss == pytest.approx(-np.mean(np.log(own)), rel=1e-9)
        assert found.uncertainty.log_loss < 2
    assert all(one.class_ != f"c{len(counts) - 1}" for one in found.rows.surprising)
    assert "not judged" in page_of(found)


def test_only_classes_with_one_row(rng):
    X, label = rng.uniform(size=(5, 1)), np.arange(5)
    model = KernelMachine(Gaussian(0.7), loss="logistic", lam=0.1).fit(X, label)
    with pytest.raises(ValueError, match="class with 2 of them"):
        collect(model, X, label)


# ------------------------------------------------------------------------------------------- ties and names
def test_ties_do_not_give_the_target_away(rng):
    X = np.zeros((60, 2))
    X[-2:, 0] = 1.0, 2.0
    X[:, 1] = rng.uniform(size=60)
    y = np.sort(rng.standard_normal(60))
    found = collect(KernelRidge(Gaussian(1.0), lam=0.1).fit(X, y), X, y, options=NO_TIME)
    assert found.data.leak.correlation < 0.9
    assert "M104" not in codes(found)
    flat = collect(KernelRidge(Gaussian(0.001), lam=1e6).fit(X[:, :1], y), X[:, :1], y, options=NO_TIME)
    assert flat.fit.tests.trend.share < 0.5  # the order of the rows is no column


@pytest.mark.parametrize("name", ["rain\u00a0fall", "rain  fall", "rain" * 30])
def test_units_of_names_that_are_cut(table, name):
    X, y = table
    model = KernelRidge(Gaussian(0.4), lam=0.1).fit(X, y)
    known = {"context": PageContext(units={name: (50.0, 10.0)}), "options": NO_TIME}
    found = collect(model, X, y, feature_names=["other", name], **known)
    assert found.data.features[1].low == pytest.approx(50 + 10 * X[:, 1].min())
    assert found.data.features[0].low == pytest.approx(X[:, 0].min())
    frame = {"other": X[:, 0], name: X[:, 1]}
    kernel = Gaussian(0.4).on("other") * Gaussian(0.4).on(name)
    found = collect(KernelRidge(kernel, lam=0.1).fit(frame, y), frame, y, **known)
    assert found.data.features[1].low == pytest.approx(50 + 10 * X[:, 1].min())


def test_the_outlier_comes_first_where_most_residuals_are_equal():
    X, y = np.linspace(0, 1, 30)[:, None], np.zeros(30)
    y[17] = 100.0
    found = collect(KernelRidge(Gaussian(1e-4), 1.0, trend=None).fit(X, y), X, y, options=NO_TIME)
    residuals = found.rows.residuals
    assert residuals.rows[0].row == "17"
    assert residuals.rows[0].z == pytest.approx(np.sqrt(30))
    assert residuals.outliers == 1


def test_rare_levels_are_counted(rng):
    site = [f"s{k:02d}" for k in range(20) for _ in range(2)] + ["s19"] * 20
    X = {"site": site, "age": rng.uniform(20, 60, 60)}
    y = X["age"] / 10 + rng.standard_normal(60)
    kernel = Gaussian(10.0).on("age") * Categorical().on("site")
    found = collect(KernelRidge(kernel, lam=0.1).fit(X, y), X, y, options=NO_TIME)
    along = next(one for one in found.fit.by_column if one.name == "site")
    assert len(along.levels) == len(along.middle) == 12
    assert along.levels[-1] == "s19"
    assert along.more == 8
    assert "8 rarer levels are not drawn" in page_of(found)


def test_long_names_still_fit_the_page(rng):
    n, d = 100, 150
    X, y = rng.uniform(size=(n, d)), rng.standard_normal(n)
    names = ["<" * 90 + str(k) for k in range(d)]
    model = KernelRidge(Gaussian(5.0), lam=1.0).fit(X, y)
    context = PageContext(row_labels=["<" * 60] * n, notes=["<" * 4000] * 50)
    found = collect(model, X, y, feature_names=names, target="<" * 90, context=context,
                    options=NO_TIME)  # fmt: skip
    assert len(page_of(found).encode()) < 1 << 20
    assert len(json.dumps(found.data.notes)) < 70_000


# ----------------------------------------------------------------------------------------------- words
def test_a_constant_target_is_a_problem(table):
    X, _ = table
    found = collect(KernelRidge(Gaussian(0.4), lam=0.1).fit(X, np.full(30, 3.0)), X, np.full(30, 3.0))
    assert "M108" in codes(found)
    assert found.verdict.level == "problem"


def test_nothing_is_said_of_a_choice_that_was_not_made(table, ridge):
    X, y = table
    given = page_of(collect(KernelRidge(Gaussian(0.4), lam=0.1).fit(X, y), X, y))
    assert "were chosen on all rows" not in given
    assert "were chosen on all rows" in page_of(ridge)
    label = np.where(y > 0, "up", "down")
    process = GaussianProcessClassifier(2.0 * Gaussian(0.5), criterion=None).fit(X, label)
    text = page_of(collect(process, X, label))
    assert "given, not chosen" in text
    assert "is chosen by the evidence" not in text
