"""check_kernel finds what it is for: one broken kernel for each property, and the property is named."""

import functools

import numpy as np
import pytest

from check_assertions import assert_passes
from mercer.kernels import FeatureMap, Gaussian, Kernel, Linear, Matern52, Pairwise, Radial
from mercer.kernels.prepared import Prepared
from mercer.testing import check_kernel


class Sound(Kernel):
    """A correct kernel, from which the broken ones are derived: (1 + xᵀz) w."""

    hyper = {"weight": (1e-3, 1e3)}

    def __init__(self, weight=2.0, *, weight_bounds=None):
        self.weight = weight
        self.weight_bounds = weight_bounds

    def _tile(self, X, Z):
        return (1.0 + X @ Z.T) * float(self.weight)

    def diag(self, X):
        return (1.0 + np.sum(X**2, axis=1)) * float(self.weight)

    def _grad(self, X, Z, W):
        return {"weight": np.sum(W * (1.0 + X @ Z.T))}


class Asymmetric(Sound):
    def _tile(self, X, Z):
        return super()._tile(X, Z) + 0.1 * X[:, :1]


class NotFinite(Sound):
    def _tile(self, X, Z):
        K = super()._tile(X, Z)
        K[:1, :1] = np.nan if X is Z else 1.0
        return K


class Indefinite(Sound):
    def _tile(self, X, Z):
        return (X @ Z.T - 1.0) * float(self.weight)


class WrongShape(Sound):
    def _tile(self, X, Z):
        return super()._tile(X, Z)[:, :-1] if len(Z) > 1 else super()._tile(X, Z)


class WrongDiagonal(Sound):
    def diag(self, X):
        return np.sum(X**2, axis=1) * float(self.weight)


class DependsOnTheTile(Sound):
    def _tile(self, X, Z):
        joint = np.vstack([X, Z]).mean(axis=0) if len(X) + len(Z) else 0.0
        return (1.0 + (X - joint) @ (Z - joint).T) * float(self.weight)

    def diag(self, X):
        return np.diagonal(self(X))


class KnowsItself(Sound):
    """White noise: k(X) is not k(X, X)."""

    def _tile(self, X, Z):
        return super()._tile(X, Z) + (np.eye(len(X)) if X is Z else 0.0)

    def diag(self, X):
        return super().diag(X) + 1.0


class Writes(Sound):
    def diag(self, X):
        X += 1e-12
        return super().diag(X)


class GradientOfTheValue(Sound):
    """The mistake of forgetting that grad is with respect to log θ."""

    def _grad(self, X, Z, W):
        return {"weight": np.sum(W * (1.0 + X @ Z.T)) / self.weight}


class GradientOfOneSide(Sound):
    def _grad(self, X, Z, W):
        return {"weight": np.sum(W * (1.0 + X @ Z.T)) if X is Z else 0.0}


class Prepares(Prepared):
    def __init__(self, kernel, X, Z, grad=None, weighted=None):
        super().__init__(kernel, X, Z)
        self.grad, self.weighted = grad or self.grad, weighted or self.weighted


class ForgetsTheColumn(Sound):
    def prepare(self, X, Z, keep=False):
        return Prepares(self, X, Z, grad=lambda i, j, W: self.grad(X[i], Z[: j.stop - j.start], W))


class WeighsTwice(Sound):
    def prepare(self, X, Z, keep=False):
        return Prepares(self, X, Z, weighted=lambda i, j, W: self.weighted(X[i], Z[j], 2.0 * W))


class KeepsWhatItGave(Sound):
    def prepare(self, X, Z, keep=False):
        pairs, first = Prepared(self, X, Z), self._tile(X, Z)
        if keep:
            pairs.tile = lambda i, j: first
        return pairs


class NoNames(Sound):
    @property
    def names(self):
        return []


class ForgetsTheta(Sound):
    def with_theta(self, theta):
        return type(self)(self.weight)


class ChangesItself(Sound):
    def with_theta(self, theta):
        self.weight = float(np.exp(theta[0]))
        return type(self)(self.weight)


class NeverFixed(Sound):
    def fixed(self):
        return type(self)(self.weight)


class NeverEqual(Sound):
    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


class ShortText(Sound):
    def __repr__(self):
        return f"ShortText({self.weight:.1f})"


class NotStationary(Sound):
    stationary = True


class LosesDigits(Gaussian):
    """The product trick without centring."""

    tiles = Kernel.tiles  # not Radial's

    def _tile(self, X, Z):
        s = np.sum(X**2, axis=1)[:, None] + np.sum(Z**2, axis=1) - 2 * X @ Z.T
        return self.phi(np.maximum(s, 0.0) / float(self.length_scale) ** 2)

    def _grad(self, X, Z, W):
        return super()._grad(X, Z, W)


class NotALength(Radial):
    """ℓ enters as if it were a variance."""

    def __init__(self, length_scale=2.0, *, length_scale_bounds=None):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def phi(self, s):
        return np.exp(-0.5 * s * float(self.length_scale))

    def dphi(self, s):
        return -0.5 * float(self.length_scale) * self.phi(s)

    def _grad(self, X, Z, W):
        return {"length_scale": 0.5 * super()._grad(X, Z, W)["length_scale"]}


class AlwaysDouble(Sound):
    def _tile(self, X, Z):
        return super()._tile(X, Z).astype(np.float64)


BROKEN = [
    (Asymmetric(), "symmetry: k gives .* for inputs"),
    (NotFinite(), "finite: "),
    (Indefinite(), "PSD: the smallest eigenvalue of K is -"),
    (WrongShape(), "shape: got"),
    (WrongDiagonal(), "diag: diag.X. differs"),
    (DependsOnTheTile(), "tile: k"),
    (KnowsItself(), "tile: k|k.X. is k.X, X."),
    (Writes(), "inputs: X or W was changed"),
    (GradientOfTheValue(), "gradient: ∂/∂log weight for .X, X. is"),
    (GradientOfOneSide(), "gradient: ∂/∂log weight for .X, Z. is 0"),
    (ForgetsTheColumn(), "prepare: its grad is not grad for rows"),
    (WeighsTwice(), "prepare: its weighted is not weighted for rows"),
    (KeepsWhatItGave(), "prepare: a second tile is not the first"),
    (NoNames(), "names: "),
    (ForgetsTheta(), "with_theta: "),
    (ChangesItself(), "with_theta: changed the kernel itself"),
    (NeverFixed(), "fixed: 1 hyper-parameters"),
    (NeverEqual(), "clone: the copy"),
    (ShortText(0.123), "repr: reads back as ShortText"),
    (NotStationary(), "translation: k.X . 0.5. differs"),
    (LosesDigits(), "translation: k.X . -?1e.08. differs"),
    (NotALength(), "scale: k with 4 ℓ at 4 X differs"),
    (AlwaysDouble(), "float32: k.X. is float64"),
]


@pytest.mark.parametrize(("kernel", "property_"), BROKEN, ids=[type(kernel).__name__ for kernel, _ in BROKEN])
def test_a_broken_kernel_is_caught_and_the_property_named(kernel, property_):
    with pytest.raises(AssertionError, match=property_) as caught:
        check_kernel(kernel)
    assert type(kernel).__name__ in str(caught.value)


def test_the_sound_one_passes():
    assert_passes(check_kernel, Sound())
    assert_passes(check_kernel, 2.0 * Sound() + Gaussian())


def test_functions_without_a_name_are_allowed():
    assert_passes(check_kernel, FeatureMap(lambda X: X**2))
    assert_passes(check_kernel, Gaussian().warp(lambda X: np.exp(X[:, 0])))
    assert_passes(check_kernel, Pairwise(lambda x, z: float(x @ z)))
    assert_passes(check_kernel, Gaussian().transform(functools.partial(np.power, 2.0)))


def test_inputs_that_cannot_be_pickled_are_allowed():
    functions = [lambda x, i=i: x + i for i in range(5)]
    assert_passes(check_kernel, Pairwise(lambda f, g: f(1.0) * g(1.0)), functions)
    with pytest.raises(AssertionError, match="PSD"):
        check_kernel(Pairwise(lambda f, g: f(1.0) + g(1.0)), functions)


def test_own_inputs_are_used_and_many_are_thinned():
    calls = []

    def phi(X):
        calls.append(len(X))
        return X

    check_kernel(FeatureMap(phi), np.random.default_rng(0).standard_normal((500, 2)))
    assert max(calls) == 30
    check_kernel(Linear(), [[0.0], [1.0], [2.0]])
    check_kernel(Matern52(), np.random.default_rng(0).standard_normal((5, 40)).astype(np.float32))


def test_too_few_inputs_are_refused():
    with pytest.raises(ValueError, match="2"):
        check_kernel(Linear(), [[0.0], [1.0]])


def test_an_error_inside_the_kernel_says_what_was_being_checked():
    def fails(X):
        raise KeyError("lost")

    with pytest.raises(KeyError) as caught:
        check_kernel(FeatureMap(fails), np.eye(4))
    assert "symmetry" in caught.value.__notes__[-1]


class WrongFormula(Linear):
    """A kernel whose page would show another function."""

    def formula(self, x, z):
        return 2.0 * np.add.reduce(x * z)


class NoFormula(Linear):
    """A kernel whose formula needs a case."""

    def formula(self, x, z):
        return np.add.reduce(x * z) if np.add.reduce(x) > 0 else 0.0


@pytest.mark.parametrize("kernel", [WrongFormula(), NoFormula()])
def test_a_formula_must_be_that_of_the_values(kernel):
    with pytest.raises(AssertionError, match="formula"):
        check_kernel(kernel)
