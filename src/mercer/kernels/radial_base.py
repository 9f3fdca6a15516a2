"""Radial: k(x, z) = φ(s), s = ‖(x − z)/ℓ‖². An author writes φ and φ′, and has ARD, tiles and gradients.

A compiled loop is named beside φ and φ′ and found by these functions, not by the class: a subclass with a φ of its own
is never evaluated by another's.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from mercer import _native
from mercer._parameters import cached_property
from mercer._tiles import EVERYTHING
from mercer.kernels import distance
from mercer.kernels.base import Kernel, UnitDiagonal
from mercer.kernels.one_pass import OnePass
from mercer.kernels.prepared import Prepared

LENGTH_BOUNDS = (1e-5, 1e5)
LENGTH = ("length_scale",)


LOOPS: dict[Callable, tuple] = {}  # {φ, φ′ or the derivative by the shape: (name of the loop, name of the shape)}


def computed_by(loop, shape=None):
    """Decorate φ, φ′ and the derivative by the shape with the loop of ``_native.CODES`` that computes the same.

    The table has the functions themselves: one that a subclass writes is not in it, and is never computed by a loop.
    """

    def enter(function):
        LOOPS[function] = loop, shape
        return function

    return enter


def _find_loop(kernel):
    """(name of the loop for φ, of the loop for φ and its derivatives, shape) of the functions that a kernel has now."""
    own, kind = kernel.__dict__, type(kernel)
    found = None if "phi" in own else LOOPS.get(kind.phi)
    if found is None:
        return None, None, 1.0
    name, shape = found
    same = LOOPS.get(kind.dphi) == found and (
        LOOPS.get(kind.dshape) == found if shape else kind.dshape is Radial.dshape
    )
    same = same and "dphi" not in own and "dshape" not in own
    return name, name if same else None, 1.0 if shape is None else float(kernel._positive(shape))


class Radial(UnitDiagonal):
    """k(x, z) = φ(s),  s = Σⱼ (xⱼ − zⱼ)²/ℓⱼ².

    A subclass writes ``phi`` and ``dphi``; both get a fresh array of s and may overwrite it. One with further
    hyper-parameters writes ``dshape``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Matern32
    >>> k = Matern32(2.0)
    >>> bool(np.isclose(k([[0.0]], [[3.0]])[0, 0], k.phi(np.array([1.5**2]))[0]))
    True
    """

    hyper = {"length_scale": LENGTH_BOUNDS}
    lengths = LENGTH
    character = "a function"
    stationary = True
    mixture_of_gaussians = False  # whether φ is proved to be one of several widths: PSD on every Hilbert space
    smoothness: float | None = None  # ν where it is a Matérn kernel, ∞ for the Gaussian one

    def __init__(self, length_scale=1.0, *, length_scale_bounds=None): ...

    @property
    def columns_quick(self):
        """Up to here the compiled loops work by differences."""
        return 0 if _find_loop(self)[0] is None else distance.BY_DIFFERENCES[np.dtype(np.float32)]

    @abstractmethod
    def phi(self, s):
        """φ(s), the kernel as a function of s, the scaled squared distance."""

    @abstractmethod
    def dphi(self, s):
        """φ′(s), with φ′(0) = 0 where the derivative is infinite (it is multiplied by s = 0 there)."""

    def dshape(self, s, phi):
        """{name: ∂φ(s)/∂value} of the hyper-parameters other than ``length_scale``; s and φ(s) are left alone."""
        return {}

    def prepare(self, X, Z, keep=False):
        """Tiles and contractions; both collections are scaled once."""
        own = type(self)
        plain = own.tiles is Radial.tiles and own._tile is Kernel._tile and own.__call__ is Kernel.__call__
        if plain and own.grad is Kernel.grad and own._grad is Radial._grad and own.weighted is Kernel.weighted:
            return RadialPrepared(self, X, Z, keep)
        return Prepared(self, X, Z)

    def tiles(self, X, Z):
        """t(i, j) = φ(s) for the inputs X[i] and Z[j]; both are scaled once."""
        return RadialPrepared(self, X, Z).tile

    def formula(self, x, z):
        """φ of the sum of squares, as ``phi`` has it."""
        return self.phi(np.add.reduce(np.square((x - z) / self._positive("length_scale"))))

    def matern_parameters(self, d):
        """(1, ν, ℓ) where ν is known."""
        scale = np.broadcast_to(self._positive("length_scale", d), d).astype(float)
        return None if self.smoothness is None else (1.0, float(self.smoothness), scale)

    def metric(self, X):
        """x/ℓ, by the Euclidean norm."""
        return X / self._positive("length_scale", X.shape[1]), 2

    def _grad(self, X, Z, W):
        """∂s/∂ℓⱼ = −2 (xⱼ − zⱼ)²/ℓⱼ³; all d columns from one product with V = W ∘ φ′(s)."""
        _, in_logs = RadialPrepared(self, X, Z).contract(EVERYTHING, EVERYTHING, W, list(self.hyper))
        return {name: slope / np.asarray(getattr(self, name), dtype=float) for name, slope in in_logs.items()}

    def _dx(self, X, Z):
        """2 φ′(s) (x − z)/ℓ²."""
        scale = self._positive("length_scale", X.shape[1])
        points = distance.scale_points(X, Z, scale)
        slope = 2.0 * self.dphi(points.squared())
        return slope[:, :, None] * (points.A[:, None] - points.B[None]) / scale


def phi_of(kernel, points):
    """φ(s) of a radial kernel for s the squared distances of all `Points` of two sets."""
    loop, _, shape = _find_loop(kernel)
    return points.tiles(loop, kernel.phi, shape)(EVERYTHING, EVERYTHING)


class RadialPrepared(OnePass):
    """φ(s) on the pairs of X and Z.

    A φ without a compiled loop is slow: with ``keep``, s and φ of all pairs are kept from their values on.
    """

    def __init__(self, kernel, X, Z, keep=False):
        self.kernel, self.scale = kernel, kernel._positive("length_scale", X.shape[1])
        self.points = distance.scale_points(X, Z, self.scale)
        self.loop, self.slope_loop, self.shape = _find_loop(kernel)
        self._keep, self._kept = keep and self.loop is None, None

    @cached_property
    def free(self):
        """The names of what is to be learnt."""
        return [name for name in self.kernel.hyper if self.kernel._n_free(name)]

    def enter(self, program, c):
        """One operation, by differences."""
        points = self.points
        if self.loop is None or not points.by_differences:
            return False
        if self.slope_loop is None or not points.contracts:
            program.contracts = False
        lengths = 0 if "length_scale" not in self.free else 1 if self.scale.size == 1 else 2
        code = _native.CODES[self.loop]
        program.leaf(_native.RADIAL, points, code=code, lengths=lengths, scale=c, shape=self.shape)
        return True

    def collect(self, found):
        """∂/∂log of what is free."""
        total, by_shape, sums = next(found)
        in_logs = self._in_logs(by_shape, sums)
        return total, [in_logs[name] for name in self.free]

    @cached_property
    def _whole(self):
        """The tile function of all columns, from a product where there are many."""
        return self.points.tiles(self.loop, self.kernel.phi, self.shape)

    @cached_property
    def _contraction(self):
        """That of the contractions; None where NumPy does them."""
        return self.points.contraction(self.slope_loop, self.shape)

    def _tile(self, i, j):
        if self._keep and i is EVERYTHING and j is EVERYTHING:
            return self._values(i, j)[1].copy()
        return self._whole(i, j)

    def _values(self, i, j):
        """(s, φ) of a tile, which nobody may write into."""
        whole = self._keep and i is EVERYTHING and j is EVERYTHING
        if whole and self._kept is not None:
            return self._kept
        s = self.points.squared(i, j)
        values = s, self.kernel.phi(s.copy())
        if whole:
            self._kept = values
        return values

    def _weighted(self, i, j, W):
        value, in_logs = self.contract(i, j, W, self.free)
        return value, np.concatenate([in_logs[name] for name in self.free]) if self.free else np.zeros(0)

    def contract(self, i, j, W, names):
        """(Σ W ∘ φ, {name: Σ W ∘ ∂φ/∂log value, a vector}) of a tile."""
        if self._contraction is not None:
            value, by_shape, sums = self._contraction(i, j, W)
            return value, self._in_logs(by_shape, sums)
        (s, phi), out = self._values(i, j), {}
        if "length_scale" in names:
            V = W * self.kernel.dphi(s.copy())  # of one length scale the sum over the columns is s itself
            sums = np.atleast_1d(np.vdot(V, s)) if self.scale.size == 1 else self.points.weighted_squares(V, s, i, j)
            out = self._in_logs(None, -2.0 * sums)
        if len(self.kernel.hyper) > 1:
            for name, slope in self.kernel.dshape(s, phi).items():
                out[name] = np.vdot(W, slope) * np.reshape(np.asarray(getattr(self.kernel, name), dtype=float), -1)
        return np.vdot(W, phi), out

    def _in_logs(self, by_shape, sums):
        """{name: ∂/∂log value} from ∂/∂α and, column by column, ∂/∂log ℓ."""
        out = {"length_scale": sums if self.scale.size > 1 else np.add.reduce(sums, keepdims=True)}
        if by_shape is not None and self.kernel.hyper is not Radial.hyper:
            out[LOOPS[type(self.kernel).phi][1]] = np.atleast_1d(by_shape * self.shape)
        return out
