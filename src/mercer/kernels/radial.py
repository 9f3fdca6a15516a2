"""Radial kernels k(x, z) = φ(s), s = ‖(x − z)/ℓ‖²: an author writes φ and φ′, and has ARD, tiles and gradients.

``length_scale`` is a length: one number, or one for each column (ARD).
"""

from abc import abstractmethod

import numpy as np

from mercer.kernels import bessel, distance
from mercer.kernels.base import Kernel
from mercer.kernels.distance import EVERYTHING

LENGTH_BOUNDS = (1e-5, 1e5)


class Radial(Kernel):
    """k(x, z) = φ(s),  s = Σⱼ (xⱼ − zⱼ)²/ℓⱼ².

    A subclass writes ``phi`` and ``dphi``; both get a fresh array of s and may overwrite it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Matern32
    >>> k = Matern32(2.0)
    >>> bool(np.isclose(k([[0.0]], [[3.0]])[0, 0], k.phi(np.array([1.5**2]))[0]))
    True
    """

    hyper = {"length_scale": LENGTH_BOUNDS}
    stationary = True
    loop: int | None = None  # the compiled loop for φ, where there is one
    loop_slope: int | None = None  # and for φ′

    def __init__(self, length_scale=1.0, *, length_scale_bounds=None):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def columns_quick(self):
        """Up to here the compiled loops work by differences."""
        return 0 if self.loop is None else distance.BY_DIFFERENCES[np.dtype(np.float32)]

    @abstractmethod
    def phi(self, s):
        """φ(s)."""

    @abstractmethod
    def dphi(self, s):
        """φ′(s), with φ′(0) = 0 where the derivative is infinite (it is multiplied by s = 0 there)."""

    def _scaled(self, X, Z):
        """X/ℓ and Z/ℓ, centred."""
        return distance.scaled(X, Z, self._positive("length_scale", X.shape[1]))

    def tiles(self, X, Z):
        """t(i, j) = φ(s) for the inputs X[i] and Z[j]; both are scaled once."""
        return distance.tiles(self.loop, *self._scaled(X, Z), self.phi)

    def diag(self, X):
        """φ(0) = 1."""
        return np.ones(len(X), dtype=X.dtype)

    def _grad(self, X, Z, W):
        """∂s/∂ℓⱼ = −2 (xⱼ − zⱼ)²/ℓⱼ³; all d columns from one product with V = W ∘ φ′(s)."""
        A, B = self._scaled(X, Z)
        compiled = distance.contraction(self.loop, A, B)
        if compiled is not None:
            return self._length_scales(compiled(EVERYTHING, EVERYTHING, W)[1])
        V = distance.radial(self.loop_slope, A, B, self.dphi)
        V *= W
        return self._length_scales(distance.weighted_squares(V, A, B))

    def _length_scales(self, sums):
        """The derivative from Σᵢⱼ Wᵢⱼ φ′(s) (aᵢₖ − bⱼₖ)²."""
        scale = self._positive("length_scale", len(sums))
        return {"length_scale": -2.0 * (sums if scale.size > 1 else sums.sum()) / scale}

    def weighted(self, X, Z, W):
        """(Σ W ∘ k, Σ W ∘ ∂k/∂log θ), from one exp for both."""
        both = self._both(X, Z)
        return super().weighted(X, Z, W) if both is None else both(EVERYTHING, EVERYTHING, W)

    def grad_tiles(self, X, Z):
        """``grad`` of tiles; X and Z are scaled once."""
        both = self._both(X, Z) if self.n_theta else None
        return super().grad_tiles(X, Z) if both is None else lambda i, j, W: both(i, j, W)[1]

    def weighted_tiles(self, X, Z):
        """``weighted`` of tiles; X and Z are scaled once."""
        return self._both(X, Z) or super().weighted_tiles(X, Z)

    def _both(self, X, Z):
        """``weighted`` of tiles by the compiled loop; None where there is none, or more than ℓ to learn."""
        if self.hyper.keys() != {"length_scale"}:
            return None
        compiled = distance.contraction(self.loop, *self._scaled(X, Z))
        ((_, scale, bounds),) = self._own()

        def part(i, j, W):
            total, sums = compiled(i, j, W)
            if bounds is None:
                return total, np.zeros(0)
            return total, -2.0 * (sums if scale.size > 1 else sums.sum(keepdims=True))  # ∂/∂log ℓ = ℓ ∂/∂ℓ

        return None if compiled is None else part

    def _dx(self, X, Z):
        """2 φ′(s) (x − z)/ℓ²."""
        A, B = self._scaled(X, Z)
        slope = 2.0 * self.dphi(distance.squared(A, B))
        return slope[:, :, None] * (A[:, None] - B[None]) / self._positive("length_scale", X.shape[1])

    @classmethod
    def examples(cls):
        """One length scale, and ARD."""
        return [cls(), cls([0.5, 1.0, 2.0])]


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

    loop, loop_slope = 0, 10

    def phi(self, s):
        s *= -0.5
        return np.exp(s, out=s)

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

    loop, loop_slope = 1, 11

    def phi(self, s):
        np.sqrt(s, out=s)
        return np.exp(-s, out=s)

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

    loop, loop_slope = 2, 12

    def phi(self, s):
        a = np.sqrt(3.0 * s)
        return (1.0 + a) * np.exp(-a, out=s)

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

    loop, loop_slope = 3, 13

    def phi(self, s):
        a = np.sqrt(5.0 * s)
        return (1.0 + a + a * a / 3.0) * np.exp(-a, out=s)

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

    def __init__(self, length_scale=1.0, nu=1.5, *, length_scale_bounds=None):
        self.length_scale = length_scale
        self.nu = nu
        self.length_scale_bounds = length_scale_bounds

    def _argument(self, s):
        """(ν, a), in float64: the logarithms of the factors are large, and cancel."""
        nu = float(self._positive("nu"))
        return nu, np.minimum(np.sqrt(2.0 * nu * s.astype(float)), bessel.FARTHEST)

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

    @classmethod
    def examples(cls):
        """Rough and smooth, one length scale and ARD."""
        return [cls(), cls(nu=0.8), cls([0.5, 1.0, 2.0], nu=2.2)]


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

    def __init__(self, length_scale=1.0, alpha=1.0, *, length_scale_bounds=None, alpha_bounds=None):
        self.length_scale = length_scale
        self.alpha = alpha
        self.length_scale_bounds = length_scale_bounds
        self.alpha_bounds = alpha_bounds

    def phi(self, s):
        alpha = float(self._positive("alpha"))
        return np.exp(-alpha * np.log1p(s / (2.0 * alpha)), out=s)

    def dphi(self, s):
        alpha = float(self._positive("alpha"))
        return -0.5 * np.exp((-alpha - 1.0) * np.log1p(s / (2.0 * alpha)))

    def _grad(self, X, Z, W):
        """∂k/∂α = k (u/(1 + u) − log(1 + u)),  u = s/(2α)."""
        alpha = float(self._positive("alpha"))
        u = distance.squared(*self._scaled(X, Z)) / (2.0 * alpha)
        log = np.log1p(u)
        slope = np.exp(-alpha * log) * (u / (1.0 + u) - log)
        return super()._grad(X, Z, W) | {"alpha": np.sum(W * slope)}

    @classmethod
    def examples(cls):
        """One length scale, and ARD."""
        return [cls(), cls(0.7, 2.0), cls([0.5, 1.0, 2.0], 0.5)]
