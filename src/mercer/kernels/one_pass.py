"""Program: a tree of kernels on pairs of points, evaluated and contracted in one pass of the compiled core.

Radial kernels, Anova kernels, constants and lines are its leaves; sums and products join them; multiples are part of
the leaves. It works by differences, so that equal rows have exactly the distance 0.
"""

import numpy as np

from mercer import _native
from mercer._parameters import cached_property
from mercer.kernels.prepared import Prepared

LARGEST = {np.dtype(np.float64): 1e300, np.dtype(np.float32): np.float32(1e36)}  # so that φ never meets inf · 0
RATES = {1: 1.0, 2: 3.0**0.5, 3: 5.0**0.5}  # ρ of e^(−ρr) by the code of φ
MODERATE = {np.dtype(np.float64): 150.0, np.dtype(np.float32): 20.0}  # coordinates u up to which e^(ρu) is used


class Program:
    """Operations that are entered one by one, a sum or product after its two operands.

    Attributes
    ----------
    contracts : bool
        Whether every leaf may be contracted by differences.
    """

    def __init__(self):
        self._rows, self._parts, self._columns, self.contracts = [], [], 0, True

    def leaf(self, what, points=None, *, code=0, lengths=0, scale=1.0, shape=1.0):
        """Enter a leaf that reads these `Points`; a radial one of one column needs no root of a square."""
        first = d = 0
        powers = -1
        if points is not None:
            first, d, powered = self._columns, points.A.shape[1], 0 < code < 4
            if what == _native.RADIAL and d == 1 and points.safe and 0 <= code < 4:
                what = _native.COLUMN
            self._parts.append((points.A, points.B))
            self._columns += d
            many = points.A.shape[0] > 64  # below, exp of all pairs takes no longer than that of the rows, in Python
            powered = powered and many and points.size < MODERATE[points.A.dtype]
            if powered and what != _native.RADIAL:
                powers, A = self._columns, _powers(points.A, RATES[code])
                self._parts.append((A, A if points.B is points.A else _powers(points.B, RATES[code])))
                self._columns += 2 * d
        self._rows.append((what, code, first, d, powers, lengths, 0, scale, shape))

    @property
    def last(self):
        """The place of the last operation, for `join`."""
        return len(self._rows) - 1

    def join(self, what, left):
        """Enter the sum or product of the last operation and of the one at ``left``."""
        self._rows.append((what, 0, 0, 0, -1, 0, left, 1.0, 1.0))

    def finish(self):
        """Return itself, ready for use; None if the points are not of one precision, or there are none."""
        if not self._parts:
            return None
        (A, B), *others = self._parts
        if others:
            left, right = zip(*self._parts, strict=True)
            if any([part.dtype != A.dtype for part in left]):
                return None
            symmetric = all([a is b for a, b in self._parts])
            A = np.concatenate(left, axis=1)
            B = A if symmetric else np.concatenate(right, axis=1)
        self._A, self._n, self._Bt = A, B.shape[0], _transpose(B)
        self._largest = LARGEST[A.dtype]
        self._operations = _native.Operations(self._rows, self._columns, A.itemsize)
        return self

    def values(self, i, j):
        """k(aᵢ, bⱼ) of a tile, a fresh array."""
        A, (first, last, _) = self._A[i], j.indices(self._n)
        out = np.empty((A.shape[0], last - first if last > first else 0), dtype=A.dtype)
        _native.pairs.tree(self._operations, A, self._Bt, first, self._largest, out)
        return out

    def contract(self, i, j, W):
        """Yield (Σ w v, Σ w ∂v/∂shape, Σ w ∂v/∂log ℓ of its columns) of each leaf, w the weights of its values v.

        Of a leaf with one length the sum is in its first column.
        """
        A, first = self._A[i], j.indices(self._n)[0]
        columns = 2 * self._operations.count
        found = np.zeros(columns + self._columns)
        if W.dtype != A.dtype:
            W = W.astype(A.dtype)
        _native.pairs.tree_contract(self._operations, A, self._Bt, first, W, self._largest, found)
        for place, (what, _, begin, d, *_) in enumerate(self._rows):
            if what > _native.PRODUCT:
                begin += columns
                yield found[2 * place], found[2 * place + 1], found[begin : begin + d]


def _transpose(B):
    """Bᵀ, of which each row begins with a line of the cache, and is filled up to one: loops read whole lines.

    Rows a power of two apart would share places in the cache.
    """
    (n, d), line = B.shape, 64 // B.itemsize
    step = -(-n // line) * line
    step += line * (step % (8 * line) == 0)
    room = np.empty(d * step + line, dtype=B.dtype)
    begin = -room.__array_interface__["data"][0] % 64 // B.itemsize
    out = room[begin : begin + d * step].reshape(d, step)
    out[:, :n] = B.T
    out[:, n:] = 0.0
    return out


def _powers(U, rate):
    """(e^(ρu), e^(−ρu)) of each column u in turn."""
    out = np.empty((len(U), 2 * U.shape[1]), dtype=U.dtype)
    np.exp(rate * U, out=out[:, ::2])
    np.exp(-rate * U, out=out[:, 1::2])
    return out


class PreparedLeaf(Prepared):
    """A kernel without lengths, alone evaluated tile by tile as it says itself: c times a function without parameters.

    Parameters
    ----------
    kernel, X, Z
        As for `Prepared`.
    what : int
        The operation that computes the function.
    scale : float
        c.
    points : Points, default=None
        What the function reads.
    """

    def __init__(self, kernel, X, Z, what, scale, points=None):
        super().__init__(kernel, X, Z)
        self._what, self._scale, self._points = what, scale, points

    def enter(self, program, c):
        """One operation."""
        program.leaf(self._what, self._points, scale=c * self._scale)
        return True

    def collect(self, found):
        """Its sum, which is ∂/∂log c."""
        total, _, _ = next(found)
        return total, [np.array([total])] if self.kernel.n_theta else []


class OnePass(Prepared):
    """A `Prepared` that is a program where all its parts can be entered in one.

    A subclass writes ``enter`` and ``collect``, and ``_tile``, ``_weighted`` and ``_grad`` for where there is none.
    """

    @cached_property
    def program(self):
        """The finished program; None where there is none."""
        program = Program()
        return program.finish() if self.enter(program, 1.0) else None

    def tile(self, i, j):
        """k(X[i], Z[j]): a fresh array."""
        return self._tile(i, j) if self.program is None else self.program.values(i, j)

    def weighted(self, i, j, W):
        """(Σ W ∘ k(X[i], Z[j]), Σ W ∘ ∂k(X[i], Z[j])/∂log θ)."""
        return self._contracted(i, j, W) or self._weighted(i, j, W)

    def grad(self, i, j, W):
        """Σ W ∘ ∂k(X[i], Z[j])/∂log θ."""
        found = self._contracted(i, j, W)
        return self._grad(i, j, W) if found is None else found[1]

    def _contracted(self, i, j, W):
        """What ``weighted`` returns, by the program; None where it cannot."""
        program = self.program
        if program is None or not program.contracts:
            return None
        total, parts = self.collect(program.contract(i, j, W))
        return total, np.concatenate(parts) if parts else np.zeros(0)

    def _grad(self, i, j, W):
        return self._weighted(i, j, W)[1]
