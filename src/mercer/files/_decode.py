"""Data as objects: what `_state` has written, read back with a check of everything."""

import base64
import math

import numpy as np

from mercer.exceptions import ModelFileError
from mercer.files import _codecs, _registry
from mercer.files._arrays import as_dtype
from mercer.files._schema import check_object
from mercer.files._state import DEEPEST, Sizes


class Decoder:
    """Makes the objects of one file, one after the other.

    Parameters
    ----------
    objects : list
        Of [class name, {attribute: value}].
    arrays : list of ndarray
    names : dict
        What the user hands over by name.
    path : str
        For errors.
    """

    def __init__(self, objects, arrays, names, path):
        self.arrays, self.names, self.path = arrays, names, path
        self.made, self._sizes, self._met = [], Sizes(), []
        for i, entry in enumerate(objects):
            self.made.append(self._make(entry, f"{path}: object {i}"))

    def _make(self, entry, where):
        """One object; counts how deep and how large it is with all that it refers to."""
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], dict)):
            raise ModelFileError(f"{where} is not [class, attributes].")
        name, fields = entry
        cls = self._class(name, where)
        self._met = []
        state = {field: self.value(item, f"{where}, {field!r:.40}") for field, item in fields.items()}
        self._sizes.add(cls, self._met, where)
        _codecs.check_fields(cls, state, where)
        try:
            check_object(name, cls, state, where)
            return _codecs.restore(cls, state, where)
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # a part that is asked, and refuses its own parameters
            raise ModelFileError(f"{where}: {cls.__name__} cannot be made: {str(error)[:200]}") from error

    def _class(self, name, where):
        if isinstance(name, str) and name.startswith("names."):
            cls = self._named(name.removeprefix("names."), where)
            if not (isinstance(cls, type) and _registry.is_parameter(cls)):
                raise ModelFileError(
                    f"{where}: names[{name.removeprefix('names.')!r}] must be a class of kernels or losses."
                )
            return cls
        return _registry.class_of(name, where)

    def _named(self, name, where):
        if not isinstance(name, str) or name not in self.names:
            raise ModelFileError(
                f"{where} is what the model calls {name!r:.60}: hand it over, load(path, names={{{name!r:.60}: ...}})."
            )
        return self.names[name]

    def value(self, value, where, depth=0):
        """The value of a JSON value."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if depth > DEEPEST:
            raise ModelFileError(f"{where} is more than {DEEPEST} levels deep.")
        if isinstance(value, list):
            return [self.value(item, where, depth + 1) for item in value]
        if len(value) != 1:
            raise ModelFileError(f"{where}: a tagged value has {len(value)} tags.")
        ((tag, inside),) = value.items()
        method = TAGS.get(tag)
        if method is None:
            raise ModelFileError(f"{where}: there is no tag {tag!r:.40}.")
        return method(self, inside, where, depth + 1)

    def _items(self, items, where, depth, length=None):
        if not isinstance(items, list) or (length is not None and len(items) != length):
            raise ModelFileError(f"{where}: expected a list{'' if length is None else f' of {length}'}.")
        return [self.value(item, where, depth) for item in items]

    def _float(self, text, where, depth):
        if text not in ("nan", "inf", "-inf"):
            raise ModelFileError(f"{where}: {text!r:.40} is no float.")
        return float(text)

    def _tuple(self, items, where, depth):
        return tuple(self._items(items, where, depth))

    def _dict(self, items, where, depth):
        pairs = [tuple(pair) for pair in self._items(items, where, depth) if isinstance(pair, list) and len(pair) == 2]
        try:
            _codecs.check_keys([key for key, _ in pairs], where)
            found = dict(pairs)
        except TypeError:
            raise ModelFileError(f"{where}: a key of a dict cannot be one.") from None
        if len(found) != len(items) or not all(_is_key(key) for key in found):
            raise ModelFileError(f"{where}: a dict has a key twice, or is not made of pairs of a key and a value.")
        return found

    def _at(self, index, things, where, what):
        if type(index) is not int or not 0 <= index < len(things):
            raise ModelFileError(f"{where}: there is no {what} {index!r:.40} here.")
        return things[index]

    def _reference(self, index, where, depth):
        found = self._at(index, self.made, where, "earlier object")
        self._met.append(index)
        return found

    def _array(self, index, where, depth):
        return self._at(index, self.arrays, where, "array")

    def _objects(self, inside, where, depth):
        """An array of objects: a shape and the items."""
        shape, items = self._items(inside, where, depth, 2)
        plain = isinstance(shape, list) and isinstance(items, list) and all(type(n) is int and n >= 0 for n in shape)
        if not plain or len(shape) > 32 or math.prod(shape) != len(items) or max(shape, default=0) > 2**31:
            raise ModelFileError(f"{where}: an array of objects has a shape that does not fit its items.")
        out = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            out[i] = item
        return out.reshape(shape)

    def _scalar(self, inside, where, depth):
        text, data = self._items(inside, where, depth, 2)
        dtype = as_dtype(text, where)
        try:
            raw = bytes.fromhex(data)
        except (TypeError, ValueError):
            raise ModelFileError(f"{where}: a number of NumPy is not in hexadecimal.") from None
        if len(raw) != dtype.itemsize or (dtype.kind == "b" and raw[0] > 1):
            raise ModelFileError(f"{where}: {len(raw)} bytes are no {dtype}.")
        try:
            return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="))[0]
        except ValueError:  # a character beyond Unicode
            raise ModelFileError(f"{where}: there is no such character.") from None

    def _bytes(self, text, where, depth):
        try:
            return base64.b64decode(text, validate=True)
        except (TypeError, ValueError):
            raise ModelFileError(f"{where}: bytes are not in base 64.") from None

    def _slice(self, items, where, depth):
        parts = self._items(items, where, depth, 3)
        if not all(part is None or type(part) is int or isinstance(part, str) for part in parts):
            raise ModelFileError(f"{where}: a slice is made of whole numbers or names.")
        return slice(*parts)

    def _dtype(self, text, where, depth):
        return as_dtype(text, where)

    def _name(self, name, where, depth):
        return self._named(name, where)


def _is_key(key):
    """Whether a value may be the key of a dict."""
    if isinstance(key, tuple):
        return all(_is_key(part) for part in key)
    return key is None or isinstance(key, bool | int | float | str | bytes | np.generic)


TAGS = {
    "f": Decoder._float,
    "t": Decoder._tuple,
    "d": Decoder._dict,
    "s": Decoder._scalar,
    "b": Decoder._bytes,
    "a": Decoder._array,
    "o": Decoder._reference,
    "n": Decoder._name,
    "O": Decoder._objects,
    "slice": Decoder._slice,
    "dtype": Decoder._dtype,
}
