"""The container: 64 bytes of prelude, a JSON header, raw arrays, SHA-256 over everything. See docs/model_files.md.

The place of an array is not written down: arrays follow each other in the order of the header, each at the next
multiple of 64, and the last one ends the file. So no file can claim a place that overlaps or lies outside.
"""

import contextlib
import hashlib
import json
import math
import mmap
import os
import stat
import struct
from typing import NamedTuple

import numpy as np

from mercer.exceptions import ModelFileError
from mercer.files import _arrays
from mercer.files._atomic import replacing

MAGIC = b"\x8bmercer\n"
VERSION = 1
PRELUDE = struct.Struct("<8sIIQQ32s")  # magic, version, 0, length of the header, length of the file, SHA-256
COVERED = 32  # bytes of the prelude before the digest, which covers them
ALIGN = 64
LONGEST = 2**26  # bytes of header
TOKENS = 8_000_000  # values in the header: what bounds the memory that reading it takes
MAPPED = 2**24  # bytes from which a file is mapped; below, reading it is as quick, and nobody can change it afterwards
CHUNK = 2**22
KEYS = {"mercer", "versions", "class", "kernel", "note", "names", "objects", "root", "arrays", "sha256"}
MIGRATIONS: dict = {}  # {version: function of the header that makes it one of version + 1}
KNOWN = {
    b"\x80": "a pickle",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x93NUMPY": "a .npy file",
}


class Opened(NamedTuple):
    """A checked header, and the file behind it."""

    version: int
    header: dict
    start: int
    size: int


# ------------------------------------------------------------------------------------------------ writing
def write(path, header, arrays, force):
    """Write the header (without arrays and sha256) and the arrays to a file, all or nothing."""
    digest = hashlib.sha256()
    for chunk in _body(arrays):
        digest.update(chunk)
    header = {**header, "arrays": [array.spec() for array in arrays], "sha256": digest.hexdigest()}
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > LONGEST or _tokens(text) > TOKENS:
        raise ModelFileError(
            f"{path}: what is not in arrays takes {len(text)} bytes and {_tokens(text)} values; a model file may have "
            f"{LONGEST} and {TOKENS}. Give objects as arrays where you can, or fewer of them."
        )
    padding = bytes(-(PRELUDE.size + len(text)) % ALIGN)
    size = PRELUDE.size + len(text) + len(padding) + sum(_padded(array.nbytes) for array in arrays)
    front = PRELUDE.pack(MAGIC, VERSION, 0, len(text), size, b"")[:COVERED]
    check = hashlib.sha256(front)
    check.update(text + padding)
    with replacing(path, force) as file:
        for chunk in (front, check.digest(), text, padding):
            file.write(chunk)
        for chunk in _body(arrays):
            file.write(chunk)


def _body(arrays):
    """The bytes of all arrays, each padded to a multiple of 64."""
    for array in arrays:
        yield from array.chunks()
        yield bytes(-array.nbytes % ALIGN)


def _padded(nbytes):
    return nbytes + -nbytes % ALIGN


def _tokens(text):
    """At least the number of values in a JSON text."""
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


# ------------------------------------------------------------------------------------------------ reading
def read_header(path):
    """Return the `Opened` file at a path, its header checked; no array is read."""
    with _opened(path) as (descriptor, size):
        return _header(path, descriptor, size)


def read(path, verify=True, mapped=None):
    """(Opened, arrays) of the file at a path.

    Parameters
    ----------
    path : str or os.PathLike
    verify : bool
        Whether the digest of the arrays is checked; that of the header always is.
    mapped : bool or None
        Whether arrays lie on a private map of the file; None is yes from 16 MiB on.
    """
    with _opened(path) as (descriptor, size):
        opened = _header(path, descriptor, size)
        specs = opened.header["arrays"]
        layouts = [_arrays.layout(spec, f"{path}: array {i}") for i, spec in enumerate(specs)]
        if opened.start + sum(_padded(layout.nbytes) for layout in layouts) != size:
            raise ModelFileError(f"{path}: the {len(layouts)} arrays do not fill the {size} bytes of the file.")
        if mapped if mapped is not None else size >= MAPPED:
            # A private map: pages are read when they are needed, and what is written to them stays in this process.
            buffer = np.frombuffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY), dtype=np.uint8)
        else:
            buffer = _in_memory(path, descriptor, size)
    body = buffer[opened.start :]
    if verify and _digest(body) != opened.header["sha256"]:
        raise ModelFileError(f"{path} is damaged: the SHA-256 of its arrays is not the one in its header.")
    found, place = [], 0
    for i, layout in enumerate(layouts):
        found.append(_arrays.on_buffer(body[place : place + layout.nbytes], layout, f"{path}: array {i}"))
        place += _padded(layout.nbytes)
    return opened, found


@contextlib.contextmanager
def _opened(path):
    """(descriptor, size) of a regular file. What is not one is refused before it is read: a pipe would wait forever."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a directory, not a model file.") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path} is not a regular file.")
        yield descriptor, status.st_size
    finally:
        os.close(descriptor)


def _header(path, descriptor, size):
    """The header of an open file, checked: magic, version, lengths, digest, JSON."""
    front = os.read(descriptor, PRELUDE.size)
    if front[: len(MAGIC)] != MAGIC:
        kind = next((f": it looks like {kind}" for start, kind in KNOWN.items() if front.startswith(start)), "")
        what = "is empty" if not size else f"is not a mercer model file{kind}"
        raise ModelFileError(f"{path} {what}. mercer.load reads what save has written, and nothing else.")
    if len(front) < PRELUDE.size:
        raise ModelFileError(f"{path} is cut off: {size} bytes are less than the first {PRELUDE.size}.")
    _, version, zero, length, total, digest = PRELUDE.unpack(front)
    if version > VERSION:
        raise ModelFileError(
            f"{path} is in format {version}, and this version of mercer reads formats up to {VERSION}: install a newer "
            "mercer, or save the model again with this one."
        )
    if version < 1 or zero:
        raise ModelFileError(f"{path} is damaged: there is no format {version}.{zero}.")
    if total != size:
        raise ModelFileError(f"{path} is damaged: it has {size} bytes and should have {total}.")
    if length > LONGEST or PRELUDE.size + length > size:
        raise ModelFileError(f"{path} is damaged: a header of {length} bytes in a file of {size}.")
    padded = min(length + -(PRELUDE.size + length) % ALIGN, size - PRELUDE.size)
    text = _read(path, descriptor, padded)
    check = hashlib.sha256(front[:COVERED])
    check.update(text)
    if check.digest() != digest:
        raise ModelFileError(f"{path} is damaged: the SHA-256 of its header is not the one it states.")
    header = parse(text[:length], path)
    for old in range(version, VERSION):
        header = MIGRATIONS[old](header)
    _check_keys(header, path)
    return Opened(version, header, PRELUDE.size + padded, size)


def parse(text, path):
    """The header as a dict; what JSON allows and we do not (NaN, the same key twice, depth) is refused."""
    if _tokens(text) > TOKENS:
        raise ModelFileError(f"{path}: the header has more than {TOKENS} values.")
    try:
        header = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(f"{path}: the header cannot be read: {error or 'it is nested too deeply'}.") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{path}: the header is not a JSON object.")
    return header


def _no_key_twice(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(text):
    raise ValueError(f"{text} is not JSON")


def _finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no float64 number")
    return value


def _check_keys(header, path):
    """Refuse a header with other keys or other kinds of values than the format has."""
    kinds = {"mercer": str, "versions": dict, "class": str, "kernel": str, "names": list, "objects": list}
    kinds |= {"arrays": list, "sha256": str}
    if set(header) != KEYS:
        raise ModelFileError(f"{path}: the header has the keys {sorted(header)!r:.200}, not {sorted(KEYS)}.")
    for key, kind in kinds.items():
        if not isinstance(header[key], kind):
            raise ModelFileError(f"{path}: {key!r} of the header is no {kind.__name__}.")
    if not all(isinstance(name, str) for name in header["names"]):
        raise ModelFileError(f"{path}: a name in the header is no str.")


def _read(path, descriptor, size):
    """Exactly so many bytes from where the file stands."""
    parts, left = [], size
    while left:
        part = os.read(descriptor, min(left, CHUNK))
        if not part:
            raise ModelFileError(f"{path} was cut off while it was read.")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _in_memory(path, descriptor, size):
    """The whole file as bytes that begin at a multiple of 64, as they would on a map."""
    raw = np.empty(size + ALIGN, dtype=np.uint8)
    first = -raw.ctypes.data % ALIGN
    buffer = raw[first : first + size]
    os.lseek(descriptor, 0, os.SEEK_SET)
    place = 0
    while place < size:
        part = os.read(descriptor, min(size - place, CHUNK))
        if not part:
            raise ModelFileError(f"{path} was cut off while it was read.")
        buffer[place : place + len(part)] = np.frombuffer(part, dtype=np.uint8)
        place += len(part)
    return buffer


def _digest(body):
    """SHA-256 of the array part, by chunks: a map is never in memory as a whole."""
    digest = hashlib.sha256()
    for i in range(0, len(body), CHUNK):
        digest.update(body[i : i + CHUNK])
    return digest.hexdigest()
