"""Kernels on bags of members: against double loops, empty bags, members of every kind, bad input, estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import BagMean, BestMatch, Gaussian, Linear, Matern32, Pairwise, Spectrum
from mercer.testing import check_kernel

BAGS = [["abc", "bcd"], ["abcabc"], [], ["", "zzz", "bca"]]


def points(rng, n, low=1, high=6):
    return [rng.standard_normal((rng.integers(low, high), 2)) for _ in range(n)]


def test_mean_is_the_mean_over_pairs(rng):
    X, Z, base = points(rng, 5), points(rng, 4), Matern32(0.7)
    expected = [[base(x, z).mean() for z in Z] for x in X]
    np.testing.assert_allclose(BagMean(base)(X, Z), expected, atol=1e-14)
    np.testing.assert_allclose(BagMean(base).diag(X), [base(x).mean() for x in X], atol=1e-14)


def test_best_match_is_the_mean_of_maxima(rng):
    X, Z, base = points(rng, 5), points(rng, 4), Gaussian(0.7)
    expected = np.zeros((5, 4))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            K = [[float(base([a], [b])[0, 0]) for b in z] for a in x]
            there = sum(max(row) for row in K) / len(K)
            back = sum(max(column) for column in zip(*K, strict=True)) / len(K[0])
            expected[i, j] = (there + back) / 2
    np.testing.assert_allclose(BestMatch(base)(X, Z), expected, atol=1e-14)


@pytest.mark.parametrize("lift", [BagMean, BestMatch])
def test_members_may_be_strings(lift):
    kernel, base = lift(Spectrum(2)), Spectrum(2)
    K = kernel(BAGS)
    singles = [[word] for bag in BAGS for word in bag]
    np.testing.assert_allclose(kernel(singles), base([bag[0] for bag in singles]))
    assert (K[2] == 0).all() and (K[:, 2] == 0).all()
    assert K[0, 1] > 0
    np.testing.assert_allclose(kernel(BAGS[:2], BAGS[1:]), K[:2, 1:])


def test_members_may_be_anything_and_bags_sets_tuples_or_arrays(rng):
    kernel = BagMean(Pairwise(lambda a, b: float(a == b)))
    np.testing.assert_allclose(kernel([{"x", "y"}, ("x",), np.array(["y", "z", "y", "y"])]),
                               [[0.5, 0.5, 0.375], [0.5, 1.0, 0.0], [0.375, 0.0, 0.625]])  # fmt: skip
    flat = BagMean(Linear())
    np.testing.assert_allclose(flat([[1.0, 3.0], np.array([2.0])]), [[4.0, 4.0], [4.0, 4.0]])


def test_normalised_mean_is_the_cosine(rng):
    X = [*points(rng, 6), []]
    K = BagMean(Gaussian()).normalise()(X)
    np.testing.assert_allclose(np.diag(K), [1.0] * 6 + [0.0])
    assert np.abs(K).max() <= 1.0 + 1e-12
    check_kernel(BagMean(Gaussian()).normalise(), X)


def test_order_within_a_bag_does_not_matter(rng):
    X = points(rng, 6, low=2)
    for kernel in (BagMean(Gaussian()), BestMatch(Gaussian())):
        np.testing.assert_allclose(kernel([x[::-1] for x in X]), kernel(X), atol=1e-14)


def test_mean_is_psd_and_best_match_need_not_be(rng):
    X = points(rng, 20)
    K = BagMean(Gaussian(0.5))(X)
    assert BagMean(Gaussian()).psd and np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)
    assert not BestMatch(Gaussian()).psd
    a, b, c = [0.0], [1.0], [2.0]
    witness = [[a, b], [b, c], [a, c], [a, b, c]]  # four bags on which it is indefinite
    assert np.linalg.eigvalsh(BestMatch(Gaussian(0.3))(witness)).min() < -1e-3
    with pytest.raises(AssertionError, match="PSD"):
        check_kernel(BestMatch(Gaussian(0.3)), witness)


@pytest.mark.parametrize("lift", [BagMean, BestMatch])
def test_bad_bags_are_refused_with_their_row(rng, lift):
    good = rng.standard_normal((3, 2))
    for bad in (3.5, "abc", None, {"a": 1}, np.array([[np.nan, 0.0]]), np.zeros((2, 3)), [["x", "y"]]):
        with pytest.raises((TypeError, ValueError), match="row 1"):
            lift(Gaussian())([good, bad, good])
    with pytest.raises((TypeError, ValueError), match="row 1"):
        lift(Spectrum(2))([["ab"], [3], ["b"]])
    with pytest.raises(ValueError, match=" 2 .* 3"):
        lift(Gaussian())([good], [np.zeros((2, 3))])


@pytest.mark.parametrize("lift", [BagMean, BestMatch])
def test_only_empty_bags(lift):
    np.testing.assert_array_equal(lift(Gaussian())([[], []]), np.zeros((2, 2)))
    np.testing.assert_array_equal(lift(Spectrum(2))([[], []]), np.zeros((2, 2)))


def test_estimators_take_bags(rng):
    X = points(rng, 40, low=3, high=9)
    y = np.array([np.sin(x[:, 0]).mean() for x in X])
    model = KernelRidge(BagMean(Gaussian()), 1e-3)
    assert clone(model).fit(X, y).score(X, y) > 0.99
    assert cross_val_score(model, X, y, cv=4).min() > 0.8
    gp = GaussianProcessRegressor(1.0 * BagMean(Gaussian()), random_state=0).fit(X, y)
    assert gp.kernel_.kernel.base.length_scale != 1.0
    mean, std = gp.predict(X[:3], return_std=True)
    assert mean.shape == std.shape == (3,)


def test_an_estimator_tests_best_match_on_the_data():
    witness = [[[0.0], [1.0]], [[1.0], [2.0]], [[0.0], [2.0]], [[0.0], [1.0], [2.0]]]
    with pytest.raises(ValueError, match=r"BestMatch\(Gaussian\(0.3\)\)"):
        KernelRidge(BestMatch(Gaussian(0.3)), 1e-3).fit(witness, [0.0, 1.0, 2.0, 3.0])
