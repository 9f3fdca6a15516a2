"""Radial kernels k(x, z) = φ(s), s = ‖(x − z)/ℓ‖²: each with its value, its slope, and the compiled loop beside them.

``length_scale`` is a length: one number, or one for each column (ARD).
"""

import math

import numpy as np

from mercer.kernels import bessel
from mercer.kernels.radial_base import LENGTH_BOUNDS, Radial, computed_by


class Gaussian(Radial):
    """exp(−‖x − z‖²/(2ℓ²)), the squared exponential kernel.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(2.0)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    mixture_of_gaussians = True
    smoothness = math.inf
    character = "a very smooth function"

    @computed_by("gaussian")
    def phi(self, s):
        s *= -0.5
        return np.exp(s, out=s)

    @computed_by("gaussian")
    def dphi(self, s):
        return -0.5 * self.phi(s)


class Exponential(Radial):
    """exp(−‖x − z‖/ℓ), Matérn-1/2 on the Euclidean norm.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Exponential
    >>> Exponential()([[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    mixture_of_gaussians = True
    smoothness = 0.5
    character = "a rough function"

    @computed_by("exponential")
    def phi(self, s):
        np.negative(np.sqrt(s, out=s), out=s)
        return np.exp(s, out=s)

    @computed_by("exponential")
    def dphi(self, s):
        r = np.sqrt(s, out=s)
        return np.divide(-0.5 * np.exp(-r), r, out=np.zeros_like(r), where=r > 0)


class Matern32(Radial):
    """(1 + √3 r) exp(−√3 r),  r = ‖x − z‖/ℓ: once differentiable.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Matern32
    >>> Matern32()([[0.0], [1.0]]).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    mixture_of_gaussians = True
    smoothness = 1.5
    character = "a function without jumps in its slope"

    @computed_by("matern32")
    def phi(self, s):
        s *= 3.0
        a = np.sqrt(s)
        np.exp(np.negative(a, out=s), out=s)
        a += 1.0
        s *= a
        return s

    @computed_by("matern32")
    def dphi(self, s):
        return -1.5 * np.exp(-np.sqrt(3.0 * s))


class Matern52(Radial):
    """(1 + √5 r + 5r²/3) exp(−√5 r),  r = ‖x − z‖/ℓ: twice differentiable.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Matern52
    >>> Matern52()([[0.0], [1.0]]).round(3)
    array([[1.   , 0.524],
           [0.524, 1.   ]])
    """

    mixture_of_gaussians = True
    smoothness = 2.5
    character = "a smooth function"

    @computed_by("matern52")
    def phi(self, s):
        s *= 5.0
        a = np.sqrt(s)
        s /= 3.0
        s += 1.0
        s += a
        s *= np.exp(np.negative(a, out=a), out=a)
        return s

    @computed_by("matern52")
    def dphi(self, s):
        a = np.sqrt(5.0 * s)
        return (-5.0 / 6.0) * (1.0 + a) * np.exp(-a)


class Matern(Radial):
    """2^(1−ν)/Γ(ν) aᵛ K_ν(a),  a = √(2ν) ‖x − z‖/ℓ, for any smoothness ν > 0.

    ν = 1/2, 3/2, 5/2 are `Exponential`, `Matern32`, `Matern52`, which are much faster; ν = ∞ is `Gaussian`.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    nu : float, default=1.5
        Smoothness ν > 0; not searched.
    length_scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Matern, Matern32
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.3], [1.0]])
    >>> bool(np.allclose(Matern(nu=1.5)(X), Matern32()(X)))
    True
    """

    mixture_of_gaussians = True

    def __init__(self, length_scale=1.0, nu=1.5, *, length_scale_bounds=None): ...

    @property
    def smoothness(self):
        """ν: samples have ⌈ν⌉ − 1 derivatives."""
        return float(self._positive("nu"))

    def _argument(self, s):
        """(ν, a), in float64: the logarithms of the factors are large, and cancel."""
        nu = float(self._positive("nu"))
        return nu, np.minimum(np.sqrt(2.0 * nu * s.astype(float)), 1e150)  # whose square is finite

    def phi(self, s):
        nu, a = self._argument(s)
        return bessel.matern(nu, a).astype(s.dtype)

    def dphi(self, s):
        nu, a = self._argument(s)
        if nu > 1.0:  # d/da aᵛK_ν = −aᵛK_{ν−1},  da/ds = ν/a
            return (-0.5 * nu / (nu - 1.0) * bessel.matern(nu - 1.0, a)).astype(s.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -nu * bessel.scaled_bessel(nu, 1.0 - nu, a) / a
        value[np.isinf(value) | (np.isnan(value) & ~np.isnan(a))] = 0.0
        return value.astype(s.dtype)


class RationalQuadratic(Radial):
    """(1 + ‖x − z‖²/(2αℓ²))^(−α): a mixture of Gaussians of many length scales.

    Parameters
    ----------
    length_scale : float or array-like of shape (d,), default=1.0
        ℓ > 0; one for each column is ARD.
    alpha : float, default=1.0
        Shape α > 0 of the mixture; α → ∞ is `Gaussian`. Not the dual vector.
    length_scale_bounds, alpha_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic()([[0.0], [1.0]]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    hyper = {"length_scale": LENGTH_BOUNDS, "alpha": (1e-5, 1e5)}
    mixture_of_gaussians = True
    character = "a function that is smooth on several scales"

    def __init__(self, length_scale=1.0, alpha=1.0, *, length_scale_bounds=None, alpha_bounds=None): ...

    @computed_by("rationalquadratic", shape="alpha")
    def phi(self, s):
        alpha = float(self._positive("alpha"))
        return np.exp(-alpha * np.log1p(s / (2.0 * alpha)), out=s)

    @computed_by("rationalquadratic", shape="alpha")
    def dphi(self, s):
        alpha = float(self._positive("alpha"))
        return -0.5 * np.exp((-alpha - 1.0) * np.log1p(s / (2.0 * alpha)))

    @computed_by("rationalquadratic", shape="alpha")
    def dshape(self, s, phi):
        """∂φ/∂α = φ (u/(1 + u) − log(1 + u)),  u = s/(2α)."""
        u = s / (2.0 * float(self._positive("alpha")))
        return {"alpha": phi * (u / (1.0 + u) - np.log1p(u))}
