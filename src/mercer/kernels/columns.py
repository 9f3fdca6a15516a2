"""Columns: a kernel on some columns, by number or by name."""

import numbers

import numpy as np

from mercer._parameters import show
from mercer.kernels.composite import Moved
from mercer.kernels.conversion import as_vectors
from mercer.kernels.objects.tables import Table, as_table, is_frame


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
        names = self.named_columns()
        if not names and not isinstance(X, Table):
            try:
                return as_vectors(X, "Columns")
            except (TypeError, ValueError):  # text in some columns: others may be numbers
                if isinstance(X, np.ndarray) and X.dtype.kind not in "OSU":
                    raise
                named = is_frame(X) and all(isinstance(name, str) for name in getattr(X, "columns", X))
                X = X if named else np.array(X, dtype=object)
                if not named and X.ndim != 2:
                    raise
        X = as_table(X, "Columns", names)
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
    return as_table(X, type(kernel).__name__, names) if names else X


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
