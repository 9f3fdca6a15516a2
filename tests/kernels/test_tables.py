"""Tables, categories, columns by name: identities, naive twins, frames of two kinds, errors that name the place."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from check_assertions import assert_passes
from mercer.kernels import (
    Categorical,
    Columns,
    Constant,
    Exponential,
    Gaussian,
    Matern52,
    Ordinal,
    Pairwise,
    Periodic,
    Spectrum,
    Table,
    parse_kernel,
)
from mercer.testing import check_kernel

LEVELS = ["low", "medium", "high"]


@pytest.fixture
def columns(rng):
    """A dict of columns: numbers, categories, an ordered scale, text."""
    n = 24
    return {
        "age": rng.normal(50.0, 10.0, n),
        "dose": rng.integers(0, 9, n),
        "site": [str(name) for name in rng.choice(["Bern", "Turin", "Ulm"], n)],
        "sex": [str(name) for name in rng.choice(["f", "m"], n)],
        "grade": [LEVELS[i] for i in rng.integers(0, 3, n)],
        "text": ["".join(rng.choice(list("acgt"), 5)) for _ in range(n)],
    }


def mixed():
    """A kernel that reads numbers, categories, and an ordered scale."""
    numbers = 2.0 * Gaussian([8.0, 3.0]).on(["age", "dose"]) * Categorical(0.7).on("site")
    return numbers + Categorical([0.5, 2.0]).on(["sex", "site"]) * Ordinal(LEVELS, [0.4, 2.0]).on("grade") + 1.0


def hamming(x, z):
    """The number of places where two tuples differ."""
    return sum(a != b for a, b in zip(x, z, strict=True))


# ---------------------------------------------------------------------- categories
def test_categorical_is_the_exponential_of_the_hamming_distance(columns):
    rows = list(zip(columns["site"], columns["sex"], strict=True))
    naive = np.array([[np.exp(-hamming(x, z) / 0.8) for z in rows] for x in rows])
    assert_allclose(Categorical(0.8)(np.array(rows, dtype=object)), naive, rtol=1e-14)
    assert_allclose(Categorical(0.8).on(["site", "sex"])(columns), naive, rtol=1e-14)


def test_ard_is_a_product_over_columns(columns):
    together = Categorical([0.5, 2.0]).on(["site", "sex"])(columns)
    apart = (Categorical(0.5).on("site") * Categorical(2.0).on("sex"))(columns)
    assert_allclose(together, apart, rtol=1e-14)


def test_the_indicator_is_the_limit(columns):
    site = columns["site"]
    same = np.array([[float(a == b) for b in site] for a in site])
    assert_array_equal(Categorical(0.0)(site), same)
    assert_allclose(Categorical(0.01)(site), same, atol=1e-40)
    assert Categorical(0.0).n_theta == 0


def test_a_category_that_was_not_seen_differs_from_all(columns):
    kernel = Categorical(1.5)
    K = kernel(["Basel", "Bern", "Oslo", "Oslo"], ["Bern", "Turin", "Basel"])
    e = np.exp(-1 / 1.5)
    assert_allclose(K, [[e, e, 1.0], [1.0, e, e], [e, e, e], [e, e, e]])
    assert_allclose(kernel(["Oslo", "Oslo", "Rome"])[0], [1.0, 1.0, e])  # equal to itself


def test_numbers_and_text_are_different_categories():
    e = np.exp(-1.0)
    assert_allclose(Categorical()([1, "1", 1.0, True, (1, 2), -1, -2])[0], [1.0, e, 1.0, 1.0, e, e, e])
    assert Categorical()([-1], [-2])[0, 0] == e  # whose hashes are equal in Python
    assert_allclose(Categorical()(np.array([[1.0], [2.0]]), ["a", 2]), [[e, e], [e, 1.0]])  # numbers against anything


def test_large_whole_numbers_stay_apart():
    table = {"id": np.array([2**60, 2**60 + 1, 2**60])}
    assert_allclose(Categorical().on("id")(table)[0], [1.0, np.exp(-1.0), 1.0])


def test_ordinal_is_the_exponential_kernel_on_a_line(columns):
    gaps = np.array([1 / 0.4, 1 / 2.0])
    place = dict(zip(LEVELS, np.concatenate([[0.0], np.cumsum(gaps)]), strict=True))
    line = np.array([[place[level]] for level in columns["grade"]])
    assert_allclose(Ordinal(LEVELS, [0.4, 2.0])(columns["grade"]), Exponential(1.0)(line), rtol=1e-12)


def test_steps_of_equal_length_scales_are_one_length_scale(columns):
    grade = columns["grade"]
    W = np.arange(24.0 * 24).reshape(24, 24)
    one, each = Ordinal(LEVELS, 0.7), Ordinal(LEVELS, [0.7, 0.7])
    assert_allclose(one(grade), each(grade), rtol=1e-14)
    X = one.validate(grade)
    assert_allclose(one.grad(X, X, W), each.grad(X, X, W).sum(), rtol=1e-12)


def test_a_day_of_the_year_is_periodic():
    k = Periodic(1.0, 365.25, period_bounds="fixed").on("day")
    K = k({"day": [1, 366.25, 180]})
    assert_allclose(K[0, 1], 1.0)
    assert K[0, 2] < 0.2


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_category_names_the_row(value):
    with pytest.raises(ValueError, match="row 2"):
        Categorical()(["a", "b", value])
    with pytest.raises(ValueError, match="'site' of X, row 2"):
        Categorical().on("site")({"site": ["a", "b", value]})


def test_what_is_no_category_or_level_is_refused():
    with pytest.raises(TypeError, match="row 1.*list"):
        Categorical()(["a", ["b"]])
    with pytest.raises(ValueError, match=r"X\[1, 0\]"):
        Categorical()(np.array([[1.0], [np.nan]]))
    with pytest.raises(ValueError, match="row 1.*'huge'.*'low'"):
        Ordinal(LEVELS)(["low", "huge"])
    with pytest.raises(ValueError, match="levels"):
        Ordinal(["low", "low"])(["low"])
    with pytest.raises(ValueError, match="length_scale.* 3 .* 2 "):
        Ordinal(LEVELS, [1.0, 2.0, 3.0])(["low"])
    with pytest.raises(ValueError, match="length_scale.* 2 .* 1 "):
        Categorical([1.0, 2.0])(["a"])
    with pytest.raises(ValueError, match="length_scale"):
        Categorical(-1.0)(["a"])
    with pytest.raises(ValueError, match="2"):
        Ordinal([1, 2])(np.ones((3, 2)))


# ---------------------------------------------------------------------- columns by name
def test_by_name_is_by_number(columns):
    X = np.stack([columns["age"], columns["dose"]], axis=1)
    kernel = Gaussian([8.0, 3.0])
    assert_array_equal(kernel.on(["age", "dose"])(columns), kernel(X))
    assert_array_equal(kernel.on(["dose", "age"])(columns), kernel(X[:, ::-1]))
    assert_array_equal(Matern52(5.0).on("age")(columns), Matern52(5.0).on(0)(X))


def test_frames_of_all_kinds_give_the_same_matrix(columns):
    kernel = mixed()
    expected = kernel(columns)
    frame = pd.DataFrame(columns)
    other = frame.astype({"site": "category", "dose": "Int64", "sex": object})
    for X in (
        frame,
        other,
        pl.DataFrame(columns),
        pl.DataFrame(columns).cast({"site": pl.Categorical}),
        Table(columns),
    ):
        assert_array_equal(kernel(X), expected)
    assert_array_equal((1.0 + kernel)(frame), 1.0 + expected)  # the constant reads the frame first


def test_the_mixed_kernel_passes_all_checks(columns):
    assert_passes(check_kernel, mixed(), pd.DataFrame(columns)[:12])
    assert_passes(check_kernel, (mixed().normalise() * Pairwise(same_start).on("text")).exp(), Table(columns)[:8])


def same_start(x, z):
    """Whether two texts begin with the same letter."""
    return float(x[0] == z[0])


def test_kernels_on_objects_read_one_column_as_it_is(columns):
    K = Pairwise(same_start).on("text")(columns)
    text = columns["text"]
    assert_array_equal(K, [[float(a[0] == b[0]) for b in text] for a in text])
    assert_array_equal(Pairwise(same_start).on(["text"])(pl.DataFrame(columns)), K)


def test_objects_numbers_and_categories_in_one_kernel(columns):
    kernel = Gaussian([9.0, 3.0]).on(["age", "dose"]) * Categorical().on("site") + Spectrum(3).on("text")
    numbers = np.stack([columns["age"], columns["dose"]], axis=1)
    expected = Gaussian([9.0, 3.0])(numbers) * Categorical()(columns["site"]) + Spectrum(3)(columns["text"])
    for X in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        assert_allclose(kernel(X), expected, rtol=1e-13)
    check_kernel(kernel, pl.DataFrame(columns)[:12])
    with pytest.raises(TypeError, match="'age'.*row 0"):
        Spectrum(3).on("age")(columns)
    with pytest.raises(TypeError, match="'text', 'site'.*row 0"):
        Spectrum(3).on(["text", "site"])(columns)


def test_numbers_of_columns_on_rows_of_anything(columns):
    rows = [[a, s, g] for a, s, g in zip(columns["age"], columns["site"], columns["grade"], strict=True)]
    by_name = (Gaussian(9.0).on("age") * Categorical([1.0, 0.5]).on(["site", "grade"]))(columns)
    by_number = Gaussian(9.0).on(0) * Categorical([1.0, 0.5]).on([1, 2])
    frame = pd.DataFrame(columns)[["age", "site", "grade"]]
    for X in (
        rows,
        np.array(rows, dtype=object),
        frame,
        frame.set_axis([0, 1, 2], axis=1),
        pl.DataFrame(frame.to_dict("list")),
    ):
        assert_allclose(by_number(X), by_name, rtol=1e-14)
    codes = {name: i for i, name in enumerate(sorted(set(columns["site"] + columns["grade"])))}
    coded = np.array([[a, codes[s], codes[g]] for a, s, g in rows])
    assert_allclose(by_number(coded), by_name, rtol=1e-14)


def test_frames_of_numbers_are_arrays_for_columns_by_number(columns):
    numbers = np.stack([columns["age"], columns["dose"]], axis=1)
    kernel = Gaussian(3.0).on(1) + Gaussian([10.0, 3.0])  # the second part reads whole rows
    for X in (pd.DataFrame(numbers), pd.DataFrame(numbers, columns=["age", "dose"]), numbers.tolist()):
        assert_array_equal(kernel(X), kernel(numbers))
    for X, error in ((np.ones((2, 2)) * 1j, "complex"), (["a", "b"], "could not convert"), (np.ones(3), "2-D")):
        with pytest.raises(ValueError, match=error):
            Gaussian().on(0)(X)


def test_columns_inside_columns(columns):
    inside = Gaussian(9.0).on("age") * Categorical().on("site")
    assert_array_equal(inside.on(["site", "age"])(columns), inside(columns))
    with pytest.raises(ValueError, match="'age'.*'site'"):
        inside.on(["site"])(columns)


def test_repr_reads_back(columns):
    text = 'Gaussian(1.0).on(["age", "dose"]) * Categorical().on("site")'
    assert parse_kernel(text) == Gaussian().on(["age", "dose"]) * Categorical().on("site")
    kernel = mixed()
    assert parse_kernel(repr(kernel)) == kernel
    assert kernel.named_columns() == ["age", "dose", "site", "sex", "grade"]
    assert (Gaussian().on([0, 1]) + Constant()).named_columns() == []
    by_array = Columns(Gaussian(), np.array(["age", "dose"]))
    assert parse_kernel(repr(by_array)) == by_array
    assert_array_equal(by_array(columns), Gaussian().on(["age", "dose"])(columns))


# ---------------------------------------------------------------------- the table
def test_parts_are_parts_of_the_whole(columns, rng):
    kernel = mixed()
    X, K = kernel.validate(columns), mixed()(columns)
    for index in (slice(3, 9), np.array([5, 2, 2]), rng.random(24) < 0.5, slice(0, 0)):
        assert_allclose(kernel(X[index], X), K[index], rtol=1e-13)
    assert X[3]["site"] == columns["site"][3] and X[-1]["age"] == columns["age"][-1]
    assert X[2:5]["text"] == columns["text"][2:5]
    assert X[["site", "age"]].columns == ["site", "age"] and X[[]].shape == (0, 6)
    assert len(X[5:][2:4]) == 2 and X[5:][2:4]["text"] == columns["text"][7:9]


def test_each_column_is_prepared_once(columns):
    calls = []

    class Watched(Categorical):
        def validate(self, X):
            calls.append(len(X))
            return super().validate(X)

    kernel = Watched().on("site") * Gaussian().on("age")
    X = kernel.validate(columns)
    assert calls == [24]
    for i in range(5):
        kernel(X[i : i + 3], X[5:])
        kernel.grad(X[i : i + 3], X[5:], np.ones((3, 19)))
    assert calls == [24]


def test_pickles_hold_the_rows_and_columns_that_were_read(columns):
    kernel = Gaussian(9.0).on("age") * Categorical().on("site")
    X = kernel.validate(columns)
    again = pickle.loads(pickle.dumps(X[4:10]))
    assert len(again) == 6 and again.columns == X.columns
    assert_allclose(kernel(again), kernel(X)[4:10, 4:10], rtol=1e-14)
    with pytest.raises(ValueError, match="'text'"):
        again["text"]


def test_inputs_stay_as_they_are(columns):
    frame = pd.DataFrame(columns)
    before = frame.copy()
    mixed()(frame)
    pd.testing.assert_frame_equal(frame, before)


# ---------------------------------------------------------------------- errors
def test_arrays_have_no_names(columns):
    with pytest.raises(TypeError, match=r"'age', 'dose'.*\(3, 2\)"):
        Gaussian().on(["age", "dose"])(np.ones((3, 2)))
    with pytest.raises(TypeError, match="name"):
        Gaussian().on("age")(np.array([["a", "b"]], dtype=object))
    with pytest.raises(TypeError, match="age"):
        (Gaussian() + Categorical().on("site"))(columns)
    with pytest.raises(TypeError, match="collect"):
        Gaussian().on("age")(pl.DataFrame(columns).lazy())


def test_errors_name_the_column(columns):
    def refused(match, **new):
        with pytest.raises((TypeError, ValueError), match=match):
            (Gaussian().on(["age", "dose"]) * Categorical().on("site"))({**columns, **new})

    age, dose = np.array(columns["age"]), [*columns["dose"][:-1], None]
    age[3] = np.inf
    refused("'age' of X, row 3: the value inf is not finite", age=age)
    refused("'dose' of X, row 23: the value None is missing", dose=dose)
    refused("'age' of X does not hold numbers", age=columns["text"])
    refused("'age' of X is datetime64", age=np.array(["2020-01-01"] * 24, dtype="datetime64[D]"))
    refused("'age' of X is complex", age=1j * columns["age"])
    refused("'age' of X must be one-dimensional", age=np.ones((24, 2)))
    refused("column 'site' has 3", site=["a", "b", "c"])
    refused("'age' of X has masked", age=np.ma.masked_greater(columns["age"], 50.0))
    refused("'site' of X: Categorical: row 0: a list", site=[["a"]] * 24)
    refused("'site' of X must be a sequence", site="b" * 24)
    refused("'site' of X must be a sequence, got int", site=7)
    refused("'site' of X must be a sequence, got ndarray", site=np.array("Bern"))


def test_names_must_be_different_strings():
    frame = pd.DataFrame(np.ones((2, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="'a'"):
        Gaussian().on("a")(frame)
    with pytest.raises(TypeError, match="0"):
        Table(pd.DataFrame(np.ones((2, 2))))
    with pytest.raises(ValueError, match="names"):
        Gaussian().on(["a", 1])({"a": [1.0]})
    with pytest.raises(ValueError, match="'agee'.*'age'"):
        Gaussian().on("agee")({"age": [1.0]})
    with pytest.raises(ValueError, match="column"):
        Table({})
