"""What the attributes of stored objects must be: kinds, and shapes that fit each other.

A digest proves that a file is as it was written, not that it was written by us. Factors go to BLAS by their address, so
a shape that lies would read beyond an array: everything that a prediction hands on is checked here, once, on loading.
A shape is written with letters (``array("n", "t")``); a letter is the same number everywhere in one object.
"""

import numpy as np
from scipy.sparse import issparse

from mercer.exceptions import ModelFileError


class Mismatch(ValueError):
    """A value is not what the schema asks for; the message says what it is."""


# ------------------------------------------------------------------------------------------------ kinds of values
def _bind(dims, letter, size):
    """Give a letter its number, or compare."""
    known = dims.setdefault(letter, size) if isinstance(letter, str) else letter
    if known != size:
        raise Mismatch(f"has {size} where {letter} is {known}")


def array(*shape, kinds="f", order=None, itemsize=None):
    """An array of a shape; kinds are those of its dtype."""

    def check(value, dims):
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise Mismatch(f"is no array of {kinds!r} but {kind(value)}")
        if value.ndim != len(shape):
            raise Mismatch(f"has {value.ndim} axes, not {len(shape)}")
        if itemsize is not None and value.dtype.itemsize != itemsize:
            raise Mismatch(f"has dtype {value.dtype}, not {8 * itemsize} bits")
        if order == "C" and not value.flags.c_contiguous:
            raise Mismatch("is not in C order")
        for letter, size in zip(shape, value.shape, strict=True):
            _bind(dims, letter, size)

    return check


def factor(letter):
    """A square float64 array in C order, as the blocked triangular solves read it."""
    return array(letter, letter, order="C", itemsize=8)


def rows(letter, columns="columns", itemsize=4):
    """A collection of inputs: an array of rows of numbers, floats of so many bytes, or objects with a length."""

    def check(value, dims):
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            short = value.dtype.kind == "f" and value.dtype.itemsize < itemsize
            if value.ndim == 2 and not short:
                _bind(dims, columns, value.shape[1])
            elif value.ndim == 2 or columns in dims:  # else numbers that are objects
                raise Mismatch(f"is no array of rows but has shape {value.shape} and dtype {value.dtype}")
        elif not isinstance(value, np.ndarray | list) and not _is_collection(value):
            raise Mismatch(f"is no collection of inputs but {kind(value)}")
        _bind(dims, letter, len(value))

    return check


def sparse(letter, columns):
    """A sparse array of a shape."""

    def check(value, dims):
        if not issparse(value):
            raise Mismatch(f"is no sparse array but {kind(value)}")
        _bind(dims, letter, value.shape[0])
        _bind(dims, columns, value.shape[1])

    return check


def _is_collection(value):
    return type(value).__name__ in {"Objects", "Table", "MatrixRows", "SparseRows"}


def number(value, dims):
    """A real number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or isinstance(value, complex):
        raise Mismatch(f"is no number but {kind(value)}")


def size(letter):
    """A whole number >= 0 that a letter stands for."""

    def check(value, dims):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise Mismatch(f"is no size but {kind(value)}")
        _bind(dims, letter, int(value))

    return check


def anything(value, dims):
    """Whatever can be stored."""


def of(*classes, **letters):
    """An object of a class; ``n="m"`` says that its attribute n is the m of this object."""

    def check(value, dims):
        if not isinstance(value, classes):
            raise Mismatch(f"is no {' or '.join(cls.__name__ for cls in classes)} but {kind(value)}")
        for attribute, letter in letters.items():
            _bind(dims, letter, getattr(value, attribute))

    return check


def shaped(attribute, *letters, classes):
    """An object of some classes one of whose arrays has a shape of this object."""

    def check(value, dims):
        of(*classes)(value, dims)
        array(*letters)(getattr(value, attribute), dims)

    return check


def maybe(inner):
    """None, or what ``inner`` takes."""
    return lambda value, dims: None if value is None else inner(value, dims)


def either(*choices):
    """What one of several takes."""

    def check(value, dims):
        problems = []
        for choice in choices:
            try:
                trial = dict(dims)
                choice(value, trial)
            except Mismatch as problem:
                problems.append(str(problem))
            else:
                dims.update(trial)
                return
        # of the right kind but of a wrong shape says more than of another kind
        raise Mismatch(next((text for text in reversed(problems) if text.startswith("has")), problems[-1]))

    return check


def each(inner):
    """A list of what ``inner`` takes."""

    def check(value, dims):
        if not isinstance(value, list):
            raise Mismatch(f"is no list but {kind(value)}")
        for item in value:
            inner(item, dims)

    return check


def kind(value):
    """What a value is, for a message."""
    shape = f" of shape {value.shape} and dtype {value.dtype}" if isinstance(value, np.ndarray) else ""
    return f"a {type(value).__name__}{shape}"


# ------------------------------------------------------------------------------------------------ checking
def check_object(name, cls, state, where):
    """Refuse a state that is not what the schema of a class asks for; return the numbers of its letters."""
    from mercer.files._fields import schema  # which is written with the functions above

    found = schema().get(name)
    if found is None:
        return {}
    fields, closed = found
    if closed and set(state) != set(fields):
        odd = sorted(set(state) ^ set(fields))
        raise ModelFileError(f"{where}: {cls.__name__} has other attributes than {odd!r:.200} suggests.")
    dims = {}
    for field, check in fields.items():
        if field in state:
            try:
                check(state[field], dims)
            except Mismatch as problem:
                raise ModelFileError(f"{where}: {cls.__name__}.{field} {problem}.") from None
    _check_vectors(cls, state, where)
    return dims


def _check_vectors(cls, state, where):
    """Refuse inputs that are no rows of floats beside a kernel on vectors: compiled loops trust them."""
    for kernel, points in (("kernel_", "points_"), ("kernel", "points"), ("kernel", "X")):
        X = state.get(points)
        vectors = getattr(state.get(kernel), "domain", None) == "vectors"
        if vectors and X is not None and not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
            raise ModelFileError(f"{where}: {cls.__name__}.{points} is no array of rows of floats but {kind(X)}.")
        if vectors and X is not None and points == "points_" and "n_features_in_" not in state:
            raise ModelFileError(f"{where}: {cls.__name__} does not say how many columns it reads.")
