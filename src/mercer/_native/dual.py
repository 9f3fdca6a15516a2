"""The working-set solver: a small quadratic programme in cache, rows gathered, rows added to a gradient: dual.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address, stride


class DualLoops:
    """The compiled functions of dual.c, by the precision of K; the twins in NumPy are in ``plain.dual``."""

    CALLS = 0.0  # multiplications in the time that a step of a pair takes beside its own

    def __init__(self, library):
        matrix = (POINTER, INT)
        self._gather_new = library.functions("gather_new", INT, INT, INT, *matrix, POINTER, POINTER, POINTER, *matrix)
        self._gather_kept = library.functions("gather_kept", INT, INT, INT, *matrix, POINTER, *matrix)
        self._add_rows = library.functions("add_rows", INT, INT, INT, *matrix, POINTER, POINTER, POINTER)
        self._smo_pairs = library.functions("smo_pairs", INT, *matrix, INT, *[POINTER] * 7, REAL, INT, *[POINTER] * 4)

    def gather_new(self, M, slots, columns, where, first, last, out):
        """out[i, j] = M[slotsᵢ, columnsⱼ] for first <= i < last, of the rows that are new: whereᵢ < 0."""
        slots, columns, where = _indices(slots), _indices(columns), _indices(where)
        self._gather_new[M.dtype](
            first, last, len(columns), address(M), stride(M), address(slots), address(columns), address(where),
            address(out), stride(out),
        )  # fmt: skip

    def gather_kept(self, before, where, first, last, out):
        """The other rows: from the square ``before``, row whereᵢ of it for row i, and by symmetry from the new ones."""
        where = _indices(where)
        self._gather_kept[out.dtype](
            first, last, len(where), address(before), stride(before), address(where), address(out), stride(out)
        )

    def add_rows(self, M, slots, coef, first, last, g):
        """g[first:last] += Σₖ coefₖ M[slotsₖ, first:last]."""
        slots, coef = _indices(slots), np.ascontiguousarray(coef)
        self._add_rows[M.dtype](
            first, last, len(slots), address(M), stride(M), address(slots), address(coef), address(g)
        )

    def smo_pairs(self, K, intercept, diag, ridge, eps, low, high, a, g, tol, most):
        """Minimise the programme over its box, two variables at a time; a and g in place.

        With an intercept Σa stays as it is. Returns (steps, violation before the first step, violation at the end).
        """
        q = len(a)
        work, curve, zeros = np.empty(2 * q), np.empty(2 * q, dtype=np.float32), np.zeros(q, dtype=K.dtype)
        found = np.empty(3)
        vectors = map(address, (diag, ridge, eps, low, high, a, g))
        self._smo_pairs[K.dtype](
            q, address(K), stride(K), intercept, *vectors, tol, most, *map(address, (work, curve, zeros, found))
        )
        return int(found[0]), float(found[1]), float(found[2])


def _indices(index):
    """The indices as C reads them."""
    return np.ascontiguousarray(index, dtype=np.int64)
