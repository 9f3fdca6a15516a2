"""The public checks pass on what is shipped, and name the property that a broken part violates."""

import inspect

import numpy as np
import pytest

from check_assertions import assert_passes
from mercer import selection, solvers
from mercer.gram import DenseGram, ScaledGram, TiledGram
from mercer.kernels import Gaussian
from mercer.selection import GCV, LOO, Evidence, KFold
from mercer.solvers import CG, Cholesky, Mixed, Spectral
from mercer.testing import check_criterion, check_gram, check_solver


@pytest.mark.parametrize("make", [TiledGram, DenseGram, lambda k, X: ScaledGram(TiledGram(k, X), np.arange(1.0, 21.0))])
def test_every_gram(make, rng):
    assert_passes(check_gram, make(2.0 * Gaussian([0.5, 1.0]), rng.standard_normal((20, 2))))


def shipped(package, base):
    """The classes of a package's public names that derive from ``base`` and can be used."""
    found = [getattr(package, name) for name in package.__all__]
    classes = [cls for cls in found if inspect.isclass(cls) and issubclass(cls, base) and not inspect.isabstract(cls)]
    return sorted(classes, key=lambda cls: cls.__name__)


SOLVERS = [CG(tol=1e-11) if cls is CG else cls() for cls in shipped(solvers, solvers.Solver)]
OTHERS = [LOO("log_density"), LOO("crps"), GCV("robust"), GCV("modified"), Evidence(True), KFold(3)]
CRITERIA = [cls() for cls in shipped(selection, selection.SmoothCriterion) if cls is not selection.GroupKFold]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_solver(solver):
    assert_passes(check_solver, solver)


@pytest.mark.parametrize("criterion", CRITERIA + OTHERS, ids=repr)
def test_every_smooth_criterion(criterion):
    assert_passes(check_criterion, criterion)


def test_criteria_and_solvers_are_found():
    assert {type(one) for one in CRITERIA} >= {LOO, GCV, Evidence}
    assert {type(one) for one in SOLVERS} >= {Cholesky, Mixed, Spectral, CG}


class Lopsided(DenseGram):
    """Forgets half of a product."""

    def _product(self, V):
        return np.tril(self.matrix) @ V


class TooMuch(Cholesky):
    """Inverts K + 2λI."""

    def resolvent(self, K):
        inner = super().resolvent(K)

        def of(lam):
            Kinv = inner(2 * lam)
            Kinv.lam = lam
            return Kinv

        return of


class Doubled(LOO):
    """Its adjoint is twice the derivative."""

    def adjoint(self, Kinv, y, weight=None):
        return 2.0 * super().adjoint(Kinv, y)


def test_broken_parts_are_named(rng):
    K = Lopsided(Gaussian(), rng.standard_normal((5, 1)))
    with pytest.raises(AssertionError, match="product"):
        check_gram(K)
    with pytest.raises(AssertionError, match="solve"):
        check_solver(TooMuch())
    with pytest.raises(AssertionError, match="adjoint"):
        check_criterion(Doubled())
