"""BLAS and LAPACK on blocks of C-order arrays, in place, without the GIL.

The function pointers come from ``scipy.linalg.cython_blas`` and ``cython_lapack``. Called through ctypes they release
the GIL and take a leading dimension, so a block of a larger matrix is worked on where it lies, without a copy.

A C-order block read by Fortran is its transpose: the lower triangle L of a C-order array is, at the same addresses,
Fortran's upper triangle U = Lᵀ. Every method below is stated for C-order arrays; the turn is made only here.
A block is any two-dimensional view whose rows are contiguous; a "column block" W is a view whose columns are.
"""

import ctypes
from functools import lru_cache

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

_get_name = ctypes.pythonapi.PyCapsule_GetName
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _signature(name):
    """The C signature of a routine, as the capsule tells it."""
    module = cython_blas if name in cython_blas.__pyx_capi__ else cython_lapack
    return module.__pyx_capi__[name], _get_name(module.__pyx_capi__[name])


def _routine(name):
    """The routine as a ctypes function. CFUNCTYPE, unlike PYFUNCTYPE, gives up the GIL during the call."""
    capsule, signature = _signature(name)
    arguments = signature.count(b",") + 1
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(_get_pointer(capsule, signature))


# Most builds of SciPy speak to a BLAS with 32-bit integers; the signature says so.
_integer = ctypes.c_int if b" int *" in _signature("dgemm")[1] else ctypes.c_int64
MAX_ORDER = int(np.iinfo(np.dtype(_integer)).max)
ROUTINES = ("gemm", "syrk", "trsm", "trmm", "gemv", "trsv", "potrf", "trtri", "lauum")


def _int(value):
    """An integer as Fortran wants it: by reference."""
    return ctypes.byref(_integer(value))


def _data(block):
    """The address of the first entry."""
    return block.__array_interface__["data"][0]


def _rows(block):
    """The leading dimension of a block with contiguous rows."""
    return _int(max(1, block.strides[0] // block.itemsize))


def _columns(block):
    """The leading dimension of a block with contiguous columns."""
    return _int(max(1, block.strides[1] // block.itemsize))


class Blas:
    """The few routines the solvers need, for one dtype."""

    def __init__(self, dtype):
        dtype = np.dtype(dtype)
        prefix, real = {"float64": ("d", ctypes.c_double), "float32": ("s", ctypes.c_float)}[dtype.name]
        # So many right-hand sides are faster one by one than by a matrix product, which first copies the matrix.
        self._few = 4 if dtype == np.float32 else 1
        self._real, self._one, self._minus = real, ctypes.byref(real(1.0)), ctypes.byref(real(-1.0))
        for name in ROUTINES:
            setattr(self, f"_{name}", _routine(prefix + name))

    # ------------------------------------------------------------------ updates of the lower triangle
    def subtract_product(self, C, A, B):
        """C ← C − A Bᵀ."""
        (m, n), k = C.shape, A.shape[1]
        self._gemm(b"T", b"N", _int(n), _int(m), _int(k), self._minus, _data(B), _rows(B), _data(A), _rows(A),
                   self._one, _data(C), _rows(C))  # fmt: skip

    def add_product(self, C, A, B, *, sign=1):
        """C ← C ± A B."""
        (m, n), k = C.shape, A.shape[1]
        scale = self._one if sign > 0 else self._minus
        self._gemm(b"N", b"N", _int(n), _int(m), _int(k), scale, _data(B), _rows(B), _data(A), _rows(A),
                   self._one, _data(C), _rows(C))  # fmt: skip

    def combine(self, C, A, B, factor):
        """C ← factor · C + A B."""
        (m, n), k = C.shape, A.shape[1]
        self._gemm(b"N", b"N", _int(n), _int(m), _int(k), self._one, _data(B), _rows(B), _data(A), _rows(A),
                   ctypes.byref(self._real(factor)), _data(C), _rows(C))  # fmt: skip

    def add_transposed_product(self, C, A, B):
        """C ← C + Aᵀ B."""
        (m, n), k = C.shape, A.shape[0]
        self._gemm(b"N", b"T", _int(n), _int(m), _int(k), self._one, _data(B), _rows(B), _data(A), _rows(A),
                   self._one, _data(C), _rows(C))  # fmt: skip

    def subtract_square(self, C, A):
        """Lower triangle of C ← C − A Aᵀ."""
        n, k = A.shape
        self._syrk(b"U", b"T", _int(n), _int(k), self._minus, _data(A), _rows(A), self._one, _data(C), _rows(C))

    def add_transposed_square(self, C, A):
        """Lower triangle of C ← C + Aᵀ A."""
        k, n = A.shape
        self._syrk(b"U", b"N", _int(n), _int(k), self._one, _data(A), _rows(A), self._one, _data(C), _rows(C))

    # ------------------------------------------------------------------ triangles
    def factor(self, A):
        """Lower triangle of A ← L with A = L Lᵀ; returns 0, or the 1-based index of the failing pivot."""
        info = _integer(0)
        self._potrf(b"U", _int(len(A)), _data(A), _rows(A), ctypes.byref(info))
        return info.value

    def invert_triangle(self, L):
        """L ← L⁻¹ (lower)."""
        info = _integer(0)
        self._trtri(b"U", b"N", _int(len(L)), _data(L), _rows(L), ctypes.byref(info))

    def square_triangle(self, L):
        """Lower triangle ← Lᵀ L."""
        info = _integer(0)
        self._lauum(b"U", _int(len(L)), _data(L), _rows(L), ctypes.byref(info))

    def divide_right(self, B, L):
        """B ← B L⁻ᵀ."""
        m, k = B.shape
        self._trsm(b"L", b"U", b"T", b"N", _int(k), _int(m), self._one, _data(L), _rows(L), _data(B), _rows(B))

    def divide_left(self, L, B):
        """B ← L⁻¹ B."""
        k, n = B.shape
        self._trsm(b"R", b"U", b"N", b"N", _int(n), _int(k), self._one, _data(L), _rows(L), _data(B), _rows(B))

    def multiply_right(self, B, M):
        """B ← B M for a lower triangle M."""
        m, k = B.shape
        self._trmm(b"L", b"U", b"N", b"N", _int(k), _int(m), self._one, _data(M), _rows(M), _data(B), _rows(B))

    def multiply_left(self, M, B, *, transposed=False, sign=1):
        """B ← ±M B, or ±Mᵀ B when transposed, for a lower triangle M."""
        (k, n), trans = B.shape, b"T" if transposed else b"N"
        scale = self._one if sign > 0 else self._minus
        self._trmm(b"R", b"U", trans, b"N", _int(n), _int(k), scale, _data(M), _rows(M), _data(B), _rows(B))

    # ------------------------------------------------------------------ right-hand sides: column blocks W, V
    def solve_columns(self, L, W, *, transposed=False):
        """W ← L⁻¹ W, or L⁻ᵀ W when transposed."""
        (k, t), trans = W.shape, b"N" if transposed else b"T"
        if t > self._few:
            self._trsm(b"L", b"U", trans, b"N", _int(k), _int(t), self._one, _data(L), _rows(L), _data(W), _columns(W))
            return
        for j in range(t):
            self._trsv(b"U", trans, b"N", _int(k), _data(L), _rows(L), _data(W[:, j]), _int(1))

    def add_columns(self, W, A, V, *, transposed=False, sign=1):
        """W ← W ± A V, or W ± Aᵀ V when transposed."""
        (m, k), t, trans = A.shape, W.shape[1], b"N" if transposed else b"T"
        scale = self._one if sign > 0 else self._minus
        if t > self._few:
            self._gemm(trans, b"N", _int(len(W)), _int(t), _int(len(V)), scale, _data(A), _rows(A),
                       _data(V), _columns(V), self._one, _data(W), _columns(W))  # fmt: skip
            return
        for j in range(t):
            self._gemv(trans, _int(k), _int(m), scale, _data(A), _rows(A), _data(V[:, j]), _int(1),
                       self._one, _data(W[:, j]), _int(1))  # fmt: skip


@lru_cache(maxsize=2)
def blas(dtype):
    """The routines for float32 or float64, looked up once."""
    return Blas(dtype)
