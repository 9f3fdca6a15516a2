"""Tables with strings, categories and graphs that a kernel reads as they are."""

import json
import warnings

import numpy as np
import polars as pl
import pytest

from mercer import KernelRidge, files
from mercer.exceptions import DataError, DataWarning
from mercer.kernels import (
    AtomEnvironments,
    BagMean,
    Categorical,
    Gaussian,
    Graph,
    Linear,
    MinMax,
    Ordinal,
    RadialOf,
    Spectrum,
    Table,
    TanimotoOf,
    WeisfeilerLehman,
    parse_kernel,
)
from mercer.selection import LOO
from mercer.tabular import Recipe, TableModel, objects_of, place_kernel, read_table, score
from mercer.tabular.kernels import length_scales

KERNEL = parse_kernel('Gaussian().on(["age", "dose"]) * Categorical().on("site") + Spectrum(3).on("sequence")')


@pytest.fixture
def frame(rng):
    n = 30
    sequence = ["".join(rng.choice(list("ACGT"), rng.integers(6, 14))) for _ in range(n)]
    age, site = rng.uniform(20, 80, n), rng.choice(["Bern", "Rome", "Turin"], n)
    y = [s.count("AC") + 0.02 * a for s, a in zip(sequence, age, strict=True)]
    return pl.DataFrame({"age": age, "dose": rng.normal(size=n), "site": site, "sequence": sequence, "y": y})


def test_what_a_kernel_reads_as_it_is():
    assert objects_of(KERNEL) == {"site": "category", "sequence": "string"}
    assert objects_of(Gaussian().on("age") + Linear()) == {}
    assert objects_of(TanimotoOf(AtomEnvironments(2)).on("m")) == {"m": "string"}
    assert objects_of(RadialOf(Gaussian(), Spectrum(2)).on(["s"])) == {"s": "string"}
    assert objects_of(Ordinal([1, 2, 5]).on("a") + Ordinal(["x", "y"]).on("b")) == {"a": "number", "b": "category"}
    assert objects_of(MinMax().on(["a", "b"]) * WeisfeilerLehman(1).on("g")) == {
        "a": "number",
        "b": "number",
        "g": "graph",
    }
    assert objects_of(Categorical().on("s") + Spectrum(2).on("s")) == {"s": "string"}
    for kernel, said in (
        (BagMean(Gaussian()).on("s"), "BagMean reads objects that a table cannot hold"),
        ((Gaussian() + Spectrum(2)).on(["a", "s"]), "mixes kernels on vectors and on objects"),
        (Spectrum(2).on(["s", "t"]), r"write Spectrum\(2\).on\('s'\) \+ Spectrum\(2\).on\('t'\)"),
        (Spectrum(2).on("g") + WeisfeilerLehman(1).on("g"), "as graphs and as something else"),
    ):
        with pytest.raises(DataError, match=said):
            objects_of(kernel)


def test_the_model_is_the_estimator_on_a_table_of_standardised_numbers_and_raw_objects(frame):
    model = TableModel(KernelRidge(KERNEL, 0.1), target="y").fit(frame)
    numbers = {name: frame[name].to_numpy() for name in ("age", "dose")}
    twin = {name: (x - x.mean()) / x.std() for name, x in numbers.items()}
    twin |= {name: frame[name].to_list() for name in ("site", "sequence")}
    plain = KernelRidge(KERNEL, 0.1).fit(twin, frame["y"].to_numpy())
    np.testing.assert_allclose(model.predict(frame), plain.predict(twin), rtol=1e-9)
    assert model.feature_names_ == ["age", "dose", "site", "sequence"]
    assert model.string_columns == ["sequence"]
    assert model.interval_method == "conformal"
    np.testing.assert_allclose(model.predict_interval(frame), plain.predict_interval(twin), rtol=1e-7)


def test_a_model_file_gives_the_same_predictions_to_the_last_bit(frame, tmp_path):
    model = TableModel(KernelRidge(KERNEL, criterion=LOO()), target="y").fit(frame)
    files.save(model, tmp_path / "m.mercer")
    again = files.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict(frame[::-1]), model.predict(frame[::-1]))
    np.testing.assert_array_equal(again.predict_interval(frame), model.predict_interval(frame))
    assert again.recipe_.used == model.recipe_.used


def test_scores_stand_next_to_simple_models_that_see_the_numbers(frame):
    found = score(TableModel(KernelRidge(KERNEL, 0.1), target="y"), frame, outer=3)
    plain = score(TableModel(KernelRidge(lam=0.1), target="y"), frame, outer=3)
    assert found.baselines == plain.baselines  # age, dose and site as indicators; the sequence is no number
    alone = score(TableModel(KernelRidge(Spectrum(2).on("sequence"), 0.1), target="y"), frame["sequence", "y"], outer=3)
    assert [one["name"] for one in alone.baselines] == ["mean"]


def test_the_recipe_says_what_the_simple_models_see(frame):
    recipe = Recipe().fit(frame.drop("y"), objects={"site": "category", "sequence": "string"})
    X = recipe.transform(frame)
    assert isinstance(X, Table)
    assert X["site"] == frame["site"].to_list()
    assert recipe.numbers(frame).shape == (30, 5)
    assert recipe.number_names == ["age", "dose"]
    assert any("'sequence' is read by the kernel alone" in note for note in recipe.notes_)
    recipe = Recipe().fit(frame["sequence", "y"].drop("y"), objects={"sequence": "string"})
    assert recipe.numbers(frame).shape == (30, 0)
    assert any("the mean is the only simple model" in note for note in recipe.notes_)
    both = Recipe().fit(frame.drop("y"), objects={"age": "number"})
    assert both.object_names == {"age": "age (as it is)"}
    np.testing.assert_array_equal(both.transform(frame)["age (as it is)"], frame["age"].to_numpy())
    for objects, said in (({"y": "string"}, "not there"), ({"sit": "category"}, "did you mean 'site'")):
        with pytest.raises(DataError, match=said):
            Recipe().fit(frame.drop("y"), objects=objects)


def test_kernels_on_the_columns_of_a_recipe(frame):
    recipe = Recipe().fit(frame.drop("y"), objects=objects_of(KERNEL))
    assert repr(place_kernel(KERNEL, recipe)) == repr(KERNEL)
    assert repr(place_kernel(Gaussian() + Spectrum(2).on("sequence"), recipe)).startswith(
        "Gaussian(1.0).on(['age', 'dose'])"
    )
    assert (
        repr(place_kernel(Linear().on("site"), recipe)) == "Linear().on(['site = Bern', 'site = Rome', 'site = Turin'])"
    )
    nested = (Gaussian().on("age") * Linear()).on(["age", "dose"])
    assert repr(place_kernel(nested, recipe)) == "Gaussian(1.0).on(['age']) * Linear().on(['age', 'dose'])"
    with pytest.raises(DataError, match="out of 'dose' alone"):
        place_kernel(Gaussian().on("age").on("dose"), recipe)
    with pytest.raises(DataError, match=r"write Categorical\(1.0\).on\('site'\)"):
        place_kernel(Categorical() + Spectrum(2).on("sequence"), recipe)
    with pytest.raises(DataError, match="cannot make numbers"):
        place_kernel(Gaussian().on("sequence"), recipe)
    assert length_scales(place_kernel(KERNEL, recipe), recipe) == [
        ("left__left__kernel__length_scale", "all columns"),
        ("left__right__kernel__length_scale", "site"),
    ]


def test_names_inside_names_on_arrays(frame):
    recipe = Recipe(ignore=["sequence"]).fit(frame.drop("y"))
    kernel = place_kernel(Linear().on("dose").on(["dose", "site"]), recipe)
    X = recipe.transform(frame)
    np.testing.assert_allclose(kernel(X), np.outer(X[:, 1], X[:, 1]))


def test_how_to_write_a_kernel_on_strings(frame):
    for kernel, said in (
        (Spectrum(3), r"write Spectrum\(3\).on\('sequence'\)"),
        (Spectrum(3).on("y"), "is the target"),
        (Gaussian().on("y"), "is the target"),
        (Gaussian().on("sequence"), r"A kernel on strings can read it: Spectrum\(3\).on\('sequence'\)"),
    ):
        with pytest.raises(DataError, match=said):
            TableModel(KernelRidge(kernel, 1.0), target="y").fit(frame)
    with pytest.raises(DataError, match="holds Float64, and the kernel reads text"):
        TableModel(KernelRidge(Spectrum(2).on("age"), 1.0), target="y").fit(frame)


def test_missing_values_have_a_stated_rule(frame):
    gone = pl.int_range(30) == 4
    odd = frame.with_columns(pl.when(gone).then(None).otherwise(pl.col("site", "sequence", "age")).name.keep())
    model = TableModel(KernelRidge(KERNEL, 0.1), target="y").fit(odd)
    assert "column 'sequence': 1 missing value read as the empty string." in model.notes_
    assert "column 'site': 1 missing value read as a category of their own." in model.notes_
    filled = odd.with_columns(pl.col("sequence").fill_null(""), pl.col("site").fill_null("(missing)"))
    np.testing.assert_array_equal(model.predict(odd), model.predict(filled))
    whole = TableModel(KernelRidge(KERNEL, 0.1), target="y").fit(frame)
    with pytest.warns(DataWarning) as said:
        whole.predict(odd)
    assert {"empty string" in str(one.message) for one in said} == {True, False}
    with pytest.raises(DataError, match="column 'age' is missing in row 5"):
        TableModel(KernelRidge(MinMax().on("age"), 0.1), target="y").fit(odd)
    empty = frame.with_columns(sequence=pl.lit(None, pl.String))
    with pytest.raises(DataError, match="missing in all rows"):
        TableModel(KernelRidge(KERNEL, 0.1), target="y").fit(empty)


def test_new_categories_are_told(frame):
    model = TableModel(KernelRidge(KERNEL, 0.1), target="y").fit(frame)
    other = frame.with_columns(site=pl.when(pl.int_range(30) < 2).then(pl.lit("Oslo")).otherwise("site"))
    with pytest.warns(DataWarning, match=r"2 rows with categories that the fit has not seen \('Oslo'\); they differ"):
        assert np.isfinite(model.predict(other)).all()


def test_rows_that_cannot_be_read_are_all_named_as_in_the_file():
    smiles = ["CCO", "CC", "C1CC", "O", "CCN", "C(", "CCC", "CO"]
    frame = pl.DataFrame({"m": smiles, "y": [None, *range(7)]})
    model = TableModel(KernelRidge(TanimotoOf(AtomEnvironments(1)).on("m"), 1.0), target="y")
    with pytest.raises(DataError, match=r"column 'm', rows 3, 6: AtomEnvironments: 'C1CC': unclosed ring.*these rows"):
        model.fit(frame)
    good = frame.filter(~pl.col("m").is_in(["C1CC", "C("]))
    with pytest.raises(DataError, match="rows 3, 6"):
        model.fit(good).predict(frame)
    dna = TableModel(KernelRidge(Spectrum(1, alphabet="dna").on("m"), 1.0), target="y")
    with pytest.raises(DataError, match="column 'm', row 3: Spectrum: the letter"):
        dna.fit(pl.DataFrame({"m": ["AC", "G", "AX", "T"], "y": [1.0, 2.0, 3.0, 4.0]}))


def test_nul_and_emoji_are_letters(frame):
    odd = frame.with_columns(sequence=pl.col("sequence") + "\0😀")
    model = TableModel(KernelRidge(Spectrum(2).on("sequence"), 0.1), target="y").fit(odd)
    twin = KernelRidge(Spectrum(2), 0.1).fit(odd["sequence"].to_list(), frame["y"].to_numpy())
    np.testing.assert_allclose(model.predict(odd), twin.predict(odd["sequence"].to_list()))


# ---------------------------------------------------------------------------------------------------- graphs
def test_graphs_are_read_from_json():
    texts = ["[[0, 1], [1, 2]]", json.dumps({"edges": [[0, 1]], "nodes": 3}), "[]", "[[0, 1], [1, 2], [2, 0]]"]
    frame = pl.DataFrame({"g": texts, "y": [1.0, 2.0, 3.0, 4.0]})
    model = TableModel(KernelRidge(WeisfeilerLehman(2).on("g"), 1.0), target="y").fit(frame)
    graphs = [[(0, 1), (1, 2)], Graph([(0, 1)], n_nodes=3), Graph([]), [(0, 1), (1, 2), (2, 0)]]
    twin = KernelRidge(WeisfeilerLehman(2), 1.0).fit(graphs, frame["y"].to_numpy())
    np.testing.assert_allclose(model.predict(frame), twin.predict(graphs))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "row 2: Expecting value"),
        ("CCO", "row 2: Expecting value"),
        ("3", "is no graph"),
        ('{"nodes": 3}', "is no graph"),
        ('{"edges": [], "colour": 1}', "no 'colour'"),
        ('{"edges": [[0, "a"]]}', "pairs of whole numbers"),
        ('{"edges": [], "nodes": 1000000000}', "more than 100,000 nodes"),
        ('{"edges": [[0, 1]], "labels": ["C"]}', "outside"),
        ("[" * 100_000, "row 2"),
    ],
)
def test_what_is_no_graph_is_named(text, said):
    frame = pl.DataFrame({"g": ["[[0, 1]]", text, "[]", "[]"], "y": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(DataError, match=said):
        TableModel(KernelRidge(WeisfeilerLehman(2).on("g"), 1.0), target="y").fit(frame)


# --------------------------------------------------------------------------------------------------- reading
def test_strings_are_read_as_they_stand(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("s,t,y\nNA,NA,1\n0101,0101,2\nnan,nan,3\n,,4\n-,-,5\n2020-01-01,2020-01-01,6\n", encoding="utf-8")
    found = read_table(path, strings=["s"])
    assert found["s"].to_list() == ["NA", "0101", "nan", None, "-", "2020-01-01"]
    assert found["t"].to_list()[0] is None
    assert read_table(path, strings=["s", "nothing"], missing=["-"])["s"].to_list()[4] is None


# ------------------------------------------------------------------------------------------------------ time
def test_folds_end_when_time_is_up(frame, monkeypatch):

    now = [0.0]
    monkeypatch.setattr("mercer._clock.time.monotonic", lambda: now[0])

    def step(*fold):
        now[0] += 4.0 if fold else 0.0

    model = TableModel(KernelRidge(lam=0.1), target="y")
    whole = model.fit(frame)
    found = score(model, frame, fitted=whole, outer=5, listener=step, time_budget=10.0)
    assert (len(found.scores), found.planned) == (2, 5)  # a third would end at 12
    assert found.to_dict()["how"] == "nested cross-validation, 2 of 5 folds"
    done = np.concatenate([test for _, test in found.folds])
    assert np.isfinite(found.predictions[done]).all()
    assert np.isnan(found.predictions).sum() == 30 - len(done)
    e = frame["y"].to_numpy()[done] - found.predictions[done]
    np.testing.assert_allclose(found.errors["rmse"], np.sqrt(np.mean(e**2)))
    assert score(model, frame, fitted=whole, outer=5, time_budget=0.0) is None


def test_each_search_has_its_share_of_the_time(frame):
    model = TableModel(KernelRidge(Gaussian().on(["age", "dose"]), criterion=LOO(), time_budget=1e3), target="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = model.fit(frame)
    budgets = []
    real = KernelRidge.fit

    def fit(self, X, y, **more):
        budgets.append(self.time_budget)
        return real(self, X, y, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelRidge, "fit", fit)
        score(model, frame, fitted=whole, outer=2, time_budget=60.0)
    searches = budgets[::2]
    assert 0 < searches[0] <= 18.0  # 0.6 of half of the time
    assert searches[0] < searches[1] <= 36.0
