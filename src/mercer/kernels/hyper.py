"""HyperParameters: θ > 0 of a kernel and of its parts, in log space: values, names, bounds, copies with others.

Nothing is remembered: what is free, and how many entries it has, is read from the attributes each time, so that an
attribute may be set at any time. A search asks for it in every trial, so reading is made cheap instead.
"""

import functools
import numbers
import reprlib

import numpy as np

FIXED = "fixed"


class HyperParameters:
    """θ of a kernel: its own, in the order of ``hyper``, then those of its ``parts``.

    Attributes
    ----------
    hyper : dict
        Own hyper-parameters in order, with their default bounds: ``{"length_scale": (1e-5, 1e5)}``.
        An instance overrides bounds through ``<name>_bounds``: a pair, or ``"fixed"``.
    parts : tuple of str
        The attributes that are kernels.
    whole_numbers : dict
        Discrete parameters with their least and largest value, far beyond use and small enough to be computed; a third
        entry says why others are refused.
    """

    hyper: dict = {}
    parts: tuple = ()
    whole_numbers: dict = {}

    def named_parts(self):
        """[(name, kernel), …] of the kernels that this one is made of, in order; empty for one that is made of none.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian(2.0) + Linear()).named_parts()
        [('left', Gaussian(2.0)), ('right', Linear())]
        """
        return [(name, getattr(self, name)) for name in self.parts]

    def _n_free(self, name):
        """The number of free entries of an own hyper-parameter: 0 where it is fixed, or 0."""
        value, bounds = getattr(self, name), getattr(self, f"{name}_bounds", None)
        if bounds is not None and isinstance(bounds, str):
            if bounds != FIXED:
                raise ValueError(f"{name}_bounds must be a pair or 'fixed', got {bounds!r}.")
            return 0
        if type(value) is float and value > 0.0:
            return 1
        value = np.asarray(value, dtype=float)
        least = np.minimum.reduce(value, axis=None, initial=np.inf)
        if not least >= 0:  # nan too
            raise ValueError(f"{type(self).__name__}: {name} must be positive, got {getattr(self, name)}.")
        return value.size if least > 0 else 0

    def own_hyper(self):
        """Return [(name, values, bounds), …] of own hyper-parameters; bounds are None if it is fixed, or 0."""
        rows = []
        for name, default in self.hyper.items():
            value, free = np.atleast_1d(np.asarray(getattr(self, name), dtype=float)), self._n_free(name)
            bounds = getattr(self, f"{name}_bounds", None)
            bounds = default if bounds is None else bounds
            free = free or (not value.size and not isinstance(bounds, str))
            rows.append((name, value, check_bounds(name, bounds, value.size) if free else None))
        return rows

    def _positive(self, name, size=None, zero=False):
        """Return hyper-parameter ``name`` as an array, checked: > 0 (or >= 0), finite, of length 1 or ``size``."""
        value = np.asarray(getattr(self, name), dtype=float)
        least, most = value, value
        if value.ndim:
            least = np.minimum.reduce(value, axis=None, initial=np.inf)
            most = np.maximum.reduce(value, axis=None, initial=0.0)
        if not ((least > 0.0 or (zero and least == 0.0)) and most < np.inf):  # nan too
            what = ">= 0" if zero else "positive"
            raise ValueError(f"{type(self).__name__}: {name} must be {what} and finite, got {value}.")
        if value.ndim > 1 or (value.ndim == 1 and size is not None and value.size not in (1, size)):
            raise ValueError(
                f"{type(self).__name__}: {name} has {value.size} entries, but X has {size} columns; "
                "give one value, or one for each column."
            )
        return value

    def _at_least_zero(self, name):
        """Return hyper-parameter ``name`` as a float, checked to be one finite number >= 0."""
        value = np.asarray(getattr(self, name), dtype=float)
        if value.size != 1 or not 0.0 <= value.min() < np.inf:
            raise ValueError(
                f"{type(self).__name__}: {name} must be one finite number >= 0, got {getattr(self, name)!r}; "
                "with a negative one this is not a kernel."
            )
        return float(value.reshape(()))

    def _whole_number(self, name, value=None):
        """Return discrete parameter ``name``, or one value of it, as an int, checked to be within its limits."""
        least, most, *why = self.whole_numbers[name]
        value = getattr(self, name) if value is None else value
        if isinstance(value, numbers.Real) and value > most:
            raise ValueError(f"{type(self).__name__}: {name} must be at most {most:,}, got {reprlib.repr(value)}.")
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
            who = f"{type(self).__name__}: {name}"
            raise ValueError(f"{who} must be a whole number >= {least}, got {value!r}{''.join(why)}.")
        return int(value)

    def _check_parameters(self):
        """Refuse parameters with which an evaluation would never end."""
        for name in self.whole_numbers:
            for value in np.atleast_1d(np.asarray(getattr(self, name), dtype=object)):
                self._whole_number(name, value)

    def _in_logs(self, own):
        """∂/∂log of the free own hyper-parameters, in order, from {name: derivative in natural units}."""
        free = [own[name] * np.asarray(getattr(self, name), dtype=float) for name in self.hyper if self._n_free(name)]
        return np.concatenate([np.reshape(part, -1) for part in free]) if free else np.zeros(0)

    # ------------------------------------------------------------------ θ
    @property
    def n_theta(self):
        """The number of free hyper-parameters p."""
        own = sum([self._n_free(name) for name in self.hyper])
        return own + sum([getattr(self, name).n_theta for name in self.parts])

    @property
    def theta(self):
        """log of the free hyper-parameters, own first, then part by part."""
        own = [np.log(np.reshape(getattr(self, name), -1)) for name in self.hyper if self._n_free(name)]
        return np.concatenate([*own, *[getattr(self, name).theta for name in self.parts], np.zeros(0)])

    @property
    def theta_bounds(self):
        """(p, 2) log bounds of the free hyper-parameters."""
        own = [np.log(bounds) for _, _, bounds in self.own_hyper() if bounds is not None]
        return np.concatenate([*own, *[part.theta_bounds for _, part in self.named_parts()], np.zeros((0, 2))])

    @property
    def names(self):
        """Names of the free hyper-parameters, in the order of θ: ``left__length_scale[2]``."""
        out = []
        for name in self.hyper:
            count = self._n_free(name)
            if count:
                scalar = np.ndim(getattr(self, name)) == 0
                out += [name] if scalar else [f"{name}[{i}]" for i in range(count)]
        for part_name, part in self.named_parts():
            out += [f"{part_name}__{name}" for name in part.names]
        return out

    def check_tree(self, above=frozenset(), known=None, most_levels=200):
        """Refuse a tree of kernels that contains itself, is too deep or too large, or has a part that is no kernel.

        Returns (levels, parts); what is known of a part is kept by identity, so that a shared one is looked at once.
        With more levels Python's own recursion limit is near.
        """
        known = {} if known is None else known
        if id(self) in above:
            raise ValueError(f"The kernel contains itself: a {type(self).__name__} is a part of its own part.")
        if id(self) not in known:
            if len(above) == most_levels:
                raise ValueError(f"The kernel tree is more than {most_levels} levels deep.")
            below = []
            for name, part in self.named_parts():
                if not isinstance(part, HyperParameters):
                    raise TypeError(f"{type(self).__name__}: {name} must be a Kernel, got {type(part).__name__}.")
                below.append(part.check_tree(above | {id(self)}, known, most_levels))
            known[id(self)] = 1 + max((deep for deep, _ in below), default=0), 1 + sum(size for _, size in below)
        levels, parts = known[id(self)]
        if levels + len(above) > most_levels:
            raise ValueError(f"The kernel tree is more than {most_levels} levels deep.")
        if parts > 10_000:  # as many evaluations in each tile
            raise ValueError("The kernel has more than 10,000 parts; a shared part counts every time.")
        return levels, parts

    # ------------------------------------------------------------------ copies
    def with_theta(self, theta):
        """Return a copy of the kernel with the free hyper-parameters at exp(θ)."""
        theta = np.asarray(theta, dtype=float)
        if theta.ndim == 1:
            other, used = self._with_values(theta, np.exp(theta), 0)
            if used == theta.size:
                return other
        raise ValueError(f"theta must have length {self.n_theta} ({', '.join(self.names)}), got {theta.shape}.")

    def _with_values(self, theta, values, used):
        """(copy, used): the copy of `with_theta`, its hyper-parameters from ``values`` = exp(θ), the first ``used``."""
        if type(self).with_theta is not HyperParameters.with_theta:
            end = used + self.n_theta
            return (self.with_theta(theta[used:end]) if end <= theta.size else self), end
        other = self._shallow_copy()
        for name in self.hyper:
            count = self._n_free(name)
            if count:
                new, used = values[used : used + count], used + count
                old = getattr(self, name)
                if used <= values.size:
                    setattr(other, name, float(new[0]) if type(old) is float or np.ndim(old) == 0 else new)
        for name in self.parts:
            part, used = getattr(self, name)._with_values(theta, values, used)
            setattr(other, name, part)
        return other, used

    def fixed(self):
        """Return a copy whose hyper-parameters are all fixed: a search leaves them alone."""
        other = self.with_parts(lambda part: part.fixed())
        for name in self.hyper:
            setattr(other, f"{name}_bounds", FIXED)
        return other

    def with_parts(self, change):
        """Return a copy with change(part) in the place of each part.

        Parameters
        ----------
        change : callable
            Takes a kernel and returns one.
        """
        other = self._shallow_copy()
        for name, part in self.named_parts():
            setattr(other, name, change(part))
        return other

    def _shallow_copy(self):
        """A copy that shares what does not change."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


def check_bounds(name, bounds, size):
    """Return bounds as an array of shape (size, 2), checked to be positive and ordered."""
    plain = type(bounds) is tuple and all(type(value) is float for value in bounds)
    return (_bounds_array if plain else _bounds_array.__wrapped__)(name, bounds, size)


@functools.lru_cache(maxsize=256)  # a search asks for a pair several times in every evaluation
def _bounds_array(name, bounds, size):
    bounds = np.asarray(bounds, dtype=float)
    if bounds.shape not in ((2,), (size, 2)):
        raise ValueError(f"{name}_bounds must be a pair (low, high), {size} pairs, or 'fixed'; got {bounds!r}.")
    bounds = np.broadcast_to(bounds, (size, 2))
    if not (np.isfinite(bounds).all() and (bounds[:, 0] > 0).all() and (bounds[:, 0] < bounds[:, 1]).all()):
        raise ValueError(f"{name}_bounds must satisfy 0 < low < high < inf, got {bounds.tolist()}.")
    return bounds


def lengths_of(names):
    """Which of some hyper-parameters are length scales, as a mask."""
    return np.array([name.split("__")[-1].startswith("length_scale") for name in names], dtype=bool)
