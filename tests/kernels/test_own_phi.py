"""A φ of one's own is the φ that is used: on every route, with the compiled loops loaded and without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from check_assertions import assert_passes
from mercer import KernelRidge, _native
from mercer._policies import OptionSet
from mercer.dual import WorkingSetOptions, _store
from mercer.dual.working_set import solve_dual
from mercer.gram import DenseGram, ScaledGram, TiledGram, apply
from mercer.kernels import Exponential, Gaussian, Matern32, Matern52, Radial, RationalQuadratic
from mercer.kernels.radial_base import LOOPS
from mercer.losses import EpsilonInsensitive
from mercer.selection import LOO
from mercer.testing import check_kernel


class Steeper(Gaussian):
    """exp(−s): another φ and φ′ in a subclass of a kernel that has a loop."""

    def phi(self, s):
        return np.exp(-s)

    def dphi(self, s):
        return -np.exp(-s)


class OnlyPhi(Matern32):
    """φ of the Gaussian; φ′ is inherited, and wrong, but nobody may take φ from Matérn's loop."""

    def phi(self, s):
        return np.exp(-0.5 * s)


class OnlySlope(Gaussian):
    """φ′ doubled on purpose: it must be what is contracted."""

    def dphi(self, s):
        return -np.exp(-0.5 * s)


class OnlyShape(RationalQuadratic):
    """∂φ/∂α doubled on purpose: it must be what is contracted."""

    def dshape(self, s, phi):
        return {"alpha": 2.0 * super().dshape(s, phi)["alpha"]}


class New(Radial):
    """1/(1 + s): no loop at all."""

    def phi(self, s):
        return 1.0 / (1.0 + s)

    def dphi(self, s):
        return -1.0 / (1.0 + s) ** 2


class Shaped(RationalQuadratic):
    """A mixture of its own, with the shape in both functions."""

    def phi(self, s):
        return np.exp(-s / self.alpha)

    def dphi(self, s):
        return -np.exp(-s / self.alpha) / self.alpha

    def dshape(self, s, phi):
        return {"alpha": phi * s / self.alpha**2}


def expected(kernel, X, Z, W, phi, dphi):
    """(K, Σ W ∘ K, Σ W ∘ ∂K/∂log ℓ) in plain NumPy."""
    scale = np.broadcast_to(kernel.length_scale, X.shape[1:])
    squares = ((X[:, None] - Z) / scale) ** 2
    s = squares.sum(axis=2)
    slopes = -2.0 * np.einsum("ij,ij,ijk->k", W, dphi(s), squares)
    return phi(s), np.sum(W * phi(s)), slopes if np.size(kernel.length_scale) > 1 else slopes.sum(keepdims=True)


CASES = {
    "steeper": (Steeper, lambda s: np.exp(-s), lambda s: -np.exp(-s)),
    "only phi": (OnlyPhi, lambda s: np.exp(-0.5 * s), lambda s: -1.5 * np.exp(-np.sqrt(3.0 * s))),
    "only slope": (OnlySlope, lambda s: np.exp(-0.5 * s), lambda s: -np.exp(-0.5 * s)),
    "new": (New, lambda s: 1.0 / (1.0 + s), lambda s: -1.0 / (1.0 + s) ** 2),
    "gaussian": (Gaussian, lambda s: np.exp(-0.5 * s), lambda s: -0.5 * np.exp(-0.5 * s)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("d", [1, 3, 14, 40])
def test_every_route_uses_the_kernels_own_phi(case, d, loops, rng):
    cls, phi, dphi = CASES[case]
    X, Z = rng.standard_normal((17, d)), rng.standard_normal((11, d))
    W, V = rng.standard_normal((17, 11)), rng.standard_normal((17, 17))
    V, s, v = V + V.T, rng.uniform(0.5, 2.0, 17), rng.standard_normal((17, 2))
    for scale in (np.sqrt(d), rng.uniform(0.5, 2.0, d) * np.sqrt(d)):
        kernel = cls(scale)
        K, total, slopes = expected(kernel, X, Z, W, phi, dphi)
        close = {"rtol": 1e-10, "atol": 1e-10}
        assert_allclose(kernel(X, Z), K, **close)
        assert_allclose(kernel.tiles(X, Z)(slice(2, 9), slice(1, 5)), K[2:9, 1:5], **close)
        assert_allclose(kernel(X.astype(np.float32), Z.astype(np.float32)), K, atol=1e-5)
        assert_allclose(kernel.grad(X, Z, W), slopes, **close)
        got = kernel.weighted(X, Z, W)
        assert_allclose(got[0], total, **close)
        assert_allclose(got[1], slopes, **close)
        got = (2.0 * kernel).grad(X, Z, W)
        assert_allclose(got, 2.0 * np.concatenate([[total], slopes]), **close)
        for keep in (False, True):
            pairs = kernel.prepare(X, Z, keep)
            every = slice(None)
            assert_allclose(pairs.tile(every, every), K, **close)
            assert_allclose(pairs.weighted(every, every, W)[1], slopes, **close)
        square, _, gradient = expected(kernel, X, X, s[:, None] * V * s, phi, dphi)
        gram = TiledGram(kernel, X)
        assert_allclose(gram.dense(), square, **close)
        assert_allclose(gram @ v, square @ v, **close)
        assert_allclose(ScaledGram(gram, s).grad(V), gradient, **close)
        assert_allclose(apply(kernel, X, Z, W.T), K @ W.T, **close)


@pytest.mark.parametrize("case", CASES)
def test_by_many_tiles(case, loops, small_tiles, rng):
    cls, phi, dphi = CASES[case]
    X, V = rng.standard_normal((41, 3)), rng.standard_normal((41, 41))
    V = V + V.T
    kernel = cls([0.7, 1.0, 2.0])
    K, total, slopes = expected(kernel, X, X, V, phi, dphi)
    gram = TiledGram(2.0 * kernel, X)
    assert_allclose(gram.dense(), 2.0 * K, rtol=1e-10)
    assert_allclose(gram.grad(V), 2.0 * np.concatenate([[total], slopes]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [Steeper(), Steeper([0.5, 1.0, 2.0]), New(0.7), Shaped(0.7, 2.0)], ids=repr)
def test_they_pass_the_check_of_a_kernel(kernel, loops):
    assert_passes(check_kernel, kernel)


def test_a_derivative_in_the_shape_of_ones_own_is_used(loops, rng):
    X, W = rng.standard_normal((9, 3)), rng.standard_normal((9, 9))
    ours, theirs = OnlyShape(0.8, 2.0).grad(X, X, W), RationalQuadratic(0.8, 2.0).grad(X, X, W)
    assert_allclose(ours, theirs * [1.0, 2.0], rtol=1e-9)


def test_a_phi_of_one_object_is_its_own(loops, rng):
    X = rng.standard_normal((6, 2))
    kernel = Gaussian()
    kernel.phi = lambda s: 1.0 / (1.0 + s)
    assert_allclose(kernel(X), New()(X), rtol=1e-13)


def test_a_replaced_phi_of_a_class_is_used(loops, rng, monkeypatch):
    X = rng.standard_normal((6, 2))
    monkeypatch.setattr(Gaussian, "phi", New.phi)
    assert_allclose(Gaussian()(X), New()(X), rtol=1e-13)


def test_models_use_it(loops, rng):
    """Fits with a subclass and with the same function written as a kernel of its own agree."""

    class Twin(Radial):
        phi, dphi = Steeper.phi, Steeper.dphi

    X = rng.uniform(-2.0, 2.0, (25, 2))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.05 * rng.standard_normal(25)
    one, two = (KernelRidge(k(), criterion=LOO()).fit(X, y).predict(X) for k in (Steeper, Twin))
    assert_allclose(one, two, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("cls", [Gaussian, Steeper, New])
def test_the_working_set_solver_computes_its_values(cls, rng):
    """Beyond some rows it computes values when it needs them, in float32: those of this kernel."""
    X = rng.uniform(-2.0, 2.0, (300, 2))
    y, n, kernel = np.sin(2.0 * X[:, 0]) * X[:, 1], 300, cls(0.8)
    dual = EpsilonInsensitive(0.05).dual(y, 5.0)
    found = solve_dual(TiledGram(kernel, X), dual, intercept=True, options=OptionSet(WorkingSetOptions(whole=50)))
    plain = solve_dual(DenseGram.from_matrix(kernel(X)), dual, intercept=True)
    assert found.info["gram"].startswith("float32, evaluated" if cls is Gaussian else "float")
    assert found.objective == pytest.approx(plain.objective, rel=1e-4)
    assert_allclose(kernel(X) @ found.alpha + found.b, kernel(X) @ plain.alpha + plain.b, atol=5e-3)
    store, g = _store.Evaluated(TiledGram(kernel, X), False), np.zeros(n)
    index, coef = np.array([5, 17, 200]), np.array([1.0, -2.0, 0.5])
    assert_allclose(store.square(index), kernel(X[index]), atol=1e-5)
    store.add(index, coef, g)
    assert_allclose(g, kernel(X, X[index]) @ coef, atol=1e-5)


def test_an_unknown_loop_is_refused(loops):
    A, out = np.zeros((2, 1)), np.zeros((2, 2))
    for code in (17, 10, 5, -2):
        one = _native.Operations.radial(code, 1, 8)
        with pytest.raises((ValueError, KeyError)):
            _native.pairs.tree(one, A, np.zeros((1, 2)), 0, 1e300, out)
        with pytest.raises((ValueError, KeyError)):
            _native.pairs.tree_contract(one, A, np.zeros((1, 2)), 0, out, 1e300, np.zeros(3))


def test_the_table_names_loops_that_exist_and_functions_that_belong_together():
    classes = (Gaussian, Exponential, Matern32, Matern52, RationalQuadratic)
    for cls in classes:
        functions = (cls.phi, cls.dphi) if cls.dshape is Radial.dshape else (cls.phi, cls.dphi, cls.dshape)
        assert {LOOPS[function][0] for function in functions} == {cls.__name__.lower()}
    assert {name for name, _ in LOOPS.values()} == set(_native.CODES)
