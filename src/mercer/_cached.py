"""Attributes that are computed when they are first read, or that have a default after a fit."""


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
