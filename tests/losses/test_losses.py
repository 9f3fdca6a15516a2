"""Losses: what check_loss asks of every one of them, the limits that connect them, and errors with names."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from check_assertions import assert_passes
from mercer import losses
from mercer.losses import BY_NAME, Absolute, Expectile, Huber, Logistic, Loss, Poisson, Quantile, Squared
from mercer.losses.base import as_dual
from mercer.testing import check_loss


def concrete(cls):
    """Every class below that is not abstract, of the package."""
    for sub in cls.__subclasses__():
        yield from concrete(sub)
        if not inspect.isabstract(sub) and sub.__module__.startswith("mercer.losses"):
            yield sub


ALL = sorted(set(concrete(Loss)), key=lambda cls: cls.__name__)
OTHERS = [
    losses.EpsilonInsensitive(0.0),
    losses.SquaredEpsilonInsensitive(1.0),
    Huber(0.2),
    Quantile(0.9),
    Quantile([0.1, 0.5, 0.8]),
    Expectile(0.05),
]


@pytest.mark.parametrize("loss", [cls() for cls in ALL] + OTHERS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_every_loss(loss, seed):
    assert_passes(check_loss, loss, random_state=seed)


def test_every_loss_is_public_and_has_a_name():
    assert set(BY_NAME.values()) == set(ALL)
    for name, cls in BY_NAME.items():
        assert name.replace("_", "") == cls.__name__.lower()
        assert cls.__name__ in losses.__all__
        assert " = " in cls.__doc__.splitlines()[0] and cls.__doc__.startswith("L")


class Bent(Squared):
    """Its derivative is half of what it should be."""

    def grad(self, y, f):
        return 0.5 * super().grad(y, f)


class Loose(Absolute):
    """Its box is twice as large."""

    def dual(self, y, c):
        return as_dual(y, 0.0, 0.0, -2.0 * np.asarray(c), 2.0 * np.asarray(c))


class Hollow(Absolute):
    """Is not convex."""

    def value(self, y, f):
        return np.sqrt(np.abs(np.asarray(y, dtype=float) - f))


class Mute(Loss):
    """Can be fitted by nobody."""

    def value(self, y, f):
        return np.abs(y - f)


@pytest.mark.parametrize(
    ("loss", "property"), [(Bent(), "grad"), (Loose(), "dual"), (Hollow(), "convex"), (Mute(), "no solver")], ids=repr
)
def test_a_broken_loss_is_named(loss, property):
    with pytest.raises(AssertionError, match=property):
        check_loss(loss)


def test_limits_that_connect_the_losses(rng):
    y, f = rng.normal(size=50), rng.normal(size=50)
    assert_allclose(Huber(1e6).value(y, f), Squared().value(y, f), rtol=1e-12)
    assert_allclose(Huber(1e-9).value(y, f) / 2e-9, Absolute().value(y, f), rtol=1e-6)
    assert_allclose(2.0 * Quantile(0.5).value(y, f), Absolute().value(y, f), rtol=1e-12)
    assert_allclose(Expectile(0.5).value(y, f), Squared().value(y, f), rtol=1e-12)
    assert_allclose(losses.EpsilonInsensitive(0.0).value(y, f), Absolute().value(y, f), rtol=1e-12)


def test_values_by_hand():
    assert_allclose(Logistic().value(-1.0, 2.0), np.log(1 + np.exp(2.0)), rtol=1e-14)
    assert_allclose(Poisson().value(3.0, 0.5), np.exp(0.5) - 1.5, rtol=1e-14)
    assert Poisson().mean(np.log(3.0)) == pytest.approx(3.0)
    assert Quantile(0.9).value(1.0, 0.0) == pytest.approx(0.9)


def test_no_overflow_far_out():
    far = np.array([-1e4, 1e4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert_array_equal(Logistic().value(1.0, far), [1e4, 0.0])
        assert_array_equal(Logistic().grad(1.0, far), [-1.0, 0.0])
        assert_array_equal(Logistic().hess(1.0, far), [0.0, 0.0])
        assert Poisson().value(1.0, far)[1] == np.inf


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (Huber(0.0), "delta"),
        (Quantile(1.0), "level"),
        (Quantile([]), "level"),
        (Quantile([0.5, 1.5]), "level"),
        (Expectile(0.0), "level"),
        (losses.EpsilonInsensitive(-1.0), "epsilon"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(loss, name):
    with pytest.raises(ValueError, match=name):
        loss.value(np.zeros(2), np.ones(2))


def test_parameters_as_scikit_learn_reads_them():
    loss = Huber(0.5)
    assert loss.get_params() == {"delta": 0.5}
    assert repr(loss) == "Huber(delta=0.5)" and repr(Huber()) == "Huber()"
    assert clone(loss) == loss and hash(clone(loss)) == hash(loss) and loss != Huber()
    assert clone(loss).set_params(delta=2.0) == Huber(2.0)
    with pytest.raises(ValueError, match="'width'"):
        loss.set_params(width=1.0)


def test_poisson_refuses_negative_and_empty_counts():
    with pytest.raises(ValueError, match="-2"):
        Poisson().check_target(np.array([1.0, -2.0]))
    with pytest.raises(ValueError, match="Poisson"):
        Poisson().check_target(np.zeros(3))


def test_what_a_loss_does_not_have_is_said():
    with pytest.raises(NotImplementedError, match="Absolute"):
        Absolute().grad(0.0, 1.0)
    with pytest.raises(NotImplementedError, match="Logistic"):
        Logistic().dual(np.ones(1), np.ones(1))
