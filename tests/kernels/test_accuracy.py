"""Digits: the polynomial exp, squared distances far from the origin, exact zeros, and numbers that overflow."""

import decimal

import numpy as np
import pytest

from mercer import _native
from mercer.kernels import (
    ArcCosine,
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    distance,
)

RADIAL = [Gaussian(), Exponential(), Matern32(), Matern52(), Matern(nu=0.8), RationalQuadratic()]
STATIONARY = [*RADIAL, Laplacian(), Periodic()]


# ---------------------------------------------------------------------- exp
def compiled_exp(x):
    out = np.empty((1, len(x)), dtype=x.dtype)
    _native.pairs.laplacian(np.zeros((1, 1), dtype=x.dtype), x[None], out)  # exp(−|x|): the loops ask for no other
    return out[0]


def exp64_arguments():
    """Random ones over the whole range, small ones, and those around the changes of the exponent k."""
    rng = np.random.default_rng(0)
    steps = (np.arange(-1021, 1023) + 0.5) * np.log(2.0)
    around = np.concatenate([steps, np.nextafter(steps, -np.inf), np.nextafter(steps, np.inf)])
    tiny = rng.choice([-1.0, 1.0], 500) * 10.0 ** rng.uniform(-320, 0, 500)
    x = np.concatenate([rng.uniform(-708.3, 709.7, 4000), around, tiny, [0.0, -0.0, -708.3, 709.7, 1.0, -1.0]])
    return x[(x >= -708.3) & (x <= 0.0)]


def test_exp_is_within_two_ulp_in_float64():
    x = exp64_arguments()
    with decimal.localcontext(decimal.Context(prec=40)):
        exact = [decimal.Decimal(float(v)).exp() for v in x]
        got = [decimal.Decimal(float(v)) for v in compiled_exp(x)]
        ulp = [decimal.Decimal(float(np.spacing(float(v)))) for v in exact]
        worst = max(abs(g - e) / u for g, e, u in zip(got, exact, ulp, strict=True))
    assert worst <= 2


def test_exp_is_within_two_ulp_in_float32():
    rng = np.random.default_rng(0)
    steps = (np.arange(-125, 127) + 0.5) * np.log(2.0)
    x = np.concatenate([np.linspace(-87.3, 88.7, 400_001), rng.uniform(-1, 1, 10_000), steps, [0.0, -0.0]])
    x = x.astype(np.float32)
    x = x[(x >= np.float32(-87.3)) & (x <= 0)]
    exact = np.exp(x.astype(np.float64))
    ulp = np.spacing(exact.astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(compiled_exp(x) - exact) / ulp) <= 2


def test_exp_of_zero_is_one_and_below_the_normal_range_is_zero():
    for dtype, low in ((np.float64, -708.4), (np.float32, -87.4)):
        np.testing.assert_array_equal(compiled_exp(np.array([0.0, -0.0, low, -1e30, -np.inf], dtype)), [1, 1, 0, 0, 0])


def test_exp_is_monotone_and_at_most_one_on_the_negative_axis():
    x = -np.sort(np.random.default_rng(0).exponential(1e-15, 1000))[::-1]
    y = compiled_exp(x)
    assert (y <= 1.0).all() and (np.diff(y) >= 0).all()


# ---------------------------------------------------------------------- distances
def exact_squared(X, Z):
    """‖x − z‖² by differences in long double."""
    difference = X.astype(np.longdouble)[:, None] - Z.astype(np.longdouble)
    return np.sum(difference**2, axis=2)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8, -1e8])
@pytest.mark.parametrize("d", [2, 10, 50])
def test_an_offset_leaves_nine_digits(d, offset, loops):
    rng = np.random.default_rng(d)
    X, Z = rng.standard_normal((40, d)) + offset, rng.standard_normal((30, d)) + offset
    Z[:10] = X[:10] + 1e-4 * rng.standard_normal((10, d))  # near pairs: there the product trick has no digits
    s = exact_squared(X, Z)
    np.testing.assert_allclose(Gaussian()(X, Z), np.exp(-s / 2).astype(float), rtol=0, atol=1e-9)
    np.testing.assert_allclose(Exponential()(X, Z), np.exp(-np.sqrt(s)).astype(float), rtol=0, atol=1e-9)
    one = np.ones(1)
    np.testing.assert_allclose(distance.scale_points(X, Z, one).squared(), s.astype(float), rtol=1e-9)


@pytest.mark.parametrize("d", [2, 10, 50])
def test_one_column_far_away_and_one_near(d, loops):
    """Epoch seconds beside a column of order one, with length scales to match."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((40, d))
    X[:, 0] = 1.7e9 + 1e4 * X[:, 0]
    scale = np.ones(d)
    scale[0] = 1e4
    s = exact_squared(X / scale.astype(np.longdouble), X / scale.astype(np.longdouble))
    np.testing.assert_allclose(Gaussian(scale)(X), np.exp(-s / 2).astype(float), rtol=0, atol=1e-9)


@pytest.mark.parametrize("outlier", [1e8, 1e15, 1e30, -1e200])
@pytest.mark.parametrize("d", [2, 10])
def test_one_outlier_does_not_cost_the_other_rows_their_digits(d, outlier, loops):
    X = np.random.default_rng(d).standard_normal((100, d))
    X[17, 0] = outlier
    exact = np.exp(-exact_squared(X, X) / 2).astype(float)
    np.testing.assert_allclose(Gaussian()(X), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [2, 10, 50])
def test_equal_rows_have_distance_exactly_zero(d, dtype, loops):
    rng = np.random.default_rng(d)
    X = (rng.standard_normal((20, d)) * 10.0 ** rng.uniform(-3, 3, (20, 1)) + 1e3).astype(dtype)
    X = X[np.r_[0:20, 0:20, 5, 5]]
    s = distance.scale_points(X, X, np.ones(1)).squared()
    equal = (X[:, None] == X).all(axis=2)
    assert (s[equal] == 0).all() and (s[~equal] > 0).all()
    for kernel in STATIONARY:
        K, cross = kernel(X), kernel(X[:20], X[20:].copy())
        assert (K[equal] == 1).all(), kernel
        assert (cross[equal[:20, 20:]] == 1).all(), kernel


@pytest.mark.parametrize("d", [1, 2, 10, 50])
def test_squares_that_overflow_give_zero_and_no_nan(d, loops):
    rng = np.random.default_rng(d)
    X = np.vstack([1e200 * rng.standard_normal((6, d)), rng.standard_normal((6, d))])
    X = np.vstack([X, X[:3]])
    for kernel in [*STATIONARY, Cosine(), ArcCosine(0)]:
        with np.errstate(all="ignore"):
            K = kernel(X)
        assert np.isfinite(K).all(), kernel
        np.testing.assert_allclose(np.diagonal(K), 1.0, rtol=1e-12)
        np.testing.assert_allclose(K[12:, :3].diagonal(), 1.0, rtol=1e-12)
    for kernel in (Gaussian(), Exponential(), Matern32(), Matern52(), Matern(nu=0.8)):
        assert kernel(X)[0, 1] == 0.0


@pytest.mark.parametrize("d", [2, 10])
def test_float32_far_away(d, loops):
    """float32 at 1e4 has a spacing of 1e-3; what is left after that is kept."""
    X = (np.random.default_rng(0).standard_normal((30, d)) + 1e4).astype(np.float32)
    exact = np.exp(-exact_squared(X, X) / 2).astype(float)
    np.testing.assert_allclose(Gaussian()(X), exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kernel", [*STATIONARY, Cosine()], ids=repr)
def test_gradients_agree_with_and_without_the_compiled_loops(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    for d in (2, 10):
        X, Z, W = rng.standard_normal((9, d)), rng.standard_normal((7, d)), rng.standard_normal((9, 7))
        compiled = kernel.grad(X, Z, W)
        with monkeypatch.context() as patch:
            patch.setattr(_native, "pairs", _native.plain.pairs)
            np.testing.assert_allclose(compiled, kernel.grad(X, Z, W), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d", [3, 20])
def test_gradients_where_a_length_scale_is_far_below_the_data(d, loops, rng):
    """Columns told apart like labels: x/ℓ is 1e5, where Σ W φ′(s)(a − b)² must not be multiplied out."""
    X = rng.standard_normal((40, d))
    X[:, 0] = rng.integers(0, 3, 40)
    scale = np.full(d, 3.0)
    scale[0] = 1e-5
    W = rng.standard_normal((40, 40))
    D = (X[:, None] - X) ** 2 / scale**2
    expected = np.einsum("ij,ij,ijk->k", W, np.exp(-0.5 * D.sum(axis=2)), D)
    np.testing.assert_allclose(Gaussian(scale).grad(X, X, W), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
