"""Kernel: a function of two collections, its hyper-parameters θ, and the contraction with dk/dθ.

The author of a kernel writes a tile, the diagonal and (if it has hyper-parameters) the contraction of a
weight tile W with the derivative. Everything else (log θ, bounds, names, operators, tiles on all cores)
is written once, here.
"""

import copy
import inspect
from abc import ABC

import numpy as np
from sklearn.base import BaseEstimator

from mercer import _tiles
from mercer.kernels.bounds import check_bounds
from mercer.kernels.collection import as_vectors
from mercer.kernels.slopes import InputSlopes

FIXED = "fixed"


class Kernel(InputSlopes, BaseEstimator, ABC):
    """k(x, z): symmetric, positive semi-definite, with hyper-parameters θ > 0.

    A subclass writes ``_tile(X, Z)`` and ``diag(X)``; ``_grad(X, Z, W)`` when it has hyper-parameters of
    its own; ``_pull(X, Z, W)`` when it is made of other kernels. ``__init__`` only stores.

    Attributes
    ----------
    domain : {"vectors", "objects"}
        What a collection holds: rows of a float array, or anything with ``len`` and slicing.
    hyper : dict
        Own hyper-parameters in order, with their default bounds: ``{"length_scale": (1e-5, 1e5)}``.
        An instance overrides bounds through ``<name>_bounds``: a pair, or ``"fixed"``.
    parts : tuple of str
        The attributes that are kernels.
    stationary : bool
        Whether k(x + c, z + c) = k(x, z), so that a collection may be centred.
    psd : bool
        Whether positive semi-definiteness is proved. If not, estimators test it on the data.
    columns_quick : int
        Columns up to which a value takes no longer to compute than to fetch from a large stored matrix.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> k = 2.0 * Gaussian(1.0)
    >>> k([[0.0], [1.0]]).round(3)
    array([[2.   , 1.213],
           [1.213, 2.   ]])
    """

    domain: str = "vectors"
    hyper: dict = {}
    parts: tuple = ()
    psd = True
    stationary = False
    columns_quick = 0
    __array_ufunc__ = None  # so that numpy's 2.0 * k asks k, and does not make an object array

    # ------------------------------------------------------------------ evaluation
    def __call__(self, X, Z=None):
        """K with Kᵢⱼ = k(xᵢ, zⱼ); ``k(X)`` is ``k(X, X)``, always.

        Parameters
        ----------
        X, Z : collections
            Arrays of shape (m, d) and (n, d), or sequences of objects.

        Returns
        -------
        ndarray of shape (m, n)
        """
        symmetric = Z is None or Z is X
        X = self.validate(X)
        Z = X if symmetric else self.validate(Z)
        if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.ndim == Z.ndim == 2:
            if X.shape[1] != Z.shape[1]:
                raise ValueError(
                    f"{type(self).__name__}: X has {X.shape[1]} columns and Z has {Z.shape[1]}; they must agree."
                )
            if X.dtype != Z.dtype:
                dtype = np.result_type(X, Z)
                X, Z = X.astype(dtype, copy=False), Z.astype(dtype, copy=False)
        return _tiles.evaluate(self, X, Z, symmetric)

    def _tile(self, X, Z):
        """K with Kᵢⱼ = k(xᵢ, zⱼ) for two validated collections: a fresh array of X's dtype."""
        return self.tiles(X, Z)(slice(None), slice(None))

    def tiles(self, X, Z):
        """t with t(i, j) = k(X[i], Z[j]) for slices i and j: what does not depend on the tile is done once, here.

        An author writes this instead of ``_tile`` where there is something to do once.
        """
        own = type(self)
        if own._tile is Kernel._tile and own.__call__ is Kernel.__call__:
            raise TypeError(f"{own.__name__} must define _tile(X, Z).")
        tile = self._tile if own._tile is not Kernel._tile else self
        return lambda i, j: tile(_part(X, i), _part(Z, j))

    def diag(self, X):
        """The vector of k(xᵢ, xᵢ), without the matrix."""
        raise TypeError(f"{type(self).__name__} must define diag(X).")

    def validate(self, X):
        """Return X as a collection this kernel can read: a float array of shape (n, d), or the objects."""
        for _, part in self._named_parts():
            X = part.validate(X)
        if self.parts or self.domain == "objects":
            return X
        return as_vectors(X, type(self).__name__)

    def retain(self, X):
        """Return what prediction must keep of the training inputs X: all of them, unless a kernel knows better."""
        return X

    def sample(self, n, rng):
        """Return n random inputs of the kind this kernel reads: what ``mercer.testing`` feeds it."""
        for _, part in self._named_parts():
            return part.sample(n, rng)
        return rng.standard_normal((n, 3))

    @classmethod
    def examples(cls):
        """Return instances that show the class: ``mercer.testing`` finds and checks them by reflection."""
        return [cls()]

    # ------------------------------------------------------------------ derivative
    def _grad(self, X, Z, W):
        """{name: Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂value} for own hyper-parameters, in natural units."""
        return {}

    def _pull(self, X, Z, W):
        """Yield (part name, X', Z', W'): W pulled back onto each part, in the order of ``parts``."""
        return ()

    def grad(self, X, Z, W):
        """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ, a vector of length p.

        Parameters
        ----------
        X, Z : collections
        W : ndarray of shape (m, n)
        """
        out = []
        if any(bounds is not None for _, _, bounds in self._own()):
            out.append(self._in_logs(self._grad(X, Z, W)))
        if any(part.n_theta for _, part in self._named_parts()):
            for name, Xp, Zp, Wp in self._pull(X, Z, W):
                part = getattr(self, name)
                if part.n_theta:
                    out.append(part.grad(Xp, Zp, Wp))
        return np.concatenate(out) if out else np.zeros(0)

    def _in_logs(self, own):
        """∂/∂log of the free own hyper-parameters, in order, from {name: derivative in natural units}."""
        free = [np.atleast_1d(own[name]) * value for name, value, bounds in self._own() if bounds is not None]
        return np.concatenate([*free, np.zeros(0)])

    def weighted(self, X, Z, W):
        """(Σᵢⱼ Wᵢⱼ k(xᵢ, zⱼ), Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ): an author overrides it where one pass gives both."""
        return float(np.vdot(W, self._tile(X, Z))), self.grad(X, Z, W)

    def grad_tiles(self, X, Z):
        """g with g(i, j, W) = ``grad(X[i], Z[j], W)`` for slices i and j; an author overrides it as ``tiles``."""
        return lambda i, j, W: self.grad(_part(X, i), _part(Z, j), W)

    def weighted_tiles(self, X, Z):
        """g with g(i, j, W) = ``weighted(X[i], Z[j], W)`` for slices i and j; an author overrides it as ``tiles``."""
        return lambda i, j, W: self.weighted(_part(X, i), _part(Z, j), W)

    # ------------------------------------------------------------------ θ in log space
    def _named_parts(self):
        """[(name, kernel), …] of the parts, in order."""
        return [(name, getattr(self, name)) for name in self.parts]

    def _own(self):
        """[(name, values, bounds or None), …]: own θ; bounds is None when fixed (or when the value is 0)."""
        rows = []
        for name, default in self.hyper.items():
            value = np.atleast_1d(np.asarray(getattr(self, name), dtype=float))
            bounds = getattr(self, f"{name}_bounds", None)
            bounds = default if bounds is None else bounds
            if isinstance(bounds, str):
                if bounds != FIXED:
                    raise ValueError(f"{name}_bounds must be a pair or 'fixed', got {bounds!r}.")
                bounds = None
            elif not (least := value.min(initial=np.inf)) >= 0:  # nan too
                raise ValueError(f"{type(self).__name__}: {name} must be positive, got {getattr(self, name)}.")
            else:
                bounds = check_bounds(name, bounds, value.size) if least > 0 else None
            rows.append((name, value, bounds))
        return rows

    def _positive(self, name, size=None):
        """Return hyper-parameter ``name`` as an array, checked: > 0, finite, of length 1 or ``size``."""
        value = np.asarray(getattr(self, name), dtype=float)
        if not (np.isfinite(value).all() and (value > 0).all()):
            raise ValueError(f"{type(self).__name__}: {name} must be positive and finite, got {value}.")
        if value.ndim > 1 or (value.ndim == 1 and size is not None and value.size not in (1, size)):
            raise ValueError(
                f"{type(self).__name__}: {name} has {value.size} entries, but X has {size} columns; "
                "give one value, or one for each column."
            )
        return value

    @property
    def n_theta(self):
        """The number of free hyper-parameters p."""
        own = sum(value.size for _, value, bounds in self._own() if bounds is not None)
        return own + sum(part.n_theta for _, part in self._named_parts())

    @property
    def theta(self):
        """log of the free hyper-parameters, own first, then part by part."""
        own = [np.log(value) for _, value, bounds in self._own() if bounds is not None]
        return np.concatenate([*own, *(part.theta for _, part in self._named_parts()), np.zeros(0)])

    @property
    def theta_bounds(self):
        """(p, 2) log bounds of the free hyper-parameters."""
        own = [np.log(bounds) for _, _, bounds in self._own() if bounds is not None]
        return np.concatenate([*own, *(part.theta_bounds for _, part in self._named_parts()), np.zeros((0, 2))])

    @property
    def names(self):
        """Names of the free hyper-parameters, in the order of θ: ``left__length_scale[2]``."""
        out = []
        for name, value, bounds in self._own():
            if bounds is not None:
                scalar = np.ndim(getattr(self, name)) == 0
                out += [name] if scalar else [f"{name}[{i}]" for i in range(value.size)]
        for part_name, part in self._named_parts():
            out += [f"{part_name}__{name}" for name in part.names]
        return out

    def with_theta(self, theta):
        """Return a copy of the kernel with the free hyper-parameters at exp(θ)."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (self.n_theta,):
            raise ValueError(f"theta must have length {self.n_theta} ({', '.join(self.names)}), got {theta.shape}.")
        other, used = copy.copy(self), 0  # shallow: what does not change is shared
        for name, value, bounds in self._own():
            if bounds is not None:
                new = np.exp(theta[used : used + value.size])
                setattr(other, name, float(new[0]) if np.ndim(getattr(self, name)) == 0 else new)
                used += value.size
        for part_name, part in self._named_parts():
            count = part.n_theta
            setattr(other, part_name, part.with_theta(theta[used : used + count]))
            used += count
        return other

    def fixed(self):
        """Return a copy whose hyper-parameters are all fixed: a search leaves them alone."""
        other = copy.copy(self)
        for name in self.hyper:
            setattr(other, f"{name}_bounds", FIXED)
        for part_name, part in self._named_parts():
            setattr(other, part_name, part.fixed())
        return other

    # ------------------------------------------------------------------ algebra
    def __add__(self, other):
        return _algebra().add(self, other)

    def __radd__(self, other):
        return _algebra().add(other, self)

    def __mul__(self, other):
        return _algebra().multiply(self, other)

    def __rmul__(self, other):
        return _algebra().multiply(other, self)

    def __pow__(self, exponent):
        return _powers().Power(self, exponent)

    def exp(self):
        """exp(k(x, z))."""
        return _powers().Exp(self)

    def polynomial(self, coefficients):
        """q(k) = Σᵢ cᵢ kⁱ with every cᵢ >= 0."""
        return _powers().PolynomialOf(self, coefficients)

    def normalise(self):
        """k(x, z) / √(k(x, x) k(z, z)): the cosine in feature space."""
        return _inputs().Normalised(self)

    def warp(self, function):
        """f(x) k(x, z) f(z) for any real function f of a collection."""
        return _inputs().Warped(self, function)

    def transform(self, function):
        """k(g(x), g(z)) for any function g of a collection."""
        return _inputs().Transformed(self, function)

    def on(self, columns):
        """k on the given columns of x and z only."""
        return _inputs().Columns(self, columns)

    # ------------------------------------------------------------------ equality and repr
    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        for name in mine:  # a plain loop: all() would take twice the stack in a deep tree
            if not same(mine[name], theirs[name]):
                return False
        return True

    def __hash__(self):
        return hash((type(self).__name__, repr(self)))

    def __repr__(self):
        """Return the expression that evaluates back to an equal kernel."""
        return call_repr(self, always=tuple(self.hyper)[:1])

    def _repr_operand(self, tighter_than):
        """Return repr in brackets where an operator binds more tightly than this kernel's outermost one."""
        return f"({self!r})" if self._precedence < tighter_than else repr(self)

    _precedence = 4  # 1: +   2: *   3: **   4: a call or an attribute


def _algebra():
    """kernels.algebra, imported when an operator is used: base does not depend on what is built from it."""
    from mercer.kernels import algebra

    return algebra


def _powers():
    """kernels.powers, in the same way."""
    from mercer.kernels import powers

    return powers


def _inputs():
    """kernels.inputs, imported when one of its methods is used."""
    from mercer.kernels import inputs

    return inputs


def _signature(cls):
    """Constructor parameters of a kernel class, in order, by name."""
    if cls.__init__ is object.__init__:  # whose signature is (*args, **kwargs)
        return {}
    parameters = inspect.signature(cls.__init__).parameters
    return {name: p for name, p in parameters.items() if name != "self"}


def call_repr(thing, always=()):
    """``Name(first, other=value)``: the parameters that are not the default, and the first if it is in ``always``."""
    shown = []
    for i, parameter in enumerate(_signature(type(thing)).values()):
        value = getattr(thing, parameter.name)
        if (i == 0 and parameter.name in always) or not same(value, parameter.default):
            positional = len(shown) == i and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            shown.append(show(value) if positional else f"{parameter.name}={show(value)}")
    return f"{type(thing).__name__}({', '.join(shown)})"


def same(a, b):
    """Whether two parameter values are equal; arrays, lists and numbers by value."""
    if a is b:
        return True
    if isinstance(a, Kernel) or isinstance(b, Kernel) or isinstance(a, str) or isinstance(b, str):
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
    if callable(value) and not isinstance(value, Kernel):
        return getattr(value, "__name__", None) or repr(value)
    return repr(value)


def _part(X, i):
    """X[i]; the whole of a collection is the collection itself: a kernel may see that X and Z are one."""
    return X if i.indices(len(X)) == (0, len(X), 1) else X[i]
