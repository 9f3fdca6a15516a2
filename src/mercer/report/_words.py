"""Numbers and names as words, for the checks, the sections and the charts."""

import math

THIN = "\u202f"  # between thousands; no line is broken there
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value, digits=3):
    """A number as a person writes it: 0.012, 350, 12 300, 1.23 × 10⁻⁵, ∞."""
    if not math.isfinite(value):
        return "not a number" if value != value else "∞" if value > 0 else "−∞"
    if value == 0 or 1e-3 <= abs(value) < 999_999.5:
        plain = f"{value:.{digits}g}"
        return grouped(value, 0) if abs(float(plain)) >= 10**digits else plain.replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    return power(int(exponent)) if mantissa == "1" else f"{mantissa} × {power(int(exponent))}"


def grouped(value, decimals):
    """A number with so many decimals, thousands apart from 10 000 on."""
    text = f"{value:,.{decimals}f}".replace("-", "−")
    return text.replace(",", THIN if abs(value) >= 9_999.5 else "")


def power(exponent):
    """10ⁿ."""
    return f"10{str(exponent).translate(RAISED)}"


def percent(value):
    """A share in per cent."""
    return f"{100 * value:.0f} %" if value >= 0.1 or value == 0 else f"{100 * value:.2g} %"


def pair(one):
    """A score with its error."""
    return f"{one['score']:.3g} ± {one['error']:.2g}" if one["error"] else f"{one['score']:.3g}"


def show(value):
    """A value for people: counts in full, other numbers with three digits, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return grouped(value, 0)
    return number(value) if isinstance(value, float) else str(value)


def listed(names, limit=3):
    """Names in a row, the rest counted."""
    more = len(names) - limit
    return ", ".join(map(str, names[:limit])) + (f" and {more} more" if more > 0 else "")


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
