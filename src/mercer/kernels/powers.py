"""Functions of one kernel that keep it a kernel: kᵖ, exp(k), Σ cᵢ kⁱ with cᵢ >= 0."""

import numbers

import numpy as np

from mercer.kernels.algebra import Composite
from mercer.kernels.text import show


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

    def __init__(self, kernel, exponent=2): ...

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

    def __init__(self, kernel): ...

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

    def __init__(self, kernel, coefficients=(0.0, 1.0)): ...

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
