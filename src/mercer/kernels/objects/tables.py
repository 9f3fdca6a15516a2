"""Table: columns of numbers, categories and objects side by side, by name; each is prepared once for each kernel.

Data frames are read by duck typing (``columns``, ``[name]``, ``to_numpy``), so that no data frame library is needed.
"""

import numpy as np

from mercer._state import check
from mercer.kernels.objects.collection import Objects, end_to_end, structure

MISSING = ("NAType", "NaTType")  # pandas' own names for what is not there


class Table:
    """x₁, …, x_n with named columns: ``len``, a column by its name, slices and arrays of indices; parts share columns.

    A column is read when a kernel asks for it, and only columns that were read are pickled.

    Parameters
    ----------
    columns : pandas or polars data frame, or dict of sequences
        One-dimensional columns of equal length, with different names. Not copied.

    Examples
    --------
    >>> from mercer.kernels import Table
    >>> table = Table({"age": [31, 47, 52], "site": ["Bern", "Turin", "Bern"]})
    >>> table[1:]
    Table(n=2, columns=['age', 'site'])
    >>> table[1:]["site"]
    ['Turin', 'Bern']
    """

    def __init__(self, columns):
        names = list(columns) if isinstance(columns, dict) else list(columns.columns)
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise TypeError(f"Table: the names of columns must be strings, got {wrong[0]!r}.")
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise ValueError(f"X has more than one column named {', '.join(map(repr, twice))}; names must differ.")
        if not names:
            raise ValueError("X has no column.")
        self._set(names, columns, {}, _count_rows(columns) if isinstance(columns, dict) else len(columns))

    def _set(self, names, source, read, n):
        """Set the names, where columns come from, those that were read, and the number of rows; return self."""
        self._names, self._source, self._read, self._n = list(names), source, read, n
        self._made, self._index = {}, None  # what kernels have made of columns; which rows these are
        return self

    @classmethod
    def _new(cls, names, source, read, n):
        """A table of these."""
        return object.__new__(cls)._set(names, source, read, n)

    def _part(self, index):
        """Some of the rows; what is read and made is shared."""
        part = object.__new__(type(self))
        vars(part).update(vars(self), _index=index)
        return part

    def _some(self, names):
        """All rows of some columns, in this order; what is read is shared, not what is made."""
        return self._new(names, self._source, self._read, self._n)

    @property
    def columns(self):
        """The names of the columns."""
        return list(self._names)

    @property
    def shape(self):
        """(n, number of columns)."""
        return len(self), len(self._names)

    def __len__(self):
        return self._n if self._index is None else len(self._index)

    def __repr__(self):
        return f"Table(n={len(self)}, columns={self.columns})"

    def __getitem__(self, index):
        """One column by name, a table of several; one row by number, as a dict; a part by slice, indices or mask."""
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:  # how scikit-learn takes rows
            index = index[0]
        if isinstance(index, str):
            return _take_rows(self._column(index), self._index)
        if isinstance(index, int | np.integer):
            row = range(self._n)[index] if self._index is None else self._index[index]
            return {name: self._column(name)[row] for name in self._names}
        if isinstance(index, list) and not index:
            index = slice(0, 0)
        elif isinstance(index, list) and all(isinstance(name, str) for name in index):
            return self._some(self.named(index))._part(self._index)
        rows = np.arange(self._n) if self._index is None else self._index
        return self._part(rows[index])

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            f"a table (columns {_quote_names(self._names)}) is no array of numbers: give each part of the kernel "
            "its columns, for example Gaussian().on(['age', 'dose'])."
        )

    def __getstate__(self):
        """The rows of this part, of the columns that were read; nothing that can be prepared again."""
        return vars(self._new(self._names, {}, self._values(), len(self)))

    def state(self):
        """{name: value} by public names: what a file keeps, the columns that were read."""
        return {"columns": self.columns, "values": self._values(), "n": len(self)}

    @classmethod
    def from_state(cls, state):
        """Return the table that had this state; other columns cannot be asked for."""
        n = check(state, {"columns": list, "values": dict, "n": "size n"}, "Table")["n"]
        names, values = state["columns"], state["values"]
        if not all(isinstance(name, str) or name is i for i, name in enumerate(names)) or len(set(names)) < len(names):
            raise ValueError("the names of the columns of a table differ, and are strings.")
        for name, column in values.items():
            one = isinstance(column, list) or (isinstance(column, np.ndarray) and column.ndim == 1)
            if name not in set(names) or not one or len(column) != n:
                raise ValueError(f"column {name!r:.60} of a table of {n} rows does not fit.")
        return cls._new(names, {}, dict(values), n)

    def _values(self):
        """{name: values} of the columns that were read, the rows of this part."""
        return {name: _take_rows(self._read[name], self._index) for name in self._names if name in self._read}

    def joined(self, other):
        """A new table: these rows, then those of the other one; the columns that were read here."""
        columns = {name: end_to_end(mine, other[name]) for name, mine in self._values().items()}
        return self._new(self._names, {}, columns, len(self) + len(other))

    def identities(self):
        """One key for each row, equal where all columns that were read are; None where one holds other objects."""
        columns = self._values().values()
        columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
        plain = all(isinstance(value, str | bytes | int | float) for column in columns for value in column)
        return list(zip(*columns, strict=True)) if plain and columns else None

    # ------------------------------------------------------------------ what kernels read
    def named(self, columns):
        """The names of columns that are given by name or by number (one, several, or a slice), checked."""
        have = self._names
        if isinstance(columns, slice):
            return tuple(have[columns])
        wanted = [columns] if np.ndim(columns) == 0 else list(columns)
        try:
            wanted = [name if isinstance(name, str) else have[name] for name in wanted]
        except IndexError:
            raise ValueError(f"X has {len(have)} columns, but the kernel asks for {columns}.") from None
        missing = [name for name in wanted if name not in have]
        if missing:
            raise ValueError(f"X has no column {_quote_names(missing)}; it has {_quote_names(have)}.")
        return tuple(wanted)

    def part(self, names, kernel, *, whole=False, check=False):
        """What a kernel reads of some columns, made and validated once for the whole table; the rows of this part.

        Kernels on vectors read a float array; kernels on objects too where all the columns are numbers, else the
        `Objects` of one column or the `Table` of several.

        Parameters
        ----------
        names : tuple
            Names of the columns to take.
        kernel : Kernel
        whole : bool
            Whether the kernel reads a table: it chooses among these columns by name.
        check : bool
            Whether to validate again what another kernel of the same class has read.
        """
        made, key = self._made, (names, structure(kernel))
        if key not in made or (check and self._index is None):
            try:
                made[key] = kernel.validate(self._inputs(names, kernel.domain == "vectors", whole))
            except (TypeError, ValueError) as error:
                if str(error).startswith("column"):
                    raise
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"column {_quote_names(names)} of X: {error}") from error
        return _take_rows(made[key], self._index)

    def prepared(self, key, build):
        """Rows of build(table), which is called once for each key with the whole table this one is a part of."""
        if key not in self._made:
            self._made[key] = build(self._part(None))
        return _take_rows(self._made[key], self._index)

    def objects(self, name):
        """The values of one column, none of them missing."""
        return _take_rows(self._complete(name), self._index)

    def _column(self, name):
        """The raw values of a column in all rows: a one-dimensional array, or a list."""
        if name not in self._read:
            try:
                column = self._source[name]
            except KeyError:
                raise ValueError(f"X has no column {name!r}, or it was not kept because no kernel read it.") from None
            self._read[name] = _column_values(column, name)
        return self._read[name]

    def _complete(self, name):
        """The raw values of a column in all rows, checked that none is missing."""
        values = self._column(name)
        if ("complete", name) not in self._made:
            _refuse_rows(_missing(values), name, values)
            self._made["complete", name] = True
        return values

    def _inputs(self, names, vectors, whole):
        """All rows of some columns as a float array, as `Objects`, or as a table: see `part`."""
        numbers = not whole and (vectors or all(_holds_numbers(self._complete(name)) for name in names))
        key = names, "table" if whole else "numbers" if numbers else "objects"
        if key not in self._made:
            if whole or (not numbers and len(names) != 1):
                made = self._some(names)
            elif numbers:
                made = np.stack([_float_column(self._complete(name), name) for name in names], axis=1)
            else:
                made = Objects(self._complete(names[0]))
            self._made[key] = made
        return self._made[key]


def _count_rows(columns):
    """The number of rows of a dict of columns, checked to be the same for all of them."""
    lengths = {name: len(_sequence(column, name)) for name, column in columns.items()}
    first, n = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != n:
            raise ValueError(
                f"Table: column {first!r} has {n} rows and column {name!r} has {length}; columns must be equally long."
            )
    return n


def as_table(X, who, names=()):
    """Return X as a `Table`: a data frame, a dict of columns, or a two-dimensional array of objects by number."""
    if isinstance(X, Table):
        return X
    if hasattr(X, "collect_schema") and not hasattr(X, "__len__"):
        raise TypeError(f"{who}: X is a lazy frame; collect() it first.")
    if is_frame(X):
        return Table(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OSU" and not names:
        return Table._new(range(X.shape[1]), dict(enumerate(X.T)), {}, len(X))
    shape = f" of shape {X.shape}" if hasattr(X, "shape") else ""
    raise TypeError(
        f"{who}: the kernel reads columns by name ({_quote_names(names)}), but X is a {type(X).__name__}{shape} "
        "without names. Give a data frame or a dict of columns, or choose the columns by number: .on([0, 1])."
    )


def from_arrow(X):
    """Return X; a table of Arrow, whose columns have no names of their own, as the frame that narwhals makes of it."""
    if not hasattr(X, "column_names") or not hasattr(X, "schema") or hasattr(X, "dtypes"):
        return X
    try:
        import narwhals  # which scikit-learn brings from 1.9 on
    except ImportError as error:
        raise ImportError("a table of Arrow is read with narwhals: pip install narwhals, or X.to_pandas().") from error
    return narwhals.from_native(X, eager_only=True)


def is_frame(X):
    """Whether X has named columns: a data frame, a dict of columns, or a `Table`."""
    return isinstance(X, dict | Table) or (hasattr(X, "columns") and hasattr(X, "shape") and hasattr(X, "__getitem__"))


# ---------------------------------------------------------------------- columns
def _sequence(column, name):
    """The column, checked to be a sequence of values."""
    single = isinstance(column, str | bytes | dict | set) or getattr(column, "shape", None) == ()
    if single or not hasattr(column, "__len__"):
        raise TypeError(f"column {name!r} of X must be a sequence, got {type(column).__name__}.")
    return column


def _column_values(column, name):
    """A column as a one-dimensional array, or as a list."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    if isinstance(column, np.ma.MaskedArray) and np.ma.is_masked(column):
        raise ValueError(f"column {name!r} of X has masked entries; fill or drop them first.")
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise ValueError(f"column {name!r} of X must be one-dimensional, got shape {column.shape}.")
        return column
    values = list(_sequence(column, name))
    plain = all(isinstance(value, int | float | bool | np.number) for value in values)
    return np.array(values) if plain and values else values


def _missing(values):
    """The rows where nothing is: None, NaN, and what pandas has for it."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "buiSUc":
        return np.zeros(0, dtype=int)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fmM":
        return np.flatnonzero(np.isnan(values))
    return np.array([i for i, value in enumerate(values) if is_missing(value)], dtype=int)


def is_missing(value):
    """Whether a value stands for nothing: None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in MISSING:
        return True
    return isinstance(value, float | np.floating) and value != value


def _refuse_rows(rows, name, values, what="missing"):
    """ValueError that names the column and the first of the rows, if there are any."""
    if len(rows):
        raise ValueError(
            f"column {name!r} of X, row {rows[0]}: the value {values[rows[0]]} is {what} ({len(rows)} such rows). Drop "
            "these rows, or fill them in first: a number by sklearn.impute, a category by one of its own."
        )


def _holds_numbers(values):
    """Whether a column holds numbers that floats can tell apart."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "buif":
        return False
    return values.dtype.kind in "bf" or not values.size or max(int(values.max()), -int(values.min())) <= 2**53


def _float_column(values, name):
    """A column as float64, finite."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mMc":
        advice = "" if values.dtype.kind == "c" else " Turn a date into a number (days since a start) first."
        raise ValueError(f"column {name!r} of X is {values.dtype}; kernels on vectors need numbers.{advice}")
    try:
        floats = np.asarray(values).astype(np.float64)
    except (TypeError, ValueError) as reason:
        raise ValueError(
            f"column {name!r} of X does not hold numbers: {reason}. A kernel on objects, such as Categorical(), reads "
            "other values."
        ) from None
    if floats.ndim != 1:
        raise ValueError(f"column {name!r} of X does not hold numbers but rows of shape {floats.shape[1:]}.")
    _refuse_rows(np.flatnonzero(~np.isfinite(floats)), name, floats, "not finite")
    return floats


def _take_rows(values, index):
    """The rows of an array, a list, or a collection; all if index is None."""
    if index is None:
        return values
    return [values[i] for i in index] if isinstance(values, list) else values[index]


def _quote_names(names):
    """Names for a message, at most ten of them."""
    shown = ", ".join(map(repr, list(names)[:10]))
    return f"{shown}, … ({len(names)} in all)" if len(names) > 10 else shown
