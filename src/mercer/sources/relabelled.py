"""Rows with other targets than they came with, such as ±1 for labels; and which targets there are."""

import numpy as np

from mercer.sources.base import Block, Source
from mercer.sources.cluster import is_dask
from mercer.sources.passes import map_reduce


class Recoded(Source):
    """The rows of another source with y changed block by block, read and summed wherever that one is.

    Parameters
    ----------
    source : Source
    change : callable
        change(y) returns other targets for some rows; it travels to whoever reads them.
    t : int
        Columns of the other targets.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import Arrays, Recoded
    >>> Recoded(Arrays(np.zeros((3, 1)), np.arange(3.0)[:, None]), np.negative, 1).take([2]).y
    array([[-2.]])
    """

    def __init__(self, source, change, t):
        self._source, self._change, self.t = source, change, t
        self.n, self.d, self.columns, self.parts = source.n, source.d, source.columns, source.parts
        self.engine, self.anywhere = source.engine, source.anywhere

    def _changed(self, block):
        return Block(block.start, block.X, self._change(block.y), block.weight)

    def stream(self, start=0):
        """Yield the blocks of the source with other targets."""
        return map(self._changed, self._source.stream(start))

    def take(self, index):
        """Return the rows of an index with other targets."""
        return self._changed(self._source.take(index))

    def portion(self, start, stop):
        """Return the portion of the source, with other targets."""
        rows = self._source.portion(start, stop)
        if rows is self._source:
            return self
        if not is_dask(rows):
            return Recoded(rows, self._change, self.t)
        from dask import delayed

        return delayed(Recoded, pure=False)(rows, self._change, self.t)


def distinct(source):
    """Sorted values that y has, by one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sources import Arrays, distinct
    >>> distinct(Arrays(np.zeros((3, 1)), np.array([[2.0], [1.0], [2.0]])))
    array([1., 2.])
    """
    return map_reduce(_see, source, _nothing, _either)[0]


def _see(found, block):
    found[0] = np.union1d(found[0], block.y)


def _nothing():
    return [np.zeros(0)]


def _either(a, b):
    return [np.union1d(a[0], b[0])]
