"""Set kernels: kernels on bags of members, from any kernel on the members.

One input, a bag, is a list (or an array, rows are members) of inputs of the base kernel. An empty bag has k = 0 with
every bag.
"""

import numbers

import numpy as np
from scipy import sparse

from mercer import _threads
from mercer.kernels.composite import Composite
from mercer.kernels.objects.collection import ObjectKernel, structure


class Members:
    """The members of n bags, one after the other, with a weight each; a part of it is the members of some bags.

    Parameters
    ----------
    flat : collection
        All members, as the base kernel reads them.
    sizes : array-like of shape (n,)
        How many members each bag has.
    weights : ndarray, one for each member
    """

    def __init__(self, flat, sizes, weights):
        self.flat, self.weights = flat, weights
        self.offsets = np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))])

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, bags):
        """Some bags: a slice, or an array of indices."""
        bags = np.arange(len(self))[bags]
        spans = [np.arange(self.offsets[i], self.offsets[i + 1]) for i in bags]
        index = np.concatenate([*spans, np.zeros(0, dtype=np.int64)])
        whole = len(index) == len(self.weights) and np.array_equal(index, np.arange(len(index)))
        flat = (
            self.flat if whole else [self.flat[i] for i in index] if isinstance(self.flat, list) else self.flat[index]
        )
        return Members(flat, [len(span) for span in spans], self.weights[index])

    def blocks(self, size=1024):
        """[(first member, last member, first bag, last bag), …] of ``size`` members: so many are held at once."""
        out = []
        for first in range(0, int(self.offsets[-1]), size):
            last = min(first + size, int(self.offsets[-1]))
            bag = int(np.searchsorted(self.offsets, first, side="right")) - 1
            out.append((first, last, bag, int(np.searchsorted(self.offsets, last, side="left"))))
        return out

    def averager(self):
        """The sparse matrix of shape (bags, members) whose rows are the weights of each bag."""
        return sparse.csr_array(
            (self.weights, np.arange(len(self.weights)), self.offsets), shape=(len(self), len(self.weights))
        )


class SetKernel(ObjectKernel, Composite):
    """A kernel on bags from a kernel ``base`` on members."""

    parts = ("base",)
    reads = None
    reading_parts = ()
    stationary = False

    def __init__(self, base): ...

    def _read(self, items):
        return read_bags(items, self.base, type(self).__name__)

    def _key(self):
        return type(self)._read.__qualname__, structure(self.base)

    def _both(self, X, Z):
        """`Members` of X and of Z; different numbers of columns are refused."""
        A, B = super()._both(X, Z)
        x, z = A.flat, B.flat
        arrays = isinstance(x, np.ndarray) and isinstance(z, np.ndarray) and x.ndim == z.ndim == 2
        if arrays and len(x) and len(z) and x.shape[1] != z.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: the members in X have {x.shape[1]} columns and those in Z {z.shape[1]}; they "
                "must agree."
            )
        return A, B


class MeanOverPairs(SetKernel):
    """Σᵢⱼ wᵢ vⱼ k(xᵢ, zⱼ) over the members of two bags, never more than a block of values at once."""

    def tiles(self, X, Z):
        """Weighted sums of blocks of the base kernel."""
        whole_X, whole_Z = self._both(X, Z)

        def tile(i, j):
            mirrored = Z is X and i.indices(len(X)) == j.indices(len(X))
            A = whole_X[i]
            return self._sums(A, A if mirrored else whole_Z[j], mirrored)

        return tile

    def _sums(self, A, B, mirrored):
        """Σ wᵢ vⱼ k(xᵢ, zⱼ) of all pairs of bags, blocks side by side on all cores; of A with itself by half."""
        if not len(A.weights) or not len(B.weights):
            return np.zeros((len(A), len(B)))
        S, T, values = A.averager(), B.averager(), self.base.tiles(A.flat, B.flat)
        tasks = [(a, b) for a in A.blocks() for b in B.blocks() if not mirrored or b[0] <= a[0]]
        workers = min(_threads.threads(), len(tasks))
        partial = np.zeros((workers, len(A), len(B)))  # a bag may lie in two blocks, so each worker has its own sums

        def work(index, worker):
            (a0, a1, i0, i1), (b0, b1, j0, j1) = tasks[index]
            block = values(slice(a0, a1), slice(b0, b1))
            part = (T[j0:j1, b0:b1] @ (S[i0:i1, a0:a1] @ block).T).T
            partial[worker, i0:i1, j0:j1] += part
            if mirrored and b0 < a0:
                partial[worker, j0:j1, i0:i1] += part.T

        _threads.run(work, len(tasks), workers)
        return partial.sum(axis=0)

    def diag(self, X):
        """Σᵢⱼ wᵢ wⱼ k(xᵢ, xⱼ), bag by bag."""
        whole = self._prepared(X)
        bags = [whole[[i]] for i in range(len(whole))]
        return np.array([self._sums(bag, bag, True)[0, 0] for bag in bags])

    def grad(self, X, Z, W):
        """∂/∂log θ of the base kernel, with wᵢ W vⱼ as the weight of a pair of members."""
        A, B = self._prepared(X), self._prepared(Z)
        S, T, W = A.averager(), B.averager(), np.asarray(W)
        tasks = [(a, b) for a in A.blocks() for b in B.blocks()]
        partial = np.zeros((len(tasks), self.n_theta))

        def work(index, worker):
            (a0, a1, i0, i1), (b0, b1, j0, j1) = tasks[index]
            V = S[i0:i1, a0:a1].T @ (T[j0:j1, b0:b1].T @ W[i0:i1, j0:j1].T).T
            partial[index] = self.base.grad(A.flat[a0:a1], B.flat[b0:b1], V)

        if self.n_theta:
            _threads.run(work, len(tasks))
        return partial.sum(axis=0)


# ---------------------------------------------------------------------- reading bags
def read_bags(items, base, who):
    """`Members` of raw bags, equal weights that sum to one in each; an error names the bag."""
    bags = []
    for row, bag in enumerate(items):
        if isinstance(bag, (set, frozenset)):  # in an order that does not depend on the process
            bag = sorted(bag, key=repr)
        if isinstance(bag, (str, bytes, dict)) or not (hasattr(bag, "__len__") and hasattr(bag, "__getitem__")):
            raise TypeError(f"{who}: row {row}: a bag is a list, a tuple, a set or an array, got {type(bag).__name__}.")
        on_the_line = base.domain == "vectors" and len(bag) and isinstance(bag[0], numbers.Real)
        bags.append(np.asarray(bag)[:, None] if on_the_line else bag)
    sizes = [len(bag) for bag in bags]
    full = [bag for bag in bags if len(bag)]
    try:
        flat = _join_members(full, base)
    except (TypeError, ValueError) as error:
        raise _error_with_row(bags, base, who, error) from None
    weights = np.repeat([1.0 / max(size, 1) for size in sizes], sizes)
    return Members(flat, sizes, weights)


def _join_members(bags, base):
    """All members as the base kernel reads them; numbers are checked to be finite."""
    if not bags:
        return np.zeros((0, 1)) if base.domain == "vectors" else []
    if base.domain == "vectors":
        flat = base.validate(np.concatenate([base.validate(bag) for bag in bags]))
        if not np.isfinite(flat).all():
            raise ValueError("a member holds NaN or infinity")
        return flat
    return base.validate([member for bag in bags for member in bag])


def _error_with_row(bags, base, who, error):
    """The error of the first bag that fails on its own, with its row; the error as it is if none does."""
    columns = None
    for row, bag in enumerate(bags):
        if not len(bag):
            continue
        try:
            flat = _join_members([bag], base)
        except (TypeError, ValueError) as own:
            return type(own)(f"{who}: row {row}: {own}")
        if isinstance(flat, np.ndarray) and flat.ndim == 2:
            if columns is not None and flat.shape[1] != columns:
                return ValueError(f"{who}: row {row}: its members have {flat.shape[1]} columns, others {columns}.")
            columns = flat.shape[1]
    return error


class BagMean(MeanOverPairs):
    """k(A, B) = 1/(|A||B|) Σ_{a ∈ A, b ∈ B} k(a, b): the inner product of the mean members in feature space.

    ``BagMean(base).normalise()`` is the cosine of the two means. An empty bag has k = 0 with every bag.

    Parameters
    ----------
    base : Kernel
        k, on the members: vectors, strings, graphs, anything.

    Examples
    --------
    >>> from mercer.kernels import BagMean, Linear
    >>> BagMean(Linear())([[[1.0], [3.0]], [[0.5]], []])
    array([[4.  , 1.  , 0.  ],
           [1.  , 0.25, 0.  ],
           [0.  , 0.  , 0.  ]])
    """


class BestMatch(SetKernel):
    """k(A, B) = ½ [mean_{a ∈ A} max_{b ∈ B} k(a, b) + mean_{b ∈ B} max_{a ∈ A} k(a, b)]: each with its best match.

    A maximum of kernels is in general not positive semi-definite, so estimators test it on the data. An empty bag has
    k = 0 with every bag.

    Parameters
    ----------
    base : Kernel
        k, on the members.

    Examples
    --------
    >>> from mercer.kernels import BestMatch, Linear
    >>> BestMatch(Linear())([[[1.0], [3.0]], [[2.0]]])
    array([[6., 5.],
           [5., 4.]])
    """

    psd = False

    def _matches(self, A, B):
        """Yield (i, j, values, best b for each a, best a for each b) for bags that are not empty."""
        for i in range(len(A)):
            rows = slice(A.offsets[i], A.offsets[i + 1])
            if rows.start == rows.stop:
                continue
            values = self.base.tiles(A.flat[rows], B.flat)(slice(None), slice(None)) if len(B.weights) else None
            for j in range(len(B)):
                if B.offsets[j] < B.offsets[j + 1]:
                    part = values[:, B.offsets[j] : B.offsets[j + 1]]
                    yield i, j, part, part.argmax(axis=1), part.argmax(axis=0)

    def tiles(self, X, Z):
        """The two means of maxima, pair of bags by pair of bags."""
        whole_X, whole_Z = self._both(X, Z)

        def tile(i, j):
            A, B = whole_X[i], whole_Z[j]
            K = np.zeros((len(A), len(B)))
            for a, b, part, _, _ in self._matches(A, B):
                K[a, b] = 0.5 * (part.max(axis=1).mean() + part.max(axis=0).mean())
            return K

        return tile

    def diag(self, X):
        """Each bag with itself."""
        return np.array([self.tiles(X[i : i + 1], X[i : i + 1])(slice(0, 1), slice(0, 1))[0, 0] for i in range(len(X))])

    def grad(self, X, Z, W):
        """∂/∂log θ of the base kernel at the matched pairs: where the best match changes, one of the two slopes."""
        A, B = self._prepared(X), self._prepared(Z)
        total = np.zeros(self.n_theta)
        for i, j, part, best_b, best_a in self._matches(A, B):
            V = np.zeros(part.shape)
            np.add.at(V, (np.arange(len(part)), best_b), 0.5 * W[i, j] / part.shape[0])
            np.add.at(V, (best_a, np.arange(part.shape[1])), 0.5 * W[i, j] / part.shape[1])
            total += self.base.grad(A.flat[A.offsets[i] : A.offsets[i + 1]], B.flat[B.offsets[j] : B.offsets[j + 1]], V)
        return total
