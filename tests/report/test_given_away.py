"""What a verdict begins with: a copy of the target, a number that stands for nothing, rows twice, what was changed."""

import numpy as np
import polars as pl
import pytest

from mercer import GaussianProcessClassifier, KernelRidge
from mercer._warn import Caution
from mercer.kernels import Gaussian
from mercer.report import PageContext, ReportLimits, collect
from mercer.tabular import TableModel


def first_sentence(X, y, names, model=None, notes=()):
    model = KernelRidge(Gaussian(2.0), 0.1) if model is None else model
    scale = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / scale
    units = {name: (float(m), float(s)) for name, m, s in zip(names, X.mean(axis=0), scale, strict=True)}
    found = collect(
        model.fit(Z, y),
        Z,
        y,
        feature_names=names,
        target="price",
        context=PageContext(units=units, notes=notes),
        options=[ReportLimits(time_budget=0.0)],
    )
    return found.verdict.sentences[0], {one.code for one in found.checks}, found


def rows(rng, n=60):
    X = rng.normal(size=(n, 2))
    return X, 40 + 10 * X[:, 0] + 3 * rng.standard_normal(n)


COPIES = {
    "itself": lambda y: y,
    "line": lambda y: 1.19 * y + 3,
    "negative line": lambda y: -y,
    "two decimals": lambda y: y.round(2),
    "whole numbers": lambda y: y.round(),
    "cut off": lambda y: np.floor(y * 10) / 10,
    "square": lambda y: y**2,
    "logarithm": np.log,
    "ranks": lambda y: np.argsort(np.argsort(y)).astype(float),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-6])
def test_a_copy_of_the_target_is_the_first_sentence(rng, how, unit):
    X, y = rows(rng)
    copied = COPIES[how](y)
    said, codes, _ = first_sentence(np.column_stack([X, unit * copied if how != "itself" else copied]), y,
                                    ["a", "b", "gross"])  # fmt: skip
    if unit == 1.0 or how not in ("two decimals", "whole numbers", "cut off"):
        assert said.startswith("gross ") and "score says nothing" in said and "M104" in codes


@pytest.mark.parametrize("n", [10, 15])
def test_an_exact_copy_of_few_rows_too(rng, n):
    X, y = rows(rng, n)
    assert first_sentence(np.column_stack([X, 2 * y]), y, ["a", "b", "gross"])[0].startswith("gross ")
    close = first_sentence(np.column_stack([X, y + 1e-3 * rng.standard_normal(n)]), y, ["a", "b", "gross"])[0]
    assert not close.startswith("gross")  # of a few rows an order says little


def test_a_rounded_target_beside_what_it_was_rounded_from(rng):
    X, y = rows(rng)
    assert first_sentence(np.column_stack([X, y]), y.round(), ["a", "b", "exact"])[0].startswith("exact ")


def test_what_only_goes_along_with_the_target_is_no_copy(rng):
    X, y = rows(rng)
    near = y + 0.05 * y.std() * rng.standard_normal(60)
    for other in (near, (y > y.mean()).astype(float), rng.integers(0, 3, 60).astype(float), np.round(near)):
        said, codes, _ = first_sentence(np.column_stack([X, other]), y, ["a", "b", "other"])
        assert said.startswith("Explains") and "M104" not in codes


def test_a_curve_through_one_column_is_a_model(rng):
    x = rng.uniform(0, 3, (40, 1))
    said, codes, _ = first_sentence(x, np.exp(x[:, 0]), ["x"])
    assert said.startswith("Explains") and "M104" in codes


def test_a_copy_with_missing_cells_in_a_table(rng):
    X, y = rows(rng)
    copied = [None if i % 7 == 0 else 2 * float(v) for i, v in enumerate(y)]
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "gross": copied, "y": y})
    model = TableModel(KernelRidge(lam=0.1), target="y").fit(frame)
    found = collect(
        model.estimator_,
        model.inputs(frame),
        y,
        feature_names=model.feature_names_,
        context=PageContext(units=model.recipe_.units),
        options=[ReportLimits(time_budget=0.0)],
    )
    assert found.verdict.sentences[0].startswith("gross ")


def test_a_class_by_another_name(rng):
    X = rng.normal(size=(40, 2))
    label = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, "yes", "no")
    model = GaussianProcessClassifier(Gaussian(1.0), criterion=None)
    code = np.where(label == "yes", 2.0, 7.0)
    assert first_sentence(np.column_stack([X, code]), label, ["a", "b", "code"], model)[0].startswith("code ")
    code[0] = 9.0 - code[0]
    assert not first_sentence(np.column_stack([X, code]), label, ["a", "b", "code"], model)[0].startswith("code ")


def test_a_number_that_stands_for_a_missing_value(rng):
    X, y = rows(rng, 80)
    X[:9, 1] = -999
    said, codes, found = first_sentence(X, y, ["a", "b"])
    assert said.startswith("b is −999 in 9 rows") and "M110" in codes and found.verdict.level != "good"
    for value, count in ((-999, 1), (-3.5, 9), (99.0, 60)):  # one row, no nines, nearly all rows
        X, y = rows(rng, 80)
        X[:count, 1] = value
        assert "M110" not in first_sentence(X, y, ["a", "b"])[1]
    X[:, 1] = rng.integers(0, 130, 80)
    X[:5, 1] = 99
    assert "M110" not in first_sentence(X, y, ["a", "b"])[1]  # a number like the others


def test_rows_twice_come_before_the_score(rng):
    X, y = rows(rng, 40)
    said, _, _ = first_sentence(np.r_[X, X], np.r_[y, y], ["a", "b"])
    assert said.startswith("40 of 80 rows are copies")


def test_a_note_of_caution_comes_first_and_other_notes_do_not(rng):
    X, y = rows(rng)
    notes = ["column 'a': dates are days.", Caution("column 'b': 9 cells of -999 read as missing.")]
    said, _, found = first_sentence(X, y, ["a", "b"], notes=notes)
    assert said == notes[1] and found.data.notes == notes
