"""All shipped kernels, found by reflection, keep every promise of check_kernel: no exclusion list."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer.kernels
from check_assertions import assert_passes
from examples_of_every_kernel import examples, sample
from mercer import _tiles
from mercer.kernels import Constant, Exponential, Gaussian, Kernel, Linear, Matern32, Periodic
from mercer.kernels.parse import kernel_classes
from mercer.testing import check_kernel


def all_subclasses(cls):
    """Every class below a class."""
    return {sub for child in cls.__subclasses__() for sub in {child} | all_subclasses(child)}


def shipped():
    """Final Kernel subclasses of every module under mercer.kernels, whether exported or not."""
    for module in pkgutil.walk_packages(mercer.kernels.__path__, "mercer.kernels."):
        importlib.import_module(module.name)
    classes = {cls for cls in all_subclasses(Kernel) if cls.__module__.startswith("mercer.kernels")}
    inner = {base for cls in classes for base in cls.__mro__[1:]}
    return sorted(classes - inner, key=lambda cls: cls.__name__)


EXAMPLES = [kernel for found in examples().values() for kernel in found]


@pytest.mark.parametrize("kernel", EXAMPLES, ids=repr)
def test_shipped_kernel_passes(kernel, loops):
    assert_passes(check_kernel, kernel, sample(kernel, 13, np.random.default_rng(0)))


def test_every_final_class_is_public_and_has_an_example():
    assert {cls.__name__ for cls in shipped()} == set(kernel_classes()) == set(examples())


def test_all_names_exist_and_are_sorted():
    assert mercer.kernels.__all__ == sorted(mercer.kernels.__all__)
    assert all(hasattr(mercer.kernels, name) for name in mercer.kernels.__all__)


@pytest.mark.parametrize("kernel", EXAMPLES, ids=repr)
def test_many_tiles_give_the_same_matrix(kernel, loops, small_tiles, monkeypatch):
    X = kernel.validate(sample(kernel, 13, np.random.default_rng(1)))
    W = np.random.default_rng(2).standard_normal((13, 13))
    W = W + W.T
    many, cross = kernel(X), kernel(X[:9], X[3:])
    product = _tiles.product(kernel, X, X, W, symmetric=True)
    gradient = _tiles.contract(kernel, X, X, W, True)
    monkeypatch.undo()
    one = kernel(X)
    size = np.abs(one).max()
    np.testing.assert_allclose(many, one, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(cross, one[:9, 3:], rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(product, one @ W, rtol=0, atol=1e-10 * max(size, 1e-300))
    np.testing.assert_allclose(gradient, kernel.grad(X, X, W), rtol=1e-9, atol=1e-10 * size)


def random_tree(rng, depth):
    """A random kernel of the algebra."""
    if depth == 0:
        leaves = [Gaussian(0.8), Gaussian([0.5, 1.0, 2.0]), Linear(), Constant(0.5), Matern32(1.5), Exponential(2.0),
                  Periodic(1.2, 4.0)]  # fmt: skip
        return leaves[rng.integers(len(leaves))]
    left, right = random_tree(rng, depth - 1), random_tree(rng, rng.integers(depth))
    makers = [
        lambda: left + right,
        lambda: left * right,
        lambda: 0.7 * left,
        lambda: left + 1.5,
        lambda: left**2,
        lambda: (0.01 * left).exp(),
        lambda: left.polynomial([0.5, 0.0, 0.1]),
        lambda: (left + 1.0).normalise(),
        lambda: Gaussian(0.7).on([0, 2]) * left,
    ]
    return makers[rng.integers(len(makers))]()


@pytest.mark.parametrize("seed", range(20))
def test_random_compositions_pass(seed):
    assert_passes(check_kernel, random_tree(np.random.default_rng(seed), 3), random_state=seed)


def test_importing_kernels_is_light():
    """Neither matplotlib nor scikit-learn's Gaussian processes are imported before they are used."""
    code = (
        "import sys, mercer.kernels as k; k.Gaussian()([[0.0], [1.0]]);"
        "heavy = {'matplotlib', 'dask', 'sklearn.gaussian_process.kernels'} & set(sys.modules);"
        "print('heavy:', *sorted(heavy))"
    )
    source = os.environ | {"PYTHONPATH": str(Path(mercer.kernels.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=source, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("heavy:", "")
