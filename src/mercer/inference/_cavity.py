"""Tilted moments: log Z, its slope and curvature in μ, of Z(μ) = ∫ σ(f)^power N(f | μ, v) df."""

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr, logsumexp

Z = np.arange(-46, 47) * 0.25  # in units of s: the tilted peak moves by up to s <= 2 of them
U = np.arange(-80, 81) * 0.5
SLOPE = np.log(0.5 * expit(U) * expit(-U))
DROP = 38.0  # in log h: beyond, a density is 0
LEGENDRE = np.polynomial.legendre.leggauss(120)


def tilted_probit(mean, var, hazard):
    """In closed form: Z = Φ(μ/√(1 + v))."""
    scale = np.sqrt(1.0 + var)
    z = mean / scale
    h, rest = hazard(z)
    return log_ndtr(z), h / scale, h * rest / (1.0 + var)


def tilted_logit(mean, var, link):
    """By the trapezoidal rule, to about 1e-13."""
    s, peak = np.sqrt(var), mean + var  # where eᶠ N(f) peaks, as wide as N
    out = np.empty((3, len(mean)))
    out[0], out[1], out[2] = mean + 0.5 * var, 1.0, 0.0  # Z = E eᶠ, where all of it is deep in the tail
    deep, narrow = peak + np.minimum(0.5 * var, 9.0 * s) < -36.0, s < 2.0  # where σ(f) is eᶠ to the last digit
    cut = ~(narrow | deep) & (0.5 * U[0] ** 2 - U[0] * peak < DROP * var)  # the nodes of `_wide` would end too early
    own = lambda m, s: _grid(link, m, s**2, np.ones_like(m))  # noqa: E731
    far = s >= 30.0  # where the nodes of `_grid` are too far apart for the bend of σ at 0
    rules = ((narrow & ~deep, _narrow), (cut & ~far, own), (cut & far, _far))
    for chosen, rule in (*rules, (~(narrow | cut | deep), _wide)):
        rows = np.flatnonzero(chosen)
        for i in range(0, rows.size, 2048):
            part = rows[i : i + 2048]
            out[:, part] = rule(mean[part], s[part])
    return tuple(out)


def _narrow(mean, s):
    """Nodes in (f − μ)/s; slope and curvature as tilted moments of the derivatives of log σ."""
    f = mean[:, None] + s[:, None] * Z
    log_h = log_expit(f) - 0.5 * Z**2
    total = logsumexp(log_h, axis=1)
    p = np.exp(log_h - total[:, None])
    log_z = total + np.log(0.25 / np.sqrt(2.0 * np.pi))
    return _from_moments(log_z, p, expit(-f), expit(f) * expit(-f))


def _from_moments(log_z, p, first, minus_second):
    """∂ log Z/∂μ = E ℓ′, −∂² log Z/∂μ² = E(−ℓ″) − Var ℓ′ under the tilted weights p."""
    slope = np.einsum("ij,ij->i", p, first)
    spread = np.einsum("ij,ij->i", p, (first - slope[:, None]) ** 2)
    return log_z, slope, np.maximum(np.einsum("ij,ij->i", p, minus_second) - spread, 0.0)


def _wide(mean, s):
    """Nodes in f, after integration by parts: Z = ∫ σ′Φ, Z′ = ∫ σ′N, Z″ = ∫ σ′ (u − μ)/s² N."""
    z = (mean[:, None] - U) / s[:, None]
    log_z = logsumexp(SLOPE + log_ndtr(z), axis=1)
    log_n = SLOPE - 0.5 * z**2 - np.log(s * np.sqrt(2.0 * np.pi))[:, None]
    density = np.exp(log_n - log_z[:, None])
    slope = density.sum(axis=1)
    second = -(density * z).sum(axis=1) / s
    return log_z, slope, np.maximum(slope**2 - second, 0.0)


def _far(mean, s):
    """σ(f) = min(1, eᶠ) + r(f): the first part in closed form, r = −e^(−f)σ(f) or −eᶠσ(f) on either side of 0 by Gauss.

    Everything is divided by the normal density at μ/s, so that nothing underflows.
    """
    v, half = s * s, np.sqrt(0.5 * np.pi)
    low, high = half * erfcx((mean + v) / (s * np.sqrt(2.0))), half * erfcx(-mean / (s * np.sqrt(2.0)))
    f = 30.0 * (LEGENDRE[0] + 1.0)
    r = -30.0 * LEGENDRE[1] / (1.0 + np.exp(-f))
    slant, bend = np.outer(mean / v, f), f * f / (2.0 * v[:, None])
    right, left = (np.exp(fall - bend) * r / s[:, None] for fall in (slant - f, -slant - 2.0 * f))
    r0, r1, r2 = (right + left).sum(axis=1), (right - left) @ f, (right + left) @ f**2
    total = low + high + r0
    slope = (low + (r1 - mean * r0) / v) / total
    second = (low - 1.0 / s + (r2 - 2.0 * mean * r1 + mean**2 * r0) / v**2 - r0 / v) / total
    log_z = np.log(total) - 0.5 * mean**2 / v - 0.5 * np.log(2.0 * np.pi)
    return log_z, slope, np.maximum(slope**2 - second, 0.0)


def trapezoid_power(link, mean, var, power):
    """Any link and power, on a grid around the mode of the tilted density that ends where it has fallen by e⁻³⁸."""
    out = np.empty((3, len(mean)))
    for i in range(0, len(mean), 2048):
        part = slice(i, i + 2048)
        out[:, part] = _grid(link, mean[part], var[part], power[part])
    return tuple(out)


def _grid(link, mean, var, power, nodes=801):
    low, high = _range(link, mean, var, power)
    f = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, nodes)
    log_h = power[:, None] * link.log(f) - 0.5 * (f - mean[:, None]) ** 2 / var[:, None]
    total = logsumexp(log_h, axis=1)
    p = np.exp(log_h - total[:, None])
    log_z = total + np.log((high - low) / (nodes - 1)) - 0.5 * np.log(2.0 * np.pi * var)
    first, second = link.derivatives(f)
    return _from_moments(log_z, p, power[:, None] * first, -power[:, None] * second)


def _range(link, mean, var, power):
    """Where log h is within DROP of its peak: h falls at least as fast as the Gaussian around its mode."""
    low, high = mean, mean + power * link.derivatives(mean)[0] * var
    for _ in range(60):  # the slope of log h falls, and changes its sign in between; Newton would jump over the bend
        mode = 0.5 * (low + high)
        rising = power * link.derivatives(mode)[0] > (mode - mean) / var
        low, high = np.where(rising, mode, low), np.where(rising, high, mode)
    reach = np.sqrt(2.0 * DROP * var)
    return mode - reach, mode + reach
