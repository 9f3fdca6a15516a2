"""The nearest rows of a point, and the small systems that they make: neighbours.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address, by_rows, integers, reals, stride, written


class NeighbourLoops:
    """The compiled functions of neighbours.c, for float64; the twins in NumPy are in ``plain.neighbours``."""

    def __init__(self, library):
        matrix = (POINTER, INT)
        self._smallest = library.function("smallest", INT, INT, INT, *matrix, POINTER, POINTER, POINTER, POINTER)
        self._nearest = library.function(
            "nearest", INT, INT, INT, INT, *matrix, *matrix, POINTER, POINTER, POINTER, POINTER
        )
        self._conditionals = library.function(
            "conditionals", INT, INT, INT, POINTER, POINTER, REAL, POINTER, POINTER, POINTER, POINTER
        )

    def smallest(self, S, k, upto, own):
        """Index (m, k) of the least finite Sᵢⱼ with j < uptoᵢ and j ≠ ownᵢ, in ascending order; −1 where none is left.

        Of equal ones the first. S may be overwritten.
        """
        S, upto, own = by_rows(S), integers(upto), integers(own)
        found, work = np.empty((len(S), k), dtype=np.int64), np.empty(k)
        self._smallest(*S.shape, k, address(S), stride(S), address(upto), address(own), address(work), address(found))
        return found

    def nearest(self, A, Bt, k, upto, own):
        """Index (m, k) of the rows b of least ‖aᵢ − b‖² among the first uptoᵢ, ownᵢ left out; nearest first. Bt is Bᵀ.

        Of equally near ones the first; −1 where there are fewer than k.
        """
        A, Bt, upto, own = by_rows(reals(A)), by_rows(reals(Bt)), integers(upto), integers(own)
        found, work = np.empty((len(A), k), dtype=np.int64), np.empty((len(A), k))
        self._nearest(
            *A.shape, Bt.shape[1], k, address(A), stride(A), address(Bt), stride(Bt), address(upto), address(own),
            address(work), address(found),
        )  # fmt: skip
        return found

    def conditionals(self, C, absent, tolerance, Y):
        """(A⁻¹k, c − kᵀA⁻¹k, A⁻¹Y, how many rows went) for each C = [[A, k], [kᵀ, c]].

        A row that those before it explain to ``tolerance`` of its own variance goes: ``absent`` says so from then on.
        C is used up.
        """
        (b, k), dropped = absent.shape, np.zeros(1, dtype=np.int64)
        weights, variance, solved = np.empty((b, k)), np.empty(b), np.array(Y, dtype=float, order="C")
        self._conditionals(
            b, k, Y.shape[1], address(written(C, float)), address(written(absent, bool)), tolerance,
            address(weights), address(variance), address(solved), address(dropped),
        )  # fmt: skip
        return weights, variance, solved, int(dropped[0])
