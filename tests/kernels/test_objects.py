"""The doors: a user's function of two inputs, a user's matrix, and features of any objects."""

import pickle

import numpy as np
import pytest

from mercer.kernels import FeatureMap, Gaussian, Linear, MatrixRows, Pairwise, Precomputed
from mercer.testing import check_kernel

WORDS = ["abba", "cab", "bead", "a", "", "deed", "face", "ab", "bb", "cafe", "dad"]


def letters(words):
    return np.array([[word.count(c) for c in "abcdef"] for word in words])


def common(a, b):
    """Σ over the letters of the product of their counts: an inner product."""
    return float(letters([a])[0] @ letters([b])[0])


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, x, z):
        self.calls += 1
        return self.function(x, z)


# ---------------------------------------------------------------------- Pairwise
@pytest.mark.parametrize("collection", [list, tuple, lambda words: np.array(words, dtype=object), np.array])
def test_pairwise_reads_collections_of_every_kind(collection):
    expected = letters(WORDS) @ letters(WORDS).T
    np.testing.assert_array_equal(Pairwise(common)(collection(WORDS)), expected)
    check_kernel(Pairwise(common), collection(WORDS))


def test_pairwise_reads_rows_frames_and_columns():
    import pandas as pd

    X = np.random.default_rng(0).standard_normal((5, 2))
    expected = Linear()(X)
    kernel = Pairwise(lambda x, z: x @ z)
    np.testing.assert_allclose(kernel(X), expected)
    np.testing.assert_allclose(kernel(pd.DataFrame(X)), expected)
    np.testing.assert_array_equal(Pairwise(common)(pd.Series(WORDS)), letters(WORDS) @ letters(WORDS).T)
    assert kernel(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("bad", ["abc", b"abc", {"a": 1}, {1, 2}, None, 3, (word for word in WORDS)],
                         ids=["str", "bytes", "dict", "set", "None", "int", "generator"])  # fmt: skip
def test_what_is_not_a_sequence_is_refused(bad):
    for kernel in (Pairwise(common), FeatureMap(letters)):
        with pytest.raises(TypeError, match="sequence|one"):
            kernel(bad)


def test_pairwise_evaluates_half_of_a_symmetric_matrix():
    n, function, cross = len(WORDS), Counted(common), Counted(common)
    Pairwise(function)(WORDS)
    assert function.calls == n * (n + 1) // 2 + (n - 1)  # one pair in every row is called both ways
    Pairwise(cross)(WORDS[:3], WORDS)
    assert cross.calls == 3 * n


@pytest.mark.parametrize("collection", [WORDS, np.array(WORDS, dtype=object)], ids=["list", "array"])
def test_tiles_of_pairs_evaluate_no_more_than_half(collection, small_tiles):
    n, function = len(WORDS), Counted(common)
    np.testing.assert_array_equal(Pairwise(function)(collection), letters(WORDS) @ letters(WORDS).T)
    assert function.calls <= n * (n + 1) // 2 + n


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.nan, "nan"),
        (np.inf, "inf"),
        (None, "None"),
        ("1", "'1'"),
        (1j, "1j"),
        ([1.0], r"\[1.0\]"),
        (np.ones((1, 1)), "array"),
    ],
    ids=str,
)
def test_a_value_that_is_no_finite_number_is_shown_with_its_pair(value, shown):
    def function(x, z):
        return value if {x, z} == {"cab", "bead"} else 1.0

    message = rf"for x = 'bead', z = 'cab' it returned {shown}"
    with pytest.raises(ValueError, match=message):
        Pairwise(function)(WORDS)
    with pytest.raises(ValueError, match="function"):
        Pairwise(lambda x, z: value).diag(WORDS)


def test_an_error_of_the_function_keeps_its_type_and_gains_the_pair():
    with pytest.raises(ZeroDivisionError) as caught:
        Pairwise(lambda x, z: 1 / len(x))(WORDS)
    assert "x = '', z = 'abba'" in caught.value.__notes__[0]


def test_asymmetry_is_found_with_the_pair(small_tiles):
    def longer(x, z):
        return len(x) + 2.0 * len(z)

    with pytest.raises(ValueError, match="cab.*abba.* 11 .* 10 "):
        Pairwise(longer)(WORDS)
    with pytest.raises(AssertionError, match="symmetry"):
        check_kernel(Pairwise(longer), WORDS)


def test_indefinite_functions_are_found():
    def edit_like(x, z):
        return -float(abs(len(x) - len(z)))

    assert not Pairwise(edit_like).psd
    with pytest.raises(AssertionError, match=r"PSD.* -\d"):
        check_kernel(Pairwise(edit_like), WORDS)


def test_objects_in_compositions():
    kernel = 2.0 * Pairwise(common) + 1.0
    assert kernel.domain == "objects"
    np.testing.assert_allclose(kernel(WORDS), 2.0 * (letters(WORDS) @ letters(WORDS).T) + 1.0)
    check_kernel(kernel, WORDS)
    check_kernel(Pairwise(common).normalise() * FeatureMap(letters), [word for word in WORDS if word])
    check_kernel(1.0 + Pairwise(common), WORDS)


# ---------------------------------------------------------------------- FeatureMap
def test_feature_map_of_objects_equals_the_pairwise_function():
    np.testing.assert_array_equal(FeatureMap(letters)(WORDS), Pairwise(common)(WORDS))
    check_kernel(FeatureMap(letters), WORDS)


def test_feature_map_on_lists_of_unequal_and_of_equal_length_sees_lists():
    def sums(lists):
        assert isinstance(lists, list)
        return [[float(sum(inner)), 1.0] for inner in lists]

    np.testing.assert_array_equal(FeatureMap(sums)([[1, 2], [3]]), [[10, 10], [10, 10]])
    np.testing.assert_array_equal(FeatureMap(sums)([[1, 2], [3, 4]]), [[10, 22], [22, 50]])


# ---------------------------------------------------------------------- Precomputed
def matrices():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((8, 3)), rng.standard_normal((5, 3))
    k = Gaussian()
    return k(X), k(new, X), k(rng.standard_normal((8, 3)), X)


def test_precomputed_training_and_prediction():
    K, K_new, K_square = matrices()
    kernel = Precomputed()
    np.testing.assert_array_equal(kernel(K), K)
    np.testing.assert_array_equal(kernel(K_new, K), K_new)
    np.testing.assert_array_equal(kernel(K_square, K), K_square)  # as many new inputs as training inputs
    np.testing.assert_array_equal(kernel.diag(kernel.validate(K)), np.diagonal(K))


def test_precomputed_result_is_fresh():
    K, _, _ = matrices()
    before = K.copy()
    Precomputed()(K)[:] = 7.0
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize(
    "chosen",
    [slice(2, 6), slice(None, None, -1), slice(3, 3), [0, 5, 5], np.array([1, 7]), np.arange(8) % 2 == 0, [], 3],
    ids=str,
)
def test_rows_of_a_matrix_can_be_chosen(chosen):
    K, K_new, _ = matrices()
    kernel = Precomputed()
    rows = kernel.validate(K)
    index = np.atleast_1d(np.arange(8)[chosen if not isinstance(chosen, list) or chosen else slice(0, 0)])
    part = rows[chosen]
    assert len(part) == len(index)
    np.testing.assert_array_equal(kernel(part), K[np.ix_(index, index)])
    np.testing.assert_array_equal(kernel(rows, part), K[:, index])
    np.testing.assert_array_equal(kernel(kernel.validate(K_new), part), K_new[:, index])
    np.testing.assert_array_equal(kernel.diag(part), np.diagonal(K)[index])


def test_rows_of_new_inputs_can_be_chosen_too():
    K, K_new, _ = matrices()
    kernel = Precomputed()
    new = kernel.validate(K_new)
    assert new.index is None and new[1:3].index is None
    np.testing.assert_array_equal(kernel(new[[3, 1]], K), K_new[[3, 1]])


def test_precomputed_refusals():
    K, K_new, K_square = matrices()
    kernel = Precomputed()
    with pytest.raises(ValueError, match=" 7 .* 8 "):
        kernel(K_new[:, :7], K)
    with pytest.raises(ValueError, match=" 5 .* 8 "):
        kernel(K_new)
    with pytest.raises(ValueError, match=r"K\[\d, \d\].*K\[\d, \d\]"):
        kernel(K_square)
    with pytest.raises(ValueError, match="symmetric"):
        kernel.diag(K_square)
    with pytest.raises(ValueError, match=" 5 .* 8 "):
        kernel.diag(kernel.validate(K_new))
    with pytest.raises(ValueError, match="1-D"):
        kernel(K[0])
    with pytest.raises(ValueError, match="dtype"):
        kernel([["a"]])
    K[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"K\[2, 3\] is nan"):
        kernel(K)


def test_precomputed_allows_rounding_but_no_more():
    K, _, _ = matrices()
    K[0, 1] *= 1 + 1e-12
    assert np.array_equal(Precomputed()(K), Precomputed()(K).T)
    single = K.astype(np.float32)
    single[0, 1] *= np.float32(1 + 1e-6)
    assert Precomputed()(single).dtype == np.float64


def test_precomputed_scaled_and_by_tiles(small_tiles):
    K, K_new, _ = matrices()
    np.testing.assert_allclose((2.0 * Precomputed())(K), 2.0 * K)
    np.testing.assert_allclose((2.0 * Precomputed() + 1.0)(K_new, K), 2.0 * K_new + 1.0)


def test_matrix_rows_say_what_they_are_and_travel():
    K, K_new, _ = matrices()
    rows, new = Precomputed().validate(K), Precomputed().validate(K_new)
    assert repr(rows) == "MatrixRows(8 training rows, 8 columns)"
    assert repr(new) == "MatrixRows(5 new rows, 8 columns)"
    again = pickle.loads(pickle.dumps(rows))
    assert isinstance(again, MatrixRows)
    np.testing.assert_array_equal(Precomputed()(new, again), K_new)
    assert Precomputed().validate(rows) is rows


def test_kernels_travel_by_pickle():
    for kernel in (Pairwise(min), 2.0 * FeatureMap(np.tanh) + Gaussian([0.5, 1.0]), 2.0 * Precomputed()):
        assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_a_square_matrix_of_new_inputs_has_no_diagonal_and_says_so(rng):
    X, N = rng.standard_normal((6, 1)), rng.standard_normal((6, 1))
    with pytest.raises(ValueError, match="symmetric.* 6 "):
        Precomputed().diag(Gaussian()(N, X))
