"""Prepared: a kernel on the pairs of two collections, with all that does not depend on the tile done once."""

import threading


class Prepared:
    """k(xᵢ, zⱼ) by tiles, and contractions of weights with ∂k/∂log θ; i and j are slices of X and Z.

    This one asks the methods of the kernel for each tile. A kernel with something to share between tiles, or between
    a value and its derivative, returns one of its own from ``prepare``.

    Parameters
    ----------
    kernel : Kernel
        Not to be changed while this is in use.
    X, Z : collections
        As ``kernel.validate`` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X, every = np.array([[0.0], [1.0], [2.0]]), slice(None)
    >>> pairs = Gaussian().prepare(X, X)
    >>> pairs.tile(slice(0, 1), every).round(3)
    array([[1.   , 0.607, 0.135]])
    >>> pairs.grad(every, every, np.ones((3, 3))).round(3)
    array([3.509])
    """

    def __init__(self, kernel, X, Z):
        self.kernel, self.X, self.Z = kernel, X, Z
        self._tiles, self._lock = None, threading.Lock()

    def tile(self, i, j):
        """k(X[i], Z[j]): a fresh array."""
        if self._tiles is None:
            with self._lock:  # once, though threads share it
                if self._tiles is None:
                    self._tiles = self.kernel.tiles(self.X, self.Z)
        return self._tiles(i, j)

    def grad(self, i, j, W):
        """Σ W ∘ ∂k(X[i], Z[j])/∂log θ."""
        return self.kernel.grad(part_of(self.X, i), part_of(self.Z, j), W)

    def enter(self, program, c):
        """Enter c·k in a `Program`; returns whether it is one that can be entered."""
        return False

    def collect(self, found):
        """(Σ W ∘ k, [Σ W ∘ ∂k/∂log θ, in parts]) from what a program has found, leaf by leaf in order."""
        raise NotImplementedError

    def weighted(self, i, j, W):
        """(Σ W ∘ k(X[i], Z[j]), Σ W ∘ ∂k(X[i], Z[j])/∂log θ)."""
        return self.kernel.weighted(part_of(self.X, i), part_of(self.Z, j), W)


def part_of(X, i):
    """X[i]; the whole of a collection is the collection itself: a kernel may see that X and Z are one."""
    return X if i.indices(len(X)) == (0, len(X), 1) else X[i]
