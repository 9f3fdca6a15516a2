"""Every code: findings that bring it, findings just short of it that do not, and real data for the commonest."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from changed_findings import changed, made
from mercer import SVR, KernelInterpolator, KernelRidge
from mercer.cli._app import OPTIONS
from mercer.exceptions import InfeasibleWarning
from mercer.kernels import Gaussian
from mercer.report import CHECKS, CheckThresholds, PageContext, collect
from mercer.report.checks import SEVERITIES, run_checks
from mercer.report.parts import ClassCount, Leak, LonelyRows, NumberColumn, StandInValue, WeightRange
from mercer.report.parts_fit import (
    BlockErrors,
    BlockFindings,
    CalibrationFindings,
    CoverageFindings,
    LearningFindings,
    ModelScore,
    NoiseFloor,
    Optimism,
    ResidualOrder,
    ResidualSpread,
    ResidualTrend,
)
from mercer.report.parts_model import LamPick

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "src" / "mercer" / "report" / "checks.md"
PICKS = [made(LamPick, rule=rule, lam=lam, status="ok", dof=5.0, loss=loss)
         for rule, lam, loss in (("LOO", 0.001, 1.0), ("GCV", 0.01, 1.1), ("Discrepancy", 1e9, 9.0))]  # fmt: skip
FURTHER = [PICKS[0], replace(PICKS[1], lam=0.2)]


def spread(ratio, p):
    return made(ResidualSpread, name="x", p=p, ratio=ratio, parts=5)


def levels(found, rows, own=None):
    return made(CoverageFindings, kind="gaussian", levels=[0.5, 0.9], coverage=[0.5, found], rows=rows, own=own)


def blocks(model, line, mean, ridge=None):
    rmse = {"model": model, "a linear model": line, "kernel ridge regression": ridge, "the mean": mean}
    return BlockFindings(rows=60, listed=[BlockErrors(name="the ends of x", rows=24, rmse=rmse)])


def models(*scores, error=0.01):
    names = ("this model", "mean", "linear model", "5 neighbours")
    return [made(ModelScore, name=name, score=score, error=error) for name, score in zip(names, scores, strict=False)]


def probabilities(error, chi_square):
    return made(CalibrationFindings, kind="probabilities", error=error, by_chance=0.05, chi_square=chi_square, bins=8,
                rows=80)  # fmt: skip


def curve(*error, floor=None, of=80):
    return made(LearningFindings, metric="RMSE", sizes=[8, 16, 32, 64], of=of, error=list(error), spread=[0.001] * 4,
                floor=None if floor is None else made(NoiseFloor, value=floor))  # fmt: skip


# code, where, what brings it, what does not quite
CASES = [
    ("M101", "data.fitted_rows", 29, 30),
    ("M102", "rows.duplicates",
     {"conflicting": 2, "groups": 3, "share": 0.1}, {"conflicting": 0, "groups": 3, "share": 0.0}),
    ("M103", "data.features", [made(NumberColumn, name="x", distinct=1)], [made(NumberColumn, name="x", distinct=2)]),
    ("M104", "data.leak", Leak(name="x", correlation=0.9999, how="order"), Leak(name="x", correlation=0.999, how=None)),
    ("M105", "rows.alone", LonelyRows(count=4, limit=0.3, rows=[]), LonelyRows(count=3, limit=0.3, rows=[])),
    ("M106", "data.target", {"classes": [], "smallest": 9}, {"classes": [], "smallest": 10}),
    ("M107", "data.weights", WeightRange(low=0.5, high=2.0, zero=1, equal=40.0), None),
    ("M108", "data.target.distinct", 1, 2),
    ("M110", "data.stand_in", StandInValue(name="x", value=-999.0, rows=9, low=0.0, high=5.0), None),
    ("M109", "rows.copies", 10, 2),
    ("M201", "scores.models", models(0.005, 0.0), models(0.03, 0.0)),
    ("M201", "scores.models", models(0.015, -0.1), models(0.03, -0.1)),
    ("M202", "scores.models", models(0.5, 0.0, 0.52), models(0.5, 0.0, 0.505)),
    ("M208", "scores.models", models(0.5, 0.0, 0.505), models(0.5, 0.0, 0.49)),
    ("M208", "scores.models", models(0.5, 0.0, 0.5), models(0.5, 0.0, 0.52)),
    ("M203", "fit.tests.trend",
     ResidualTrend(name="x", share=0.3, p=1e-6), ResidualTrend(name="x", share=0.05, p=1e-6)),
    ("M204", "fit.tests.spread", spread(2.0, 1e-4), spread(2.0, 0.01)),
    ("M205", "fit.tests.order", ResidualOrder(r=0.5, z=5.0), ResidualOrder(r=0.5, z=3.0)),
    ("M206", "scores.optimism", Optimism(value=0.1, error=0.02), Optimism(value=0.1, error=0.06)),
    ("M207", "learning", curve(1.0, 0.7, 0.5, 0.4), curve(1.0, 0.5, 0.41, 0.4)),
    ("M207", "learning", curve(1.0, 0.7, 0.5, 0.4), curve(1.0, 0.7, 0.5, 0.4, floor=0.39)),
    ("M207", "learning", curve(1.0, 0.7, 0.5, 0.4), curve(1.0, 0.7, 0.5, 0.4, of=5000)),
    ("M209", "blocks", blocks(3.0, 1.0, 2.5), blocks(1.4, 1.0, 2.5)),
    ("M209", "blocks", blocks(3.0, 2.9, 4.0, ridge=1.0), blocks(3.0, 1.9, 1.8)),
    ("M301", "uncertainty", levels(0.70, 100), levels(0.70, 8)),
    ("M302", "uncertainty", probabilities(0.2, 40.0), probabilities(0.2, 8.0)),
    ("M302", "uncertainty", probabilities(0.05, 40.0), probabilities(0.02, 40.0)),
    ("M303", "uncertainty", probabilities(0.17, 8.0), probabilities(0.17, 40.0)),
    ("M304", "uncertainty", levels(0.9, 100, own=0.7), levels(0.9, 100, own=0.88)),
    ("M401", "selection.chosen.lam_at_bound", 1e-9, None),
    ("M402", "selection.chosen.at_bound", [["length scale of x", 1e5]], []),
    ("M403", "selection.path.picks", FURTHER, PICKS),
    ("M403", "selection.path.picks", FURTHER, [PICKS[0], replace(FURTHER[1], loss=1.0)]),
    ("M404", "selection.path.dof", 55.0, 30.0),
    ("M405", "selection.path.dof", 1.2, 2.0),
    ("M406", "selection.path.loss", 1.5, 1.05),
    ("M407", "selection.chosen.flat", ["length scale of x"], []),
    ("M501", "numerics.entries.condition", 1e14, 1e9),
    ("M501", "numerics.entries.jitter", 1e-8, 0.0),
    ("M504", "selection.chosen.status", "time_budget", "ok"),
    ("M502", "numerics.entries.status", "max_iter", "converged"),
    ("M503", "numerics.entries",
     {"feasible": False, "infeasibility": 0.2}, {"feasible": True, "infeasibility": 0.0}),
    ("M601", "rows.residuals.outliers", 1, 0),
    ("M602", "rows.influence.largest", 1.4, 0.9),
]  # fmt: skip
OF_LABELS = [("M210", "fit.never", [ClassCount(name="rare", rows=3)], [])]


def fired(findings):
    return {one.code: one for one in run_checks(findings)}


@pytest.mark.parametrize(
    ("code", "where", "brings", "short"), CASES + OF_LABELS, ids=[f"{c[0]}-{c[1]}" for c in CASES + OF_LABELS]
)
def test_each_code_fires_and_does_not(sections, label_sections, code, where, brings, short):
    findings = label_sections if (code, where, brings, short) in OF_LABELS else sections
    found = fired(changed(findings, where, brings))
    assert code in found
    assert found[code].severity in SEVERITIES
    assert re.search(r"\d|one value|ended|length scale", found[code].text)  # a number, or what it is about
    assert found[code].remedy.endswith(".")
    assert code not in fired(changed(findings, where, short))


def test_thresholds_are_options(sections):
    few = changed(sections, "data.fitted_rows", 29)
    assert "M101" in {one.code for one in run_checks(few)}
    assert "M101" not in {one.code for one in run_checks(few, [CheckThresholds(few_rows=20)])}


def test_every_code_has_a_case_and_a_paragraph():
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert {case[0] for case in CASES + OF_LABELS} == set(codes)
    headings = set(re.findall(r"^### (M\d{3})$", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    assert headings == set(codes)


def test_every_code_says_what_it_looks_at():
    assert all(len(check.about) > 40 and "What to do" not in check.about for check in CHECKS)


def all_remedies(sections):
    """The remedies of all checks, whether they fire or not."""
    return {check.code: check.remedy(sections) for check in CHECKS}


@pytest.mark.parametrize("command", ["mercer fit t.csv -t y", None])
def test_a_remedy_can_be_followed_from_where_the_reader_is(sections, command):
    found = all_remedies(changed(sections, "reproduce.command", command))
    asked = set(re.findall(r"--[a-z][a-z-]+", " ".join(found.values())))
    options = {flag for flags, *_ in OPTIONS.values() for flag in flags.split()}
    assert asked <= options
    assert bool(asked) == (command is not None)
    if command is None:
        return
    for check in CHECKS:  # a call is of no use on the command line, unless it says that it is one
        line = found[check.code].partition("In Python:")[0]
        if check.severity != "tip":
            assert not re.search(r"[A-Za-z]\(\w*[=,)]|criterion=|Widen the bounds", line.replace("Matern32()", "")), (
                line
            )


def test_nobody_is_told_to_do_what_was_done(sections):
    here = changed(sections, "reproduce.command", None)
    found = all_remedies(changed(here, "selection.chosen.criterion", "LOO()"))
    assert not [code for code in ("M203", "M404", "M405") if "criterion choose" in found[code]]
    assert "criterion choose" in all_remedies(changed(here, "selection.chosen.criterion", None))["M203"]
    assert "log" not in all_remedies(changed(here, "data.target.low", -1.0))["M204"]
    positive = changed(here, "data.target.low", 1.0)
    assert "'log'" in all_remedies(positive)["M204"]
    assert "'log'" not in all_remedies(changed(positive, "estimator", "TransformedTarget"))["M204"]
    quick = all_remedies(changed(here, "reproduce.command", "mercer fit t.csv -t y --quick"))
    assert "leave --quick away" in quick["M202"]
    assert "--quick" not in quick["M206"]


def test_residuals_are_counted_that_are_there(sections):
    found = changed(sections, "rows.residuals", {"outliers": 1, "known": 31})
    assert "1 of 31 left-out residuals" in fired(found)["M601"].text


def test_a_better_baseline_is_an_objection(sections):
    assert fired(changed(sections, "scores.models", models(0.5, 0.0, 0.501)))["M208"].severity == "warning"


def test_quantiles_are_not_told_to_use_intervals(sections):
    assert "shift each quantile" in all_remedies(changed(sections, "uncertainty.kind", "quantiles"))["M301"]


def test_a_sound_model_is_left_in_peace(regression, classification):
    assert [one.code for one in classification.checks if one.severity != "tip"] == []
    assert [one.code for one in regression.checks if one.severity != "tip"] == []


def test_the_worst_comes_first(sections):
    bad = changed(changed(sections, "scores.models", models(0.0, 0.0)), "data.fitted_rows", 20)
    order = [SEVERITIES.index(one.severity) for one in run_checks(bad)]
    assert order == sorted(order)
    assert order[0] == 0


# ---------------------------------------------------------------------------------------- on real data
def codes(model, X, y, **options):
    return {one.code for one in collect(model, X, y, **options).checks}


def test_pure_noise(rng):
    X, y = rng.uniform(size=(60, 2)), rng.standard_normal(60)
    assert "M201" in codes(KernelRidge(Gaussian(0.3), lam=0.1).fit(X, y), X, y)


def test_conflicting_rows_an_outlier_and_a_constant_column(rng):
    X = np.repeat(np.linspace(0, 1, 30), 2)[:, None]
    y = np.sin(6 * X[:, 0]) + 0.05 * rng.standard_normal(60)
    y[7] += 5.0
    X = np.column_stack([X, np.ones(60)])
    found = collect(
        KernelRidge(Gaussian(0.2), lam=0.05).fit(X, y),
        X,
        y,
        context=PageContext(row_labels=[f"line {i + 2}" for i in range(60)]),
    )
    fired_ = {one.code: one.text for one in found.checks}
    assert {"M102", "M103", "M601"} <= set(fired_)
    assert "line 9" in fired_["M601"]
    assert found.rows.residuals.rows[0].row == "line 9"


def test_spread_that_grows(rng):
    X = rng.uniform(0, 1, size=(200, 1))
    y = X[:, 0] + (0.02 + X[:, 0]) * rng.standard_normal(200)
    assert "M204" in codes(KernelRidge(Gaussian(1.0), lam=1.0).fit(X, y), X, y)


def test_a_linear_model_does_better(rng):
    X = rng.uniform(-1, 1, size=(60, 3))
    y = X @ [5.0, 2.0, 1.0] + 0.05 * rng.standard_normal(60)
    assert {"M202", "M203"} & codes(SVR(Gaussian(0.2), C=0.1).fit(X, y), X, y)


def test_no_function_through_the_rows():
    X, y = np.repeat(np.arange(10.0), 3)[:, None], np.arange(30.0) % 3
    with pytest.warns(InfeasibleWarning):
        model = KernelInterpolator(Gaussian(1.0)).fit(X, y)
    assert "M503" in codes(model, X, y)


def test_an_interpolating_lam_and_a_stiff_one(rng):
    X = np.linspace(0, 1, 50)[:, None]
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(50)
    assert "M404" in codes(KernelRidge(Gaussian(0.01), lam=1e-6).fit(X, y), X, y)
    assert {"M405", "M406"} <= codes(KernelRidge(Gaussian(0.3), lam=1e6).fit(X, y), X, y)
