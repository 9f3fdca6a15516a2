"""Kernels that change what another kernel sees or says: normalised, warped, transformed inputs, some columns only."""

import numbers

import numpy as np

from mercer.kernels.algebra import Composite, Scaled, Sum
from mercer.kernels.base import Kernel, show
from mercer.kernels.collection import as_collection, result_dtype
from mercer.kernels.dot import Constant, Linear
from mercer.kernels.radial import Gaussian


class Normalised(Composite):
    """k(x, z) / √(k(x, x) k(z, z)): the cosine in feature space; 0 where a diagonal is 0.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> float(Linear().normalise()([[3.0, 4.0]], [[3.0, 4.0]])[0, 0])
    1.0
    """

    parts = ("kernel",)

    def __init__(self, kernel):
        self.kernel = kernel

    def _inverse_norm(self, X):
        """1/√k(x, x), or 0."""
        d = self.kernel.diag(X)
        return np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)

    def _tile(self, X, Z):
        K = self.kernel(X, Z)
        K *= self._inverse_norm(X)[:, None]
        K *= self._inverse_norm(Z)
        return K

    def diag(self, X):
        """1, or 0 where k(x, x) = 0."""
        return (self.kernel.diag(X) > 0).astype(result_dtype(X))

    def _pull(self, X, Z, W):
        a, b = self._inverse_norm(X), self._inverse_norm(Z)
        yield "kernel", X, Z, W * a[:, None] * b

    def grad(self, X, Z, W):
        """∂/∂log θ of k/√(k(x,x) k(z,z)): the part of W ∘ ∂k, less half of each diagonal's share."""
        a, b = self._inverse_norm(X), self._inverse_norm(Z)
        WK = W * self._tile(X, Z)
        full = self.kernel.grad(X, Z, W * a[:, None] * b)
        rows = _diag_grad(self.kernel, X, WK.sum(axis=1) * a**2)
        columns = _diag_grad(self.kernel, Z, WK.sum(axis=0) * b**2)
        return full - 0.5 * (rows + columns)

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.normalise()"

    @classmethod
    def examples(cls):
        """Normalised sum, so that the diagonal depends on θ."""
        return [cls(Sum(Linear(), Constant(2.0))), cls(Scaled(Linear(), 2.0))]


def _diag_grad(kernel, X, w):
    """Σᵢ wᵢ ∂k(xᵢ, xᵢ)/∂log θ, by small diagonal blocks: no n × n array."""
    total = np.zeros(kernel.n_theta)
    for i in range(0, len(X), 64):
        block = X[i : i + 64]
        total += kernel.grad(block, block, np.diag(w[i : i + 64]))
    return total


class Warped(Composite):
    """f(x) k(x, z) f(z) for any real function f.

    Parameters
    ----------
    kernel : Kernel
    function : callable
        Takes a collection of n inputs and returns n numbers.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> def amplitude(X):
    ...     return 1.0 + X[:, 0] ** 2
    >>> Gaussian().warp(amplitude)
    Gaussian(1.0).warp(amplitude)
    """

    parts = ("kernel",)
    stationary = False

    def __init__(self, kernel, function):
        self.kernel = kernel
        self.function = function

    def _values(self, X):
        """f at every input, checked to be n numbers."""
        values = np.asarray(self.function(X), dtype=result_dtype(X))
        if values.shape != (len(X),):
            raise ValueError(f"Warped: function must return {len(X)} numbers for {len(X)} inputs, got {values.shape}.")
        return values

    def _tile(self, X, Z):
        K = self.kernel(X, Z)
        K *= self._values(X)[:, None]
        K *= self._values(Z)
        return K

    def diag(self, X):
        """f(x)² k(x, x)."""
        return self._values(X) ** 2 * self.kernel.diag(X)

    def _pull(self, X, Z, W):
        yield "kernel", X, Z, W * self._values(X)[:, None] * self._values(Z)

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.warp({show(self.function)})"

    @classmethod
    def examples(cls):
        """An amplitude that grows with the first column."""
        return [cls(Gaussian(), first_column)]


class Transformed(Composite):
    """k(g(x), g(z)) for any function g of a collection.

    Parameters
    ----------
    kernel : Kernel
    function : callable
        Takes a collection of n inputs and returns a collection of n inputs of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> Gaussian().transform(np.log1p)
    Gaussian(1.0).transform(log1p)
    """

    domain = "objects"
    parts = ("kernel",)
    stationary = False

    def __init__(self, kernel, function):
        self.kernel = kernel
        self.function = function

    def validate(self, X):
        """X is what the function reads; the kernel validates what it returns."""
        return as_collection(X, "Transformed")

    def _inside(self, X):
        """g(X), checked by the kernel."""
        G = self.kernel.validate(self.function(X))
        if len(G) != len(X):
            raise ValueError(f"Transformed: function must return {len(X)} inputs for {len(X)}, got {len(G)}.")
        return G

    def tiles(self, X, Z):
        """The tiles of k on g(X) and g(Z), which are computed once."""
        G = self._inside(X)
        return self.kernel.tiles(G, G if Z is X else self._inside(Z))

    def diag(self, X):
        """k(g(x), g(x))."""
        return self.kernel.diag(self._inside(X))

    def _pull(self, X, Z, W):
        yield "kernel", self._inside(X), self._inside(Z), W

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.transform({show(self.function)})"

    @classmethod
    def examples(cls):
        """A Gaussian kernel on squashed inputs."""
        return [cls(Gaussian(), np.tanh)]


class Columns(Composite):
    """k on some columns of x and z.

    Parameters
    ----------
    kernel : Kernel
    columns : int, slice or sequence of int
        Column numbers, from 0.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> Gaussian(0.5).on([0, 1]) * Linear().on(2)
    Gaussian(0.5).on([0, 1]) * Linear().on(2)
    """

    parts = ("kernel",)

    def __init__(self, kernel, columns):
        self.kernel = kernel
        self.columns = columns

    def validate(self, X):
        """X whole: other kernels may read the other columns."""
        return Kernel.validate(Constant(), X)

    def _chosen(self, X):
        """The columns of X."""
        columns = [self.columns] if isinstance(self.columns, numbers.Integral) else self.columns
        try:
            return X[:, columns]
        except IndexError as error:
            raise ValueError(f"Columns: X has {X.shape[1]} columns, but the kernel asks for {columns}.") from error

    def tiles(self, X, Z):
        """The tiles of k on the chosen columns, which are copied once."""
        A = self._chosen(X)
        return self.kernel.tiles(A, A if Z is X else self._chosen(Z))

    def diag(self, X):
        """k at the chosen columns."""
        return self.kernel.diag(self._chosen(X))

    def _pull(self, X, Z, W):
        yield "kernel", self._chosen(X), self._chosen(Z), W

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.on({show(self.columns)})"

    @classmethod
    def examples(cls):
        """One column, and two."""
        return [cls(Gaussian(), 1), cls(Gaussian([0.5, 2.0]), [0, 2])]


def first_column(X):
    """1 + x₁²: the function of the example of `Warped`."""
    return 1.0 + X[:, 0] ** 2
