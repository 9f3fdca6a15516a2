"""Where the rows of K come from: a stored matrix when it fits, else a cache of rows. The solver does not know which."""

import numpy as np

from mercer import _native, _threads, _tiles

WORTH_THREADS = 2 * 10**5  # entries below which waking a thread takes longer than it saves
CHUNK = 512  # rows evaluated at once


class Stored:
    """A matrix in memory."""

    def __init__(self, M):
        self.M = self.whole = M  # ``whole`` is all of K, or None
        self.capacity = len(M)
        self.dtype = M.dtype
        self._before = np.zeros(0, dtype=np.int64), None  # the rows of the last block, and its square

    def _slots(self, index):
        """Where the rows stand in ``M``."""
        return index

    def square(self, index, block=False):
        """K[index, index]; of a ``block`` the rows that the last one had are not read again."""
        slots, q = self._slots(index), len(index)
        if not block and q * q < WORTH_THREADS:
            return self.M[slots[:, None], index]
        out = np.empty((q, q), dtype=self.dtype)
        parts = _tiles.spans(q, min(CHUNK, -(-q // _threads.threads())))
        known, before = self._before if block else (np.zeros(0, dtype=np.int64), None)
        where = np.full(q, -1)
        _, here, there = np.intersect1d(index, known, assume_unique=True, return_indices=True)
        where[here] = there

        def new(part, worker):
            _native.dual.gather_new(self.M, slots, index, where, *parts[part], out)

        def read_again(part, worker):
            _native.dual.gather_kept(before, where, *parts[part], out)

        _do_parts(new, len(parts), q * q)
        if here.size:
            _do_parts(read_again, len(parts), q * q)
        if block:
            self._before = index, out
        return out

    def add(self, index, coef, g):
        """G += K[:, index] coef."""
        moved = np.flatnonzero(coef)
        if not moved.size:
            return 0
        slots, coef, n = self._slots(index[moved]), coef[moved], len(g)
        if moved.size * n < WORTH_THREADS:
            _native.dual.add_rows(self.M, slots, coef, 0, n, g)
            return moved.size
        parts = _tiles.spans(n, -(-n // _threads.threads()))

        def work(part, worker):
            first, last = parts[part]
            for k in range(0, len(slots), CHUNK * 4):  # short calls, so that Ctrl-C is heard
                _native.dual.add_rows(self.M, slots[k : k + CHUNK * 4], coef[k : k + CHUNK * 4], first, last, g)

        _threads.run(work, len(parts))
        return moved.size

    def product(self, a):
        """K α."""
        return self.M @ a


def dense(K, dtype):
    """K as a stored matrix: the lower triangle evaluated, the upper one copied from it."""
    if K.n * K.n < WORTH_THREADS:
        return K.dense(dtype)
    M = K.dense(dtype, lower=True)
    parts = _tiles.spans(K.n, CHUNK // 4)  # rows of a triangle: short spans, so that the shares are equal
    _do_parts(lambda part, worker: _native.matrix.mirror(M, *parts[part]), len(parts), K.n * K.n)
    return M


class Evaluated:
    """Nothing is stored at first: a kernel that is quick to evaluate is faster than reading a matrix of gigabytes.

    The first touch of so much memory takes longer than all the values it would hold. Once as many values have been
    evaluated as storing them would have cost, they are stored after all, if they fit.
    """

    def __init__(self, K, fits):
        self.K, self.X = K, K._inputs(np.dtype(np.float32))
        self.capacity, self.dtype = K.n, np.dtype(np.float32)
        # five times all values of K are evaluated in the time that storing them takes
        self.left = 5.0 * float(K.n) ** 2 if fits else np.inf
        self.stored = self.whole = None
        self._buffer = np.empty(0, dtype=np.float32)

    def square(self, index, block=False):
        """K[index, index]; a large one is overwritten by the next."""
        if self.stored is not None:
            return self.stored.square(index, block)
        q = len(index)
        out = np.empty((q, q), dtype=np.float32) if q <= 2 * CHUNK else self._large(q)
        A = self.X[index]
        _tiles.evaluate(self.K.kernel, A, A, True, lower=True, out=out)
        parts = _tiles.spans(q, CHUNK // 4)
        _do_parts(lambda part, worker: _native.matrix.mirror(out, *parts[part]), len(parts), q * q)
        return out

    def _large(self, order):
        """A square of this order from memory that has been touched before: that is most of its price."""
        if self._buffer.size < order * order:
            self._buffer = np.empty(order * order, dtype=np.float32)
        return self._buffer[: order * order].reshape(order, order)

    def add(self, index, coef, g):
        """G += K[:, index] coef."""
        if self.stored is None and self.left <= 0:
            self.stored = Stored(dense(self.K, np.float32))
        if self.stored is not None:
            return self.stored.add(index, coef, g)
        moved = np.flatnonzero(coef)
        if moved.size:
            V = coef[moved, None].astype(np.float32)
            g += _tiles.product(self.K.kernel, self.X, self.X[index[moved]], V, False)[:, 0]
            self.left -= float(moved.size) * len(g)
        return moved.size


class Cached(Stored):
    """The rows used last, in a buffer of fixed size; others are evaluated when they are asked for."""

    def __init__(self, K, capacity):
        self.K = K
        super().__init__(np.empty((capacity, K.n), dtype=np.float32))
        self.whole = None
        self.slot_of = np.full(K.n, -1)
        self.row_in = np.full(capacity, -1)
        self.used = np.zeros(capacity, dtype=np.int64)
        self.clock = 0

    def _slots(self, index):
        """Where the rows stand in the buffer; missing ones take the place of those not used for longest."""
        self.clock += 1
        known = self.slot_of[index]
        self.used[known[known >= 0]] = self.clock
        missing = index[known < 0]
        if missing.size:
            order = np.argpartition(self.used, missing.size - 1)[: missing.size]
            gone = self.row_in[order]
            self.slot_of[gone[gone >= 0]] = -1
            self.row_in[order], self.slot_of[missing], self.used[order] = missing, order, self.clock
            for k in range(0, missing.size, CHUNK):
                self.M[order[k : k + CHUNK]] = self.K.rows(missing[k : k + CHUNK])
        return self.slot_of[index]

    def add(self, index, coef, g):
        """G += K[:, index] coef, in pieces that the buffer holds."""
        for k in range(0, len(index), self.capacity):
            super().add(index[k : k + self.capacity], coef[k : k + self.capacity], g)
        return np.count_nonzero(coef)


def _do_parts(work, count, entries):
    """Do the parts, on all cores if that pays."""
    if entries < WORTH_THREADS:
        for part in range(count):
            work(part, 0)
    else:
        _threads.run(work, count)
