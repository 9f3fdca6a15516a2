"""Findings of small models, made once, that the tests of the page look at and change copies of."""

import warnings

import numpy as np
import pytest

from mercer import GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian
from mercer.report import PageContext, collect
from mercer.selection import LOO

HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>window.hacked=1</script>", 'a\u2028b<!-- & "q"']


def columns(n=60, d=3, seed=0):
    """Columns of numbers."""
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, d))


@pytest.fixture(scope="session")
def process():
    """(model, X, y): a Gaussian process on clean data."""
    X = columns()
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * np.random.default_rng(1).standard_normal(len(X))
    return GaussianProcessRegressor(1.0 * Gaussian([0.5, 0.8, 3.0]), 0.01, criterion=None).fit(X, y), X, y


@pytest.fixture(scope="session")
def regression(process):
    """Findings of the process, with hostile names."""
    model, X, y = process
    context = PageContext(command="mercer fit '<x>.csv'", notes=["2 rows without a <target> were dropped."])
    return collect(model, X, y, feature_names=HOSTILE, target="yield <b>kg</b>", context=context)


@pytest.fixture(scope="session")
def classification():
    """Findings of a classifier with two classes."""
    X = columns(80, 2)
    y = np.where(X[:, 0] + 0.3 * np.random.default_rng(2).standard_normal(80) > 0, "</script>yes", "no")
    model = GaussianProcessClassifier(2.0 * Gaussian(0.8), criterion=None).fit(X, y)
    return collect(model, X, y, target="answer")


@pytest.fixture(scope="session")
def ridge():
    """Findings of a ridge model whose λ and length scale were chosen."""
    X = columns(50, 1)
    y = np.sin(4 * X[:, 0]) + 0.1 * np.random.default_rng(3).standard_normal(50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return collect(KernelRidge(Gaussian(0.5), criterion=LOO()).fit(X, y), X, y)


@pytest.fixture
def sections(regression):
    """Findings of the process, which a test changes by `changed`."""
    return regression


@pytest.fixture
def label_sections(classification):
    """Findings of the classifier."""
    return classification
