"""Every closure rule of lecture 001, its refusals, and what the text of a composition looks like."""

import numpy as np
import pytest

from mercer.kernels import (
    Columns,
    Constant,
    Exp,
    Gaussian,
    Kernel,
    Linear,
    Normalised,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sum,
    Transformed,
    Warped,
    parse_kernel,
)

RNG = np.random.default_rng(0)
X, Z = RNG.standard_normal((6, 3)), RNG.standard_normal((4, 3))
k1, k2 = Gaussian(0.8), Linear()
K1, K2 = k1(X, Z), k2(X, Z)


def growth(X):
    return 1.0 + X[:, 0] ** 2


CLOSURES = {
    "c k": (2.5 * k1, 2.5 * K1),
    "k c": (k1 * 2.5, 2.5 * K1),
    "k1 + k2": (k1 + k2, K1 + K2),
    "k + c": (k1 + 0.5, K1 + 0.5),
    "c + k": (0.5 + k1, K1 + 0.5),
    "k1 k2": (k1 * k2, K1 * K2),
    "k ** 3": (k2**3, K2**3),
    "exp(k)": (k2.exp(), np.exp(K2)),
    "q(k)": (k2.polynomial([0.5, 0.0, 2.0, 1.0]), 0.5 + 2.0 * K2**2 + K2**3),
    "f k f": (k1.warp(growth), growth(X)[:, None] * K1 * growth(Z)),
    "k(g, g)": (k1.transform(np.tanh), k1(np.tanh(X), np.tanh(Z))),
    "on columns": (k1.on([0, 2]), k1(X[:, [0, 2]], Z[:, [0, 2]])),
    "on a slice": (k1.on(slice(1, 3)), k1(X[:, 1:], Z[:, 1:])),
    "on one column": (k1.on(1), k1(X[:, [1]], Z[:, [1]])),
    "normalise": (
        (k2 + 1.0).normalise(),
        (K2 + 1) / np.sqrt(np.outer((X**2).sum(1) + 1, (Z**2).sum(1) + 1)),
    ),
}


@pytest.mark.parametrize("name", CLOSURES)
def test_closure_rule(name, loops):
    kernel, expected = CLOSURES[name]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-12)


@pytest.mark.parametrize("number", [2, np.float64(2.0), np.int64(2), np.float32(2.0)])
def test_numbers_of_every_kind_multiply_from_both_sides(number):
    for kernel in (number * k1, k1 * number):
        assert kernel == Scaled(k1, 2.0)
    assert number + k1 == Sum(Constant(2.0), k1)


@pytest.mark.parametrize("other", ["2", None, [1.0], 1j])
def test_other_operands_are_refused(other):
    for operation in (lambda: k1 + other, lambda: other + k1, lambda: k1 * other, lambda: other * k1):
        with pytest.raises(TypeError):
            operation()


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_negative_coefficient_is_refused_and_says_why(bad):
    with pytest.raises(ValueError, match=f"coefficient 1 .*{bad}"):
        k1.polynomial([1.0, bad, 2.0])(X)
    with pytest.raises(ValueError, match="scale"):
        (bad * k1)(X)


def test_a_negative_constant_is_refused():
    with pytest.raises(ValueError, match="value"):
        (k1 + -1.0)(X)


@pytest.mark.parametrize("exponent", [0, -1, 0.5, 2.5])
def test_other_powers_are_refused(exponent):
    with pytest.raises(ValueError, match="exponent"):
        (k1**exponent)(X)


def test_functions_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="Warped"):
        k1.warp(np.tanh)(X)
    with pytest.raises(ValueError, match="Transformed"):
        k1.transform(lambda X: X[:2])(X)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"3 .*\[7\]"):
        k1.on(7)(X)


def test_normalised_zero_is_zero():
    K = k2.normalise()(np.array([[0.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(K, [[0, 0], [0, 1]], rtol=1e-15)


def test_domain_stationary_and_psd_follow_the_parts():
    from mercer.kernels import FeatureMap, Pairwise

    assert (k1 + 1.0).stationary and not (k1 + k2).stationary and not k1.warp(growth).stationary
    assert (k1 * Pairwise(min)).domain == "objects" and not (k1 * Pairwise(min)).psd
    assert (k1 + FeatureMap(np.tanh)).psd


# ---------------------------------------------------------------------- text
a, b, c = Gaussian(0.5), Linear(), Constant(2.0)

TEXTS = [
    (2.0 * a + b, "2.0 * Gaussian(0.5) + Linear()"),
    ((a + b) * c, "(Gaussian(0.5) + Linear()) * Constant(2.0)"),
    (a + b * c, "Gaussian(0.5) + Linear() * Constant(2.0)"),
    ((a + b) + c, "Gaussian(0.5) + Linear() + Constant(2.0)"),
    (a + (b + c), "Gaussian(0.5) + (Linear() + Constant(2.0))"),
    ((a * b) * c, "Gaussian(0.5) * Linear() * Constant(2.0)"),
    (a * (b * c), "Gaussian(0.5) * (Linear() * Constant(2.0))"),
    (3.0 * (a * b), "3.0 * (Gaussian(0.5) * Linear())"),
    ((3.0 * a) * b, "3.0 * Gaussian(0.5) * Linear()"),
    (a * (3.0 * b), "Gaussian(0.5) * (3.0 * Linear())"),
    (2.0 * (3.0 * a), "2.0 * (3.0 * Gaussian(0.5))"),
    ((a + b) ** 2, "(Gaussian(0.5) + Linear()) ** 2"),
    ((a**2) ** 3, "(Gaussian(0.5) ** 2) ** 3"),
    (2.0 * a**2, "2.0 * Gaussian(0.5) ** 2"),
    ((2.0 * a) ** 2, "(2.0 * Gaussian(0.5)) ** 2"),
    ((0.5 * b).exp(), "(0.5 * Linear()).exp()"),
    (b.exp() ** 2, "Linear().exp() ** 2"),
    ((b**2).exp(), "(Linear() ** 2).exp()"),
    (a.on([0, 1]) * b.on(2), "Gaussian(0.5).on([0, 1]) * Linear().on(2)"),
    ((a + b).on(slice(0, 2)), "(Gaussian(0.5) + Linear()).on(slice(0, 2, None))"),
    (a.warp(growth), "Gaussian(0.5).warp(growth)"),
    (a.transform(np.tanh).normalise(), "Gaussian(0.5).transform(tanh).normalise()"),
    (b.polynomial((0.0, 1.0)), "Linear().polynomial((0.0, 1.0))"),
    (Gaussian(np.array([0.5, 1.0])), "Gaussian([0.5, 1.0])"),
    (Gaussian([np.float64(0.5), 1.0]), "Gaussian([0.5, 1.0])"),
    (Gaussian(1.0, length_scale_bounds=(0.1, 1.0)), "Gaussian(1.0, length_scale_bounds=(0.1, 1.0))"),
    (Gaussian(1.0, length_scale_bounds="fixed"), "Gaussian(1.0, length_scale_bounds='fixed')"),
    (Scaled(a, 2.0, scale_bounds="fixed") + b, "Scaled(Gaussian(0.5), 2.0, scale_bounds='fixed') + Linear()"),
    (a + Scaled(b, 1e-7), "Gaussian(0.5) + 1e-07 * Linear()"),
    (0.1 * a + 0.30000000000000004 * b, "0.1 * Gaussian(0.5) + 0.30000000000000004 * Linear()"),
]


@pytest.mark.parametrize(("kernel", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_repr_is_algebra_and_evaluates_back(kernel, text):
    assert repr(kernel) == text
    names = {"growth": growth, "tanh": np.tanh}
    again = eval(text, {cls.__name__: cls for cls in all_classes()} | names)
    assert again == kernel and hash(again) == hash(kernel)
    assert parse_kernel(text, names) == kernel


def all_classes():
    from mercer.kernels.parse import kernel_classes

    return kernel_classes().values()


def test_trees_are_not_flattened():
    kernel = (a + b) * (a + b)
    assert type(kernel) is Product and type(kernel.left) is Sum
    np.testing.assert_allclose(kernel(X), (a(X) + b(X)) ** 2)


def test_operators_build_the_classes():
    pairs = [(a**2, Power), (a.exp(), Exp), (a.polynomial([1.0]), PolynomialOf), (a.normalise(), Normalised)]
    pairs += [(a.warp(growth), Warped), (a.transform(np.tanh), Transformed), (a.on(0), Columns)]
    assert all(type(kernel) is cls and isinstance(kernel, Kernel) for kernel, cls in pairs)


def test_kernels_that_differ_are_not_equal():
    different = [a, b, c, Gaussian(0.6), a + b, b + a, a * b, a**2, a**3, a.on(0), a.on(1), 2.0 * a, a.warp(growth)]
    for i, left in enumerate(different):
        for j, right in enumerate(different):
            assert (left == right) is (i == j)
    assert a != "Gaussian(0.5)"


@pytest.mark.parametrize("columns", [[], slice(5, 9), slice(2, 2), ()])
def test_no_column_is_refused(columns):
    with pytest.raises(ValueError, match="column"):
        Gaussian().on(columns)(np.zeros((3, 2)))


def test_the_slope_of_a_column_that_is_chosen_twice():
    X, Z = np.array([[0.3, 1.0]]), np.array([[1.0, 2.0]])
    once = Gaussian(1 / np.sqrt(2.0)).on(0)  # ‖(x, x) − (z, z)‖² = 2 (x − z)²
    np.testing.assert_allclose(Gaussian().on([0, 0])(X, Z), once(X, Z))
    np.testing.assert_allclose(Gaussian().on([0, 0]).dx(X, Z), once.dx(X, Z))
