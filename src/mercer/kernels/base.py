"""Kernel: a function of two collections, its hyper-parameters θ, and the contraction with dk/dθ.

The author of a kernel writes a tile, the diagonal and (if it has hyper-parameters) the contraction of a
weight tile W with the derivative. Everything else (log θ, bounds, names, operators, tiles on all cores)
is written once, here. A collection is rows of floats, or objects where inputs need not be vectors.
"""

import importlib
from abc import ABC

import numpy as np
from sklearn.base import BaseEstimator

from mercer import _tiles
from mercer._parameters import Parametrised, call_repr, parameter_names, same
from mercer._tiles import EVERYTHING, result_dtype
from mercer.kernels.conversion import as_vectors
from mercer.kernels.formula import Traced
from mercer.kernels.hyper import HyperParameters
from mercer.kernels.prepared import Prepared, part_of
from mercer.kernels.slopes import InputSlopes
from mercer.kernels.visit import SelfDescription


class Kernel(Parametrised, HyperParameters, InputSlopes, SelfDescription, BaseEstimator, ABC):
    """k(x, z): symmetric, positive semi-definite, with hyper-parameters θ > 0.

    A subclass writes ``_tile(X, Z)`` and ``diag(X)``; ``_grad(X, Z, W)`` when it has hyper-parameters of
    its own; ``_pull(X, Z, W)`` when it is made of other kernels. ``__init__`` needs no body: its arguments are stored.
    Words, sliders and columns of tables come from the defaults of `SelfDescription`.

    Attributes
    ----------
    domain : {"vectors", "objects"}
        What a collection holds: rows of a float array, or anything with ``len`` and slicing.
    hyper, parts
        See `HyperParameters`.
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
    pairwise = False  # whether X is a matrix of its values
    psd = True
    stationary = False
    columns_quick = 0
    __array_ufunc__ = None  # so that numpy's 2.0 * k asks k, and does not make an object array

    @classmethod
    def _get_param_names(cls):
        """Read the signature once for each class: a fit clones its kernel."""
        return list(parameter_names(cls))

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
        if isinstance(X, Traced):  # in a composite's ``_tile``, whose formula is written down
            return self.formula(X, Z)
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
        return self.tiles(X, Z)(EVERYTHING, EVERYTHING)

    def tiles(self, X, Z):
        """t with t(i, j) = k(X[i], Z[j]) for slices i and j: what does not depend on the tile is done once, here.

        An author writes this instead of ``_tile`` where there is something to do once.
        """
        own = type(self)
        if own._tile is Kernel._tile and own.__call__ is Kernel.__call__:
            raise TypeError(f"{own.__name__} must define _tile(X, Z).")
        tile = self._tile if own._tile is not Kernel._tile else self
        return lambda i, j: tile(part_of(X, i), part_of(Z, j))

    def diag(self, X):
        """The vector of k(xᵢ, xᵢ), without the matrix."""
        raise TypeError(f"{type(self).__name__} must define diag(X).")

    def validate(self, X):
        """Return X as a collection this kernel can read: a float array of shape (n, d), or the objects."""
        for _, part in self.named_parts():
            X = part.validate(X)
        if self.parts or self.domain == "objects":
            return X
        return as_vectors(X, type(self).__name__)

    def named_columns(self):
        """Return the columns that the kernel reads by name, in order; empty if it reads none by name."""
        return list(dict.fromkeys(name for _, part in self.named_parts() for name in part.named_columns()))

    def metric(self, X):
        """(U, p) where k(x, z) falls with ‖u − v‖ₚ and depends on nothing else; None where there are none such."""
        return None

    def in_space(self, X):
        """Return the inputs of the kernel in ``matern_parameters``: X, unless it reads X as places elsewhere."""
        return X

    def matern_parameters(self, d):
        """(amplitude, ν, ℓ of d columns in space) of a Matérn kernel, ν = ∞ the Gaussian one; None for any other."""
        return None

    def stored_inputs(self, X):
        """Return what prediction must keep of the training inputs X: all of them, unless a kernel knows better."""
        return X

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
            The weight of each entry of the kernel matrix.
        """
        out = []
        if any([self._n_free(name) for name in self.hyper]):
            out.append(self._in_logs(self._grad(X, Z, W)))
        if any([part.n_theta for _, part in self.named_parts()]):
            for name, Xp, Zp, Wp in self._pull(X, Z, W):
                part = getattr(self, name)
                if part.n_theta:
                    out.append(part.grad(Xp, Zp, Wp))
        return np.concatenate(out) if out else np.zeros(0)

    def weighted(self, X, Z, W):
        """(Σᵢⱼ Wᵢⱼ k(xᵢ, zⱼ), Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ): an author overrides it where one pass gives both."""
        return float(np.vdot(W, self._tile(X, Z))), self.grad(X, Z, W)

    def prepare(self, X, Z, keep=False):
        """Return k on the pairs of X and Z as a `Prepared`: tiles and contractions, what they share done once.

        Parameters
        ----------
        X, Z : collections
        keep : bool, default=False
            Whether the contraction of all pairs follows their values: what they share may be kept in memory.
        """
        return Prepared(self, X, Z)

    # ------------------------------------------------------------------ algebra
    def __add__(self, other):
        return _import_later("algebra").add(self, other)

    def __radd__(self, other):
        return _import_later("algebra").add(other, self)

    def __mul__(self, other):
        return _import_later("algebra").multiply(self, other)

    def __rmul__(self, other):
        return _import_later("algebra").multiply(other, self)

    def __pow__(self, exponent):
        return _import_later("powers").Power(self, exponent)

    def exp(self):
        """exp(k(x, z))."""
        return _import_later("powers").Exp(self)

    def polynomial(self, coefficients):
        """q(k) = Σᵢ cᵢ kⁱ with every cᵢ >= 0."""
        return _import_later("powers").PolynomialOf(self, coefficients)

    def normalise(self):
        """k(x, z) / √(k(x, x) k(z, z)): the cosine in feature space."""
        return _import_later("inputs").Normalised(self)

    def warp(self, function):
        """f(x) k(x, z) f(z) for any real function f of a collection."""
        return _import_later("inputs").Warped(self, function)

    def transform(self, function):
        """k(g(x), g(z)) for any function g of a collection."""
        return _import_later("inputs").Transformed(self, function)

    def on(self, columns):
        """k on the given columns of x and z only."""
        return _import_later("columns").Columns(self, columns)

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


class PreparedKernel(Kernel):
    """A kernel that is written on the pairs of two collections: a subclass writes ``prepare``, the rest follows."""

    def tiles(self, X, Z):
        """t(i, j) = k(X[i], Z[j])."""
        return self.prepare(X, Z).tile

    def grad(self, X, Z, W):
        """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ, a vector of length p."""
        return self.prepare(X, Z).grad(EVERYTHING, EVERYTHING, W)

    def weighted(self, X, Z, W):
        """(Σᵢⱼ Wᵢⱼ k(xᵢ, zⱼ), Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ)."""
        return self.prepare(X, Z).weighted(EVERYTHING, EVERYTHING, W)


class UnitDiagonal(Kernel):
    """A kernel with k(x, x) = 1."""

    def diag(self, X):
        """k(x, x) = 1."""
        return np.ones(len(X), dtype=result_dtype(X))


def _import_later(module):
    """Return a module of kernels that is built on this one, imported when an operator or a method needs it."""
    return importlib.import_module(f"mercer.kernels.{module}")


def as_kernel(obj):
    """Return obj as a kernel: a `Kernel`, a scikit-learn kernel object, or a function of two inputs.

    Parameters
    ----------
    obj : Kernel, sklearn.gaussian_process.kernels.Kernel or callable
        What is to be a kernel; a function has to take two rows, or two arrays of rows.

    Returns
    -------
    Kernel
        ``obj`` itself, a `SklearnKernel`, or a `Pairwise`.

    Raises
    ------
    TypeError
        For anything else; the name of a kernel is answered with the class to use.
    ValueError
        For a tree of kernels that contains itself, or is deeper than 200 levels.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, as_kernel
    >>> as_kernel(Gaussian(2.0))
    Gaussian(2.0)
    >>> as_kernel(min)
    Pairwise(min)
    """
    if isinstance(obj, Kernel):
        obj.check_tree()
        return obj
    return _import_later("adapter").adapt(obj)
