"""Parametrised: what every ``__init__`` of a part does, and all that scikit-learn lets it do, written once."""

import functools
import inspect


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
            cls.__init__ = _storing(vars(cls)["__init__"])


def _storing(init):
    """The same ``__init__``, which first stores its arguments; a body of its own finds them there."""
    parameters = list(inspect.signature(init).parameters.values())[1:]  # without self
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters):
        return init
    defaults = {parameter.name: parameter.default for parameter in parameters}

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        vars(self).update({**defaults, **dict(zip(defaults, args, strict=False)), **kwargs})
        init(self, *args, **kwargs)  # Python itself refuses arguments that do not fit

    return __init__
