"""Kernels that change what another kernel sees or says: normalised, compared, warped, on transformed inputs."""

from abc import abstractmethod

import numpy as np

from mercer._parameters import show
from mercer._tiles import EVERYTHING
from mercer.kernels.base import result_dtype
from mercer.kernels.composite import Composite, Moved
from mercer.kernels.conversion import as_collection
from mercer.kernels.slopes import differences
from mercer.kernels.words import phrase


class Compared(Composite):
    """g(k(x, z), k(x, x), k(z, z)) of the last of the parts. A subclass writes g and the pull-back of a weight tile."""

    @property
    def reading_parts(self):
        """The part whose values are compared."""
        return self.parts[-1:]

    def counts(self):
        """What that part counts."""
        return getattr(self, self.parts[-1]).counts()

    def formula(self, x, z):
        """g of the formulas of k(x, z), k(x, x) and k(z, z)."""
        k = getattr(self, self.parts[-1])
        return self._value(k.formula(x, z), k.formula(x, x), k.formula(z, z))

    @abstractmethod
    def _value(self, K, a, b):
        """g of a tile, of k(x, x) as a column, and of k(z, z)."""

    @abstractmethod
    def _pull_back(self, W, K, a, b):
        """(W ∘ ∂g/∂k(x, z), Σ_z W ∘ ∂g/∂k(x, x), Σ_x W ∘ ∂g/∂k(z, z))."""

    def _values(self, X, Z):
        """(the tiles of k, k(x, x) as a column, k(z, z))."""
        k = getattr(self, self.parts[-1])
        a = k.diag(X)
        return k.tiles(X, Z), a[:, None], a if Z is X else k.diag(Z)

    def tiles(self, X, Z):
        """g of the tiles of k; the diagonals are computed once."""
        tile, a, b = self._values(X, Z)
        return lambda i, j: self._value(tile(i, j), a[i], b[j])

    def diag(self, X):
        """1: every input is most similar to itself."""
        return np.ones(len(X), dtype=getattr(self, self.parts[-1]).diag(X[:0]).dtype)

    def grad(self, X, Z, W):
        """∂/∂log θ of k, through its values and both diagonals."""
        k = getattr(self, self.parts[-1])
        if not k.n_theta:
            return np.zeros(0)
        tile, a, b = self._values(X, Z)
        V, rows, columns = self._pull_back(W, tile(EVERYTHING, EVERYTHING), a, b)
        return k.grad(X, Z, V) + diag_grad(k, X, rows) + diag_grad(k, Z, columns)


class Normalised(Compared):
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
    noun = "the cosine"

    def __init__(self, kernel): ...

    def _value(self, K, a, b):
        return K * (_inverse(np.sqrt(a)) * _inverse(np.sqrt(b)))

    def _pull_back(self, W, K, a, b):
        V = W * (_inverse(np.sqrt(a)) * _inverse(np.sqrt(b)))
        K *= V
        return V, -0.5 * K.sum(axis=1) * _inverse(a[:, 0]), -0.5 * K.sum(axis=0) * _inverse(b)

    def _dx(self, X, Z):
        tile, a, b = self._values(X, Z)
        size = _inverse(np.sqrt(a)) * _inverse(np.sqrt(b))
        lost = tile(EVERYTHING, EVERYTHING) * size * (0.5 * _inverse(a))  # what the norm of x takes
        return self.kernel.dx(X, Z) * size[:, :, None] - lost[:, :, None] * self.kernel.dx_diag(X)[:, None]

    def diag(self, X):
        """1, or 0 where k(x, x) = 0."""
        return (self.kernel.diag(X) > 0).astype(result_dtype(X))

    def formula(self, x, z):
        """k(x, z)/√(k(x, x) k(z, z)); where that is 0/0, no page is given it."""
        return self.kernel.formula(x, z) / np.sqrt(self.kernel.formula(x, x) * self.kernel.formula(z, z))

    def outline(self):
        """That of k."""
        return self.kernel.outline()

    def _phrase(self, place):
        return super()._phrase(place) if self.counts() is None else f"a line in {self.counts()}{place.where()}"

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.normalise()"


def _inverse(d):
    """1/d, or 0 where d is."""
    return np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)


def diag_grad(kernel, X, w):
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

    def __init__(self, kernel, function): ...

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

    def _dx(self, X, Z):
        f, slope = self._values(X), differences(lambda A: self._values(A)[:, None], X)  # f is anyone's function
        inside = slope * self.kernel(X, Z)[:, :, None] + f[:, None, None] * self.kernel.dx(X, Z)
        return inside * self._values(Z)[:, None]

    def columns_read(self, columns=()):
        """All: the function may read each of them."""
        return list(columns)

    def _phrase(self, place):
        return f"{phrase(self.kernel, place)}, times {show(self.function)}"

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.warp({show(self.function)})"


class Transformed(Moved):
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
    reads = "rows"
    stationary = False
    reading_parts = ()

    def __init__(self, kernel, function): ...

    def scope(self, columns):
        """None: the function may return anything."""
        return None

    def part_inputs(self, X):
        """None: the function is called for values only."""
        return None

    def named_columns(self):
        """None: its part reads what the function returns."""
        return []

    def validate(self, X):
        """X is what the function reads; the kernel validates what it returns."""
        return as_collection(X, "Transformed")

    def _inside(self, X):
        """g(X), checked by the kernel."""
        G = self.kernel.validate(self.function(X))
        if len(G) != len(X):
            raise ValueError(f"Transformed: function must return {len(X)} inputs for {len(X)}, got {len(G)}.")
        return G

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.transform({show(self.function)})"
