"""Rows with other targets or weights than they came with, such as ±1 for labels; and which targets there are."""

import copy
from abc import abstractmethod

import numpy as np

from mercer.sources.base import Block, Source
from mercer.sources.cluster import Later
from mercer.sources.passes import map_reduce


class Changed(Source):
    """The rows of another source, changed block by block by ``changed``, and read and summed wherever that one is."""

    def __init__(self, source, t):
        self._source, self.t = source, t
        self.n, self.d, self.columns, self.parts = source.n, source.d, source.columns, source.parts
        self.engine, self.anywhere, self.at_hand = source.engine, source.anywhere, source.at_hand

    @abstractmethod
    def changed(self, block, rows):
        """Return a `Block` of the rows of these numbers, changed."""

    def between(self, start, stop):
        """Return the same change of the rows [start, stop), as it travels: without any rows."""
        found = copy.copy(self)
        found._source = found.engine = None
        return found

    def over(self, rows):
        """Return the same change of other rows of the source."""
        found = copy.copy(self)
        found._source, found.engine = rows, None
        return found

    def stream(self, start=0):
        """Yield the blocks of the source, changed."""
        for block in self._source.stream(start):
            yield self.changed(block, np.arange(block.start, block.start + len(block)))

    def take(self, index):
        """Return the rows of an index, changed."""
        return self.changed(self._source.take(index), np.asarray(index))

    def portion(self, start, stop):
        """Return the portion of the source, changed."""
        rows = self._source.portion(start, stop)
        if rows is self._source:
            return self
        change = self.between(start, stop)
        return Later(_over, [change, rows]) if isinstance(rows, Later) else change.over(rows)


def _over(change, rows):
    return change.over(rows())


class Recoded(Changed):
    """The rows of another source with other targets, change(y) of t columns; the function travels to whoever reads."""

    def __init__(self, source, change, t):
        super().__init__(source, t)
        self._coded = change

    def changed(self, block, rows):
        """Return the block with other targets."""
        return Block(block.start, block.X, self._coded(block.y), block.weight)


class Without(Changed):
    """The rows of a source, those of an ascending index with weight 0: they are read, and do not count."""

    def __init__(self, source, index):
        super().__init__(source, source.t)
        self.index = index

    @property
    def fingerprint(self):
        """That of the source, and how many rows are left out."""
        return repr((self._source.fingerprint, len(self.index), self.index[:8].tolist()))

    def changed(self, block, rows):
        """Return the block with its weights, 0 where a row is left out."""
        weight = np.ones(len(block)) if block.weight is None else np.array(block.weight)
        weight[np.isin(rows, self.index)] = 0.0
        return Block(block.start, block.X, block.y, weight)

    def between(self, start, stop):
        """Return the same with the numbers from start to stop alone."""
        found = super().between(start, stop)
        found.index = self.index[slice(*np.searchsorted(self.index, (start, stop)))]
        return found

    def aside(self):
        """Return the rows that do not count, as a `Block`."""
        return self._source.take(self.index)


def distinct(source):
    """Sorted values that y has, by one pass."""
    return map_reduce(_see, source, _nothing, _either)[0]


def _see(found, block):
    found[0] = np.union1d(found[0], block.y)


def _nothing():
    return [np.zeros(0)]


def _either(a, b):
    return [np.union1d(a[0], b[0])]
