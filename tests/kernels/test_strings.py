"""Kernels on strings: naive twins written from the definitions, bad input, and the estimators on top."""

import itertools
import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from examples_of_every_kernel import random_strings, sample
from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge
from mercer.exceptions import NotPositiveDefinite
from mercer.kernels import (
    Gappy,
    LocalAlignment,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
    parse_kernel,
)
from mercer.kernels.objects.collection import Objects
from mercer.kernels.objects.letters import encode
from mercer.selection import LOO
from mercer.testing import check_kernel

WORDS = ["", "a", "abab", "banana", "cab\0b", "😀ab😀ab", "bananas and cabs", "abc" * 5]
ALL = [Spectrum(2), Mismatch(3, 1, alphabet="abc"), Gappy(2, 1), WeightedDegree(2), Subsequence(2), LocalAlignment(0.3)]


def matrix(function, X, Z=None):
    return np.array([[function(x, z) for z in (X if Z is None else Z)] for x in X], dtype=float)


def dna(n, rng, longest=9):
    return random_strings(n, rng, "dna", longest)


# ---------------------------------------------------------------------- naive twins
def words(x, k):
    return [x[i : i + k] for i in range(len(x) - k + 1)]


@pytest.mark.parametrize("k", [1, 2, 4])
def test_spectrum_counts_common_words(k):
    naive = matrix(lambda x, z: sum(a == b for a in words(x, k) for b in words(z, k)), WORDS)
    np.testing.assert_array_equal(Spectrum(k)(WORDS), naive)
    both = Spectrum([k, k + 1], weights=[0.5, 3.0])(WORDS)
    np.testing.assert_allclose(both, 0.5 * naive + 3.0 * Spectrum(k + 1)(WORDS), rtol=1e-14)


def test_spectrum_is_the_same_for_other_cuts_and_collections(rng, small_tiles):
    X, Z = random_strings(23, rng), random_strings(11, rng, longest=20)
    naive = matrix(lambda x, z: sum(a == b for a in words(x, 2) for b in words(z, 2)), X, Z)
    np.testing.assert_array_equal(Spectrum(2)(X, Z), naive)
    np.testing.assert_array_equal(Spectrum(2)(Objects(X)[3:9], Z), naive[3:9])


@pytest.mark.parametrize("m", [0, 1, 2])
def test_mismatch_sums_over_all_words_of_the_alphabet(m, rng):
    def count(x, u):
        return sum(sum(a != b for a, b in zip(word, u, strict=True)) <= m for word in words(x, 3))

    X = dna(6, rng)
    every = ["".join(u) for u in itertools.product("ACGT", repeat=3)]
    Phi = np.array([[count(x, u) for u in every] for x in X], dtype=float)
    np.testing.assert_array_equal(Mismatch(3, m)(X), Phi @ Phi.T)


def occurrences(x, k):
    """{word: [span, …]} of all subsequences of k letters."""
    found = {}
    for places in itertools.combinations(range(len(x)), k):
        span = places[-1] - places[0] + 1
        found.setdefault("".join(x[i] for i in places), []).append(span)
    return found


@pytest.mark.parametrize(("k", "gaps"), [(1, 2), (2, 0), (2, 2), (3, 1), (3, 3)])
def test_gappy_sums_over_occurrences(k, gaps, rng):
    X, decay = dna(7, rng), 0.6

    def value(x, z):
        left, right = occurrences(x, k), occurrences(z, k)
        phi = [[sum(decay ** (s - k) for s in side.get(u, []) if s - k <= gaps) for side in (left, right)]
               for u in left.keys() & right.keys()]  # fmt: skip
        return sum(a * b for a, b in phi)

    np.testing.assert_allclose(Gappy(k, gaps, decay)(X), matrix(value, X), rtol=1e-13)


@pytest.mark.parametrize(("k", "shift"), [(1, 0), (3, 0), (2, 1), (2, 3)])
def test_weighted_degree_compares_words_at_their_places(k, shift, rng):
    X = dna(7, rng)

    def value(x, z):
        total = 0.0
        for d in range(1, k + 1):
            w = 2.0 * (k - d + 1) / (k * (k + 1))
            for (i, a), (j, b) in itertools.product(enumerate(words(x, d)), enumerate(words(z, d))):
                total += w * max(0.0, 1.0 - abs(i - j) / (shift + 1)) * (a == b)
        return total

    np.testing.assert_allclose(WeightedDegree(k, shift)(X), matrix(value, X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_subsequence_sums_over_all_places(length, rng, loops):
    X, decay = dna(6, rng, 7), 0.7

    def value(x, z):
        left, right = occurrences(x, length), occurrences(z, length)
        return sum(decay ** (s + t) for u in left for s in left[u] for t in right.get(u, []))

    np.testing.assert_allclose(Subsequence(length, decay)(X), matrix(value, X), rtol=1e-12)
    np.testing.assert_allclose(Subsequence(length, decay).diag(X), [value(x, x) for x in X], rtol=1e-12)


def gap_cost(before, after, start, extend):
    skipped = after - before - 1
    return start + extend * (skipped - 1) if skipped else 0.0


@pytest.mark.parametrize("substitution", [(2.0, -1.0), "blosum62"], ids=str)
def test_local_alignment_sums_over_all_alignments(substitution, rng, loops):
    X, beta, start, extend = dna(5, rng, 5), 0.4, 1.5, 0.5
    scores = LocalAlignment(beta, substitution)._matrix("ACGT")

    def value(x, z):
        total = 1.0
        for size in range(1, min(len(x), len(z)) + 1):
            for i, j in itertools.product(*(itertools.combinations(range(len(s)), size) for s in (x, z))):
                score = sum(scores["ACGT".index(x[a]), "ACGT".index(z[b])] for a, b in zip(i, j, strict=True))
                score -= sum(gap_cost(a, b, start, extend) for side in (i, j) for a, b in itertools.pairwise(side))
                total += math.exp(beta * score)
        return total

    kernel, expected = LocalAlignment(beta, substitution, start, extend), matrix(value, X)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.set_params(log=True)(X), np.log(expected) / beta, rtol=1e-12, atol=1e-14)


def test_local_alignment_tends_to_the_best_score():
    kernel = LocalAlignment(8.0, (2.0, -1.0), 3.0, 1.0, log=True)
    np.testing.assert_allclose(kernel(["xxabcdyy"], ["zzabcdz", "abxcd", "qqq"]), [[8.0, 5.0, 0.0]], atol=0.05)


def test_blosum62_is_what_everyone_uses():
    kernel = LocalAlignment(0.5, "blosum62")
    S = kernel._matrix("ARNDCQEGHILKMFPSTWYV")
    assert np.array_equal(S, S.T)
    assert np.diag(S).tolist() == [4, 5, 6, 6, 9, 5, 5, 6, 8, 4, 4, 5, 5, 6, 7, 4, 5, 11, 7, 4]
    pairs = {"WY": 2, "IV": 3, "DE": 2, "KR": 2, "FY": 3, "HY": 2, "CW": -2, "GW": -2, "PF": -4, "AS": 1}
    assert {pair: kernel._matrix(pair)[0, 1] for pair in pairs} == pairs


# ---------------------------------------------------------------------- long strings, gradients
def test_long_alignments_do_not_overflow(rng, loops):
    X = ["ab" * 400, "ba" * 300]
    K = LocalAlignment(1.0, log=True)(X)
    assert np.isfinite(K).all() and K[0, 0] > 1600  # 800 letters of score 2
    with pytest.raises(ValueError, match="log=True"):
        LocalAlignment(1.0)(X)


@pytest.mark.parametrize("kernel", [LocalAlignment(0.4, log=True)], ids=repr)
def test_gradient_of_the_logarithm(kernel, rng, loops):
    X, W, step = dna(8, rng), rng.standard_normal((8, 8)), 1e-5
    up, down = (clone(kernel).set_params(beta=0.4 * math.exp(s)) for s in (step, -step))
    expected = np.sum(W * (up(X) - down(X))) / (2 * step)
    np.testing.assert_allclose(kernel.grad(kernel.validate(X), kernel.validate(X), W), [expected], rtol=1e-7)


def test_psd_is_said_and_true(rng):
    assert LocalAlignment(0.5, "blosum62").psd and not LocalAlignment(0.5, "blosum62", log=True).psd
    assert not LocalAlignment(0.5, (1.0, 2.0)).psd  # different letters are worth more than equal ones
    check_kernel(LocalAlignment(0.2, "blosum62", 11.0, 1.0), random_strings(7, rng, "protein"))
    for kernel in ALL:
        check_kernel(kernel.normalise(), sample(kernel, 7, rng))
    for kernel in (Gappy(2, 1), Subsequence(2)):  # by features, and by pairs
        check_kernel(2.0 * kernel + Spectrum(1), sample(kernel, 7, rng))


# ---------------------------------------------------------------------- input
def test_bytes_unicode_and_arrays_are_read_alike():
    text = ["abc", "cab", "é"]
    expected = Spectrum(1)(text)
    np.testing.assert_array_equal(Spectrum(1)([t.encode("latin-1") for t in text]), expected)
    np.testing.assert_array_equal(Spectrum(1)(np.array(text)), expected)
    np.testing.assert_array_equal(Spectrum(1)(np.array(text, dtype=object)), expected)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_strange_strings_have_defined_values(kernel):
    X = ["", "\0", "a\0b", "😀", "\ud800", "a" * 50] if getattr(kernel, "alphabet", None) is None else ["", "abc"]
    K = kernel(X)
    unit = kernel.normalise()(X)
    assert np.isfinite(K).all() and np.isfinite(unit).all()
    np.testing.assert_allclose(kernel.diag(kernel.validate(X)), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose([[kernel([x], [z])[0, 0] for z in X] for x in X], K, rtol=1e-12)  # one by one
    np.testing.assert_allclose(np.diag(unit), np.diag(K) > 0, rtol=1e-12)  # 1, or 0 for a string without features
    assert kernel(X[:0], X).shape == (0, len(X)) and kernel(X, X[:0]).shape == (len(X), 0)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize(("bad", "shown"), [(None, "None"), (float("nan"), "nan"), (3, "int"), (["a"], "list")])
def test_what_is_no_string_is_refused_by_row(kernel, bad, shown):
    with pytest.raises(TypeError, match=f"{type(kernel).__name__}.*row 2.*{shown}"):
        kernel(["abc", "a", bad])
    with pytest.raises(TypeError, match="list"):
        kernel("abc")


def test_unknown_letters_are_named_or_skipped():
    X = ["ACGT", "acgt", "ACNGT"]
    with pytest.raises(ValueError, match="row 2.*'N'.*'ACGT'"):
        Spectrum(2, alphabet="dna")(X)
    K = Spectrum(2, alphabet="dna", unknown="skip")(X)
    np.testing.assert_array_equal(K, [[3, 3, 2], [3, 3, 2], [2, 2, 2]])
    for kernel in (Mismatch(2, 1), Gappy(2, 1, alphabet="dna"), WeightedDegree(2, alphabet="dna")):
        with pytest.raises(ValueError, match="row 2.*'N'"):
            kernel(X)
        assert np.isfinite(kernel.set_params(unknown="skip")(X)).all()
    with pytest.raises(ValueError, match="row 0.*'b'"):
        Subsequence(2, alphabet="dna")(["Ab"])
    assert encode(["AXC"], "x", "dna", "skip").item(0).tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spectrum(0), "k must be a whole number >= 1"),
        (Spectrum([2, 2]), "several different"),
        (Spectrum([1, 2], weights=[1.0]), "weights must be 2 numbers"),
        (Spectrum(2, weights=[-1.0]), "weights must be finite and >= 0"),
        (Spectrum(2, alphabet="AA"), "a letter twice"),
        (Spectrum(2, unknown="drop"), "unknown must be"),
        (Mismatch(3, 3), "m must be below k"),
        (Mismatch(3, 1, alphabet=None), "give the alphabet"),
        (Mismatch(20, 1, alphabet="protein"), "more than 2⁶³ words"),
        (Gappy(2, -1), "gaps must be a whole number"),
        (Gappy(2, 1, 0.0), "decay must be positive"),
        (Subsequence(0), "length must be a whole number"),
        (Subsequence(2, -1.0), "decay must be positive"),
        (LocalAlignment(0.5, "pam"), "substitution must be"),
        (LocalAlignment(0.5, [[1.0, 2.0], [3.0, 4.0]], alphabet="AC"), "symmetric matrix for the 2 letters"),
        (LocalAlignment(0.5, gap_open=-1.0), "gap_open and gap_extend"),
        (LocalAlignment(100.0), "take a smaller beta"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(["AC", "CA"])


def test_features_of_new_strings_are_in_the_old_columns(rng):
    X, Z = dna(9, rng), [*dna(4, rng), "ACGTTTACG"]
    for kernel in (Spectrum([1, 2], weights=[1.0, 0.3]), Gappy(2, 2, 0.4), Mismatch(3), WeightedDegree(2, 1)):
        P = kernel.features(X)
        np.testing.assert_allclose((P @ P.T).toarray(), kernel(X), rtol=1e-13)
        np.testing.assert_allclose((kernel.features(Z, like=X) @ P.T).toarray(), kernel(Z, X), rtol=1e-13)


def test_a_collection_is_counted_once(monkeypatch):
    calls = []
    count = Spectrum._read
    monkeypatch.setattr(Spectrum, "_read", lambda self, items: calls.append(len(items)) or count(self, items))
    kernel = Spectrum([1, 2], weights=[1.0, 2.0])
    X = kernel.validate(WORDS)
    for other in (kernel, kernel.with_theta(kernel.theta + 1.0), kernel.fixed(), kernel.normalise()):
        other(X), other.diag(X), other(X[:3], X[2:])
    assert calls == [len(WORDS)]
    assert Spectrum([1, 3])._key() != kernel._key()


# ---------------------------------------------------------------------- estimators
def motif_data(n, rng):
    X = random_strings(n, rng, "dna", 25)
    return X, np.array([x.count("AC") - 0.5 * x.count("GT") for x in X]) + 0.05 * rng.standard_normal(n)


def test_ridge_chooses_the_length_of_words(rng):
    X, y = motif_data(80, rng)
    model = KernelRidge([Spectrum(1), Spectrum(2), Spectrum(4)], criterion=LOO()).fit(X, y)
    assert repr(model.kernel_) == "Spectrum(2)"
    Z, truth = motif_data(40, rng)
    assert model.score(Z, truth) > 0.95


def test_weights_and_decay_are_learnt(rng):
    X, y = motif_data(60, rng)
    model = GaussianProcessRegressor(1.0 * Spectrum([1, 2, 3], weights=[1.0, 1.0, 1.0])).fit(X, y)
    weights = model.kernel_.kernel.weights
    assert weights[1] > 10 * weights[2]
    mean, std = model.predict(X[:3], return_std=True)
    assert np.isfinite(mean).all() and (std >= 0).all()
    kernel = Gappy(2, 1, 0.3, alphabet="dna")
    gapped = [sum(x[i] == "A" and x[i + 2] == "C" for i in range(len(x) - 2)) for x in X]
    y = np.array([x.count("AC") for x in X]) + 0.7 * np.array(gapped) + 0.05 * rng.standard_normal(60)
    model = KernelRidge(kernel, criterion=LOO()).fit(X, y)
    assert 0.5 < model.kernel_.decay < 0.9


@pytest.mark.parametrize("kernel", ALL[:1] + ALL[2:], ids=repr)
def test_classifier_cross_validation_and_copies(kernel, rng):
    import pickle

    X, y = motif_data(30, rng)
    label = np.where(y > np.median(y), "more", "less")
    model = KernelMachine(kernel.normalise(), loss="logistic")
    assert cross_val_score(model, X, label, cv=3).shape == (3,)
    fitted = clone(model).fit(X, label)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert parse_kernel(repr(fitted.kernel_)) == fitted.kernel_


def test_an_indefinite_alignment_is_found_on_the_data():
    X = random_strings(60, np.random.default_rng(0), "dna", 25)
    with pytest.raises(NotPositiveDefinite, match=r"LocalAlignment\(0.3, log=True\)"):
        KernelRidge(LocalAlignment(0.3, log=True)).fit(X, np.zeros(60))
    KernelRidge(LocalAlignment(0.3).normalise()).fit(X, np.zeros(60))


def test_grid_search_over_the_length(rng):
    X, y = motif_data(40, rng)
    search = GridSearchCV(KernelRidge(Spectrum(1), lam=0.1), {"kernel__k": [1, 2, [1, 2]]}, cv=3).fit(X, y)
    assert search.best_params_["kernel__k"] in (2, [1, 2])


# ---------------------------------------------------------------------- data
def test_promoters(shared_data):
    import csv

    with open(shared_data / "structured" / "promoters.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    X, y = [row["sequence"] for row in rows], np.array([row["label"] for row in rows])
    model = KernelMachine(WeightedDegree(5, alphabet="dna").normalise(), loss="hinge", lam=0.01)
    assert cross_val_score(model, X, y, cv=10).mean() > 0.9
