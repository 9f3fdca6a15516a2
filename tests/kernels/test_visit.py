"""A new kernel, in this file alone, has words, sliders, columns of tables and starting values without another line."""

import json
import shutil
import subprocess
from dataclasses import asdict
from importlib import resources

import numpy as np
import polars as pl
import pytest

from mercer import KernelRidge
from mercer.kernels import (
    BagMean,
    Composite,
    Constant,
    Gaussian,
    Linear,
    Matern,
    Matern52,
    Ordinal,
    Periodic,
    Radial,
    RadialOf,
    Spectrum,
    Standardised,
    TanimotoOf,
    parse_kernel,
)
from mercer.kernels.formula import OPERATIONS, evaluate
from mercer.kernels.visit import readers, walk
from mercer.report import collect, render
from mercer.selection.search.space import median_heuristic
from mercer.tabular import Recipe, TableModel, objects_of, place_kernel
from mercer.tabular.kernels import length_scales
from mercer.testing import check_kernel


class InverseMultiquadric(Radial):
    """1/√(1 + s)."""

    def phi(self, s):
        return 1.0 / np.sqrt(1.0 + s)

    def dphi(self, s):
        return -0.5 * (1.0 + s) ** -1.5


class Interaction(Composite):
    """k₁ + k₂ + k₁k₂."""

    parts = ("first", "second")

    def __init__(self, first, second): ...

    def _tile(self, X, Z):
        A, B = self.first(X, Z), self.second(X, Z)
        return A + B + A * B

    def diag(self, X):
        """k₁ + k₂ + k₁k₂."""
        A, B = self.first.diag(X), self.second.diag(X)
        return A + B + A * B

    def _pull(self, X, Z, W):
        yield "first", X, Z, W * (1.0 + self.second(X, Z))
        yield "second", X, Z, W * (1.0 + self.first(X, Z))


OWN = {"InverseMultiquadric": InverseMultiquadric, "Interaction": Interaction}
NEW = "Interaction(InverseMultiquadric([0.8, 3.0]).on([0, 1]), 0.5 * Linear().on(2))"
FORMULAS = [
    NEW,
    "2.0 * Gaussian([1.0, 2.0]).on([0, 2]) + Anova(1.5, 0.3) * Linear()",
    "Exponential([0.5, 1.0, 2.0]) + Matern32(1.3) + Matern52([1.0, 2.0, 4.0]) + RationalQuadratic(1.0, 0.7)",
    "Laplacian([0.5, 1.0, 2.0]) * Periodic(1.2, [0.7, 2.0, 3.0]) + Cosine(4.0).on(1)",
    "Anova([0.5, 1.0, 2.0], 2.0, 'exponential') + Anova(1.0, 0.1, 'gaussian') + Polynomial(3, 0.5) + Constant(2.0)",
    "Standardised(Gaussian(1.0), [0.1, 0.2, 0.3], [2.0, 3.0, 4.0]).on([2, 1, 0]) + Linear().on([-1])",
    "Gaussian(2.0).exp() + (0.3 * Linear()) ** 2 + (Linear() + 1.0).normalise() + Matern32().on(slice(0, 2))",
]


@pytest.fixture
def rows(rng):
    return rng.standard_normal((9, 3))


def page_script():
    return resources.files("mercer.report").joinpath("script.js").read_text(encoding="utf-8")


def by_node(question):
    """The answer of the script of the page to an expression."""
    script = page_script()
    program = script[script.index("const OPERATIONS") : script.index("function softmax")]
    program = f"{program}\nconsole.log(JSON.stringify({question}));"
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True, timeout=60)
    return np.array(json.loads(done.stdout))


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


# ---------------------------------------------------------------------------------------------- the formula
@pytest.mark.parametrize("text", FORMULAS)
def test_the_formula_gives_the_values_of_the_kernel(text, rows):
    kernel = parse_kernel(text, OWN)
    steps = json.loads(json.dumps(kernel.slider(rows)))
    found = [[evaluate(steps, x, z) for z in rows[:4]] for x in rows]
    np.testing.assert_allclose(found, kernel(rows, rows[:4]), rtol=1e-9, atol=1e-12)


@needs_node
@pytest.mark.parametrize("text", FORMULAS)
def test_the_script_of_the_page_gives_the_values_of_the_kernel(text, rows):
    kernel = parse_kernel(text, OWN)
    X, Z = (json.dumps(one.tolist()) for one in (rows, rows[:4]))
    found = by_node(f"{X}.map((x) => {Z}.map((z) => kernelOf({json.dumps(kernel.slider(rows))})(x, z)))")
    np.testing.assert_allclose(found, kernel(rows, rows[:4]), rtol=1e-9, atol=1e-12)


def test_the_script_knows_every_operation():
    script = page_script()
    table = script[script.index("const OPERATIONS") : script.index("// An operation, column by column")]
    assert [one for one in OPERATIONS if f"{one}:" not in table and f'"{one}":' not in table] == []


def test_a_formula_that_cannot_be_written_down_or_is_wrong_is_not_given(rows):
    class Cases(InverseMultiquadric):
        def phi(self, s):
            return np.where(s > 1.0, 0.0, 1.0 - s)

    class Masked(InverseMultiquadric):
        def phi(self, s):
            return np.divide(1.0, 1.0 + s, out=s, where=s > 0.5)

    class Wrong(InverseMultiquadric):
        def formula(self, x, z):
            return np.add.reduce(x * z)

    for kernel in (Cases(), Masked(), Wrong(), Matern(1.0, 0.8), Gaussian().on("a"), Gaussian().transform(np.log1p)):
        X = pl.DataFrame({"a": rows[:, 0]}) if kernel.named_columns() else np.abs(rows)
        assert kernel.slider(X.to_numpy() if kernel.named_columns() else X) is None, kernel


# ---------------------------------------------------------------------------------------------- a new kernel
def test_a_new_kernel_keeps_every_promise(rows):
    check_kernel(parse_kernel(NEW, OWN), rows)


def test_a_new_kernel_is_described():
    kernel = parse_kernel(NEW, OWN)
    assert kernel.describe(["age", "dose", "day"]) == "Interaction of a function of age and dose and a line in day"
    assert InverseMultiquadric([1.0, 20.0, 2.0, 3.0]).describe() == (
        "a function of the columns (most of all x0, x2 and x3; 1 of 4 hardly matter)"
    )
    assert kernel.outline() == "Interaction(InverseMultiquadric([…]), Linear)"
    assert kernel.columns_read(range(9)) == [0, 1, 2]


@needs_node
def test_a_new_kernel_is_on_the_sliders_of_the_page(rng):
    X = rng.uniform(-1.0, 1.0, (60, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 2] + 0.05 * rng.standard_normal(60)
    model = KernelRidge(parse_kernel(NEW, OWN), 0.01, criterion=None).fit(X, y)
    found = collect(model, X, y, feature_names=["age", "dose", "day"])
    w = found.whatif
    assert w.own and w.error.largest < 1e-9
    now = by_node(f"{json.dumps([w.start, X[7].tolist()])}.map(modelOf({json.dumps(asdict(w.model))}))")
    np.testing.assert_allclose(now, model.predict([w.start, X[7]]), rtol=1e-9)
    assert "Interaction of a function of age and dose" in render(found)


def test_a_new_kernel_reads_a_table(rng):
    frame = pl.DataFrame({"age": rng.uniform(20, 80, 40), "site": ["Bern", "Rome"] * 20, "dose": rng.uniform(0, 9, 40)})
    frame = frame.with_columns(y=pl.col("age") / 40 + pl.col("dose").sin())
    kernel = Interaction(InverseMultiquadric([1.0, 1.0]).on(["age", "dose"]), Linear().on("age"))
    recipe = Recipe().fit(frame.drop("y"))
    numbers = place_kernel(kernel, recipe)
    places = {name: j for j, name in enumerate(recipe.feature_names_)}
    assert (numbers.first.columns, numbers.second.columns) == ([places["age"], places["dose"]], [places["age"]])
    assert [column for _, column in length_scales(numbers, recipe)] == ["age", "dose"]
    assert objects_of(kernel * Spectrum(2).on("site")) == {"site": "string"}
    model = TableModel(KernelRidge(kernel, 0.1, criterion=None), target="y").fit(frame)
    np.testing.assert_allclose(model.predict(frame), frame["y"], atol=0.3)


def test_a_new_kernel_starts_from_the_median_distance(rng):
    X = rng.standard_normal((50, 3)) * [1.0, 10.0, 1.0]
    found = median_heuristic(parse_kernel(NEW, OWN), X)
    expected = median_heuristic(Gaussian([0.8, 3.0]), X[:, :2])
    np.testing.assert_allclose(found.first.kernel.length_scale, expected.length_scale)


def test_a_new_kernel_is_moved_to_other_units(rows):
    centre, scale = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 0.5])
    kernel = parse_kernel(NEW, OWN)
    for one in (kernel, kernel.first):
        np.testing.assert_allclose(one.in_units(centre, scale)(rows), one((rows - centre) / scale), rtol=1e-12)
    assert kernel.first.in_units(np.zeros(3), scale).kernel.length_scale.tolist() == [1.6, 12.0]


def test_a_kernel_that_the_library_names_is_read_by_the_command_line(tmp_path, monkeypatch, capsys, rng):
    from mercer import kernels
    from mercer.cli import main

    monkeypatch.setattr(kernels, "InverseMultiquadric", InverseMultiquadric, raising=False)
    monkeypatch.setattr(kernels, "__all__", [*kernels.__all__, "InverseMultiquadric"])
    x = rng.uniform(0, 10, 60)
    pl.DataFrame({"x": x, "y": np.sin(x)}).write_csv(tmp_path / "t.csv")
    arguments = ["fit", str(tmp_path / "t.csv"), "-t", "y", "-k", "InverseMultiquadric(1.0).on('x')", "--no-score"]
    assert main(arguments) in (0, None)
    assert "InverseMultiquadric" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------- the walk
def test_the_walk_knows_the_columns_of_each_part():
    kernel = 2.0 * Gaussian().on([1, 0]).on(["b", "c"]) + Gaussian().transform(np.log1p)
    seen = [(type(part).__name__, columns, prefix) for part, columns, prefix in walk(kernel, ["a", "b", "c"])]
    assert seen == [
        ("Sum", ["a", "b", "c"], ""),
        ("Scaled", ["a", "b", "c"], "left__"),
        ("Columns", ["a", "b", "c"], "left__kernel__"),
        ("Columns", ["b", "c"], "left__kernel__kernel__"),
        ("Gaussian", ["c", "b"], "left__kernel__kernel__kernel__"),
        ("Transformed", ["a", "b", "c"], "right__"),
        ("Gaussian", None, "right__kernel__"),
    ]
    names = {prefix + name for part, _, prefix in walk(kernel) for name in part.hyper}
    assert names == set(kernel.names)


@pytest.mark.parametrize(
    ("kernel", "read"),
    [
        (2.0 * Gaussian().on([0, 2]) * Linear().on(1), [0, 2, 1]),
        (Linear(), [0, 1, 2, 3]),
        (Linear().on(1) ** 2, [1]),
        (Constant(2.0), []),
        (RadialOf(Gaussian(), Linear().on(3)), [3]),
        (Standardised(Gaussian().on(-1), 0.0, 2.0), [3]),
        (Gaussian().on(0).warp(np.sum), [0, 1, 2, 3]),
        (Gaussian().on(slice(1, 3)), [1, 2]),
    ],
    ids=repr,
)
def test_columns_that_a_kernel_reads(kernel, read):
    assert kernel.columns_read(range(4)) == read


def test_the_kernels_that_read_the_inputs():
    kernel = RadialOf(Gaussian(), Spectrum(2)).on("a") + TanimotoOf(Spectrum(3)).on("b") * BagMean(Linear()).on("c")
    assert list(readers(kernel)) == [Spectrum(2), Spectrum(3), BagMean(Linear())]
    assert [one.reads for one in readers(kernel)] == ["string", "string", None]
    assert (Ordinal([1, 2]).reads, Ordinal(["a", "b"]).reads) == ("number", "category")


def test_the_first_period_is_the_season():
    assert (Linear() + 2.0 * Periodic(1.0, 12.0) * Matern52()).season() == 12.0
    assert Gaussian().season() is None
