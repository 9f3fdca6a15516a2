"""Model files made by hand: any header and any bytes, with digests that are right. What an attacker can write."""

import hashlib
import json

from mercer.files import _format

PRELUDE, COVERED, ALIGN = _format.PRELUDE, _format.COVERED, _format.ALIGN


def take_apart(path):
    """(header, body) of a model file."""
    data = path.read_bytes()
    length = PRELUDE.unpack(data[: PRELUDE.size])[3]
    start = PRELUDE.size + length
    return json.loads(data[PRELUDE.size : start]), data[start + -start % ALIGN :]


def put_together(path, header, body=b"", *, version=_format.VERSION, zero=0, text=None, length=None, size=None):
    """Write a file whose digests are right, whatever else is wrong with it."""
    if isinstance(header, dict) and "sha256" in header:
        header = {**header, "sha256": hashlib.sha256(body).hexdigest()}
    text = json.dumps(header).encode() if text is None else text
    padding = bytes(-(PRELUDE.size + len(text)) % ALIGN)
    total = PRELUDE.size + len(text) + len(padding) + len(body)
    claimed = PRELUDE.pack(
        _format.MAGIC,
        version,
        zero,
        len(text) if length is None else length,
        total if size is None else size,
        b"",
    )[:COVERED]
    digest = hashlib.sha256(claimed + text + padding).digest()
    path.write_bytes(claimed + digest + text + padding + body)
    return path
