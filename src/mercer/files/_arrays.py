"""Arrays as plain ones: strings and dates as the numbers they are made of, any memory order as C order."""

import re
import sys

import numpy as np

DTYPES = re.compile(
    r"\|[biu]1|<[iuf][248]|<U[1-9][0-9]{0,8}|\|S[1-9][0-9]{0,8}|<[mM]8\[[0-9]{0,4}(Y|M|W|D|h|m|s|ms|us|ns)\]"
)
BASES = {"U": "<u4", "S": "|u1", "M": "<i8", "m": "<i8"}  # what strings and dates are made of


def flat(array, dtype):
    """(plain array in C order, dtype or None, axes or None): what a container takes, and the way back.

    ``dtype`` is that of the array, little-endian. Axes are those of ``array`` from the outermost in memory to the
    innermost; None is C order. The dtype is None where it is that of the plain array.
    """
    axes = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    if array.flags.c_contiguous or axes == list(range(array.ndim)):
        axes = None
    plain = np.asarray(array if axes is None else array.transpose(axes), dtype=dtype, order="C")
    if dtype.kind not in BASES:
        return plain, None, axes
    return plain.reshape(*plain.shape, 1).view(BASES[dtype.kind]), dtype.str, axes


def back(plain, text, axes):
    """The array that `flat` was given; nothing here is trusted."""
    array = plain
    if text is not None:
        dtype = as_dtype(text)
        if (
            not array.ndim
            or array.dtype != BASES.get(dtype.kind)
            or array.strides[-1] * array.shape[-1] != dtype.itemsize
        ):
            raise ValueError(f"an array of {plain.dtype} and shape {plain.shape} is none of {text}")
        if dtype.kind == "U" and array.max(initial=0) > sys.maxunicode:
            raise ValueError("a character is beyond Unicode")
        array = array.view(dtype.newbyteorder("=")).reshape(array.shape[:-1])
    if axes is None:
        return array
    if [type(axis) for axis in axes] != [int] * array.ndim or sorted(axes) != list(range(array.ndim)):
        raise ValueError(f"{axes!r:.100} is no order of {array.ndim} axes")
    return array.transpose(np.argsort(axes))


def as_dtype(given):
    """One of the dtypes that a file may have, little-endian; ``given`` is a dtype, or its name in a file."""
    text = given
    if isinstance(given, np.dtype):
        text = (given.newbyteorder("<") if given.itemsize > 1 else given).str
    if not DTYPES.fullmatch(text):
        use = "cast it to float64" if isinstance(given, np.dtype) and given.kind == "f" else "use numbers or strings"
        raise ValueError(f"arrays of dtype {given!s:.60} are not stored; {use}")
    return np.dtype(text)
