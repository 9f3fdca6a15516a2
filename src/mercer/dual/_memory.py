"""A Gram kept in memory where it fits, and a part of it."""

import numpy as np

from mercer import _machine
from mercer.gram import DenseGram

PART = 0.7  # of the free memory that a stored matrix may take


def store(K, dtype, memory=None, spare=0):
    """K as a stored matrix, when it and ``spare`` more of its size fit in memory; K itself otherwise."""
    if isinstance(K, DenseGram):
        return K
    need, room = (1 + spare) * np.dtype(dtype).itemsize * float(K.n) ** 2, _machine.within(memory).bytes
    if room is not None and need > PART * room:
        return K
    return DenseGram.from_matrix(K.dense(dtype))


def restrict(K, index):
    """The rows and columns of an index of K."""
    return K if len(index) == K.n else K.restrict(index)
