"""scikit-learn's kernel objects through the adapter, and everything that may stand where a kernel is asked for."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp

from check_assertions import assert_passes
from mercer import KernelRidge
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern52,
    Pairwise,
    Polynomial,
    RationalQuadratic,
    SklearnKernel,
    Sum,
    as_kernel,
    parse_kernel,
)
from mercer.testing import check_kernel

X = np.random.default_rng(0).standard_normal((9, 3))

SAME = [
    (gp.RBF(0.7), Gaussian(0.7)),
    (gp.RBF([0.5, 1.0, 2.0]), Gaussian([0.5, 1.0, 2.0])),
    (gp.Matern(0.7, nu=2.5), Matern52(0.7)),
    (gp.RationalQuadratic(0.7, 2.0), RationalQuadratic(0.7, 2.0)),
    (gp.ConstantKernel(2.0) * gp.RBF(0.7), 2.0 * Gaussian(0.7)),
    (gp.RBF(0.7) + gp.ConstantKernel(2.0), Gaussian(0.7) + 2.0),
]


@pytest.mark.parametrize(("theirs", "ours"), SAME, ids=str)
def test_values_theta_and_gradients_agree_with_ours(theirs, ours):
    kernel, W = SklearnKernel(theirs), np.random.default_rng(1).standard_normal((9, 5))
    Z = X[:5] + 0.1
    np.testing.assert_allclose(kernel(X), ours(X), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, Z), ours(X, Z), rtol=1e-12)
    np.testing.assert_allclose(np.sort(kernel.theta), np.sort(ours.theta), rtol=1e-14)
    np.testing.assert_allclose(np.sort(kernel.grad(X, Z, W)), np.sort(ours.grad(X, Z, W)), rtol=1e-9)
    assert kernel.psd


@pytest.mark.parametrize(
    "theirs",
    [
        gp.DotProduct(0.5) ** 2,
        gp.RBF(0.123456789) * gp.RationalQuadratic(0.3) + gp.ConstantKernel(0.1, "fixed"),
        gp.Matern([0.5, 1.0, 2.0], nu=1.5),
        gp.Exponentiation(gp.RBF(0.5, (0.1, 10.0)), 3),
        gp.PairwiseKernel(metric="laplacian", gamma=0.7, gamma_bounds="fixed"),
    ],
    ids=str,
)
def test_scikit_learn_kernels_pass_every_check(theirs):
    assert_passes(check_kernel, SklearnKernel(theirs))


def test_periodic_of_scikit_learn_in_one_column():
    kernel = SklearnKernel(gp.ExpSineSquared(0.8, 1.5))
    check_kernel(kernel, X[:, :1])
    assert not kernel.psd  # in two columns it is none


def test_gradient_by_small_tiles_is_the_same(monkeypatch):
    kernel = SklearnKernel(gp.ConstantKernel(2.0) * gp.RBF([0.5, 1.0, 2.0]))
    rng, largest = np.random.default_rng(1), 0
    X, W = rng.standard_normal((400, 3)), rng.standard_normal((400, 400))
    whole = np.einsum("ij,ijp->p", W, kernel.kernel(X, eval_gradient=True)[1])

    def watch(self, Y, eval_gradient=False, original=gp.Product.__call__):
        nonlocal largest
        result = original(self, Y, eval_gradient=eval_gradient)
        largest = max(largest, result[1].nbytes)
        return result

    monkeypatch.setattr(gp.Product, "__call__", watch)
    np.testing.assert_allclose(kernel.grad(X, X, W), whole, rtol=1e-10)
    assert 0 < largest <= 2**24


def test_names_bounds_and_parameters():
    kernel = SklearnKernel(gp.ConstantKernel(2.0, (0.1, 10.0)) * gp.RBF([0.5, 1.0], "fixed") + gp.RBF([1.0, 2.0]))
    assert kernel.names == [
        "kernel__k1__k1__constant_value",
        "kernel__k2__length_scale[0]",
        "kernel__k2__length_scale[1]",
    ]
    np.testing.assert_allclose(np.exp(kernel.theta_bounds[0]), [0.1, 10.0])
    kernel.set_params(kernel__k1__k1__constant_value=3.0)
    assert kernel.kernel.k1.k1.constant_value == 3.0
    assert clone(kernel) == kernel and clone(kernel) != SklearnKernel(gp.RBF())
    with pytest.raises(ValueError, match="theta.* 3 "):
        kernel.with_theta([0.0])


def test_in_compositions_and_text():
    kernel = 2.0 * SklearnKernel(gp.RBF(0.123456789)) + Linear()
    assert repr(kernel) == "2.0 * SklearnKernel(gp.RBF(length_scale=0.123456789)) + Linear()"
    assert eval(repr(kernel), {"SklearnKernel": SklearnKernel, "Linear": Linear, "gp": gp}) == kernel
    check_kernel(kernel)


WHITE = [gp.WhiteKernel(), gp.RBF() + gp.WhiteKernel(), gp.RBF() * (gp.RBF() + gp.WhiteKernel()) ** 2]


@pytest.mark.parametrize("theirs", WHITE, ids=str)
def test_white_noise_is_refused_wherever_it_hides(theirs):
    with pytest.raises(ValueError, match="WhiteKernel"):
        as_kernel(theirs)
    with pytest.raises(ValueError, match="WhiteKernel"):
        SklearnKernel(theirs)(X)


def test_several_outputs_and_other_objects_are_refused():
    with pytest.raises(ValueError, match="CompoundKernel"):
        as_kernel(gp.CompoundKernel([gp.RBF()]))
    with pytest.raises(TypeError, match="Gaussian"):
        SklearnKernel(Gaussian())(X)


class CommonLetters(gp.GenericKernelMixin, gp.Kernel):
    """A scikit-learn kernel on strings, as in its gallery."""

    def __init__(self, scale=1.0, scale_bounds=(1e-5, 1e5)):
        self.scale = scale
        self.scale_bounds = scale_bounds

    @property
    def hyperparameter_scale(self):
        return gp.Hyperparameter("scale", "numeric", self.scale_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        K = np.array([[self.scale * len(set(x) & set(y)) for y in (X if Y is None else Y)] for x in X], dtype=float)
        K = K.reshape(len(X), len(X if Y is None else Y))
        return (K, K[:, :, None]) if eval_gradient else K

    def diag(self, X):
        return np.array([self.scale * len(set(x)) for x in X], dtype=float)

    def is_stationary(self):
        return False


def test_a_kernel_on_objects():
    kernel = SklearnKernel(CommonLetters(0.7))
    assert kernel.domain == "objects" and not kernel.psd
    words = ["abba", "cab", "bead", "a", "deed", "face"]
    assert kernel(words)[0, 1] == 1.4
    check_kernel(kernel, words)


class Noisy(CommonLetters):
    """The same with noise, which only kernel(X) has."""

    def __call__(self, X, Y=None, eval_gradient=False):
        found = super().__call__(X, Y, eval_gradient)
        return found + 0.1 * np.eye(len(X)) if Y is None and not eval_gradient else found


def test_noise_of_a_users_own_is_refused():
    words = ["abba", "cab", "bead", "a", "deed", "face"]
    with pytest.raises(ValueError, match=r"row 0 .*2\.1 .* 2 "):
        SklearnKernel(Noisy())(words)
    with pytest.raises(ValueError, match="noise"):
        KernelRidge(Noisy()).fit(words, np.arange(6.0))


def test_a_gradient_on_the_same_rows_asks_for_no_more_than_their_square(monkeypatch):
    kernel, rows = SklearnKernel(gp.ConstantKernel(2.0) * gp.RBF(0.5)), []
    W = np.random.default_rng(1).standard_normal((9, 9))
    stacked = kernel.grad(X, X.copy(), W)

    def watch(self, Y, eval_gradient=False, original=gp.Product.__call__):
        rows.append(len(Y))
        return original(self, Y, eval_gradient=eval_gradient)

    monkeypatch.setattr(gp.Product, "__call__", watch)
    np.testing.assert_allclose(kernel.grad(X, X, W), stacked, rtol=1e-12)
    assert rows == [9]
    words = ["abba", "cab", "bead"]
    text, V = SklearnKernel(CommonLetters(0.7)), W[:3, :3]
    np.testing.assert_allclose(text.grad(words, list(words), V), text.grad(words, ["abba", "cab", "bead"], V))


# ---------------------------------------------------------------------- as_kernel
def test_as_kernel_takes_kernels_objects_and_functions():
    kernel = Gaussian()
    assert as_kernel(kernel) is kernel
    assert as_kernel(gp.RBF(2.0)) == SklearnKernel(gp.RBF(2.0))
    assert as_kernel(min) == Pairwise(min)


@pytest.mark.parametrize(
    ("name", "use"),
    [("linear", "Linear()"), ("poly", "Polynomial("), ("rbf", "Gaussian("), ("gaussian", "Gaussian("),
     ("laplacian", "Laplacian("), ("precomputed", "Precomputed()"), ("RBF", "Gaussian("), ("mystery", "Gaussian()")],
)  # fmt: skip
def test_names_are_refused_with_the_class_to_use(name, use):
    with pytest.raises(TypeError, match="mercer.compat") as caught:
        as_kernel(name)
    assert use in str(caught.value) and "mercer.compat" in str(caught.value)


@pytest.mark.parametrize("obj", [None, 3.0, [1.0], np.eye(2), {}, int], ids=str)
def test_other_objects_are_refused(obj):
    with pytest.raises(TypeError, match="Kernel"):
        as_kernel(obj)


def test_a_class_is_refused_with_the_brackets_it_lacks():
    with pytest.raises(TypeError, match=r"Gaussian\("):
        as_kernel(Gaussian)


def chain(levels):
    kernel = Gaussian()
    for _ in range(levels - 1):
        kernel = Sum(kernel, Laplacian())
    return kernel


def test_deep_trees_work_up_to_the_limit_and_are_refused_beyond():
    kernel = as_kernel(chain(200))
    K = kernel(X)
    np.testing.assert_allclose(K, Gaussian()(X) + 199 * Laplacian()(X), rtol=1e-12)
    assert kernel.n_theta == 200 and kernel.with_theta(kernel.theta).n_theta == 200
    assert clone(kernel) == kernel and hash(kernel) == hash(clone(kernel))
    assert kernel.grad(X, X, np.ones((9, 9))).shape == (200,)
    assert kernel.fixed().n_theta == 0
    for levels in (201, 1000, 100_000):
        with pytest.raises(ValueError, match="200"):
            as_kernel(chain(levels))


def test_a_kernel_that_contains_itself_is_refused():
    loop = Sum(Gaussian(), Linear())
    loop.right = 2.0 * loop
    with pytest.raises(ValueError, match="itself"):
        as_kernel(loop)
    with pytest.raises(ValueError, match="itself"):
        as_kernel(Linear() * loop)


def test_shared_parts_are_fine_until_there_are_too_many():
    kernel = Gaussian()
    for _ in range(5):
        kernel = kernel + kernel
    np.testing.assert_allclose(as_kernel(kernel)(X), 32 * Gaussian()(X))
    for _ in range(60):
        kernel = kernel * kernel
    with pytest.raises(ValueError, match="10,000"):
        as_kernel(kernel)


def test_a_part_that_is_no_kernel_is_named():
    with pytest.raises(TypeError, match="right.*float"):
        as_kernel(Sum(Gaussian(), 2.0))


# ---------------------------------------------------------------------- text
GOOD = {
    "Gaussian()": Gaussian(),
    " 2*Gaussian( 0.5 ) ": 2.0 * Gaussian(0.5),
    "Polynomial(3, offset=0.5)": Polynomial(3, 0.5),
    "Gaussian([0.5, 1, 2e0], length_scale_bounds=(0.1, 10))": Gaussian([0.5, 1, 2], length_scale_bounds=(0.1, 10)),
    "(Gaussian()\n + Linear())": Gaussian() + Linear(),
    "Gaussian().on([0, -1])": Gaussian().on([0, -1]),
    "1 + Gaussian()": 1.0 + Gaussian(),
    "SklearnKernel(gp.RBF(length_scale=[0.5, 1.0]))": SklearnKernel(gp.RBF([0.5, 1.0])),
}


@pytest.mark.parametrize("text", GOOD)
def test_expressions_are_read(text):
    assert parse_kernel(text) == GOOD[text]


BAD = [
    ("", "column 1"),
    ("Gaussian(", "column 9"),
    ("Gaussian() +", "column 13"),
    ("Gaussian() + Mystery()", "column 14, at 'Mystery.*not a kernel class"),
    ("Gaussian", "Gaussian must be called"),
    ("2.0", "not a kernel"),
    ("'Gaussian()'", "not a kernel"),
    ("2 * 3", "an operator needs a kernel"),
    ("10 ** 10 ** 10", "an operator needs a kernel"),
    ("2 ** Gaussian()", "an operator needs a kernel"),
    ("Gaussian() - Linear()", r"\+, \* and \*\* only"),
    ("-Gaussian()", "only a number may have a sign"),
    ("-True * Gaussian()", "only a number may have a sign"),
    ("__import__('os').system('true')", "no method 'system'"),
    ("__import__('os')", "'__import__' is not a kernel class"),
    ("Gaussian().__class__", "Attribute is not part"),
    ("Gaussian().__init__()", "no method '__init__'"),
    ("Gaussian().set_params(length_scale=2.0)", "no method 'set_params'"),
    ("Gaussian.__subclasses__()", "no method '__subclasses__'"),
    ("Gaussian.exp()", "must be called"),
    ("[Gaussian()][0]", "Subscript is not part"),
    ("(lambda: Gaussian())()", "only kernel classes and methods"),
    ("Gaussian() if True else Linear()", "IfExp is not part"),
    ("[Gaussian() for _ in 'aa']", "ListComp is not part"),
    ("Gaussian(*[1.0])", r"\* is not allowed"),
    ("Gaussian(**{'length_scale': 1.0})", r"\*\* is not allowed"),
    ("Gaussian(f'{1}')", "JoinedStr is not part"),
    ("Gaussian(1j)", "1j is not a number"),
    ("Gaussian(1, 2, 3)", "column 1.*positional argument"),
    ("Gaussian(width=1)", "column 1.*width"),
    ("(x := Gaussian())", "NamedExpr is not part"),
    ("Gaussian(); Linear()", "column 11"),
    ("Gaussian(\x00)", "cannot be read|column"),
    ("Λ * Gaussian() + ΛΛ()", "column 1, at 'Λ .*unknown name"),
    ("Gaussian() + 'λ' * Linear()", "column 14, at \"'λ'"),
    ("1.0.exp()", "only a kernel has the method"),
    ("gp.RBF()", "not a kernel"),
    ("SklearnKernel(gp.Hyperparameter('a', 'b', 'c'))", "has no kernel 'Hyperparameter'"),
    ("SklearnKernel(gp.np.load('x'))", "no method 'load'"),
    ("Kernel()", "'Kernel' is not a kernel class"),
    ("Gaussian().warp(print)", "unknown name 'print'"),
    ("Gaussian().transform(open)", "unknown name 'open'"),
    ("Pairwise(eval)", "unknown name 'eval'"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text for text, _ in BAD])
def test_everything_else_is_refused_with_its_place(text, message):
    with pytest.raises(ValueError, match=message):
        parse_kernel(text)


@pytest.mark.parametrize(
    "text",
    ["+".join(["Linear()"] * 1000), "(" * 150 + "Linear()" + ")" * 150 + ".exp()" * 300, "(" * 5000, "-" * 50_000 + "1",
     "Linear()" + "**2" * 30_000, "[" * 150 + "]" * 150 + "+1" * 40_000, "Linear()" + " " * 100_001],
    ids=["long sum", "methods", "brackets", "signs", "powers", "both", "spaces"],
)  # fmt: skip
def test_long_and_deep_expressions_are_refused(text):
    with pytest.raises(ValueError, match="levels|characters|read|column"):
        parse_kernel(text)


def test_text_must_be_text():
    with pytest.raises(TypeError, match="Gaussian"):
        parse_kernel(Gaussian())


def test_own_names_and_classes():
    class Mine(Linear):
        pass

    assert parse_kernel("Gaussian().transform(squash)", {"squash": np.tanh}) == Gaussian().transform(np.tanh)
    assert parse_kernel("2.0 * Mine()", {"Mine": Mine}) == 2.0 * Mine()
    assert parse_kernel("Linear()") == Linear()  # a class derived elsewhere does not hide its parent
