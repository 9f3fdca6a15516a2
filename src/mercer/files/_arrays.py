"""Arrays in a file: a closed set of dtypes, little-endian, in the memory order they had."""

import re
import sys
from typing import NamedTuple

import numpy as np

from mercer.exceptions import ModelFileError

CHUNK = 2**22
MOST = 2**48  # entries along an axis, and bytes
DTYPES = re.compile(
    r"\|b1|\|[iu]1|<[iuf][248]|<U[1-9][0-9]{0,8}|\|S[1-9][0-9]{0,8}|<[mM]8\[[0-9]{0,4}(Y|M|W|D|h|m|s|ms|us|ns)\]"
)


class Layout(NamedTuple):
    """What a header says of an array."""

    dtype: np.dtype
    shape: tuple
    axes: tuple

    @property
    def nbytes(self):
        """Bytes in the file."""
        size = self.dtype.itemsize
        for length in self.shape:
            size *= length
        return size


class Stored:
    """One array to be written.

    Parameters
    ----------
    array : ndarray
    lower : bool
        Whether only the lower triangle means anything: what is above it (never read, perhaps never set) is written
        as 0, so that no left-over memory gets into a file.
    """

    def __init__(self, array, where, lower=False):
        dtype = array.dtype.newbyteorder("<") if array.dtype.itemsize > 1 else array.dtype
        if not DTYPES.fullmatch(dtype.str):
            use = "cast it to float64" if array.dtype.kind == "f" else "use numbers or strings"
            raise ModelFileError(f"{where}: arrays of dtype {array.dtype} are not stored; {use}.")
        # From the outermost axis to the innermost, so that C, Fortran and any other order come back.
        self.axes = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
        if array.flags.c_contiguous:
            self.axes = list(range(array.ndim))
        self.dtype, self.lower = dtype, lower
        self.shape = array.shape
        self._turned = array.transpose(self.axes)
        self.nbytes = array.size * dtype.itemsize

    def spec(self):
        """[dtype, shape, order of the axes or None for C]."""
        plain = self.axes == list(range(len(self.shape)))
        return [self.dtype.str, list(self.shape), None if plain else self.axes]

    def chunks(self):
        """The bytes, by blocks of rows: no second copy of a large array."""
        array = self._turned
        if not array.size:
            return
        if array.ndim == 0:
            yield array.astype(self.dtype).tobytes()
            return
        step = max(1, CHUNK // max(1, self.nbytes // len(array)))
        for i in range(0, len(array), step):
            block = array[i : i + step]
            if self.lower:
                block = np.tril(block, i)
            yield np.ascontiguousarray(block, dtype=self.dtype).tobytes()


def layout(spec, where):
    """The `Layout` of an entry of a header, checked."""
    if not (isinstance(spec, list) and len(spec) == 3 and isinstance(spec[0], str) and isinstance(spec[1], list)):
        raise ModelFileError(f"{where} is not described by [dtype, shape, axes].")
    text, shape, axes = spec
    dtype = as_dtype(text, where)
    if len(shape) > 32 or not all(type(length) is int and 0 <= length < MOST for length in shape):
        raise ModelFileError(f"{where} has no possible shape: {str(shape):.100}.")
    size = dtype.itemsize
    for length in shape:
        size *= max(length, 1)
        if size >= MOST:
            raise ModelFileError(f"{where} of shape {str(shape):.100} is too large.")
    if axes is None:
        axes = list(range(len(shape)))
    elif not (isinstance(axes, list) and all(type(a) is int for a in axes) and sorted(axes) == list(range(len(shape)))):
        raise ModelFileError(f"{where}: {str(axes):.100} is no order of {len(shape)} axes.")
    return Layout(dtype, tuple(shape), tuple(axes))


def as_dtype(text, where):
    """One of the dtypes that a file may have."""
    if not (isinstance(text, str) and DTYPES.fullmatch(text)):
        raise ModelFileError(f"{where}: {text!r:.60} is not a dtype of model files.")
    try:
        return np.dtype(text)
    except (TypeError, ValueError):  # "<f1", or a unit of time that NumPy does not have
        raise ModelFileError(f"{where}: {text!r:.60} is not a dtype.") from None


def on_buffer(buffer, layout, where):
    """The array of a layout on so many bytes, without a copy."""
    turned = [layout.shape[axis] for axis in layout.axes]
    array = buffer.view(layout.dtype).reshape(turned) if buffer.size else np.zeros(turned, dtype=layout.dtype)
    if layout.dtype.kind == "b" and buffer.size and buffer.max() > 1:
        raise ModelFileError(f"{where}: a boolean is neither 0 nor 1.")
    if layout.dtype.kind == "U" and buffer.size and buffer.view("<u4").max() > sys.maxunicode:
        raise ModelFileError(f"{where}: a character is beyond Unicode.")
    if sys.byteorder == "big":  # BLAS and compiled loops want the order of the machine
        array = array.astype(layout.dtype.newbyteorder("="))
    back = np.argsort(layout.axes) if layout.axes else ()
    return array.transpose(back)
