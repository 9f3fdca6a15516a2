"""The k nearest rows, in the metric that the kernel has learnt, and the small kernel matrices of them."""

import numpy as np

from mercer import _native, _threads
from mercer._parameters import cached_property
from mercer.gram.base import take


class NearestRows:
    """The k nearest of n inputs in the metric of a kernel: by a tree in few dimensions, else by looking at all of them.

    A kernel that falls with a distance is asked for the coordinates (``kernel.metric``); any other, of strings or
    graphs, for its own distance √(k(x, x) + k(z, z) − 2k(x, z)).

    Parameters
    ----------
    kernel : Kernel
    X : collection of n inputs
        In the order that ``before`` means.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.neighbours import NearestRows
    >>> from mercer.kernels import Gaussian
    >>> near = NearestRows(Gaussian(), np.array([[0.0], [3.0], [1.0], [7.0]]))
    >>> near.among(np.array([[0.9]]), 2), near.others(np.array([0]), 2), near.before(np.array([2]), 2)
    (array([[2, 0]]), array([[2, 1]]), array([[0, 1]]))
    """

    def __init__(self, kernel, X):
        self.kernel, self.X, self.n = kernel, X, len(X)
        found = kernel.metric(X)
        self.U, self.p = (None, 2) if found is None else (np.ascontiguousarray(found[0], dtype=float), found[1])
        d = 0 if self.U is None else self.U.shape[1]
        few = d <= 3 or (d <= 8 and self.n > 300_000)  # where a tree is faster than looking at all rows
        self.tree = self.U is not None and (few or self.p != 2)
        self._trees = {}

    # ------------------------------------------------------------------ what is asked
    def among(self, Q, k):
        """Index (m, k) of the nearest rows of new inputs, nearest first; −1 where there are fewer."""
        at = Q if self.U is None else np.ascontiguousarray(self.kernel.metric(Q)[0], dtype=float)
        whole, none = np.full(len(Q), self.n), np.full(len(Q), -1)
        return self._search(at, k, whole, none)

    def others(self, rows, k):
        """Those of rows of X, without themselves."""
        return self._search(self._at(rows), k, np.full(len(rows), self.n), rows)

    def before(self, rows, k):
        """Those of rows of X among the rows before each."""
        return self._search(self._at(rows), k, rows, np.full(len(rows), -1))

    def _at(self, rows):
        return take(self.X, rows) if self.U is None else self.U[rows]

    # ------------------------------------------------------------------ how
    def _search(self, at, k, upto, own):
        upto, own = np.asarray(upto, dtype=np.int64), np.asarray(own, dtype=np.int64)
        out = np.full((len(upto), k), -1, dtype=np.int64)
        if self.tree:
            jobs = [(level, part) for level, rows in self._levels(upto) for part in _parts(rows, 512)]
            new = sorted({level for level, _ in jobs} - self._trees.keys(), reverse=True)
            _threads.run(lambda i, worker: self._tree(new[i]), len(new))
        else:
            # blocks of 32 MB of kernel distances; or inputs that pass each part of the rows together
            size = max(1, 2**22 // max(self.n, 1)) if self.U is None else 32
            jobs = [(None, part) for part in _parts(np.arange(len(upto)), size)]

        def work(i, worker):
            level, rows = jobs[i]
            some = take(at, rows) if len(rows) < len(upto) else at
            if level is not None:
                out[rows] = self._in_tree(level, some, k, upto[rows], own[rows])
            elif self.U is not None:
                out[rows] = _native.neighbours.nearest(some, self._transposed, k, upto[rows], own[rows])
            else:
                out[rows] = _native.neighbours.smallest(self._kernel_distances(some), k, upto[rows], own[rows])

        _threads.run(work, len(jobs))
        return out

    def _levels(self, upto):
        """[(rows of a tree, those that ask it)]: trees of 1, 2, 4, … of the first rows, so that half of each counts."""
        level = np.minimum(2 ** np.ceil(np.log2(np.maximum(upto, 1))).astype(np.int64), self.n)
        return [(int(size), np.flatnonzero(level == size)) for size in np.unique(level)]

    def _tree(self, size):
        """The tree of the first rows."""
        if size not in self._trees:
            from scipy.spatial import cKDTree

            # split in the middle of a box, not at a median: built in less than half the time, as quick to ask
            self._trees[size] = cKDTree(self.U[:size], 40, compact_nodes=False, balanced_tree=False)
        return self._trees[size]

    def _in_tree(self, size, at, k, upto, own):
        """The first k that come early enough of as many as it takes."""
        tree, out = self._tree(size), np.full((len(at), k), -1, dtype=np.int64)
        asked, left = min(size, k + 1 if (upto == size).all() else 2 * k + 16), np.arange(len(at))
        while len(left):
            found = tree.query(at[left], np.arange(1, asked + 1), p=self.p)[1]
            good = (found < upto[left, None]) & (found != own[left, None])
            place = np.cumsum(good, axis=1) - 1
            rows, columns = np.nonzero(good & (place < k))
            out[left[rows], place[rows, columns]] = found[rows, columns]
            if asked == size:
                break
            left = left[good.sum(axis=1) < np.minimum(k, upto[left] - (own[left] >= 0))]
            asked = min(size, 2 * asked)
        return out

    @cached_property
    def _transposed(self):
        return np.ascontiguousarray(self.U.T)

    def _kernel_distances(self, at):
        """k(z, z) − 2k(x, z) of inputs x and all rows z."""
        K = np.asarray(self.kernel.prepare(at, self.X).tile(slice(0, len(at)), slice(0, self.n)), dtype=float)
        return self._diagonal - 2.0 * K

    @cached_property
    def _diagonal(self):
        return np.asarray(self.kernel.diag(self.X), dtype=float)


def _parts(rows, size):
    return [rows[i : i + size] for i in range(0, len(rows), size)]


class BatchedGram:
    """k on b groups of m inputs each: b matrices, and the contraction of b weight matrices with ∂k/∂log θ.

    Parameters
    ----------
    kernel : Kernel
    X : collection
    index : ndarray of int of shape (b, m)
        The inputs of each group; −1 is any.
    """

    def __init__(self, kernel, X, index):
        self.b, self.m = index.shape
        points = take(X, np.maximum(index, 0).ravel())
        self._pairs, self.p = kernel.prepare(points, points), kernel.n_theta

    def _slices(self):
        return [slice(i * self.m, (i + 1) * self.m) for i in range(self.b)]

    def matrices(self):
        """(b, m, m)."""
        out = np.empty((self.b, self.m, self.m))
        for K, one in zip(out, self._slices(), strict=True):
            K[:] = self._pairs.tile(one, one)
        return out

    def grad(self, W):
        """Σ W ∘ ∂k/∂log θ over all groups."""
        total = np.zeros(self.p)
        for weights, one in zip(W, self._slices(), strict=True):
            total += self._pairs.grad(one, one, weights)
        return total


def compact_index(index, n):
    """(the rows that an index of neighbours names, ascending; the index counted among these): −1 stays.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.neighbours import compact_index
    >>> compact_index(np.array([[7, 2], [2, -1]]), 10)
    (array([2, 7]), array([[ 1,  0],
           [ 0, -1]]))
    """
    used = np.zeros(n, dtype=bool)
    used[index[index >= 0]] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used), np.where(index < 0, -1, place[index])
