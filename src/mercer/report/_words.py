"""Numbers and names as words, for the checks and the sections."""

import math

from mercer.plots._base import number


def percent(value):
    """A share in per cent."""
    return f"{100 * value:.0f} %" if value >= 0.1 or value == 0 else f"{100 * value:.2g} %"


def pair(one):
    """A score with its error."""
    return f"{one['score']:.3g} ± {one['error']:.2g}" if one["error"] else f"{one['score']:.3g}"


def lam_text(value):
    """λ as a person writes it."""
    return value if isinstance(value, str) else number(value)


def listed(names, limit=3):
    """Names in a row, the rest counted."""
    more = len(names) - limit
    return ", ".join(map(str, names[:limit])) + (f" and {more} more" if more > 0 else "")


def parameter_name(name, s):
    """A hyper-parameter by the name of its columns, where they are known."""
    known = s["selection"]["chosen"].get("labels") or {}
    return known.get(name) or name.split("__")[-1].replace("_", " ")


def last_doubling(learning):
    """(share by which the last doubling of the rows lowered the error, whether that is beyond its standard errors)."""
    sizes, error, spread = learning["sizes"], learning["error"], learning["spread"]
    half = sizes[-1] / 2
    below = max((k for k, size in enumerate(sizes[:-1]) if size <= half), default=0)
    a, b = sizes[below], sizes[below + 1]
    t = min(max((math.log(half) - math.log(a)) / (math.log(b) - math.log(a)), 0.0), 1.0)
    before = (1 - t) * error[below] + t * error[below + 1]
    if not before > 0:
        return 0.0, False
    noise = math.hypot(spread[below], spread[-1])
    return (before - error[-1]) / before, before - error[-1] > noise


def size_text(count):
    """Bytes as a person writes them."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1024
    return None
