"""Objects as data: a flat list in which each object refers to earlier ones only.

So there is no cycle and no recursion over objects on reading (`_decode`), and what was shared is shared again. Plain
containers are written in place, with a tag where JSON has no such thing: ``{"t": [...]}`` is a tuple, ``{"o": 3}``
object 3. Limits are those of reading: what was written is read once before it gets into a file.
"""

import base64
import contextlib
import math
import re
import sys
import types
from numbers import Number

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer._warn import Caution
from mercer.exceptions import ModelFileError
from mercer.files import _registry
from mercer.files._registry import refusing
from mercer.kernels import Kernel, parse_kernel

DTYPES = re.compile(
    r"\|[biu]1|<[iuf][248]|<U[1-9][0-9]{0,8}|\|S[1-9][0-9]{0,8}|<[mM]8\[[0-9]{0,4}(Y|M|W|D|h|m|s|ms|us|ns)\]"
)
BASES = {"U": "<u4", "S": "|u1", "M": "<i8", "m": "<i8"}  # what strings and dates are made of


def flat(array, dtype):
    """(plain array in C order, dtype or None, axes or None): what a container takes, and the way back.

    ``dtype`` is that of the array, little-endian. Axes are those of ``array`` from the outermost in memory to the
    innermost; None is C order. The dtype is None where it is that of the plain array.
    """
    axes = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    if array.flags.c_contiguous or axes == list(range(array.ndim)):
        axes = None
    plain = np.asarray(array if axes is None else array.transpose(axes), dtype=dtype, order="C")
    if dtype.kind not in BASES:
        return plain, None, axes
    return plain.reshape(*plain.shape, 1).view(BASES[dtype.kind]), dtype.str, axes


def back(plain, text, axes):
    """The array that `flat` was given; nothing here is trusted."""
    array = plain
    if text is not None:
        dtype = as_dtype(text)
        if (
            not array.ndim
            or array.dtype != BASES.get(dtype.kind)
            or array.strides[-1] * array.shape[-1] != dtype.itemsize
        ):
            raise ValueError(f"an array of {plain.dtype} and shape {plain.shape} is none of {text}")
        if dtype.kind == "U" and array.max(initial=0) > sys.maxunicode:
            raise ValueError("a character is beyond Unicode")
        array = array.view(dtype.newbyteorder("=")).reshape(array.shape[:-1])
    if axes is None:
        return array
    if [type(axis) for axis in axes] != [int] * array.ndim or sorted(axes) != list(range(array.ndim)):
        raise ValueError(f"{axes!r:.100} is no order of {array.ndim} axes")
    return array.transpose(np.argsort(axes))


def as_dtype(given):
    """One of the dtypes that a file may have, little-endian; ``given`` is a dtype, or its name in a file."""
    text = given
    if isinstance(given, np.dtype):
        text = (given.newbyteorder("<") if given.itemsize > 1 else given).str
    if not DTYPES.fullmatch(text):
        use = "cast it to float64" if isinstance(given, np.dtype) and given.kind == "f" else "use numbers or strings"
        raise ValueError(f"arrays of dtype {given!s:.60} are not stored; {use}")
    return np.dtype(text)


LONGEST_TEXT = 2000  # characters of a kernel as an expression


class Encoder:
    """Collects the objects and arrays of one model; ``names`` are those that the file refers to by name."""

    def __init__(self, names=None):
        self.names = dict(names or {})
        self.objects, self.arrays, self.used = [], {}, set()
        self._known, self._open, self._referenced = {}, set(), []

    def value(self, value, where):
        """A value as JSON; ``where`` names it in errors, and arrays after it."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}
        if kind is list:
            return [self.value(item, where) for item in value]
        if isinstance(value, tuple):  # one with names too
            return {"t": [self.value(item, where) for item in value]}
        if kind is dict:
            where = where.removesuffix(".parameters")
            return {"d": [[self.value(k, where), self.value(item, f"{where}.{k!s:.40}")] for k, item in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(np.asarray(value), where)
        if isinstance(value, np.generic):
            dtype = _dtype(value.dtype, where)
            return {"s": [dtype.str, np.asarray(value).astype(dtype).tobytes().hex()]}
        if kind is Caution:
            return {"caution": str(value)}
        if kind is bytes:
            return {"b": base64.b64encode(value).decode("ascii")}
        if kind is slice:
            return {"slice": [self.value(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.dtype):
            return {"dtype": _dtype(value, where).str}
        return self._object(value, where)

    def _array(self, array, where):
        """{"a": [name, dtype, axes]}, the name alone where the array is plain; an array of objects in place."""
        if array.dtype == object:
            return {"O": [list(array.shape), [self.value(item, where) for item in array.ravel().tolist()]]}
        key = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
        if not array.size or key not in self._known:
            plain, dtype, axes = flat(array, _dtype(array.dtype, where))
            name = where.encode("ascii", "backslashreplace").decode()
            name = f"{name} ({len(self.arrays)})" if name in self.arrays else name
            while name in self.arrays:
                name += "'"
            self.arrays[name] = plain
            self._referenced.append(array)  # so that no other array gets its address
            self._known[key] = name if dtype is axes is None else [name, dtype, axes]
        return {"a": self._known[key]}

    def _object(self, value, where):
        """{"o": number}, or {"n": name} of what the user has named."""
        if id(value) in self._known:
            return {"o": self._known[id(value)]}
        name = next((name for name, thing in self.names.items() if same(value, thing)), None)
        if name is not None:
            self.used.add(name)
            return {"n": name}
        if id(value) in self._open:
            raise ModelFileError(f"{where}: a {type(value).__name__} contains itself.")
        self._open.add(id(value))
        self.objects.append(self._entry(value, where))  # after those that it refers to
        self._referenced.append(value)
        self._known[id(value)] = len(self.objects) - 1
        return {"o": self._known[id(value)]}

    def _entry(self, value, where):
        """[expression] of a kernel, or [class, version, state]."""
        text = expression(value) if isinstance(value, Kernel) else None
        if text is not None:
            return [text]
        if issparse(value) and _registry.name_of(type(value)) is None:
            value = csr_array(value)  # another form
        cls = type(value)
        name, given = _registry.name_of(cls), next((name for name, thing in self.names.items() if thing is cls), None)
        if name is None and given is not None:
            self.used.add(given)
            name = f"names.{given}"
        if name is None:
            called = getattr(value, "__name__", None)
            what = f"the function {called!r}" if callable(value) and called else f"a {cls.__name__}"
            key = called if called and called.isidentifier() else "name"
            raise ModelFileError(
                f"{where} is {what}, which is not among the data that a model file can hold. Give it a name: "
                f"save(..., names={{{key!r}: ...}}) and load(path, names={{{key!r}: ...}})."
            )
        version, state = _registry.state_of(value)
        return [name, version, {field: self.value(item, f"{where}.{field}") for field, item in state.items()}]


def _dtype(dtype, where):
    with refusing(where):
        return as_dtype(dtype)


# ------------------------------------------------------------------------------------------------ expressions
def expression(kernel):
    """The text that `parse_kernel` reads as the very same kernel, to the last bit; None where there is none."""
    try:
        text = repr(kernel)
        exact = len(text) <= LONGEST_TEXT and _is_plain(kernel) and parse_kernel(text) == kernel
        return text if exact else None
    except (TypeError, ValueError, RecursionError):
        return None


def _is_plain(value):
    """Whether ``repr`` says all about a value: no arrays and scalars of NumPy, which are shown as lists and numbers."""
    if isinstance(value, Kernel):
        return all(map(_is_plain, value.get_params(deep=False).values()))
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str, slice)


# ------------------------------------------------------------------------------------------------ what has a name
def same(a, b):
    """Whether b is what the user named: the same object, or (after scikit-learn's clone) an equal copy of it."""
    if a is b:
        return True
    if isinstance(a, np.ndarray):
        return False
    try:
        return _alike(a, b)
    except (TypeError, ValueError, RecursionError):  # what cannot be compared, or copied, is not an equal copy
        return False


def _alike(a, b):
    """Whether two values are equal, or copies of each other: made by the same call with equal contents."""
    if a is b or type(a) is not type(b) or isinstance(a, types.FunctionType | type):
        return a is b
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    with contextlib.suppress(TypeError, ValueError):
        if a == b:
            return True
    if isinstance(a, str | bytes | Number | np.generic):
        return bool(a != a and b != b)
    return _alike(_made_by(a), _made_by(b))


def _made_by(value):
    """The call and the contents by which a copy of a value is made; or its name."""
    found = value.__reduce_ex__(4)
    if isinstance(found, str):
        return found
    return [list(part) if i in (3, 4) and part is not None else part for i, part in enumerate(found)]  # iterators
