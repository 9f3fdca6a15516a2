"""Tilted moments: log Z, its slope and curvature in μ, of Z(μ) = ∫ σ(f)^power N(f | μ, v) df."""

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logsumexp

WIDE = 2.0
Z = np.arange(-46, 47) * 0.25  # in units of s: the tilted peak moves by up to s <= 2 of them
U = np.arange(-80, 81) * 0.5
SLOPE = np.log(0.5 * expit(U) * expit(-U))
DEEP = -38.0  # where σ(f) is eᶠ to the last digit
NODES, DROP = 801, 38.0
BLOCK = 2048


def tilted_probit(mean, var, hazard):
    """In closed form: Z = Φ(μ/√(1 + v))."""
    scale = np.sqrt(1.0 + var)
    z = mean / scale
    h, rest = hazard(z)
    return log_ndtr(z), h / scale, h * rest / (1.0 + var)


def tilted_logit(mean, var, link):
    """By the trapezoidal rule, to about 1e-13."""
    s, peak = np.sqrt(var), mean + var  # where eᶠ N(f) peaks
    out = np.empty((3, len(mean)))
    out[0], out[1], out[2] = mean + 0.5 * var, 1.0, 0.0  # Z = E eᶠ, where all of it is deep in the tail
    narrow, deep = s < WIDE, peak < DEEP
    cut = ~narrow & (peak < 0) & (peak - 8.0 * s < U[0])  # the nodes of `_wide` would end too early
    own = lambda m, s: _grid(link, m, s**2, np.ones_like(m))  # noqa: E731
    for chosen, rule in ((narrow & ~deep, _narrow), (cut & ~deep, own), (~(narrow | cut | deep), _wide)):
        rows = np.flatnonzero(chosen)
        for i in range(0, rows.size, BLOCK):
            part = rows[i : i + BLOCK]
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


def trapezoid_power(link, mean, var, power):
    """Any link and power, on a grid around the mode of the tilted density that ends where it has fallen by e⁻³⁸."""
    out = np.empty((3, len(mean)))
    for i in range(0, len(mean), BLOCK):
        part = slice(i, i + BLOCK)
        out[:, part] = _grid(link, mean[part], var[part], power[part])
    return tuple(out)


def _grid(link, mean, var, power):
    low, high = _range(link, mean, var, power)
    f = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, NODES)
    log_h = power[:, None] * link.log(f) - 0.5 * (f - mean[:, None]) ** 2 / var[:, None]
    total = logsumexp(log_h, axis=1)
    p = np.exp(log_h - total[:, None])
    log_z = total + np.log((high - low) / (NODES - 1)) - 0.5 * np.log(2.0 * np.pi * var)
    first, second, _ = link.derivatives(f)
    return _from_moments(log_z, p, power[:, None] * first, -power[:, None] * second)


def _range(link, mean, var, power):
    """Where log h is within DROP of its peak: h falls at least as fast as the Gaussian around its mode."""
    mode = mean.copy()
    for _ in range(60):  # Newton on a concave function; the damping keeps it from stepping over the bend
        first, second, _ = link.derivatives(mode)
        step = (power * first - (mode - mean) / var) / (-power * second + 1.0 / var)
        mode = mode + np.clip(step, -4.0 * np.sqrt(var) - 4.0, 4.0 * np.sqrt(var) + 4.0)
    reach = np.sqrt(2.0 * DROP * var)
    return mode - reach, mode + reach
