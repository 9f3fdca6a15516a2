"""Model files made by hand: any header and any arrays, with digests that are right. What an attacker can write."""

import hashlib
import json

import numpy as np

from mercer.files import _container

MARK, DIGESTS, ALIGN = _container.MARK, _container.DIGESTS, _container.ALIGN
CODES = {np.dtype(text): code for code, text in _container.TYPES.items()}


def take_apart(path):
    """(our header, {name: description of an array}, body) of a model file."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    outer = json.loads(data[8:start])
    return json.loads(outer.pop("__metadata__")["mercer"]), outer, data[start:]


def put_together(path, header, arrays=None, body=b"", *, text=None, outer=None, length=None):
    """Write a file whose digests are right, whatever else is wrong with it.

    ``text`` stands for all that follows the digests in our header, ``outer`` for what follows our header in the
    container's, ``length`` for the length of the container's header.
    """
    digests = b"0" * 128
    if text is None:
        text = json.dumps({key: value for key, value in header.items() if key != "sha256"})[1:]
        text = '",' + text if text != "}" else '"' + text
    inside = json.dumps(text)[1:-1].encode("utf-8", "surrogatepass")
    outer = json.dumps(arrays or {})[1:].encode() if outer is None else outer
    front = MARK + digests + inside + b'"}' + (b"," if outer[:1] == b'"' else b"") + outer
    front += b" " * (-(8 + len(front)) % ALIGN)
    front = (len(front) if length is None else length).to_bytes(8, "little") + front
    front = front[:DIGESTS] + hashlib.sha256(body).hexdigest().encode() + front[DIGESTS + 64 :]
    head = hashlib.sha256(front[: DIGESTS + 64] + b"0" * 64 + front[DIGESTS + 128 :]).hexdigest().encode()
    path.write_bytes(front[: DIGESTS + 64] + head + front[DIGESTS + 128 :] + body)
    return path


def place_of(arrays, name):
    """Where an array begins in the body."""
    return arrays[name]["data_offsets"][0]


def laid_out(arrays):
    """The descriptions with places that follow from their dtypes and shapes, as far as these make sense."""
    place, found = 0, {}
    for name, spec in arrays.items():
        size = int(np.prod(spec["shape"], dtype=object)) * np.dtype(_container.TYPES[spec["dtype"]]).itemsize
        found[name] = {**spec, "data_offsets": [place, place + size]}
        place += size
    return found
