"""What a model file keeps of an object: values under public names, their kinds and shapes, and a version.

Any class with ``state()``, which returns {public name: value}, and the class method ``from_state(state)`` can be kept.
A digest proves that a file is as it was written, not that it was written by us, and compiled loops trust shapes: so
``from_state`` refuses with a ValueError what does not fit together. `check` does that from a declaration.
"""

from collections.abc import Sized

import numpy as np

KINDS = {"float": "f", "int": "iu", "bool": "b", "matrix": "biuf", "any": "biufUSO"}
ROUTING = "_metadata_request"  # scikit-learn's: which metadata each method asks for; it refers to its estimator


def check(state, fields, who, closed=True):
    """Refuse a state whose values are not of the declared kinds and shapes; return {letter: number}.

    Parameters
    ----------
    state : dict
    fields : dict
        {name: what its value must be}: a class, None, "number", "size n" (a whole number >= 0), or an array or sparse
        array of a kind and a shape: "float n t", "int n", "bool n", "matrix n d" (numbers), "any n"; "factor n" is a
        square float64 array in C order, "rows n d" a collection of n inputs, of d columns if they are vectors. A tuple
        holds alternatives. A letter is the same number throughout.
    who : str
        The class, for the message.
    closed : bool, default=True
        Whether all of the names must be there and no others; else only those that are there are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._state import check
    >>> check({"y": np.zeros((3, 2)), "w": None}, {"y": "float n t", "w": ("float n", None)}, "Rows")
    {'n': 3, 't': 2}
    >>> check({"y": np.zeros((3, 2)), "w": np.ones(2)}, {"y": "float n t", "w": ("float n", None)}, "Rows")
    Traceback (most recent call last):
    ValueError: Rows.w has 2 where n is 3.
    """
    if closed and set(state) != set(fields):
        raise ValueError(f"{who} is made of {sorted(fields)}, not of {sorted(map(str, state))!r:.300}.")
    sizes: dict = {}
    for name in [name for name in fields if name in state]:
        problem = _problem(state[name], fields[name], sizes)
        if problem:
            raise ValueError(f"{who}.{name} {problem}.")
    return sizes


def check_vectors(kernel, X, who):
    """Refuse inputs of a kernel on vectors that are not rows of floats: compiled loops rely on it."""
    rows = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if kernel.domain == "vectors" and not rows:
        raise ValueError(f"{who} is no array of rows of floats but {_kind(X)}.")


def _problem(value, wanted, sizes):
    """Return why a value is not of a declared kind, or None; the letters that it fixes are put into ``sizes``."""
    if isinstance(wanted, tuple):
        problems = []
        for one in wanted:
            trial = dict(sizes)
            problems.append(_problem(value, one, trial))
            if problems[-1] is None:
                sizes.update(trial)
                return None
        return max(problems, key=lambda text: (" where " in text, text.startswith("has")))  # what says most
    if wanted is None or isinstance(wanted, type):
        fits = value is None if wanted is None else isinstance(value, wanted)
        return None if fits else f"is no {'None' if wanted is None else wanted.__name__} but {_kind(value)}"
    word, *letters = wanted.split()
    if word == "number":
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        return None if real else f"is no number but {_kind(value)}"
    if word == "size":
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0
        return _bind(sizes, letters, (int(value),)) if whole else f"is no size but {_kind(value)}"
    return _rows_problem(value, letters, sizes) if word == "rows" else _array_problem(value, word, letters, sizes)


def _array_problem(value, word, letters, sizes):
    """Return why a value is not an array of a kind and a shape, or None."""
    factor = word == "factor"
    plain = isinstance(value, np.ndarray) or (word == "matrix" and hasattr(value, "tocsr"))
    if not plain or value.dtype.kind not in KINDS["float" if factor else word]:
        return f"is no array of {word}s but {_kind(value)}"
    if factor and not (value.flags.c_contiguous and value.dtype == np.float64):
        return "is not float64 in C order"
    return _bind(sizes, letters * 2 if factor else letters, value.shape)


def _rows_problem(value, letters, sizes):
    """Return why a value is not a collection of inputs (rows of numbers, or objects with a length), or None."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        short = value.dtype.kind == "f" and value.dtype.itemsize < 4
        if value.ndim == 2 and not short:
            return _bind(sizes, letters, value.shape)
        if value.ndim == 2 or letters[-1] in sizes or not value.ndim:  # else they are numbers that are objects
            return f"has shape {value.shape} and dtype {value.dtype}: it is no array of rows"
    elif not isinstance(value, Sized) or isinstance(value, str | bytes | dict | tuple | set):
        return f"is no collection of inputs but {_kind(value)}"
    return _bind(sizes, letters[:1], (len(value),))


def _bind(sizes, letters, shape):
    """Give each letter of a shape its number; return why it does not fit, or None."""
    if len(letters) != len(shape):
        return f"has {len(shape)} axes, not {len(letters)}"
    for letter, size in zip(letters, shape, strict=True):
        if sizes.setdefault(letter, size) != size:
            return f"has {size} where {letter} is {sizes[letter]}"
    return None


def _kind(value):
    """Describe the type of a value for a message."""
    shape = f" of shape {value.shape} and dtype {value.dtype}" if isinstance(value, np.ndarray) else ""
    return f"a {type(value).__name__}{shape}"


class Stateful:
    """A scikit-learn estimator that can be stored: parameters, fitted attributes (``name_``), and declared extras.

    Attributes
    ----------
    state_extras : dict
        {public name: attribute} of what is kept beside the attributes whose name ends with an underscore.
    state_fields : dict
        {public name: what it must be} for `check`, of those that prediction relies on.
    state_version : int
        Goes up when an older state would be misread, and refuses files with another one.
    """

    state_extras: dict = {}
    state_fields: dict = {}
    state_version = 1

    def state(self):
        """{name: value} of the parameters and of all that was learnt, by public names: what a file keeps.

        Values are plain ones, arrays, kernels and other objects known by the arguments of their constructor, and
        objects that have ``state`` and ``from_state`` themselves.

        Examples
        --------
        >>> from mercer import KernelRidge
        >>> sorted(KernelRidge(lam=2.0).fit([[0.0], [1.0]], [0.0, 1.0]).state())[:3]
        ['dual_coef_', 'fit_report_', 'fitted']
        """
        mine = vars(self)
        learnt = {name: value for name, value in mine.items() if name.endswith("_") and not name.startswith("_")}
        extra = {name: mine[attribute] for name, attribute in self.state_extras.items() if attribute in mine}
        asked = {"requests": _requests(mine[ROUTING])} if ROUTING in mine else {}
        return {"parameters": self.get_params(deep=False), **asked, **learnt, **extra}

    @classmethod
    def from_state(cls, state):
        """Return the estimator that had this state; ValueError if it cannot have been one."""
        state = dict(state)
        self = cls(**state.pop("parameters"))
        self._set_requests(state.pop("requests", {}))
        check(state, cls.state_fields, cls.__name__, closed=False)
        self._restore(state)
        return self

    def _restore(self, state):
        """Set the fitted attributes; a class that stores more takes its own out of the state first."""
        for name, attribute in self.state_extras.items():
            if name in state:
                vars(self)[attribute] = state.pop(name)
        for name in state:
            learnt = name.isidentifier() and name.endswith("_") and not name.startswith("_")
            if not learnt or isinstance(getattr(type(self), name, None), property):
                raise ValueError(f"{type(self).__name__} has no attribute {name!r:.60} that could be stored.")
        vars(self).update(state)

    def _set_requests(self, requests):
        """Set which metadata each method requests, for scikit-learn's routing."""
        for method, asked in requests.items():
            made = vars(self).get(ROUTING) or self._get_metadata_request()
            for parameter, alias in asked.items():
                if method == "owner" or method not in vars(made) or not isinstance(parameter, str):
                    raise ValueError(f"{method!r:.40} cannot ask for {parameter!r:.40}.")
                getattr(made, method).add_request(param=parameter, alias=alias)
            setattr(self, ROUTING, made)


def _requests(routing):
    """Return {method: {parameter: request}} of scikit-learn's metadata routing."""
    return {method: dict(part.requests) for method, part in vars(routing).items() if method != "owner"}
