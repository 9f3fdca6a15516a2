"""Links: derivatives, tails, the integral against a normal density, and the tilted moments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, log_expit, logsumexp, ndtr

from mercer.inference.likelihood import Binary, Logit, Probit, hazard

LINKS = [Logit(), Probit()]
both = pytest.mark.parametrize("link", LINKS, ids=["logit", "probit"])


def naive_moments(link, mean, var, power):
    """log Z, and its two derivatives in μ, by adaptive integration."""
    s, points = np.sqrt(var), [-30.0, -5.0, 0.0, 5.0, 30.0]

    def density(f):
        return np.exp(power * link.log(f) - 0.5 * (f - mean) ** 2 / var) / np.sqrt(2 * np.pi * var)

    def integral(g):
        low, high = mean - 12 * s, mean + 12 * s
        inside = sorted({low, high, *[p for p in (*points, mean, mean + var) if low < p < high]})
        return sum(
            quad(lambda f: g(f) * density(f), a, b, epsabs=0, epsrel=1e-11)[0]
            for a, b in zip(inside, inside[1:], strict=False)
        )

    Z = integral(lambda f: 1.0)
    m = integral(lambda f: f) / Z
    v = integral(lambda f: (f - m) ** 2) / Z
    return np.log(Z), (m - mean) / var, (1.0 - v / var) / var


@both
def test_derivatives_by_central_differences(link, rng):
    z, h = rng.uniform(-8, 8, 50), 1e-4
    first, second = link.derivatives(z)
    third = second * link.skew(z)
    assert_allclose((link.log(z + h) - link.log(z - h)) / (2 * h), first, rtol=1e-6, atol=1e-9)
    up, down = link.derivatives(z + h), link.derivatives(z - h)
    assert_allclose((up[0] - down[0]) / (2 * h), second, rtol=1e-6, atol=1e-9)
    assert_allclose((up[1] - down[1]) / (2 * h), third, rtol=1e-5, atol=1e-8)


@both
def test_tails_are_finite_and_concave(link):
    z = np.array([-1e150, -1e8, -1e4, -700.0, -37.0, 37.0, 700.0, 1e8, 1e150])
    for value in (link.log(z), *link.derivatives(z), link.skew(z)):
        assert np.isfinite(value[1:]).all()
    assert (link.derivatives(z)[1] <= 0).all()
    assert_allclose(link.prob(z) + link.prob(-z), 1.0)


def test_probit_far_in_the_tail():
    z = np.array([-50.0, -1e4])
    first, second = Probit().derivatives(z)
    assert_allclose(first, -z + 1 / -z - 2 / (-z) ** 3, rtol=1e-7)
    assert_allclose(second, -(1 - 1 / z**2), rtol=1e-6)
    assert_allclose(hazard(-6.0)[1], hazard(np.array([-6.0]))[1][0])


@both
def test_inverse(link):
    p = np.array([1e-9, 0.2, 0.5, 0.99])
    assert_allclose(link.prob(link.inverse(p)), p, rtol=1e-9)


@pytest.mark.parametrize("s", [1e-3, 0.3, 1.9, 2.1, 7.0, 50.0])
@pytest.mark.parametrize("mean", [-30.0, -3.0, 0.0, 0.7, 12.0])
def test_logistic_normal_integral_to_1e_12(mean, s):
    def integrand(f):
        return expit(f) * np.exp(-0.5 * ((f - mean) / s) ** 2)

    low, high = mean - 12 * s, mean + 12 * s
    edges = np.unique([low, high, *np.clip([0.0, mean, mean - 3 * s, mean + 3 * s], low, high)])
    pieces = [
        quad(integrand, a, b, epsabs=0, epsrel=1e-13, limit=400)[0] for a, b in zip(edges, edges[1:], strict=False)
    ]
    assert_allclose(Logit().expect(mean, s * s), sum(pieces) / (s * np.sqrt(2 * np.pi)), rtol=1e-11, atol=1e-12)


def test_logistic_normal_integral_is_symmetric_and_keeps_its_shape():
    mean, var = np.linspace(-5, 5, 12).reshape(3, 4), np.array([0.0, 1.0, 9.0, 1e6])
    p = Logit().expect(mean, var)
    assert p.shape == (3, 4)
    assert_allclose(p + Logit().expect(-mean, var), 1.0, rtol=1e-14)
    assert_allclose(p[:, 0], expit(mean[:, 0]), rtol=1e-13)


def test_probit_normal_integral(rng):
    mean, var = rng.normal(0, 3, 20), rng.uniform(0, 9, 20)
    draws = rng.standard_normal(200_000)
    sampled = [ndtr(m + np.sqrt(v) * draws).mean() for m, v in zip(mean, var, strict=True)]
    assert_allclose(Probit().expect(mean, var), sampled, atol=5e-3)


@both
@pytest.mark.parametrize("power", [1.0, 0.4])
def test_tilted_moments(link, power):
    cases = [(0.0, 1.0), (-3.0, 0.3), (2.0, 3.9), (1.0, 4.1), (-5.0, 25.0), (-30.0, 16.0), (4.0, 100.0)]
    mean, var = np.array(cases).T
    got = np.stack(link.tilted(mean, var, None if power == 1.0 else np.full(len(mean), power)), axis=1)
    for case, one in zip(cases, got, strict=True):
        assert_allclose(one, naive_moments(link, *case, power), rtol=1e-7, atol=1e-9)


def fine_moments(mean, var, power):
    """The same by the trapezoidal rule at a step of 0.05, far from the overflow of the plain densities."""
    s = np.sqrt(var)
    f = np.arange(mean - 14 * s, max(mean, min(mean + var, 60.0)) + 14 * s, 0.05)
    log_h = power * log_expit(f) - (f - mean) ** 2 / (2 * var)
    total = logsumexp(log_h)
    p = np.exp(log_h - total)
    m = p @ (f - mean)
    v = p @ (f - mean - m) ** 2
    return total + np.log(0.05) - 0.5 * np.log(2 * np.pi * var), m / var, (1 - v / var) / var


@pytest.mark.parametrize(
    ("mean", "var"),
    [(-50, 100), (-97, 100), (-220, 225), (-440, 441), (-25, 5.5), (-60, 36), (-640, 900), (-1000, 900), (-1e4, 1e4)]
    + [(-9000, 1e4), (-10500, 1e4), (-1200, 900), (-300, 1e4)],
)
def test_tilted_moments_of_a_wide_cavity_below_zero(mean, var):
    """eᶠ N(f) peaks at μ + v, near 0, and is as wide as N: neither all in the tail nor all near the bend of σ."""
    one = np.array([float(mean)]), np.array([float(var)])
    got, expected = np.stack(Logit().tilted(*one))[:, 0], fine_moments(mean, var, 1.0)
    assert_allclose(got[:2], expected[:2], rtol=1e-12)
    assert_allclose(got[2], expected[2], atol=1e-10 / var)
    if var < 900:
        got = np.stack(Logit().tilted(*one, np.array([0.4])))[:, 0]
        assert_allclose(got, fine_moments(mean, var, 0.4), rtol=1e-8, atol=1e-10)


def test_tilted_moments_of_mixed_powers_and_of_the_deep_tail():
    mean, var = np.array([0.3, -90.0, 0.3]), np.array([1.0, 9.0, 1.0])
    got = np.stack(Logit().tilted(mean, var, np.array([1.0, 1.0, 0.5])))
    assert_allclose(got[:, 1], [-90 + 4.5, 1.0, 0.0], atol=1e-12)
    assert_allclose(got[:, 0], np.stack(Logit().tilted(mean[:1], var[:1]))[:, 0])
    assert got[0, 2] > got[0, 0]


@both
def test_weights_and_labels_of_the_likelihood(link, rng):
    f, t, w = rng.standard_normal(9), np.where(rng.uniform(size=9) > 0.5, 1.0, -1.0), rng.integers(1, 4, 9)
    weighted = Binary(link, t, w, 0.3)
    index = np.repeat(np.arange(9), w)
    repeated = Binary(link, t[index], None, 0.3)
    assert_allclose(weighted.value(f), repeated.value(f[index]))
    for one, many in zip(weighted.derivatives(f), repeated.derivatives(f[index]), strict=True):
        assert_allclose(one, np.bincount(index, weights=many))
