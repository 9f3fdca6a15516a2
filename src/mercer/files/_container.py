"""The container: a safetensors file with our header in its metadata, and SHA-256 over everything.

The library writes it, and any of its readers can open it. Reading is ours, on one open file: limits before anything is
allocated, digests, and a private map, none of which the library has. See docs/model_files.md.
"""

import contextlib
import hashlib
import io
import json
import math
import mmap
import os
import stat
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._atomic import replacing
from mercer._policies import Options
from mercer.exceptions import ModelFileError
from mercer.files._registry import refusing

MARK = rb'{"__metadata__":{"mercer":"{\"sha256\":\"'  # how a header begins, after its length; then the digests
DIGESTS = 8 + len(MARK)  # where they stand: 64 digits for what follows the header, 64 for the header without these 64
VERSION = 1
ALIGN = 64
TYPES = {"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
         "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"}  # fmt: skip
KEYS = {"sha256": str, "format": int, "mercer": str, "versions": dict, "class": str, "kernel": str, "note": object,
        "names": list, "objects": list, "root": object}  # fmt: skip
KNOWN = {
    b"\x80": "a pickle",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x93NUMPY": "a .npy file",
}


@dataclass(frozen=True)
class FileLimits(Options):
    """What a model file may be at most: whatever it says, reading it takes no more memory and time than this."""

    header: int = 2**26  # bytes of it
    values: int = 8_000_000  # in the header: what bounds the memory that reading it takes
    array: int = 2**48  # bytes of one, axes of length 0 counted as 1
    levels: int = 400  # of objects that refer to each other
    objects: int = 1_000_000  # a shared one counted wherever it is: what somebody meets who follows all references
    kernel_levels: int = 200  # as in mercer.kernels.as_kernel
    kernel_objects: int = 10_000
    kernels: int = 100_000  # of a file: each is looked at when it is made, with its parts
    containers: int = 100  # levels of plain ones
    same_hash: int = 100  # keys of a dict: each is compared with all before it


class Opened(NamedTuple):
    """A checked header, and where the arrays are behind it."""

    header: dict
    arrays: dict  # {name: (dtype, shape, place)}
    start: int
    size: int


# ------------------------------------------------------------------------------------------------ writing
def write(path, header, arrays, force, limits=FileLimits()):
    """Write the header and the arrays (plain, little-endian, in C order) to a file, all or nothing."""
    import safetensors.numpy

    header = {"sha256": "0" * 128, "format": VERSION, **header}
    with refusing(f"{path}: what is not in arrays is too much for a model file"):
        text = json.dumps(header, allow_nan=False, separators=(",", ":"))
        data = memoryview(safetensors.numpy.save(arrays, {"mercer": text}))
        start = 8 + int.from_bytes(data[:8], "little")
        front, body = bytes(data[8:start]).ljust(start - 8 + -start % ALIGN), data[start:]
        if len(front) > limits.header or _tokens(front) > limits.values:
            most = f"{limits.header} and {limits.values}"
            raise ValueError(f"{len(front)} bytes and {_tokens(front)} values, of {most} at most")
        if not front.startswith(MARK):
            raise ValueError(f"safetensors {safetensors.__version__} writes headers that mercer does not know")
    front = len(front).to_bytes(8, "little") + front
    front = front[:DIGESTS] + _digest(body) + front[DIGESTS + 64 :]
    with replacing(path, force) as file:
        file.write(front[: DIGESTS + 64] + _digest(front) + front[DIGESTS + 128 :])
        file.write(body)


def _digest(data, chunk=2**22):
    """SHA-256 of bytes, by chunks: a map is never in memory as a whole."""
    digest = hashlib.sha256()
    for i in range(0, len(data), chunk):
        digest.update(data[i : i + chunk])
    return digest.hexdigest().encode()


def _tokens(text):
    """At least the number of values in a JSON text."""
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


# ------------------------------------------------------------------------------------------------ reading
def read_header(path, limits=FileLimits()):
    """Return the `Opened` file at a path, its header checked; no array is read."""
    with _open_regular(path) as file:
        return _header(path, file, limits)


def read(path, verify, mapped, limits=FileLimits()):
    """(header, {name: array}) of the file at a path; see `mercer.files.load`."""
    with _open_regular(path) as file:
        header, arrays, start, size = _header(path, file, limits)
        # from 16 MB on; below, reading is as quick, and nobody can change what was read
        if mapped if mapped is not None else size >= 2**24:
            # A private map: pages are read when they are needed, and what is written to them stays in this process.
            buffer = np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), dtype=np.uint8)
        else:
            buffer = _read_bytes(path, file, size)
    body = buffer[start:]
    if verify and _digest(body) != buffer[DIGESTS : DIGESTS + 64].tobytes():
        raise ModelFileError(f"{path} is damaged: the SHA-256 of its arrays is not the one in its header.")
    with refusing(path):
        return header, {name: _array_at(body, *place) for name, place in arrays.items()}


@contextlib.contextmanager
def _open_regular(path):
    """A regular file, unbuffered. What is not one is refused before it is read: a pipe would wait forever."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ModelFileError(f"{path} is not a regular file.")
    with io.FileIO(descriptor) as file:
        yield file


def _header(path, file, limits):
    """The `Opened` of an open file: beginning, lengths, digest, JSON, version, the places of the arrays."""
    size, front = os.fstat(file.fileno()).st_size, file.read(DIGESTS + 128)
    if len(front) <= 8 or front[8:DIGESTS] != MARK[: len(front) - 8]:
        kind = next((f": it looks like {kind}" for start, kind in KNOWN.items() if front.startswith(start)), "")
        what = "is empty" if not size else f"is not a mercer model file{kind}"
        raise ModelFileError(f"{path} {what}. mercer.load reads what save has written, and nothing else.")
    start = 8 + int.from_bytes(front[:8], "little")
    if not DIGESTS + 128 <= start <= min(size, limits.header + 8):
        raise ModelFileError(f"{path} is cut off, or damaged: a header of {start - 8} bytes in a file of {size}.")
    front = _read_bytes(path, file, start).tobytes()
    if _digest(front[: DIGESTS + 64] + b"0" * 64 + front[DIGESTS + 128 :]) != front[DIGESTS + 64 : DIGESTS + 128]:
        raise ModelFileError(f"{path} is damaged: the SHA-256 of its header is not the one it states.")
    with refusing(f"{path}: the header cannot be read"):
        if _tokens(front) > limits.values:
            raise ValueError(f"it has more than {limits.values} values")
        outer = _parse_json(front[8:])
        header = _current(_parse_json(outer.pop("__metadata__")["mercer"]))
        return Opened(header, _places(outer, size - start, limits.array), start, size)


def _parse_json(text):
    """JSON; what JSON allows and we do not (NaN, the same key twice) is refused."""
    return json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_finite, parse_float=_finite)


def _no_key_twice(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _finite(text):
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no float64 number")
    return value


def _current(header):
    """The header, its format, its keys and their kinds checked."""
    version = header.get("format")
    if type(version) is not int or version < 1:
        raise ValueError(f"there is no format {version!r:.40}")
    if version != VERSION:
        raise ValueError(
            f"it is in format {version}, and this version of mercer reads format {VERSION}: "
            "load it with the mercer that wrote it, or fit the model again"
        )
    odd = set(header) ^ set(KEYS) or {key for key, kind in KEYS.items() if not isinstance(header[key], kind)}
    if odd:
        raise ValueError(f"its keys are {sorted(KEYS)}; there is something wrong with {sorted(odd)!r:.200}")
    return header


def _places(specs, room, most):
    """{name: (dtype, shape, place)}: the arrays follow each other without a gap, and fill the file."""
    found, place = {}, 0
    for name, spec in specs.items():
        dtype, shape = np.dtype(TYPES[spec["dtype"]]), tuple(spec["shape"])
        plain = len(shape) <= 32 and all(type(n) is int and n >= 0 for n in shape)
        if not plain or math.prod(max(n, 1) for n in shape) * dtype.itemsize >= most:
            raise ValueError(f"array {name!r:.80} has no possible shape: {shape!r:.100}")
        end = place + math.prod(shape) * dtype.itemsize
        if spec["data_offsets"] != [place, end] or place % dtype.itemsize or len(spec) > 3:
            raise ValueError(f"array {name!r:.80} is not where it must be, at {place}")
        found[name], place = (dtype, shape, place), end
    if place != room:
        raise ValueError(f"the {len(found)} arrays do not fill the {room} bytes behind it")
    return found


def _read_bytes(path, file, size, chunk=2**22):
    """The first so many bytes of a file, in memory."""
    buffer, place = np.empty(size, dtype=np.uint8), 0
    file.seek(0)
    while place < size and (count := file.readinto(buffer[place : place + chunk])):
        place += count
    if place < size:
        raise ModelFileError(f"{path} was cut off while it was read.")
    return buffer


def _array_at(body, dtype, shape, place):
    """The array at a place, without a copy."""
    raw = body[place : place + math.prod(shape) * dtype.itemsize]
    if dtype.kind == "b" and raw.max(initial=0) > 1:
        raise ValueError("a boolean is neither 0 nor 1")
    array = raw.view(dtype).reshape(shape) if raw.size else np.zeros(shape, dtype)
    return array if sys.byteorder == "little" else array.astype(dtype.newbyteorder("="))
