"""Data as objects: what `_encode` has written, read back with a check of everything.

Here and in what is called from here any error will do: `refusing` makes a ModelFileError of it that says where.
"""

import base64
import math
from collections import Counter

import numpy as np

from mercer._warn import Caution
from mercer.files import _registry
from mercer.files._container import FileLimits
from mercer.files._encode import LONGEST_TEXT, as_dtype, back
from mercer.files._registry import refusing
from mercer.kernels import parse_kernel

FLOATS = {text: float(text) for text in ("nan", "inf", "-inf")}


class Decoder:
    """Makes the objects of one file, [class name, version, {name: value}] or [expression], one after the other."""

    def __init__(self, objects, arrays, names, limits=FileLimits()):
        self.arrays, self.names, self.limits = arrays, names, limits
        self.made, self._views, self._met = [], {}, []
        self._depths, self._sizes, self._kernels = [], [], 0
        for i, entry in enumerate(objects):
            with refusing(f"object {i}"):
                self.made.append(self._make(entry))

    def _make(self, entry):
        """One object; counts how deep and how large it is with all that it refers to."""
        self._met = []
        if len(entry) == 1:
            self._count(True, 1 + entry[0].count("("))
            if len(entry[0]) > LONGEST_TEXT:
                raise ValueError(f"an expression of {len(entry[0])} characters, more than {LONGEST_TEXT}")
            return parse_kernel(entry[0])
        if not (isinstance(entry, list) and len(entry) == 3 and isinstance(entry[2], dict)):
            raise ValueError("it is not [class, version, state]")
        name, version, fields = entry
        cls = self._class(name)
        for field in fields:
            if not _registry.is_public(field):
                raise ValueError(f"{cls.__name__} has no attribute {field!r:.60} that could be stored")
        state = {field: self.value(item) for field, item in fields.items()}
        self._count(_registry.is_kernel(cls), 1)
        with refusing(f"this is no {cls.__name__}"):
            return _registry.restore(cls, version, state)

    def _count(self, kernel, size):
        """Count one more object, with those that it refers to: depth, size, and all kernels together."""
        depth, size = (
            1 + max((self._depths[i] for i in self._met), default=0),
            size + sum(self._sizes[i] for i in self._met),
        )
        self._kernels += size if kernel else 0
        most = self.limits
        deepest, largest = (most.kernel_levels, most.kernel_objects) if kernel else (most.levels, most.objects)
        if depth > deepest or size > largest or self._kernels > most.kernels:
            raise ValueError("nested too deeply, or too large when it is written out")
        self._depths.append(depth)
        self._sizes.append(size)

    def _class(self, name):
        if not str(name).startswith("names."):
            return _registry.class_of(name)
        cls = self._name(name.removeprefix("names."))
        if not (isinstance(cls, type) and _registry.is_storable(cls)):
            raise ValueError(
                f"{name} must derive from Kernel, Loss, Rule, Solver or Approximation, so that its objects are known "
                "by their arguments, or have state and from_state; else name the object itself"
            )
        return cls

    def value(self, value, depth=0):
        """The value of a JSON value."""
        if depth > self.limits.containers:
            raise ValueError(f"more than {self.limits.containers} levels deep")
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        ((tag, inside),) = value.items() if len(value) == 1 else [("", None)]
        if tag not in TAGS:
            raise ValueError(f"there is no tag {list(value)!r:.60}")
        if tag in NESTING:
            inside = self.value(inside, depth) if isinstance(inside, list) else None
        return TAGS[tag](self, inside)

    def _dict(self, pairs):
        if not all(isinstance(pair, list) and len(pair) == 2 and _is_key(pair[0]) for pair in pairs):
            raise ValueError("a dict is made of pairs of a key and a value")
        hashes = Counter(hash(key) for key, _ in pairs if not isinstance(key, str | bytes))
        if max(hashes.values(), default=0) > self.limits.same_hash:  # whole numbers have the hash that somebody wants
            raise ValueError(
                f"{max(hashes.values())} keys of a dict have the same hash, more than {self.limits.same_hash}"
            )
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a dict has a key twice")
        return found

    def _reference(self, index):
        if type(index) is not int or not 0 <= index < len(self.made):
            raise ValueError(f"there is no earlier object {index!r:.40}")
        self._met.append(index)
        return self.made[index]

    def _array(self, inside):
        name, dtype, axes = inside if isinstance(inside, list) else (inside, None, None)
        key = name, str(dtype), str(axes)
        if key not in self._views:  # one object for one array: what was shared is shared again
            if name not in self.arrays:
                raise ValueError(f"there is no array {name!r:.80}")
            self._views[key] = back(self.arrays[name], dtype, axes)
        return self._views[key]

    def _objects(self, inside):
        """An array of objects: a shape and the items."""
        shape, items = inside
        out = np.empty(len(items), dtype=object)
        if not all(type(n) is int and 0 <= n <= 2**31 for n in shape) or math.prod(shape) != len(items):
            raise ValueError("an array of objects has a shape that does not fit its items")
        for i, item in enumerate(items):
            out[i] = item
        return out.reshape(shape)

    def _scalar(self, inside):
        dtype, raw = as_dtype(inside[0]), bytes.fromhex(inside[1])
        if len(raw) != dtype.itemsize or (dtype.kind == "b" and raw[0] > 1):
            raise ValueError(f"{len(raw)} bytes are no {dtype}")
        return np.frombuffer(raw, dtype=dtype).astype(dtype.newbyteorder("="))[0]

    def _slice(self, parts):
        if len(parts) != 3 or not all(part is None or type(part) in (int, str) for part in parts):
            raise ValueError("a slice is made of three whole numbers or names")
        return slice(*parts)

    def _name(self, name):
        if name not in self.names:
            raise ValueError(f"what the model calls {name!r:.60} is missing: hand it over, load(path, names={{...}})")
        return self.names[name]


def _plain_text(text):
    """The text of a note; ValueError for anything else."""
    if type(text) is not str:
        raise ValueError("a caution is a text")
    return text


def _is_key(key):
    """Whether a value may be the key of a dict."""
    if isinstance(key, tuple):
        return all(_is_key(part) for part in key)
    return key is None or isinstance(key, bool | int | float | str | bytes | np.generic)


NESTING = {"t", "d", "O", "slice"}  # tags whose items are values
TAGS = {
    "f": lambda decoder, text: FLOATS[text],
    "t": lambda decoder, items: tuple(items),
    "d": Decoder._dict,
    "s": Decoder._scalar,
    "b": lambda decoder, text: base64.b64decode(text, validate=True),
    "caution": lambda decoder, text: Caution(_plain_text(text)),
    "slice": Decoder._slice,
    "dtype": lambda decoder, text: as_dtype(text),
    "a": Decoder._array,
    "O": Decoder._objects,
    "o": Decoder._reference,
    "n": Decoder._name,
}
