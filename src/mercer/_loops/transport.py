"""Discrete optimal transport: one shortest augmenting path after the other."""

import numpy as np
from numba import njit

from mercer._loops.core import OPTIONS


@njit(**OPTIONS)
def plan(C, a, b, tiny, flow):
    """Fill ``flow`` with the cheapest F >= 0 of row sums a and column sums b; a and b are used up.

    Dijkstra's algorithm on the reduced costs C − u − v, from the first row that still has something to send to the
    first column that can still take something. A path goes forth along any entry and back along one with F > 0.
    Masses up to ``tiny`` count as none.
    """
    q, m = C.shape
    u, v = np.zeros(q), np.zeros(m)
    to_column, from_row, to_row = np.empty(m), np.empty(m, np.int64), np.empty(q)
    from_column = np.empty(q, np.int64)
    done_column, done_row = np.empty(m, np.bool_), np.empty(q, np.bool_)
    fresh = np.empty(q, np.int64)
    for start in range(q):
        while a[start] > tiny:
            to_column[:], done_column[:], done_row[:] = np.inf, False, False
            from_column[start], to_row[start], done_row[start] = -1, 0.0, True
            fresh[0], count, end, length = start, 1, -1, 0.0
            while end < 0:
                for f in range(count):  # the rows reached last reach every column
                    i = fresh[f]
                    row, base = C[i], length - u[i]
                    for k in range(m):
                        if not done_column[k] and base + row[k] - v[k] < to_column[k]:
                            to_column[k], from_row[k] = base + row[k] - v[k], i
                nearest, length = -1, np.inf
                for k in range(m):
                    if not done_column[k] and to_column[k] < length:
                        nearest, length = k, to_column[k]
                if nearest < 0:  # every column is full: what is left of a is rounding
                    break
                done_column[nearest] = True
                if b[nearest] > tiny:
                    end = nearest
                    break
                count = 0
                for i in range(q):  # and back along the flow into this column
                    if not done_row[i] and flow[i, nearest] > 0.0:
                        done_row[i], from_column[i], to_row[i] = True, nearest, length
                        fresh[count] = i
                        count += 1
            if end < 0:
                return
            for i in range(q):
                if done_row[i]:
                    u[i] += length - to_row[i]
            for k in range(m):
                if done_column[k]:
                    v[k] -= length - to_column[k]
            mass, k = min(a[start], b[end]), end
            while from_row[k] != start:
                i = from_row[k]
                k = from_column[i]
                mass = min(mass, flow[i, k])
            a[start] -= mass
            b[end] -= mass
            k = end
            while True:
                i = from_row[k]
                flow[i, k] += mass
                if i == start:
                    break
                k = from_column[i]
                flow[i, k] -= mass
                if flow[i, k] <= tiny:
                    flow[i, k] = 0.0
