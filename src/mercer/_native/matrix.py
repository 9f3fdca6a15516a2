"""A matrix, its lower triangle and its transpose: matrix.c."""

from mercer._native.library import INT, POINTER, REAL, address, by_rows, stride


class MatrixLoops:
    """The compiled functions of matrix.c; the twins in NumPy are in ``plain.matrix``."""

    def __init__(self, library):
        self._clear_lower = library.functions("clear_lower", INT, INT, POINTER, INT, REAL, POINTER)
        self._transpose = library.functions("transpose", INT, INT, POINTER, INT, POINTER, INT)
        self._mirror = library.functions("mirror", INT, INT, POINTER, INT)

    def clear_lower(self, A, first, last, tiny, root):
        """A[i, j] = 0 where |A[i, j]| < tiny · rootᵢ · rootⱼ, for first <= i < last and j < i."""
        self._clear_lower[A.dtype](first, last, address(A), stride(A), tiny, address(root))

    def transpose(self, T, out):
        """Out = Tᵀ: rows of both are contiguous."""
        T = by_rows(T)
        self._transpose[T.dtype](*T.shape, address(T), stride(T), address(out), stride(out))

    def mirror(self, M, first, last):
        """M[j, i] = M[i, j] for first <= i < last and j < i."""
        self._mirror[M.dtype](first, last, address(M), stride(M))
