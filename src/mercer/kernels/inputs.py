"""Kernels that change what another kernel sees or says: normalised, warped, transformed inputs, some columns only."""

import numbers
from abc import abstractmethod

import numpy as np

from mercer._parameters import show
from mercer._tiles import EVERYTHING
from mercer.kernels.base import as_collection, as_vectors, result_dtype
from mercer.kernels.composite import Composite, Moved
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
    def _pulled(self, W, K, a, b):
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
        V, rows, columns = self._pulled(W, tile(EVERYTHING, EVERYTHING), a, b)
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

    def _pulled(self, W, K, a, b):
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


class Columns(Moved):
    """k on some columns of x and z.

    By number on arrays, by name on data frames (pandas, polars) and dicts of columns. Columns by name may hold
    anything: kernels on vectors read them as floats, kernels on objects as they are.

    Parameters
    ----------
    kernel : Kernel
    columns : int, slice or sequence of int, or str or sequence of str
        Column numbers, from 0, or names.

    Examples
    --------
    >>> from mercer.kernels import Categorical, Gaussian, Linear
    >>> Gaussian(0.5).on([0, 1]) * Linear().on(2)
    Gaussian(0.5).on([0, 1]) * Linear().on(2)
    >>> kernel = Gaussian(10.0).on("age") * Categorical().on("site")
    >>> kernel({"age": [30, 40], "site": ["Bern", "Turin"]}).round(3)
    array([[1.   , 0.223],
           [0.223, 1.   ]])
    """

    wraps = True

    def __init__(self, kernel, columns): ...

    def chosen(self):
        """The columns."""
        return self.columns

    def columns_read(self, columns=()):
        """Those of k, of the chosen ones."""
        return self.kernel.columns_read(self.scope(columns))

    def in_units(self, centre, scale):
        """k in the units of its columns."""
        names = self.named_columns()
        if not isinstance(scale, dict):
            centre, scale = np.atleast_1d(centre[self.columns]), np.atleast_1d(scale[self.columns])
        elif names and not self.kernel.named_columns():
            centre = np.array([centre.get(name, 0.0) for name in names])
            scale = np.array([scale.get(name, 1.0) for name in names])
        return self.with_parts(lambda part: part.in_units(centre, scale))

    def formula(self, x, z):
        """k of the columns; of names there is none."""
        if self.named_columns():
            raise NotImplementedError
        return self.kernel.formula(x[self.columns], z[self.columns])

    def named_columns(self):
        """The columns, where they are names."""
        return list(dict.fromkeys(_column_names(self.columns)))

    @property
    def domain(self):
        """What a collection holds: "objects" where columns are chosen by name."""
        return "objects" if self.named_columns() else self.kernel.domain

    def validate(self, X):
        """X whole: other kernels may read the other columns. The chosen ones are checked and prepared."""
        tables, names = _tables(), self.named_columns()
        if not names and not isinstance(X, tables.Table):
            try:
                return as_vectors(X, "Columns")
            except (TypeError, ValueError):  # text in some columns: others may be numbers
                if isinstance(X, np.ndarray) and X.dtype.kind not in "OSU":
                    raise
                named = tables.is_frame(X) and all(isinstance(name, str) for name in getattr(X, "columns", X))
                X = X if named else np.array(X, dtype=object)
                if not named and X.ndim != 2:
                    raise
        X = tables.as_table(X, "Columns", names)
        self._inside(X, check=True)
        return X

    def _inside(self, X, check=False):
        """The columns of X."""
        if not isinstance(X, np.ndarray):
            whole = bool(self.kernel.named_columns())
            return X.part(X.named(self.columns), self.kernel, whole=whole, check=check)
        chosen = self._numbered(X)
        return self.kernel.validate(chosen) if self.kernel.domain == "objects" else chosen

    def _numbered(self, X):
        """The columns of an array."""
        columns = [self.columns] if isinstance(self.columns, numbers.Integral) else self.columns
        if np.ndim(columns) == 1 and not len(columns):
            raise ValueError("Columns: the kernel asks for no column; give at least one.")
        try:
            chosen = X[:, columns]
        except IndexError as error:
            raise ValueError(f"Columns: X has {X.shape[1]} columns, but the kernel asks for {columns}.") from error
        if not chosen.shape[1]:
            raise ValueError(f"Columns: X has {X.shape[1]} columns, of which {columns} chooses none.")
        return chosen

    def _dx(self, X, Z):
        out = np.zeros((len(X), len(Z), X.shape[1]))
        columns = self._numbered(np.arange(X.shape[1])[None])[0]
        slopes = self.kernel.dx(self._inside(X), self._inside(Z))
        np.add.at(out, (slice(None), slice(None), columns), slopes)  # a column may be chosen twice
        return out

    def __repr__(self):
        return f"{self.kernel._repr_operand(4)}.on({show(self.columns)})"


def read_by_name(kernel, X):
    """Return X as a table if the kernel reads columns by name, else as it is."""
    names = kernel.named_columns()
    return _tables().as_table(X, type(kernel).__name__, names) if names else X


def _column_names(columns):
    """The columns if they are names, else nothing."""
    if isinstance(columns, str):
        return [columns]
    if np.ndim(columns) == 0:
        return []
    names = [str(name) for name in columns if isinstance(name, str)]
    if names and len(names) < len(columns):
        raise ValueError(f"Columns: give names or numbers, not both, got {columns}.")
    return names


def _tables():
    """kernels.objects.tables, imported when columns are chosen: kernels on objects are built from what is here."""
    from mercer.kernels.objects import tables

    return tables
