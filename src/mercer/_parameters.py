"""Parameters: stored by every ``__init__`` in the same way, written as source, compared; attributes made of them."""

import functools
import inspect
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator

from mercer._other_names import unknown_parameter


class Parametrised:
    """A class whose ``__init__`` stores each argument under its name, so that a subclass writes its signature only.

    Examples
    --------
    >>> from mercer._parameters import Parametrised
    >>> class Circle(Parametrised):
    ...     def __init__(self, radius=1.0, *, colour=None): ...
    >>> vars(Circle(2.0))
    {'radius': 2.0, 'colour': None}
    """

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _store_arguments(vars(cls)["__init__"])


def _store_arguments(init):
    """The same ``__init__``, which first stores its arguments; a body of its own finds them there."""
    parameters = list(inspect.signature(init).parameters.values())[1:]  # without self
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters):
        return init
    defaults = {parameter.name: parameter.default for parameter in parameters}

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        unknown = [name for name in kwargs if name not in defaults]
        if unknown:
            raise TypeError(unknown_parameter(type(self), unknown, list(defaults), kwargs))
        vars(self).update({**defaults, **dict(zip(defaults, args, strict=False)), **kwargs})
        init(self, *args, **kwargs)  # Python itself refuses arguments that do not fit

    return __init__


@cache
def parameter_names(cls):
    """Names of the parameters of a class, as scikit-learn reads them from its signature."""
    return tuple(BaseEstimator._get_param_names.__func__(cls))


@cache
def signature_of(cls):
    """Constructor parameters of a class, in order, by name."""
    if cls.__init__ is object.__init__:  # whose signature is (*args, **kwargs)
        return {}
    parameters = inspect.signature(cls.__init__).parameters
    return {name: p for name, p in parameters.items() if name != "self"}


def call_repr(thing, always=()):
    """``Name(first, other=value)``: the parameters that are not the default, and the first if it is in ``always``."""
    shown = []
    for i, parameter in enumerate(signature_of(type(thing)).values()):
        value = getattr(thing, parameter.name)
        if (i == 0 and parameter.name in always) or not same(value, parameter.default):
            positional = len(shown) == i and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            shown.append(show(value) if positional else f"{parameter.name}={show(value)}")
    return f"{type(thing).__name__}({', '.join(shown)})"


def same(a, b):
    """Whether two parameter values are equal; arrays, lists and numbers by value."""
    if a is b:
        return True
    if isinstance(a, Parametrised) or isinstance(b, Parametrised) or isinstance(a, str) or isinstance(b, str):
        return type(a) is type(b) and a == b
    if a is None or b is None or callable(a) or callable(b):
        return False
    try:
        return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
    except (TypeError, ValueError):
        return bool(a == b)


def show(value):
    """Return Python source for a parameter: arrays as lists, functions by name."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, (list, tuple)):  # their own repr would write np.float64(1.0)
        inside = ", ".join(show(item) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if callable(value) and not isinstance(value, Parametrised):
        return getattr(value, "__name__", None) or repr(value)
    return repr(value)


class cached_property:  # noqa: N801
    """As ``functools.cached_property`` of Python 3.12: without a lock, which a forked process could wait for."""

    def __init__(self, function):
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    def __set_name__(self, owner, name):
        """Remember the name."""
        self.name = name

    def __get__(self, instance, owner=None):
        """Compute, or what was computed."""
        if instance is None:
            return self
        found = instance.__dict__.get(self.name, self)
        if found is self:
            found = instance.__dict__[self.name] = self.function(instance)
        return found


class Default:
    """An attribute of a fitted estimator with this value where the fit has set no other."""

    def __init__(self, value):
        self.value = value

    def __get__(self, estimator, owner=None):
        if estimator is None:
            return self
        if not estimator.__sklearn_is_fitted__():
            raise AttributeError(f"{owner.__name__} is not fitted.")
        return self.value


class Computed:
    """An attribute that a method computes, where the fit has not set one of that name."""

    def __init__(self, function):
        self.function, self.__doc__ = function, function.__doc__

    def __get__(self, estimator, owner=None):
        return self if estimator is None else self.function(estimator)
