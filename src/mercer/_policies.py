"""Options: the numbers that steer a policy, as named fields of a frozen class, with their defaults in one place."""

from collections.abc import Iterable
from dataclasses import dataclass, fields


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
    """

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
