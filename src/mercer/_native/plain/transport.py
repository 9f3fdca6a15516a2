"""The loop of transport.c in NumPy: one shortest augmenting path after the other."""

import numpy as np


def cheapest_flow(C, a, b, tiny):
    """argmin_F Σᵢⱼ Fᵢⱼ Cᵢⱼ, F >= 0, of row sums a and column sums b; masses up to ``tiny`` count as none.

    Dijkstra's algorithm on the reduced costs C − u − v, from the first row that still has something to send to the
    first column that can still take something. A path goes forth along any entry and back along one with F > 0.
    """
    a, b, flow = np.array(a, dtype=float), np.array(b, dtype=float), np.zeros(C.shape)
    u, v = np.zeros(C.shape[0]), np.zeros(C.shape[1])
    for start in range(len(a)):
        while a[start] > tiny:
            end, from_row, from_column = _search(C, b, tiny, flow, start, u, v)
            if end < 0:  # every column is full: what is left of a is rounding
                return flow
            path, k = [], end  # (row, column) of each step, the last first
            while from_row[k] != start:
                path.append((from_row[k], k))
                k = from_column[from_row[k]]
            forth = [*path, (start, k)]
            back = [(i, from_column[i]) for i, _ in path]
            mass = min(a[start], b[end], *(flow[step] for step in back))
            a[start] -= mass
            b[end] -= mass
            for step in forth:
                flow[step] += mass
            for step in back:
                flow[step] = flow[step] - mass if flow[step] - mass > tiny else 0.0
    return flow


def _search(C, b, tiny, flow, start, u, v):
    """(the first column that can take something, −1 if none; where each column and each row was reached from)."""
    q, m = C.shape
    to_column, to_row = np.full(m, np.inf), np.zeros(q)
    from_row, from_column = np.full(m, -1), np.full(q, -1)
    done_column, done_row = np.zeros(m, dtype=bool), np.zeros(q, dtype=bool)
    done_row[start] = True
    fresh, length = np.array([start]), 0.0
    while True:
        for i in fresh:  # the rows reached last reach every column
            there = (length - u[i]) + C[i] - v
            better = ~done_column & (there < to_column)
            to_column[better], from_row[better] = there[better], i
        left = np.where(done_column, np.inf, to_column)
        nearest = int(left.argmin()) if m else -1
        if nearest < 0 or left[nearest] == np.inf:
            return -1, from_row, from_column
        length, done_column[nearest] = left[nearest], True
        if b[nearest] > tiny:
            break
        fresh = np.flatnonzero(~done_row & (flow[:, nearest] > 0.0))  # and back along the flow into this column
        done_row[fresh], from_column[fresh], to_row[fresh] = True, nearest, length
    u[done_row] += length - to_row[done_row]
    v[done_column] -= length - to_column[done_column]
    return nearest, from_row, from_column
