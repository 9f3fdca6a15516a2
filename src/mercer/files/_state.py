"""Objects as data: a flat list in which each object refers to earlier ones only.

So there is no cycle and no recursion over objects on reading (`_decode`), and what was shared is shared again. Plain
containers are written in place, with a tag where JSON has no such thing: ``{"t": [...]}`` is a tuple, ``{"o": 3}``
object 3.
"""

import base64
import contextlib
import math
import types
from numbers import Number

import numpy as np

from mercer.exceptions import ModelFileError
from mercer.files import _codecs, _registry
from mercer.files._arrays import Stored, as_dtype
from mercer.files._schema import check_object
from mercer.kernels.base import Kernel

# Levels of objects, and objects, a shared one counted wherever it is: what somebody who follows all references meets.
NESTED, EXPANDED = 400, 1_000_000
NESTED_KERNELS, EXPANDED_KERNELS = 200, 10_000  # as in mercer.kernels.as_kernel
DEEPEST = 100  # levels of plain containers
LONGEST_INT = 8192  # bits
LOWER = {("solvers.Factored", "_L"), ("solvers.CholeskyInverse", "_L")}  # nobody reads above their diagonal


def same(a, b):
    """Whether b is what the user named: the same object, or (after scikit-learn's clone) an equal copy of it."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, types.FunctionType | type | np.ndarray):
        return False
    try:
        return _alike(a, b)
    except (TypeError, ValueError, RecursionError):  # what cannot be compared, or copied, is not an equal copy
        return False


def _alike(a, b):
    """Whether two values are equal, or copies of each other: made by the same call with equal contents."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, types.FunctionType | type):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    with contextlib.suppress(TypeError, ValueError):
        if a == b:
            return True
    plain = isinstance(a, str | bytes | Number | np.generic)
    return bool(a != a and b != b) if plain else _alike(_made_by(a), _made_by(b))


def _made_by(value):
    """The call and the contents by which a copy of a value is made; or its name."""
    found = value.__reduce_ex__(4)
    if isinstance(found, str):
        return found
    return [list(part) if i in (3, 4) and part is not None else part for i, part in enumerate(found)]  # iterators


class Sizes:
    """How deep and how large each object is, with all that it refers to."""

    def __init__(self):
        self._depth, self._size = [], []

    def add(self, cls, references, where):
        """Count one more object, which refers to earlier ones."""
        depth = 1 + max((self._depth[i] for i in references), default=0)
        size = 1 + sum(self._size[i] for i in references)
        kernel = issubclass(cls, Kernel) or _registry.is_sklearn_kernel(cls)
        if depth > (NESTED_KERNELS if kernel else NESTED) or size > (EXPANDED_KERNELS if kernel else EXPANDED):
            raise ModelFileError(f"{where} is nested too deeply, or too large when it is written out.")
        self._depth.append(depth)
        self._size.append(size)


class Encoder:
    """Collects the objects and arrays of one model.

    Parameters
    ----------
    names : dict
        {name: object or class} that the file refers to by name.
    """

    def __init__(self, names=None):
        self.names = dict(names or {})
        self.objects, self.arrays, self.used = [], [], set()
        self._known, self._open, self._alive = {}, set(), []
        self._sizes, self._met = Sizes(), []

    def value(self, value, where, lower=False, depth=0):
        """A value as JSON; ``where`` names it in errors."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int and value.bit_length() <= LONGEST_INT:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"f": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where, lower)
        if kind in (list, tuple, dict) and depth > DEEPEST:
            raise ModelFileError(f"{where} is more than {DEEPEST} levels deep.")
        if kind is list:
            return [self.value(item, where, depth=depth + 1) for item in value]
        if kind is tuple:
            return {"t": [self.value(item, where, depth=depth + 1) for item in value]}
        if kind is dict:
            return {"d": [self._pair(pair, where, depth + 2) for pair in value.items()]}
        if isinstance(value, np.generic):
            return {
                "s": [
                    _scalar_dtype(value, where),
                    np.asarray(value).astype(_scalar_dtype(value, where)).tobytes().hex(),
                ]
            }
        if kind is bytes:
            return {"b": base64.b64encode(value).decode("ascii")}
        if kind is slice:
            return {"slice": [self.value(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, np.dtype):
            return {"dtype": as_dtype(value.str, where).str}
        return self._object(value, where)

    def _pair(self, pair, where, depth):
        """[key, value] of a dict."""
        key, item = pair
        return [self.value(key, where, depth=depth), self.value(item, f"{where}[{key!r:.40}]", depth=depth)]

    def _array(self, array, where, lower):
        """{"a": number}; an array of objects in place."""
        array = np.asarray(array)
        if array.dtype == object:
            return {"O": [list(array.shape), [self.value(item, where) for item in array.ravel().tolist()]]}
        key = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str, lower
        if not array.size or key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(Stored(array, where, lower))
            self._alive.append(array)  # so that no other array gets its address
        return {"a": self._known[key]}

    def _object(self, value, where):
        if id(value) in self._known:
            return self._reference(value)
        name = self._given(value)
        if name is not None:
            self.used.add(name)
            return {"n": name}
        cls = type(value)
        name = _registry.name_of(cls) or self._given_class(cls)
        value, name = _codecs.storable(value, name)
        cls = type(value)
        if name is None:
            raise ModelFileError(self._refusal(value, where))
        if id(value) in self._open:
            raise ModelFileError(f"{where}: a {cls.__name__} contains itself.")
        self._open.add(id(value))
        outer, self._met = self._met, []
        raw, state = _codecs.state_of(value, name), {}
        _codecs.check_fields(cls, raw, where)  # what is written can be read: the same checks as on loading
        check_object(name, cls, raw, where)
        for field, item in raw.items():
            state[field] = self.value(item, f"{where}: {cls.__name__}.{field}", (name, field) in LOWER)
        self._open.discard(id(value))
        self._sizes.add(cls, self._met, where)
        self._met = outer
        self._known[id(value)] = len(self.objects)
        self._alive.append(value)
        self.objects.append([name, state])
        return self._reference(value)

    def _reference(self, value):
        self._met.append(self._known[id(value)])
        return {"o": self._known[id(value)]}

    def _given(self, value):
        """The name that the user has given to an object."""
        return next((name for name, thing in self.names.items() if same(value, thing)), None)

    def _given_class(self, cls):
        """The name that the user has given to a class of his own."""
        name = next((name for name, thing in self.names.items() if thing is cls), None)
        if name is not None and not _registry.is_parameter(cls):
            raise ModelFileError(
                f"names: {cls.__name__} must derive from Kernel, Loss, Rule or Solver for its objects to be stored by "
                f"their arguments; name the object itself."
            )
        self.used |= {name} - {None}
        return None if name is None else f"names.{name}"

    def _refusal(self, value, where):
        """Why a value cannot be stored, and what to do."""
        called = getattr(value, "__name__", None)
        what = f"the function {called!r}" if callable(value) and called else f"a {type(value).__name__}"
        key = called if called and called.isidentifier() else "name"
        return (
            f"{where} is {what}, which is not among the data that a model file can hold. Give it a name: "
            f"save(..., names={{{key!r}: ...}}) and load(path, names={{{key!r}: ...}})."
        )


def _scalar_dtype(value, where):
    return as_dtype(value.dtype.newbyteorder("<").str if value.dtype.itemsize > 1 else value.dtype.str, where).str
