"""Kernels from kernels: sums, products and multiples, each with its pull-back of the weight W.

Composites are binary trees and are never flattened; the outermost operator decides the brackets of ``repr``.
"""

import numbers

import numpy as np

from mercer.kernels.base import Kernel, show
from mercer.kernels.distance import EVERYTHING
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

    def grad_tiles(self, X, Z):
        """``grad`` of tiles: that of the left, then that of the right."""
        parts = [part.grad_tiles(X, Z) for _, part in self._named_parts() if part.n_theta]
        return lambda i, j, W: np.concatenate([part(i, j, W) for part in parts] or [np.zeros(0)])

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
        """Σ W ∘ ∂(c k)/∂log θ."""
        return self.grad_tiles(X, Z)(EVERYTHING, EVERYTHING, W)

    def weighted(self, X, Z, W):
        """(c Σ W ∘ k, its derivatives)."""
        return self.weighted_tiles(X, Z)(EVERYTHING, EVERYTHING, W)

    def grad_tiles(self, X, Z):
        """``grad`` of tiles: of log c it is c Σ W ∘ k, which k gives with its own in one pass."""
        if self._own()[0][2] is not None:
            both = self.weighted_tiles(X, Z)
            return lambda i, j, W: both(i, j, W)[1]
        c, inner = float(self.scale), self.kernel.grad_tiles(X, Z)
        return lambda i, j, W: c * inner(i, j, W)

    def weighted_tiles(self, X, Z):
        """``weighted`` of tiles."""
        free, c, inner = self._own()[0][2] is not None, float(self.scale), self.kernel.weighted_tiles(X, Z)

        def part(i, j, W):
            total, gradient = inner(i, j, W)
            return c * total, c * np.append(total, gradient) if free else c * gradient

        return part

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
