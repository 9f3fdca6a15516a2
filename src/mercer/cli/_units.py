"""Times, sizes and counts as people write them: 60s, 8GB, 2e6."""

import re

from mercer.cli._errors import Usage

SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20}
BYTES |= {"gib": 2.0**30, "tib": 2.0**40, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}

MOST = 1e15  # of what is counted: whole numbers up to here are exact as floats


def seconds(text, option):
    """Seconds of "60s", "5m", "2h"; None of None."""
    return None if text is None else _read(text, SECONDS, option, "a time such as 60s, 5m or 2h")


def bytes_of(text, option):
    """Bytes of "500MB", "8GB"; None of None."""
    return None if text is None else _read(text, BYTES, option, "a size such as 500MB or 8GB")


def whole(text, option, least=1):
    """A whole number of "500", "2e6", "20_000"; None of None."""
    if text is None:
        return None
    value = _read(str(text).replace("_", "").replace(",", ""), {"": 1.0, "k": 1e3, "m": 1e6}, option, "a number")
    if value != int(value):
        raise Usage(f"{option}: {text} is not a whole number")
    if not least <= value <= MOST:
        raise Usage(f"{option} must be from {least} to {MOST:.0e}, got {text}")
    return int(value)


def _read(text, units, option, what):
    """A positive number with a unit."""
    match = re.fullmatch(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([a-z]*)\s*", str(text).lower())
    if not match or match[2] not in units:
        raise Usage(f"{option} must be {what}, got {text!r}")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < float("inf"):
        raise Usage(f"{option} must be positive, got {text!r}")
    return value
