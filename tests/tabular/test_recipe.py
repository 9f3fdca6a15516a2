"""Recipe: what each kind of column becomes, what is left out, and what is said of a table that differs."""

import datetime
import warnings

import numpy as np
import polars as pl
import pytest

from mercer.exceptions import DataError, DataWarning
from mercer.tabular import Recipe


def frame_of(rng, n=60):
    return pl.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "site": rng.choice(["Bern", "Turin", "Nice"], n),
            "sex": rng.choice(["F", "M"], n),
            "smoker": rng.random(n) < 0.3,
            "when": [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(1, 300, n)],
        }
    )


def test_numbers_are_standardised_and_categories_are_indicators(rng):
    frame = frame_of(rng)
    recipe = Recipe().fit(frame)
    X = recipe.transform(frame)
    assert recipe.feature_names_ == ["age", "site = Bern", "site = Nice", "site = Turin", "sex = M", "smoker", "when"]
    age = frame["age"].to_numpy()
    np.testing.assert_allclose(X[:, 0], (age - age.mean()) / age.std(), rtol=1e-12)
    np.testing.assert_array_equal(X[:, 1:4].sum(axis=1), 1.0)
    np.testing.assert_array_equal(X[:, 4], frame["sex"].to_numpy() == "M")
    np.testing.assert_array_equal(X[:, 5], frame["smoker"].to_numpy())
    days = np.array([(d - datetime.date(2024, 1, 1)).days for d in frame["when"]])
    np.testing.assert_allclose(X[:, 6], (days - days.mean()) / days.std(), rtol=1e-9)
    assert any("days after" in note for note in recipe.notes_)


def test_a_row_becomes_the_same_whatever_table_it_is_in_and_in_any_order_of_columns(rng):
    frame = frame_of(rng)
    recipe = Recipe().fit(frame)
    whole, part = recipe.transform(frame), recipe.transform(frame[7:9].select(frame.columns[::-1]))
    np.testing.assert_array_equal(part, whole[7:9])


def test_missing_numbers_are_the_median_and_marked_and_missing_categories_a_level():
    frame = pl.DataFrame({"x": [1.0, None, 3.0, 8.0], "c": ["a", "b", None, "a"]})
    recipe = Recipe().fit(frame)
    assert recipe.feature_names_ == ["x", "x (missing)", "c = (missing)", "c = a", "c = b"]
    X = recipe.transform(frame)
    np.testing.assert_allclose(X[1, 0], (3.0 - recipe.columns_[0]["centre"]) / recipe.columns_[0]["scale"])
    assert X[:, 1].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert X[2, 2:].tolist() == [1.0, 0.0, 0.0]
    assert len(recipe.notes_) == 2


LEFT_OUT = {
    "constant": ([5.0] * 12, "constant"),
    "empty": ([None] * 12, "all values are missing"),
    "key": ([f"k{i}" for i in range(12)], "identifier"),
    "row_id": (list(range(12)), "numbers the rows"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_columns_that_say_nothing_are_left_out_with_the_reason(name):
    values, why = LEFT_OUT[name]
    recipe = Recipe().fit(pl.DataFrame({name: values, "x": np.arange(12.0) ** 2}))
    assert recipe.feature_names_ == ["x"]
    assert why in recipe.ignored_[name]
    assert any(repr(name) in note for note in recipe.notes_)


def test_overrides():
    frame = pl.DataFrame({"row_id": range(12), "code": [1, 2, 3] * 4, "x": np.arange(12.0)})
    recipe = Recipe(numeric=["row_id"], categorical=["code"], ignore=["x"]).fit(frame)
    assert recipe.feature_names_ == ["row_id", "code = 1", "code = 2", "code = 3"]
    with pytest.raises(DataError, match="did you mean 'code'"):
        Recipe(ignore=["coed"]).fit(frame)


def test_nothing_left_is_an_error_with_reasons():
    with pytest.raises(DataError, match="no column is left.*'a': it is constant"):
        Recipe().fit(pl.DataFrame({"a": [1, 1, 1]}))


def test_infinities_and_mixed_columns_name_their_rows():
    with pytest.raises(DataError, match="'x' is infinite.*row 2"):
        Recipe().fit(pl.DataFrame({"x": [1.0, np.inf, 2.0]}))
    cells = [str(i) for i in range(30)]
    cells[4] = "broken"
    with pytest.raises(DataError, match="numbers except for row 5: 'broken'"):
        Recipe().fit(pl.DataFrame({"x": cells}))
    assert len(Recipe(categorical=["x"]).fit(pl.DataFrame({"x": cells * 2})).columns_[0]["levels"]) == 30


def test_nested_columns_are_refused_by_name():
    with pytest.raises(DataError, match="--ignore 'l'"):
        Recipe().fit(pl.DataFrame({"l": [[1], [2]], "x": [1.0, 2.0]}))


def test_rare_categories_are_pooled():
    texts = [f"c{i}" for i in range(40) for _ in range(40 - i)]
    recipe = Recipe(most_levels=5).fit(pl.DataFrame({"c": texts}))
    assert recipe.columns_[0]["levels"] == ["c0", "c1", "c2", "c3", "(other)"]
    with pytest.warns(DataWarning, match=r"1 row with categories.*'new'.*\(other\)"):
        X = recipe.transform(pl.DataFrame({"c": ["c0", "c39", "new"]}))
    np.testing.assert_array_equal(X, np.eye(5)[[0, 4, 4]])


def test_new_categories_are_equally_far_from_all_known_ones(rng):
    recipe = Recipe().fit(frame_of(rng))
    with pytest.warns(DataWarning, match="1 row with categories that the fit has not seen .'Oslo'"):
        X = recipe.transform(frame_of(rng)[:2].with_columns(site=pl.Series(["Bern", "Oslo"])))
    assert X[1, 1:4].tolist() == [0.0, 0.0, 0.0]
    with pytest.warns(DataWarning, match="'sex'"):
        assert recipe.transform(frame_of(rng)[:1].with_columns(sex=pl.Series(["X"])))[0, 4] == 0.5


def test_drift_is_said(rng):
    recipe = Recipe().fit(frame_of(rng))
    same = frame_of(np.random.default_rng(99))
    with pytest.warns(DataWarning, match="'age' is on another scale.*another unit"):
        recipe.transform(same.with_columns(age=pl.col("age") * 365.0))
    with pytest.warns(DataWarning, match="1 row of 60 outside the range"):
        recipe.transform(frame_of(np.random.default_rng(0), 60).with_columns(age=pl.Series([500.0] + [40.0] * 59)))
    with pytest.warns(DataWarning, match="2 missing values filled.*had none"):
        recipe.transform(same.with_columns(age=pl.Series([None, None] + [40.0] * 58)))


def test_columns_are_matched_by_name_and_differences_listed(rng):
    frame = frame_of(rng)
    recipe = Recipe().fit(frame)
    with pytest.raises(DataError, match="no column 'site', which the model needs; did you mean 'Site'"):
        recipe.transform(frame.rename({"site": "Site"}))
    assert recipe.differences(frame.with_columns(extra=pl.lit(1))) == ["extra"]


def test_text_where_the_fit_had_numbers(rng):
    frame = frame_of(rng)
    recipe = Recipe().fit(frame)
    with pytest.raises(DataError, match="'age' must hold numbers, but row 3 has 'old'"):
        recipe.transform(frame[:3].with_columns(age=pl.Series(["1", "2", "old"])))
    with pytest.raises(DataError, match="'when'"):
        recipe.transform(frame[:2].with_columns(when=pl.Series([1, 2])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert recipe.transform(frame[:2].with_columns(age=pl.Series(["41", "42.5"]))).shape == (2, 7)


def test_a_column_of_huge_numbers_is_refused_by_row():
    with pytest.raises(DataError, match="'x' is infinite, or beyond 1e\\+150, in row 1"):
        Recipe().fit(pl.DataFrame({"x": [1e300, 1.0, 5e99]}))
    assert np.isfinite(Recipe().fit_transform(pl.DataFrame({"x": [1e149, -1e149, 5e148]}))).all()


def test_scikit_learn_makes_the_numbers(rng):
    frame = frame_of(rng).with_columns(age=pl.when(pl.col("age") > 50).then(None).otherwise("age"))
    recipe = Recipe().fit(frame)
    made = dict(recipe.transformer_.named_transformers_)
    kinds = {name: type(part).__name__ for name, part in made.items()}
    assert kinds == {"numbers": "Pipeline", "truths": "SimpleImputer", "missing": "MissingIndicator",
                     "pairs": "Pipeline", "levels": "OneHotEncoder"}  # fmt: skip
    age = frame["age"].drop_nulls().to_numpy()
    np.testing.assert_allclose(made["numbers"]["standard"].mean_[0], age.mean())
    np.testing.assert_allclose(recipe.transform(frame)[frame["age"].is_null(), 0],
                               (np.median(age) - age.mean()) / age.std())  # fmt: skip
    pandas = pytest.importorskip("pandas")
    plain = pandas.DataFrame({name: frame[name].to_list() for name in ("age", "site", "sex")})
    np.testing.assert_array_equal(
        Recipe().fit_transform(plain), Recipe().fit_transform(frame.select("age", "site", "sex"))
    )


def test_a_recipe_is_rebuilt_from_its_state_to_the_last_bit(rng):
    frame = frame_of(rng).with_columns(age=pl.when(pl.col("age") > 50).then(None).otherwise("age"))
    recipe = Recipe(most_levels=2).fit(frame)
    state = recipe.state()
    assert "transformer_" not in state
    again = Recipe.from_state(state)
    np.testing.assert_array_equal(again.transform(frame), recipe.transform(frame))


# ---------------------------------------------------------------------------------------- text that is numbers
def test_mixed_columns_of_a_table_with_decimal_commas():
    cells = [f"{i},5" for i in range(30)]
    with pytest.raises(DataError, match=r"numbers except for row 5: 'n\.d\.'"):
        Recipe().fit(pl.DataFrame({"x": [*cells[:4], "n.d.", *cells[5:]]}))
    with pytest.raises(DataError, match=r"all its cells are numbers with a decimal comma.*--decimal ,"):
        Recipe().fit(pl.DataFrame({"x": [*cells, "-"]}))
    codes = [f"{i:05d}" for i in range(30)] * 2
    assert Recipe(most_levels=40).fit(pl.DataFrame({"x": codes})).columns_[0]["role"] == "categorical"


def test_numeric_overrules_leading_zeros():
    recipe = Recipe(numeric=["x"]).fit(pl.DataFrame({"x": ["007", "12", "100", "-"]}))
    assert recipe.columns_[0]["low"] == 7.0
    assert recipe.columns_[0]["missing"] == 1


PREDICTED = [
    ("x", ["-"], None),
    ("x", ["05", "12"], None),
    ("x", ["5", "abc", "6"], r"'x' must hold numbers, but row 2 has 'abc'"),
    ("x", ["1,5"], "decimal comma"),
    ("x", pl.Series([None], dtype=pl.Null), None),
    ("b", ["true", "-"], None),
    ("when", ["-", "03/02/2024"], None),
    ("when", ["20/03/2024", "31/02/2024"], r"'when' must hold dates.*row 2 has '31/02/2024'"),
    ("when", ["04/13/2024", "20/03/2024"], r"dates \(day/month/year, as in the fit\), but row 1 has '04/13/2024'"),
]


@pytest.mark.parametrize(("name", "cells", "said"), PREDICTED, ids=[str(cells) for _, cells, _ in PREDICTED])
def test_text_where_the_model_wants_something_else(name, cells, said):
    start = datetime.date(2024, 1, 1)
    dates = [start + datetime.timedelta(days=31 * i) for i in range(4)]
    frame = pl.DataFrame({"x": [1.0, 5.0, 12.0, 30.0], "b": [True, False, True, False], "when": dates})
    recipe = Recipe().fit(frame, written={"when": "%d/%m/%Y"})
    table = frame[: len(cells)].with_columns(pl.Series(name, cells))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if said is None:
            assert np.isfinite(recipe.transform(table)).all()
        else:
            with pytest.raises(DataError, match=said):
                recipe.transform(table)


def test_dates_of_text_are_read_as_in_the_fit():
    frame = pl.DataFrame({"when": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]})
    recipe = Recipe().fit(frame, written={"when": "%d/%m/%Y"})
    assert recipe.columns_[0]["style"] == "%d/%m/%Y"
    texts, april = pl.DataFrame({"when": ["05/04/2024"]}), pl.DataFrame({"when": [datetime.date(2024, 4, 5)]})
    np.testing.assert_array_equal(recipe.transform(texts), recipe.transform(april))


def test_dates_out_of_range_are_told_as_dates():
    recipe = Recipe().fit(pl.DataFrame({"when": [datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)]}))
    with pytest.warns(DataWarning, match="the range of the fit, 2024-01-01 to 2024-12-31"):
        recipe.transform(pl.DataFrame({"when": [datetime.date(2030, 1, 1)]}))


# ------------------------------------------------------------------------------------------------- some rows
def test_a_frozen_recipe_keeps_the_columns_and_learns_the_moments():
    n = 30
    cells = {"x": np.arange(n, dtype=float), "w": np.eye(n)[3], "c": ["a", "b", "c"] * 10}
    frame = pl.DataFrame(cells | {"m": [None, *range(1, n)]})
    recipe = Recipe().fit(frame)
    part = frame[10:20]
    again = recipe.frozen().fit(part)
    assert again.feature_names_ == recipe.feature_names_
    X = again.transform(part)
    np.testing.assert_allclose(X[:, 0], (part["x"].to_numpy() - 14.5) / part["x"].to_numpy().std())
    np.testing.assert_array_equal(X[:, 1], 0.0)  # constant in these rows
    assert recipe.columns_[0]["centre"] == 14.5 - 0.0  # the mean of 0 to 29: the recipe itself is as it was
    empty = recipe.frozen().fit(frame[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(empty.transform(frame)).all()


def test_infinite_numbers_are_categories_where_these_are_asked_for():
    assert Recipe(categorical=["k"]).fit(pl.DataFrame({"k": [1.0, np.inf, 2.0, 1.0]})).columns_[0]["levels"] == [
        "1", "2", "inf"
    ]  # fmt: skip


def test_names_of_columns_that_are_there_already():
    frame = pl.DataFrame({"a": [1.0, None, 3.0], "a (missing)": [4.0, 5.0, 7.0], "s": ["x", "y", "x"]})
    recipe = Recipe().fit(frame, objects={"s": "string"})
    assert recipe.feature_names_[:3] == ["a", "a (missing)", "a (missing) (2)"]
    X = recipe.transform(frame)
    assert list(X["a (missing)"]) == [0.0, 1.0, 0.0]
    assert "a (missing) (2)" in recipe.units
