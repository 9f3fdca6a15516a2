"""Kernels from kernels: sums, products and multiples, each with its pull-back of the weight W.

Composites are binary trees and are never flattened; the outermost operator decides the brackets of ``repr``.
At the end the amplitude of an expression.
"""

import copy
import numbers

import numpy as np

from mercer import _native
from mercer._parameters import show
from mercer.kernels.base import Kernel
from mercer.kernels.composite import EntryWise
from mercer.kernels.dot import Constant
from mercer.kernels.one_pass import OnePass
from mercer.kernels.words import describe_product


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


class Sum(EntryWise):
    """k₁(x, z) + k₂(x, z).

    Parameters
    ----------
    left, right : Kernel
        The two terms.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> 2.0 * Gaussian(0.5) + Linear()
    2.0 * Gaussian(0.5) + Linear()
    """

    parts = ("left", "right")
    noun = "the sum"
    _precedence = 1

    def __init__(self, left, right): ...

    def prepare(self, X, Z, keep=False):
        """The sum of both."""
        return _PreparedSum(self.left.prepare(X, Z, keep), self.right.prepare(X, Z, keep))

    def diag(self, X):
        """k₁(x, x) + k₂(x, x)."""
        return self.left.diag(X) + self.right.diag(X)

    def _dx(self, X, Z):
        return self.left.dx(X, Z) + self.right.dx(X, Z)

    def additive_parts(self):
        """Those of both."""
        return self.left.additive_parts() + self.right.additive_parts()

    def outline(self):
        """That of both."""
        return f"{self.left.outline()} + {self.right.outline()}"

    def formula(self, x, z):
        """k₁ + k₂."""
        return self.left.formula(x, z) + self.right.formula(x, z)

    def __repr__(self):
        return f"{self.left._repr_operand(1)} + {self.right._repr_operand(2)}"


class Product(EntryWise):
    """k₁(x, z) · k₂(x, z).

    Parameters
    ----------
    left, right : Kernel
        The two factors.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian(0.5) + Linear()) * Linear()
    (Gaussian(0.5) + Linear()) * Linear()
    """

    parts = ("left", "right")
    _precedence = 2

    def __init__(self, left, right): ...

    def prepare(self, X, Z, keep=False):
        """The product of both; W on one of them is W ∘ the other."""
        return _PreparedProduct(self, self.left.prepare(X, Z, keep), self.right.prepare(X, Z, keep))

    def diag(self, X):
        """k₁(x, x) · k₂(x, x)."""
        return self.left.diag(X) * self.right.diag(X)

    def _dx(self, X, Z):
        left, right = self.left(X, Z)[:, :, None], self.right(X, Z)[:, :, None]
        return self.left.dx(X, Z) * right + left * self.right.dx(X, Z)

    def factors(self):
        """Those of both."""
        return self.left.factors() + self.right.factors()

    def outline(self):
        """That of both."""
        return f"{self.left.outline()} * {self.right.outline()}"

    def formula(self, x, z):
        """k₁ k₂."""
        return self.left.formula(x, z) * self.right.formula(x, z)

    def _phrase(self, place):
        return describe_product(self, place)

    def __repr__(self):
        return f"{self.left._repr_operand(2)} * {self.right._repr_operand(3)}"


class Scaled(EntryWise):
    """c · k(x, z), c > 0: the amplitude has a name.

    Parameters
    ----------
    kernel : Kernel
    scale : float, default=1.0
        c > 0, which the kernel is multiplied by: the amplitude, a variance.
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
    wraps = True
    _precedence = 2

    def __init__(self, kernel, scale=1.0, *, scale_bounds=None): ...

    @property
    def columns_quick(self):
        """Those of k."""
        return self.kernel.columns_quick

    def prepare(self, X, Z, keep=False):
        """c times k; of log c the derivative is c Σ W ∘ k, which k gives with its own in one pass."""
        c, free = float(self._positive("scale")), self._n_free("scale") > 0
        return _PreparedScaled(self.kernel.prepare(X, Z, keep), c, free)

    def diag(self, X):
        """c · k(x, x)."""
        return float(self._positive("scale")) * self.kernel.diag(X)

    def metric(self, X):
        """That of k."""
        return self.kernel.metric(X)

    def additive_parts(self):
        """Those of k, each c times as large."""
        inside = self.kernel.additive_parts()
        return [Scaled(part, self.scale) for part in inside] if len(inside) > 1 else [self]

    def formula(self, x, z):
        """c k."""
        return float(self._positive("scale")) * self.kernel.formula(x, z)

    def in_space(self, X):
        """As k has them."""
        return self.kernel.in_space(X)

    def matern_parameters(self, d):
        """Those of k, c times as high."""
        found = self.kernel.matern_parameters(d)
        return None if found is None else (float(self._positive("scale")) * found[0], *found[1:])

    def _dx(self, X, Z):
        return float(self.scale) * self.kernel.dx(X, Z)

    def __repr__(self):
        if self.scale_bounds is not None:
            return f"Scaled({self.kernel!r}, {show(self.scale)}, scale_bounds={show(self.scale_bounds)})"
        return f"{show(self.scale)} * {self.kernel._repr_operand(3)}"


# ---------------------------------------------------------------------- on the pairs of two collections
class _PreparedPair(OnePass):
    """Two kernels on the same pairs, joined entry by entry."""

    operation: int

    def __init__(self, left, right):
        self.left, self.right = left, right

    def enter(self, program, c):
        if not self.left.enter(program, c):
            return False
        left = program.last
        if not self.right.enter(program, c if self.operation == _native.SUM else 1.0):
            return False
        program.join(self.operation, left)
        return True


class _PreparedSum(_PreparedPair):
    """k₁ + k₂."""

    operation = _native.SUM

    def collect(self, found):
        (one, left), (two, right) = self.left.collect(found), self.right.collect(found)
        return one + two, left + right

    def _tile(self, i, j):
        K = self.left.tile(i, j)
        K += self.right.tile(i, j)
        return K

    def _grad(self, i, j, W):
        return np.concatenate([self.left.grad(i, j, W), self.right.grad(i, j, W)])

    def _weighted(self, i, j, W):
        (one, left), (two, right) = self.left.weighted(i, j, W), self.right.weighted(i, j, W)
        return one + two, np.concatenate([left, right])


class _PreparedProduct(_PreparedPair):
    """k₁ · k₂; W on one of them is W ∘ the other."""

    operation = _native.PRODUCT

    def __init__(self, kernel, left, right):
        super().__init__(left, right)
        self.kernel = kernel

    def collect(self, found):
        (total, left), (_, right) = self.left.collect(found), self.right.collect(found)
        return total, left + right

    def _tile(self, i, j):
        K = self.left.tile(i, j)
        K *= self.right.tile(i, j)
        return K

    def _grad(self, i, j, W):
        parts = []
        if self.kernel.left.n_theta:
            parts.append(self.left.grad(i, j, W * self.right.tile(i, j)))
        if self.kernel.right.n_theta:
            parts.append(self.right.grad(i, j, W * self.left.tile(i, j)))
        return np.concatenate(parts) if parts else np.zeros(0)

    def _weighted(self, i, j, W):
        total, left = self.left.weighted(i, j, W * self.right.tile(i, j))
        if not self.kernel.right.n_theta:
            return total, left
        return total, np.concatenate([left, self.right.grad(i, j, W * self.left.tile(i, j))])


class _PreparedScaled(OnePass):
    """c · k; ``free`` says whether c is to be learnt."""

    def __init__(self, inner, c, free):
        self.inner, self.c, self.free = inner, c, free

    def enter(self, program, c):
        return self.inner.enter(program, c * self.c)

    def collect(self, found):
        total, parts = self.inner.collect(found)
        return total, [np.array([total]), *parts] if self.free else parts

    def _tile(self, i, j):
        K = self.inner.tile(i, j)
        K *= self.c
        return K

    def _grad(self, i, j, W):
        return self._weighted(i, j, W)[1] if self.free else self.c * self.inner.grad(i, j, W)

    def _weighted(self, i, j, W):
        total, gradient = self.inner.weighted(i, j, W)
        if self.free:
            gradient = np.concatenate([[total], gradient])
        return self.c * total, self.c * gradient


def rescale(kernel, factor):
    """Return c·k as the same expression with other amplitudes, exactly for a power of two; None if it has none.

    Only amplitudes that are free and have no bounds of their own are touched: what a user has pinned down stays.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.algebra import rescale
    >>> rescale(2.0 * Gaussian(1.0), 4.0), rescale(Gaussian(1.0), 4.0)
    (8.0 * Gaussian(1.0), None)
    """
    if isinstance(kernel, Sum):
        left, right = rescale(kernel.left, factor), rescale(kernel.right, factor)
        return None if left is None or right is None else Sum(left, right)
    if isinstance(kernel, Product):
        for name in ("left", "right"):
            part = rescale(getattr(kernel, name), factor)
            if part is not None:
                return Product(part, kernel.right) if name == "left" else Product(kernel.left, part)
        return None
    name = {Scaled: "scale", Constant: "value"}.get(type(kernel))
    if name is None or getattr(kernel, f"{name}_bounds") is not None:
        return None
    other = copy.copy(kernel)
    setattr(other, name, float(getattr(kernel, name)) * factor)
    return other


def amplitudes(kernel):
    """Which of θ `rescale` changes, as a mask; None if the kernel cannot be rescaled."""
    other = rescale(kernel, 4.0)
    return None if other is None else other.theta - kernel.theta > 1.0
