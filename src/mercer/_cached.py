"""An attribute that is computed once, without the lock that Python 3.11 holds for a whole class meanwhile.

A fork that happens while another thread computes one would wait for that lock for ever.
"""


class cached_property:  # noqa: N801
    """As ``functools.cached_property`` of Python 3.12: two threads may compute it twice, and none waits."""

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
