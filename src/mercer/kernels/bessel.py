"""2^(1−ν)/Γ(ν) aᵛ K_ν(a), 1 at a = 0 and decreasing, for every ν > 0: what `Matern` is made of.

K_ν overflows for small a and large ν, long before what is missing to 1 is rounding. Debye's expansion, which is uniform
in a, does not: with z = a/ν, w = √(1 + z²) and t = w − 1 the powers and Γ(ν) cancel, and

    log = ν (log(1 + t/2) − t) − ½ log w + log D(1/w) − log D(1),  D(p) = Σₖ (−1)ᵏ Uₖ(p)/νᵏ.
"""

import functools

import numpy as np
from numpy.polynomial import Polynomial
from scipy.special import gammaln, kve


def matern(nu, a):
    """2^(1−ν)/Γ(ν) aᵛ K_ν(a) for a >= 0."""
    if nu >= 20.0:  # the expansion is exact to rounding; below, K_ν overflows only where the value is 1
        return _expansion(nu, a)
    value = scaled_bessel(nu, nu, a)
    lost = ~np.isfinite(value)
    value[lost & (a < 1.0)], value[lost & (a >= 1.0)] = 1.0, 0.0
    return value


def scaled_bessel(nu, order, a):
    """2^(1−ν)/Γ(ν) aᵛ K_order(a), by logarithms; inf or nan where K overflows."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(a) + np.log(kve(order, a)) - a
        return np.exp(log)


def _expansion(nu, a):
    """The same by Debye's expansion, for large ν."""
    z = a / nu
    w = np.sqrt(1.0 + z * z)
    t = z * (z / (1.0 + w))
    p = 1.0 / np.append(w, 1.0)
    series = np.zeros_like(p)
    for U in reversed(_debye()):
        series = U(p) - series / nu
    log = nu * (np.log1p(t / 2.0) - t) - 0.5 * np.log1p(t)
    return np.exp(log.ravel() + np.log(series[:-1] / series[-1])).reshape(a.shape)


@functools.cache
def _debye():
    """U₀, U₁, …: Uₖ₊₁(p) = ½p²(1 − p²) Uₖ′(p) + ⅛ ∫₀ᵖ (1 − 5t²) Uₖ(t) dt."""
    found = [Polynomial([1.0])]
    for _ in range(10):
        U = found[-1]
        found.append(Polynomial([0, 0, 0.5, 0, -0.5]) * U.deriv() + 0.125 * (Polynomial([1, 0, -5]) * U).integ())
    return found
