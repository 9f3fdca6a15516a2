"""Kernels from features: k(x, z) = φ(x)ᵀφ(z), for any function φ and for the bases of the lectures."""

import functools
from abc import abstractmethod
from math import comb

import numpy as np
from scipy.special import expit, factorial

from mercer.kernels import distance
from mercer.kernels.base import Kernel, result_dtype
from mercer.kernels.conversion import as_collection
from mercer.kernels.radial import Gaussian
from mercer.kernels.radial_base import phi_of
from mercer.kernels.slopes import differences


class Features(Kernel):
    """k(x, z) = φ(x)ᵀφ(z) = Σⱼ φⱼ(x) φⱼ(z).

    A subclass writes ``features``, and ``_slopes`` when φ has hyper-parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import PolynomialBasis
    >>> psi = PolynomialBasis(2)
    >>> psi.features(np.array([[3.0]])), psi([[3.0]], [[1.0]])
    (array([[1., 3., 9.]]), array([[13.]]))
    """

    explicit = True

    @abstractmethod
    def features(self, X):
        """Φ, of shape (n, M): row i is φ(xᵢ).

        Parameters
        ----------
        X : collection
            The n inputs whose features are asked for.
        """

    def _slopes(self, X):
        """{name: ∂Φ/∂value} for own hyper-parameters."""
        return {}

    def features_dx(self, X):
        """∂φ(x)/∂x, of shape (m, M, d): by differences, or by the formula of a basis."""
        return differences(lambda A: np.asarray(self.features(A), dtype=float), np.asarray(X, dtype=float))

    def _dx(self, X, Z):
        """∂φ(x)/∂x φ(z)."""
        return np.einsum("mkd,nk->mnd", self.features_dx(X), np.asarray(self.features(Z), dtype=float))

    def _tile(self, X, Z):
        if not len(X) or not len(Z):  # a function of objects cannot know M without one
            return np.zeros((len(X), len(Z)), dtype=result_dtype(X))
        P = self.features(X)
        return P @ (P if Z is X else self.features(Z)).T

    def diag(self, X):
        """‖φ(x)‖²."""
        if not len(X):
            return np.zeros(0, dtype=result_dtype(X))
        P = self.features(X)
        return np.einsum("ij,ij->i", P, P)

    def _grad(self, X, Z, W):
        """Σ W ∂(φ(x)ᵀφ(z)) = ⟨∂Φ(X), W Φ(Z)⟩ + ⟨∂Φ(Z), Wᵀ Φ(X)⟩."""
        left, right = W @ self.features(Z), W.T @ self.features(X)
        DX, DZ = self._slopes(X), self._slopes(Z)
        return {name: np.sum(DX[name] * left) + np.sum(DZ[name] * right) for name in DX}


class FeatureMap(Features):
    """k(x, z) = φ(x)ᵀφ(z) for any function φ.

    Parameters
    ----------
    phi : callable
        Takes a collection of n inputs (rows of an array, or a list of any objects) and returns an array of shape
        (n, M). Row i may depend on input i only: collections are cut into tiles.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FeatureMap
    >>> def letters(words):
    ...     return np.array([[word.count(c) for c in "abc"] for word in words])
    >>> FeatureMap(letters)(["abba", "cab"])
    array([[8., 4.],
           [4., 3.]])
    """

    domain = "objects"

    def __init__(self, phi): ...

    def validate(self, X):
        """X as φ reads it: a 2-D array of numbers as floats, a list as it is."""
        return as_collection(X, "FeatureMap")

    def features(self, X):
        """Φ, checked to be n rows of real numbers."""
        X = self.validate(X)
        if isinstance(self.phi, Kernel):
            raise TypeError(
                f"FeatureMap: phi={self.phi!r} is a kernel, a function of two inputs: its values with the rows of a "
                "batch are no features of a row, and predictions would depend on the batch. Give it to a model as it "
                "is, for example KernelRidge(kernel); empirical_feature_map(kernel, X) has features of it."
            )
        P = np.asarray(self.phi(X))
        if P.ndim != 2 or len(P) != len(X) or P.dtype.kind not in "buif":
            raise ValueError(
                f"FeatureMap: phi must return an array of real numbers of shape ({len(X)}, M) for {len(X)} inputs, "
                f"got shape {P.shape} of dtype {P.dtype}."
            )
        if P.shape[1] == len(X) > 1 and np.shape(self.phi(X[:1]))[-1] != len(X):
            raise ValueError(
                f"FeatureMap: phi returns {len(X)} features for {len(X)} inputs, and another number for one of them: "
                "what it says of an input depends on the others. It must return the same M features for every batch; "
                "a function of two inputs is a kernel, KernelRidge(function)."
            )
        return P.astype(result_dtype(X), copy=False)


class PolynomialBasis(Features):
    """φ(x) = all monomials of total degree <= p: (1, x, x², …, xᵖ) in one column.

    The order is by degree, and within a degree x₁ before x₂: 1, x₁, x₂, x₁², x₁x₂, x₂², …

    Parameters
    ----------
    degree : int, default=2
        p >= 0, a whole number.
    scaled : bool, default=False
        Whether each monomial carries the square root of its multinomial coefficient; then k(x, z) = (1 + xᵀz)ᵖ.

    Examples
    --------
    >>> from mercer.kernels import PolynomialBasis
    >>> PolynomialBasis(3).features([[2.0]])
    array([[1., 2., 4., 8.]])
    >>> PolynomialBasis(3, scaled=True)([[2.0]], [[3.0]]).round(9)
    array([[343.]])
    """

    whole_numbers = {"degree": (0, 10_000)}

    def __init__(self, degree=2, scaled=False): ...

    def features(self, X):
        """Φ, of shape (n, C(d + p, p))."""
        X = self.validate(X)
        d, p = X.shape[1], self._whole_number("degree")
        size = comb(d + p, p)
        if size > 10**6:
            raise ValueError(
                f"PolynomialBasis: degree {p} in {d} columns has {size} monomials, more than 1,000,000; "
                "Polynomial(degree) is the same kernel (with scaled=True) and does not write them out."
            )
        steps, weights = _monomials(d, p)
        blocks = [np.ones((len(X), 1), dtype=X.dtype)]
        for parent, column in steps:
            blocks.append(blocks[-1][:, parent] * X[:, column])
        P = np.hstack(blocks)
        if self.scaled:
            P *= weights.astype(X.dtype)
        return P


@functools.lru_cache(maxsize=8)
def _monomials(d, p):
    """(steps, weights): how each degree follows from the one before, and √(p!/(k₀! k₁! … k_d!)), k₀ = p − Σ kⱼ.

    A step is (parent, column): monomial m of this degree is monomial ``parent[m]`` of the last one times x[column[m]].
    """
    exponents = np.zeros((1, d), dtype=np.int64)
    steps, all_exponents = [], [exponents]
    last = np.zeros(1, dtype=np.int64)  # the last column in each monomial: columns are multiplied in ascending order
    for _ in range(p):
        parent = np.repeat(np.arange(len(last)), d - last)
        column = np.concatenate([np.arange(first, d) for first in last]) if len(last) else last
        exponents = exponents[parent]
        exponents[np.arange(len(parent)), column] += 1
        steps.append((parent, column))
        all_exponents.append(exponents)
        last = column
    k = np.vstack(all_exponents)
    weights = np.sqrt(factorial(p) / (factorial(p - k.sum(axis=1)) * factorial(k).prod(axis=1)))
    weights.flags.writeable = False
    return steps, weights


class _Bumps(Features):
    """φⱼ(x) = h(‖x − μⱼ‖/w): one function for each centre μⱼ. A subclass writes ``_height`` and ``_slope``."""

    hyper = {"width": (1e-5, 1e5)}

    @abstractmethod
    def _height(self, points):
        """h at the distances of `Points`, already divided by w."""

    @abstractmethod
    def _slope(self, points):
        """w ∂h/∂w at the same distances."""

    def _width(self):
        """w as an array of one number, checked."""
        width = self._positive("width")
        if width.size != 1:
            raise ValueError(f"{type(self).__name__}: width must be one number, got {width.size}.")
        return width.reshape(())

    def _scaled(self, X):
        """X/w and μ/w, centred."""
        who = type(self).__name__
        centres = np.asarray(self.centres, dtype=X.dtype)
        centres = centres.reshape(-1, 1) if centres.ndim == 1 else centres
        if centres.ndim != 2 or not np.isfinite(centres).all():
            raise ValueError(f"{who}: centres must be a finite array of shape (M, d), got shape {centres.shape}.")
        if centres.shape[1] != X.shape[1]:
            raise ValueError(f"{who}: centres have {centres.shape[1]} columns and X has {X.shape[1]}.")
        return distance.scale_points(X, centres, self._width())

    def features(self, X):
        """Φ, of shape (n, M)."""
        return self._height(self._scaled(self.validate(X)))

    def _slopes(self, X):
        return {"width": self._slope(self._scaled(X)) / float(self._width())}


class GaussianBasis(_Bumps):
    """φⱼ(x) = exp(−‖x − μⱼ‖²/(2w²)): Gaussian bumps around centres.

    Parameters
    ----------
    centres : array-like of shape (M, d), or (M,) for one column
        μ₁, …, μ_M, where the bumps are highest.
    width : float, default=1.0
        w > 0: how far a bump reaches, in units of x.
    width_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import GaussianBasis
    >>> GaussianBasis([0.0, 1.0]).features([[0.0]]).round(3)
    array([[1.   , 0.607]])
    """

    def __init__(self, centres, width=1.0, *, width_bounds=None): ...

    def _height(self, points):
        return phi_of(Gaussian(), points)

    def _slope(self, points):
        return self._height(points) * points.squared()

    def features_dx(self, X):
        """−φⱼ(x) (x − μⱼ)/w²."""
        points = self._scaled(self.validate(X))
        return -self._height(points)[:, :, None] * (points.A[:, None] - points.B[None]) / float(self._width())


class SigmoidBasis(_Bumps):
    """φⱼ(x) = h(‖x − μⱼ‖/w),  h(r) = 1/(1 + e⁻ʳ): sigmoids of the distance from centres.

    Parameters
    ----------
    centres : array-like of shape (M, d), or (M,) for one column
        μ₁, …, μ_M, which distances are from.
    width : float, default=1.0
        w > 0: how far a step takes to rise, in units of x.
    width_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import SigmoidBasis
    >>> SigmoidBasis([0.0, 1.0]).features([[0.0]]).round(3)
    array([[0.5  , 0.731]])
    """

    def __init__(self, centres, width=1.0, *, width_bounds=None): ...

    def _height(self, points):
        return expit(np.sqrt(points.squared()))

    def _slope(self, points):
        r = np.sqrt(points.squared())
        return -r * expit(r) * expit(-r)
