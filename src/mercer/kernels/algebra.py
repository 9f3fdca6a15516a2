"""Kernels from kernels: every closure rule of lecture 001, each with its pull-back of the weight W.

Composites are binary trees and are never flattened; the outermost operator decides the brackets of ``repr``.
"""

import numbers

import numpy as np

from mercer.kernels.base import Kernel, show
from mercer.kernels.dot import Constant, Linear
from mercer.kernels.radial import Gaussian


def add(left, right):
    """k₁ + k₂; a number c >= 0 stands for the constant kernel c."""
    left, right = _operand(left), _operand(right)
    return NotImplemented if left is None or right is None else Sum(left, right)


def multiply(left, right):
    """k₁ · k₂; a number c stands for the scale of the other kernel."""
    for number, kernel in ((left, right), (right, left)):
        if isinstance(number, numbers.Real):
            return Scaled(kernel, float(number))
    return Product(left, right) if isinstance(left, Kernel) and isinstance(right, Kernel) else NotImplemented


def _operand(other):
    """A kernel, or the constant kernel of a number; None for anything else."""
    if isinstance(other, numbers.Real):
        return Constant(float(other))
    return other if isinstance(other, Kernel) else None


class Composite(Kernel):
    """A kernel made of others: reads what its parts read, and is proved PSD if they are."""

    def validate(self, X):
        """X as all parts read it: a data frame as a table, where a part reads columns by name."""
        if isinstance(X, dict) or hasattr(X, "columns"):
            from mercer.kernels.inputs import as_named  # which is built from what is here

            X = as_named(self, X)
        return super().validate(X)

    @property
    def domain(self):
        """What a collection holds: "objects" if a part reads objects."""
        return "objects" if any(part.domain == "objects" for _, part in self._named_parts()) else "vectors"

    @property
    def stationary(self):
        """Whether every part is stationary."""
        return all(part.stationary for _, part in self._named_parts())

    @property
    def psd(self):
        """Whether every part is proved PSD."""
        return all(part.psd for _, part in self._named_parts())


class Sum(Composite):
    """k₁(x, z) + k₂(x, z).

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> 2.0 * Gaussian(0.5) + Linear()
    2.0 * Gaussian(0.5) + Linear()
    """

    parts = ("left", "right")
    _precedence = 1

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def tiles(self, X, Z):
        """The sum of the parts' tiles."""
        left, right = self.left.tiles(X, Z), self.right.tiles(X, Z)

        def tile(i, j):
            K = left(i, j)
            K += right(i, j)
            return K

        return tile

    def diag(self, X):
        """k₁(x, x) + k₂(x, x)."""
        return self.left.diag(X) + self.right.diag(X)

    def _pull(self, X, Z, W):
        yield "left", X, Z, W
        yield "right", X, Z, W

    def _dx(self, X, Z):
        return self.left.dx(X, Z) + self.right.dx(X, Z)

    def __repr__(self):
        return f"{self.left._repr_operand(1)} + {self.right._repr_operand(2)}"

    @classmethod
    def examples(cls):
        """Two radial kernels; a radial one and the linear one."""
        return [cls(Gaussian(0.5), Linear()), cls(Linear(), Scaled(Gaussian(), 2.0))]


class Product(Composite):
    """k₁(x, z) · k₂(x, z).

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(0.5) + Linear()) * Linear()
    (Gaussian(0.5) + Linear()) * Linear()
    """

    parts = ("left", "right")
    _precedence = 2

    def __init__(self, left, right):
        self.left = left
        self.right = right

    def tiles(self, X, Z):
        """The product of the parts' tiles."""
        left, right = self.left.tiles(X, Z), self.right.tiles(X, Z)

        def tile(i, j):
            K = left(i, j)
            K *= right(i, j)
            return K

        return tile

    def diag(self, X):
        """k₁(x, x) · k₂(x, x)."""
        return self.left.diag(X) * self.right.diag(X)

    def _pull(self, X, Z, W):
        if self.left.n_theta:
            yield "left", X, Z, W * self.right(X, Z)
        if self.right.n_theta:
            yield "right", X, Z, W * self.left(X, Z)

    def _dx(self, X, Z):
        left, right = self.left(X, Z)[:, :, None], self.right(X, Z)[:, :, None]
        return self.left.dx(X, Z) * right + left * self.right.dx(X, Z)

    def __repr__(self):
        return f"{self.left._repr_operand(2)} * {self.right._repr_operand(3)}"

    @classmethod
    def examples(cls):
        """A radial kernel times the linear one; a product of sums."""
        return [cls(Gaussian(0.5), Linear()), cls(Sum(Gaussian(), Linear()), Sum(Linear(), Constant(2.0)))]


class Scaled(Composite):
    """c · k(x, z), c > 0: the amplitude has a name.

    Parameters
    ----------
    kernel : Kernel
    scale : float, default=1.0
        c > 0.
    scale_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-10, 1e10).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> (3 * Gaussian()).names
    ['scale', 'kernel__length_scale']
    """

    hyper = {"scale": (1e-10, 1e10)}
    parts = ("kernel",)
    _precedence = 2

    def __init__(self, kernel, scale=1.0, *, scale_bounds=None):
        self.kernel = kernel
        self.scale = scale
        self.scale_bounds = scale_bounds

    @property
    def columns_quick(self):
        """Those of k."""
        return self.kernel.columns_quick

    def tiles(self, X, Z):
        """c times the tiles of k."""
        inner, scale = self.kernel.tiles(X, Z), float(self._positive("scale"))

        def tile(i, j):
            K = inner(i, j)
            K *= scale
            return K

        return tile

    def diag(self, X):
        """c · k(x, x)."""
        return float(self._positive("scale")) * self.kernel.diag(X)

    def grad(self, X, Z, W):
        """Σ W ∘ ∂(c k)/∂log θ: of log c it is c Σ W ∘ k, which k gives with its own in one pass."""
        if self._own()[0][2] is None:
            return float(self.scale) * self.kernel.grad(X, Z, W)
        return self.weighted(X, Z, W)[1]

    def weighted(self, X, Z, W):
        """(c Σ W ∘ k, its derivatives)."""
        free, c = self._own()[0][2] is not None, float(self.scale)
        total, inner = self.kernel.weighted(X, Z, W)
        return c * total, c * np.append(total, inner) if free else c * inner

    def _dx(self, X, Z):
        return float(self.scale) * self.kernel.dx(X, Z)

    def __repr__(self):
        if self.scale_bounds is not None:
            return f"Scaled({self.kernel!r}, {show(self.scale)}, scale_bounds={show(self.scale_bounds)})"
        return f"{show(self.scale)} * {self.kernel._repr_operand(3)}"

    @classmethod
    def examples(cls):
        """A scaled radial kernel, and one with bounds."""
        return [cls(Gaussian(), 2.0), cls(Linear(), 0.3, scale_bounds=(0.1, 10.0))]


class Power(Composite):
    """k(x, z)ᵖ for a whole number p >= 1.

    Parameters
    ----------
    kernel : Kernel
    exponent : int, default=2

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear() ** 2
    Linear() ** 2
    """

    parts = ("kernel",)
    _precedence = 3

    def __init__(self, kernel, exponent=2):
        self.kernel = kernel
        self.exponent = exponent

    def _whole(self):
        """p, checked."""
        if not isinstance(self.exponent, numbers.Integral) or self.exponent < 1:
            raise ValueError(
                f"Power: exponent must be a whole number >= 1, got {self.exponent!r}; other powers of a kernel "
                "are in general not positive semi-definite."
            )
        return int(self.exponent)

    def _tile(self, X, Z):
        K = self.kernel(X, Z)
        return np.power(K, self._whole(), out=K)

    def diag(self, X):
        """k(x, x)ᵖ."""
        return self.kernel.diag(X) ** self._whole()

    def _pull(self, X, Z, W):
        p = self._whole()
        yield "kernel", X, Z, W * (p * self.kernel(X, Z) ** (p - 1))

    def _dx(self, X, Z):
        p = self._whole()
        return (p * self.kernel(X, Z) ** (p - 1))[:, :, None] * self.kernel.dx(X, Z)

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)} ** {show(self.exponent)}"

    @classmethod
    def examples(cls):
        """The square of a sum."""
        return [cls(Sum(Linear(), Constant(1.0)), 3), cls(Gaussian(), 2)]


class Exp(Composite):
    """exp(k(x, z)).

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (0.5 * Linear()).exp()
    (0.5 * Linear()).exp()
    """

    parts = ("kernel",)

    def __init__(self, kernel):
        self.kernel = kernel

    def _tile(self, X, Z):
        K = self.kernel(X, Z)
        return np.exp(K, out=K)

    def diag(self, X):
        """exp(k(x, x))."""
        return np.exp(self.kernel.diag(X))

    def _pull(self, X, Z, W):
        yield "kernel", X, Z, W * np.exp(self.kernel(X, Z))

    def _dx(self, X, Z):
        return np.exp(self.kernel(X, Z))[:, :, None] * self.kernel.dx(X, Z)

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.exp()"

    @classmethod
    def examples(cls):
        """The exponential of a scaled linear kernel."""
        return [cls(Scaled(Linear(), 0.3)), cls(Gaussian())]


class PolynomialOf(Composite):
    """q(k(x, z)) = Σᵢ cᵢ kⁱ with every cᵢ >= 0.

    Parameters
    ----------
    kernel : Kernel
    coefficients : sequence of float
        c₀, c₁, …, each >= 0: a negative one is refused, since q(k) need not be positive semi-definite then.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> k = Linear().polynomial([1.0, 0.0, 2.0])
    >>> float(k([[2.0]], [[3.0]])[0, 0])
    73.0
    """

    parts = ("kernel",)

    def __init__(self, kernel, coefficients=(0.0, 1.0)):
        self.kernel = kernel
        self.coefficients = coefficients

    def _checked(self):
        """The coefficients as an array, checked to be >= 0."""
        c = np.atleast_1d(np.asarray(self.coefficients, dtype=float))
        bad = np.flatnonzero(~(c >= 0) | ~np.isfinite(c))
        if c.ndim != 1 or bad.size:
            at = f" coefficient {bad[0]} is {c[bad[0]]}:" if bad.size else ""
            raise ValueError(
                f"PolynomialOf:{at} q(k) = Σ cᵢ kⁱ is a kernel when every cᵢ >= 0 (sums and products of kernels are "
                "kernels, differences are not)."
            )
        return c

    def _tile(self, X, Z):
        K = self.kernel(X, Z)
        return np.polynomial.polynomial.polyval(K, self._checked().astype(K.dtype))

    def diag(self, X):
        """q(k(x, x))."""
        d = self.kernel.diag(X)
        return np.polynomial.polynomial.polyval(d, self._checked().astype(d.dtype))

    def _pull(self, X, Z, W):
        slope = np.polynomial.polynomial.polyder(self._checked())
        yield "kernel", X, Z, W * np.polynomial.polynomial.polyval(self.kernel(X, Z), slope)

    def _dx(self, X, Z):
        slope = np.polynomial.polynomial.polyder(self._checked())
        return np.polynomial.polynomial.polyval(self.kernel(X, Z), slope)[:, :, None] * self.kernel.dx(X, Z)

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.polynomial({show(self.coefficients)})"

    @classmethod
    def examples(cls):
        """1 + 2k²."""
        return [cls(Gaussian(), [1.0, 0.0, 2.0]), cls(Linear())]
