"""Options: the numbers that steer a policy, as named fields of a frozen class, with their defaults in one place."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from numbers import Real


@dataclass(frozen=True)
class Options:
    """What a policy may be told: a subclass is a frozen dataclass whose every field has a default and a comment.

    A function that a policy steers takes its options as an argument; ``Problem.options[SearchOptions]`` has those of
    a fit. An estimator takes those that differ from the defaults as ``options=``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from mercer._policies import Options, OptionSet
    >>> @dataclass(frozen=True)
    ... class WalkOptions(Options):
    ...     steps: int = 100  # at most
    >>> OptionSet([WalkOptions(steps=3)])[WalkOptions].steps, OptionSet()[WalkOptions].steps
    (3, 100)
    >>> WalkOptions(steps="three")
    Traceback (most recent call last):
    ValueError: steps='three' of WalkOptions must be a number, as its default 100 is.
    """

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        cls.__repr__ = Options.__repr__  # type: ignore[method-assign]  # or a dataclass would name every field

    def __post_init__(self):
        for one in fields(self):
            value, number = getattr(self, one.name), isinstance(one.default, Real)
            if number and not isinstance(value, Real | None):
                who = type(self).__name__
                raise ValueError(f"{one.name}={value!r} of {who} must be a number, as its default {one.default!r} is.")

    def __repr__(self):
        """Return the call with the fields that differ from their defaults."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.changed().items())})"

    def state(self):
        """{name: value}: what a model file keeps."""
        return self.changed()

    @classmethod
    def from_state(cls, state):
        """Return the options that had this state; a field that is no longer there steers nothing."""
        return cls(**{one.name: state[one.name] for one in fields(cls) if one.name in state})

    @classmethod
    def kinds(cls):
        """Every class of options there is, by name."""
        found = {kind.__name__: kind for kind in cls.__subclasses__()}
        for kind in cls.__subclasses__():
            found |= kind.kinds()
        return dict(sorted(found.items()))

    def changed(self):
        """{field: value} of the fields that differ from their defaults."""
        default = type(self)()
        values = {one.name: (getattr(self, one.name), getattr(default, one.name)) for one in fields(self)}
        return {name: value for name, (value, usual) in values.items() if value != usual}


class OptionSet:
    """The options of a fit: ``options[Kind]`` is what was given of that kind, or its defaults."""

    def __init__(self, given=()):
        given = tuple(given) if isinstance(given, Iterable) else (given,)
        if not all(isinstance(one, Options) for one in given):
            raise ValueError(f"options must be a list of options such as SearchOptions(...), got {given!r}.")
        self._given = {type(one): one for one in given}
        if len(self._given) < len(given):
            raise ValueError(f"options has two of one kind: {', '.join(type(one).__name__ for one in given)}.")

    def __getitem__(self, kind):
        return self._given[kind] if kind in self._given else kind()

    def __iter__(self):
        return iter(self._given.values())

    def __repr__(self):
        return f"OptionSet({list(self)!r})"
