"""Attributes may be set at any time, in any order: a kernel never answers with what it was."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer.gram import TiledGram
from mercer.kernels import Constant, Gaussian, Matern32, Periodic, RationalQuadratic, Scaled

X = np.random.default_rng(0).standard_normal((9, 3))
W = np.random.default_rng(1).standard_normal((9, 9))
W = W + W.T


def fresh(kernel):
    """The same kernel made anew, node by node, from its parameters alone."""
    return clone(kernel)


def answers(kernel):
    """All that a kernel says of itself and of X."""
    gram = TiledGram(kernel, X)
    moved = kernel.with_theta(kernel.theta + 0.25)
    return {
        "names": kernel.names,
        "n_theta": kernel.n_theta,
        "theta": kernel.theta,
        "bounds": kernel.theta_bounds,
        "moved": moved.theta,
        "values": kernel(X),
        "moved values": moved(X),
        "moved gradient": moved.grad(X, X, W),
        "gradient": kernel.grad(X, X, W),
        "dense": gram.dense(lower=True),
        "gram gradient": gram.grad(W),
        "diag": gram.diag(),
        "text": repr(kernel),
    }


def assert_as_new(kernel):
    """A kernel with a past says what a new one with the same parameters says."""
    got, expected = answers(kernel), answers(fresh(kernel))
    for what, value in expected.items():
        if isinstance(value, np.ndarray):
            assert_array_equal(got[what], value, err_msg=what)
        else:
            assert got[what] == value, what


def _array_entry(kernel):
    kernel.kernel.length_scale[1] = 0.3  # in place


CHANGES = {
    "scale": lambda k: setattr(k, "scale", 3.0),
    "scale is fixed": lambda k: setattr(k, "scale_bounds", "fixed"),
    "bounds of the scale": lambda k: setattr(k, "scale_bounds", (0.1, 7.0)),
    "one length scale": lambda k: setattr(k.kernel, "length_scale", 0.8),
    "one for each column": lambda k: setattr(k.kernel, "length_scale", np.array([0.5, 1.0, 2.0])),
    "a list": lambda k: k.set_params(kernel__length_scale=[2.0, 1.0, 0.5]),
    "fixed length scale": lambda k: k.set_params(kernel__length_scale_bounds="fixed"),
    "another kernel": lambda k: setattr(k, "kernel", RationalQuadratic(0.6, 2.0)),
}


@pytest.mark.parametrize("order", list(itertools.permutations(CHANGES, 2)), ids=" then ".join)
def test_two_changes_in_every_order(order):
    kernel = 2.0 * Matern32(1.5)
    assert_as_new(kernel)
    for name in order:
        CHANGES[name](kernel)
        assert_as_new(kernel)


@pytest.mark.parametrize("seed", range(6))
def test_all_changes_in_a_random_order_on_a_kernel_and_its_copies(seed):
    rng = np.random.default_rng(seed)
    kernel = 2.0 * Matern32(1.5)
    for name in [*rng.permutation(list(CHANGES)), *rng.permutation(list(CHANGES))]:
        kernel = kernel if rng.random() < 0.5 else kernel.with_theta(kernel.theta - 0.1)
        CHANGES[name](kernel)
        assert_as_new(kernel)


def test_an_entry_of_an_array_and_of_a_list_set_in_place():
    kernel = 2.0 * Gaussian(np.array([0.5, 1.0, 2.0]))
    before = answers(kernel)
    _array_entry(kernel)
    assert_as_new(kernel)
    assert not np.allclose(answers(kernel)["values"], before["values"])
    kernel.kernel.length_scale = [0.5, 1.0, 2.0]
    assert_as_new(kernel)
    kernel.kernel.length_scale[2] = 0.1
    assert_as_new(kernel)
    moved = kernel.with_theta(kernel.theta)
    moved.kernel.length_scale[0] = 9.0
    assert kernel.kernel.length_scale[0] == 0.5
    assert_as_new(moved)


def test_a_copy_and_its_original_do_not_share_what_is_set():
    kernel = 2.0 * Gaussian([0.5, 1.0, 2.0]) + Periodic(0.7, 2.0) * Constant(0.5)
    one, two = kernel.with_theta(kernel.theta), kernel.with_theta(kernel.theta + 1.0)
    one.left.scale, two.right.left.period_bounds = 5.0, "fixed"
    for each in (kernel, one, two):
        assert_as_new(each)
    assert kernel.left.scale == 2.0 and kernel.right.left.period_bounds is None
    assert two.n_theta == kernel.n_theta - 1


def test_zero_becomes_fixed_and_comes_back():
    kernel = Constant(1.0) + Gaussian()
    assert kernel.n_theta == 2
    kernel.left.value = 0.0
    assert kernel.names == ["right__length_scale"]
    assert kernel.with_theta([0.3]).left.value == 0.0
    kernel.left.value = 4.0
    assert_allclose(kernel.theta, [np.log(4.0), 0.0])
    assert_as_new(kernel)


@pytest.mark.parametrize("bad", [-1.0, np.nan, [1.0, -1.0, 1.0]], ids=str)
def test_a_bad_value_set_later_is_refused(bad):
    kernel = 2.0 * Gaussian([1.0, 1.0, 1.0])
    answers(kernel)
    kernel.kernel.length_scale = bad
    for ask in (lambda: kernel(X), lambda: kernel.n_theta, lambda: kernel.theta, lambda: kernel.with_theta([0.0] * 4)):
        with pytest.raises(ValueError, match="length_scale"):
            ask()
    kernel.kernel.length_scale, kernel.kernel.length_scale_bounds = 1.0, "free"
    with pytest.raises(ValueError, match="length_scale_bounds"):
        kernel.with_theta([0.0, 0.0])


@pytest.mark.parametrize("size", [0, 1, 3, 5])
def test_theta_of_the_wrong_length_is_refused(size):
    for kernel in (Scaled(Gaussian(1.0), 2.0), Scaled(Gaussian([1.0]), 2.0)):
        with pytest.raises(ValueError, match="theta.* 2 .*kernel__length_scale"):
            kernel.with_theta(np.zeros(size))
    with pytest.raises(ValueError, match="theta.* 2 "):
        kernel.with_theta(np.zeros((1, 2)))
