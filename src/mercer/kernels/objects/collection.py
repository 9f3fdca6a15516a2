"""Objects: a collection of inputs that are not vectors, and kernels on what they have made of each input, once."""

from abc import abstractmethod

import numpy as np

from mercer._parameters import call_repr, show, signature_of
from mercer._state import check
from mercer.kernels.base import Kernel
from mercer.kernels.conversion import as_collection


class Objects:
    """x₁, …, x_n of any kind: ``len``, one item, slices and arrays of indices; parts share what was prepared.

    A kernel asks ``X.prepared(key, build)`` for its features: ``build`` sees all the raw items of the collection this
    one is a part of, once for each key, and the rows of this part come back. So a tile costs no preparation, and
    several kernels in one sum do not get in each other's way.

    Parameters
    ----------
    items : sequence
        The raw inputs; not copied.

    Examples
    --------
    >>> from mercer.kernels.objects.collection import Objects
    >>> X = Objects(["a", "bb", "ccc"])
    >>> X[1:].prepared("length", lambda items: np.array([len(item) for item in items]))
    array([2, 3])
    """

    def __init__(self, items):
        self._items, self._index, self._cache = items, None, {}

    def __len__(self):
        return len(self._items) if self._index is None else len(self._index)

    def __repr__(self):
        return f"Objects(n={len(self)})"

    def __getitem__(self, index):
        """The item of a whole number, else the part of a slice or of an array of indices or booleans."""
        if isinstance(index, int | np.integer):
            return self._items[int(index) if self._index is None else int(self._index[index])]
        part = object.__new__(type(self))
        rows = np.arange(len(self._items)) if self._index is None else self._index
        part._items, part._index, part._cache = self._items, rows[index], self._cache
        return part

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getstate__(self):
        """The items of this part only, nothing that can be prepared again."""
        return {"_items": list(self), "_index": None, "_cache": {}}

    def state(self):
        """{name: value} by public names: what a file keeps, the raw items; an array of them stays an array."""
        items = self._items if isinstance(self._items, np.ndarray) else list(self)
        return {"items": items if isinstance(items, list) or self._index is None else items[self._index]}

    @classmethod
    def from_state(cls, state):
        """Return the collection that had this state."""
        check(state, {"items": (list, np.ndarray)}, "Objects")
        if not np.ndim(state["items"][:0]):
            raise ValueError("the items of objects are no list.")
        return cls(state["items"])

    def joined(self, other):
        """A new collection: these items, then those of the other one."""
        return Objects([*self, *other])

    def identities(self):
        """One key for each item, equal where the items are; None where items cannot be told apart by value."""
        return list(self) if all(isinstance(item, str | bytes) for item in self) else None

    def prepared(self, key, build):
        """Rows of build(items), an array or sparse matrix with one row for each item (or a list), made once."""
        if key not in self._cache:
            self._cache[key] = build(self._items)
        whole = self._cache[key]
        if self._index is None:
            return whole
        return [whole[i] for i in self._index] if isinstance(whole, list) else whole[self._index]


def as_objects(X, who):
    """Return X as `Objects`; one that is already stays the same."""
    return X if isinstance(X, Objects) else Objects(as_collection(X, who))


def end_to_end(A, B):
    """The inputs of A, then those of B: arrays as one, else a list."""
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        return np.concatenate([A, B])
    return [*A, *B]


def structure(kernel):
    """The classes of a kernel tree: what the collection that it validates depends on, θ left aside."""
    return type(kernel).__name__, kernel.domain, *(structure(part) for _, part in kernel.named_parts())


class ObjectKernel(Kernel):
    """A kernel on objects. A subclass writes ``_read(items)``: what it makes of raw items, with one row for each."""

    domain = "objects"
    continuous: tuple = ()  # parameters that may be None and are hyper-parameters otherwise

    @abstractmethod
    def _read(self, items):
        """What is made of raw items, checked: an error names the row."""

    def _key(self):
        """What that depends on: the class, and the parameters that are not hyper-parameters."""
        skipped = {name + end for name in (*self.continuous, *self.hyper) for end in ("", "_bounds")}
        chosen = {name: show(value) for name, value in self.get_params(deep=False).items() if name not in skipped}
        return type(self).__name__, *sorted(chosen.items())

    def _prepared(self, X):
        """What was read of the rows of X, once."""
        return as_objects(X, type(self).__name__).prepared(self._key(), self._read)

    def _both(self, X, Z):
        """(what was read of X, of Z), the second the first where Z is X."""
        left = self._prepared(X)
        return left, left if Z is X else self._prepared(Z)

    def validate(self, X):
        """X as `Objects`, every item checked and read."""
        self._check_parameters()
        X = as_objects(X, type(self).__name__)
        self._prepared(X)
        return X

    def __repr__(self):
        """The call, its first parameter always shown."""
        return call_repr(self, always=tuple(signature_of(type(self)))[:1])
