"""Every kernel against its formula, written out pair by pair in plain NumPy."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma, kv

from mercer.kernels import (
    ArcCosine,
    Constant,
    Cosine,
    Exponential,
    FeatureMap,
    Gaussian,
    GaussianBasis,
    Laplacian,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    PolynomialBasis,
    QuadraticForm,
    RationalQuadratic,
    SigmoidBasis,
)

A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
CENTRES = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5]])
ELL = np.array([0.5, 1.0, 2.0])


def r(x, z, ell=1.0):
    """The scaled Euclidean distance."""
    return np.linalg.norm((x - z) / ell)


def matern(a, nu):
    return 1.0 if a == 0 else 2 ** (1 - nu) / gamma(nu) * a**nu * kv(nu, a)


FORMULAS = [
    (Gaussian(0.7), lambda x, z: np.exp(-(r(x, z) ** 2) / (2 * 0.7**2))),
    (Gaussian(ELL), lambda x, z: np.exp(-(r(x, z, ELL) ** 2) / 2)),
    (Exponential(0.7), lambda x, z: np.exp(-r(x, z) / 0.7)),
    (Matern32(0.7), lambda x, z: (1 + 3**0.5 * r(x, z, 0.7)) * np.exp(-(3**0.5) * r(x, z, 0.7))),
    (
        Matern52(ELL),
        lambda x, z: (1 + 5**0.5 * r(x, z, ELL) + 5 * r(x, z, ELL) ** 2 / 3) * np.exp(-(5**0.5) * r(x, z, ELL)),
    ),
    (Matern(0.7, nu=0.8), lambda x, z: matern((2 * 0.8) ** 0.5 * r(x, z, 0.7), 0.8)),
    (Matern(ELL, nu=0.5), lambda x, z: np.exp(-r(x, z, ELL))),
    (RationalQuadratic(0.7, 2.0), lambda x, z: (1 + r(x, z, 0.7) ** 2 / 4) ** -2),
    (Laplacian(ELL), lambda x, z: np.exp(-np.sum(np.abs(x - z) / ELL))),
    (Periodic(0.7, 3.0), lambda x, z: np.exp(-2 * np.sum(np.sin(np.pi * (x - z) / 3) ** 2) / 0.7**2)),
    (
        Periodic(ELL, [1.0, 2.0, 3.0]),
        lambda x, z: np.exp(-2 * np.sum(np.sin(np.pi * (x - z) / [1, 2, 3]) ** 2 / ELL**2)),
    ),
    (Cosine([1.0, 2.0, 5.0]), lambda x, z: np.cos(2 * np.pi * np.sum((x - z) / [1.0, 2.0, 5.0]))),
    (Constant(2.5), lambda x, z: 2.5),
    (Linear(), lambda x, z: x @ z),
    (Polynomial(3, 0.5), lambda x, z: (x @ z + 0.5) ** 3),
    (QuadraticForm(A), lambda x, z: x @ A @ z),
    (QuadraticForm(), lambda x, z: x @ z),
    (
        GaussianBasis(CENTRES, 0.7),
        lambda x, z: sum(np.exp(-(r(x, c) ** 2 + r(z, c) ** 2) / (2 * 0.7**2)) for c in CENTRES),
    ),
    (
        SigmoidBasis(CENTRES, 0.7),
        lambda x, z: sum(1 / (1 + np.exp(-r(x, c) / 0.7)) / (1 + np.exp(-r(z, c) / 0.7)) for c in CENTRES),
    ),
    (FeatureMap(np.tanh), lambda x, z: np.tanh(x) @ np.tanh(z)),
]


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=[repr(kernel) for kernel, _ in FORMULAS])
def test_values(kernel, formula, loops):
    rng = np.random.default_rng(3)
    X, Z = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    Z[0] = X[2]
    expected = np.array([[formula(x, z) for z in Z] for x in X])
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), [formula(x, x) for x in X], rtol=1e-13)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_at_half_integers(nu):
    X = np.random.default_rng(0).standard_normal((8, 2))
    special = {0.5: Exponential, 1.5: Matern32, 2.5: Matern52}[nu]
    np.testing.assert_allclose(Matern(0.8, nu=nu)(X), special(0.8)(X), rtol=1e-12)


@pytest.mark.parametrize("nu", [0.3, 5.0, 19.9, 20.0, 50.0, 200.0, 1000.0, 1e5])
def test_matern_is_its_mixture_of_gaussians(nu):
    """φ = E exp(−a²/(4u)), u with the density uᵛ⁻¹e⁻ᵘ/Γ(ν): the trapezoidal rule in log u needs no Bessel function."""
    r = np.array([1e-12, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 3.0])
    x = np.linspace(max(-400.0 / nu, np.log(nu) - 80.0 / np.sqrt(nu)), np.log(nu + 60.0 * np.sqrt(nu) + 60.0), 100_001)
    density = np.exp(nu * (x - np.log(nu)) - (np.exp(x) - nu))
    slower = np.exp(-0.5 * nu * r[:, None] ** 2 * np.exp(-x))
    expected = slower @ density / density.sum()
    kernel = Matern(1.0, nu)
    np.testing.assert_allclose(kernel([[0.0]], r[:, None])[0], expected, rtol=1e-12)
    slope = (slower * -0.5 * nu * np.exp(-x)) @ density / density.sum()
    np.testing.assert_allclose(kernel.dphi(r[1:] ** 2), slope[1:], rtol=1e-10)


def test_matern_of_nu_1000_has_these_digits():
    exact = [0.99994995120368776, 0.99500751165010421, 0.88239340712151242, 0.6063032030052086, 0.011171385708603401]
    found = Matern(1.0, 1000.0)([[0.0]], [[0.01], [0.1], [0.5], [1.0], [3.0]])[0]
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    np.testing.assert_allclose(Matern(1.0, 1000.0)(np.float32([[0.0]]), np.float32([[0.5]])), [[exact[2]]], rtol=1e-6)
    np.testing.assert_array_equal(Matern(1.0, 1000.0).phi(np.array([0.0, np.inf, np.nan])), [1.0, 0.0, np.nan])


def test_matern_of_large_nu_is_nearly_gaussian_and_rational_quadratic_too():
    X = np.random.default_rng(0).standard_normal((8, 2))
    np.testing.assert_allclose(Matern(nu=150.0)(X), Gaussian()(X), atol=5e-3)
    np.testing.assert_allclose(RationalQuadratic(1.0, 1e5)(X), Gaussian()(X), atol=1e-4)


# ---------------------------------------------------------------------- arc-cosine
@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_its_integral(order):
    """k(x, z) = 2 E[(wᵀx)₊ⁿ (wᵀz)₊ⁿ] for Gaussian w; in the plane, an integral over one angle."""
    x, z = np.array([1.0, 0.5]), np.array([-0.3, 2.0])

    def integrand(phi):
        w = np.array([np.cos(phi), np.sin(phi)])
        a, b = w @ x, w @ z
        return (a > 0) * (b > 0) * (a * b) ** order

    angles = sorted((np.arctan2(v[1], v[0]) + s * np.pi / 2) % (2 * np.pi) for v in (x, z) for s in (-1, 1))
    radial = {0: 1.0, 1: 2.0, 2: 8.0}[order]  # ∫ ρ^(2n+1) exp(−ρ²/2) dρ
    expected = 2 * radial * quad(integrand, 0, 2 * np.pi, points=angles, epsabs=1e-13)[0] / (2 * np.pi)
    np.testing.assert_allclose(ArcCosine(order)(x[None], z[None])[0, 0], expected, rtol=1e-10)


def test_arc_cosine_of_zero_vectors(loops):
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(ArcCosine(0)(X), [[0.5, 0.5], [0.5, 1.0]])
    np.testing.assert_array_equal(ArcCosine(0).diag(X), [0.5, 1.0])
    for order in (1, 2):
        K = ArcCosine(order)(X)
        assert K[0, 0] == K[0, 1] == 0
        np.testing.assert_allclose(K[1, 1], {1: 5.0, 2: 75.0}[order], rtol=1e-15)


def test_arc_cosine_keeps_its_digits_for_nearly_parallel_vectors(loops):
    """1 − k = θ/π: an arccos of the cosine would be off by 1e-8 here."""
    for d in (2, 10):
        x = np.zeros((1, d))
        x[0, 0] = 1.0
        for angle in (1e-3, 1e-6, 1e-9):
            z = np.zeros((1, d))
            z[0, :2] = np.cos(angle), np.sin(angle)
            np.testing.assert_allclose(1 - ArcCosine(0)(x, z)[0, 0], angle / np.pi, rtol=1e-6, atol=2e-16)
            np.testing.assert_allclose(ArcCosine(0)(x, -z)[0, 0], angle / np.pi, rtol=1e-6, atol=2e-16)


def test_arc_cosine_norms_do_not_overflow():
    X = np.array([[3e200, 4e200], [3e-200, 4e-200], [-4e200, 3e200]])
    np.testing.assert_allclose(ArcCosine(0)(X), [[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 1]], rtol=1e-15)


@pytest.mark.parametrize("order", [3, -1, 0.5, True, "1"])
def test_arc_cosine_refuses_other_orders(order):
    with pytest.raises(ValueError, match="order"):
        ArcCosine(order)([[1.0]])


# ---------------------------------------------------------------------- dot products
def test_polynomial_of_offset_zero_has_nothing_to_search():
    kernel = Polynomial(2, 0.0)
    assert kernel.n_theta == 0 and kernel.names == []
    assert kernel([[2.0]], [[3.0]])[0, 0] == 36.0


@pytest.mark.parametrize("degree", [0, -1, 1.5, True, "2", None])
def test_polynomial_refuses_other_degrees(degree):
    with pytest.raises(ValueError, match="degree"):
        Polynomial(degree)([[1.0]])


@pytest.mark.parametrize("offset", [-1.0, np.nan, np.inf, [1.0, 2.0]])
def test_polynomial_refuses_other_offsets(offset):
    with pytest.raises(ValueError, match="offset"):
        Polynomial(2, offset)([[1.0]])


def test_constant_refuses_a_negative_value_and_reads_any_object():
    with pytest.raises(ValueError, match="value.*-1"):
        Constant(-1.0)([[1.0]])
    np.testing.assert_array_equal(Constant(2.0)(["a", "bb"]), np.full((2, 2), 2.0))


def test_quadratic_form_refuses_an_indefinite_matrix_with_its_eigenvalue():
    with pytest.raises(ValueError, match=" -1"):
        QuadraticForm([[1.0, 2.0], [2.0, 1.0]])([[1.0, 1.0]])


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([[1.0, 0.0]], "square"),
        ([1.0], "square"),
        ([[1.0, 0.5], [0.2, 1.0]], r"\[0, 1\] is 0.5 and \[1, 0\] is 0.2"),
        ([[np.nan, 0.0], [0.0, 1.0]], "not finite"),
        (np.eye(3), "A is 3 × 3, but X has 2 columns"),
    ],
)
def test_quadratic_form_refuses_other_matrices(form, message):
    with pytest.raises(ValueError, match=message):
        QuadraticForm(form)([[1.0, 1.0]])


def test_quadratic_form_notices_a_new_matrix():
    kernel = QuadraticForm(np.eye(2))
    x = np.array([[1.0, 2.0]])
    assert kernel(x)[0, 0] == 5.0
    kernel.set_params(A=2 * np.eye(2))
    assert kernel(x)[0, 0] == 10.0
    kernel.set_params(A=None)
    assert kernel(x)[0, 0] == 5.0


# ---------------------------------------------------------------------- periodic
def test_periodic_repeats_and_cosine_changes_sign():
    X = np.random.default_rng(0).standard_normal((4, 2))
    np.testing.assert_allclose(Periodic(0.5, 0.75)(X, X + 7 * 0.75), Periodic(0.5, 0.75)(X), rtol=1e-12)
    np.testing.assert_allclose(Cosine([2.0, 3.0])(X, X + [1.0, 0.0]), -Cosine([2.0, 3.0])(X), atol=1e-14)


def test_periodic_is_exact_far_away_for_a_period_that_is_no_binary_fraction(loops):
    """x = 1e8 + u and a period of 0.1: the truth, with the real period of the float 0.1, in exact arithmetic."""
    from fractions import Fraction

    period, rng = 0.1, np.random.default_rng(0)
    X = 1e8 + np.round(rng.standard_normal((6, 1)) * 2**20) / 2**20
    x = [Fraction(float(v)) for v in X[:, 0]]
    phase = np.array([[float((a - b) / Fraction(period) % 1) for b in x] for a in x])
    expected = np.exp(-2 * np.sin(np.pi * phase) ** 2 / 0.8**2)
    np.testing.assert_allclose(Periodic(0.8, period)(X), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(Cosine(period)(X), np.cos(2 * np.pi * phase), rtol=0, atol=1e-13)


def test_gradient_of_the_period_keeps_its_digits_far_away():
    rng = np.random.default_rng(0)
    X, W = np.round(rng.standard_normal((9, 3)) * 2**20) / 2**20, rng.standard_normal((9, 9))
    for kernel in (Periodic(0.8, 1.5), Periodic(0.8, [1.5, 2.0, 3.0]), Cosine(1.5), Cosine([1.5, 2.0, 3.0])):
        near = kernel.grad(X, X, W)
        shift = 3.0 * 2**24  # about 5e7 and a whole number of periods: also the phases are the same
        np.testing.assert_allclose(kernel.grad(X + shift, X + shift, W), near, rtol=1e-9, atol=1e-9)


def test_cosine_of_the_euclidean_distance_is_not_a_kernel_but_ours_is():
    X = np.random.default_rng(0).standard_normal((30, 2)) * 3
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    assert np.linalg.eigvalsh(np.cos(2 * np.pi * distance)).min() < -0.1
    K = Cosine()(X)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert np.linalg.matrix_rank(K, tol=1e-9) == 2


# ---------------------------------------------------------------------- bases
def test_polynomial_basis_order_and_size():
    X = np.array([[2.0, 3.0]])
    np.testing.assert_array_equal(PolynomialBasis(2).features(X), [[1, 2, 3, 4, 6, 9]])
    assert PolynomialBasis(4).features(np.ones((1, 5))).shape == (1, 126)
    np.testing.assert_array_equal(PolynomialBasis(0).features(X), [[1]])


def test_polynomial_basis_matches_scikit_learn():
    from sklearn.preprocessing import PolynomialFeatures

    X = np.random.default_rng(0).standard_normal((4, 3))
    np.testing.assert_allclose(PolynomialBasis(4).features(X), PolynomialFeatures(4).fit_transform(X), rtol=1e-14)


def test_scaled_polynomial_basis_of_the_lecture():
    """φ(x) = (1, √3 x, √3 x², x³) has φ(x)ᵀφ(z) = (1 + xz)³."""
    np.testing.assert_allclose(
        PolynomialBasis(3, scaled=True).features([[2.0]]), [[1.0, 3**0.5 * 2, 3**0.5 * 4, 8.0]], rtol=1e-15
    )


@pytest.mark.parametrize(("d", "p"), [(1, 1), (1, 7), (3, 2), (4, 5)])
def test_scaled_polynomial_basis_is_the_polynomial_kernel(d, p):
    X = np.random.default_rng(0).standard_normal((7, d))
    np.testing.assert_allclose(PolynomialBasis(p, scaled=True)(X), Polynomial(p, 1.0)(X), rtol=1e-12, atol=1e-12)


def test_polynomial_basis_refuses_what_would_not_fit():
    with pytest.raises(ValueError, match=r"degree 5 .* 1000 .* 8\d+ "):
        PolynomialBasis(5).features(np.ones((1, 1000)))
    with pytest.raises(ValueError, match="degree"):
        PolynomialBasis(-1).features(np.ones((1, 1)))


@pytest.mark.parametrize("cls", [GaussianBasis, SigmoidBasis])
def test_bases_around_centres(cls, loops):
    column = cls([0.0, 1.0, 2.0], 0.5)
    assert column.features([[0.5], [1.0]]).shape == (2, 3)
    with pytest.raises(ValueError, match="centres.* 1 .* 2"):
        column.features(np.ones((1, 2)))
    with pytest.raises(ValueError, match="width"):
        cls([0.0], [1.0, 2.0]).features([[0.5]])
    with pytest.raises(ValueError, match="width"):
        cls([0.0], 0.0).features([[0.5]])
    with pytest.raises(ValueError, match="centres"):
        cls([np.nan]).features([[0.5]])


def test_sigmoid_basis_is_a_half_at_its_centre_and_grows_with_the_distance():
    P = SigmoidBasis([0.0]).features([[0.0], [-1.0], [1.0], [100.0]])[:, 0]
    np.testing.assert_allclose(P, [0.5, 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-1)), 1.0], rtol=1e-12)


def test_feature_map_refuses_wrong_shapes():
    def flat(X):
        return X[:, 0]

    def halved(X):
        return X[::2]

    for phi in (flat, halved):
        with pytest.raises(ValueError, match=r"phi.*\(4, M\)"):
            FeatureMap(phi)(np.ones((4, 2)))
