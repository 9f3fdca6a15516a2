"""A tree of kernels as a table of operations, which the loops of pairs.c carry out in one pass."""

import struct

import numpy as np

SUM, PRODUCT, CONSTANT, LINEAR, RADIAL, COLUMN, ANOVA = range(7)  # as in pairs.c
STRIPS, STRIPS_PER_COLUMN = (0, 0, 0, 0, 3, 1, 1), (0, 0, 0, 0, 0, 0, 2)  # that hold what derivatives are made of
INTEGERS = ("what", "code", "first", "columns", "powers", "lengths", "left", "weights", "slopes")
ROW = np.dtype([(name, np.int64) for name in INTEGERS] + [("scale", np.float64), ("shape", np.float64)])
PACKED = struct.Struct("=9q2d").pack
CACHE, SHORTEST, LONGEST = 2**15, 128, 512  # bytes that strips of all operations may fill together, and their length


class Operations:
    """Operations in the order of evaluation; a sum or product stands after its right operand.

    Parameters
    ----------
    rows : list of tuple
        (what, code, first, columns, powers, lengths, left, scale, shape) of each: see ``operation`` in pairs.c.
    columns : int
        Columns of the points.
    itemsize : int
        Bytes of a number.

    Attributes
    ----------
    table : bytes
        What the compiled functions read: with the places of weights and slopes in their work space.
    strips, width : int
        How many strips this work space has, and their length; for values there are ``count`` + 1.
    """

    def __init__(self, rows, columns, itemsize):
        count = used = len(rows)
        weights, table = [-1] * count, b""
        for place in range(count - 1, -1, -1):
            what, left = rows[place][0], rows[place][6]
            if what == SUM:
                weights[left] = weights[place - 1] = weights[place]
            elif what == PRODUCT:
                weights[left], weights[place - 1], used = used, used + 1, used + 2
        for place, (what, code, first, width, powers, lengths, left, scale, shape) in enumerate(rows):
            table += PACKED(what, code, first, width, powers, lengths, left, weights[place], used, scale, shape)
            used += STRIPS[what] + STRIPS_PER_COLUMN[what] * width
        self.count, self.table = count, table
        width = CACHE // (itemsize * (columns + used)) // 64 * 64
        self.strips, self.width = used, LONGEST if width > LONGEST else SHORTEST if width < SHORTEST else width

    def __iter__(self):
        """Yield the operations, as the table has them."""
        return iter(np.frombuffer(self.table, dtype=ROW))

    @classmethod
    def radial(cls, code, columns, itemsize, shape=1.0):
        """Return one radial function of all columns."""
        return cls([(RADIAL, code, 0, columns, -1, 2, 0, 1.0, shape)], columns, itemsize)
