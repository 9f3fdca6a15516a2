"""The compiled library: where it lies, which of its variants this processor can run, and its functions."""

import ctypes
import os
from pathlib import Path

import numpy as np

NAMES = ("libmercer.so", "libmercer.dylib", "mercer.dll")
ENTRIES = ("_v2", "_base")  # one of them holds the function that tells the level of the processor
REALS = {np.dtype(np.float64): "float64", np.dtype(np.float32): "float32"}
NOTHING = ctypes.c_char * 0  # it can lie where any array does
INT, REAL, POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class LibraryError(RuntimeError):
    """The compiled library cannot be used; the message says why."""


def _how_to_compile():
    """What to do without a library: where mercer was installed in place build.py lies beside this file."""
    script = Path(__file__).with_name("build.py")
    install = "pip install --force-reinstall --no-deps --no-cache-dir --no-binary mercer mercer"
    command = f"python {script}" if script.exists() else install
    return f"run `{command}` where there is a C compiler (gcc, clang, ziglang)"


class Library:
    """One variant of the compiled library.

    Parameters
    ----------
    wanted : str
        "v2", "v3", "v4" or "base"; "" is the best one that the processor can run.
    """

    def __init__(self, wanted=""):
        paths = [path for name in NAMES if (path := Path(__file__).parent / name).exists()]
        if not paths:
            raise LibraryError(f"it was not compiled when mercer was installed; {_how_to_compile()}")
        try:
            self._library = ctypes.CDLL(str(paths[0]))
        except OSError as error:
            raise LibraryError(f"it does not load ({error})") from error
        self.variant = self._choose(wanted)

    def _choose(self, wanted):
        """The name of the variant, checked against the processor."""
        entry = next((suffix for suffix in ENTRIES if hasattr(self._library, f"processor_level{suffix}")), None)
        if entry is None:
            raise LibraryError("it has no functions of mercer")
        level = getattr(self._library, f"processor_level{entry}")()
        able = [f"v{i}" for i in range(2, level + 1)] if entry == "_v2" else ["base"]
        if not able:
            raise LibraryError("this processor is older than x86-64-v2")
        if wanted and wanted not in able:
            raise LibraryError(f"this processor runs {', '.join(able)}, not MERCER_NATIVE={wanted}")
        return wanted or able[-1]

    def function(self, name, *types):
        """A C function that returns an error code; ``types`` are those of its arguments."""
        try:
            function = getattr(self._library, f"{name}_{self.variant}")
        except AttributeError as error:
            raise LibraryError(f"it is older than the sources; {_how_to_compile()}") from error
        function.argtypes, function.restype = types, ctypes.c_int
        return function

    def functions(self, name, *types):
        """{dtype: the function for arrays of this dtype}."""
        return {dtype: self.function(f"{name}_{real}", *types) for dtype, real in REALS.items()}


def wanted():
    """What the environment variable MERCER_NATIVE asks for: "0", a variant, or "" for the best."""
    return os.environ.get("MERCER_NATIVE", "")


def address(array, first=0):
    """The address of an entry of the first row, as a C function takes it."""
    if array.flags.carray and array.size:  # in C order and open to writing: a tenth of the time
        return NOTHING.from_buffer(array, first * array.itemsize)
    return array.__array_interface__["data"][0] + first * array.itemsize


def stride(array):
    """Entries from one row to the next, of a matrix whose rows are contiguous."""
    return array.strides[0] // array.itemsize


def by_rows(array):
    """The matrix itself, or a copy if its rows are not contiguous; for what is only read."""
    contiguous = array.strides[1] == array.itemsize or array.shape[1] < 2
    return array if contiguous else np.ascontiguousarray(array)


def integers(array):
    """The array as int64 in C order, itself where it is that; for what is only read."""
    return np.ascontiguousarray(array, dtype=np.int64)


def reals(array):
    """The matrix as float64, itself where it is that; for what is only read."""
    return np.asarray(array, dtype=np.float64)


def written(array, dtype):
    """The array itself, which a loop writes to: an error unless it is of this type, in C order and open to that."""
    if array.dtype != dtype or not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(f"a compiled loop writes to arrays of {np.dtype(dtype)} in C order only, not {array.dtype}.")
    return array


def longest(runs):
    """The length of the longest run; the last two of the arrays say where each starts and stops."""
    return int(np.max(runs[-1] - runs[-2], initial=0))
