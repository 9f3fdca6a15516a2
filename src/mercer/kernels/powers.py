"""Functions of one kernel that keep it a kernel: kᵖ, exp(k), Σ cᵢ kⁱ with cᵢ >= 0."""

from abc import abstractmethod

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval

from mercer._parameters import show
from mercer.kernels.composite import Composite


class FunctionOf(Composite):
    """q(k(x, z)) for a function q that makes a kernel of a kernel. A subclass writes q and its derivative."""

    parts = ("kernel",)

    @abstractmethod
    def _q(self, K):
        """q of each entry."""

    @abstractmethod
    def _slope(self, K):
        """q′ of each entry."""

    def _tile(self, X, Z):
        return self._q(self.kernel(X, Z))

    def diag(self, X):
        """q(k(x, x))."""
        return self._q(self.kernel.diag(X))

    def _pull(self, X, Z, W):
        yield "kernel", X, Z, W * self._slope(self.kernel(X, Z))

    def _dx(self, X, Z):
        return self._slope(self.kernel(X, Z))[:, :, None] * self.kernel.dx(X, Z)


class Power(FunctionOf):
    """k(x, z)ᵖ for a whole number p >= 1.

    Parameters
    ----------
    kernel : Kernel
    exponent : int, default=2
        How often the kernel is multiplied with itself, 1 or more.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear() ** 2
    Linear() ** 2
    """

    _precedence = 3

    @property
    def noun(self):
        """p."""
        return f"the power {self.exponent}"

    whole_numbers = {"exponent": (1, 10_000, "; other powers of a kernel are in general not positive semi-definite")}

    def __init__(self, kernel, exponent=2): ...

    def _q(self, K):
        return K ** self._whole_number("exponent")

    def _slope(self, K):
        p = self._whole_number("exponent")
        return p * K ** (p - 1)

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)} ** {show(self.exponent)}"


class Exp(FunctionOf):
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

    noun = "the exponential"

    def __init__(self, kernel): ...

    def _q(self, K):
        return np.exp(K)

    _slope = _q

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.exp()"


class PolynomialOf(FunctionOf):
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

    noun = "a polynomial"

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

    def _q(self, K):
        return polyval(K, self._checked().astype(K.dtype))

    def _slope(self, K):
        return polyval(K, polyder(self._checked()))

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.polynomial({show(self.coefficients)})"
